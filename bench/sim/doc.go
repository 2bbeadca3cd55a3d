// Package sim runs an admission over calls in virtual time: no goroutine, no clock, the same result every time.
//
// [Run] drives a [plan.Admission], the value itself and not a model of it, in the way that a lane of package exec does:
// all calls are submitted, each call that the admission offers starts while fewer than the limit run, a call settles
// when its duration is over, and the settled prefix commits before another call is admitted. Whatever is not a body
// takes no time. The [exec.Span] of every call is what exec's Timeline records of the same calls.
//
// What a schedule is worth is judged apart from it: [BoundOf] says what no schedule that keeps the order of conflicting
// calls can beat, [Result.Inversions] which conflicting calls ran out of order or together, [Policy.Steps] how many
// rounds a policy takes. [Policies] are those that agent hosts use, from one call after another to everything at once.
//
// # Ties
//
// Calls that end at the same instant all settle, the lowest first, before another one starts. In a lane the first that
// gets hold of it may already be replaced before the second has settled, so that with a limit the two can differ from
// there on; which way a lane goes then is up to the Go scheduler. Calls whose ends differ have one schedule, and lane
// and simulation agree on it. There is one exception: with a limit of 1 a lane admits by [plan.NewSerial], whatever it
// was given, and Run takes the admission as it is.
package sim
