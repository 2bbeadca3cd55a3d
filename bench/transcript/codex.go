package transcript

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// An item is what is in a record of a rollout. Old rollouts, and lists of Responses items, have it as the record
// itself.
type item struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	CallID    string          `json:"call_id"`
	Arguments json.RawMessage `json:"arguments"` // of a function: a string
	Input     json.RawMessage `json:"input"`     // of a custom tool: a string, free text
	Action    json.RawMessage `json:"action"`    // of local_shell
	Output    brief           `json:"output"`
	CWD       string          `json:"cwd"`
	Model     string          `json:"model"`
	Status    string          `json:"status"`
	ExitCode  *int            `json:"exit_code"`
	Duration  span            `json:"duration"`
}

// A span is a duration, of seconds and nanoseconds.
type span struct {
	Secs  int64 `json:"secs"`
	Nanos int64 `json:"nanos"`
}

func (s span) duration() time.Duration {
	if s.Secs < 0 || s.Secs > 1e8 || s.Nanos < 0 || s.Nanos >= 1e9 {
		return 0
	}
	return time.Duration(s.Secs)*time.Second + time.Duration(s.Nanos)
}

func (d *dispatcher) codex(e *envelope, line int) bool {
	it := e.Payload
	if it == nil {
		it = &e.item
		it.Type, it.Role = e.Type, e.Role
		return d.codexItem(it, e.Timestamp.Time, line)
	}
	at := e.Timestamp.Time
	switch e.Type {
	case "session_meta":
		d.open.endAll(CallWithoutResult)
		d.session, d.dir = it.ID, it.CWD
		return true
	case "turn_context":
		d.open.end(agent{session: d.session})
		d.model, d.dir = first(it.Model, d.model), first(it.CWD, d.dir)
		return true
	case "response_item":
		return d.codexItem(it, at, line)
	case "event_msg":
		d.codexEvent(it, at)
		return true
	case "compacted", "session_state", "world_state", "inter_agent_communication_metadata":
		return true
	}
	return false
}

// codexEvent takes what Codex tells its user interface. Only the ends of calls and turns are of use.
func (d *dispatcher) codexEvent(it *item, at time.Time) {
	switch it.Type {
	case "task_started", "turn_started", "turn_aborted", "task_complete", "turn_complete":
		d.open.end(agent{session: d.session})
	case "exec_command_end", "patch_apply_end", "mcp_tool_call_end":
		if c := d.open.call(it.CallID); c != nil {
			c.Reported = believed(it.Duration.duration())
			if !at.Before(c.Start) {
				c.End = at // its output is recorded when those before it are
			}
		}
	}
}

func (d *dispatcher) codexItem(it *item, at time.Time, line int) bool {
	from := agent{session: d.session}
	arguments := ""
	switch it.Type {
	case "function_call":
		arguments = text(it.Arguments)
	case "custom_tool_call":
		arguments = value(it.Input)
	case "local_shell_call":
		it.Name, arguments = first(it.Name, "local_shell"), value(it.Action)
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output", "mcp_tool_call_output":
		a := answer{id: it.CallID, line: line, at: at, outcome: codexOutcome(it.Output), reported: wallTime(it.Output)}
		d.open.answer(from, false, a)
		return true
	case "message":
		if it.Role == "user" {
			d.open.end(from)
		}
		return true
	case "reasoning", "web_search_call", "ghost_snapshot", "compaction", "compaction_summary", "image_generation_call",
		"tool_search_call", "tool_search_output", "other", "agent_message":
		return true
	default:
		return false
	}
	// An answer's calls all come before the model can see the last of their results: with all answered, it is the next.
	o := d.open.at(from)
	turn := d.next()
	if o != nil && o.answered < len(o.Calls) {
		turn = o.Turn
	}
	o = d.open.batch(from, Batch{Format: Codex, Session: d.session, Turn: turn, Line: line, Model: d.model, Dir: d.dir})
	c := Call{Line: line, Start: at}
	c.ID, c.Name, c.Arguments = first(it.CallID, it.ID), it.Name, arguments
	d.open.add(o, c)
	return true
}

var (
	exitCode = regexp.MustCompile(`(?:Process exited with code |Exit code: |exit_code\\?":\s*)(-?\d+)`)
	wall     = regexp.MustCompile(`(?:Wall time: |duration_seconds\\?":\s*)(\d+(?:\.\d+)?)`)
)

// codexOutcome reads what the head of an output says.
func codexOutcome(output brief) Outcome {
	text := string(output)
	switch m := exitCode.FindStringSubmatch(text); {
	case strings.Contains(text, "rejected by user"), strings.Contains(text, "denied by policy"):
		return Rejected
	case strings.HasPrefix(text, `"aborted`), strings.Contains(text, "aborted by user"):
		return Cancelled
	case m != nil && m[1] != "0":
		return Failed
	case strings.Contains(text, `"success":false`):
		return Failed
	}
	return Succeeded
}

// wallTime is the duration that the head of an output says. A command that goes on has one of its first look only.
func wallTime(output brief) time.Duration {
	m := wall.FindStringSubmatch(string(output))
	if m == nil {
		return 0
	}
	seconds, err := strconv.ParseFloat(m[1], 64)
	if err != nil || seconds > 1e8 {
		return 0
	}
	return believed(time.Duration(seconds * float64(time.Second)))
}

// believed leaves out what is too short for a command that was really waited for: it is the time to start one that goes
// on, or a figure that was rounded down.
func believed(d time.Duration) time.Duration {
	if d < time.Millisecond {
		return 0
	}
	return d
}
