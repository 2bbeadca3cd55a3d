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

func BenchmarkRun(b *testing.B) {
	for _, admit := range []struct {
		name string
		f    func() plan.Admission
	}{{"waves", plan.NewWaves}, {"keyed", plan.NewKeyed}} {
		for _, kind := range []string{"keyless", "distinct"} {
			for _, n := range []int{64, 512} {
				b.Run(fmt.Sprintf("%s/%s/%d", admit.name, kind, n), func(b *testing.B) {
					calls := make([]plan.Call, n)
					for i := range calls {
						calls[i].Safe = true
						if kind == "distinct" {
							calls[i].Claims = []plan.Claim{{Key: fmt.Sprintf("k/%d", i)}}
						}
					}
					ours := func() {
						_, err := exec.Run(context.Background(), calls, func(context.Context, int) (int, error) { return 0, nil }, exec.Admit(admit.f))
						if err != nil {
							b.Fatal(err)
						}
					}
					theirs := func() {
						g, _ := errgroup.WithContext(context.Background())
						g.SetLimit(8)
						results := make([]int, n)
						for i := range calls {
							g.Go(func() error { results[i] = i; return nil })
						}
						if err := g.Wait(); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportAllocs()
					var mine, other time.Duration
					rounds := 0
					for b.Loop() {
						t0 := time.Now()
						ours()
						t1 := time.Now()
						theirs()
						mine += t1.Sub(t0)
						other += time.Since(t1)
						rounds++
					}
					b.ReportMetric(float64(mine)/float64(other), "x-errgroup")
					b.ReportMetric(float64(mine)/float64(rounds*n), "ns/call")
					b.ReportMetric(float64(testing.AllocsPerRun(10, ours))/float64(n), "allocs/call")
				})
			}
		}
	}
}
