package exec

import (
	"context"
	"runtime/debug"

	"golang.org/x/sync/semaphore"
)

// A worker is a goroutine that takes turns in the lane and runs bodies. It ends when it finds nothing to do.
type worker struct {
	l        *Lane
	driving  bool        // it has the lane
	settling bool        // it is in Settled
	ended    bool        // it came to its end, and not by runtime.Goexit
	lost     bool        // the call that it works on was abandoned: it is no longer one of the lane's
	in       code        // whose code it is in
	i        int         // for which call
	hold     *hold       // of that call, and not given back
	fell     *PanicError // the outcome of that call, which has yet to be given it; nil: none
}

// A code says whose code a worker is in: anybody's may panic or call runtime.Goexit.
type code uint8

const (
	inLane code = iota // our own and the admission's, with mu held
	inClassify
	inPrepare
	inAwait
	inAcquire
	inRun
	inSettled
	inCommit
	inSkip
	inBody // of Run and Each
	inEach
	inLimit
	inRelease
	inAbandon
)

var codes = [...]string{
	inLane: "admission", inClassify: "Classify", inPrepare: "Prepare", inAwait: "Await", inRun: "Run",
	inSettled: "Settled", inCommit: "Commit", inSkip: "Skip", inBody: "body", inEach: "commit",
	inLimit: "LimitFunc", inAcquire: "domain: Acquire", inRelease: "lease: Release", inAbandon: "lease: Abandon",
}

// work is the life of a worker; woken says that wanted asked for it.
func (l *Lane) work(woken bool) {
	l.mu.Lock()
	if woken {
		l.waking = false
	}
	w := worker{l: l, i: -1}
	w.work()
}

// work is called with mu held and releases it.
func (w *worker) work() {
	defer w.end()
	for !w.turns() { // it comes back early only after a panic, so that calls need no defer of their own
		w.l.mu.Lock()
	}
	w.ended = true
}

// end lets another worker go on where runtime.Goexit ended this one.
func (w *worker) end() {
	if w.ended {
		return
	}
	heir := &worker{l: w.l, i: w.i, hold: w.hold, fell: w.fell}
	go func() {
		heir.l.mu.Lock()
		heir.work()
	}()
}

// turns takes turns until there is nothing to do. It is called with mu held and releases it.
func (w *worker) turns() (done bool) {
	defer w.rescue(&done)
	l := w.l
	w.giveBack()
	if w.fell != nil {
		w.fall()
	}
	for !w.lost {
		w.reap()
		w.settle()
		i := w.drive()
		if i < 0 {
			break
		}
		w.perform(i)
	}
	if w.lost {
		l.mu.Unlock()
		return true
	}
	l.live--
	l.finish()
	return true
}

// enter releases mu for a caller's code, and first sees to it that somebody else does what there is to do meanwhile.
func (w *worker) enter(in code, i int) {
	w.i = i
	more := w.l.wanted() // may panic, as the admission may
	w.in = in
	w.l.mu.Unlock()
	if more {
		go w.l.work(true)
	}
}

// leave takes mu again.
func (w *worker) leave() {
	w.in = inLane
	w.l.mu.Lock()
}

// settle tells the jobs that they have an outcome, in completion order, unless somebody else is at it.
func (w *worker) settle() {
	l := w.l
	for !l.settling && len(l.settles) > 0 {
		i := l.settles[0]
		c := l.slots[i].call
		l.settling, w.settling = true, true
		w.enter(inSettled, i)
		err := stageError(i, "Settled", c.job.Settled(l.calm, c.outcome))
		w.leave()
		w.settled(i)
		if err != nil {
			l.fail(err)
		}
	}
}

// settled leaves the role of settle, for the first call in its queue.
func (w *worker) settled(i int) {
	l := w.l
	l.settling, w.settling = false, false
	l.settles = l.settles[1:]
	l.slots[i].state = ready
	l.open--
}

// perform takes an admitted and prepared call from there to its outcome. Mu is held before and after.
func (w *worker) perform(i int) {
	l, c := w.l, w.l.slots[i].call
	w.i = i
	if c != nil && c.gate != nil && !w.await(i, c, c.gate) {
		return
	}
	ctx := l.ctx
	if c != nil {
		ctx = c.ctx
		if l.domain != nil && l.halted(c) { // it need not ask, nor a Domain that does not heed its cancel be waited for
			l.notRun(i, c)
			return
		}
	}
	if l.domain != nil || l.shared != nil {
		var h *hold
		h, ctx = l.newHold(i, ctx)
		w.hold = h
		if l.domain != nil && !w.claim(i, c, h) {
			return
		}
	}
	if !w.permits(i, ctx) {
		w.giveBack()
		l.notRun(i, c)
		return
	}
	if w.hold != nil {
		w.hold.permit.held = true
		if l.domain != nil && w.hold.own != l.sem { // the limit may have changed since it was used or made
			w.hold.own = l.sem
		}
		if l.drain > 0 {
			l.slots[i].hold = w.hold
		}
	}
	if l.halted(c) {
		l.freed(i)
		w.giveBack()
		l.notRun(i, c)
		return
	}
	l.slots[i].state = running
	if l.rec != nil {
		l.rec.started(i)
	}
	var o Outcome
	if c == nil {
		w.enter(inBody, i)
		o.Err = l.body(ctx, i)
	} else {
		w.enter(inRun, i)
		o = c.job.Run(ctx)
	}
	h := w.hold
	if h != nil {
		w.in = inRelease
		h.giveBack()
	}
	w.leave()
	if h != nil {
		w.hold = nil
		l.reuse(h)
	}
	switch {
	case !w.came(i):
	case c == nil:
		l.bodyEnded(i, EndReturned, o.Err)
	default:
		l.ended(i, o, EndReturned)
	}
}

// giveBack gives back what the worker's call has of its Domain and the shared semaphore, if it has anything.
func (w *worker) giveBack() {
	h := w.hold
	if h == nil {
		return
	}
	if h.line == nil && h.lease != nil {
		w.enter(inRelease, w.i)
		h.giveBack()
		w.leave()
	} else {
		h.giveBack()
	}
	w.hold = nil
}

// came takes back the permit of a body that returned, and says whether anybody still wants to know.
func (w *worker) came(i int) bool {
	if w.l.slots[i].lost {
		w.lost = true
		return false
	}
	w.l.freed(i)
	return true
}

// freed gives back the permit of a call that is not running any more, unless that is for its hold to do.
func (l *Lane) freed(i int) {
	if l.drain > 0 {
		l.slots[i].hold = nil
	}
	if l.domain == nil {
		l.sem.Release(1)
	}
}

// await lets a call wait for somebody and reports whether it may run. Meanwhile it does not count against the limit.
func (w *worker) await(i int, c *call, gate Waiter) bool {
	l := w.l
	if l.halted(c) {
		l.notRun(i, c)
		return false
	}
	l.slots[i].state = gated
	l.active--
	if l.rec != nil {
		l.rec.waits(i, WaitApproval, l.full())
	}
	w.enter(inAwait, i)
	run := gate.Await(c.ctx)
	w.leave()
	if l.slots[i].lost {
		w.lost = true
		return false
	}
	l.slots[i].state = cleared
	l.active++
	if !run {
		l.notRun(i, c)
		return false
	}
	return true
}

// permits takes a permit of the lane and one of the shared semaphore, or none.
func (w *worker) permits(i int, ctx context.Context) bool {
	l := w.l
	// The lane has none left only where calls came back from a wait to a lane that had gone on without them.
	if !l.sem.TryAcquire(1) && !w.permit(i, ctx, l.sem) {
		return false
	}
	if l.shared != nil && !l.shared.TryAcquire(1) && !w.permit(i, ctx, l.shared) {
		l.sem.Release(1)
		return false
	}
	return true
}

// permit waits for a permit.
func (w *worker) permit(i int, ctx context.Context, sem *semaphore.Weighted) bool {
	l := w.l
	if l.rec != nil {
		l.rec.waits(i, WaitPermit, l.full())
	}
	l.wake()
	err := sem.Acquire(ctx, 1)
	l.mu.Lock()
	return err == nil
}

// rescue makes an outcome or a hard error of a panic or a runtime.Goexit in somebody's code. Nothing would rescue the
// worker here from another one, so it asks the admission nothing: an outcome waits for the next turn.
func (w *worker) rescue(done *bool) {
	if *done {
		return
	}
	l, in, i := w.l, w.in, w.i
	err := &PanicError{Call: i, In: codes[in], Value: recover(), Stack: debug.Stack()}
	if in == inLane {
		err.Call = -1
	} else {
		w.leave()
	}
	defer l.mu.Unlock()
	if w.driving {
		l.driving, w.driving = false, false
	}
	switch in {
	case inRun, inBody, inAwait:
		w.fell = err
	case inAcquire, inRelease:
		if w.fell == nil { // else the body had not come back either
			w.fell = err
		}
		if !l.slots[i].lost {
			l.fail(err)
		}
	case inSettled:
		w.settled(i)
		l.fail(err)
	case inLane:
		l.fail(err)
		if w.settling { // it had not told anybody yet
			l.settling, w.settling = false, false
		} else if i >= 0 && w.fell == nil {
			w.unhand(i)
		}
	default:
		l.fail(err)
	}
}

// fall gives a call whose body, or wait for somebody, did not come back the outcome that says so.
func (w *worker) fall() {
	l, i, err := w.l, w.i, w.fell
	w.fell = nil
	s := &l.slots[i]
	switch {
	case s.lost:
		w.lost = true
		return
	case s.state == gated:
		l.active++
	case s.state == cleared: // its body was not called, and what it had would not be given back
		l.notRun(i, s.call)
		return
	case s.state == running:
		l.freed(i)
	default:
		return
	}
	if s.call == nil {
		l.bodyEnded(i, EndPanicked, err)
	} else {
		l.ended(i, Outcome{Err: err}, EndPanicked)
	}
}

// unhand gives up the call that a worker had in hand when the admission panicked, if it had one and its body had not
// been called.
func (w *worker) unhand(i int) {
	l, c := w.l, w.l.slots[i].call
	switch l.slots[i].state {
	case running:
		l.freed(i)
		l.notRun(i, c)
	case gated, cleared:
		l.notRun(i, c)
	}
}
