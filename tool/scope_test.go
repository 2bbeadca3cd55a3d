package tool_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

func names(defs []tool.Definition) []string {
	out := []string{}
	for _, d := range defs {
		out = append(out, d.Name+d.Description)
	}
	return out
}

// described is a tool that says whose it is.
func described(t require.TestingT, name, whose string) *tool.Definition {
	s := free(name, func(ctx) (string, error) { return whose, nil })
	s.Description = whose
	return define(t, s)
}

func TestScope(t *testing.T) {
	global := registry(t, described(t, "read", ":global"), described(t, "shell", ":global"), described(t, "write", ":global"))
	own := registry(t, described(t, "read", ":own"), described(t, "report", ":own"))
	for _, c := range []struct {
		scope *tool.Scope
		want  []string
	}{
		{&tool.Scope{}, []string{}},
		{&tool.Scope{Parent: global}, []string{"read:global", "shell:global", "write:global"}},
		{&tool.Scope{Own: own}, []string{"read:own", "report:own"}},
		{&tool.Scope{Parent: global, Own: own}, []string{"read:own", "report:own", "shell:global", "write:global"}},
		{&tool.Scope{Parent: global, Own: own, Deny: []string{"shell", "read"}}, []string{"report:own", "write:global"}},
		{&tool.Scope{Parent: global, Own: own, Allow: []string{"read", "shell"}}, []string{"read:own", "shell:global"}},
		{&tool.Scope{Parent: global, Allow: []string{"read", "shell"}, Deny: []string{"shell"}}, []string{"read:global"}},
		{&tool.Scope{Parent: global, Own: own, Allow: []string{}}, []string{}},
		{&tool.Scope{Parent: &tool.Scope{Parent: global, Allow: []string{"write"}}, Own: own}, []string{"read:own", "report:own", "write:global"}},
	} {
		assert.Equal(t, c.want, names(c.scope.Definitions()))
		for _, name := range []string{"read", "report", "shell", "write", "none"} {
			got := "hidden"
			if d := c.scope.Bind(name).Definition; d != nil {
				got = d.Name + d.Description
				assert.Contains(t, c.want, got)
			}
			assert.Equal(t, got != "hidden", len(c.want) > 0 && anyOf(c.want, name), name)
		}
	}
	empty := &tool.Scope{}
	assert.Equal(t, "[]", mustJSON(t, empty.Definitions()))
}

func anyOf(names []string, name string) bool {
	for _, n := range names {
		if len(n) > len(name) && n[:len(name)+1] == name+":" {
			return true
		}
	}
	return false
}

// A scope is live, and its generation grows with every change of what is below it.
func TestScopeGenerations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		global, own := new(tool.Registry), new(tool.Registry)
		scope := &tool.Scope{Parent: global, Own: own, Deny: []string{"c"}}
		for range rapid.IntRange(1, 20).Draw(t, "changes") {
			before := scope.Bind("a")
			r := rapid.SampledFrom([]*tool.Registry{global, own}).Draw(t, "registry")
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
			changed := true
			if rapid.Bool().Draw(t, "remove") {
				changed = r.Unregister(name)
			} else {
				require.NoError(t, r.Replace(described(t, name, "")))
			}
			after := scope.Bind("a")
			require.Equal(t, changed, after.Generation > before.Generation)
			want := own.Bind("a").Definition
			if want == nil {
				want = global.Bind("a").Definition
			}
			require.Same(t, want, after.Definition)
			require.Nil(t, scope.Bind("c").Definition)
		}
	})
}

// A tool that is hidden is exclusive to the planner, and unknown to whoever calls it.
func TestT1HiddenIsExclusive(t *testing.T) {
	global := registry(t, described(t, "read", ""), described(t, "write", ""))
	scope := &tool.Scope{Parent: global, Deny: []string{"write"}}
	assert.Equal(t, []plan.Call{{Safe: true}, {}}, tool.Calls(scope, named("read", "write")))
	results, err := tool.Run(t.Context(), scope, named("read", "write"))
	require.NoError(t, err)
	assert.Equal(t, []tool.Code{"", tool.UnknownTool}, codes(results))
	assert.Equal(t, `There is no tool "write": nothing was run. The tools are: read.`, results[1].Text())
}

// A call within a call reaches what the model was shown, no more and no less.
func TestCase_definitions_2(t *testing.T) {
	var wrote int
	read, write := described(t, "read", "read"), define(t, free("write", func(ctx) (string, error) { wrote++; return "", nil }))
	batch := define(t, tool.Spec[struct{}, tool.Result]{Name: "batch", Body: func(c ctx, _ struct{}) (tool.Result, error) {
		around := tool.InvocationOf(c)
		results, err := around.Pipeline.Run(c, around.Tools, named("write", "patch"))
		out := tool.Result{}
		for _, r := range results {
			out.Content = append(out.Content, tool.Block{Text: string(r.Code) + r.Text()})
		}
		return out, err
	}})
	global := registry(t, read, write)
	shown := &tool.Scope{Parent: global, Own: registry(t, described(t, "patch", "patched"), batch), Deny: []string{"write"}}
	results, err := tool.Run(t.Context(), shown, named("batch"))
	require.NoError(t, err)
	assert.Equal(t, []string{
		`UNKNOWN_TOOLThere is no tool "write": nothing was run. The tools are: batch, patch, read.`, "patched",
	}, []string{results[0].Content[0].Text, results[0].Content[1].Text})
	assert.Zero(t, wrote)
	assert.Nil(t, tool.InvocationOf(t.Context()))
}
