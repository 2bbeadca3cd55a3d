package codemode

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/keywave-go/keywave/tool"
)

// A logLane records what becomes of the calls of a program, one event after the other, in the order in which they come,
// beside all else: neither the program nor the calls wait for it, unless as many ends of calls as its bound are not yet
// recorded. It has a goroutine only while there is something to record.
type logLane struct {
	ctx     context.Context // of the body
	shorten Shortener       // nil: nothing is
	failed  func(error)     // is told of the first record that could not be made

	room chan struct{} // holds one for each end that is not yet recorded

	mu     sync.Mutex
	events []tool.Event
	busy   bool
	idle   chan struct{} // closed when nothing is left; nil: nobody waits for that

	broken bool // the worker's own
}

func (l *logLane) add(e tool.Event) {
	if e.Stage == tool.Committed {
		l.room <- struct{}{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	if !l.busy {
		l.busy = true
		go l.work()
	}
}

// wait returns when all is recorded.
func (l *logLane) wait() {
	l.mu.Lock()
	if !l.busy {
		l.mu.Unlock()
		return
	}
	l.idle = make(chan struct{})
	idle := l.idle
	l.mu.Unlock()
	<-idle
}

func (l *logLane) work() {
	var e tool.Event
	writing := false
	defer func() {
		if writing { // a record ended the goroutine: another one goes on, or nobody would ever be idle
			l.fail(errors.New("recording it ended its goroutine (runtime.Goexit)"))
			l.done(e)
			go l.work()
		}
	}()
	for {
		l.mu.Lock()
		if len(l.events) == 0 {
			l.events, l.busy = nil, false
			if l.idle != nil {
				close(l.idle)
				l.idle = nil
			}
			l.mu.Unlock()
			return
		}
		e = l.events[0]
		l.events[0] = tool.Event{} // which may be large, and is not to be kept
		l.events = l.events[1:]
		l.mu.Unlock()
		if !l.broken { // else a log would have ends without starts
			writing = true
			err := l.write(e)
			writing = false
			if err != nil {
				l.fail(err)
			}
		}
		l.done(e)
	}
}

func (l *logLane) fail(err error) {
	l.broken = true
	l.failed(err)
}

// done makes room for another end.
func (l *logLane) done(e tool.Event) {
	if e.Stage == tool.Committed {
		<-l.room
	}
}

// write records an event, shortened if it can be.
func (l *logLane) write(e tool.Event) error {
	if e.Stage == tool.Committed && l.shorten != nil {
		short := e
		r, err := l.short(e)
		if short.Result = r; err == nil && l.record(short) == nil {
			return nil
		}
	}
	return l.record(e)
}

func (l *logLane) record(e tool.Event) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v", v)
		}
	}()
	return tool.RecordNested(l.ctx, e)
}

// short has the hook shorten a result, on a goroutine of its own, which it may end.
func (l *logLane) short(e tool.Event) (r tool.Result, err error) {
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		err = errors.New("it did not return")
		defer func() { _ = recover() }()
		r, err = l.shorten(l.ctx, e.Invocation, e.Result)
	}()
	<-returned
	return r, err
}
