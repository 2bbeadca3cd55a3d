package js

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"modernc.org/libquickjs"
)

// Each of these tests is a reason not to use the engine's maintained wrapper: what engine.go binds that it lacks.

func world(t *testing.T) *vm {
	m, err := boot()
	require.NoError(t, err)
	m.host = func(int, []value) value { return undefined }
	t.Cleanup(m.close)
	return m
}

// run evaluates a script: its value, or what it threw, as text.
func (m *vm) run(source string) (text string, thrown bool) {
	v, thrown := m.eval(source, "test.js", false)
	defer m.free(v)
	return m.text(v), thrown
}

// TestEngineInterruptStays: a stop that comes while the engine is idle stops what comes next, again and again.
func TestEngineInterruptStays(t *testing.T) {
	m := world(t)
	m.halt(stopTime)
	m.halt(stopAbort)
	for range 3 {
		text, thrown := m.run("{ let n = 0; for (let i = 0; i < 1e7; i++) n++ }")
		require.True(t, thrown, text)
		require.Contains(t, text, "interrupted")
	}
	require.Equal(t, stopTime, m.why(), "the first reason counts")
	select {
	case <-m.halted:
	default:
		t.Fatal("who waits for the stop is not told")
	}
}

// TestEngineInterruptIsPrompt: after a stop the next poll of the engine asks. By itself it asks at every ten thousandth,
// which is seconds apart for some programs.
func TestEngineInterruptIsPrompt(t *testing.T) {
	m := world(t)
	_, thrown := m.run("const big = Array(2000).fill(1.5); function slow() { for (let i = 0; i < 9000; i++) JSON.stringify(big) }; 1")
	require.False(t, thrown)
	stopped := make(chan time.Time, 1)
	w := newWatch(m, order{Limits: limitsOf(time.Hour, 50*time.Millisecond)})
	defer w.end()
	w.enter()
	go func() {
		<-m.halted
		stopped <- time.Now()
	}()
	_, thrown = m.run("slow()")
	require.True(t, thrown)
	require.Less(t, time.Since(<-stopped), time.Second)
}

// TestEngineMemoryIsNotCaught: an allocation that fails ends the program, also one that catches it.
func TestEngineMemoryIsNotCaught(t *testing.T) {
	m := world(t)
	m.limitMemory(4 << 20)
	m.limitStack(1 << 20)
	text, thrown := m.run("let survived = 0; for (;;) { try { const a = []; for (;;) a.push(new Array(1000).fill(a)) } catch { survived++ } }")
	require.True(t, thrown, text)
	require.Equal(t, stopMemory, m.why())
	m = world(t)
	m.limitMemory(4 << 20)
	m.limitStack(1 << 20)
	text, _ = m.run("const a = []; for (let i = 0; i < 1000; i++) a.push([i]); a.length")
	require.Equal(t, "1000", text, "what stays within the limit is not ended")
	require.Equal(t, running, m.why())
}

// TestEngineRejections: promises that were rejected and that nobody looked at are known, and what is looked at later is not.
func TestEngineRejections(t *testing.T) {
	m := world(t)
	_, thrown := m.run("Promise.reject('a'); const b = Promise.reject('b'); Promise.reject('c').catch(() => {}); 1")
	require.False(t, thrown)
	require.Len(t, m.rejected, 2)
	require.Equal(t, "a", m.text(m.rejected[0].reason))
	_, thrown = m.run("b.catch(() => {}); 1")
	require.False(t, thrown)
	require.Len(t, m.rejected, 1)
	_, thrown = m.run("for (let i = 0; i < 1000; i++) Promise.reject(i); 1")
	require.False(t, thrown)
	require.Len(t, m.rejected, maxRejected, "they are bounded")
	require.Equal(t, 901, m.more)
}

// TestEngineEvalOff: once the program is compiled, no text becomes code.
func TestEngineEvalOff(t *testing.T) {
	m := world(t)
	text, thrown := m.run("eval('1 + 1') + new Function('return 1')()")
	require.False(t, thrown)
	require.Equal(t, "3", text)
	f, thrown := m.eval(`(code => { try { return eval(code) } catch (e) { return e.message } })`, "test.js", false)
	require.False(t, thrown)
	defer m.free(f)
	m.evalOff()
	v, _ := m.call(f, m.newString("1 + 1"))
	defer m.free(v)
	require.Contains(t, m.text(v), "not supported")
}

// TestEnginePanicIsContained: a host's function that panics does not unwind through the engine.
func TestEnginePanicIsContained(t *testing.T) {
	m := world(t)
	m.host = func(int, []value) value { panic("boom") }
	r, _ := m.invoke(fnOpen, m.parse(`{"tools":[],"logs":1,"value":1,"payload":1}`))
	m.free(r)
	text, thrown := m.run("try { console.log(1) } catch {} 'survived'")
	require.True(t, thrown, text)
	require.Equal(t, stopPanic, m.why())
}

// TestEngineState: the state of a promise is read without asking anything that the program can replace.
func TestEngineState(t *testing.T) {
	m := world(t)
	v, thrown := m.eval(`
		Promise.prototype.then = () => { throw 1 };
		Object.defineProperty(Promise.prototype, "constructor", {get() { throw 2 }});
		Promise.resolve(7)`, "test.js", false)
	require.False(t, thrown)
	defer m.free(v)
	require.EqualValues(t, libquickjs.EJS_PROMISE_FULFILLED, m.state(v))
	o := m.outcome(v)
	defer m.free(o)
	require.Equal(t, "7", m.text(o))
}

// TestEngineGlobals: what a program finds is this, and nothing else.
func TestEngineGlobals(t *testing.T) {
	m := world(t)
	r, thrown := m.invoke(fnOpen, m.parse(`{"tools":[],"logs":1,"value":1,"payload":1}`))
	require.False(t, thrown, m.text(r))
	m.free(r)
	text, thrown := m.run("Object.getOwnPropertyNames(globalThis).sort().join(' ')")
	require.False(t, thrown)
	require.Equal(t, strings.Join(strings.Fields(`
		AggregateError Array ArrayBuffer Atomics BigInt BigInt64Array BigUint64Array Boolean DataView Date Error EvalError
		FinalizationRegistry Float16Array Float32Array Float64Array Function Infinity Int16Array Int32Array Int8Array InternalError
		Iterator JSON Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set SharedArrayBuffer String
		Symbol SyntaxError TextDecoder TextEncoder ToolCallError TypeError URIError Uint16Array Uint32Array Uint8Array
		Uint8ClampedArray WeakMap WeakRef WeakSet atob btoa clearInterval clearTimeout console decodeURI decodeURIComponent
		encodeURI encodeURIComponent escape eval globalThis isFinite isNaN parseFloat parseInt performance queueMicrotask
		setInterval setTimeout structuredClone tools undefined unescape`), " "), text)
}
