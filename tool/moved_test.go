package tool_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// While a call waits for its claims, another lane changes what its arguments name: it does not run with claims on what it
// does not use.
func TestT7WhatIsNamedChangesInADomain(t *testing.T) {
	for name, c := range map[string]struct {
		after string // what the link leads to in the end
		code  tool.Code
		says  string
	}{
		"elsewhere": {"b", tool.Denied, "it would now use write b, which it has not claimed"},
		"as before": {"a", "", "done"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				domain := exec.NewDomain()
				gate, link := make(chan struct{}), "a"
				relink := define(t, tool.Spec[file, string]{
					Name: "relink", Safe: func(file) bool { return true },
					Claims: func(file) ([]plan.Claim, error) { return []plan.Claim{{Key: "link"}}, nil },
					Body: func(ctx, file) (string, error) {
						<-gate
						link = c.after
						return "done", nil
					},
				})
				ran := false
				write := define(t, tool.Spec[file, string]{
					Name: "write", Safe: func(file) bool { return true },
					Claims: func(file) ([]plan.Claim, error) {
						return []plan.Claim{{Key: "link", Access: plan.Read}, {Key: link}}, nil
					},
					Body: func(ctx, file) (string, error) { ran = true; return "done", nil },
				})
				tools := registry(t, relink, write)
				first := submit(t, t.Context(), &tool.Pipeline{}, tools, []tool.Call{call("relink", `{"path":"x"}`)}, exec.In(domain))
				synctest.Wait()
				second := submit(t, t.Context(), &tool.Pipeline{}, tools, []tool.Call{call("write", `{"path":"x"}`)}, exec.In(domain))
				synctest.Wait() // it is in line
				close(gate)
				require.NoError(t, first.lane.Wait())
				require.NoError(t, second.lane.Wait())
				assert.Equal(t, c.code, second.jobs[0].Result.Code)
				assert.Contains(t, second.jobs[0].Result.Text(), c.says)
				assert.Equal(t, c.code == "", ran)
			})
		})
	}
}

type typed struct{ error }

func TestT6ErrorNames(t *testing.T) {
	for want, err := range map[string]error{
		"":                fmt.Errorf("more words: %w", errors.New("words")),
		"fs.PathError":    fmt.Errorf("more words: %w", &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}),
		"tool_test.typed": typed{errors.New("words")},
	} {
		r := registry(t, define(t, tool.Spec[file, string]{Name: "t", Body: func(ctx, file) (string, error) { return "", err }}))
		results, failed := tool.Run(t.Context(), r, []tool.Call{call("t", `{"path":"x"}`)})
		require.NoError(t, failed)
		assert.Equal(t, want, results[0].ErrorName)
		assert.True(t, results[0].IsError)
		assert.Empty(t, results[0].Code)
	}
}
