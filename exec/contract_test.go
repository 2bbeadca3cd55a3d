package exec_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

func TestE1ResultsByPosition(t *testing.T) {
	for _, a := range append(admissions, struct {
		name string
		open func() plan.Admission
	}{"first-fit", plan.NewFirstFit}) {
		t.Run(a.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := []plan.Call{free, writes("a"), reads("a"), free, exclusive, writes("a", "b"), free, reads("b")}
				got, err := exec.Run(t.Context(), calls, func(ctx context.Context, i int) (string, error) {
					return fmt.Sprint("result ", i), rest(ctx, time.Duration(len(calls)-i)*time.Second) // later calls are faster
				}, exec.Admit(a.open))
				require.NoError(t, err)
				for i := range calls {
					assert.Equal(t, fmt.Sprint("result ", i), got[i])
				}
				assert.Len(t, got, len(calls))
			})
		})
	}
	t.Run("no call", func(t *testing.T) {
		got, err := exec.Run(t.Context(), nil, func(context.Context, int) (int, error) { panic("no call") })
		require.NoError(t, err)
		assert.NotNil(t, got)
		assert.Empty(t, got)
	})
}

func TestE2CommitsInModelOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var got []string
		durations := []time.Duration{4, 10, 2, 1, 12}
		err := exec.Each(t.Context(), times(5, free), func(ctx context.Context, i int) (int, error) {
			return i * i, rest(ctx, durations[i]*time.Second)
		}, func(i, r int) error {
			got = append(got, fmt.Sprintf("%v: %d is %d", time.Since(start), i, r))
			return nil
		})
		require.NoError(t, err)
		assert.Equal(t, []string{"4s: 0 is 0", "10s: 1 is 1", "10s: 2 is 4", "10s: 3 is 9", "12s: 4 is 16"}, got)
	})
	synctest.Test(t, func(t *testing.T) { // a slow commit holds up the next, and nothing else
		j := newJournal()
		js := j.stubs(times(3, free)...)
		for i := range js {
			js[i].run = takes(time.Second)
			js[i].commit = func(context.Context) error { <-time.After(time.Minute); return nil }
		}
		l := lane(t, t.Context())
		submit(t, l, jobs(js)...)
		require.NoError(t, finish(l))
		assert.Equal(t, []string{
			"1s commit 0", "1m1s committed 0", "1m1s commit 1", "2m1s committed 1", "2m1s commit 2", "3m1s committed 2",
		}, j.of("commit", "committed"))
	})
}

func TestE3AtMostLimitBodies(t *testing.T) {
	for _, limit := range []int{1, 2, 3, 8, 100} {
		synctest.Test(t, func(t *testing.T) {
			var now, peak atomic.Int64
			_, err := exec.Run(t.Context(), times(40, free), func(ctx context.Context, i int) (int, error) {
				n := now.Add(1)
				defer now.Add(-1)
				for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
				}
				return 0, rest(ctx, time.Duration(1+i%3)*time.Second)
			}, exec.Limit(limit))
			require.NoError(t, err)
			assert.EqualValues(t, min(limit, 40), peak.Load())
		})
	}
}

func TestE3FreedPermitIsUsedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := exec.Run(t.Context(), times(11, free), func(ctx context.Context, i int) (int, error) {
			if i == 0 {
				return 0, rest(ctx, 10*time.Second) // a window of two would take 15 s
			}
			return 0, rest(ctx, time.Second)
		}, exec.Limit(2))
		require.NoError(t, err)
		assert.Equal(t, 10*time.Second, time.Since(start))
	})
	synctest.Test(t, func(t *testing.T) { // neither Settled nor Commit keeps it
		j := newJournal()
		js := j.stubs(times(4, free)...)
		for _, s := range js {
			s.run = takes(time.Second)
			s.settled = func(context.Context, exec.Outcome) error { <-time.After(time.Hour); return nil }
		}
		l := lane(t, t.Context(), exec.Limit(2))
		submit(t, l, jobs(js)...)
		require.NoError(t, finish(l))
		assert.Equal(t, []string{"1s run 2", "1s run 3"}, j.of("run")[2:])
	})
}

func TestE4ContextIsCheckedBeforeEveryStart(t *testing.T) {
	t.Run("cancelled before", func(t *testing.T) {
		for _, calls := range [][]plan.Call{nil, {free}, {exclusive}, times(20, free)} {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errBoom)
			got, err := exec.Run(ctx, calls, func(context.Context, int) (int, error) { panic("started") })
			if len(calls) > 0 {
				assert.ErrorIs(t, err, errBoom)
				assert.Nil(t, got)
			}
		}
	})
	t.Run("by the body before", func(t *testing.T) {
		for limit := 1; limit <= 3; limit++ {
			for _, a := range admissions {
				ctx, cancel := context.WithCancelCause(t.Context())
				var after atomic.Bool
				got, err := exec.Run(ctx, append([]plan.Call{writes("a")}, times(20, writes("a"))...), func(context.Context, int) (int, error) {
					assert.False(t, after.Swap(true))
					cancel(errBoom)
					return 1, nil
				}, exec.Limit(limit), exec.Admit(a.open))
				assert.ErrorIs(t, err, errBoom)
				assert.Nil(t, got)
			}
		}
	})
	t.Run("right after the permit", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			js := j.stubs(free, free)
			l := lane(t, t.Context(), exec.Limit(2), exec.Admit(plan.NewKeyed))
			// Two calls come back from their Await while two others have the permits.
			g := func(s *stub) gate {
				return gate{s, func(ctx context.Context) bool { return rest(ctx, time.Second) == nil }}
			}
			late := j.stubs(times(4, free)...)[2:]
			late[0].run = func(context.Context) exec.Outcome { <-time.After(3 * time.Second); return exec.Outcome{} }
			late[1].run = func(ctx context.Context) exec.Outcome {
				<-time.After(2 * time.Second)
				l.Cancel(errBoom)
				return exec.Outcome{}
			}
			submit(t, l, g(js[0]), g(js[1]), late[0], late[1])
			require.ErrorIs(t, finish(l), errBoom)
			assert.ElementsMatch(t, []string{"0s run 2", "0s run 3"}, j.of("run"))
			for i := range 2 {
				var not *exec.NotRunError
				require.ErrorAs(t, j.find(t, i, "settled").err, &not)
				assert.Equal(t, &exec.NotRunError{Call: i, Cause: errBoom}, not)
			}
		})
	})
	t.Run("deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
			defer cancel()
			var starts atomic.Int64
			_, err := exec.Run(ctx, times(10, exclusive), func(context.Context, int) (int, error) {
				starts.Add(1)
				<-time.After(time.Second)
				return 0, nil
			})
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.EqualValues(t, 3, starts.Load())
		})
	})
}

func TestE5CancelGivesEveryCallOneOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		js := j.stubs(writes("a"), free, writes("a"), free, exclusive, free)
		js[0].run = func(ctx context.Context) exec.Outcome { // takes its time to come to rest
			<-ctx.Done()
			<-time.After(5 * time.Second)
			return exec.Outcome{Value: context.Cause(ctx)}
		}
		js[1].run = takes(time.Second) // done before
		js[3].run = takes(time.Hour)
		type key struct{}
		for _, s := range js {
			s.settled = func(ctx context.Context, _ exec.Outcome) error {
				assert.Equal(t, "value", ctx.Value(key{}))
				return ctx.Err()
			}
			s.commit = func(ctx context.Context) error { return ctx.Err() }
			s.skip = func(ctx context.Context, _ error) error {
				assert.Equal(t, "value", ctx.Value(key{}))
				return ctx.Err()
			}
		}
		l := lane(t, context.WithValue(t.Context(), key{}, "value"), exec.Admit(plan.NewKeyed))
		submit(t, l, jobs(js)...)
		<-time.After(2 * time.Second)
		l.Cancel(errBoom)
		l.Cancel(errors.New("too late"))
		require.Equal(t, errBoom, l.Wait()) // a cancelled lane need not be closed
		assert.Equal(t, []string{"1s settled 1", "2s settled 3", "7s settled 0"}, j.of("settled"))
		assert.Equal(t, []string{"7s commit 0", "7s commit 1", "7s skip 2", "7s commit 3", "7s skip 4", "7s skip 5"}, j.of("commit", "skip"))
		for _, i := range []int{2, 4, 5} {
			assert.Equal(t, errBoom, j.find(t, i, "skip").err)
		}
		_, err := l.Submit(js[0])
		require.ErrorIs(t, err, exec.ErrClosed)
		require.ErrorIs(t, err, errBoom)
	})
	synctest.Test(t, func(t *testing.T) { // what comes after the cancel is skipped, until the lane is closed
		j := newJournal()
		js := j.stubs(free, exclusive, free)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errBoom)
		l := lane(t, ctx)
		for _, s := range js {
			submit(t, l, s)
			synctest.Wait()
		}
		require.Equal(t, errBoom, finish(l))
		assert.Equal(t, []string{"0s skip 0", "0s skip 1", "0s skip 2"}, j.of("skip", "commit", "classify", "prepare", "run"))
	})
}

func TestE7PanicIsThatCallsOutcome(t *testing.T) {
	ends := map[string]func(context.Context) exec.Outcome{
		"panic":     func(context.Context) exec.Outcome { panic("at the disco") },
		"error":     func(context.Context) exec.Outcome { panic(errBoom) },
		"nil error": func(context.Context) exec.Outcome { panic(error(nil)) },
		"bounds":    func(context.Context) exec.Outcome { var s []int; return exec.Outcome{Value: s[len(s)]} },
		"goexit":    func(context.Context) exec.Outcome { runtime.Goexit(); return exec.Outcome{} },
		"long":      func(context.Context) exec.Outcome { panic(strings.Repeat("ä", 1<<20)) },
	}
	for name, end := range ends {
		for _, limit := range []int{1, 2} {
			t.Run(fmt.Sprint(name, limit), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					j := newJournal()
					js := j.stubs(free, exclusive, free)
					js[1].run = end
					l := lane(t, t.Context(), exec.Limit(limit))
					submit(t, l, jobs(js)...)
					require.NoError(t, finish(l))
					var p *exec.PanicError
					require.ErrorAs(t, j.find(t, 1, "settled").err, &p)
					assert.Equal(t, 1, p.Call)
					assert.Equal(t, "Run", p.In)
					assert.Contains(t, string(p.Stack), "contract_test.go")
					assert.Less(t, len(p.Error()), 500)
					assert.Contains(t, p.Error(), "call 2: Run ")
					assert.Equal(t, name == "goexit", p.Value == nil)
					assert.Equal(t, name == "error", errors.Is(p, errBoom))
					for _, i := range []int{0, 2} {
						assert.NoError(t, j.find(t, i, "settled").err)
					}
					assert.Len(t, j.of("commit"), 3)

					_, err := exec.Run(t.Context(), []plan.Call{free, exclusive, free}, func(ctx context.Context, i int) (int, error) {
						if i == 1 {
							end(ctx)
						}
						return 0, nil
					}, exec.Limit(limit))
					require.ErrorAs(t, err, &p)
					assert.Equal(t, "body", p.In)
					assert.Equal(t, 1, p.Call)
					assert.Contains(t, string(p.Stack), "contract_test.go")
				})
			})
		}
	}
}

func TestE8ErrorIsData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		js := j.stubs(free, free, exclusive)
		js[0].run = func(context.Context) exec.Outcome { return exec.Outcome{Value: errBoom} }
		js[1].run = func(ctx context.Context) exec.Outcome { return exec.Outcome{Err: rest(ctx, time.Second)} }
		js[2].run = func(context.Context) exec.Outcome { return exec.Outcome{Err: errBoom} }
		l := lane(t, t.Context())
		submit(t, l, jobs(js)...)
		require.NoError(t, finish(l))
		assert.NoError(t, j.find(t, 1, "settled").err)
		assert.Equal(t, errBoom, j.find(t, 2, "settled").err)
		assert.Len(t, j.of("commit"), 3)
	})
}

// workers counts the goroutines that are in a lane.
func workers() int {
	buf := make([]byte, 1<<20)
	return strings.Count(string(buf[:runtime.Stack(buf, true)]), "exec.(*Lane).work(")
}

func TestE10NoGoroutineOutlivesWait(t *testing.T) {
	for i := range 60 {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			j := newJournal()
			js := j.stubs(times(4, free)...)
			deaf := i%5 == 4
			js[i%4].run = func(context.Context) exec.Outcome {
				switch i % 5 {
				case 0:
					cancel(errBoom)
				case 1:
					runtime.Goexit()
				case 2:
					panic(i)
				case 4:
					<-time.After(time.Hour)
				}
				return exec.Outcome{}
			}
			l := lane(t, ctx, exec.Drain(time.Minute))
			submit(t, l, jobs(js)...)
			if i%3 == 0 || deaf {
				l.CancelCall(i%4, nil)
			}
			_ = finish(l)
			synctest.Wait()
			if deaf && len(j.of("run")) == 4 {
				assert.Equal(t, 1, workers(), "that of the abandoned body is left")
				<-time.After(2 * time.Hour)
			}
			assert.Zero(t, workers())
			_, _ = exec.Run(ctx, times(10, free), func(context.Context, int) (int, error) { return 0, nil })
			synctest.Wait()
			assert.Zero(t, workers())
		})
	}
	synctest.Test(t, func(t *testing.T) { // nor does one wait in an idle lane
		l := lane(t, t.Context())
		js := newJournal().stubs(free, free)
		submit(t, l, js[0])
		synctest.Wait()
		assert.Zero(t, workers())
		submit(t, l, js[1])
		require.NoError(t, finish(l))
	})
}

func TestE12ValuesReachEveryStage(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, 42)
	has := func(ctx context.Context) { assert.Equal(t, 42, ctx.Value(key{})) }
	j := newJournal()
	js := j.stubs(free, free)
	js[0].prepare = func(ctx context.Context) (bool, error) { has(ctx); return true, nil }
	js[0].run = func(ctx context.Context) exec.Outcome { has(ctx); return exec.Outcome{} }
	js[0].settled = func(ctx context.Context, _ exec.Outcome) error { has(ctx); return nil }
	js[0].commit = func(ctx context.Context) error { has(ctx); return nil }
	js[1].skip = func(ctx context.Context, _ error) error { has(ctx); return nil }
	js[1].classify = func() plan.Call { return exclusive }
	l := lane(t, ctx)
	js[0].run = func(ctx context.Context) exec.Outcome { has(ctx); l.CancelCall(1, nil); return exec.Outcome{} }
	submit(t, l, gate{js[0], func(ctx context.Context) bool { has(ctx); return true }}, js[1])
	require.NoError(t, finish(l))
	assert.Len(t, j.of("skip"), 1)
	_, err := exec.Run(ctx, times(3, free), func(ctx context.Context, i int) (int, error) { has(ctx); return 0, nil })
	require.NoError(t, err)
}
