//go:build unix

package files

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/tool"
)

// attempts are calls of every tool on a path.
func attempts(path string) []tool.Call {
	return []tool.Call{
		call("read", "path", path), call("write", "path", path, "content", "PWNED"), call("edit", "path", path, "old", "secret", "new", "PWNED"),
		call("list", "path", path), call("grep", "pattern", "secret", "path", path), call("glob", "pattern", "**", "path", path),
		call("move", "from", path, "to", "stolen"), call("move", "from", "mine", "to", path, "overwrite", true), call("make_directory", "path", path+"/made"),
		call("remove", "path", path, "recursive", true),
	}
}

// Nothing leads out: not "..", not an absolute path, not a link, however it is spelt.
func TestNoEscape(t *testing.T) {
	outside := newWorld(t, "secret.txt = secret", "d/x = secret")
	before, err := Digest(context.Background(), outside.dir)
	require.NoError(t, err)
	for _, path := range []string{
		"../" + filepath.Base(outside.dir), "..", "../..", "x/../../y", "/", "/etc/passwd", outside.dir,
		outside.dir + "/secret.txt", "out/secret.txt", "out/d", "chain/secret.txt",
		"rel/" + filepath.Base(outside.dir) + "/secret.txt", "file", "out/../out/d/x", "out/new", "./out/d/../secret.txt",
	} {
		w := newWorld(t, "mine = mine", "chain -> out", "rel -> ..", "out -> "+outside.dir, "file -> "+outside.dir+"/secret.txt")
		for _, c := range attempts(path) {
			if path == "file" && strings.Contains("move remove", c.Name) {
				continue // they act on the link, which is inside
			}
			r, err := tool.Execute(context.Background(), w.reg, c)
			require.NoError(t, err)
			require.True(t, r.IsError, "%v: %s", c, r.Text())
			require.NotContains(t, r.Text(), "secret\n")
			require.NotContains(t, strings.ReplaceAll(r.Text(), path, ""), outside.dir, "nothing outside is named")
			require.NotContains(t, r.Text(), w.dir)
			require.True(t, tool.Calls(w.reg, []tool.Call{c})[0].Exclusive(), "without a key it runs alone")
		}
		assert.Equal(t, "mine", w.text("mine"))
	}
	after, err := Digest(context.Background(), outside.dir)
	require.NoError(t, err)
	assert.Equal(t, before, after)
}

// A walk does not leave the tree through a link.
func TestSearchesFollowNoLinks(t *testing.T) {
	outside := newWorld(t, "secret.txt = secret")
	w := newWorld(t, "d/in = secret", "d/out -> "+outside.dir, "d/loop -> ..", "d/.gitignore -> "+outside.dir+"/secret.txt")
	for _, ignored := range []bool{false, true} {
		assert.Equal(t, []match{{"d/in", 1, "secret"}}, ok[grepValue](w, "grep", "pattern", "secret", "ignored", ignored).Matches)
		assert.Equal(t, []string{"d/", "d/.gitignore", "d/in", "d/loop", "d/out"}, ok[globValue](w, "glob", "pattern", "**", "ignored", ignored).Paths)
	}
}

// A link that somebody else swaps between the check and the access does not lead out either.
func TestSwappedLink(t *testing.T) {
	outside := newWorld(t, "x = secret")
	w := newWorld(t, "d/x = mine", "spare/")
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		d, hidden := filepath.Join(w.dir, "d"), filepath.Join(w.dir, "hidden")
		for {
			select {
			case <-stop:
				return
			default:
			}
			// d is now a directory of ours, now a link out.
			if os.Rename(d, hidden) == nil && os.Symlink(outside.dir, d) == nil && os.Remove(d) == nil {
				os.Rename(hidden, d)
			}
		}
	})
	for range 300 {
		for _, c := range []tool.Call{
			call("read", "path", "d/x"), call("write", "path", "d/x", "content", "mine"), call("edit", "path", "d/x", "old", "secret", "new", "PWNED"),
			call("grep", "pattern", "secret", "path", "d"), call("write", "path", "d/new", "content", "mine"), call("remove", "path", "d/new"),
		} {
			r, err := tool.Execute(context.Background(), w.reg, c)
			require.NoError(t, err)
			require.NotContains(t, string(r.Value), "secret")
		}
	}
	close(stop)
	swapping.Wait()
	assert.Equal(t, "secret", outside.text("x"))
	entries, err := os.ReadDir(outside.dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}

// What is no file is refused at once, not waited for.
func TestPipesAreRefused(t *testing.T) {
	w := newWorld(t, "a = A")
	require.NoError(t, syscall.Mkfifo(filepath.Join(w.dir, "pipe"), 0o600))
	require.NoError(t, os.Symlink("pipe", filepath.Join(w.dir, "l")))
	for _, path := range []string{"pipe", "l"} {
		for _, c := range []tool.Call{call("read", "path", path), call("write", "path", path, "content", "x"),
			call("edit", "path", path, "old", "x", "new", "y")} {
			r, err := tool.Execute(context.Background(), w.reg, c)
			require.NoError(t, err)
			assert.Equal(t, "pipe: it is not a regular file", r.Text())
		}
	}
	assert.Equal(t, 1, ok[grepValue](w, "grep", "pattern", "A").Files)
}
