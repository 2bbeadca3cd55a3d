package exec_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// A scene is a small batch with everything in it: claims in conflict, a refusal, a wait for somebody, a barrier. It takes
// the same steps every time, because no two bodies end at the same moment.
func scene(j *journal) (calls []plan.Call, all []exec.Job) {
	calls = []plan.Call{writes("a"), free, writes("a"), reads("b"), exclusive, free}
	js := j.stubs(calls...)
	for i, s := range js {
		s.run = takes(time.Duration(10+7*i) * time.Second)
		s.settled = func(ctx context.Context, _ exec.Outcome) error { return ctx.Err() }
		s.commit = func(ctx context.Context) error { <-time.After(time.Second); return ctx.Err() }
		s.skip = func(ctx context.Context, _ error) error { <-time.After(time.Second); return ctx.Err() }
	}
	js[1].prepare = func(context.Context) (bool, error) { return false, nil }
	js[5].prepare = func(context.Context) (bool, error) { <-time.After(time.Second); return true, nil }
	all = jobs(js)
	all[3] = gate{js[3], func(ctx context.Context) bool { return rest(ctx, 3*time.Second) == nil }}
	return calls, all
}

// everyPoint plays the scene and has something done to the lane at its first step, then at its second, and so on.
func everyPoint(t *testing.T, do func(l *exec.Lane, n int, e event), after func(t *testing.T, j *journal, c checks, err error), opts ...exec.Option) {
	for _, a := range admissions {
		for point, steps := 0, 1; point < steps; point++ {
			name := fmt.Sprintf("%s, point %d", a.name, point)
			synctest.Test(t, func(t *testing.T) {
				j := newJournal()
				calls, all := scene(j)
				l := lane(t, t.Context(), append(slices.Clone(opts), exec.Limit(2), exec.Admit(a.open))...)
				done := false
				j.on = func(n int, e event) {
					j.mu.Lock()
					now := n >= point && !done
					done = done || now
					j.mu.Unlock()
					if now {
						do(l, n, e)
					}
				}
				submit(t, l, all...)
				err := finish(l)
				steps = max(steps, len(j.all()))
				after(t, j, checks{calls: calls, limit: 2, ordered: true}, err)
				synctest.Wait()
				assert.Zero(t, workers(), name)
				if t.Failed() {
					t.Logf("%s: %v", name, j.all())
				}
			})
			if t.Failed() {
				return
			}
		}
	}
}

func TestE5CancelAtEveryPoint(t *testing.T) {
	var cancelled time.Time
	after := func(t *testing.T, j *journal, c checks, err error) {
		check(t, j, c)
		for _, e := range j.all() {
			if e.stage == "classify" || e.stage == "prepare" || e.stage == "run" {
				assert.LessOrEqual(t, e.at, cancelled.Sub(j.start), "%v after the cancel", e)
			}
		}
		if err != nil { // nil: it came during the last commit
			require.Equal(t, errBoom, err)
		}
	}
	cancel := func(l *exec.Lane, _ int, _ event) {
		cancelled = time.Now()
		l.Cancel(errBoom)
	}
	cancelOutside := func(l *exec.Lane, _ int, _ event) {
		cancelled = time.Now()
		go l.Cancel(errBoom)
	}
	t.Run("from inside", func(t *testing.T) {
		everyPoint(t, cancel, func(t *testing.T, j *journal, c checks, err error) {
			require.Equal(t, errBoom, err)
			after(t, j, c, err)
		})
	})
	t.Run("from outside", func(t *testing.T) {
		everyPoint(t, cancelOutside, after)
	})
	t.Run("with a drain bound", func(t *testing.T) {
		everyPoint(t, cancel, after, exec.Drain(time.Second))
	})
}

func TestE5CancelOfOneCallAtEveryPoint(t *testing.T) {
	for i := range 6 {
		everyPoint(t, func(l *exec.Lane, _ int, _ event) { l.CancelCall(i, errBoom) }, func(t *testing.T, j *journal, c checks, err error) {
			require.NoError(t, err)
			check(t, j, c)
			for _, e := range j.all() {
				if e.err != nil {
					assert.Equal(t, i, e.call, "a sibling goes on")
				}
			}
		})
	}
}

func TestE9HardErrorAtEveryPoint(t *testing.T) {
	for name, bad := range map[string]func(){"panic": func() { panic(errBoom) }, "goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			everyPoint(t, func(*exec.Lane, int, event) { bad() }, func(t *testing.T, j *journal, c checks, err error) {
				if err != nil {
					require.ErrorAs(t, err, new(*exec.PanicError))
				}
				// It struck in the middle of a stage, whose steps are therefore not all there. What the promise says of
				// the others holds: commits in the model's order, one Settled for every call that ran.
				next := 0
				for _, e := range j.all() {
					switch e.stage {
					case "commit", "skip":
						assert.Equal(t, next, e.call)
						next++
					case "run":
						j.find(t, e.call, "settled")
					}
				}
				if err == nil { // in a body or in an Await it was that call's outcome
					assert.Equal(t, len(c.calls), next)
				}
			})
		})
	}
}

// A call may learn of the cancel from its own context before the lane has looked at its own. Its outcome names the cause
// all the same: no cause would say that nobody cancelled it.
func TestE5NotRunNamesTheCause(t *testing.T) {
	for range 100 { // which of the two is first is chance
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			j := newJournal()
			var js []exec.Job
			approved := make(chan struct{})
			for i, s := range j.stubs(times(7, free)...) {
				s.run = func(ctx context.Context) exec.Outcome { <-ctx.Done(); return exec.Outcome{} }
				switch {
				case i < 2: // will wait for a permit
					js = append(js, gate{s, func(context.Context) bool { <-approved; return true }})
				case i < 5:
					js = append(js, gate{s, func(ctx context.Context) bool { <-ctx.Done(); return false }})
				default:
					js = append(js, s)
				}
			}
			l := lane(t, ctx, exec.Limit(2))
			submit(t, l, js...)
			synctest.Wait()
			close(approved)
			synctest.Wait()
			l.Close() // before the cancel, or it would be the first to notice
			cancel(errBoom)
			require.Equal(t, errBoom, l.Wait())
			for i := range 5 {
				n := new(exec.NotRunError)
				require.ErrorAs(t, j.find(t, i, "settled").err, &n)
				require.Equal(t, errBoom, n.Cause)
			}
		})
	}
}
