package harness_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

func TestParseScript(t *testing.T) {
	want := harness.Script{
		{Content: []tool.Block{text("I look.")}, Calls: []tool.Call{{ID: "x", Name: "read", Arguments: `{"path": "a"}`}, {Name: "list"}}},
		{Calls: []tool.Call{{Name: "read", Arguments: `{"path":`}}},
		{Content: []tool.Block{text("Done.")}},
	}
	one := `{"text": "I look.", "calls": [{"id": "x", "name": "read", "arguments": {"path": "a"}}, {"name": "list"}]}`
	two := `{"calls": [{"name": "read", "arguments": "{\"path\":"}]}`
	three := `{"text": "Done."}`
	for name, s := range map[string]string{
		"lines":                   one + "\n" + two + "\n\n" + three + "\n",
		"one behind the other":    one + two + three,
		"an array":                "[" + one + ", " + two + "," + three + "]",
		"arrays, one after other": "[" + one + "] [" + two + "," + three + "] []",
	} {
		got, err := harness.ParseScript(strings.NewReader(s))
		require.NoError(t, err, name)
		assert.Equal(t, want, got, name)
	}
	none, err := harness.ParseScript(strings.NewReader(" \n"))
	require.NoError(t, err)
	assert.Empty(t, none)
	for s, wrong := range map[string]string{
		three + `{}`:                        "script: message 2: it has neither text nor calls",
		`{"text": ""}`:                      "script: message 1: it has neither text nor calls",
		`{"txt": "a"}`:                      `script: message 1: json: unknown field "txt"`,
		`{"text": 1}`:                       "script: message 1: json: cannot unmarshal number into Go struct field .text of type string",
		`{"calls": [{"nam": "a"}]}`:         `script: message 1: /calls/0/nam: unknown name, want one of ["id" "name" "arguments"]`,
		`{"calls": {}}`:                     "script: message 1: /calls: it is an object, want an array",
		"[" + three + "," + three + ", {}]": "script: message 3: it has neither text nor calls",
		`"a"`:                               "script: message 1: it is not an object",
		three + "\n{":                       "script: message 2: unexpected EOF",
		"[" + three:                         "script: message 1: unexpected EOF",
		"nonsense":                          "script: message 1: invalid character 'o' in literal null (expecting 'u')",
	} {
		_, err := harness.ParseScript(strings.NewReader(s))
		require.Error(t, err, s)
		assert.Contains(t, err.Error(), wrong, s)
	}
}

// The place in a script is the place in the conversation, also when the session is opened again; its end is an error.
func TestScript(t *testing.T) {
	h := newHost(t, nil)
	script := harness.Script{say("one"), say("two")}
	h.agent = h.with(t, script.Generate)
	h.run(t)
	h.Session = open(t, h.store)
	h.agent = h.with(t, script.Generate)
	h.run(t)
	assert.Equal(t, harness.EndDone, h.last())
	h.run(t)
	assert.EqualError(t, h.agent.Status().Err, "the model: the script has 2 messages, and was asked for another")
	messages, err := h.Session.Messages()
	require.NoError(t, err)
	var said []string
	for _, m := range messages {
		said = append(said, m.Content[0].Text)
	}
	assert.Equal(t, []string{"go", "one", "go", "two", "go"}, said)

	c, cancel := context.WithCancelCause(t.Context())
	cancel(errStop)
	_, err = script.Generate(c, harness.Request{})
	assert.ErrorIs(t, err, errStop)
}

func FuzzParseScript(f *testing.F) {
	f.Add(`{"text": "a"} [{"calls": [{"name": "read", "arguments": {}}]}]`)
	f.Add(`{"calls": [{"name": "a", "arguments": "{"}]}`)
	f.Fuzz(func(t *testing.T, s string) {
		script, err := harness.ParseScript(strings.NewReader(s))
		if err != nil {
			if script != nil || !strings.HasPrefix(err.Error(), "script: message ") {
				t.Fatal(script, err)
			}
			return
		}
		for _, m := range script {
			if len(m.Content)+len(m.Calls) == 0 {
				t.Fatal("an empty message")
			}
			for _, c := range m.Calls {
				if c.Name == "" {
					t.Fatal("a call without a name")
				}
			}
		}
	})
}
