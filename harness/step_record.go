package harness

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/tool"
)

// A running step is in its lane.
type running struct {
	*Scheduler
	ctx    context.Context // of the step: its end is the cancel of the turn
	turn   int
	number int
	lane   *exec.Lane
	left   int         // calls without a result; of the lane
	heeded atomic.Bool // the cancel is recorded
}

// A stepCall is a call in its lane, and in the log.
type stepCall struct {
	*tool.Job
	step     *running
	place    Place
	recorded bool    // it has a tool/call
	late     *Cancel // was recorded before its start; nil: none was
	dispatches
}

// submit hands the calls to the lane.
func (r *running) submit(calls []tool.Call) []stepCall {
	r.left = len(calls)
	out := make([]stepCall, len(calls))
	staged := make([]exec.Job, len(calls))
	for i, j := range r.pipeline().NewJobs(r.tools(), calls...) {
		c := &out[i]
		c.Job, c.step, c.place = j, r, Place{r.turn, r.number, i}
		j.Record, staged[i] = c.record, c
	}
	over := false
	defer func() {
		if r.lane.Close(); !over { // Tools have called runtime.Goexit
			r.lane.Cancel(errors.New("the calls could not be submitted"))
			_ = r.lane.Wait()
		}
	}()
	_, _ = tool.Submit(r.lane, staged...) // the lane is open, and takes calls also when it is cancelled
	over = true
	return out
}

// watch records the cancel as soon as there is one. It returns what ends that.
func (r *running) watch() (stop func()) {
	over := make(chan struct{})
	unwatch := context.AfterFunc(r.ctx, func() {
		defer close(over)
		_ = r.heed() // if it fails, whoever records the next event finds out
	})
	return func() {
		if !unwatch() {
			<-over
		}
	}
}

// heed records that the step was cancelled, if it was and that is not recorded.
func (r *running) heed() error {
	if r.ctx.Err() == nil || r.heeded.Load() {
		return nil
	}
	err := r.Session.cancelTurn(r.Durability, Cancel{Turn: r.turn, Step: r.number, Cause: causeText(context.Cause(r.ctx))})
	if err == nil {
		r.heeded.Store(true)
	}
	return err
}

// cancelTurn records the cancel of a turn, if the turn is going on and has none.
func (s *Session) cancelTurn(d Durability, c Cancel) error {
	_, err := s.appendUnless(d, func(f *fold) error {
		if !f.inTurn || f.turn != c.Turn || f.cancel != nil {
			return errMoot
		}
		return nil
	}, c)
	if err == errMoot {
		return nil
	}
	return err
}

// causeText is what an error says, unless it panics, for which no turn is to be lost.
func causeText(err error) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprintf("a %T, which panicked", err)
		}
	}()
	return err.Error()
}

// errMoot is why something was not appended that there is no reason to append any more.
var errMoot = errors.New("it is moot")

// Prepare does not start a call that a cancel has reached: whichever of the two is recorded first, counts.
func (c *stepCall) Prepare(ctx context.Context) (dispatch bool, err error) {
	dispatch, err = c.Job.Prepare(ctx)
	if c.late != nil {
		return false, nil
	}
	return dispatch, err
}

// Commit makes the result final and records it. A cancel that has reached the call by now is applied first.
func (c *stepCall) Commit(ctx context.Context) error {
	if c.late != nil {
		return c.Job.Skip(ctx, errors.New(c.late.Cause))
	}
	if err := c.step.heed(); err != nil {
		return err
	}
	c.abort()
	return c.Job.Commit(ctx)
}

// abort applies the cancel that has reached the call, if one has, and returns it.
func (c *stepCall) abort() (by *Cancel) {
	c.step.Session.look(func(f *fold) { by = f.cancelOf(c.place) })
	if by != nil {
		c.Abort(errors.New(by.Cause))
	}
	return by
}

// record records what happens to the call.
func (c *stepCall) record(ctx context.Context, e tool.Event) error {
	if err := c.step.heed(); err != nil {
		return err
	}
	s, d := c.step.Session, c.step.Durability
	var err error
	if e.Parent != nil {
		return c.dispatched(c.place, e, func(p Payload) (uint64, error) { return s.Append(d, p) })
	}
	switch e.Stage {
	case tool.Started:
		_, err = s.appendUnless(d, func(f *fold) error {
			if c.late = f.cancelOf(c.place); c.late != nil {
				return errMoot
			}
			return nil
		}, c.started(false))
		c.recorded = err == nil
	case tool.Asked:
		_, err = s.Append(d, ApprovalAsk{Place: c.place, Reason: e.Reason})
	case tool.Answered:
		_, err = s.Append(d, ApprovalAnswer{Place: c.place, Allowed: e.Result.Code == "", Code: e.Result.Code})
	case tool.Settled:
		_, err = s.Append(d, ToolSettle{Place: c.place, Result: e.Result})
	case tool.Committed:
		err = c.conclude()
	}
	return err
}

func (c *stepCall) started(not bool) ToolCall {
	return ToolCall{Place: c.place, ID: c.Call.ID, Name: c.Call.Name, Arguments: c.Call.Arguments, NotStarted: not}
}

// conclude records the result. It looks once more for a cancel: whichever of the two is recorded first, the log says
// so.
func (c *stepCall) conclude() error {
	for {
		by := c.abort()
		moved := func(f *fold) error {
			if f.cancelOf(c.place) != by {
				return errMoot
			}
			return nil
		}
		r := ToolResult{Place: c.place, ID: c.Call.ID, Name: c.Call.Name, Result: c.Result}
		var err error
		if c.recorded {
			_, err = c.step.Session.appendUnless(c.step.Durability, moved, r)
		} else {
			_, err = c.step.Session.appendUnless(c.step.Durability, moved, c.started(true), r)
		}
		if err == nil {
			c.step.left--
		}
		if err != errMoot {
			return err
		}
	}
}
