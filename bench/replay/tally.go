package replay

import (
	"math"
	"time"

	"github.com/keywave-go/keywave/bench/sim"
	"github.com/keywave-go/keywave/bench/trace"
)

var (
	policies = sim.Policies()

	serial   = indexOf("serial")
	windows  = indexOf("windows")
	readRuns = indexOf("read-runs")
	rolling  = indexOf("rolling")
	keyed    = indexOf("keyed")
	firstFit = indexOf("first-fit")
	locks    = indexOf("locks")
)

func indexOf(policy string) int {
	for i, p := range policies {
		if p.Name == policy {
			return i
		}
	}
	panic("replay: sim has no policy " + policy)
}

// A tally is Figures in whole units, so that a sum is the same in whatever order its parts come.
type tally struct {
	turns, batches, calls, timed, waited, slower int
	bound, slowerBy                              time.Duration
	of                                           []outcome // by policy; nil: there is no batch
}

type outcome struct {
	steps    int
	time     time.Duration
	inverted Inverted
}

func (t *tally) add(o *tally) {
	t.turns += o.turns
	t.batches += o.batches
	t.calls += o.calls
	t.timed += o.timed
	t.waited += o.waited
	t.slower += o.slower
	t.bound = plus(t.bound, o.bound)
	t.slowerBy = plus(t.slowerBy, o.slowerBy)
	if o.of == nil {
		return
	}
	if t.of == nil {
		t.of = make([]outcome, len(policies))
	}
	for i := range o.of {
		to, from := &t.of[i], &o.of[i]
		to.steps += from.steps
		to.time = plus(to.time, from.time)
		to.inverted.Batches += from.inverted.Batches
		to.inverted.Calls += from.inverted.Calls
		to.inverted.Pairs += from.inverted.Pairs
		to.inverted.Keyed += from.inverted.Keyed
	}
}

// plus adds times, none of them below 0. What is more than a time.Duration can say, almost 300 years, stays there.
func plus(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func (t *tally) figures() Figures {
	f := Figures{
		Turns: t.turns, Batches: t.batches, Calls: t.calls, Timed: t.timed, Bound: millis(t.bound),
		Waited: t.waited, Slower: t.slower, SlowerBy: millis(t.slowerBy),
	}
	for i, p := range policies {
		o := Outcome{Policy: p.Name, Ordered: p.Ordered}
		if t.of != nil {
			o.Steps, o.Time, o.Inverted = t.of[i].steps, millis(t.of[i].time), t.of[i].inverted
		}
		f.Policies = append(f.Policies, o)
	}
	return f
}

func millis(d time.Duration) trace.Millis {
	return trace.Millis(float64(d) / float64(time.Millisecond))
}
