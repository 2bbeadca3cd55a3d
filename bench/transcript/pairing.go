package transcript

import (
	"cmp"
	"slices"
	"time"
)

const (
	maxOpen  = 256  // batches that are open at once
	maxCalls = 4096 // of a batch
)

// A pairing keeps the batches that are open and finds the call that a result belongs to. An agent has one open batch:
// its next answer ends it.
type pairing struct {
	open   []*open // the one that was used last comes last
	emit   func(Batch)
	report *Report
}

// An agent is who makes calls: the main one of a session, or a sub-agent.
type agent struct{ session, agent string }

// An open batch may still get calls and results.
type open struct {
	Batch
	of       agent
	records  map[string]bool  // that were used already
	byID     map[string][]int // indexes of calls; those in front may have a result
	noID     int              // calls without an id that have no result
	answered int
	asked    map[int]time.Time // keywave: when an approval was asked for
}

// at returns the open batch of an agent; nil if there is none.
func (p *pairing) at(of agent) *open {
	for i := len(p.open) - 1; i >= 0; i-- {
		if o := p.open[i]; o.of == of {
			if i < len(p.open)-1 {
				p.open = append(slices.Delete(p.open, i, i+1), o)
			}
			return o
		}
	}
	return nil
}

// batch returns the open batch of an agent with b's turn, and begins it if it is not open. Then the agent's last is
// over.
func (p *pairing) batch(of agent, b Batch) *open {
	o := p.at(of)
	if o != nil && o.Turn == b.Turn && len(o.Calls) < maxCalls {
		return o
	}
	if o != nil {
		if len(o.Calls) >= maxCalls && o.Turn == b.Turn {
			p.report.note(TooManyOpen, b.Line, "a batch was divided")
		}
		p.close(o, CallWithoutResult)
	}
	if len(p.open) >= maxOpen {
		p.report.note(TooManyOpen, b.Line, "")
		p.close(p.open[0], CallWithoutResult)
	}
	o = &open{Batch: b, of: of}
	p.open = append(p.open, o)
	return o
}

// once reports whether a record is used for the first time in the batch.
func (p *pairing) once(o *open, id string, line int) bool {
	switch {
	case id == "":
		return true
	case o.records[id]:
		p.report.note(RepeatedRecord, line, "")
		return false
	case o.records == nil:
		o.records = map[string]bool{}
	}
	if len(o.records) < maxCalls {
		o.records[id] = true
	}
	return true
}

// add adds a call.
func (p *pairing) add(o *open, c Call) {
	if c.ID == "" {
		p.report.note(MissingID, c.Line, "a call")
		o.noID++
	} else {
		if _, twice := o.byID[c.ID]; twice {
			p.report.note(DuplicateID, c.Line, "")
		}
		if o.byID == nil {
			o.byID = map[string][]int{}
		}
		o.byID[c.ID] = append(o.byID[c.ID], len(o.Calls))
	}
	o.Calls = append(o.Calls, c)
}

// An answer is what a transcript says of the end of a call.
type answer struct {
	id, name string // of the call; either may be empty
	line     int
	at       time.Time
	outcome  Outcome
	reported time.Duration

	background bool // it goes on
}

// answer records a result of one of the agent's calls. With anybody it may be a call of whichever agent.
func (p *pairing) answer(of agent, anybody bool, a answer) {
	o := p.at(of)
	i := o.find(a)
	if i < 0 && anybody {
		for _, other := range p.open {
			if i = other.find(a); i >= 0 {
				o = other
				break
			}
		}
	}
	if i < 0 {
		if i = o.guess(a); i >= 0 && a.id == "" {
			p.report.note(MissingID, a.line, "a result")
		}
	}
	if i < 0 {
		kind := ResultWithoutCall
		if o != nil && a.id != "" {
			if _, known := o.byID[a.id]; known {
				kind = RepeatedResult
			}
		}
		p.report.note(kind, a.line, "")
		return
	}
	p.settle(o, i, a)
}

// settle records the result of call i of a batch.
func (p *pairing) settle(o *open, i int, a answer) {
	c := &o.Calls[i]
	if c.ID == "" && c.Outcome == Unanswered && a.outcome != Unanswered {
		o.noID--
	}
	c.Outcome, c.Background = a.outcome, a.background
	o.answered++
	if a.reported > 0 {
		c.Reported = a.reported
	}
	if c.End.IsZero() {
		c.End = a.at
	}
	if !c.Start.IsZero() && !c.End.IsZero() && c.End.Before(c.Start) {
		p.report.note(ClockBackwards, a.line, "")
		c.End = time.Time{}
	}
}

// find returns the first call without a result that has an answer's id; -1 if there is none.
func (o *open) find(a answer) int {
	if o == nil || a.id == "" {
		return -1
	}
	calls, known := o.byID[a.id]
	for len(calls) > 0 && o.Calls[calls[0]].Outcome != Unanswered {
		calls = calls[1:]
		o.byID[a.id] = calls // it stays known
	}
	if !known || len(calls) == 0 {
		return -1
	}
	return calls[0]
}

// guess returns the first call without a result that an answer could be for, if one of the two has no id.
func (o *open) guess(a answer) int {
	if o == nil || a.id != "" && o.noID == 0 {
		return -1
	}
	return slices.IndexFunc(o.Calls, func(c Call) bool {
		return c.Outcome == Unanswered && (a.id == "" || c.ID == "") && (a.name == "" || c.Name == a.name)
	})
}

// call returns the call with an id, of whichever agent; nil if none is open.
func (p *pairing) call(id string) *Call {
	for i := len(p.open) - 1; i >= 0; i-- {
		if j := p.open[i].find(answer{id: id}); j >= 0 {
			return &p.open[i].Calls[j]
		}
	}
	return nil
}

// end ends the agent's batch: what it calls from now on is another.
func (p *pairing) end(of agent) {
	if o := p.at(of); o != nil {
		p.close(o, CallWithoutResult)
	}
}

// endAll ends all batches, in the order in which they began.
func (p *pairing) endAll(without Kind) {
	slices.SortStableFunc(p.open, func(a, b *open) int { return cmp.Compare(a.Line, b.Line) })
	for len(p.open) > 0 {
		p.close(p.open[0], without)
	}
}

// close hands on a batch. Its calls without a result are a problem of the kind given.
func (p *pairing) close(o *open, without Kind) {
	p.open = slices.DeleteFunc(p.open, func(other *open) bool { return other == o })
	if len(o.Calls) == 0 {
		return
	}
	for i := range o.Calls {
		if o.Calls[i].Outcome == Unanswered {
			p.report.note(without, o.Calls[i].Line, "")
		}
	}
	o.tails()
	p.emit(o.Batch)
}

// tails works out the part of each call that is after every end before its own.
func (b *Batch) tails() {
	var ends []*Call
	for i := range b.Calls {
		if c := &b.Calls[i]; !c.Start.IsZero() && !c.End.IsZero() {
			ends = append(ends, c)
		}
	}
	slices.SortStableFunc(ends, func(a, b *Call) int { return a.End.Compare(b.End) })
	var last time.Time
	for _, c := range ends {
		from := c.Start
		if last.After(from) {
			from = last
		}
		c.Tail = max(0, c.End.Sub(from))
		last = c.End
	}
}

// first returns the first string that is not empty.
func first(s ...string) string { return cmp.Or(s...) }
