package transcript

import (
	"fmt"
	"strings"
)

// A dshData is what an event of the DeepSeek Harness says.
type dshData struct {
	ID      string  `json:"id"` // of a session
	CWD     string  `json:"cwd"`
	Turn    int     `json:"turn"`
	Step    int     `json:"step"`
	Message message `json:"message"`
	CallID  string  `json:"callId"`
	Error   struct {
		Code string `json:"code"`
	} `json:"error"`
}

func (d *dispatcher) dsh(e *envelope, line int) bool {
	var data dshData
	if len(e.Data) > 0 && decode(e.Data, &data) != nil {
		return false
	}
	from := agent{session: d.session}
	switch e.Type {
	case "session":
		d.open.endAll(CallWithoutResult)
		d.session, d.dir = first(e.ID, data.ID), first(e.CWD, data.CWD)
	case "assistant/message":
		d.open.end(from)
		b := Batch{
			Format: DSH, Session: d.session, Turn: fmt.Sprintf("%d.%d", data.Turn, data.Step), Line: line, Dir: d.dir,
		}
		for _, part := range data.Message.Content {
			if part.Type != "tool-call" {
				continue
			}
			c := Call{Line: line}
			c.ID, c.Name, c.Arguments = part.ID, part.Name, text(part.Arguments)
			d.open.add(d.open.batch(from, b), c)
		}
	case "tool/call":
		if c := d.open.call(data.CallID); c != nil {
			c.Start = e.Time.Time
		} else if data.CallID != "" {
			d.open.report.note(ResultWithoutCall, line, "a start")
		}
	case "tool/result":
		for _, part := range data.Message.Content {
			if part.Type == "tool-result" {
				a := answer{id: part.ToolCallID, line: line, at: e.Time.Time, outcome: dshOutcome(data.Error.Code, part.IsError)}
				d.open.answer(from, false, a)
			}
		}
	case "turn/end":
		d.open.end(from)
	default: // plugins add types of their own; only those of tools could hold calls
		return !strings.HasPrefix(e.Type, "tool/") || strings.HasPrefix(e.Type, "tool/code-dispatch")
	}
	return true
}

func dshOutcome(code string, failed bool) Outcome {
	switch {
	case code == "TOOL_NOT_STARTED", code == "TOOL_OUTCOME_UNKNOWN":
		return Cancelled
	case failed:
		return Failed
	}
	return Succeeded
}
