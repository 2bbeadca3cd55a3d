package tool

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// A Job is one call on its way through an [exec.Lane]: an [exec.Job] and an [exec.Waiter]. Whatever becomes of the
// call, its stages never fail, but for Record, and leave a result. [Pipeline.NewJobs] makes jobs.
//
// A host that wants to do more embeds a *Job in a type of its own, overrides the stages that it is interested in, and
// calls the Job's from there.
type Job struct {
	Invocation // as of the last Classify, which is the one that the call starts with

	// Result is the outcome. It may be read from Settled on, and is final after Commit or Skip; of a call that was
	// refused or skipped, it is there from then on. A call that a failed lane never came to keeps the one that it
	// begins with, which says that. Its slices are not to be modified.
	Result Result

	// Record, if not nil, makes durable what happened before any observer is told of it: Started before anything else
	// is done in Prepare, Settled and Committed when there is nothing left to do. It is called in the lane, but for
	// Settled and, unless the pipeline says that a prompt holds the lane, Answered. Its error is that of the stage, and
	// stops the lane; an answer that it fails to record is none. At Committed it may call Abort, if the call is
	// cancelled only now.
	//
	// It is also told of calls that the body makes itself, if that has them recorded: see RecordNested. Their events
	// have a Parent, come from any goroutine while the body runs, and an error is that of RecordNested.
	Record func(ctx context.Context, e Event) error

	prepared prepared
	clock    clock
	approval *approval // what Await has to wait for; nil: nothing
	batch    *batch
	nested   atomic.Int64 // calls that its body has made
}

var (
	_ exec.Job    = (*Job)(nil)
	_ exec.Waiter = (*Job)(nil)
)

// NewJob returns a job for a call without anything around it: see [Pipeline.NewJobs].
func NewJob(t Tools, c Call) *Job { return new(Pipeline).NewJob(t, c) }

// Classify binds the call's name and says how the call may overlap others. It never panics.
func (j *Job) Classify() plan.Call {
	j.bind()
	j.Planned, _ = j.prepared.planned()
	return j.Planned
}

// bind looks up what the call's name means now.
func (j *Job) bind() {
	j.Binding = j.Tools.Bind(j.Call.Name)
	j.classified()
	// The same definition finds the same in the same arguments. What its Claims make of names on disk can change.
	if p := &j.prepared; p.tool == nil || p.tool != j.Definition {
		*p = prepare(j.Tools, j.Binding, j.Call)
		j.Arguments = p.raw
	}
}

// Prepare refuses a call that names no tool, has invalid arguments, is late, or is denied by a policy or a guard. One
// that has to be asked about is left to Await, unless the pipeline says that it holds the lane.
func (j *Job) Prepare(ctx context.Context) (dispatch bool, err error) {
	var refusal Result
	late := j.clock.start()
	if err = j.tell(ctx, Started, Result{}); err == nil {
		refusal, dispatch, err = j.admit(ctx, late)
	}
	switch {
	case err != nil:
		j.Result = j.cancelled(context.Cause(ctx)) // which is why, if there is a cancel
		return false, err
	case !dispatch:
		j.Result = refusal
	}
	return dispatch, nil
}

// Waits reports, once Prepare has returned true, whether there is anything to wait for in Await, which is not called
// otherwise. A host that overrides Await overrides Waits, too.
func (j *Job) Waits() bool { return j.approval != nil }

// Await waits for the answer to the call's prompt, if it has to be asked about.
func (j *Job) Await(ctx context.Context) (run bool) {
	if j.approval == nil {
		return true
	}
	ctx, stop := j.clock.limit(ctx)
	defer stop()
	refusal, ok := j.approve(ctx)
	a := j.approval
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over { // it was given up, and nobody is to hear of it any more
		return false
	}
	if err := j.tell(ctx, Answered, refusal); err != nil {
		refusal, ok = unavailable(j.Call.Name, fmt.Errorf("the answer could not be recorded: %w", err)), false
	}
	a.given = ok
	if !ok {
		a.refusal = &refusal
	}
	return ok
}

// Run runs the tool's body, with the wrappers around it. The outcome's value is a [Result].
//
// In a Domain a call can have waited since it was planned, and a link that its arguments go through may lead elsewhere
// now. So its claims are derived once more: a call that has not all of them is refused, as [Denied].
func (j *Job) Run(ctx context.Context) exec.Outcome {
	ctx, stop := j.clock.limit(ctx)
	defer stop()
	if late := j.clock.is(context.Cause(ctx)); late != nil {
		return exec.Outcome{Value: lateStart(j.Call.Name, late)}
	}
	if _, held := exec.FencingToken(ctx); held { // and what it holds is what cannot change any more
		if claim, more := widened(&j.Invocation); more {
			return exec.Outcome{Value: moved(j.Call.Name, claim)}
		}
	}
	return exec.Outcome{Value: j.dispatch(ctx)}
}

// Settled makes the result of the outcome. An error that is none of the lane's, but of a Run that a host put in the
// place of the Job's, is the tool's own.
func (j *Job) Settled(ctx context.Context, o exec.Outcome) error {
	j.clock.stop()
	j.Result = j.settle(o)
	return j.tell(ctx, Settled, j.Result)
}

func (j *Job) settle(o exec.Outcome) Result {
	name := j.Call.Name
	if o.Err == nil {
		if r, ok := o.Value.(Result); ok {
			return r
		}
		return invalidOutput(name, fmt.Errorf("its outcome is a %T, not a Result", o.Value))
	}
	var (
		panicking *exec.PanicError
		lost      *exec.AbandonedError
		notStart  *exec.NotRunError
	)
	switch {
	case errors.As(o.Err, &panicking) && panicking.In == "Await":
		return unavailable(name, panicking)
	case errors.As(o.Err, &panicking):
		what := "it ended its goroutine (runtime.Goexit)"
		if panicking.Value != nil {
			what = fmt.Sprintf("it panicked: %v", panicking.Value)
		}
		return panicked(name, what)
	case errors.As(o.Err, &lost):
		return abandoned(name, lost.Cause)
	case errors.As(o.Err, &notStart) && notStart.Unclaimed:
		return unclaimed(name, notStart.Cause)
	case errors.As(o.Err, &notStart):
		return j.notStarted(notStart.Cause)
	}
	return failed(o.Err)
}

// notStarted is the result of a call that got as far as Await, and not to its body.
func (j *Job) notStarted(cause error) Result {
	if a := j.approval; a != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		switch a.over = true; {
		case a.refusal != nil:
			return *a.refusal
		case !a.given:
			return j.withdrawn(cause)
		}
	}
	return j.cancelled(cause)
}

// Abort turns a success into [Aborted], with what the tool returned below the notice; a result that is anything else
// stays as it is. It is for a host that learns of a cancel after the call has settled and before its Commit, which is
// still to come, or going on: in Record, at Committed, where the notice comes on top of the [Budget].
func (j *Job) Abort(cause error) {
	if j.Result.Code == "" && !j.Result.IsError {
		j.Result = aborted(j.Call.Name, cause, j.Result)
	}
}

// Commit makes the result final: reviewers, the tool's Finalize, budget. A Job that was never in a lane can be given
// its Result, as a log has it, and be committed: nothing is run then.
func (j *Job) Commit(ctx context.Context) error {
	j.finalize(ctx)
	return j.tell(ctx, Committed, j.Result)
}

// Skip makes the result of a call that was never prepared, and makes it final.
func (j *Job) Skip(ctx context.Context, cause error) error {
	j.Result = j.cancelled(cause)
	return j.Commit(ctx)
}

// Drop takes the place of Skip for a call that leaves no trace, such as one that a program made and did not wait for: it
// has a result that says why it was not run, and nobody is told.
func (j *Job) Drop(cause error) {
	j.clock.stop()
	j.Result = j.cancelled(cause)
}

// Interrupt makes the result of a call that was running when the process ended, of which a log has no more than its
// start. Its Commit is still to come.
func (j *Job) Interrupt() { j.Result = interrupted(j.Call.Name) }
