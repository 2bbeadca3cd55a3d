package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/bench/sim"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/plan/plantest"
)

// TestBound compares the bound, which compares no two calls, with one that compares all of them.
func TestBound(t *testing.T) {
	bound := func(t require.TestingT, calls []plan.Call, takes []time.Duration) {
		b, err := sim.BoundOf(calls, takes)
		require.NoError(t, err)
		var work, critical time.Duration
		chain := make([]time.Duration, len(calls))
		for j := range calls {
			for i := range j {
				if plantest.Conflict(calls[i], calls[j]) {
					chain[j] = max(chain[j], chain[i])
				}
			}
			chain[j] += takes[j]
			work, critical = work+takes[j], max(critical, chain[j])
		}
		require.Equal(t, work, b.Work)
		require.Equal(t, critical, b.Critical)
		require.Equal(t, critical, b.Lower(0))
		for n := time.Duration(1); n < 5; n++ {
			require.Equal(t, max(critical, (work+n-1)/n), b.Lower(int(n)), "an even share, rounded up")
		}
		var sum time.Duration
		for k, j := range b.Chain {
			sum += takes[j]
			if k > 0 {
				require.Less(t, b.Chain[k-1], j)
				require.True(t, plantest.Conflict(calls[b.Chain[k-1]], calls[j]), "%v", b.Chain)
			}
		}
		require.Equal(t, critical, sum, "%v", b.Chain)
		require.Equal(t, len(calls) > 0, len(b.Chain) > 0)
	}
	for _, c := range plantest.Alphabet() { // every two calls that can behave differently, and one of each kind after them
		for _, d := range plantest.Alphabet() {
			calls := append([]plan.Call{c, d}, plantest.Alphabet()...)
			bound(t, calls, slices.Repeat([]time.Duration{1}, len(calls)))
			bound(t, calls[:2], []time.Duration{1, 2})
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		calls, takes := batches(t, 25)
		bound(t, calls, takes)
	})
}

// TestNothingBeatsTheBound: no policy that keeps the order is below the bound, not even below the bound taken apart at
// exclusive calls; and without a limit Keyed reaches it.
func TestNothingBeatsTheBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls, takes := batches(t, 25)
		limit := rapid.IntRange(0, 4).Draw(t, "limit")
		b, err := sim.BoundOf(calls, takes)
		require.NoError(t, err)
		require.LessOrEqual(t, b.Lower(limit), b.Apart(limit))
		for _, p := range sim.Policies() {
			r, err := p.Run(calls, takes, sim.Config{Limit: limit})
			require.NoError(t, err)
			require.Equal(t, b.Work, r.Work)
			if limit > 0 {
				require.LessOrEqual(t, r.Peak, limit)
			}
			require.LessOrEqual(t, r.Utilisation(), 1.0000001)
			if p.Ordered {
				require.GreaterOrEqual(t, r.Makespan, b.Apart(limit), p.Name)
			}
			if p.Name == "keyed" && limit == 0 {
				require.Equal(t, b.Critical, r.Makespan)
			}
			if p.Name == "serial" {
				require.Equal(t, b.Work, r.Makespan)
			}
		}
	})
}

// TestBoundTakenApart has exclusive calls that a share of the work cannot account for.
func TestBoundTakenApart(t *testing.T) {
	var calls []plan.Call
	var takes []time.Duration
	for range 3 {
		for range 4 {
			calls, takes = append(calls, reads("a")), append(takes, ms)
		}
		calls, takes = append(calls, exclusive), append(takes, ms)
	}
	b, err := sim.BoundOf(calls, takes)
	require.NoError(t, err)
	require.Equal(t, 6*ms, b.Critical)
	require.Equal(t, 7500*time.Microsecond, b.Lower(2))
	require.Equal(t, 9*ms, b.Apart(2))
	require.Equal(t, []int{4, 4, 4}, b.Stretches())
	require.Equal(t, 6*ms, b.Lower(0))
	require.Equal(t, 6*ms, b.Apart(0))
	_, err = sim.BoundOf(calls, takes[1:])
	require.ErrorIs(t, err, sim.ErrInput)
}

// TestInversions compares what is found with all pairs, of schedules that break the order and of those that do not.
func TestInversions(t *testing.T) {
	broke := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		calls, takes := batches(t, 20)
		for i := range takes {
			takes[i]++ // so that times alone tell what came first
		}
		limit := rapid.IntRange(0, 4).Draw(t, "limit")
		for _, p := range sim.Policies() {
			r, err := p.Run(calls, takes, sim.Config{Limit: limit})
			require.NoError(t, err)
			var want sim.Inversions
			for j := range calls {
				pairs := want.Pairs
				for i := range j {
					a, b := r.Spans[i], r.Spans[j]
					if plantest.Conflict(calls[i], calls[j]) && b.Started < a.Settled {
						want.Pairs++
						if !calls[i].Exclusive() && !calls[j].Exclusive() {
							want.Keyed++
						}
						want.First = append(want.First, sim.Inversion{Earlier: i, Later: j, Overlap: a.Started < b.Settled})
					}
				}
				if want.Pairs > pairs {
					want.Calls++
				}
			}
			require.Equal(t, want, r.Inversions(1000), p.Name)
			want.First = want.First[:min(2, len(want.First))]
			if len(want.First) == 0 {
				want.First = nil
			}
			require.Equal(t, want, r.Inversions(2), p.Name)
			broke[p.Name] += want.Pairs
		}
	})
	for _, p := range sim.Policies() {
		require.Equal(t, p.Ordered, broke[p.Name] == 0, "%s: %d inversions", p.Name, broke[p.Name])
	}
}

// TestInversionsOfOneInstant has calls that take no time: only what came first tells that they were inverted.
func TestInversionsOfOneInstant(t *testing.T) {
	calls := []plan.Call{reads("a"), writes("a"), reads("a")}
	r, err := sim.Run(plan.NewFirstFit(), calls, make([]time.Duration, 3), sim.Config{})
	require.NoError(t, err)
	require.Equal(t, sim.Inversions{Calls: 1, Pairs: 1, Keyed: 1, First: []sim.Inversion{{Earlier: 1, Later: 2}}}, r.Inversions(9))
	r, err = sim.Run(plan.NewKeyed(), calls, make([]time.Duration, 3), sim.Config{})
	require.NoError(t, err)
	require.Zero(t, r.Inversions(9))
}

// TestTooManyInversions has more pairs than are looked at.
func TestTooManyInversions(t *testing.T) {
	calls := make([]plan.Call, 20_000)
	takes := make([]time.Duration, len(calls))
	for i := range calls {
		calls[i], takes[i] = writes("a"), ms
	}
	r, err := sim.Run(sim.NewAtOnce(), calls, takes, sim.Config{})
	require.NoError(t, err)
	inv := r.Inversions(3)
	require.Equal(t, len(calls)-1, inv.Calls)
	require.True(t, inv.Capped)
	require.Greater(t, inv.Pairs, 10_000_000)
	require.Len(t, inv.First, 3)
	require.Equal(t, "[{0 1 true} {0 2 true} {1 2 true}]", fmt.Sprint(inv.First))
}
