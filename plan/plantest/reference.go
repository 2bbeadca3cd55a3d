package plantest

import (
	"slices"

	"github.com/keywave-go/keywave/plan"
)

// Ordered returns the waves of the plan that keeps the order with the fewest waves: each call's is one more than the
// longest chain of conflicts that leads to it. It looks at every pair of calls.
func Ordered(calls []plan.Call) [][]int {
	wave := make([]int, len(calls))
	for j := range calls {
		for i := range j {
			if Conflict(calls[i], calls[j]) {
				wave[j] = max(wave[j], wave[i]+1)
			}
		}
	}
	return gather(wave)
}

// FirstFit returns the waves of the published greedy planner, generalised to claims: an exclusive call opens a wave of
// its own, which is closed from birth; every other call goes to the earliest open wave in which nothing conflicts
// with it, or to a new one, which is open and stays so.
func FirstFit(calls []plan.Call) [][]int {
	var waves [][]int
	var open []bool
	for j, c := range calls {
		fits := func(w int) bool {
			return open[w] && !slices.ContainsFunc(waves[w], func(i int) bool { return Conflict(calls[i], c) })
		}
		w := 0
		for w < len(waves) && (Exclusive(c) || !fits(w)) {
			w++
		}
		if w == len(waves) {
			waves, open = append(waves, nil), append(open, !Exclusive(c))
		}
		waves[w] = append(waves[w], j)
	}
	return waves
}

// Groups returns what a rolling pool makes of a batch without claims: each exclusive call alone, and each stretch
// between two of them.
func Groups(calls []plan.Call) [][]int {
	var groups [][]int
	for i, c := range calls {
		if i == 0 || Exclusive(c) || Exclusive(calls[i-1]) {
			groups = append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], i)
	}
	return groups
}

// Inversions returns the smallest batches in which first-fit lets a later call run before an earlier one that it
// conflicts with: around an exclusive call, and by reads, by several keys and by trees without one.
func Inversions() [][]plan.Call {
	w := func(keys ...string) plan.Call {
		c := plan.Call{Safe: true}
		for _, k := range keys {
			c.Claims = append(c.Claims, plan.Claim{Key: k})
		}
		return c
	}
	r := plan.Call{Safe: true, Claims: []plan.Claim{{Key: "a", Access: plan.Read}}}
	tree := plan.Call{Safe: true, Claims: []plan.Claim{{Key: "lib", Tree: true}}}
	return [][]plan.Call{
		{w("a"), {}, w("b")},
		{r, w("a"), r},
		{w("a"), w("a", "b"), w("b")},
		{w("lib/a"), tree, w("lib/b")},
	}
}

// gather turns the wave of each call into waves of calls.
func gather(wave []int) [][]int {
	var waves [][]int
	for i, w := range wave {
		for len(waves) <= w {
			waves = append(waves, nil)
		}
		waves[w] = append(waves[w], i)
	}
	return waves
}
