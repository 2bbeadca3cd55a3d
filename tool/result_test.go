package tool_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/tool"
)

func unmarshal(data string, v any) error { return json.Unmarshal([]byte(data), v) }

// A result goes into a log and comes back the same, to the byte, whichever way it is encoded, alone or in something
// else.
func TestResultsSurviveALog(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		str := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.String(),
				rapid.SampledFrom([]string{"<b>", "&amp;", `\u003c`, `\\u003c`, "\u2028", "\u2029", "\x00", "\xff", `"`, `\`, "é"})), 0, 4).Draw(t, "s"), "")
		})
		raw := rapid.Custom(func(t *rapid.T) json.RawMessage {
			s := str.Draw(t, "raw")
			var out json.RawMessage
			switch rapid.IntRange(0, 3).Draw(t, "how") {
			case 0: // escaped
				out, _ = json.Marshal(map[string]any{s: []any{s, 1.5, nil}})
			case 1: // as it is
				var b bytes.Buffer
				enc := json.NewEncoder(&b)
				enc.SetEscapeHTML(false)
				require.NoError(t, enc.Encode(map[string]any{s: s}))
				out = b.Bytes()
			case 2: // spaced out, and spelt otherwise
				out = json.RawMessage(" [ \"\\u003C \\u0026 \\\\u003e \u2028\" , 1.10e+3 , null ] ")
			case 3:
				out = nil
			}
			return out
		})
		block := rapid.Custom(func(t *rapid.T) tool.Block {
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				return tool.Block{Image: &tool.Image{MediaType: "image/png", Data: []byte(str.Draw(t, "data"))}}
			case 1:
				return tool.Block{JSON: raw.Draw(t, "json")}
			}
			return tool.Block{Text: str.Draw(t, "text")}
		})
		blocks := rapid.SliceOfN(block, 0, 3)
		out := tool.Result{IsError: rapid.Bool().Draw(rt, "error"), Content: blocks.Draw(rt, "content"), Value: raw.Draw(rt, "value"), Meta: raw.Draw(rt, "meta")}
		for range rapid.IntRange(0, 2).Draw(rt, "contexts") {
			out.Contexts = append(out.Contexts, tool.Context{Source: str.Draw(rt, "source"), Content: blocks.Draw(rt, "context")})
		}
		spec := tool.Spec[struct{}, tool.Result]{Name: "t", ConcludesTurn: true, Body: func(ctx, struct{}) (tool.Result, error) { return out, nil }}
		got, err := tool.Execute(rt.Context(), registry(rt, define(rt, spec)), call("t", ""))
		require.NoError(rt, err)
		require.Empty(rt, got.Code, got.Text())

		for name, encode := range map[string]func(any) []byte{
			"Marshal": func(v any) []byte { data, err := json.Marshal(v); require.NoError(rt, err); return data },
			"Indent": func(v any) []byte {
				data, err := json.MarshalIndent(v, "", "  ")
				require.NoError(rt, err)
				return data
			},
			"Encoder": func(v any) []byte {
				var b bytes.Buffer
				enc := json.NewEncoder(&b)
				enc.SetEscapeHTML(false)
				require.NoError(rt, enc.Encode(v))
				return b.Bytes()
			},
			"as JSON within JSON": func(v any) []byte {
				data, err := json.Marshal(v)
				require.NoError(rt, err)
				data, err = json.Marshal(json.RawMessage(data))
				require.NoError(rt, err)
				return data
			},
		} {
			var back tool.Result
			require.NoError(rt, json.Unmarshal(encode(got), &back))
			if name == "Indent" { // white space is what it is about
				require.Equal(rt, mustJSONOf(rt, got), mustJSONOf(rt, back))
				continue
			}
			require.Equal(rt, got, back, name)
			var event struct{ Content []tool.Block }
			require.NoError(rt, json.Unmarshal(encode(struct{ Content []tool.Block }{got.Content}), &event))
			require.Equal(rt, got.Content, event.Content, name)
		}
	})
	var r tool.Result
	require.Error(t, unmarshal(`{"content":7}`, &r))
	require.Error(t, unmarshal(`{"content":[{"text":7}]}`, &r))
}

// What a tool declares of its output holds, and what does not is named, with where it is.
func TestOutputSchema(t *testing.T) {
	define1 := func(out any) *tool.Definition {
		return define(t, tool.Spec[struct{}, any]{Name: "t",
			Output: json.RawMessage(`{ "type": "object", "required": ["a", "b"], "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "string"}}}, "additionalProperties": false }`),
			Body:   func(ctx, struct{}) (any, error) { return out, nil }})
	}
	assert.Equal(t, `{"type":"object","required":["a","b"],"properties":{"a":{"type":"integer"},"b":{"type":"array","items":{"type":"string"}}},"additionalProperties":false}`, string(define1(1).Output))
	type m = map[string]any
	const ran = "t ran, but its result cannot be shown"
	const check = "Its effect may have happened. Check what has happened before you try again."
	many := m{"a": 1, "b": []any{}}
	for i := range 20 {
		many[fmt.Sprint("x", i)] = 1
		many["b"] = append(many["b"].([]any), i)
	}
	for name, c := range map[string]struct {
		out  any
		want string // "": it is good
	}{
		"good":           {m{"a": 1, "b": []string{"x"}}, ""},
		"one":            {m{"a": 1, "b": []any{"x", 7}}, ran + ": /b/1: got number, want string. " + check},
		"several":        {m{"a": "x", "c": 1}, ran + ". " + check + "\n- /a: got string, want integer\n- the value: additional properties 'c' not allowed\n- the value: missing property 'b'"},
		"of another":     {"text", ran + ": the value: got string, want object. " + check},
		"null":           {nil, ran + ": the value: got null, want object. " + check},
		"a result":       {tool.Result{Content: text("fine"), Value: json.RawMessage(`{"a":1,"b":[]}`)}, ""},
		"a bad result":   {tool.Result{Value: json.RawMessage(`{"a":1.5,"b":[]}`)}, ran + ": /a: got number, want integer. " + check},
		"no value":       {tool.Text("fine"), ran + ": the value: there is none. " + check},
		"an error":       {tool.Result{IsError: true, Content: text("no")}, ""},
		"a name twice":   {json.RawMessage(`{"a":1,"a":2,"b":[]}`), ran + `: /value: it is not JSON: byte 7, /a: the name "a" comes twice. ` + check},
		"half a rune":    {json.RawMessage(`{"a":1,"b":["\ud800"]}`), ran + ": /value: it is not JSON: byte 13, /b/0: an unpaired surrogate is not text. " + check},
		"bad image":      {tool.Result{Content: []tool.Block{{}, {Image: &tool.Image{}}}, Value: json.RawMessage(`{"a":1,"b":[]}`)}, ran + ": /content/1/image: it has no media type. " + check},
		"bad context":    {tool.Result{Contexts: []tool.Context{{Content: []tool.Block{{JSON: json.RawMessage("x")}}}}, Value: json.RawMessage(`{"a":1,"b":[]}`)}, ran + ": /contexts/0/content/0/json: it is not JSON: byte 0: unexpected 'x', want a value. " + check},
		"much too wrong": {many, "and "},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tool.Execute(t.Context(), registry(t, define1(c.out)), call("t", ""))
			require.NoError(t, err)
			switch {
			case c.want == "":
				assert.Empty(t, got.Code, got.Text())
			case strings.HasPrefix(c.want, ran):
				assert.Equal(t, errorResult(tool.InvalidToolOutput, c.want), got)
			default:
				assert.Equal(t, tool.InvalidToolOutput, got.Code)
				assert.Contains(t, got.Text(), c.want)
				assert.Less(t, len(got.Text()), 4096)
			}
		})
	}
	for _, bad := range []string{`nope`, `{"type":7}`, `{"$ref":"file:///etc/passwd"}`} {
		_, err := tool.Define(tool.Spec[struct{}, any]{Name: "t", Output: json.RawMessage(bad), Body: func(ctx, struct{}) (any, error) { return nil, nil }})
		require.ErrorIs(t, err, tool.ErrDefinition)
		assert.Contains(t, err.Error(), "its Output: ")
	}
}

// What a body, or a reviewer, keeps of what it returned is not what is passed on.
func TestResultsAreCopies(t *testing.T) {
	text, image := tool.Block{Text: "a"}, tool.Block{Image: &tool.Image{MediaType: "x", Data: []byte("1")}}
	raw := json.RawMessage(`[1]`)
	own := []json.RawMessage{bytes.Clone(raw), bytes.Clone(raw), bytes.Clone(raw), bytes.Clone(raw)}
	mine := tool.Result{Content: []tool.Block{text, image, {JSON: own[0]}}, Value: own[1], Meta: own[2],
		Contexts: []tool.Context{{Content: []tool.Block{{JSON: own[3]}}}}}
	for _, reviewed := range []bool{false, true} {
		review := tool.Review{Value: bytes.Clone(raw), Content: []tool.Block{{JSON: bytes.Clone(raw)}}}
		p := &tool.Pipeline{Reviewers: []tool.Reviewer{func(ctx, *tool.Invocation, tool.Result) (tool.Review, error) {
			mine.Content[0].Text, image.Image.Data[0] = "changed", 'X'
			for _, o := range own {
				o[1] = '2'
			}
			if reviewed {
				return review, nil
			}
			return tool.Review{}, nil
		}}}
		s := tool.Spec[struct{}, tool.Result]{Name: "t", Body: func(ctx, struct{}) (tool.Result, error) { return mine, nil },
			Finalize: func(ctx, *tool.Invocation, tool.Result) ([]tool.Block, error) {
				review.Value[1], review.Content[0].JSON[1] = '2', '2'
				return nil, nil
			}}
		mine.Content[0].Text, image.Image.Data[0] = "a", '1'
		for _, o := range own {
			o[1] = '1'
		}
		results, err := p.Run(t.Context(), registry(t, define(t, s)), named("t"))
		require.NoError(t, err)
		got, err := json.Marshal(results[0])
		require.NoError(t, err)
		if reviewed {
			assert.JSONEq(t, `{"content":[{"json":[1]}],"value":[1]}`, string(got))
		} else {
			assert.JSONEq(t, `{"content":[{"text":"a"},{"image":{"mediaType":"x","data":"MQ=="}},{"json":[1]}],"value":[1],"meta":[1],
				"contexts":[{"source":"t","content":[{"json":[1]}]}]}`, string(got))
		}
	}
}
