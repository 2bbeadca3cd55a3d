package replay

import (
	"context"
	"slices"
	"time"

	"github.com/keywave-go/keywave/bench/sim"
	"github.com/keywave-go/keywave/exec"
)

// A ruling is what a trial came to.
type ruling struct {
	tally
	kept      []exec.Span // of the keyed pool, with waits; nil: no call waited
	saved     time.Duration
	inversion int // the lowest class of inversions that any policy has; noInversion: none has any
}

// Inversions by how much they say. Everything at once inverts calls around exclusive ones always, and that hides the
// rest.
const (
	invertsOrder    = iota // of a policy that keeps calls apart
	invertsKeys            // of everything at once, over a key
	invertsBarriers        // of everything at once, around an exclusive call
	noInversion
)

// simulate runs a trial under every policy.
func (t *trial) simulate(ctx context.Context, limit int) (*ruling, error) {
	r := &ruling{inversion: noInversion}
	r.turns, r.batches, r.calls, r.of = 1, 1, len(t.calls), make([]outcome, len(policies))
	if t.timed {
		bound, err := sim.BoundOf(t.calls, t.takes)
		if err != nil {
			return nil, err
		}
		r.bound = bound.Lower(limit)
	}
	if !t.mixed {
		return r, t.reads(r, limit)
	}
	for i, p := range policies {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		o := &r.of[i]
		switch { // what is known without running it: see sim.Policies
		case i == serial:
			o.steps, o.time = len(t.calls), t.work()
			continue
		case i == readRuns && limit == 0:
			*o = r.of[windows]
			continue
		case i == rolling:
			*o = r.of[readRuns]
			continue
		}
		result, err := p.Run(t.calls, t.takes, sim.Config{Limit: limit, Waits: i == keyed})
		if err != nil {
			return nil, err
		}
		o.time = result.Makespan
		if o.steps, err = p.Steps(t.calls); err != nil {
			return nil, err
		}
		if inv := result.Inversions(0); inv.Calls > 0 {
			o.inverted = Inverted{Batches: 1, Calls: inv.Calls, Pairs: inv.Pairs, Keyed: inv.Keyed}
			r.inverts(i, inv)
		}
		if i == keyed {
			r.keep(result.Spans)
		}
	}
	r.close(t.timed)
	return r, nil
}

// reads is simulate for calls none of which conflict: all policies but two make one schedule.
func (t *trial) reads(r *ruling, limit int) error {
	n := len(t.calls)
	free := limit == 0 || n <= limit
	var makespan, windowed time.Duration
	if free {
		makespan = slices.Max(t.takes)
		windowed = makespan
	} else {
		result, err := policies[keyed].Run(t.calls, t.takes, sim.Config{Limit: limit, Waits: true})
		if err != nil {
			return err
		}
		makespan = result.Makespan
		r.keep(result.Spans)
		if result, err = policies[windows].Run(t.calls, t.takes, sim.Config{Limit: limit}); err != nil {
			return err
		}
		windowed = result.Makespan
	}
	for i := range policies {
		r.of[i] = outcome{steps: 1, time: makespan}
	}
	r.of[serial] = outcome{steps: n, time: t.work()}
	r.of[windows].time = windowed
	r.close(t.timed)
	return nil
}

func (t *trial) work() (sum time.Duration) {
	for _, d := range t.takes {
		sum += d
	}
	return sum
}

func (r *ruling) inverts(policy int, inv sim.Inversions) {
	class := invertsBarriers
	switch {
	case policy == firstFit || policy == locks || policies[policy].Ordered:
		class = invertsOrder
	case inv.Keyed > 0:
		class = invertsKeys
	}
	r.inversion = min(r.inversion, class)
}

// keep notes the spans of the keyed pool, and counts the calls that it kept back for another.
func (r *ruling) keep(spans []exec.Span) {
	r.kept = spans
	for i := range spans {
		for _, w := range spans[i].Waits {
			if w.Call >= 0 && w.For != exec.WaitCommit {
				r.waited++
				break
			}
		}
	}
}

// close compares the policies, and leaves out the times if they are not known.
func (r *ruling) close(timed bool) {
	if !timed {
		for i := range r.of {
			r.of[i].time = 0
		}
		return
	}
	r.timed = 1
	roll, key := r.of[rolling].time, r.of[keyed].time
	if r.saved = roll - key; r.saved < 0 {
		r.slower, r.slowerBy = 1, -r.saved
	}
}
