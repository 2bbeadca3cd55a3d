package files

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/keys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quiet is a policy that needs no probe.
var quiet = Keys(keys.FoldCase(false), keys.FoldUnicode(false))

// A world is a directory and its tools.
type world struct {
	t   testing.TB
	dir string
	f   *Files
	reg *tool.Registry
}

// newWorld makes a directory of what it is given: "d/" a directory, "f = text" a file, "l -> t" a link.
func newWorld(t testing.TB, entries ...string) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	fill(t, dir, entries...)
	return open(t, dir)
}

// open returns one more set of tools on dir, as another session would have.
func open(t testing.TB, dir string, opts ...Option) *world {
	t.Helper()
	f, err := New(dir, append([]Option{quiet}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	reg := &tool.Registry{}
	require.NoError(t, reg.Register(f.Tools()...))
	return &world{t, dir, f, reg}
}

type fataler interface {
	require.TestingT
	Helper()
}

func fill(t fataler, dir string, entries ...string) {
	t.Helper()
	for _, e := range entries {
		link, target, isLink := strings.Cut(e, " -> ")
		file, text, isFile := strings.Cut(e, " = ")
		switch {
		case isLink:
			path := filepath.Join(dir, link)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.Symlink(target, path))
		case isFile:
			path := filepath.Join(dir, file)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		default:
			require.NoError(t, os.MkdirAll(filepath.Join(dir, e), 0o755))
		}
	}
}

// call makes a call of a tool with arguments given as name and value in turn.
func call(name string, args ...any) tool.Call {
	m := map[string]any{}
	for i := 0; i < len(args); i += 2 {
		m[args[i].(string)] = args[i+1]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return tool.Call{Name: name, Arguments: string(raw)}
}

// do runs one call.
func (w *world) do(name string, args ...any) tool.Result {
	w.t.Helper()
	r, err := tool.Execute(context.Background(), w.reg, call(name, args...))
	require.NoError(w.t, err)
	require.Empty(w.t, r.Code, r.Text())
	return r
}

// ok runs one call that must succeed, and decodes its value.
func ok[V any](w *world, name string, args ...any) (v V) {
	w.t.Helper()
	r := w.do(name, args...)
	require.False(w.t, r.IsError, r.Text())
	require.NoError(w.t, json.Unmarshal(r.Value, &v))
	return v
}

// fails runs one call that must fail, and returns its text.
func (w *world) fails(name string, args ...any) string {
	w.t.Helper()
	r := w.do(name, args...)
	require.True(w.t, r.IsError, r.Text())
	require.NotContains(w.t, r.Text(), w.dir, "no machine path in an error")
	return r.Text()
}

// run runs a batch.
func (w *world) run(calls []tool.Call, opts ...exec.Option) []tool.Result {
	w.t.Helper()
	results, err := tool.Run(context.Background(), w.reg, calls, opts...)
	require.NoError(w.t, err)
	require.Len(w.t, results, len(calls))
	return results
}

func (w *world) waves(calls ...tool.Call) [][]int {
	return plan.Ordered(tool.Calls(w.reg, calls)).Waves()
}

func (w *world) text(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, name))
	require.NoError(w.t, err)
	return string(data)
}

func (w *world) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(w.dir, name))
	return err == nil
}

// leftovers are temporary files that somebody forgot.
func (w *world) leftovers() (names []string) {
	require.NoError(w.t, filepath.WalkDir(w.dir, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".tmp") {
			names = append(names, path)
		}
		return err
	}))
	return names
}

// declare makes a tool of a test's own, with the claims of one of this package and whatever value.
func declare[In any](name, description string, claims func(In) ([]plan.Claim, error), body func(context.Context, In) (tool.Result, error)) *tool.Definition {
	d, err := tool.Define(tool.Spec[In, tool.Result]{
		Name: name, Description: description, Safe: func(In) bool { return true }, Claims: claims, Body: body,
	})
	if err != nil {
		panic(err)
	}
	return d
}
