package domaintest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// patience is how long an answer that must come may take. In a bubble it costs nothing.
const patience = time.Minute

// A world is a Domain under test, and what has been done with it, step by step.
type world struct {
	suite *suite
	as    guarantee // what is broken when a request is granted too early or too late
	d     exec.Domain
	model model
	all   []*attempt // of model.all
	trail []string
}

// An attempt is a request on its way through the Domain.
type attempt struct {
	*request
	by       exec.Caller
	cancel   context.CancelCauseFunc
	cause    error
	patience time.Duration
	done     chan struct{} // closed when Acquire has returned

	// What it returned.
	lease exec.Lease
	err   error
	saw   []int // requests whose leases had run out at that moment

	mu       sync.Mutex
	returned bool
	told     []exec.Block
	late     bool // it was told something after Acquire had returned
	judged   int  // how many of told were looked at
	untold   bool // the last of them says that there will be no more

	overAt int // the step in which it ended; 0: it has not
}

// trial makes a new Domain, and a world of it for f.
func (s *suite) trial(t *testing.T, as guarantee, f func(w *world) error) (err error) {
	run := func(t testing.TB) {
		w := &world{suite: s, as: as, d: s.open(t)}
		defer func() {
			if left := w.leave(); err == nil {
				err = left
			}
		}()
		err = f(w)
	}
	if s.pause > 0 {
		tb := &scoped{TB: t}
		defer tb.end()
		run(tb)
		return err
	}
	defer func() {
		if p := recover(); p != nil && err == nil {
			err = fmt.Errorf("%v: a goroutine of the Domain is left behind in the bubble, which says: %v", guaranteeCancel, p)
		}
	}()
	synctest.Test(t, func(t *testing.T) { run(t) })
	return err
}

// A scoped test ends with one trial.
type scoped struct {
	testing.TB
	cleanups []func()
}

func (s *scoped) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

func (s *scoped) end() {
	for _, f := range slices.Backward(s.cleanups) {
		defer f()
	}
}

// leave ends all that is left.
func (w *world) leave() (err error) {
	for _, a := range w.all {
		a.cancel(nil)
	}
	for _, a := range w.all {
		switch {
		case !a.await():
			err = w.broken(guaranteeCancel, "Acquire of request %d does not return although its context is done", a.n)
		case a.err == nil && a.lease != nil && !a.released:
			_ = panicked(a.lease.Release) // then it has failed before
		}
	}
	return err
}

// await waits for Acquire to return.
func (a *attempt) await() bool {
	select {
	case <-a.done:
		return true
	default:
	}
	select {
	case <-a.done:
		return true
	case <-time.After(a.patience):
		return false
	}
}

// answered reports whether Acquire has returned.
func (a *attempt) answered() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// open reports whether Acquire has not returned as far as the model knows.
func (a *attempt) open() bool { return !a.granted && !a.refused }

// play lets steps happen one after the other, and then everything end.
func (w *world) play(steps []step) error {
	for _, s := range steps {
		if err := w.do(s); err == errUnsure {
			break
		} else if err != nil {
			return err
		}
	}
	return w.finish()
}

// errUnsure ends a sequence early: it goes on with a request that was not granted, and need not have been, since nobody
// knows who came first.
var errUnsure = errors.New("not known who came first")

// finish releases whatever is granted until nothing is left, and makes sure of that.
func (w *world) finish() error {
	for {
		var held, waits []*attempt
		for _, a := range w.all {
			if a.granted && !a.released && !a.lost {
				held = append(held, a)
			}
			if a.open() {
				waits = append(waits, a)
			}
		}
		if len(held) == 0 && len(waits) == 0 {
			break
		}
		if len(held) == 0 { // nobody knows who is first
			if !w.any(waits) {
				return w.broken(w.as, "nothing is held any more, but nobody is granted of the %d that wait", len(waits))
			}
			if err := w.settle(); err != nil {
				return err
			}
		}
		for _, a := range held {
			if err := w.do(release(a.n)); err != nil {
				return err
			}
		}
	}
	if err := w.do(acquire(plan.Claim{})); err != nil {
		return err
	}
	return w.do(release(len(w.all)))
}

// any waits until one of some attempts has been answered.
func (w *world) any(of []*attempt) bool {
	for range 1000 {
		if slices.ContainsFunc(of, (*attempt).answered) {
			return true
		}
		<-time.After(w.suite.patience / 1000)
	}
	return false
}

// do lets a step happen, waits for all that comes of it, and compares.
func (w *world) do(s step) error {
	if s.of > 0 && s.do != cancels && !w.all[s.of-1].granted {
		if w.suite.pause > 0 {
			return errUnsure
		}
		return w.broken(w.as, "request %d has no lease: the sequence itself is wrong", s.of)
	}
	w.model.now++
	w.trail = append(w.trail, s.describe(len(w.all)+1))
	if s.do == acquires {
		w.ask(s)
		return w.settle()
	}
	a := w.all[s.of-1]
	var p any
	switch s.do {
	case releases:
		w.model.release(a.request)
		p = panicked(a.lease.Release)
	case abandons:
		w.model.abandon(a.request)
		p = panicked(a.lease.Abandon)
	case cancels:
		w.model.refuse(a.request, cancelled)
		a.cancel(a.cause)
	case expires:
		w.model.lose(a.request)
		w.suite.expire(a.lease)
	}
	if p != nil {
		return w.broken(w.as, "the lease of request %d panics: %v", a.n, p)
	}
	return w.settle()
}

// panicked calls f and returns what it panics with, or nil.
func panicked(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// ask calls Acquire.
func (w *world) ask(s step) {
	var in *request
	d := w.d
	if s.of > 0 {
		in = w.all[s.of-1].request
		d = w.all[s.of-1].lease
	}
	a := &attempt{request: w.model.ask(in, slices.Clone(s.claims), s.exclusive, s.late), done: make(chan struct{}), patience: w.suite.patience}
	if w.suite.pause == 0 {
		a.came = w.model.now
	}
	a.by = exec.Caller{Lane: "domaintest", Call: a.n - 1}
	a.cause = fmt.Errorf("the cause of request %d", a.n)
	ctx, cancel := context.WithCancelCause(context.Background())
	a.cancel = cancel
	if s.late {
		cancel(a.cause)
	}
	var leases []*attempt // for what was lost when it was granted
	for _, x := range w.all {
		if x.granted {
			leases = append(leases, x)
		}
	}
	w.all = append(w.all, a)
	r := exec.Request{By: a.by, Claims: slices.Clone(s.claims), Exclusive: s.exclusive, Blocked: a.blocked}
	go func() {
		defer close(a.done)
		var lease exec.Lease
		var err error
		if p := panicked(func() { lease, err = d.Acquire(ctx, r) }); p != nil {
			err = fmt.Errorf("it panics: %v", p)
		}
		for _, x := range leases {
			if gone(x.lease) {
				a.saw = append(a.saw, x.n)
			}
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.returned, a.lease, a.err = true, lease, err
		for i := range r.Claims { // it is not the Domain's
			r.Claims[i] = plan.Claim{Key: "scribble"}
		}
	}()
}

func (a *attempt) blocked(b exec.Block) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.late = a.late || a.returned
	a.told = append(a.told, b)
}

// gone reports whether a lease has run out.
func gone(l exec.Lease) bool {
	select {
	case <-l.Lost():
		return true
	default:
		return false
	}
}

// settle waits until everything has happened that the last step leads to.
func (w *world) settle() error {
	w.rest()
	for {
		if err := w.observe(); err != nil {
			return err
		}
		due := slices.IndexFunc(w.all, func(a *attempt) bool {
			return a.open() && (a.mayFail != 0 || w.model.free(a.request))
		})
		if due >= 0 {
			a := w.all[due]
			if !a.await() {
				if a.mayFail != 0 {
					return w.broken(a.breaks(), "Acquire of request %d has not returned, and must return an error: %v", a.n, a.mayFail)
				}
				return w.broken(w.as, "request %d is not granted, and nothing is in its way", a.n)
			}
			continue
		}
		w.rest() // perhaps more is granted than may be
		if !slices.ContainsFunc(w.all, func(a *attempt) bool { return a.open() && a.answered() }) {
			return w.look()
		}
	}
}

// rest waits until nothing happens any more, as far as one can know.
func (w *world) rest() {
	if w.suite.pause == 0 {
		synctest.Wait()
	} else if slices.ContainsFunc(w.all, (*attempt).open) {
		<-time.After(w.suite.pause)
	}
}

// note adds to the last step what came of it.
func (w *world) note(format string, args ...any) {
	w.trail = append(w.trail, "    "+fmt.Sprintf(format, args...))
}

// broken tells the whole story.
func (w *world) broken(g guarantee, format string, args ...any) error {
	if w.as == guaranteeRepetition { // what comes of it is something else that must not be
		g = w.as
	}
	return fmt.Errorf("%v: %s\n  %s", g, fmt.Sprintf(format, args...), strings.Join(w.trail, "\n  "))
}
