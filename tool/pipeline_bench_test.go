package tool_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// BenchmarkPipeline puts calls that do nothing through a pipeline, and through exec.Run, turn and turn about in one
// run: x-exec.Run is the ratio of the times. ns/call and allocs/call are the pipeline's.
func BenchmarkPipeline(b *testing.B) {
	const limit = 10
	r := registry(b, define(b, tool.Spec[struct{}, string]{Name: "t", Safe: safe[struct{}], Body: nothing}))
	allow := func(context.Context, *tool.Invocation) (tool.Verdict, error) {
		return tool.Verdict{Action: tool.Allow}, nil
	}
	through := func(ctx context.Context, _ *tool.Invocation, next tool.Next) (tool.Result, error) { return next(ctx) }
	accept := func(context.Context, *tool.Invocation, tool.Result) (tool.Review, error) { return tool.Review{}, nil }
	for name, p := range map[string]*tool.Pipeline{
		"bare": {},
		"full": {
			Policies: []tool.Policy{allow}, Guards: []tool.Guard{func(context.Context, *tool.Invocation) error { return nil }},
			Wrappers: []tool.Wrapper{through}, Reviewers: []tool.Reviewer{accept}, Budget: tool.Budget{Result: 1 << 16, Batch: 1 << 20},
			Gates: []tool.Gate{func(context.Context, tool.Event) {}},
		},
	} {
		for _, n := range []int{8, 64, 512} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				calls := make([]tool.Call, n)
				for i := range calls {
					calls[i] = tool.Call{ID: "c", Name: "t", Arguments: "{}"}
				}
				ours := func() {
					if _, err := p.Run(context.Background(), r, calls, exec.Limit(limit)); err != nil {
						b.Fatal(err)
					}
				}
				bare := make([]plan.Call, n)
				for i := range bare {
					bare[i].Safe = true
				}
				theirs := func() {
					if _, err := exec.Run(context.Background(), bare, func(context.Context, int) (int, error) { return 0, nil }, exec.Limit(limit)); err != nil {
						b.Fatal(err)
					}
				}
				var own, other time.Duration
				b.ReportAllocs()
				for b.Loop() {
					t0 := time.Now()
					ours()
					t1 := time.Now()
					theirs()
					own += t1.Sub(t0)
					other += time.Since(t1)
				}
				b.ReportMetric(float64(own)/float64(other), "x-exec.Run")
				b.ReportMetric(float64(own)/float64(b.N*n), "ns/call")
				b.ReportMetric(testing.AllocsPerRun(10, ours)/float64(n), "allocs/call")
			})
		}
	}
}
