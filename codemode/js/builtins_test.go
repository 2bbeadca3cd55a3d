package js_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/codemode/js"
)

// TestBuiltins: what models expect of a JavaScript world and what the engine lacks is there and right.
func TestBuiltins(t *testing.T) {
	r := js.NewInProcess()
	defer r.Close()
	for source, want := range map[string]string{
		// structuredClone
		`const a = {d: new Date(5), m: new Map([[1, new Set([2])]]), r: /x/gi, u: new Uint8Array([1, 2]), n: null, b: 1n};
		 a.self = a; const c = structuredClone(a);
		 return [c !== a, c.self === c, c.d.getTime(), c.m.get(1).has(2), String(c.r), c.u[1], c.n, c.b === 1n, c.u.buffer !== a.u.buffer]`: `[true,true,5,true,"/x/gi",2,null,true,true]`,
		`const e = structuredClone(new RangeError("x", {cause: 1})); return [e instanceof RangeError, e.message, e.cause]`: `[true,"x",1]`,
		`const c = structuredClone([1, , 3]); return [c.length, 1 in c]`:                                                   `[3,false]`,
		`try { structuredClone(() => 1) } catch (e) { return e.name }`:                                                     `"DataCloneError"`,
		`try { structuredClone({a: [Symbol()]}) } catch (e) { return e.name }`:                                             `"DataCloneError"`,
		`const c = structuredClone(new DataView(new ArrayBuffer(8), 2, 3)); return [c.byteOffset, c.byteLength]`:           `[2,3]`,
		`class A { x = 1; get y() { return 2 } } return structuredClone(new A())`:                                          `{"x":1}`,
		`return structuredClone(JSON.parse('{"__proto__":{"a":1}}'))`:                                                      `{"__proto__":{"a":1}}`,
		// TextEncoder and TextDecoder
		`return [...new TextEncoder().encode("aä€😀\ud800")]`:                                                                  `[97,195,164,226,130,172,240,159,152,128,239,191,189]`,
		`return new TextDecoder().decode(new TextEncoder().encode("aä€😀\u0000z"))`:                                            `"aä€😀\u0000z"`,
		`return new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 97]))`:                                             `"a"`,
		`return new TextDecoder("utf-8", {ignoreBOM: true}).decode(new Uint8Array([0xef, 0xbb, 0xbf, 97]))`:                   `"\ufeffa"`,
		`return new TextDecoder().decode(new Uint8Array([0xc0, 0x80, 0xe0, 0x80, 0xed, 0xa0, 0x80, 0xf8, 0xf0, 0x9f, 0x98]))`: `"���������"`,
		`try { new TextDecoder("utf-8", {fatal: true}).decode(new Uint8Array([255])) } catch (e) { return e.name }`:           `"TypeError"`,
		`try { new TextDecoder("latin1") } catch (e) { return e.name }`:                                                       `"RangeError"`,
		`const u = new Uint8Array(5); return [new TextEncoder().encodeInto("aä€", u), [...u]]`:                                `[{"read":2,"written":3},[97,195,164,0,0]]`,
		`return new TextDecoder().decode(new Uint16Array([0x6261]).buffer)`:                                                   `"ab"`,
		// base64
		`return ["", "a", "ab", "abc", "\u00ff\u0000"].map(btoa)`:                                              `["","YQ==","YWI=","YWJj","/wA="]`,
		`return ["", "YQ==", "YQ", "YWI=", " Y W\nJj "].map(atob)`:                                             `["","a","a","ab","abc"]`,
		`return ["€", "😀"].map(s => { try { btoa(s) } catch (e) { return e.name } })`:                          `["InvalidCharacterError","InvalidCharacterError"]`,
		`return ["Y", "Y===", "Y*==", "YQ="].map(s => { try { return atob(s) } catch (e) { return e.name } })`: `["InvalidCharacterError","InvalidCharacterError","InvalidCharacterError","InvalidCharacterError"]`,
		// The order of what is to come
		`const s = []; setTimeout(() => s.push(3), 0); queueMicrotask(() => s.push(1)); Promise.resolve().then(() => s.push(2));
		 await new Promise(r => setTimeout(r, 5)); return s`: `[1,2,3]`,
		`const s = []; for (const ms of [30, 10, 20, 10]) setTimeout(x => s.push(x), ms, ms); await new Promise(r => setTimeout(r, 60)); return s`: `[10,10,20,30]`,
		`const id = setInterval(() => 1, 5); clearInterval(id); clearTimeout(undefined); clearTimeout(999); return typeof id`:                      `"number"`,
		`const a = performance.now(); await new Promise(r => setTimeout(r, 10)); return performance.now() - a >= 9`:                                `true`,
		// The language itself, where engines differ
		`const s = []; for await (const x of (async function* () { yield 1; yield 2 })()) s.push(x); return s`:                    `[1,2]`,
		`return [Object.groupBy([1, 2, 3], x => x % 2 ? "odd" : "even"), Promise.withResolvers !== undefined, [3, 1].toSorted()]`: `[{"odd":[1,3],"even":[2]},true,[1,3]]`,
		`return ["aé".normalize("NFD").length, /\p{L}+/u.exec("é!")[0], "a-b".replaceAll("-", "+")]`:                              `[3,"é","a+b"]`,
		`return new Date(0).toISOString() + " " + new Date(2020, 0, 1).getFullYear()`:                                             `"1970-01-01T00:00:00.000Z 2020"`,
		// What a value is when JSON cannot say it
		`return [1n, NaN, -Infinity, undefined, () => 1, function f() {}, Symbol("s"), new Map([["a", {b: 1}]]), new Set([1])]`:                     `["1","NaN","-Infinity",null,"[function]","[function f]","Symbol(s)",[["a",{"b":1}]],[1]]`,
		`return {u: undefined, d: new Date(0), x: new Date(NaN), r: /a/g, e: new TypeError("t"), p: Promise.resolve(1), b: new Uint8Array([1, 2])}`: `{"d":"1970-01-01T00:00:00.000Z","x":null,"r":"/a/g","e":{"name":"TypeError","message":"t"},"p":"[promise: await it]","b":[1,2]}`,
		`const x = {a: 1}; x.x = x; return [x, x]`:                                          `[{"a":1,"x":"[circular]"},{"a":1,"x":"[circular]"}]`,
		`return {toJSON() { return {a: 1n} }}`:                                              `{"a":"1"}`,
		`return ["\ud800", Object("s"), Object(1), new ArrayBuffer(3)]`:                     `["\ufffd","s",1,"[ArrayBuffer of 3 bytes]"]`,
		`let d = 0; for (let i = 0; i < 300; i++) d = [d]; return JSON.stringify(d).length`: `601`,
	} {
		o, err := r.Run(t.Context(), source, codemode.Bindings{}, codemode.Limits{})
		require.NoError(t, err)
		require.Empty(t, o.Failure, "%s: %s", source, o.Message)
		require.JSONEq(t, want, string(o.Value), source)
	}
}

func TestConsole(t *testing.T) {
	r := js.NewInProcess()
	defer r.Close()
	for source, want := range map[string]string{
		`console.log("a %s b %d %i %f %j %o %% %c!", "x", "1.5", 2.9, "3.5", {a: 1}, [1], "css")`: `a x b 1.5 2 3.5 {"a":1} [1] % !`,
		`console.log("100%", "sure")`:                                  `100% sure`,
		`console.log("%s")`:                                            `%s`,
		`console.log("%s", 1, "rest", {a: undefined})`:                 `1 rest {}`,
		`console.log(undefined, null, true, 1n, Symbol("s"), () => 1)`: `undefined null true "1" "Symbol(s)" "[function]"`,
		`console.log(new Map([[1, 2]]), [undefined])`:                  `[[1,2]] [null]`,
		`console.assert(true, "no"); console.assert(false, "yes", 1)`:  `Assertion failed: yes 1`,
		"function f() {\n  console.log(new Error('e'))\n}\nf()":        "Error: e\n    at f (line 2:24)\n    at <anonymous> (line 4:2)",
		`console.group("g"); console.groupEnd()`:                       `g`,
		`const log = console.log; log("detached")`:                     `detached`,
	} {
		o, err := r.Run(t.Context(), source, codemode.Bindings{}, codemode.Limits{})
		require.NoError(t, err)
		require.Empty(t, o.Failure, "%s: %s", source, o.Message)
		require.Len(t, o.Logs, 1, source)
		require.Equal(t, want, o.Logs[0].Text, source)
	}
}

// TestStacks: of a stack only what is not the program's is left out, and of a text that looks like one nothing.
func TestStacks(t *testing.T) {
	r := js.NewInProcess()
	defer r.Close()
	text := "Error: x\n    at foo (bar.js:1:2)\n    at map (native)\n    at noon\n"
	quoted := strings.ReplaceAll(text, "\n", "\\n")
	o, err := r.Run(t.Context(), `console.log("`+quoted+`"); [1].map(() => { throw new TypeError("`+quoted+`") })`,
		codemode.Bindings{}, codemode.Limits{})
	require.NoError(t, err)
	require.Equal(t, []codemode.Log{{Level: "log", Text: text}}, o.Logs)
	require.Regexp(t, `^TypeError: `+regexp.QuoteMeta(text)+`\n    at <anonymous> \(line 1:\d+\)\n    at <anonymous> \(line 1:\d+\)$`, o.Message)
}

// TestHints: what is not there is refused with what to use instead.
func TestHints(t *testing.T) {
	r := js.NewInProcess()
	defer r.Close()
	for source, want := range map[string]string{
		`await fetch("http://x")`: "tools",
		`require("fs")`:           "tools",
		`process.env.HOME`:        "tools",
		`new URL("http://x")`:     "encodeURIComponent",
		`Buffer.from("x")`:        "TextEncoder",
		`await import("fs")`:      "modules cannot be imported",
		`import fs from "fs"`:     "modules cannot be imported",
		`await echo({})`:          "it is a tool: tools.echo",
		`tools.nope()`:            "the tools are: echo",
		`new Intl.NumberFormat()`: "toFixed",
		`eval("1")`:               "eval",
	} {
		o, err := r.Run(t.Context(), source, codemode.Bindings{Tools: []string{"echo"}, Call: nothing}, codemode.Limits{})
		require.NoError(t, err)
		require.Equal(t, codemode.Exception, o.Failure, source)
		require.Contains(t, o.Message, want, source)
		require.Contains(t, o.Message, "line 1", source)
	}
	o, err := r.Run(t.Context(), `throw new Error("nobody's fault")`, codemode.Bindings{}, codemode.Limits{})
	require.NoError(t, err)
	require.NotContains(t, o.Message, "tools")
}

// TestThenTool: with a tool named then the tools are a thenable, which never settles: the program ends as a deadlock.
func TestThenTool(t *testing.T) {
	for _, m := range modes {
		r := m.open(t)
		b := codemode.Bindings{Tools: []string{"then"}, Call: func(_ string, a json.RawMessage, settle func(json.RawMessage, string)) { settle(a, "") }}
		o, err := r.Run(t.Context(), `await tools`, b, codemode.Limits{})
		require.NoError(t, err)
		require.Equal(t, codemode.Exception, o.Failure)
		require.Contains(t, o.Message, "deadlock")
		o, err = r.Run(t.Context(), `return await tools.then({a: 1})`, b, codemode.Limits{})
		require.NoError(t, err)
		require.JSONEq(t, `{"a":1}`, string(o.Value), o.Message)
	}
}
