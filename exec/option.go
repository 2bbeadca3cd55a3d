package exec

import (
	"fmt"
	"reflect"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/keywave-go/keywave/plan"
)

// DefaultLimit is how many bodies run at once unless [Limit] says otherwise.
const DefaultLimit = 8

// An Option changes how a batch or a lane runs.
type Option func(*options)

type options struct {
	limit    int
	ask      func() (int, error) // for the limit; nil: it is as given
	admit    func() plan.Admission
	drain    time.Duration
	drained  bool
	timeline *Timeline
	name     string
	domain   Domain
	within   bool
	shared   *semaphore.Weighted
	sharing  bool
}

// Limit sets how many bodies may run at once. It must be at least 1. With 1 calls are admitted by [plan.NewSerial],
// whatever [Admit] says.
//
// In a lane with a Domain, while a body waits for a lane of its own, a call that has just got its claims may run in its
// place: the nested lane may be waiting for these. No new call is admitted for that.
func Limit(n int) Option { return func(o *options) { o.limit, o.ask = n, nil } }

// LimitFunc has limit asked how many bodies may run at once, which must be at least 1, at each start that begins a
// group of calls: a wave, a stretch between barriers, or whatever else is one to an admission that is a [plan.Grouper];
// with another admission once, at the first start. So a setting can change while the lane is open, and counts from the
// next group on.
//
// An error of limit, a panic, or a number below 1 is a hard error of the lane. It is called in the lane, and must be
// quick. Other than with [Limit], a limit of 1 changes nothing but how many run. Of the two, the one that is given last
// counts.
func LimitFunc(limit func() (int, error)) Option {
	return func(o *options) {
		if o.limit, o.ask = 1, limit; limit == nil {
			o.limit = 0
		}
	}
}

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
// A wait in Await that ignores its cancel is given up in the same way, with a [*NotRunError], and stops nothing. The
// other stages are always waited for: they must heed their context, as Prepare can, or be quick.
func Drain(d time.Duration) Option { return func(o *options) { o.drain, o.drained = d, true } }

// Record fills t while the calls run. A timeline records one lane at a time, and begins anew with each; while it
// records one that has not ended, another is an error.
func Record(t *Timeline) Option { return func(o *options) { o.timeline = t } }

// Name sets the lane's name in a [Domain]: what waits for one of its calls there shows it, and so do lists and refusals.
func Name(name string) Option { return func(o *options) { o.name = name } }

// In has every call take its claims from d while its body runs, so that it overlaps no call of another lane of d whose
// claims conflict with its own. An exclusive call runs alone in its own lane; in d it counts by its claims, and one that has
// none overlaps the calls of other lanes. What is to run alone in all of d claims the empty key.
//
// A call waits for its claims after its Prepare and its Await and before its permits, on a worker, and does not count
// against the limit meanwhile; while it waits for a permit, it has its claims already. What it claims is what it claimed
// when it started. If its claims are keys of files, names can come to mean other files while it waits: a body that minds
// must look again, as calls of package tool do.
//
// The lease is in the context of the body. A lane that is made in the body, with that context, takes its claims from the
// lease, whether it is given In or not; any other Domain than d is an [ErrOption] then. If calls around it have claims,
// its own calls must be covered by those: one that is not is refused before its body, with a [*NotRunError] that wraps an
// [*UncoveredError]. In [Run] and [Each] that is a hard error, as any other error of the Domain is. A lane that is made in
// the body with a context of another origin knows nothing of that, and can wait for the body for ever.
//
// d must not be nil, and must be comparable.
func In(d Domain) Option { return func(o *options) { o.domain, o.within = d, true } }

// Shared has every call take a permit of sem, in addition to that of the lane, while its body runs: so sem bounds the
// bodies of all lanes that share it. A lane that is made in a body, with the context of the body, shares sem too,
// unless it is given another one.
//
// While such a lane is open, the body around it has no permit of sem, so that lanes nested to any depth cannot use up
// what they wait for; when the lane has ended, the body takes one again before Wait returns, unless its context is done.
// A body that opens a lane should therefore do nothing but wait for it.
//
// sem must not be nil, nor be used for anything that waits for calls that share it.
func Shared(sem *semaphore.Weighted) Option {
	return func(o *options) { o.shared, o.sharing = sem, true }
}

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
	case o.within && !usable(o.domain):
		return o, fmt.Errorf("%w: domain %T: In needs one that can be compared, such as the pointer that NewDomain returns", ErrOption, o.domain)
	case o.sharing && o.shared == nil:
		return o, fmt.Errorf("%w: no semaphore: Shared needs one, such as semaphore.NewWeighted returns", ErrOption)
	case o.drained && o.drain <= 0:
		return o, fmt.Errorf("%w: drain %v: must be above 0; leave it out to wait without a bound", ErrOption, o.drain)
	}
	if o.limit == 1 && o.ask == nil {
		o.admit = plan.NewSerial
	}
	return o, nil
}

// usable reports whether a Domain is there and can be compared, whatever it holds.
func usable(d Domain) bool {
	v := reflect.ValueOf(d)
	return d != nil && v.Comparable() && !(v.Kind() == reflect.Pointer && v.IsNil())
}
