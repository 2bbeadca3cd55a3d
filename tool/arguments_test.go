package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

func TestT4EmptyArgumentsAreAnEmptyObject(t *testing.T) {
	type optional struct {
		Path string `json:"path,omitempty"`
	}
	r := registry(t, define(t, tool.Spec[optional, string]{Name: "t", Safe: safe[optional], Body: func(_ ctx, in optional) (string, error) {
		return "ran " + in.Path, nil
	}}))
	for _, arguments := range []string{"", " ", "\n", "\t \r\n", "\u00a0", "{}", " {} "} {
		assert.True(t, tool.Calls(r, []tool.Call{call("t", arguments)})[0].Safe, "%q", arguments)
		got, err := tool.Execute(t.Context(), r, call("t", arguments))
		require.NoError(t, err)
		assert.Equal(t, "ran ", got.Text(), "%q", arguments)
		assert.False(t, got.IsError)
	}
}

func TestT4InvalidArguments(t *testing.T) {
	type input struct {
		Path  string         `json:"path"`
		Count int8           `json:"count,omitempty"`
		Big   int64          `json:"big,omitempty"`
		Sub   map[string]any `json:"sub,omitempty"`
		List  []string       `json:"list,omitempty"`
	}
	var asked, ran atomic.Int64
	r := registry(t, define(t, tool.Spec[input, string]{
		Name:   "t",
		Safe:   func(input) bool { asked.Add(1); return true },
		Claims: func(input) ([]plan.Claim, error) { asked.Add(1); return nil, nil },
		Body:   func(context.Context, input) (string, error) { ran.Add(1); return "ran", nil },
	}))
	for arguments, says := range map[string]string{
		`{"path":`:                               "byte 8, /path: unexpected end of input",
		`{"path":"a"`:                            "unexpected end of input",
		`{"path":"a"}}`:                          "after the end of the JSON value",
		`{"path":"a"} {"path":"b"}`:              "after the end of the JSON value",
		`{"path":"a",}`:                          "want a name in quotes",
		`{'path':'a'}`:                           "want a name in quotes",
		`path`:                                   "want a value",
		`null`:                                   "the arguments: got null, want object",
		`[]`:                                     "the arguments: got array, want object",
		`[{"path":"a"}]`:                         "the arguments: got array, want object",
		`""`:                                     "the arguments: got string, want object",
		`"{\"path\":\"a\"}"`:                     "the arguments: got string, want object",
		`7`:                                      "the arguments: got number, want object",
		`true`:                                   "the arguments: got boolean, want object",
		`{}`:                                     "the arguments: missing property 'path'",
		`{"Path":"a"}`:                           "additional properties 'Path' not allowed",
		`{"path":"a","PATH":"b"}`:                "additional properties 'PATH' not allowed",
		`{"path":"a","path":"b"}`:                `the name "path" comes twice`,
		`{"path":"a","p\u0061th":"b"}`:           `the name "path" comes twice`,
		`{"path":"a","sub":{"x":1,"x":2}}`:       `byte 25, /sub/x: the name "x" comes twice`,
		`{"path":7}`:                             "/path: got number, want string",
		`{"path":null}`:                          "/path: got null, want string",
		`{"path":"a","list":null}`:               "/list: got null, want array",
		`{"path":"a","list":["b",7]}`:            "/list/1: got number, want string",
		`{"path":"a","count":1000}`:              "/count: maximum: got 1,000, want 127",
		`{"path":"a","count":1.5}`:               "/count: got number, want integer",
		`{"path":"a","big":9223372036854775808}`: "/big: number 9223372036854775808 does not fit, want int64",
		`{"path":"a","big":1e999999999}`:         "the exponent of a number is beyond 1000",
		`{"path":"a","sub":{"x":-1E-99999}}`:     "the exponent of a number is beyond 1000",
		`{"path":"a","sub":{"x":` + strings.Repeat("1", 10<<20) + `}}`:   "a number has more than 1000 characters",
		`{"path":"a","sub":{"x":1e` + strings.Repeat("0", 10<<20) + `}}`: "a number has more than 1000 characters",
		"{\"path\":\"\xff\"}":                             "byte 0xff is not UTF-8",
		"{\"path\":\"a\nb\"}":                             "must be escaped",
		`{"path":"\ud800"}`:                               "an unpaired surrogate is not text",
		`{"path":"\udc00\ud800"}`:                         "an unpaired surrogate is not text",
		"\ufeff" + `{"path":"a"}`:                         "want a value",
		strings.Repeat("[", 100_000):                      "nested deeper than 1000",
		strings.Repeat(`{"sub":`, 1001) + `{}`:            "nested deeper than 1000",
		`{"path":"a","sub":` + strings.Repeat("[", 1<<20): "nested deeper than 1000",
	} {
		got, err := tool.Execute(t.Context(), r, call("t", arguments))
		require.NoError(t, err)
		shown := arguments[:min(len(arguments), 60)]
		assert.Equal(t, tool.InvalidArgs, got.Code, shown)
		assert.True(t, got.IsError, shown)
		assert.Contains(t, got.Text(), "The arguments of t are invalid: it was not run.", shown)
		assert.Contains(t, got.Text(), says, shown)
		assert.Equal(t, []plan.Call{{}}, tool.Calls(r, []tool.Call{call("t", arguments)}), shown)
	}
	assert.Zero(t, asked.Load(), "Safe and Claims must not see invalid arguments")
	assert.Zero(t, ran.Load(), "the body must not start")

	got, err := tool.Execute(t.Context(), r, call("t", `{"path":"\ud83d\ude00","count":127,"big":9223372036854775807,"sub":{"X":1,"x":2e1000}}`))
	require.NoError(t, err)
	assert.Equal(t, "ran", got.Text())
}

// A model can mend a call in one go: it is told everything that is wrong, and where, always in the same words.
func TestT4EveryViolationIsNamed(t *testing.T) {
	type input struct {
		Path  string           `json:"path"`
		Range struct{ A int }  `json:"range"`
		Edits []map[string]int `json:"edits"`
	}
	r := registry(t, define(t, tool.Spec[input, string]{Name: "edit", Body: func(ctx, input) (string, error) { return "", nil }}))
	const arguments = `{"z":1,"y":2,"range":{"B":2,"A":"x"},"edits":[{"a":1},{"b":"c","c/d~":null}]}`
	want := `The arguments of edit are invalid: it was not run.
- /edits/1/b: got string, want integer
- /edits/1/c~1d~0: got null, want integer
- /range/A: got string, want integer
- /range: additional properties 'B' not allowed
- the arguments: additional properties 'y', 'z' not allowed
- the arguments: missing property 'path'
The arguments were: ` + arguments
	for range 50 {
		got, err := tool.Execute(t.Context(), r, call("edit", arguments))
		require.NoError(t, err)
		require.Equal(t, want, got.Text())
	}
}

// However much a model writes, what is said about it is short.
func TestT4EchoIsBounded(t *testing.T) {
	r := registry(t, define(t, tool.Spec[file, string]{Name: "t", Body: echo}))
	long := strings.Repeat("é", 1<<20)
	many := "{"
	for i := range 10_000 {
		many += fmt.Sprintf(`"%s%d":1,`, strings.Repeat("k", 50), i)
	}
	for _, arguments := range []string{
		long, `{"path":1,"` + long + `":2}`, `{"` + long + `":`, `{"path":"` + long, many + `"path":1}`,
		strings.Repeat("\x80", 1<<20), `{"path":[` + strings.Repeat(`"`+strings.Repeat("v", 100)+`",`, 1000) + `1]}`,
	} {
		got, err := tool.Execute(t.Context(), r, call("t", arguments))
		require.NoError(t, err)
		require.Equal(t, tool.InvalidArgs, got.Code)
		require.Less(t, len(got.Text()), 4096)
		require.True(t, json.Valid([]byte(mustJSON(t, got))))
		require.NotContains(t, mustJSON(t, got), `\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd`)
	}
	got, err := tool.Execute(t.Context(), r, call(long, `{}`))
	require.NoError(t, err)
	require.Equal(t, tool.UnknownTool, got.Code)
	require.Less(t, len(got.Text()), 1024)
}

func mustJSON(t *testing.T, v any) string {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

// No number that a model writes is rounded on its way to the body.
func TestT4ArgumentsAreLossless(t *testing.T) {
	type input struct {
		Int   int64           `json:"int"`
		Any   any             `json:"any"`
		Map   map[string]any  `json:"map"`
		Num   json.Number     `json:"num"`
		Raw   json.RawMessage `json:"raw"`
		Bytes []byte          `json:"bytes"`
	}
	var got input
	r := registry(t,
		define(t, tool.Spec[input, string]{Name: "typed", Body: func(_ ctx, in input) (string, error) { got = in; return "", nil }}),
		define(t, tool.Spec[json.RawMessage, json.RawMessage]{Name: "raw", Parameters: json.RawMessage(`{"type":"object"}`),
			Body: func(_ ctx, in json.RawMessage) (json.RawMessage, error) { return in, nil }}),
	)
	result, err := tool.Execute(t.Context(), r, call("typed",
		`{"int":9007199254740993,"any":12345678901234567890,"map":{"x":[0.1000000000000000055511151231257827]},"num":1e400,"raw":{"b":1.10, "a":2},"bytes":"aGk="}`))
	require.NoError(t, err)
	require.False(t, result.IsError, result.Text())
	assert.Equal(t, input{
		Int:   9007199254740993,
		Any:   json.Number("12345678901234567890"),
		Map:   map[string]any{"x": []any{json.Number("0.1000000000000000055511151231257827")}},
		Num:   "1e400",
		Raw:   json.RawMessage(`{"b":1.10, "a":2}`),
		Bytes: []byte("hi"),
	}, got)

	result, err = tool.Execute(t.Context(), r, call("raw", `{"b":12345678901234567890,"a":1.10}`))
	require.NoError(t, err)
	assert.Equal(t, `{"b":12345678901234567890,"a":1.10}`, string(result.Value))
}

// A tool without parameters is called with every kind of nothing.
func TestCase_arguments_1(t *testing.T) {
	r := registry(t, define(t, tool.Spec[struct{}, string]{Name: "f", Body: nothing}))
	calls, err := tool.ParseCalls([]byte(`{"calls":[{"name":"f","arguments":""},{"name":"f","arguments":"  "},{"name":"f","arguments":"\n"},{"name":"f","arguments":"{}"},{"name":"f","arguments":{}},{"name":"f"}]}`))
	require.NoError(t, err)
	results, err := tool.Run(t.Context(), r, calls)
	require.NoError(t, err)
	assert.Equal(t, []string{"done", "done", "done", "done", "done", "done"}, texts(results))
}

// A call that cannot be read leaves its siblings alone, those of the same tool too.
func TestCase_arguments_2(t *testing.T) {
	type a struct {
		A int `json:"a,omitempty"`
	}
	var ran [2]atomic.Int64
	r := registry(t,
		define(t, tool.Spec[a, string]{Name: "t", Safe: safe[a], Body: func(ctx, a) (string, error) { ran[0].Add(1); return "t ran", nil }}),
		define(t, tool.Spec[a, string]{Name: "u", Safe: safe[a], Body: func(ctx, a) (string, error) { ran[1].Add(1); return "u ran", nil }}),
	)
	results, err := tool.Run(t.Context(), r, []tool.Call{call("t", `{"a":1}`), call("t", `{"a":`), call("u", `{}`)})
	require.NoError(t, err)
	assert.Equal(t, []tool.Code{"", tool.InvalidArgs, ""}, codes(results))
	assert.Equal(t, "t ran", results[0].Text())
	assert.Equal(t, "u ran", results[2].Text())
	assert.EqualValues(t, 1, ran[0].Load())
	assert.EqualValues(t, 1, ran[1].Load())
}
