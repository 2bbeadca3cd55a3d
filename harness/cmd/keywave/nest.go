package main

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/tool"
)

// A nest watches the calls that the programs of one batch make, or of one step of an agent. A nil nest sees none.
type nest struct {
	listener *tool.Listener

	mu       sync.Mutex
	programs map[*tool.Invocation]*program // by the call that runs them
}

// A program is one that runs, or has run.
type program struct {
	begun   time.Time // right before its lane was made
	times   exec.Timeline
	calls   []tool.Call    // by call; without a name: it has not started
	results []*tool.Result // by call; nil: there is none yet
}

func newNest() *nest {
	n := &nest{programs: map[*tool.Invocation]*program{}}
	n.listener = tool.NewListener(n.hear)
	return n
}

// listeners are to listen to the pipeline of the calls.
func (n *nest) listeners() []*tool.Listener {
	if n == nil {
		return nil
	}
	return []*tool.Listener{n.listener}
}

// timeline is asked when a program is about to run.
func (n *nest) timeline(c *tool.Invocation) *exec.Timeline {
	p := &program{begun: time.Now()}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.programs[c] = p
	return &p.times
}

// hear is told what happens to calls.
func (n *nest) hear(e tool.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.programs[e.Parent]
	if p == nil {
		return
	}
	for len(p.calls) <= e.Index {
		p.calls, p.results = append(p.calls, tool.Call{}), append(p.results, nil)
	}
	p.calls[e.Index] = e.Call
	if e.Stage == tool.Settled || e.Stage == tool.Committed {
		p.results[e.Index] = &e.Result
	}
}

// renew forgets what is over.
func (n *nest) renew() {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.programs)
}

// wait returns when the nest has been told all that has happened.
func (n *nest) wait() {
	if n != nil {
		_ = n.listener.Wait(context.Background()) // which never is done
	}
}

// A brood is what a program has called, at some moment.
type brood struct {
	snapshot
	calls   []tool.Call
	results []*tool.Result
}

// broods are those of the calls of a batch: by call, and with times since the start of all batches, as those calls have.
func (n *nest) broods(started time.Time) map[int]*brood {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	all := map[int]*brood{}
	for c, p := range n.programs {
		b := &brood{snapshot: snapshot{spans: p.times.Snapshot(), begun: p.begun.Sub(started)}}
		b.now = time.Since(p.begun)
		b.calls = append(make([]tool.Call, 0, len(b.spans)), p.calls...)
		b.results = append(make([]*tool.Result, 0, len(b.spans)), p.results...)
		for len(b.calls) < len(b.spans) {
			b.calls, b.results = append(b.calls, tool.Call{}), append(b.results, nil)
		}
		b.ends = make([]atomic.Int32, len(b.calls))
		for i, r := range b.results {
			if r != nil {
				b.ends[i].Store(endingOf(*r))
			}
		}
		all[c.Index] = b
	}
	return all
}

func endingOf(r tool.Result) int32 {
	if r.IsError {
		return endedBadly
	}
	return endedWell
}

// in puts the times of a brood between those of the call that has made it: two clocks do not start at the same time.
func (b *brood) in(of exec.Span, begun time.Duration) *brood {
	low, high := begun+of.Started-b.begun, begun+of.Settled-b.begun
	for i := range b.spans {
		s := &b.spans[i]
		for _, t := range []*time.Duration{&s.Submitted, &s.Admitted, &s.Started, &s.Settled, &s.Committed} {
			if *t < 0 {
				continue
			}
			if *t = max(*t, low); of.Settled >= 0 {
				*t = min(*t, max(low, high))
			}
		}
	}
	return b
}

// dotted is the number of a call for people: 1.2 is the second one that the first one has made.
func dotted(c *tool.Invocation) string {
	number := strconv.Itoa(c.Index + 1)
	if c.Parent != nil {
		number = dotted(c.Parent) + "." + number
	}
	return number
}

// whole reports whether it is known how each call has ended that has.
func (b *brood) whole() bool { return b == nil || b.snapshot.whole() }
