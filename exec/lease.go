package exec

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/keywave-go/keywave/plan"
)

// A lease is a request on its way: it waits, is granted, and ends when it was released and all within it has ended.
type lease struct {
	by     Caller
	claims []plan.Claim

	// Where it competes.
	scope      *scope
	ticket     uint64
	places     []place // one for each claim and, with trees, each component of its key
	lack       int     // how many of them are not granted, plus one if an abandoned lease stands before it
	prev, next *lease  // in scope

	// What it is nested in, and what is nested in it.
	in    *lease // the lease that it was acquired from; nil: the Domain
	own   *scope // where what is nested in it competes, if it has claims; nil: nothing was yet
	kids  *lease // the last that was acquired from it and has not ended
	older *lease // among its siblings
	newer *lease

	marks
	wards     []*lease      // who was told that it is in their way
	gone      chan struct{} // closed when it has ended; nil: nobody asked
	abandoned *time.Time    // nil: it was not
	pending   *pending      // nil: it was granted at once

	oneClaim [1]plan.Claim // so that the usual lease is one piece of memory
	onePlace [1]place
}

type marks struct {
	entered   bool
	exclusive bool
	granted   bool
	released  bool
	closed    bool // nothing is acquired from it any more
	barred    bool // an abandoned lease stands before it
	zombie    bool // it stands before others, abandoned
	left      bool // it has ended
}

// A pending is what only a lease has that had to wait.
type pending struct {
	done    chan struct{} // closed when it does not wait any more
	err     error         // why it was not granted
	blocked func(Block)
	near    *lease // what that was told last
	told    int    // how often
}

// wait waits until an entered lease is granted.
func (l *lease) wait(ctx context.Context) error {
	if l.pending == nil {
		return nil
	}
	select {
	case <-l.pending.done:
		return l.pending.err
	case <-ctx.Done():
		return l.withdraw(context.Cause(ctx))
	}
}

// withdraw ends the wait of a lease, and returns the reason, which may be an earlier one.
func (l *lease) withdraw(cause error) error {
	d := l.scope.d
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case l.pending.err != nil:
		return l.pending.err
	case l.granted: // too late, so nobody has seen it
		l.release()
	default:
		l.refuse(cause)
	}
	return cause
}

// giveBack ends whatever a lane has of the lease.
func (l *lease) giveBack() {
	switch {
	case !l.entered:
	case l.pending != nil: // perhaps not granted, if the admission failed when the wait was about to begin
		l.withdraw(context.Canceled)
	default:
		l.Release()
	}
}

// Release implements [Lease].
func (l *lease) Release() {
	d := l.scope.d
	d.mu.Lock()
	defer d.mu.Unlock()
	l.release()
}

// Abandon implements [Lease].
func (l *lease) Abandon() {
	d := l.scope.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.released || l.abandoned != nil {
		return
	}
	now := time.Now()
	l.abandoned = &now
	l.shut()
	l.reword()
	if l.exclusive && len(l.claims) == 0 {
		l.scope.bar(l)
	}
}

// Token implements [Lease].
func (l *lease) Token() uint64 {
	for l.scope.holder != nil {
		l = l.scope.holder
	}
	return l.ticket
}

// Lost implements [Lease].
func (l *lease) Lost() <-chan struct{} { return nil }

// The methods below are called with the Domain's lock held.

// inside returns the scope in which what is acquired from l competes.
func (l *lease) inside() *scope {
	if len(l.claims) == 0 {
		return l.scope
	}
	if l.own == nil {
		l.own = &scope{d: l.scope.d, holder: l}
		l.own.cover.add(l.claims)
	}
	return l.own
}

// shutError says why nothing is acquired from l any more.
func (l *lease) shutError() error {
	if l.released {
		return fmt.Errorf("%w: the body of %v has returned", ErrLeaseEnded, l.by)
	}
	return fmt.Errorf("%w: %v was abandoned, or a call around it: nothing more starts within it", ErrLeaseEnded, l.by)
}

func (l *lease) release() {
	if l.released {
		return
	}
	l.released, l.closed = true, true
	for kid := l.kids; kid != nil; {
		next := kid.older
		if !kid.granted {
			kid.refuse(l.shutError())
		}
		kid = next
	}
	for l != nil && l.released && l.kids == nil {
		l.leave()
		l.left = true
		if l.gone != nil {
			close(l.gone)
		}
		l = l.in // which may have waited for this one to end
	}
}

// refuse ends the wait of a lease that was not granted. What it was acquired from has not been released, so that ends
// nothing else.
func (l *lease) refuse(err error) {
	l.pending.err = err
	l.leave()
	close(l.pending.done)
}

// shut keeps l, and all within it, from starting anything more.
func (l *lease) shut() {
	for _, kid := range l.doom(nil) { // all of them are known by now, or the first would make way for others
		kid.refuse(kid.pending.err)
	}
}

// doom closes l, and all within it, and marks those that wait there: nothing is granted to them. It appends them to doomed.
func (l *lease) doom(doomed []*lease) []*lease {
	l.closed = true
	for kid := l.kids; kid != nil; kid = kid.older {
		if kid.granted {
			doomed = kid.doom(doomed)
		} else {
			kid.pending.err = l.shutError()
			doomed = append(doomed, kid)
		}
	}
	return doomed
}

// leave takes l out of everything.
func (l *lease) leave() {
	if p := l.in; p != nil {
		if l.newer != nil {
			l.newer.older = l.older
		} else {
			p.kids = l.older
		}
		if l.older != nil {
			l.older.newer = l.newer
		}
	}
	l.scope.leave(l)
	if l.wards != nil {
		l.reword()
	}
	// Who keeps an ended lease must not keep with it those that it stood beside, and all that stood beside these.
	if len(l.places) > len(l.onePlace) {
		l.places = nil
	}
	if l.prev != nil || l.next != nil {
		l.prev, l.next = nil, nil
	}
	if l.in != nil {
		l.older, l.newer = nil, nil
	}
	if l.own != nil {
		l.own = nil
	}
	if l.pending != nil {
		l.pending.near, l.pending.blocked = nil, nil
	}
}

// reword tells those who were told of l what is in their way now.
func (l *lease) reword() {
	wards := l.wards
	l.wards = nil
	for _, w := range wards {
		if w.pending.near == l && w.waiting() {
			w.explain(w.front())
		}
	}
}

// fresh makes l as if it were new, where enter does not, if it can: l has ended, and nobody has it in hand. One that waited
// may still be among the wards of another.
func (l *lease) fresh() bool {
	if !l.left || l.pending != nil || l.abandoned != nil {
		return false
	}
	l.marks = marks{}
	if l.gone != nil {
		l.gone = nil
	}
	return true
}

func (l *lease) waiting() bool { return !l.granted && l.pending.err == nil }

// explain tells a request what is in its way.
func (l *lease) explain(b Block, near *lease) {
	p := l.pending
	if p.blocked == nil || p.told > manyWaits {
		return
	}
	p.told++
	if p.told > manyWaits { // it is not worth while to go on
		p.near = nil
		p.blocked(Block{Who: l.by, By: Caller{Call: -1}})
		return
	}
	p.near = near
	if len(near.wards) == cap(near.wards) { // before they take more room
		near.wards = slices.DeleteFunc(near.wards, func(w *lease) bool { return w.pending.near != near || !w.waiting() })
		near.wards = slices.Grow(near.wards, len(near.wards)+1) // or the next few would look through all again
	}
	near.wards = append(near.wards, l)
	p.blocked(b)
}

// front finds what is in the way of a waiting lease: of all that is, what came first.
func (l *lease) front() (Block, *lease) {
	if l.barred {
		z := l.scope.zombies[0]
		return Block{Who: l.by, By: z.by, Abandoned: true}, z
	}
	var mine, his *place
	for i := range l.places {
		p := &l.places[i]
		for _, m := range against[p.mode] {
			if h := p.node.queues[m].head; h != nil && h.of.ticket < l.ticket && (his == nil || h.of.ticket < his.of.ticket) {
				mine, his = p, h
			}
		}
	}
	return blockOf(mine, his)
}

// blockOf describes that one place waits for another.
func blockOf(mine, his *place) (Block, *lease) {
	l, h := mine.of, his.of
	return Block{Who: l.by, Mine: l.claims[mine.claim], By: h.by, Held: h.claims[his.claim], Abandoned: h.abandoned != nil}, h
}
