package harness

import (
	"iter"
	"slices"
	"time"

	"github.com/keywave-go/keywave/tool"
)

// A TurnLog is all that a log says of one turn: a tree of steps and calls, and the times of each.
type TurnLog struct {
	Turn    int           // 0: what was said after the last turn
	Started time.Time     // zero: the log does not say
	Ended   time.Time     // zero: it has not
	Reason  EndReason     // of its end
	Error   string        // of its end
	Said    []UserMessage // outside of the steps, since the end of the turn before
	Steps   []StepLog
	Cancels []Cancel
	Other   []Event // of types that are not this package's
}

// A StepLog is one step of a [TurnLog].
type StepLog struct {
	Step     int
	Started  time.Time         // zero: the log does not say
	Answered time.Time         // of Message, which the model took until then for
	Ended    time.Time         // zero: it has not
	Said     []UserMessage     // in the step
	Message  *AssistantMessage // nil: there is none
	Calls    []CallLog         // those of Message
}

// A CallLog is one call of a [StepLog]. Its body ran, and waited for its turn to run, from Started to Settled; from
// then to Committed its result waited for those of earlier calls.
type CallLog struct {
	Call       tool.Call
	Seq        uint64       // of its tool/call; 0: there is none
	NotStarted bool         // its tool/call says so
	Started    time.Time    // of its tool/call
	Asked      time.Time    // that it was asked for an approval; zero: it was not
	Answered   time.Time    // that somebody answered
	Allowed    bool         // what the answer was
	Tree       CallTree     // of the calls that it made itself
	Settled    time.Time    // zero: it has not, or was refused before it ran
	Outcome    *tool.Result // it settled with; nil: it has not settled
	Committed  time.Time    // zero: it has no result
	Result     *tool.Result // the model sees; nil: it has none
}

// Turns reads events and yields each turn when it is over: at the next turn/start, as what a resume closes comes behind
// the end of its turn, or at the end of the events. It takes memory for one turn. An error, such as a [*TornError] at
// the end, comes with no turn, after the one that it interrupts, and is the last.
//
// A turn that is yielded is the caller's. What belongs to no call of the turn is passed over.
func Turns(events iter.Seq2[Event, error]) iter.Seq2[*TurnLog, error] {
	return func(yield func(*TurnLog, error) bool) {
		var turn *TurnLog     // nil: none has begun
		ahead := new(TurnLog) // what was said since it ended
		n := 0
		for e, err := range events {
			var p Payload
			if err == nil {
				n++
				if p, err = e.Payload(); err != nil {
					err = odd(n, err)
				}
			}
			if err != nil {
				if turn == nil || yield(turn, nil) {
					yield(nil, err)
				}
				return
			}
			if start, ok := p.(TurnStart); ok {
				if turn != nil && !yield(turn, nil) {
					return
				}
				turn, ahead = ahead, new(TurnLog)
				turn.Turn, turn.Started = start.Turn, e.Time
				continue
			}
			to := turn
			if to == nil || !to.Ended.IsZero() && !ofCall(e.Type) {
				to = ahead
			}
			to.add(e, p)
		}
		if turn != nil && !yield(turn, nil) {
			return
		}
		if len(ahead.Said)+len(ahead.Other) > 0 {
			yield(ahead, nil)
		}
	}
}

func ofCall(kind string) bool {
	switch kind {
	case TypeToolCall, TypeApprovalAsk, TypeApprovalAnswer, TypeCodeDispatchStart, TypeCodeDispatch, TypeToolSettle, TypeToolResult:
		return true
	}
	return false
}

func (t *TurnLog) add(e Event, p Payload) {
	switch p := p.(type) {
	case Opaque:
		t.Other = append(t.Other, e)
	case StepStart:
		t.Steps = append(t.Steps, StepLog{Step: p.Step, Started: e.Time})
	case StepEnd:
		if s := t.step(p.Step); s != nil {
			s.Ended = e.Time
		}
	case TurnEnd:
		t.Ended, t.Reason, t.Error = e.Time, p.Reason, p.Error
	case Cancel:
		t.Cancels = append(t.Cancels, p)
	case UserMessage:
		if n := len(t.Steps); n > 0 && t.Steps[n-1].Ended.IsZero() {
			t.Steps[n-1].Said = append(t.Steps[n-1].Said, p)
		} else {
			t.Said = append(t.Said, p)
		}
	case AssistantMessage:
		s := t.step(p.Step)
		if s == nil {
			t.Steps = append(t.Steps, StepLog{Step: p.Step})
			s = &t.Steps[len(t.Steps)-1]
		}
		if s.Message == nil {
			s.Message, s.Answered = &p, e.Time
			s.Calls = make([]CallLog, len(p.Calls))
			for i, c := range p.Calls {
				s.Calls[i].Call, s.Calls[i].Tree.ID = c, c.ID
			}
		}
	default:
		t.call(e, p)
	}
}

// call takes an event of one call.
func (t *TurnLog) call(e Event, p Payload) {
	switch p := p.(type) {
	case ToolCall:
		if c := t.at(p.Place); c != nil && c.Seq == 0 {
			c.Seq, c.NotStarted, c.Started = e.Seq, p.NotStarted, e.Time
		}
	case ApprovalAsk:
		if c := t.at(p.Place); c != nil {
			c.Asked = e.Time
		}
	case ApprovalAnswer:
		if c := t.at(p.Place); c != nil {
			c.Answered, c.Allowed = e.Time, p.Allowed
		}
	case CodeDispatchStart:
		if c := t.at(p.Place); c != nil {
			c.Tree.Start(e.Time, p)
		}
	case CodeDispatch:
		if c := t.at(p.Place); c != nil {
			c.Tree.Settle(e.Time, p)
		}
	case ToolSettle:
		if c := t.at(p.Place); c != nil && c.Outcome == nil {
			c.Settled, c.Outcome = e.Time, &p.Result
		}
	case ToolResult:
		if c := t.at(p.Place); c != nil && c.Result == nil {
			c.Committed, c.Result = e.Time, &p.Result
		}
	}
}

func (t *TurnLog) step(number int) *StepLog {
	for i := range slices.Backward(t.Steps) {
		if t.Steps[i].Step == number {
			return &t.Steps[i]
		}
	}
	return nil
}

func (t *TurnLog) at(p Place) *CallLog {
	s := t.step(p.Step)
	if s == nil || p.Turn != t.Turn || p.Index < 0 || p.Index >= len(s.Calls) {
		return nil
	}
	return &s.Calls[p.Index]
}
