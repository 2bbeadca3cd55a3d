package harness

import (
	"context"
	"errors"
	"fmt"

	"github.com/keywave-go/keywave/tool"
)

// A turn is one that goes on.
type turn struct {
	*Agent
	ctx    context.Context
	cancel context.CancelCauseFunc

	// Under the agent's mu, for Cancel. Only the turn changes them.
	number int // 0: its start is not recorded
	step   int
	keep   bool // Cancel has kept the inbox

	failing  tool.Call // the last call, if it failed
	failures int       // how often in a row
}

// run runs the turn, to an end whatever happens.
func (t *turn) run() {
	end, err := TurnEnd{}, errors.New("a function of the host ended its goroutine (runtime.Goexit)")
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a function of the host panicked: %v", v)
		}
		t.end(end, err)
	}()
	end, err = t.steps()
}

// steps makes one step after the other, and says how the turn ends.
func (t *turn) steps() (TurnEnd, error) {
	if _, err := t.scheduler.Resume(t.ctx); err != nil { // what a turn that failed has left open
		return TurnEnd{}, err
	}
	if t.ctx.Err() != nil { // nothing of it has happened
		return TurnEnd{Reason: EndCancelled}, nil
	}
	if err := t.begin(); err != nil {
		return TurnEnd{}, err
	}
	for {
		if t.enter(Asking); t.stopped() {
			return TurnEnd{Reason: EndCancelled}, nil
		}
		m, err := t.ask()
		if err != nil && t.stopped() {
			return TurnEnd{Reason: EndCancelled}, nil
		}
		if err != nil {
			return TurnEnd{}, fmt.Errorf("the model: %w", err)
		}
		if _, err := t.append(m); err != nil {
			return TurnEnd{}, err
		}
		end, err := t.perform(m)
		if err != nil || end.Reason != "" {
			return end, err
		}
		if err := t.begin(); err != nil {
			return TurnEnd{}, err
		}
	}
}

// begin begins the next step, and the turn with its first: it delivers what waits for that.
func (t *turn) begin() error {
	state := t.scheduler.Session.State()
	number, step := t.number, t.step+1
	first := number == 0
	var payloads []Payload
	if first {
		number = state.Turn + 1
		payloads = append(payloads, TurnStart{Turn: number})
	} else {
		payloads = append(payloads, StepEnd{Turn: number, Step: t.step})
	}
	payloads = append(payloads, StepStart{Turn: number, Step: step})
	for _, p := range state.Parked {
		payloads = append(payloads, UserMessage{Turn: number, Step: step, Content: contents(p.Contexts), Sources: []uint64{p.Result}})
	}
	t.mu.Lock()
	now, later := t.inbox.take(first)
	t.mu.Unlock()
	for _, l := range append(now[:len(now):len(now)], later...) {
		payloads = append(payloads, UserMessage{Turn: number, Step: step, Content: l.content})
	}
	_, err := t.append(payloads...)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.inbox.putBack(now, later)
		return err
	}
	t.number, t.step = number, step
	return nil
}

// contents is what the model is told of contexts, and who says it.
func contents(contexts []tool.Context) (content []tool.Block) {
	for _, c := range contexts {
		if c.Source != "" {
			content = append(content, tool.Block{Text: "Context from " + c.Source + ":"})
		}
		content = append(content, c.Content...)
	}
	return content
}

// ask asks the model.
func (t *turn) ask() (AssistantMessage, error) {
	messages, err := t.scheduler.Session.Messages()
	if err != nil {
		return AssistantMessage{}, err
	}
	r := Request{Messages: messages, Tools: t.scheduler.tools().Definitions(), Stream: t.Stream}
	if r.Stream == nil {
		r.Stream = func(string) {}
	}
	m, err := t.model.Generate(t.ctx, r)
	m.Turn, m.Step = t.number, t.step
	return m, err
}

// perform runs the calls of a message. The turn goes on unless the end has a reason or there is an error.
func (t *turn) perform(m AssistantMessage) (end TurnEnd, err error) {
	if len(m.Calls) > 0 {
		t.enter(Calling)
	}
	results, err := t.scheduler.Run(t.ctx, m)
	if results == nil {
		return end, err
	}
	limit := ""
	for i, r := range results {
		if r.Concludes {
			end.Reason = EndConcluded
		}
		if n := t.fails(m.Calls[i], r); n > 0 && n == t.MaxFailures {
			limit = fmt.Sprintf("%s failed %d times in a row with the same arguments", m.Calls[i].Name, n)
		}
	}
	t.mu.Lock()
	steers := t.inbox.steers()
	t.mu.Unlock()
	switch {
	case t.stopped():
		return TurnEnd{Reason: EndCancelled}, nil
	case end.Reason != "":
		return end, nil
	case limit != "":
		return TurnEnd{Reason: EndLimit, Error: limit}, nil
	case len(results) == 0 && !steers:
		return TurnEnd{Reason: EndDone}, nil
	case t.step == t.MaxSteps:
		return TurnEnd{Reason: EndLimit, Error: fmt.Sprintf("the turn has had its %d steps", t.step)}, nil
	}
	return TurnEnd{}, nil
}

// fails counts how often a call has failed in a row, up to this result of it.
func (t *turn) fails(c tool.Call, r tool.Result) int {
	c.ID = ""
	switch {
	case !r.IsError:
		t.failures = 0
	case t.failures > 0 && t.failing == c:
		t.failures++
	default:
		t.failures, t.failing = 1, c
	}
	return t.failures
}

// stopped reports whether the turn was cancelled, and sees to it that the log says so.
func (t *turn) stopped() (is bool) {
	if t.ctx.Err() == nil {
		t.scheduler.Session.look(func(f *fold) { is = f.cancel != nil })
		return is
	}
	t.mu.Lock()
	c := Cancel{Turn: t.number, Step: t.step, Cause: causeText(context.Cause(t.ctx)), KeepInbox: t.keep}
	t.mu.Unlock()
	_ = t.scheduler.Session.cancelTurn(t.scheduler.Durability, c) // the end of the turn says it, too
	return true
}

// end ends the turn. If there is an error it has failed.
func (t *turn) end(end TurnEnd, err error) {
	if err != nil {
		end = TurnEnd{Reason: EndFailed, Error: causeText(err)}
	}
	end.Turn = t.number
	end, wrong := t.record(end)
	if wrong != nil {
		err = errors.Join(err, fmt.Errorf("the end of the turn could not be recorded: %w", wrong))
		end.Reason, end.Error = EndFailed, causeText(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Agent.turn = nil
	t.cancel(nil)
	if end.Reason == EndFailed {
		t.inbox.awake = false
	}
	t.status.Last, t.status.Err = end, err
	if t.status.Phase == Idle { // it did not come far, and there is something to tell
		t.status.Phase = Asking
	}
}

// record records the end of the turn. If a cancel comes first, that is how it ends.
func (t *turn) record(end TurnEnd) (TurnEnd, error) {
	if t.number == 0 {
		return end, nil
	}
	for {
		s := t.scheduler.Session.State()
		var payloads []Payload
		if s.InStep && len(s.Open) == 0 {
			payloads = append(payloads, StepEnd{Turn: t.number, Step: t.step})
		}
		switch {
		case end.Reason == EndFailed:
		case s.Cancel != nil:
			end = TurnEnd{Turn: t.number, Reason: EndCancelled, Error: s.Cancel.Cause}
		case end.Reason == EndCancelled: // which could not be recorded
			end.Error = causeText(context.Cause(t.ctx))
		}
		_, err := t.scheduler.Session.appendUnless(t.scheduler.Durability, func(f *fold) error {
			if f.cancel != s.Cancel {
				return errMoot
			}
			return nil
		}, append(payloads, end)...)
		if err != errMoot {
			return end, err
		}
	}
}

// enter says what the turn is at now.
func (t *turn) enter(p Phase) {
	t.change(func(s *Status) { s.Phase, s.Turn, s.Step = p, t.number, t.step })
}

func (t *turn) append(payloads ...Payload) (uint64, error) {
	return t.scheduler.Session.Append(t.scheduler.Durability, payloads...)
}
