package exec

import (
	"errors"
	"fmt"

	"github.com/keywave-go/keywave/plan"
)

// claim takes the claims of a call from the Domain, and reports whether the call may go on. If it gets them at once, it may
// have been cancelled, which the caller looks at anyway. Mu is held before and after.
func (w *worker) claim(i int, c *call, h *hold) bool {
	l := w.l
	var what plan.Call
	if c != nil {
		what = c.what
	} else {
		what = l.calls[i]
	}
	r := Request{By: h.by, Claims: what.Claims, Exclusive: what.Exclusive()}
	if l.rec != nil {
		r.Blocked = func(b Block) { l.rec.blocked(l, i, b) }
	}
	line := h.line
	if line != nil {
		switch err := l.memory.enter(line, r); {
		case err != nil:
			w.hold = nil
			l.unclaimed(i, c, err)
			return false
		case line.pending == nil:
			if h.lease == nil {
				h.lease = line
			}
			return true
		}
	}
	l.slots[i].state = gated
	l.active--
	if l.rec != nil {
		l.rec.claims(i, l.full())
	}
	w.enter(inAcquire, i)
	lost, err := h.acquire(l.domain, r)
	w.leave()
	if l.slots[i].lost {
		w.giveBack()
		w.lost = true
		return false
	}
	l.slots[i].state = cleared
	l.active++
	if err != nil {
		w.hold = nil
		if l.halted(c) {
			l.notRun(i, c)
		} else {
			l.unclaimed(i, c, err)
		}
		return false
	}
	if lost != nil {
		h.over = make(chan struct{})
		h.reach(h.use) // so that the end of the body closes over
		l.timers++
		go l.watchLease(i, c, lost, h.over)
	}
	return true
}

// acquire waits for the lease.
func (h *hold) acquire(d Domain, r Request) (lost <-chan struct{}, err error) {
	if h.line != nil {
		if err = h.line.wait(h.ctx); err == nil {
			h.lease = h.line
		}
		return nil, err
	}
	got, err := d.Acquire(h.ctx, r)
	if err != nil {
		return nil, err
	}
	if got == nil {
		return nil, errors.New("domain broke its contract: Acquire returned neither a lease nor an error")
	}
	h.lease = got
	return got.Lost(), nil
}

// unclaimed is the end of a call that the Domain refused.
func (l *Lane) unclaimed(i int, c *call, cause error) {
	err := &NotRunError{Call: i, Cause: cause, Unclaimed: true}
	if c == nil {
		l.bodyEnded(i, EndNotRun, err)
	} else {
		l.ended(i, Outcome{Err: err}, EndNotRun)
	}
}

// watchLease cancels a call whose lease runs out before its body is over.
func (l *Lane) watchLease(i int, c *call, lost, over <-chan struct{}) {
	select {
	case <-lost:
		l.mu.Lock()
		if c == nil {
			l.fail(fmt.Errorf("call %d: %w", i+1, ErrLeaseLost))
		} else {
			l.cancelCall(i, ErrLeaseLost)
		}
	case <-over:
		l.mu.Lock()
	}
	l.timers--
	l.join()
}
