// Package tool declares what a model may call, and turns the calls it makes into results.
//
// A tool is declared once, typed, with [Define]: its name and description, a body, and, where its calls may overlap
// others, Safe and Claims. The schema that the model is shown is inferred from the input type. A [Registry] holds the
// definitions of a host; a [Scope] is what one agent sees of them.
//
// [ParseCalls] reads the calls of an assistant message, in the formats that models emit. [Calls] classifies them for
// package plan, so that
//
//	plan.Ordered(tool.Calls(registry, calls))
//
// is a dry run that starts nothing. [Run] executes them: at the same time where that is safe, in the model's order
// where it is not, with one [Result] for every call, in the model's order, whatever happened. [Execute] runs a single
// call the same way.
//
// # The pipeline
//
// A [Pipeline] is what a host puts around its calls: policies, prompts, guards, wrappers, reviewers, budgets,
// observers. [Pipeline.Run] runs a batch through it. A [Job] is one call for a lane of package exec, for hosts that run
// a stream of calls or record each of them.
//
//	stage      where         what
//	prepare    in the lane   Record, listeners, gates; arguments, policies, prompt, guards
//	dispatch   on a worker   wrappers around the body, check of what it returned
//	settled    at once       the result is there; Record, listeners
//	finalize   in the lane   reviewers, the tool's Finalize, budget; Record, listeners, gates
//
// Calls are prepared in the order in which they start, dispatched beside one another, settle in the order in which they
// are done, and are finalized in the model's order.
//
// # What is promised
//
// A call is exclusive, that is, runs alone, unless its tool's Safe returned true for its arguments and its tool's
// Claims returned usable claims. No Safe, an unknown tool, one that is hidden from this agent, invalid arguments, a
// panic, an error, a claim with an empty key: each of them makes the call exclusive. Nothing but Safe opts in, and no
// policy has to do with it: what may run and what may overlap are two questions.
//
// Arguments are checked before any code of the tool sees them, and before anybody is asked. They must satisfy the
// tool's schema, and be one JSON text that every reader takes alike: UTF-8, no name twice in an object, no half of a
// surrogate pair, no number of more than 1000 characters or with an exponent beyond 1000, nested at most 1000 deep.
// Nothing of them is rounded or replaced, except that a field of a floating-point type holds the nearest number that it
// can. Empty or blank arguments are {}. Arguments that are wrong are the result of that call alone; its body does not
// start, and its siblings do not notice. What a tool returns must be one such JSON text, too, and satisfy the schema
// that the tool declares for it, if it does.
//
// A call that has not started means what its name means when it starts; from its classification on, it keeps that
// definition to its end, for every stage, whatever becomes of the name.
//
// A call is known by its index. Its id is passed on and means nothing here: calls with equal ids, or with none, all
// run.
//
// A deadline counts from the submission. A call that is not running by then never runs; one that is running is
// cancelled, and waited for as long as the lane's drain bound says.
//
// Every outcome that is not the tool's own has a [Code], and its text tells the model what happened and whether the
// effect may have happened. A panic or an error in what is around the body is the outcome of that call. It stops no
// other call and no lane, and it never opens what it was to keep shut: a policy that fails denies, a reviewer that
// fails withholds. What observers do when they fail changes nothing.
//
// # Calls within calls
//
// The body of a tool can make calls of its own, as one that runs a program does: jobs of [NewNested], in a lane that is
// made with its context. They go through the same pipeline, with their Parent in the [Invocation], and [RecordNested] has
// them recorded with the call around them. No [Budget] holds for them, because no model is shown what they return.
//
// # Contracts
//
// Each has a number, and the tests that hold the package to it have that in their names: TestT6... is about T6.
//
//	T1   a call is exclusive unless the classifier returned true
//	T2   claims that cannot be relied upon make it exclusive
//	T3   the model is shown neither, and permission is no part of them
//	T4   arguments are lossless, and what is wrong with them is told before anything runs or anybody is asked
//	T5   calls with the same id, or none, all run, and each has its result
//	T6   each way in which a call can end has its code, in the log and in the text for the model
//	T7   Safe and Claims see this call's arguments and nothing else, and one definition serves a call from start to end
//	H5   only a committed success concludes a turn
//	H7   prompts are shown one at a time, in the order of the starts, each after its policies were asked again
//	H10  nothing runs, and nobody is told, unless it was recorded
package tool
