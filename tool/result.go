package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Code says how a call ended when its result is not the tool's own. The zero Code is the tool's own result, ok or
// error.
//
// This package gives UnknownTool, InvalidArgs, AbortedBeforeDispatch, Aborted, Abandoned, Panic and InvalidToolOutput.
// The others are those of the stages around it, which are named with them, so that a log and a model meet one set of
// codes whoever gave them.
type Code string

// Refused before the body started; nothing has happened.
const (
	UnknownTool           Code = "UNKNOWN_TOOL"            // no tool of that name is registered
	InvalidArgs           Code = "INVALID_ARGS"            // the arguments are not JSON, or not what the tool takes
	Denied                Code = "DENIED"                  // a host's policy or guard said no, or its claims were refused: see exec.In
	ApprovalRejected      Code = "APPROVAL_REJECTED"       // a host's approval: whoever was asked said no
	ApprovalTimeout       Code = "APPROVAL_TIMEOUT"        // a host's approval: nobody answered in time
	ApprovalCancelled     Code = "APPROVAL_CANCELLED"      // a host's approval: cancelled before there was an answer
	ApprovalUnavailable   Code = "APPROVAL_UNAVAILABLE"    // a host's approval: there is nobody to ask
	TimeoutBeforeDispatch Code = "TIMEOUT_BEFORE_DISPATCH" // the call's deadline, from its submission, passed while it waited
	AbortedBeforeDispatch Code = "ABORTED_BEFORE_DISPATCH" // cancelled, or skipped, before the body started
)

// Ended otherwise than by the tool's own result; the effect may have happened.
const (
	Aborted           Code = "ABORTED"             // cancelled while it ran; it came to rest, and what it returned is kept
	Timeout           Code = "TIMEOUT"             // the call's deadline passed while it ran; it came to rest
	Abandoned         Code = "ABANDONED"           // it did not come to rest within the drain bound
	Interrupted       Code = "INTERRUPTED"         // the process ended while it ran; whoever resumes the session writes it
	Panic             Code = "PANIC"               // the body panicked, or ended its goroutine
	InvalidToolOutput Code = "INVALID_TOOL_OUTPUT" // the body returned what cannot be encoded
	CodeRunFailed     Code = "CODE_RUN_FAILED"     // code mode: the program that the call ran ended wrongly
)

// MayHaveRun reports whether the effect of a call that ended with c may have happened. Of the zero Code, the tool's own
// result says it. Of a code that is not among those above it is true: only an explicit no makes it safe to repeat a
// call.
func (c Code) MayHaveRun() bool {
	switch c {
	case UnknownTool, InvalidArgs, Denied,
		ApprovalRejected, ApprovalTimeout, ApprovalCancelled, ApprovalUnavailable,
		TimeoutBeforeDispatch, AbortedBeforeDispatch:
		return false
	}
	return true
}

// A Result is the outcome of one call.
type Result struct {
	Code    Code            `json:"code,omitempty"`    // of the pipeline alone: what a body puts here is dropped
	IsError bool            `json:"isError,omitempty"` // true with every Code
	Content []Block         `json:"content"`           // for the model
	Value   json.RawMessage `json:"value,omitempty"`   // the same for a program: what the body returned, as JSON
}

// A Block is a piece of content: a text, or JSON when that is not empty.
type Block struct {
	Text string          `json:"text,omitempty"`
	JSON json.RawMessage `json:"json,omitempty"`
}

// Text returns the result of a body that has a text for the model and nothing else.
func Text(text string) Result {
	return Result{Content: []Block{{Text: text}}}
}

// Text returns the content as one text: its blocks, a line break between them.
func (r Result) Text() string {
	var b strings.Builder
	for i, block := range r.Content {
		if i > 0 {
			b.WriteByte('\n')
		}
		if len(block.JSON) > 0 {
			b.Write(block.JSON)
		} else {
			b.WriteString(block.Text)
		}
	}
	return b.String()
}

// coded is a result that is not the tool's own.
func coded(c Code, format string, args ...any) Result {
	return Result{Code: c, IsError: true, Content: []Block{{Text: fmt.Sprintf(format, args...)}}}
}

// failed is the tool's own result when that is an error.
func failed(err error) Result {
	r := Text(strings.ToValidUTF8(err.Error(), "\uFFFD"))
	r.IsError = true
	return r
}

// An outputError is what is wrong with what a body returned.
type outputError struct{ err error }

func (e *outputError) Error() string { return e.err.Error() }

// resultOf makes a result of what a body returned.
func resultOf(out any) (Result, error) {
	switch out := out.(type) {
	case Result:
		return checked(out)
	case string:
		r := Text(strings.ToValidUTF8(out, "\uFFFD"))
		value, err := encode(out)
		r.Value = value
		return r, err
	}
	value, err := encode(out)
	if err != nil {
		return Result{}, err
	}
	return Result{Content: []Block{{JSON: value}}, Value: value}, nil
}

// checked is a result as a body made it, if it can be passed on.
func checked(r Result) (Result, error) {
	r.Code = ""
	if len(r.Value) > 0 && !validJSON(r.Value) {
		return Result{}, &outputError{errors.New("the value of its result is not JSON")}
	}
	content := make([]Block, len(r.Content))
	for i, block := range r.Content {
		if len(block.JSON) > 0 && !validJSON(block.JSON) {
			return Result{}, &outputError{fmt.Errorf("block %d of its result is not JSON", i+1)}
		}
		content[i] = Block{Text: strings.ToValidUTF8(block.Text, "\uFFFD"), JSON: block.JSON}
	}
	r.Content = content
	return r, nil
}

// encode is json.Marshal for readers that are models, not browsers: <, > and & stay as they are.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, &outputError{err}
	}
	if !utf8.Valid(b.Bytes()) { // of a MarshalJSON
		return nil, &outputError{errors.New("it is not UTF-8")}
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// validJSON is json.Valid, but for the bytes in a string that are no UTF-8, which that lets pass.
func validJSON(data []byte) bool { return utf8.Valid(data) && json.Valid(data) }
