package codemode_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/tool"
)

var update = flag.Bool("update", false, "write what is expected anew")

// golden holds a text to a file.
func golden(t *testing.T, name, got string) {
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

// declared is a definition with schemas as they are, as of a stranger's server.
func declared(name, description, parameters, output string) tool.Definition {
	return tool.Definition{Name: name, Description: description, Parameters: json.RawMessage(parameters), Output: json.RawMessage(output)}
}

func TestDeclarations(t *testing.T) {
	type search struct {
		Pattern string   `json:"pattern" jsonschema:"a regular expression"`
		Paths   []string `json:"paths,omitempty" jsonschema:"where to look"`
		Limit   int      `json:"limit,omitempty"`
		Options struct {
			Case   *bool          `json:"case,omitempty"`
			Extras map[string]any `json:"extras,omitempty"`
		} `json:"options,omitzero"`
	}
	grep := define(t, tool.Spec[search, any]{
		Name: "grep", Description: "Searches files.\n\nReturns matches.",
		Output: json.RawMessage(`{"type":"array","items":{"type":"object","properties":{"file":{"type":"string"},"line":{"type":"integer"}},"required":["file","line"],"additionalProperties":false}}`),
		Body:   func(context.Context, search) (any, error) { return nil, nil },
	})
	noArguments := define(t, tool.Spec[struct{}, string]{Name: "now", Description: "The time.", Output: json.RawMessage(`{"type":"string","format":"date-time"}`), Body: func(context.Context, struct{}) (string, error) { return "", nil }})
	golden(t, "declarations.ts", codemode.Declarations([]tool.Definition{*grep, *noArguments,
		declared("enums", "", `{"type":"object","required":["mode"],"properties":{
			"mode":{"enum":["a","b\"*/\u2028",1,-1.50,true,null,{"x":1}],"description":"which"},
			"level":{"enum":["low","high","low"],"default":"low"},
			"one":{"const":"only"},
			"n":{"type":["integer","null"],"minimum":0,"maximum":10,"description":"how many"},
			"list":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"}]},"minItems":1},
			"pair":{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}],"items":false},
			"rest":{"type":"array","prefixItems":[{"type":"string"}]},
			"any":{},"no":false,"either":{"oneOf":[{"type":"boolean"},{"$ref":"#/$defs/deep~1er"}]},
			"all":{"allOf":[{"type":"string"},{}]},"both":{"allOf":[{"type":"object"},{"type":["string","null"]}]},
			"variants":{"type":"object","properties":{"x":{"const":null},"y":{}},"anyOf":[{"required":["x"]},{"required":["y"]}]}},
			"$defs":{"deep/er":{"type":"object","properties":{"self":{"$ref":"#"},"named":{"type":"string"}}}}}`, ``),
		declared("open", "One line.", `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"number"}}`, `{"type":"object","additionalProperties":{"type":"number"}}`),
		declared("anything", "", `{"type":"object"}`, `{}`),
		declared("closed", "", `{"type":"object","additionalProperties":false}`, `true`),
	})+"\n")
}

var hostile = []string{"__proto__", "constructor", "toString", "then", "new", "get", "delete", "a-b", "a b", "", "1", "läuft", "*/ evil(); /*", "//", "`${x}`",
	"\"quote\"", "back\\slash", "new\nline", "\u2028\u2029", "\x00", "\xff\xfe", "}; evil(); declare const x: {", "tools", "🙂", "a.b", "[x]", "constructor(", "#private"}

// Names and texts of a stranger stay what they are: keys, and comments.
func TestHostileDeclarations(t *testing.T) {
	var defs []tool.Definition
	for _, name := range hostile {
		properties, err := json.Marshal(map[string]any{"type": "object", "required": []string{name}, "properties": map[string]any{
			name: map[string]any{"type": "string", "description": name, "default": name, "pattern": "*/", "enum": []string{name}}}})
		require.NoError(t, err)
		defs = append(defs, declared(name, "The tool "+name+" */ evil(); /**\r\n * @see \u2028evil()", string(properties), string(properties)))
	}
	text := codemode.Declarations(defs)
	golden(t, "hostile.ts", text+"\n")
	inComment := false
	for line := range strings.SplitSeq(text, "\n") {
		bare := strings.TrimSpace(line)
		switch {
		case inComment:
			if inComment = !strings.HasSuffix(bare, "*/"); inComment {
				assert.NotContains(t, bare, "*/")
			}
		case strings.HasPrefix(bare, "/**"):
			inComment = !strings.HasSuffix(bare, "*/")
			assert.LessOrEqual(t, strings.Count(bare, "*/"), 1)
		default:
			assert.NotRegexp(t, `^evil`, bare)
		}
	}
	assert.False(t, inComment)
}

// No schema makes it fail, take long or grow: what TypeScript cannot say is unknown.
func TestOddSchemas(t *testing.T) {
	for _, schema := range oddSchemas() {
		text := codemode.Declarations([]tool.Definition{declared("odd", "", schema, schema)})
		assert.True(t, strings.HasPrefix(text, "declare const tools: {\n  odd(args"), schema)
		assert.True(t, strings.HasSuffix(text, ">;\n};"), schema)
		assert.Less(t, len(text), 200_000)
	}
	assert.Equal(t, "declare const tools: {\n};", codemode.Declarations(nil))
}

// However a schema refers to its parts, what is shown of it is no longer than a multiple of it; and what is long because
// the schema is, is there.
func TestDeclarationsAreLinear(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	often := map[string]any{}
	for i := range 900 {
		often[fmt.Sprint("p", i)] = map[string]any{"$ref": "#/$defs/part"}
	}
	object := func(properties map[string]any) map[string]any {
		return map[string]any{"type": "object", "properties": properties}
	}
	wide, names := map[string]any{}, []string{}
	for i := range 20_000 {
		names = append(names, fmt.Sprintf("value-%07d", i))
		wide[names[i]] = map[string]any{}
	}
	for what, part := range map[string]map[string]any{
		"const": {"const": long}, "enum": {"enum": []string{long, "b"}}, "name": object(map[string]any{long: map[string]any{}}),
		"description": object(map[string]any{"a": map[string]any{"description": long}}), "required": {"type": "object", "required": names},
		"kinds": {"type": strings.Split(strings.Repeat("object ", 900), " "), "properties": wide},
	} {
		schema := object(often)
		schema["$defs"] = map[string]any{"part": part}
		raw, err := json.Marshal(schema)
		require.NoError(t, err)
		assert.Less(t, len(codemode.Declarations([]tool.Definition{declared("t", "", string(raw), "")})), 6*len(raw)+200_000, what)
	}
	for _, schema := range []map[string]any{{"enum": names}, {"type": "object", "properties": wide, "required": names}} {
		raw, err := json.Marshal(schema)
		require.NoError(t, err)
		assert.Contains(t, codemode.Declarations([]tool.Definition{declared("t", "", string(raw), "")}), `"value-0019999"`)
	}
}

// The same tools give the same bytes.
func TestDeclarationsAreDeterministic(t *testing.T) {
	one := declared("t", "", `{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"number"},"c":{}},"required":["c","a"]}`, ``)
	two := declared("t", "", `{"required":["a","c"],"properties":{"c":{},"a":{"type":"number"},"b":{"type":"string"}},"type":"object"}`, ``)
	want := codemode.Declarations([]tool.Definition{one})
	for range 100 {
		require.Equal(t, want, codemode.Declarations([]tool.Definition{two}))
	}
}

func oddSchemas() []string {
	fork := `{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"$ref":"#"}}}`
	deep := strings.Repeat(`{"type":"array","items":`, 900) + `{}` + strings.Repeat(`}`, 900)
	return []string{``, `nonsense`, `null`, `[]`, `"x"`, `1`, `true`, `false`, `{`, `{"type":1}`, `{"type":["x",1]}`, `{"type":[]}`, `{"enum":1}`, `{"enum":[]}`,
		`{"anyOf":{}}`, `{"oneOf":[]}`, `{"allOf":[]}`, `{"$ref":1}`, `{"$ref":{"$ref":{}}}`, `{"allOf":[{"$ref":[]},{"$ref":[]}]}`, `{"$ref":"#/"}`, `{"$ref":"#/nowhere"}`, `{"$ref":"http://x/y"}`, `{"$ref":"#"}`, `{"$ref":"#/$ref"}`,
		`{"properties":1}`, `{"properties":{"a":1}}`, `{"type":"object","required":1}`, `{"type":"object","required":[1,"a"]}`, `{"type":"object","additionalProperties":1}`,
		`{"type":"array","items":1}`, `{"type":"array","prefixItems":{}}`, fork, deep}
}
