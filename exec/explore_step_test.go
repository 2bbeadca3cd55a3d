package exec

import (
	"fmt"

	"github.com/keywave-go/keywave/plan"
)

// A walker knows what can happen next in a world.
type walker struct {
	*family
	out     []world // the states that can follow
	bound   bool    // one of them comes about by something that has to happen
	from    int     // the progress of the state that they follow
	err     error   // the first violation
	asked   *states // of the Domain, each with a step
	checked *states // the same, whatever the names
	driven  int     // steps of the real Domain
	replay  replay
}

// push notes that n can follow. If must, that, or something else that must, comes some time.
func (x *walker) push(n *world, must bool) {
	x.choose(n, must)
	if p := x.out[len(x.out)-1].progress(); must && p <= x.from && x.err == nil {
		x.err = fmt.Errorf("no progress to\n%v", n)
	}
}

// choose is push for what a lane or a body decides: to make a call, or to open a lane. It does so as often as it likes.
func (x *walker) choose(n *world, must bool) {
	if !x.Fine {
		x.rush(n)
		x.tidy(n)
	}
	x.out = append(x.out, *n)
	x.bound = x.bound || must
}

// next finds all states that can follow.
func (x *walker) next(w *world) {
	x.out, x.bound, x.from = x.out[:0], false, w.progress()
	if x.Fine && w.cancels > 0 {
		for lane := range x.Lanes {
			if !w.stopped(lane) {
				n := *w
				n.cancels--
				n.cancelled |= 1 << lane
				x.push(&n, false)
			}
		}
	}
	if x.Within != unset && x.Cancels > 0 && !w.shut && (!x.Fine || w.cancels == 0) {
		n := *w
		x.shut(&n)
		x.push(&n, false)
	}
	for i := range x.Lanes * perLane {
		if a := &w.actors[i]; a.at != atEnd || a.given == lost || a.given == lapsed || a.permit.lanes > 0 {
			x.act(w, i)
		}
	}
}

// off reports whether a call is known to be cancelled.
func (x *walker) off(w *world, i int) bool {
	if x.Fine && w.stopped(i/perLane) || w.actors[i].given > kept {
		return true
	}
	in := w.actors[i].within
	return nested(i) && in >= 0 && (w.actors[in].at >= atReturned || w.actors[in].given > kept)
}

// act finds what can happen next to one call.
func (x *walker) act(w *world, i int) {
	a := &w.actors[i]
	must := x.off(w, i)
	can := must || !x.Fine && x.Cancels > 0
	switch a.at {
	case atNothing:
		x.admit(w, i, can, must)
	case atLine:
		if !a.leased || w.granted(i) && (x.Fine || !must && (!x.Unordered || w.free > 0)) {
			n := *w
			x.advance(&n, i)
			x.push(&n, true)
		}
		if a.leased && can {
			n := *w
			x.giveUp(&n, i)
			x.push(&n, must)
		}
	case atQueue, atRetake:
		if x.Unordered && w.free > 0 { // the queue is none
			n := *w
			n.free--
			n.actors[i].at = atRetaken
			x.push(&n, true)
		}
		if can {
			n := *w
			x.dequeue(&n, i)
			if a.at == atRetake {
				n.actors[i].at = atForgone
			} else {
				x.end(&n, i)
			}
			x.push(&n, must)
		}
	case atBody:
		planned := x.nest(w, i)
		if !planned || must {
			n := *w
			x.end(&n, i)
			x.push(&n, true)
		}
	case atNested:
		if w.actors[w.kid(i)].done() {
			n := *w
			x.unnest(&n, i, must)
			x.push(&n, true)
			if can && !must {
				n := *w
				x.unnest(&n, i, true)
				x.push(&n, false)
			}
		}
		if x.Leaves {
			n := *w
			x.end(&n, i)
			x.push(&n, false)
		}
	case atSettled:
		if nested(i) || i%perLane == 0 || w.actors[i-1].done() { // it commits in the model's order
			n := *w
			x.advance(&n, i)
			x.push(&n, true)
		}
	case atEnd:
	default:
		n := *w
		x.advance(&n, i)
		x.push(&n, true)
	}
	switch {
	case a.given == kept && can && (a.running() || x.Fine && a.at == atEnding):
		x.giveUpOn(w, i)
	case a.given == lost, a.given == lapsed:
		n := *w
		x.abandon(&n, i)
		x.push(&n, true)
	}
	if w.orphan(i) && a.at > atEnding {
		n := *w
		x.unnest(&n, i, true)
		x.push(&n, true)
	}
}

// advance has a call take the step that it takes by itself.
func (x *walker) advance(n *world, i int) {
	a := &n.actors[i]
	switch a.at {
	case atAdmitted:
		x.enter(n, i)
	case atLine:
		if a.at = atCleared; !a.leased {
			a.at = atReturned
		}
	case atCleared:
		switch {
		case x.tryAcquire(n):
			a.at, a.permit.held = atReady, true
		case x.off(n, i):
			x.end(n, i)
		default:
			x.enqueue(n, i, atQueue)
		}
	case atHanded:
		if x.off(n, i) {
			x.release(n)
			x.end(n, i)
			return
		}
		a.at, a.permit.held = atReady, true
	case atReady:
		if x.off(n, i) {
			x.end(n, i)
			return
		}
		a.at = atBody
	case atRetaken:
		if a.at = atGot; x.off(n, i) {
			a.at = atForgone
			x.release(n)
		}
	case atGot:
		x.took(n, i)
	case atForgone:
		x.end(n, i)
	case atEnding:
		x.giveBack(n, i)
		if a.at = atReturned; a.given > kept {
			a.at = atEnd
		}
	case atReturned:
		a.at = atSettled
	case atSettled:
		a.at = atEnd
	}
}

// admit starts a call, if its lane's admission lets it.
func (x *walker) admit(w *world, i int, can, must bool) {
	a := &w.actors[i]
	if nested(i) {
		if a.within < 0 || w.actors[a.within].permit.lanes == 0 { // its lane is not open
			return
		}
		if can {
			n := *w
			n.actors[i].at = atEnd
			x.push(&n, must)
		}
		if must {
			return
		}
	}
	letters := x.letters
	if a.what != unset {
		letters = []kind{a.what}
	}
	for _, k := range letters {
		n := *w
		n.actors[i].what = k
		if nested(i) {
			n.actors[i].at = atAdmitted
			x.push(&n, true)
		} else if x.may(&n, i) {
			n.actors[i].at = atAdmitted
			x.choose(&n, a.what != unset)
		}
	}
}

// may asks the admission of a lane whether call i may start now.
func (x *walker) may(w *world, i int) bool {
	what, place := w.actors[i].what, i%perLane
	other := &w.actors[i+1-2*place]
	switch {
	case x.Fine && w.stopped(i/perLane), place >= x.Calls:
		return false
	case place == 0 && x.Fine:
		return true // the first is always first
	case other.at == atNothing:
		return place == 0
	case other.given > kept:
		return false
	case other.at == atEnd:
		return true
	case other.at == atSettled:
		return x.admits[other.what][what].settled
	}
	return x.admits[other.what][what].started
}

// nest opens a lane in the body of i, if one may be there, and reports whether one is planned.
func (x *walker) nest(w *world, i int) (planned bool) {
	k := i - i%perLane + perLane - 1
	kid := &w.actors[k]
	if nested(i) || kid.at != atNothing || kid.within >= 0 && int(kid.within) != i {
		return false
	}
	if planned = kid.within >= 0; !planned {
		open := 0
		for j := perLane - 1; j < most; j += perLane {
			if w.actors[j].within >= 0 {
				open++
			}
		}
		if open >= x.Nests {
			return false
		}
	}
	n := *w
	n.actors[k].within = int8(i)
	n.actors[i].at = atNested
	if n.actors[i].permit.opens() {
		x.release(&n)
	}
	x.choose(&n, planned)
	return planned
}

// unnest is the end of the lane that is nested in i.
func (x *walker) unnest(n *world, i int, off bool) {
	a := &n.actors[i]
	take := a.permit.closes()
	if a.at != atNested { // its body did not wait for the lane
		if take && x.err == nil {
			x.err = fmt.Errorf("%d takes a permit although its body is over, in\n%v", i, n)
		}
		return
	}
	if !take && !off && x.err == nil {
		x.err = fmt.Errorf("%d takes no permit although its body goes on, in\n%v", i, n)
	}
	switch {
	case !take || off:
		a.at = atForgone
	case x.tryAcquire(n):
		x.took(n, i)
	default:
		x.enqueue(n, i, atRetake)
	}
}

// orphan reports whether a lane has ended that is nested in a body that did not wait for it.
func (w *world) orphan(i int) bool {
	a, k := &w.actors[i], w.kid(i)
	return k >= 0 && a.at >= atEnding && a.permit.lanes > 0 && w.actors[k].done()
}

// took is what a body does with a permit that it has taken again.
func (x *walker) took(n *world, i int) {
	n.actors[i].at = atBody
	if n.actors[i].permit.took() {
		n.actors[i].at = atForgone
		x.release(n)
	}
}

// end is the return of a body, or what comes in its place: the permit goes back.
func (x *walker) end(n *world, i int) {
	n.actors[i].at = atEnding
	if n.actors[i].permit.ends() {
		x.release(n)
	}
}

// giveUpOn abandons a call.
func (x *walker) giveUpOn(w *world, i int) {
	n := *w
	if n.actors[i].what == keyless && !x.Fine { // which has stood for an exclusive call, too
		n := n
		n.actors[i].what = alone
		x.abandon(&n, i)
		x.push(&n, false)
	}
	x.abandon(&n, i)
	x.push(&n, false)
}

// abandon takes the next of the three steps.
func (x *walker) abandon(n *world, i int) {
	a := &n.actors[i]
	switch a.given {
	case kept:
		a.given = lost
	case lost:
		if a.given = lapsed; a.permit.ends() {
			x.release(n)
		}
	case lapsed:
		x.abandonLease(n, i)
	}
}

// rush takes all steps that may be taken at once, since nobody else can prevent them or is the worse for them.
func (x *walker) rush(n *world) {
	for again := true; again; {
		again = false
		for i := range x.Lanes * perLane {
			a := &n.actors[i]
			switch a.at {
			case atAdmitted, atCleared, atHanded, atReady, atRetaken, atGot, atEnding, atReturned:
				x.advance(n, i)
				again = true
			case atSettled:
				a.at, again = atEnd, true
			case atLine:
				if !a.leased {
					x.advance(n, i)
					again = true
				}
			case atNothing:
				if nested(i) && a.within >= 0 && n.actors[a.within].permit.lanes > 0 && x.off(n, i) {
					a.at, again = atEnd, true
				}
			}
			if a.given == lost || a.given == lapsed {
				x.abandon(n, i)
				again = true
			}
			if n.orphan(i) {
				x.unnest(n, i, true)
				again = true
			}
			if a.given >= barred && x.idle(n, i) {
				again = true
			}
		}
	}
}

// idle takes an abandoned body to where it can do nothing but return, and further if nobody could tell.
func (x *walker) idle(n *world, i int) bool {
	a, k := &n.actors[i], n.kid(i)
	switch {
	case a.at == atNested && n.actors[k].done():
		x.unnest(n, i, true)
	case a.at == atBody:
		a.at = atForgone
	case a.at == atRetake:
		x.dequeue(n, i)
		a.at = atForgone
	case a.at == atForgone && a.what == keyless && !nested(i) && (k < 0 || !n.actors[k].leased):
		x.end(n, i)
	default:
		return false
	}
	return true
}

// The semaphore serves those first that came first, or, if Unordered, anybody.

func (x *walker) tryAcquire(n *world) bool {
	if n.free == 0 || n.waiters > 0 {
		return false
	}
	n.free--
	return true
}

func (x *walker) enqueue(n *world, i int, at phase) {
	n.actors[i].at = at
	if !x.Unordered {
		n.queue[n.waiters] = int8(i)
		n.waiters++
	}
}

func (x *walker) dequeue(n *world, i int) {
	for k := range n.waiters {
		if n.queue[k] == int8(i) {
			copy(n.queue[k:], n.queue[k+1:n.waiters])
			n.waiters--
			n.queue[n.waiters] = 0
			return
		}
	}
}

func (x *walker) release(n *world) {
	n.free++
	for n.waiters > 0 && n.free > 0 {
		i := int(n.queue[0])
		x.dequeue(n, i)
		n.free--
		n.actors[i].at++ // to atHanded or atRetaken
	}
}

// A start says when the second of two calls of a lane may start: when the first has started, or not before it has settled.
// It always may when that has committed.
type start struct{ started, settled bool }

// starts asks an admission.
func starts(open func() plan.Admission) (t [kinds][kinds]start) {
	for k := alone; k < kinds; k++ {
		for j := alone; j < kinds; j++ {
			a := open()
			a.Submit(kindCalls[k])
			a.Submit(kindCalls[j])
			may := func(want int) bool {
				i, ok := a.Next(-1)
				return ok && i == want
			}
			if !may(0) || !a.Start(0, kindCalls[k]) {
				panic("the first call is not the first to start")
			}
			t[k][j].started = may(1)
			a.Settle(0)
			t[k][j].settled = may(1)
			a.Commit(0)
			if !may(1) {
				panic("the second call does not start at all")
			}
		}
	}
	return t
}
