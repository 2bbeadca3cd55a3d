package exec_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

func TestLaneWayOfOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		s := j.stubs(free)[0]
		s.prepare = func(context.Context) (bool, error) { <-time.After(time.Second); return true, nil }
		s.run = func(context.Context) exec.Outcome { <-time.After(time.Second); return exec.Outcome{Value: "v"} }
		s.settled = func(_ context.Context, o exec.Outcome) error {
			assert.Equal(t, exec.Outcome{Value: "v"}, o)
			<-time.After(time.Second)
			return nil
		}
		l := lane(t, t.Context())
		i, err := l.Submit(gate{s, func(context.Context) bool { <-time.After(time.Second); return true }})
		require.NoError(t, err)
		assert.Zero(t, i)
		require.NoError(t, finish(l))
		var stages []string
		for _, e := range j.all() {
			stages = append(stages, e.String())
		}
		assert.Equal(t, []string{"0s classify 0", "0s classify 0", "0s prepare 0", "1s prepared 0", "1s await 0", "2s awaited 0",
			"2s run 0", "3s ran 0", "3s settled 0", "4s durable 0", "4s commit 0", "4s committed 0"}, stages)
	})
}

func TestLaneSubmitNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		js := j.stubs(times(4, free)...)
		js[0].prepare = func(context.Context) (bool, error) { <-time.After(time.Hour); return true, nil }
		js[0].commit = func(context.Context) error { <-time.After(time.Hour); return nil }
		js[1].classify = func() plan.Call { <-time.After(time.Hour); return free }
		l := lane(t, t.Context())
		for i, s := range js[:2] {
			got, err := l.Submit(s) // while the lane is in a Prepare
			require.NoError(t, err)
			assert.Equal(t, i, got)
			synctest.Wait()
		}
		first, err := l.Submit(js[2], js[3])
		require.NoError(t, err)
		assert.Equal(t, 2, first)
		l.CancelCall(3, errBoom)
		l.Close()
		assert.Zero(t, time.Since(j.start))
		_, err = l.Submit(js[0])
		require.ErrorIs(t, err, exec.ErrClosed)
		require.NoError(t, l.Wait())
		assert.Len(t, j.of("commit"), 3)
		_, err = l.Submit(nil)
		require.Error(t, err)
	})
}

// A batch that is submitted at once is planned whole: call 2 is of the first wave although call 0 might have started alone.
func TestLaneSubmitsABatchWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		js := j.stubs(writes("a"), writes("a"), free)
		for _, s := range js {
			s.run = takes(time.Second)
		}
		l := lane(t, t.Context())
		submit(t, l, jobs(js)...)
		require.NoError(t, finish(l))
		assert.ElementsMatch(t, []string{"0s run 0", "0s run 2", "1s run 1"}, j.of("run"))
		assert.Equal(t, []string{"0s classify 0", "0s classify 1", "0s classify 2"}, j.of("classify", "prepare")[:3])
	})
}

func TestLaneSettledNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // behind a Prepare, a Commit or an approval
		j := newJournal()
		js := j.stubs(times(4, free)...)
		js[0].run = takes(time.Second)
		js[0].commit = func(context.Context) error { <-time.After(time.Hour); return nil }
		js[1].run = takes(2 * time.Second)
		js[2].run = takes(4 * time.Second)
		js[3].prepare = func(context.Context) (bool, error) { <-time.After(3 * time.Second); return true, nil }
		l := lane(t, t.Context())
		submit(t, l, gate{js[0], func(context.Context) bool { return true }}, js[1], js[2], js[3])
		require.NoError(t, finish(l))
		// Call 3 is in Prepare when 0 and 1 settle, and call 0 in Commit when 2 and 3 do.
		assert.Equal(t, []string{"1s settled 0", "2s settled 1", "3s settled 3", "4s settled 2"}, j.of("settled"))
		assert.Equal(t, []string{"3s commit 0", "1h0m3s commit 1", "1h0m3s commit 2", "1h0m3s commit 3"}, j.of("commit"))
	})
	synctest.Test(t, func(t *testing.T) { // but one at a time, and in the order of completion
		j := newJournal()
		js := j.stubs(times(3, free)...)
		for i, s := range js {
			s.run = takes(time.Duration(3-i) * time.Second)
			s.settled = func(context.Context, exec.Outcome) error { <-time.After(10 * time.Second); return nil }
		}
		l := lane(t, t.Context())
		submit(t, l, jobs(js)...)
		require.NoError(t, finish(l))
		assert.Equal(t, []string{"1s settled 2", "11s settled 1", "21s settled 0"}, j.of("settled"))
	})
}

func TestLaneCommitsTheReadyPrefixFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := []plan.Call{writes("a"), writes("b"), writes("b")}
		j := newJournal()
		js := j.stubs(calls...)
		js[0].run = takes(2 * time.Second)
		js[1].run = takes(3 * time.Second)
		for _, s := range js {
			s.commit = func(context.Context) error { <-time.After(2 * time.Second); return nil }
		}
		l := lane(t, t.Context(), exec.Admit(plan.NewKeyed))
		submit(t, l, jobs(js)...)
		require.NoError(t, finish(l))
		// While call 0 is committed, call 1 settles: its commit is due, and call 2 may start. The commit comes first.
		assert.Equal(t, []string{"2s commit 0", "4s commit 1", "6s prepare 2", "6s commit 2"}, j.of("commit", "prepare")[2:])
		check(t, j, checks{calls: calls, limit: 8, ordered: true})
	})
}

func TestLanePrepareRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		js := j.stubs(writes("a"), writes("a"), exclusive, free)
		js[0].prepare = func(context.Context) (bool, error) { return false, nil }
		js[2].prepare = js[0].prepare
		l := lane(t, t.Context(), exec.Limit(2))
		submit(t, l, jobs(js)...)
		require.NoError(t, finish(l))
		check(t, j, checks{calls: []plan.Call{writes("a"), writes("a"), exclusive, free}, limit: 2, ordered: true})
		assert.Equal(t, []string{"0s commit 0", "0s commit 1", "0s commit 2", "0s commit 3"}, j.of("commit"))
		assert.Equal(t, []string{"0s run 1", "0s run 3"}, j.of("run"))
	})
	synctest.Test(t, func(t *testing.T) { // an error that comes after its cancel is a refusal
		for _, cancel := range []func(*exec.Lane){
			func(l *exec.Lane) { l.Cancel(errBoom) },
			func(l *exec.Lane) { l.CancelCall(1, errBoom) },
		} {
			j := newJournal()
			js := j.stubs(free, free, free)
			js[1].prepare = func(ctx context.Context) (bool, error) {
				<-ctx.Done()
				assert.Equal(t, errBoom, context.Cause(ctx))
				return true, ctx.Err()
			}
			l := lane(t, t.Context())
			submit(t, l, jobs(js)...)
			synctest.Wait()
			cancel(l)
			if err := finish(l); err != nil {
				require.Equal(t, errBoom, err)
				assert.Len(t, j.of("skip"), 1)
			}
			assert.Empty(t, j.of("run")[len(j.of("commit"))-1:])
			j.find(t, 1, "refused")
			j.find(t, 1, "commit")
		}
	})
}

func TestLaneAwaitHoldsUpNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := []plan.Call{writes("a"), free, writes("a"), writes("b"), free, free}
		j := newJournal()
		js := j.stubs(calls...)
		for _, s := range js {
			s.run = takes(time.Second)
		}
		l := lane(t, t.Context(), exec.Limit(1+1), exec.Admit(plan.NewKeyed))
		js[0].run = takes(time.Second)
		submit(t, l, gate{js[0], func(ctx context.Context) bool { <-time.After(time.Minute); return true }}, js[1], js[2], js[3], js[4], js[5])
		require.NoError(t, finish(l))
		check(t, j, checks{calls: calls, limit: 2, ordered: true})
		assert.ElementsMatch(t, []string{"0s run 1", "0s run 3", "1s run 4", "1s run 5", "1m0s run 0", "1m1s run 2"}, j.of("run"))
		assert.Len(t, j.of("settled"), 6)
		assert.Equal(t, "1m1s commit 0", j.of("commit")[0])
	})
	t.Run("false", func(t *testing.T) {
		j := newJournal()
		s := j.stubs(free)[0]
		l := lane(t, t.Context())
		submit(t, l, gate{s, func(context.Context) bool { return false }})
		require.NoError(t, finish(l))
		assert.Equal(t, &exec.NotRunError{Call: 0}, j.find(t, 0, "settled").err)
		assert.Contains(t, j.find(t, 0, "settled").err.Error(), "Await returned false")
		check(t, j, checks{calls: []plan.Call{free}, limit: 8})
	})
	t.Run("panic", func(t *testing.T) {
		for _, bad := range []func(context.Context) bool{
			func(context.Context) bool { panic(1) }, func(context.Context) bool { runtime.Goexit(); return true },
		} {
			j := newJournal()
			js := j.stubs(exclusive, free)
			l := lane(t, t.Context())
			submit(t, l, gate{js[0], bad}, js[1])
			require.NoError(t, finish(l))
			var p *exec.PanicError
			require.ErrorAs(t, j.find(t, 0, "settled").err, &p)
			assert.Equal(t, "Await", p.In)
			assert.Len(t, j.of("run"), 1)
			assert.Len(t, j.of("commit"), 2)
		}
	})
	t.Run("permits are shared out again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			calls := times(9, free)
			j := newJournal()
			js := j.stubs(calls...)
			var all []exec.Job
			for i, s := range js {
				s.run = takes(3 * time.Second)
				if i < 5 {
					all = append(all, gate{s, func(context.Context) bool { <-time.After(2 * time.Second); return true }})
				} else {
					all = append(all, s)
				}
			}
			l := lane(t, t.Context(), exec.Limit(2))
			submit(t, l, all...)
			require.NoError(t, finish(l))
			check(t, j, checks{calls: calls, limit: 2, ordered: true})
			assert.Equal(t, 15*time.Second, j.all()[len(j.all())-1].at) // nine bodies of 3 s, two at a time
		})
	})
}

// sometimes is a gate that has to wait only if it says so, which it is asked after Prepare.
type sometimes struct {
	gate
	waits func() bool
}

func (s sometimes) Waits() bool { return s.waits() }

func TestLaneAwaitsOnlyWhatWaits(t *testing.T) {
	j := newJournal()
	js := j.stubs(free, free)
	var all []exec.Job
	for i, s := range js {
		waits := false
		s.prepare = func(context.Context) (bool, error) { waits = i == 1; return true, nil }
		all = append(all, sometimes{gate{s, func(context.Context) bool { return true }}, func() bool { return waits }})
	}
	l := lane(t, t.Context())
	submit(t, l, all...)
	require.NoError(t, finish(l))
	for i, await := range []int{0, 1} {
		var n int
		for _, e := range j.all() {
			if e.call == i && e.stage == "await" {
				n++
			}
		}
		assert.Equal(t, await, n, "call %d", i)
	}
	assert.Len(t, j.of("run"), 2)
}

// A call is classified again right before its start; what it has become counts.
func TestLaneClassifiesAgain(t *testing.T) {
	for _, a := range admissions {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			js := j.stubs(times(5, free)...)
			for _, s := range js {
				s.run = takes(time.Second)
			}
			n := 0
			js[2].classify = func() plan.Call {
				if n++; n == 1 {
					return free
				}
				return exclusive // from now on
			}
			l := lane(t, t.Context(), exec.Admit(a.open))
			submit(t, l, jobs(js)...)
			require.NoError(t, finish(l))
			run := j.find(t, 2, "run").at
			assert.GreaterOrEqual(t, n, 2)
			assert.LessOrEqual(t, n, 3)
			for i := range js {
				if i < 2 {
					assert.LessOrEqual(t, j.find(t, i, "committed").at, run)
				}
				if i != 2 {
					other := j.find(t, i, "run").at
					assert.False(t, run < other+time.Second && other < run+time.Second, "%s: %d beside the exclusive call", a.name, i)
				}
			}
		})
	}
}

// A call whose start is refused because of what it has become may let an earlier one start, which waited in a later wave.
func TestLaneRefusedStartFreesAnEarlierCall(t *testing.T) {
	for _, a := range admissions {
		synctest.Test(t, func(t *testing.T) {
			calls := []plan.Call{exclusive, reads("x"), writes("y"), reads("x")}
			j := newJournal()
			js := j.stubs(calls...)
			for _, i := range []int{1, 3} { // a link that call 0 makes: what it leads to is read, too
				js[i].classify = func() plan.Call {
					if len(j.of("committed")) == 0 {
						return reads("x")
					}
					return reads("x", "y")
				}
				calls[i] = reads("x", "y")
			}
			l := lane(t, t.Context(), exec.Admit(a.open))
			submit(t, l, jobs(js)...)
			require.NoError(t, finish(l))
			check(t, j, checks{calls: calls, limit: exec.DefaultLimit, ordered: true})
		})
	}
}

func TestLaneCancelCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		js := j.stubs(writes("a"), writes("a"), writes("a"), exclusive, free, free)
		js[0].run = takes(2 * time.Second)
		js[4].run = takes(time.Hour)
		js[5].run = takes(time.Second / 2)
		l := lane(t, t.Context(), exec.Admit(plan.NewKeyed))
		submit(t, l, jobs(js)...)
		<-time.After(time.Second)
		l.CancelCall(1, errBoom)
		l.CancelCall(3, nil)
		l.CancelCall(-1, errBoom)
		l.CancelCall(6, errBoom)
		<-time.After(2 * time.Second)
		l.CancelCall(0, errors.New("it has its outcome"))
		l.CancelCall(4, errBoom)
		require.NoError(t, finish(l))
		assert.Equal(t, errBoom, j.find(t, 1, "skip").err)
		assert.Equal(t, context.Canceled, j.find(t, 3, "skip").err)
		assert.Equal(t, []string{"0s run 0", "2s run 2"}, j.of("run")[:2])
		assert.Equal(t, []string{"2s commit 0", "2s skip 1", "2s commit 2", "2s skip 3", "3s commit 4", "3s commit 5"}, j.of("commit", "skip"))
		assert.Equal(t, []string{"0s run 0", "2s run 2"}, j.of("run")[:2])
		assert.Equal(t, []string{"2.5s settled 5", "3s settled 4"}, j.of("settled")[2:])
		assert.NoError(t, j.find(t, 0, "settled").err)
	})
	synctest.Test(t, func(t *testing.T) { // before it is known to the admission
		j := newJournal()
		js := j.stubs(writes("a"), writes("a"), writes("a"))
		js[0].prepare = func(context.Context) (bool, error) { <-time.After(time.Second); return true, nil }
		js[0].run = takes(time.Second)
		l := lane(t, t.Context())
		submit(t, l, js[0])
		synctest.Wait()
		submit(t, l, js[1], js[2])
		l.CancelCall(1, errBoom)
		require.NoError(t, finish(l))
		assert.Equal(t, []string{"1s run 0", "2s run 2"}, j.of("run"))
		assert.Equal(t, errBoom, j.find(t, 1, "skip").err)
	})
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]exec.Option{
		"limit 0": exec.Limit(0), "limit below 0": exec.Limit(-3), "no admission": exec.Admit(nil), "drain 0": exec.Drain(0), "drain below 0": exec.Drain(-1),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := exec.NewLane(t.Context(), o)
			require.ErrorIs(t, err, exec.ErrOption)
			_, err = exec.Run(t.Context(), nil, func(context.Context, int) (int, error) { return 0, nil }, o)
			require.ErrorIs(t, err, exec.ErrOption)
			require.ErrorIs(t, exec.Each(t.Context(), nil, func(context.Context, int) (int, error) { return 0, nil }, func(int, int) error { return nil }, o), exec.ErrOption)
		})
	}
	t.Run("nil", func(t *testing.T) {
		_, err := exec.NewLane(t.Context(), exec.Limit(1), nil, exec.Limit(2))
		require.ErrorIs(t, err, exec.ErrOption)
		require.ErrorContains(t, err, "option 2 of 3 is nil")
	})
	t.Run("nothing to call", func(t *testing.T) {
		body, commit := func(context.Context, int) (int, error) { return 0, nil }, func(int, int) error { return nil }
		for n := range 2 {
			calls := times(n, free)
			_, err := exec.Run[int](t.Context(), calls, nil)
			require.ErrorIs(t, err, exec.ErrOption)
			require.ErrorIs(t, exec.Each(t.Context(), calls, nil, commit), exec.ErrOption)
			require.ErrorIs(t, exec.Each(t.Context(), calls, body, nil), exec.ErrOption)
		}
	})
	t.Run("a timeline in use", func(t *testing.T) {
		var tl exec.Timeline
		l := lane(t, t.Context(), exec.Record(&tl))
		_, err := exec.NewLane(t.Context(), exec.Record(&tl))
		require.ErrorIs(t, err, exec.ErrOption)
		require.NoError(t, finish(l))
		require.NoError(t, finish(lane(t, t.Context(), exec.Record(&tl))))
	})
	t.Run("Limit(1) admits by Serial", func(t *testing.T) {
		_, err := exec.Run(t.Context(), times(3, free), func(context.Context, int) (int, error) { return 0, nil },
			exec.Limit(1), exec.Admit(func() plan.Admission { panic("asked") }))
		require.NoError(t, err)
	})
}
