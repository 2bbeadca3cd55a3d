package replay

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/keywave-go/keywave/bench/sim"
	"github.com/keywave-go/keywave/bench/transcript"
	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// What is drawn of a batch. A larger one is counted, and not shown.
const (
	maxDrawn     = 100     // calls
	maxDrawnKeys = 1 << 16 // bytes in the keys of all calls
	maxPairs     = 500     // conflicts, and inversions under one policy
)

// A sight is a batch worth a look, with all that it takes to draw it.
type sight struct {
	at        place
	saved     time.Duration // by the keyed pool, beside the rolling pool
	inversion int

	key   sessionKey
	line  int
	sub   bool
	dir   string
	trial *trial
}

func bySaving(a, b *sight) int {
	return cmp.Or(cmp.Compare(b.saved, a.saved), a.at.compare(b.at))
}

func byInversion(a, b *sight) int {
	return cmp.Or(a.inversion-b.inversion, a.at.compare(b.at))
}

// look keeps a batch if it is worth a look.
func (c *collector) look(b *transcript.Batch, t *trial, r *ruling, at place) {
	s := &sight{at: at, saved: r.saved, inversion: r.inversion, line: b.Line, sub: b.Agent != ""}
	large := s.saved > 0 && c.largest.wants(s)
	inverted := s.inversion < noInversion && c.inverted.wants(s)
	if !large && !inverted {
		return
	}
	if len(t.calls) > maxDrawn || t.keys() > maxDrawnKeys {
		c.big++
		return
	}
	// What is kept must not hold on to the arguments that it may be a part of.
	for i := range t.calls {
		for j := range t.calls[i].Claims {
			claim := &t.calls[i].Claims[j]
			claim.Key = strings.Clone(claim.Key)
		}
		t.tools[i] = strings.Clone(t.tools[i])
	}
	s.key, s.trial = c.key(b), t
	if len(b.Dir) <= maxDrawnKeys {
		s.dir = strings.Clone(b.Dir)
	}
	if large {
		c.largest.add(s)
	}
	if inverted {
		c.inverted.add(s)
	}
}

// draw runs a batch once more and writes down everything.
func (s *sight) draw(ctx context.Context, o Options) (Batch, error) {
	t := s.trial
	b := Batch{Line: s.line, Sub: s.sub, Timed: t.timed, Calls: []Call{}, Conflicts: []Conflict{}, Runs: []Schedule{}}
	names := newAliases(s.dir, t.calls)
	for i, c := range t.calls {
		call := Call{Tool: t.tools[i], Access: access(c), Claims: []Claim{}, Time: millis(t.takes[i])}
		if c.Exclusive() {
			call.Why = t.why[i].String()
		}
		for _, claim := range c.Claims {
			key := claim.Key
			if !o.Names {
				key = names.of(key)
			}
			call.Claims = append(call.Claims, Claim{Key: key, Write: claim.Access != plan.Read, Tree: claim.Tree})
		}
		b.Calls = append(b.Calls, call)
		for j := range i {
			if len(b.Conflicts) < maxPairs && plan.Conflict(t.calls[j], c) {
				b.Conflicts = append(b.Conflicts, Conflict{j, i})
			}
		}
	}
	for i, p := range policies {
		if err := context.Cause(ctx); err != nil {
			return b, err
		}
		r, err := p.Run(t.calls, t.takes, sim.Config{Limit: o.Limit, Waits: true})
		if err != nil {
			return b, err
		}
		inv := r.Inversions(maxPairs)
		if i == rolling || i == keyed || inv.Calls > 0 {
			b.Runs = append(b.Runs, schedule(p.Name, r, inv))
		}
	}
	return b, nil
}

func schedule(policy string, r *sim.Result, inv sim.Inversions) Schedule {
	s := Schedule{Policy: policy, Time: millis(r.Makespan), Spans: []Span{}, Inversions: []Inversion{}}
	for _, x := range r.Spans {
		span := Span{Start: millis(x.Started), End: millis(x.Settled), Waits: []SpanWait{}}
		for _, w := range x.Waits {
			if w.For != exec.WaitCommit {
				span.Waits = append(span.Waits, SpanWait{w.For.String(), w.Call, millis(w.From), millis(w.To)})
			}
		}
		s.Spans = append(s.Spans, span)
	}
	for _, x := range inv.First {
		s.Inversions = append(s.Inversions, Inversion{Conflict{x.Earlier, x.Later}, x.Overlap})
	}
	return s
}
