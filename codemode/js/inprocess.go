package js

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywave-go/keywave/codemode"
)

// maxOverran is how many programs may be out of control at once before an in-process runtime refuses to run another.
const maxOverran = 8

// NewInProcess makes a runtime whose programs run in this process. It starts faster, needs no hook in main, and works
// wherever Go does, but it is not a hard isolation; the package documentation says what it does not stop.
func NewInProcess() *Runtime {
	r := newRuntime(codemode.InProcess)
	var overran atomic.Int32
	r.run = func(ctx context.Context, o order, b codemode.Bindings) (codemode.Outcome, error) {
		if overran.Load() >= maxOverran {
			return codemode.Outcome{}, errors.New("js: too many programs of this process are out of control; " +
				"use js.New, whose workers can be killed")
		}
		return runHere(ctx, o, b, &overran)
	}
	return r
}

// A local is a run in this process: its engine's goroutine, and what is shared with those that answer calls.
type local struct {
	mu       sync.Mutex
	answers  []answer
	waiting  int64         // bytes of them
	bell     chan struct{} // rings when there is an answer, or a stop
	finished bool
	logs     []codemode.Log
}

func (l *local) ring() {
	select {
	case l.bell <- struct{}{}:
	default:
	}
}

func runHere(ctx context.Context, o order, b codemode.Bindings, overran *atomic.Int32) (codemode.Outcome, error) {
	l := &local{bell: make(chan struct{}, 1)}
	var (
		m     *vm
		w     *watch
		ready = make(chan error, 1)
		done  = make(chan codemode.Outcome, 1)
	)
	go func() {
		var err error
		if m, err = boot(); err == nil {
			w = newWatch(m, o)
		}
		ready <- err
		if err != nil {
			return
		}
		// A fault in the engine's memory is a panic of this goroutine. That is the most that can be done in this
		// process: what the fault has overwritten before, nobody knows.
		debug.SetPanicOnFault(true)
		defer func() {
			if recover() != nil {
				m.broken = true
				m.close()
				done <- codemode.Outcome{Failure: codemode.Crash, Message: "the engine ended unexpectedly"}
			}
		}()
		p := &program{order: o, vm: m, watch: w}
		p.out = outside{call: l.caller(b, m, o.Limits.Memory), log: l.log, now: time.Now, random: rand.Float64}
		if b.Now != nil {
			p.out.now = b.Now
		}
		if b.Rand != nil {
			p.out.random = b.Rand
		}
		p.out.next = func(until time.Time) (answer, bool) { return l.next(m, w, until) }
		outcome := p.run()
		w.end()
		m.close()
		done <- outcome
	}()
	if err := <-ready; err != nil {
		return codemode.Outcome{}, err
	}
	defer context.AfterFunc(ctx, func() {
		m.halt(stopAbort)
		l.ring()
	})()
	select {
	case outcome := <-done:
		return l.end(ctx, outcome), nil
	case <-m.halted:
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case outcome := <-done:
		return l.end(ctx, outcome), nil
	case <-late.C:
	}
	// A program that was told to stop, and does not come to it, is left behind: it can reach nothing any more, but it
	// has a processor until the engine's next poll.
	overran.Add(1)
	go func() {
		<-done
		overran.Add(-1)
	}()
	return l.end(ctx, (&program{order: o, vm: m, watch: w}).stoppedBy(m.why())), nil
}

func (l *local) end(ctx context.Context, o codemode.Outcome) codemode.Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finished = true
	l.answers = nil
	o.Logs, l.logs = l.logs, nil
	if o.Failure == codemode.Abort {
		o.Message = aborted(ctx).Message
	}
	return o
}

func (l *local) caller(b codemode.Bindings, m *vm, memory int64) func(id, tool int, arguments string) {
	return func(id, tool int, arguments string) {
		b.Call(b.Tools[tool], json.RawMessage(arguments), func(value json.RawMessage, failure string) {
			a := answer{id: id, ok: failure == "", text: failure}
			if a.ok {
				a.text = string(value)
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.finished {
				return
			}
			if l.waiting += int64(len(a.text)); l.waiting > memory {
				m.halt(stopWaiting)
			} else {
				l.answers = append(l.answers, a)
			}
			l.ring()
		})
	}
}

func (l *local) log(level, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.finished {
		l.logs = append(l.logs, codemode.Log{Level: level, Text: text})
	}
}

func (l *local) next(m *vm, w *watch, until time.Time) (answer, bool) {
	d := w.start.Add(w.wall)
	last := until.IsZero() || d.Before(until)
	if !last {
		d = until
	}
	timer := time.NewTimer(time.Until(d))
	defer timer.Stop()
	for m.why() == running {
		l.mu.Lock()
		if len(l.answers) > 0 {
			a := l.answers[0]
			l.answers[0], l.answers = answer{}, l.answers[1:]
			l.waiting -= int64(len(a.text))
			l.mu.Unlock()
			return a, true
		}
		l.mu.Unlock()
		select {
		case <-l.bell:
		case <-timer.C:
			if last {
				m.halt(stopTime)
			}
			return answer{}, false
		}
	}
	return answer{}, false
}
