package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Code says how a call ended when its result is not the tool's own. The zero Code is the tool's own result, ok or
// error.
//
// Interrupted and CodeRunFailed come from others than this package, which names them so that a log and a model meet one
// set of codes whoever gave them.
type Code string

// Refused before the body started; nothing has happened.
const (
	UnknownTool           Code = "UNKNOWN_TOOL"            // no tool of that name is registered
	InvalidArgs           Code = "INVALID_ARGS"            // the arguments are not JSON, or not what the tool takes
	Denied                Code = "DENIED"                  // a policy or guard said no, or its claims were refused: see exec.In
	ApprovalRejected      Code = "APPROVAL_REJECTED"       // whoever was asked said no
	ApprovalTimeout       Code = "APPROVAL_TIMEOUT"        // nobody answered in time
	ApprovalCancelled     Code = "APPROVAL_CANCELLED"      // cancelled before there was an answer
	ApprovalUnavailable   Code = "APPROVAL_UNAVAILABLE"    // there is nobody to ask
	TimeoutBeforeDispatch Code = "TIMEOUT_BEFORE_DISPATCH" // the call's deadline, from its submission, passed while it waited
	AbortedBeforeDispatch Code = "ABORTED_BEFORE_DISPATCH" // cancelled, or skipped, before the body started
)

// Ended otherwise than by the tool's own result; the effect may have happened.
const (
	Aborted           Code = "ABORTED"             // cancelled while it ran; it came to rest, and what it returned is kept
	Timeout           Code = "TIMEOUT"             // the call's deadline passed while it ran; it came to rest
	Abandoned         Code = "ABANDONED"           // it did not come to rest within the drain bound
	Interrupted       Code = "INTERRUPTED"         // the process ended while it ran; whoever resumes the session writes it
	Panic             Code = "PANIC"               // the body, or what is around it, panicked or ended its goroutine
	InvalidToolOutput Code = "INVALID_TOOL_OUTPUT" // the body returned what cannot be encoded, or not what it declares
	Blocked           Code = "BLOCKED"             // a reviewer withheld the result, or failed
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

// A Result is the outcome of one call. Encoded as JSON and decoded again it is the same, byte for byte.
//
// A body that returns a Result sets IsError, ErrorName, Content, Value, Meta and Contexts; the rest is the pipeline's,
// unless the tool RunsPrograms: see [Spec].
type Result struct {
	Code      Code            `json:"code,omitempty"`      // of the pipeline: what a body puts here is dropped
	IsError   bool            `json:"isError,omitempty"`   // true with every Code
	ErrorName string          `json:"errorName,omitempty"` // of an error that the body returned: its type, such as fs.PathError; not for models
	Content   []Block         `json:"content"`             // for the model
	Value     json.RawMessage `json:"value,omitempty"`     // the same for a program: what the body returned, as JSON
	Meta      json.RawMessage `json:"meta,omitempty"`      // the tool's own, for whoever shows calls to people: not for models
	Contexts  []Context       `json:"contexts,omitempty"`  // what else the model is to be told, with its next request
	Concludes bool            `json:"concludes,omitempty"` // a committed success of a tool that ends the turn: see Spec
}

// A Block is a piece of content: an image if there is one, else JSON if that is not empty, else a text.
type Block struct {
	Text  string          `json:"text,omitempty"`
	JSON  json.RawMessage `json:"json,omitempty"`
	Image *Image          `json:"image,omitempty"`
}

// An Image is a picture for the model.
type Image struct {
	MediaType string `json:"mediaType"` // such as image/png
	Data      []byte `json:"data"`      // base64 in JSON
}

// A Context is something that the model is to be told beside a result: a file that changed, a rule for the directory
// that was read. A host parks it, and sends it with the next request.
type Context struct {
	Source  string  `json:"source,omitempty"` // who says it; if a tool leaves it empty, the tool's name
	Content []Block `json:"content"`
}

// Text returns the result of a body that has a text for the model and nothing else.
func Text(text string) Result {
	return Result{Content: []Block{{Text: text}}}
}

// Text returns the content as one text: its blocks, a line break between them, and of an image what it is.
func (r Result) Text() string {
	if len(r.Content) == 1 {
		return r.Content[0].text()
	}
	var b strings.Builder
	for i, block := range r.Content {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(block.text())
	}
	return b.String()
}

func (b Block) text() string {
	switch {
	case b.Image != nil:
		return fmt.Sprintf("[%s, %d bytes]", b.Image.MediaType, len(b.Image.Data))
	case len(b.JSON) > 0:
		return string(b.JSON)
	}
	return b.Text
}

// UnmarshalJSON decodes a result, and undoes what [json.Marshal] does to JSON within JSON.
func (r *Result) UnmarshalJSON(data []byte) error {
	type plain Result
	if err := json.Unmarshal(data, (*plain)(r)); err != nil {
		return err
	}
	r.Value, r.Meta = unescaped(r.Value), unescaped(r.Meta)
	return nil
}

// UnmarshalJSON decodes a block, and undoes what [json.Marshal] does to JSON within JSON.
func (b *Block) UnmarshalJSON(data []byte) error {
	type plain Block
	if err := json.Unmarshal(data, (*plain)(b)); err != nil {
		return err
	}
	b.JSON = unescaped(b.JSON)
	return nil
}

// An outputError says what is wrong with what a body returned.
type outputError struct{ problems []string }

func (e *outputError) Error() string { return strings.Join(e.problems, "; ") }

func badOutput(format string, args ...any) error {
	return &outputError{[]string{fmt.Sprintf(format, args...)}}
}

// resultOf makes a result, in the form in which it is passed on, of what the body of the tool called name returned.
func resultOf(name string, out any) (Result, error) {
	switch out := out.(type) {
	case Result:
		return out.tidy(name)
	case string:
		r := Text(strings.ToValidUTF8(out, "\uFFFD"))
		var err error
		r.Value, err = encodeText(out)
		return r, err
	}
	value, err := valueOf(out)
	if err != nil {
		return Result{}, err
	}
	return Result{Content: []Block{{JSON: value}}, Value: value}, nil
}

// valueOf is what a body returned as JSON.
func valueOf(out any) (json.RawMessage, error) {
	value, err := encode(out)
	if err != nil {
		return nil, err
	}
	return oneJSON(value, "/value") // a MarshalJSON can return anything that is well-formed
}

// tidy brings a result that somebody else made, such as a body or a wrapper, into the form in which it is passed on, or
// says why it cannot be. name is the tool's.
func (r Result) tidy(name string) (Result, error) {
	if r.Code != CodeRunFailed {
		r.Code = ""
	}
	var err error
	if r.Value, err = tidyJSON(r.Value, "/value"); err != nil {
		return Result{}, err
	}
	if r.Meta, err = tidyJSON(r.Meta, "/meta"); err != nil {
		return Result{}, err
	}
	if r.Content, err = tidyBlocks(r.Content, "/content"); err != nil {
		return Result{}, err
	}
	r.Contexts, err = tidyContexts(r.Contexts, name)
	return r, err
}

// tidyContexts is tidy for contexts, which are name's unless they say otherwise.
func tidyContexts(contexts []Context, name string) ([]Context, error) {
	var out []Context
	for i, c := range contexts {
		content, err := tidyBlocks(c.Content, fmt.Sprintf("/contexts/%d/content", i))
		if err != nil {
			return nil, err
		}
		if c.Source == "" {
			c.Source = name
		}
		out = append(out, Context{strings.ToValidUTF8(c.Source, "\uFFFD"), content})
	}
	return out, nil
}

// tidyBlocks returns a copy: the next stage may not change what a tool keeps.
func tidyBlocks(blocks []Block, at string) ([]Block, error) {
	out := make([]Block, len(blocks))
	for i, b := range blocks {
		switch {
		case b.Image != nil:
			if b.Image.MediaType == "" || !utf8.ValidString(b.Image.MediaType) {
				return nil, badOutput("%s/%d/image: it has no media type", at, i)
			}
			out[i].Image = &Image{b.Image.MediaType, bytes.Clone(b.Image.Data)}
			if b.Image.Data == nil {
				out[i].Image.Data = []byte{}
			}
		case len(b.JSON) > 0:
			raw, err := tidyJSON(b.JSON, at, i)
			if err != nil {
				return nil, err
			}
			out[i].JSON = raw
		default:
			out[i].Text = strings.ToValidUTF8(b.Text, "\uFFFD")
		}
	}
	return out, nil
}

// tidyJSON is oneJSON for what somebody else may keep.
func tidyJSON(raw json.RawMessage, at string, index ...int) (json.RawMessage, error) {
	return oneJSON(bytes.Clone(raw), at, index...)
}

// oneJSON checks that raw, if there is any, is one JSON text that every reader takes alike, and returns it without what
// an encoder would change.
func oneJSON(raw json.RawMessage, at string, index ...int) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if err := checkJSON(raw); err != nil {
		if len(index) > 0 {
			at = fmt.Sprintf("%s/%d/json", at, index[0])
		}
		return nil, badOutput("%s: it is not JSON: %v", at, err)
	}
	return compact(raw), nil
}

// encode is json.Marshal for readers that are models, not browsers: <, > and & stay as they are.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, &outputError{[]string{err.Error()}}
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// encodeText is encode for a text, most of which need no escapes.
func encodeText(s string) (json.RawMessage, error) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == 0x7f {
			return encode(s)
		}
	}
	value := make([]byte, 0, len(s)+2)
	value = append(value, '"')
	value = append(value, s...)
	return append(value, '"'), nil
}

// Encoding JSON within JSON, [json.Marshal] drops white space and escapes the characters that a browser or a reader of
// JavaScript could take for something else. compact and unescaped make of that one spelling: without white space, <, >
// and & as they are, line and paragraph separators escaped. In it, a value goes into a log and comes back the same,
// whichever encoder wrote it.

// compact returns well-formed JSON in that spelling; it may be raw itself.
func compact(raw json.RawMessage) json.RawMessage {
	if bytes.ContainsAny(raw, " \t\r\n") {
		var b bytes.Buffer
		if json.Compact(&b, raw) == nil {
			raw = b.Bytes()
		}
	}
	if bytes.Contains(raw, []byte("\u2028")) || bytes.Contains(raw, []byte("\u2029")) {
		raw = bytes.ReplaceAll(raw, []byte("\u2028"), []byte(`\u2028`))
		raw = bytes.ReplaceAll(raw, []byte("\u2029"), []byte(`\u2029`))
	}
	return unescaped(raw)
}

// unescaped returns well-formed JSON with <, > and & as they are; it may be raw itself.
func unescaped(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`\u00`)) {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			continue
		}
		if raw[i+1] == 'u' {
			if r, ok := hex4(raw[i+2:]); ok && (r == '<' || r == '>' || r == '&') {
				out = append(out, byte(r))
				i += 5
				continue
			}
		}
		out = append(out, raw[i], raw[i+1])
		i++
	}
	return out
}
