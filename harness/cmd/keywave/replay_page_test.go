package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Ctrl-C does not wait for what is being read, says that there is nothing to see, and leaves no page.
func TestReplayInterrupted(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "report.html")
	require.NoError(t, os.WriteFile(page, []byte("of before"), 0o600))
	for _, terminal := range []int{0, 80} {
		synctest.Test(t, func(t *testing.T) {
			in, typing := io.Pipe()
			v := invocation{stdin: in, signals: make(chan os.Signal, 2), width: terminal}
			code := make(chan int, 1)
			go func() { code <- v.run(t, "replay", "-", "--html", page) }()
			_, err := io.WriteString(typing, answer(0))
			require.NoError(t, err)
			synctest.Wait()
			v.signals <- os.Interrupt
			assert.Equal(t, exitInterrupted, <-code)
			assert.Empty(t, v.out.String())
			assert.Equal(t, "interrupted: what was read is not shown, and no page is written\n", v.errOut.String())
			require.NoError(t, typing.Close())
		})
		assert.Equal(t, map[string]string{"report.html": "of before"}, contents(t, dir))
	}
}

// A page is there when it is whole, and not before.
func TestReplayPage(t *testing.T) {
	dir := workDir(t, map[string]string{"s.jsonl": answer(0), "html/old.html": "old"})
	html := filepath.Join(dir, "html")
	at := func(name string) string { return filepath.Join(html, name) }
	require.NoError(t, os.Chmod(at("old.html"), 0o640))
	require.NoError(t, os.Symlink("old.html", at("link.html")))
	for _, name := range []string{"new.html", "old.html", "link.html"} {
		code, out, errOut := keywave(t, "", "replay", filepath.Join(dir, "s.jsonl"), "--html", at(name))
		require.Equal(t, exitDone, code, errOut)
		assert.True(t, strings.HasSuffix(out, "\nThe page with the batches drawn is "+at(name)+".\n"))
		text, err := os.ReadFile(at(name))
		require.NoError(t, err)
		assert.Contains(t, string(text), "<html")
		assert.Contains(t, string(text), "</html>")
	}
	info, err := os.Lstat(at("link.html"))
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&fs.ModeSymlink, "what it leads to is replaced")
	info, err = os.Stat(at("old.html"))
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o640), info.Mode().Perm())
	entries, err := os.ReadDir(html)
	require.NoError(t, err)
	assert.Len(t, entries, 3, "and nothing beside them")

	code, out, errOut := keywave(t, "", "replay", filepath.Join(dir, "s.jsonl"), "--html", "-")
	assert.Equal(t, exitDone, code, errOut)
	page, err := os.ReadFile(at("new.html"))
	require.NoError(t, err)
	assert.Equal(t, string(page), out)
}

// Of a page that cannot be finished nothing is left, and what was there before stays.
func TestReplayPageThatFails(t *testing.T) {
	dir := workDir(t, map[string]string{"report.html": "of before"})
	h := host{temp: new(atomic.Pointer[string])}
	f, err := h.create(filepath.Join(dir, "report.html"))
	require.NoError(t, err)
	assert.Len(t, contents(t, dir), 2)
	require.NotNil(t, h.temp.Load(), "a second ctrl-C knows of it")
	boom := errors.New("no space left on device")
	assert.ErrorIs(t, f.fill(func(w io.Writer) error {
		_, err := io.WriteString(w, "half of ")
		require.NoError(t, err)
		return boom
	}), boom)
	f.discard()
	assert.Equal(t, map[string]string{"report.html": "of before"}, contents(t, dir))

	// Its writer ends with the context.
	ctx, cancel := context.WithCancelCause(context.Background())
	var out strings.Builder
	w := writerWithin{ctx, &out}
	_, err = io.WriteString(w, "a")
	require.NoError(t, err)
	cancel(errInterrupted)
	_, err = io.WriteString(w, "b")
	assert.ErrorIs(t, err, errInterrupted)
	assert.Equal(t, "a", out.String())
}

func TestReplayOutputThatCannotBeWritten(t *testing.T) {
	dir := workDir(t, map[string]string{"s.jsonl": answer(0)})
	none := func() (int, int, bool) { return 0, 0, false }
	for _, args := range [][]string{nil, {"--format", "json"}, {"--format", "csv"}, {"--html", "-"}} {
		var errOut output
		code := run(context.Background(), append([]string{"replay", dir}, args...), host{
			stdin: strings.NewReader(""), stdout: stream{broken{errors.New("no space left on device")}, none}, stderr: stream{&errOut, none},
			env: func(string) string { return "" },
		})
		assert.Equal(t, exitUsage, code)
		assert.Regexp(t, `^keywave: writing the output: .*no space left on device\n$`, errOut.String(), "%v", args)
	}
}
