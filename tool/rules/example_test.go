package rules_test

import (
	"fmt"

	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/rules"
)

// The calls of an answer, as Claude Code recorded them.
func ExampleRules_Calls() {
	where := rules.Where{Agent: "claude-code", Dir: "/home/me/project"}
	for _, d := range rules.Default().Calls(where, []tool.Call{
		{Name: "Read", Arguments: `{"file_path": "/home/me/project/main.go"}`},
		{Name: "Grep", Arguments: `{"pattern": "TODO", "path": "lib"}`},
		{Name: "Bash", Arguments: `{"command": "go test ./..."}`},
		{Name: "mcp__db__query", Arguments: `{"sql": "select 1"}`},
	}) {
		fmt.Println(d.Safe, d.Claims, d.Why)
	}
	// Output:
	// true [read file/home/me/project/main.go] <nil>
	// true [read file/home/me/project/lib/...] <nil>
	// false [] <nil>
	// false [] no rule for the tool "mcp__db__query"
}

// A file of one's own says what the defaults do not know.
func ExampleRules_Over() {
	mine, err := rules.Parse([]byte(`{
		"rules": 1,
		"tools": {"mcp__db__query": {"safe": true, "reads": [{"name": "table", "of": "table"}]}}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	calls := []tool.Call{{Name: "mcp__db__query", Arguments: `{"table": "users"}`}}
	fmt.Println(mine.Over(rules.Default()).Calls(rules.Where{Agent: "codex"}, calls)[0].Claims)
	// Output: [read table/users]
}
