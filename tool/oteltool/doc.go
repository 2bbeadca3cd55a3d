// Package oteltool traces tool calls with OpenTelemetry, by its conventions for generative AI.
//
// [WithSpan] is a wrapper for a [tool.Pipeline]: a span for each run of a body, "execute_tool NAME", as a child of the
// span in the caller's context. The body's context carries it, so that what the body does, calls of its own included,
// is below it. What a call waits for, and what becomes of its result afterwards, is outside of it.
//
// It needs OpenTelemetry's API and not its SDK: without an SDK in the program it costs next to nothing. Nobody who does
// not import this package has to do with it.
package oteltool
