package peers_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/alitto/pond/v2"
	"github.com/sourcegraph/conc/iter"
	"github.com/sourcegraph/conc/pool"
	"github.com/sourcegraph/conc/stream"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

const limit = 8 // of all of them: how many bodies run at once

// body does nothing, and so nothing but the executor is measured.
func body(_ context.Context, i int) (int, error) { return i + 1, nil }

// An executor runs body for 0 to n-1, at most limit of them at once, and puts each result into the slot of its call. It
// returns the first error, whatever the peer has for it.
type executor struct {
	name string
	run  func(ctx context.Context, results []int) error
}

// executors are the peers. Each is used as its documentation shows, in the cheapest way that keeps errors.
func executors(shared pond.Pool) []executor {
	return []executor{
		{"errgroup", func(ctx context.Context, results []int) error {
			g, ctx := errgroup.WithContext(ctx)
			g.SetLimit(limit)
			for i := range results {
				g.Go(func() (err error) {
					results[i], err = body(ctx, i)
					return err
				})
			}
			return g.Wait()
		}},
		{"semaphore", func(ctx context.Context, results []int) error {
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			permits := semaphore.NewWeighted(limit)
			var running sync.WaitGroup
			for i := range results {
				if permits.Acquire(ctx, 1) != nil {
					break
				}
				running.Go(func() {
					defer permits.Release(1)
					r, err := body(ctx, i)
					if err != nil {
						cancel(err)
					}
					results[i] = r
				})
			}
			running.Wait()
			return context.Cause(ctx)
		}},
		{"conc", func(ctx context.Context, results []int) error {
			p := pool.New().WithMaxGoroutines(limit).WithContext(ctx)
			for i := range results {
				p.Go(func(ctx context.Context) (err error) {
					results[i], err = body(ctx, i)
					return err
				})
			}
			return p.Wait()
		}},
		{"stream", func(ctx context.Context, results []int) error { // results come in order, as commits do
			s := stream.New().WithMaxGoroutines(limit)
			var first error
			for i := range results {
				s.Go(func() stream.Callback {
					r, err := body(ctx, i)
					return func() {
						results[i] = r
						if first == nil {
							first = err
						}
					}
				})
			}
			s.Wait()
			return first
		}},
		{"pond", func(ctx context.Context, results []int) error { // the pool is there before, as its workers are its point
			g := shared.NewGroupContext(ctx)
			for i := range results {
				g.SubmitErr(func() (err error) {
					results[i], err = body(ctx, i)
					return err
				})
			}
			return g.Wait()
		}},
		{"iter", func(ctx context.Context, results []int) error { // eight workers and a counter: the least there can be
			var mu sync.Mutex
			var first error
			iter.Iterator[int]{MaxGoroutines: limit}.ForEachIdx(results, func(i int, r *int) {
				var err error
				if *r, err = body(ctx, i); err != nil {
					mu.Lock()
					defer mu.Unlock()
					if first == nil {
						first = err
					}
				}
			})
			return first
		}},
	}
}

// admissions are ours.
var admissions = []struct {
	name string
	open func() plan.Admission
}{{"waves", plan.NewWaves}, {"keyed", plan.NewKeyed}}

func batch(kind string, n int) []plan.Call {
	calls := make([]plan.Call, n)
	for i := range calls {
		calls[i].Safe = true
		if kind == "distinct" {
			calls[i].Claims = []plan.Claim{{Key: fmt.Sprintf("dir/file%d", i)}}
		}
	}
	return calls
}

// BenchmarkRun has exec.Run and all peers run a batch, turn and turn about, and beginning with another one each time.
// x-errgroup is the ratio of the time of exec.Run to that of errgroup, and so on. ns/call and allocs/call are
// exec.Run's; ns/op and allocs/op are of all of them together.
func BenchmarkRun(b *testing.B) {
	for _, a := range admissions {
		for _, kind := range []string{"keyless", "distinct"} {
			for _, n := range []int{8, 64, 512} {
				b.Run(fmt.Sprintf("%s/%s/%d", a.name, kind, n), func(b *testing.B) {
					shared := pond.NewPool(limit)
					defer shared.StopAndWait()
					calls, results := batch(kind, n), make([]int, n)
					all := slices.Insert(executors(shared), 0, executor{"", func(ctx context.Context, _ []int) error {
						_, err := exec.Run(ctx, calls, body, exec.Admit(a.open), exec.Limit(limit))
						return err
					}})
					took := make([]time.Duration, len(all))
					b.ReportAllocs()
					for turn := 0; b.Loop(); turn++ {
						for k := range all {
							k = (k + turn) % len(all)
							begin := time.Now()
							err := all[k].run(b.Context(), results)
							took[k] += time.Since(begin)
							if err != nil {
								b.Fatal(all[k].name, err)
							}
						}
					}
					for k, e := range all[1:] {
						b.ReportMetric(float64(took[0])/float64(took[1+k]), "x-"+e.name)
					}
					b.ReportMetric(float64(took[0])/float64(b.N*n), "ns/call")
					allocs := testing.AllocsPerRun(10, func() { _ = all[0].run(b.Context(), nil) })
					b.ReportMetric(allocs/float64(n), "allocs/call")
				})
			}
		}
	}
}

// TestExecutorsDoTheWork: what is measured fills every slot.
func TestExecutorsDoTheWork(t *testing.T) {
	shared := pond.NewPool(limit)
	defer shared.StopAndWait()
	for _, e := range executors(shared) {
		for _, n := range []int{0, 1, 8, 100} {
			results := make([]int, n)
			require.NoError(t, e.run(t.Context(), results), e.name)
			for i, r := range results {
				require.Equal(t, i+1, r, e.name)
			}
		}
	}
}
