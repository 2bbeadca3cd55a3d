package exec_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

const ms = time.Millisecond

// What went wrong in other people's agents, by the id of the case.

// Identity is the index: two calls that look the same are two calls.
func TestCase_call_identity_1(t *testing.T) {
	j := newJournal()
	s := j.stubs(free)[0]
	var values []any
	s.settled = func(_ context.Context, o exec.Outcome) error { values = append(values, o.Value); return nil }
	n := 0
	s.run = func(context.Context) exec.Outcome { n++; return exec.Outcome{Value: n} }
	l := lane(t, t.Context(), exec.Limit(1))
	for want := range 2 {
		i, err := l.Submit(s) // the very same job
		require.NoError(t, err)
		assert.Equal(t, want, i)
	}
	require.NoError(t, finish(l))
	assert.Equal(t, []any{1, 2}, values)
	assert.Len(t, j.of("commit"), 2)

	got, err := exec.Run(t.Context(), []plan.Call{writes("x"), writes("x")}, func(_ context.Context, i int) (string, error) { return fmt.Sprintf("f(%d)", i+1), nil })
	require.NoError(t, err)
	assert.Equal(t, []string{"f(1)", "f(2)"}, got)
}

// An ordinary error of one call is data: siblings and later waves report their own results, on every run.
func TestCase_sibling_failure_1(t *testing.T) {
	for _, a := range admissions {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			js := j.stubs(writes("a"), writes("b"), writes("c"), reads("b"))
			js[0].run = takes(time.Second)
			js[1].run = func(context.Context) exec.Outcome { return exec.Outcome{Err: errBoom} }
			l := lane(t, t.Context(), exec.Admit(a.open))
			submit(t, l, jobs(js)...)
			require.NoError(t, finish(l))
			for i := range js {
				assert.Equal(t, i == 1, j.find(t, i, "settled").err != nil)
			}
			assert.Len(t, j.of("commit"), 4)
			assert.Len(t, j.of("run"), 4)
		})
	}
}

// One call can be cancelled alone; a call that returns context.Canceled of a context of its own cancels nobody.
func TestCase_sibling_failure_2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		js := j.stubs(free, free, free)
		for _, s := range js {
			s.run = func(ctx context.Context) exec.Outcome { return exec.Outcome{Err: rest(ctx, time.Second)} }
		}
		l := lane(t, t.Context())
		submit(t, l, jobs(js)...)
		<-time.After(ms)
		l.CancelCall(0, errBoom)
		require.NoError(t, finish(l))
		assert.Equal(t, errBoom, j.find(t, 0, "settled").err)
		assert.Equal(t, []string{"1ms settled 0", "1s settled", "1s settled"}, []string{j.of("settled")[0], j.of("settled")[1][:10], j.of("settled")[2][:10]})
		assert.NoError(t, j.find(t, 1, "settled").err)
		assert.NoError(t, j.find(t, 2, "settled").err)
	})
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		js := j.stubs(free, free, exclusive)
		js[0].run = func(ctx context.Context) exec.Outcome {
			sub, cancel := context.WithCancel(ctx)
			cancel()
			return exec.Outcome{Err: sub.Err()}
		}
		js[1].run = takes(time.Second)
		l := lane(t, t.Context())
		submit(t, l, jobs(js)...)
		require.NoError(t, finish(l))
		assert.ErrorIs(t, j.find(t, 0, "settled").err, context.Canceled)
		assert.NoError(t, j.find(t, 1, "settled").err)
		assert.NoError(t, j.find(t, 2, "settled").err)
	})
}

// A panic, whatever its value, and a Goexit end one call: its permit is free, the next runs, the process lives.
func TestCase_sibling_failure_4(t *testing.T) {
	for _, bad := range []func(){func() { panic("x") }, func() { panic(error(nil)) }, runtime.Goexit, func() { panic((*exec.PanicError)(nil)) }} {
		j := newJournal()
		js := j.stubs(writes("a"), writes("a"))
		js[0].run = func(context.Context) exec.Outcome { bad(); return exec.Outcome{} }
		l := lane(t, t.Context(), exec.Limit(1))
		submit(t, l, jobs(js)...)
		require.NoError(t, finish(l))
		var p *exec.PanicError
		require.ErrorAs(t, j.find(t, 0, "settled").err, &p)
		assert.NotEmpty(t, p.Stack)
		assert.NotEmpty(t, p.Error())
		assert.NoError(t, j.find(t, 1, "settled").err)
		assert.Len(t, j.of("commit"), 2)
	}
}

// A body that cancels its own run starts nobody any more, and what it returned is kept.
func TestCase_cancel_pairing_4(t *testing.T) {
	for _, a := range admissions {
		ctx, cancel := context.WithCancelCause(t.Context())
		j := newJournal()
		js := j.stubs(exclusive, writes("b"), writes("c"))
		js[0].run = func(context.Context) exec.Outcome { cancel(errBoom); return exec.Outcome{Value: "ok"} }
		js[0].settled = func(_ context.Context, o exec.Outcome) error {
			assert.Equal(t, exec.Outcome{Value: "ok"}, o)
			return nil
		}
		l := lane(t, ctx, exec.Limit(1), exec.Admit(a.open))
		submit(t, l, jobs(js)...)
		require.Equal(t, errBoom, finish(l))
		assert.Len(t, j.of("run"), 1)
		j.find(t, 0, "commit")
		assert.Equal(t, errBoom, j.find(t, 1, "skip").err)
		assert.Equal(t, errBoom, j.find(t, 2, "skip").err)
	}
}

// Skipped calls are told the cause that the host gave.
func TestCase_cancel_pairing_5(t *testing.T) {
	advisory := errors.New("advisory: the test suite is red")
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		js := j.stubs(times(4, writes("a"))...)
		for _, s := range js {
			s.run = func(ctx context.Context) exec.Outcome { return exec.Outcome{Err: rest(ctx, time.Second)} }
		}
		l := lane(t, t.Context())
		js[0].commit = func(context.Context) error { l.Cancel(advisory); return nil }
		submit(t, l, jobs(js)...)
		require.Equal(t, advisory, finish(l))
		for i := 1; i < 4; i++ {
			for _, e := range j.all() {
				if e.call == i && (e.stage == "skip" || e.stage == "settled") {
					assert.ErrorIs(t, e.err, advisory)
				}
			}
		}
		assert.LessOrEqual(t, len(j.of("run")), 2)
		assert.Len(t, append(j.of("commit"), j.of("skip")...), 4)
	})
}

// Completion is told when it happens; the commit is another event.
func TestCase_events_2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		js := j.stubs(free, free, free)
		for i, d := range []time.Duration{4 * ms, 10 * ms, 2 * ms} {
			js[i].run = takes(d)
		}
		l := lane(t, t.Context())
		submit(t, l, jobs(js)...)
		require.NoError(t, finish(l))
		assert.Equal(t, []string{"2ms settled 2", "4ms settled 0", "4ms commit 0", "10ms settled 1", "10ms commit 1", "10ms commit 2"}, j.of("settled", "commit"))
	})
}

// The first writer of a key stays before the second, whatever else it depends on.
func TestCase_ordering_1(t *testing.T) {
	calls := []plan.Call{
		{Safe: true, Claims: []plan.Claim{{Key: "dep", Access: plan.Read}, {Key: "shared"}}}, writes("shared"), writes("dep"),
	}
	for _, a := range admissions {
		dep, shared := "old", ""
		saw, err := exec.Run(t.Context(), calls, func(_ context.Context, i int) (string, error) {
			switch i {
			case 0:
				shared = "c1"
				return dep, nil
			case 1:
				shared = "c2"
			case 2:
				dep = "new"
			}
			return "", nil
		}, exec.Admit(a.open))
		require.NoError(t, err)
		assert.Equal(t, []string{"old", "c2", "new"}, []string{saw[0], shared, dep}, a.name)
	}
}

// Agents do not hold the permits that their own calls wait for.
func TestCase_permits_1(t *testing.T) {
	for _, in := range []bool{false, true} {
		opts := func(sem *semaphore.Weighted, limit int) []exec.Option {
			o := []exec.Option{exec.Shared(sem), exec.Limit(limit)}
			if in {
				o = append(o, exec.In(exec.NewDomain()))
			}
			return o
		}
		synctest.Test(t, func(t *testing.T) {
			sem := semaphore.NewWeighted(3)
			var m meter
			require.NoError(t, inside(t.Context(), times(3, free), func(ctx context.Context, _ int) error {
				return inside(ctx, times(2, free), func(ctx context.Context, _ int) error { return m.work(ctx, time.Second) })
			}, opts(sem, 3)...))
			assert.EqualValues(t, 6, m.all.Load())
			assert.EqualValues(t, 3, m.peak.Load())
			allBack(t, sem, 3)
		})
		synctest.Test(t, func(t *testing.T) {
			sem := semaphore.NewWeighted(1)
			var m meter
			o := opts(sem, 1)
			require.NoError(t, inside(t.Context(), times(3, free), func(ctx context.Context, _ int) error {
				return m.descend(ctx, 2, 2, o...) // and two levels more below it
			}, o...))
			assert.EqualValues(t, 3*(2+2*2+4), m.all.Load())
			assert.EqualValues(t, 1, m.peak.Load())
			allBack(t, sem, 1)
		})
	}
}

// A body that waits for two calls at once has given one permit back, not two, and gets one.
func TestCase_permits_2(t *testing.T) {
	for _, in := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			sem := semaphore.NewWeighted(1)
			opts := []exec.Option{exec.Shared(sem), exec.Limit(1)}
			if in {
				opts = append(opts, exec.In(exec.NewDomain()))
			}
			var m meter
			start := time.Now()
			require.NoError(t, inside(t.Context(), times(2, free), func(ctx context.Context, _ int) error {
				if err := m.work(ctx, time.Second); err != nil {
					return err
				}
				errs := make(chan error)
				for range 2 {
					go func() {
						errs <- inside(ctx, times(1, free), func(ctx context.Context, _ int) error { return m.work(ctx, time.Second) })
					}()
				}
				return errors.Join(<-errs, <-errs, m.work(ctx, time.Second))
			}, opts...))
			assert.EqualValues(t, 8, m.all.Load())
			assert.EqualValues(t, 1, m.peak.Load())
			assert.Equal(t, 8*time.Second, time.Since(start))
			allBack(t, sem, 1)
		})
	}
}

// A program that holds a key has calls that need it: they have it, one after another. For what the program does not hold
// they do not wait.
func TestCase_permits_4(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		start := time.Now()
		edits, now := 0, 0
		require.NoError(t, inside(t.Context(), []plan.Call{{Claims: writes("a").Claims}}, func(ctx context.Context, _ int) error {
			j := newJournal()
			js := j.stubs(writes("a"), writes("b"), writes("a"))
			for _, s := range js {
				s.run = func(context.Context) exec.Outcome {
					now++
					assert.Equal(t, 1, now, "the two exclude each other")
					<-time.After(time.Second)
					now--
					edits++
					return exec.Outcome{}
				}
			}
			var lanes []*exec.Lane
			for _, s := range js { // as if they came from anywhere in the program
				l := lane(t, ctx)
				submit(t, l, s)
				lanes = append(lanes, l)
			}
			for _, l := range lanes {
				require.NoError(t, finish(l))
			}
			var not *exec.UncoveredError
			require.ErrorAs(t, j.find(t, 1, "settled").err, &not)
			assert.Contains(t, not.Error(), "write b")
			assert.Contains(t, not.Error(), "call 1 of program")
			assert.Zero(t, j.find(t, 1, "settled").at)
			return nil
		}, exec.In(d), exec.Name("program")))
		assert.Equal(t, 2, edits)
		assert.Equal(t, 2*time.Second, time.Since(start))
	})
}

// A writer waits for the readers before it and not for those after it, which queue behind it, whether they are calls of one
// lane or of several agents.
func TestCase_permits_5(t *testing.T) {
	for _, agents := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			d := exec.NewDomain()
			lanes := make([]*exec.Lane, agents)
			for k := range lanes {
				lanes[k] = lane(t, t.Context(), exec.Admit(plan.NewKeyed), exec.In(d))
			}
			writer := 0
			for i, at := 0, time.Duration(0); at < 200*ms; at += 5 * ms {
				if at == 20*ms {
					w := &stub{j: j, i: i, what: writes("k"), run: takes(10 * ms)}
					submit(t, lanes[i%agents], w)
					synctest.Wait()
					writer = i
					i++
				}
				submit(t, lanes[i%agents], &stub{j: j, i: i, what: reads("k"), run: takes(10 * ms)})
				i++
				<-time.After(5 * ms)
			}
			for _, l := range lanes {
				require.NoError(t, finish(l))
			}
			assert.Equal(t, 25*ms, j.find(t, writer, "run").at) // the readers of 10 and 15 ms are done
			for i := writer + 1; i < writer+4; i++ {
				assert.Equal(t, 35*ms, j.find(t, i, "run").at)
			}
		})
	}
}

// What cannot be done by two at a time is queued, in the model's order if it is a key that says so, and not refused.
func TestCase_load_2(t *testing.T) {
	for name, opts := range map[string][]exec.Option{
		"a limit":     {exec.Limit(1)},
		"a claim":     {},
		"a Domain":    {exec.In(exec.NewDomain())},
		"a semaphore": {exec.Shared(semaphore.NewWeighted(1))},
	} {
		synctest.Test(t, func(t *testing.T) {
			what := writes("editor")
			if name == "a limit" || name == "a semaphore" {
				what = free
			}
			var m meter
			j := newJournal()
			js := j.stubs(times(5, what)...)
			for _, s := range js {
				s.run = func(ctx context.Context) exec.Outcome { return exec.Outcome{Err: m.work(ctx, time.Second)} }
			}
			l := lane(t, t.Context(), opts...)
			submit(t, l, jobs(js)...)
			require.NoError(t, finish(l))
			for i := range js {
				assert.NoError(t, j.find(t, i, "settled").err)
				if name != "a semaphore" { // which bounds, and does not order
					assert.Equal(t, time.Duration(i)*time.Second, j.find(t, i, "run").at, name)
				}
			}
			assert.EqualValues(t, 1, m.peak.Load())
			assert.Equal(t, 5*time.Second, time.Since(j.start))
		})
	}
}
