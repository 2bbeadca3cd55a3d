//go:build linux || darwin

package js

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/keywave-go/keywave/codemode"
)

// maxRuns is after how many runs a worker is replaced, so that no leak of the engine lasts.
const maxRuns = 1000

// New makes a runtime whose programs run in worker processes, one program at a time in each. A worker is this
// program, started once more: [Worker] must be called first thing in main.
//
// A worker that does not end by itself when a limit is passed is killed. It is used again only after a program that
// returned or threw, always with a new world. It ends when this process ends.
//
// The error is that Worker was not called, that this is a worker itself, or that Max is negative. A worker that cannot
// be started is an error of a run.
func New(o Options) (*Runtime, error) {
	switch {
	case os.Getenv(workerEnv) != "":
		return nil, errors.New("js: a worker cannot start workers; js.Worker() must be the first thing in main")
	case !hooked:
		return nil, errors.New("js: worker processes need a line in the host: " +
			"call js.Worker() as the first thing in main, and in TestMain of tests")
	case o.Max < 0:
		return nil, errors.New("js: Max must not be negative")
	case o.Warm == 0:
		o.Warm = 2
	}
	if o.Max > 0 {
		o.Warm = min(o.Warm, o.Max)
	}
	r := newRuntime(codemode.Process)
	p := &pool{Options: o}
	if o.Max > 0 {
		p.permits = make(chan struct{}, o.Max)
	}
	r.run, r.stop = p.run, p.close
	p.mu.Lock()
	p.fill()
	p.mu.Unlock()
	return r, nil
}

type pool struct {
	Options
	permits chan struct{} // nil: no bound

	mu     sync.Mutex
	free   []*process
	coming int // workers that are being started to be kept
	taken  int // workers that run a program
	closed bool
	work   sync.WaitGroup // starts and kills
}

// run runs a program in a worker of its own for that long.
func (p *pool) run(ctx context.Context, o order, b codemode.Bindings) (codemode.Outcome, error) {
	start := time.Now()
	waiting, cancel := context.WithTimeout(ctx, o.Limits.Wall)
	defer cancel()
	w, err := p.take(waiting)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return aborted(ctx), nil
	case waiting.Err() != nil:
		return codemode.Outcome{Failure: codemode.Timeout, Message: "no worker came free in time"}, nil
	default:
		return codemode.Outcome{}, err
	}
	// What it waited for its worker is part of its time.
	o.Spent = time.Since(start)
	outcome, clean, err := w.run(ctx, o, b, start)
	p.give(w, clean)
	return outcome, err
}

// take takes a worker that waits, or starts one.
func (p *pool) take(ctx context.Context) (*process, error) {
	if p.permits != nil {
		select {
		case p.permits <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	var w *process
	p.mu.Lock()
	// The one that waits longest has its next world ready.
	for w == nil && len(p.free) > 0 {
		w, p.free = p.free[0], p.free[1:]
		if !w.alive() {
			p.discard(w)
			w = nil
		}
	}
	p.taken++
	p.fill()
	p.mu.Unlock()
	var err error
	if w == nil {
		w, err = spawn()
	}
	if err == nil {
		if err = w.awaitReady(ctx); err == nil {
			return w, nil
		}
	}
	p.give(w, false)
	return nil, err
}

// give takes a worker back, or what take has got none of.
func (p *pool) give(w *process, clean bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	if p.permits != nil {
		<-p.permits
	}
	if w != nil {
		w.runs++
		if clean && w.runs < maxRuns && !p.closed && len(p.free) <= p.Warm {
			p.free = append(p.free, w)
			return
		}
		p.discard(w)
	}
	p.fill()
}

// discard kills a worker. Nobody waits for that but close.
func (p *pool) discard(w *process) {
	p.work.Go(w.kill)
}

// fill starts workers until there are enough, one at a time: they take a processor while they start.
func (p *pool) fill() {
	live := len(p.free) + p.coming + p.taken
	switch {
	case p.closed || p.coming > 0 || p.Warm <= 0 || p.Max > 0 && live >= p.Max:
		return
	case len(p.free) > 0 && live >= p.Warm:
		return
	}
	if p.permits != nil {
		select {
		case p.permits <- struct{}{}: // while it comes it is nobody's, but there
		default:
			return
		}
	}
	p.coming++
	p.work.Go(func() {
		w, err := spawn()
		if err == nil {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			if err = w.awaitReady(ctx); err != nil {
				w.kill()
			}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.coming--
		if p.permits != nil {
			<-p.permits
		}
		switch {
		case err != nil:
			// The next run reports it, if it lasts.
		case p.closed || len(p.free) > p.Warm:
			p.discard(w)
		default:
			p.free = append(p.free, w)
			p.fill()
		}
	})
}

func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	free := p.free
	p.free = nil
	p.mu.Unlock()
	for _, w := range free {
		p.discard(w)
	}
	p.work.Wait()
}
