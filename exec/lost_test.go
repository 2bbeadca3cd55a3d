package exec_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// losing returns a service whose leases of call 1 run out at some time after they were granted.
func losing(after time.Duration) (*service, *exec.MemoryDomain) {
	s, d := newService()
	s.lost = func(by exec.Caller) <-chan struct{} {
		lost := make(chan struct{})
		if by.Call == 1 {
			if after == 0 {
				close(lost)
			} else {
				time.AfterFunc(after, func() { close(lost) })
			}
		}
		return lost
	}
	return s, d
}

// A call whose lease runs out is cancelled, and nobody else is. It has the lease until its body has returned, all the
// same.
func TestForeignLeaseLost(t *testing.T) {
	t.Run("during the body", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, d := losing(time.Second)
			j := newJournal()
			js := j.stubs(free, writes("a"), writes("a"))
			js[0].run = takes(time.Minute)
			js[1].run = func(ctx context.Context) exec.Outcome {
				<-ctx.Done()
				assert.Equal(t, context.Canceled, ctx.Err())
				<-time.After(time.Second) // it comes to rest
				return exec.Outcome{Err: context.Cause(ctx)}
			}
			l := lane(t, t.Context(), exec.In(s), exec.Admit(plan.NewKeyed))
			submit(t, l, jobs(js)...)
			require.NoError(t, finish(l))
			assert.Equal(t, exec.ErrLeaseLost, j.find(t, 1, "settled").err)
			assert.Equal(t, 2*time.Second, j.find(t, 1, "ran").at)
			assert.NoError(t, j.find(t, 0, "settled").err)
			assert.NoError(t, j.find(t, 2, "settled").err)
			assert.Equal(t, 3, s.book.closed(t))
			vacant(t, d)
		})
	})
	t.Run("past the drain bound", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, d := losing(time.Second)
			j := newJournal()
			js := j.stubs(free, writes("a"))
			js[1].run = func(context.Context) exec.Outcome { <-time.After(time.Hour); return exec.Outcome{} }
			l := lane(t, t.Context(), exec.In(s), exec.Drain(time.Second))
			submit(t, l, jobs(js)...)
			require.ErrorIs(t, finish(l), exec.ErrLeaseLost)
			assert.Equal(t, 2*time.Second, time.Since(j.start))
			assert.Equal(t, &exec.AbandonedError{Call: 1, After: time.Second, Cause: exec.ErrLeaseLost}, j.find(t, 1, "settled").err)
			holds := d.Holds()
			require.Len(t, holds, 1)
			assert.Equal(t, 2*time.Second, holds[0].Abandoned.Sub(j.start))
			<-holds[0].Ended
			assert.Equal(t, time.Hour, time.Since(j.start))
			synctest.Wait()
			assert.Equal(t, 2, s.book.closed(t))
			abandons := int32(0) // of the two, whichever was granted first
			for _, g := range s.book.granted {
				abandons += g.abandons.Load()
			}
			assert.EqualValues(t, 1, abandons)
			vacant(t, d)
		})
	})
	t.Run("while it waits for a permit", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, d := losing(2 * time.Second)
			s.acquire = func(ctx context.Context, r exec.Request) (exec.Lease, error) {
				if r.By.Call == 1 {
					<-time.After(time.Second)
				}
				return s.decides.Acquire(ctx, r)
			}
			j := newJournal()
			js := j.stubs(free, writes("a"), free, writes("a"))
			js[0].run, js[2].run = takes(time.Minute), takes(time.Minute)
			l := lane(t, t.Context(), exec.In(s), exec.Limit(2), exec.Admit(plan.NewKeyed))
			submit(t, l, jobs(js)...)
			require.NoError(t, finish(l))
			assert.Equal(t, &exec.NotRunError{Call: 1, Cause: exec.ErrLeaseLost}, j.find(t, 1, "settled").err)
			assert.Equal(t, 3*time.Second, j.find(t, 1, "settled").at)
			assert.Len(t, j.of("run"), 3)
			assert.Equal(t, 4, s.book.closed(t))
			vacant(t, d)
		})
	})
	t.Run("before the body", func(t *testing.T) {
		for range 50 {
			synctest.Test(t, func(t *testing.T) {
				s, d := losing(0)
				j := newJournal()
				js := j.stubs(free, writes("a"), writes("a"))
				js[1].run = func(ctx context.Context) exec.Outcome { return exec.Outcome{Err: rest(ctx, time.Hour)} }
				l := lane(t, t.Context(), exec.In(s), exec.Admit(plan.NewKeyed))
				submit(t, l, jobs(js)...)
				require.NoError(t, finish(l))
				assert.ErrorIs(t, j.find(t, 1, "settled").err, exec.ErrLeaseLost) // of its body, or it was not run
				assert.NoError(t, j.find(t, 2, "settled").err)
				assert.Zero(t, time.Since(j.start))
				assert.Equal(t, 3, s.book.closed(t))
				vacant(t, d)
			})
		}
	})
	t.Run("after the body", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, d := losing(time.Hour)
			j := newJournal()
			js := j.stubs(free, writes("a"))
			js[1].run = takes(time.Second)
			l := lane(t, t.Context(), exec.In(s))
			submit(t, l, jobs(js)...)
			require.NoError(t, finish(l))
			assert.Equal(t, time.Second, time.Since(j.start), "nobody watches it any more")
			assert.NoError(t, j.find(t, 1, "settled").err)
			assert.Equal(t, 2, s.book.closed(t))
			vacant(t, d)
			<-time.After(2 * time.Hour)
		})
	})
	t.Run("Run", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, d := losing(time.Second)
			start := time.Now()
			got, err := exec.Run(t.Context(), []plan.Call{free, writes("a"), exclusive}, func(ctx context.Context, i int) (int, error) {
				assert.NotEqual(t, 2, i, "after a hard error")
				return i, rest(ctx, time.Hour)
			}, exec.In(s))
			require.ErrorIs(t, err, exec.ErrLeaseLost)
			assert.Contains(t, err.Error(), "call 2: ")
			assert.Nil(t, got)
			assert.Equal(t, time.Second, time.Since(start))
			assert.Equal(t, 2, s.book.closed(t))
			vacant(t, d)
		})
	})
}

// What a Domain says of a wait is in the timeline of the lane.
func TestForeignBlocked(t *testing.T) {
	const sec = time.Second
	blocker := exec.Block{Mine: plan.Claim{Key: "a"}, By: exec.Caller{Lane: "far", Call: 6}, Held: plan.Claim{Key: "a", Access: plan.Read}}
	t.Run("known and unknown", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, _ := newService()
			s.acquire = func(ctx context.Context, r exec.Request) (exec.Lease, error) {
				<-time.After(sec)
				r.Blocked(blocker)
				<-time.After(sec)
				r.Blocked(exec.Block{By: exec.Caller{Call: 1}, Abandoned: true})
				<-time.After(sec)
				return s.decides.Acquire(ctx, r)
			}
			var tl exec.Timeline
			l := lane(t, t.Context(), exec.In(s), exec.Record(&tl))
			js := newJournal().stubs(writes("a"))
			js[0].run = takes(sec)
			submit(t, l, js[0])
			<-time.After(sec + sec/2)
			open := tl.Snapshot()[0].Waits
			assert.True(t, open[1].Open)
			assert.Equal(t, `waiting 500ms for call 7 of far (read a)`, open[1].String())
			require.NoError(t, finish(l))
			spans := tl.Snapshot()
			checkSums(t, spans, false)
			assert.Equal(t, []exec.Wait{
				{For: exec.WaitDomain, Call: -1, From: 0, To: sec},
				{For: exec.WaitDomain, Call: 6, Lane: "far", Mine: blocker.Mine, Held: blocker.Held, From: sec, To: 2 * sec},
				{For: exec.WaitDomain, Call: 1, From: 2 * sec, To: 3 * sec, Abandoned: true},
			}, spans[0].Waits)
			assert.Equal(t, "waited 1s for its claims", spans[0].Waits[0].String())
			assert.Equal(t, "waited 1s for call 2 of another lane (abandoned, and may do anything)", spans[0].Waits[2].String())
		})
	})
	t.Run("when the lane has given it up", func(t *testing.T) {
		for _, more := range []int{0, 1, 2} { // calls of the lane that is recorded by then
			synctest.Test(t, func(t *testing.T) {
				s, d := newService()
				s.acquire = func(ctx context.Context, r exec.Request) (exec.Lease, error) {
					<-time.After(time.Hour)
					r.Blocked(blocker)
					return s.decides.Acquire(context.WithoutCancel(ctx), r)
				}
				var tl exec.Timeline
				l := lane(t, t.Context(), exec.In(s), exec.Record(&tl), exec.Drain(sec))
				js := newJournal().stubs(free, writes("a"))
				submit(t, l, jobs(js)...)
				synctest.Wait()
				l.Cancel(errBoom)
				require.Equal(t, errBoom, finish(l))
				_, err := exec.Run(t.Context(), times(more, free), func(ctx context.Context, i int) (int, error) {
					return 0, rest(ctx, 2*time.Hour)
				}, exec.Record(&tl), exec.Limit(1))
				require.NoError(t, err)
				for i, sp := range tl.Snapshot() {
					assert.Equal(t, i, len(sp.Waits), "%+v", sp) // call 1 has waited for its turn
				}
				<-time.After(2 * time.Hour)
				assert.Equal(t, 2, s.book.closed(t))
				vacant(t, d)
			})
		}
	})
}
