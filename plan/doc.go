// Package plan decides which tool calls of one turn may run at the same time.
//
// A model answers one turn with several calls, in an order: the model's order. Each [Call] declares whether it may
// overlap others at all and which keys it reads or writes while it runs. Two calls conflict ([Conflict]) when either
// is exclusive, or when two of their claims overlap and at least one of them writes. Everything else follows from
// that one relation.
//
// The promise is serial equivalence: if the declarations are honest, every result and the final state of every
// claimed resource are what running the calls one by one in the model's order would have given. So two conflicting
// calls never overlap and never change places; calls that do not conflict are free.
//
// There are two ways to use the package. A [Planner] takes a whole batch and gives every call a wave: [Ordered] keeps
// the promise with as few waves as any plan that does, [FirstFit] is the classic greedy planner, which does not, and
// is here for comparison. [Verify] and [VerifyOrdered] judge a plan, [Plan.Explain] says why a call is where it is.
//
// An [Admission] takes calls as they come and says, whenever something settled or committed, which may start next:
//
//	NewSerial    everything before it has committed
//	NewRolling   it is next in the model's order and no barrier is up; a write is a barrier
//	NewWaves     every call of every earlier wave has settled
//	NewFirstFit  the same over the waves of FirstFit, which may invert conflicting calls
//	NewKeyed     every earlier call that it conflicts with has settled
//
// In all but NewFirstFit an exclusive call starts when every earlier call has committed, and nothing later starts
// before it has.
//
// Nothing in here has a clock, a goroutine, a lock or does I/O, and the package imports the standard library only.
// Package exec runs calls by an admission; package plantest holds the tests that a planner or an admission of your
// own should pass.
package plan
