package exec

import (
	"context"
	"fmt"

	"golang.org/x/sync/semaphore"

	"github.com/keywave-go/keywave/plan"
)

// drive takes the lane, if it is free, and does what there is to do in it until a call is ready to run, which it
// returns, or nothing is left, which it says with -1. Mu is held before and after.
func (w *worker) drive() int {
	l := w.l
	if l.driving {
		return -1
	}
	l.driving, w.driving = true, true
	i := w.advance()
	l.driving, w.driving = false, false
	return i
}

func (w *worker) advance() int {
	l := w.l
	for l.err == nil {
		l.notice()
		switch {
		case l.due():
			w.commit()
		case l.known < len(l.slots) && !l.stopped:
			w.introduce()
		case len(l.recalls) > 0:
			i := l.recalls[len(l.recalls)-1]
			l.recalls = l.recalls[:len(l.recalls)-1]
			if l.slots[i].state == waiting {
				l.skip(i)
			}
		default:
			i, ok := l.next()
			if !ok {
				if l.open == 0 && l.cursor < l.known && !l.stopped {
					l.fail(fmt.Errorf("%w: nothing runs, and it offers none of the calls that wait, such as call %d", ErrAdmission, l.cursor+1))
				}
				return -1
			}
			if w.admit(i) {
				return i
			}
		}
	}
	return -1
}

// commit commits or skips the next call in the model's order.
func (w *worker) commit() {
	l := w.l
	i := l.cursor
	if s := l.slots[i].state; s == queued || s == waiting {
		l.skip(i)
	}
	skip := l.slots[i].state == skipped
	c := l.slots[i].call
	var err error
	switch {
	case c == nil && skip:
		l.commit = nil // a result is missing: the prefix ends here
	case c == nil && l.commit != nil:
		w.enter(inEach, i)
		err = l.commit(i)
		w.leave()
	case c == nil:
	case skip:
		cause := l.why(c) // while it is ours to look
		w.enter(inSkip, i)
		err = stageError(i, "Skip", c.job.Skip(l.calm, cause))
		w.leave()
	default:
		w.enter(inCommit, i)
		err = stageError(i, "Commit", c.job.Commit(l.calm))
		w.leave()
	}
	if err != nil {
		l.fail(err)
	}
	if l.err != nil {
		return
	}
	l.notice() // a cancel during the last commit is one
	l.slots[i].state, l.slots[i].call = gone, nil
	l.cursor++
	l.refused = 0
	if i < l.known {
		l.adm.Commit(i)
	}
	if l.rec != nil {
		l.rec.committed(i, l.adm)
	}
}

// introduce submits the next call to the admission.
func (w *worker) introduce() {
	l, i := w.l, w.l.known
	c := l.slots[i].call
	var what plan.Call
	if c == nil {
		if i == 0 {
			l.grow()
		}
		what = l.calls[i]
	} else {
		w.enter(inClassify, i)
		what = c.job.Classify()
		w.leave()
		if l.err != nil {
			return
		}
	}
	if got := l.adm.Submit(what); got != i {
		l.fail(fmt.Errorf("%w: it took call %d for call %d", ErrAdmission, i+1, got+1))
		return
	}
	l.known++
	l.refused = 0
	l.slots[i].state = waiting
	if c != nil && c.cause != nil {
		l.skip(i)
	} else if l.rec != nil {
		l.rec.known(i, what, l.adm)
	}
}

// grow lets the admission make room for a batch at once.
func (l *Lane) grow() {
	if g, ok := l.adm.(plan.Grower); ok {
		claims := 0
		for i := range l.calls {
			claims += len(l.calls[i].Claims)
		}
		g.Grow(len(l.calls), claims)
	}
}

// admit takes a call that the admission offered through its classification, its start and its Prepare, and reports
// whether it is to run.
func (w *worker) admit(i int) bool {
	l := w.l
	if i < 0 || i >= l.known || l.slots[i].state != waiting {
		l.fail(fmt.Errorf("%w: it offered call %d, which may not start", ErrAdmission, i+1))
		return false
	}
	c := l.slots[i].call
	if c == nil {
		if !l.start(i, l.calls[i]) || !w.bound(i, l.calls[i]) {
			return false
		}
		l.slots[i].state = cleared
		return true
	}
	l.slots[i].state = admitting
	w.enter(inClassify, i)
	what := c.job.Classify()
	w.leave()
	l.slots[i].state = waiting
	if l.halted(c) {
		if !l.stopped {
			l.skip(i)
		}
		return false
	}
	if !l.start(i, what) {
		return false
	}
	l.slots[i].state = admitting
	if !w.bound(i, what) {
		return false
	}
	c.what = what
	c.ctx, c.cancel = context.WithCancelCause(l.ctx)
	if c.cause != nil { // it was cancelled while the limit was asked for
		c.cancel(c.cause)
	}
	w.enter(inPrepare, i)
	dispatch, err := c.job.Prepare(c.ctx)
	if dispatch && err == nil {
		c.gate = gateOf(c.job)
	}
	hard := err != nil && c.ctx.Err() == nil
	if hard {
		err = stageError(i, "Prepare", err)
	}
	w.leave()
	if hard {
		l.fail(err)
		return false
	}
	if err == nil && dispatch {
		l.slots[i].state = cleared
		return true
	}
	c.cancel(nil)
	l.slots[i].state = ready
	l.open--
	l.left(i, EndRefused)
	return false
}

// gateOf returns what a job that was prepared has to wait for; nil: nothing.
func gateOf(j Job) Waiter {
	gate, ok := j.(Waiter)
	if sometimes, may := j.(interface{ Waits() bool }); ok && may && !sometimes.Waits() {
		return nil
	}
	return gate
}

// start tells the admission that a call starts, which it may refuse because of what the call has become.
func (l *Lane) start(i int, what plan.Call) bool {
	if !l.adm.Start(i, what) {
		l.refused++
		if l.rec != nil {
			l.rec.refused(i, what, l.adm)
		}
		return false
	}
	l.refused = 0
	l.active++
	l.open++
	return true
}

// bound asks for the limit, if the call that has just started begins a group. It reports false if that failed the lane.
func (w *worker) bound(i int, what plan.Call) bool {
	l := w.l
	group := 0
	if g, ok := l.adm.(plan.Grouper); ok && l.ask != nil {
		group = g.Group()
	}
	// While another call is active, which an admission of somebody else's may allow, there are permits out.
	if l.ask != nil && group != l.group && l.active == 1 {
		w.enter(inLimit, i)
		n, err := l.ask()
		if err == nil && n < 1 {
			err = fmt.Errorf("%w: limit %d: at least one call must be able to run", ErrOption, n)
		}
		w.leave()
		if err != nil {
			l.fail(err)
			return false
		}
		if l.group = group; l.limit != n {
			l.limit, l.sem = n, semaphore.NewWeighted(int64(n))
		}
	}
	if l.rec != nil {
		l.rec.admitted(i, what, l.full(), l.adm)
	}
	return true
}

// skip notes that a call that was not admitted will never start. Its Skip comes in its turn.
func (l *Lane) skip(i int) {
	l.slots[i].state = skipped
	if i < l.known {
		l.refused = 0
		l.adm.Settle(i)
	}
	l.record(i, EndSkipped)
}

// ended notes the outcome of a call that was prepared. The permit is back already.
func (l *Lane) ended(i int, o Outcome, end End) {
	s := &l.slots[i]
	c := s.call
	s.state = settled
	c.outcome = o
	l.settles = append(l.settles, i)
	if c.timer != nil && c.timer.Stop() {
		l.timers--
	}
	c.cancel(nil)
	l.left(i, end)
}

// left takes a call that has its outcome out of the count that the limit bounds.
func (l *Lane) left(i int, end End) {
	l.active--
	l.refused = 0
	if l.err == nil {
		l.adm.Settle(i)
	}
	l.record(i, end)
}

// notRun is the end of a call that was prepared and then cancelled before its body.
func (l *Lane) notRun(i int, c *call) {
	if c == nil {
		l.bodyEnded(i, EndNotRun, nil)
		return
	}
	l.notice() // the call's own context may have told it of the cancel first
	l.ended(i, Outcome{Err: &NotRunError{Call: i, Cause: l.why(c)}}, EndNotRun)
}

// bodyEnded is ended for a call of a batch. The error of a body is hard, unless it is but the echo of a cancel.
func (l *Lane) bodyEnded(i int, end End, err error) {
	l.slots[i].state = ready
	if err != nil || end != EndReturned {
		l.slots[i].state = skipped
	}
	l.open--
	l.left(i, end)
	if err == nil {
		return
	}
	l.notice()
	if !l.stopped || end == EndPanicked {
		l.fail(err)
	}
}

// full reports whether the limit keeps calls from being admitted.
func (l *Lane) full() bool { return l.active >= l.limit }

// record notes that call i has its outcome.
func (l *Lane) record(i int, end End) {
	if l.rec == nil {
		return
	}
	adm := l.adm
	if l.err != nil {
		adm = nil // it may be what broke
	}
	l.rec.settled(i, end, l.full(), adm)
}

// stageError names the call and the stage that failed, if it did. It calls err.Error, which is a caller's code: not to
// be called with mu held.
func stageError(i int, stage string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("call %d: %s: %w", i+1, stage, err)
}
