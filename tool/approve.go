package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// An Approver puts a question to whoever decides: a person at a terminal, or a browser.
type Approver interface {
	// Show shows the prompt. The answer is given with [Prompt.Answer], by Show itself or later by anybody. Show must
	// return when ctx is done, which is as soon as the prompt is over: answered, timed out or withdrawn; no other
	// prompt is shown before. An error, or a panic, means that there is nobody to ask.
	Show(ctx context.Context, p *Prompt) error
}

// A Decision is what somebody said to a prompt.
type Decision uint8

const (
	Reject       Decision = iota // the call may not run
	AllowOnce                    // this call may run
	AllowSession                 // it may, and so may those that come later with the same Grant: see Verdict
	Unavailable                  // there is nobody to ask
)

// An Answer is what somebody said to a prompt. The zero Answer rejects.
type Answer struct {
	Decision Decision
	Text     string // for the model, why not; may be empty
}

// ErrLate is what [Prompt.Answer] wraps when the prompt was over before the answer came.
var ErrLate = errors.New("the answer comes too late")

// A Prompt asks about one call, and no other. A [Prompter] makes it; its method is safe for concurrent use.
type Prompt struct {
	Session string      // the Name of the pipeline
	Call    *Invocation // what is asked about
	Reason  string      // of the policy that wants it to be asked about
	Grant   string      // what AllowSession would allow, beside the tool; empty: all calls of the tool

	ctx    context.Context // of who shows it
	mu     sync.Mutex
	over   error // why no answer is taken any more; nil: one is. It does not change then, nor does answer
	answer Answer
	done   chan struct{} // closed when it is over
}

var errAnswered = errors.New("it was answered already")

// Answer decides, if the prompt is not over; only the first answer counts. The error of one that does not wraps
// [ErrLate], and says why: that it was answered, that nobody did in time, or the cause of a cancel.
func (p *Prompt) Answer(a Answer) error {
	if over := p.end(errAnswered, a); over != nil {
		return fmt.Errorf("%w: %w", ErrLate, over)
	}
	return nil
}

// end ends the prompt, and returns why it was over already, if it was. Whoever has seen that its context is done finds
// that it is over.
func (p *Prompt) end(why error, a Answer) (over error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over != nil {
		return p.over
	}
	defer close(p.done)
	if p.over = context.Cause(p.ctx); p.over != nil {
		return p.over
	}
	p.over, p.answer = why, a
	return nil
}

// A Prompter shows prompts one at a time, in the order in which their calls started. Several pipelines can share one,
// as several sessions share a screen: a call that waits for its prompt waits for the prompts of all of them that were
// there before. Its fields are set before its first use and not changed then; it must not be copied.
//
// Right before a prompt is shown, the policies of its call are asked again: an answer to an earlier one may have
// made it unnecessary.
type Prompter struct {
	Approver Approver      // nil: there is nobody to ask
	Timeout  time.Duration // for an answer, counted from when the prompt is shown; 0: no bound

	mu   sync.Mutex
	line []*spot
}

// A spot is where a call stands in the line for its prompt.
type spot struct {
	p     *Prompter
	turn  chan struct{} // closed when it is the first
	shown bool          // its prompt is shown: only who shows it may leave
	stop  func() bool   // of what makes it leave when its call has ended
}

// enter takes a place at the end of the line. It is left at the latest when ctx is done, unless the prompt is shown
// then.
func (p *Prompter) enter(ctx context.Context) *spot {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := &spot{p: p, turn: make(chan struct{})}
	p.line = append(p.line, at)
	if len(p.line) == 1 {
		close(at.turn)
	}
	at.stop = context.AfterFunc(ctx, func() { at.quit(false) })
	return at
}

// show says that the prompt is about to be shown, and reports whether it may be.
func (at *spot) show() bool {
	at.p.mu.Lock()
	defer at.p.mu.Unlock()
	at.shown = slices.Contains(at.p.line, at)
	return at.shown
}

// quit leaves the line, if it has not done so before.
func (at *spot) quit(wasShown bool) {
	p := at.p
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.line, at)
	if i < 0 || at.shown && !wasShown {
		return
	}
	at.stop()
	p.line = slices.Delete(p.line, i, i+1)
	if i == 0 && len(p.line) > 0 {
		close(p.line[0].turn)
	}
}

var errNobody = errors.New("no reason given")

// A lapse is why a prompt is over that nobody answered in time.
type lapse struct{ after time.Duration }

func (l lapse) Error() string { return fmt.Sprintf("nobody answered within %v", l.after) }

// A failure is why a prompt is over that could not be shown.
type failure struct{ err error }

func (f failure) Error() string { return "it could not be shown: " + f.err.Error() }

// ask shows a prompt and returns the answer, or why there is none. It is called by the first in the line, once.
func (p *Prompter) ask(ctx context.Context, at *spot, q *Prompt) (Answer, error) {
	if ctx.Err() != nil || !at.show() {
		return Answer{}, context.Cause(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if p.Timeout > 0 {
		late := time.AfterFunc(p.Timeout, func() { cancel(lapse{p.Timeout}) })
		defer late.Stop()
	}
	q.ctx, q.done = ctx, make(chan struct{})
	go p.show(at, q)
	select {
	case <-q.done:
	case <-ctx.Done():
		_ = q.end(nil, Answer{}) // for the cause of that, unless it is over already
	}
	cancel(q.over)
	if q.over == errAnswered {
		return q.answer, nil
	}
	return Answer{}, q.over
}

// show shows a prompt until it is over, and then lets the next one be shown.
func (p *Prompter) show(at *spot, q *Prompt) {
	defer at.quit(true)
	defer func() { <-q.ctx.Done() }()
	err := errors.New("its approver called runtime.Goexit")
	defer func() {
		if err != nil {
			_ = q.end(failure{err}, Answer{}) // which comes too late if it was answered
		}
	}()
	_, err = safely(func() (struct{}, error) { return struct{}{}, p.Approver.Show(q.ctx, q) })
}

// A grant is what was allowed for the session: what a verdict named, of the definition that the answer was about, and
// of no other that may come to have its name.
type grant struct {
	tool *Definition
	name string
}

// An approval is that of a call that has to be asked about. Await, which is on a worker and may be given up, says here
// what came of it.
type approval struct {
	spot   *spot
	reason string // to ask

	mu      sync.Mutex
	over    bool    // the call is not to run any more, whatever is answered
	given   bool    // it may run
	refusal *Result // why not; nil: there was no answer yet
}

// approve waits until it is the call's turn, asks, and reports whether the call may run.
func (j *Job) approve(ctx context.Context) (refusal Result, ok bool) {
	at, p := j.approval.spot, j.Pipeline
	defer at.quit(false)
	select {
	case <-at.turn:
	case <-ctx.Done():
		return j.withdrawn(context.Cause(ctx)), false
	}
	v, refusal, ok := j.decide(ctx)
	if !ok {
		return refusal, false
	}
	if v.Action == Ask {
		q := &Prompt{Session: p.Name, Call: &j.Invocation, Reason: v.Reason, Grant: v.Grant}
		answer, err := p.Prompter.ask(ctx, at, q)
		if refusal, ok = j.answered(answer, err); !ok {
			return refusal, false
		}
		if answer.Decision == AllowSession {
			p.granted.Store(grant{j.Definition, v.Grant}, true)
		}
	}
	return j.guard(ctx)
}

// answered reports whether an answer lets the call run.
func (j *Job) answered(a Answer, err error) (refusal Result, ok bool) {
	name := j.Call.Name
	switch err := err.(type) {
	case nil:
	case lapse:
		return unanswered(name, err.after), false
	case failure:
		return unavailable(name, err.err), false
	default: // of a cancel
		return j.withdrawn(err), false
	}
	switch a.Decision {
	case AllowOnce, AllowSession:
		return Result{}, true
	case Unavailable:
		if a.Text == "" {
			return unavailable(name, errNobody), false
		}
		return unavailable(name, errors.New(a.Text)), false
	}
	return rejected(name, a.Text), false
}

// withdrawn is the result of a call that was cancelled, or late, before there was an answer.
func (j *Job) withdrawn(cause error) Result {
	if late := j.clock.is(cause); late != nil {
		return lateStart(j.Call.Name, late)
	}
	return withdrawn(j.Call.Name, cause)
}
