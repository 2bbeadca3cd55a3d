package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/plan/plantest"
)

// The cases here are what planning alone can get wrong; each is named after its id.

// A patch tool claimed the directory, an edit the file: they must not overlap whatever kind their keys have.
func TestCase_dir_vs_file_1(t *testing.T) {
	calls := []plan.Call{call("w root/..."), call("w root/a.go")}
	assert.True(t, plan.Conflict(calls[0], calls[1]))
	assert.Equal(t, [][]int{{0}, {1}}, plan.Ordered(calls).Waves())
	assert.Equal(t, [][]int{{0}, {1}}, plan.FirstFit(calls).Waves())
	asTree := []plan.Call{calls[0], call("w root/a.go/...")} // a path may turn out to be a directory
	assert.Equal(t, [][]int{{0}, {1}}, plan.Ordered(asTree).Waves())
}

// Whole strings make lib and lib/foo.ts disjoint, string prefixes make foo and foobar clash.
func TestCase_dir_vs_file_2(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"w lib/...", "r lib/foo.ts/...", true},
		{"w src/foo/...", "w src/foobar/...", false},
		{"w lib//...", "w lib/...", true},
		{"w root/...", "w root/x/...", true}, // the key of "." is its root, of which every key in it is a part
	} {
		assert.Equal(t, tt.want, plan.Conflict(call(tt.a), call(tt.b)), "%s and %s", tt.a, tt.b)
		assert.Equal(t, tt.want, plan.Conflict(call(tt.b), call(tt.a)), "%s and %s", tt.b, tt.a)
		assert.Equal(t, tt.want, len(plan.Ordered([]plan.Call{call(tt.a), call(tt.b)}).Waves()) == 2, "%s and %s", tt.a, tt.b)
	}
}

// An unrelated dependency must not push the first writer of a key behind the second.
func TestCase_ordering_1(t *testing.T) {
	calls := []plan.Call{call("r dep", "w shared"), call("w shared"), call("w dep")}
	p := plan.Ordered(calls)
	assert.Equal(t, [][]int{{0}, {1, 2}}, p.Waves())
	require.NoError(t, plantest.CheckPlan(calls, p.Waves(), plantest.P3|plantest.P4))
}

// A move of a node onto itself waits for nobody, itself least of all.
func TestCase_two_keys_2(t *testing.T) {
	calls := []plan.Call{call("w a", "w a")}
	assert.Equal(t, [][]int{{0}}, plan.Ordered(calls).Waves())
	assert.Equal(t, [][]int{{0}}, plan.FirstFit(calls).Waves())
	runsOnceWithoutWaiting(t, calls[0])
}

// A move excludes the writers of both its ends, and nobody else.
func TestCase_two_keys_4(t *testing.T) {
	calls := []plan.Call{call("w a", "w b"), call("w b"), call("w a"), call("r c")}
	assert.Equal(t, [][]int{{0, 3}, {1, 2}}, plan.Ordered(calls).Waves())
}

// Claims of one call are merged: a write covers a read of the same key.
func TestCase_path_alias_4(t *testing.T) {
	for _, c := range []plan.Call{call("r a", "w a"), call("w state.json", "w state.json"), call("w a", "r a/"), call("r a/...", "w a/x")} {
		assert.Equal(t, [][]int{{0}}, plan.Ordered([]plan.Call{c}).Waves())
		assert.Equal(t, [][]int{{0}}, plan.FirstFit([]plan.Call{c}).Waves())
		runsOnceWithoutWaiting(t, c)
	}
	assert.Equal(t, [][]int{{0}, {1}}, plan.Ordered([]plan.Call{call("r a", "w a"), call("r a")}).Waves(), "write wins")
}

// runsOnceWithoutWaiting starts c alone under every admission.
func runsOnceWithoutWaiting(t *testing.T, c plan.Call) {
	t.Helper()
	for _, a := range admissions {
		m := a.open()
		i := m.Submit(c)
		_, blocked := m.Blocked(i)
		assert.False(t, blocked, a.name)
		assert.True(t, m.Start(i, c), a.name)
		assert.False(t, m.Start(i, c), "%s: once", a.name)
	}
}

// A writer runs as soon as the readers that came before it are done, and later readers queue behind it.
func TestCase_permits_5(t *testing.T) {
	read, write := call("r k"), call("w k")
	a := plan.NewKeyed()
	offers := func(i int) bool { j, ok := a.Next(i - 1); return ok && j == i }
	for i := range 4 { // readers arrive, some are done already
		require.Equal(t, i, a.Submit(read))
		require.True(t, a.Start(i, read))
	}
	a.Settle(0)
	a.Settle(1)
	w := a.Submit(write)
	for range 100 { // and readers go on arriving
		r := a.Submit(read)
		assert.False(t, offers(r), "reader %d came after the writer", r)
		b, ok := a.Blocked(r)
		assert.True(t, ok)
		assert.Equal(t, plan.Blocker{Kind: plan.ByClaim, Call: w, Mine: read.Claims[0], Held: write.Claims[0]}, b)
	}
	a.Settle(2)
	assert.False(t, offers(w), "a reader before it runs")
	a.Settle(3)
	require.True(t, offers(w), "only readers that came later wait")
	require.True(t, a.Start(w, write))
	assert.False(t, offers(w+1))
	a.Settle(w)
	for r := w + 1; r <= w+100; r++ {
		assert.True(t, offers(r), "reader %d, once the writer is done", r)
	}
}

// Two edits of one file are two waves, six are six: never two at a time.
func TestCase_lost_update_1(t *testing.T) {
	for n := range 7 {
		var calls []plan.Call
		for range n {
			calls = append(calls, call("w p.md"))
		}
		p := plan.Ordered(calls)
		assert.Len(t, p.Waves(), n)
		for i := range calls {
			assert.Equal(t, i, p.WaveOf(i))
		}
		for _, a := range admissions {
			m := a.open()
			for _, c := range calls {
				m.Submit(c)
			}
			for i := range calls {
				j, ok := m.Next(-1)
				require.True(t, ok && i == j, "%s offers %d", a.name, j)
				_, more := m.Next(j)
				require.False(t, more, a.name)
				require.True(t, m.Start(j, calls[j]))
				_, more = m.Next(-1)
				require.False(t, more, "%s: edit %d runs", a.name, j)
				m.Settle(j)
				m.Commit(j)
			}
		}
	}
}
