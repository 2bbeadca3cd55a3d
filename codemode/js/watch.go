package js

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// A watch stops a program at its limits of time.
type watch struct {
	vm      *vm
	start   time.Time
	wall    time.Duration
	compute time.Duration
	total   atomic.Int64 // of all entries but the current one
	entered atomic.Int64 // since start; 0: not in the engine
	timer   *time.Timer
	over    atomic.Bool // compute, not wall
	ended   atomic.Bool
}

// poking is how often a program that was stopped is told so, until it is.
const poking = time.Millisecond

func newWatch(m *vm, o order) *watch {
	w := &watch{vm: m, start: time.Now().Add(-o.Spent), wall: o.Limits.Wall, compute: o.Limits.Compute}
	w.timer = time.AfterFunc(math.MaxInt64, w.look)
	w.timer.Reset(min(w.wall-o.Spent, w.compute)) // only now: a look needs the timer, and may come at once
	return w
}

func (w *watch) enter() { w.entered.Store(int64(max(time.Since(w.start), 1))) }

func (w *watch) leave() {
	w.total.Add(int64(time.Since(w.start)) - w.entered.Swap(0))
}

func (w *watch) computed() time.Duration {
	total := w.total.Load()
	if e := w.entered.Load(); e != 0 {
		total += int64(time.Since(w.start)) - e
	}
	return time.Duration(total)
}

func (w *watch) look() {
	if w.ended.Load() {
		return
	}
	wall, compute := w.wall-time.Since(w.start), w.compute-w.computed()
	next := max(min(wall, compute), poking)
	if wall <= 0 || compute <= 0 {
		w.over.CompareAndSwap(false, compute <= 0 && wall > 0)
		w.vm.halt(stopTime)
	}
	if w.vm.why() != running {
		w.vm.halt(stopTime)
		next = poking
	}
	w.timer.Reset(next)
}

// end stops the watch. A look that is going on is harmless: the vm knows when it is closed.
func (w *watch) end() {
	w.ended.Store(true)
	w.timer.Stop()
}

func (w *watch) message() string {
	if w.over.Load() {
		return fmt.Sprintf("the program computed for longer than %v, its waits for tools and timers not counted", w.compute)
	}
	return fmt.Sprintf("the program took longer than %v", w.wall)
}
