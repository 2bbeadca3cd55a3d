package plan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/plan/plantest"
)

// planners are the package's own, fresh and in reused memory, and what they promise.
var planners = []struct {
	name      string
	plan      func(calls []plan.Call) plan.Plan
	contracts plantest.Contract
}{
	{"Ordered", plan.Ordered, plantest.OrderedPlanner},
	{"FirstFit", plan.FirstFit, plantest.FirstFitPlanner},
	{"Planner.Ordered", new(plan.Planner).Ordered, plantest.OrderedPlanner},
	{"Planner.FirstFit", new(plan.Planner).FirstFit, plantest.FirstFitPlanner},
}

// checkPlanners points plantest at every planner that promises contract c.
func checkPlanners(t *testing.T, c plantest.Contract) {
	for _, p := range planners {
		if p.contracts&c != 0 {
			t.Run(p.name, func(t *testing.T) {
				plantest.CheckPlanner(t, copied(p.plan), c|p.contracts&plantest.P3)
			})
		}
	}
}

// copied keeps the plan of a reused Planner from being overwritten by the next one.
func copied(planner func([]plan.Call) plan.Plan) func([]plan.Call) plan.Plan {
	return func(calls []plan.Call) plan.Plan {
		p := planner(calls)
		q, err := plan.New(p.Waves())
		if err != nil {
			panic(err) // rapid reports it with the batch
		}
		return q
	}
}

func TestP1EveryCallInOneWave(t *testing.T)             { checkPlanners(t, plantest.P1) }
func TestP2NoConflictInAWave(t *testing.T)              { checkPlanners(t, plantest.P2) }
func TestP3OrderedKeepsTheOrder(t *testing.T)           { checkPlanners(t, plantest.P3) }
func TestP4OrderedIsMinimal(t *testing.T)               { checkPlanners(t, plantest.P4) }
func TestP5FirstFitIsThePublishedRule(t *testing.T)     { checkPlanners(t, plantest.P5) }
func TestP6PlannersAgreeOnPlainWrites(t *testing.T)     { checkPlanners(t, plantest.P6) }
func TestP7SameInputSamePlan(t *testing.T)              { checkPlanners(t, plantest.P7) }
func TestP8ClaimsAreMerged(t *testing.T)                { checkPlanners(t, plantest.P8) }
func TestP9KeysCompareByComponent(t *testing.T)         { checkPlanners(t, plantest.P9) }
func TestP10ClaimsOfUnsafeCallsPlayNoPart(t *testing.T) { checkPlanners(t, plantest.P10) }

func TestP11FirstFitInversions(t *testing.T) {
	checkPlanners(t, plantest.P11)

	inverts := func(calls []plan.Call) bool {
		return plantest.CheckPlan(calls, plan.FirstFit(calls).Waves(), plantest.P3) != nil
	}
	for n := range 3 {
		everyBatch(plantest.Alphabet(), n, func(calls []plan.Call) {
			require.False(t, inverts(calls), "a batch of %d: %v", n, calls)
		})
	}
	for _, calls := range plantest.Inversions() {
		assert.True(t, inverts(calls), "%v", calls)
		for i := range calls {
			without := slices.Delete(slices.Clone(calls), i, i+1)
			assert.False(t, inverts(without), "%v is smaller", without)
		}
	}
}

func TestP12WithoutClaimsTheRollingPool(t *testing.T) { checkPlanners(t, plantest.P12) }

// TestPlannersOnEveryBatch compares both planners with the naive ones on every batch of up to four calls.
func TestPlannersOnEveryBatch(t *testing.T) {
	var pl plan.Planner
	for n := range 5 {
		everyBatch(plantest.Alphabet(), n, func(calls []plan.Call) {
			sameWaves(t, plantest.Ordered(calls), pl.Ordered(calls).Waves(), calls)
			sameWaves(t, plantest.FirstFit(calls), pl.FirstFit(calls).Waves(), calls)
		})
	}
}

func sameWaves(t *testing.T, want, got [][]int, calls []plan.Call) {
	t.Helper()
	if !slices.EqualFunc(want, got, slices.Equal) {
		require.Equal(t, want, got, "%v", calls)
	}
}

// everyBatch calls f with every batch of n calls of an alphabet.
func everyBatch(alphabet []plan.Call, n int, f func(calls []plan.Call)) {
	batch := make([]plan.Call, n)
	var fill func(i int)
	fill = func(i int) {
		if i == n {
			f(batch)
			return
		}
		for _, c := range alphabet {
			batch[i] = c
			fill(i + 1)
		}
	}
	fill(0)
}

// TestPlannersOnLargeBatches compares both planners with the naive ones where there are hundreds of waves.
func TestPlannersOnLargeBatches(t *testing.T) {
	var pl plan.Planner
	for seed := range uint64(12) {
		calls := largeBatch(rand.New(rand.NewPCG(seed, 1)), 700)
		assert.Equal(t, plantest.Ordered(calls), pl.Ordered(calls).Waves(), "Ordered, seed %d", seed)
		assert.Equal(t, plantest.FirstFit(calls), pl.FirstFit(calls).Waves(), "FirstFit, seed %d", seed)
		assert.NoError(t, plan.VerifyOrdered(calls, pl.Ordered(calls)), "seed %d", seed)
		assert.NoError(t, plan.Verify(calls, pl.FirstFit(calls)), "seed %d", seed)
	}
}

// largeBatch makes n calls with a character that the random source picks: how many keys, trees and unsafe calls.
func largeBatch(r *rand.Rand, n int) []plan.Call {
	keys, trees, reads, most := 1+r.IntN(40), r.IntN(2)*r.IntN(4), r.IntN(5), 1+r.IntN(3)
	unsafe := []int{0, 0, 1, 20}[r.IntN(4)]
	batch := make([]plan.Call, n)
	for i := range batch {
		c := &batch[i]
		c.Safe = r.IntN(100) >= unsafe
		for range r.IntN(most + 1) {
			cl := plan.Claim{Key: fmt.Sprintf("d%d/e%d/f%d", r.IntN(2), r.IntN(3), r.IntN(keys))}
			if r.IntN(10) < reads {
				cl.Access = plan.Read
			}
			if cl.Tree = r.IntN(20) < trees; cl.Tree {
				cl.Key = cl.Key[:2+3*r.IntN(2)]
			}
			c.Claims = append(c.Claims, cl)
		}
	}
	return batch
}

// TestPlannerReusesItsMemory demands what Planner says: after a first batch nothing is allocated.
func TestPlannerReusesItsMemory(t *testing.T) {
	for seed := range uint64(8) {
		calls := largeBatch(rand.New(rand.NewPCG(seed, 2)), 300)
		var pl plan.Planner
		pl.Ordered(calls)
		assert.Zero(t, testing.AllocsPerRun(20, func() { pl.Ordered(calls) }), "Ordered, seed %d", seed)
		pl.FirstFit(calls)
		assert.Zero(t, testing.AllocsPerRun(20, func() { pl.FirstFit(calls) }), "FirstFit, seed %d", seed)
	}
}

// TestPlannerForgets plans all sorts of batches with one Planner, large before small and with trees before plain keys.
func TestPlannerForgets(t *testing.T) {
	var pl plan.Planner
	r := rand.New(rand.NewPCG(3, 3))
	for range 200 {
		calls := largeBatch(r, r.IntN(60))
		sameWaves(t, plan.Ordered(calls).Waves(), pl.Ordered(calls).Waves(), calls)
		sameWaves(t, plan.FirstFit(calls).Waves(), pl.FirstFit(calls).Waves(), calls)
	}
}
