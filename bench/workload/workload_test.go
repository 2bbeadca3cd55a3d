package workload_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/bench/sim"
	"github.com/keywave-go/keywave/bench/workload"
	"github.com/keywave-go/keywave/plan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// keyed returns how long Keyed takes, and the bound.
func keyed(t require.TestingT, w workload.Workload, limit int) (time.Duration, sim.Bound) {
	b, err := sim.BoundOf(w.Calls, w.Takes)
	require.NoError(t, err)
	r, err := sim.Run(plan.NewKeyed(), w.Calls, w.Takes, sim.Config{Limit: limit})
	require.NoError(t, err)
	return r.Makespan, b
}

// roomy reports whether each stretch between exclusive calls has at least 4 calls a slot, and no call takes longer than
// a tenth of what each slot has to do in all. That is less than Qualifies asks for, and not always enough: see
// [TestWhatNoScheduleReaches].
func roomy(w workload.Workload, b sim.Bound, limit int) bool {
	return slices.Max(w.Takes) <= b.Work/time.Duration(10*limit) && slices.Min(b.Stretches()) >= 4*limit
}

// TestKeyedNearTheBound: at most 1.10 of it, on each of the workloads that can make use of the limit.
func TestKeyedNearTheBound(t *testing.T) {
	for _, limit := range []int{8, 32} {
		qualified, held := 0, 0
		for seed := range uint64(3) {
			for _, w := range workload.All(8192, seed) {
				took, b := keyed(t, w, limit)
				of := float64(took) / float64(b.Lower(limit))
				t.Logf("limit %d, %s (%s): %.3f of the bound, qualifies: %t", limit, w.Name, w.Params, of, w.Qualifies(limit))
				if w.Qualifies(limit) {
					qualified++
					assert.True(t, roomy(w, b, limit), "%s (%s)", w.Name, w.Params)
				}
				if roomy(w, b, limit) {
					held++
					assert.LessOrEqual(t, of, 1.10, "%s (%s) at limit %d", w.Name, w.Params, limit)
				}
			}
		}
		assert.Equal(t, 3*7, qualified, "limit %d: of 10 kinds; not the slow call, nor frequent exclusive ones", limit)
		assert.Equal(t, map[int]int{8: 3 * 8, 32: 3 * 7}[limit], held, "limit %d: also with an exclusive call in 128, at 8", limit)
	}
}

// TestKeyedNearTheBoundApart: that is so whatever the parameters, where stretches hold only reads.
func TestKeyedNearTheBoundApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		k := rapid.IntRange(8*limit, 60*limit).Draw(t, "k")
		w := workload.Exclusives(k*rapid.IntRange(1, 4).Draw(t, "stretches"), k, rapid.Uint64().Draw(t, "seed"))
		took, b := keyed(t, w, limit)
		if w.Qualifies(limit) {
			require.LessOrEqual(t, float64(took), 1.10*float64(b.Apart(limit)))
		}
		require.Equal(t, everyStretch(w, k, limit), w.Qualifies(limit))
	})
}

// everyStretch is the condition on long calls, stretch by stretch, of Exclusives with whole stretches.
func everyStretch(w workload.Workload, k, limit int) bool {
	for at := 0; at < len(w.Calls); at += k {
		var work, longest time.Duration
		for _, d := range w.Takes[at : at+k-1] {
			work, longest = work+d, max(longest, d)
		}
		if longest > work/time.Duration(10*limit) {
			return false
		}
	}
	return true
}

// TestWhatNoScheduleReaches is why Qualifies looks at stretches one by one: here no call is long beside all of the
// work, each stretch holds 8 times the limit, and yet nothing that keeps exclusive calls alone is within 1.10 of an
// even share.
func TestWhatNoScheduleReaches(t *testing.T) {
	w := workload.Exclusives(257*32, 257, 1)
	for i := range w.Takes {
		w.Takes[i] = 50 * time.Millisecond
	}
	took, b := keyed(t, w, 32)
	assert.Less(t, w.Takes[0], b.Work/320)
	assert.Greater(t, float64(b.Apart(32)), 1.10*float64(b.Lower(32)))
	assert.Equal(t, "1.12", fmt.Sprintf("%.2f", float64(b.Apart(32))/float64(b.Lower(32))))
	assert.Equal(t, b.Apart(32), took, "and Keyed does what can be done")
	assert.False(t, w.Qualifies(32))
}

func TestQualifies(t *testing.T) {
	w := workload.Reads(200, 1)
	for i := range w.Takes {
		w.Takes[i] = time.Second
	}
	assert.True(t, w.Qualifies(20))
	assert.False(t, w.Qualifies(21), "fewer than 10 calls a slot")
	assert.False(t, w.Qualifies(0))
	w.Takes[100] = time.Minute
	assert.False(t, w.Qualifies(1), "259 s of work, and one call has 60")
	w.Calls[100] = plan.Call{}
	assert.True(t, w.Qualifies(9), "what is exclusive is in no stretch: 100 calls, then 99")
	assert.False(t, w.Qualifies(10), "the second stretch is too short")
	w.Calls[9], w.Calls[100] = plan.Call{}, w.Calls[99]
	assert.False(t, w.Qualifies(1), "the first stretch is too short")
	w.Takes = w.Takes[1:]
	assert.False(t, w.Qualifies(1), "a call without a duration")
	assert.True(t, workload.Workload{}.Qualifies(8), "nothing to do is done in no time")
}

// TestWhatIsInThem counts what the workloads are named after.
func TestWhatIsInThem(t *testing.T) {
	const n = 4000
	count := func(w workload.Workload, of func(c plan.Call) bool) int {
		require.Len(t, w.Calls, n)
		require.Len(t, w.Takes, n)
		k := 0
		for _, c := range w.Calls {
			if of(c) {
				k++
			}
		}
		return k
	}
	write := func(c plan.Call) bool { return c.Safe && c.Claims[0].Access == plan.Write }
	tree := func(c plan.Call) bool { return c.Safe && c.Claims[0].Tree }
	keys := func(w workload.Workload) map[string]int {
		k := map[string]int{}
		for _, c := range w.Calls {
			for _, cl := range c.Claims {
				k[cl.Key]++
			}
		}
		return k
	}
	most := func(k map[string]int) (most int) {
		for _, n := range k {
			most = max(most, n)
		}
		return most
	}
	assert.Zero(t, count(workload.Reads(n, 1), write))
	assert.Len(t, keys(workload.Reads(n, 1)), n)
	assert.Equal(t, n, count(workload.Writes(n, 1), write))
	assert.Len(t, keys(workload.Writes(n, 1)), n)
	assert.Equal(t, n/5, count(workload.HotFile(n, 5, 1), write))
	assert.Len(t, keys(workload.HotFile(n, 5, 1)), 1)
	zipf := workload.Zipf(n, 500, 10, 1)
	assert.InDelta(t, n/10, count(zipf, write), n/50)
	assert.LessOrEqual(t, len(keys(zipf)), 500)
	assert.Greater(t, most(keys(zipf)), 10*n/500)
	assert.Equal(t, n/4, count(workload.Bursts(n, 30, 10, 1), write))
	assert.Len(t, keys(workload.Bursts(n, 30, 10, 1)), 40)
	assert.Equal(t, n/16, count(workload.Exclusives(n, 16, 1), plan.Call.Exclusive))
	assert.InDelta(t, n*21/100, count(workload.Trees(n, 32, 20, 1), tree), n/50)
	assert.InDelta(t, n*21/100, count(workload.Trees(n, 32, 20, 1), write), n/50)
	slow := workload.Slow(n, 20, 1)
	b, err := sim.BoundOf(slow.Calls, slow.Takes)
	require.NoError(t, err)
	assert.InDelta(t, 0.2, float64(b.Critical)/float64(b.Work), 1e-6)
}

func TestSameAgain(t *testing.T) {
	assert.Equal(t, workload.All(300, 7), workload.All(300, 7))
	assert.NotEqual(t, workload.All(300, 7), workload.All(300, 8))
	for _, w := range workload.All(0, 1) {
		assert.Empty(t, w.Calls, w.Name)
	}
	for _, w := range workload.All(1, 1) {
		assert.Len(t, w.Calls, 1, w.Name)
	}
}

func TestParametersThatMeanNothing(t *testing.T) {
	assert.Equal(t, workload.HotFile(9, 1, 1), workload.HotFile(9, 0, 1))
	assert.Equal(t, workload.Zipf(9, 1, 10, 1), workload.Zipf(9, -1, 10, 1))
	assert.Equal(t, workload.Bursts(9, 1, 0, 1), workload.Bursts(9, 0, -1, 1))
	assert.Equal(t, workload.Exclusives(9, 1, 1), workload.Exclusives(9, 0, 1))
	assert.Equal(t, workload.Slow(9, 99, 1), workload.Slow(9, 100, 1))
	assert.Equal(t, workload.Slow(9, 0, 1), workload.Slow(9, -1, 1))
	assert.Equal(t, workload.Trees(9, 1, 10, 1), workload.Trees(9, 0, 10, 1))
	assert.Empty(t, workload.Reads(-1, 1).Calls)
	for _, w := range workload.All(-1, 1) {
		assert.Empty(t, w.Calls, w.Name)
	}
}
