package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// An Event is one record of a session's log.
type Event struct {
	Seq  uint64          `json:"seq"`  // counts from 1, in the order of the log
	Time time.Time       `json:"time"` // UTC; never before that of an earlier event
	Type string          `json:"type"` // of those below, or one of a host's own
	Data json.RawMessage `json:"data"` // one line of JSON, as it stands in the log
}

// A Payload is what an [Event] of one type says: one of this package's types, [Opaque], or a type of a host's own.
// It must encode as JSON. The names of event types that this package does not define are free, and such events are kept
// and handed on as they are; a host does well to put a name of its own in front ("acme/budget").
type Payload interface {
	EventType() string
}

// The types of events. Their payloads are [SessionStart], [TurnStart] and so on.
const (
	TypeSessionStart      = "session/start"
	TypeTurnStart         = "turn/start"
	TypeStepStart         = "step/start"
	TypeUserMessage       = "user/message"
	TypeAssistantMessage  = "assistant/message"
	TypeToolCall          = "tool/call"
	TypeApprovalAsk       = "approval/ask"
	TypeApprovalAnswer    = "approval/answer"
	TypeCodeDispatchStart = "tool/code-dispatch-start"
	TypeCodeDispatch      = "tool/code-dispatch"
	TypeToolSettle        = "tool/settle"
	TypeToolResult        = "tool/result"
	TypeCancel            = "turn/cancel"
	TypeStepEnd           = "step/end"
	TypeTurnEnd           = "turn/end"
)

// An Opaque is a payload as it is: of a type that this package does not know, or one that is to be copied.
type Opaque struct {
	Type string
	Data json.RawMessage
}

// EventType returns the type.
func (o Opaque) EventType() string { return o.Type }

// Payload decodes the event into the type that this package has for it, or into an [Opaque] if it has none. Members
// that the type does not have are passed over. Data that is not what the type says is an error, which names the event.
func (e Event) Payload() (Payload, error) {
	switch e.Type {
	case TypeSessionStart:
		return decode[SessionStart](e)
	case TypeTurnStart:
		return decode[TurnStart](e)
	case TypeStepStart:
		return decode[StepStart](e)
	case TypeUserMessage:
		return decode[UserMessage](e)
	case TypeAssistantMessage:
		return decode[AssistantMessage](e)
	case TypeToolCall:
		return decode[ToolCall](e)
	case TypeApprovalAsk:
		return decode[ApprovalAsk](e)
	case TypeApprovalAnswer:
		return decode[ApprovalAnswer](e)
	case TypeCodeDispatchStart:
		return decode[CodeDispatchStart](e)
	case TypeCodeDispatch:
		return decode[CodeDispatch](e)
	case TypeToolSettle:
		return decode[ToolSettle](e)
	case TypeToolResult:
		return decode[ToolResult](e)
	case TypeCancel:
		return decode[Cancel](e)
	case TypeStepEnd:
		return decode[StepEnd](e)
	case TypeTurnEnd:
		return decode[TurnEnd](e)
	}
	return Opaque{Type: e.Type, Data: e.Data}, nil
}

func decode[P Payload](e Event) (p P, err error) {
	err = read(e, &p)
	return p, err
}

// read decodes the data of an event.
func read(e Event, to any) error {
	err := json.Unmarshal(e.Data, to)
	switch {
	case err == nil:
		return nil
	case e.Seq == 0: // it is still to come into a log
		return fmt.Errorf("its data is no %s: %w", e.Type, err)
	}
	return fmt.Errorf("event %d: its data is no %s: %w", e.Seq, e.Type, err)
}

// ErrPayload is the error that [Session.Append] wraps when a payload cannot be recorded: it does not encode as JSON, or
// has no type.
var ErrPayload = errors.New("payload cannot be recorded")

// event encodes a payload. Its seq and time are still to come.
func event(p Payload) (e Event, err error) {
	if p == nil {
		return Event{}, fmt.Errorf("%w: it is nil", ErrPayload)
	}
	defer func() { // of a nil pointer, say, or a MarshalJSON
		if v := recover(); v != nil {
			e, err = Event{}, fmt.Errorf("%w: %T panicked: %v", ErrPayload, p, v)
		}
	}()
	e = Event{Type: p.EventType()}
	fail := func(problem error) (Event, error) {
		return Event{}, fmt.Errorf("%w: %q: %w", ErrPayload, e.Type, problem)
	}
	if e.Type == "" || !utf8.ValidString(e.Type) {
		return fail(errors.New("its type is empty, or not UTF-8"))
	}
	if o, ok := p.(Opaque); ok {
		if !json.Valid(o.Data) || !utf8.Valid(o.Data) {
			return fail(errors.New("its data is not JSON"))
		}
		e.Data = bytes.Clone(bytes.TrimSpace(o.Data)) // the caller's stays the caller's
		if bytes.ContainsAny(e.Data, "\r\n") {        // a record is a line
			var line bytes.Buffer
			_ = json.Compact(&line, o.Data)
			e.Data = line.Bytes()
		}
		return e, fits(p, e)
	}
	enc := encoders.Get().(*encoder)
	enc.data.Reset()
	err = enc.Encode(p)
	e.Data = bytes.Clone(bytes.TrimSuffix(enc.data.Bytes(), []byte("\n")))
	if enc.data.Cap() <= 64<<10 {
		encoders.Put(enc)
	}
	if err != nil {
		return fail(err)
	}
	if !utf8.Valid(e.Data) { // of a MarshalJSON
		return fail(errors.New("its data is not UTF-8"))
	}
	return e, fits(p, e)
}

// An encoder encodes for readers that are people and models, not browsers: <, > and & stay as they are.
type encoder struct {
	*json.Encoder
	data bytes.Buffer
}

var encoders = sync.Pool{New: func() any {
	enc := new(encoder)
	enc.Encoder = json.NewEncoder(&enc.data)
	enc.SetEscapeHTML(false)
	return enc
}}

// maxDepth is how deep encoding/json reads objects and arrays within each other.
const maxDepth = 10_000

// fits says whether an event can be read again: the record around its data is a level of its own, and JSON within JSON
// is encoded without a look at what is around it. And one of this package's types that was made of a type of somebody
// else's has to read as such.
func fits(p Payload, e Event) error {
	if opened := bytes.Count(e.Data, []byte("{")) + bytes.Count(e.Data, []byte("[")); opened >= maxDepth {
		if !json.Valid(slices.Concat([]byte("["), e.Data, []byte("]"))) {
			return fmt.Errorf("%w: %q: its data is nested deeper than %d", ErrPayload, e.Type, maxDepth-1)
		}
	}
	switch p.(type) {
	case SessionStart, TurnStart, StepStart, UserMessage, AssistantMessage, ToolCall, ApprovalAsk, ApprovalAnswer,
		CodeDispatchStart, CodeDispatch, ToolSettle, ToolResult, Cancel, StepEnd, TurnEnd:
		return nil
	}
	if _, err := e.Payload(); err != nil {
		return fmt.Errorf("%w: %w", ErrPayload, err)
	}
	return nil
}

// String returns the event as it is written, without the end of the line.
func (e Event) String() string { return strings.TrimSuffix(string(appendRecord(nil, e)), "\n") }
