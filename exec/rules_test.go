package exec_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// The rules that keep a Domain free of deadlocks, as far as they are the Domain's own. Package domaintest has them in
// all their forms; here is the plainest of each.

// A call takes all of its claims at once: who has one of two keys and waits for the other would wait for ever for
// somebody who does the same the other way round.
func TestE13WholeSets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		both := asks(t, d, "both", writes("a", "b"))
		ab := asks(t, d, "ab", writes("a", "b"))
		ba := asks(t, d, "ba", writes("b", "a"))
		both.release()
		require.True(t, ab.has())
		require.False(t, ba.has())
		ab.release()
		require.True(t, ba.has())
		ba.release()

		// Nor does it take one while it waits for another, where somebody before it has that.
		a := asks(t, d, "a", reads("a"))
		ba = asks(t, d, "ba", writes("b", "a"))
		b := asks(t, d, "b", writes("b"))
		c := asks(t, d, "c", writes("c"))
		require.False(t, ba.has())
		require.False(t, b.has(), "it came later")
		require.True(t, c.has())
		for _, x := range []*asked{a, ba, b, c} {
			require.True(t, x.has())
			x.release()
		}

		// Nor is it granted when it has one.
		a, b = asks(t, d, "a", writes("a")), asks(t, d, "b", writes("b"))
		ab = asks(t, d, "ab", writes("a", "b"))
		a.release()
		require.False(t, ab.has())
		b.release()
		require.True(t, ab.has())
		ab.release()
	})
}

// First come, first served: a writer waits for what came before it and nothing else, and readers that come later stand
// behind it.
func TestE13InOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		r1 := asks(t, d, "r1", reads("a"))
		r2 := asks(t, d, "r2", reads("a"))
		w := asks(t, d, "w", writes("a"))
		r3 := asks(t, d, "r3", reads("a"))
		r4 := asks(t, d, "r4", tree("a")) // a write, in fact
		r5 := asks(t, d, "r5", reads("a/b"))
		assert.True(t, r1.has())
		assert.True(t, r2.has())
		assert.False(t, w.has())
		assert.False(t, r3.has())
		r2.release()
		assert.False(t, w.has())
		r1.release()
		assert.True(t, w.has())
		assert.False(t, r3.has())
		w.release()
		assert.True(t, r3.has())
		assert.False(t, r4.has())
		assert.False(t, r5.has())
		r3.release()
		assert.True(t, r4.has())
		assert.False(t, r5.has())
		r4.release()
		assert.True(t, r5.has())
		r5.release()
		assert.Less(t, r1.lease.Token(), w.lease.Token())
		assert.Less(t, w.lease.Token(), r3.lease.Token())
	})
}

// Who is in whose way is plan's own relation.
func TestE13Conflicts(t *testing.T) {
	dir := func(key string, a plan.Access) plan.Call {
		return plan.Call{Claims: []plan.Claim{{Key: key, Access: a, Tree: true}}}
	}
	for _, tt := range []struct {
		first, second plan.Call
		conflict      bool
	}{
		{reads("a"), reads("a"), false},
		{reads("a"), writes("a"), true},
		{writes("a"), reads("a/"), true},
		{writes("a//"), writes("a"), true},
		{writes("a"), writes("a/b"), false},
		{writes("a", "b"), writes("c", "b"), true},
		{dir("lib", plan.Read), reads("lib/a"), false},
		{dir("lib", plan.Read), writes("lib/a/b"), true},
		{dir("lib", plan.Write), reads("lib"), true},
		{dir("lib", plan.Write), writes("library"), false},
		{dir("lib", plan.Write), dir("lib/a", plan.Read), true},
		{reads("a"), reads(""), true},
		{reads("/"), reads("a"), true},
		{reads("a"), free, false},
		{writes(""), exclusive, false}, // it claims nothing
	} {
		for range 2 {
			synctest.Test(t, func(t *testing.T) {
				d := exec.NewDomain()
				first := asks(t, d, "first", tt.first)
				second := asks(t, d, "second", tt.second)
				require.Equal(t, !tt.conflict, second.has(), "%v %v", tt.first.Claims, tt.second.Claims)
				first.release()
				require.True(t, second.has())
				second.release()
			})
			tt.first, tt.second = tt.second, tt.first
		}
	}
}

// What is nested in a body has its claims already, must be content with these, and keeps them for as long as it lasts.
func TestE13NestedIsCovered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		outer := asks(t, d, "outer", plan.Call{Claims: []plan.Claim{{Key: "lib", Tree: true}, {Key: "a", Access: plan.Read}}})
		other := asks(t, d, "other", writes("lib/x"))
		inner := asks(t, outer.lease, "inner", writes("lib/x"))
		require.True(t, inner.has(), "it waits for none of those that wait for it")
		for _, c := range []plan.Call{writes("a"), writes("b"), tree("a"), writes("b", "a"), writes(""), {Claims: []plan.Claim{{Key: "a", Access: plan.Read, Tree: true}}}} {
			refused := asks(t, outer.lease, "refused", plan.Call{Claims: append(reads("a", "lib").Claims, c.Claims...)})
			u := new(exec.UncoveredError)
			require.ErrorAs(t, refused.err, &u, "%v", c)
			assert.Equal(t, c.Claims[0], u.Claim)
			assert.Equal(t, outer.by, u.Holder)
		}
		waits := asks(t, outer.lease, "waits", writes("lib/x"))
		assert.False(t, waits.has())
		outer.release()
		assert.False(t, waits.has())
		assert.ErrorIs(t, waits.err, exec.ErrLeaseEnded, "nothing starts any more in a body that has returned")
		assert.False(t, other.has(), "what is nested has not ended")
		inner.release()
		assert.True(t, other.has())
		other.release()

		// Without claims around it it takes its own, of the Domain that everybody takes them of.
		free := asks(t, d, "free", free)
		other = asks(t, d, "other", writes("a"))
		inner = asks(t, free.lease, "inner", writes("a"))
		assert.False(t, inner.has())
		other.release()
		assert.True(t, inner.has())
		inner.release()
		free.release()
	})
}

// An abandoned body may still do what it claimed, and one that runs alone and claims nothing may do anything.
func TestE13AbandonedKeepsItsClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		a := asks(t, d, "a", writes("a"))
		inner := asks(t, a.lease, "inner", writes("a"))
		waits := asks(t, a.lease, "waits", writes("a"))
		alone, alone2 := asks(t, d, "alone", exclusive), asks(t, d, "alone 2", exclusive)
		before := asks(t, d, "before", writes("b"))
		a.lease.Abandon()
		assert.False(t, waits.has())
		require.ErrorIs(t, waits.err, exec.ErrLeaseEnded)
		next := asks(t, d, "next", writes("a"))
		beside := asks(t, d, "beside", writes("c"))
		assert.False(t, next.has())
		assert.True(t, beside.has())
		for _, l := range []exec.Lease{a.lease, inner.lease} {
			nested := asks(t, l, "nested", writes("a"))
			require.ErrorIs(t, nested.err, exec.ErrLeaseEnded)
		}

		alone.lease.Abandon()
		alone2.lease.Abandon()
		after := asks(t, d, "after", writes("d"))
		within := asks(t, before.lease, "within", writes("b"))
		assert.False(t, after.has(), "it might be done to it")
		assert.True(t, within.has(), "but that was there before")
		within.release()
		before.release()
		a.release()
		inner.release()
		assert.True(t, next.has(), "it had come before")
		next.release()
		beside.release()
		assert.False(t, after.has())
		alone2.release()
		assert.False(t, after.has())
		alone.release()
		assert.True(t, after.has())
		after.release()
	})
}
