package exec_test

import (
	"context"
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

// The five rules in the package comment, each in the plainest lanes that deadlock, which a bubble sees, or have two writers
// at once, when the rule is broken.

// together runs lanes at the same time and returns when all have ended.
func together(t *testing.T, lanes ...func(ctx context.Context) error) {
	ends := make(chan error)
	for _, l := range lanes {
		go func() { ends <- l(t.Context()) }()
	}
	for range lanes {
		require.NoError(t, <-ends)
	}
}

// Rule 1: all claims at once. One by one, each would hold what the other one waits for.
func TestE13Rule1AllClaimsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		move := func(from, to string) func(context.Context) error {
			return func(ctx context.Context) error {
				return inside(ctx, []plan.Call{writes(from, to)}, func(context.Context, int) error {
					<-time.After(time.Second)
					return nil
				}, exec.In(d))
			}
		}
		together(t, move("a", "b"), move("b", "a"), move("a", "b"))
	})
}

// Rule 2: in line only when the approval is there. Whoever must approve looks first what the other one has done.
func TestE13Rule2InLineAfterTheApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		done := make(chan struct{})
		asks := func(ctx context.Context) error {
			l := lane(t, ctx, exec.In(d))
			submit(t, l, gate{newJournal().stubs(writes("a"))[0], func(context.Context) bool { <-done; return true }})
			return finish(l)
		}
		works := func(ctx context.Context) error {
			<-time.After(time.Second)
			return inside(ctx, []plan.Call{writes("a")}, func(context.Context, int) error { close(done); return nil }, exec.In(d))
		}
		together(t, asks, works)
	})
}

// Rule 3: until the body has returned, also one that nobody waits for any more.
func TestE13Rule3UntilTheBodyHasReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		var writers, peak atomic.Int32
		write := func(d time.Duration) {
			peak.Store(max(peak.Load(), writers.Add(1)))
			<-time.After(d)
			writers.Add(-1)
		}
		gaveUp := func(ctx context.Context) error {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(time.Second, func() { cancel(errBoom) })
			js := newJournal().stubs(writes("a"))
			js[0].run = func(context.Context) exec.Outcome { write(time.Hour); return exec.Outcome{} }
			l := lane(t, ctx, exec.In(d), exec.Drain(time.Second))
			submit(t, l, jobs(js)...)
			assert.ErrorIs(t, finish(l), errBoom)
			return nil
		}
		works := func(ctx context.Context) error {
			<-time.After(time.Minute)
			return inside(ctx, []plan.Call{writes("a")}, func(context.Context, int) error { write(time.Second); return nil }, exec.In(d))
		}
		together(t, gaveUp, works)
		assert.EqualValues(t, 1, peak.Load(), "writers at once")
	})
}

// Rule 4: nested calls compete within the lease. In the Domain they would wait for the call that waits for them; and what is
// not covered by that one must be refused, since somebody who holds it may wait for the same of us.
func TestE13Rule4NestedWithinTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		var uncovered atomic.Int32
		agent := func(mine, other string) func(context.Context) error {
			return func(ctx context.Context) error {
				return inside(ctx, []plan.Call{writes(mine)}, func(ctx context.Context, _ int) error {
					<-time.After(time.Second)
					nothing := func(context.Context, int) error { return nil }
					if err := inside(ctx, []plan.Call{writes(mine), reads(mine)}, nothing); err != nil {
						return err
					}
					var not *exec.UncoveredError
					if err := inside(ctx, []plan.Call{reads(other)}, nothing); assert.ErrorAs(t, err, &not) {
						uncovered.Add(1)
					}
					return nil
				}, exec.In(d))
			}
		}
		together(t, agent("a", "b"), agent("b", "a"))
		assert.EqualValues(t, 2, uncovered.Load())
	})
}

// Rule 5: no permit while a lane is open. With it the bodies would hold all that their lanes wait for.
func TestE13Rule5NoPermitWhileALaneIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, sem := exec.NewDomain(), semaphore.NewWeighted(2)
		agent := func(ctx context.Context) error {
			return inside(ctx, times(2, free), func(ctx context.Context, _ int) error {
				return inside(ctx, times(2, writes("a")), func(context.Context, int) error { return nil })
			}, exec.In(d), exec.Shared(sem))
		}
		together(t, agent, agent)
		allBack(t, sem, 2)
	})
}
