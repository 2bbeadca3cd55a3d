package harness_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// A life drives a session as schedulers and agents do, at random: calls start and settle in any order, commit in the
// model's, wait for approvals, are cancelled, are left open by failures.
type life struct {
	t    *rapid.T
	s    *harness.Session
	turn int
	step int
	in   bool // a turn
	at   []one
	next int // to commit
	off  bool
}

// A one is a call of the step that is going on.
type one struct {
	call                             tool.Call
	started, asked, refused, settled bool
	result                           tool.Result
}

// put appends. A disk that fails is no failure of the test.
func (l *life) put(ps ...harness.Payload) (ok bool) {
	d := rapid.SampledFrom([]harness.Durability{harness.SyncNone, harness.SyncNone, harness.SyncBatch, harness.SyncAlways})
	_, err := l.s.Append(d.Draw(l.t, "durability"), ps...)
	if !errors.Is(err, errDisk) {
		require.NoError(l.t, err)
	}
	return err == nil
}

var errDisk = errors.New("the disk is broken")

func (l *life) place(i int) harness.Place { return harness.Place{Turn: l.turn, Step: l.step, Index: i} }

// draw is a choice.
func (l *life) draw(n int, what string) int { return rapid.IntRange(0, n-1).Draw(l.t, what) }

// live takes some steps through a session's life.
func (l *life) live(moves int) {
	for range moves {
		l.move()
	}
}

func (l *life) move() {
	switch l.draw(12, "move") {
	case 0:
		l.put(harness.Opaque{Type: "acme/note", Data: json.RawMessage(`{"b": 1.0,  "a":[1e400,"\u003c<"]}`)})
		return
	case 1:
		if parked := l.s.State().Parked; len(parked) > 0 {
			l.put(harness.UserMessage{Turn: l.turn, Step: l.step, Content: tool.Text("contexts").Content, Sources: []uint64{parked[0].Result}})
			return
		}
	case 2:
		if l.in && !l.off {
			c := harness.Cancel{Turn: l.turn, Cause: "somebody said stop"}
			if len(l.at) > 0 && l.draw(2, "some") == 0 {
				c.Step, c.Calls = l.step, []int{l.draw(len(l.at), "call")}
			} else {
				l.off = true
			}
			l.put(c)
			return
		}
	case 3:
		if l.in && l.draw(4, "fail") == 0 {
			if !l.put(harness.TurnEnd{Turn: l.turn, Reason: harness.EndFailed, Error: "the scheduler failed"}) {
				return
			}
			l.in, l.at = false, nil
			for err := errDisk; err != nil; {
				_, err = l.s.Resume(nil)
				require.True(l.t, err == nil || errors.Is(err, errDisk), "%v", err)
			}
			return
		}
	}
	switch {
	case !l.in:
		l.turn, l.step, l.in, l.off = l.turn+1, 0, true, false
		l.put(harness.TurnStart{Turn: l.turn}, harness.UserMessage{Turn: l.turn, Content: tool.Text(fmt.Sprint("question ", l.turn)).Content})
	case len(l.at) == 0 && (l.off || l.step > 0 && l.draw(3, "end") == 0):
		l.put(harness.TurnEnd{Turn: l.turn, Reason: harness.EndDone})
		l.in = false
	case len(l.at) == 0:
		l.begin()
	case l.next == len(l.at):
		l.put(harness.StepEnd{Turn: l.turn, Step: l.step})
		l.at = nil
	default:
		l.call()
	}
}

func (l *life) begin() {
	l.step++
	m := harness.AssistantMessage{Turn: l.turn, Step: l.step, Content: tool.Text("let me see").Content}
	for i := range l.draw(5, "calls") {
		id := rapid.SampledFrom([]string{"", "x", "call_1_1_0", fmt.Sprint("c", i)}).Draw(l.t, "id")
		m.Calls = append(m.Calls, tool.Call{ID: id, Name: "tool", Arguments: fmt.Sprintf(`{"n":%d}`, i)})
	}
	begin := []harness.Payload{harness.StepStart{Turn: l.turn, Step: l.step}, m}
	if len(m.Calls) == 0 {
		begin = append(begin, harness.StepEnd{Turn: l.turn, Step: l.step})
	}
	l.put(begin...)
	l.next, l.at = 0, make([]one, len(m.Calls))
	for i, c := range m.Calls {
		l.at[i].call = c
	}
}

// call takes one call of the step a stage further.
func (l *life) call() {
	i := l.draw(len(l.at), "call")
	c, p := &l.at[i], l.place(i)
	switch {
	case !c.started && l.off && i == l.next:
		r := tool.Result{Code: tool.AbortedBeforeDispatch, IsError: true, Content: tool.Text("not run").Content}
		pair := started(p, c.call)
		pair.NotStarted = true
		l.put(pair, committed(p, c.call, r))
		l.next++
	case !c.started && !l.off:
		c.started = true
		start := []harness.Payload{started(p, c.call)}
		if c.asked = l.draw(4, "ask") == 0; c.asked {
			start = append(start, harness.ApprovalAsk{Place: p, Reason: "may it?"})
		}
		l.put(start...)
	case c.asked:
		c.asked = false
		c.refused = l.draw(2, "answer") == 0
		l.put(harness.ApprovalAnswer{Place: p, Allowed: !c.refused})
		c.result = tool.Result{Code: tool.ApprovalRejected, IsError: true, Content: tool.Text("no").Content}
	case c.started && !c.settled && !c.refused:
		c.settled = true
		c.result = tool.Text(fmt.Sprintf("result %d of step %d", i, l.step))
		c.result.IsError = l.draw(3, "error") == 0
		if l.draw(3, "contexts") == 0 {
			c.result.Contexts = []tool.Context{{Source: "tool", Content: tool.Text(fmt.Sprint("context of ", i)).Content}}
		}
		l.put(harness.ToolSettle{Place: p, Result: c.result})
	case i == l.next && c.started:
		l.put(committed(p, c.call, c.result))
		l.next++
	}
}

// want says what the results of open calls are to become, as DESIGN has it, by looking at every event for each call.
// The order is that of the log, and in a step the model's.
func want(t require.TestingT, events []harness.Event) (codes []tool.Code) {
	payloads := payloads(t, events)
	for _, p := range payloads {
		m, ok := p.(harness.AssistantMessage)
		if !ok {
			continue
		}
		for i := range m.Calls {
			if code, open := become(payloads, harness.Place{Turn: m.Turn, Step: m.Step, Index: i}); open {
				codes = append(codes, code)
			}
		}
	}
	return codes
}

func become(payloads []harness.Payload, at harness.Place) (code tool.Code, open bool) {
	var outcome *tool.Result
	started, barred, cancelled := false, false, false
	for _, p := range payloads {
		switch p := p.(type) {
		case harness.ToolCall:
			started = started || p.Place == at && !p.NotStarted
		case harness.ApprovalAsk:
			barred = barred || p.Place == at
		case harness.ApprovalAnswer:
			if p.Place == at {
				barred = !p.Allowed
			}
		case harness.ToolSettle:
			if p.Place == at {
				outcome = &p.Result
			}
		case harness.ToolResult:
			if p.Place == at {
				return "", false
			}
		case harness.Cancel:
			of := len(p.Calls) == 0 || p.Step == at.Step && slices.Contains(p.Calls, at.Index)
			cancelled = cancelled || p.Turn == at.Turn && of
		}
	}
	switch {
	case outcome != nil && cancelled && !outcome.IsError:
		return tool.Aborted, true
	case outcome != nil:
		return outcome.Code, true
	case started && !barred:
		return tool.Interrupted, true
	}
	return tool.AbortedBeforeDispatch, true
}
