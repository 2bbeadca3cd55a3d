package replay

import (
	"cmp"
	"context"
	"maps"
	"slices"
)

// others is the tool that stands for those that are not kept.
const others = "(others)"

// repeated is said of n batches that are there twice. They are no less counted: the first may not have been looked at
// yet when the second is.
func repeated(n int) string {
	return "batch" + times(n) + " that is there already, in this transcript or in one before it, and counts again: a " +
		"session that was resumed or forked, or a sub-agent that is in two files"
}

// report puts together what was summed.
func (s *sums) report(ctx context.Context, sources []Source, o Options) (*Report, error) {
	r := &Report{
		Version: Version, Limit: o.Limit, Sizes: []Size{}, Formats: []FormatFigure{}, Sessions: []Session{},
		Waits: []Wait{}, Tools: []Tool{}, Batches: []Batch{}, Problems: []Problem{},
	}
	ids, sessions := s.sessions(r, sources)
	r.Total, r.Mixed = s.total.figures(), s.mixed.figures()
	for _, n := range slices.Sorted(maps.Keys(s.sizes)) {
		r.Sizes = append(r.Sizes, *s.sizes[n])
	}
	for _, f := range slices.SortedFunc(maps.Keys(s.formats), func(a, b origin) int {
		return s.formats[a].at.compare(s.formats[b].at)
	}) {
		sum, clock := s.formats[f], f.clock()
		r.Formats = append(r.Formats, FormatFigure{
			Format: string(f), Sessions: sessions[f] + sum.rest, Clock: clock.Quality.String(), Text: clock.Text,
			Figures: sum.tally.figures(),
		})
	}
	s.reportWaits(r)
	s.reportTools(r)
	for source, n := range s.repeats.again() {
		p := Problem{File: sources[source].Name, Kind: "repeated", Text: repeated(n), Count: n}
		s.problems.add(problem{place{source, maxSourceProblems}, p})
	}
	for _, p := range s.problems.sorted() {
		r.Problems = append(r.Problems, p.Problem)
	}
	if s.unlisted > 0 {
		r.Problems = append(r.Problems, Problem{Kind: "more", Text: "more problems than are listed", Count: s.unlisted})
	}
	return r, s.reportBatches(ctx, r, ids, sources, o)
}

// sessions joins what several sources have of one session. It returns their ids, and how many there are of each format.
func (s *sums) sessions(r *Report, sources []Source) (map[sessionKey]int, map[origin]int) {
	ids, formats := map[sessionKey]int{}, map[origin]int{}
	var joined []*piece
	for _, p := range s.pieces.sorted() {
		id := ids[p.key]
		if id == 0 {
			formats[p.key.format]++
			joined = append(joined, &piece{at: p.at, key: p.key, agents: map[uint64]struct{}{}})
			id = len(joined)
			ids[p.key] = id
		}
		to := joined[id-1]
		if p.main && !to.main { // not that of a sub-agent, which may come first
			to.at, to.main = p.at, true
		}
		to.add(&p.tally)
		maps.Copy(to.agents, p.agents)
	}
	for i, p := range joined {
		r.Sessions = append(r.Sessions, Session{
			ID: i + 1, File: sources[p.at.source].Name, Format: string(p.key.format), Agents: len(p.agents),
			Figures: p.figures(),
		})
	}
	if s.rest.turns > 0 {
		r.Sessions = append(r.Sessions, Session{ID: len(r.Sessions) + 1, Figures: s.rest.figures()})
	}
	return ids, formats
}

func (s *sums) reportWaits(r *Report) {
	for _, k := range s.waits.keys() {
		w := s.waits.rows[k]
		r.Waits = append(r.Waits, Wait{Tool: k.tool, For: k.other, Why: k.why, Calls: w.calls, Time: millis(w.time)})
	}
	slices.SortStableFunc(r.Waits, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(b.Time, a.Time))
	})
	if w := s.waits.rest; w != nil {
		r.Waits = append(r.Waits, Wait{Tool: others, For: others, Calls: w.calls, Time: millis(w.time)})
	}
}

func (s *sums) reportTools(r *Report) {
	row := func(k toolKey, t *toolSum) Tool {
		why := noRule
		for i := range reasons {
			if t.why[i] > t.why[why] {
				why = i
			}
		}
		return Tool{
			Tool: k.tool, Format: string(k.format), Why: why.String(), Calls: t.calls, Batches: t.batches,
			AsRead: t.asRead.saving(t.is), AsFree: t.asFree.saving(t.is),
		}
	}
	for _, k := range s.tools.keys() {
		r.Tools = append(r.Tools, row(k, s.tools.rows[k]))
	}
	slices.SortStableFunc(r.Tools, func(a, b Tool) int {
		return cmp.Or(cmp.Compare(b.AsFree.Time, a.AsFree.Time), cmp.Compare(b.AsFree.Steps, a.AsFree.Steps),
			cmp.Compare(b.Calls, a.Calls))
	})
	if s.tools.rest != nil {
		r.Tools = append(r.Tools, row(toolKey{tool: others}, s.tools.rest))
	}
}

// reportBatches draws the batches worth a look.
func (s *sums) reportBatches(ctx context.Context, r *Report, ids map[sessionKey]int, sources []Source, o Options) error {
	show := func(x *sight, saved bool) error {
		b, err := x.draw(ctx, o)
		b.Saved, b.File = saved, sources[x.at.source].Name
		if b.Session = ids[x.key]; b.Session == 0 {
			b.Session = len(r.Sessions)
		}
		r.Batches = append(r.Batches, b)
		return err
	}
	shown, drawn := map[place]bool{}, 0
	for _, x := range s.largest.sorted() {
		shown[x.at] = true
		if x.inversion < noInversion {
			drawn++
		}
		if err := show(x, true); err != nil {
			return err
		}
	}
	left := o.Inverted
	for _, x := range s.inverted.sorted() {
		if shown[x.at] || left == 0 {
			continue
		}
		left--
		drawn++
		if err := show(x, false); err != nil {
			return err
		}
	}
	r.Unshown = s.turned - drawn
	return nil
}
