package harness

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/keywave-go/keywave/tool"
)

// Repair returns what has to be appended to a log so that nothing in it is open: that each call has one result, in the
// model's order, and that step and turn have ended. It is pure, runs nothing and never repeats a call. Of a state in which
// nothing is open it returns nothing, and of the state after a part of what it returned, the rest.
//
// A call that settled gets what it settled with. If a cancel reaches it, a success becomes [tool.Aborted], with what the
// call returned below the notice; an error of the tool's own stays. A call that was started and did not settle becomes
// [tool.Interrupted]: its effect may have happened. One that was not started, or waited for an approval, or was refused
// it, becomes [tool.AbortedBeforeDispatch]. The contexts of results are kept.
//
// Finalize, unless nil, is given each of these results, and returns it in its final form: what a pipeline does at the
// commit (post-policy, finalizer, budgets) has not been done to them. The contexts that it returns are parked, so it
// must hand on those that it was given.
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

var errInterrupted = errors.New("the session was interrupted")

// outcome is the result of a call that nobody works on any more.
func (c OpenCall) outcome() tool.Result {
	started := c.Seq > 0 && !c.NotStarted && !c.Unapproved
	switch {
	case c.Outcome != nil && c.Cancel != nil && !c.Outcome.IsError:
		return aborted(c.Call, errors.New(c.Cancel.Cause), *c.Outcome)
	case c.Outcome != nil:
		return *c.Outcome
	case started:
		return tool.Result{Code: tool.Interrupted, IsError: true, Content: []tool.Block{{Text: fmt.Sprintf(
			"%s was interrupted: the session ended while it ran, before its outcome was recorded. %s", named(c.Call.Name), mayHave)}}}
	case c.Cancel != nil:
		return notRun(c.Call, errors.New(c.Cancel.Cause))
	}
	return notRun(c.Call, errInterrupted)
}

const mayHave = "Its effect may have happened, wholly or in part. Check what has happened before you try again."

// aborted is the result of a call that settled and was cancelled before its commit.
func aborted(c tool.Call, cause error, own tool.Result) tool.Result {
	r := own
	r.Code, r.IsError = tool.Aborted, true
	notice := fmt.Sprintf("%s was cancelled while it ran (%v). %s", named(c.Name), cause, mayHave)
	if len(own.Content) > 0 {
		notice += " What it returned:"
	}
	r.Content = append([]tool.Block{{Text: notice}}, own.Content...)
	return r
}

// named is the name of a tool in a sentence: as it is, or quoted if it is not just a word.
func named(name string) string {
	if plain(name) && name != "" && len(name) <= 100 && !strings.Contains(name, " ") {
		return name
	}
	if len(name) > 100 {
		name = name[:100] + "..."
	}
	return strconv.Quote(name)
}

// notRun is the result of a call that never started, in the words that it has in a lane.
func notRun(c tool.Call, cause error) tool.Result {
	j := tool.NewJob(nil, c)
	_ = j.Skip(context.Background(), cause)
	return j.Result
}
