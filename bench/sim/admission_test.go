package sim_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/bench/sim"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/plan/plantest"
	"pgregory.net/rapid"
)

// TestAdmissions points plantest at the admissions that are not of package plan, with what each of them promises.
func TestAdmissions(t *testing.T) {
	const ordered = plantest.Interface | plantest.AnyAdmission | plantest.A2 | plantest.A5
	for _, a := range []struct {
		name      string
		open      func() plan.Admission
		contracts plantest.Contract
	}{
		{"read-runs", sim.NewReadRuns, ordered},
		{"windows", func() plan.Admission { return sim.NewWindows(2) }, ordered},
		{"locks", sim.NewLocks, plantest.Interface | plantest.A1 | plantest.A4 | plantest.A8},
		{"at-once", sim.NewAtOnce, plantest.Interface | plantest.A4 | plantest.A8},
	} {
		t.Run(a.name, func(t *testing.T) { plantest.CheckAdmission(t, a.open, a.contracts) })
	}
}

// TestWindowsEndAtASkippedBarrier: a call that will never run still stands between those before and after it, until it
// is committed; a skipped read does not.
func TestWindowsEndAtASkippedBarrier(t *testing.T) {
	for _, c := range []struct {
		between plan.Call
		joins   bool
	}{{exclusive, false}, {writes("b"), false}, {reads("b"), true}} {
		w := sim.NewReadRuns()
		calls := []plan.Call{reads("a"), c.between, reads("a")}
		for _, c := range calls {
			w.Submit(c)
		}
		require.True(t, w.Start(0, calls[0]))
		w.Settle(1)
		i, ok := w.Next(-1)
		require.Equal(t, c.joins, ok)
		require.Equal(t, 2, i)
		w.Settle(0)
		w.Commit(0)
		_, ok = w.Next(-1)
		require.Equal(t, c.joins, ok)
		w.Commit(1)
		require.True(t, w.Start(2, calls[2]))
	}
}

// TestLocksOffersTheLowest holds the offers of locks, which come from classes of calls, to looking at all calls. Some
// become another call when they start.
func TestLocksOffersTheLowest(t *testing.T) {
	alphabet := plantest.Alphabet()
	offers := func(t require.TestingT, calls []plan.Call, r *rand.Rand) {
		l := sim.NewLocks()
		for _, c := range calls {
			l.Submit(c)
		}
		order := make([]int, len(calls)) // of the starts, from 1
		starts := 0
		var running []int
		for range 4 * len(calls) {
			want := -1
			for i := range calls {
				if order[i] == 0 && !conflictsWithAny(calls, i, running) {
					want = i
					break
				}
			}
			i, ok := l.Next(-1)
			require.Equal(t, want >= 0, ok)
			switch {
			case ok && (len(running) == 0 || r.IntN(2) == 0):
				require.Equal(t, want, i)
				if r.IntN(3) == 0 {
					calls[i] = alphabet[r.IntN(len(alphabet))]
				}
				free := !conflictsWithAny(calls, i, running)
				require.Equal(t, free, l.Start(i, calls[i]))
				if free {
					starts++
					order[i], running = starts, append(running, i)
				}
			case len(running) > 0:
				k := r.IntN(len(running))
				l.Settle(running[k])
				running = append(running[:k], running[k+1:]...)
			}
		}
		for i := range calls {
			var before []int
			for k := i + 1; k < len(calls); k++ {
				if order[k] > 0 && (order[i] == 0 || order[k] < order[i]) && plantest.Conflict(calls[i], calls[k]) {
					before = append(before, k)
				}
			}
			require.Equal(t, before, l.Reordered(i))
		}
	}
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		calls := make([]plan.Call, 20)
		for i := range calls {
			calls[i] = alphabet[r.IntN(len(alphabet))]
		}
		offers(t, calls, r)
	}
	rapid.Check(t, func(t *rapid.T) {
		offers(t, plantest.Batches(20).Draw(t, "batch"), rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)))
	})
}

func conflictsWithAny(calls []plan.Call, i int, others []int) bool {
	for _, o := range others {
		if plantest.Conflict(calls[i], calls[o]) {
			return true
		}
	}
	return false
}

// TestReadRunsAreTheRollingPool says why two policies have the same figures: a batch that is there as a whole is the
// same to both, whatever the limit; and windows without a limit are read-runs.
func TestReadRunsAreTheRollingPool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls, takes := batches(t, 30)
		limit := rapid.IntRange(0, 5).Draw(t, "limit")
		times := map[string]time.Duration{}
		for _, name := range []string{"rolling", "read-runs", "windows"} {
			p, err := sim.PolicyOf(name)
			require.NoError(t, err)
			r, err := p.Run(calls, takes, sim.Config{Limit: limit})
			require.NoError(t, err)
			times[name] = r.Makespan
		}
		require.Equal(t, times["rolling"], times["read-runs"])
		if limit == 0 {
			require.Equal(t, times["rolling"], times["windows"])
		} else {
			require.LessOrEqual(t, times["rolling"], times["windows"], "a window is never ahead of its run")
		}
	})
}
