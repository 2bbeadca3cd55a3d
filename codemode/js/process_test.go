//go:build linux || darwin

package js

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/codemode"
)

// A session against a worker that sends what it likes.
func sessionOf(sent io.Reader, l codemode.Limits) (*session, *[]string) {
	var mu sync.Mutex
	calls := []string{}
	s := &session{
		process: &process{in: &frameReader{from: sent, most: 1 << 20}, dead: true},
		order:   order{Tools: []string{"a", "b"}, Limits: l},
		logs:    l.Logs,
	}
	s.b.Call = func(name string, arguments json.RawMessage, settle func(json.RawMessage, string)) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, name+" "+string(arguments))
		settle(arguments, "")
		settle(nil, "twice")
	}
	return s, &calls
}

func frames(all ...[]byte) []byte { return bytes.Join(all, nil) }

func frameOf(kind byte, payload ...any) []byte {
	f := newFrame(kind)
	for _, p := range payload {
		switch p := p.(type) {
		case int:
			f = number32(f, p)
		case string:
			f = append(f, p...)
		case byte:
			f = append(f, p)
		}
	}
	return seal(f)
}

var hostileLimits = codemode.Limits{Calls: 3, InFlight: 1000, Payload: 100, Value: 100, Logs: 50}

// TestHostileWorker: what breaks the protocol or a limit ends the session, and nothing of it is believed.
func TestHostileWorker(t *testing.T) {
	call := frameOf(frameCall, 0, "{}")
	done := func(o codemode.Outcome) []byte { return seal(doneFrame(o)) }
	for name, sent := range map[string][]byte{
		"nothing":                         {},
		"half a header":                   {1, 0},
		"a frame of no bytes":             {0, 0, 0, 0, frameDone},
		"a frame of four gigabytes":       {255, 255, 255, 255, frameLog},
		"half a frame":                    frameOf(frameLog, byte(3), "log", "text")[:10],
		"a frame that is not a worker's":  frameOf(frameRun, "{}"),
		"a frame of an unknown kind":      frameOf(200),
		"ready again":                     frameOf(frameReady),
		"a call of no tool":               frameOf(frameCall, 2, "{}"),
		"a call of tool four billion":     frameOf(frameCall, -1, "{}"),
		"a call without a tool":           frameOf(frameCall),
		"arguments that are no JSON":      frameOf(frameCall, 0, "{"),
		"arguments with something behind": frameOf(frameCall, 0, "{} {}"),
		"no arguments":                    frameOf(frameCall, 0),
		"arguments that are too large":    frameOf(frameCall, 0, `"`+strings.Repeat("x", 100)+`"`),
		"too many calls":                  frames(call, call, call, call, done(codemode.Outcome{})),
		"a log without a level":           frameOf(frameLog),
		"a log of half a level":           frameOf(frameLog, byte(200), "log"),
		"a log of another level":          frameOf(frameLog, byte(4), "evil", "text"),
		"too many logs":                   bytes.Repeat(frameOf(frameLog, byte(3), "log", "text"), 13),
		"empty logs without end":          bytes.Repeat(frameOf(frameLog, byte(3), "log"), 51),
		"a clock that is not the host's":  frameOf(frameAskNow),
		"dice that are not the host's":    frameOf(frameAskRandom),
		"done without an outcome":         frameOf(frameDone),
		"done with a length too long":     frameOf(frameDone, 1000, "{}"),
		"done with no JSON":               frameOf(frameDone, 1, "{"),
		"a kind that there is not":        done(codemode.Outcome{Failure: "evil"}),
		"a kind that is the host's":       done(codemode.Outcome{Failure: codemode.Abort}),
		"a failure with a value":          done(codemode.Outcome{Failure: codemode.Exception, Value: json.RawMessage("1")}),
		"a value that is no JSON":         done(codemode.Outcome{Value: json.RawMessage("{")}),
		"a value that is too large":       done(codemode.Outcome{Value: json.RawMessage(`"` + strings.Repeat("x", 100) + `"`)}),
		"logs in the outcome":             done(codemode.Outcome{Logs: []codemode.Log{{Level: "log"}}}),
		"less than nothing dropped":       done(codemode.Outcome{Dropped: -1}),
		"less than nothing computed":      done(codemode.Outcome{Compute: -1}),
		"rejections without end":          done(codemode.Outcome{Unhandled: make([]string, 1000)}),
	} {
		if len(sent) > 0 {
			sent = append(sent, done(codemode.Outcome{})...) // which a host that has noticed nothing would believe
		}
		s, calls := sessionOf(bytes.NewReader(sent), hostileLimits)
		ok, err := s.serve()
		require.False(t, ok, name)
		require.Error(t, err, name)
		require.LessOrEqual(t, len(*calls), 3, name)
	}
	s, calls := sessionOf(bytes.NewReader(frames(call, frameOf(frameLog, byte(3), "log", "a\xffb"), call,
		done(codemode.Outcome{Value: json.RawMessage("1"), Dropped: 5}))), hostileLimits)
	ok, err := s.serve()
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []string{"a {}", "a {}"}, *calls)
	require.Equal(t, codemode.Outcome{Value: json.RawMessage("1"), Dropped: 5, Logs: []codemode.Log{{Level: "log", Text: "a\uFFFDb"}}}, s.outcome)
}

// FuzzWorker: whatever a worker sends, the host neither panics nor believes more than the limits allow.
func FuzzWorker(f *testing.F) {
	f.Add(frames(frameOf(frameCall, 0, "{}"), frameOf(frameLog, byte(3), "log", "x"), seal(doneFrame(codemode.Outcome{Value: json.RawMessage("1")}))), 3)
	f.Add(frames(frameOf(frameCall, 1, "[1,2]"), frameOf(frameCall, 1, "[1,2]"), frameOf(frameAskNow)), 1)
	f.Add(seal(doneFrame(codemode.Outcome{Failure: codemode.Timeout, Message: "x", Unhandled: []string{"a"}})), 2)
	f.Fuzz(func(t *testing.T, sent []byte, chunk int) {
		s, calls := sessionOf(&chunks{bytes.NewReader(sent), 1 + max(chunk, 0)%100}, hostileLimits)
		ok, err := s.serve()
		require.Equal(t, ok, err == nil)
		require.LessOrEqual(t, len(*calls), hostileLimits.Calls)
		for _, c := range *calls {
			name, arguments, _ := strings.Cut(c, " ")
			require.Contains(t, []string{"a", "b"}, name)
			require.True(t, json.Valid([]byte(arguments)))
		}
		logs := 0
		for _, l := range s.outcome.Logs {
			logs += max(len(l.Text), 1)
		}
		require.LessOrEqual(t, logs, 3*hostileLimits.Logs, "U+FFFD is longer than what it replaces")
		if ok {
			require.True(t, kinds[s.outcome.Failure])
			require.LessOrEqual(t, len(s.outcome.Value), hostileLimits.Value)
			require.LessOrEqual(t, len(s.outcome.Message), maxMessage)
		}
	})
}

type chunks struct {
	r io.Reader
	n int
}

func (c *chunks) Read(b []byte) (int, error) { return c.r.Read(b[:min(len(b), c.n)]) }

// deaf is a process whose worker reads nothing until it is told to.
func deaf(t *testing.T) (p *process, in *os.File) {
	in, out, err := os.Pipe()
	require.NoError(t, err)
	p = &process{out: out}
	p.raw, err = out.SyscallConn()
	require.NoError(t, err)
	t.Cleanup(func() {
		p.mu.Lock()
		p.dead = true
		p.mu.Unlock()
		in.Close()
		out.Close()
	})
	return p, in
}

// TestSendDoesNotWait: a worker that does not read holds up nobody, and gets all in order when it does.
func TestSendDoesNotWait(t *testing.T) {
	p, in := deaf(t)
	const n = 50
	big := strings.Repeat("x", 100_000)
	for i := range n {
		p.send(frameOf(frameValue, i, big))
	}
	r := &frameReader{from: in, most: 1 << 20}
	for i := range n {
		kind, payload, err := r.next()
		require.NoError(t, err)
		require.Equal(t, frameValue, kind)
		id, rest, err := cut32(payload)
		require.NoError(t, err)
		require.Equal(t, i, id)
		require.Len(t, rest, len(big))
	}
}

// TestInterruptEnds: what interrupts the read of one run does not interrupt that of the next, however late it comes.
func TestInterruptEnds(t *testing.T) {
	in, out, err := os.Pipe()
	require.NoError(t, err)
	defer in.Close()
	defer out.Close()
	p := &process{in: &frameReader{from: in, most: 100}}
	for range 2000 {
		ctx, cancel := context.WithCancel(t.Context())
		stop := p.interrupt(ctx)
		cancel()
		stop()
		defer p.interrupt(t.Context())()
		runtime.Gosched()
		_, err := out.Write(frameOf(frameReady))
		require.NoError(t, err)
		_, _, err = p.in.next()
		require.NoError(t, err)
	}
}

func testPool(t *testing.T, o Options) *pool {
	p := &pool{Options: o}
	t.Cleanup(p.close)
	return p
}

func (p *pool) try(t *testing.T, source string, l codemode.Limits, call func(w *process)) (codemode.Outcome, *process) {
	l, err := withDefaults(l)
	require.NoError(t, err)
	w, err := p.take(t.Context())
	require.NoError(t, err)
	b := codemode.Bindings{Tools: []string{"slow"}, Call: func(string, json.RawMessage, func(json.RawMessage, string)) { call(w) }}
	o, clean, err := w.run(t.Context(), order{Source: source, Tools: b.Tools, Limits: l}, b, time.Now())
	require.NoError(t, err)
	p.give(w, clean)
	return o, w
}

// TestWorkerReuse: a worker runs another program only after one that returned or threw.
func TestWorkerReuse(t *testing.T) {
	p := testPool(t, Options{}) // which keeps one, and starts none by itself
	_, first := p.try(t, "return 1", codemode.Limits{}, nil)
	for _, source := range []string{"throw 1", "syntax error", "return {get a() { throw 1 }}", "for (let i = 0; i < 9; i++) console.log(i)", "tools.slow(); return 1"} {
		o, w := p.try(t, source, codemode.Limits{}, func(*process) {})
		require.Same(t, first, w, "%s: %s", source, o.Message)
	}
	var gone []*process
	for source, l := range map[string]codemode.Limits{
		"for (;;);":                         {Compute: 50 * time.Millisecond},
		"await tools.slow()":                {Wall: 50 * time.Millisecond},
		"const a = []; for (;;) a.push([])": {Memory: 4 << 20},
		"for (;;) tools.slow()":             {Calls: 2},
		"return 'x'.repeat(100)":            {Value: 10},
		"tools.slow('x'.repeat(100))":       {InFlight: 10},
		"new Array(1e9).join('x')":          {Compute: 50 * time.Millisecond},
	} {
		o, before := p.try(t, source, l, func(*process) {})
		require.NotEmpty(t, o.Failure, source)
		o, after := p.try(t, "return 1", codemode.Limits{}, nil)
		require.Empty(t, o.Failure)
		require.NotSame(t, before, after, source)
		gone = append(gone, before)
	}
	p.close()
	for _, w := range gone {
		require.NotNil(t, w.cmd.ProcessState, "the worker is dead and buried")
	}
}

// TestWorkerDies: a worker that dies in the middle of a program is a crash, and one that dies while idle is nothing.
func TestWorkerDies(t *testing.T) {
	p := testPool(t, Options{})
	o, _ := p.try(t, "console.log('before'); await tools.slow()", codemode.Limits{}, func(w *process) { _ = w.cmd.Process.Kill() })
	require.Equal(t, codemode.Crash, o.Failure)
	require.Equal(t, []codemode.Log{{Level: "log", Text: "before"}}, o.Logs)
	_, w := p.try(t, "return 1", codemode.Limits{}, nil)
	require.NoError(t, w.cmd.Process.Kill())
	var status syscall.WaitStatus
	for range 1000 { // until it is a zombie: its pipes are closed then
		if pid, err := syscall.Wait4(w.cmd.Process.Pid, &status, syscall.WNOHANG, nil); err != nil || pid != 0 {
			break
		}
		<-time.After(time.Millisecond)
	}
	o, next := p.try(t, "return 2", codemode.Limits{}, nil)
	require.Empty(t, o.Failure, o.Message)
	require.NotSame(t, w, next)
}

// TestStoppedWorker: a worker that is stopped altogether is killed at the end of its wall time.
func TestStoppedWorker(t *testing.T) {
	p := testPool(t, Options{Warm: 1})
	o, w := p.try(t, "console.log('before'); await tools.slow()", codemode.Limits{Wall: 1500 * time.Millisecond},
		func(w *process) { _ = w.cmd.Process.Signal(syscall.SIGSTOP) })
	require.Equal(t, codemode.Timeout, o.Failure)
	require.Equal(t, []codemode.Log{{Level: "log", Text: "before"}}, o.Logs)
	o, next := p.try(t, "return 2", codemode.Limits{}, nil)
	require.Empty(t, o.Failure, o.Message)
	require.NotSame(t, w, next)
}

// TestWorkerIsBare: a worker has nothing of its host: no environment, no descriptor but its two pipes.
func TestWorkerIsBare(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		return // there is nothing to look at here
	}
	held, err := os.Open("process_test.go")
	require.NoError(t, err)
	defer held.Close()
	t.Setenv("SECRET", "x")
	p := testPool(t, Options{Warm: 1})
	p.try(t, "await tools.slow()", codemode.Limits{Wall: 100 * time.Millisecond}, func(w *process) {
		dir := "/proc/" + strconv.Itoa(w.cmd.Process.Pid)
		environ, err := os.ReadFile(dir + "/environ")
		require.NoError(t, err)
		for _, v := range strings.Split(strings.Trim(string(environ), "\x00"), "\x00") {
			name, _, _ := strings.Cut(v, "=")
			require.Contains(t, []string{workerEnv, "TZ", "GOCOVERDIR"}, name)
		}
		fds, err := os.ReadDir(dir + "/fd")
		require.NoError(t, err)
		for _, fd := range fds {
			target, err := os.Readlink(dir + "/fd/" + fd.Name())
			if err != nil {
				continue
			}
			require.True(t, strings.HasPrefix(target, "pipe:") || strings.HasPrefix(target, "anon_inode:") || target == "/dev/null" ||
				strings.HasPrefix(target, "/sys/"), target)
		}
		cwd, err := os.Readlink(dir + "/cwd")
		require.NoError(t, err)
		require.Equal(t, "/", cwd)
	})
}
