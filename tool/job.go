package tool

import (
	"context"
	"errors"
	"fmt"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// A Job is one call on its way through an [exec.Lane]: an [exec.Job]. Whatever becomes of the call, its stages fail
// never and leave a result.
//
// A host that wants to watch, or to record what it sees, embeds a *Job in a type of its own, overrides the stages that
// it is interested in and calls the Job's from there, first.
type Job struct {
	Call Call

	// Result is the outcome. It may be read from the Job's Settled on; of a call that was refused or skipped, from its
	// Commit or Skip on. A call that a failed lane never came to keeps the one that it begins with, which says that.
	Result Result

	registry *Registry
	prepared prepared // as of the last Classify, which is the one that the call starts with
}

var _ exec.Job = (*Job)(nil)

// NewJob returns a job for a call. What the call's name means is looked up in r when the call is classified, and that
// is right before it starts: a tool that was replaced while the call waited is run as it is then, and planned for as it
// is then.
func NewJob(r *Registry, c Call) *Job {
	return &Job{Call: c, registry: r, Result: coded(AbortedBeforeDispatch, "The dispatch of %s produced no result: it was not run.", named(c.Name))}
}

// Classify binds the call's name and says how the call may overlap others. It never panics.
func (j *Job) Classify() plan.Call {
	b := j.registry.Bind(j.Call.Name)
	// The same definition finds the same in the same arguments. What its Claims make of names on disk can change.
	if p := &j.prepared; p.tool == nil || p.tool != b.Definition {
		*p = prepare(j.registry, b, j.Call)
	}
	planned, _ := j.prepared.classify()
	return planned
}

// Prepare refuses a call that names no tool or has invalid arguments.
func (j *Job) Prepare(context.Context) (dispatch bool, err error) {
	if j.prepared.body == nil {
		j.Result = j.prepared.refusal
		return false, nil
	}
	return true, nil
}

// Run runs the tool's body. The outcome's value is a [Result].
func (j *Job) Run(ctx context.Context) exec.Outcome {
	return exec.Outcome{Value: j.prepared.dispatch(ctx)}
}

// Settled makes the result of the outcome. An error that is none of the lane's, but of a Run that a host put in the
// place of the Job's, is the tool's own.
func (j *Job) Settled(_ context.Context, o exec.Outcome) error {
	var (
		panicking *exec.PanicError
		lost      *exec.AbandonedError
		notStart  *exec.NotRunError
		name      = j.Call.Name
	)
	switch {
	case errors.As(o.Err, &panicking):
		what := "it ended its goroutine (runtime.Goexit)"
		if panicking.Value != nil {
			what = fmt.Sprintf("it panicked: %v", panicking.Value)
		}
		j.Result = panicked(name, what)
	case errors.As(o.Err, &lost):
		j.Result = abandoned(name, lost.Cause)
	case errors.As(o.Err, &notStart) && notStart.Unclaimed:
		j.Result = unclaimed(name, notStart.Cause)
	case errors.As(o.Err, &notStart):
		j.Result = notRun(name, notStart.Cause)
	case o.Err != nil:
		j.Result = failed(o.Err)
	default:
		r, ok := o.Value.(Result)
		if !ok {
			r = invalidOutput(name, fmt.Errorf("its outcome is a %T, not a Result", o.Value))
		}
		j.Result = r
	}
	return nil
}

// Commit leaves the result as it is. It is the stage that a host overrides to append it to its log.
func (j *Job) Commit(context.Context) error { return nil }

// Skip makes the result of a call that was never prepared.
func (j *Job) Skip(_ context.Context, cause error) error {
	j.Result = notRun(j.Call.Name, cause)
	return nil
}
