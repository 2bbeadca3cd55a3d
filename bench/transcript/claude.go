package transcript

import (
	"strings"
	"time"
)

// A toolUseResult is what Claude Code keeps of a result beside what the model sees.
type toolUseResult struct {
	DurationMs      float64 `json:"durationMs"`
	TotalDurationMs float64 `json:"totalDurationMs"` // of a sub-agent
	DurationSeconds float64 `json:"durationSeconds"` // of a web search
	Interrupted     bool    `json:"interrupted"`
	BackgroundTask  string  `json:"backgroundTaskId"` // it goes on: asked to, too slow, or sent there by a person
}

// A progress is a record of a sub-agent within that of the call that started it.
type progress struct {
	Type    string `json:"type"`
	AgentID string `json:"agentId"`
	Message struct {
		Type          string         `json:"type"`
		UUID          string         `json:"uuid"`
		Timestamp     stamp          `json:"timestamp"`
		RequestID     string         `json:"requestId"`
		Message       *message       `json:"message"`
		ToolUseResult *toolUseResult `json:"toolUseResult"`
	} `json:"message"`
}

// maxReported is more milliseconds than any call takes: three years.
const maxReported = 1e11

var claudeTypes = map[string]bool{
	"system": true, "attachment": true, "result": true, "stream_event": true, "rate_limit_event": true, "user": true,
	"assistant": true, "control_request": true, "control_response": true, "tool_progress": true,
}

// sidechain is a sub-agent without a name. There may be several at once, so each of their answers is by itself.
const sidechain = "sidechain"

func (d *dispatcher) claude(e *envelope, line int) bool {
	from := agent{first(e.SessionID, e.StreamSession), first(e.AgentID, e.ParentToolUseID)}
	if from.agent == "" && e.Sidechain {
		from.agent = sidechain
	}
	if e.CWD != "" {
		d.dir = e.CWD
	}
	var p progress
	switch e.Type {
	case "assistant", "user":
		d.claudeMessage(e, from, line)
		return true
	case "progress":
		if len(e.Data) == 0 || decode(e.Data, &p) != nil || p.Type != "agent_progress" {
			return true // of a hook or a command: it holds no calls
		}
		m := &p.Message
		if m.Timestamp.IsZero() {
			m.Timestamp = e.Timestamp
		}
		from.agent = first(p.AgentID, sidechain)
		inner := envelope{
			Type: m.Type, UUID: m.UUID, Timestamp: m.Timestamp, RequestID: m.RequestID, Message: m.Message,
			ToolUseResult: m.ToolUseResult,
		}
		d.claudeMessage(&inner, from, line)
		return true
	}
	return claudeTypes[e.Type] || types[e.Type] == ClaudeCode
}

// claudeMessage takes one line of a message: an answer comes in as many lines as it has blocks, with results between.
func (d *dispatcher) claudeMessage(e *envelope, from agent, line int) {
	if e.Message == nil {
		return
	}
	if e.Type != "assistant" {
		d.claudeResults(e, from, line)
		return
	}
	o := d.open.at(from)
	turn := first(e.Message.ID, e.RequestID)
	if turn == "" {
		if turn = d.next(); o != nil && o.answered == 0 {
			turn = o.Turn
		}
	}
	name := from.agent
	if name == sidechain {
		from.agent += " " + turn
	} else if o != nil && o.Turn != turn {
		d.open.end(from)
	}
	used := false
	for _, b := range e.Message.Content {
		if b.Type != "tool_use" {
			continue
		}
		o := d.open.batch(from, Batch{
			Format: ClaudeCode, Session: from.session, Agent: name, Turn: turn, Line: line,
			Model: e.Message.Model, Dir: d.dir,
		})
		if !used && !d.open.once(o, e.UUID, line) {
			return
		}
		used = true
		c := Call{Line: line, Start: e.Timestamp.Time}
		c.ID, c.Name, c.Arguments = b.ID, b.Name, value(b.Input)
		d.open.add(o, c)
	}
}

func (d *dispatcher) claudeResults(e *envelope, from agent, line int) {
	results := 0
	for _, b := range e.Message.Content {
		results += b2i(b.Type == "tool_result")
	}
	for _, b := range e.Message.Content {
		if b.Type != "tool_result" {
			continue
		}
		a := answer{id: b.ToolUseID, line: line, at: e.Timestamp.Time, outcome: claudeOutcome(b)}
		if r := e.ToolUseResult; r != nil && results == 1 {
			if ms := max(r.DurationMs, r.TotalDurationMs, r.DurationSeconds*1000); ms < maxReported {
				a.reported = time.Duration(ms * float64(time.Millisecond))
			}
			if r.Interrupted {
				a.outcome = Cancelled
			}
			a.background = r.BackgroundTask != ""
		}
		d.open.answer(from, true, a)
	}
}

func claudeOutcome(b block) Outcome {
	text := string(b.Content)
	switch {
	case !b.Failed:
		return Succeeded
	case strings.Contains(text, "Sibling tool call errored"), strings.Contains(text, "Cancelled: parallel tool call"),
		strings.Contains(text, "[Request interrupted by user"):
		return Cancelled
	case strings.Contains(text, "doesn't want to proceed with this tool use"),
		strings.Contains(text, "doesn't want to take this action"),
		strings.HasPrefix(text, `"Permission to use `):
		return Rejected
	}
	return Failed
}
