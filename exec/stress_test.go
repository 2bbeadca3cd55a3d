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
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/plan/plantest"
)

var errHard = errors.New("hard")

// anyStub draws how the stages of one call behave.
func anyStub(t *rapid.T, j *journal, i int, what plan.Call, hard bool) (exec.Job, *stub) {
	label := func(s string) string { return fmt.Sprintf("%d %s", i, s) }
	duration := func(s string) time.Duration {
		return time.Duration(rapid.SampledFrom([]int{0, 0, 1, 2, 3, 5, 8}).Draw(t, label(s))) * time.Second
	}
	// fails says how a stage that fails does so; most do not.
	fails := func(s string) func() error {
		how := ""
		if hard {
			how = rapid.SampledFrom([]string{"", "", "", "", "", "", "", "", "error", "panic", "goexit"}).Draw(t, label(s+" fails"))
		}
		return func() error {
			if how == "" {
				return nil
			}
			j.add(i, "failing", nil)
			switch how {
			case "panic":
				panic(errHard)
			case "goexit":
				runtime.Goexit()
			}
			return errHard
		}
	}
	s := &stub{j: j, i: i, what: what}
	if rapid.IntRange(0, 3).Draw(t, label("changes")) == 0 {
		// It is something else whenever it is looked at.
		all := append([]plan.Call{what}, rapid.SliceOfN(plantest.Calls(), 1, 3).Draw(t, label("becomes"))...)
		n := 0
		s.classify = func() plan.Call {
			s.what = all[min(n, len(all)-1)]
			n++
			return s.what
		}
	}
	wait, prepared, refuse := duration("prepare"), fails("prepare"), rapid.IntRange(0, 9).Draw(t, label("refuse")) == 0
	s.prepare = func(ctx context.Context) (bool, error) {
		<-time.After(wait)
		if refuse {
			return false, nil
		}
		if ctx.Err() != nil {
			return true, ctx.Err() // no failure
		}
		return true, prepared()
	}
	body := duration("body")
	ending := rapid.SampledFrom([]string{"ok", "ok", "ok", "ok", "error", "panic", "goexit", "deaf", "slow"}).Draw(t, label("ending"))
	s.run = func(ctx context.Context) exec.Outcome {
		switch ending {
		case "deaf":
			<-time.After(body)
			return exec.Outcome{}
		case "slow":
			err := rest(ctx, body)
			<-time.After(time.Second)
			return exec.Outcome{Value: err}
		}
		err := rest(ctx, body)
		switch ending {
		case "error":
			return exec.Outcome{Err: errBoom}
		case "panic":
			panic(err)
		case "goexit":
			runtime.Goexit()
		}
		return exec.Outcome{Value: err}
	}
	settle, settled := duration("settle"), fails("settle")
	s.settled = func(ctx context.Context, _ exec.Outcome) error {
		<-time.After(settle)
		return errors.Join(ctx.Err(), settled())
	}
	commit, committed := duration("commit"), fails("commit")
	s.commit = func(ctx context.Context) error {
		<-time.After(commit)
		return errors.Join(ctx.Err(), committed())
	}
	skipped := fails("skip")
	s.skip = func(ctx context.Context, _ error) error { return errors.Join(ctx.Err(), skipped()) }
	if rapid.IntRange(0, 3).Draw(t, label("gated")) > 0 {
		return s, s
	}
	approval, yes, deaf := duration("approval"), rapid.Bool().Draw(t, label("approved")), rapid.Bool().Draw(t, label("deaf"))
	return gate{s, func(ctx context.Context) bool {
		if deaf {
			<-time.After(approval)
			return yes
		}
		return rest(ctx, approval) == nil && yes
	}}, s
}

// Whatever bodies, stages, people and cancels do: every call has one outcome, commits come in order, the limit holds, calls in
// conflict neither overlap nor change places, no goroutine is left, and the sums of the timeline add up.
func TestLaneStress(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls := plantest.Batches(8).Draw(t, "calls")
		a := rapid.IntRange(0, len(admissions)).Draw(t, "admission")
		open, ordered := plan.NewFirstFit, false
		if a < len(admissions) {
			open, ordered = admissions[a].open, true
		}
		limit := rapid.IntRange(1, 4).Draw(t, "limit")
		var timeline exec.Timeline
		opts := []exec.Option{exec.Limit(limit), exec.Admit(open), exec.Record(&timeline)}
		if rapid.Bool().Draw(t, "drain") {
			opts = append(opts, exec.Drain(2500*time.Millisecond))
		}
		hard := rapid.IntRange(0, 2).Draw(t, "hard") == 0
		rapid.SyncTest(t, func(t *rapid.T) {
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			j := newJournal()
			l := lane(t, ctx, opts...)
			all := make([]exec.Job, len(calls))
			stubs := make([]*stub, len(calls))
			for i, c := range calls {
				all[i], stubs[i] = anyStub(t, j, i, c, hard)
			}
			// Somebody submits, somebody cancels, at any time; but no two at the very same.
			moment := rapid.Custom(func(t *rapid.T) time.Duration {
				return time.Duration(rapid.IntRange(0, 40).Draw(t, "half seconds")) * time.Second / 2
			})
			chunk := rapid.IntRange(1, 8).Draw(t, "chunk")
			pause := rapid.Bool().Draw(t, "pause")
			for k := range rapid.IntRange(0, 2).Draw(t, "cancels of calls") {
				at, i := moment.Draw(t, "at")+time.Duration(400+150*k)*time.Millisecond, rapid.IntRange(0, 8).Draw(t, "call")
				go func() {
					<-time.After(at)
					l.CancelCall(i, fmt.Errorf("call %d: %w", i, errBoom))
				}()
			}
			switch at := moment.Draw(t, "cancelled at") + 250*time.Millisecond; rapid.IntRange(0, 3).Draw(t, "cancel") {
			case 0:
				go func() { <-time.After(at); l.Cancel(errBoom) }()
			case 1:
				go func() { <-time.After(at); cancel(errBoom) }()
			}
			submitted := 0
			for submitted < len(all) {
				n := min(chunk, len(all)-submitted)
				if _, err := l.Submit(all[submitted : submitted+n]...); err != nil {
					require.ErrorIs(t, err, l.Wait())
					break
				}
				submitted += n
				if pause {
					<-time.After(time.Second)
				}
			}
			err := finish(l)
			p := new(exec.PanicError)
			failed := errors.Is(err, errHard) || errors.As(err, &p)
			assert.True(t, err == nil || failed || errors.Is(err, errBoom), "%v", err)
			if ab := new(exec.AbandonedError); errors.As(err, &ab) && !failed {
				assert.ErrorIs(t, err, errBoom)
			}
			c := checks{limit: limit, ordered: ordered, hard: failed}
			for _, s := range stubs[:submitted] {
				c.calls, c.changed = append(c.calls, s.what), append(c.changed, s.classify != nil)
			}
			check(t, j, c)
			checkSums(t, timeline.Snapshot(), failed)
			checkTimes(t, j, timeline.Snapshot())
			synctest.Wait()
			n := len(j.of("settled", "commit", "skip"))
			<-time.After(time.Minute) // whatever was abandoned comes to rest, and changes nothing
			assert.Len(t, j.of("settled", "commit", "skip"), n)
			assert.Zero(t, workers())
		})
	})
}

// The same for Run, whose calls have no stages, with real parallelism instead of virtual time.
func TestRunStress(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls := plantest.Batches(40).Draw(t, "calls")
		a := admissions[rapid.IntRange(0, len(admissions)-1).Draw(t, "admission")]
		limit := rapid.IntRange(1, 8).Draw(t, "limit")
		bad := rapid.IntRange(-40, 39).Draw(t, "bad")
		how := rapid.SampledFrom([]string{"error", "panic", "goexit", "cancel"}).Draw(t, "how")
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		j := newJournal()
		var committed []int
		err := exec.Each(ctx, calls, func(ctx context.Context, i int) (int, error) {
			j.add(i, "run", nil)
			defer j.add(i, "ran", nil)
			for range i % 3 {
				runtime.Gosched()
			}
			if i == bad {
				switch how {
				case "error":
					return 0, errHard
				case "panic":
					panic(errHard)
				case "goexit":
					runtime.Goexit()
				case "cancel":
					cancel(errHard)
				}
			}
			return i * i, nil
		}, func(i, r int) error {
			assert.Equal(t, i*i, r)
			committed = append(committed, i)
			j.add(i, "committed", nil)
			return nil
		}, exec.Limit(limit), exec.Admit(a.open))
		for k, i := range committed {
			require.Equal(t, k, i)
		}
		if bad < 0 || bad >= len(calls) {
			require.NoError(t, err)
			require.Len(t, committed, len(calls))
		} else {
			require.Error(t, err)
			require.True(t, how == "goexit" || errors.Is(err, errHard))
		}
		running, over := map[int]bool{}, map[int]bool{}
		for _, e := range j.all() {
			switch e.stage {
			case "run":
				require.Less(t, len(running), limit)
				for i, c := range calls {
					if plantest.Conflict(c, calls[e.call]) && i != e.call {
						require.False(t, running[i], "%d beside %d", e.call, i)
						require.True(t, i > e.call || over[i], "%d before %d", e.call, i)
					}
				}
				running[e.call] = true
			case "ran":
				delete(running, e.call)
				over[e.call] = true
			}
		}
	})
}
