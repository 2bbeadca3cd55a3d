package exec

import (
	"fmt"
	"time"

	"github.com/keywave-go/keywave/plan"
)

// DefaultLimit is how many bodies run at once unless [Limit] says otherwise.
const DefaultLimit = 8

// An Option changes how a batch or a lane runs.
type Option func(*options)

type options struct {
	limit    int
	admit    func() plan.Admission
	drain    time.Duration
	drained  bool
	timeline *Timeline
}

// Limit sets how many bodies may run at once. It must be at least 1. With 1 calls are admitted by [plan.NewSerial],
// whatever [Admit] says.
func Limit(n int) Option { return func(o *options) { o.limit = n } }

// Admit sets what says which call may start: one of [plan.NewWaves], which is the default, [plan.NewFirstFit],
// [plan.NewKeyed], [plan.NewRolling] and [plan.NewSerial], or one's own. It is called once for every lane.
//
// The lane uses the admission under its own lock: its methods must be quick and must not call back into the lane.
func Admit(admission func() plan.Admission) Option { return func(o *options) { o.admit = admission } }

// Drain bounds how long a cancelled body is waited for. It must be above 0; without it the wait has no bound.
//
// After a cancel, of the lane or of one call, or after a hard error, a body that has not returned within d is
// abandoned: its outcome is an [*AbandonedError], its permit is given back, and what it returns later is dropped. The
// lane then stops: calls that have not started are skipped with that error, and bodies that run are let finish,
// uncancelled.
//
// A wait in Await that ignores its cancel is given up in the same way, with a [*NotRunError], and stops nothing. The other
// stages are always waited for: they must heed their context, as Prepare can, or be quick.
func Drain(d time.Duration) Option { return func(o *options) { o.drain, o.drained = d, true } }

// Record fills t while the calls run. A timeline records one lane at a time, and begins anew with each; while it
// records one that has not ended, another is an error.
func Record(t *Timeline) Option { return func(o *options) { o.timeline = t } }

// choose applies the options to the defaults and checks them.
func choose(opts []Option) (options, error) {
	o := options{limit: DefaultLimit, admit: plan.NewWaves}
	for i, opt := range opts {
		if opt == nil {
			return o, fmt.Errorf("%w: option %d of %d is nil", ErrOption, i+1, len(opts))
		}
		opt(&o)
	}
	switch {
	case o.limit < 1:
		return o, fmt.Errorf("%w: limit %d: at least one call must be able to run", ErrOption, o.limit)
	case o.admit == nil:
		return o, fmt.Errorf("%w: no admission: Admit needs a function such as plan.NewWaves", ErrOption)
	case o.drained && o.drain <= 0:
		return o, fmt.Errorf("%w: drain %v: must be above 0; leave it out to wait without a bound", ErrOption, o.drain)
	}
	if o.limit == 1 {
		o.admit = plan.NewSerial
	}
	return o, nil
}
