package replay

import (
	"context"
	"slices"
	"time"

	"github.com/keywave-go/keywave/bench/sim"
	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
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
	if !t.mixed {
		return r, t.reads(r, limit)
	}
	if t.timed {
		if err := t.bound(r, limit); err != nil {
			return nil, err
		}
	}
	for i, p := range policies {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		o := &r.of[i]
		switch as := t.same(i, limit); {
		case as < i && i != serial: // run already
			*o = r.of[as]
			continue
		case i == serial:
			o.steps, o.time = len(t.calls), t.work()
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

// same returns a policy that makes the same schedule as policy i, the first of those that do; see [sim.Policies].
func (t *trial) same(i, limit int) int {
	switch policies[i].Name {
	case "rolling":
		return indexReadRuns
	case "read-runs":
		if limit == 0 {
			return windows
		}
	}
	return i
}

var indexReadRuns = indexOf("read-runs")

// reads is simulate for calls none of which conflict: all policies but two make one schedule.
func (t *trial) reads(r *ruling, limit int) error {
	n := len(t.calls)
	free := limit == 0 || n <= limit
	if t.timed {
		if err := t.bound(r, limit); err != nil {
			return err
		}
	}
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

func (t *trial) bound(r *ruling, limit int) error {
	b, err := sim.BoundOf(t.calls, t.takes)
	r.tally.bound = b.Lower(limit)
	return err
}

func (r *ruling) inverts(policy int, inv sim.Inversions) {
	class := invertsBarriers
	switch {
	case policy == fit || policy == locks || policies[policy].Ordered:
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

// A what is one tool's exclusive calls of a trial, and what the keyed pool would need for all of it were they declared.
type what struct {
	tool    string
	calls   int
	why     [reasons]int
	is      cost
	asRead  cost
	asFree  cost
	skipped bool // there are too many tools to try each
}

// A cost is what the keyed pool needs.
type cost struct {
	steps int
	time  time.Duration
}

// maxTried bounds the tools times the calls of a batch for which declarations are tried.
const maxTried = 1 << 16

// whatIf tries other declarations for each tool that has exclusive calls, in the order in which they come.
func (t *trial) whatIf(ctx context.Context, limit int, r *ruling) ([]what, error) {
	var out []what
	at := map[string]int{}
	for i := range t.calls {
		if !t.calls[i].Exclusive() {
			continue
		}
		k, ok := at[t.tools[i]]
		if !ok {
			k = len(out)
			at[t.tools[i]] = k
			out = append(out, what{tool: t.tools[i]})
		}
		out[k].calls++
		out[k].why[t.why[i]]++
	}
	is := cost{r.of[keyed].steps, r.of[keyed].time}
	everything := t.everything()
	for k := range out {
		w := &out[k]
		w.is, w.asRead, w.asFree = is, is, is
		if w.skipped = len(out)*len(t.calls) > maxTried; w.skipped {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		var err error
		if w.asFree, err = t.declared(w.tool, nil, limit); err != nil {
			return nil, err
		}
		if w.asRead = w.asFree; len(everything) > 0 {
			if w.asRead, err = t.declared(w.tool, everything, limit); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// everything is what a read of everything claims, as far as it matters in this batch: all that the others write.
func (t *trial) everything() []plan.Claim {
	var claims []plan.Claim
	seen := map[plan.Claim]bool{}
	for _, c := range t.calls {
		if c.Exclusive() {
			continue
		}
		for _, claim := range c.Claims {
			if claim.Access == plan.Read {
				continue
			}
			if first := firstOf(claim.Key); first != "" {
				claim.Key, claim.Tree = first, true
			}
			if claim.Access = plan.Read; !seen[claim] {
				seen[claim] = true
				claims = append(claims, claim)
			}
		}
	}
	return claims
}

// declared is what the keyed pool needs if the exclusive calls of a tool have these claims.
func (t *trial) declared(tool string, claims []plan.Claim, limit int) (c cost, err error) {
	calls := slices.Clone(t.calls)
	for i := range calls {
		if t.tools[i] == tool && calls[i].Exclusive() {
			calls[i] = plan.Call{Safe: true, Claims: claims}
		}
	}
	p := policies[keyed]
	if c.steps, err = p.Steps(calls); err != nil || !t.timed {
		return c, err
	}
	result, err := p.Run(calls, t.takes, sim.Config{Limit: limit})
	if err != nil {
		return c, err
	}
	c.time = result.Makespan
	return c, nil
}
