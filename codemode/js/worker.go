//go:build linux || darwin

package js

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"sync"
	"syscall"
	"time"
)

// workerEnv is set in the environment of a worker, which has nothing else in it.
const workerEnv = "KEYWAVE_JS_WORKER"

// hooked is whether Worker was called in this process, so that one that is made of it will call it too.
var hooked bool

// Worker makes the process a worker if it was started as one by a [Runtime], and does not return then. A program that
// uses [New] calls it as the first thing of main, and the tests that do of TestMain:
//
//	func main() {
//		js.Worker()
//		...
//	}
//
// What runs before it, as the init functions of packages, runs in each worker too.
func Worker() {
	hooked = true
	if os.Getenv(workerEnv) == "" {
		return
	}
	os.Exit(work())
}

const (
	// flushing is how long a log waits for others.
	flushing = 5 * time.Millisecond
	// watching is how often a worker looks for its host.
	watching = 250 * time.Millisecond
	// base is the memory that a worker may take besides that of the program's world.
	base = 512 << 20
)

func work() int {
	// The worker's ends of the pipes are its own, so that this changes nobody else's.
	if syscall.SetNonblock(0, true) != nil {
		return 1
	}
	in, out := os.NewFile(0, "host"), os.NewFile(1, "host")
	confine()
	debug.SetMemoryLimit(base / 2)
	raw, err := in.SyscallConn()
	if err != nil {
		return 1
	}
	input := &pipe{File: in, raw: raw}
	w := &worker{in: &frameReader{from: input, most: maxBytes}, file: input, out: out, parent: os.Getppid()}
	go w.watchHost()
	if w.write(seal(newFrame(frameReady))) != nil {
		return 1
	}
	m, err := boot()
	if err != nil {
		return 1
	}
	for {
		_ = in.SetReadDeadline(time.Time{}) // that of the last program
		kind, payload, err := w.in.next()
		if err != nil {
			return 0 // the host has gone, or wants nothing more
		}
		if kind != frameRun {
			continue // an answer that the last program did not wait for
		}
		var o order
		if json.Unmarshal(payload, &o) != nil {
			return 1
		}
		if w.run(m, o) != nil {
			return 1
		}
		// The next world is made while nobody waits for it.
		m.close()
		if m, err = boot(); err != nil {
			return 1
		}
	}
}

// confine takes from the process what a worker does not need. Each is a second line of defence: a program has no way
// to any of it as long as the engine holds.
func confine() {
	set := func(what int, n uint64) { _ = syscall.Setrlimit(what, &syscall.Rlimit{Cur: n, Max: n}) }
	set(syscall.RLIMIT_CORE, 0)
	set(syscall.RLIMIT_FSIZE, 0)
	set(syscall.RLIMIT_NOFILE, 16)
	_ = os.Chdir("/")
}

// A pipe is the input of a worker. hasty: a read takes what is there, and waits for nothing.
type pipe struct {
	*os.File
	raw   syscall.RawConn
	hasty bool
}

func (p *pipe) Read(b []byte) (n int, err error) {
	if !p.hasty {
		return p.File.Read(b)
	}
	failed := p.raw.Read(func(fd uintptr) bool {
		n, err = syscall.Read(int(fd), b)
		return true
	})
	switch {
	case failed != nil:
		return 0, failed
	case err == syscall.EAGAIN || err == syscall.EINTR:
		return 0, os.ErrDeadlineExceeded
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

type worker struct {
	in     *frameReader
	file   *pipe
	parent int

	mu     sync.Mutex // over what is below: the flush of logs is another goroutine's
	out    io.Writer
	logs   []byte // frames that wait
	timer  *time.Timer
	failed error

	queue []answer // that came while the worker waited for something else
	err   error    // the host has gone
}

// write writes the logs that wait, and the frame.
func (w *worker) write(frame []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.logs) > 0 {
		frame = append(w.logs, frame...)
		w.logs = nil
	}
	if w.failed == nil && len(frame) > 0 {
		_, w.failed = w.out.Write(frame)
	}
	return w.failed
}

func (w *worker) log(level, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.logs) == 0 {
		// A program that logs and then never comes back has logged.
		if w.timer == nil {
			w.timer = time.AfterFunc(flushing, func() { _ = w.write(nil) })
		} else {
			w.timer.Reset(flushing)
		}
	}
	f := append(newFrame(frameLog), byte(len(level)))
	w.logs = append(w.logs, seal(append(append(f, level...), text...))...)
}

func (w *worker) run(m *vm, o order) error {
	limitData(o.Limits.Memory)
	p := &program{order: o, vm: m, watch: newWatch(m, o)}
	p.out = outside{call: w.call, log: w.log, now: time.Now, random: rand.Float64}
	p.out.next = func(until time.Time) (answer, bool) { return w.next(m, until, p.watch.start.Add(o.Limits.Wall)) }
	if o.Now {
		p.out.now = func() time.Time {
			n, _ := w.ask(m, frameAskNow, frameNow)
			return time.UnixMilli(int64(n))
		}
	}
	if o.Rand {
		p.out.random = func() float64 {
			n, _ := w.ask(m, frameAskRandom, frameRandom)
			return math.Float64frombits(n)
		}
	}
	finished := make(chan struct{})
	go func() {
		select {
		case <-finished:
			return
		case <-m.halted:
		}
		select {
		case <-finished:
		case <-time.After(grace):
			// The engine does not come to its next poll. What is to be said of the program is known, and nobody needs
			// the rest of the process.
			_ = w.write(seal(doneFrame(p.stoppedBy(m.why()))))
			os.Exit(0)
		}
	}()
	outcome := p.run()
	close(finished)
	p.watch.end()
	w.queue = nil
	if w.err != nil {
		return w.err
	}
	return w.write(seal(doneFrame(outcome)))
}

func (w *worker) call(_, tool int, arguments string) {
	f := number32(newFrame(frameCall), tool)
	if err := w.write(seal(append(f, arguments...))); err != nil {
		w.err = err
	}
}

// next waits for an answer, until a timer is due or the program's time is over.
func (w *worker) next(m *vm, until, deadline time.Time) (answer, bool) {
	if len(w.queue) > 0 {
		a := w.queue[0]
		w.queue = w.queue[1:]
		return a, true
	}
	if w.write(nil) != nil {
		m.halt(stopAbort)
		return answer{}, false
	}
	for m.why() == running {
		d := deadline
		if !until.IsZero() && until.Before(d) {
			d = until
		}
		// A deadline that has passed would keep a read from what is there.
		if w.file.hasty = !d.After(time.Now()); w.file.hasty {
			d = time.Time{}
		}
		_ = w.file.SetReadDeadline(d)
		kind, payload, err := w.in.next()
		w.file.hasty = false
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			if !time.Now().Before(deadline) {
				m.halt(stopTime)
			}
			return answer{}, false
		case err != nil:
			w.err = err
			m.halt(stopAbort)
			return answer{}, false
		}
		if a, ok := w.answer(kind, payload); ok {
			return a, true
		}
	}
	return answer{}, false
}

func (w *worker) answer(kind byte, payload []byte) (answer, bool) {
	id, rest, err := cut32(payload)
	if err != nil || kind != frameValue && kind != frameFailure {
		return answer{}, false
	}
	return answer{id, kind == frameValue, string(rest)}, true
}

// ask asks the host, and keeps the answers to calls that come before that.
func (w *worker) ask(m *vm, question, reply byte) (uint64, bool) {
	if w.write(seal(newFrame(question))) != nil {
		m.halt(stopAbort)
		return 0, false
	}
	_ = w.file.SetReadDeadline(time.Time{})
	for {
		kind, payload, err := w.in.next()
		if err != nil {
			w.err = err
			m.halt(stopAbort)
			return 0, false
		}
		if kind == reply {
			n, err := cut64(payload)
			return n, err == nil
		}
		if a, ok := w.answer(kind, payload); ok {
			w.queue = append(w.queue, a)
		}
	}
}

// watchHost ends a worker whose host has died while it computes; while it reads, it sees the end of its input.
func (w *worker) watchHost() {
	for range time.Tick(watching) {
		if os.Getppid() != w.parent {
			os.Exit(1)
		}
	}
}
