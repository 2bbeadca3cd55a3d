package peers_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/plan/plantest"
)

// scan puts each call into the first wave in which nothing conflicts with it, by looking at every call of every wave.
func scan(calls []plan.Call) [][]int {
	var waves [][]int
next:
	for i, c := range calls {
	search:
		for w, wave := range waves {
			for _, k := range wave {
				if plan.Conflict(calls[k], c) {
					continue search
				}
			}
			waves[w] = append(wave, i)
			continue next
		}
		waves = append(waves, []int{i})
	}
	return waves
}

// kinds are what batches are made of. All but read-write are within the reach of the published first-fit.
var kinds = []struct {
	name string
	make func(n int) []plan.Call
}{
	{"distinct", func(n int) []plan.Call { return batch("distinct", n) }},
	{"hot", func(n int) []plan.Call { return keyed(n, func() (int, plan.Access) { return 0, plan.Write }) }},
	{"zipf", func(n int) []plan.Call {
		z := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.2, 1, 1<<16)
		return keyed(n, func() (int, plan.Access) { return int(z.Uint64()), plan.Write })
	}},
	{"read-write", func(n int) []plan.Call {
		r := rand.New(rand.NewPCG(3, 4))
		z := rand.NewZipf(r, 1.2, 1, 1<<16)
		return keyed(n, func() (int, plan.Access) {
			a := plan.Read
			if r.IntN(4) == 0 {
				a = plan.Write
			}
			return int(z.Uint64()), a
		})
	}},
}

func keyed(n int, claim func() (file int, a plan.Access)) []plan.Call {
	calls := make([]plan.Call, n)
	for i := range calls {
		file, a := claim()
		calls[i] = plan.Call{Safe: true, Claims: []plan.Claim{{Key: fmt.Sprintf("dir/file%d", file), Access: a}}}
	}
	return calls
}

// BenchmarkPlan plans a batch with a planner that is used again, and with the scan, turn and turn about: x-scan is the
// ratio of the scan's time to ours, which grows with the batch. A turn of ours is n/8 plans, since one is over so soon.
// ns/call is ours, scan-ns/call the scan's; ns/op and allocs/op are of both together.
func BenchmarkPlan(b *testing.B) {
	for _, ours := range []struct {
		name string
		plan func(*plan.Planner, []plan.Call) plan.Plan
	}{{"ordered", (*plan.Planner).Ordered}, {"first-fit", (*plan.Planner).FirstFit}} {
		for _, kind := range kinds {
			for _, n := range []int{8, 64, 512, 4096} {
				b.Run(fmt.Sprintf("%s/%s/%d", ours.name, kind.name, n), func(b *testing.B) {
					calls := kind.make(n)
					var planner plan.Planner
					ours.plan(&planner, calls)
					var own, scanned time.Duration
					b.ReportAllocs()
					for b.Loop() {
						t0 := time.Now()
						for range n / 8 {
							ours.plan(&planner, calls)
						}
						t1 := time.Now()
						scan(calls)
						own += t1.Sub(t0) / time.Duration(n/8)
						scanned += time.Since(t1)
					}
					b.ReportMetric(float64(scanned)/float64(own), "x-scan")
					b.ReportMetric(float64(own)/float64(b.N*n), "ns/call")
					b.ReportMetric(float64(scanned)/float64(b.N*n), "scan-ns/call")
				})
			}
		}
	}
}

// TestScanIsFirstFit: what is compared is the same plan.
func TestScanIsFirstFit(t *testing.T) {
	same := func(t require.TestingT, calls []plan.Call) {
		want := plan.FirstFit(calls).Waves()
		require.Len(t, scan(calls), len(want))
		for w, wave := range scan(calls) {
			require.Equal(t, want[w], wave)
		}
	}
	for _, kind := range kinds {
		for _, n := range []int{0, 8, 300} {
			same(t, kind.make(n))
		}
	}
	rapid.Check(t, func(t *rapid.T) { same(t, plantest.Batches(12).Draw(t, "batch")) })
}
