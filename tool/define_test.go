package tool_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/tool"
)

func TestDefineErrors(t *testing.T) {
	type recursive struct {
		Next *recursive `json:"next"`
	}
	raw := func(parameters string) error {
		_, err := tool.Define(tool.Spec[json.RawMessage, string]{Name: "t", Parameters: json.RawMessage(parameters),
			Body: func(ctx, json.RawMessage) (string, error) { return "", nil }})
		return err
	}
	for says, err := range map[string]error{
		"it has no name":      second(tool.Define(tool.Spec[file, string]{Body: echo})),
		`"t": it has no body`: second(tool.Define(tool.Spec[file, string]{Name: "t"})),
		"a struct or a map":   second(tool.Define(tool.Spec[int, string]{Name: "t", Body: func(ctx, int) (string, error) { return "", nil }})),
		"struct or a map":     second(tool.Define(tool.Spec[[]int, string]{Name: "t", Body: func(ctx, []int) (string, error) { return "", nil }})),
		"cycle":               second(tool.Define(tool.Spec[recursive, string]{Name: "t", Body: func(ctx, recursive) (string, error) { return "", nil }})),
		"func()": second(tool.Define(tool.Spec[struct{ F func() }, string]{Name: "t",
			Body: func(ctx, struct{ F func() }) (string, error) { return "", nil }})),
		"its input has no schema: state its Parameters": raw(``),
		"its Parameters: byte 0":                        raw(`nope`),
		"after the end":                                 raw(`{"type":"object"}{}`),
		`not of type "object"`:                          raw(`{"type":"string"}`),
		"comes twice":                                   raw(`{"type":"object","type":"string"}`),
		"got number":                                    raw(`{"type":"object","required":7}`),
		"a reference out of the schema, to \"file:///etc/passwd\"":   raw(`{"type":"object","properties":{"x":{"$ref":"file:///etc/passwd"}}}`),
		"a reference out of the schema, to \"http://example.com/s\"": raw(`{"type":"object","properties":{"x":{"$ref":"http://example.com/s"}}}`),
	} {
		require.ErrorIs(t, err, tool.ErrDefinition, says)
		assert.Contains(t, err.Error(), says)
	}
	assert.NoError(t, raw(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"d":{"type":"string"}},"properties":{"x":{"$ref":"#/definitions/d"}}}`))
}

func second(_ *tool.Definition, err error) error { return err }

func TestDefineInfersFromTheType(t *testing.T) {
	type input struct {
		Path  string         `json:"path" jsonschema:"the file"`
		Lines []int          `json:"lines,omitempty"`
		When  time.Time      `json:"when,omitzero"`
		Addr  netip.Addr     `json:"addr,omitzero"`
		Big   *big.Int       `json:"big,omitempty"`
		Maybe *bool          `json:"maybe,omitempty"`
		Any   any            `json:"any,omitempty"`
		Tags  map[string]int `json:"tags,omitempty"`
		Never string         `json:"-"`
	}
	d := define(t, tool.Spec[input, string]{Name: "t", Body: func(_ ctx, in input) (string, error) {
		return in.Addr.String() + " " + in.Big.String() + " " + in.When.Format(time.RFC3339), nil
	}})
	assert.JSONEq(t, `{"type":"object","additionalProperties":false,"required":["path"],"properties":{
		"path":{"type":"string","description":"the file"},
		"lines":{"type":"array","items":{"type":"integer"}},
		"when":{"type":"string"},
		"addr":{"type":"string"},
		"big":{"type":["null","integer"]},
		"maybe":{"type":["null","boolean"]},
		"any":true,
		"tags":{"type":"object","additionalProperties":{"type":"integer"}}}}`, string(d.Parameters))
	got, err := tool.Execute(t.Context(), registry(t, d),
		call("t", `{"path":"a","addr":"::1","big":123456789012345678901234567890,"when":"2026-01-02T03:04:05Z","maybe":null}`))
	require.NoError(t, err)
	assert.Equal(t, "::1 123456789012345678901234567890 2026-01-02T03:04:05Z", got.Text())

	// What the schema lets through and the type does not take is an error of the arguments, too.
	got, err = tool.Execute(t.Context(), registry(t, d), call("t", `{"path":"a","addr":"nowhere"}`))
	require.NoError(t, err)
	assert.Equal(t, tool.InvalidArgs, got.Code)
	assert.Contains(t, got.Text(), "nowhere")
}

// Stated Parameters are shown as they are, and can only narrow what the type takes.
func TestDefineParametersNarrow(t *testing.T) {
	type input struct {
		Mode string `json:"mode"`
	}
	d := define(t, tool.Spec[input, string]{Name: "t",
		Parameters: json.RawMessage(`{ "type": "object", "properties": {"mode": {"enum": ["r", "w"]}} }`),
		Body:       func(_ ctx, in input) (string, error) { return in.Mode, nil },
	})
	assert.Equal(t, `{"type":"object","properties":{"mode":{"enum":["r","w"]}}}`, string(d.Parameters))
	for arguments, want := range map[string]string{
		`{"mode":"r"}`:            "",
		`{"mode":"x"}`:            "/mode: value must be one of 'r', 'w'",
		`{}`:                      "missing property 'mode'",
		`{"mode":"r","MODE":"x"}`: "additional properties 'MODE' not allowed",
	} {
		got, err := tool.Execute(t.Context(), registry(t, d), call("t", arguments))
		require.NoError(t, err)
		assert.Equal(t, want != "", got.Code == tool.InvalidArgs, arguments)
		assert.Contains(t, got.Text(), want, arguments)
	}
}

type stubborn struct{}

func (*stubborn) UnmarshalJSON([]byte) error { panic("not today") }

func TestDefinePanickingInput(t *testing.T) {
	type input struct {
		S stubborn `json:"s"`
	}
	r := registry(t, define(t, tool.Spec[input, string]{Name: "t", Safe: safe[input], Body: func(ctx, input) (string, error) { return "", nil }}))
	assert.False(t, tool.Calls(r, []tool.Call{call("t", `{"s":1}`)})[0].Safe)
	got, err := tool.Execute(t.Context(), r, call("t", `{"s":1}`))
	require.NoError(t, err)
	assert.Equal(t, tool.InvalidArgs, got.Code)
	assert.Contains(t, got.Text(), "not today")
}

// What a body returns, and what the model and a program get of it.
func TestResults(t *testing.T) {
	for name, c := range map[string]struct {
		out  any
		want tool.Result
	}{
		"text": {"a<b\xff", tool.Result{Content: []tool.Block{{Text: "a<b\uFFFD"}}, Value: json.RawMessage(`"a<b\ufffd"`)}},
		"structure": {map[string]any{"html": "<&>", "n": int64(math.MaxInt64)},
			tool.Result{Content: []tool.Block{{JSON: json.RawMessage(`{"html":"<&>","n":9223372036854775807}`)}},
				Value: json.RawMessage(`{"html":"<&>","n":9223372036854775807}`)}},
		"nothing": {nil, tool.Result{Content: []tool.Block{{JSON: json.RawMessage(`null`)}}, Value: json.RawMessage(`null`)}},
		"result": {
			tool.Result{Content: []tool.Block{{Text: "a"}, {JSON: json.RawMessage(`[1]`)}}, Value: json.RawMessage(`1`)},
			tool.Result{Content: []tool.Block{{Text: "a"}, {JSON: json.RawMessage(`[1]`)}}, Value: json.RawMessage(`1`)}},
		"its error": {tool.Result{IsError: true, Content: []tool.Block{{Text: "no"}}}, tool.Result{IsError: true, Content: []tool.Block{{Text: "no"}}}},
		"empty":     {tool.Result{}, tool.Result{Content: []tool.Block{}}},
		"forged":    {tool.Result{Code: tool.Aborted, Content: []tool.Block{{Text: "a"}}}, tool.Result{Content: []tool.Block{{Text: "a"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := registry(t, define(t, tool.Spec[struct{}, any]{Name: "t", Body: func(ctx, struct{}) (any, error) { return c.out, nil }}))
			got, err := tool.Execute(t.Context(), r, call("t", ""))
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
	r := tool.Result{Content: []tool.Block{{Text: "a"}, {JSON: json.RawMessage(`[1]`)}, {Text: "b"}}}
	assert.Equal(t, "a\n[1]\nb", r.Text())
	assert.Equal(t, tool.Result{Content: []tool.Block{{Text: "x"}}}, tool.Text("x"))
}

func TestRegistry(t *testing.T) {
	var r tool.Registry
	a := define(t, tool.Spec[file, string]{Name: "a", Body: echo})
	b := define(t, tool.Spec[file, string]{Name: "b", Body: echo})
	assert.Equal(t, tool.Binding{}, r.Bind("a"))

	require.NoError(t, r.Register(a))
	first := r.Bind("a")
	assert.Equal(t, "a", first.Definition.Name)
	a.Description = "changed after it was registered"
	assert.Empty(t, r.Bind("a").Definition.Description)

	// All or nothing.
	require.ErrorIs(t, r.Register(b, a), tool.ErrDuplicate)
	require.ErrorIs(t, r.Register(b, b), tool.ErrDuplicate)
	require.ErrorIs(t, r.Register(b, nil), tool.ErrDefinition)
	require.ErrorIs(t, r.Register(b, &tool.Definition{Name: "c"}), tool.ErrDefinition)
	require.ErrorIs(t, r.Replace(nil), tool.ErrDefinition)
	require.ErrorIs(t, r.Replace(&tool.Definition{Name: "a"}), tool.ErrDefinition)
	assert.Nil(t, r.Bind("b").Definition)
	assert.False(t, r.Unregister("b"))
	assert.Equal(t, first, r.Bind("a"), "what fails changes nothing, the generation included")

	require.NoError(t, r.Replace(a))
	second := r.Bind("a")
	assert.Equal(t, a.Description, second.Definition.Description)
	assert.Empty(t, first.Definition.Description, "a binding does not change")
	require.NoError(t, r.Replace(b))
	assert.True(t, r.Unregister("a"))
	third := r.Bind("a")
	assert.Nil(t, third.Definition)
	assert.True(t, first.Generation < second.Generation && second.Generation < third.Generation)
	var e error = tool.ErrDuplicate
	assert.False(t, errors.Is(e, tool.ErrDefinition))
}

// self decodes itself.
type self struct{ text string }

func (s *self) UnmarshalJSON(data []byte) error { s.text = string(data); return nil }

func TestDefineInputThatDecodesItself(t *testing.T) {
	body := func(_ ctx, in self) (string, error) { return in.text, nil }
	_, err := tool.Define(tool.Spec[self, string]{Name: "t", Body: body})
	require.ErrorIs(t, err, tool.ErrDefinition)
	d := define(t, tool.Spec[self, string]{Name: "t", Parameters: json.RawMessage(`{"type":"object","required":["a"]}`), Body: body})
	got, err := tool.Execute(t.Context(), registry(t, d), call("t", `{"a":1.0}`))
	require.NoError(t, err)
	assert.Equal(t, `{"a":1.0}`, got.Text())
}
