package plan

import "slices"

// A ledger is what every admission keeps of its calls.
type ledger struct {
	calls  []entry
	prefix int   // every call below it has committed
	starts int32 // how many have started
}

type entry struct {
	Call
	order   int32 // its place in the order of the starts, from 1; 0: it has not started
	state   state
	changed bool  // its classification was another one when it was submitted
	late    int32 // Waves: the last wave that waited when it came while something ran; 0: it was not late
}

type state uint8

const (
	waiting state = iota
	running
	settled // its body returned, or it was skipped: then order is 0
	committed
)

// Grow makes room for a batch.
func (l *ledger) Grow(calls, _ int) { l.calls = slices.Grow(l.calls, calls) }

func (l *ledger) add(c Call) int {
	if l.calls == nil {
		l.calls = make([]entry, 0, 8)
	}
	l.calls = append(l.calls, entry{Call: c})
	return len(l.calls) - 1
}

// in reports whether i is a call in state s.
func (l *ledger) in(i int, s state) bool {
	return i >= 0 && i < len(l.calls) && l.calls[i].state == s
}

// reclassify records what a waiting call is this moment, and reports whether that is news.
func (l *ledger) reclassify(i int, c Call) bool {
	e := &l.calls[i]
	if e.Safe == c.Safe && (!c.Safe || slices.Equal(e.Claims, c.Claims)) {
		return false
	}
	e.Call, e.changed = c, true
	return true
}

func (l *ledger) start(i int) {
	l.starts++
	l.calls[i].state, l.calls[i].order = running, l.starts
}

// settle moves i on and reports whether it had not settled before.
func (l *ledger) settle(i int) bool {
	if !l.in(i, waiting) && !l.in(i, running) {
		return false
	}
	l.calls[i].state = settled
	return true
}

// commit moves i on and reports whether it had settled and not committed before.
func (l *ledger) commit(i int) bool {
	if !l.in(i, settled) {
		return false
	}
	l.calls[i].state = committed
	for l.in(l.prefix, committed) {
		l.prefix++
	}
	return true
}

// reordered is Reordered of the admissions that may have something to say.
func (l *ledger) reordered(i int) []int {
	if i < 0 || i >= len(l.calls) {
		return nil
	}
	var later []int
	e := &l.calls[i]
	for k := i + 1; k < len(l.calls); k++ {
		o := &l.calls[k]
		if o.order > 0 && (e.order == 0 || o.order < e.order) && Conflict(e.Call, o.Call) {
			later = append(later, k)
		}
	}
	return later
}
