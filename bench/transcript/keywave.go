package transcript

import (
	"fmt"
	"strings"
	"time"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// A keywaveData is what an event of a session log says, without its texts.
type keywaveData struct {
	harness.Place
	Calls      []tool.Call `json:"calls"`
	NotStarted bool        `json:"notStarted"`
	Result     struct {
		Code    tool.Code `json:"code"`
		IsError bool      `json:"isError"`
	} `json:"result"`
}

func (d *dispatcher) keywave(e *envelope, line int) bool {
	var data keywaveData
	if decode(e.Data, &data) != nil {
		return false
	}
	from := agent{session: d.session}
	turn := fmt.Sprintf("%d.%d", data.Turn, data.Step)
	var c *Call
	o := d.open.at(from)
	if o != nil && o.Turn == turn && data.Index >= 0 && data.Index < len(o.Calls) {
		c = &o.Calls[data.Index]
	}
	switch e.Type {
	case harness.TypeSessionStart:
		d.open.endAll(CallWithoutResult)
	case harness.TypeAssistantMessage:
		d.open.end(from)
		b := Batch{Format: Keywave, Session: d.session, Turn: turn, Line: line}
		for _, called := range data.Calls {
			called.Arguments = first(strings.TrimSpace(called.Arguments), "{}")
			o := d.open.batch(from, b) // calls have places there: no id is missed
			o.Calls = append(o.Calls, Call{Call: called, Line: line})
		}
	case harness.TypeToolCall, harness.TypeApprovalAsk, harness.TypeApprovalAnswer, harness.TypeToolSettle,
		harness.TypeToolResult:
		if c == nil {
			d.report.note(ResultWithoutCall, line, e.Type)
			break
		}
		d.keywaveCall(o, data, e.Type, e.Time.Time, line)
	case harness.TypeStepEnd, harness.TypeTurnEnd:
		d.open.end(from)
	}
	return true // types that are not known are a host's own, and hold no calls
}

func (d *dispatcher) keywaveCall(o *open, data keywaveData, event string, at time.Time, line int) {
	c := &o.Calls[data.Index]
	outcome := keywaveOutcome(data.Result.Code, data.Result.IsError)
	switch event {
	case harness.TypeToolCall:
		if !data.NotStarted {
			c.Start = at
		}
	case harness.TypeApprovalAsk:
		o.asked = put(o.asked, data.Index, at)
	case harness.TypeApprovalAnswer:
		if asked, ok := o.asked[data.Index]; ok {
			c.Waited += max(0, at.Sub(asked))
			delete(o.asked, data.Index)
		}
	case harness.TypeToolSettle:
		d.open.settle(o, data.Index, answer{line: line, at: at, outcome: outcome})
	case harness.TypeToolResult:
		if c.Outcome == Unanswered { // it never ran, or was cut off
			d.open.settle(o, data.Index, answer{line: line, outcome: outcome})
		}
		c.Outcome = outcome // a cancel changes it after the fact
	}
}

func put(m map[int]time.Time, i int, at time.Time) map[int]time.Time {
	if m == nil {
		m = map[int]time.Time{}
	}
	m[i] = at
	return m
}

func keywaveOutcome(code tool.Code, failed bool) Outcome {
	switch code {
	case "":
		if failed {
			return Failed
		}
		return Succeeded
	case tool.Aborted, tool.AbortedBeforeDispatch, tool.TimeoutBeforeDispatch, tool.Interrupted:
		return Cancelled
	}
	if !code.MayHaveRun() {
		return Rejected
	}
	return Failed
}
