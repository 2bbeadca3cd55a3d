package transcript

import "encoding/json"

// A geminiCall is a call with its result, as the Gemini CLI keeps it.
type geminiCall struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args"`
	Status string          `json:"status"`
}

var geminiTypes = map[string]bool{"user": true, "gemini": true, "info": true, "error": true, "warning": true}

// gemini takes a message. As JSONL it comes again, with the same id, when more of it is known.
func (d *dispatcher) gemini(e *envelope, line int) bool {
	from := agent{session: d.session}
	switch {
	case e.ProjectHash != "":
		d.open.endAll(CallWithoutResult)
		d.session = e.SessionID
		return true
	case bool(e.Set) || bool(e.Rewind):
		return true
	case !geminiTypes[e.Type]:
		return false
	}
	if o := d.open.at(from); o != nil && o.Turn == e.ID && e.Type == "gemini" {
		o.Calls, o.byID, o.noID, o.answered = nil, nil, 0, 0 // as it is now
	} else {
		d.open.end(from)
	}
	for _, g := range e.ToolCalls {
		o := d.open.batch(from, Batch{Format: Gemini, Session: d.session, Turn: e.ID, Line: line, Model: e.Model, Dir: d.dir})
		c := Call{Line: line}
		c.ID, c.Name, c.Arguments = g.ID, g.Name, value(g.Args)
		d.open.add(o, c)
		switch g.Status {
		case "success":
			d.open.settle(o, len(o.Calls)-1, answer{line: line, outcome: Succeeded})
		case "error":
			d.open.settle(o, len(o.Calls)-1, answer{line: line, outcome: Failed})
		case "cancelled":
			d.open.settle(o, len(o.Calls)-1, answer{line: line, outcome: Cancelled})
		}
	}
	return true
}
