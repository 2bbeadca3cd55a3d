package recorded

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/keywave-go/keywave/bench/sim"
	"github.com/keywave-go/keywave/bench/trace"
	"github.com/keywave-go/keywave/plan"
)

// ID names a batch: its trace, a slash, and its number there.
func ID(b trace.Batch) string { return fmt.Sprintf("%s/%d", b.Trace, b.Number) }

// Derive runs every batch under every policy of package sim, without a limit and at each of Limits. It ends at the
// first error of batches, and at a batch that cannot be simulated.
func Derive(batches iter.Seq2[trace.Batch, error]) (*Figures, error) {
	f := &Figures{All: sums(), Mixed: sums(), Anomalies: make([][]Slower, len(Limits))}
	for b, err := range batches {
		if err != nil {
			return nil, err
		}
		r, err := derive(b)
		if err != nil {
			return nil, fmt.Errorf("batch %s: %w", ID(b), err)
		}
		f.add(b, r)
	}
	slices.SortFunc(f.Formats, func(a, b Format) int { return cmp.Compare(a.Name, b.Name) })
	return f, nil
}

func (f *Figures) add(b trace.Batch, r Sums) {
	f.All.add(r)
	if !b.ReadsOnly() {
		f.Mixed.add(r)
	}
	at := slices.IndexFunc(f.Formats, func(s Format) bool { return s.Name == b.Format })
	if at < 0 {
		at, f.Formats = len(f.Formats), append(f.Formats, Format{b.Format, sums()})
	}
	f.Formats[at].add(r)

	if n := r.Of("first-fit").Pairs; n > 0 {
		f.Inverted = append(f.Inverted, Inverted{ID(b), n})
	}
	if apart := len(plan.Ordered(uncovered(b)).Waves()); apart != r.Of("waves").Steps {
		f.Covered = append(f.Covered, Covered{ID(b), r.Of("waves").Steps, apart})
	}
	if r.Timed == 0 {
		return
	}
	free := func(o Outcome) time.Duration { return o.Time }
	f.KeyedSlower = compare(f.KeyedSlower, b, r, free, "keyed", "waves", "rolling")
	f.WavesSlower = compare(f.WavesSlower, b, r, free, "waves", "rolling")
	for i := range Limits {
		limited := func(o Outcome) time.Duration { return o.Limited[i] }
		f.Anomalies[i] = compare(f.Anomalies[i], b, r, limited, "keyed", "waves", "rolling")
	}
}

// compare notes a batch if a policy is slower there than another one, than the fastest of several.
func compare(to []Slower, b trace.Batch, r Sums, of func(Outcome) time.Duration, policy string, others ...string) []Slower {
	best := slices.MinFunc(others, func(a, b string) int { return cmp.Compare(of(r.Of(a)), of(r.Of(b))) })
	if took, than := of(r.Of(policy)), of(r.Of(best)); took > than {
		to = append(to, Slower{ID(b), took, than, best})
	}
	return to
}

// derive returns the sums over one batch.
func derive(b trace.Batch) (Sums, error) {
	s := Sums{Batches: 1, Calls: len(b.Calls)}
	calls, takes := b.Plan(), b.Takes()
	if b.Timed() {
		s.Timed = 1
		bound, err := sim.BoundOf(calls, takes)
		if err != nil {
			return Sums{}, err
		}
		s.Free = bound.Lower(0)
		for _, l := range Limits {
			s.Bound = append(s.Bound, bound.Lower(l))
		}
	}
	for _, p := range sim.Policies() {
		o, err := outcome(p, calls, takes, s.Timed > 0)
		if err != nil {
			return Sums{}, err
		}
		s.Policies = append(s.Policies, o)
		if o, err = outcome(p, strict(b), takes, s.Timed > 0); err != nil {
			return Sums{}, err
		}
		s.Strict = append(s.Strict, o)
		if p.Name == "waves" || p.Name == "keyed" {
			o, err := outcome(p, loose(b), takes, s.Timed > 0)
			if err != nil {
				return Sums{}, err
			}
			s.Loose = append(s.Loose, o)
		}
	}
	return s, nil
}

// outcome returns what becomes of a batch.
func outcome(p sim.Policy, calls []plan.Call, takes []time.Duration, timed bool) (o Outcome, err error) {
	o = Outcome{Policy: p.Name, Ordered: p.Ordered}
	if o.Steps, err = p.Steps(calls); err != nil {
		return o, err
	}
	r, err := p.Run(calls, takes, sim.Config{})
	if err != nil {
		return o, err
	}
	inv := r.Inversions(0)
	if o.Pairs, o.Keyed = inv.Pairs, inv.Keyed; o.Pairs > 0 {
		o.Batches = 1
	}
	if !timed {
		return o, nil
	}
	o.Time = r.Makespan
	for _, l := range Limits {
		r, err := p.Run(calls, takes, sim.Config{Limit: l})
		if err != nil {
			return o, err
		}
		o.Limited = append(o.Limited, r.Makespan)
		o.LimitedPairs = append(o.LimitedPairs, r.Inversions(0).Pairs)
	}
	return o, nil
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

// strict is the batch as it would be if every command of a shell ran alone.
func strict(b trace.Batch) []plan.Call {
	calls := b.Plan()
	for i, c := range b.Calls {
		if c.Guess {
			calls[i] = plan.Call{}
		}
	}
	return calls
}

// uncovered is the batch as it would be if a written directory covered nothing below it.
func uncovered(b trace.Batch) []plan.Call {
	calls := b.Plan()
	for _, c := range calls {
		for i, claim := range c.Claims {
			if claim.Access == plan.Write {
				c.Claims[i].Tree = false
			}
		}
	}
	return calls
}

func sums() Sums {
	s := Sums{Bound: make([]time.Duration, len(Limits))}
	for _, p := range sim.Policies() {
		o := Outcome{
			Policy: p.Name, Ordered: p.Ordered,
			Limited: make([]time.Duration, len(Limits)), LimitedPairs: make([]int, len(Limits)),
		}
		s.Policies = append(s.Policies, o)
	}
	clone := func(o Outcome) Outcome {
		o.Limited, o.LimitedPairs = slices.Clone(o.Limited), slices.Clone(o.LimitedPairs)
		return o
	}
	for _, o := range s.Policies {
		s.Strict = append(s.Strict, clone(o))
	}
	for _, p := range []string{"waves", "keyed"} {
		s.Loose = append(s.Loose, clone(s.Of(p)))
	}
	return s
}

// add adds the sums over one batch.
func (s *Sums) add(r Sums) {
	s.Batches += r.Batches
	s.Calls += r.Calls
	s.Timed += r.Timed
	s.Free += r.Free
	for i, d := range r.Bound {
		s.Bound[i] += d
	}
	for i, o := range r.Policies {
		s.Policies[i].add(o)
	}
	for i, o := range r.Loose {
		s.Loose[i].add(o)
	}
	for i, o := range r.Strict {
		s.Strict[i].add(o)
	}
}

func (o *Outcome) add(r Outcome) {
	o.Steps += r.Steps
	o.Time += r.Time
	o.Pairs += r.Pairs
	o.Keyed += r.Keyed
	o.Batches += r.Batches
	for i := range r.Limited {
		o.Limited[i] += r.Limited[i]
		o.LimitedPairs[i] += r.LimitedPairs[i]
	}
}
