// Package tool declares what a model may call, and turns the calls it makes into results.
//
// A tool is declared once, typed, with [Define]: its name and description, a body, and, where its calls may overlap
// others, Safe and Claims. The schema that the model is shown is inferred from the input type. A [Registry] holds the
// definitions of a host.
//
// [ParseCalls] reads the calls of an assistant message, in the formats that models emit. [Calls] classifies them for
// package plan, so that
//
//	plan.Ordered(tool.Calls(registry, calls))
//
// is a dry run that starts nothing. [Run] executes them: at the same time where that is safe, in the model's order
// where it is not, with one [Result] for every call, in the model's order, whatever happened. [Execute] runs a single
// call the same way. A [Job] is one call for a lane of package exec, for hosts that run a stream of calls or watch each
// of them.
//
// # What is promised
//
// A call is exclusive, that is, runs alone, unless its tool's Safe returned true for its arguments and its tool's
// Claims returned usable claims. No Safe, an unknown tool, invalid arguments, a panic, an error, a claim with an empty
// key: each of them makes the call exclusive. Nothing but Safe opts in.
//
// Arguments are checked before any code of the tool sees them, by the definition that is bound at that moment, and the
// same definition classifies the call and runs it. They must satisfy its schema, and be one JSON text that every reader
// takes alike: UTF-8, no name twice in an object, no half of a surrogate pair, no number of more than 1000 characters
// or with an exponent beyond 1000, nested at most 1000 deep. Nothing of them is rounded or replaced, except that a
// field of a floating-point type holds the nearest number that it can. Empty or blank arguments are {}. Arguments that
// are wrong are the result of that call alone; its body does not start, and its siblings do not notice.
//
// A call is known by its index. Its id is passed on and means nothing here: calls with equal ids, or with none, all
// run.
//
// Every outcome that is not the tool's own has a [Code], and its text tells the model what happened and whether the
// effect may have happened.
package tool
