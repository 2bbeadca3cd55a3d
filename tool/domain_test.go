package tool_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// A call whose claims are refused is denied, and its siblings are not: a tool that starts calls of its own has to claim what
// they use.
func TestT6UncoveredIsDenied(t *testing.T) {
	type key struct {
		Key string `json:"key"`
	}
	claims := func(in key) ([]plan.Claim, error) { return []plan.Claim{{Key: in.Key}}, nil }
	var tools tool.Registry
	ran := 0
	inner, err := tool.Define(tool.Spec[key, string]{
		Name: "inner", Safe: func(key) bool { return true }, Claims: claims,
		Body: func(context.Context, key) (string, error) { ran++; return "done", nil },
	})
	require.NoError(t, err)
	var nested []tool.Result
	outer, err := tool.Define(tool.Spec[key, string]{
		Name: "outer", Safe: func(key) bool { return true }, Claims: claims,
		Body: func(ctx context.Context, in key) (_ string, err error) {
			nested, err = tool.Run(ctx, &tools, []tool.Call{
				{Name: "inner", Arguments: `{"key":"a"}`}, {Name: "inner", Arguments: `{"key":"b"}`}, {Name: "inner", Arguments: `{"key":"a"}`},
			})
			return "done", err
		},
	})
	require.NoError(t, err)
	require.NoError(t, tools.Register(inner, outer))

	results, err := tool.Run(t.Context(), &tools, []tool.Call{{Name: "outer", Arguments: `{"key":"a"}`}}, exec.In(exec.NewDomain()), exec.Name("agent"))
	require.NoError(t, err)
	assert.Empty(t, results[0].Code)
	assert.Equal(t, 2, ran)
	assert.Equal(t, []tool.Code{"", tool.Denied, ""}, []tool.Code{nested[0].Code, nested[1].Code, nested[2].Code})
	assert.Equal(t, `inner was not run: its claims were refused (claim write b is not covered by those of call 1 of agent, `+
		`in which the call is nested: write a). Nothing was done.`, nested[1].Text())
}
