package replay

import (
	"context"
	"slices"
	"time"

	"github.com/keywave-go/keywave/bench/sim"
	"github.com/keywave-go/keywave/plan"
)

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
