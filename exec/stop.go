package exec

import (
	"context"
	"time"
)

// fail stops the lane with a hard error. It releases mu for a moment, because the caller's context may run code on a
// cancel.
func (l *Lane) fail(err error) {
	if l.err != nil {
		return
	}
	l.err, l.stopped = err, true
	l.mu.Unlock()
	l.cancel(err)
	l.mu.Lock()
	l.notice()
}

// stop keeps everything from starting. The first cause counts.
func (l *Lane) stop(cause error) {
	if !l.stopped {
		l.stopped, l.cause = true, cause
	}
}

// notice looks whether the lane was cancelled. The context knows it before anybody else does, so it is asked before
// every start. A cancel that comes after the last commit is none.
func (l *Lane) notice() {
	if l.noticed || l.ctx.Err() == nil || l.closed && l.cursor == len(l.slots) {
		return
	}
	l.noticed = true
	l.stop(context.Cause(l.ctx))
	if l.drain > 0 {
		l.timer = time.AfterFunc(l.drain, l.expired)
	}
}

// halted reports whether a call that is about to start must not.
func (l *Lane) halted(c *call) bool {
	l.notice()
	return l.stopped || c != nil && c.cause != nil
}

// why returns the cause for which a call did not start, or nil.
func (l *Lane) why(c *call) error {
	switch {
	case c != nil && c.cause != nil:
		return c.cause
	case l.err != nil:
		return l.err
	}
	return l.cause
}

// cancelCall cancels one call, unless it was cancelled before or has its outcome.
func (l *Lane) cancelCall(i int, cause error) {
	c, s := l.slots[i].call, l.slots[i].state
	if c == nil || c.cause != nil || s >= settled {
		return
	}
	c.cause = cause
	if s == waiting {
		l.recalls = append(l.recalls, i)
	}
	if l.drain > 0 && (s == gated || s == running) {
		l.timers++
		c.timer = time.AfterFunc(l.drain, func() { l.overdue(i) })
	}
	if c.cancel != nil {
		c.cancel(cause)
	}
}

// heed has cancelled go off when ctx is done. That may be at once, so mu keeps it back until watch is set.
func (l *Lane) heed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watch = context.AfterFunc(l.ctx, l.cancelled)
}

// cancelled goes off when ctx is done.
func (l *Lane) cancelled() {
	l.mu.Lock()
	l.watch = nil
	l.notice()
	l.join()
}

// expired goes off when the drain bound of the lane has passed.
func (l *Lane) expired() {
	l.mu.Lock()
	l.timer = nil
	for i := l.cursor; i < l.known; i++ {
		l.lapsed = append(l.lapsed, i)
	}
	l.join()
}

// overdue goes off when the drain bound of a call that was cancelled alone has passed.
func (l *Lane) overdue(i int) {
	l.mu.Lock()
	l.timers--
	l.lapsed = append(l.lapsed, i)
	l.join()
}

// join makes a worker of a goroutine that came to tell something. It is called with mu held and releases it.
func (l *Lane) join() {
	l.live++
	l.mu.Unlock()
	l.work(false)
}

// reap gives up the calls whose drain bound has passed.
func (w *worker) reap() {
	l := w.l
	for len(l.lapsed) > 0 {
		i := l.lapsed[0]
		l.lapsed = l.lapsed[1:]
		h := l.slots[i].hold
		if !l.abandon(i) || h == nil || !h.reach(h.use) || !h.end() { // the last two: it has just returned
			continue
		}
		if _, own := h.lease.(*lease); own {
			h.lease.Abandon()
		} else if h.lease != nil {
			w.enter(inAbandon, i)
			h.lease.Abandon()
			w.leave()
		}
	}
}

// abandon gives up a call whose body, or wait for somebody, has not come back. Its goroutine is none of the lane's from
// here on. It reports whether the body was running.
func (l *Lane) abandon(i int) bool {
	c := l.slots[i].call
	switch l.slots[i].state {
	case gated: // it has done nothing yet
		l.slots[i].lost = true
		l.live--
		l.active++
		l.notRun(i, c)
		return false
	case running:
		l.slots[i].lost = true
		l.live--
		l.freed(i)
		cause := context.Cause(l.ctx)
		if c != nil {
			cause = context.Cause(c.ctx)
		}
		err := &AbandonedError{Call: i, After: l.drain, Cause: cause}
		if c == nil {
			l.bodyEnded(i, EndAbandoned, err)
		} else {
			l.ended(i, Outcome{Err: err}, EndAbandoned)
		}
		l.abandoned(err)
		return true
	}
	return false
}

// abandoned stops the lane: what the body does from here on may not be raced. What runs goes on; what waits to run will
// not.
func (l *Lane) abandoned(err error) {
	l.stop(err)
	for i := l.cursor; i < l.known; i++ {
		switch l.slots[i].state {
		case admitting, gated, cleared:
			l.cancelCall(i, err)
		}
	}
}

// finish ends the lane if it is at its end. It is called with mu held and releases it.
func (l *Lane) finish() {
	over := l.err != nil || l.cursor == len(l.slots) && (l.closed || l.stopped && l.waited)
	if !over || l.finished || l.live > 0 {
		l.mu.Unlock()
		return
	}
	// Whatever has gone off already is on its way here, and comes to finish itself.
	if l.watch != nil && l.watch() {
		l.watch = nil
	}
	if l.timer != nil && l.timer.Stop() {
		l.timer = nil
	}
	if l.watch != nil || l.timer != nil || l.timers > 0 {
		l.mu.Unlock()
		return
	}
	l.finished = true
	if l.rec != nil {
		l.rec.end()
	}
	l.mu.Unlock()
	l.cancel(nil)
	if l.outer != nil {
		l.outer.close(l.done)
	} else {
		close(l.done)
	}
}
