package runtimetest

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/codemode"
)

// What ends a program, and that nothing of it goes on then.

func (s suite) deadlock(t *testing.T) {
	start := time.Now()
	s.fails(t, codemode.Exception, "await new Promise(() => {})", "deadlock")
	s.fails(t, codemode.Exception, "await {then() {}}", "deadlock")
	require.Less(t, time.Since(start), small.Wall/2, "it ends at once")
}

func (s suite) wall(t *testing.T) {
	l := small
	l.Wall = 150 * time.Millisecond
	o := s.failsIn(t, codemode.Timeout, l, "console.log('before'); await tools.slow(); console.log('after')")
	require.Equal(t, []codemode.Log{{Level: "log", Text: "before"}}, o.Logs)
	s.failsIn(t, codemode.Timeout, l, "await new Promise(r => setTimeout(r, 60000))")
	s.failsIn(t, codemode.Timeout, l, "for (;;) await new Promise(r => setTimeout(r, 1))")
}

func (s suite) compute(t *testing.T) {
	l := small
	l.Compute = 150 * time.Millisecond
	for _, source := range []string{
		"console.log('before'); for (;;);",
		"console.log('before'); for (;;) { try { for (;;); } catch {} finally { continue } }",
		"console.log('before'); for (;;) await null",
		"console.log('before'); await Promise.resolve().then(() => { for (;;); })",
		"console.log('before'); /^(a+)+$/.test('a'.repeat(40) + 'b')",
	} {
		o := s.failsIn(t, codemode.Timeout, l, source)
		require.Equal(t, []codemode.Log{{Level: "log", Text: "before"}}, o.Logs, source)
		require.GreaterOrEqual(t, o.Compute, l.Compute/2, source)
	}
}

// waiting: a wait for a tool or a timer is no computing.
func (s suite) waiting(t *testing.T) {
	l := small
	l.Compute = 2 * time.Second
	h := &host{answer: func(_ int, c call) {
		go func() {
			<-time.After(30 * time.Millisecond)
			c.settle(json.RawMessage("1"), "")
		}()
	}}
	o := s.with(t, h, l, "for (let i = 0; i < 10; i++) await tools.slow(); await new Promise(r => setTimeout(r, 200)); return 1")
	require.Empty(t, o.Failure, o.Message)
	require.Less(t, o.Compute, 300*time.Millisecond)
	require.Positive(t, o.Compute)
}

var errStop = errors.New("the user has left")

func (s suite) abort(t *testing.T) {
	for _, source := range []string{"await tools.slow()", "tools.slow(); for (;;);", "tools.slow(); for (;;) try { for (;;); } catch {}",
		"tools.slow(); await new Promise(r => setTimeout(r, 60000))"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		h := &host{answer: func(int, call) { cancel(errStop) }}
		o, err := s.Run(ctx, "console.log('before')\n"+source, codemode.Bindings{Tools: []string{"slow"}, Call: h.call}, small)
		require.NoError(t, err)
		require.Equal(t, codemode.Abort, o.Failure, source)
		require.Contains(t, o.Message, errStop.Error())
		require.Equal(t, []codemode.Log{{Level: "log", Text: "before"}}, o.Logs)
		cancel(nil)
	}
	s.returns(t, `1`, "return 1")
}

func (s suite) abortBefore(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStop)
	h := &host{}
	o, err := s.Run(ctx, "tools.slow()", codemode.Bindings{Tools: []string{"slow"}, Call: h.call}, small)
	require.NoError(t, err)
	require.Equal(t, codemode.Abort, o.Failure)
	require.Contains(t, o.Message, errStop.Error())
	require.Empty(t, h.calls())
}

func (s suite) memory(t *testing.T) {
	l := small
	l.Memory = 16 << 20
	for _, source := range []string{
		"const a = []; for (;;) a.push('x'.repeat(1000) + a.length)",
		"const a = []; for (;;) try { for (;;) a.push(new Array(100).fill(1)) } catch {}",
		"let s = 'x'; for (;;) { s += s; s.charCodeAt(0) }",
	} {
		s.failsIn(t, codemode.Memory, l, source)
	}
	s.returns(t, `1`, "return 1")
}

// untaken: what settled calls have for a program that does not take it is bounded, and counts as long as it waits only.
func (s suite) untaken(t *testing.T) {
	l := small
	l.Memory, l.Compute = 2<<20, 5*time.Second
	value := json.RawMessage(`"` + strings.Repeat("x", 256<<10) + `"`)
	h := &host{answer: func(_ int, c call) { go c.settle(value, "") }}
	o := s.with(t, h, l, "for (let i = 0; i < 16; i++) tools.echo(); for (;;);")
	require.Equal(t, codemode.Memory, o.Failure, o.Message)
	o = s.with(t, h, l, "for (let i = 0; i < 16; i++) await tools.echo(); return 1")
	require.Empty(t, o.Failure, o.Message)
}

// stack: that the stack is exhausted is an error that a program can catch.
func (s suite) stack(t *testing.T) {
	s.returns(t, `"caught"`, "function f() { return f() + 1 }; try { f() } catch { return 'caught' }")
	l := small
	l.Stack = 256 << 10
	s.failsIn(t, codemode.Exception, l, "function f() { return f() + 1 }; f()")
}

func (s suite) source(t *testing.T) {
	l := small
	l.Source = 100
	s.failsIn(t, codemode.Exception, l, "console.log(1)//"+strings.Repeat("x", 100), "100")
	o := s.with(t, &host{}, l, "return 1//"+strings.Repeat("x", 90))
	require.Empty(t, o.Failure, o.Message)
	for _, bomb := range []string{"(", "[", "{", "(()=>", "[{a:", "`${", "`${(", "a?(", "function f(){"} {
		s.fails(t, codemode.Exception, strings.Repeat(bomb, 1000))
	}
	// What is in strings, comments, templates and regular expressions is no nesting.
	many := strings.Repeat("([{", 500)
	s.returns(t, `1`, `const a = "`+many+`" + '`+many+"' + `"+many+"`; // "+many+"\n/* "+many+" */ const r = /["+strings.Repeat("([{", 50)+`]/; return 1`)
}

func (s suite) logs(t *testing.T) {
	o := s.with(t, &host{}, small, `
		console.log("a", 1, {b: [2]}); console.info("i"); console.warn("w"); console.error("e"); console.debug("d");
		await null; console.log("ü\ud800"); console.log(); return 1`)
	require.Equal(t, []codemode.Log{{Level: "log", Text: `a 1 {"b":[2]}`}, {Level: "info", Text: "i"}, {Level: "warn", Text: "w"},
		{Level: "error", Text: "e"}, {Level: "debug", Text: "d"}, {Level: "log", Text: "ü\uFFFD"}, {Level: "log"}}, o.Logs)
	require.Zero(t, o.Dropped)

	l := small
	l.Logs = 10
	o = s.with(t, &host{}, l, `console.log("12345"); console.log("67890abc"); console.log("defg"); return "kept"`)
	require.Equal(t, []codemode.Log{{Level: "log", Text: "12345"}, {Level: "log", Text: "67890"}}, o.Logs)
	require.Equal(t, 7, o.Dropped)
	require.JSONEq(t, `"kept"`, string(o.Value), "the budget of the logs is their own")

	o = s.with(t, &host{}, l, `console.log("äöü€€"); return 1`)
	require.Equal(t, []codemode.Log{{Level: "log", Text: "äöü€"}}, o.Logs, "no rune is cut")

	o = s.with(t, &host{}, l, `for (let i = 0; i < 100000; i++) console.log("flood"); return 1`)
	require.LessOrEqual(t, len(o.Logs), 10)
	require.Positive(t, o.Dropped)

	o = s.with(t, &host{}, small, `
		console.log({toString() { throw 1 }}, {get a() { throw 2 }}, new Proxy({}, {get() { throw 3 }, ownKeys() { throw 4 }}), Symbol("s"), 1n, null, undefined);
		const c = []; c.push(c); console.log(c); return 1`)
	require.Empty(t, o.Failure, "a log never throws")
	require.Len(t, o.Logs, 2)
}

func (s suite) valueLimit(t *testing.T) {
	l := small
	l.Value = 1000
	s.failsIn(t, codemode.OutputLimit, l, `return "x".repeat(1000)`, "1000")
	s.failsIn(t, codemode.OutputLimit, l, `return "ä".repeat(600)`)
	s.failsIn(t, codemode.OutputLimit, l, `return Array(2000).fill(1)`)
	s.failsIn(t, codemode.OutputLimit, l, `let x = [1]; for (let i = 0; i < 60; i++) x = [x, x]; return x`)
	o := s.with(t, &host{}, l, `return "x".repeat(998)`)
	require.Empty(t, o.Failure, o.Message)
}

func (s suite) payload(t *testing.T) {
	l := small
	l.Payload = 1000
	h := &host{answer: later}
	o := s.with(t, h, l, `try { await tools.echo("x".repeat(1000)) } catch (e) { return [e.message, await tools.echo(1)] }`)
	require.Empty(t, o.Failure, o.Message)
	require.Contains(t, string(o.Value), "1000")
	require.Equal(t, []string{"echo 1"}, h.calls())

	o = s.with(t, &host{answer: later}, l, `let x = [1]; for (let i = 0; i < 60; i++) x = [x, x]; try { await tools.echo(x) } catch (e) { return e.message }`)
	require.Contains(t, string(o.Value), "1000", o.Message)

	h = &host{answer: func(n int, c call) {
		if n == 0 {
			c.settle(json.RawMessage(`"`+strings.Repeat("x", 1000)+`"`), "")
			return
		}
		c.settle(json.RawMessage(`"`+strings.Repeat("x", 998)+`"`), "")
	}}
	o = s.with(t, h, l, `try { await tools.echo() } catch (e) { return [e.name, e.message, (await tools.echo()).length] }`)
	require.Empty(t, o.Failure, o.Message)
	require.Contains(t, string(o.Value), "1000")
	require.Contains(t, string(o.Value), "ToolCallError")
	require.Contains(t, string(o.Value), "998")
}

func (s suite) inFlight(t *testing.T) {
	l := small
	l.InFlight = 1000
	h := &host{}
	o := s.with(t, h, l, `try { for (let i = 0; i < 20; i++) tools.slow("x".repeat(98)) } catch {} tools.slow(1); return 1`)
	require.Equal(t, codemode.OutputLimit, o.Failure, o.Message)
	require.Len(t, h.calls(), 10)
	o = s.with(t, &host{answer: later}, l, `for (let i = 0; i < 20; i++) await tools.slow("x".repeat(98)); return 1`)
	require.Empty(t, o.Failure, "a call that was settled is not in flight: %s", o.Message)
}

func (s suite) calls(t *testing.T) {
	l := small
	l.Calls = 5
	h := &host{answer: later}
	o := s.with(t, h, l, `for (let i = 0; i < 5; i++) await tools.echo({i}); return 1`)
	require.Empty(t, o.Failure, o.Message)
	for _, source := range []string{
		`for (;;) await tools.echo({})`,
		`for (;;) tools.echo({})`,
		`for (;;) try { await tools.echo({}) } catch {} finally { tools.echo({}) }`,
	} {
		h = &host{answer: later}
		o = s.with(t, h, l, source)
		require.Equal(t, codemode.CallLimit, o.Failure, source)
		require.Len(t, h.calls(), 5, source)
	}
}

// abortAnywhere: whenever ctx is done, the program ends as aborted or as it would have, and the next one is right.
func (s suite) abortAnywhere(t *testing.T) {
	h := &host{answer: later}
	b := codemode.Bindings{Tools: []string{"echo"}, Call: h.call}
	n := 200
	if testing.Short() {
		n = 20
	}
	for i := range n {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(i*3000/n)*time.Microsecond, cancel)
		o, err := s.Run(ctx, `for (let i = 0; i < 5; i++) await tools.echo({i}); return 1`, b, small)
		require.NoError(t, err)
		if o.Failure != codemode.Abort {
			require.Empty(t, o.Failure, o.Message)
		}
		o, err = s.Run(t.Context(), `return await tools.echo({i: 1})`, b, small)
		require.NoError(t, err)
		require.Empty(t, o.Failure, o.Message)
		require.JSONEq(t, `{"i":1}`, string(o.Value))
		cancel()
	}
}

// uncatchable: what a program has in its catch and finally does not run when a limit has ended it.
func (s suite) uncatchable(t *testing.T) {
	l := small
	l.Memory, l.Calls, l.InFlight = 16<<20, 3, 1000
	for kind, body := range map[codemode.Kind]string{
		codemode.Timeout:     "for (;;);",
		codemode.Memory:      "const a = []; for (;;) a.push(new Array(1000).fill(a.length))",
		codemode.CallLimit:   "for (;;) tools.slow(0)",
		codemode.OutputLimit: "tools.slow('x'.repeat(600)); tools.slow('x'.repeat(600))",
	} {
		l := l
		if kind == codemode.Timeout {
			l.Compute = 200 * time.Millisecond
		}
		h := &host{}
		o := s.with(t, h, l, `
			const p = (async () => { `+body+` })();
			p.catch(() => { console.log("caught"); tools.echo("caught") });
			try { await p } catch { console.log("caught"); tools.echo("caught") } finally { console.log("finally"); tools.echo("finally") }
			return "survived"`)
		require.Equal(t, kind, o.Failure, o.Message)
		require.Empty(t, o.Logs, kind)
		for _, c := range h.calls() {
			require.NotContains(t, c, "echo", kind)
		}
	}
}

func (s suite) misuse(t *testing.T) {
	for _, l := range []codemode.Limits{{Wall: -1}, {Compute: -1}, {Memory: -1}, {Stack: -1}, {Source: -1}, {Logs: -1}, {Value: -1},
		{Payload: -1}, {InFlight: -1}, {Calls: -1}} {
		_, err := s.Run(t.Context(), "return 1", codemode.Bindings{}, l)
		require.Error(t, err)
		s.checks(t, l, false)
	}
	for _, l := range []codemode.Limits{{}, {Wall: math.MaxInt64, Compute: math.MaxInt64}} {
		o, err := s.Run(t.Context(), "return 1", codemode.Bindings{}, l)
		require.NoError(t, err)
		require.Empty(t, o.Failure, o.Message)
		s.checks(t, l, true)
	}
}

// checks: a runtime that says in advance which limits it takes says what is so.
func (s suite) checks(t *testing.T, l codemode.Limits, taken bool) {
	if c, ok := s.Runtime.(interface{ CheckLimits(codemode.Limits) error }); ok {
		require.Equal(t, taken, c.CheckLimits(l) == nil, "%+v", l)
	}
}
