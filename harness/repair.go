package harness

import (
	"context"
	"errors"

	"github.com/keywave-go/keywave/tool"
)

// Repair returns what has to be appended to a log so that nothing in it is open: that each call has one result, in the
// model's order, and that step and turn have ended. It is pure, runs nothing and never repeats a call. Of a state in
// which nothing is open it returns nothing, and of the state after a part of what it returned, the rest.
//
// A call that settled gets what it settled with. If a cancel reaches it, a success becomes [tool.Aborted], with what
// the call returned below the notice; an error of the tool's own stays. A call that was started and did not settle
// becomes [tool.Interrupted]: its effect may have happened. One that was not started, or waited for an approval, or was
// refused it, becomes [tool.AbortedBeforeDispatch]. The contexts of results are kept.
//
// Finalize, unless nil, is given each of these results and returns it in its final form: what a [tool.Pipeline] does at
// a commit has not been done to it. The contexts that it returns are the ones that are parked. A host with a pipeline
// does
//
//	j := pipeline.NewJob(tools, c.Call)
//	j.Index, j.Result = c.Index, r
//	err := j.Commit(ctx) // runs nothing of the call
//	return j.Result
func Repair(s State, finalize func(OpenCall, tool.Result) tool.Result) []Payload {
	var repairs []Payload
	add := func(p Payload) (seq uint64) {
		repairs = append(repairs, p)
		return s.Seq + uint64(len(repairs))
	}
	for _, c := range s.Open {
		seq := c.Seq
		if seq == 0 {
			seq = add(ToolCall{Place: c.Place, ID: c.Call.ID, Name: c.Call.Name, Arguments: c.Call.Arguments, NotStarted: true})
		}
		r := c.outcome()
		if finalize != nil {
			r = finalize(c, r)
		}
		add(ToolResult{Place: c.Place, Sources: []uint64{seq}, ID: c.Call.ID, Name: c.Call.Name, Result: r})
	}
	if s.InStep {
		add(StepEnd{Turn: s.Turn, Step: s.Step})
	}
	if s.InTurn && s.Cancel != nil {
		add(TurnEnd{Turn: s.Turn, Reason: EndCancelled, Error: s.Cancel.Cause})
	} else if s.InTurn {
		add(TurnEnd{Turn: s.Turn, Reason: EndInterrupted})
	}
	return repairs
}

// outcome is the result of a call that nobody works on any more, in the words that it has in a lane.
func (c OpenCall) outcome() tool.Result {
	j := tool.NewJob(nil, c.Call)
	cause := errInterrupted
	if c.Cancel != nil {
		cause = errors.New(c.Cancel.Cause)
	}
	switch {
	case c.Outcome != nil:
		if j.Result = *c.Outcome; c.Cancel != nil {
			j.Abort(cause)
		}
	case c.Seq > 0 && !c.NotStarted && !c.Unapproved:
		j.Interrupt()
	default:
		_ = j.Skip(context.Background(), cause) // it fails if observers do, and there are none
	}
	return j.Result
}

var errInterrupted = errors.New("the session was interrupted")
