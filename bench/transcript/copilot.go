package transcript

import (
	"encoding/json"
	"strings"
	"time"
)

// A copilotData is what an event of the Copilot CLI says.
type copilotData struct {
	SessionID string `json:"sessionId"`
	Context   struct {
		CWD string `json:"cwd"`
	} `json:"context"`
	MessageID        string `json:"messageId"`
	TurnID           string `json:"turnId"`
	Model            string `json:"model"`
	ParentToolCallID string `json:"parentToolCallId"` // the call that started the sub-agent
	ToolRequests     []struct {
		ToolCallID string          `json:"toolCallId"`
		Name       string          `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
	} `json:"toolRequests"`

	ToolCallID string          `json:"toolCallId"`
	ToolName   string          `json:"toolName"`
	Arguments  json.RawMessage `json:"arguments"`
	Success    bool            `json:"success"`
	Error      brief           `json:"error"`

	RequestID         string `json:"requestId"`
	PermissionRequest struct {
		ToolCallID string `json:"toolCallId"`
	} `json:"permissionRequest"`
}

// maxAsked is how many permissions may be waited for.
const maxAsked = 1024

func (d *dispatcher) copilot(e *envelope, line int) bool {
	var data copilotData
	if decode(e.Data, &data) != nil {
		return false
	}
	at := e.Timestamp.Time
	from := agent{d.session, data.ParentToolCallID}
	switch e.Type {
	case "session.start", "session.resume":
		d.open.endAll(CallWithoutResult)
		d.session, d.dir = first(data.SessionID, d.session), first(data.Context.CWD, d.dir)
		d.asked = nil
	case "assistant.message":
		d.open.end(from)
		b := d.copilotBatch(&data, first(data.MessageID, d.next()), line)
		for _, r := range data.ToolRequests {
			c := Call{Line: line}
			c.ID, c.Name, c.Arguments = r.ToolCallID, r.Name, text(r.Arguments)
			d.open.add(d.open.batch(from, b), c)
		}
	case "tool.execution_start":
		if c := d.open.call(data.ToolCallID); c != nil {
			c.Start = at
			if c.Arguments == "{}" {
				c.Arguments = text(data.Arguments)
			}
			break
		}
		c := Call{Line: line, Start: at} // of an answer that is not in the log
		c.ID, c.Name, c.Arguments = data.ToolCallID, data.ToolName, text(data.Arguments)
		d.open.add(d.open.batch(from, d.copilotBatch(&data, "turn "+data.TurnID, line)), c)
	case "permission.requested":
		if id := first(data.RequestID, data.PermissionRequest.ToolCallID); len(d.asked) < maxAsked && !at.IsZero() {
			if d.asked == nil {
				d.asked = map[string]time.Time{}
			}
			d.asked[id] = at
		}
	case "permission.completed":
		id := first(data.RequestID, data.ToolCallID)
		asked, ok := d.asked[id]
		delete(d.asked, id)
		if c := d.open.call(data.ToolCallID); ok && c != nil && !c.Start.IsZero() {
			if asked.Before(c.Start) {
				asked = c.Start
			}
			c.Waited += max(0, at.Sub(asked))
		}
	case "tool.execution_complete":
		a := answer{id: data.ToolCallID, line: line, at: at, outcome: Succeeded}
		if !data.Success {
			a.outcome = copilotFailure(string(data.Error))
		}
		if c := d.open.call(data.ToolCallID); c != nil {
			a.background = copilotBackground(c.Arguments)
		}
		d.open.answer(from, true, a)
	default:
		kind, _, _ := strings.Cut(e.Type, ".")
		return copilotKinds[kind]
	}
	return true
}

// copilotKinds are what events begin with that hold no calls of the model's.
var copilotKinds = map[string]bool{
	"session": true, "assistant": true, "user": true, "tool": true, "permission": true, "system": true, "hook": true,
	"subagent": true, "skill": true, "abort": true, "external_tool": true, "user_input": true, "elicitation": true,
	"command": true, "model": true, "mcp": true, "pending_messages": true,
}

func (d *dispatcher) copilotBatch(data *copilotData, turn string, line int) Batch {
	return Batch{
		Format: Copilot, Session: d.session, Agent: data.ParentToolCallID, Turn: turn, Line: line,
		Model: data.Model, Dir: d.dir,
	}
}

// copilotBackground reports whether a shell was asked to go on behind its result.
func copilotBackground(arguments string) bool {
	if len(arguments) > maxShell {
		return false
	}
	var shell struct {
		Mode   string `json:"mode"`
		Detach bool   `json:"detach"`
	}
	return json.Unmarshal([]byte(arguments), &shell) == nil && (shell.Mode == "async" || shell.Detach)
}

// maxShell is how long the arguments of a shell may be in which a mode is looked for.
const maxShell = 1 << 20

func copilotFailure(failure string) Outcome {
	switch {
	case strings.Contains(failure, `"rejected"`), strings.Contains(failure, `"denied"`):
		return Rejected
	case strings.Contains(failure, `"aborted"`), strings.Contains(failure, `"cancelled"`):
		return Cancelled
	}
	return Failed
}
