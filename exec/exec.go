package exec

import (
	"context"
	"fmt"

	"github.com/keywave-go/keywave/plan"
)

// Run runs body for every call, at the same time where the admission allows it, and returns the results by position.
// Calls are known to body by their index.
//
// The results are all or nothing. An error that body returns, a panic and a runtime.Goexit (both a [*PanicError]) are
// hard: nothing more starts, the bodies that run are cancelled and waited for, and Run returns nil and the first of
// them. So an error that is only one call's own, and must not keep its siblings from running, belongs in R. When ctx is
// done before the last body has returned, Run returns nil and [context.Cause]; errors that bodies return after that are
// taken for its echo. With [Drain] it does not wait longer than that: then a body may still be running.
func Run[R any](ctx context.Context, calls []plan.Call, body func(ctx context.Context, i int) (R, error), opts ...Option) ([]R, error) {
	if body == nil {
		return nil, fmt.Errorf("%w: no body: Run needs a function to call", ErrOption)
	}
	results := make([]R, len(calls))
	err := batch(ctx, calls, func(ctx context.Context, i int) (err error) {
		results[i], err = body(ctx, i)
		return err
	}, nil, opts)
	if err != nil {
		return nil, err
	}
	return results, nil
}

// Each is Run with a commit that is called for every result in the order of calls, one at a time, as soon as all
// results before it are there. An error of commit is hard, and nothing is committed after it. After a cancel the
// results that are there are still committed, up to the first call that has none.
func Each[R any](ctx context.Context, calls []plan.Call, body func(ctx context.Context, i int) (R, error), commit func(i int, r R) error, opts ...Option) error {
	if body == nil || commit == nil {
		return fmt.Errorf("%w: no body or no commit: Each needs both functions", ErrOption)
	}
	results := make([]R, len(calls))
	return batch(ctx, calls, func(ctx context.Context, i int) (err error) {
		results[i], err = body(ctx, i)
		return err
	}, func(i int) error {
		r := results[i]
		clear(results[i : i+1]) // it need not live as long as the batch
		return commit(i, r)
	}, opts)
}

// batch runs a lane whose calls are all there and have no stages of their own.
//
// A body stores its result itself, also when it was abandoned. Nobody can see that: an abandoned body was cancelled, so
// Run drops all results and Each commits none from there on.
func batch(ctx context.Context, calls []plan.Call, body func(context.Context, int) error, commit func(int) error, opts []Option) error {
	o, err := choose(opts)
	if err != nil {
		return err
	}
	o.limit = max(1, min(o.limit, len(calls)))
	l, err := newLane(ctx, o)
	if err != nil {
		return err
	}
	l.calls, l.body, l.commit = calls, body, commit
	l.slots = make([]slot, len(calls))
	l.closed = true
	if l.rec != nil {
		l.rec.submitted(len(calls))
	}
	l.live = 1 // the worker below; from here on another may come along
	if l.drain > 0 {
		// Without a bound there is nothing to do about a cancel before a body returns.
		l.heed()
	}
	go l.work(false)
	return l.Wait()
}
