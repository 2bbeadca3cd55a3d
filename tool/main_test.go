package tool_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// define is Define for declarations that are known to be good.
func define[In, Out any](t require.TestingT, spec tool.Spec[In, Out]) *tool.Definition {
	d, err := tool.Define(spec)
	require.NoError(t, err)
	return d
}

func registry(t require.TestingT, defs ...*tool.Definition) *tool.Registry {
	r := new(tool.Registry)
	require.NoError(t, r.Register(defs...))
	return r
}

// file is the input of most tools here.
type file struct {
	Path string `json:"path"`
}

type ctx = context.Context

func safe[In any](In) bool { return true }

// claim returns a Claims that claims the path.
func claim(a plan.Access) func(file) ([]plan.Claim, error) {
	return func(in file) ([]plan.Claim, error) { return []plan.Claim{{Key: in.Path, Access: a}}, nil }
}

// echo is a body that returns its path.
func echo(_ context.Context, in file) (string, error) { return in.Path, nil }

func call(name, arguments string) tool.Call { return tool.Call{Name: name, Arguments: arguments} }

// texts are the results as the model reads them.
func texts(results []tool.Result) []string {
	out := make([]string, len(results))
	for i, r := range results {
		out[i] = r.Text()
	}
	return out
}

func codes(results []tool.Result) []tool.Code {
	out := make([]tool.Code, len(results))
	for i, r := range results {
		out[i] = r.Code
	}
	return out
}

func nothing(context.Context, struct{}) (string, error) { return "done", nil }
