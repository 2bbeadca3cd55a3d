//go:build unix

package main

import (
	"bytes"
	"os"
	osexec "os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/harness"
)

// The command is killed while a call runs, one has settled and one waits; a second one on the same log tells what that
// has left, and goes on.
func TestAgentKilled(t *testing.T) {
	s := newSession(t, `{"user": "Go."} {"calls": [{"name": "edit", "arguments": {"path": "a.txt", "old": "hello", "new": "HELLO"}},
		{"name": "read", "arguments": {"path": "b.txt"}}, {"name": "read", "arguments": {"path": "a.txt"}}], "takesMs": [86400000]} {"text": "Done."}`)
	var said bytes.Buffer
	process := osexec.Command(os.Args[0], s.args()...)
	process.Env, process.Stdout, process.Stderr = append(os.Environ(), asCommand+"=1"), &said, &said
	require.NoError(t, process.Start())
	deadline := time.After(time.Minute)
	for settled := false; !settled; {
		select {
		case <-deadline:
			_ = process.Process.Kill()
			_ = process.Wait()
			t.Fatalf("nothing settles: %s", said.String())
		case <-time.After(10 * time.Millisecond):
		}
		for e, err := range harness.ReadFile(s.log) {
			settled = settled || err == nil && e.Type == harness.TypeToolSettle
		}
	}
	code, out, errOut := keywave(t, "", s.args()...)
	assert.Equal(t, exitUsage, code, out)
	assert.Contains(t, errOut, "session log is in use", "as long as the process lives")
	code, out, errOut = keywave(t, "", "log", s.log)
	assert.Equal(t, exitDone, code, errOut)
	assert.Contains(t, out, "  · 1  edit a.txt  has started, and not settled\n  · 2  read b.txt  is done, and its result waits for earlier ones\n"+
		"  · 3  read a.txt  has not started\n")
	require.NoError(t, process.Process.Kill())
	require.Error(t, process.Wait())

	v := invocation{}
	assert.Equal(t, exitDone, v.run(t, s.args("-q")...), v.errOut.String())
	out = v.out.String()
	for _, says := range []string{
		"It was stopped in turn 1. What was open is closed, and nothing runs again:\n  ✗ 1  edit a.txt  INTERRUPTED\n", "  ✓ 2  read b.txt  ",
		"  ✗ 3  read a.txt  ABORTED_BEFORE_DISPATCH\n", "  user     Go on.\n  model    Done.\n",
	} {
		assert.Contains(t, out, says)
	}
	assert.Equal(t, map[string]string{"a.txt": "hello\n", "b.txt": "world\n"}, contents(t, s.dir), "nothing runs again")
	assert.Equal(t, 1, strings.Count(out, "closed"))
}
