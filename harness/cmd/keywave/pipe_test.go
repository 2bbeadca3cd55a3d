//go:build unix

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Nor does ctrl-C wait for somebody to open the other end of a named pipe.
func TestCtrlCWhileOpeningAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	v := invocation{signals: make(chan os.Signal, 2)}
	code := make(chan int, 1)
	go func() { code <- v.run(t, "plan", pipe) }()
	v.signals <- os.Interrupt
	select {
	case c := <-code:
		assert.Equal(t, exitInterrupted, c)
	case <-time.After(10 * time.Second):
		assert.Fail(t, "it waits for the pipe")
	}
	end, err := os.OpenFile(pipe, os.O_WRONLY, 0) // lets go of who is still opening it
	require.NoError(t, err)
	require.NoError(t, end.Close())
}

// A shell names the ends of pipes, as in <(zstdcat x.jsonl.zst), by links that only the system can follow.
func TestReplayOfAPipe(t *testing.T) {
	out, in, err := os.Pipe()
	require.NoError(t, err)
	defer out.Close()
	go func() {
		_, _ = io.WriteString(in, answer(0))
		_ = in.Close()
	}()
	r := replayJSON(t, "", fmt.Sprintf("/dev/fd/%d", out.Fd()))
	assert.Equal(t, 1, r.Total.Batches)
}

// What is no file, such as a pipe or a device, is written to, and not replaced.
func TestReplayPageIntoAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	page := make(chan string)
	go func() {
		text, _ := os.ReadFile(pipe)
		page <- string(text)
	}()
	code, _, errOut := keywave(t, answer(0), "replay", "-", "--html", pipe)
	assert.Equal(t, exitDone, code, errOut)
	info, err := os.Lstat(pipe)
	require.NoError(t, err)
	if !assert.NotZero(t, info.Mode()&os.ModeNamedPipe) {
		return // nobody will ever write into it
	}
	assert.Contains(t, <-page, "</html>")
}
