package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/bench/sim"
	"github.com/keywave-go/keywave/plan"
)

// mixed makes n calls on many keys, a few of them hot, with a write in four and an exclusive call in every thousand.
func mixed(n int) ([]plan.Call, []time.Duration) {
	r := rand.New(rand.NewPCG(1, 1))
	keys := make([]string, 10_000)
	for i := range keys {
		keys[i] = fmt.Sprintf("d%d/f%d", i%100, i)
	}
	calls, takes := make([]plan.Call, n), make([]time.Duration, n)
	for i := range calls {
		takes[i] = time.Duration(1 + r.IntN(1000))
		if i%1000 == 999 {
			continue
		}
		key := keys[r.IntN(len(keys))]
		if r.IntN(10) == 0 {
			key = keys[r.IntN(10)]
		}
		calls[i] = reads(key)
		if r.IntN(4) == 0 {
			calls[i] = writes(key)
		}
	}
	return calls, takes
}

// TestAMillionCalls runs so many under Keyed, and a tenth of them under every policy: with anything that is quadratic
// this would not end.
func TestAMillionCalls(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n = 100_000
	}
	calls, takes := mixed(n)
	for _, p := range sim.Policies() {
		m := n / 10
		if p.Name == "keyed" {
			m = n
		}
		b, err := sim.BoundOf(calls[:m], takes[:m])
		require.NoError(t, err)
		r, err := p.Run(calls[:m], takes[:m], sim.Config{Limit: 10})
		require.NoError(t, err)
		require.Len(t, r.Spans, m)
		if p.Ordered {
			require.GreaterOrEqual(t, r.Makespan, b.Lower(10))
			require.Zero(t, r.Inversions(1), p.Name)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	calls, takes := mixed(100_000)
	for _, p := range sim.Policies() {
		b.Run(p.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Run(calls, takes, sim.Config{Limit: 10}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(calls)), "ns/call")
		})
	}
	b.Run("bound", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := sim.BoundOf(calls, takes); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(calls)), "ns/call")
	})
}
