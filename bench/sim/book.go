package sim

import (
	"slices"

	"github.com/keywave-go/keywave/plan"
)

// A book is what the admissions of this package keep of their calls.
type book struct {
	calls  []entry
	starts int
	cursor int // every call below it has started or was skipped
	prefix int // every call below it was committed
}

type entry struct {
	plan.Call
	state state
	order int // its place in the order of the starts, from 1; 0: it has not started
	class int // of locks
}

type state uint8

const (
	waiting state = iota
	running
	settled // returned or skipped
	committed
)

// Grow implements [plan.Grower].
func (b *book) Grow(calls, _ int) { b.calls = slices.Grow(b.calls, calls) }

func (b *book) add(c plan.Call) int {
	b.calls = append(b.calls, entry{Call: c})
	return len(b.calls) - 1
}

func (b *book) in(i int, s state) bool { return i >= 0 && i < len(b.calls) && b.calls[i].state == s }

func (b *book) start(i int) {
	b.starts++
	b.calls[i].state, b.calls[i].order = running, b.starts
	b.advance()
}

// settle reports whether call i was running before, and whether it had not settled.
func (b *book) settle(i int) (ran, news bool) {
	ran = b.in(i, running)
	if news = ran || b.in(i, waiting); news {
		b.calls[i].state = settled
		b.advance()
	}
	return ran, news
}

func (b *book) advance() {
	for b.cursor < len(b.calls) && b.calls[b.cursor].state != waiting {
		b.cursor++
	}
}

func (b *book) commit(i int) {
	if !b.in(i, settled) {
		return
	}
	b.calls[i].state = committed
	for b.in(b.prefix, committed) {
		b.prefix++
	}
}

// Reordered implements [plan.Admission].
func (b *book) Reordered(i int) []int {
	if i < 0 || i >= len(b.calls) {
		return nil
	}
	var later []int
	e := &b.calls[i]
	for k := i + 1; k < len(b.calls); k++ {
		o := &b.calls[k]
		if o.order > 0 && (e.order == 0 || o.order < e.order) && plan.Conflict(e.Call, o.Call) {
			later = append(later, k)
		}
	}
	return later
}
