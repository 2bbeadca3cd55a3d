package files

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// The tests of this file check that the claims are honest: whatever order an admission allows, the results and the tree
// are those of running the calls one by one.

// start is the tree that every batch begins with.
var start = []string{
	"a = one\ntwo\none\n", "b = two\n", "bin = \x00\x01", "d/x = one\n", "d/y = y\n", "d/.gitignore = y\n*.log\n", "d/e/z = z one\n", "d/n.log = one\n",
	".gitignore = ignored\n", "ignored/i = one\n", "empty/", "l -> d", "ll -> l/e", "dangling -> new/f", "d2/in = in one\n", "up -> d2/../d",
	"deep/out -> ../d/e", "deep/up -> out/../c", "deep/c -> ../b",
}

var paths = []string{
	"a", "b", "bin", "d", "d/x", "d/y", "d/e", "d/e/z", "d/.gitignore", ".gitignore", "ignored/i", "ignored", "empty", "l/x",
	"l/e/z", "l", "ll/z", "ll", "up/x",
	"dangling", "new", "new/f", "new/f/g", "new/h", "d2", "d2/in", "./a", "l/../a", "l/new/deep", "d/new/deep/er", "a/below", ".", "dangling/x", "..", "../up",
	"deep/out", "deep/out/z", "deep/up", "deep/.gitignore",
}

var initialVersions = []string{Absent, versionOf([]byte("one\ntwo\none\n")), versionOf([]byte("one\n")), "0000000000000000"}

// genCall draws any call of any tool, but for the moves that may run into what the package's documentation names as the
// one thing that remains: those of links, and of directories that have one.
func genCall(paths []string) *rapid.Generator[tool.Call] {
	return rapid.Custom(func(t *rapid.T) tool.Call {
		path := rapid.SampledFrom(paths)
		text := rapid.SampledFrom([]string{"one", "two", "y", "three\n", "*.log\n", "d\n", ""})
		flag := rapid.Bool()
		var args []any
		optional := func(name string, value any, zero any) {
			if value != zero {
				args = append(args, name, value)
			}
		}
		name := rapid.SampledFrom([]string{"read", "write", "write", "edit", "edit", "list", "grep", "glob", "move", "move",
			"remove", "make_directory"}).Draw(t, "tool")
		switch name {
		case "read", "make_directory", "list":
			args = append(args, "path", path.Draw(t, "path"))
		case "write":
			args = append(args, "path", path.Draw(t, "path"), "content", text.Draw(t, "content"))
			optional("version", rapid.SampledFrom(append(initialVersions, "", "", "")).Draw(t, "version"), "")
		case "edit":
			args = append(args, "path", path.Draw(t, "path"), "old", text.Draw(t, "old"), "new", text.Draw(t, "new"))
			optional("replace_all", flag.Draw(t, "all"), false)
			optional("version", rapid.SampledFrom(append(initialVersions, "", "", "")).Draw(t, "version"), "")
		case "grep":
			args = append(args, "pattern", rapid.SampledFrom([]string{"one", "^y", "."}).Draw(t, "pattern"), "path", path.Draw(t, "path"))
			optional("ignored", flag.Draw(t, "ignored"), false)
		case "glob":
			args = append(args, "pattern", rapid.SampledFrom([]string{"**", "*", "**/*.log", "{a,b}"}).Draw(t, "pattern"), "path", path.Draw(t, "path"))
			optional("ignored", flag.Draw(t, "ignored"), false)
		case "move":
			from := path.Draw(t, "from")
			if slices.Contains([]string{"l", "ll", "dangling", ".", "deep/out", "deep/up"}, from) {
				from = "a"
			}
			args = append(args, "from", from, "to", path.Draw(t, "to"))
			optional("overwrite", flag.Draw(t, "overwrite"), false)
		case "remove":
			args = append(args, "path", path.Draw(t, "path"))
			optional("recursive", flag.Draw(t, "recursive"), false)
		}
		return call(name, args...)
	})
}

// genBatch draws calls that meet at a few paths.
func genBatch(least, most int) *rapid.Generator[[]tool.Call] {
	return rapid.Custom(func(t *rapid.T) []tool.Call {
		few := rapid.SliceOfN(rapid.SampledFrom(paths), 2, 6).Draw(t, "paths")
		return rapid.SliceOfN(genCall(few), least, most).Draw(t, "calls")
	})
}

// An outcome is all that a batch may be told apart by.
type outcome struct {
	results []string
	tree    string
}

// A maker makes the tools under test for a directory.
type maker func(*Files) []*tool.Definition

func honest(f *Files) []*tool.Definition { return f.Tools() }

// try runs a batch on a fresh copy of the tree.
func try(t fataler, base, name string, tools maker, run func(*tool.Registry) []tool.Result) outcome {
	t.Helper()
	dir := filepath.Join(base, name)
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.Mkdir(dir, 0o755))
	fill(t, dir, start...)
	f, err := New(dir, quiet)
	require.NoError(t, err)
	defer f.Close()
	reg := &tool.Registry{}
	require.NoError(t, reg.Register(tools(f)...))
	var out outcome
	for _, r := range run(reg) {
		out.results = append(out.results, fmt.Sprintf("%s %v %s %s", r.Code, r.IsError, r.Text(), r.Value))
	}
	out.tree, err = Digest(context.Background(), dir)
	require.NoError(t, err)
	return out
}

// inLane runs a batch as a host would.
func inLane(t fataler, calls []tool.Call, opts ...exec.Option) func(*tool.Registry) []tool.Result {
	return func(reg *tool.Registry) []tool.Result {
		results, err := tool.Run(context.Background(), reg, calls, opts...)
		require.NoError(t, err)
		return results
	}
}

// inAnyOrder runs a batch one call at a time, in an order that the admission allows and choose picks: the worst that
// overlapping calls could do to each other's order, without the luck of timing.
func inAnyOrder(t fataler, calls []tool.Call, admission plan.Admission, choose func(n int) int) func(*tool.Registry) []tool.Result {
	return func(reg *tool.Registry) []tool.Result {
		results := make([]tool.Result, len(calls))
		settled := make([]bool, len(calls))
		for _, c := range tool.Calls(reg, calls) {
			admission.Submit(c)
		}
		committed := 0
		for committed < len(calls) {
			var free []int
			for i, ok := admission.Next(-1); ok; i, ok = admission.Next(i) {
				free = append(free, i)
			}
			require.NotEmpty(t, free, "nothing may start")
			i := free[choose(len(free))]
			if !admission.Start(i, tool.Calls(reg, calls[i:i+1])[0]) {
				continue // what it has become must wait
			}
			r, err := tool.Execute(context.Background(), reg, calls[i])
			require.NoError(t, err)
			results[i], settled[i] = r, true
			admission.Settle(i)
			for ; committed < len(calls) && settled[committed]; committed++ {
				admission.Commit(committed)
			}
		}
		return results
	}
}

// A way of running a batch. Reversed takes, of the calls that may start, the last.
type way struct {
	name string
	run  func(t fataler, calls []tool.Call) func(*tool.Registry) []tool.Result
}

var inLanes = []way{
	{"waves", func(t fataler, calls []tool.Call) func(*tool.Registry) []tool.Result { return inLane(t, calls) }},
	{"keyed", func(t fataler, calls []tool.Call) func(*tool.Registry) []tool.Result {
		return inLane(t, calls, exec.Admit(plan.NewKeyed))
	}},
}

var reversed = []way{
	{"waves reversed", func(t fataler, calls []tool.Call) func(*tool.Registry) []tool.Result {
		return inAnyOrder(t, calls, plan.NewWaves(), func(n int) int { return n - 1 })
	}},
	{"keyed reversed", func(t fataler, calls []tool.Call) func(*tool.Registry) []tool.Result {
		return inAnyOrder(t, calls, plan.NewKeyed(), func(n int) int { return n - 1 })
	}},
}

// check compares ways of running a batch with the serial one, and says what differs.
func check(t fataler, base string, tools maker, calls []tool.Call, ways ...way) string {
	t.Helper()
	want := try(t, base, "serial", tools, inLane(t, calls, exec.Limit(1)))
	for _, w := range ways {
		got := try(t, base, "other", tools, w.run(t, calls))
		for i := range want.results {
			if got.results[i] != want.results[i] {
				return fmt.Sprintf("%s: call %d %v:\n%s\ninstead of\n%s", w.name, i+1, calls[i], got.results[i], want.results[i])
			}
		}
		if got.tree != want.tree {
			return w.name + ": the trees differ"
		}
	}
	return ""
}

func TestSerialEquivalence(t *testing.T) {
	base := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		calls := genBatch(2, 8).Draw(t, "batch")
		anyhow := way{"keyed anyhow", func(f fataler, calls []tool.Call) func(*tool.Registry) []tool.Result {
			return inAnyOrder(f, calls, plan.NewKeyed(), func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") })
		}}
		ways := []way{rapid.SampledFrom(inLanes).Draw(t, "lane"), rapid.SampledFrom(append(reversed, anyhow)).Draw(t, "order")}
		require.Empty(t, check(t, base, honest, calls, ways...))
	})
}

// A call may find a directory where the link was that its path crossed when it was planned: what it then uses is
// claimed, too.
func TestLinksReplacedByDirectories(t *testing.T) {
	base := t.TempDir()
	replaced := []tool.Call{call("remove", "path", "deep/out"), call("write", "path", "deep/out/z/f", "content", "one\n")}
	for name, calls := range map[string][]tool.Call{
		"the ignore files above it": {call("grep", "pattern", "one", "path", "deep/out/z"),
			call("write", "path", "deep/.gitignore", "content", "f\n")},
		"the same for glob":                   {call("glob", "pattern", "*", "path", "deep/out/z"), call("write", "path", "deep/.gitignore", "content", "f\n")},
		"what a path out of it leads to":      {call("read", "path", "deep/up"), call("write", "path", "b", "content", "new")},
		"the same to write, and then to read": {call("edit", "path", "deep/up", "old", "two", "new", "2"), call("read", "path", "b")},
	} {
		require.Empty(t, check(t, base, honest, slices.Concat(replaced, calls), append(reversed, inLanes...)...), name)
	}
}

// TestDishonestClaimsAreFound breaks the claims of one tool at a time, and demands that the comparison above sees it.
func TestDishonestClaimsAreFound(t *testing.T) {
	base := t.TempDir()
	for name, tt := range map[string]struct {
		dishonest func(*Files) *tool.Definition
		calls     []tool.Call // none: random ones must find it
	}{
		"write claims a read": {func(f *Files) *tool.Definition {
			return declare("write", "", func(in writeArgs) ([]plan.Claim, error) { return f.follow(in.Path, plan.Read) }, f.write)
		}, nil},
		"move claims one end": {func(f *Files) *tool.Definition {
			return declare("move", "", func(in moveArgs) ([]plan.Claim, error) { return f.itself(in.From) }, f.move)
		}, []tool.Call{call("move", "from", "a", "to", "new"), call("read", "path", "new")}},
		"remove claims the name, not the tree": {func(f *Files) *tool.Definition {
			return declare("remove", "", func(in removeArgs) ([]plan.Claim, error) {
				claims, err := f.itself(in.Path)
				for i := range claims {
					claims[i].Tree = false
				}
				return claims, err
			}, f.remove)
		}, []tool.Call{call("remove", "path", "d", "recursive", true), call("read", "path", "d/x")}},
		"remove follows the link": {func(f *Files) *tool.Definition {
			return declare("remove", "", func(in removeArgs) ([]plan.Claim, error) {
				c, err := f.keys.Tree(in.Path, plan.Write)
				return []plan.Claim{c}, err
			}, f.remove)
		}, []tool.Call{call("remove", "path", "dangling"), call("move", "from", "a", "to", "dangling")}},
		"grep forgets the ignore files above": {func(f *Files) *tool.Definition {
			return declare("grep", "", func(in grepArgs) ([]plan.Claim, error) { return f.follow(orRoot(in.Path), plan.Read) }, f.grep)
		}, []tool.Call{call("write", "path", ".gitignore", "content", "x\n"), call("grep", "pattern", "one", "path", "d")}},
		"read forgets the links that it crosses": {func(f *Files) *tool.Definition {
			return declare("read", "", func(in readArgs) ([]plan.Claim, error) {
				c, err := f.keys.Tree(in.Path, plan.Read)
				return []plan.Claim{c}, err
			}, f.read)
		}, []tool.Call{call("remove", "path", "l"), call("read", "path", "l/x")}},
		"make_directory claims nothing": {func(f *Files) *tool.Definition {
			return declare("make_directory", "", func(makeArgs) ([]plan.Claim, error) { return nil, nil }, f.makeDirectory)
		}, []tool.Call{call("make_directory", "path", "empty/x"), call("list", "path", "empty")}},
	} {
		t.Run(name, func(t *testing.T) {
			tools := func(f *Files) []*tool.Definition {
				d := tt.dishonest(f)
				all := f.Tools()
				all[slices.IndexFunc(all, func(x *tool.Definition) bool { return x.Name == d.Name })] = d
				return all
			}
			batches := [][]tool.Call{tt.calls}
			if tt.calls == nil {
				batches = nil
				for seed := range 50 {
					batches = append(batches, genBatch(6, 8).Example(seed))
				}
			}
			for _, calls := range batches {
				if check(t, base, tools, calls, reversed...) != "" {
					require.Empty(t, check(t, base, honest, calls, reversed...), "and the honest claims pass")
					return
				}
			}
			assert.Fail(t, "the false claims went unseen")
		})
	}
}

// A call that moves a link, or a directory with one, runs alone, and what comes after it goes by what the link means
// then.
func TestMovingALinkIsExclusive(t *testing.T) {
	base := t.TempDir()
	w := newWorld(t, start...)
	for _, tt := range []struct {
		from      string
		exclusive bool
	}{{"l", true}, {"dangling", true}, {".", true}, {"d", false}, {"a", false}, {"missing", false}} {
		c := tool.Calls(w.reg, []tool.Call{call("move", "from", tt.from, "to", "to")})[0]
		assert.Equal(t, tt.exclusive, c.Exclusive(), tt.from)
	}
	for i := range maxSearched {
		fill(t, w.dir, fmt.Sprintf("many/%d = ", i))
	}
	assert.True(t, tool.Calls(w.reg, []tool.Call{call("move", "from", "many", "to", "to")})[0].Exclusive(), "too many names to look at")
	require.NoError(t, os.Remove(filepath.Join(w.dir, "many/7")))
	assert.False(t, tool.Calls(w.reg, []tool.Call{call("move", "from", "many", "to", "to")})[0].Exclusive())
	calls := []tool.Call{
		call("move", "from", "l", "to", "l2"), call("read", "path", "l2/x"), call("write", "path", "d/x", "content", "new"),
		call("read", "path", "l/x"), call("read", "path", "l2/x"),
	}
	require.Empty(t, check(t, base, honest, calls, inLanes...))
	var v readValue
	results := w.run(calls)
	require.NoError(t, json.Unmarshal(results[4].Value, &v))
	assert.Equal(t, "new", v.Text)
}
