package tool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// WithTimeout bounds what is inside of it, such as one attempt of a body, by d; 0 or less: no bound. Past it the context
// is done, with a [*TimeoutError]; a body that comes to rest then has TIMEOUT for its outcome, with what it returned
// below the notice, and an error of its own stays what it is. The bound of a [Spec] counts from the submission of a call;
// this one counts from when the body starts. It does not give up a body that ignores its context.
func WithTimeout(d time.Duration) Wrapper {
	return func(ctx context.Context, c *Invocation, next Next) (Result, error) {
		if d <= 0 {
			return next(ctx)
		}
		late := &TimeoutError{d}
		inner, cancel := context.WithTimeoutCause(ctx, d, late)
		defer cancel()
		r, err := next(inner)
		if context.Cause(inner) == error(late) && (err == nil && !r.IsError || errors.Is(err, context.DeadlineExceeded)) {
			return r, late
		}
		return r, err
	}
}

// WithLog logs each call that ran: its name, id, index, duration and, if it did not go well, how it ended; at level
// Info, and Warn then. Arguments and results are not logged. Inside of [WithRetry] it logs every attempt.
func WithLog(l *slog.Logger) Wrapper {
	return func(ctx context.Context, c *Invocation, next Next) (r Result, err error) {
		start := time.Now()
		ended := false
		defer func() {
			attrs := []slog.Attr{slog.String("tool", c.Call.Name), slog.String("id", c.Call.ID), slog.Int("index", c.Index),
				slog.Duration("duration", time.Since(start))}
			level, code := slog.LevelWarn, CodeOf(ctx, r, err)
			switch {
			case !ended:
				attrs = append(attrs, slog.String("code", string(Panic)))
			case code != "":
				attrs = append(attrs, slog.String("code", string(code)))
			case err == nil && !r.IsError:
				level = slog.LevelInfo
			}
			if err != nil {
				attrs = append(attrs, slog.String("error", fmt.Sprint(err)))
			}
			l.LogAttrs(ctx, level, "tool call", attrs...)
		}()
		r, err = next(ctx)
		ended = true
		return r, err
	}
}
