package exec_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// A meter counts bodies at work. They come and go by themselves, so that it knows nothing of permits.
type meter struct{ now, peak, all atomic.Int64 }

func (m *meter) come() {
	m.all.Add(1)
	n := m.now.Add(1)
	for p := m.peak.Load(); n > p && !m.peak.CompareAndSwap(p, n); p = m.peak.Load() {
	}
}

func (m *meter) leave() { m.now.Add(-1) }

// work is at work for a time.
func (m *meter) work(ctx context.Context, d time.Duration) error {
	m.come()
	defer m.leave()
	return rest(ctx, d)
}

// allBack demands that all n permits of a semaphore are there, and no more.
func allBack(t require.TestingT, sem *semaphore.Weighted, n int64) {
	if assert.True(t, sem.TryAcquire(n), "a permit is missing") {
		assert.False(t, sem.TryAcquire(1))
		sem.Release(n)
	}
}

// taken reports how many of n permits of a semaphore somebody has.
func taken(sem *semaphore.Weighted, n int64) (k int64) {
	for k = 0; k < n && !sem.TryAcquire(n-k); k++ {
	}
	if k < n {
		sem.Release(n - k)
	}
	return k
}

// descend works, runs a batch of some calls that do the same one level below, and works again.
func (m *meter) descend(ctx context.Context, depth, width int, opts ...exec.Option) error {
	if err := m.work(ctx, time.Second); err != nil || depth == 0 {
		return err
	}
	err := inside(ctx, times(width, free), func(ctx context.Context, _ int) error { return m.descend(ctx, depth-1, width, opts...) }, opts...)
	if err != nil {
		return err
	}
	return m.work(ctx, time.Second)
}

// Lanes that share a semaphore have no more bodies than that, together, and use what is free at once.
func TestE3SharedBound(t *testing.T) {
	for _, limit := range []int64{1, 2, 3, 8} {
		for _, d := range []exec.Domain{nil, exec.NewDomain()} {
			synctest.Test(t, func(t *testing.T) {
				sem := semaphore.NewWeighted(limit)
				opts := []exec.Option{exec.Shared(sem), exec.Limit(4)}
				if d != nil {
					opts = append(opts, exec.In(d))
				}
				var m meter
				var lanes []*exec.Lane
				start := time.Now()
				for range 3 {
					j := newJournal()
					js := j.stubs(times(8, free)...)
					for _, s := range js {
						s.run = func(ctx context.Context) exec.Outcome { return exec.Outcome{Err: m.work(ctx, time.Second)} }
					}
					l := lane(t, t.Context(), opts...)
					submit(t, l, jobs(js)...)
					lanes = append(lanes, l)
				}
				for _, l := range lanes {
					require.NoError(t, finish(l))
				}
				assert.Equal(t, limit, m.peak.Load())
				assert.EqualValues(t, 24, m.all.Load())
				assert.Equal(t, 24/time.Duration(limit)*time.Second, time.Since(start))
				allBack(t, sem, limit)
			})
		}
	}
}

// However deep lanes are nested, those that run are no more than the permits, and none waits for ever.
func TestE11NestedLanesShare(t *testing.T) {
	for _, limit := range []int64{1, 2, 3} {
		for _, own := range []int{1, 2, 8} {
			for _, in := range []bool{false, true} {
				for _, told := range []bool{false, true} { // the nested lanes are given the semaphore, or inherit it
					t.Run(fmt.Sprintf("limit %d, own %d, Domain %v, told %v", limit, own, in, told), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							sem := semaphore.NewWeighted(limit)
							opts := []exec.Option{exec.Limit(own)}
							d := exec.NewDomain()
							if in {
								opts = append(opts, exec.In(d))
							}
							shared := append([]exec.Option{exec.Shared(sem)}, opts...)
							nested := opts
							if told {
								nested = shared
							}
							var m meter
							start := time.Now()
							require.NoError(t, inside(t.Context(), times(2, free), func(ctx context.Context, _ int) error {
								return m.descend(ctx, 3, 2, nested...)
							}, shared...))
							assert.EqualValues(t, 16+2*(2+4+8), m.all.Load(), "every body")
							assert.LessOrEqual(t, m.peak.Load(), limit)
							if own > 1 {
								assert.Equal(t, limit, m.peak.Load())
							}
							if limit == 1 {
								assert.Equal(t, time.Duration(m.all.Load())*time.Second, time.Since(start), "no permit lay idle")
							}
							allBack(t, sem, limit)
							vacant(t, d)
						})
					})
				}
			}
		}
	}
}

// A body with two lanes open at once gave its one permit back once, and has one again when both have ended.
func TestE11TwoLanesOfOneBody(t *testing.T) {
	for _, limit := range []int64{1, 2} {
		for _, swap := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				sem := semaphore.NewWeighted(limit)
				d := exec.NewDomain()
				require.NoError(t, inside(t.Context(), times(1, free), func(ctx context.Context, _ int) error {
					assert.EqualValues(t, 1, taken(sem, limit))
					a, b := lane(t, ctx), lane(t, ctx)
					assert.Zero(t, taken(sem, limit))
					c := lane(t, ctx)
					require.True(t, sem.TryAcquire(limit))
					j := newJournal()
					require.NoError(t, finish(c)) // two are open, so it need not wait for a permit
					sem.Release(limit)
					assert.Zero(t, taken(sem, limit))
					js := j.stubs(free, free)
					for i, l := range []*exec.Lane{a, b} {
						js[i].run = func(ctx context.Context) exec.Outcome {
							assert.LessOrEqual(t, taken(sem, limit), limit)
							return exec.Outcome{Err: rest(ctx, time.Second)}
						}
						submit(t, l, js[i])
					}
					if swap {
						a, b = b, a
					}
					require.NoError(t, finish(a))
					require.NoError(t, finish(b))
					assert.EqualValues(t, 1, taken(sem, limit), "it has its permit again")
					assert.Equal(t, 2/time.Duration(limit)*time.Second, time.Since(j.start))
					return nil
				}, exec.Shared(sem), exec.In(d)))
				allBack(t, sem, limit)
				vacant(t, d)
			})
		}
	}
}

// A nested lane that is given another semaphore shares that, and what is nested in it does.
func TestE11AnotherSemaphore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer, inner := semaphore.NewWeighted(1), semaphore.NewWeighted(2)
		var m meter
		require.NoError(t, inside(t.Context(), times(1, free), func(ctx context.Context, _ int) error {
			return inside(ctx, times(4, free), func(ctx context.Context, _ int) error {
				assert.Zero(t, taken(outer, 1))
				assert.NotZero(t, taken(inner, 2))
				return m.descend(ctx, 2, 2)
			}, exec.Shared(inner))
		}, exec.Shared(outer)))
		assert.EqualValues(t, 2, m.peak.Load())
		allBack(t, outer, 1)
		allBack(t, inner, 2)
	})
}

// Wait returns when the body has its permit again, and not before.
func TestE11WaitReturnsWithThePermit(t *testing.T) {
	for _, in := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			sem := semaphore.NewWeighted(1)
			opts := []exec.Option{exec.Shared(sem)}
			if in {
				opts = append(opts, exec.In(exec.NewDomain()))
			}
			start := time.Now()
			require.NoError(t, inside(t.Context(), times(1, free), func(ctx context.Context, _ int) error {
				l := lane(t, ctx)
				require.True(t, sem.TryAcquire(1)) // somebody else is quicker
				time.AfterFunc(5*time.Second, func() { sem.Release(1) })
				require.NoError(t, finish(l))
				assert.Equal(t, 5*time.Second, time.Since(start))
				require.NoError(t, l.Wait(), "again")
				assert.EqualValues(t, 1, taken(sem, 1))

				// The same when nobody waits while the permit comes back.
				l = lane(t, ctx)
				require.True(t, sem.TryAcquire(1))
				l.Close()
				<-time.After(time.Second)
				sem.Release(1)
				<-time.After(time.Second)
				assert.EqualValues(t, 1, taken(sem, 1))
				return l.Wait()
			}, opts...))
			allBack(t, sem, 1)
		})
	}
}

// Once the context of the body is done, nobody waits for its permit any more: it is coming to rest.
func TestE11NoWaitAfterACancel(t *testing.T) {
	for _, when := range []string{"before the lane ends", "while it waits", "by the end of the body around"} {
		for _, in := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, Domain %v", when, in), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					sem := semaphore.NewWeighted(1)
					d := exec.NewDomain()
					opts := []exec.Option{exec.Shared(sem)}
					if in {
						opts = append(opts, exec.In(d))
					}
					j := newJournal()
					js := j.stubs(writes("k"), writes("k"))
					l := lane(t, t.Context(), opts...)
					js[0].run = func(ctx context.Context) exec.Outcome {
						nested := lane(t, context.WithoutCancel(ctx))
						require.True(t, sem.TryAcquire(1))
						time.AfterFunc(time.Hour, func() { sem.Release(1) })
						at := time.Second
						switch when {
						case "before the lane ends":
							l.CancelCall(0, errBoom)
							at = 0
						case "while it waits":
							time.AfterFunc(time.Second, func() { l.CancelCall(0, errBoom) })
						default:
							nested.Close()
							<-time.After(time.Second)
							return exec.Outcome{}
						}
						require.NoError(t, finish(nested))
						assert.Equal(t, at, time.Since(j.start))
						again := lane(t, context.WithoutCancel(ctx)) // what it opens now it opens without a permit, too
						require.NoError(t, finish(again))
						assert.Equal(t, at, time.Since(j.start))
						return exec.Outcome{}
					}
					submit(t, l, jobs(js)...)
					require.NoError(t, finish(l))
					assert.Equal(t, time.Hour, j.find(t, 1, "run").at)
					assert.Less(t, j.find(t, 0, "ran").at, 2*time.Second)
					synctest.Wait()
					assert.Zero(t, workers())
					allBack(t, sem, 1)
					vacant(t, d)
				})
			})
		}
	}
}

// A lane that is opened while the body waits for its permit ends that wait: it would have to give it back.
func TestE11OpenedWhileTaking(t *testing.T) {
	for _, in := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			sem := semaphore.NewWeighted(1)
			opts := []exec.Option{exec.Shared(sem)}
			if in {
				opts = append(opts, exec.In(exec.NewDomain()))
			}
			start := time.Now()
			require.NoError(t, inside(t.Context(), times(1, free), func(ctx context.Context, _ int) error {
				first := lane(t, ctx)
				require.True(t, sem.TryAcquire(1))
				time.AfterFunc(5*time.Second, func() { sem.Release(1) })
				opened := make(chan *exec.Lane, 1)
				time.AfterFunc(time.Second, func() { opened <- lane(t, ctx) })
				require.NoError(t, finish(first))
				assert.Equal(t, time.Second, time.Since(start))
				<-time.After(9 * time.Second)
				assert.Zero(t, taken(sem, 1), "a lane is open")
				require.NoError(t, finish(<-opened))
				assert.EqualValues(t, 1, taken(sem, 1))
				assert.Equal(t, 10*time.Second, time.Since(start))
				return nil
			}, opts...))
			allBack(t, sem, 1)
		})
	}
}

// Whatever a body does, at whatever depth and whether a lane is open in it or not: what it had goes back, once.
func TestE11EveryEndGivesBackOnce(t *testing.T) {
	const depth = 3
	deaf := func() { <-time.After(time.Hour) }
	ends := map[string]func(){"panic": failures["panic"], "goexit": failures["goexit"], "return": nil, "deaf": deaf}
	for how, end := range ends {
		for _, when := range []string{"before", "open", "busy", "after"} {
			for at := range depth {
				for _, limit := range []int64{1, 2} {
					t.Run(fmt.Sprintf("%s, %s its lane, depth %d, limit %d", how, when, at, limit), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							sem := semaphore.NewWeighted(limit)
							d := exec.NewDomain()
							ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errBoom)
							defer cancel()
							var descend func(ctx context.Context, level int)
							descend = func(ctx context.Context, level int) {
								stop := func(now string) bool {
									if level != at || when != now {
										return false
									}
									if end != nil {
										end()
									}
									return true
								}
								if stop("before") || level == depth {
									return
								}
								opts := []exec.Option{exec.Limit(2), exec.Drain(time.Second)}
								if level == 0 {
									opts = append(opts, exec.In(d), exec.Shared(sem))
								}
								l := lane(t, ctx, opts...)
								j := newJournal()
								js := j.stubs(writes("k"), reads("k"))
								for _, s := range js {
									s.run = func(ctx context.Context) exec.Outcome {
										<-time.After(time.Second)
										descend(ctx, level+1)
										return exec.Outcome{}
									}
								}
								if stop("open") {
									l.Close()
									return
								}
								submit(t, l, jobs(js)...)
								if stop("busy") {
									l.Close()
									return
								}
								_ = finish(l)
								stop("after")
							}
							_ = inside(ctx, []plan.Call{writes("k"), writes("k")}, func(ctx context.Context, _ int) error {
								descend(ctx, 0)
								return nil
							}, exec.Shared(sem), exec.In(d), exec.Drain(time.Second))
							cancel()
							<-time.After(24 * time.Hour) // what was left open is cancelled, what was deaf comes to its end
							assert.Zero(t, workers())
							allBack(t, sem, limit)
							vacant(t, d)
						})
					})
				}
			}
		}
	}
}

// A call that is cancelled while it waits for a shared permit is not run. It keeps neither claims nor a permit.
func TestE5CancelBeforeTheSharedPermit(t *testing.T) {
	for _, how := range []string{"the lane", "the call", "the context"} {
		for _, in := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				sem := semaphore.NewWeighted(2)
				require.True(t, sem.TryAcquire(2))
				d := exec.NewDomain()
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				var tl exec.Timeline
				opts := []exec.Option{exec.Shared(sem), exec.Record(&tl), exec.Limit(1), exec.Drain(time.Second)}
				if in {
					opts = append(opts, exec.In(d))
				}
				j := newJournal()
				calls := []plan.Call{writes("k"), free}
				l := lane(t, ctx, opts...)
				submit(t, l, jobs(j.stubs(calls...))...)
				<-time.After(time.Second)
				if holding, _ := callers(d); in {
					assert.Len(t, holding, 1, "permits come after claims")
				}
				switch how {
				case "the lane":
					l.Cancel(errBoom)
				case "the call":
					l.CancelCall(0, errBoom)
				case "the context":
					cancel(errBoom)
				}
				synctest.Wait()
				assert.Equal(t, &exec.NotRunError{Call: 0, Cause: errBoom}, j.find(t, 0, "settled").err)
				assert.Equal(t, time.Second, j.find(t, 0, "settled").at)
				if how == "the call" {
					<-time.After(time.Second)
					sem.Release(2)
					require.NoError(t, finish(l))
					assert.Equal(t, []string{"2s run 1"}, j.of("run"))
				} else {
					require.Equal(t, errBoom, finish(l))
					assert.Empty(t, j.of("run"))
					sem.Release(2)
				}
				check(t, j, checks{calls: calls, limit: 1, ordered: true})
				checkSums(t, tl.Snapshot(), false)
				assert.Equal(t, []exec.Wait{{For: exec.WaitPermit, Call: -1, To: time.Second}}, tl.Snapshot()[0].Waits)
				allBack(t, sem, 2)
				vacant(t, d)
			})
		}
	}
}

// A lane that could not be opened leaves the body with its permits: there is nobody to wait for until they are back.
func TestE11FailedLaneKeepsThePermit(t *testing.T) {
	for _, kind := range []string{"NewLane", "Run"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var busy exec.Timeline
				other := lane(t, t.Context(), exec.Record(&busy))
				sem := semaphore.NewWeighted(1)
				var m meter
				require.NoError(t, inside(t.Context(), times(2, free), func(ctx context.Context, i int) error {
					m.come()
					defer m.leave()
					if i == 0 {
						<-time.After(time.Second) // by now the other one waits for the permit
						var err error
						if kind == "NewLane" {
							_, err = exec.NewLane(ctx, exec.Record(&busy))
						} else {
							err = inside(ctx, times(1, free), func(context.Context, int) error { return nil }, exec.Record(&busy))
						}
						assert.ErrorIs(t, err, exec.ErrOption)
					}
					<-time.After(time.Minute)
					return nil
				}, exec.Shared(sem)))
				assert.EqualValues(t, 1, m.peak.Load(), "bodies at work with one permit")
				allBack(t, sem, 1)
				require.NoError(t, finish(other))
			})
		})
	}
}
