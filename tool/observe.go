package tool

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A Stage is what happened to a call.
type Stage uint8

const (
	Started   Stage = iota // the lane has taken it up: it is prepared, which may refuse it
	Asked                  // it waits for an answer
	Answered               // it was answered, or is not going to be
	Settled                // it was not refused right away, and has a result: its body is at rest, or will not run
	Committed              // its result is final, and what the model is shown
)

// String returns the name in lower case.
func (s Stage) String() string {
	if names := [...]string{"started", "asked", "answered", "settled", "committed"}; int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("Stage(%d)", uint8(s))
}

// An Event is what observers are told. Of every call that is committed or skipped they are told Committed, once and
// last. The others come before it, each at most once and in their order: Started if the lane took the call up, Asked
// and Answered if a policy wanted it to be asked about, and Settled.
type Event struct {
	*Invocation // whose call it is: as of its start, from Started on
	Stage       Stage
	Reason      string    // of Asked: the policy's
	At          time.Time // of an event for RecordNested: when the call started, or its body came to rest; zero: not noted
	Result      Result    // of Answered, why it may not run, if so; of Settled, as it came to rest; of Committed, final
}

// A Gate is an observer that the lane waits for. It is told [Started] and [Committed], as they happen, in the lane: one
// lane calls it for one event at a time, several lanes that share a [Pipeline] at once. A panic in it changes nothing.
type Gate func(ctx context.Context, e Event)

// A Listener is an observer that nobody waits for. It is told what happens, one event after the other, in the order in
// which it happens, on a goroutine that lives no longer than there is something to tell. What it has not been told yet
// is kept in memory. A panic in it, or a runtime.Goexit, ends its handling of that event and changes nothing else.
//
// [NewListener] makes one. It is safe for concurrent use, and may listen to several pipelines, whose events it is told in
// one order.
type Listener struct {
	f func(Event)

	mu     sync.Mutex
	events []Event
	busy   bool          // somebody is telling it
	idle   chan struct{} // closed when nothing is left to be told; nil: nobody waits for that
}

// NewListener returns a listener that calls f with each event, one call at a time.
func NewListener(f func(Event)) *Listener { return &Listener{f: f} }

// Wait returns when the listener has been told all that has happened so far, or ctx is done; then its error is
// [context.Cause]. Called by the listener itself it would wait for its own return, until ctx is done.
func (l *Listener) Wait(ctx context.Context) error {
	l.mu.Lock()
	if !l.busy {
		l.mu.Unlock()
		return nil
	}
	if l.idle == nil {
		l.idle = make(chan struct{})
	}
	idle := l.idle
	l.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// hear queues an event.
func (l *Listener) hear(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	if !l.busy {
		l.busy = true
		go l.work()
	}
}

// work tells what there is to tell.
func (l *Listener) work() {
	ended := false
	defer func() {
		if !ended { // runtime.Goexit
			go l.work()
		}
	}()
	for l.one() {
	}
	ended = true
}

// one tells one event, and reports whether there was one.
func (l *Listener) one() (more bool) {
	l.mu.Lock()
	if len(l.events) == 0 {
		l.events, l.busy = nil, false
		if l.idle != nil {
			close(l.idle)
			l.idle = nil
		}
		l.mu.Unlock()
		return false
	}
	e := l.events[0]
	l.events[0] = Event{} // which may be large, and is not to be kept
	l.events = l.events[1:]
	l.mu.Unlock()
	more = true
	defer func() { _ = recover() }()
	l.f(e)
	return more
}

// tell records an event, and then tells the observers.
func (j *Job) tell(ctx context.Context, s Stage, r Result) error {
	e := Event{Invocation: &j.Invocation, Stage: s, Result: r}
	if s == Asked {
		e.Reason = j.approval.reason
	}
	if j.Record != nil {
		if err := j.Record(ctx, e); err != nil {
			return err
		}
	}
	if s == Committed {
		e.Result = j.Result // Record may have aborted it
	}
	for _, l := range j.Pipeline.Listeners {
		l.hear(e)
	}
	if s == Started || s == Committed {
		for _, g := range j.Pipeline.Gates {
			g.tell(ctx, e)
		}
	}
	return nil
}

func (g Gate) tell(ctx context.Context, e Event) {
	defer func() { _ = recover() }()
	g(ctx, e)
}
