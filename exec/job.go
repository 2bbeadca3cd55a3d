package exec

import (
	"context"

	"github.com/keywave-go/keywave/plan"
)

// A Job is one call on its way through a [Lane].
//
// Classify, Prepare, Commit and Skip are called in the lane, one at a time for all of its calls. Settled is called one
// at a time too, but beside them. So the stages of one job need no lock, and the lane's stages of different jobs need
// none either; what Settled shares with other jobs' stages does. Exactly one of these happens to a submitted job,
// unless the lane fails:
//
//   - Prepare returns true: one Settled, whatever became of Run, and then one Commit;
//   - Prepare returns false: one Commit;
//   - it is never prepared, because the lane or the call was cancelled: one Skip.
//
// A stage that fails, panics or calls runtime.Goexit is a hard error, and stops the lane: nothing more starts, the
// bodies that run are cancelled and waited for, Settled is still called for every prepared call, Commit and Skip are
// not. No stage may wait for a later stage of this or of another call, or for the lane's Wait: it would wait for
// itself.
type Job interface {
	// Classify says what the call is. It is called once the job is submitted, and again right before the start, because
	// what a call is may change while it waits. It must be quick. The claims are kept, not copied: a later answer that
	// differs must bring claims of its own.
	Classify() plan.Call

	// Prepare does what comes before the body and must not overlap: record, policy, guards. It is called in the order
	// of the starts. False refuses the call: it goes on to Commit without a body. An error is hard; only an error that
	// comes when ctx is done, because the lane or the call was cancelled, counts as a refusal.
	Prepare(ctx context.Context) (dispatch bool, err error)

	// Run is the body. It is called on a worker and may overlap other bodies. It must write nothing that Settled or
	// Commit reads, but return it, and read nothing that they write, because an abandoned body may still be running
	// then. Its ctx ends when it returns.
	Run(ctx context.Context) Outcome

	// Settled tells that the body has an outcome: make it durable, tell observers. Calls come in the order of
	// completion, and never wait for a Prepare, a Commit or an approval. ctx has the caller's values but not its
	// cancel.
	Settled(ctx context.Context, o Outcome) error

	// Commit makes the call's result visible, in the model's order. ctx has the caller's values but not its cancel.
	Commit(ctx context.Context) error

	// Skip takes the place of Commit when the call was never prepared. ctx has the caller's values but not its cancel.
	Skip(ctx context.Context, cause error) error
}

// A Waiter is a [Job] that has to wait for somebody, such as a person who must approve, between Prepare and Run. It
// waits on a worker, not in the lane, and does not count against the limit: it holds up only the calls that its
// admission orders after it. Await must return when ctx is done; with [Drain] it may be given up like a Run, and shares
// as little with Settled and Commit. False: there is no Run, but still one Settled, with a [*NotRunError], and one
// Commit.
//
// A Waiter that waits only sometimes also has a method Waits() bool. It is called in the lane, right after Prepare has
// returned true; if it returns false there is no Await, and the call goes on as that of any other Job.
type Waiter interface {
	Await(ctx context.Context) (run bool)
}

// An Outcome is how the body of a call ended.
type Outcome struct {
	Value any   // what Run returned; the lane does not look at it
	Err   error // nil if Run returned, unless Run set it; else a *PanicError, an *AbandonedError or a *NotRunError
}
