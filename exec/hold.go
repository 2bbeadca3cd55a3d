package exec

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// A hold is what a call has while its body runs in a lane with a Domain or a shared semaphore: a lease, and permits. The
// context of the body leads to it, because lanes that are made in the body need it.
type hold struct {
	ctx     context.Context // of the call
	by      Caller
	root    Domain              // that the lease comes from, by itself or by those around it
	lease   Lease               // once it was granted; nil: no Domain
	line    *lease              // of a MemoryDomain: where the call stands in line; nil: another Domain
	own     *semaphore.Weighted // of the lane, as its limit was at the start; nil: it has no Domain, and keeps its permit
	shared  *semaphore.Weighted // nil: none
	back    bool                // the body has returned, and what it had was given back
	use     uint64              // which use this is
	present atomic.Uint64       // which use it is at, and in the lowest bit whether somebody else has got at that

	mu     sync.Mutex
	permit permit
	taking context.CancelFunc // stops who waits to take the permits again; nil: nobody does
	over   chan struct{}      // closed when the body has returned or was abandoned, for who watches the lease; nil: nobody does
}

// A bodyContext is the context of a body that has a hold. Unlike that it is not used again: who keeps the context after
// the body has returned must not find the hold of another.
type bodyContext struct {
	context.Context
	hold *hold
	use  uint64
}

type holdKey struct{}

// Value implements [context.Context].
func (b *bodyContext) Value(key any) any {
	if key == (holdKey{}) {
		return b
	}
	return b.Context.Value(key)
}

// holdOf returns the innermost hold of a context, which will not be used again. Of a body that has returned there may be
// none any more: then over is true.
func holdOf(ctx context.Context) (h *hold, over bool) {
	b, ok := ctx.Value(holdKey{}).(*bodyContext)
	if !ok {
		return nil, false
	}
	if !b.hold.reach(b.use) {
		return nil, true
	}
	return b.hold, false
}

// reach keeps a hold from being used again, unless that has happened.
func (h *hold) reach(use uint64) bool {
	for {
		n := h.present.Load()
		if n>>1 != use {
			return false
		}
		if h.present.CompareAndSwap(n, n|1) {
			return true
		}
	}
}

// retire ends the use of a hold, unless somebody else has got at it.
func (h *hold) retire() bool { return h.present.CompareAndSwap(h.use<<1, (h.use+1)<<1) }

// A permit is the state of one body's permits, of the shared semaphore and of the lane. The body gives them back while a
// lane is open that is nested in it, however many there are and whatever they wait for: that could be for the claims of a
// call that waits for a permit. Its methods say what is to be done with the semaphores.
type permit struct {
	held  bool // the body has them
	lanes int  // open ones, nested in the body
	over  bool // the body has returned or was abandoned
}

// opens notes that a nested lane opens, and reports whether the permits are to be given back.
func (p *permit) opens() (give bool) {
	p.lanes++
	give, p.held = p.held, false
	return give
}

// closes notes that a nested lane has ended, and reports whether the permits are to be taken again.
func (p *permit) closes() (take bool) {
	p.lanes--
	return p.lanes == 0 && !p.over
}

// took notes that permits were taken after closes, and reports whether they are to be given back, since meanwhile another
// lane was opened, others were taken, or the body has returned.
func (p *permit) took() (give bool) {
	if p.lanes > 0 || p.held || p.over {
		return true
	}
	p.held = true
	return false
}

// ends notes that the body has returned or was abandoned, and reports whether the permits are to be given back.
func (p *permit) ends() (give bool) {
	p.over = true
	give, p.held = p.held, false
	return give
}

// open is called when a lane is made in the body.
func (h *hold) open() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.permit.opens() {
		h.give()
	}
	h.stopTaking()
}

// close is called when that lane has ended. It closes done when the body has its permits again, or need not have them.
func (h *hold) close(done chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.permit.closes() || h.ctx.Err() != nil {
		close(done)
		return
	}
	own := h.own == nil || h.own.TryAcquire(1)
	if own && (h.shared == nil || h.shared.TryAcquire(1)) {
		h.took()
		close(done)
		return
	}
	ctx, cancel := context.WithCancel(h.ctx)
	h.taking = cancel
	go func() {
		defer close(done)
		defer cancel()
		if h.take(ctx, own) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.took()
		}
	}()
}

// take waits for the permits, in the order in which a call takes them that is about to start. It may have that of the lane.
func (h *hold) take(ctx context.Context, own bool) bool {
	if !own && h.own.Acquire(ctx, 1) != nil {
		return false
	}
	if h.shared != nil && h.shared.Acquire(ctx, 1) != nil {
		if h.own != nil {
			h.own.Release(1)
		}
		return false
	}
	return true
}

// give gives the permits back.
func (h *hold) give() {
	if h.shared != nil {
		h.shared.Release(1)
	}
	if h.own != nil {
		h.own.Release(1)
	}
}

func (h *hold) took() {
	if h.permit.took() {
		h.give()
	} else {
		h.stopTaking() // once is enough
	}
}

func (h *hold) stopTaking() {
	if h.taking != nil {
		h.taking()
		h.taking = nil
	}
}

// end is called when the body has returned or was abandoned, perhaps both, and reports whether this came first.
func (h *hold) end() (first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	first = !h.permit.over
	if h.permit.ends() {
		h.give()
	}
	h.stopTaking()
	if h.over != nil {
		close(h.over)
		h.over = nil
	}
	return first
}

// giveBack is called when the body has returned, or will not be called. Only its worker calls it.
func (h *hold) giveBack() {
	if h.back {
		return
	}
	h.back = true
	if h.line == nil || !h.retire() { // the first is used once, so it need not be out of reach
		h.end()
	} else if h.permit.held { // nobody else has changed that
		h.give()
	}
	if h.line != nil {
		h.line.giveBack()
	} else if h.lease != nil {
		h.lease.Release()
	}
}

// A leased is a hold with its lease of a MemoryDomain, in one piece.
type leased struct {
	hold  hold
	lease lease
}

// newHold returns a hold for call i, which is about to take what it needs, and the context of the call's body.
//
// Here, and where a lease that nobody is in the way of comes and goes, pointers are not written if they are right already:
// while the collector works, it charges for each.
func (l *Lane) newHold(i int, ctx context.Context) (*hold, context.Context) {
	var h *hold
	if l.memory == nil {
		h = new(hold)
	} else if n := len(l.spare) - 1; n >= 0 {
		h = l.spare[n]
		l.spare = l.spare[:n]
	} else {
		both := new(leased)
		h = &both.hold
		h.line = &both.lease
	}
	if h.root == nil && h.shared == nil { // it is new
		h.by.Lane, h.root, h.shared = l.name, l.root, l.shared
	}
	if h.ctx != ctx {
		h.ctx = ctx
	}
	h.by.Call = i
	if len(l.contexts) == 0 {
		l.contexts = make([]bodyContext, max(1, min(32, len(l.slots)-i)))
	}
	b := &l.contexts[0]
	l.contexts = l.contexts[1:]
	b.Context, b.hold, b.use = ctx, h, h.use
	return h, b
}

// reuse keeps a hold that was given back for another call, if nobody can have got at it nor at the lease. To make them
// costs more than all else that a lane does for a call in a Domain: without this, Run takes two to three times as long with
// In as without, for bodies that do nothing.
func (l *Lane) reuse(h *hold) {
	const most = 64
	if h.line == nil || h.present.Load()>>1 == h.use || !h.line.fresh() || len(l.spare) == most {
		return
	}
	h.use++
	h.back, h.permit = false, permit{}
	l.spare = append(l.spare, h)
}
