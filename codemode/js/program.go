package js

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"modernc.org/libquickjs"

	"github.com/keywave-go/keywave/codemode"
)

// An order is a program to run, as a worker gets it.
type order struct {
	Source string
	Tools  []string
	Limits codemode.Limits
	Now    bool // the host has a clock of its own
	Rand   bool // the host has dice of its own

	Spent time.Duration // of the wall time, before it began
}

// The outside is what a program reaches, in either mode. All of it is called by the goroutine that runs the program.
type outside struct {
	call   func(id, tool int, arguments string)
	log    func(level, text string)
	now    func() time.Time
	random func() float64

	// next waits for an answer to a call, at most until then if that is not zero, and until the program is stopped. An
	// answer that is there is returned at any time.
	next func(until time.Time) (answer, bool)
}

// An answer settles a call.
type answer struct {
	id   int
	ok   bool
	text string // the value as JSON, or the message
}

const (
	maxTimers  = 10000
	maxMessage = 8 << 10
)

// grace is how long a program that was stopped has to end by itself, with its logs; then it is killed, or left
// behind.
const grace = 100 * time.Millisecond

// A program is one run of the engine.
type program struct {
	order
	out   outside
	vm    *vm
	watch *watch
	pos   positions

	calls    int
	inFlight map[int]int // call → bytes of its arguments
	bytes    int
	logs     int // bytes left
	dropped  int
	timers   []due
}

type due struct {
	at time.Time
	id int
}

// run runs the program to its end. The vm must be fresh; it is not closed.
func (p *program) run() (o codemode.Outcome) {
	m := p.vm
	p.inFlight = map[int]int{}
	p.logs = p.Limits.Logs
	m.host = p.host
	defer func() {
		o.Dropped = p.dropped
		o.Compute = p.watch.computed()
	}()
	over, o := p.start()
	if !over {
		o = p.loop()
	}
	if why := m.why(); why != running {
		return p.stoppedBy(why)
	}
	o.Unsettled = slices.Sorted(maps.Keys(p.inFlight))
	o.Unhandled = p.unhandled()
	if why := m.why(); why != running {
		return p.stoppedBy(why)
	}
	return o
}

// start compiles the program and runs it up to its first wait.
func (p *program) start() (over bool, o codemode.Outcome) {
	m := p.vm
	p.watch.enter()
	defer p.watch.leave()
	m.limitMemory(p.Limits.Memory)
	code, pos, err := compile(m, p.Source, p.Limits.Source)
	if err != nil {
		return true, failed(codemode.Exception, "%s", err)
	}
	p.pos = pos
	m.evalOff()
	if p.Tools == nil {
		p.Tools = []string{}
	}
	options, _ := json.Marshal(map[string]any{
		"tools": p.Tools, "now": p.Now, "payload": p.Limits.Payload, "value": p.Limits.Value, "logs": p.Limits.Logs,
	})
	m.limitStack(p.Limits.Stack)
	r, thrown := m.invoke(fnOpen, m.parse(string(options)))
	if thrown {
		m.free(code)
		return true, p.failure(r)
	}
	m.free(r)
	f, thrown := m.evaluate(code)
	defer m.free(f)
	if thrown || !m.isFunction(f) {
		return true, p.failure(m.dup(f))
	}
	promise, thrown := m.call(f)
	if thrown || m.why() != running {
		m.free(promise)
		return true, p.failure(undefined)
	}
	m.watchMain(promise)
	return false, o
}

// loop goes on until the program's own promise has settled, which is looked at after every job: jobs that are left
// then never run.
func (p *program) loop() codemode.Outcome {
	m := p.vm
	for {
		p.watch.enter()
		for m.why() == running && m.state(m.main) == libquickjs.EJS_PROMISE_PENDING && m.job() {
		}
		if m.why() != running {
			p.watch.leave()
			return codemode.Outcome{}
		}
		switch m.state(m.main) {
		case libquickjs.EJS_PROMISE_FULFILLED:
			defer p.watch.leave()
			return p.finish()
		case libquickjs.EJS_PROMISE_REJECTED:
			defer p.watch.leave()
			return p.failure(m.outcome(m.main))
		}
		p.watch.leave()
		if len(p.inFlight) == 0 && len(p.timers) == 0 {
			return failed(codemode.Exception, "deadlock: the program waits for a promise that nothing can settle any more: "+
				"no tool call is in flight, and no timer is set")
		}
		if !p.wait() {
			return codemode.Outcome{}
		}
	}
}

// wait waits for what comes first, and hands it to the program.
func (p *program) wait() bool {
	var until time.Time
	if len(p.timers) > 0 {
		until = p.timers[0].at
	}
	// An answer that is there goes before a timer that is due: there may always be one.
	a, ok := p.out.next(until)
	switch {
	case p.vm.why() != running:
		return false
	case ok:
		return p.settle(a)
	case !until.IsZero():
		p.fire()
	}
	return p.vm.why() == running
}

func (p *program) fire() {
	p.watch.enter()
	defer p.watch.leave()
	id := p.timers[0].id
	p.timers = slices.Delete(p.timers, 0, 1)
	r, thrown := p.vm.invoke(fnFire, newInt(id))
	if thrown && p.vm.why() == running {
		// A timer has no promise that could carry the error.
		p.vm.rejected = append(p.vm.rejected, rejection{undefined, r})
		return
	}
	p.vm.free(r)
}

func (p *program) settle(a answer) bool {
	size, known := p.inFlight[a.id]
	if !known {
		return true
	}
	delete(p.inFlight, a.id)
	p.bytes -= size
	p.watch.enter()
	defer p.watch.leave()
	m := p.vm
	var v value
	switch {
	case !a.ok:
		v = m.newString(clip(a.text, p.Limits.Payload))
	case len(a.text) > p.Limits.Payload:
		a.ok = false
		v = m.newString(tooLarge(p.Limits.Payload))
	default:
		var thrown bool
		if v, thrown = m.result(m.parse(a.text)); thrown {
			m.free(v)
			a.ok = false
			v = m.newString("the result cannot be read: it is not JSON, or it is nested too deeply")
		}
	}
	if m.why() != running {
		m.free(v)
		return false
	}
	r, _ := m.invoke(fnSettle, newInt(a.id), newBool(a.ok), v)
	m.free(r)
	return m.why() == running
}

// host does what the prelude asks for.
func (p *program) host(op int, args []value) value {
	m := p.vm
	switch op {
	case opCall:
		text := m.text(args[1])
		if len(text) > p.Limits.Payload {
			return newInt(-1)
		}
		if p.calls == p.Limits.Calls {
			return m.uncatchable(stopCalls)
		}
		if p.bytes+len(text) > p.Limits.InFlight {
			return m.uncatchable(stopInFlight)
		}
		id := p.calls
		p.calls++
		p.inFlight[id] = len(text)
		p.bytes += len(text)
		p.out.call(id, int(m.number(args[0])), text)
		return newInt(id)
	case opLog:
		text := p.pos.in(m.text(args[1]))
		if kept := clip(text, p.logs); len(kept) > 0 || len(text) == 0 && p.logs > 0 {
			p.logs -= max(len(kept), 1)
			p.dropped += len(text) - len(kept)
			p.out.log(m.text(args[0]), kept)
		} else {
			p.dropped += max(len(text), 1)
		}
		return newInt(p.logs)
	case opTimer:
		if len(p.timers) == maxTimers {
			return newBool(false)
		}
		d := due{time.Now().Add(time.Duration(m.number(args[1])) * time.Millisecond), int(m.number(args[0]))}
		i, _ := slices.BinarySearchFunc(p.timers, d, func(a, b due) int {
			return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id))
		})
		p.timers = slices.Insert(p.timers, i, d)
		return newBool(true)
	case opClear:
		id := int(m.number(args[0]))
		p.timers = slices.DeleteFunc(p.timers, func(d due) bool { return d.id == id })
	case opNow:
		return newFloat(float64(p.out.now().UnixMilli()))
	case opKind:
		return newInt(m.kind(args[0]))
	case opRandom:
		r := p.out.random()
		if !(r >= 0 && r < 1) {
			r = math.Mod(math.Abs(r), 1)
			if !(r >= 0) {
				r = 0
			}
		}
		return newFloat(r)
	}
	return undefined
}

// finish reads the value of the program, which may still run code of it: getters and toJSON.
func (p *program) finish() codemode.Outcome {
	m := p.vm
	v := m.outcome(m.main)
	m.limitStack(max(p.Limits.Stack, defaults.Stack)) // the prelude's own walk needs some
	r, thrown := m.invoke(fnFinish, v)
	defer m.free(r)
	if thrown {
		return failed(codemode.InvalidOutput, "the returned value cannot be read")
	}
	s := m.text(r)
	switch s[0] {
	case 'v':
		if len(s)-1 <= p.Limits.Value {
			return codemode.Outcome{Value: json.RawMessage(s[1:])}
		}
		fallthrough
	case 'o':
		return failed(codemode.OutputLimit, "the returned value is larger than %d bytes; return less of it", p.Limits.Value)
	case 'x':
		return failed(codemode.InvalidOutput, "the returned value threw when it was read: %s", p.message(s[1:]))
	}
	return codemode.Outcome{}
}

// failure is what the program threw. It frees that.
func (p *program) failure(e value) codemode.Outcome {
	r, thrown := p.vm.invoke(fnFail, e)
	defer p.vm.free(r)
	message := "the program threw what cannot be shown"
	if !thrown {
		message = p.message(p.vm.text(r))
	}
	return failed(codemode.Exception, "%s", message)
}

func (p *program) message(s string) string { return clip(p.hint(p.pos.in(s)), maxMessage) }

func (p *program) unhandled() (all []string) {
	p.watch.enter()
	defer p.watch.leave()
	m := p.vm
	for _, r := range m.rejected {
		v, thrown := m.invoke(fnBrief, m.dup(r.reason))
		if thrown {
			m.free(v)
			continue
		}
		all = append(all, clip(m.text(v), maxMessage/8))
		m.free(v)
	}
	if m.more > 0 {
		all = append(all, fmt.Sprintf("and %d more", m.more))
	}
	return all
}

// stoppedBy is the outcome of a program that a limit stopped.
func (p *program) stoppedBy(why stop) (o codemode.Outcome) {
	l := p.Limits
	defer func() { o.Compute = p.watch.computed() }() // also of one that is not waited for
	switch why {
	case stopTime:
		return failed(codemode.Timeout, "%s", p.watch.message())
	case stopMemory:
		return failed(codemode.Memory, "the program took more than %d bytes of memory", l.Memory)
	case stopWaiting:
		return flooded(l)
	case stopInFlight:
		return failed(codemode.OutputLimit, "the arguments of the calls in flight are larger than %d bytes together: "+
			"await some calls before it makes others", l.InFlight)
	case stopCalls:
		return failed(codemode.CallLimit, "the program made more than %d calls", l.Calls)
	case stopAbort:
		return failed(codemode.Abort, "the program was aborted")
	}
	return failed(codemode.Crash, "a function of the host panicked")
}

// flooded is the outcome of a program for which more waits than it may have memory.
func flooded(l codemode.Limits) codemode.Outcome {
	return failed(codemode.Memory, "the results of calls that wait for the program are more than %d bytes together: "+
		"await some calls before it makes others, or ask for less", l.Memory)
}

func failed(kind codemode.Kind, format string, args ...any) codemode.Outcome {
	return codemode.Outcome{Failure: kind, Message: fmt.Sprintf(format, args...)}
}

func tooLarge(limit int) string { return fmt.Sprintf("the result is larger than %d bytes", limit) }

// clip is the first n bytes of s, or fewer, so that no rune is cut.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// hint says what to use instead of what models expect and what is not there.
func (p *program) hint(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	name, found := strings.CutPrefix(line, "ReferenceError: ")
	if !found {
		return message
	}
	name, found = strings.CutSuffix(name, " is not defined")
	if !found {
		return message
	}
	name = strings.Trim(name, "'")
	h := hints[name]
	if slices.Contains(p.Tools, name) {
		h = "it is a tool: tools." + name
	}
	if h != "" {
		return line + ": " + h + message[len(line):]
	}
	return message
}

const (
	worldHint   = "a program reaches files, the network and processes by its tools only"
	browserHint = "there is no browser"
	urlHint     = "take the string apart, and use encodeURIComponent"
)

var hints = map[string]string{
	"fetch": worldHint, "require": worldHint, "process": worldHint, "fs": worldHint, "os": worldHint, "module": worldHint,
	"exports": worldHint, "XMLHttpRequest": worldHint, "WebSocket": worldHint, "Deno": worldHint, "Bun": worldHint,
	"window": browserHint, "document": browserHint, "self": browserHint, "navigator": browserHint,
	"URL": urlHint, "URLSearchParams": urlHint,
	"Buffer":       "use TextEncoder, TextDecoder, btoa, atob and Uint8Array",
	"setImmediate": "use setTimeout or queueMicrotask",
	"Intl":         "use toISOString and toFixed",
	"crypto":       "use Math.random",
	"global":       "use globalThis",
}
