package exec_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/exec/domaintest"
	"github.com/keywave-go/keywave/plan"
)

// The Domain in memory keeps all that the comment of Domain promises, in bubbles and outside of them.
func TestE13Conformance(t *testing.T) {
	domaintest.Run(t, func(testing.TB) exec.Domain { return exec.NewDomain() })
}

func TestE13ConformanceLive(t *testing.T) {
	domaintest.Run(t, func(testing.TB) exec.Domain { return new(exec.MemoryDomain) }, domaintest.Live(100*time.Microsecond))
}

// A request of a test: who asks, and what came of it.
type asked struct {
	t      require.TestingT
	by     exec.Caller
	cancel context.CancelCauseFunc
	done   chan struct{}
	lease  exec.Lease
	err    error
	told   []string // by Blocked
	blocks []exec.Block
}

// asks starts to acquire something in a bubble, as call 1 of somebody, and comes back when it has it, or waits.
func asks(t require.TestingT, d exec.Domain, who string, c plan.Call) *asked {
	a := &asked{t: t, by: exec.Caller{Lane: who}, done: make(chan struct{})}
	ctx, cancel := context.WithCancelCause(context.Background())
	a.cancel = cancel
	go func() {
		defer close(a.done)
		a.lease, a.err = d.Acquire(ctx, exec.Request{By: a.by, Claims: c.Claims, Exclusive: c.Exclusive(), Blocked: func(b exec.Block) {
			a.told = append(a.told, b.String())
			a.blocks = append(a.blocks, b)
		}})
	}()
	synctest.Wait()
	return a
}

// has reports whether it was granted.
func (a *asked) has() bool {
	synctest.Wait()
	select {
	case <-a.done:
		return a.err == nil
	default:
		return false
	}
}

func (a *asked) release() {
	require.True(a.t, a.has(), "%v has nothing to release", a.by)
	a.lease.Release()
	synctest.Wait()
}

// open reports whether a hold has not ended.
func open(h exec.Hold) bool {
	select {
	case <-h.Ended:
		return false
	default:
		return true
	}
}

// Holds lists what is held, nested leases too, with the token that a store would see, and knows when it ends.
func TestDomainHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		assert.Empty(t, d.Holds())
		keyless := asks(t, d, "keyless", free)
		a := asks(t, d, "a", tree("lib"))
		waits := asks(t, d, "waits", writes("lib/x"))
		b := asks(t, a.lease, "b", writes("lib/b"))
		c := asks(t, a.lease, "c", reads("lib/c"))
		late := asks(t, a.lease, "late", writes("lib/c"))
		deep := asks(t, b.lease, "deep", reads("lib/b"))

		holds := d.Holds()
		var got []string
		for _, h := range holds {
			got = append(got, fmt.Sprint(h.By.Lane, h.Claims))
			assert.Zero(t, h.Abandoned)
			assert.True(t, open(h))
		}
		assert.Equal(t, []string{"keyless[]", "a[write lib/...]", "b[write lib/b]", "c[read lib/c]", "deep[read lib/b]"}, got)
		assert.Equal(t, keyless.lease.Token(), holds[0].Token)
		for _, h := range holds[1:] {
			assert.Equal(t, a.lease.Token(), h.Token, h.By)
		}
		holds[1].Claims[0].Key = "scribble" // it is a copy
		assert.False(t, waits.has())
		assert.Equal(t, "lib", d.Holds()[1].Claims[0].Key)

		// Each ends when it does, whoever was abandoned or released before.
		a.lease.Abandon()
		assert.False(t, late.has())
		require.ErrorIs(t, late.err, exec.ErrLeaseEnded)
		<-time.After(time.Minute)
		a.lease.Abandon() // only the first counts
		again := d.Holds()
		require.Len(t, again, 5)
		assert.Equal(t, time.Minute, time.Since(again[1].Abandoned))
		assert.Zero(t, again[2].Abandoned, "what is within it was not")
		ended := func() (names []string) {
			for _, h := range holds {
				if !open(h) {
					names = append(names, h.By.Lane)
				}
			}
			return names
		}
		a.release()
		assert.Empty(t, ended(), "what is nested in it has not ended")
		assert.Len(t, d.Holds(), 5, "so it is still listed")
		b.release()
		assert.Empty(t, ended())
		deep.release()
		assert.Equal(t, []string{"b", "deep"}, ended())
		assert.False(t, waits.has())
		c.release()
		assert.Equal(t, []string{"a", "b", "c", "deep"}, ended())
		assert.True(t, waits.has())
		for _, h := range again {
			assert.Equal(t, h.By.Lane == "keyless", open(h), "the lists share the channel")
		}
		holding, waiting := callers(d)
		assert.Equal(t, []string{"call 1 of keyless", "call 1 of waits"}, holding)
		assert.Empty(t, waiting)
		waits.release()
		keyless.release()
		assert.Empty(t, d.Holds())
	})
}

// Blocked lists who waits, and of all that are in the way the first.
func TestDomainBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		assert.Empty(t, d.Blocked())
		a := asks(t, d, "a", writes("a", "x"))
		b := asks(t, d, "b", reads("b"))
		c := asks(t, d, "c", writes("b", "a"))
		e := asks(t, d, "e", reads("y", "b"))
		f := asks(t, d, "f", tree(""))
		g := asks(t, b.lease, "g", reads("b"))
		h := asks(t, b.lease, "h", writes("b"))
		require.True(t, g.has())
		assert.ErrorAs(t, h.err, new(*exec.UncoveredError))

		claim := func(key string, a plan.Access) plan.Claim { return plan.Claim{Key: key, Access: a} }
		assert.Equal(t, []exec.Block{
			{Who: c.by, Mine: claim("a", plan.Write), By: a.by, Held: claim("a", plan.Write)},
			{Who: e.by, Mine: claim("b", plan.Read), By: c.by, Held: claim("b", plan.Write)},
			{Who: f.by, Mine: plan.Claim{Tree: true}, By: a.by, Held: claim("a", plan.Write)},
		}, d.Blocked())

		// Somebody who waits within a lease is listed, too.
		k := asks(t, a.lease, "k", writes("a"))
		l := asks(t, a.lease, "l", reads("a"))
		assert.Equal(t, exec.Block{Who: l.by, Mine: claim("a", plan.Read), By: k.by, Held: claim("a", plan.Write)}, d.Blocked()[3])
		k.release()
		l.release()

		a.lease.Abandon()
		assert.Equal(t, "call 1 of c waits for call 1 of a (write a, abandoned)", d.Blocked()[0].String())
		a.release()
		assert.Equal(t, "call 1 of c waits for call 1 of b (read b)", d.Blocked()[0].String())
		g.release()
		b.release()
		require.True(t, c.has())
		z := asks(t, d, "z", exclusive) // claims nothing
		z.lease.Abandon()
		n := asks(t, d, "n", writes("n"))
		assert.Equal(t, exec.Block{Who: n.by, By: z.by, Abandoned: true}, d.Blocked()[2])
		assert.Equal(t, "call 1 of n waits for call 1 of z (abandoned, and may do anything)", d.Blocked()[2].String())
		for _, a := range []*asked{c, e, f, z, n} {
			require.True(t, a.has(), a.by)
			a.release()
		}
		assert.Empty(t, d.Blocked())
	})
}

// A request is told who is right before it, and when that is gone, who is first of those that are left.
func TestDomainTellsWhatIsInTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		a := asks(t, d, "a", reads("x"))
		b := asks(t, d, "b", reads("x"))
		c := asks(t, d, "c", reads("y"))
		e := asks(t, d, "e", writes("x"))
		f := asks(t, d, "f", writes("x", "y"))
		assert.Empty(t, a.told, "it need not wait")
		assert.Equal(t, []string{"call 1 of e waits for call 1 of b (read x)"}, e.told)
		assert.Equal(t, []string{"call 1 of f waits for call 1 of e (write x)"}, f.told)
		a.release()
		assert.Len(t, e.told, 1, "nothing has changed")
		b.release()
		require.True(t, e.has())
		assert.Len(t, e.told, 1)
		assert.Len(t, f.told, 1)
		e.release()
		assert.Equal(t, []string{"call 1 of f waits for call 1 of e (write x)", "call 1 of f waits for call 1 of c (read y)"}, f.told)
		c.release()
		require.True(t, f.has())
		assert.Len(t, f.told, 2)
		f.release()

		// One that waits may be gone before it had anything.
		a = asks(t, d, "a", writes("x"))
		b = asks(t, d, "b", writes("x"))
		c = asks(t, d, "c", writes("x"))
		b.cancel(errBoom)
		synctest.Wait()
		assert.Equal(t, errBoom, b.err)
		assert.Equal(t, []string{"call 1 of c waits for call 1 of b (write x)", "call 1 of c waits for call 1 of a (write x)"}, c.told)
		c.cancel(errBoom)
		a.release()
		assert.Len(t, c.told, 2)
		assert.Empty(t, d.Holds())
	})
}

// What is in the way of one request can change as often as there are others. Nobody is told for ever, and the last word
// does not name one that is not in the way any more.
func TestDomainTellsNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		var readers []*asked
		for i := range 40 {
			readers = append(readers, asks(t, d, fmt.Sprint("reader ", i), reads("x")))
		}
		w := asks(t, d, "w", writes("x"))
		require.Equal(t, []string{"call 1 of w waits for call 1 of reader 39 (read x)"}, w.told)
		readers[39].release()
		for i, r := range readers[:39] {
			require.Len(t, w.told, min(i+2, 17))
			r.release()
		}
		assert.Equal(t, "call 1 of w waits for call 1 of reader 14 (read x)", w.told[15])
		assert.Equal(t, "call 1 of w waits for other calls", w.told[16])
		assert.True(t, w.has())
		w.release()
	})
}

// A zero MemoryDomain is as good as one that NewDomain returns, and each is a Domain of its own.
func TestDomainZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var both struct{ a, b exec.MemoryDomain }
		assert.Empty(t, both.a.Holds())
		assert.Empty(t, both.a.Blocked())
		a := asks(t, &both.a, "a", writes("x"))
		b := asks(t, &both.b, "b", writes("x"))
		c := asks(t, &both.a, "c", writes("x"))
		assert.True(t, a.has())
		assert.True(t, b.has())
		assert.False(t, c.has())
		a.release()
		b.release()
		assert.True(t, c.has())
		c.release()
	})
}

// Release may come twice, and Abandon after it: only the first Release counts.
func TestDomainReleasesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		a := asks(t, d, "a", writes("x"))
		nested := asks(t, a.lease, "nested", writes("x"))
		b := asks(t, d, "b", writes("x"))
		for range 3 {
			a.release()
			a.lease.Abandon()
			assert.False(t, b.has())
		}
		assert.Zero(t, d.Holds()[0].Abandoned)
		nested.release()
		nested.release()
		a.release()
		assert.True(t, b.has())
		c := asks(t, d, "c", writes("x"))
		nested.release()
		a.release()
		assert.False(t, c.has())
		b.release()
		assert.True(t, c.has())
		c.release()
		_, err := a.lease.Acquire(t.Context(), exec.Request{})
		assert.EqualError(t, err, "lease has ended: the body of call 1 of a has returned")
		assert.Equal(t, nested.lease.Token(), a.lease.Token(), "it may still be asked")
	})
}

// The cause of a cancel is told, not that there was one.
func TestDomainCancelCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		a := asks(t, d, "a", writes("x"))
		cause := errors.New("cause")
		b := asks(t, d, "b", writes("x"))
		b.cancel(cause)
		assert.False(t, b.has())
		assert.Same(t, cause, b.err)
		assert.Nil(t, b.lease)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		l, err := d.Acquire(ctx, exec.Request{})
		assert.Same(t, cause, err)
		assert.Nil(t, l)
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		_, err = d.Acquire(ctx, exec.Request{Claims: writes("x").Claims})
		assert.ErrorIs(t, err, context.DeadlineExceeded)

		// Nobody waits for who was cancelled.
		r := asks(t, d, "r", reads("y"))
		w := asks(t, d, "w", writes("y", "x"))
		r2 := asks(t, d, "r2", reads("y"))
		assert.False(t, r2.has())
		w.cancel(cause)
		assert.True(t, r2.has())
		r.release()
		r2.release()
		holding, waiting := callers(d)
		assert.Equal(t, []string{"call 1 of a"}, holding)
		assert.Empty(t, waiting)
		a.release()
	})
}

// The slice of claims is the caller's again when Acquire has returned.
func TestDomainKeepsNoSlice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		for _, c := range []plan.Call{writes("x"), writes("x", "y")} {
			a := asks(t, d, "a", c)
			c.Claims[0].Key = "scribble"
			b := asks(t, d, "b", writes("x"))
			assert.False(t, b.has())
			assert.Equal(t, "x", d.Holds()[0].Claims[0].Key)
			nested := asks(t, a.lease, "nested", writes("x"))
			assert.True(t, nested.has())
			nested.release()
			a.release()
			require.True(t, b.has())
			b.release()
		}
	})
}

// Whoever waits for a call is told when that is abandoned: from there on it may take for ever.
func TestDomainTellsOfAnAbandonment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		a := asks(t, d, "a", writes("k"))
		b := asks(t, d, "b", writes("k"))
		a.lease.Abandon()
		assert.Equal(t, []string{
			"call 1 of b waits for call 1 of a (write k)",
			"call 1 of b waits for call 1 of a (write k, abandoned)",
		}, b.told)
		a.release()
		require.True(t, b.has())
		b.release()
	})
}

// So the timeline says it.
func TestE14TimelineOfAnAbandonment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		js := newJournal().stubs(writes("k"))
		js[0].run = func(context.Context) exec.Outcome { <-time.After(time.Minute); return exec.Outcome{} }
		a := lane(t, t.Context(), exec.In(d), exec.Name("a"), exec.Drain(time.Second))
		submit(t, a, js[0])
		synctest.Wait()
		var tl exec.Timeline
		b := lane(t, t.Context(), exec.In(d), exec.Name("b"), exec.Record(&tl))
		submit(t, b, newJournal().stubs(writes("k"))[0])
		synctest.Wait()
		a.CancelCall(0, errBoom)
		require.ErrorAs(t, finish(a), new(*exec.AbandonedError))
		require.NoError(t, finish(b))
		waits := tl.Snapshot()[0].Waits
		require.NotEmpty(t, waits)
		last := waits[len(waits)-1]
		assert.True(t, last.Abandoned, "%v", waits)
		assert.Equal(t, time.Second, last.From)
	})
}

// An abandonment refuses all that waits within the lease, at any depth: what it refuses first must not make way for what
// it has not come to yet.
func TestDomainAbandonmentGrantsNothingWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		reader := take(t, d, reads("k"))
		zombie := take(t, d, free)
		within := take(t, zombie, free)
		w := asks(t, zombie, "w", writes("k")) // waits for the reader
		r := asks(t, within, "r", reads("k"))  // waits for w
		zombie.Abandon()
		synctest.Wait()
		assert.ErrorIs(t, w.err, exec.ErrLeaseEnded)
		assert.ErrorIs(t, r.err, exec.ErrLeaseEnded)
		if r.lease != nil {
			r.lease.Release()
		}
		within.Release()
		zombie.Release()
		reader.Release()
		vacant(t, d)
	})
}

// A list of who holds what is for people, too.
func TestDomainHoldInWords(t *testing.T) {
	d := exec.NewDomain()
	a, b := take(t, d, reads("a", "b")), take(t, d, exclusive)
	b.Abandon()
	holds := d.Holds()
	assert.Equal(t, "call 42 of other holds read a, read b", holds[0].String())
	assert.Equal(t, "call 42 of other holds nothing, abandoned", holds[1].String())
	a.Release()
	b.Release()
}
