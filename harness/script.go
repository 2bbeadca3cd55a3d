package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/keywave-go/keywave/tool"
)

// A Script is a [Model] that says what is written down, for tests and demonstrations: the n-th message of a
// conversation is its n-th, also when the session is opened again. When it is asked for more than it has, that is an
// error.
type Script []AssistantMessage

// ParseScript reads a script: JSON objects, one after the other or in one array, each a message of the model's.
//
//	{"text": "I look.", "calls": [{"name": "read", "arguments": {"path": "a.txt"}}]}
//	{"text": "It says alpha."}
//
// Each has a text or calls or both, and nothing else. The calls are in keywave's own form, as [tool.ParseCalls] says:
// their arguments are JSON, or a string that is taken as it is, so that they may also be what no model should write.
func ParseScript(r io.Reader) (Script, error) {
	dec := json.NewDecoder(r)
	var s Script
	for {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err == io.EOF {
			return s, nil
		} else if err != nil {
			return nil, fmt.Errorf("script: message %d: %w", len(s)+1, err)
		}
		lines := []json.RawMessage{raw}
		if raw[0] == '[' {
			if err := json.Unmarshal(raw, &lines); err != nil {
				return nil, fmt.Errorf("script: message %d: %w", len(s)+1, err)
			}
		}
		for _, line := range lines {
			m, err := parseLine(line)
			if err != nil {
				return nil, fmt.Errorf("script: message %d: %w", len(s)+1, err)
			}
			s = append(s, m)
		}
	}
}

func parseLine(raw json.RawMessage) (m AssistantMessage, err error) {
	var line struct {
		Text  string          `json:"text"`
		Calls json.RawMessage `json:"calls"`
	}
	if raw[0] != '{' {
		return m, errors.New("it is not an object")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&line); err != nil {
		return m, err
	}
	if line.Text != "" {
		m.Content = tool.Text(line.Text).Content
	}
	if len(line.Calls) > 0 {
		if m.Calls, err = tool.ParseCalls(append(append([]byte(`{"calls":`), line.Calls...), '}')); err != nil {
			var wrong *tool.ParseError
			if errors.As(err, &wrong) { // its offset is of no use here
				err = fmt.Errorf("%s: %s", wrong.Path, wrong.Problem)
			}
			return m, err
		}
	}
	if len(m.Content)+len(m.Calls) == 0 {
		return m, errors.New("it has neither text nor calls")
	}
	return m, nil
}

// Generate implements [Model]. It streams the text word by word.
func (s Script) Generate(ctx context.Context, r Request) (AssistantMessage, error) {
	said := 0
	for _, m := range r.Messages {
		if m.Role == RoleAssistant {
			said++
		}
	}
	switch {
	case ctx.Err() != nil:
		return AssistantMessage{}, context.Cause(ctx)
	case said >= len(s):
		return AssistantMessage{}, fmt.Errorf("the script has %d messages, and was asked for another", len(s))
	}
	m := s[said]
	for _, b := range m.Content {
		for word := range strings.SplitAfterSeq(b.Text, " ") {
			r.Stream(word)
		}
	}
	return m, nil
}
