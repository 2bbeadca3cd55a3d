package codemode

import (
	"context"
	"encoding/json"
	"time"
)

// A Runtime runs programs. It knows nothing of tools but names, and nothing of sessions or policies: what a program may
// do is decided behind [Bindings]. Package runtimetest has the tests that any Runtime must pass.
//
// A Runtime is safe for concurrent use: any number of programs run at once, each in a world of its own.
//
// It can also have a method CheckLimits(Limits) error, which says why Run would refuse limits: [New] asks it, so that
// the host is told at once, and not the model, by each run.
type Runtime interface {
	// Info says what the runtime is. It does not change.
	Info() Info

	// Run runs one program to its end, and returns when nothing of it can happen any more: when it has ended by itself,
	// when a limit was passed, or when ctx is done, which is [Abort] with the cause of ctx. Whatever the program does is
	// an Outcome; the error is for a runtime that cannot run any program as asked, such as limits that are out of range
	// or a worker that cannot be started.
	//
	// When it returns, calls may be unsettled. To settle one later does nothing.
	Run(ctx context.Context, source string, b Bindings, l Limits) (Outcome, error)
}

// Info is what a host and a model need to know of a [Runtime].
type Info struct {
	Language  string    // as the model is told, such as "TypeScript"
	Isolation Isolation // what keeps a program in
}

// Isolation is what stands between a program and the host.
type Isolation uint8

const (
	// InProcess: the engine runs in the process of the host. Limits are checked between steps of the program, so that a
	// single long step can overrun them, and a fault of the engine is a fault of the host.
	InProcess Isolation = iota
	// Process: the engine runs in a process of its own, which is killed when a limit is overrun.
	Process
)

// Bindings are all that a program can reach.
type Bindings struct {
	// Tools are the names of the tools, in the order in which a program that lists them finds them. Any string is a name;
	// no two are the same.
	Tools []string

	// Call is called for each call of a tool, one at a time, in the order in which the program makes them, and must not
	// wait: it takes note, and returns. name is one of Tools, and arguments is lossless JSON, which it may keep.
	//
	// Whoever answers calls settle, from any goroutine, also before Call has returned; only the first time counts. If
	// failure is empty the program's promise resolves with value, which must be JSON, else it rejects with a ToolCallError
	// that has the failure as its message. The promises of a program settle in the order of the calls of settle.
	Call func(name string, arguments json.RawMessage, settle func(value json.RawMessage, failure string))

	// Now is the clock that the program sees, and Rand its source of random numbers, from 0 up to 1: nil stands for the
	// real one. They are called as Call is, one at a time.
	Now  func() time.Time
	Rand func() float64
}

// Limits bound one run. A field that is zero stands for the default of the runtime, and none can be switched off. A
// limit that is passed ends the program at once, with the [Kind] that is named, which it cannot catch; a field says so
// if it is otherwise.
type Limits struct {
	Wall     time.Duration // from start to end: Timeout
	Compute  time.Duration // of the program itself, without its waits for calls and timers: Timeout
	Memory   int64         // bytes of the program's world, and, apart, of what settled calls have for it to take: Memory
	Stack    int           // bytes: Exception, which a program can catch, as the language has it
	Source   int           // bytes of the program: Exception, before anything of it runs
	Logs     int           // bytes of logs; what is more is dropped, and counted
	Value    int           // bytes of the returned value as JSON: OutputLimit
	Payload  int           // bytes of the arguments or of the value of one call: that call fails
	InFlight int           // bytes of all arguments of unsettled calls together: OutputLimit
	Calls    int           // of tools, in all: CallLimit
}

// A Kind is why a program has failed.
type Kind string

const (
	Exception     Kind = "exception"      // it does not compile, or it threw
	Timeout       Kind = "timeout"        // it took too long
	Abort         Kind = "abort"          // its context was done
	Memory        Kind = "memory"         // it took too much memory
	Crash         Kind = "crash"          // its engine ended unexpectedly
	InvalidOutput Kind = "invalid-output" // what it returned threw when it was read
	OutputLimit   Kind = "output-limit"   // what it returned, or has on its way, is too large
	CallLimit     Kind = "call-limit"     // it made too many calls
)

// An Outcome is how a program ended.
type Outcome struct {
	Failure Kind   // empty: it returned
	Message string // of the failure, for the model, with line numbers of the program's own source, from 1

	// Value is what it returned, as JSON; nil: nothing, or undefined. What JSON cannot say is represented as documented by
	// the runtime: a returned value never fails by its shape.
	Value json.RawMessage

	Logs    []Log
	Dropped int // bytes of logs beyond the limit

	Unhandled []string // messages of rejections that nothing in the program observed
	Unsettled []int    // calls of whose end the program had not heard when it ended: their numbers in the order of Call, from 0

	Compute time.Duration // what Limits.Compute bounds: for how long it computed
}

// A Log is what one call of the console was given.
type Log struct {
	Level string // log, info, warn, error, debug
	Text  string
}
