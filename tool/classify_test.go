package tool_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

func TestT1ExclusiveUnlessSafeReturnedTrue(t *testing.T) {
	with := func(f func(file) bool) *tool.Definition {
		return define(t, tool.Spec[file, string]{Name: "t", Safe: f, Body: echo})
	}
	const good = `{"path":"a"}`
	var nilError error
	for name, c := range map[string]struct {
		tool      *tool.Definition
		call      tool.Call
		exclusive bool
	}{
		"true":              {with(safe), call("t", good), false},
		"true for this one": {with(func(in file) bool { return in.Path == "a" }), call("t", good), false},
		"false for another": {with(func(in file) bool { return in.Path == "a" }), call("t", `{"path":"b"}`), true},
		"none":              {with(nil), call("t", good), true},
		"false":             {with(func(file) bool { return false }), call("t", good), true},
		"panic":             {with(func(file) bool { panic("x") }), call("t", good), true},
		"panic of nil":      {with(func(file) bool { panic(nilError) }), call("t", good), true},
		"nil pointer":       {with(func(file) bool { return *new(*bool) == nil && **new(*bool) }), call("t", good), true},
		"unknown tool":      {with(safe), call("u", good), true},
		"other case":        {with(safe), call("T", good), true},
		"no name":           {with(safe), call("", good), true},
		"no arguments":      {with(safe), call("t", ""), true},
		"not JSON":          {with(safe), call("t", `{"path":"a"`), true},
		"trailing data":     {with(safe), call("t", good+`{}`), true},
		"wrong type":        {with(safe), call("t", `{"path":1}`), true},
		"unknown property":  {with(safe), call("t", `{"path":"a","safe":true}`), true},
	} {
		t.Run(name, func(t *testing.T) {
			got := tool.Calls(registry(t, c.tool), []tool.Call{c.call})
			assert.Equal(t, []plan.Call{{Safe: !c.exclusive}}, got)
		})
	}
	t.Run("hidden", func(t *testing.T) {
		r := registry(t, with(safe))
		require.True(t, r.Unregister("t"))
		assert.Equal(t, []plan.Call{{}}, tool.Calls(r, []tool.Call{call("t", good)}))
		assert.Equal(t, []plan.Call{{}}, tool.Calls(new(tool.Registry), []tool.Call{call("t", good)}))
	})
}

// Whatever the model writes, Safe decides only over arguments that are valid.
func TestT1AnyArguments(t *testing.T) {
	r := registry(t, define(t, tool.Spec[file, string]{Name: "t", Safe: safe[file], Claims: claim(plan.Read), Body: echo}))
	rapid.Check(t, func(t *rapid.T) {
		arguments := rapid.OneOf(
			rapid.String(),
			rapid.StringMatching(`\{"path":("[a-z]?"|1|null|\[\])(,"path":"b"|,"x":1)?\}?`),
		).Draw(t, "arguments")
		got := tool.Calls(r, []tool.Call{call("t", arguments)})[0]
		var in map[string]string
		valid := json.Unmarshal([]byte(arguments), &in) == nil && len(in) == 1 && in["path"] != "" &&
			strings.Count(arguments, `"path"`) == 1 && !strings.Contains(arguments, "null")
		assert.Equal(t, valid, got.Safe, arguments)
		if !valid {
			assert.Empty(t, got.Claims)
		}
	})
}

func TestT2ClaimsThatCannotBeReliedOn(t *testing.T) {
	good := []plan.Claim{{Key: "a"}, {Key: "b", Access: plan.Read, Tree: true}}
	for name, c := range map[string]struct {
		claims func(file) ([]plan.Claim, error)
		want   plan.Call
	}{
		"good":             {func(file) ([]plan.Claim, error) { return good, nil }, plan.Call{Safe: true, Claims: good}},
		"none":             {func(file) ([]plan.Claim, error) { return nil, nil }, plan.Call{Safe: true}},
		"error":            {func(file) ([]plan.Claim, error) { return good, errors.New("x") }, plan.Call{}},
		"panic":            {func(file) ([]plan.Claim, error) { panic("x") }, plan.Call{}},
		"empty key":        {func(file) ([]plan.Claim, error) { return []plan.Claim{{Key: "a"}, {}}, nil }, plan.Call{}},
		"a root":           {func(file) ([]plan.Claim, error) { return []plan.Claim{{Key: "/", Tree: true}}, nil }, plan.Call{}},
		"slashes":          {func(file) ([]plan.Claim, error) { return []plan.Claim{{Key: "//", Access: plan.Read}}, nil }, plan.Call{}},
		"nothing declared": {nil, plan.Call{Safe: true}},
	} {
		t.Run(name, func(t *testing.T) {
			r := registry(t, define(t, tool.Spec[file, string]{Name: "t", Safe: safe[file], Claims: c.claims, Body: echo}))
			assert.Equal(t, []plan.Call{c.want}, tool.Calls(r, []tool.Call{call("t", `{"path":"a"}`)}))
		})
	}
}

// Refusal and ClaimsError tell the reasons for which Calls makes a call exclusive, and start nothing.
func TestRefusalAndClaimsError(t *testing.T) {
	broken := errors.New("no such key")
	body := func(ctx, file) (string, error) { panic("nothing runs") }
	r := registry(t,
		define(t, tool.Spec[file, string]{Name: "good", Safe: safe[file], Claims: claim(plan.Read), Body: body}),
		define(t, tool.Spec[file, string]{Name: "bare", Body: body}),
		define(t, tool.Spec[file, string]{Name: "error", Safe: safe[file], Body: body, Claims: func(file) ([]plan.Claim, error) { return nil, broken }}),
		define(t, tool.Spec[file, string]{Name: "panic", Safe: func(file) bool { panic("x") }, Body: body}),
		define(t, tool.Spec[file, string]{Name: "empty", Safe: safe[file], Body: body, Claims: func(file) ([]plan.Claim, error) { return []plan.Claim{{}}, nil }}),
	)
	const good = `{"path":"a"}`
	for _, c := range []struct {
		call    tool.Call
		refused tool.Result
		claims  string
	}{
		{call("good", good), tool.Result{}, ""},
		{call("bare", good), tool.Result{}, ""},
		{call("error", good), tool.Result{}, "no such key"},
		{call("panic", good), tool.Result{}, "it panicked: x"},
		{call("empty", good), tool.Result{}, "a claim has an empty key"},
		{call("none", good), errorResult(tool.UnknownTool, `There is no tool "none": nothing was run. The tools are: bare, empty, error, good, panic.`), ""},
		{call("error", ""), errorResult(tool.InvalidArgs,
			"The arguments of error are invalid: it was not run.\n- the arguments: missing property 'path'\nThe arguments were empty."), ""},
	} {
		got, refused := tool.Refusal(r, c.call)
		assert.Equal(t, c.refused, got, c.call.Name)
		assert.Equal(t, c.refused.Code != "", refused, c.call.Name)
		err := tool.ClaimsError(r, c.call)
		if c.claims == "" {
			assert.NoError(t, err, c.call.Name)
		} else {
			assert.EqualError(t, err, c.claims)
		}
		if refused {
			ran, err := tool.Execute(t.Context(), r, c.call)
			require.NoError(t, err)
			assert.Equal(t, got, ran, "it is what the call comes to")
		}
	}
	assert.ErrorIs(t, tool.ClaimsError(r, call("error", good)), broken)
}

// Claims opt nobody in, and those of an exclusive call are kept for whoever holds claims beyond one batch.
func TestT2ClaimsAloneAreNotSafe(t *testing.T) {
	r := registry(t, define(t, tool.Spec[file, string]{Name: "t", Claims: claim(plan.Read), Body: echo}))
	got := tool.Calls(r, []tool.Call{call("t", `{"path":"a"}`), call("t", `{"path":"b"}`)})
	assert.Equal(t, []plan.Call{{Claims: []plan.Claim{{Key: "a", Access: plan.Read}}}, {Claims: []plan.Claim{{Key: "b", Access: plan.Read}}}}, got)
	assert.Equal(t, [][]int{{0}, {1}}, plan.Ordered(got).Waves())
}

// A tool may use one slice for all of its claims.
func TestT2ClaimsAreCopied(t *testing.T) {
	shared := make([]plan.Claim, 1)
	r := registry(t, define(t, tool.Spec[file, string]{Name: "t", Safe: safe[file], Body: echo, Claims: func(in file) ([]plan.Claim, error) {
		shared[0] = plan.Claim{Key: in.Path}
		return shared, nil
	}}))
	got := tool.Calls(r, []tool.Call{call("t", `{"path":"a"}`), call("t", `{"path":"b"}`)})
	assert.Equal(t, "a", got[0].Claims[0].Key)
	assert.Equal(t, "b", got[1].Claims[0].Key)
}

func TestT3TheModelSeesTheSchemaAndNothingElse(t *testing.T) {
	r := registry(t,
		define(t, tool.Spec[file, string]{Name: "write", Description: "Writes.", Safe: safe[file], Claims: claim(plan.Write), Body: echo}),
		define(t, tool.Spec[struct{}, string]{Name: "now", Body: nothing}),
	)
	shown, err := json.Marshal(r.Definitions())
	require.NoError(t, err)
	assert.Equal(t, `[`+
		`{"name":"now","parameters":{"type":"object","properties":{},"additionalProperties":false}},`+
		`{"name":"write","description":"Writes.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}}`+
		`]`, string(shown))

	// The order is that of the names, however they came in.
	again := registry(t, r.Bind("write").Definition)
	require.NoError(t, again.Replace(r.Bind("now").Definition))
	same, err := json.Marshal(again.Definitions())
	require.NoError(t, err)
	assert.Equal(t, string(shown), string(same))

	// What is handed out is a copy.
	defs := r.Definitions()
	defs[0].Name, defs[0].Parameters[0] = "x", 'x'
	same, err = json.Marshal(r.Definitions())
	require.NoError(t, err)
	assert.Equal(t, string(shown), string(same))

	none, err := json.Marshal(new(tool.Registry).Definitions())
	require.NoError(t, err)
	assert.Equal(t, `[]`, string(none))
}

// A label such as read-only says nothing of overlap: two searches that both write their index run one after the other.
func TestCase_safety_flag_1(t *testing.T) {
	type search struct {
		Query string `json:"query"`
	}
	r := registry(t, define(t, tool.Spec[search, string]{
		Name: "memory_search", Description: "Read-only.", Safe: safe[search], Body: func(_ ctx, in search) (string, error) { return in.Query, nil },
		Claims: func(search) ([]plan.Claim, error) { return []plan.Claim{{Key: "index"}}, nil },
	}))
	calls := []tool.Call{call("memory_search", `{"query":"q1"}`), call("memory_search", `{"query":"q2"}`)}
	assert.Equal(t, [][]int{{0}, {1}}, plan.Ordered(tool.Calls(r, calls)).Waves())
}
