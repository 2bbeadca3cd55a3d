package js_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/codemode/js"
)

// A hostile program, and how it may end. A limit that ends it is never seen by the program: what such a program logs in
// its catch and finally as "survived" fails the test.
type hostile struct {
	name   string
	source string
	ends   []codemode.Kind // one of these; "" is a return
	value  string          // of a return, if it matters
	native bool            // one step of the engine takes too long: only a process can be killed out of it
}

var (
	stops  = []codemode.Kind{codemode.Timeout}
	full   = []codemode.Kind{codemode.Memory, codemode.Timeout}
	throws = []codemode.Kind{codemode.Exception}
	lives  = []codemode.Kind{""}
)

func hostiles() []hostile {
	big := strings.Repeat
	return []hostile{
		// Endless loops.
		{"loop", `for (;;);`, stops, "", false},
		{"loop in a microtask", `await Promise.resolve().then(() => { for (;;); })`, stops, "", false},
		{"loop of microtasks", `for (;;) await null`, stops, "", false},
		{"loop of promises", `const f = () => Promise.resolve().then(f); await f()`, append(stops, codemode.Memory), "", false},
		{"loop of queueMicrotask", `const f = () => queueMicrotask(f); f(); await new Promise(() => {})`, stops, "", false},
		{"loop of timers", `await new Promise(() => { const f = () => setTimeout(f, 0); f() })`, stops, "", false},
		{"loop in catch", `try { throw 1 } catch { for (;;); } finally { console.log("survived") }`, stops, "", false},
		{"loop in finally", `try { return 1 } finally { for (;;) try { for (;;); } finally { continue } }`, stops, "", false},
		{"loop that catches", `for (;;) { try { for (;;); } catch { console.log("survived") } }`, stops, "", false},
		{"loop in an async catch", `for (;;) { try { await (async () => { for (;;); })() } catch { console.log("survived") } }`, stops, "", false},
		{"loop in a getter", `return {get a() { for (;;); }}.a`, stops, "", false},
		{"loop in a getter of the value", `return {get a() { for (;;); }}`, stops, "", false},
		{"loop in toJSON of the value", `return {toJSON() { for (;;); }}`, stops, "", false},
		{"loop in a getter of the arguments", `await tools.echo({get a() { for (;;); }})`, stops, "", false},
		{"loop in a getter of a log", `console.log({get a() { for (;;); }})`, stops, "", false},
		{"loop in toString", "return `${{toString() { for (;;); }}}`", stops, "", false},
		{"loop in valueOf", `return +{valueOf() { for (;;); }}`, stops, "", false},
		{"loop in the message of an error", `throw {__proto__: Error.prototype, get message() { for (;;); }}`, []codemode.Kind{codemode.Timeout, codemode.Exception}, "", false},
		{"loop in the message of a real error", `throw Object.defineProperty(new Error(), "message", {get() { for (;;); }})`, stops, "", false},
		{"loop in sort", `[2, 1].sort(() => { for (;;); })`, stops, "", false},
		{"loop in replace", `"x".replace(/x/, () => { for (;;); })`, stops, "", false},
		{"loop in a proxy", `return new Proxy({}, {get() { for (;;); }}).x`, stops, "", false},
		{"loop in a proxy of the value", `return new Proxy({}, {ownKeys() { for (;;); }})`, stops, "", false},
		{"endless chain of prototypes", `const h = {getPrototypeOf: () => new Proxy({}, h)}; return new Proxy({}, h)`, append(stops, codemode.Memory, ""), "", false},
		{"loop in a generator", `return [...(function* () { for (;;) yield 1 })()]`, full, "", false},
		{"loop in an async generator", `for await (const x of (async function* () { for (;;) yield 1 })());`, stops, "", false},
		{"loop in a thenable", `await {then() { for (;;); }}`, stops, "", false},
		{"loop in a thenable value", `return {then(r) { r(this) }}`, stops, "", false},
		{"loop in a static block", `class A { static { for (;;); } }`, stops, "", false},
		{"loop in a reviver", `JSON.parse("[1]", () => { for (;;); })`, stops, "", false},
		{"loop in Symbol.hasInstance", `Object.defineProperty(Promise, Symbol.hasInstance, {value() { for (;;); }}); return [new Promise(() => {})]`, append(stops, ""), "", false},
		{"loop of JSON", `const a = Array(10000).fill(1.5); for (;;) JSON.stringify(a)`, stops, "", false},
		{"loop of calls that throw", `for (;;) try { await tools.echo(undefined) } catch {}`, stops, "", false},
		{"recursion that catches", `const f = () => { try { f() } catch { f() } }; f()`, stops, "", false},

		// Regular expressions.
		{"catastrophic regular expression", `/^(a+)+$/.test("a".repeat(50) + "b")`, stops, "", false},
		{"catastrophic lookahead", `/^(?=(a+)+$)/.test("a".repeat(50) + "b")`, stops, "", false},
		{"catastrophic replaceAll", `"a".repeat(40).concat("!").replaceAll(/(a|a)*$/g, "")`, stops, "", false},
		{"deep regular expression", `new RegExp("(".repeat(30000) + ")".repeat(30000))`, throws, "", false},
		{"regular expression with many captures", `new RegExp("()".repeat(1000))`, append(throws, ""), "", false},

		// Memory.
		{"arrays", `const a = []; for (;;) a.push([a.length])`, full, "", false},
		{"strings", `const a = []; for (let i = 0;; i++) a.push(("x" + i).repeat(1000))`, full, "", false},
		{"a string", `let s = "xy"; for (;;) s = s + s`, append(full, codemode.Exception), "", false},
		{"closures", `let f = () => 1; for (;;) { const g = f; f = () => g }`, full, "", false},
		{"promises", `const a = []; for (;;) a.push(new Promise(() => {}))`, full, "", false},
		{"rejections", `for (;;) Promise.reject(new Error("x".repeat(1000)))`, full, "", false},
		{"awaited promises", `const f = async () => { await new Promise(() => {}) }; const a = []; for (;;) a.push(f())`, full, "", false},
		{"maps", `const m = new Map(); for (let i = 0;; i++) m.set(i, {i})`, full, "", false},
		{"symbols", `const a = []; for (let i = 0;; i++) a.push(Symbol("s" + i))`, full, "", false},
		{"buffers", `const a = []; for (;;) a.push(new ArrayBuffer(1 << 20))`, full, "", false},
		{"a huge buffer", `new ArrayBuffer(2 ** 40)`, append(full, codemode.Exception), "", false},
		{"a resizable buffer", `new ArrayBuffer(8, {maxByteLength: 2 ** 33})`, append(full, codemode.Exception, ""), "", false},
		{"memory caught", `const a = []; for (;;) try { for (;;) a.push(new Array(1000).fill(a)) } catch { console.log("survived") }`, full, "", false},
		{"memory caught in one step", `try { "x".repeat(2 ** 30 - 1) } catch { console.log("survived") } return 1`, []codemode.Kind{codemode.Memory}, "", false},
		{"repeat", `"x".repeat(2 ** 40)`, append(throws, codemode.Memory), "", false},
		{"padEnd", `"x".padEnd(2 ** 30 - 1, "ab")`, append(full, codemode.Exception), "", false},
		{"big integers", `let n = 3n; for (;;) n = n * n`, append(throws, full...), "", true},
		{"timers", `for (;;) setTimeout(() => {}, 1e9)`, append(throws, full...), "", false},
		{"console flood", `for (;;) console.log("x".repeat(1000))`, full, "", false},
		{"console flood of objects", `const o = Array(1000).fill({a: 1}); for (;;) console.log(o, o)`, full, "", false},
		{"call flood", `for (;;) tools.slow({})`, []codemode.Kind{codemode.CallLimit}, "", false},
		{"call flood that catches", `for (;;) try { tools.slow({}) } catch { console.log("survived") }`, []codemode.Kind{codemode.CallLimit}, "", false},
		{"graph that is exponential as JSON", `let x = []; for (let i = 0; i < 200; i++) x = [x, x]; await tools.echo(x)`, throws, "", false},
		{"value that is exponential as JSON", `let x = []; for (let i = 0; i < 100; i++) x = [x, x]; return x`, []codemode.Kind{codemode.OutputLimit}, "", false},
		{"sparse array as arguments", `await tools.echo(new Array(2 ** 32 - 1))`, throws, "", false},
		{"sparse array as value", `return new Array(2 ** 32 - 1)`, []codemode.Kind{codemode.OutputLimit}, "", false},
		{"array that lies about its length", `return new Proxy([], {get: (t, k) => k === "length" ? 2 ** 53 : 0})`, append(full, codemode.OutputLimit), "", false},
		{"keys without end", `return new Proxy({}, {ownKeys: () => Array.from({length: 1e6}, (_, i) => "k" + i), getOwnPropertyDescriptor: () => ({value: 1, enumerable: true, configurable: true})})`,
			append(full, codemode.OutputLimit, codemode.Exception), "", false},

		// Steps that no interrupt reaches.
		{"join", `new Array(1e9).join("x")`, full, "", true},
		{"indexOf", `const s = "a".repeat(1 << 20); for (;;) s.indexOf("a".repeat(1 << 19) + "b")`, full, "", true},
		{"fill", `new Array(4e9).fill(0)`, full, "", true},
		{"includes", `new Array(4e9).includes(1)`, stops, "", true},
		{"reverse", `new Array(4e9).reverse()`, stops, "", true},

		// Depth.
		{"recursion", `const f = () => f() + 1; f()`, throws, "", false},
		{"recursion caught", `const f = () => f() + 1; try { f() } catch (e) { return 1 }`, lives, "1", false},
		{"recursion of async functions", `const f = async () => await f(); await f()`, append(throws, full...), "", false},
		{"recursion of getters", `return {get a() { return this.a }}.a`, throws, "", false},
		{"recursion of toString", "const o = {toString() { return `${o}` }}; return `${o}`", throws, "", false},
		{"recursion of proxies", `let p = {}; for (let i = 0; i < 100000; i++) p = new Proxy(p, {}); return p.x`, append(throws, full...), "", false},
		{"recursion of bind", `let f = () => 1; for (let i = 0; i < 100000; i++) f = f.bind(null); return f()`, append(throws, full...), "", false},
		{"recursion of sort", `const f = () => [2, 1].sort(f); f()`, throws, "", false},
		{"recursion of replace", `const f = () => "x".replace(/x/, f); f()`, throws, "", false},
		{"deep JSON parsed", `JSON.parse("[".repeat(1e6))`, throws, "", false},
		{"deep JSON made", `let d = []; for (let i = 0; i < 1e5; i++) d = [d]; JSON.stringify(d)`, throws, "", false},
		{"deep arguments", `let d = []; for (let i = 0; i < 1e5; i++) d = [d]; await tools.echo(d)`, throws, "", false},
		{"deep value", `let d = []; for (let i = 0; i < 1e5; i++) d = {d}; return d`, lives, "", false},
		{"deep clone", `let d = []; for (let i = 0; i < 1e5; i++) d = [d]; structuredClone(d)`, throws, "", false},
		{"deep flat", `let d = []; for (let i = 0; i < 1e5; i++) d = [d]; d.flat(Infinity)`, throws, "", false},
		{"deep cause", `let e = new Error("0"); for (let i = 0; i < 1e5; i++) e = new Error("e", {cause: e}); throw e`, append(throws, full...), "", false},
		{"deep chain of promises", `let p = Promise.resolve(1); for (let i = 0; i < 1e4; i++) p = p.then(x => x); return await p`, append(lives, full...), "", false},

		// Sources.
		{"too long", big("x", 65<<10), throws, "", false},
		{"deep parentheses", big("(", 60000), throws, "", false},
		{"deep braces", big("{", 60000), throws, "", false},
		{"deep brackets", big("[", 60000), throws, "", false},
		{"deep templates", big("`${", 20000), throws, "", false},
		{"deep arrows", big("a=>", 20000) + "1", append(throws, ""), "", false},
		{"deep negation", "return " + big("!", 60000) + "1", append(throws, ""), "", false},
		{"deep if", big("if(a)", 12000) + ";", append(throws, codemode.Timeout, codemode.Crash), "", false},
		{"deep conditional", "return " + big("1?1:", 15000) + "1", append(throws, ""), "", false},
		{"deep assignment", "let a; " + big("a=", 30000) + "1", append(throws, ""), "", false},
		{"deep new", "return " + big("new ", 15000) + "Object", append(throws, ""), "", false},
		{"deep await", "return " + big("await ", 10000) + "1", append(throws, "", codemode.Timeout), "", false},
		{"deep power", "return " + big("1**", 20000) + "1", append(throws, ""), "", false},
		{"long sum", "return " + big("1+", 30000) + "1", append(throws, ""), "", false},
		{"deep labels", big("a:", 1) + big("b:", 1) + ";", append(throws, ""), "", false},
		{"deep negation in TypeScript", "let x: number; return " + big("!", 60000) + "1", append(throws, codemode.Timeout, codemode.Crash, ""), "", true},
		{"deep if in TypeScript", "let a: number; " + big("if(a)", 12000) + ";", append(throws, codemode.Timeout, codemode.Crash, ""), "", true},
		{"deep arrows in TypeScript", "let a: number; return " + big("a=>", 1900) + "1", append(throws, codemode.Timeout, codemode.Crash, ""), "", true},
		{"deep types", "let x: " + big("A<", 10000) + "1", append(throws, codemode.Timeout, codemode.Crash), "", false},
		{"hidden brackets", big(`")"+(`, 10000), throws, "", false},
		{"hidden brackets in regular expressions", big("/[)]/.x+(", 6000), throws, "", false},
		{"hidden brackets in division", "let a = 1; " + big("a/(/)/", 8000), throws, "", false},
		{"ambiguous types", "const x = " + big("a ? (b) : c => ", 30) + "d as any", append(throws, codemode.Timeout), "", true},
		{"null bytes", "return 1\x00; \x00", throws, "", false},
		{"no UTF-8", "return '\xff\xfe'", append(throws, ""), "", false},
		{"wrapper closed", `})(); globalThis.out = 1; (async () => {`, throws, "", false},
		{"wrapper closed with a comma", `}, globalThis.out = 1, async () => {`, throws, "", false},
		{"wrapper closed as a statement", `} globalThis.out = 1; async function g() {`, throws, "", false},
		{"wrapper closed behind a regular expression", "/[/]}); globalThis.out = 1; (async () => {/", append(throws, ""), "", false},
		{"wrapper closed for a loop", `})(); for (;;); (async () => {`, throws, "", false},
		{"wrapper closed for memory", `})(); const a = []; for (;;) a.push(new Array(1e5).fill(1)); (async () => {`, throws, "", false},
		{"wrapper closed behind a HTML comment", "1\n\f--> '\n})(); for (;;); (async () => {", throws, "", false},
		{"wrapper closed behind a HTML comment and a separator", "1\u2028--> '\n})(); for (;;); (async () => {", throws, "", false},
		{"wrapper commented out", "return 1 /*", throws, "", false},
		{"wrapper in a template", "return `", throws, "", false},
		{"HTML comment", "<!-- ' \n" + big("(", 300), throws, "", false},

		// What the bridge uses.
		{"tampered JSON", `JSON.stringify = () => "forged"; JSON.parse = () => "forged"; return await tools.echo({a: 1})`, lives, `{"a":1}`, false},
		{"tampered prototypes of collections", `
			for (const C of [Map, Set, WeakMap, Array, String, Number, RegExp, Date, Promise, Error, Function, Object])
				for (const k of Reflect.ownKeys(C.prototype)) try { if (k !== "constructor") Object.defineProperty(C.prototype, k, {value() { throw "tampered" }}) } catch {}
			return await tools.echo({a: [1]})`, append(lives, throws...), "", false},
		{"tampered then", `Promise.prototype.then = function () { throw "tampered" }; return await tools.echo({a: 1})`, lives, `{"a":1}`, false},
		{"tampered constructor of promises", `Object.defineProperty(Promise.prototype, "constructor", {get() { throw "tampered" }}); tools.echo({a: 1}); return 2`, append(lives, throws...), "", false},
		{"tampered species", `Object.defineProperty(Promise, Symbol.species, {get() { return class { constructor() { throw 1 } } }}); return await tools.echo({a: 1})`, lives, `{"a":1}`, false},
		{"tampered Promise", `globalThis.Promise = class { constructor() { throw 1 } }; return await tools.echo({a: 1})`, lives, `{"a":1}`, false},
		{"tampered Reflect and Object", `
			for (const o of [Reflect, Object, Math, JSON, Symbol]) for (const k of Reflect.ownKeys(o)) try { o[k] = () => { throw 1 } } catch {}
			return await tools.echo({a: 1})`, append(lives, throws...), "", false},
		{"setters on Object.prototype", `
			for (const k of ["refused", "resolve", "reject", "name", "at", "v", "above", "value", "get", "toolName", "0", "1"])
				Object.defineProperty(Object.prototype, k, {__proto__: null, set() { throw 1 }, get() { return undefined }, configurable: true});
			const r = await tools.echo({a: 1}); return r.a`, lives, `1`, false},
		{"setters on Array.prototype", `for (let i = 0; i < 10; i++) Object.defineProperty(Array.prototype, i, {set() { throw 1 }, configurable: true}); return (await tools.echo({a: 1})).a`, lives, `1`, false},
		{"tampered iterators", `
			Array.prototype[Symbol.iterator] = function () { throw 1 }; Map.prototype[Symbol.iterator] = Array.prototype[Symbol.iterator];
			console.log("x", [1]); return await tools.echo({a: [1, 2]})`, lives, `{"a":[1,2]}`, false},
		{"toJSON on Object.prototype", `Object.prototype.toJSON = () => "forged"; Array.prototype.toJSON = () => "forged"; return (await tools.echo({a: [1]})).a.length`, lives, `1`, false},
		{"tampered errors", `Error.prepareStackTrace = () => { throw 1 }; Error.stackTraceLimit = -1; Object.defineProperty(Error.prototype, "message", {get() { throw 1 }}); throw new Error("x")`, throws, "", false},
		{"tampered ToolCallError", `ToolCallError.prototype.name = "x"; globalThis.ToolCallError = null; try { await tools.fail({}) } catch (e) { return e.message }`, lives, `"no"`, false},
		{"tampered console", `console.log = null; globalThis.console = null; globalThis.tools2 = tools; return 1`, lives, `1`, false},
		{"tools replaced", `try { globalThis.tools = {} } catch {} return await tools.echo({a: 1})`, lives, `{"a":1}`, false},
		{"tools frozen", `Object.setPrototypeOf(tools, {})`, throws, "", false},
		{"bridge looked for", `return Object.getOwnPropertyNames(globalThis).filter(k => /host|bridge|settle|keywave/i.test(k)).length`, lives, `0`, false},
		{"bridge looked for in stacks", `
			try { Error.prepareStackTrace = (e, s) => { globalThis.frames = s } } catch {} tools.echo({}); new Error().stack;
			return typeof globalThis.frames`, lives, `"undefined"`, false},
		{"bridge looked for in callers", `let c = null; function f() { try { c = f.caller } catch {} } await tools.echo({get a() { f(); return 1 }}); return c === null`, lives, `true`, false},
		{"bridge looked for in apply", `
			const seen = []; Function.prototype.apply = function () { seen.push(this) }; Function.prototype.call = Function.prototype.apply;
			await tools.echo({a: 1}); console.log("x"); return seen.length`, lives, `0`, false},
		{"forged ids", `const p = tools.slow({}); p.id = 0; p.resolve = 1; tools.echo({id: 0}); return (await tools.echo({id: 7})).id`, lives, `7`, false},
		{"tool called with another this", `return await tools.echo.call({}, {a: 1})`, lives, `{"a":1}`, false},
		{"tool constructed", `new tools.echo({a: 1}); return 1`, append(lives, throws...), "", false},

		{"calls within calls", `
			let inner; const r = await tools.echo({a: {get b() { inner = tools.echo({c: [{get d() { console.log({e: [1]}); return 1 }}]}); return 2 }}, f: {g: 3}});
			return [r, await inner]`, lives, `[{"a":{"b":2},"f":{"g":3}},{"c":[{"d":1}]}]`, false},

		{"stack of a tool", `const e = await tools.echo(undefined).catch(e => e); return /prelude/.test(e.stack + (await tools.fail({}).catch(e => e.stack)))`, lives, `false`, false},
		{"then on Object.prototype", `Object.defineProperty(Object.prototype, "then", {get() { throw 1 }, configurable: true}); try { await tools.echo({a: 1}) } catch { delete Object.prototype.then } return (await tools.echo({a: 1})).a`, lives, `1`, false},
		{"calls in the traps of arguments", `
			const p = new Proxy({}, {ownKeys() { tools.echo([1]); return ["a"] }, getOwnPropertyDescriptor: () => ({value: {get z() { tools.echo(2); return 1 }}, enumerable: true, configurable: true})});
			return await tools.echo({o: [p]})`, lives, `{"o":[{"a":{"z":1}}]}`, false},
		{"loop in return of an iterator", `for (const x of {[Symbol.iterator]: () => ({next: () => ({value: 1, done: false}), return() { for (;;); }})}) break`, stops, "", false},
		{"loop in finally with a label", `l: for (;;) { try { for (;;); } finally { console.log("survived"); continue l } }`, stops, "", false},
		{"loop in an async generator with finally", `
			async function* g() { try { yield 1; for (;;); } finally { console.log("survived"); await tools.late(9) } }
			for await (const x of g());`, stops, "", false},
		{"digits of a big integer", `const n = 2n ** 20000n; for (;;) try { String(n) } catch { console.log("survived") }`, stops, "", false},
		{"normal forms without end", `("a" + "\u0315\u0301".repeat(5e5)).normalize("NFC"); return 1`, append(full, ""), "", true},
		{"normal forms", `"\u00e9".repeat(1e4).normalize("NFD"); return 1`, append(full, ""), "", false},

		// Ends.
		{"throws undefined", `throw undefined`, throws, "", false},
		{"throws what cannot be shown", `throw new Proxy(function () {}, {get() { throw 1 }, apply() { throw 2 }, getPrototypeOf() { throw 3 }})`, throws, "", false},
		{"throws a hostile toString", `throw {toString() { throw 1 }, [Symbol.toPrimitive]() { throw 2 }}`, throws, "", false},
		{"throws a huge message", `throw new Error("x".repeat(1e6))`, throws, "", false},
		{"throws a message that is a position", `throw new Error("    at f (program.ts:99999999999999999999:1)\n    at prelude.js:1:1")`, throws, "", false},
		{"returns a promise of itself", `const p = new Promise(r => setTimeout(() => r(p), 1)); return p`, throws, "", false},
		{"returns a thenable that never settles", `return {then() {}}`, throws, "", false},
		{"returns a revoked proxy", `const {proxy, revoke} = Proxy.revocable({}, {}); revoke(); return {proxy}`, []codemode.Kind{codemode.InvalidOutput}, "", false},
		{"passes a revoked proxy", `const {proxy, revoke} = Proxy.revocable({}, {}); revoke(); await tools.echo(proxy)`, throws, "", false},
		{"changes an array while it is read", `const a = [1, 2, 3]; Object.defineProperty(a, 0, {get() { a.length = 1; return 1 }, enumerable: true}); return a`, lives, "", false},
		{"changes arguments while they are read", `const a = [0, 2, 3]; Object.defineProperty(a, 0, {get() { a.length = 1; return 1 }, enumerable: true}); await tools.echo(a)`, append(throws, ""), "", false},
		{"calls after the end", `return {get a() { tools.late({}).catch(() => {}); setTimeout(() => tools.late({}), 0); queueMicrotask(() => tools.late({})); return 1 }}`, lives, `{"a":1}`, false},
		{"calls after the end of a throw", `setTimeout(() => tools.late({}), 0); Promise.resolve().then(() => null).then(() => null).then(() => tools.late({})); throw 1`, throws, "", false},
		{"finalizers", `const r = new FinalizationRegistry(() => { tools.late({}) }); for (let i = 0; i < 1000; i++) r.register({}, i); return 1`, lives, `1`, false},
		{"waits in Atomics", `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`, throws, "", false},
		{"loads a module", `await import("./x.js")`, throws, "", false},
		{"loads a module with a source", `await import("data:text/javascript,export default 1")`, throws, "", false},
		{"evaluates", `(0, eval)("1")`, throws, "", false},
		{"makes functions", `(async () => {}).constructor("for (;;);")()`, throws, "", false},
		{"makes functions by Reflect", `Reflect.construct(Function, ["return 1"], class {})`, throws, "", false},
		{"deletes all globals", `for (const k of Reflect.ownKeys(globalThis)) try { delete globalThis[k] } catch {} return await tools.echo({a: 1})`, lives, `{"a":1}`, false},
		{"freezes everything", `for (const k of Reflect.ownKeys(globalThis)) try { Object.freeze(globalThis[k]); Object.freeze(globalThis[k].prototype) } catch {} Object.freeze(globalThis); return await tools.echo({a: 1})`, lives, `{"a":1}`, false},
	}
}

var tight = codemode.Limits{Wall: 15 * time.Second, Compute: 120 * time.Millisecond, Memory: 16 << 20, Calls: 100, Logs: 10000, Value: 20000, Payload: 20000}

// TestHostile runs each hostile program, and an honest one after it.
func TestHostile(t *testing.T) {
	require.GreaterOrEqual(t, len(hostiles()), 60)
	for k, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			r := m.open(t)
			for i, h := range hostiles() {
				if h.native && m.name == "in-process" {
					continue // documented: such a program is left behind, and computes on
				}
				if testing.Short() && (i/2+k)%4 != 0 {
					continue // a quarter of them, others in each mode
				}
				t.Run(h.name, func(t *testing.T) { h.test(t, r) })
			}
		})
	}
}

func (h hostile) test(t *testing.T, r *js.Runtime) {
	var mu sync.Mutex
	var calls []string
	b := codemode.Bindings{Tools: []string{"echo", "slow", "fail", "late"},
		Call: func(name string, arguments json.RawMessage, settle func(json.RawMessage, string)) {
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, name)
			switch {
			case !json.Valid(arguments):
				calls = append(calls, "invalid")
			case name == "echo":
				settle(arguments, "")
			case name == "fail":
				go settle(nil, "no")
			}
		}}
	limits := tight
	switch {
	case !slices.Contains(h.ends, codemode.Timeout):
		limits.Compute = 8 * time.Second // it is another limit that ends it, if any
	case h.ends[0] != codemode.Timeout:
		limits.Compute = 500 * time.Millisecond
	}
	start := time.Now()
	o, err := r.Run(t.Context(), h.source, b, limits)
	took := time.Since(start)
	require.NoError(t, err)
	require.True(t, slices.Contains(h.ends, o.Failure), "ended as %q: %.300s; value %.300s", o.Failure, o.Message, o.Value)
	require.Less(t, took, 10*time.Second, "the limits of time hold")
	if o.Failure == "" {
		require.Empty(t, o.Message)
	} else {
		require.NotEmpty(t, o.Message)
		require.Nil(t, o.Value)
		require.LessOrEqual(t, len(o.Message), 8<<10)
		if !strings.Contains(h.source, "prelude") {
			require.NotContains(t, o.Message, "prelude", "nothing internal")
		}
	}
	if h.value != "" && o.Failure == "" {
		require.JSONEq(t, h.value, string(o.Value))
	}
	if o.Value != nil {
		require.True(t, json.Valid(o.Value))
		require.LessOrEqual(t, len(o.Value), tight.Value)
	}
	logs := 0
	for _, l := range o.Logs {
		require.NotContains(t, l.Text, "survived", "the program saw its own end")
		logs += len(l.Text)
	}
	require.LessOrEqual(t, logs, tight.Logs)
	mu.Lock()
	require.NotContains(t, calls, "late", "nothing of a program runs after its end")
	require.NotContains(t, calls, "invalid")
	require.LessOrEqual(t, len(calls), tight.Calls)
	mu.Unlock()

	o, err = r.Run(t.Context(), `const r = await tools.echo({n: 20}); console.log("fine"); return r.n + 1`, b, codemode.Limits{})
	require.NoError(t, err)
	require.Empty(t, o.Failure, o.Message)
	require.Equal(t, "21", string(o.Value), "the next program is right")
	require.Equal(t, fmt.Sprint([]codemode.Log{{Level: "log", Text: "fine"}}), fmt.Sprint(o.Logs))
	require.Empty(t, o.Unhandled)
}
