package codemode_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/keywave-go/keywave/codemode"
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

// BenchmarkTypeScript is the same calls, log included, by programs in the real runtimes: 1000 of them a run.
func BenchmarkTypeScript(b *testing.B) {
	for _, mode := range runtimes {
		for _, loop := range []struct{ name, code string }{
			{"one by one", `for (let i = 0; i < 1000; i++) await tools.noop({key: "a"})`},
			{"all", `for (let i = 0; i < 10; i++) await Promise.all([...Array(100)].map(() => tools.noop({key: "a"})))`},
		} {
			b.Run(mode.name+"/"+loop.name, func(b *testing.B) {
				tools, pipeline := noop(b)
				v, err := codemode.New(mode.open(b), tools, codemode.Limit(codemode.Limits{Calls: 1000}))
				require.NoError(b, err)
				h := newHost(b, nil, tools)
				h.Scheduler.Tools, h.Scheduler.Pipeline = v, pipeline
				call := typeScript(b, loop.code)
				run := func() {
					results, err := h.step(b.Context(), call)
					require.NoError(b, err)
					require.Empty(b, results[0].Code, results[0].Text())
				}
				run() // a worker is started
				calls := 0
				for b.Loop() {
					run()
					calls += 1000
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(calls), "ns/call")
			})
		}
	}
}

// BenchmarkOverlap is a program that waits for 100 calls of 5 ms with Promise.all, at most 10 at once, against the same
// sleeps under an errgroup with that limit, each measured in turn: the ratio of the two.
func BenchmarkOverlap(b *testing.B) {
	const calls, atOnce, length = 100, 10, 5 * time.Millisecond
	for _, mode := range runtimes {
		b.Run(mode.name, func(b *testing.B) {
			b.ReportAllocs()
			sleep := define(b, tool.Spec[in, string]{Name: "sleep", Safe: isSafe, Body: func(ctx, in) (string, error) {
				<-time.After(length)
				return "done", nil
			}})
			tools := registry(b, sleep)
			v, err := codemode.New(mode.open(b), tools, codemode.MaxParallelSubCalls(atOnce))
			require.NoError(b, err)
			h := newHost(b, nil, tools)
			h.Scheduler.Tools = v
			call := typeScript(b, fmt.Sprintf(`await Promise.all([...Array(%d)].map(() => tools.sleep()))`, calls))
			program := func() {
				results, err := h.step(b.Context(), call)
				require.NoError(b, err)
				require.Empty(b, results[0].Code, results[0].Text())
			}
			program() // a worker is started
			var within, bare time.Duration
			for b.Loop() {
				start := time.Now()
				program()
				within += time.Since(start)

				start = time.Now()
				var g errgroup.Group
				g.SetLimit(atOnce)
				for range calls {
					g.Go(func() error { <-time.After(length); return nil })
				}
				_ = g.Wait()
				bare += time.Since(start)
			}
			b.ReportMetric(float64(within)/float64(bare), "of-errgroup")
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
