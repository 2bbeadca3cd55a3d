package exec

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/keywave-go/keywave/plan"
)

// A Lane runs jobs: it starts them when its admission allows it, as many at once as its limit, and commits them in the
// order in which they were submitted. NewLane makes one; its methods are safe for concurrent use.
//
// A lane is for a turn or a step, not for the life of a process: it remembers a few dozen bytes of every call.
type Lane struct {
	ctx    context.Context // of the bodies: the caller's, cancelled with the cause
	cancel context.CancelCauseFunc
	calm   context.Context     // the caller's values without its cancel
	limit  int                 // changes only when nothing is active
	ask    func() (int, error) // for the limit; nil: it does not change
	drain  time.Duration       // 0: no bound
	sem    *semaphore.Weighted
	name   string
	root   Domain              // nil: none
	domain Domain              // where claims are taken: root, or the lease of the body around
	memory ticketed            // domain, if it is one in memory
	shared *semaphore.Weighted // nil: none
	outer  *hold               // of the body around; nil: none that has anything

	spare    []*hold       // to be used again
	contexts []bodyContext // not used yet
	done     chan struct{} // closed at the end, when no goroutine is left

	// What Run and Each submit instead of jobs: no stages but these, and no context for each call.
	calls  []plan.Call
	body   func(ctx context.Context, i int) error
	commit func(i int) error // nil: nothing to call

	mu      sync.Mutex // short: no caller's code but the admission runs under it
	adm     plan.Admission
	group   int       // of adm, that the limit was asked for; below 0: it was not
	rec     *Timeline // nil: not asked for
	slots   []slot
	known   int   // how many of slots the admission has been given
	cursor  int   // the next to commit
	refused int   // how many starts the admission has refused since anything happened
	active  int   // admitted and not settled, and in no wait of its own: none is admitted unless it is below limit
	open    int   // admitted, and not ready to commit
	recalls []int // cancelled by CancelCall while they waited to be admitted
	lapsed  []int // their drain bound has passed
	settles []int // have an outcome that Settled has not been told, in completion order

	driving  bool // somebody has the lane
	settling bool // somebody is in Settled
	waking   bool // a worker was started and has not come yet
	live     int  // workers that have not ended, without those lost in abandoned calls
	timers   int  // drain timers of single calls, and watches of their leases, that are armed or on their way

	closed   bool // no more submissions
	waited   bool // somebody is in Wait
	stopped  bool // nothing starts any more
	noticed  bool // the cancel of ctx was noticed
	finished bool
	cause    error       // why it stopped, if not for err
	err      error       // the first hard error
	watch    func() bool // disarms the watch on ctx; nil: it has none, or it has gone off
	timer    *time.Timer // the drain bound of the lane; nil: not armed, or it has gone off
}

// A slot is a call's place in the model's order.
type slot struct {
	state state
	lost  bool  // abandoned: whoever still works on it must drop what it has
	hold  *hold // of a body that runs and can be abandoned; nil: it has none
	call  *call // nil: of a batch, or committed
}

// A call is what a slot needs to know of a Job.
type call struct {
	job     Job
	what    plan.Call       // as of its start
	ctx     context.Context // from its admission to its outcome
	cancel  context.CancelCauseFunc
	cause   error // of CancelCall
	timer   *time.Timer
	gate    Waiter // nil: it has nothing to wait for
	outcome Outcome
}

// A state is how far a call has come.
type state uint8

const (
	queued    state = iota // submitted
	waiting                // known to the admission
	admitting              // being classified for its start, or prepared
	gated                  // in Await, or waits for its claims
	cleared                // waits for a permit, about to run
	running
	settled // has an outcome, and Settled is still to come or going on
	ready   // Commit is due
	skipped // Skip is due
	gone    // committed or skipped
)

// NewLane returns a lane that takes jobs until Close. Its bodies run under ctx; when ctx is done the lane is
// cancelled with [context.Cause]. The error, if any, wraps [ErrOption].
//
// A lane must be closed, or cancelled and waited for: until then it holds on to ctx.
func NewLane(ctx context.Context, opts ...Option) (*Lane, error) {
	o, err := choose(opts)
	if err != nil {
		return nil, err
	}
	l, err := newLane(ctx, o)
	if err != nil {
		return nil, err
	}
	l.heed()
	return l, nil
}

func newLane(ctx context.Context, o options) (*Lane, error) {
	adm := o.admit()
	if adm == nil {
		return nil, fmt.Errorf("%w: no admission: the function given to Admit returned nil", ErrOption)
	}
	l := &Lane{
		calm:  context.WithoutCancel(ctx),
		limit: o.limit,
		drain: o.drain,
		sem:   semaphore.NewWeighted(int64(o.limit)),
		done:  make(chan struct{}),
		adm:   adm,
		rec:   o.timeline,
		name:  o.name,
		ask:   o.ask,
		group: -1,
	}
	l.ctx, l.cancel = context.WithCancelCause(ctx) // may panic, and the timeline must not be taken then
	if err := l.nest(o); err != nil {
		l.cancel(nil)
		return nil, err
	}
	switch d := l.domain.(type) { // and not what embeds one, and has an Acquire of its own
	case *MemoryDomain:
		l.memory = d
	case *lease:
		l.memory = d
	}
	if l.rec != nil && !l.rec.begin(l) {
		l.cancel(nil)
		return nil, fmt.Errorf("%w: the timeline records another lane, which has not ended", ErrOption)
	}
	if l.outer != nil { // last, because the body gives its permits back
		l.outer.open()
	}
	return l, nil
}

// nest has the lane take its claims, and the permits that it shares, from where it is.
func (l *Lane) nest(o options) error {
	l.root, l.domain, l.shared = o.domain, o.domain, o.shared
	outer, over := holdOf(l.calm)
	if over { // and what it had there is gone
		l.root, l.domain = ended{}, ended{}
		return nil
	}
	if outer == nil {
		return nil
	}
	if outer.lease != nil {
		if o.domain != nil && o.domain != outer.root && o.domain != Domain(outer.lease) {
			return fmt.Errorf("%w: In: the lane is made in the body of %v, which is in another domain: leave In out", ErrOption, outer.by)
		}
		l.root, l.domain = outer.root, outer.lease
	}
	if l.shared == nil {
		l.shared = outer.shared
	}
	l.outer = outer
	return nil
}

// An ended is the Domain of lanes that are made with the context of a body that has returned.
type ended struct{}

func (ended) Acquire(context.Context, Request) (Lease, error) {
	return nil, fmt.Errorf("%w: the lane was made with the context of a body that has returned", ErrLeaseEnded)
}

// Submit adds jobs and returns the index of the first; the others follow. The index is the call's identity and its
// place in the model's order. Jobs that are submitted together are known to the admission before any of them starts, as
// a batch that is planned whole must be.
//
// Submit waits for nothing and calls no code of the jobs. After Close it returns [ErrClosed], after a hard error that
// error. A cancelled lane still takes jobs, and skips them, until it is closed or a Wait has returned, so that a host
// need not treat a cancel that comes just before its calls as a case of its own.
func (l *Lane) Submit(jobs ...Job) (int, error) {
	for i, j := range jobs {
		if j == nil {
			return 0, fmt.Errorf("submit: job %d of %d is nil", i+1, len(jobs))
		}
	}
	l.mu.Lock()
	if err := l.err; err != nil {
		l.mu.Unlock()
		return 0, fmt.Errorf("submit: %w", err)
	}
	if l.closed || l.finished {
		cause := l.cause
		l.mu.Unlock()
		if cause != nil {
			return 0, fmt.Errorf("submit: %w after a cancel: %w", ErrClosed, cause)
		}
		return 0, fmt.Errorf("submit: %w", ErrClosed)
	}
	first := len(l.slots)
	if len(jobs) == 0 { // nor anything to wake a worker for, at which the admission would be asked
		l.mu.Unlock()
		return first, nil
	}
	for _, j := range jobs {
		l.slots = append(l.slots, slot{call: &call{job: j}})
	}
	if l.rec != nil {
		l.rec.submitted(len(l.slots))
	}
	l.wake()
	return first, nil
}

// Cancel cancels the lane: nothing more starts, the bodies that run are cancelled with the cause and waited for, and
// calls that were not prepared are skipped. A nil cause is [context.Canceled]. Only the first cancel counts.
func (l *Lane) Cancel(cause error) { l.cancel(cause) }

// CancelCall cancels call i alone: before its Prepare it is skipped with the cause, in its turn; later its context is
// cancelled with the cause, and its body, if it runs, is waited for. Its siblings go on. A nil cause is
// [context.Canceled]. For a call that has an outcome already, or was never submitted, it does nothing.
func (l *Lane) CancelCall(i int, cause error) {
	if cause == nil {
		cause = context.Canceled
	}
	l.mu.Lock()
	if i >= 0 && i < len(l.slots) {
		l.cancelCall(i, cause)
	}
	if len(l.recalls) > 0 {
		l.wake()
	} else {
		l.mu.Unlock()
	}
}

// Close says that no more calls come. It does not wait.
func (l *Lane) Close() {
	l.mu.Lock()
	if !l.finished {
		l.notice() // a cancel that came before is one, also of a lane that has nothing to do
	}
	l.closed = true
	l.finish()
}

// Wait returns when the lane has ended: it was closed or cancelled and every call has had its Commit or Skip, or a hard
// error stopped it; and no goroutine of it is left, except of an abandoned body. It returns the first hard error; else,
// if the lane was stopped before it was closed or before the last call was committed, the cause: of the cancel, or the
// [*AbandonedError] of a call that was cancelled alone; else nil. It may be called more than once.
func (l *Lane) Wait() error {
	l.mu.Lock()
	l.waited = true
	l.finish()
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	return l.cause
}

// wake starts a worker if one would find something to do. It is called with mu held and releases it.
func (l *Lane) wake() {
	more := l.wanted()
	l.mu.Unlock()
	if more {
		go l.work(true)
	}
}

// wanted reports whether another worker would find something to do; if so, one must be started.
func (l *Lane) wanted() bool {
	if l.driving || l.waking || l.finished || l.err != nil || !l.pending() {
		return false
	}
	l.waking = true
	l.live++
	return true
}

// pending reports whether there is something to do in the lane.
func (l *Lane) pending() bool {
	if l.due() || len(l.recalls) > 0 || l.known < len(l.slots) && !l.stopped {
		return true
	}
	_, ok := l.next()
	return ok
}

// next asks for the next call to admit. A call may have changed since it was submitted, so that its start is refused;
// that may let an earlier one start, so the question is always for the first of all. Calls that change whenever they
// are looked at, or an admission that offers what it refuses, could go on so for ever: after some refusals something
// else must happen first.
func (l *Lane) next() (i int, ok bool) {
	if l.stopped || l.active >= l.limit || l.refused > 2*len(l.slots) {
		return -1, false
	}
	return l.adm.Next(-1)
}

// due reports whether the next call in the model's order can be committed or skipped.
func (l *Lane) due() bool {
	if l.cursor == len(l.slots) {
		return false
	}
	switch l.slots[l.cursor].state {
	case ready, skipped:
		return true
	case queued, waiting:
		return l.stopped
	}
	return false
}
