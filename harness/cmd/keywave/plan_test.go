package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/tool"
)

// turnBatch has every reason for a wave in it.
const turnBatch = `{"calls":[
	{"id":"1","name":"read","arguments":{"path":"src/漢字かな.go"}},
	{"id":"2","name":"grep","arguments":{"pattern":"TODO","path":"."}},
	{"id":"3","name":"edit","arguments":{"path":"src/漢字かな.go","old":"a","new":"b"}},
	{"id":"4","name":"write","arguments":{"path":"notes/new.md","content":"x"}},
	{"id":"5","name":"move","arguments":{"from":"src","to":"lib"}},
	{"id":"6","name":"deploy","arguments":{"to":"production"}},
	{"id":"7","name":"read","arguments":{"path":"notes/new.md"}},
	{"id":"8","name":"read","arguments":{"path":"../outside"}}
]}`

// planOutput is what plan prints about turnBatch, without the name of the directory.
func planOutput(t *testing.T, args ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(workDir(t, map[string]string{"src/漢字かな.go": "a\n"}))
	require.NoError(t, err)
	code, out, errOut := keywave(t, turnBatch, append([]string{"plan", "-", "--dir", dir}, args...)...)
	require.Equal(t, exitDone, code, errOut)
	assert.Empty(t, errOut)
	return strings.ReplaceAll(out, strings.Trim(filepath.ToSlash(dir), "/"), "DIR")
}

func TestPlanFormats(t *testing.T) {
	golden(t, "plan.txt", planOutput(t))
	golden(t, "plan-first-fit.txt", planOutput(t, "--first-fit"))
	golden(t, "plan.json", planOutput(t, "--format", "json"))
	golden(t, "plan.mermaid", planOutput(t, "--format=mermaid"))
	golden(t, "plan.dot", planOutput(t, "--format=dot"))
}

func TestPlanJSONHasEveryCallOnceAndInOrder(t *testing.T) {
	for _, args := range [][]string{{"--format=json"}, {"--format=json", "--first-fit"}} {
		var got planJSON
		require.NoError(t, json.Unmarshal([]byte(planOutput(t, args...)), &got))
		waves := map[int]int{}
		for w, wave := range got.Waves {
			for _, i := range wave {
				waves[i] = w
			}
		}
		require.Len(t, got.Calls, 8)
		for i, c := range got.Calls {
			assert.Equal(t, i, c.Index)
			assert.Equal(t, string(rune('1'+i)), c.ID)
			assert.Equal(t, waves[i], c.Wave)
			assert.NotEmpty(t, c.Reason)
		}
	}
}

func TestPlanSaysWhyACallRunsAlone(t *testing.T) {
	alone := func(batch string, tools ...*tool.Definition) (table string, got planJSON) {
		var outs [2]string
		for i, format := range []string{"table", "json"} {
			v := invocation{stdin: strings.NewReader(batch), tools: tools, width: 120, env: map[string]string{"NO_COLOR": "1"}}
			require.Equal(t, exitDone, v.run(t, "plan", "-", "--dir", t.TempDir(), "--format", format), v.errOut.String())
			outs[i] = v.out.String()
		}
		require.NoError(t, json.Unmarshal([]byte(outs[1]), &got))
		return outs[0], got
	}
	for call, want := range map[string]struct {
		why  string
		code tool.Code
	}{
		`{"name":"deploy"}`: {"unknown tool", tool.UnknownTool},
		`{"name":"read"}`:   {"invalid arguments: missing property 'path'", tool.InvalidArgs},
		`{"name":"read","arguments":{"path":"a","line":1}}`:       {"invalid arguments: additional properties 'line' not allowed", tool.InvalidArgs},
		`{"name":"read","arguments":{"path":7,"limit":"x"}}`:      {"invalid arguments: /limit: got string, want integer", tool.InvalidArgs},
		`{"name":"read","arguments":"{\"path\":"}`:                {"invalid arguments: byte 8, /path: unexpected end of input, want a value", tool.InvalidArgs},
		`{"name":"read","arguments":{"path":"../outside"}}`:       {`its claims failed: path "../outside": path leads out of the root`, ""},
		`{"name":"slow","arguments":{"ms":1,"key":"everything"}}`: {"not known to be safe with these arguments", ""},
	} {
		table, got := alone(`{"calls":[`+call+`]}`, slow(t))
		assert.Contains(t, table, "runs alone ("+want.why+")")
		require.Len(t, got.Calls, 1)
		assert.Equal(t, "runs alone ("+want.why+")", got.Calls[0].Reason)
		assert.Equal(t, want.code, got.Calls[0].Code)
		assert.True(t, got.Calls[0].Exclusive)
	}
	_, got := alone(`{"calls":[{"name":"read","arguments":{"path":"a"}}]}`)
	assert.Empty(t, got.Calls[0].Code)
}

// Planning leaves the directory as it is.
func TestPlanRunsNothing(t *testing.T) {
	dir := workDir(t, map[string]string{"a": "1"})
	code, _, _ := keywave(t, `{"calls":[{"name":"write","arguments":{"path":"b","content":"x"}},{"name":"remove","arguments":{"path":"a"}}]}`, "plan", "-", "--dir", dir)
	assert.Equal(t, exitDone, code)
	assert.Equal(t, map[string]string{"a": "1"}, contents(t, dir))
}

// A batch can have as many inversions as pairs of calls.
func TestPlanManyInversions(t *testing.T) {
	// Writes of a, an exclusive call, and as many writes of b, which join the first waves in front of the exclusive
	// call.
	batch := func(n int) string {
		call := func(path string) string { return `{"name":"write","arguments":{"path":"` + path + `","content":"x"}}` }
		calls := slices.Repeat([]string{call("a")}, n)
		calls = append(calls, `{"name":"deploy","arguments":{}}`)
		calls = append(calls, slices.Repeat([]string{call("b")}, n)...)
		return `{"calls":[` + strings.Join(calls, ",") + `]}`
	}
	dir := workDir(t, nil)
	run := func(n int, args ...string) string {
		code, out, errOut := keywave(t, batch(n), append([]string{"plan", "-", "--dir", dir, "--first-fit"}, args...)...)
		require.Equal(t, exitDone, code, errOut)
		return out
	}
	out := run(20)
	assert.Equal(t, 20, strings.Count(out, "! call"))
	assert.NotContains(t, out, "more")
	assert.NotContains(t, out, "compared")
	out = run(100)
	assert.Equal(t, 20, strings.Count(out, "! call"))
	assert.Contains(t, out, "! call 121 runs before call 101, which it conflicts with\n! and 80 more\n")

	var got planJSON
	require.NoError(t, json.Unmarshal([]byte(run(100, "--format=json")), &got))
	assert.Len(t, got.Inversions, 20)
	assert.Equal(t, inversion{101, 100}, got.Inversions[0])
	assert.Equal(t, 100, got.Count)
	assert.Equal(t, 201, got.Compared)

	require.NoError(t, json.Unmarshal([]byte(run(1500, "--format=json")), &got))
	assert.Equal(t, 2000-1501, got.Count)
	assert.Equal(t, 2000, got.Compared)
	assert.True(t, strings.HasSuffix(run(1500), "! and 479 more\nonly the first 2000 calls were compared with each other\n"))

	// A plan in order takes no comparing.
	var ordered planJSON
	code, out, _ := keywave(t, batch(1500), "plan", "-", "--dir", dir, "--format=json")
	require.Equal(t, exitDone, code)
	require.NoError(t, json.Unmarshal([]byte(out), &ordered))
	assert.Empty(t, ordered.Inversions)
	assert.Equal(t, 3001, ordered.Compared)
}

func TestSubject(t *testing.T) {
	for arguments, want := range map[string]string{
		``:                                 "",
		`{}`:                               "",
		`{"path":"a.go"}`:                  "a.go",
		`{"path":"b","pattern":"x+"}`:      `"x+" b`,
		`{"from":"a","to":"b"}`:            "a → b",
		`{"to":"production","force":true}`: "→ production",
		`{"n":1}`:                          `{"n":1}`,
		`{"path":7}`:                       `{"path":7}`,
		`[1]`:                              `[1]`,
		"not\x1b json":                     `not\x1b json`,
		`{"path":"a\nb"}`:                  `a\nb`,
		`{"path":"` + strings.Repeat("x", 99) + `"}`: strings.Repeat("x", 39) + "…",
	} {
		assert.Equal(t, want, subject(arguments))
	}
}
