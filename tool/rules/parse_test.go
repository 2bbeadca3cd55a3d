package rules_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/rules"
)

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func TestBadRulesSayWhere(t *testing.T) {
	for file, want := range map[string]string{
		``:                     `rules: line 1, column 1: not JSON: unexpected end of JSON input`,
		`[]`:                   `rules: line 1, column 1: must be an object`,
		`{}`:                   `rules: line 1, column 1: the member "rules": 1 is missing, which says that this is a rules file`,
		`{"rules":2}`:          `rules: line 1, column 10: rules: version 2: this is a reader of version 1`,
		`{"rules":"1"}`:        `rules: line 1, column 10: rules: must be a number`,
		`{"rules":1} x`:        `rules: line 1, column 13: not JSON: invalid character 'x' after top-level value`,
		`{"rules":1,"rule":1}`: `rules: line 1, column 12: rule: unknown member "rule": there are rules, tools, agents, note`,
		"{\"rules\":1,\n \"tools\":{\n  \"Read\":{\"safe\":\"yes\"}}}":             `rules: line 3, column 18: tools.Read.safe: must be true or false`,
		"{\"rules\":1,\n\"tools\":{\"a\":{},\n\"a\":{}}}":                          `rules: line 3, column 1: tools.a: it is there twice`,
		`{"rules":1,"tools":{"a":{"reads":[{"path":"p"}]}}}`:                       `rules: line 1, column 26: tools.a: reads and writes have no effect without "safe": true`,
		`{"rules":1,"tools":{"a":{"safe":true,"reads":[{"pth":"p"}]}}}`:            `rules: line 1, column 48: tools.a.reads[0].pth: unknown member "pth": there are path, tree, patch, url, name, of, default`,
		`{"rules":1,"tools":{"a":{"safe":true,"reads":[{"of":"p"}]}}}`:             `rules: line 1, column 48: tools.a.reads[0]: must say path, tree, patch, url or name`,
		`{"rules":1,"tools":{"a":{"safe":true,"reads":[{}]}}}`:                     `rules: line 1, column 48: tools.a.reads[0]: must say path, tree, patch, url or name`,
		`{"rules":1,"tools":{"a":{"safe":true,"reads":[{"path":[]}]}}}`:            `rules: line 1, column 48: tools.a.reads[0]: must name an argument, or have a default`,
		`{"rules":1,"tools":{"a":{"safe":true,"reads":[{"path":"a..b"}]}}}`:        `rules: line 1, column 55: tools.a.reads[0].path: "a..b" is no name of an argument`,
		`{"rules":1,"tools":{"a":{"safe":true,"reads":[{"path":["a",7]}]}}}`:       `rules: line 1, column 60: tools.a.reads[0].path[1]: must be the name of an argument`,
		`{"rules":1,"tools":{"a":{"safe":true,"reads":[{"path":"a","url":"b"}]}}}`: `rules: line 1, column 59: tools.a.reads[0].url: a use is one of path, tree, patch, url, name`,
		`{"rules":1,"tools":{"a":{"safe":true,"reads":[{"name":"file"}]}}}`:        `rules: line 1, column 55: tools.a.reads[0].name: kind "file": invalid name: it is taken by the keys of files and URLs`,
		`{"rules":1,"tools":{"a*b":{}}}`:                                           `rules: line 1, column 21: tools.a*b: a * stands at the end of a name only`,
		`{"rules":1,"tools":{"a":{"safe":true,"reads":{"path":"p"}}}}`:             `rules: line 1, column 46: tools.a.reads: must be a list`,
		`{"rules":1,"tools":{"a":{"safe":tru}}}`:                                   `rules: line 1, column 36: not JSON: invalid character '}' in literal true (expecting 'e')`,
		`{"rules":1,"tools":{"a":{"safe":true,"reads":[{"path":"p","of":"q"}]}}}`:  `rules: line 1, column 48: tools.a.reads[0]: only a name has an "of": the others say the argument themselves`,
		`{"rules":1,"tools":{"a":{"safe":true,"reads":[{"of":"q","path":"p"}]}}}`:  `rules: line 1, column 57: tools.a.reads[0].path: only a name has an "of": the others say the argument themselves`,
		"{\"rules\":1,\"tools\":{\"a\":{\"safe\":true,\n\"reads\":[{}]}}}":         `rules: line 2, column 11: tools.a.reads[0]: must say path, tree, patch, url or name`,
	} {
		_, err := rules.Parse([]byte(file))
		var placed *rules.Error
		if assert.ErrorAs(t, err, &placed, file) {
			assert.Equal(t, want, err.Error(), file)
		}
	}
}

// The defaults can be read, and are what Default returns.
func TestDefaultIsWhatIsEmbedded(t *testing.T) {
	for agent, tool := range map[string]string{
		"claude-code": "Read", "codex": "apply_patch", "opencode": "read", "copilot": "view", "gemini": "read_file",
		"pi": "read", "dsh": "read", "keywave": "read",
	} {
		assert.Equal(t, tool, declare(rules.Default(), agent, "", tool, "{}").Rule)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"rules":1,"tools":{"a*":{"safe":true,"reads":[{"path":["p",".","a.b"],"default":"."}]}}}`, `{"p":["a"]}`, "/w")
	f.Add(editor, `{"p":"C:\\x"}`, "")
	f.Fuzz(func(t *testing.T, file, arguments, dir string) {
		r, err := rules.Parse([]byte(file))
		if err != nil {
			var placed *rules.Error
			require.ErrorAs(t, err, &placed)
			require.Positive(t, placed.Line)
			require.Positive(t, placed.Column)
			r = rules.Default()
		}
		for _, agent := range []string{"", "claude-code", "codex"} {
			for _, name := range []string{"w", "a", "Read", "apply_patch"} {
				for _, d := range r.Calls(rules.Where{Agent: agent, Dir: dir}, []tool.Call{{Name: name, Arguments: arguments}}) {
					if !d.Safe {
						require.Empty(t, d.Claims)
						continue
					}
					require.NoError(t, d.Why)
					require.False(t, d.Exclusive(), "a claim without a key: %v", d.Claims)
				}
			}
		}
	})
}
