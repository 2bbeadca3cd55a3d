package exec_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// A call that is cancelled while it waits for the Domain, alone or with its lane, is not run, at once, and is in nobody's
// way any more.
func TestE5CancelInTheDomain(t *testing.T) {
	ways := map[string]func(l *exec.Lane, cancel context.CancelCauseFunc){
		"the lane":        func(l *exec.Lane, _ context.CancelCauseFunc) { l.Cancel(errBoom) },
		"the context":     func(_ *exec.Lane, cancel context.CancelCauseFunc) { cancel(errBoom) },
		"the call":        func(l *exec.Lane, _ context.CancelCauseFunc) { l.CancelCall(0, errBoom) },
		"the call, twice": func(l *exec.Lane, _ context.CancelCauseFunc) { l.CancelCall(0, errBoom); l.CancelCall(0, errHard) },
		"both":            func(l *exec.Lane, _ context.CancelCauseFunc) { l.CancelCall(0, errBoom); l.Cancel(errHard) },
	}
	for how, cancel := range ways {
		for _, drain := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, drain %v", how, drain), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := exec.NewDomain()
					lease := take(t, d, reads("k"))
					ctx, cancelCtx := context.WithCancelCause(t.Context())
					defer cancelCtx(nil)
					opts := []exec.Option{exec.In(d), exec.Name("A"), exec.Admit(plan.NewKeyed)}
					if drain {
						opts = append(opts, exec.Drain(time.Second))
					}
					var tl exec.Timeline
					j := newJournal()
					calls := []plan.Call{writes("k"), writes("k"), free, exclusive}
					js := j.stubs(calls...)
					js[2].run = takes(time.Hour)
					a := lane(t, ctx, append(opts, exec.Record(&tl))...)
					submit(t, a, jobs(js)...)
					<-time.After(time.Second)
					b := lane(t, t.Context(), exec.In(d), exec.Name("B"))
					behind := &stub{j: newJournal(), what: reads("k")}
					submit(t, b, behind) // behind the writer
					<-time.After(time.Second)
					_, waiting := callers(d)
					require.Equal(t, []string{"call 1 of A", "call 1 of B"}, waiting)

					cancel(a, cancelCtx)
					require.NoError(t, finish(b))
					assert.Equal(t, time.Second, behind.j.find(t, 0, "run").at, "at once")
					alone := strings.HasPrefix(how, "the call")
					if alone {
						synctest.Wait()
						_, waiting = callers(d)
						assert.Equal(t, []string{"call 2 of A"}, waiting, "which its lane had kept back")
						lease.Release()
						require.NoError(t, finish(a))
					} else {
						require.Equal(t, map[bool]error{true: errHard, false: errBoom}[how == "both"], finish(a))
						assert.Equal(t, 2*time.Second, time.Since(j.start))
						assert.Len(t, j.of("run"), 1)
						lease.Release()
					}
					assert.Equal(t, 2*time.Second, j.find(t, 0, "settled").at)
					assert.Equal(t, &exec.NotRunError{Call: 0, Cause: errBoom}, j.find(t, 0, "settled").err)
					check(t, j, checks{calls: calls, limit: exec.DefaultLimit, ordered: true})
					checkSums(t, tl.Snapshot(), false)
					checkTimes(t, j, tl.Snapshot())
					vacant(t, d)
					synctest.Wait()
					assert.Zero(t, workers())
				})
			})
		}
	}
	t.Run("Run", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := exec.NewDomain()
			lease := take(t, d, writes("k"))
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errBoom)
			defer cancel()
			got, err := exec.Run(ctx, []plan.Call{writes("k"), free}, func(context.Context, int) (int, error) { return 0, nil }, exec.In(d))
			require.Equal(t, errBoom, err)
			assert.Nil(t, got)
			lease.Release()
			vacant(t, d)
		})
	})
}

// The look at the context comes after the wait: claims that come at the very moment of a cancel start nothing, and have
// gone back when the call has its outcome.
func TestE4ContextIsCheckedAfterTheDomain(t *testing.T) {
	for _, full := range []bool{false, true} { // no permit of the lane is free then
		synctest.Test(t, func(t *testing.T) {
			s, d := newService()
			s.acquire = func(ctx context.Context, r exec.Request) (exec.Lease, error) {
				if r.By.Call == 0 {
					<-ctx.Done()
				}
				return s.decides.Acquire(context.WithoutCancel(ctx), r)
			}
			s.released = func(by exec.Caller) {
				if by.Call == 0 {
					<-time.After(time.Second)
				}
			}
			j := newJournal()
			js := j.stubs(writes("k"), free, free)
			limit := 3
			if full {
				limit = 2
			}
			for i, s := range js { // call 1 is back while the lease is on its way
				s.run = func(context.Context) exec.Outcome {
					<-time.After(time.Duration(i) * time.Second / 2)
					return exec.Outcome{}
				}
			}
			l := lane(t, t.Context(), exec.In(s), exec.Limit(limit))
			submit(t, l, jobs(js)...)
			synctest.Wait()
			l.Cancel(errBoom)
			require.Equal(t, errBoom, finish(l))
			assert.ElementsMatch(t, []string{"0s run 1", "0s run 2"}, j.of("run"))
			assert.Equal(t, &exec.NotRunError{Call: 0, Cause: errBoom}, j.find(t, 0, "settled").err)
			assert.Equal(t, time.Second, j.find(t, 0, "settled").at)
			assert.Equal(t, 3, s.book.closed(t))
			vacant(t, d)
		})
	}
	for range 100 { // at once; who comes first is open
		synctest.Test(t, func(t *testing.T) {
			d := exec.NewDomain()
			lease := take(t, d, writes("k"))
			j := newJournal()
			js := j.stubs(writes("k"), free)
			l := lane(t, t.Context(), exec.In(d))
			submit(t, l, jobs(js)...)
			synctest.Wait()
			go lease.Release()
			l.Cancel(errBoom)
			require.Equal(t, errBoom, finish(l))
			for _, e := range j.all() {
				if e.stage == "settled" && e.err != nil {
					assert.Equal(t, &exec.NotRunError{Call: 0, Cause: errBoom}, e.err)
					assert.Len(t, j.of("run"), 1)
				}
			}
			check(t, j, checks{calls: []plan.Call{writes("k"), free}, limit: exec.DefaultLimit, ordered: true})
			synctest.Wait()
			vacant(t, d)
		})
	}
}

// A hard error of the lane ends the waits of its calls.
func TestE9HardErrorEndsTheWaitInTheDomain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		lease := take(t, d, writes("k"))
		j := newJournal()
		js := j.stubs(writes("k"), free, writes("k"))
		js[1].run = takes(time.Second)
		js[1].settled = func(context.Context, exec.Outcome) error { j.add(1, "failing", nil); return errHard }
		l := lane(t, t.Context(), exec.In(d), exec.Admit(plan.NewKeyed))
		submit(t, l, jobs(js)...)
		require.ErrorIs(t, finish(l), errHard)
		assert.Equal(t, time.Second, time.Since(j.start))
		var not *exec.NotRunError
		require.ErrorAs(t, j.find(t, 0, "settled").err, &not)
		assert.ErrorIs(t, not.Cause, errHard)
		check(t, j, checks{calls: []plan.Call{js[0].what, free, js[2].what}, limit: exec.DefaultLimit, ordered: true, hard: true})
		lease.Release()
		vacant(t, d)

		_, err := exec.Run(t.Context(), []plan.Call{writes("k"), free}, func(context.Context, int) (int, error) { return 0, errHard }, exec.In(d))
		require.Equal(t, errHard, err)
		vacant(t, d)
	})
}

// A panic or a runtime.Goexit in a body gives back its claims, once.
func TestE7PanicGivesBackItsClaims(t *testing.T) {
	for how, fail := range failures {
		synctest.Test(t, func(t *testing.T) {
			s, d := newService()
			for _, dom := range []exec.Domain{d, s} {
				j := newJournal()
				js := j.stubs(writes("k"), writes("k"), exclusive)
				js[0].run = func(context.Context) exec.Outcome { <-time.After(time.Second); fail(); return exec.Outcome{} }
				l := lane(t, t.Context(), exec.In(dom), exec.Limit(1))
				submit(t, l, jobs(js)...)
				require.NoError(t, finish(l), how)
				assert.ErrorAs(t, j.find(t, 0, "settled").err, new(*exec.PanicError))
				assert.NoError(t, j.find(t, 1, "settled").err)
				assert.Len(t, j.of("run"), 3)
				vacant(t, d)
			}
			assert.Equal(t, 3, s.book.closed(t))
		})
	}
}

// A fragile admission fails when it is asked for the next call while its trap is set.
type fragile struct {
	plan.Admission
	trap *func()
}

func (f fragile) Next(after int) (int, bool) {
	if fail := *f.trap; fail != nil {
		*f.trap = nil
		fail()
	}
	return f.Admission.Next(after)
}

// When the admission breaks, a call that was about to wait for its claims leaves the line for them.
func TestE9BrokenAdmissionLeavesTheDomain(t *testing.T) {
	for how, fail := range failures {
		synctest.Test(t, func(t *testing.T) {
			s, d := newService()
			for _, dom := range []exec.Domain{d, s} {
				lease := take(t, d, writes("k"))
				var trap func()
				j := newJournal()
				js := j.stubs(writes("k"), free)
				// The lane looks who is next when it is about to wait for the claims.
				js[0].prepare = func(context.Context) (bool, error) { trap = fail; return true, nil }
				l := lane(t, t.Context(), exec.In(dom), exec.Admit(func() plan.Admission { return fragile{plan.NewKeyed(), &trap} }))
				submit(t, l, jobs(js)...)
				err := finish(l)
				var p *exec.PanicError
				require.ErrorAs(t, err, &p, how)
				assert.Equal(t, "admission", p.In)
				assert.ErrorAs(t, j.find(t, 0, "settled").err, new(*exec.NotRunError))
				lease.Release()
				vacant(t, d)
			}
		})
	}
}

// A timeline names what was waited for in the Domain, one after another, and the sums add up.
func TestE14TimelineOfTheDomain(t *testing.T) {
	const sec = time.Second
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		var tls [3]exec.Timeline
		var lanes [3]*exec.Lane
		j := newJournal()
		js := j.stubs(free, writes("a"), reads("b"), free, writes("b", "a"), reads("a", "c"), writes("z"))
		for i, name := range []string{"A", "B", ""} {
			lanes[i] = lane(t, t.Context(), exec.In(d), exec.Name(name), exec.Record(&tls[i]), exec.Limit(2), exec.Admit(plan.NewKeyed))
		}
		js[1].run, js[2].run = takes(4*sec), takes(7*sec)
		js[4].run, js[5].run = takes(2*sec), takes(sec)
		submit(t, lanes[0], jobs(js[:3])...)
		synctest.Wait()
		<-time.After(sec)
		submit(t, lanes[1], js[3], gate{js[4], func(context.Context) bool { <-time.After(sec); return true }})
		<-time.After(2 * sec) // call 2 of B is in line since 2s; of what is in its way it is told the last
		submit(t, lanes[2], js[5])
		<-time.After(2*sec + sec/2)

		open := tls[1].Snapshot()[1].Waits
		require.Len(t, open, 2)
		assert.Equal(t, "waiting 3.5s for call 3 of A (read b)", open[1].String())
		blocks := d.Blocked()
		require.Len(t, blocks, 2)
		assert.Equal(t, "call 2 of B waits for call 3 of A (read b)", blocks[0].String())
		assert.Equal(t, "call 1 of another lane waits for call 2 of B (write a)", blocks[1].String())
		for _, l := range lanes {
			require.NoError(t, finish(l))
		}
		for i := range tls {
			checkSums(t, tls[i].Snapshot(), false)
		}
		a, b := plan.Claim{Key: "a"}, plan.Claim{Key: "b"}
		ra, rb := plan.Claim{Key: "a", Access: plan.Read}, plan.Claim{Key: "b", Access: plan.Read}
		assert.Equal(t, []exec.Wait{
			{For: exec.WaitApproval, Call: -1, From: sec, To: 2 * sec},
			{For: exec.WaitDomain, Call: 2, Lane: "A", Mine: b, Held: rb, From: 2 * sec, To: 7 * sec},
		}, tls[1].Snapshot()[1].Waits)
		assert.Equal(t, []exec.Wait{{For: exec.WaitDomain, Call: 1, Lane: "B", Mine: ra, Held: a, From: 3 * sec, To: 9 * sec}}, tls[2].Snapshot()[0].Waits)
		for i := range tls {
			for _, sp := range tls[i].Snapshot() {
				assert.Equal(t, exec.EndReturned, sp.End)
			}
		}
		vacant(t, d)
	})
	synctest.Test(t, func(t *testing.T) { // who is in the way may change, and claims may come before the permit does
		d := exec.NewDomain()
		first, second := take(t, d, reads("k")), take(t, d, reads("k"))
		var tl exec.Timeline
		j := newJournal()
		js := j.stubs(writes("k"), free)
		js[1].run = takes(5 * sec)
		l := lane(t, t.Context(), exec.In(d), exec.Record(&tl), exec.Limit(2), exec.Admit(plan.NewKeyed))
		more := (&stub{j: j, i: 2, what: free, run: takes(5 * sec)})
		submit(t, l, js[0], js[1], more)
		<-time.After(sec)
		first.Release()
		<-time.After(sec)
		second.Release()
		require.NoError(t, finish(l))
		checkSums(t, tl.Snapshot(), false)
		checkTimes(t, j, tl.Snapshot())
		waits := tl.Snapshot()[0].Waits
		k, rk := plan.Claim{Key: "k"}, plan.Claim{Key: "k", Access: plan.Read}
		assert.Equal(t, []exec.Wait{
			{For: exec.WaitDomain, Call: 41, Lane: "other", Mine: k, Held: rk, From: 0, To: 2 * sec},
			{For: exec.WaitPermit, Call: -1, From: 2 * sec, To: 5 * sec},
		}, waits)
	})
}

// When a body was abandoned the lane stops: its calls that wait for the Domain are not run, and what runs goes on.
func TestE6AbandonmentEndsTheWaitInTheDomain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		lease := take(t, d, writes("k"))
		j := newJournal()
		calls := []plan.Call{writes("k"), writes("own"), free, free}
		js := j.stubs(calls...)
		js[1].run = func(context.Context) exec.Outcome { <-time.After(time.Hour); return exec.Outcome{} }
		js[2].run = takes(time.Minute)
		l := lane(t, t.Context(), exec.In(d), exec.Name("A"), exec.Drain(time.Second), exec.Limit(2), exec.Admit(plan.NewKeyed))
		submit(t, l, jobs(js)...)
		synctest.Wait()
		l.CancelCall(1, errBoom)
		err := finish(l)
		assert.Equal(t, &exec.AbandonedError{Call: 1, After: time.Second, Cause: errBoom}, err)
		assert.Equal(t, time.Minute, time.Since(j.start))
		for _, e := range []event{j.find(t, 0, "settled"), j.find(t, 3, "skip")} {
			assert.ErrorIs(t, e.err, err)
			assert.LessOrEqual(t, e.at, time.Minute)
		}
		assert.Equal(t, time.Second, j.find(t, 0, "settled").at)
		assert.NoError(t, j.find(t, 2, "settled").err)
		lease.Release()
		holding, waiting := callers(d)
		assert.Equal(t, []string{"call 2 of A"}, holding)
		assert.Empty(t, waiting)
		<-time.After(time.Hour)
		vacant(t, d)
	})
}

// The context of a body in a Domain is the caller's in all but its cancel, at any depth.
func TestE12ValuesReachBodiesInADomain(t *testing.T) {
	type key int
	ctx, cancel := context.WithTimeoutCause(context.WithValue(t.Context(), key(1), "outer"), time.Hour, errBoom)
	defer cancel()
	end, _ := ctx.Deadline()
	for _, opt := range []exec.Option{exec.In(exec.NewDomain()), exec.Shared(semaphore.NewWeighted(1))} {
		require.NoError(t, inside(ctx, []plan.Call{writes("a")}, func(ctx context.Context, _ int) error {
			assert.Equal(t, "outer", ctx.Value(key(1)))
			assert.Nil(t, ctx.Value(key(2)))
			got, ok := ctx.Deadline()
			assert.True(t, ok)
			assert.Equal(t, end, got)
			ctx = context.WithValue(ctx, key(2), "inner")
			return inside(ctx, []plan.Call{reads("a")}, func(ctx context.Context, _ int) error {
				assert.Equal(t, "outer", ctx.Value(key(1)))
				assert.Equal(t, "inner", ctx.Value(key(2)))
				got, ok = ctx.Deadline()
				assert.True(t, ok)
				assert.Equal(t, end, got)
				assert.NoError(t, ctx.Err())
				return nil
			})
		}, opt))
	}
	synctest.Test(t, func(t *testing.T) { // and ends when the body has returned
		j := newJournal()
		js := j.stubs(writes("a"), free)
		var kept context.Context
		js[0].run = func(ctx context.Context) exec.Outcome { kept = ctx; return exec.Outcome{} }
		js[1].run = takes(time.Second)
		l := lane(t, t.Context(), exec.In(exec.NewDomain()))
		submit(t, l, jobs(js)...)
		synctest.Wait()
		assert.Equal(t, context.Canceled, kept.Err())
		assert.Zero(t, time.Since(j.start))
		require.NoError(t, finish(l))
	})
}
