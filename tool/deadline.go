package tool

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/keywave-go/keywave/exec"
)

// A TimeoutError is the cause with which the context of a call is done when its deadline has passed: that of its
// [Spec], or of [WithTimeout]. It is a [context.DeadlineExceeded], too.
type TimeoutError struct {
	After time.Duration
}

// Error says after how long.
func (e *TimeoutError) Error() string { return fmt.Sprintf("timed out after %v", e.After) }

// Unwrap returns [context.DeadlineExceeded].
func (e *TimeoutError) Unwrap() error { return context.DeadlineExceeded }

// Submit submits jobs to a lane, as [exec.Lane.Submit] does, and has the lane cancel the call of each [Job] among them,
// or embedded in one of them, when its deadline passes, wherever it is by then: one that waits leaves the queue and
// never runs; one that runs is cancelled and waited for, as long as [exec.Drain] says.
//
// Jobs that were submitted otherwise have deadlines, too, but nobody looks while they wait in the queue, and a body
// that ignores its context is waited for without a bound.
func Submit(l *exec.Lane, jobs ...exec.Job) (int, error) {
	first, err := l.Submit(jobs...)
	if err != nil {
		return first, err
	}
	for i, j := range jobs {
		if j, ok := j.(interface{ arm(*exec.Lane, int) }); ok {
			j.arm(l, first+i)
		}
	}
	return first, nil
}

// A clock watches the deadline of a call. The lane sets it, the body looks at it, and it goes off on its own.
type clock struct {
	from time.Time // the submission

	mu         sync.Mutex      // short: no caller's code runs under it
	late       *TimeoutError   // what the call is told when its deadline has passed; nil: it has none
	told       bool            // it was told so
	classified bool            // and so bound, at least once
	started    bool            // the definition, and so the deadline, does not change any more
	over       bool            // it has its outcome
	lane       *exec.Lane      // nil: nobody to tell
	index      int             // of the call there
	timer      *time.Timer     // nil: not set
	limited    <-chan struct{} // closed when the context that limit returned last is done; nil: there was none
}

// arm has the lane cancel the call when its deadline passes. Its stages may be going on already.
func (j *Job) arm(l *exec.Lane, i int) {
	c := &j.clock
	b, err := j.lookUp()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lane, c.index = l, i
	if err == nil && !c.classified {
		c.change(b)
	}
	c.set(j)
}

// ring goes off at the deadline.
func (j *Job) ring() {
	c := &j.clock
	b, err := j.lookUp()
	c.mu.Lock()
	if err == nil && !c.started && c.change(b) {
		c.set(j) // it is late by the definition at its start, which another one is now
	}
	tell := c.passed() && !c.over
	c.told = c.told || tell
	lane, i, late, limited := c.lane, c.index, c.late, c.limited
	c.mu.Unlock()
	if !tell {
		return
	}
	if limited != nil {
		<-limited // by its own deadline, which is this one: not sometimes by that and sometimes by a cancel
	}
	lane.CancelCall(i, late)
}

// classified notes by which definition the call was classified, and its deadline by that.
func (j *Job) classified() {
	c := &j.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	c.classified = true
	if c.change(j.Binding) {
		c.set(j)
	}
	j.Deadline = time.Time{}
	if c.late != nil {
		j.Deadline = c.from.Add(c.late.After)
	}
}

// start ends the time in which the deadline may change, and says whether it has passed: nil if not.
func (c *clock) start() (late *TimeoutError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.started = true
	if c.passed() {
		return c.late
	}
	return nil
}

// is says whether a cause is that the deadline has passed: nil if not.
func (c *clock) is(cause error) (late *TimeoutError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if late, ok := cause.(*TimeoutError); ok && late == c.late {
		return late
	}
	return nil
}

// limit returns ctx, which is done at the latest when the deadline passes.
func (c *clock) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.late == nil {
		return ctx, func() {}
	}
	ctx, stop := context.WithDeadlineCause(ctx, c.from.Add(c.late.After), c.late)
	c.limited = ctx.Done()
	return ctx, stop
}

// stop says that the call has its outcome.
func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.timer != nil {
		c.timer.Stop()
	}
}

// lookUp is what the call's name means now. It is on no goroutine of the lane: Tools that panic are met there, when the
// call is classified.
func (j *Job) lookUp() (Binding, error) {
	return safely(func() (Binding, error) { return j.Tools.Bind(j.Call.Name), nil })
}

// The methods below are called with mu held.

// change takes the bound of the definition that the call has now, unless it is too late for that, and reports whether
// it is another one.
func (c *clock) change(b Binding) bool {
	var bound, had time.Duration
	if b.Definition != nil {
		bound = b.Definition.timeout
	}
	if c.late != nil {
		had = c.late.After
	}
	if bound == had || c.told {
		return false
	}
	c.late = nil
	if bound > 0 {
		c.late = &TimeoutError{bound}
	}
	return true
}

// set sets the timer for the deadline that there is.
func (c *clock) set(j *Job) {
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	if c.late != nil && c.lane != nil && !c.over {
		c.timer = time.AfterFunc(time.Until(c.from.Add(c.late.After)), j.ring)
	}
}

func (c *clock) passed() bool { return c.late != nil && time.Since(c.from) >= c.late.After }
