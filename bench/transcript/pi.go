package transcript

func (d *dispatcher) pi(e *envelope, line int) bool {
	from := agent{session: d.session}
	switch {
	case e.Type == "session":
		d.open.endAll(CallWithoutResult)
		d.session, d.dir = e.ID, e.CWD
		return true
	case e.Type != "message" || e.Message == nil:
		return types[e.Type] == Pi
	}
	switch m := e.Message; m.Role {
	case "assistant":
		d.open.end(from)
		b := Batch{
			Format: Pi, Session: d.session, Turn: first(e.ID, d.next()), Line: line, Model: m.Model, Dir: d.dir,
		}
		for _, part := range m.Content {
			if part.Type != "toolCall" {
				continue
			}
			c := Call{Line: line, Start: e.Timestamp.Time}
			c.ID, c.Name, c.Arguments = part.ID, part.Name, value(part.Arguments)
			d.open.add(d.open.batch(from, b), c)
		}
	case "toolResult":
		a := answer{id: m.ToolCallID, name: m.ToolName, line: line, at: e.Timestamp.Time, outcome: Succeeded}
		if m.IsError {
			a.outcome = Failed
		}
		d.open.answer(from, false, a)
	case "user":
		d.open.end(from)
	}
	return true
}
