package sim_test

import (
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keywave-go/keywave/bench/sim"
	"github.com/keywave-go/keywave/plan"
)

// anyBatch makes a small batch in which calls conflict often.
func anyBatch(r *rand.Rand) ([]plan.Call, []time.Duration) {
	keys := []string{"a", "b", "lib", "lib/a", "lib/a/x", "lib/b", "library"}
	n := 2 + r.IntN(13)
	calls, takes := make([]plan.Call, n), make([]time.Duration, n)
	for i := range calls {
		takes[i] = time.Duration(r.IntN(8))
		calls[i].Safe = r.IntN(8) > 0
		for range r.IntN(3) {
			c := plan.Claim{Key: keys[r.IntN(len(keys))], Tree: r.IntN(4) == 0}
			if r.IntN(2) == 0 {
				c.Access = plan.Read
			}
			calls[i].Claims = append(calls[i].Claims, c)
		}
	}
	return calls, takes
}

// TestExhaustiveRandomBatches runs random batches under every policy and some limit: what promises serial equivalence
// inverts nothing, and without a limit Keyed is slower than nothing that does. The other policies invert calls, so that
// the batches are such as can tell. A million batches with KEYWAVE_EXHAUSTIVE=1, and some of them without.
func TestExhaustiveRandomBatches(t *testing.T) {
	n := 20_000
	switch {
	case os.Getenv("KEYWAVE_EXHAUSTIVE") == "1":
		n = 1_000_000
	case testing.Short():
		n = 2_000
	}
	workers := runtime.GOMAXPROCS(0)
	var mu sync.Mutex
	pairs, slower := map[string]int{}, map[string]int{}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			mine, worse := map[string]int{}, map[string]int{}
			for seed := w; seed < n; seed += workers {
				r := rand.New(rand.NewPCG(uint64(seed), 6))
				calls, takes := anyBatch(r)
				limit := []int{0, 0, 2, 3, 4, 10}[r.IntN(6)]
				times := map[string]time.Duration{}
				for _, p := range sim.Policies() {
					got, err := p.Run(calls, takes, sim.Config{Limit: limit})
					if !assert.NoError(t, err, "seed %d", seed) {
						return
					}
					k := got.Inversions(0).Pairs
					if p.Ordered && !assert.Zero(t, k, "seed %d, limit %d, %s: inversions in %v", seed, limit, p.Name, calls) {
						return
					}
					mine[p.Name] += k
					times[p.Name] = got.Makespan
				}
				for _, p := range sim.Policies() {
					if !p.Ordered || times["keyed"] <= times[p.Name] {
						continue
					}
					if !assert.NotZero(t, limit, "seed %d: keyed takes %d, %s %d", seed, times["keyed"], p.Name, times[p.Name]) {
						return
					}
					worse[p.Name]++
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for p, k := range mine {
				pairs[p] += k
			}
			for p, k := range worse {
				slower[p] += k
			}
		})
	}
	wg.Wait()
	t.Logf("%d batches; inverted pairs: %v; with a limit Keyed is slower than: %v", n, pairs, slower)
	assert.NotZero(t, slower["waves"], "list scheduling has anomalies, and nothing here hides them")
	for _, p := range sim.Policies() {
		assert.Equal(t, p.Ordered, pairs[p.Name] == 0, p.Name)
	}
}
