package exec_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// A service is somebody else's Domain: one in memory decides, and what it does about that can be replaced.
type service struct {
	decides  exec.Domain
	acquire  func(ctx context.Context, r exec.Request) (exec.Lease, error) // nil: what decides is asked
	released func(by exec.Caller)                                          // called by Release, before what decides is told
	given    func(by exec.Caller)                                          // the same for Abandon
	lost     func(by exec.Caller) <-chan struct{}                          // nil: never
	book     *book
}

// A book has every lease that a service has granted, also those within others.
type book struct {
	mu      sync.Mutex
	granted []*grant
}

type grant struct {
	service  // of what is nested in it
	lease    exec.Lease
	by       exec.Caller
	releases atomic.Int32
	abandons atomic.Int32
}

func newService() (*service, *exec.MemoryDomain) {
	d := exec.NewDomain()
	return &service{decides: d, book: new(book)}, d
}

func (s *service) Acquire(ctx context.Context, r exec.Request) (exec.Lease, error) {
	acquire := s.acquire
	if acquire == nil {
		acquire = s.decides.Acquire
	}
	l, err := acquire(ctx, r)
	if l == nil || err != nil {
		return nil, err
	}
	g := &grant{service: *s, lease: l, by: r.By}
	g.decides, g.acquire = l, nil
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	s.book.granted = append(s.book.granted, g)
	return g, nil
}

func (g *grant) Token() uint64 { return g.lease.Token() }

func (g *grant) Lost() <-chan struct{} {
	if g.lost == nil {
		return nil
	}
	return g.lost(g.by)
}

func (g *grant) Release() {
	g.releases.Add(1)
	defer g.lease.Release()
	if g.released != nil {
		g.released(g.by)
	}
}

func (g *grant) Abandon() {
	g.abandons.Add(1)
	defer g.lease.Abandon()
	if g.given != nil {
		g.given(g.by)
	}
}

// closed demands that each lease that was granted has been released once, and counts them.
func (b *book) closed(t require.TestingT) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, g := range b.granted {
		assert.EqualValues(t, 1, g.releases.Load(), "releases of the lease of %v", g.by)
	}
	return len(b.granted)
}

// vacant demands that nothing is left in a Domain.
func vacant(t require.TestingT, d *exec.MemoryDomain) {
	assert.Empty(t, d.Holds())
	assert.Empty(t, d.Blocked())
}

// failures are the ways in which somebody else's code can fail that returns no error.
var failures = map[string]func(){"panic": func() { panic(errBoom) }, "goexit": runtime.Goexit}

// Two lanes of a Domain of somebody else's keep out of each other's way, and so do lanes that are nested in them.
func TestForeignDomain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := newService()
		j := newJournal()
		js := j.stubs(writes("a", "b"), writes("b"), free)
		js[0].run = func(ctx context.Context) exec.Outcome {
			outer, _ := exec.FencingToken(ctx)
			_, err := exec.Run(ctx, []plan.Call{writes("a"), writes("a"), writes("b"), reads("b")}, func(ctx context.Context, i int) (int, error) {
				inner, ok := exec.FencingToken(ctx)
				assert.True(t, ok)
				assert.Equal(t, outer, inner)
				return 0, rest(ctx, time.Second)
			}, exec.In(s))
			return exec.Outcome{Err: err}
		}
		js[1].run = takes(time.Second)
		a, b := lane(t, t.Context(), exec.In(s), exec.Name("A")), lane(t, t.Context(), exec.In(s), exec.Name("B"))
		submit(t, a, js[0])
		synctest.Wait()
		submit(t, b, js[1], js[2])
		require.NoError(t, finish(a))
		require.NoError(t, finish(b))
		assert.Equal(t, []string{"0s run 0", "0s run 2", "2s ran 0", "2s run 1", "3s ran 1"}, slices.DeleteFunc(j.of("run", "ran"), func(e string) bool { return e == "0s ran 2" }))
		for i := range js {
			assert.NoError(t, j.find(t, i, "settled").err)
		}
		assert.Equal(t, 7, s.book.closed(t))
		vacant(t, d)
	})
	synctest.Test(t, func(t *testing.T) { // what it is asked
		s, _ := newService()
		var asked []exec.Request
		s.acquire = func(ctx context.Context, r exec.Request) (exec.Lease, error) {
			asked = append(asked, r)
			return s.decides.Acquire(ctx, r)
		}
		what := plan.Call{Claims: []plan.Claim{{Key: "a", Tree: true}, {Key: "b", Access: plan.Read}}}
		_, err := exec.Run(t.Context(), []plan.Call{what, free}, func(context.Context, int) (int, error) { return 0, nil }, exec.In(s), exec.Name("A"))
		require.NoError(t, err)
		require.Len(t, asked, 2)
		assert.Equal(t, exec.Caller{Lane: "A", Call: 0}, asked[0].By)
		assert.Equal(t, what.Claims, asked[0].Claims)
		assert.True(t, asked[0].Exclusive)
		assert.Equal(t, exec.Caller{Lane: "A", Call: 1}, asked[1].By)
		assert.Empty(t, asked[1].Claims)
		assert.False(t, asked[1].Exclusive)
	})
}

// A Domain that embeds one in memory is a Domain of its own: its own Acquire counts.
func TestForeignDomainThatEmbeds(t *testing.T) {
	d := &counting{MemoryDomain: exec.NewDomain()}
	_, err := exec.Run(t.Context(), times(5, writes("a")), func(context.Context, int) (int, error) { return 0, nil }, exec.In(d))
	require.NoError(t, err)
	assert.EqualValues(t, 5, d.n.Load())
}

type counting struct {
	*exec.MemoryDomain
	n atomic.Int32
}

func (c *counting) Acquire(ctx context.Context, r exec.Request) (exec.Lease, error) {
	c.n.Add(1)
	return c.MemoryDomain.Acquire(ctx, r)
}

// While a Domain takes its time the lane goes on, beyond its limit.
func TestForeignAcquireSlow(t *testing.T) {
	// slow has the service take five seconds over a claim of key slow, deaf to any cancel or not.
	slow := func(s *service, deaf bool) {
		s.acquire = func(ctx context.Context, r exec.Request) (exec.Lease, error) {
			if len(r.Claims) > 0 && r.Claims[0].Key == "slow" {
				if deaf {
					<-time.After(5 * time.Second)
					ctx = context.WithoutCancel(ctx)
				} else if err := rest(ctx, 5*time.Second); err != nil {
					return nil, err
				}
			}
			return s.decides.Acquire(ctx, r)
		}
	}
	batch := func(j *journal) []*stub {
		js := j.stubs(writes("slow"), reads("slow", "x"), free, free, free)
		for _, b := range js {
			b.run = takes(2 * time.Second)
		}
		return js
	}
	t.Run("it comes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, d := newService()
			slow(s, false)
			j := newJournal()
			var tl exec.Timeline
			l := lane(t, t.Context(), exec.In(s), exec.Limit(2), exec.Admit(plan.NewKeyed), exec.Record(&tl))
			submit(t, l, jobs(batch(j))...)
			require.NoError(t, finish(l))
			assert.Equal(t, 5*time.Second, j.find(t, 0, "run").at)
			assert.Equal(t, 12*time.Second, j.find(t, 1, "run").at)
			assert.Equal(t, []string{"2s", "2s", "4s"}, []string{j.of("ran")[0][:2], j.of("ran")[1][:2], j.of("ran")[2][:2]})
			checkSums(t, tl.Snapshot(), false)
			assert.Equal(t, exec.Wait{For: exec.WaitDomain, Call: -1, To: 5 * time.Second}, tl.Snapshot()[0].Waits[0])
			assert.Equal(t, 5, s.book.closed(t))
			vacant(t, d)
		})
	})
	for _, deaf := range []bool{false, true} {
		for _, drain := range []bool{false, true} {
			for _, alone := range []bool{false, true} {
				t.Run(fmt.Sprintf("cancelled, deaf %v, drain %v, alone %v", deaf, drain, alone), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s, d := newService()
						slow(s, deaf)
						j := newJournal()
						var tl exec.Timeline
						opts := []exec.Option{exec.In(s), exec.Limit(2), exec.Admit(plan.NewKeyed), exec.Record(&tl)}
						if drain {
							opts = append(opts, exec.Drain(time.Second))
						}
						l := lane(t, t.Context(), opts...)
						submit(t, l, jobs(batch(j))...)
						<-time.After(2500 * time.Millisecond)
						if alone {
							l.CancelCall(0, errBoom)
						} else {
							l.Cancel(errBoom)
						}
						err := finish(l)
						if alone {
							require.NoError(t, err)
						} else {
							require.Equal(t, errBoom, err)
						}
						at := 2500 * time.Millisecond
						switch {
						case deaf && drain:
							at += time.Second
						case deaf:
							at = 5 * time.Second
						}
						e := j.find(t, 0, "settled")
						assert.Equal(t, at, e.at)
						assert.Equal(t, &exec.NotRunError{Call: 0, Cause: errBoom}, e.err)
						assert.Equal(t, !alone, len(j.of("run")) == 3)
						checkSums(t, tl.Snapshot(), false)
						checkTimes(t, j, tl.Snapshot())
						<-time.After(time.Minute) // a lease that comes when nobody waits for it any more goes back
						granted := 3
						if deaf {
							granted++
						}
						if alone {
							granted++
						}
						assert.Equal(t, granted, s.book.closed(t))
						vacant(t, d)
						assert.Zero(t, workers())
					})
				})
			}
		}
	}
}

// An error of a Domain is the outcome of the call that it refused, and in Run it is hard.
func TestForeignAcquireErring(t *testing.T) {
	ways := map[string]func(context.Context, exec.Request) (exec.Lease, error){
		"error":   func(context.Context, exec.Request) (exec.Lease, error) { return nil, errBoom },
		"neither": func(context.Context, exec.Request) (exec.Lease, error) { return nil, nil },
		"slow error": func(context.Context, exec.Request) (exec.Lease, error) {
			<-time.After(time.Second)
			return nil, errBoom
		},
		"of a cancel": func(context.Context, exec.Request) (exec.Lease, error) { return nil, context.Canceled },
	}
	for how, way := range ways {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, d := newService()
				s.acquire = func(ctx context.Context, r exec.Request) (exec.Lease, error) {
					if r.By.Call == 1 {
						return way(ctx, r)
					}
					return s.decides.Acquire(ctx, r)
				}
				j := newJournal()
				js := j.stubs(free, writes("a"), writes("a"), exclusive)
				l := lane(t, t.Context(), exec.In(s), exec.Admit(plan.NewKeyed))
				submit(t, l, jobs(js)...)
				require.NoError(t, finish(l))
				assert.Empty(t, j.of("skip"))
				assert.Len(t, j.of("commit"), 4)
				assert.Len(t, j.of("run"), 3)
				var not *exec.NotRunError
				require.ErrorAs(t, j.find(t, 1, "settled").err, &not)
				assert.Equal(t, 1, not.Call)
				assert.True(t, not.Unclaimed)
				assert.Equal(t, how == "error" || how == "slow error", errors.Is(not, errBoom))
				assert.NotContains(t, not.Error(), "%!")
				check(t, j, checks{calls: []plan.Call{free, writes("a"), writes("a"), exclusive}, limit: exec.DefaultLimit, ordered: true})

				got, err := exec.Run(t.Context(), []plan.Call{free, writes("a"), writes("a"), exclusive}, func(ctx context.Context, i int) (int, error) {
					assert.NotEqual(t, 3, i, "after a hard error")
					return 0, rest(ctx, time.Hour)
				}, exec.In(s), exec.Admit(plan.NewKeyed))
				require.ErrorAs(t, err, &not)
				assert.Equal(t, 1, not.Call)
				assert.True(t, not.Unclaimed)
				assert.Nil(t, got)
				assert.Less(t, time.Since(j.start), time.Hour, "bodies are cancelled")
				assert.Contains(t, []int{3, 4}, s.book.closed(t))
				vacant(t, d)
			})
		})
	}
}

// What fails otherwise in a Domain is a hard error, and leaves neither a lease behind nor a permit too many.
func TestForeignFailures(t *testing.T) {
	const (
		notRun = "Release before a start"
		behind = "Release before a permit"
		late   = "Release of what came late"
	)
	for how, fail := range failures {
		for _, where := range []string{"Acquire", "Lost", "Release", "Abandon", notRun, behind, late} {
			t.Run(where+" "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, d := newService()
					failed := false
					at := func(by exec.Caller, here bool) {
						if here && by.Call == 1 && !failed {
							failed = true
							fail()
						}
					}
					slow := where == notRun || where == behind || where == late
					s.acquire = func(ctx context.Context, r exec.Request) (exec.Lease, error) {
						if slow && r.By.Call == 1 {
							<-time.After(5 * time.Second)
							ctx = context.WithoutCancel(ctx)
						}
						at(r.By, where == "Acquire")
						return s.decides.Acquire(ctx, r)
					}
					s.released = func(by exec.Caller) { at(by, slow || where == "Release") }
					s.given = func(by exec.Caller) { at(by, where == "Abandon") }
					s.lost = func(by exec.Caller) <-chan struct{} { at(by, where == "Lost"); return nil }
					j := newJournal()
					calls := []plan.Call{writes("x"), writes("a"), writes("x"), free}
					js := j.stubs(calls...)
					js[0].run = takes(10 * time.Second)
					js[1].run = takes(2 * time.Second)
					js[3].run = takes(10 * time.Second)
					if where == "Abandon" {
						js[1].run = func(context.Context) exec.Outcome { <-time.After(time.Minute); return exec.Outcome{} }
					}
					limit := 3
					opts := []exec.Option{exec.In(s), exec.Admit(plan.NewKeyed)}
					if where == behind {
						limit = 2 // which calls 0 and 3 take up while call 1 waits for its claims
					}
					if where == late || where == "Abandon" {
						opts = append(opts, exec.Drain(time.Second))
					}
					l := lane(t, t.Context(), append(opts, exec.Limit(limit))...)
					submit(t, l, jobs(js)...)
					<-time.After(time.Second / 2)
					switch where {
					case "Abandon", late, notRun:
						l.CancelCall(1, errHard)
					case behind:
						<-time.After(5 * time.Second)
						l.CancelCall(1, errHard)
					}
					err := finish(l)
					if where == late { // nobody waits for that call any more
						require.NoError(t, err)
					} else {
						var p *exec.PanicError
						require.ErrorAs(t, err, &p)
						assert.Equal(t, how == "panic", errors.Is(err, errBoom))
						assert.Equal(t, 1, p.Call)
						assert.Contains(t, p.In, map[string]string{"Abandon": "Abandon", "Acquire": "Acquire", "Lost": "Acquire"}[where])
					}
					outcome := j.find(t, 1, "settled").err // one, and no other
					switch where {
					case "Abandon":
						assert.ErrorAs(t, outcome, new(*exec.AbandonedError))
					case notRun, behind, late:
						assert.Equal(t, &exec.NotRunError{Call: 1, Cause: errHard}, outcome)
					default:
						assert.ErrorAs(t, outcome, new(*exec.PanicError))
					}
					check(t, j, checks{calls: calls, limit: limit, ordered: true, hard: where != late})
					<-time.After(time.Hour)
					assert.True(t, failed)
					if closed := s.book.closed(t); where != "Acquire" { // which can be before anybody else has a lease
						assert.NotZero(t, closed) // Release failed, but it was called
					}
					vacant(t, d)
					assert.Zero(t, workers())
				})
			})
		}
	}
}

// The same in Run, and with a lease that is none.
func TestForeignFailuresInRun(t *testing.T) {
	for how, fail := range failures {
		for _, where := range []string{"Acquire", "Release", "no lease"} {
			synctest.Test(t, func(t *testing.T) {
				s, d := newService()
				dom := exec.Domain(s)
				switch where {
				case "Acquire":
					s.acquire = func(ctx context.Context, r exec.Request) (exec.Lease, error) {
						if r.By.Call == 1 {
							fail()
						}
						return s.decides.Acquire(ctx, r)
					}
				case "Release":
					s.released = func(by exec.Caller) {
						if by.Call == 1 {
							fail()
						}
					}
				case "no lease":
					dom = hollow{s}
				}
				start := time.Now()
				got, err := exec.Run(t.Context(), []plan.Call{writes("a"), writes("b"), exclusive}, func(ctx context.Context, i int) (int, error) {
					if i == 1 {
						return 0, nil
					}
					return 0, rest(ctx, time.Hour)
				}, exec.In(dom), exec.Admit(plan.NewKeyed))
				var p *exec.PanicError
				require.ErrorAs(t, err, &p, "%s %s", where, how)
				assert.Equal(t, 1, p.Call)
				assert.Nil(t, got)
				assert.Zero(t, time.Since(start), "the bodies are cancelled")
				s.book.closed(t)
				vacant(t, d)
				synctest.Wait()
				assert.Zero(t, workers())
			})
		}
	}
}

// A hollow Domain grants call 1 a lease that is no more than a type.
type hollow struct{ *service }

func (b hollow) Acquire(ctx context.Context, r exec.Request) (exec.Lease, error) {
	if r.By.Call == 1 {
		return (*grant)(nil), nil
	}
	return b.service.Acquire(ctx, r)
}

// A call that was cancelled during its Prepare asks no Domain: the drain bound has passed already, or was never armed, so
// that nobody would give up one that does not heed its cancel.
func TestE4CancelledAsksNoDomain(t *testing.T) {
	for _, kind := range []string{"lane", "call"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := newService()
				asked := 0
				s.acquire = func(ctx context.Context, r exec.Request) (exec.Lease, error) {
					asked++
					<-time.After(time.Hour)
					return nil, context.Cause(ctx)
				}
				j := newJournal()
				js := j.stubs(writes("a"))
				js[0].prepare = func(context.Context) (bool, error) { <-time.After(10 * time.Second); return true, nil }
				l := lane(t, t.Context(), exec.In(s), exec.Drain(time.Second))
				submit(t, l, js[0])
				synctest.Wait()
				if kind == "lane" {
					l.Cancel(errBoom)
					require.ErrorIs(t, finish(l), errBoom)
				} else {
					l.CancelCall(0, errBoom)
					require.NoError(t, finish(l))
				}
				assert.Equal(t, 10*time.Second, time.Since(j.start))
				assert.Zero(t, asked)
				assert.Equal(t, &exec.NotRunError{Call: 0, Cause: errBoom}, j.find(t, 0, "settled").err)
			})
		})
	}
}
