package exec

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/plan/plantest"
)

// ask puts a request in line, and waits for nothing.
func ask(t require.TestingT, d ticketed, r Request) *lease {
	l := new(lease)
	require.NoError(t, d.enter(l, r))
	return l
}

// write is a claim of one key.
func write(key string) []plan.Claim { return []plan.Claim{{Key: key}} }

// vacated checks that a Domain in which nothing competes keeps next to nothing.
func vacated(t require.TestingT, d *MemoryDomain) {
	s := &d.root
	assert.Nil(t, s.first)
	assert.Nil(t, s.last)
	assert.Empty(t, s.zombies)
	for _, l := range s.zombies[:cap(s.zombies)] {
		assert.Nil(t, l)
	}
	assert.Zero(t, s.top.size)
	assert.Equal(t, [modes]queue{}, s.top.queues)
	assert.Zero(t, s.keys)
	assert.LessOrEqual(t, len(s.table), 1024)
	for _, n := range s.table {
		assert.Nil(t, n)
	}
	for _, n := range s.spare {
		assert.Contains(t, []*node{nil, &s.top}, n.from)
		assert.Equal(t, node{from: n.from, hash: n.hash}, *n, "it holds on to nothing")
	}
	assert.Equal(t, len(s.spare), s.spares)
	assert.LessOrEqual(t, s.spares, 64)
}

// Whatever happened: when all leases have ended, the Domain is as good as new.
func TestDomainKeepsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := NewDomain()
		var all []*lease
		pick := func() *lease {
			if len(all) == 0 {
				return nil
			}
			return all[rapid.IntRange(0, len(all)-1).Draw(t, "which")]
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0, 1, 2, 3:
				claims := rapid.SliceOfN(plantest.Claims(), 0, 4).Draw(t, "claims")
				all = append(all, ask(t, d, Request{Claims: claims, Exclusive: len(claims) == 0}))
			case 4, 5:
				if l := pick(); l != nil && l.granted && !l.closed {
					all = append(all, ask(t, l, Request{Claims: l.claims}))
				}
			case 6, 7:
				if l := pick(); l != nil && l.granted {
					l.Release()
				}
			case 8:
				if l := pick(); l != nil && l.granted {
					l.Abandon()
				}
			case 9:
				if l := pick(); l != nil && l.pending != nil && l.waiting() {
					_ = l.withdraw(context.Canceled)
				}
			}
		}
		for left := true; left; {
			left = false
			for _, l := range all {
				if l.granted && !l.released {
					l.Release()
					left = true
				}
			}
		}
		for _, l := range all {
			assert.True(t, l.left || l.pending.err != nil, "%v has not ended", l.claims)
		}
		vacated(t, d)
	})
}

// Many keys at once make the table grow. When they are gone, so is the table.
func TestDomainTableShrinks(t *testing.T) {
	d := NewDomain()
	var all []*lease
	for i := range 10_000 {
		all = append(all, ask(t, d, Request{Claims: write(fmt.Sprint(i))}))
	}
	assert.GreaterOrEqual(t, len(d.root.table), 8192)
	assert.Equal(t, 10_000, d.root.keys)
	for _, l := range all {
		require.True(t, l.granted)
		l.Release()
	}
	vacated(t, d)
	assert.Empty(t, d.root.table)
	assert.Equal(t, 64, d.root.spares)
}

// Keys that repeat one name spread over the table as any others.
func TestDomainTableSpreads(t *testing.T) {
	for range 20 {
		for _, unit := range []string{"/", "a/", "ab/cd/"} {
			d := NewDomain()
			l := ask(t, d, Request{Claims: []plan.Claim{{Key: strings.Repeat(unit, 5000) + "x", Tree: true}}})
			longest := 0
			for _, n := range d.root.table {
				length := 0
				for ; n != nil; n = n.chain {
					length++
				}
				longest = max(longest, length)
			}
			assert.LessOrEqual(t, longest, 16, "%q", unit)
			l.Release()
		}
	}
}

// A claim on a tree has the keys planted under their parents, those that are there already among them; when nothing
// competes any more, keys are flat again.
func TestDomainTreesComeAndGo(t *testing.T) {
	d := NewDomain()
	for range 3 {
		a := ask(t, d, Request{Claims: write("lib/a/x")})
		b := ask(t, d, Request{Claims: write("lib/a/x")})
		c := ask(t, d, Request{Claims: []plan.Claim{{Key: "lib/b"}, {Key: "lib/a/y", Access: plan.Read}}})
		assert.False(t, d.root.trees)
		assert.Equal(t, 3, d.root.keys)
		tree := ask(t, d, Request{Claims: []plan.Claim{{Key: "lib/a", Tree: true}}})
		after := ask(t, d, Request{Claims: write("lib/a/z")})
		beside := ask(t, d, Request{Claims: write("lib/ab")})
		assert.True(t, d.root.trees)
		granted := func(all ...*lease) {
			t.Helper()
			for _, l := range []*lease{a, b, c, tree, after, beside} {
				assert.Equal(t, slices.Contains(all, l), l.granted && !l.left, "%v", l.claims)
			}
		}
		granted(a, c, beside)
		a.Release()
		granted(b, c, beside)
		b.Release()
		granted(c, beside)
		c.Release()
		granted(tree, beside)
		tree.Release()
		granted(after, beside)
		after.Release()
		beside.Release()
		granted()
		vacated(t, d)
	}
	l := ask(t, d, Request{Claims: write("lib/a")})
	assert.False(t, d.root.trees)
	assert.Equal(t, 1, d.root.keys)
	l.Release()
}

// Who is in the way of many that are cancelled does not keep them.
func TestDomainForgetsWhoIsCancelled(t *testing.T) {
	d := NewDomain()
	holder := ask(t, d, Request{Claims: write("a")})
	first := ask(t, d, Request{Claims: write("a"), Blocked: func(Block) {}}) // stays
	told := 0
	for range 10_000 {
		l := ask(t, d, Request{Claims: write("a"), Blocked: func(Block) { told++ }})
		require.ErrorIs(t, l.withdraw(context.Canceled), context.Canceled)
	}
	for range 10_000 { // the same for one that is behind another, which goes
		l := ask(t, d, Request{Claims: write("a")})
		m := ask(t, d, Request{Claims: write("a"), Blocked: func(Block) { told++ }})
		_ = l.withdraw(context.Canceled)
		_ = m.withdraw(context.Canceled)
	}
	assert.Equal(t, 30_000, told)
	assert.LessOrEqual(t, cap(holder.wards), 8)
	assert.LessOrEqual(t, cap(first.wards), 8)
	holder.Release()
	assert.True(t, first.granted)
	assert.Nil(t, holder.wards)
	first.Release()
	vacated(t, d)
}

// An ended lease holds on to no other: not to those that it stood beside, nor to those that these stood beside.
func TestDomainEndedLeaseKeepsNoOthers(t *testing.T) {
	for name, claims := range map[string][]plan.Claim{
		"one key": write("a"), "two keys": {{Key: "a"}, {Key: "b"}}, "tree": {{Key: "a", Tree: true}}, "read": {{Key: "a", Access: plan.Read}},
	} {
		t.Run(name, func(t *testing.T) {
			const n = 200
			d := NewDomain()
			first := ask(t, d, Request{Claims: claims})
			last := first
			var others [n]weak.Pointer[lease]
			for i := range others { // there are always two: one that holds, and one that comes after it
				next := ask(t, d, Request{Claims: claims, Blocked: func(Block) {}})
				last.Release()
				others[i] = weak.Make(next)
				last = next
			}
			last.Release()
			vacated(t, d)
			alive := n
			for range 10 {
				runtime.GC()
				if alive = count(others[:]); alive == 1 {
					break
				}
			}
			assert.Equal(t, 1, alive, "of %d", n)
			runtime.KeepAlive(first)
			runtime.KeepAlive(last)
			runtime.KeepAlive(d)
		})
	}
}

func count(all []weak.Pointer[lease]) (alive int) {
	for _, p := range all {
		if p.Value() != nil {
			alive++
		}
	}
	return alive
}

// The same within a lease that goes on: it does not remember what was nested in it.
func TestDomainHolderKeepsNothingNested(t *testing.T) {
	d := NewDomain()
	holder := ask(t, d, Request{Claims: []plan.Claim{{Key: "lib", Tree: true}}})
	var others [100]weak.Pointer[lease]
	var last *lease
	for i := range others {
		next := ask(t, holder, Request{Claims: write(strings.Repeat("lib/", 1+i%3) + "a")})
		others[i] = weak.Make(next)
		if last != nil {
			last.Release()
		}
		last = next
	}
	last.Release()
	kept := last
	last = nil
	for range 10 {
		if runtime.GC(); count(others[:]) <= 1 {
			break
		}
	}
	assert.Equal(t, 1, count(others[:]))
	assert.Nil(t, holder.kids)
	assert.Zero(t, holder.own.keys)
	runtime.KeepAlive(kept)
	holder.Release()
	vacated(t, d)
}

// Some wait, and whenever one gives up another one comes. It is seldom that all who were told of the holder are looked
// through, however full their list was to begin with.
func TestDomainWardsHaveRoom(t *testing.T) {
	d := NewDomain()
	holder := ask(t, d, Request{Claims: write("a")})
	reader := Request{Claims: []plan.Claim{{Key: "a", Access: plan.Read}}, Blocked: func(Block) {}}
	var all []*lease
	for len(all) < 1000 || len(holder.wards) < cap(holder.wards) {
		all = append(all, ask(t, d, reader))
	}
	const times = 10_000
	looks := 0
	for i := range times {
		if len(holder.wards) == cap(holder.wards) {
			looks++
		}
		at := &all[i%len(all)]
		require.ErrorIs(t, (*at).withdraw(context.Canceled), context.Canceled)
		*at = ask(t, d, reader)
	}
	assert.Less(t, looks, 2+2*times/len(all))
	assert.LessOrEqual(t, cap(holder.wards), 5*len(all))
}
