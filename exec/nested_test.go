package exec_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// tree claims keys with all below them.
func tree(keys ...string) plan.Call {
	c := writes(keys...)
	for i := range c.Claims {
		c.Claims[i].Tree = true
	}
	return c
}

// inside runs a batch in a body.
func inside(ctx context.Context, calls []plan.Call, body func(ctx context.Context, i int) error, opts ...exec.Option) error {
	_, err := exec.Run(ctx, calls, func(ctx context.Context, i int) (int, error) { return 0, body(ctx, i) }, opts...)
	return err
}

// What is nested in a body has its claims already: it does not stand behind those who wait for the body, and they stand
// behind all of it.
func TestDomainNestedCompetesWithinTheLease(t *testing.T) {
	for _, in := range []bool{false, true} { // whether the nested lanes are told the Domain, which they are in anyway
		synctest.Test(t, func(t *testing.T) {
			d := exec.NewDomain()
			var opts []exec.Option
			if in {
				opts = append(opts, exec.In(d))
			}
			j := newJournal()
			js := j.stubs(tree("a"), writes("a/x"), reads("a/y"), writes("b"))
			inner := newJournal()
			js[0].run = func(ctx context.Context) exec.Outcome {
				<-time.After(time.Second)
				return exec.Outcome{Err: inside(ctx, []plan.Call{writes("a/x"), writes("a/y"), reads("a/x"), tree("a/z"), exclusive}, func(ctx context.Context, i int) error {
					inner.add(i, "run", nil)
					if i != 1 {
						return rest(ctx, time.Second)
					}
					return inside(ctx, []plan.Call{reads("a/y"), writes("a/y"), free}, func(ctx context.Context, _ int) error {
						return rest(ctx, 2*time.Second)
					}, opts...)
				}, append(opts, exec.Admit(plan.NewKeyed))...)}
			}
			var lanes []*exec.Lane
			for _, s := range js {
				l := lane(t, t.Context(), exec.In(d))
				submit(t, l, s)
				synctest.Wait()
				lanes = append(lanes, l)
			}
			for _, l := range lanes {
				require.NoError(t, finish(l))
			}
			require.NoError(t, j.find(t, 0, "settled").err)
			for i, at := range map[int]time.Duration{0: 1, 1: 1, 2: 2, 3: 1, 4: 5} {
				assert.Equal(t, at*time.Second, inner.find(t, i, "run").at, "nested call %d", i)
			}
			for i, at := range map[int]time.Duration{1: 6, 2: 6, 3: 0} {
				assert.Equal(t, at*time.Second, j.find(t, i, "run").at, "call %d", i)
			}
			vacant(t, d)
		})
	}
}

// Lanes that are open in one body at once take turns there, first come, first served.
func TestDomainNestedLanesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		j := newJournal()
		js := j.stubs(reads("k"), writes("k"), reads("k"), reads("k"))
		for _, s := range js {
			s.run = takes(time.Minute)
		}
		require.NoError(t, inside(t.Context(), []plan.Call{writes("k", "l")}, func(ctx context.Context, _ int) error {
			var lanes []*exec.Lane
			for _, s := range js {
				l := lane(t, ctx)
				submit(t, l, s)
				synctest.Wait()
				<-time.After(time.Second)
				lanes = append(lanes, l)
			}
			for _, l := range lanes {
				if err := finish(l); err != nil {
					return err
				}
			}
			return nil
		}, exec.In(d)))
		for i, at := range []time.Duration{0, 1, 2, 2} {
			assert.Equal(t, at*time.Minute, j.find(t, i, "run").at, "call %d", i)
		}
		vacant(t, d)
	})
}

// What a body may ask for that runs in a call with some claims.
func TestDomainCover(t *testing.T) {
	whole := plan.Call{Safe: true, Claims: []plan.Claim{{Key: "//"}}}
	readTree := plan.Call{Safe: true, Claims: []plan.Claim{{Key: "a", Tree: true, Access: plan.Read}}}
	mixed := plan.Call{Safe: true, Claims: []plan.Claim{{Key: "a", Tree: true, Access: plan.Read}, {Key: "a/x"}}}
	for _, c := range []struct {
		outer, inner plan.Call
		missing      string // empty: it is covered
	}{
		{writes("a"), writes("a"), ""},
		{writes("a"), reads("a"), ""},
		{writes("a"), free, ""},
		{writes("a"), exclusive, ""},
		{reads("a"), reads("a"), ""},
		{reads("a"), writes("a"), "write a"},
		{writes("a", "b"), writes("b", "a", "b/"), ""},
		{writes("a", "b"), writes("b", "c", "a"), "write c"},
		{writes("a"), writes("a/x"), "write a/x"},
		{writes("a"), tree("a"), "write a/..."},
		{tree("a"), writes("a"), ""},
		{tree("a"), writes("a/x/y"), ""},
		{tree("a"), tree("a/x"), ""},
		{tree("a"), writes("ax"), "write ax"},
		{tree("a/x"), tree("a"), "write a/..."},
		{readTree, reads("a/x"), ""},
		{readTree, writes("a/x"), "write a/x"},
		{mixed, writes("a/x"), ""},
		{mixed, tree("a/x"), "write a/x/..."},
		{whole, tree("anything"), ""},
		{tree("a"), whole, `write ""`},
		{plan.Call{Claims: writes("a").Claims}, writes("b"), "write b"}, // of an exclusive one the claims count
	} {
		d := exec.NewDomain()
		ran := false
		err := inside(t.Context(), []plan.Call{c.outer}, func(ctx context.Context, _ int) error {
			return inside(ctx, []plan.Call{c.inner}, func(context.Context, int) error { ran = true; return nil })
		}, exec.In(d))
		if c.missing == "" {
			assert.NoError(t, err, "%v in %v", c.inner, c.outer)
			assert.True(t, ran)
			continue
		}
		var not *exec.UncoveredError
		if assert.ErrorAs(t, err, &not, "%v in %v", c.inner, c.outer) {
			assert.Equal(t, c.missing, not.Claim.String())
			assert.False(t, ran)
		}
		vacant(t, d)
	}
}

// A nested call that is not covered is refused before its body: to wait could be to wait for somebody who waits for the
// body. In a lane that is the call's own matter, in Run and Each a hard error.
func TestDomainUncoveredIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		lease := take(t, d, writes("elsewhere")) // the answer does not wait for who has it
		outer := lane(t, t.Context(), exec.In(d), exec.Name("outer"))
		j := newJournal()
		calls := []plan.Call{writes("a"), writes("elsewhere"), reads("b"), writes("b"), free}
		js := j.stubs(calls...)
		var tl exec.Timeline
		s := &stub{j: newJournal(), i: 1, what: plan.Call{Safe: true, Claims: append(writes("a").Claims, reads("b").Claims...)}}
		s.run = func(ctx context.Context) exec.Outcome {
			l := lane(t, ctx, exec.Name("inner"), exec.Record(&tl))
			submit(t, l, jobs(js)...)
			require.NoError(t, finish(l))

			err := inside(ctx, calls, func(context.Context, int) error { return nil }, exec.Limit(1))
			var not *exec.NotRunError
			require.ErrorAs(t, err, &not)
			assert.Equal(t, 1, not.Call)
			assert.True(t, not.Unclaimed)
			require.ErrorAs(t, err, new(*exec.UncoveredError))

			var commits []int
			err = exec.Each(ctx, calls, func(_ context.Context, i int) (int, error) { return i, nil }, func(i, _ int) error {
				commits = append(commits, i)
				return nil
			}, exec.Limit(1))
			require.ErrorAs(t, err, new(*exec.UncoveredError))
			assert.Equal(t, []int{0}, commits)
			return exec.Outcome{}
		}
		submit(t, outer, &stub{j: newJournal(), what: free}, s)
		require.NoError(t, finish(outer))
		require.NoError(t, s.j.find(t, 1, "settled").err)

		for i, key := range map[int]string{1: "elsewhere", 3: "b"} {
			err := j.find(t, i, "settled").err
			assert.Equal(t, &exec.NotRunError{Call: i, Unclaimed: true, Cause: &exec.UncoveredError{
				Claim:  plan.Claim{Key: key},
				Holder: exec.Caller{Lane: "outer", Call: 1},
				Held:   s.what.Claims,
			}}, err)
			assert.EqualError(t, err, fmt.Sprintf("call %d: not run: claim write %s is not covered by those of call 2 of outer, "+
				"in which the call is nested: write a, read b", i+1, key))
			assert.Equal(t, exec.EndNotRun, tl.Snapshot()[i].End)
		}
		for _, i := range []int{0, 2, 4} {
			assert.NoError(t, j.find(t, i, "settled").err)
		}
		check(t, j, checks{calls: calls, limit: exec.DefaultLimit, ordered: true})
		checkSums(t, tl.Snapshot(), false)
		assert.Zero(t, time.Since(j.start))
		lease.Release()
		vacant(t, d)
	})
}

// The nearest call around that has claims decides. With none around, a nested call takes its own.
func TestDomainNearestHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		lease := take(t, d, writes("k"))
		start := time.Now()
		go func() { <-time.After(time.Second); lease.Release() }()
		deep := func(calls ...plan.Call) error { // each nested in the one before
			var descend func(ctx context.Context, left []plan.Call) error
			descend = func(ctx context.Context, left []plan.Call) error {
				if len(left) == 0 {
					return nil
				}
				depth := len(calls) - len(left)
				return inside(ctx, []plan.Call{left[0]}, func(ctx context.Context, _ int) error { return descend(ctx, left[1:]) },
					exec.In(d), exec.Name(fmt.Sprint("depth ", depth)))
			}
			return descend(t.Context(), calls)
		}
		require.NoError(t, deep(free, exclusive, writes("k"), free, reads("k")))
		assert.Equal(t, time.Second, time.Since(start), "as if it were not nested")
		require.NoError(t, deep(writes("a", "b"), free, writes("a"), free, reads("a")))
		var not *exec.UncoveredError
		require.NoError(t, deep(writes("a", "b"), free, writes("b")))
		require.ErrorAs(t, deep(writes("a", "b"), free, writes("a"), free, writes("b")), &not)
		assert.Equal(t, exec.Caller{Lane: "depth 2"}, not.Holder)
		require.ErrorAs(t, deep(writes("a"), free, exclusive, writes("k")), &not)
		assert.Equal(t, exec.Caller{Lane: "depth 0"}, not.Holder)
		vacant(t, d)
	})
}

// A lane that is nested takes its claims from the body around it: the same Domain may be named, but no other one.
func TestDomainOfANestedLane(t *testing.T) {
	d, other := exec.NewDomain(), exec.NewDomain()
	foreign, inForeign := newService()
	sem := semaphore.NewWeighted(1)
	var tl exec.Timeline
	for _, outer := range []exec.Domain{d, foreign} {
		require.NoError(t, inside(t.Context(), []plan.Call{writes("a")}, func(ctx context.Context, _ int) error {
			for _, domain := range []exec.Domain{other, &service{decides: d}, boxDomain{1}} {
				_, err := exec.NewLane(ctx, exec.In(domain))
				require.ErrorIs(t, err, exec.ErrOption)
				assert.Contains(t, err.Error(), "call 1 of outer")
				require.ErrorIs(t, inside(ctx, times(1, free), nil, exec.In(domain)), exec.ErrOption)
			}
			var busy exec.Timeline
			l := lane(t, ctx, exec.Record(&busy)) // one that cannot be made leaves nothing open either
			_, err := exec.NewLane(ctx, exec.Record(&busy))
			require.ErrorIs(t, err, exec.ErrOption)
			require.NoError(t, finish(l))
			assert.False(t, sem.TryAcquire(1), "the body has its permit")
			return inside(ctx, []plan.Call{writes("a")}, func(ctx context.Context, _ int) error {
				return inside(ctx, []plan.Call{writes("a")}, func(context.Context, int) error { return nil }, exec.In(outer))
			}, exec.In(outer))
		}, exec.In(outer), exec.Name("outer"), exec.Shared(sem), exec.Record(&tl)))
		assert.True(t, sem.TryAcquire(1))
		sem.Release(1)
	}
	vacant(t, d)
	vacant(t, inForeign)
}

// A lease has ended when its body has returned and every lease within it has ended: nested calls that run go on, under
// its protection, and nothing more begins.
func TestDomainLeaseOutlivesItsBody(t *testing.T) {
	for _, abandoned := range []bool{false, true} { // the outer body does not return, but was given up
		for _, kind := range []string{"memory", "foreign"} {
			t.Run(fmt.Sprintf("%s, abandoned %v", kind, abandoned), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, d := newService()
					var in exec.Domain = d
					if kind == "foreign" {
						in = s
					}
					start := time.Now()
					var left *exec.Lane
					j := newJournal()
					js := j.stubs(writes("a"), writes("a"), reads("b"), free)
					js[0].run = func(context.Context) exec.Outcome { <-time.After(time.Minute); return exec.Outcome{} }
					l := lane(t, t.Context(), exec.In(in), exec.Name("outer"), exec.Drain(time.Second))
					submit(t, l, &stub{j: newJournal(), what: writes("a", "b"), run: func(ctx context.Context) exec.Outcome {
						// Two lanes, because in one of its own the second call would wait for the first in its lane.
						left = lane(t, context.WithoutCancel(ctx), exec.Name("inner"), exec.Admit(plan.NewKeyed))
						also := lane(t, context.WithoutCancel(ctx), exec.Name("also"))
						submit(t, left, js[0])
						<-time.After(time.Second / 4)
						submit(t, also, js[1])
						also.Close()
						<-time.After(3 * time.Second / 4)
						if abandoned {
							<-time.After(10 * time.Second)
						}
						return exec.Outcome{}
					}})
					synctest.Wait()
					if abandoned {
						l.Cancel(errBoom)
					}
					require.Equal(t, map[bool]error{true: errBoom}[abandoned], finish(l))
					assert.Equal(t, time.Second, time.Since(start))
					for _, k := range []int{2, 3} {
						submit(t, left, js[k])
					}
					next := lane(t, t.Context(), exec.In(in))
					nj := newJournal()
					ns := nj.stubs(reads("b"), free)
					submit(t, next, jobs(ns)...)
					synctest.Wait()
					holding, waiting := callers(d)
					assert.Equal(t, []string{"call 1 of outer", "call 1 of inner"}, holding)
					assert.Equal(t, []string{"call 1 of another lane"}, waiting)
					require.NoError(t, finish(left))
					require.NoError(t, finish(next))
					assert.Equal(t, 59*time.Second, nj.find(t, 0, "run").at)
					assert.Zero(t, nj.find(t, 1, "run").at)
					for _, i := range []int{1, 2, 3} {
						var not *exec.NotRunError
						require.ErrorAs(t, j.find(t, i, "settled").err, &not)
						assert.True(t, not.Unclaimed)
						assert.ErrorIs(t, not, exec.ErrLeaseEnded)
						assert.Contains(t, not.Error(), "outer")
						assert.Equal(t, time.Second, j.find(t, i, "settled").at)
					}
					assert.NoError(t, j.find(t, 0, "settled").err)
					synctest.Wait()
					vacant(t, d)
					if kind == "foreign" {
						assert.Equal(t, 4, s.book.closed(t))
					}
				})
			})
		}
	}
	synctest.Test(t, func(t *testing.T) { // of a nested lane that has given up a body, too
		d := exec.NewDomain()
		require.ErrorIs(t, inside(t.Context(), []plan.Call{writes("a"), free}, func(ctx context.Context, i int) error {
			if i == 1 {
				<-time.After(time.Second)
				return errBoom
			}
			return inside(ctx, []plan.Call{writes("a")}, func(context.Context, int) error { <-time.After(time.Hour); return nil }, exec.Drain(time.Second))
		}, exec.In(d), exec.Name("A")), errBoom)
		holds := d.Holds()
		require.Len(t, holds, 2)
		assert.True(t, holds[0].Abandoned.IsZero())
		assert.False(t, holds[1].Abandoned.IsZero())
		start := time.Now()
		require.NoError(t, inside(t.Context(), []plan.Call{reads("a")}, func(context.Context, int) error { return nil }, exec.In(d)))
		assert.Equal(t, time.Hour-2*time.Second, time.Since(start))
		vacant(t, d)
	})
}
