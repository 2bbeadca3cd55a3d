package domaintest

import (
	"slices"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/plan/plantest"
)

// A model says what must become of every request of a sequence. It is written to be obviously right and not to be fast:
// it keeps no queues, and looks at every other request each time.
//
// Of a Domain that is not in a bubble it need not know when a request got in line. Then there are answers that it
// neither demands nor forbids.
type model struct {
	now int // steps so far
	all []*request
}

// A request is one call of Acquire, and the lease that comes of it.
type request struct {
	n         int      // from 1
	in        *request // whose lease it is acquired from; nil: from the Domain
	claims    []plan.Claim
	exclusive bool

	asked int // the step at which Acquire was called
	came  int // the step from which on it is known to stand in line; 0: it is not

	mayFail   refusals // the errors that Acquire may return
	mustFail  bool     // it must return one of those
	granted   bool
	refused   bool
	released  bool
	closed    bool // nothing is acquired from it any more
	abandoned bool
	barred    int // the step at which it was abandoned, if it keeps out what comes later; 0: it does not
	lost      bool
}

// A refusal is a kind of error that Acquire returns.
type refusal uint8

const (
	cancelled refusal = 1 << iota
	leaseEnded
	uncovered
)

type refusals = refusal

// ask notes a call of Acquire. Late says that its context is done already.
func (m *model) ask(in *request, claims []plan.Claim, exclusive, late bool) *request {
	r := &request{n: len(m.all) + 1, in: in, claims: claims, exclusive: exclusive, asked: m.now}
	if late {
		r.mayFail |= cancelled
	}
	if in != nil && in.closed {
		r.mayFail |= leaseEnded
	}
	if missing(r) >= 0 {
		r.mayFail |= uncovered
	}
	r.mustFail = r.mayFail != 0
	m.all = append(m.all, r)
	return r
}

// refuse notes that a request, if it waits, gets an error.
func (m *model) refuse(r *request, why refusal) {
	if r.granted || r.refused || r.mustFail {
		return
	}
	r.mustFail = m.inTheWay(r) != nil
	r.mayFail |= why
}

func (m *model) release(r *request) {
	r.released, r.closed = true, true
	for _, kid := range m.all {
		if kid.in == r {
			m.refuse(kid, leaseEnded)
		}
	}
}

func (m *model) abandon(r *request) {
	if r.released || r.abandoned {
		return
	}
	r.abandoned = true
	if r.exclusive && len(r.claims) == 0 {
		r.barred = m.now
	}
	for _, kid := range m.all {
		if kid == r || kid.within(r) {
			m.refuse(kid, leaseEnded)
			kid.closed = true
		}
	}
}

func (m *model) lose(r *request) {
	for _, kid := range m.all {
		if kid == r || kid.within(r) {
			m.refuse(kid, leaseEnded)
			kid.lost, kid.closed = true, true
		}
	}
}

// inTheWay returns a request for which r must certainly wait, or nil.
func (m *model) inTheWay(r *request) *request {
	for _, x := range m.all {
		if x == r || holder(x) != holder(r) || m.mayBeOver(x) {
			continue
		}
		if x.barred > 0 && x.barred < r.asked || conflict(x, r) && (x.granted || before(x, r)) {
			return x
		}
	}
	return nil
}

// free reports whether r must certainly be granted.
func (m *model) free(r *request) bool {
	for _, x := range m.all {
		if x == r || holder(x) != holder(r) || m.isOver(x) {
			continue
		}
		if x.barred > 0 && (r.came == 0 || r.came > x.barred) || conflict(x, r) && !before(r, x) {
			return false
		}
	}
	return true
}

// before reports whether a certainly stood in line when b came.
func before(a, b *request) bool { return a.came > 0 && a.came < b.asked || a == b }

// mayBeOver reports whether a lease may have ended, if it is not known for sure which requests were granted, and isOver
// whether it has: it was released, and all that was acquired from it has ended.
func (m *model) mayBeOver(r *request) bool {
	return r.mayFail != 0 && !r.granted || r.over(m, m.mayBeOver)
}

func (m *model) isOver(r *request) bool { return r.over(m, m.isOver) }

func (r *request) over(m *model, over func(*request) bool) bool {
	if r.refused || r.lost {
		return true
	}
	return r.released && !slices.ContainsFunc(m.all, func(kid *request) bool { return kid.in == r && !over(kid) })
}

// within reports whether r is nested in another request, at whatever depth.
func (r *request) within(other *request) bool {
	for p := r.in; p != nil; p = p.in {
		if p == other {
			return true
		}
	}
	return false
}

// holder returns the nearest lease around r that has claims: r competes within that. Nil: in the Domain.
func holder(r *request) *request {
	p := r.in
	for p != nil && len(p.claims) == 0 {
		p = p.in
	}
	return p
}

// missing returns the index of the first claim that the holder's do not cover, or -1.
func missing(r *request) int {
	h := holder(r)
	if h == nil {
		return -1
	}
	return slices.IndexFunc(r.claims, func(c plan.Claim) bool {
		return !slices.ContainsFunc(h.claims, func(held plan.Claim) bool { return covers(held, c) })
	})
}

// everything reports whether a claim is one of everything.
func everything(c plan.Claim) bool {
	return plantest.Exclusive(plan.Call{Safe: true, Claims: []plan.Claim{c}})
}

// covers reports whether who holds a claim may do what another one asks for.
func covers(held, c plan.Claim) bool {
	switch {
	case everything(held):
		return true
	case everything(c) || c.Access != plan.Read && held.Access == plan.Read:
		return false
	case held.Tree: // the plain key is one of those of the tree, and so are all below
		return plantest.Overlap(held, plan.Claim{Key: c.Key})
	}
	return !c.Tree && plantest.Overlap(held, c)
}

// conflict reports whether two requests are in each other's way.
func conflict(a, b *request) bool {
	return slices.ContainsFunc(a.claims, func(x plan.Claim) bool {
		return slices.ContainsFunc(b.claims, func(y plan.Claim) bool { return collide(x, y) })
	})
}

// collide says for two claims what plan.Conflict does.
func collide(x, y plan.Claim) bool {
	return plantest.Conflict(plan.Call{Safe: true, Claims: []plan.Claim{x}}, plan.Call{Safe: true, Claims: []plan.Claim{y}})
}
