// Package codemode lets a model write one program instead of many calls: the tool run_code runs it, and each call that
// it makes of another tool goes through the same pipeline, claims and lane as a direct one.
//
// [New] makes a [View] of a host's tools, which takes their place wherever [tool.Tools] go, such as into a scheduler of
// package harness. What the model is shown of them is run_code, whose description declares the tools to the language of
// the [Runtime]; whether it may also call them directly is a matter of [Present]. A runtime is somebody else's: package
// codemode/js has one for TypeScript. Package runtimetest has the tests that any runtime must pass.
//
// # What a program gets
//
// A call of a program resolves with the value of its result in its final form, as reviewers and the tool's Finalize
// leave it, or with its text if it has no value; if the result is an error, the call rejects with the text that a model
// would be shown. No budget of the pipeline shortens either.
//
// # What a model gets
//
// What the program logged and returned: a string as it is, other JSON with a line for each member unless it is short or
// deep. A program that fails is the result CODE_RUN_FAILED, with its [Kind], its message and what it has logged, and
// what its calls have done stays done. A program that is cancelled is ABORTED or TIMEOUT, as any call is.
//
// Nothing of the results of the calls is shown. But images in them, contexts that they bring along, and that one of
// them concludes the turn, ride on the result of run_code, in the order of the calls, also if the program fails later;
// a reviewer that withholds that result withholds them, too.
//
// # What the log gets
//
// If the host records the calls of the model, as a scheduler of package harness does, the calls of programs are
// recorded with them: an event when a call starts, and one with its result when it is committed. A host can have
// results shortened for that, by [Shorten]. Recording goes on beside the program, in order, so that a call can run
// before its start is recorded, with the time that it had; a program that is as many ends of calls ahead of it as it
// may run calls at once waits. If something cannot be recorded, the program is stopped.
//
// The id of a call is that of the call of run_code with ":code:" and its number, from 1, in the order in which the
// program makes them. Policies and observers find the call around it in the Parent of its [tool.Invocation].
//
// # Contracts
//
// Each has a number, and the tests that hold the package to it have that in their names: TestC4... is about C4. C6 and
// C7 are the runtime's, whose tests are in package runtimetest.
//
//	C1  everything that a direct call gets, a nested one gets: policy, claims, classification at its start, events
//	C2  safe calls overlap up to the cap, exclusive ones run alone up to their commit, and starts follow the order of the
//	    calls under the default admission
//	C3  a promise settles at the commit of its call, in the order of the calls, with the value in its final form, or with
//	    a ToolCallError
//	C4  what started is settled exactly once before the result of run_code; what did not start, leaves nothing; a call
//	    after the end is not made
//	C5  no program gets past a limit: logs, value, payloads, what is in flight and calls are counted apart
//	C6  arguments are lossless JSON, or reject that one call; a returned value never fails by its shape
//	C7  a program reaches the language and its tools, and nothing else
//	C8  contexts of nested calls ride on the result in the order of the calls, also when the program fails later
package codemode
