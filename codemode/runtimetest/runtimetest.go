package runtimetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/codemode"
)

// Test tests a runtime. open makes one, and registers its end with t.Cleanup; it is called once. The runtime gets
// limits that are small, and is expected to keep them to a second or so.
func Test(t *testing.T, open func(t *testing.T) codemode.Runtime) {
	s := suite{open(t)}
	for _, c := range []struct {
		name string
		test func(*testing.T)
	}{
		{"info", s.info},
		{"value", s.value},
		{"call", s.call},
		{"call settles once", s.once},
		{"call order", s.order},
		{"call answers are not mixed up", s.mixed},
		{"call settled late", s.late},
		{"call not awaited", s.unawaited},
		{"call failure", s.toolCallError},
		{"names", s.names},
		{"C6 arguments", s.arguments},
		{"C6 representation", s.representation},
		{"C6 invalid output", s.invalidOutput},
		{"exception", s.exception},
		{"syntax", s.syntax},
		{"wrapper", s.wrapper},
		{"deadlock", s.deadlock},
		{"wall", s.wall},
		{"compute", s.compute},
		{"waiting is not computing", s.waiting},
		{"abort", s.abort},
		{"abort before the start", s.abortBefore},
		{"abort anywhere", s.abortAnywhere},
		{"memory", s.memory},
		{"results that are not taken", s.untaken},
		{"stack", s.stack},
		{"source", s.source},
		{"logs", s.logs},
		{"value limit", s.valueLimit},
		{"payload", s.payload},
		{"in flight", s.inFlight},
		{"calls", s.calls},
		{"limits are not caught", s.uncatchable},
		{"misuse", s.misuse},
		{"unhandled", s.unhandled},
		{"worlds are apart", s.apart},
		{"C7 no authority", s.authority},
		{"clock and dice", s.clock},
		{"timers", s.timers},
		{"timers and calls", s.polling},
		{"many at once", s.many},
	} {
		t.Run(c.name, c.test)
	}
}

type suite struct{ codemode.Runtime }

// A call is one of a tool that a program made.
type call struct {
	name      string
	arguments string
	settle    func(json.RawMessage, string)
}

// A host has tools with the names that are given; answer answers, and must not wait.
type host struct {
	mu     sync.Mutex
	seen   []call
	answer func(n int, c call)
}

func (h *host) call(name string, arguments json.RawMessage, settle func(json.RawMessage, string)) {
	h.mu.Lock()
	n := len(h.seen)
	c := call{name, string(arguments), settle}
	h.seen = append(h.seen, c)
	h.mu.Unlock()
	if h.answer != nil {
		h.answer(n, c)
	}
}

func (h *host) calls() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := []string{}
	for _, c := range h.seen {
		all = append(all, c.name+" "+c.arguments)
	}
	return all
}

// later answers with the arguments from a goroutine of its own.
func later(_ int, c call) { go c.settle(json.RawMessage(c.arguments), "") }

// small are limits that a test does not wait for long.
var small = codemode.Limits{Wall: 20 * time.Second, Compute: 10 * time.Second, Memory: 32 << 20}

func (s suite) with(t *testing.T, h *host, l codemode.Limits, source string, tools ...string) codemode.Outcome {
	t.Helper()
	if tools == nil {
		tools = []string{"echo", "fail", "slow"}
	}
	o, err := s.Run(t.Context(), source, codemode.Bindings{Tools: tools, Call: h.call}, l)
	require.NoError(t, err)
	return o
}

func (s suite) returns(t *testing.T, want, source string) {
	t.Helper()
	o := s.with(t, &host{answer: later}, small, source)
	require.Empty(t, o.Failure, "%.300s: %s", source, o.Message)
	if want == "" {
		require.Nil(t, o.Value, source)
		return
	}
	require.JSONEq(t, want, string(o.Value), source)
}

func (s suite) fails(t *testing.T, kind codemode.Kind, source string, parts ...string) codemode.Outcome {
	t.Helper()
	return s.failsIn(t, kind, small, source, parts...)
}

func (s suite) failsIn(t *testing.T, kind codemode.Kind, l codemode.Limits, source string, parts ...string) codemode.Outcome {
	t.Helper()
	o := s.with(t, &host{}, l, source)
	require.Equal(t, kind, o.Failure, "%.200s: %s %s", source, o.Message, o.Value)
	require.Nil(t, o.Value, source)
	for _, p := range parts {
		require.Contains(t, o.Message, p, "%.200s", source)
	}
	return o
}

func (s suite) info(t *testing.T) {
	require.NotEmpty(t, s.Info().Language)
	require.Equal(t, s.Info(), s.Info())
}

func (s suite) value(t *testing.T) {
	s.returns(t, "", "")
	s.returns(t, "", "return")
	s.returns(t, "", "return undefined")
	s.returns(t, `null`, "return null")
	s.returns(t, `{"a":[1,2.5,"ä",true,null]}`, `return {a: [1, 2.5, "ä", true, null]}`)
	s.returns(t, `3`, "return await Promise.resolve(3) // and a comment at the end")
	s.returns(t, `[1,{"__proto__":2}]`, `return [1, JSON.parse('{"__proto__":2}')]`)
	s.returns(t, `"<a&b>"`, `return "<a&b>"`)
}

func (s suite) call(t *testing.T) {
	h := &host{answer: later}
	o := s.with(t, h, small, `
		const a = await tools.echo({x: 1});
		const [b, c] = await Promise.all([tools.echo({x: [a.x + 1]}), tools.echo()]);
		return [a, b, c]`)
	require.Empty(t, o.Failure, o.Message)
	require.JSONEq(t, `[{"x":1},{"x":[2]},{}]`, string(o.Value))
	require.Equal(t, []string{`echo {"x":1}`, `echo {"x":[2]}`, `echo {}`}, h.calls())
}

// once: an answer may come before Call has returned, only the first counts, and all are taken from any goroutine.
func (s suite) once(t *testing.T) {
	h := &host{answer: func(_ int, c call) {
		c.settle(json.RawMessage(`"first"`), "")
		c.settle(json.RawMessage(`"second"`), "")
		c.settle(nil, "third")
	}}
	o := s.with(t, h, small, `return [await tools.echo(), await tools.echo()]`)
	require.JSONEq(t, `["first","first"]`, string(o.Value), o.Message)
	require.Empty(t, o.Unhandled)
}

// order: the promises settle in the order of the answers, whatever the order of the calls.
func (s suite) order(t *testing.T) {
	h := &host{}
	h.answer = func(n int, _ call) {
		if n == 9 {
			go func() {
				for i := 9; i >= 0; i-- {
					c := h.seen[i]
					if i%2 == 0 {
						c.settle(json.RawMessage("0"), "")
					} else {
						c.settle(nil, "odd")
					}
				}
			}()
		}
	}
	o := s.with(t, h, small, `
		const seen = [];
		await Promise.allSettled([...Array(10).keys()].map(i => tools.echo({i}).then(() => seen.push(i), () => seen.push(-i))));
		return seen`)
	require.JSONEq(t, `[-9,8,-7,6,-5,4,-3,2,-1,0]`, string(o.Value), o.Message)
}

// mixed: of fifty calls at once each gets its own answer.
func (s suite) mixed(t *testing.T) {
	for round := range 20 {
		h := &host{}
		h.answer = func(n int, c call) {
			go func() {
				<-time.After(time.Duration((n*7919+round*104729)%5) * time.Millisecond)
				c.settle(json.RawMessage(c.arguments), "")
			}()
		}
		o := s.with(t, h, small, `
			const out = await Promise.all([...Array(50).keys()].map(i => tools.echo({i})));
			return out.every((o, i) => o.i === i) && out.length`)
		require.JSONEq(t, `50`, string(o.Value), o.Message)
	}
}

// late: an answer after the end does nothing.
func (s suite) late(t *testing.T) {
	h := &host{}
	o := s.with(t, h, small, `tools.slow(); return 1`)
	require.JSONEq(t, `1`, string(o.Value), o.Message)
	h.seen[0].settle(json.RawMessage(`1`), "")
	h.seen[0].settle(nil, "late")
	s.returns(t, `2`, `return 2`)
}

// unawaited: a program that returns has ended, whatever it has left running.
func (s suite) unawaited(t *testing.T) {
	h := &host{}
	o := s.with(t, h, small, `
		(async () => { for (;;) await null })();
		setTimeout(() => tools.echo({late: true}), 1);
		tools.slow({n: 1}); tools.slow({n: 2}).then(() => tools.slow({n: 3}));
		return "done"`)
	require.JSONEq(t, `"done"`, string(o.Value), o.Message)
	require.Equal(t, []string{`slow {"n":1}`, `slow {"n":2}`}, h.calls())
}

func (s suite) toolCallError(t *testing.T) {
	h := &host{answer: func(_ int, c call) { c.settle(json.RawMessage(`"no"`), "no such file: ü") }}
	o := s.with(t, h, small, `
		try { await tools.fail({}) } catch (e) {
			return [e instanceof ToolCallError, e instanceof Error, e.name, e.toolName, e.message, Object.keys(e)]
		}`)
	require.JSONEq(t, `[true,true,"ToolCallError","fail","no such file: ü",[]]`, string(o.Value), o.Message)

	o = s.with(t, h, small, "\n\nawait tools.fail({})")
	require.Equal(t, codemode.Exception, o.Failure)
	require.Contains(t, o.Message, "no such file: ü")
	require.Contains(t, o.Message, "fail")
	require.Contains(t, o.Message, "line 3")
}

// names: any string is the name of a tool.
func (s suite) names(t *testing.T) {
	names := []string{"a b", "", "__proto__", "constructor", "then", "toString", "toJSON", "ünï", "1", "x.y", `"`, "\n", "hasOwnProperty"}
	for _, name := range names {
		quoted, err := json.Marshal(name)
		require.NoError(t, err)
		h := &host{answer: later}
		o := s.with(t, h, small, "return [await tools["+string(quoted)+"]({a: 1}), Object.keys(tools).length]", names...)
		require.JSONEq(t, fmt.Sprintf(`[{"a":1},%d]`, len(names)), string(o.Value), "%q: %s", name, o.Message)
		require.Equal(t, []string{name + ` {"a":1}`}, h.calls())
	}
	// Without a tool of that name the tools are no thenable.
	s.returns(t, `["object",3]`, `const t = await tools; return [typeof t, Object.keys(t).length]`)
	s.returns(t, `false`, `return "nope" in tools`)
	s.fails(t, codemode.Exception, "\nawait tools.nope({})", "nope", "line 2")
	s.fails(t, codemode.Exception, `"use strict"; tools.echo = 1`)
	s.fails(t, codemode.Exception, `"use strict"; delete tools.echo`)
	o := s.with(t, &host{}, small, `return Object.keys(tools)`, []string{}...)
	require.Empty(t, o.Failure)
}

// arguments: what is no lossless JSON rejects that one call, with the path in the message, and the program goes on.
func (s suite) arguments(t *testing.T) {
	for arg, part := range map[string]string{
		"undefined":                  "undefined",
		"{a: undefined}":             "a",
		"{a: [1, undefined]}":        "a[1]",
		"() => 1":                    "function",
		"{f() {}}":                   "f",
		"Symbol()":                   "symbol",
		"{[Symbol('s')]: 1}":         "symbol",
		"{a: 1n}":                    "a",
		"NaN":                        "NaN",
		"{x: {y: Infinity}}":         "x.y",
		"[-Infinity]":                "[0]",
		"{z: -0}":                    "z",
		"[1, , 2]":                   "[1]",
		"Object.assign([1], {x: 1})": "array",
		"(() => { const c = {}; c.c = c; return c })()": "c",
		"{get g() { throw new Error('boo') }}":          "boo",
		"{toJSON() { return 1 }}":                       "toJSON",
		"new Date(0)":                                   "Date",
		"{m: new Map()}":                                "m",
		"new Set()":                                     "Set",
		"/x/":                                           "regular expression",
		"new Uint8Array(2)":                             "binary",
		"tools.slow()":                                  "await",
		"new (class Point { x = 1 })()":                 "plain",
		"Object('boxed')":                               "plain",
		`{s: "\ud800"}`:                                 "s",
		`{"\udc00": 1}`:                                 "surrogate",
		"(() => { let d = []; for (let i = 0; i < 100000; i++) d = [d]; return d })()": "nested",
		"new Proxy({}, {ownKeys() { throw new Error('trap') }})":                       "trap",
		"new Proxy({}, {getPrototypeOf() { throw {toString() { throw 1 }} }})":         "arguments",
		"({}), 2": "one argument",
	} {
		h := &host{}
		o := s.with(t, h, small, "try { await tools.echo("+arg+") } catch (e) { return [e instanceof TypeError, e.message] }")
		require.Empty(t, o.Failure, "%s: %s", arg, o.Message)
		var got []any
		require.NoError(t, json.Unmarshal(o.Value, &got), arg)
		require.Equal(t, true, got[0], arg)
		require.Contains(t, got[1], part, arg)
		for _, c := range h.calls() {
			require.NotContains(t, c, "echo", arg)
		}
	}
	for arg, want := range map[string]string{
		"":                                      `{}`,
		"null":                                  `null`,
		`"x"`:                                   `"x"`,
		`{a: {b: [true, null, 0.5, 1e21, -1]}}`: `{"a":{"b":[true,null,0.5,1e+21,-1]}}`,
		`JSON.parse('{"__proto__":{"x":1}}')`:   `{"__proto__":{"x":1}}`,
		`Object.create(null)`:                   `{}`,
		`{get g() { return 1 }}`:                `{"g":1}`,
		`(() => { const x = [1]; return [x, x] })()`: `[[1],[1]]`,
		`{s: "\ud83d\ude00\u0000\u2028"}`:            `{"s":"😀\u0000\u2028"}`,
	} {
		h := &host{answer: later}
		o := s.with(t, h, small, "return [await tools.echo("+arg+")]")
		require.Empty(t, o.Failure, "%s: %s", arg, o.Message)
		require.JSONEq(t, "["+want+"]", string(o.Value), arg)
		require.JSONEq(t, want, h.seen[0].arguments, arg)
	}
}

// representation: a returned value never fails by its shape.
func (s suite) representation(t *testing.T) {
	for _, v := range []string{
		"1n", "NaN", "-Infinity", "-0", "() => 1", "class A {}", "Symbol('x')", "[undefined, , () => 1]", "new Map([[1, {a: 2}]])",
		"new Set([1])", "new Date(NaN)", "new Date(0)", "/x/g", "new Error('e')", "new Uint8Array(3)", "new ArrayBuffer(8)",
		"(() => { const x = {}; x.x = [x]; return x })()", "{a: tools.slow()}", "tools", "globalThis", "Object.create(null)", `"\ud800"`,
		"(() => { let d = []; for (let i = 0; i < 100000; i++) d = [d]; return d })()", "new Proxy([1], {})", "new WeakMap()",
		"(function* () {})()", "Object('x')", "Object(1n)", "Object(Symbol())", "new (class Point { x = 1; get y() { return 2 } })()",
		"async () => {}", "JSON.parse('{\"__proto__\":1}')", "new DataView(new ArrayBuffer(4))", "[tools.slow()]",
	} {
		o := s.with(t, &host{}, small, "return ("+v+")")
		require.Empty(t, o.Failure, "%s: %s", v, o.Message)
		require.True(t, json.Valid(o.Value), "%s: %s", v, o.Value)
	}
}

func (s suite) invalidOutput(t *testing.T) {
	s.fails(t, codemode.InvalidOutput, `return {get a() { throw new Error("boo") }}`, "boo")
	s.fails(t, codemode.InvalidOutput, `return [{toJSON() { throw new Error("boo") }}]`, "boo")
	s.fails(t, codemode.InvalidOutput, `return new Proxy({}, {ownKeys() { throw null }})`)
}

func (s suite) exception(t *testing.T) {
	s.fails(t, codemode.Exception, "\nfunction f() {\n  throw new RangeError('too far')\n}\nf()", "RangeError", "too far", "line 3", "line 5")
	s.fails(t, codemode.Exception, "await null\nawait null\nnull.x", "line 3")
	for _, thrown := range []string{"undefined", "null", "0", "'text'", "{a: 1}", "Symbol()", "() => 1", "Object.create(null)",
		"{toString() { throw 1 }}", "new Proxy({}, {get() { throw 1 }, getPrototypeOf() { throw 2 }, ownKeys() { throw 3 }})",
		"Object.defineProperty(new Error(), 'message', {get() { throw 1 }})", "Object.assign(new Error('x'), {name: {}, stack: 5})",
		"new AggregateError([new Error('inner')], 'outer', {cause: new Error('cause')})"} {
		o := s.fails(t, codemode.Exception, "throw "+thrown)
		require.NotEmpty(t, o.Message, thrown)
	}
}

func (s suite) syntax(t *testing.T) {
	s.fails(t, codemode.Exception, "const a = 1\nconst b = = 2", "line 2")
	s.fails(t, codemode.Exception, "console.log(1)\nif (", "line 2")
	require.Empty(t, s.fails(t, codemode.Exception, "console.log(1); let a; let a").Logs, "nothing runs")
}

// wrapper: whatever a program is wrapped in, it does not get out of it.
func (s suite) wrapper(t *testing.T) {
	for _, source := range []string{"})(); (async () => { return 1", "}, async () => { return 1", "} async function g() { return 1",
		"})(); (() => {", "}, () => {", "}; {", "}", ")", "})", "}]; [{", "*/ } /*", "}}, {a() {", "return 1 })\n//",
		"`}`; }) => (() => {"} {
		s.fails(t, codemode.Exception, source)
	}
}

func (s suite) unhandled(t *testing.T) {
	h := &host{answer: func(_ int, c call) {
		if c.name == "fail" {
			c.settle(nil, "no such file")
		} else {
			c.settle(json.RawMessage("1"), "")
		}
	}}
	o := s.with(t, h, small, `
		tools.fail({}); Promise.reject(new Error("lost"));
		const handled = Promise.reject(new Error("found")); await null; handled.catch(() => {});
		tools.fail({}).catch(() => {});
		await tools.echo(); return 1`)
	require.Empty(t, o.Failure, o.Message)
	require.Len(t, o.Unhandled, 2)
	require.Contains(t, strings.Join(o.Unhandled, "\n"), "no such file")
	require.Contains(t, strings.Join(o.Unhandled, "\n"), "lost")
	require.Empty(t, s.with(t, &host{}, small, "throw new Error('x')").Unhandled, "the failure is not repeated")
}

// apart: nothing of a program is there for the next one.
func (s suite) apart(t *testing.T) {
	s.returns(t, `1`, `
		globalThis.left = 1; Object.prototype.left = 1; Array.prototype.push = () => {}; JSON.stringify = () => "forged";
		Promise.prototype.then = () => {}; globalThis.setTimeout = undefined; return 1`)
	s.returns(t, `["undefined","undefined",1,"[1]","function"]`,
		`return [typeof globalThis.left, typeof {}.left, [].push(1), JSON.stringify([1]), typeof setTimeout]`)
}

// authority: there is nothing but the language and the tools.
func (s suite) authority(t *testing.T) {
	for _, name := range []string{"process", "require", "fetch", "Deno", "Bun", "XMLHttpRequest", "WebSocket", "std", "os", "print", "load",
		"read", "Worker", "WebAssembly", "__host", "scriptArgs"} {
		s.returns(t, `"undefined"`, "return typeof "+name)
		o := s.fails(t, codemode.Exception, name+"()")
		require.Contains(t, o.Message, name)
	}
	for _, code := range []string{"eval('1')", "(0, eval)('1')", "new Function('return 1')()", "(async () => {}).constructor('return 1')()",
		"(function* () {}).constructor('yield 1')()", "setTimeout('1')", "await import('fs')", "Reflect.construct(Function, ['return 1'])"} {
		s.fails(t, codemode.Exception, code)
	}
}

func (s suite) clock(t *testing.T) {
	var mu sync.Mutex
	now, dice := time.UnixMilli(1_700_000_000_000), 0.0
	b := codemode.Bindings{
		Now: func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			now = now.Add(time.Second)
			return now
		},
		Rand: func() float64 {
			mu.Lock()
			defer mu.Unlock()
			dice += 0.125
			return dice
		},
		Tools: []string{"echo"},
		Call:  (&host{answer: later}).call,
	}
	o, err := s.Run(t.Context(), `
		const a = tools.echo(1), b = Date.now(), c = new Date(), d = Math.random(), e = Math.random();
		return [b - Date.now(), c instanceof Date, c.getTime() - b, new Date(5).getTime(), typeof Date(), d, e, await a, Date.UTC(1970, 0)]`, b, small)
	require.NoError(t, err)
	require.Empty(t, o.Failure, o.Message)
	require.JSONEq(t, `[-2000,true,1000,5,"string",0.125,0.25,1,0]`, string(o.Value))
	s.returns(t, `[true,true]`, fmt.Sprintf("return [Math.abs(Date.now() - %d) < 3600000, Math.random() !== Math.random()]", time.Now().UnixMilli()))
}

// polling: a program whose timers are always due sees the answers to its calls.
func (s suite) polling(t *testing.T) {
	for _, body := range []string{
		`while (!done) await new Promise(r => setTimeout(r, 0))`,
		`setInterval(() => { const end = Date.now() + 5; while (Date.now() < end); }, 1); while (!done) await new Promise(r => setTimeout(r, 1))`,
	} {
		h := &host{answer: func(_ int, c call) {
			time.AfterFunc(20*time.Millisecond, func() { c.settle(json.RawMessage("1"), "") })
		}}
		o := s.with(t, h, small, `let done = false; tools.slow({}).then(() => { done = true }); `+body+`; return done`)
		require.Empty(t, o.Failure, o.Message)
		require.Equal(t, "true", string(o.Value))
	}
}

func (s suite) timers(t *testing.T) {
	s.returns(t, `["b","a","c"]`, `
		const seen = [];
		setTimeout(x => seen.push(x), 20, "a"); setTimeout(() => seen.push("b"), 1);
		clearTimeout(setTimeout(() => seen.push("never"), 2));
		await new Promise(r => setTimeout(r, 60)); seen.push("c"); return seen`)
	s.returns(t, `3`, `let n = 0; await new Promise(r => { const i = setInterval(() => { if (++n === 3) { clearInterval(i); r() } }, 1) }); return n`)
	o := s.with(t, &host{}, small, `setTimeout(() => { throw new Error("late") }, 1); await new Promise(r => setTimeout(r, 30)); return 1`)
	require.JSONEq(t, `1`, string(o.Value), o.Message)
	require.Len(t, o.Unhandled, 1)
	require.Contains(t, o.Unhandled[0], "late")
}

func (s suite) many(t *testing.T) {
	var wait sync.WaitGroup
	outcomes := make([]codemode.Outcome, 20)
	errs := make([]error, len(outcomes))
	for i := range outcomes {
		wait.Go(func() {
			h := &host{answer: later}
			outcomes[i], errs[i] = s.Run(t.Context(), fmt.Sprintf(`
				globalThis.mine = %d;
				const all = await Promise.all([...Array(20).keys()].map(i => tools.echo({i, mine})));
				return all.filter(a => a.mine === mine).length + mine`, i), codemode.Bindings{Tools: []string{"echo"}, Call: h.call}, small)
		})
	}
	wait.Wait()
	for i, o := range outcomes {
		require.NoError(t, errs[i])
		require.JSONEq(t, fmt.Sprint(20+i), string(o.Value), o.Message)
	}
}
