package rules_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/rules"
)

// The defaults, agent by agent: what each kind of tool claims.
func TestDefaultsOfEveryAgent(t *testing.T) {
	const dir = "/w"
	for _, c := range []struct {
		agent, name, arguments string
		claims                 []plan.Claim // nil: exclusive
	}{
		{"claude-code", "Read", `{"file_path":"/w/a"}`, []plan.Claim{read("file/w/a")}},
		{"claude-code", "Edit", `{"file_path":"/w/a","old_string":"x"}`, []plan.Claim{write("file/w/a")}},
		{"claude-code", "MultiEdit", `{"file_path":"/w/a","edits":[]}`, []plan.Claim{write("file/w/a")}},
		{"claude-code", "Write", `{"file_path":"/w/a"}`, []plan.Claim{write("file/w/a")}},
		{"claude-code", "NotebookEdit", `{"notebook_path":"/w/a"}`, []plan.Claim{write("file/w/a")}},
		{"claude-code", "Glob", `{"pattern":"**"}`, []plan.Claim{readTree("file/w")}},
		{"claude-code", "Grep", `{"pattern":"x","path":"/w/d"}`, []plan.Claim{readTree("file/w/d")}},
		{"claude-code", "LS", `{"path":"d"}`, []plan.Claim{readTree("file/w/d")}},
		{"claude-code", "WebFetch", `{"url":"HTTPS://Example.com:443/a"}`, []plan.Claim{read("url/https/example.com/a")}},
		{"claude-code", "TodoWrite", `{}`, []plan.Claim{writeTree("todo")}},
		{"claude-code", "TaskUpdate", `{"taskId":"1"}`, []plan.Claim{write("task/1")}},
		{"claude-code", "TaskList", `{}`, []plan.Claim{readTree("task")}},
		{"claude-code", "LSP", `{}`, []plan.Claim{readTree("file/w")}},
		{"claude-code", "Bash", `{"command":"ls"}`, nil},
		{"claude-code", "Agent", `{}`, nil},
		{"codex", "shell", `{"command":["ls"]}`, nil},
		{"codex", "exec_command", `{"cmd":"ls"}`, nil},
		{"codex", "apply_patch", `"*** Begin Patch\n*** Update File: a.go\n*** Move to: b.go\n*** Add File: /w/c\n*** End Patch"`,
			[]plan.Claim{write("file/w/a.go"), write("file/w/b.go"), write("file/w/c")}},
		{"codex", "apply_patch", `{"input":"*** Delete File: a.go\r\n"}`, []plan.Claim{write("file/w/a.go")}},
		{"codex", "view_image", `{"path":"p.png"}`, []plan.Claim{read("file/w/p.png")}},
		{"opencode", "read", `{"filePath":"/w/a"}`, []plan.Claim{readTree("file/w/a")}},
		{"opencode", "edit", `{"filePath":"/w/a"}`, []plan.Claim{write("file/w/a")}},
		{"opencode", "glob", `{"pattern":"*"}`, []plan.Claim{readTree("file/w")}},
		{"opencode", "bash", `{"command":"ls"}`, nil},
		{"copilot", "view", `{"path":"/w/d"}`, []plan.Claim{readTree("file/w/d")}},
		{"copilot", "rg", `{"paths":["a","b"]}`, []plan.Claim{readTree("file/w/a"), readTree("file/w/b")}},
		{"copilot", "create", `{"path":"/w/a"}`, []plan.Claim{write("file/w/a")}},
		{"copilot", "powershell", `{"command":"dir"}`, nil},
		{"gemini", "read_file", `{"absolute_path":"/w/a"}`, []plan.Claim{read("file/w/a")}},
		{"gemini", "replace", `{"file_path":"/w/a"}`, []plan.Claim{write("file/w/a")}},
		{"gemini", "run_shell_command", `{"command":"ls"}`, nil},
		{"pi", "read", `{"path":"/w/a"}`, []plan.Claim{read("file/w/a")}},
		{"pi", "edit", `{"path":"/w/a"}`, []plan.Claim{write("file/w/a")}},
		{"pi", "bash", `{"command":"ls"}`, nil},
		{"dsh", "bash", `{"command":"ls"}`, nil},
		{"keywave", "move", `{"from":"a","to":"b"}`, []plan.Claim{writeTree("file/w/a"), writeTree("file/w/b")}},
	} {
		d := declare(rules.Default(), c.agent, dir, c.name, c.arguments)
		assert.Equal(t, plan.Call{Safe: c.claims != nil, Claims: c.claims}, d.Call, "%s %s %s", c.agent, c.name, c.arguments)
		assert.NoError(t, d.Why, "%s %s", c.agent, c.name)
		assert.Equal(t, c.name, d.Rule)
	}
}

// The tools of one agent are not those of another, and a tool without a rule runs alone.
func TestNoRuleIsExclusive(t *testing.T) {
	for _, agent := range []string{"openai", "", "codex"} {
		d := declare(rules.Default(), agent, "/w", "Read", `{"file_path":"/w/a"}`)
		assert.False(t, d.Safe, agent)
		assert.ErrorIs(t, d.Why, rules.ErrNoRule, agent)
		assert.Empty(t, d.Rule)
	}
	assert.ErrorIs(t, declare(new(rules.Rules), "codex", "", "shell", "{}").Why, rules.ErrNoRule)
}

func TestUntimed(t *testing.T) {
	r := rules.Default()
	for _, name := range []string{"Agent", "Task", "AskUserQuestion"} {
		assert.True(t, declare(r, "claude-code", "", name, "{}").Untimed, name)
	}
	assert.True(t, declare(r, "claude-code", "", "Bash", `{"command":"x","run_in_background":true}`).Untimed)
	assert.False(t, declare(r, "claude-code", "", "Bash", `{"command":"x","run_in_background":false}`).Untimed)
	assert.False(t, declare(r, "claude-code", "", "Read", `{"file_path":"/a"}`).Untimed)
	r = parse(t, `{"rules":1,"tools":{"x":{"background":["a","b.c"]},"y":{"untimed":true,"background":"a"}}}`)
	for arguments, want := range map[string]bool{`{"a":true}`: true, `{"b":{"c":true}}`: true, `{"a":"true"}`: false, `{"b":true}`: false, `[]`: false} {
		assert.Equal(t, want, declare(r, "", "", "x", arguments).Untimed, arguments)
	}
	assert.True(t, declare(r, "", "", "y", `{"a":false}`).Untimed)
}

// The file of a user wins over the defaults: by the exact name, by the beginning of one, for an agent and for all.
func TestOver(t *testing.T) {
	mine := parse(t, `{"rules":1,
		"tools": {"mcp__*": {"safe":true}, "mcp__db__*": {"safe":true,"writes":[{"name":"db"}]}, "mcp__db__drop": {}, "Read": {}},
		"agents": {"pi": {"Read": {"safe":true}}}}`)
	r := mine.Over(rules.Default())
	claims := func(agent, name string) plan.Call { return declare(r, agent, "/w", name, `{"file_path":"a"}`).Call }
	assert.Equal(t, plan.Call{Safe: true}, claims("codex", "mcp__x__y"))
	assert.Equal(t, plan.Call{Safe: true, Claims: []plan.Claim{writeTree("db")}}, claims("codex", "mcp__db__insert"))
	assert.Equal(t, plan.Call{}, claims("codex", "mcp__db__drop"))
	assert.Equal(t, plan.Call{}, claims("claude-code", "Read"), "the user's rule for all agents")
	assert.Equal(t, plan.Call{Safe: true}, claims("pi", "Read"), "the user's rule for one agent")
	assert.Equal(t, plan.Call{Safe: true, Claims: []plan.Claim{write("file/w/a")}}, claims("claude-code", "Edit"), "the default")
	require.Equal(t, plan.Call{Safe: true, Claims: []plan.Claim{read("file/w/a")}},
		declare(rules.Default(), "claude-code", "/w", "Read", `{"file_path":"a"}`).Call, "the defaults are as they were")
}

// The five calls of a batch in which two edits of one file are apart from reads of others.
func TestDefaultsPlan(t *testing.T) {
	declared := rules.Default().Calls(rules.Where{Agent: "claude-code", Dir: "/w"}, []tool.Call{
		{Name: "Edit", Arguments: `{"file_path":"a"}`},
		{Name: "Read", Arguments: `{"file_path":"/w/b"}`},
		{Name: "Edit", Arguments: `{"file_path":"/w/./a"}`},
		{Name: "Grep", Arguments: `{"pattern":"x","path":"."}`},
		{Name: "Read", Arguments: `{"file_path":"/w/c"}`},
	})
	calls := make([]plan.Call, len(declared))
	for i, d := range declared {
		calls[i] = d.Call
	}
	assert.Equal(t, [][]int{{0, 1, 4}, {2}, {3}}, plan.Ordered(calls).Waves())
}
