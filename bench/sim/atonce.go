package sim

import "github.com/keywave-go/keywave/plan"

// NewAtOnce returns the admission of hosts that start everything, in the model's order and whatever it does. Nothing is
// faster, and nothing is kept apart: it is the floor that others are compared with.
func NewAtOnce() plan.Admission { return new(atOnce) }

type atOnce struct{ book }

func (a *atOnce) Submit(c plan.Call) int { return a.add(c) }

func (a *atOnce) Next(after int) (int, bool) {
	i := max(a.cursor, after+1)
	for i < len(a.calls) && a.calls[i].state != waiting {
		i++
	}
	return i, i < len(a.calls)
}

func (a *atOnce) Start(i int, c plan.Call) bool {
	if !a.in(i, waiting) {
		return false
	}
	a.calls[i].Call = c
	a.start(i)
	return true
}

func (a *atOnce) Settle(i int) { a.settle(i) }
func (a *atOnce) Commit(i int) { a.commit(i) }

func (a *atOnce) Blocked(int) (plan.Blocker, bool) { return plan.Blocker{}, false }
