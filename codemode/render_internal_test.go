package codemode

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestValueOf(t *testing.T) {
	long := strings.Repeat("x", 70)
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct {
		raw, shown string
		whole      bool
	}{
		{`"raw \"text\"\nof <two> lines"`, "raw \"text\"\nof <two> lines", true},
		{`""`, "", true},
		{`12345678901234567890.10`, "12345678901234567890.10", true},
		{` { "a" : [ 1 , null ] } `, `{"a":[1,null]}`, true},
		{`[]`, `[]`, true},
		{`{"` + long + `":{"a":1,"b":"{[,:\"]}\\"},"b":[]}`, "{\n  \"" + long + "\": {\"a\":1,\"b\":\"{[,:\\\"]}\\\\\"},\n  \"b\": []\n}", true},
		{`["` + long + `",["` + long + `","` + long + `"]]`, "[\n  \"" + long + "\",\n  [\n    \"" + long + "\",\n    \"" + long + "\"\n  ]\n]", true},
		{deep(1000), "[\n  [\n    [\n      [\n        [\n          [\n            [\n              [\n                " + deep(992) +
			"\n              ]\n            ]\n          ]\n        ]\n      ]\n    ]\n  ]\n]", true},
		{`"\ud83d\ude42"`, "🙂", true},
		{`"a\ud83d"`, "a\uFFFD", false},
		{`"\ude42\ud83d"`, "\uFFFD\uFFFD", false},
		{`["\uD83Dx"]`, `["\uD83Dx"]`, false},
		{`["\\ud83d"]`, `["\\ud83d"]`, true},
		{`{"a":`, `{"a":`, false},
		{"\"\xff\"", "\uFFFD", false},
	} {
		shown, whole := valueOf(json.RawMessage(c.raw))
		assert.Equal(t, c.shown, shown, c.raw)
		assert.Equal(t, c.whole, whole, c.raw)
	}
	_, whole := valueOf(json.RawMessage(deep(1001)))
	assert.False(t, whole)
	shown, whole := valueOf(json.RawMessage(deep(100_000)))
	assert.False(t, whole)
	assert.Equal(t, deep(100_000), shown)
}

// What is shown is the same JSON, and no more than a multiple of it, however it is nested.
func TestPrettyIsLinear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var value func(depth int) any
		value = func(depth int) any {
			switch n := rapid.IntRange(0, 5).Draw(t, "kind"); {
			case n == 0 || depth > 14:
				return rapid.SampledFrom([]any{nil, true, 1.5, "", `"[{,:`, strings.Repeat("y", 50)}).Draw(t, "leaf")
			case n < 4:
				list := []any{}
				for range rapid.IntRange(0, 3).Draw(t, "n") {
					list = append(list, value(depth+1))
				}
				return list
			}
			object := map[string]any{}
			for _, k := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "\"", "}", "long " + strings.Repeat("z", 30)}), 0, 3).Draw(t, "keys") {
				object[k] = value(depth + 1)
			}
			return object
		}
		raw, err := json.Marshal([]any{value(0)})
		require.NoError(t, err)
		shown, _ := pretty(raw)
		require.JSONEq(t, string(raw), shown)
		var b bytes.Buffer
		require.NoError(t, json.Compact(&b, []byte(shown)))
		require.Equal(t, string(raw), b.String())
		require.LessOrEqual(t, len(shown), 18*len(raw))
	})
	comb := []byte(strings.Repeat(`[1,`, 5000) + "1" + strings.Repeat("]", 5000)) // indented all the way, it would have 100 MB
	shown, deepest := pretty(comb)
	assert.Equal(t, 5000, deepest)
	assert.Less(t, len(shown), 2*len(comb))
}

func TestCut(t *testing.T) {
	assert.Equal(t, "ä", cut("äö", 3))
	assert.Empty(t, cut("äö", 1))
	assert.Empty(t, cut("äö", -1))
	assert.Equal(t, "äö", cut("äö", 4))
	assert.Equal(t, "ab… (2 bytes more)", bounded("abcd", 2))
	assert.Equal(t, "a\uFFFD", bounded("a\xff", 10))
}

func TestMember(t *testing.T) {
	for name, want := range map[string]string{"read": "tools.read", "$_1": "tools.$_1", "a-b": `tools["a-b"]`, "": `tools[""]`, "1a": `tools["1a"]`,
		"__proto__": `tools["__proto__"]`, "x\"]; evil()": `tools["x\"]; evil()"]`, "\xff": `tools["` + "\uFFFD" + `"]`} {
		assert.Equal(t, want, member(name))
	}
}
