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
//
// # Contracts
//
// Each has a number, and the tests that hold the package to it have that in their names: TestP3... is about P3. Package
// plantest checks the same of planners and admissions from elsewhere. Below, i comes before j in the model's order.
//
// Of plans:
//
//	P1   every call is in one wave, and an exclusive one is alone there
//	P2   calls that share a wave do not conflict
//	P3   Ordered: if i and j conflict, i is in an earlier wave
//	P4   Ordered: no call is in a later wave than that demands
//	P5   FirstFit: exactly the greedy rule, call by call
//	P6   with at most one plain written key a call, both plan alike between exclusive calls
//	P7   the same batch gives the same plan, and is not changed
//	P8   the claims of one call are merged, and an empty key makes it exclusive
//	P9   keys are compared by component: lib covers lib/a and not library
//	P10  what an unsafe call claims does not matter
//	P11  FirstFit inverts calls in the batches that are written down
//	P12  Ordered, without claims: the groups of the rolling pool
//
// Of admissions:
//
//	A1   calls that conflict never run together
//	A2   all but first-fit: if i and j conflict, i settles before j starts
//	A3   Rolling is the rolling pool: it starts in order, around barriers that a commit lifts
//	A4   when nothing runs and nothing is to be committed, some call may start
//	A5   Serial, Rolling and Waves let nothing start that Keyed would not in the same state
//	A6   Keyed holds a call back only for an earlier one in conflict, or for a barrier
//	A7   a call starts as what it is at that moment, or waits as that; Reordered names what it came too late for
//	A8   all of it for streams: calls may be submitted at any time
//	A9   no call waits for one that came later, unless a classification changed
package plan
