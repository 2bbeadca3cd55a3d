package tool_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/keywave-go/keywave/exec"
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

// A spec of a tool without arguments whose calls may overlap.
func free(name string, body func(ctx) (string, error)) tool.Spec[struct{}, string] {
	return tool.Spec[struct{}, string]{Name: name, Safe: safe[struct{}], Body: func(c ctx, _ struct{}) (string, error) { return body(c) }}
}

// takes is a body that works for a while, unless it is cancelled.
func takes(d time.Duration) func(ctx) (string, error) {
	return func(c ctx) (string, error) {
		select {
		case <-time.After(d):
			return "done", nil
		case <-c.Done():
			return "", context.Cause(c)
		}
	}
}

// named are calls without arguments.
func named(names ...string) []tool.Call {
	calls := make([]tool.Call, len(names))
	for i, name := range names {
		calls[i] = tool.Call{ID: fmt.Sprintf("c%d", i+1), Name: name}
	}
	return calls
}

// A running batch is in a lane.
type running struct {
	lane *exec.Lane
	jobs []*tool.Job
}

// submit hands calls over to a lane of their own.
func submit(t require.TestingT, c ctx, p *tool.Pipeline, tools tool.Tools, calls []tool.Call, opts ...exec.Option) running {
	lane, err := exec.NewLane(c, opts...)
	require.NoError(t, err)
	r := running{lane, p.NewJobs(tools, calls...)}
	staged := make([]exec.Job, len(calls))
	for i, j := range r.jobs {
		staged[i] = j
	}
	_, err = tool.Submit(lane, staged...)
	require.NoError(t, err)
	lane.Close()
	return r
}

// results are those of a batch whose lane has ended.
func (r running) results() []tool.Result {
	out := make([]tool.Result, len(r.jobs))
	for i, j := range r.jobs {
		out[i] = j.Result
	}
	return out
}

// admissions are those that keep the model's order between calls that conflict.
var admissions = map[string]func() plan.Admission{
	"serial": plan.NewSerial, "rolling": plan.NewRolling, "waves": plan.NewWaves, "keyed": plan.NewKeyed,
}

// verdict is a policy that has a verdict for each tool, and allows the others.
func verdict(of map[string]tool.Verdict) tool.Policy {
	return func(_ ctx, c *tool.Invocation) (tool.Verdict, error) {
		if v, ok := of[c.Call.Name]; ok {
			return v, nil
		}
		return tool.Verdict{Action: tool.Allow}, nil
	}
}

var errBoom = errors.New("boom")
