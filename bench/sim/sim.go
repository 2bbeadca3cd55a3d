package sim

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// ErrInput is wrapped by errors about calls, durations or limits that cannot be simulated.
var ErrInput = errors.New("cannot simulate")

// A Config says how an admission is run.
type Config struct {
	Limit int  // how many bodies may run at once; 0: as many as the admission lets
	Waits bool // fill the Waits of the spans, which costs time quadratic in the calls if very many wait in one wave
}

// A Result is what became of the calls.
type Result struct {
	Spans    []exec.Span   // in the model's order. Times are counted from the start; Waits are there only if asked for
	Makespan time.Duration // when the last call was committed
	Work     time.Duration // all durations together: what one call after another would take
	Peak     int           // the most bodies that ran at once

	limit int
	calls []plan.Call
	order []stamp // by call
}

// Utilisation returns which share of the slots' time bodies used, from 0 to 1. There are as many slots as the limit
// says, or, without a limit, as many as were in use at the peak. It is 1 if no time passed.
func (r *Result) Utilisation() float64 {
	slots := r.limit
	if slots == 0 {
		slots = r.Peak
	}
	if r.Makespan == 0 {
		return 1
	}
	return float64(r.Work) / float64(r.Makespan) / float64(slots)
}

// Run runs calls, of which call i takes takes[i], under a new admission, which it uses up. It keeps calls and does not
// change them. It takes time linear in the calls, times what the admission takes for a step, times the logarithm of how
// many run at once.
//
// The error wraps [ErrInput] if there are not as many durations as calls, a duration is below 0, all of them together
// exceed a time.Duration, or the limit is below 0; and [exec.ErrAdmission] if the admission leaves calls waiting while
// nothing runs, offers one that may not start, or numbers the calls otherwise. A panic of the admission is the
// caller's.
func Run(adm plan.Admission, calls []plan.Call, takes []time.Duration, c Config) (*Result, error) {
	work, err := check(calls, takes)
	switch {
	case err != nil:
		return nil, err
	case adm == nil:
		return nil, fmt.Errorf("%w: no admission", ErrInput)
	case c.Limit < 0:
		return nil, fmt.Errorf("%w: limit %d: must be at least 1, or 0 for none", ErrInput, c.Limit)
	}
	s := &simulation{
		adm:   adm,
		takes: takes,
		limit: c.Limit,
		Result: Result{
			Spans: make([]exec.Span, len(calls)), Work: work,
			limit: c.Limit, calls: calls, order: make([]stamp, len(calls)),
		},
	}
	if c.Limit == 0 {
		s.limit = len(calls)
	}
	if c.Waits {
		s.rec = newRecorder(adm, s.Spans)
	}
	if err := s.run(); err != nil {
		return nil, err
	}
	return &s.Result, nil
}

// check returns the sum of the durations.
func check(calls []plan.Call, takes []time.Duration) (work time.Duration, err error) {
	if len(calls) != len(takes) {
		return 0, fmt.Errorf("%w: %d calls and %d durations: each call needs one", ErrInput, len(calls), len(takes))
	}
	for i, d := range takes {
		switch {
		case d < 0:
			return 0, fmt.Errorf("%w: call %d takes %v: must not be below 0", ErrInput, i+1, d)
		case d > math.MaxInt64-work:
			return 0, fmt.Errorf("%w: calls 1 to %d together take longer than a duration can say", ErrInput, i+1)
		}
		work += d
	}
	return work, nil
}

// A simulation is a run under way.
type simulation struct {
	Result
	adm     plan.Admission
	takes   []time.Duration
	limit   int
	now     time.Duration
	running ends
	cursor  int       // the next to commit
	events  int       // how many starts and ends there were
	rec     *recorder // nil: nobody asks what calls waited for
}

const unreached time.Duration = -1 // as in exec's timeline

func (s *simulation) run() error {
	if err := s.submit(); err != nil {
		return err
	}
	for {
		s.commit()
		if err := s.admit(); err != nil {
			return err
		}
		if len(s.running) == 0 {
			break
		}
		s.settle()
	}
	if s.cursor < len(s.Spans) {
		return fmt.Errorf("%w: nothing runs, and it offers none of the calls that wait, such as call %d",
			exec.ErrAdmission, s.cursor+1)
	}
	s.Makespan = s.now
	return nil
}

func (s *simulation) submit() error {
	if g, ok := s.adm.(plan.Grower); ok {
		claims := 0
		for i := range s.calls {
			claims += len(s.calls[i].Claims)
		}
		g.Grow(len(s.calls), claims)
	}
	for i, c := range s.calls {
		s.Spans[i] = exec.Span{Call: i, Admitted: unreached, Started: unreached, Settled: unreached, Committed: unreached}
		if got := s.adm.Submit(c); got != i {
			return fmt.Errorf("%w: it took call %d for call %d", exec.ErrAdmission, i+1, got+1)
		}
		if s.rec != nil {
			s.rec.submitted(i)
		}
	}
	return nil
}

// commit commits the settled prefix.
func (s *simulation) commit() {
	for s.cursor < len(s.Spans) && s.Spans[s.cursor].Settled >= 0 {
		i := s.cursor
		s.cursor++
		s.adm.Commit(i)
		s.Spans[i].Committed = s.now
		if s.rec != nil {
			s.rec.committed(i, s.now)
		}
	}
}

// admit starts what may start.
func (s *simulation) admit() error {
	refused := 0
	for len(s.running) < s.limit {
		i, ok := s.adm.Next(-1)
		if !ok {
			break
		}
		if i < 0 || i >= len(s.Spans) || s.Spans[i].Started >= 0 {
			return fmt.Errorf("%w: it offered call %d, which may not start", exec.ErrAdmission, i+1)
		}
		if !s.adm.Start(i, s.calls[i]) {
			if refused++; refused > 2*len(s.Spans) {
				return fmt.Errorf("%w: it offers call %d again and again, and refuses it", exec.ErrAdmission, i+1)
			}
			continue
		}
		refused = 0
		s.Spans[i].Admitted, s.Spans[i].Started = s.now, s.now
		s.events++
		s.order[i].started = s.events
		s.running.push(end{s.now + s.takes[i], i})
		s.Peak = max(s.Peak, len(s.running))
		if s.rec != nil {
			s.rec.admitted(i, len(s.running) == s.limit, s.now)
		}
	}
	return nil
}

// settle goes on to the next end, and settles all calls that end then.
func (s *simulation) settle() {
	s.now = s.running[0].at
	for len(s.running) > 0 && s.running[0].at == s.now {
		i := s.running.pop().call
		s.adm.Settle(i)
		s.events++
		s.order[i].settled = s.events
		s.Spans[i].Settled, s.Spans[i].End = s.now, exec.EndReturned
		if s.rec != nil {
			s.rec.settled(i, s.now)
		}
	}
}
