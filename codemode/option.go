package codemode

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// What holds unless an option says otherwise. What of [Limits] is not here is the runtime's to say.
const (
	DefaultMaxParallelSubCalls = 10
	DefaultDrain               = 3 * time.Second

	DefaultCalls    = 200      // in one program
	DefaultLogs     = 64 << 10 // bytes, as are those below
	DefaultValue    = 256 << 10
	DefaultPayload  = 8 << 20
	DefaultInFlight = 32 << 20
)

// ErrOption is what the error of [New] wraps if an option cannot be used.
var ErrOption = errors.New("invalid option")

// A Presentation is how a model is shown tools that programs may call.
type Presentation uint8

const (
	Code   Presentation = iota // run_code, and nothing else: a direct call of another tool is refused, and says how to call it
	Both                       // run_code, and the tools themselves
	Native                     // the tools themselves, without run_code
)

// An Option changes what a [View] shows, or how its programs run.
type Option func(*options)

type options struct {
	present   Presentation
	parallel  int
	admit     func() plan.Admission
	unawaited time.Duration
	drain     time.Duration
	limits    Limits
	shorten   Shortener
	timeline  func(c *tool.Invocation) *exec.Timeline
	now       func() time.Time
	rand      func() float64
}

// A Shortener returns what is recorded of a result of a call that a program made, in the place of the whole of it: the
// program has got that already, and no model sees either. It is called for one call at a time, in the order in which
// they were committed, beside the program and what the program calls. If it fails or panics, or what it returns cannot
// be recorded, the result is recorded as it is.
type Shortener func(ctx context.Context, c *tool.Invocation, r tool.Result) (tool.Result, error)

// Present sets how the model is shown the tools.
func Present(p Presentation) Option { return func(o *options) { o.present = p } }

// MaxParallelSubCalls sets how many calls of one program run at once; it must be at least 1. It has nothing to do with
// how many calls of a message do.
func MaxParallelSubCalls(n int) Option { return func(o *options) { o.parallel = n } }

// Admit sets what says which call of a program may start: [plan.NewRolling], which is the default, starts them in the
// order in which the program makes them, and never has a call that claims a write overlap another one; [plan.NewKeyed]
// lets writes of different keys overlap, too. It must keep the order of calls that conflict, as all of package plan but
// [plan.NewFirstFit] do: models are told that. See [exec.Admit].
func Admit(admission func() plan.Admission) Option { return func(o *options) { o.admit = admission } }

// DrainUnawaited sets how long calls that have not ended when their program does, because it did not await them, may go
// on before they are aborted, or, if they have not started, dropped. 0, the default, is not at all.
func DrainUnawaited(d time.Duration) Option { return func(o *options) { o.unawaited = d } }

// Drain bounds how long a call that was aborted is waited for before it is given up, as [exec.Drain] says: otherwise a
// body that ignores its context would keep its program from ending. It should be less than what bounds the call of
// run_code itself, so that each call within it has an end that is recorded before that is given up as a whole.
func Drain(d time.Duration) Option { return func(o *options) { o.drain = d } }

// Limit bounds each program. A field that is zero stands for its default. It is an error of [New] if a field is below
// 0, or, where the runtime has a CheckLimits, if the runtime would refuse it.
func Limit(l Limits) Option { return func(o *options) { o.limits = l } }

// Shorten sets what shortens results for the log.
func Shorten(s Shortener) Option { return func(o *options) { o.shorten = s } }

// Timeline sets what is asked, right before a program runs, for what records its calls, as [exec.Record] does: how long
// each waited, and for what. c is the call of run_code; the number of a span is the Index of a call's
// [tool.Invocation]. If it returns nil nothing is recorded.
func Timeline(of func(c *tool.Invocation) *exec.Timeline) Option {
	return func(o *options) { o.timeline = of }
}

// World sets the clock and the source of random numbers, from 0 up to 1, that programs see: with ones that repeat
// themselves, so do programs. Both are called from several programs at once. Nil stands for the real one.
func World(now func() time.Time, rand func() float64) Option {
	return func(o *options) { o.now, o.rand = now, rand }
}

func choose(opts []Option) (options, error) {
	o := options{parallel: DefaultMaxParallelSubCalls, admit: plan.NewRolling, drain: DefaultDrain}
	for i, opt := range opts {
		if opt == nil {
			return o, fmt.Errorf("%w: option %d of %d is nil", ErrOption, i+1, len(opts))
		}
		opt(&o)
	}
	l := &o.limits
	switch {
	case o.present > Native:
		return o, fmt.Errorf("%w: there is no presentation %d", ErrOption, o.present)
	case o.parallel < 1:
		return o, fmt.Errorf("%w: MaxParallelSubCalls %d: at least one call must be able to run", ErrOption, o.parallel)
	case o.admit == nil:
		return o, fmt.Errorf("%w: Admit needs a function such as plan.NewRolling", ErrOption)
	case o.unawaited < 0:
		return o, fmt.Errorf("%w: DrainUnawaited %v is below 0", ErrOption, o.unawaited)
	case o.drain <= 0:
		return o, fmt.Errorf("%w: Drain %v must be above 0", ErrOption, o.drain)
	}
	for _, f := range []struct {
		name string
		n    int64
	}{
		{"Wall", int64(l.Wall)}, {"Compute", int64(l.Compute)}, {"Memory", l.Memory}, {"Stack", int64(l.Stack)}, {"Source", int64(l.Source)},
		{"Logs", int64(l.Logs)}, {"Value", int64(l.Value)}, {"Payload", int64(l.Payload)}, {"InFlight", int64(l.InFlight)}, {"Calls", int64(l.Calls)},
	} {
		if f.n < 0 {
			return o, fmt.Errorf("%w: limit %s of %d is below 0: no limit can be switched off", ErrOption, f.name, f.n)
		}
	}
	for field, standard := range map[*int]int{
		&l.Calls: DefaultCalls, &l.Logs: DefaultLogs, &l.Value: DefaultValue, &l.Payload: DefaultPayload, &l.InFlight: DefaultInFlight,
	} {
		if *field == 0 {
			*field = standard
		}
	}
	return o, nil
}
