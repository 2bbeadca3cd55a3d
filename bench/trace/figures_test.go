package trace_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/bench/sim"
	"github.com/keywave-go/keywave/bench/trace"
	"github.com/keywave-go/keywave/plan"
)

// Figures are what the recorded batches come to.
type figures struct {
	batches, calls    int
	timed, timedMixed int // batches whose times count, and those of them with a write or an exclusive call
	steps             map[string]int
	looseSteps        int                      // of waves, with tests, linters and builds as reads of the tree
	times             map[string]time.Duration // without a limit
	mixedTimes        map[string]time.Duration
	limited           map[int]map[string]time.Duration
	lower             map[int]time.Duration // the bound, batch by batch, at each limit
	keyedSlower       []comparison          // than waves or the rolling pool, without a limit
	wavesSlower       []comparison          // than the rolling pool, without a limit
	anomalies         map[int][]comparison  // keyed slower than waves or the rolling pool, with one
	inversions        map[string]int        // pairs, by policy, over all batches, without a limit
	inverted          map[string][]string   // the batches with any
}

// A comparison is a batch in which one policy is slower than another.
type comparison struct {
	batch        string
	slower, than time.Duration
	of           string
}

type byPolicy map[string]time.Duration

var limits = []int{1, 4, 8, 10, 32}

func name(b trace.Batch) string { return fmt.Sprintf("%s/%d", b.Trace, b.Number) }

// derive runs every batch under every policy.
func derive(t *testing.T, batches []trace.Batch) figures {
	f := figures{
		steps: map[string]int{}, times: map[string]time.Duration{}, mixedTimes: map[string]time.Duration{},
		limited: map[int]map[string]time.Duration{}, lower: map[int]time.Duration{}, anomalies: map[int][]comparison{},
		inversions: map[string]int{}, inverted: map[string][]string{},
	}
	for _, l := range limits {
		f.limited[l] = map[string]time.Duration{}
	}
	for _, b := range batches {
		calls, takes := b.Plan(), b.Takes()
		f.batches++
		f.calls += len(calls)
		f.looseSteps += len(plan.Ordered(loose(b)).Waves())
		timed := b.Timed()
		if timed {
			f.timed++
			if !b.ReadsOnly() {
				f.timedMixed++
			}
			bound, err := sim.BoundOf(calls, takes)
			require.NoError(t, err)
			for _, l := range append(limits, 0) {
				f.lower[l] += bound.Lower(l)
			}
		}
		free := map[string]time.Duration{}
		at := map[int]map[string]time.Duration{}
		for _, p := range sim.Policies() {
			n, err := p.Steps(calls)
			require.NoError(t, err)
			f.steps[p.Name] += n
			r, err := p.Run(calls, takes, sim.Config{})
			require.NoError(t, err)
			if inv := r.Inversions(0); inv.Pairs > 0 {
				f.inversions[p.Name] += inv.Pairs
				f.inverted[p.Name] = append(f.inverted[p.Name], name(b))
			}
			free[p.Name] = r.Makespan
			if !timed {
				continue
			}
			f.times[p.Name] += r.Makespan
			if !b.ReadsOnly() {
				f.mixedTimes[p.Name] += r.Makespan
			}
			for _, l := range limits {
				r, err := p.Run(calls, takes, sim.Config{Limit: l})
				require.NoError(t, err)
				f.limited[l][p.Name] += r.Makespan
				if at[l] == nil {
					at[l] = map[string]time.Duration{}
				}
				at[l][p.Name] = r.Makespan
				require.True(t, !p.Ordered || r.Inversions(0).Pairs == 0, "%s, %s, limit %d", name(b), p.Name, l)
			}
		}
		if !timed {
			continue
		}
		f.keyedSlower = compare(f.keyedSlower, b, free, "keyed", "waves", "rolling")
		f.wavesSlower = compare(f.wavesSlower, b, free, "waves", "rolling")
		for _, l := range limits {
			f.anomalies[l] = compare(f.anomalies[l], b, at[l], "keyed", "waves", "rolling")
		}
	}
	return f
}

// compare notes a batch if a policy is slower there than another one, than the fastest of several.
func compare(to []comparison, b trace.Batch, times byPolicy, policy string, others ...string) []comparison {
	best := slices.MinFunc(others, func(a, b string) int { return cmp.Compare(times[a], times[b]) })
	if times[policy] > times[best] {
		to = append(to, comparison{name(b), times[policy], times[best], best})
	}
	return to
}

// loose is the batch as it would be if tests, linters and builds declared that they read the working directory.
func loose(b trace.Batch) []plan.Call {
	calls := b.Plan()
	for i, c := range b.Calls {
		has := func(classes ...string) bool {
			return slices.ContainsFunc(c.Shell, func(s string) bool { return slices.Contains(classes, s) })
		}
		if c.Access == trace.Exclusive && has("test", "lint", "build") && !has("git-write", "fs-write", "pkg") {
			calls[i] = plan.Call{Safe: true, Claims: []plan.Claim{{Key: ".", Access: plan.Read, Tree: true}}}
		}
	}
	return calls
}

func (f figures) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d batches, %d calls; times of %d batches, %d of them with a write or an exclusive call\n",
		f.batches, f.calls, f.timed, f.timedMixed)
	w := tabwriter.NewWriter(&s, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "policy\tsteps\ttime\tof serial\tmixed\tinversions\tbatches")
	for _, l := range limits {
		fmt.Fprintf(w, "\tlimit %d", l)
	}
	fmt.Fprintln(w)
	for _, p := range sim.Policies() {
		fmt.Fprintf(w, "%s\t%d\t%v\t%.4f\t%.4f\t%d\t%d", p.Name, f.steps[p.Name], f.times[p.Name],
			ratio(f.times[p.Name], f.times["serial"]), ratio(f.mixedTimes[p.Name], f.mixedTimes["serial"]),
			f.inversions[p.Name], len(f.inverted[p.Name]))
		for _, l := range limits {
			fmt.Fprintf(w, "\t%.4f", ratio(f.limited[l][p.Name], f.lower[l]))
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	fmt.Fprintf(&s, "waves, with tests, linters and builds as reads of the tree: %d steps\n", f.looseSteps)
	show(&s, "keyed slower than waves or rolling, no limit", f.keyedSlower)
	show(&s, "waves slower than rolling, no limit", f.wavesSlower)
	for _, l := range limits {
		show(&s, fmt.Sprintf("keyed slower than waves or rolling, limit %d", l), f.anomalies[l])
	}
	fmt.Fprintf(&s, "first-fit inverts: %v\n", f.inverted["first-fit"])
	return s.String()
}

func show(s *strings.Builder, what string, list []comparison) {
	fmt.Fprintf(s, "%s: %d batches\n", what, len(list))
	worst := slices.Clone(list)
	slices.SortStableFunc(worst, func(a, b comparison) int {
		return cmp.Compare(ratio(b.slower, b.than), ratio(a.slower, a.than))
	})
	for _, c := range worst {
		fmt.Fprintf(s, "  %s: %v against %v of %s\n", c.batch, c.slower, c.than, c.of)
	}
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// read reads a file of recorded batches.
func read(t testing.TB, path string) []trace.Batch {
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	var batches []trace.Batch
	for b, err := range trace.Read(file) {
		require.NoError(t, err)
		batches = append(batches, b)
	}
	return batches
}
