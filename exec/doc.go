// Package exec runs calls at the same time where package plan allows it and keeps everything else in the model's order.
//
// [Run] is the short form: a body for every call, results by position. A [Lane] is the long one: every call is a [Job]
// whose stages the lane calls in the right order, and calls may be submitted while others run. Both are the same
// machine; a batch is a stream whose end is known. Neither knows what a tool is.
//
// # Order
//
// There are four orders, and they are kept apart. The model's order is the index that Submit gave. Calls start in the
// order that the [plan.Admission] allows. Bodies return when they return: this is completion order, and Settled follows
// it. Commit follows the model's order, always, over the prefix of calls that have settled, so completion order never
// shows in it.
//
// # What is promised
//
//   - Results stand at the position of their call. Commits come one at a time, in the model's order.
//   - At most limit bodies run at once, but for those that wait for a lane of their own: see [Limit]. A permit is free
//     again the moment a body returns.
//   - The context is checked before every start. After a cancel nothing starts, the bodies that run get the cancel and are
//     waited for, and every call still gets exactly one outcome.
//   - With [Drain], a body that ignores its cancel is abandoned: its outcome says so and its late return is dropped.
//   - A panic or a runtime.Goexit in a body ends that call and no other.
//   - An error in an outcome is data and cancels nobody. An error of a stage stops the lane, and the first one is
//     what Wait returns.
//   - With [In], bodies of different lanes do not overlap where their claims conflict. With [Shared], lanes share a bound
//     for their bodies. However deep lanes are nested in bodies, calls that wait for claims or permits do not deadlock.
//   - No goroutine outlives Run or Wait, except that of an abandoned body.
//   - The values of the caller's context reach every stage.
//
// # Contracts
//
// Each has a number, and the tests that hold the package to it have that in their names: TestE7... is about E7.
//
//	E1   a result stands at the position of its call, whenever the body returned
//	E2   one commit at a time, in the model's order, as far as calls have settled without a gap
//	E3   never more bodies than the limit, and a permit that is free is used at once
//	E4   nothing starts without a look at the context right before it
//	E5   a cancel starts nothing more, waits for what runs, and leaves every call with one outcome
//	E6   past the drain bound a body is abandoned, what it returns is dropped, and the lane stops
//	E7   a panic or a runtime.Goexit in a body is that call's outcome, and nobody else's
//	E8   an error in an outcome is data: it cancels nothing
//	E9   after a hard error nothing starts or commits, and the first one is what is returned: all or nothing
//	E10  no goroutine is left at the end, but for those of abandoned bodies
//	E11  a body gives back its permit of the shared semaphore while a lane nested in it is open, and in a Domain that of
//	     its lane, too, for calls that have their claims already
//	E12  every stage sees the values of the caller's context
//	E13  claims that conflict are never held in a Domain at the same time, unless by a call and one nested in it; what
//	     came first is served first; and nothing deadlocks
//	E14  a timeline says how long each call waited and for what, and the sums add up
//
// # Across lanes
//
// A [Domain] holds claims across lanes: those of several agents, of sub-agents, of a turn that is not over when the next
// begins. Five rules keep it free of deadlocks, and TestE13Rule1... are about them:
//
//  1. A call takes all of its claims at once, and adds none later.
//  2. It takes its place in line when its lane has admitted it and its approval is there, and waits without occupying
//     the lane or a permit.
//  3. It keeps its claims until its body has returned, also when the body was abandoned, so that nothing races a body that
//     nobody waits for any more. It does not keep them until its Settled or its Commit.
//  4. What is nested in a body competes within the body's lease, and must be covered by it.
//  5. A body has no permit while a lane is open in it, neither of the shared semaphore nor of its own lane.
//
// # How it works
//
// The lane is a role, not a goroutine. Workers take it in turns: whoever has something to report and finds the lane
// free drives it, which means committing what is due, admitting the next call and preparing it; then it runs that
// call's body itself. Another worker is started only when it would find something to do, and workers end when there is
// nothing left. Telling that a call settled is a second role, so that it never waits for a Prepare, a Commit or an
// approval. No lock is held while a caller's code runs, except that an admission is asked under the lane's own lock: it
// must be quick, and must not call back into the lane.
package exec
