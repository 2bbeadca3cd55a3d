package tool

import (
	"context"
	"errors"
)

// NewNested returns a job for a call that the body which was given ctx makes itself: it goes through the same pipeline,
// what its name means is looked up in t, its Parent is the call of the body, and its Index is how many calls the body had
// made before. As no model is shown its result, no [Budget] holds for it. The error is that ctx is not that of a body.
//
// It is to be run in a lane that is made with ctx, and that has ended before the body returns.
func NewNested(ctx context.Context, t Tools, c Call) (*Job, error) {
	outer, _ := ctx.Value(callKey{}).(*callContext)
	if outer == nil {
		return nil, errNoBody
	}
	j := outer.job.Pipeline.NewJob(t, c)
	j.Parent = &outer.job.Invocation
	j.Index = int(outer.job.nested.Add(1)) - 1
	return j, nil
}

var errNoBody = errors.New("the context is not that of the body of a tool")

// RecordNested hands an event of a call that the body which was given ctx makes itself, or that is nested deeper, to the
// Record of the body's own [Job], if it has one: what is recorded of a call then includes the calls in it. The context that
// Record is given is that in which the body runs, without its cancel. RecordNested is itself a Record for nested jobs.
func RecordNested(ctx context.Context, e Event) error {
	outer, _ := ctx.Value(callKey{}).(*callContext)
	if outer == nil || outer.job.Record == nil {
		return nil
	}
	return outer.job.Record(context.WithoutCancel(outer.Context), e)
}

// RecordsNested reports whether [RecordNested] would reach anybody.
func RecordsNested(ctx context.Context) bool {
	outer, _ := ctx.Value(callKey{}).(*callContext)
	return outer != nil && outer.job.Record != nil
}
