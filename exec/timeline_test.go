package exec_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// checkSums demands that the waits of every span follow one another without gaps, and add up with the body to its life.
func checkSums(t require.TestingT, spans []exec.Span, failed bool) {
	for i, s := range spans {
		assert.Equal(t, i, s.Call)
		at, sum := s.Submitted, time.Duration(0)
		for k, w := range s.Waits {
			if at == s.Started && s.Settled >= s.Started && at != w.From {
				at = s.Settled
			}
			assert.Equal(t, at, w.From, "wait %d of %+v", k, s)
			assert.Greater(t, w.To, w.From, "wait %d of %+v", k, s)
			assert.False(t, w.Open, "wait %d of %+v", k, s)
			if k > 0 {
				last := s.Waits[k-1]
				last.From, last.To = w.From, w.To
				assert.NotEqual(t, w, last, "wait %d of %+v is one with the one before", k, s)
			}
			if w.For != exec.WaitDomain { // there it may be known or not
				assert.Equal(t, w.For <= exec.WaitWave, w.Call >= 0, "wait %d of %+v", k, s)
			}
			assert.Equal(t, w.For == exec.WaitCommit, w.From >= s.Settled && s.Settled >= 0, "wait %d of %+v", k, s)
			sum += w.To - w.From
			at = w.To
		}
		if failed && s.Committed < 0 {
			continue
		}
		if s.Started >= 0 {
			sum += s.Settled - s.Started
		}
		assert.Equal(t, s.Committed-s.Submitted, sum, "%+v", s)
		assert.NotEqual(t, exec.EndOpen, s.End, "%+v", s)
	}
}

// checkTimes demands that the spans tell what the jobs saw.
func checkTimes(t require.TestingT, j *journal, spans []exec.Span) {
	ended := map[int]bool{}
	for _, e := range j.all() {
		switch s := spans[e.call]; e.stage {
		case "prepare":
			assert.Equal(t, e.at, s.Admitted, "%v: %+v", e, s)
		case "run":
			assert.Equal(t, e.at, s.Started, "%v: %+v", e, s)
		case "ran":
			if s.End != exec.EndAbandoned {
				assert.Equal(t, e.at, s.Settled, "%v: %+v", e, s)
			}
			ended[e.call] = true
		case "refused":
			if s.End != exec.EndOpen {
				assert.Equal(t, exec.EndRefused, s.End)
			}
		case "settled":
			want := exec.EndReturned
			switch {
			case errors.As(e.err, new(*exec.NotRunError)):
				want = exec.EndNotRun
			case errors.As(e.err, new(*exec.AbandonedError)):
				want = exec.EndAbandoned
			case errors.As(e.err, new(*exec.PanicError)):
				want = exec.EndPanicked
			}
			assert.Equal(t, want, s.End, "%v: %+v", e, s)
		case "skip":
			assert.Equal(t, exec.EndSkipped, s.End, "%v: %+v", e, s)
		case "committed", "skipped":
			if s.Committed >= 0 {
				assert.Equal(t, e.at, s.Committed, "%v: %+v", e, s)
			}
		}
	}
}

func TestE14Timeline(t *testing.T) {
	const s = time.Second
	claim := func(call int, mine, held plan.Claim, from, to time.Duration) exec.Wait {
		return exec.Wait{For: exec.WaitClaim, Call: call, Mine: mine, Held: held, From: from, To: to}
	}
	on := func(kind exec.WaitKind, call int, from, to time.Duration) exec.Wait {
		return exec.Wait{For: kind, Call: call, From: from, To: to}
	}
	wa, ra := plan.Claim{Key: "a"}, plan.Claim{Key: "a", Access: plan.Read}

	t.Run("claim, barrier, permit, commit", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var tl exec.Timeline
			durations := []time.Duration{4 * s, 1 * s, 2 * s, 3 * s, 1 * s, 1 * s}
			_, err := exec.Run(t.Context(), []plan.Call{writes("a"), free, reads("a"), free, exclusive, reads("a")},
				func(ctx context.Context, i int) (int, error) { return 0, rest(ctx, durations[i]) },
				exec.Limit(2), exec.Admit(plan.NewKeyed), exec.Record(&tl))
			require.NoError(t, err)
			spans := tl.Snapshot()
			checkSums(t, spans, false)
			assert.Equal(t, []exec.Wait(nil), spans[0].Waits)
			assert.Equal(t, []exec.Wait{on(exec.WaitCommit, -1, 1*s, 4*s)}, spans[1].Waits)
			assert.Equal(t, []exec.Wait{claim(0, ra, wa, 0, 4*s)}, spans[2].Waits)
			assert.Equal(t, []exec.Wait{on(exec.WaitPermit, -1, 0, 1*s), on(exec.WaitCommit, -1, 4*s, 6*s)}, spans[3].Waits)
			assert.Equal(t, 6*s, spans[4].Started)
			require.NotEmpty(t, spans[4].Waits)
			require.NotEmpty(t, spans[5].Waits)
			assert.Equal(t, exec.WaitBarrier, spans[4].Waits[0].For)
			last := spans[5].Waits[len(spans[5].Waits)-1]
			assert.Equal(t, exec.WaitBarrier, last.For)
			assert.Equal(t, 4, last.Call)
			assert.Equal(t, exec.Span{Call: 5, Submitted: 0, Admitted: 7 * s, Started: 7 * s, Settled: 8 * s, Committed: 8 * s,
				End: exec.EndReturned, Waits: spans[5].Waits}, spans[5])
		})
	})
	t.Run("wave and order", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for kind, open := range map[exec.WaitKind]func() plan.Admission{exec.WaitWave: plan.NewWaves, exec.WaitOrder: plan.NewSerial} {
				var tl exec.Timeline
				_, err := exec.Run(t.Context(), []plan.Call{writes("a"), writes("a"), writes("a")},
					func(ctx context.Context, i int) (int, error) { return 0, rest(ctx, s) }, exec.Admit(open), exec.Record(&tl))
				require.NoError(t, err)
				spans := tl.Snapshot()
				checkSums(t, spans, false)
				var waited time.Duration
				for _, w := range spans[2].Waits {
					if w.For == kind || kind == exec.WaitWave && w.For == exec.WaitClaim {
						waited += w.To - w.From
					}
				}
				assert.Equal(t, 2*s, waited, "%v: %+v", kind, spans[2])
			}
		})
	})
	t.Run("lane, approval, the commit before", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var tl exec.Timeline
			j := newJournal()
			js := j.stubs(times(5, free)...)
			js[0].prepare = func(context.Context) (bool, error) { <-time.After(s); return true, nil }
			js[0].commit = func(context.Context) error { <-time.After(s); return nil }
			js[1].prepare = func(context.Context) (bool, error) { return false, nil }
			js[2].run = takes(4 * s)
			l := lane(t, t.Context(), exec.Limit(2), exec.Record(&tl))
			submit(t, l, gate{js[0], func(context.Context) bool { <-time.After(2 * s); return true }}, js[1], js[2])
			<-time.After(2*s + s/2)
			open := tl.Snapshot() // while it runs
			require.Equal(t, []exec.Wait{on(exec.WaitLane, -1, 0, s), {For: exec.WaitApproval, Call: -1, From: s, To: 2*s + s/2, Open: true}}, open[0].Waits)
			assert.EqualValues(t, -1, open[0].Started)
			assert.Equal(t, exec.EndOpen, open[0].End)
			require.Equal(t, []exec.Wait{on(exec.WaitLane, -1, 0, s), {For: exec.WaitCommit, Call: -1, From: s, To: 2*s + s/2, Open: true}}, open[1].Waits)
			assert.Equal(t, s, open[2].Started)
			assert.Len(t, open[2].Waits, 1)
			require.NoError(t, finish(l))
			spans := tl.Snapshot()
			checkSums(t, spans, false)
			checkTimes(t, j, spans)
			assert.Equal(t, []exec.Wait{on(exec.WaitLane, -1, 0, s), on(exec.WaitApproval, -1, s, 3*s), on(exec.WaitCommit, -1, 3*s, 4*s)}, spans[0].Waits)
			assert.Equal(t, []exec.Wait{on(exec.WaitLane, -1, 0, s), on(exec.WaitCommit, -1, s, 4*s)}, spans[1].Waits)
			assert.Equal(t, exec.EndRefused, spans[1].End)
			assert.Equal(t, spans, tl.Snapshot(), "it has ended")
			spans[0].Waits[0].Call = 77
			assert.NotEqual(t, spans, tl.Snapshot(), "the spans are the caller's own")
		})
	})
	t.Run("all of the lane is one wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var tl exec.Timeline
			js := newJournal().stubs(free, free)
			js[0].prepare = func(context.Context) (bool, error) { <-time.After(s); return true, nil }
			js[1].classify = func() plan.Call { <-time.After(s); return free }
			js[1].prepare = js[0].prepare
			l := lane(t, t.Context(), exec.Record(&tl))
			submit(t, l, js[0])
			synctest.Wait()
			submit(t, l, js[1]) // 1s until the lane is free, 2 of Classify, 1 of Prepare
			<-time.After(3*s + s/2)
			assert.Equal(t, []exec.Wait{{For: exec.WaitLane, Call: -1, From: 0, To: 3*s + s/2, Open: true}}, tl.Snapshot()[1].Waits)
			require.NoError(t, finish(l))
			checkSums(t, tl.Snapshot(), false)
			assert.Equal(t, []exec.Wait{on(exec.WaitLane, -1, 0, 4*s)}, tl.Snapshot()[1].Waits)
		})
	})
	t.Run("permit after an approval", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var tl exec.Timeline
			j := newJournal()
			js := j.stubs(times(3, free)...)
			for _, b := range js {
				b.run = takes(3 * s)
			}
			l := lane(t, t.Context(), exec.Limit(2), exec.Record(&tl))
			submit(t, l, gate{js[0], func(context.Context) bool { <-time.After(s); return true }}, js[1], js[2])
			<-time.After(2 * s)
			w := tl.Snapshot()[0].Waits
			assert.Equal(t, exec.Wait{For: exec.WaitPermit, Call: -1, From: s, To: 2 * s, Open: true}, w[len(w)-1])
			require.NoError(t, finish(l))
			checkSums(t, tl.Snapshot(), false)
			assert.Equal(t, []exec.Wait{on(exec.WaitApproval, -1, 0, s), on(exec.WaitPermit, -1, s, 3*s)}, tl.Snapshot()[0].Waits)
		})
	})
	t.Run("ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var tl exec.Timeline
			j := newJournal()
			js := j.stubs(times(4, free)...)
			js[0].run = func(context.Context) exec.Outcome { panic(1) }
			js[1].run = func(context.Context) exec.Outcome { <-time.After(time.Minute); return exec.Outcome{} }
			l := lane(t, t.Context(), exec.Limit(2), exec.Record(&tl), exec.Drain(s))
			submit(t, l, js[0], js[1], gate{js[2], func(ctx context.Context) bool { <-ctx.Done(); return true }})
			<-time.After(s)
			submit(t, l, js[3])
			l.Cancel(errBoom)
			require.Equal(t, errBoom, finish(l))
			var ends []exec.End
			for _, sp := range tl.Snapshot() {
				ends = append(ends, sp.End)
			}
			assert.Equal(t, exec.EndPanicked, ends[0])
			assert.Equal(t, exec.EndAbandoned, ends[1])
			assert.Equal(t, exec.EndNotRun, ends[2])
			assert.Equal(t, exec.EndSkipped, ends[3])
			assert.Equal(t, 2*s, tl.Snapshot()[1].Settled)
			checkSums(t, tl.Snapshot(), false)
			<-time.After(time.Hour)
		})
	})
	t.Run("a hard error stops the clock", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var tl exec.Timeline
			_, err := exec.Run(t.Context(), times(3, exclusive), func(ctx context.Context, i int) (int, error) {
				<-time.After(s)
				return 0, errBoom
			}, exec.Record(&tl))
			require.Equal(t, errBoom, err)
			spans := tl.Snapshot()
			<-time.After(s)
			require.Equal(t, spans, tl.Snapshot())
			checkSums(t, spans, true)
			assert.Equal(t, exec.EndOpen, spans[1].End)
			require.NotEmpty(t, spans[1].Waits)
			assert.Equal(t, s, spans[1].Waits[len(spans[1].Waits)-1].To)

			_, err = exec.Run(t.Context(), times(1, free), func(ctx context.Context, i int) (int, error) { return 0, nil }, exec.Record(&tl))
			require.NoError(t, err)
			assert.Len(t, tl.Snapshot(), 1, "a timeline begins anew")
		})
	})
	t.Run("a long queue", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var tl exec.Timeline
			const n = 200
			_, err := exec.Run(t.Context(), times(n, writes("a")), func(ctx context.Context, i int) (int, error) { return 0, rest(ctx, s) }, exec.Record(&tl))
			require.NoError(t, err)
			spans := tl.Snapshot()
			checkSums(t, spans, false)
			require.Len(t, spans[n-1].Waits, 1)
			assert.Equal(t, n-2, spans[n-1].Waits[0].Call)
		})
	})
	t.Run("a wait for many", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var tl exec.Timeline
			const n = 200
			calls := append(times(n, free), exclusive)
			_, err := exec.Run(t.Context(), calls, func(ctx context.Context, i int) (int, error) {
				return 0, rest(ctx, time.Duration(len(calls)-i)*s) // the later calls come to their end first
			}, exec.Limit(n), exec.Record(&tl))
			require.NoError(t, err)
			spans := tl.Snapshot()
			checkSums(t, spans, false)
			last := spans[n].Waits
			require.Len(t, last, 16)
			for k, w := range last[:15] {
				assert.Equal(t, n-1-k, w.Call)
			}
			assert.Equal(t, 0, last[len(last)-1].Call)
		})
	})
	t.Run("what a call waits for may change", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var tl exec.Timeline
			j := newJournal()
			js := j.stubs(writes("a"), writes("a"), writes("b"))
			js[0].run = takes(2 * s)
			n := 0
			js[1].classify = func() plan.Call {
				if n++; n > 1 {
					return writes("a", "c")
				}
				return writes("a")
			}
			l := lane(t, t.Context(), exec.Admit(plan.NewKeyed), exec.Record(&tl))
			submit(t, l, jobs(js)...)
			require.NoError(t, finish(l))
			checkSums(t, tl.Snapshot(), false)
			assert.Equal(t, []exec.Wait{claim(0, wa, wa, 0, 2*s)}, tl.Snapshot()[1].Waits)
		})
		synctest.Test(t, func(t *testing.T) { // a call that becomes exclusive as it starts is a barrier to the others
			var tl exec.Timeline
			j := newJournal()
			js := j.stubs(free, free)
			js[0].run = takes(s)
			n := 0
			js[0].classify = func() plan.Call {
				n++
				return plan.Call{Safe: n == 1}
			}
			l := lane(t, t.Context(), exec.Admit(plan.NewKeyed), exec.Record(&tl))
			submit(t, l, jobs(js)...)
			require.NoError(t, finish(l))
			assert.Equal(t, []exec.Wait{on(exec.WaitBarrier, 0, 0, s)}, tl.Snapshot()[1].Waits)
		})
	})
}

func TestTimelineWords(t *testing.T) {
	words := map[string]bool{}
	for k := exec.WaitClaim; k <= exec.WaitCommit; k++ {
		words[k.String()] = true
	}
	for e := exec.EndOpen; e <= exec.EndSkipped; e++ {
		words[e.String()] = true
	}
	assert.Len(t, words, 16)
	assert.Equal(t, "WaitKind(99)", exec.WaitKind(99).String())
	assert.Equal(t, "End(99)", exec.End(99).String())

	w := exec.Wait{Call: 2, Held: plan.Claim{Key: "a"}, From: time.Millisecond, To: 74*time.Millisecond + 1}
	assert.Equal(t, "waited 73ms for call 3 (write a)", w.String())
	w.Open = true
	said := ""
	for w.For = exec.WaitBarrier; w.For <= exec.WaitCommit+1; w.For++ {
		said += w.String() + "\n"
	}
	assert.Equal(t, `waiting 73ms for call 3 (barrier)
waiting 73ms for call 3 (order)
waiting 73ms for call 3 (wave)
waiting 73ms for its turn in the lane
waiting 73ms for its approval
waiting 73ms for call 3 of another lane (write a)
waiting 73ms for a permit
waiting 73ms for its commit
waiting 73ms for WaitKind(9)
`, said)
}
