package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/tool"
)

func TestTools(t *testing.T) {
	code, out, errOut := keywave(t, "", "tools")
	assert.Equal(t, exitDone, code, errOut)
	golden(t, "tools.txt", out)
	code, out, errOut = keywave(t, "", "tools", "--format", "json")
	assert.Equal(t, exitDone, code, errOut)
	golden(t, "tools.json", out)

	v := invocation{width: 60, env: map[string]string{"NO_COLOR": "1"}}
	assert.Equal(t, exitDone, v.run(t, "tools"))
	golden(t, "tools-60.txt", v.out.String())
	for _, line := range strings.Split(v.out.String(), "\n") {
		assert.LessOrEqual(t, cells.StringWidth(line), 60, line)
	}
}

// Listing them needs nothing of the working directory, and leaves it alone.
func TestToolsMakeNothing(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	code, _, errOut := keywave(t, "", "tools")
	assert.Equal(t, exitDone, code, errOut)
	assert.Empty(t, contents(t, dir))
}

// The JSON is what a model gets: the definitions as they encode themselves.
func TestToolsJSONIsTheDefinitions(t *testing.T) {
	b := new(batch)
	closeTools, err := b.openTools(t.TempDir())
	require.NoError(t, err)
	defer closeTools()
	end, err := codeFlag{"both"}.present(host{runtime: inProcess}, "", b)
	require.NoError(t, err)
	defer end()
	want, err := json.Marshal(b.tools.Definitions())
	require.NoError(t, err)
	_, out, _ := keywave(t, "", "tools", "--format=json")
	assert.JSONEq(t, string(want), out)
}

// Tools of a host's are shown in the order of their arguments, and cannot act on the terminal.
func TestToolTable(t *testing.T) {
	text, err := toolTable([]tool.Definition{
		{Name: "now", Parameters: json.RawMessage(`{"type":"object"}`)},
		{Name: "t\x1b[2J", Description: "It\nworks. And more.", Parameters: json.RawMessage(
			`{"type":"object","properties":{"z":{"type":"string"},"a\u001b":{"description":"x\u202e"}},"required":["z"]}`)},
	}, 80, false)
	require.NoError(t, err)
	assert.Equal(t, strings.Join([]string{
		`tool      type`,
		`now`,
		``,
		`t\x1b[2J          It\nworks.`,
		`  z*      string`,
		`  a\x1b           x\u202e`,
		``,
		`* must be given. A boolean that is not given is false.`,
		``,
	}, "\n"), text)
}
