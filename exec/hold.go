package exec

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// A hold is what a call has while its body runs in a lane with a Domain or a shared semaphore: a lease, and a permit of
// the semaphore. The context of the body leads to it, because lanes that are made in the body need it.
type hold struct {
	ctx     context.Context // of the call
	by      Caller
	root    Domain // that the lease comes from, by itself or by those around it
	lease   Lease  // nil: no Domain, or not yet
	line    *lease // of a MemoryDomain: where the call stands in line; nil: another Domain
	sem     *semaphore.Weighted
	both    *leased // what it is part of; nil: there is no line
	back    bool    // the body has returned, and what it had was given back
	watched bool    // somebody watches the lease

	// How many lanes that are made in the body have not ended, and above pins, how often the hold was used again.
	uses atomic.Uint64

	mu     sync.Mutex
	over   chan struct{} // closed when the body has returned or was abandoned, for who watches the lease; nil: nobody does
	permit permit
	taking context.CancelFunc // stops who waits to take the permit again; nil: nobody does
}

const pins = 32 // bits

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

// pinned returns the innermost hold of a context, which is kept from being used again until unpin. Of a body that has
// returned there may be none any more: then over is true.
func pinned(ctx context.Context) (h *hold, over bool) {
	b, ok := ctx.Value(holdKey{}).(*bodyContext)
	if !ok {
		return nil, false
	}
	for {
		n := b.hold.uses.Load()
		if n>>pins != b.use {
			return nil, true
		}
		if b.hold.uses.CompareAndSwap(n, n+1) {
			return b.hold, false
		}
	}
}

func (h *hold) unpin() { h.uses.Add(^uint64(0)) }

// A permit is the state of one body's permit of the shared semaphore. The body gives it back while a lane is open that is
// nested in it, however many there are and whatever they wait for: if it kept the permit, the lanes could be waiting for
// that. Its methods say what is to be done with the semaphore.
type permit struct {
	held  bool // the body has it
	lanes int  // open ones, nested in the body
	over  bool // the body has returned or was abandoned
}

// opens notes that a nested lane opens, and reports whether the permit is to be given back.
func (p *permit) opens() (give bool) {
	p.lanes++
	give, p.held = p.held, false
	return give
}

// closes notes that a nested lane has ended, and reports whether the permit is to be taken again.
func (p *permit) closes() (take bool) {
	p.lanes--
	return p.lanes == 0 && !p.over
}

// took notes that a permit was taken, for the start or after closes, and reports whether it is to be given back, since
// meanwhile another lane was opened, another permit came, or the body has returned.
func (p *permit) took() (give bool) {
	if p.lanes > 0 || p.held || p.over {
		return true
	}
	p.held = true
	return false
}

// ends notes that the body has returned or was abandoned, and reports whether the permit is to be given back.
func (p *permit) ends() (give bool) {
	p.over = true
	give, p.held = p.held, false
	return give
}

// open is called when a lane is made in the body.
func (h *hold) open() {
	if h.sem == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.permit.opens() {
		h.sem.Release(1)
	}
	h.stopTaking()
}

// close is called when that lane has ended. It closes done when the body has its permit again, or need not have it.
func (h *hold) close(done chan struct{}) {
	defer h.unpin()
	if h.sem == nil {
		close(done)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !h.permit.closes() || h.ctx.Err() != nil:
		close(done)
	case h.sem.TryAcquire(1):
		h.took()
		close(done)
	default:
		ctx, cancel := context.WithCancel(h.ctx)
		h.taking = cancel
		go func() {
			defer close(done)
			defer cancel()
			if h.sem.Acquire(ctx, 1) == nil {
				h.mu.Lock()
				defer h.mu.Unlock()
				h.took()
			}
		}()
	}
}

func (h *hold) took() {
	if h.permit.took() {
		h.sem.Release(1)
	} else {
		h.stopTaking() // one is enough
	}
}

func (h *hold) stopTaking() {
	if h.taking != nil {
		h.taking()
		h.taking = nil
	}
}

// end is called when the body has returned or was abandoned, perhaps both.
func (h *hold) end() {
	if h.sem == nil && !h.watched {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.permit.ends() {
		h.sem.Release(1)
	}
	h.stopTaking()
	if h.over != nil {
		close(h.over)
		h.over = nil
	}
}

// giveBack is called when the body has returned, or will not be called. Only its worker calls it.
func (h *hold) giveBack() {
	if h.back {
		return
	}
	h.back = true
	h.end()
	if h.lease != nil {
		h.lease.Release()
	}
}

// A leased is a hold with its lease of a MemoryDomain, and with a context. A lane uses them again: that saves it more than
// all else that it does for a call in a Domain.
type leased struct {
	hold  hold
	lease lease
}

// newHold returns a hold for call i, which is about to take what it needs, and the context of the call's body.
func (l *Lane) newHold(i int, ctx context.Context) (*hold, context.Context) {
	var h *hold
	if l.memory == nil {
		h = new(hold)
	} else if n := len(l.spare) - 1; n >= 0 {
		h = &l.spare[n].hold
		l.spare = l.spare[:n]
	} else {
		both := new(leased)
		h = &both.hold
		h.line = &both.lease
		h.both = both
	}
	h.ctx, h.by, h.root, h.sem = ctx, Caller{l.name, i}, l.root, l.shared
	if len(l.contexts) == 0 {
		l.contexts = make([]bodyContext, max(1, min(32, len(l.slots)-i)))
	}
	b := &l.contexts[0]
	l.contexts = l.contexts[1:]
	*b = bodyContext{ctx, h, h.uses.Load() >> pins}
	return h, b
}

// reuse keeps a hold for another call, if nobody can have it in hand any more: it was given back, no lane that was made
// in the body is open, and no lease that was taken in it is left.
func (l *Lane) reuse(h *hold) {
	const most = 64
	n := h.uses.Load() >> pins
	if h.both == nil || h.sem != nil || !h.line.left || h.line.pending != nil || h.line.abandoned != nil || len(l.spare) == most {
		return
	}
	if h.uses.CompareAndSwap(n<<pins, (n+1)<<pins) {
		h.line.fresh()
		h.back, h.lease = false, nil
		l.spare = append(l.spare, h.both)
	}
}
