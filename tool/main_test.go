package tool_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestEveryCaseHasItsTest keeps the cases that this package answers for and their tests together.
func TestEveryCaseHasItsTest(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	var source strings.Builder
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		source.Write(data)
	}
	f, err := os.Open("testdata/cases.jsonl")
	require.NoError(t, err)
	defer f.Close()
	cases := 0
	for s := bufio.NewScanner(f); s.Scan(); cases++ {
		var c struct{ ID string }
		require.NoError(t, json.Unmarshal(s.Bytes(), &c))
		name := "TestCase_" + strings.ReplaceAll(c.ID, "-", "_")
		require.True(t, strings.Contains(source.String(), "func "+name+"("), "there is no %s", name)
	}
	require.NotZero(t, cases)
}

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
