package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// A callContext is that of a body, and leads to its call. It is of one pass through the wrappers, of which any may call
// next again, also while another is running.
type callContext struct {
	context.Context
	job *Job
	ran atomic.Bool // the body that was prepared is used up
}

type callKey struct{}

// Value implements [context.Context].
func (c *callContext) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// dispatch runs the body, with what is around it, and makes a result of what they return.
func (j *Job) dispatch(ctx context.Context) Result {
	call := &callContext{Context: ctx, job: j}
	ctx = call
	r, err := call.next(ctx, 0)
	switch code := CodeOf(ctx, r, err); code {
	case InvalidToolOutput:
		return invalidOutput(j.Call.Name, err)
	case Aborted, Timeout:
		cause := context.Cause(ctx)
		var late *TimeoutError
		if code == Timeout && errors.As(err, &late) && (cause == nil || j.clock.is(cause) == nil) {
			cause = late // of a wrapper
		} else if err != nil {
			if r = (Result{}); !slices.Contains([]string{ctx.Err().Error(), fmt.Sprint(cause)}, fmt.Sprint(err)) {
				r = failed(err) // it says more than the notice does
			}
		}
		if code == Timeout {
			return timedOut(j.Call.Name, cause, r)
		}
		return aborted(j.Call.Name, cause, r)
	}
	if err != nil {
		return failed(err)
	}
	return r
}

// CodeOf returns the code of the result of a call when it comes to rest: it is for wrappers that count or trace, which
// are given ctx and get r and err from next. A result that is the tool's own, ok or error, has none.
func CodeOf(ctx context.Context, r Result, err error) Code {
	if err == nil && (ctx.Err() == nil || r.Code != "") {
		return r.Code
	}
	var output *outputError
	if errors.As(err, &output) {
		return InvalidToolOutput
	}
	// An error of its own stays what it is also after a cancel; one that only passes the cancel on does not.
	if cause := context.Cause(ctx); cause != nil && (err == nil && !r.IsError || errors.Is(err, ctx.Err()) || errors.Is(err, cause)) {
		if c, _ := ctx.Value(callKey{}).(*callContext); c != nil && c.job.clock.is(cause) != nil {
			return Timeout
		}
		return Aborted
	}
	var late *TimeoutError
	if errors.As(err, &late) {
		return Timeout
	}
	return ""
}

// next runs the wrappers from i on, and the body.
func (c *callContext) next(ctx context.Context, i int) (Result, error) {
	wrappers := c.job.Pipeline.Wrappers
	if i == len(wrappers) {
		return c.body(ctx)
	}
	r, err := wrappers[i](ctx, &c.job.Invocation, func(inner context.Context) (Result, error) {
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		if inner == ctx {
			return c.next(ctx, i+1)
		}
		inner, release := join(inner, ctx)
		defer release()
		return c.next(inner, i+1)
	})
	if err != nil || i > 0 {
		return r, err
	}
	return c.checked(r) // what a wrapper returns is no better than what a body does
}

// body runs the body. It gets its arguments as the model wrote them every time, whatever became of them before.
func (c *callContext) body(ctx context.Context) (r Result, err error) {
	p := &c.job.prepared
	b := p.bound
	if !c.ran.CompareAndSwap(false, true) {
		if b, err = p.tool.bind(p.raw); err != nil {
			return Result{}, err
		}
	}
	if r, err = b.run(ctx); err == nil {
		r = p.tool.own(r)
		err = p.tool.check(r)
	}
	return r, err
}

// checked is a result as a body may return it, once more.
func (c *callContext) checked(r Result) (Result, error) {
	tool := c.job.prepared.tool
	r, err := r.tidy(tool.Name)
	if err == nil {
		r = tool.own(r)
		err = tool.check(r)
	}
	return r, err
}

// join returns inner, as a wrapper made it, with the cancel and the values of outer even if inner is not derived from
// it.
func join(inner, outer context.Context) (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(inner)
	stop := context.AfterFunc(outer, func() { cancel(context.Cause(outer)) })
	return &joined{ctx, outer}, func() {
		stop()
		cancel(nil)
	}
}

// A joined context has the values of another one where it has none itself.
type joined struct {
	context.Context
	outer context.Context
}

// Value implements [context.Context].
func (c *joined) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.outer.Value(key)
}
