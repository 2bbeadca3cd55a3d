package files

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/keys"
)

// admissions are those that promise serial equivalence.
var admissions = map[string]func() plan.Admission{"waves": plan.NewWaves, "keyed": plan.NewKeyed, "rolling": plan.NewRolling, "serial": plan.NewSerial}

// text is that of the read result.
func text(t testing.TB, r tool.Result) string {
	t.Helper()
	require.False(t, r.IsError, r.Text())
	var v readValue
	require.NoError(t, json.Unmarshal(r.Value, &v))
	return v.Text
}

// An edit tool that reads whole, waits and writes whole, with no lock of its own, loses nothing: its claims keep it
// apart from itself.
func TestCase_lost_update_1(t *testing.T) {
	for _, n := range []int{2, 6} {
		for name, admission := range admissions {
			t.Run(fmt.Sprint(n, name), func(t *testing.T) {
				w := newWorld(t, "p.md = A B C D E F")
				path := filepath.Join(w.dir, "p.md")
				var inside, peak atomic.Int32
				slow := declare("edit", "", func(in editArgs) ([]plan.Claim, error) { return w.f.follow(in.Path, plan.Write) },
					func(ctx context.Context, in editArgs) (tool.Result, error) {
						now := inside.Add(1)
						defer inside.Add(-1)
						for p := peak.Load(); now > p && !peak.CompareAndSwap(p, now); p = peak.Load() {
						}
						data, err := os.ReadFile(path)
						if err != nil {
							return tool.Result{}, err
						}
						<-time.After(5 * time.Millisecond)
						data = []byte(strings.Replace(string(data), in.Old, in.New, 1))
						return tool.Text("edited"), os.WriteFile(path, data, 0o644)
					})
				require.NoError(t, w.reg.Replace(slow))
				var calls []tool.Call
				var waves [][]int
				for i := range n {
					letter := string(rune('A' + i))
					calls = append(calls, call("edit", "path", "p.md", "old", letter, "new", letter+"1"))
					waves = append(waves, []int{i})
				}
				assert.Equal(t, waves, w.waves(calls...))
				synctest.Test(t, func(t *testing.T) {
					results, err := tool.Run(t.Context(), w.reg, calls, exec.Admit(admission))
					require.NoError(t, err)
					for _, r := range results {
						assert.False(t, r.IsError, r.Text())
					}
				})
				assert.EqualValues(t, 1, peak.Load())
				for i := range n {
					assert.Contains(t, w.text("p.md"), string(rune('A'+i))+"1")
				}
			})
		}
	}
}

// A text composed from an older read does not erase what another agent wrote in between, if it comes with the version
// that was read. The lock alone prevents nothing: without the version it does.
func TestCase_lost_update_2(t *testing.T) {
	agent1 := newWorld(t, "a = from v1")
	agent2 := open(t, agent1.dir)
	v1 := ok[readValue](agent1, "read", "path", "a").Version
	v2 := ok[writeValue](agent2, "edit", "path", "a", "old", "v1", "new", "v2").Version
	c2 := []any{"path", "a", "content", "built from v1"}
	assert.Contains(t, agent1.fails("write", append(c2, "version", v1)...), "changed since it was read")
	assert.Equal(t, "from v2", agent1.text("a"))
	assert.Equal(t, v2, ok[readValue](agent1, "read", "path", "a").Version)

	ok[writeValue](agent1, "write", c2...)
	assert.Equal(t, "built from v1", agent1.text("a"))
}

// Two writes of one file at the same time, not kept apart by any claim, publish one of the two whole.
func TestCase_lost_update_5(t *testing.T) {
	sessions := []*world{newWorld(t, "a = ")}
	sessions = append(sessions, open(t, sessions[0].dir))
	payloads := []string{strings.Repeat("A", 2<<20), strings.Repeat("B", 50<<10)}
	for range 20 {
		var both sync.WaitGroup
		for i, w := range sessions {
			both.Go(func() {
				r, err := w.f.write(context.Background(), writeArgs{Path: "a", Content: payloads[i]})
				assert.NoError(t, err)
				assert.False(t, r.IsError)
			})
		}
		both.Wait()
		got := sessions[0].text("a")
		require.True(t, got == payloads[0] || got == payloads[1], "a mixture of %d bytes", len(got))
		require.Empty(t, sessions[0].leftovers())
	}
}

// Two names of one new file, through a linked directory: one after the other.
func TestCase_path_alias_1(t *testing.T) {
	for _, name := range []string{"new.txt", "not/yet/there/new.txt"} {
		w := newWorld(t, "target/", "alias -> target")
		c := []tool.Call{call("write", "path", "target/"+name, "content", "first"), call("write", "path", "alias/"+name, "content", "second")}
		assert.Equal(t, [][]int{{0}, {1}}, w.waves(c...), "(a)")
		w.run(c)
		assert.Equal(t, "second", w.text("target/"+name))

		// (b): c1 is still running when it has created the file; c2 is planned then, and has the key that c1 was
		// planned with.
		w = newWorld(t, "target/", "alias -> target")
		c = []tool.Call{call("write", "path", "alias/"+name, "content", "first"), call("edit", "path", "alias/"+name, "old", "first", "new", "second")}
		before := tool.Calls(w.reg, c[:1])[0]
		a := plan.NewKeyed()
		a.Submit(before)
		require.True(t, a.Start(0, before))
		ok[writeValue](w, "write", "path", "alias/"+name, "content", "first")
		a.Submit(tool.Calls(w.reg, c[1:])[0])
		_, free := a.Next(-1)
		assert.False(t, free, "c2 waits for c1")
		a.Settle(0)
		_, free = a.Next(-1)
		assert.True(t, free)
	}
}

// On a root that folds names, two spellings are ordered; on one that does not, they are two files.
func TestCase_path_alias_2(t *testing.T) {
	for _, pair := range [][2]string{{"New.txt", "new.txt"}, {"caf\u00e9", "cafe\u0301"}, {`C:\p\a`, "c:/p/a"}} {
		folds := newWorld(t)
		folds = open(t, folds.dir, Keys(keys.FoldCase(true), keys.FoldUnicode(true), keys.DOSPaths(true)))
		keeps := open(t, folds.dir, Keys(keys.DOSPaths(false)))
		c := []tool.Call{call("write", "path", pair[0], "content", "1"), call("write", "path", pair[1], "content", "2")}
		assert.Equal(t, [][]int{{0}, {1}}, folds.waves(c...), pair)
		assert.Equal(t, [][]int{{0, 1}}, keeps.waves(c...), pair)
	}
}

// One call that names one file twice is a single claim, runs once and waits for nobody.
func TestCase_path_alias_4(t *testing.T) {
	w := newWorld(t, "State.json = {}")
	w = open(t, w.dir, Keys(keys.FoldCase(true), keys.FoldUnicode(true)))
	c := call("move", "from", "State.json", "to", "state.json")
	assert.Equal(t, [][]int{{0}}, w.waves(c))
	for name, admission := range admissions {
		back := call("move", "from", "state.json", "to", "State.json")
		results := w.run([]tool.Call{c, back}, exec.Admit(admission))
		assert.False(t, results[0].IsError, "%s: %s", name, results[0].Text())
		assert.False(t, results[1].IsError, "%s: %s", name, results[1].Text())
	}
	assert.Equal(t, "{}", w.text("State.json"))
}

// A tool that claims the directory and one that claims a file in it conflict.
func TestCase_dir_vs_file_1(t *testing.T) {
	w := newWorld(t, "root/a.go = a")
	type patchArgs struct {
		Dir string `json:"dir"`
	}
	require.NoError(t, w.reg.Register(declare("apply_patch", "", func(in patchArgs) ([]plan.Claim, error) { return w.f.follow(in.Dir, plan.Write) },
		func(_ context.Context, in patchArgs) (tool.Result, error) {
			return tool.Text("patched"), os.WriteFile(filepath.Join(w.dir, in.Dir, "a.go"), []byte("patched"), 0o644)
		})))
	for _, dir := range []string{"root", "root/"} {
		c := []tool.Call{call("apply_patch", "dir", dir), call("edit", "path", "root/a.go", "old", "patched", "new", "edited")}
		assert.Equal(t, [][]int{{0}, {1}}, w.waves(c...))
		for _, r := range w.run(c) {
			assert.False(t, r.IsError, r.Text())
		}
		assert.Equal(t, "edited", w.text("root/a.go"))
	}
	assert.Equal(t, [][]int{{0}, {1}}, w.waves(call("apply_patch", "dir", "."), call("edit", "path", "root/a.go", "old", "a", "new", "b")))
}

// A path as a file and as a directory: one after the other, and the error is an ordinary result of the second.
func TestCase_dir_vs_file_4(t *testing.T) {
	for name, admission := range admissions {
		w := newWorld(t, "a = regular")
		c := []tool.Call{call("remove", "path", "a"), call("remove", "path", "a/b")}
		assert.Equal(t, [][]int{{0}, {1}}, w.waves(c...))
		r := w.run(c, exec.Admit(admission))
		assert.False(t, r[0].IsError, name)
		assert.True(t, r[1].IsError, name)
		assert.Equal(t, "a/b: no such file or directory", r[1].Text())
		assert.Empty(t, r[1].Code)

		w = newWorld(t, "a/")
		c = []tool.Call{call("write", "path", "a/b", "content", "file"), call("write", "path", "a/b/c", "content", "below")}
		assert.Equal(t, [][]int{{0}, {1}}, w.waves(c...))
		r = w.run(c, exec.Admit(admission))
		assert.False(t, r[0].IsError, name)
		assert.True(t, r[1].IsError, name)
		assert.Equal(t, "file", w.text("a/b"))
	}
}

// Two sessions move in opposite directions, a thousand times, each on its own and over one Domain: neither waits for
// ever.
func TestCase_two_keys_1(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 100
	}
	for name, opts := range map[string][]exec.Option{"alone": nil, "in a Domain": {exec.In(exec.NewDomain())}} {
		one := newWorld(t, "a = moved")
		two := open(t, one.dir)
		var forth, back atomic.Int32 // moves that found the file
		var both sync.WaitGroup
		session := func(w *world, c tool.Call, found *atomic.Int32) {
			for range rounds {
				r, err := tool.Execute(context.Background(), w.reg, c, opts...)
				if !assert.NoError(t, err) || !assert.Empty(t, r.Code, r.Text()) {
					return
				}
				if !r.IsError {
					found.Add(1)
				}
			}
		}
		both.Go(func() { session(one, call("move", "from", "a", "to", "b"), &forth) })
		both.Go(func() { session(two, call("move", "from", "b", "to", "a"), &back) })
		both.Wait()
		assert.NotEqual(t, one.exists("a"), one.exists("b"), "%s: the file is at one of the two", name)
		if opts != nil {
			want := back.Load() // the two took turns
			if one.exists("b") {
				want++
			}
			assert.Equal(t, want, forth.Load(), name)
		}
	}

	// In one session the claims of a call are taken together, and the two are ordered.
	forth, back := call("move", "from", "a", "to", "b"), call("move", "from", "b", "to", "a")
	w := newWorld(t, "a = moved")
	assert.Equal(t, [][]int{{0}, {1}}, w.waves(forth, back))
	for _, r := range w.run([]tool.Call{forth, back, forth, back}, exec.Admit(plan.NewKeyed)) {
		assert.False(t, r.IsError, r.Text())
	}
	assert.True(t, w.exists("a"))
}

// Moving a file onto itself is one key, and happens once, whatever the spelling.
func TestCase_two_keys_2(t *testing.T) {
	w := newWorld(t, "a = A")
	for _, to := range []string{"a", "./a"} {
		c := call("move", "from", "a", "to", to)
		assert.Equal(t, [][]int{{0}}, w.waves(c))
		for name, admission := range admissions {
			r := w.run([]tool.Call{c}, exec.Admit(admission))
			assert.False(t, r[0].IsError, "%s: %s", name, r[0].Text())
		}
		assert.Equal(t, "A", w.text("a"))
	}
}

// A move keeps writers of both ends behind it, and nobody else.
func TestCase_two_keys_4(t *testing.T) {
	for name, admission := range admissions {
		w := newWorld(t, "a = A", "c = C")
		c := []tool.Call{
			call("move", "from", "a", "to", "b"), call("write", "path", "b", "content", "c2"),
			call("edit", "path", "a", "old", "A", "new", "x"), call("read", "path", "c"),
		}
		assert.Equal(t, [][]int{{0, 3}, {1, 2}}, w.waves(c...))
		r := w.run(c, exec.Admit(admission))
		assert.False(t, r[0].IsError, name)
		assert.Equal(t, "c2", w.text("b"), name)
		assert.Equal(t, "a: no such file or directory", r[2].Text())
		assert.Empty(t, r[2].Code)
		assert.Equal(t, "C", text(t, r[3]))
	}
}

// A read of what an earlier call of the turn writes sees it; a read before it does not.
func TestCase_ordering_2(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	edit := call("edit", "path", "s", "old", "line 150\n", "new", "changed\n")
	read := call("read", "path", "s", "offset", 150, "limit", 1)
	for name, admission := range admissions {
		w := newWorld(t, "s = "+b.String())
		assert.Equal(t, [][]int{{0}, {1}}, w.waves(edit, read))
		assert.Equal(t, "changed\n", text(t, w.run([]tool.Call{edit, read}, exec.Admit(admission))[1]), name)

		write, readNew := call("write", "path", "new", "content", "fresh"), call("read", "path", "new")
		assert.Equal(t, [][]int{{0}, {1}}, w.waves(write, readNew))
		assert.Equal(t, "fresh", text(t, w.run([]tool.Call{write, readNew}, exec.Admit(admission))[1]), name)

		w = newWorld(t, "s = "+b.String())
		assert.Equal(t, [][]int{{0}, {1}}, w.waves(read, edit))
		assert.Equal(t, [][]int{{0, 1}}, w.waves(read, read), "reads share")
		assert.Equal(t, "line 150\n", text(t, w.run([]tool.Call{read, edit}, exec.Admit(admission))[0]), name)
		assert.Contains(t, w.text("s"), "changed\n")
	}
}

// A session that remembers what it has seen need not be told the version.
func TestVersionsRemember(t *testing.T) {
	w := newWorld(t, "a = from v1", "dir/b = from v1", "c = from v1")
	other := open(t, w.dir)
	var seen Versions
	ctx := WithVersions(t.Context(), &seen)
	do := func(name string, args ...any) tool.Result {
		r, err := tool.Execute(ctx, w.reg, call(name, args...))
		require.NoError(t, err)
		return r
	}
	good := func(name string, args ...any) {
		r := do(name, args...)
		require.False(t, r.IsError, r.Text())
	}
	refused := func(name string, args ...any) {
		r := do(name, args...)
		assert.True(t, r.IsError, "%s %v: %s", name, args, r.Text())
		assert.Contains(t, r.Text(), "changed since it was read")
	}
	good("write", "path", "c", "content", "not seen before")
	good("read", "path", "a")
	ok[writeValue](other, "edit", "path", "a", "old", "v1", "new", "v0")
	refused("edit", "path", "a", "old", "v0", "new", "v2")
	good("read", "path", "a")
	good("edit", "path", "a", "old", "v0", "new", "v2")
	good("write", "path", "a", "content", "v3") // it has written v2 itself
	ok[writeValue](other, "write", "path", "a", "content", "theirs")
	refused("write", "path", "a", "content", "v4")
	refused("edit", "path", "a", "old", "theirs", "new", "v4")
	good("write", "path", "a", "content", "theirs, and mine", "version", versionOf([]byte("theirs")))
	good("write", "path", "a", "content", "v5")

	good("read", "path", "dir/b")
	good("move", "from", "dir", "to", "moved")
	good("write", "path", "dir/b", "content", "another file")
	ok[writeValue](other, "write", "path", "moved/b", "content", "theirs")
	refused("write", "path", "moved/b", "content", "v2")
	good("remove", "path", "moved", "recursive", true)
	good("write", "path", "moved/b", "content", "new")

	ok[pathValue](other, "remove", "path", "a")
	refused("write", "path", "a", "content", "v6")
	refused("edit", "path", "a", "old", "v5", "new", "v6")

	good("read", "path", "c")
	good("move", "from", "dir/b", "to", "c", "overwrite", true)
	good("write", "path", "c", "content", "that one")
}
