package exec_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// batch makes n calls of a kind.
func batch(kind string, n int) []plan.Call {
	calls := times(n, free)
	for i := range calls {
		switch kind {
		case "distinct":
			calls[i] = writes(fmt.Sprintf("key/%d", i))
		case "hot":
			calls[i] = writes("key")
		case "exclusive":
			calls[i] = exclusive
		}
	}
	return calls
}

func nothing(_ context.Context, i int) (int, error) { return i, nil }

func run(tb testing.TB, calls []plan.Call, opts ...exec.Option) {
	if _, err := exec.Run(context.Background(), calls, nothing, opts...); err != nil {
		tb.Fatal(err)
	}
}

// limited is what people write without this package.
func limited(tb testing.TB, n int) []int {
	results := make([]int, n)
	g, ctx := errgroup.WithContext(context.Background())
	g.SetLimit(exec.DefaultLimit)
	for i := range n {
		g.Go(func() (err error) {
			results[i], err = nothing(ctx, i)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		tb.Fatal(err)
	}
	return results
}

// BenchmarkRun compares a body that does nothing with errgroup, turn and turn about in one run: x-errgroup is the ratio of
// the times. allocs/call are ours alone; ns/op and allocs/op are of both together.
func BenchmarkRun(b *testing.B) {
	for _, a := range admissions[2:] {
		for _, kind := range []string{"keyless", "distinct", "hot", "exclusive"} {
			for _, n := range []int{8, 64, 512} {
				b.Run(fmt.Sprintf("%s/%s/%d", a.name, kind, n), func(b *testing.B) {
					calls := batch(kind, n)
					var ours, theirs time.Duration
					b.ReportAllocs()
					for b.Loop() {
						t0 := time.Now()
						run(b, calls, exec.Admit(a.open))
						t1 := time.Now()
						limited(b, n)
						ours += t1.Sub(t0)
						theirs += time.Since(t1)
					}
					b.ReportMetric(float64(ours)/float64(theirs), "x-errgroup")
					b.ReportMetric(float64(ours)/float64(b.N*n), "ns/call")
					allocs := testing.AllocsPerRun(10, func() { run(b, calls, exec.Admit(a.open)) })
					b.ReportMetric(allocs/float64(n), "allocs/call")
				})
			}
		}
	}
}

// BenchmarkRecord shows what a timeline costs: the time of a recorded batch, and x-unrecorded, its ratio to one that is not.
func BenchmarkRecord(b *testing.B) {
	for _, a := range admissions {
		for _, kind := range []string{"keyless", "distinct", "hot", "exclusive"} {
			for _, n := range []int{64, 4096} {
				b.Run(fmt.Sprintf("%s/%s/%d", a.name, kind, n), func(b *testing.B) {
					calls := batch(kind, n)
					var recorded, plain time.Duration
					for b.Loop() {
						t0 := time.Now()
						run(b, calls, exec.Admit(a.open), exec.Record(new(exec.Timeline)))
						t1 := time.Now()
						run(b, calls, exec.Admit(a.open))
						recorded += t1.Sub(t0)
						plain += time.Since(t1)
					}
					b.ReportMetric(float64(recorded)/float64(plain), "x-unrecorded")
					b.ReportMetric(float64(recorded)/float64(b.N*n), "ns/call")
				})
			}
		}
	}
}

// BenchmarkLane runs jobs with all their stages, which do nothing.
func BenchmarkLane(b *testing.B) {
	for _, n := range []int{8, 64, 512} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			js := make([]exec.Job, n)
			for i := range js {
				js[i] = idle{}
			}
			b.ReportAllocs()
			for b.Loop() {
				l := lane(b, context.Background())
				submit(b, l, js...)
				if err := finish(l); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N*n), "ns/call")
		})
	}
}

type idle struct{}

func (idle) Classify() plan.Call                         { return free }
func (idle) Prepare(context.Context) (bool, error)       { return true, nil }
func (idle) Run(context.Context) exec.Outcome            { return exec.Outcome{} }
func (idle) Settled(context.Context, exec.Outcome) error { return nil }
func (idle) Commit(context.Context) error                { return nil }
func (idle) Skip(context.Context, error) error           { return nil }
