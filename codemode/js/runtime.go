package js

import (
	"context"
	"errors"
	"sync"

	"github.com/keywave-go/keywave/codemode"
)

// A Runtime runs programs in TypeScript. It is made by [New] or by [NewInProcess], which differ in what keeps a
// program in. It is safe for concurrent use.
type Runtime struct {
	isolation codemode.Isolation
	run       func(ctx context.Context, o order, b codemode.Bindings) (codemode.Outcome, error)
	stop      func()

	mu     sync.Mutex
	closed context.Context // done once Close was called
	close  context.CancelCauseFunc
	runs   sync.WaitGroup
}

var _ codemode.Runtime = (*Runtime)(nil)

// ErrClosed is what a run ends with once its [Runtime] was closed.
var ErrClosed = errors.New("js: the runtime is closed")

// Options are those of [New].
type Options struct {
	// Warm is how many workers are started at once, and kept when nothing runs; while all are taken, one more is made
	// ready. Zero is 2; with a negative number none is kept, and each program waits for the start of its worker.
	Warm int

	// Max is how many workers there are at most; a program that finds none free waits, and its wall time runs. Zero
	// is no bound: with one, programs whose tools run programs wait for each other.
	Max int
}

func newRuntime(i codemode.Isolation) *Runtime {
	r := &Runtime{isolation: i, stop: func() {}}
	r.closed, r.close = context.WithCancelCause(context.Background())
	return r
}

// Info says what the runtime is.
func (r *Runtime) Info() codemode.Info {
	return codemode.Info{Language: "TypeScript", Isolation: r.isolation}
}

// CheckLimits says why Run would refuse limits, if so: [codemode.New] asks it. The package documentation has the
// ranges.
func (r *Runtime) CheckLimits(l codemode.Limits) error {
	_, err := withDefaults(l)
	return err
}

// Run runs a program, as [codemode.Runtime] says. The error is [ErrClosed], or says which of the limits or bindings
// cannot be used, or why there is no worker, or, in-process, that too many programs cannot be stopped.
func (r *Runtime) Run(
	ctx context.Context, source string, b codemode.Bindings, l codemode.Limits,
) (codemode.Outcome, error) {
	l, err := withDefaults(l)
	if err != nil {
		return codemode.Outcome{}, err
	}
	if b.Call == nil && len(b.Tools) > 0 {
		return codemode.Outcome{}, errors.New("js: bindings with tools, and without a Call")
	}
	if err := unique(b.Tools); err != nil {
		return codemode.Outcome{}, err
	}
	r.mu.Lock()
	if r.closed.Err() != nil {
		r.mu.Unlock()
		return codemode.Outcome{}, ErrClosed
	}
	r.runs.Add(1)
	r.mu.Unlock()
	defer r.runs.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.closed, func() { cancel(ErrClosed) })()
	if ctx.Err() != nil {
		return aborted(ctx), nil
	}
	return r.run(ctx, order{Source: source, Tools: b.Tools, Limits: l, Now: b.Now != nil, Rand: b.Rand != nil}, b)
}

// Close ends the programs that run, as if their contexts were done, waits for them, and ends the workers. A Runtime
// that was closed runs nothing more. The error is nil, also if it was closed before.
func (r *Runtime) Close() error {
	r.mu.Lock()
	r.close(ErrClosed)
	r.mu.Unlock()
	r.runs.Wait()
	r.stop()
	return nil
}

func unique(tools []string) error {
	seen := make(map[string]struct{}, len(tools))
	for _, t := range tools {
		t = string([]rune(t)) // as a program sees it: what is no UTF-8 is U+FFFD
		if _, ok := seen[t]; ok {
			return errors.New("js: two tools are named " + t)
		}
		seen[t] = struct{}{}
	}
	return nil
}

func aborted(ctx context.Context) codemode.Outcome {
	return codemode.Outcome{Failure: codemode.Abort, Message: "the program was aborted: " + context.Cause(ctx).Error()}
}
