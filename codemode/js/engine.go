package js

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// This file is all that touches the engine's memory. It binds modernc.org/libquickjs, because its maintained wrapper,
// modernc.org/quickjs, lacks what a host needs that does not trust the program. Each has its test in engine_test.go:
//
//   - an interrupt that stays: the wrapper forgets it at the next entry;
//   - an interrupt that is seen at the next poll, not after 10,000 of them;
//   - a failed allocation ends the program, instead of an exception that it may catch;
//   - promises that were rejected and that nobody looked at;
//   - eval, Function and their kin off, once the program is compiled.

type value = lib.TJSValue

var undefined = value{Ftag: lib.EJS_TAG_UNDEFINED}

func isException(v value) bool { return int32(v.Ftag) == lib.EJS_TAG_EXCEPTION }

func newInt(n int) value { return lib.XNewInt32(nil, 0, int32(n)) }

func newBool(b bool) value {
	v := newInt(0)
	if b {
		v = newInt(1)
	}
	v.Ftag = lib.EJS_TAG_BOOL
	return v
}

func newFloat(f float64) (v value) {
	*(*float64)(unsafe.Pointer(&v)) = f
	v.Ftag = lib.EJS_TAG_FLOAT64
	return v
}

// at is the memory of the engine at p: not Go's, so that the collector neither knows nor moves it.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// fp is a function as the engine calls it. Only functions without a closure have an address that stays.
func fp(f any) uintptr { return (*[2]uintptr)(unsafe.Pointer(&f))[1] }

// A stop is why a vm stopped a program.
type stop int32

const (
	running stop = iota
	stopTime
	stopAbort
	stopMemory
	stopWaiting
	stopInFlight
	stopCalls
	stopPanic
)

// A vm is one world for one program. Everything but halt and poke belongs to one goroutine.
type vm struct {
	tls     *libc.TLS
	rt, ctx uintptr
	id      uintptr
	scratch uintptr // room for the arguments of a call, and for a length
	stopped atomic.Int32
	halted  chan struct{} // closed when stopped is set
	mu      sync.Mutex    // over halt and close, so that nothing is poked that was freed
	closed  bool
	broken  bool // it panicked: its memory cannot be trusted, and is not freed

	prelude value // the array of functions that the prelude returned
	main    value // the promise of the program
	host    func(op int, args []value) value

	// Rejected promises that nothing handles, in order. They are kept alive, so that the addresses are theirs.
	rejected []rejection
	more     int // beyond maxRejected
}

type rejection struct{ promise, reason value }

const (
	maxRejected = 100
	maxArgs     = 4
	slotBytes   = 3400 // what a frame of a program takes of the goroutine's stack, as measured on amd64
)

var (
	vms    sync.Map // id → *vm: the engine's memory holds no Go pointers
	lastVM atomic.Uint64
)

// newVM makes an empty world.
func newVM() (*vm, error) {
	m := &vm{tls: libc.NewTLS(), id: uintptr(lastVM.Add(1)), halted: make(chan struct{})}
	m.prelude, m.main = undefined, undefined
	if m.rt = lib.XJS_NewRuntime(m.tls); m.rt == 0 {
		m.tls.Close()
		return nil, errors.New("js: no memory for an engine")
	}
	vms.Store(m.id, m)
	lib.XJS_SetRuntimeOpaque(m.tls, m.rt, m.id)
	lib.XJS_SetInterruptHandler(m.tls, m.rt, fp(onInterrupt), m.id)
	lib.XJS_SetHostPromiseRejectionTracker(m.tls, m.rt, fp(onRejection), m.id)
	lib.XJS_SetModuleLoaderFunc(m.tls, m.rt, 0, fp(onImport), m.id)
	m.scratch = libc.Xmalloc(m.tls, libc.Tsize_t(maxArgs*unsafe.Sizeof(value{})))
	if m.scratch != 0 {
		m.ctx = lib.XJS_NewContext(m.tls, m.rt)
	}
	if m.ctx == 0 {
		m.close()
		return nil, errors.New("js: no memory for an engine")
	}
	mem := &at[lib.TJSRuntime](m.rt).Fmalloc_ctx
	mem.Fmalloc_state.Fopaque = m.id
	allocate.Do(func() { alloc, realloc = mem.Fmf.Fjs_malloc, mem.Fmf.Fjs_realloc })
	mem.Fmf.Fjs_malloc, mem.Fmf.Fjs_realloc = fp(onAlloc), fp(onRealloc)
	return m, nil
}

// limitMemory and limitStack bound what the world may take from now on.
func (m *vm) limitMemory(memory int64) { lib.XJS_SetMemoryLimit(m.tls, m.rt, libc.Tsize_t(memory)) }

func (m *vm) limitStack(stack int) {
	lib.XJS_SetMaxStackSize(m.tls, m.rt, libc.Tsize_t(max(stack/slotBytes, 64)))
}

// close frees the world.
func (m *vm) close() {
	m.mu.Lock()
	closed := m.closed
	m.closed = true
	m.mu.Unlock()
	if closed {
		return
	}
	defer m.tls.Close()
	defer vms.Delete(m.id)
	if m.broken {
		return
	}
	for _, r := range m.rejected {
		m.free(r.promise)
		m.free(r.reason)
	}
	m.rejected = nil
	m.free(m.prelude)
	m.free(m.main)
	if m.ctx != 0 {
		lib.XJS_FreeContext(m.tls, m.ctx)
	}
	lib.XJS_FreeRuntime(m.tls, m.rt)
	if m.scratch != 0 {
		libc.Xfree(m.tls, m.scratch)
	}
}

// halt stops the program for good: the first reason counts. It may be called from any goroutine, again and again
// while the engine runs, because the count that it resets belongs to the engine.
func (m *vm) halt(why stop) {
	m.setStopped(why)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.poke()
	}
}

func (m *vm) setStopped(why stop) {
	if why != running && m.stopped.CompareAndSwap(int32(running), int32(why)) {
		close(m.halted)
	}
}

// poke makes the next poll of the engine ask, instead of the ten-thousandth.
func (m *vm) poke() {
	if m.ctx != 0 {
		atomic.StoreInt32(&at[lib.TJSContext](m.ctx).Finterrupt_counter, 0)
	}
}

func (m *vm) why() stop { return stop(m.stopped.Load()) }

// evalOff takes eval, Function and the constructors of the other kinds of functions from the program.
func (m *vm) evalOff() { at[lib.TJSContext](m.ctx).Feval_internal = 0 }

func (m *vm) dup(v value) value { return lib.XDupValue(m.tls, m.ctx, v) }

func (m *vm) free(v value) {
	if m.ctx != 0 {
		lib.XFreeValue(m.tls, m.ctx, v)
	}
}

// bytes copies s to the engine's memory, with a zero behind it.
func (m *vm) bytes(s string) (uintptr, error) {
	p := libc.Xmalloc(m.tls, libc.Tsize_t(len(s)+1))
	if p == 0 {
		return 0, errors.New("js: out of memory")
	}
	b := unsafe.Slice(at[byte](p), len(s)+1)
	copy(b, s)
	b[len(s)] = 0
	return p, nil
}

func (m *vm) newString(s string) value {
	p, err := m.bytes(s)
	if err != nil {
		m.halt(stopMemory)
		return undefined
	}
	defer libc.Xfree(m.tls, p)
	return lib.XJS_NewStringLen(m.tls, m.ctx, p, libc.Tsize_t(len(s)))
}

// parse makes a value of JSON. It returns an exception if that is no JSON, or if it is too deep or too large.
func (m *vm) parse(json string) value {
	p, err := m.bytes(json)
	if err != nil {
		m.halt(stopMemory)
		return undefined
	}
	defer libc.Xfree(m.tls, p)
	return lib.XJS_ParseJSON(m.tls, m.ctx, p, libc.Tsize_t(len(json)), nameOf("json"))
}

// text is v as a string, with U+FFFD for what is no Unicode.
func (m *vm) text(v value) string {
	p := lib.XJS_ToCStringLen2(m.tls, m.ctx, m.scratch, v, 0)
	if p == 0 {
		m.free(lib.XJS_GetException(m.tls, m.ctx))
		return ""
	}
	defer lib.XJS_FreeCString(m.tls, m.ctx, p)
	return strings.ToValidUTF8(string(unsafe.Slice(at[byte](p), *at[libc.Tsize_t](m.scratch))), "\uFFFD")
}

func (m *vm) number(v value) float64 {
	if lib.XJS_ToFloat64(m.tls, m.ctx, m.scratch, v) != 0 {
		m.free(lib.XJS_GetException(m.tls, m.ctx))
		return 0
	}
	return *at[float64](m.scratch)
}

// call calls f, and frees the arguments. The result, or the exception, is the caller's.
func (m *vm) call(f value, args ...value) (result value, thrown bool) {
	room := unsafe.Slice(at[value](m.scratch), maxArgs)
	copy(room, args)
	r := lib.XJS_Call(m.tls, m.ctx, f, undefined, int32(len(args)), m.scratch)
	for _, a := range args {
		m.free(a)
	}
	return m.result(r)
}

func (m *vm) result(r value) (value, bool) {
	if isException(r) {
		return lib.XJS_GetException(m.tls, m.ctx), true
	}
	return r, false
}

// function is the prelude's function of that number.
func (m *vm) function(n int) value {
	return lib.XJS_GetPropertyUint32(m.tls, m.ctx, m.prelude, uint32(n))
}

// invoke calls the prelude's function n.
func (m *vm) invoke(n int, args ...value) (value, bool) {
	f := m.function(n)
	defer m.free(f)
	return m.call(f, args...)
}

// eval evaluates a script; with compileOnly it only compiles it.
func (m *vm) eval(source, name string, compileOnly bool) (value, bool) {
	p, err := m.bytes(source)
	if err != nil {
		m.halt(stopMemory)
		return undefined, true
	}
	defer libc.Xfree(m.tls, p)
	flags := int32(lib.MJS_EVAL_TYPE_GLOBAL | lib.MJS_EVAL_FLAG_STRICT)
	if compileOnly {
		flags |= lib.MJS_EVAL_FLAG_COMPILE_ONLY
	}
	return m.result(lib.XJS_Eval(m.tls, m.ctx, p, libc.Tsize_t(len(source)), nameOf(name), flags))
}

// evaluate runs code that was compiled, and takes it.
func (m *vm) evaluate(code value) (value, bool) {
	return m.result(lib.XJS_EvalFunction(m.tls, m.ctx, code))
}

func (m *vm) isFunction(v value) bool { return lib.XJS_IsFunction(m.tls, m.ctx, v) != 0 }

// job runs one pending job, and reports whether there was one.
func (m *vm) job() bool { return lib.XJS_ExecutePendingJob(m.tls, m.rt, 0) != 0 }

// watchMain takes the promise of the program: its rejection is the program's end, so that it is not one nobody
// handles.
func (m *vm) watchMain(promise value) {
	m.main = promise
	m.forget(pointer(promise))
}

// forget drops a rejection, and reports whether there was one.
func (m *vm) forget(promise uintptr) bool {
	for i, r := range m.rejected {
		if pointer(r.promise) == promise {
			m.rejected = append(m.rejected[:i], m.rejected[i+1:]...)
			m.free(r.promise)
			m.free(r.reason)
			return true
		}
	}
	return false
}

// state is the state of a promise, without anything that a program could have put in its way.
func (m *vm) state(promise value) lib.TJSPromiseStateEnum {
	return lib.XJS_PromiseState(m.tls, m.ctx, promise)
}

func (m *vm) outcome(promise value) value { return lib.XJS_PromiseResult(m.tls, m.ctx, promise) }

// uncatchable throws what no program catches.
func (m *vm) uncatchable(why stop) value {
	m.setStopped(why)
	m.poke()
	r := lib.XJS_Throw(m.tls, m.ctx, lib.XJS_NewError(m.tls, m.ctx))
	lib.XJS_SetUncatchableException(m.tls, m.ctx, 1)
	return r
}

// throw throws an Error with a message.
func (m *vm) throw(message string) value {
	e := lib.XJS_NewError(m.tls, m.ctx)
	lib.XJS_DefinePropertyValueStr(m.tls, m.ctx, e, nameOf("message"), m.newString(message), 3)
	return lib.XJS_Throw(m.tls, m.ctx, e)
}

func pointer(v value) uintptr { return *(*uintptr)(unsafe.Pointer(&v)) }

// names are strings in the engine's memory that live for ever.
var (
	namesMu sync.Mutex
	names   = map[string]uintptr{}
)

func nameOf(s string) uintptr {
	namesMu.Lock()
	defer namesMu.Unlock()
	p, ok := names[s]
	if !ok {
		var err error
		if p, err = libc.CString(s); err != nil {
			panic(err) // a few bytes, once
		}
		names[s] = p
	}
	return p
}

func vmOf(id uintptr) *vm {
	m, _ := vms.Load(id)
	return m.(*vm)
}

func onInterrupt(_ *libc.TLS, _, id uintptr) int32 {
	if vmOf(id).stopped.Load() != 0 {
		return 1
	}
	return 0
}

func onRejection(_ *libc.TLS, _ uintptr, promise, reason value, handled int32, id uintptr) {
	m := vmOf(id)
	p := pointer(promise)
	if handled == 0 {
		switch {
		case p == pointer(m.main):
		case len(m.rejected) < maxRejected:
			m.rejected = append(m.rejected, rejection{m.dup(promise), m.dup(reason)})
		default:
			m.more++
		}
		return
	}
	if !m.forget(p) {
		m.more = max(m.more-1, 0)
	}
}

func onImport(_ *libc.TLS, _, _, id uintptr) uintptr {
	vmOf(id).throw("modules cannot be imported: a program has only what is global, and its tools")
	return 0
}

// The engine's own allocator keeps the count; what fails in it ends the program.
var (
	allocate       sync.Once
	alloc, realloc uintptr
)

func onAlloc(tls *libc.TLS, s uintptr, size libc.Tsize_t) uintptr {
	f := *(*func(*libc.TLS, uintptr, libc.Tsize_t) uintptr)(unsafe.Pointer(&struct{ uintptr }{alloc}))
	p := f(tls, s, size)
	if p == 0 {
		allocationFailed(s)
	}
	return p
}

func onRealloc(tls *libc.TLS, s, old uintptr, size libc.Tsize_t) uintptr {
	f := *(*func(*libc.TLS, uintptr, uintptr, libc.Tsize_t) uintptr)(unsafe.Pointer(&struct{ uintptr }{realloc}))
	p := f(tls, s, old, size)
	if p == 0 && size != 0 {
		allocationFailed(s)
	}
	return p
}

func allocationFailed(state uintptr) {
	if m, ok := vms.Load(at[lib.TJSMallocState](state).Fopaque); ok {
		m := m.(*vm)
		m.setStopped(stopMemory)
		m.poke()
	}
}

func onHost(tls *libc.TLS, ctx uintptr, _ value, argc int32, argv uintptr, op int32) (result value) {
	m := vmOf(lib.XJS_GetRuntimeOpaque(tls, lib.XJS_GetRuntime(tls, ctx)))
	defer func() {
		// Nothing may unwind through the engine.
		if p := recover(); p != nil {
			result = m.uncatchable(stopPanic)
		}
	}()
	if m.stopped.Load() != 0 {
		return m.uncatchable(running)
	}
	var args []value
	if argc > 0 {
		args = unsafe.Slice(at[value](argv), int(argc))
	}
	return m.host(int(op), args)
}
