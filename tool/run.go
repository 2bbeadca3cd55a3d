package tool

import (
	"context"

	"github.com/keywave-go/keywave/exec"
)

// Run executes the calls of one assistant message: at the same time where that is safe, in their order where it is not.
// It returns one result for each call, at the call's position, whatever happened.
//
// A call that fails, panics or cannot run has a result that says so, and its siblings go on. When ctx is done, nothing
// more starts, and what runs is cancelled and waited for, for as long as [exec.Drain] says; then Run returns all
// results, as they are by then, together with [context.Cause]. Only an option that is invalid leaves no results:
// nothing has run then, and the error wraps [exec.ErrOption].
//
// Run plans by [plan.NewWaves], at most [exec.DefaultLimit] calls at once, unless opts say otherwise.
func Run(ctx context.Context, t Tools, calls []Call, opts ...exec.Option) ([]Result, error) {
	return new(Pipeline).Run(ctx, t, calls, opts...)
}

// Execute runs a single call, the way [Run] runs many.
func Execute(ctx context.Context, t Tools, c Call, opts ...exec.Option) (Result, error) {
	results, err := Run(ctx, t, []Call{c}, opts...)
	if err != nil && results == nil {
		return Result{}, err
	}
	return results[0], err
}
