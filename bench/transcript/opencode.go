package transcript

import (
	"encoding/json"
	"strconv"
	"strings"
)

// An info is what OpenCode says of a session or of a message.
type info struct {
	ID        string `json:"id"`
	SessionID string `json:"sessionID"`
	Directory string `json:"directory"` // of a session
	Role      string `json:"role"`
	ModelID   string `json:"modelID"`
	Path      struct {
		CWD string `json:"cwd"`
	} `json:"path"`
}

// A part is one of a message's parts.
type part struct {
	Type   string `json:"type"`
	Tool   string `json:"tool"`
	CallID string `json:"callID"`
	State  struct {
		Status string          `json:"status"`
		Input  json.RawMessage `json:"input"`
		Error  brief           `json:"error"`
		Time   struct {
			Start stamp `json:"start"`
			End   stamp `json:"end"`
		} `json:"time"`
	} `json:"state"`
}

// openCode takes a message, which is whole: the calls of each step are a batch.
func (d *dispatcher) openCode(e *envelope, line int) {
	from := agent{session: first(e.Info.SessionID, d.session)}
	b := Batch{
		Format: OpenCode, Session: from.session, Turn: e.Info.ID, Line: line,
		Model: e.Info.ModelID, Dir: first(e.Info.Path.CWD, d.dir),
	}
	for i, p := range e.Parts {
		switch p.Type {
		case "step-start":
			d.open.end(from)
			b.Turn = e.Info.ID + "/" + strconv.Itoa(i)
		case "tool":
			s := &p.State
			c := Call{Line: line, Start: s.Time.Start.Time}
			c.ID, c.Name, c.Arguments = p.CallID, p.Tool, value(s.Input)
			o := d.open.batch(from, b)
			d.open.add(o, c)
			if outcome := openCodeOutcome(s.Status, string(s.Error)); outcome != Unanswered {
				d.open.settle(o, len(o.Calls)-1, answer{line: line, at: s.Time.End.Time, outcome: outcome})
			}
		}
	}
	d.open.end(from)
}

func openCodeOutcome(status, failure string) Outcome {
	switch {
	case status == "completed":
		return Succeeded
	case status != "error":
		return Unanswered
	case strings.Contains(failure, "rejected permission"), strings.Contains(failure, "specified a rule which prevents"):
		return Rejected
	case strings.Contains(failure, "Tool execution aborted"):
		return Cancelled
	}
	return Failed
}
