package tool_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/tool"
)

// The two calls that every format below holds.
var two = []tool.Call{
	{ID: "c1", Name: "read", Arguments: `{"path":"a"}`},
	{ID: "c2", Name: "edit", Arguments: `{"path":"b","n":12345678901234567890}`},
}

func TestParseCallsFormats(t *testing.T) {
	formats := map[string]string{
		"own, arguments as strings": `{"calls":[{"id":"c1","name":"read","arguments":"{\"path\":\"a\"}"},
			{"id":"c2","name":"edit","arguments":"{\"path\":\"b\",\"n\":12345678901234567890}"}]}`,
		"own, arguments as objects": ` {"calls" : [ {"name":"read","arguments":{"path":"a"},"id":"c1"},
			{"id":"c2","name":"edit","arguments": {"path":"b","n":12345678901234567890} } ] } `,
		"chat completion, message": `{"role":"assistant","content":null,"refusal":null,"function_call":null,"tool_calls":[
			{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}},
			{"id":"c2","type":"function","function":{"name":"edit","arguments":{"path":"b","n":12345678901234567890}}}]}`,
		"chat completion, text beside the calls": `{"role":"assistant","content":[{"type":"text","text":"now"}],"tool_calls":[
			{"id":"c1","function":{"name":"read","arguments":"{\"path\":\"a\"}"}},
			{"id":"c2","type":"function","function":{"name":"edit","arguments":"{\"path\":\"b\",\"n\":12345678901234567890}"}}]}`,
		"chat completion, response": `{"id":"x","object":"chat.completion","choices":[{"index":0,"finish_reason":"tool_calls",
			"message":{"role":"assistant","content":"","tool_calls":[
			{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}},
			{"id":"c2","type":"function","function":{"name":"edit","arguments":"{\"path\":\"b\",\"n\":12345678901234567890}"}}]}}],"usage":{}}`,
		"chat completion, array": `[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}},
			{"id":"c2","type":"function","function":{"name":"edit","arguments":"{\"path\":\"b\",\"n\":12345678901234567890}"}}]`,
		"response": `{"id":"resp_1","object":"response","error":null,"output":[{"type":"reasoning","id":"rs_1","summary":[]},
			{"type":"function_call","id":"fc_1","call_id":"c1","name":"read","arguments":"{\"path\":\"a\"}","status":"completed"},
			{"type":"web_search_call","id":"ws_1"},
			{"type":"function_call","id":"fc_2","call_id":"c2","name":"edit","arguments":"{\"path\":\"b\",\"n\":12345678901234567890}"}]}`,
		"response, array": `[{"type":"message","role":"assistant","content":[]},
			{"type":"function_call","id":"fc_1","call_id":"c1","name":"read","arguments":"{\"path\":\"a\"}"},
			{"type":"function_call","id":"fc_2","call_id":"c2","name":"edit","arguments":"{\"path\":\"b\",\"n\":12345678901234567890}"}]`,
		"anthropic": `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"I look."},
			{"type":"tool_use","id":"c1","name":"read","input":{"path":"a"}},
			{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"q"}},
			{"type":"tool_use","id":"c2","name":"edit","input":{"path":"b","n":12345678901234567890}}],"stop_reason":"tool_use"}`,
		"anthropic, and no tool_calls": `{"role":"assistant","tool_calls":[],"content":[{"type":"tool_use","id":"c1","name":"read","input":{"path":"a"}},
			{"type":"tool_use","id":"c2","name":"edit","input":{"path":"b","n":12345678901234567890}}]}`,
		"anthropic, array": `[{"type":"thinking","thinking":"…","signature":"s"},{"type":"tool_use","id":"c1","name":"read","input":{"path":"a"}},
			{"type":"tool_use","id":"c2","name":"edit","input":{"path":"b","n":12345678901234567890}}]`,
	}
	for name, batch := range formats {
		t.Run(name, func(t *testing.T) {
			calls, err := tool.ParseCalls([]byte(batch))
			require.NoError(t, err)
			assert.Equal(t, two, calls)
		})
	}
}

func TestParseCallsWithoutCalls(t *testing.T) {
	for _, batch := range []string{
		`{"calls":[]}`, `[]`, `{"role":"assistant","content":"done"}`, `{"role":"assistant","content":null,"tool_calls":null}`,
		`{"role":"assistant","content":[{"type":"text","text":"done"}]}`, `{"output":[]}`, `[{"type":"text","text":"tool_use"}]`,
	} {
		calls, err := tool.ParseCalls([]byte(batch))
		require.NoError(t, err, batch)
		assert.Equal(t, []tool.Call{}, calls, batch)
	}
}

// What is wrong with the arguments is the affair of the call that has them.
func TestParseCallsLeavesArgumentsAlone(t *testing.T) {
	for given, want := range map[string]string{
		`null`: "null", `[]`: "[]", `""`: "", `"  "`: "  ", `"{\"a\":"`: `{"a":`, `7`: "7", `true`: "true", `"null"`: "null",
		`{"a":1,"a":2}`: `{"a":1,"a":2}`, `{"s":"\ud800"}`: `{"s":"\ud800"}`, `{ "n" : 1e999999999 }`: `{ "n" : 1e999999999 }`,
	} {
		calls, err := tool.ParseCalls(fmt.Appendf(nil, `{"calls":[{"name":"t","arguments":%s}]}`, given))
		require.NoError(t, err, given)
		assert.Equal(t, []tool.Call{{Name: "t", Arguments: want}}, calls)
	}
	calls, err := tool.ParseCalls([]byte(`[{"type":"tool_use","id":null,"name":"t"}]`))
	require.NoError(t, err)
	assert.Equal(t, []tool.Call{{Name: "t"}}, calls)
}

// In each batch a ‸ marks the byte that the error must name.
func TestParseCallsErrors(t *testing.T) {
	for _, c := range []struct {
		batch string
		call  int
		path  string
		says  string
	}{
		{`‸`, -1, "", "end of input"},
		{`  ‸`, -1, "", "end of input"},
		{`‸nope`, -1, "", "want a value"},
		{"\ufeff‸\ufeff[]", -1, "", "want a value"},
		{`‸"text"`, -1, "", `a string, want an object with "calls"`},
		{`‸7`, -1, "", "a number"},
		{`‸null`, -1, "", "null"},
		{`‸{}`, -1, "", "no calls"},
		{`‸{"id":"c1","name":"read","arguments":{}}`, -1, "", "no calls"},
		{`{"calls":[]} ‸{}`, -1, "", "after the end"},
		{`{"calls":[]}‸,`, -1, "", "after the end"},
		{`{"calls":‸null}`, -1, "/calls", "want an array"},
		{`{"calls":‸{}}`, -1, "/calls", "want an array"},
		{`{"calls":[],‸"calls":[]}`, -1, "/calls", "twice"},
		{`{"calls":[],‸"note":1}`, -1, "/note", "unknown name"},
		{`{"calls":[{"name":"a"},‸7]}`, 1, "/calls/1", "a number, want an object"},
		{`{"calls":[{"name":"a"},‸{}]}`, 1, "/calls/1", "no name"},
		{`{"calls":[{"name":"a"},‸{"name":""}]}`, 1, "/calls/1", "no name"},
		{`{"calls":[{"name":"a"},‸{"name":null}]}`, 1, "/calls/1", "no name"},
		{`{"calls":[{"name":"a"},{"name":‸["b"]}]}`, 1, "/calls/1/name", "an array, want a string"},
		{`{"calls":[{"name":"a","id":‸7}]}`, 0, "/calls/0/id", "a number, want a string"},
		{`{"calls":[{"name":"a","‸\ud800":7}]}`, 0, "/calls/0/\uFFFD", "unpaired surrogate"},
		{`{"calls":[{"name":"a","id":"‸\udc00"}]}`, 0, "/calls/0/id", "unpaired surrogate"},
		{`{"calls":[{"name":"a","arguments":"‸\ud800\u0041"}]}`, 0, "/calls/0/arguments", "unpaired surrogate"},
		{`{"calls":[{"name":"a"},{"name":"b",‸"args":{}}]}`, 1, "/calls/1/args", "unknown name"},
		{`{"calls":[{"name":"a",‸"n\u0061me":"b"}]}`, 0, "/calls/0/name", "twice"},
		{`{"calls":[{"name":"a"},{"name":"b","arguments":{"x":‸}}]}`, 1, "/calls/1/arguments/x", "want a value"},
		{`{"calls":[{"name":"a"},{"name":"b","arguments":"‸`, 1, "/calls/1/arguments", "end of input"},
		{`{"calls":[{"name":"a"},{"name":"b"}‸`, 1, "/calls/1", "end of input"},
		{`{"calls":[{"name":"a"} ‸{"name":"b"}]}`, 0, "/calls/0", "want a comma"},
		{`{"calls":[{"name":"a"},‸]}`, 1, "/calls/1", "want a value"},
		{`{"calls":[{"name":"a"}],"calls":[{"name":"b"},{"name":"c","id":‸x`, 1, "/calls/1/id", "want a value"},
		{`{"calls":7,"calls":‸x`, -1, "/calls", "want a value"},
		{`{"calls":[{"name":"a"}]‸`, -1, "", "end of input"},
		{"{\"calls\":[{\"name\":\"a\"},{\"name\":\"b‸\xff\"}]}", 1, "/calls/1/name", "UTF-8"},
		{"{\"calls\":[{\"name\":\"a\"},{\"name\":\"b‸\n\"}]}", 1, "/calls/1/name", "escaped"},
		{`{"calls":[{"name":"‸\x"}]}`, 0, "/calls/0/name", "escape"},
		{`{"calls":[{"name":"a","arguments":{"n":0‸1}}]}`, 0, "/calls/0/arguments", "want a comma"},
		{`{"calls":[{"name":"a","arguments":{"n":-‸}}]}`, 0, "/calls/0/arguments/n", "digit"},
		{`{"calls":[{"name":"a","arguments":{"n":1.‸}}]}`, 0, "/calls/0/arguments/n", "digit"},
		{`{"calls":[{"name":"a","arguments":{"n":1e+‸}}]}`, 0, "/calls/0/arguments/n", "digit"},
		{`{"calls":[{"name":"a","arguments":{‸n:1}}]}`, 0, "/calls/0/arguments", "name in quotes"},
		{`{"calls":[{"name":"a","arguments":{"n" ‸1}}]}`, 0, "/calls/0/arguments", "colon"},

		{`{"role":‸"user","content":[]}`, -1, "/role", "a message of the user"},
		{`{"role":‸1,"content":[]}`, -1, "/role", "want a string"},
		{`{"role":"assistant","function_call":‸{"name":"a","arguments":"{}"}}`, -1, "/function_call", "retired"},
		{`{"role":"assistant","tool_calls":‸{}}`, -1, "/tool_calls", "want an array"},
		{`{"role":"assistant","tool_calls":[‸{"id":"x"}]}`, 0, "/tool_calls/0", "no function"},
		{`{"role":"assistant","tool_calls":[{"function":‸[]}]}`, 0, "/tool_calls/0/function", "want an object"},
		{`{"role":"assistant","tool_calls":[{"function":‸{"arguments":"{}"}}]}`, 0, "/tool_calls/0/function", "no name"},
		{`{"role":"assistant","tool_calls":[{"type":‸"custom","custom":{"name":"a","input":"x"}}]}`, 0, "/tool_calls/0/type", "custom"},
		{`{"tool_calls":[{"function":{"name":"a"}},{"function":{"name":"b","arguments":{‸]}}]}`, 1, "/tool_calls/1/function/arguments", "name in quotes"},
		{`‸{"role":"assistant","content":[{"type":"tool_use","name":"a"}],"tool_calls":[{"function":{"name":"a"}}]}`, -1, "", "both"},
		{`‸{"output":[],"choices":[]}`, -1, "", "more than one"},
		{`{"choices":‸[]}`, -1, "/choices", "no choice"},
		{`{"choices":[{"message":{"role":"assistant"}},‸{}]}`, -1, "/choices/1", "more than one choice"},
		{`{"choices":[‸{}]}`, -1, "/choices/0", "no message"},
		{`{"choices":[{"message":{"tool_calls":[{"function":{"name":"a"}},{"function":{"name":‸}}]}}]}`, 1,
			"/choices/0/message/tool_calls/1/function/name", "want a value"},

		{`{"output":[{"type":"reasoning"},{"type":"function_call","name":"a"},‸{"type":"function_call"}]}`, 1, "/output/2", "no name"},
		{`{"output":[{"type":"reasoning"},{"type":"function_call","name":"a"},{"type":"function_call","name":"b","arguments":"‸`, 1,
			"/output/2/arguments", "end of input"},
		{`{"output":[{"type":"reasoning","text":‸`, -1, "/output/0/text", "want a value"},
		{`{"output":[‸{"name":"a"}]}`, -1, "/output/0", "no type"},
		{`{"output":[‸{"type":"custom_tool_call","call_id":"c","name":"a","input":"x"}]}`, 0, "/output/0", "free text"},
		{`[{"type":"tool_use","name":"a","input":{}},{"type":"tool_use","name":‸{}}]`, 1, "/1/name", "an object, want a string"},
		{`{"content":[‸"text"]}`, -1, "/content/0", "want an object"},
		{`{"content":‸{}}`, -1, "/content", "want an array"},
	} {
		before, after, marked := strings.Cut(c.batch, "‸")
		require.True(t, marked)
		calls, err := tool.ParseCalls([]byte(before + after))
		assert.Nil(t, calls, c.batch)
		var e *tool.ParseError
		require.ErrorAs(t, err, &e, c.batch)
		assert.Equal(t, c.call, e.Call, "call of %s: %v", c.batch, err)
		assert.Equal(t, c.path, e.Path, "path of %s: %v", c.batch, err)
		assert.Contains(t, e.Problem, c.says, c.batch)
		assert.Equal(t, len(before), e.Offset, "offset of %s: %v", c.batch, err)
	}
}

func TestParseErrorText(t *testing.T) {
	_, err := tool.ParseCalls([]byte(`{"calls":[{"name":"a"},{"name":7}]}`))
	assert.EqualError(t, err, "batch: call 2, byte 31, /calls/1/name: it is a number, want a string")
	_, err = tool.ParseCalls([]byte(`nope`))
	assert.EqualError(t, err, "batch: byte 0: unexpected 'n', want a value")
}

// What Windows programs write in front of a text moves nothing.
func TestParseCallsByteOrderMark(t *testing.T) {
	input := []byte("\uFEFF" + `{"calls":[{"name":"a","arguments":"\ufeff"}]}`)
	before := string(input)
	calls, err := tool.ParseCalls(input)
	require.NoError(t, err)
	assert.Equal(t, []tool.Call{{Name: "a", Arguments: "\uFEFF"}}, calls)
	assert.Equal(t, before, string(input), "the input is the caller's")

	for batch, says := range map[string]string{
		"\uFEFF":                   "batch: byte 3: unexpected end of input, want a value",
		"\uFEFF" + `{"calls":[7]}`: "batch: call 1, byte 13, /calls/0: it is a number, want an object",
		"\uFEFF\uFEFF{}":           `batch: byte 3: unexpected '\ufeff', want a value`,
		" \uFEFF{}":                `batch: byte 1: unexpected '\ufeff', want a value`,
	} {
		_, err := tool.ParseCalls([]byte(batch))
		assert.EqualError(t, err, says)
	}
}

// Hostile input ends early, and its message is short.
func TestParseCallsHostile(t *testing.T) {
	for name, batch := range map[string]string{
		"arrays":  strings.Repeat("[", 100<<20),
		"objects": strings.Repeat(`{"a":`, 20<<20),
		"within":  `{"calls":[{"name":"a","arguments":` + strings.Repeat("[", 50<<20),
	} {
		t.Run(name, func(t *testing.T) {
			var e *tool.ParseError
			_, err := tool.ParseCalls([]byte(batch))
			require.ErrorAs(t, err, &e)
			assert.Contains(t, e.Problem, "nested deeper than 1000")
			assert.Less(t, e.Offset, 10_000)
			assert.Less(t, len(err.Error()), 1000)
			if name == "within" {
				assert.Equal(t, 0, e.Call)
				assert.Contains(t, err.Error(), "batch: call 1, byte ")
				assert.Contains(t, err.Error(), ", /calls/0/arguments/0/0/0")
				assert.Contains(t, err.Error(), "/0/0/0: nested", "both ends of the path")
			}
		})
	}
	_, err := tool.ParseCalls([]byte(`{"` + strings.Repeat("k", 1<<20) + `":7 7`))
	assert.Less(t, len(err.Error()), 1000)
}

func batchOf(t require.TestingT, calls []tool.Call) []byte {
	data, err := json.Marshal(map[string]any{"calls": calls})
	require.NoError(t, err)
	return data
}

// A batch that is written as keywave's own comes back as it was.
func TestParseCallsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls := rapid.SliceOf(rapid.Custom(func(t *rapid.T) tool.Call {
			return tool.Call{
				ID:        rapid.String().Draw(t, "id"),
				Name:      rapid.StringN(1, 20, -1).Draw(t, "name"),
				Arguments: rapid.OneOf(rapid.String(), rapid.Just(`{"a":[1,{"b":null}]}`)).Draw(t, "arguments"),
			}
		})).Draw(t, "calls")
		if calls == nil {
			calls = []tool.Call{}
		}
		got, err := tool.ParseCalls(batchOf(t, calls))
		require.NoError(t, err)
		require.Equal(t, calls, got)
	})
}

// Each batch under testdata/batches is what a model emitted, or a malformed relative of it.
func FuzzParseCalls(f *testing.F) {
	files, err := filepath.Glob("testdata/batches/*.json")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(data)
		f.Add(data[:len(data)*2/3])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		calls, err := tool.ParseCalls(data)
		if err != nil {
			var e *tool.ParseError
			require.ErrorAs(t, err, &e)
			require.Nil(t, calls)
			require.GreaterOrEqual(t, e.Offset, 0)
			require.LessOrEqual(t, e.Offset, len(data))
			require.GreaterOrEqual(t, e.Call, -1)
			return
		}
		require.True(t, json.Valid(data), "accepted what encoding/json does not")
		again, err := tool.ParseCalls(batchOf(t, calls))
		require.NoError(t, err)
		require.Equal(t, calls, again)
	})
}
