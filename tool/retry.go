package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/keywave-go/keywave/plan"
)

// A TransientError marks the error of a body as one that another attempt may not meet: a server that is busy, a
// connection that broke before anything was sent. The tool says by it that its effect has not happened, or may happen
// twice.
type TransientError struct {
	Err   error
	After time.Duration // the earliest time for another attempt, from now; 0: as the caller thinks fit
}

// Error is that of Err.
func (e *TransientError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *TransientError) Unwrap() error { return e.Err }

// A Retry says how often, and when, an attempt follows one that failed.
type Retry struct {
	Attempts int           // at most, the first one included; 0: three
	Wait     time.Duration // before the second attempt, and half as long again before each further one; 0: 500 ms
	MaxWait  time.Duration // between two attempts; 0: a minute
}

// WithRetry calls what is inside of it again after a [TransientError], with the same arguments. Waits are drawn from
// half as long to one and a half times as long as r says, so that those who failed together do not come again together;
// they end when the call is cancelled.
//
// A call runs under the claims that it was planned with. If its tool declares more by now, since names on disk have
// come to mean something else, there is no further attempt.
func WithRetry(r Retry) Wrapper {
	if r.Attempts <= 0 {
		r.Attempts = 3
	}
	return func(ctx context.Context, c *Invocation, next Next) (Result, error) {
		waits := backoff.NewExponentialBackOff()
		if r.Wait > 0 {
			waits.InitialInterval = r.Wait
		}
		if r.MaxWait > 0 {
			waits.MaxInterval = r.MaxWait
		}
		var (
			got  Result
			last error
			n    int
		)
		_, err := backoff.Retry(ctx, func() (struct{}, error) {
			got, last = next(ctx)
			n++
			var transient *TransientError
			switch {
			case !errors.As(last, &transient):
				return struct{}{}, nil
			case n == r.Attempts:
				if n > 1 {
					last = fmt.Errorf("%w (%d attempts)", last, n)
				}
				return struct{}{}, nil
			}
			if claim, more := widened(c); more {
				last = fmt.Errorf("%w (no further attempt: it would use %v, which it has not claimed)", last, claim)
				return struct{}{}, nil
			}
			if transient.After > 0 {
				return struct{}{}, &backoff.RetryAfterError{Duration: transient.After}
			}
			return struct{}{}, last
		}, backoff.WithBackOff(waits), backoff.WithMaxElapsedTime(0))
		if err != nil { // the call was cancelled
			return got, fmt.Errorf("%w (no further attempt: %w)", last, err)
		}
		return got, last
	}
}

// widened returns the first of the claims that a call would have now and was not planned with, if there is one.
func widened(c *Invocation) (fmt.Stringer, bool) {
	b, err := c.Definition.bind(c.Arguments)
	if err != nil {
		return everything{}, true
	}
	now, err := b.planned()
	if err != nil || c.Planned.Safe && !now.Safe {
		return everything{}, true
	}
	for _, cl := range now.Claims {
		if !slices.ContainsFunc(c.Planned.Claims, func(has plan.Claim) bool { return covers(has, cl) }) {
			return cl, true
		}
	}
	return nil, false
}

// everything is what an exclusive call uses.
type everything struct{}

func (everything) String() string { return "everything" }

// covers reports whether who has a claim has another one with it.
func covers(has, wants plan.Claim) bool {
	if has.Access == plan.Read && wants.Access != plan.Read {
		return false
	}
	key, want := strings.TrimRight(has.Key, "/"), strings.TrimRight(wants.Key, "/")
	if key == want {
		return has.Tree || !wants.Tree
	}
	return has.Tree && strings.HasPrefix(want, key+"/")
}
