// Package js is a [codemode.Runtime] for programs in TypeScript: QuickJS for the language, esbuild to take the types
// out, all of it Go.
//
//	func main() {
//		js.Worker() // first: this program is its own worker
//		runtime, err := js.New(js.Options{})
//		...
//		defer runtime.Close()
//	}
//
// # Isolation
//
// [New] runs programs in worker processes, [NewInProcess] in the process of the host. The engine is the same; what
// stands between it and the host is not.
//
//	                                       New                           NewInProcess
//	a loop, a slow regular expression      stopped at the limit          stopped at the limit
//	a long step of the engine, such as     killed 100 ms after           the run ends 100 ms after the limit, but the
//	new Array(1e9).join("x")               the limit                     step goes on, and takes a processor
//	TypeScript that takes exponential      killed                        the same
//	time to translate
//	memory of the program's world          limited, by the system too    limited; while a program is translated, 64 KiB
//	                                                                     can take some hundred megabytes
//	a fault of the engine                  the run is a crash            the host may crash, or go wrong
//	start of a program, a call             0.5 ms, 35 µs                 0.5 ms, 20 µs
//	a line in main                         yes                           no
//	platforms                              Linux, macOS                  also FreeBSD and Windows; 64 bits
//
// At most eight programs that cannot be stopped are left behind in a process; then it refuses to run more.
//
// A worker is not a sandbox of the operating system. It has an empty environment, no descriptor but two pipes, may
// write no file, and its memory is limited; but a program that took over the engine's process by a fault in it would
// have the rights of the host's user. Who does not trust the engine itself runs the host in a container.
//
// A limit that was passed ends a program as nothing that it can catch: no catch, no finally and no job of it runs any
// more. The stack is the exception, as the language has it.
//
// # The program
//
// A program is the body of an async function, in strict mode. What is valid JavaScript runs as it is; else, or where
// TypeScript reads the same text differently, the types are taken out: enums, parameter properties and using
// included, not checked. Positions in messages and logs are lines and columns of the program's own source, from 1; what
// a program itself reads in a stack is of the code as it runs.
//
// Before anything parses it, a source is refused that is longer than its limit, has brackets nested more deeply than
// 200, or more than 2000 arrow functions. Brackets in strings, comments, templates and regular expressions do not
// count, wherever that can be told without a parser; where it cannot, both readings must be shallow.
//
// A program finds the language, ES2023 and more, without Intl, and:
//
//   - tools, an object without a prototype, with a function for each name. To read another name from it throws, and
//     lists the names; ask with in. It is no thenable, unless a tool is named then: await tools is a deadlock in that
//     case.
//   - ToolCallError, the class of what a call rejects with: toolName and message.
//   - console: log, info, warn, error, debug; trace, dir, table, group and assert are logs too. Strings stay as they
//     are, other values are as they would be returned, %s and its kin are known.
//   - setTimeout, setInterval, clearTimeout, clearInterval, queueMicrotask. A timer does not keep a program alive that
//     has returned, and its wait is no computing.
//   - structuredClone without transfer, TextEncoder, TextDecoder for UTF-8 without streams, atob, btoa,
//     performance.now.
//   - Date and Math.random, which the host may replace. In a worker the time zone is UTC, in-process that of the host.
//
// There is no file, network, process, environment or module, and no eval or Function. URL is not there either;
// messages say what to use instead.
//
// A program ends when its function has: what it left running never runs again. If nothing can wake it any more, as no
// call is in flight and no timer is set, it ends at once as an exception that says so.
//
// # Limits
//
// What holds where a field of [codemode.Limits] is zero, and what a field may say. If one is out of range, that is an
// error of [Runtime.CheckLimits], and so of codemode.New, and of each run. Memory bounds the program's world, and, apart
// from that, the values that wait for a program which computes, and does not take them.
//
//	           default     at most
//	Wall       1 minute
//	Compute    10 s
//	Memory     64 MiB      2 GiB, and at least 1 MiB
//	Stack      4 MiB       128 MiB
//	Source     64 KiB      64 KiB
//	Logs       64 KiB      1 GiB
//	Value      256 KiB     1 GiB
//	Payload    8 MiB       1 GiB
//	InFlight   32 MiB
//	Calls      200         2147483647
//
// # Values
//
// Arguments of a call must be lossless JSON: plain objects and arrays of strings, finite numbers, booleans and null,
// at most 500 levels deep. Anything else rejects that call with a TypeError that names the path, and the call is not
// made: undefined, also as a property; functions, symbols, BigInt, NaN, Infinity, -0, holes, cycles, objects with a
// class, keys that are symbols, halves of surrogate pairs. A call without arguments sends {}.
//
// A returned value never fails by its shape. What JSON cannot say becomes:
//
//	undefined                      nothing; as a property left out, in an array null
//	BigInt                         a string of its digits
//	NaN, Infinity                  "NaN", "Infinity", "-Infinity"
//	function, symbol               "[function name]", "Symbol(description)"
//	Map, Set, typed array          an array, of pairs for a Map
//	Date, RegExp                   what toJSON says, "/source/flags"
//	Error                          {"name", "message"}, and "toolName"
//	a promise                      "[promise: await it]"
//	ArrayBuffer                    "[ArrayBuffer of n bytes]"
//	what is part of itself         "[circular]"
//	what is 200 levels deep        "[nested too deeply]"
//	half of a surrogate pair       U+FFFD
//
// It is invalid-output only if a getter, a toJSON or a proxy throws while it is read.
package js
