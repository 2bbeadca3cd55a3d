//go:build linux || darwin

package js

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/keywave-go/keywave/codemode"
)

// A process is a worker, as its host sees it. One run has it at a time.
type process struct {
	cmd   *exec.Cmd
	in    *frameReader
	out   *os.File // the worker's input
	raw   syscall.RawConn
	ready bool // it waits for an order
	runs  int

	mu      sync.Mutex
	unsent  [][]byte // what did not fit into the pipe
	waiting int64    // bytes of it
	sending bool
	dead    bool
}

// spawn starts a worker. It does not wait for it to be ready.
func spawn() (*process, error) {
	name, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("js: cannot start a worker: %w", err)
	}
	if runtime.GOOS == "linux" {
		name = "/proc/self/exe" // the program that runs, also if its file was replaced
	}
	cmd := exec.Command(name)
	cmd.Args = []string{"keywave-js-worker"}
	cmd.Env = []string{workerEnv + "=1", "TZ=UTC"}
	if dir := os.Getenv("GOCOVERDIR"); dir != "" {
		cmd.Env = append(cmd.Env, "GOCOVERDIR="+dir)
	}
	// A group of its own: what a terminal sends to the host is not for the worker.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, childOut, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("js: cannot start a worker: %w", err)
	}
	defer childOut.Close()
	childIn, out, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("js: cannot start a worker: %w", err)
	}
	defer childIn.Close()
	cmd.Stdin, cmd.Stdout = childIn, childOut
	p := &process{cmd: cmd, out: out, in: &frameReader{from: in}}
	if p.raw, err = out.SyscallConn(); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		in.Close()
		out.Close()
		return nil, fmt.Errorf("js: cannot start a worker: %w", err)
	}
	return p, nil
}

// kill ends the worker, and waits for that.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.mu.Lock()
	p.dead = true
	p.unsent = nil
	p.mu.Unlock()
	p.out.Close()
	p.in.from.(*os.File).Close()
}

// send sends a frame, and does not wait for the worker to read it: what the pipe does not take is sent by a
// goroutine, in order. It returns how many bytes wait for that.
func (p *process) send(frame []byte) (waiting int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.dead:
		return 0
	case p.sending:
		p.unsent = append(p.unsent, frame)
		p.waiting += int64(len(frame))
		return p.waiting
	}
	n := 0
	_ = p.raw.Write(func(fd uintptr) bool {
		var err error
		if n, err = syscall.Write(int(fd), frame); err != nil {
			n = 0
		}
		return true
	})
	if n < len(frame) {
		p.unsent, p.sending = append(p.unsent, frame[n:]), true
		p.waiting += int64(len(frame) - n)
		go p.sendRest()
	}
	return p.waiting
}

func (p *process) sendRest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.unsent) > 0 && !p.dead {
		b := p.unsent[0]
		p.unsent[0], p.unsent = nil, p.unsent[1:]
		p.mu.Unlock()
		_, err := p.out.Write(b)
		p.mu.Lock()
		p.waiting -= int64(len(b))
		if err != nil {
			break // the reader of the worker's output notices
		}
	}
	p.unsent, p.sending = nil, false
}

// awaitReady waits for a new worker to say that it is one.
func (p *process) awaitReady(ctx context.Context) error {
	if p.ready {
		return nil
	}
	stop := p.interrupt(ctx)
	defer stop()
	p.in.most = 64
	kind, _, err := p.in.next()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil || kind != frameReady {
		return errors.New("js: the worker did not start; " +
			"js.Worker() must be the first thing in main, before anything that reads or writes")
	}
	p.ready = true
	return nil
}

// interrupt makes a read of the worker's output end when ctx is done.
func (p *process) interrupt(ctx context.Context) (stop func()) {
	in := p.in.from.(*os.File)
	_ = in.SetReadDeadline(time.Time{})
	set := make(chan struct{})
	off := context.AfterFunc(ctx, func() {
		defer close(set)
		_ = in.SetReadDeadline(time.Now())
	})
	return func() {
		if !off() {
			<-set // so that it is not the next run whose read ends
		}
	}
}

// A session is a run as its host sees it. It trusts the worker with nothing: each limit that the worker keeps is
// checked again here, and what breaks the protocol is a crash.
type session struct {
	*process
	order order
	b     codemode.Bindings
	logs  int // bytes left
	stop  context.CancelFunc

	mu       sync.Mutex
	open     []int // bytes of the arguments of a call; -1: settled
	bytes    int
	flooded  bool // too much waits for the worker
	finished bool

	outcome codemode.Outcome
}

// run runs a program in the worker. clean: the worker can have another.
func (p *process) run(ctx context.Context, o order, b codemode.Bindings, start time.Time) (codemode.Outcome, bool, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return codemode.Outcome{}, true, fmt.Errorf("js: order: %w", err)
	}
	s := &session{process: p, order: o, b: b, logs: o.Limits.Logs}
	p.in.most = max(o.Limits.Payload, o.Limits.Value+4*maxMessage+maxRejected*maxMessage, o.Limits.Logs) + 1024
	deadline := start.Add(o.Limits.Wall).Add(grace) // the sum of the two may be more than there is
	timed, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	defer p.interrupt(timed)()
	s.stop = cancel
	p.send(seal(append(newFrame(frameRun), text...)))
	done, err := s.serve() // what else went wrong is the worker's, and tells the program's author nothing
	s.mu.Lock()
	s.finished = true
	over := s.flooded
	s.mu.Unlock()
	outcome := s.outcome
	switch {
	case done:
		switch outcome.Failure {
		case "", codemode.Exception, codemode.InvalidOutput:
			return outcome, p.idle(), nil
		}
	case errors.Is(err, errPanicked):
		outcome.Failure, outcome.Message = codemode.Crash, err.Error()
	case over:
		f := flooded(o.Limits)
		outcome.Failure, outcome.Message = f.Failure, f.Message
	case ctx.Err() != nil:
		a := aborted(ctx)
		outcome.Failure, outcome.Message = a.Failure, a.Message
	case errors.Is(timed.Err(), context.DeadlineExceeded):
		outcome.Failure = codemode.Timeout
		outcome.Message = fmt.Sprintf("the program took longer than %v, and was killed", o.Limits.Wall)
	default:
		outcome.Failure, outcome.Message = codemode.Crash, "the engine ended unexpectedly"
	}
	return outcome, false, nil
}

// alive reports whether an idle worker is there, and silent.
func (p *process) alive() bool {
	alive := false
	if raw, err := p.in.from.(*os.File).SyscallConn(); err == nil {
		_ = raw.Read(func(fd uintptr) bool {
			_, err := syscall.Read(int(fd), make([]byte, 1))
			alive = err == syscall.EAGAIN
			return true
		})
	}
	return alive
}

var errPanicked = errors.New("a function of the host panicked")

// idle reports whether all was sent and read, so that the next run begins with nothing of this one.
func (p *process) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.sending && p.in.at == len(p.in.buf)
}

// serve serves the worker until its program is done, which it reports, or the worker has gone.
func (s *session) serve() (done bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			done, err = false, errPanicked
		}
	}()
	for {
		kind, payload, err := s.in.next()
		if err != nil {
			return false, err
		}
		switch kind {
		case frameCall:
			err = s.call(payload)
		case frameLog:
			err = s.log(payload)
		case frameAskNow:
			if s.b.Now == nil {
				return false, errors.New("js: the worker asks for a clock that it has")
			}
			s.send(seal(number64(newFrame(frameNow), uint64(s.b.Now().UnixMilli()))))
		case frameAskRandom:
			if s.b.Rand == nil {
				return false, errors.New("js: the worker asks for dice that it has")
			}
			s.send(seal(number64(newFrame(frameRandom), math.Float64bits(s.b.Rand()))))
		case frameDone:
			return s.done(payload)
		default:
			err = fmt.Errorf("js: frame %d is not a worker's", kind)
		}
		if err != nil {
			return false, err
		}
	}
}

func (s *session) call(payload []byte) error {
	tool, arguments, err := cut32(payload)
	switch {
	case err != nil:
		return err
	case tool < 0 || tool >= len(s.order.Tools):
		return fmt.Errorf("js: a call of tool %d, of %d", tool, len(s.order.Tools))
	case len(arguments) > s.order.Limits.Payload:
		return fmt.Errorf("js: arguments of %d bytes", len(arguments))
	case !json.Valid(arguments):
		return errors.New("js: arguments that are no JSON")
	}
	arguments = append([]byte(nil), arguments...)
	s.mu.Lock()
	id := len(s.open)
	s.open = append(s.open, len(arguments))
	s.bytes += len(arguments)
	over := s.bytes > s.order.Limits.InFlight || len(s.open) > s.order.Limits.Calls
	s.mu.Unlock()
	if over {
		return errors.New("js: more calls than the limits allow")
	}
	s.b.Call(s.order.Tools[tool], arguments, func(value json.RawMessage, failure string) {
		s.settle(id, value, failure)
	})
	return nil
}

// settle sends an answer, the first for its call, and none after the end.
func (s *session) settle(id int, value json.RawMessage, failure string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished || s.open[id] < 0 {
		return
	}
	s.bytes -= s.open[id]
	s.open[id] = -1
	kind, text := frameValue, []byte(value)
	switch {
	case failure != "":
		kind, text = frameFailure, []byte(clip(failure, s.order.Limits.Payload))
	case len(value) > s.order.Limits.Payload:
		kind, text = frameFailure, []byte(tooLarge(s.order.Limits.Payload))
	}
	f := number32(append(make([]byte, 0, headerSize+4+len(text)), newFrame(kind)...), id)
	if s.send(seal(append(f, text...))) > s.order.Limits.Memory {
		s.flooded = true
		s.stop()
	}
}

func (s *session) log(payload []byte) error {
	if len(payload) == 0 || len(payload) < 1+int(payload[0]) {
		return errShort
	}
	level, text := string(payload[1:1+payload[0]]), strings.ToValidUTF8(string(payload[1+payload[0]:]), "\uFFFD")
	if !levels[level] {
		return fmt.Errorf("js: a log of level %q", level)
	}
	if s.logs -= max(len(text), 1); s.logs < 0 {
		return errors.New("js: more logs than the limit allows")
	}
	s.outcome.Logs = append(s.outcome.Logs, codemode.Log{Level: level, Text: text})
	return nil
}

func (s *session) done(payload []byte) (bool, error) {
	o, err := cutDone(payload)
	if err != nil {
		return false, err
	}
	if len(o.Value) > s.order.Limits.Value || len(o.Value) > 0 && !json.Valid(o.Value) {
		return false, errors.New("js: a value that is no JSON, or too large")
	}
	if !kinds[o.Failure] || o.Failure != "" && o.Value != nil || len(o.Logs) > 0 || o.Dropped < 0 || o.Compute < 0 ||
		len(o.Unhandled) > maxRejected+1 || len(o.Unsettled) > s.order.Limits.Calls {
		return false, errors.New("js: an outcome that no program has")
	}
	o.Message = clip(strings.ToValidUTF8(o.Message, "\uFFFD"), maxMessage)
	for i, u := range o.Unhandled {
		o.Unhandled[i] = clip(strings.ToValidUTF8(u, "\uFFFD"), maxMessage/8)
	}
	o.Logs = s.outcome.Logs
	s.outcome = o
	return true, nil
}

var levels = map[string]bool{"log": true, "info": true, "warn": true, "error": true, "debug": true}

// kinds are those that a worker can tell; that it was aborted, or that it crashed, it cannot.
var kinds = map[codemode.Kind]bool{"": true, codemode.Exception: true, codemode.Timeout: true, codemode.Memory: true,
	codemode.InvalidOutput: true, codemode.OutputLimit: true, codemode.CallLimit: true, codemode.Crash: true}
