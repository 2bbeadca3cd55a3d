package harness

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/keywave-go/keywave/tool"
)

// An Agent leads one session: it asks a model, runs the calls of its message, and asks again with their results, until
// the turn ends. [NewAgent] makes one. Its fields are set before it is told anything and not changed then; its methods
// are safe for concurrent use, also from within tools, but for WhenIdle there. Several agents can work in one process;
// they share what their schedulers share.
//
// What it is told goes through an inbox. A turn begins with a [Agent.Followup] or a [Agent.Steer] that waits; each
// Followup begins a turn of its own, in their order. Each step begins with the contexts that results have brought
// along, then what was steered and injected, and the first of a turn ends with its Followup. All of that becomes user
// messages in the log when it is delivered, and is in memory before; contexts are in the log from the result on.
//
// A turn ends when the model's message has no calls and nothing was steered meanwhile ([EndDone]), when a result
// concludes it ([EndConcluded]), at a limit ([EndLimit]), by a cancel ([EndCancelled]) or an error ([EndFailed]). After
// the last two the agent is idle, and what waits goes on waiting, until it is told something again that wakes it.
//
// It has no goroutine while it is idle, and nothing to close.
type Agent struct {
	MaxSteps    int // of a turn; it then ends with the results of the last; 0: no bound
	MaxFailures int // of calls in a row with one name and the same arguments; the turn then ends with that step; 0: no bound

	// Stream is given the text of the model's messages piece by piece, if the model does that; nil: nobody reads along.
	Stream func(text string)

	// Changed is told each change of the status, in their order, and waited for: it must be quick. It may call methods of
	// the agent other than WhenIdle. A panic in it changes nothing. Nil: nobody is told.
	Changed func(Status)

	ctx       context.Context
	model     Model
	scheduler *Scheduler

	mu     sync.Mutex // short: no caller's code runs under it
	inbox  inbox
	status Status
	turn   *turn         // that goes on; nil: none does
	busy   bool          // its goroutine is there
	idle   chan struct{} // closed at the end of that
}

// A Phase is what an [Agent] does.
type Phase uint8

const (
	Idle    Phase = iota // nothing
	Asking               // it waits for the model
	Calling              // it runs the calls of a message
)

// String returns the name in lower case.
func (p Phase) String() string {
	if names := [...]string{"idle", "asking", "calling"}; int(p) < len(names) {
		return names[p]
	}
	return fmt.Sprintf("Phase(%d)", uint8(p))
}

// A Status says where an [Agent] is.
type Status struct {
	Phase   Phase
	Turn    int     // the last that began; 0: none has, in this process
	Step    int     // of it, the last that began
	Waiting int     // how many messages are in the inbox
	Last    TurnEnd // of the last turn that ended; zero: none has, in this process
	Err     error   // with which it ended, if it was by an error
}

// NewAgent returns an agent for a session that nobody else leads, which it resumes: see [Scheduler.Resume]. It is told
// nothing yet, and idle.
//
// The values of ctx reach all that is called. When ctx is done the turn is cancelled, and the agent is over. An agent
// that works for a body, with its context, takes claims and permits within what that has; the body must wait for it.
func NewAgent(ctx context.Context, m Model, s *Scheduler) (*Agent, error) {
	if m == nil || s == nil || s.Session == nil {
		return nil, errors.New("agent: it needs a model, and a scheduler with a session")
	}
	if _, err := s.Resume(ctx); err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	return &Agent{ctx: ctx, model: m, scheduler: s}, nil
}

// Followup has the agent begin a turn with this, when the turn that goes on has ended and those of earlier ones. It is an
// error if the message is empty or cannot be recorded ([ErrPayload]), or if the agent is over; so it is with Steer and
// Inject.
func (a *Agent) Followup(content ...tool.Block) error {
	return a.post(letter{content, true}, true)
}

// Steer has the agent tell the model this with its next request: in the turn that goes on, which does not end before;
// if none does, in a new one.
func (a *Agent) Steer(content ...tool.Block) error {
	return a.post(letter{content, true}, false)
}

// Inject has the agent tell the model this with its next request, whenever that is: it is no reason for one.
func (a *Agent) Inject(content ...tool.Block) error {
	return a.post(letter{content, false}, false)
}

func (a *Agent) post(l letter, later bool) error {
	if len(l.content) == 0 {
		return errors.New("agent: the message is empty")
	}
	// What cannot be recorded would be in the way of all that comes later.
	e, err := event(UserMessage{Content: l.content})
	if err != nil {
		return fmt.Errorf("agent: the message: %w", err)
	}
	m, err := decode[UserMessage](e)
	if err != nil {
		return fmt.Errorf("agent: the message: %w", err)
	}
	l.content = m.Content // the caller may use its own again
	if a.ctx.Err() != nil {
		return fmt.Errorf("agent: it is over: %w", context.Cause(a.ctx))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inbox.post(l, later)
	if a.inbox.due() && !a.busy {
		a.busy, a.idle = true, make(chan struct{})
		go a.work()
	}
	return nil
}

// Cancel ends the turn that goes on, if one does: that is recorded, no further request is made, no call starts, those
// that run are cancelled with the cause and waited for, and successes without a result by then become [tool.Aborted]. A
// nil cause is [context.Canceled]. Of several cancels of one turn the first counts.
//
// With keepInbox what waits goes on waiting, until the agent is told something again that wakes it; without it is
// thrown away. Contexts of results are kept in any case.
func (a *Agent) Cancel(cause error, keepInbox bool) {
	if cause == nil {
		cause = context.Canceled
	}
	a.mu.Lock()
	if !keepInbox {
		a.inbox.clear()
	}
	a.inbox.awake = false
	t := a.turn
	if t == nil {
		a.mu.Unlock()
		return
	}
	if t.ctx.Err() == nil {
		t.keep = keepInbox
	}
	number, step := t.number, t.step
	a.mu.Unlock()
	if number > 0 {
		// If it cannot be recorded now, whoever records the first thing that it changes tries again.
		c := Cancel{Turn: number, Step: step, Cause: causeText(cause), KeepInbox: keepInbox}
		_ = a.scheduler.Session.cancelTurn(a.scheduler.Durability, c)
	}
	t.cancel(cause)
}

// WhenIdle returns when the agent does nothing and has no reason to, or ctx is done; then its error is [context.Cause].
// That a turn ended by an error is none of it: that is in [Agent.Status], with the reason of its end.
func (a *Agent) WhenIdle(ctx context.Context) error {
	a.mu.Lock()
	busy, idle := a.busy, a.idle
	a.mu.Unlock()
	if !busy {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Status returns where the agent is.
func (a *Agent) Status() Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now()
}

// now is the status. It is called with mu held.
func (a *Agent) now() Status {
	s := a.status
	s.Waiting = len(a.inbox.step) + len(a.inbox.turn)
	return s
}

// change changes the status and tells it.
func (a *Agent) change(to func(*Status)) {
	a.mu.Lock()
	to(&a.status)
	s := a.now()
	a.mu.Unlock()
	if a.Changed == nil {
		return
	}
	defer func() { _ = recover() }()
	a.Changed(s)
}

// work runs turns while there is reason to.
func (a *Agent) work() {
	ended := false
	defer func() {
		if !ended { // a host's function has called runtime.Goexit
			go a.work()
		}
	}()
	for {
		t, over := a.next()
		switch {
		case over:
			ended = true
			return
		case t != nil:
			t.run()
		default:
			a.change(func(s *Status) { s.Phase = Idle })
		}
	}
}

// next returns the turn that is to begin. If there is none, the agent is over with its work when it has said that it is
// idle.
func (a *Agent) next() (t *turn, over bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.inbox.due() && a.ctx.Err() == nil:
		t = &turn{Agent: a}
		t.ctx, t.cancel = context.WithCancelCause(a.ctx)
		a.turn = t
		return t, false
	case a.status.Phase != Idle:
		return nil, false
	}
	a.inbox.awake, a.busy = false, false
	close(a.idle)
	return nil, true
}
