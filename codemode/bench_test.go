package codemode_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/codemode/js"
	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// noop is a tool that does nothing, in a pipeline that has one of everything.
func noop(b *testing.B) (*tool.Registry, *tool.Pipeline) {
	return registry(b, define(b, tool.Spec[in, string]{Name: "noop", Safe: isSafe, Body: func(ctx, in) (string, error) { return "done", nil }})),
		&tool.Pipeline{
			Policies: []tool.Policy{func(ctx, *tool.Invocation) (tool.Verdict, error) { return tool.Verdict{Action: tool.Allow}, nil }},
			Guards:   []tool.Guard{func(ctx, *tool.Invocation) error { return nil }},
			Wrappers: []tool.Wrapper{func(c ctx, _ *tool.Invocation, next tool.Next) (tool.Result, error) { return next(c) }},
			Reviewers: []tool.Reviewer{func(ctx, *tool.Invocation, tool.Result) (tool.Review, error) {
				return tool.Review{}, nil
			}},
		}
}

// BenchmarkNestedCall is a call of a tool that does nothing, by a program that costs nothing: lane, pipeline, and the two
// events in a log in memory, against the same call with no session to record it.
func BenchmarkNestedCall(b *testing.B) {
	for _, at := range []int{1, 100} {
		for _, log := range []bool{true, false} {
			b.Run(fmt.Sprintf("at once=%d/log=%v", at, log), func(b *testing.B) {
				b.ReportAllocs()
				tools, pipeline := noop(b)
				s := script(func(w *world) codemode.Outcome {
					ps := make([]*promise, 0, at)
					for n := 0; b.Loop(); n++ {
						ps = append(ps, w.call("noop", `{"key":"a"}`))
						if len(ps) == at {
							all(ps...)
							ps = ps[:0]
						}
					}
					all(ps...)
					return returns("done")
				})
				opts := []codemode.Option{codemode.Limit(codemode.Limits{Calls: 1 << 30})}
				if !log {
					v, err := codemode.New(s, tools, opts...)
					require.NoError(b, err)
					results, err := pipeline.Run(b.Context(), v, []tool.Call{program("c1")})
					require.NoError(b, err)
					require.Empty(b, results[0].Code, results[0].Text())
					return
				}
				h := newHost(b, s, tools, opts...)
				h.Scheduler.Pipeline = pipeline
				r := h.run()
				require.Empty(b, r.Code, r.Text())
			})
		}
	}
}

// BenchmarkTypeScript is the same calls by a program in the real runtime, in-process: 1000 of them a run.
func BenchmarkTypeScript(b *testing.B) {
	for name, loop := range map[string]string{
		"one by one": `for (let i = 0; i < 1000; i++) await tools.noop({key: "a"})`,
		"all":        `for (let i = 0; i < 10; i++) await Promise.all([...Array(100)].map(() => tools.noop({key: "a"})))`,
	} {
		b.Run(name, func(b *testing.B) {
			tools, pipeline := noop(b)
			rt := js.NewInProcess()
			defer rt.Close()
			v, err := codemode.New(rt, tools, codemode.Limit(codemode.Limits{Calls: 1000}))
			require.NoError(b, err)
			h := newHost(b, nil, tools)
			h.Scheduler.Tools, h.Scheduler.Pipeline = v, pipeline
			arguments, err := json.Marshal(codemode.Program{Code: loop, Description: "calls"})
			require.NoError(b, err)
			calls := 0
			for b.Loop() {
				results, err := h.step(b.Context(), tool.Call{ID: "c1", Name: codemode.Name, Arguments: string(arguments)})
				require.NoError(b, err)
				require.Empty(b, results[0].Code, results[0].Text())
				calls += 1000
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(calls), "ns/call")
		})
	}
}

// BenchmarkProgram is an empty program: what a run costs beside its runtime.
func BenchmarkProgram(b *testing.B) {
	tools, pipeline := noop(b)
	v, err := codemode.New(script(func(w *world) codemode.Outcome { return codemode.Outcome{} }), tools)
	require.NoError(b, err)
	b.ReportAllocs()
	calls := []tool.Call{program("c1")}
	for b.Loop() {
		if _, err := pipeline.Run(b.Context(), v, calls); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDefinitions is what a model is told, of 30 tools.
func BenchmarkDefinitions(b *testing.B) {
	tools := new(tool.Registry)
	for i := range 30 {
		require.NoError(b, tools.Register(define(b, tool.Spec[harness.AssistantMessage, string]{Name: fmt.Sprintf("tool%d", i), Body: func(ctx, harness.AssistantMessage) (string, error) { return "", nil }})))
	}
	v := mustView(b, tools)
	b.ReportAllocs()
	for b.Loop() {
		v.Definitions()
	}
}
