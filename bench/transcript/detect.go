package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// An envelope is the outside of a record of any format: what tells the formats apart, and what several have.
type envelope struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Timestamp stamp           `json:"timestamp"`
	Time      stamp           `json:"time"`
	Seq       *uint64         `json:"seq"`
	CWD       string          `json:"cwd"`
	SessionID string          `json:"sessionId"`
	Data      json.RawMessage `json:"data"`    // keywave, dsh, Copilot, Claude Code's progress
	Info      *info           `json:"info"`    // OpenCode
	Parts     []part          `json:"parts"`   // OpenCode
	Payload   *item           `json:"payload"` // Codex
	Message   *message        `json:"message"` // Claude Code, Pi

	// Claude Code
	UUID            string         `json:"uuid"`
	ParentUUID      maybe          `json:"parentUuid"`
	LeafUUID        string         `json:"leafUuid"`
	StreamSession   string         `json:"session_id"`
	AgentID         string         `json:"agentId"`
	Sidechain       bool           `json:"isSidechain"`
	ParentToolUseID string         `json:"parent_tool_use_id"`
	RequestID       string         `json:"requestId"`
	ToolUseResult   *toolUseResult `json:"toolUseResult"`

	// Gemini
	ProjectHash string       `json:"projectHash"`
	Model       string       `json:"model"`
	ToolCalls   []geminiCall `json:"toolCalls"`
	Set         maybe        `json:"$set"`
	Rewind      maybe        `json:"$rewindTo"`

	CreatedAt maybe `json:"createdAt"` // dsh

	// recorded batches
	Trace string          `json:"trace"`
	Calls json.RawMessage `json:"calls"`

	// message lists, and Codex's items without a payload
	Content       []block           `json:"content"`
	ToolCallsList []openAICall      `json:"tool_calls"`
	ToolCallID    string            `json:"tool_call_id"`
	Messages      []json.RawMessage `json:"messages"` // of a document that is a record as a whole
	item
}

// A maybe says whether a member is there, and has another value than null.
type maybe bool

func (m *maybe) UnmarshalJSON(raw []byte) error {
	*m = string(raw) != "null"
	return nil
}

// A stamp is a time, as a string or as a number of milliseconds, or of seconds; zero if it is anything else.
type stamp struct {
	time.Time
	text bool
}

func (s *stamp) UnmarshalJSON(raw []byte) error {
	*s = stamp{}
	if len(raw) > 2 && raw[0] == '"' {
		if t, err := time.Parse(time.RFC3339Nano, string(raw[1:len(raw)-1])); err == nil {
			*s = stamp{t.UTC(), true}
		}
		return nil
	}
	const seconds, most = 1e11, 1e14 // of seconds it would be the year 5138, of milliseconds as well
	n, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err != nil || n <= 0 || n > most:
	case n < seconds:
		s.Time = time.UnixMicro(int64(n * 1e6)).UTC()
	default:
		s.Time = time.UnixMicro(int64(n * 1e3)).UTC()
	}
	return nil
}

// A brief is the beginning of a value, as JSON: more of it is not kept.
type brief string

func (b *brief) UnmarshalJSON(raw []byte) error {
	*b = brief(raw[:min(len(raw), 400)])
	return nil
}

// A message is what Claude Code and Pi have inside their records, and what message lists consist of.
type message struct {
	ID      string  `json:"id"`
	Model   string  `json:"model"`
	Role    string  `json:"role"`
	Content []block `json:"content"` // a plain text is none

	ToolCallID string `json:"toolCallId"` // Pi
	ToolName   string `json:"toolName"`
	IsError    bool   `json:"isError"`
}

// A block is a part of a message.
type block struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Arguments json.RawMessage `json:"arguments"` // Pi: a value; dsh: a string

	ToolUseID  string `json:"tool_use_id"`
	Failed     bool   `json:"is_error"`
	ToolCallID string `json:"toolCallId"` // dsh
	IsError    bool   `json:"isError"`
	Content    brief  `json:"content"`
}

// types are those by which a record without any other mark of its format is known.
var types = map[string]Format{
	"message": Pi, "model_change": Pi, "thinking_level_change": Pi, "compaction": Pi, "branch_summary": Pi, "label": Pi,
	"custom": Pi, "custom_message": Pi, "session_info": Pi,
	"summary": ClaudeCode, "file-history-snapshot": ClaudeCode, "queue-operation": ClaudeCode, "custom-title": ClaudeCode,
	"ai-title": ClaudeCode, "agent-name": ClaudeCode, "last-prompt": ClaudeCode, "pr-link": ClaudeCode,
	"permission-mode": ClaudeCode, "mode": ClaudeCode,
	"function_call": Codex, "function_call_output": Codex, "custom_tool_call": Codex, "custom_tool_call_output": Codex,
	"local_shell_call": Codex, "reasoning": Codex, "web_search_call": Codex,
}

// format says what a record is of; "" if nothing in it tells.
func (e *envelope) format() Format {
	switch {
	case e.Info != nil:
		return OpenCode
	case e.Payload != nil && e.Type != "":
		return Codex
	case e.Trace != "" && len(e.Calls) > 0:
		return Recorded
	case e.ProjectHash != "" || bool(e.Set) || bool(e.Rewind):
		return Gemini
	case e.UUID != "" || e.LeafUUID != "" || bool(e.ParentUUID) || e.StreamSession != "" && e.Type != "":
		return ClaudeCode
	case len(e.Data) > 0 && (strings.Contains(e.Type, "/") || e.Type == "session"):
		if e.Seq != nil && e.Time.text {
			return Keywave
		}
		return DSH
	case len(e.Data) > 0 && (strings.Contains(e.Type, ".") || e.Type == "abort"):
		return Copilot
	case e.Type == "session" && bool(e.CreatedAt):
		return DSH
	case e.Type == "session":
		return Pi
	case e.Type == "message" && e.Role != "":
		for _, part := range e.Content {
			if part.Type == "tool_use" || part.Type == "tool_result" {
				return OpenAI
			}
		}
		return Codex
	case e.Type == "message" && e.Message == nil:
		return ""
	case types[e.Type] != "":
		return types[e.Type]
	case e.ID != "" && !e.Timestamp.IsZero() && geminiTypes[e.Type]:
		return Gemini
	case e.SessionID != "" && e.Type != "":
		return ClaudeCode
	case e.Role != "":
		return OpenAI
	}
	return ""
}

// isDocument reports whether a record is a document that was not read element by element: one of a list of them, or one
// on a line whose list is far behind its beginning.
func (e *envelope) isDocument() bool {
	return len(e.Messages) > 0 && e.Type == "" && e.Role == "" && e.UUID == "" && e.Timestamp.IsZero()
}

// A dispatcher gives records to the reader of their format.
type dispatcher struct {
	report  *Report
	open    pairing
	format  Format // of the last record; OpenAI stands for both kinds of message lists
	session string // the last that was named
	dir     string
	model   string
	turn    int                  // answers without a name
	asked   map[string]time.Time // Copilot: when a permission was asked for
}

// take uses a record. It returns why it is no JSON, or "".
func (d *dispatcher) take(r record) (bad string) {
	if r.list == listEnd {
		d.open.endAll(CallWithoutResult)
		d.session, d.dir, d.model = "", "", ""
		return ""
	}
	var e envelope
	if err := decode(r.raw, &e); err != nil {
		return err.Error()
	}
	d.report.Records++
	if r.list == header {
		d.open.endAll(CallWithoutResult)
		d.session, d.dir, d.model = first(e.SessionID, e.ID), e.CWD, e.Model
		if e.Info != nil {
			d.session, d.dir = e.Info.ID, e.Info.Directory
		}
		return ""
	}
	if r.list != inner && e.isDocument() {
		d.take(record{r.raw, r.line, header})
		for _, m := range e.Messages {
			d.take(record{m, r.line, inner})
		}
		return d.take(record{line: r.line, list: listEnd})
	}
	f := e.format()
	if f == Codex && d.format == OpenAI && e.Type == "message" {
		f = OpenAI // a message without calls is alike in both
	}
	switch {
	case f == "" && d.format == "":
		d.report.note(Unrecognised, r.line, typed(e.Type, r.raw))
		return ""
	case f == "":
		d.report.note(UnknownRecord, r.line, typed(e.Type, r.raw))
		return ""
	case d.format != "" && f != d.format:
		d.report.note(MixedFormats, r.line, fmt.Sprintf("%s after %s", f.family(), d.format.family()))
		d.open.endAll(CallWithoutResult)
		d.session, d.dir, d.model = "", "", ""
	}
	d.format = f
	known := true
	switch f {
	case Keywave:
		known = d.keywave(&e, r.line)
	case ClaudeCode:
		known = d.claude(&e, r.line)
	case Codex:
		known = d.codex(&e, r.line)
	case OpenCode:
		d.openCode(&e, r.line)
	case Copilot:
		known = d.copilot(&e, r.line)
	case Gemini:
		known = d.gemini(&e, r.line)
	case Pi:
		known = d.pi(&e, r.line)
	case DSH:
		known = d.dsh(&e, r.line)
	case Recorded:
		d.recorded(r.raw, r.line)
	default:
		known = d.list(&e, r.line)
	}
	if !known {
		d.report.note(UnknownRecord, r.line, typed(e.Type, r.raw))
	}
	return ""
}

// end closes what is open.
func (d *dispatcher) end() { d.open.endAll(StillOpen) }

// family is how mixed formats are called: the two kinds of message lists can be told apart by calls only.
func (f Format) family() string {
	if f == OpenAI {
		return "message list"
	}
	return string(f)
}

// typed says of which type an unknown record is.
func typed(t string, raw []byte) string {
	switch raw = bytes.TrimSpace(raw); {
	case t != "":
		return "type " + t
	case len(raw) == 0 || raw[0] != '{':
		return "not an object"
	}
	return "no type"
}

// next is the name of an answer that has none.
func (d *dispatcher) next() string {
	d.turn++
	return "#" + strconv.Itoa(d.turn)
}

// value returns JSON as text, on one line; "{}" if there is none.
func value(raw json.RawMessage) string {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return "{}"
	}
	if bytes.IndexByte(raw, '\n') >= 0 {
		var line bytes.Buffer
		_ = json.Compact(&line, raw) // it was decoded already
		raw = line.Bytes()
	}
	return string(raw)
}

// text returns what is in a JSON string, and any other JSON as it is: arguments that are encoded twice.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return first(strings.TrimSpace(s), "{}")
	}
	return value(raw)
}
