package transcript

import "encoding/json"

// An openAICall is a call in a message of Chat Completions.
type openAICall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a string
	} `json:"function"`
	Custom struct {
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	} `json:"custom"`
}

// list takes a message of either kind of list. The lists have no names and no times, and that of OpenAI does not say
// whether a call failed.
func (d *dispatcher) list(e *envelope, line int) bool {
	from := agent{session: d.session}
	switch e.Role {
	case "assistant":
		d.open.end(from)
		b := Batch{Format: OpenAI, Session: d.session, Turn: d.next(), Line: line, Model: d.model, Dir: d.dir}
		for _, t := range e.ToolCallsList {
			c := Call{Line: line}
			c.ID, c.Name, c.Arguments = t.ID, t.Function.Name, text(t.Function.Arguments)
			if c.Name == "" && t.Custom.Name != "" {
				c.Name, c.Arguments = t.Custom.Name, value(t.Custom.Input)
			}
			d.open.add(d.open.batch(from, b), c)
		}
		for _, part := range e.Content {
			if part.Type == "tool_use" {
				b.Format = Anthropic
				c := Call{Line: line}
				c.ID, c.Name, c.Arguments = part.ID, part.Name, value(part.Input)
				d.open.add(d.open.batch(from, b), c)
			}
		}
	case "tool":
		d.open.answer(from, false, answer{id: e.ToolCallID, line: line, outcome: Succeeded})
	case "user":
		results := false
		for _, part := range e.Content {
			if part.Type == "tool_result" {
				results = true
				d.open.answer(from, false, answer{id: part.ToolUseID, line: line, outcome: claudeOutcome(part)})
			}
		}
		if !results {
			d.open.end(from)
		}
	case "system", "developer":
	default:
		return false
	}
	return true
}
