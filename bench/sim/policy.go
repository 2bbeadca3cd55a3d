package sim

import (
	"fmt"
	"time"

	"github.com/keywave-go/keywave/plan"
)

// A Policy is a way to admit calls, as hosts of agents have it.
type Policy struct {
	Name    string
	Ordered bool // it promises serial equivalence: conflicting calls run one after another, in the model's order
	// Open returns a new admission of the policy. Limit is how many bodies will run at once, 0 for no limit, which
	// matters to windows only.
	Open func(limit int) plan.Admission
}

// Policies returns those that are compared, from the slowest to the floor:
//
//	serial      one call after another
//	windows     reads in windows as large as the limit, of which the next begins when all of one are done; the rest alone
//	read-runs   consecutive reads together, the rest alone
//	rolling     the rolling pool: calls start in order, and what is not a read is a barrier
//	waves       the waves of plan.Ordered, one after another
//	keyed       a call waits for the earlier calls that it conflicts with
//	first-fit   the waves of plan.FirstFit, which may invert calls
//	locks       a lock for every key, and no order
//	at-once     everything at the same time, whatever it does
//
// Without a limit windows are read-runs. So is the rolling pool, whatever the limit, when a batch is there as a whole,
// and not call by call while the model still writes.
func Policies() []Policy {
	whole := func(open func() plan.Admission) func(int) plan.Admission {
		return func(int) plan.Admission { return open() }
	}
	return []Policy{
		{"serial", true, whole(plan.NewSerial)},
		{"windows", true, NewWindows},
		{"read-runs", true, whole(NewReadRuns)},
		{"rolling", true, whole(plan.NewRolling)},
		{"waves", true, whole(plan.NewWaves)},
		{"keyed", true, whole(plan.NewKeyed)},
		{"first-fit", false, whole(plan.NewFirstFit)},
		{"locks", false, whole(NewLocks)},
		{"at-once", false, whole(NewAtOnce)},
	}
}

// PolicyOf returns the policy of Policies with that name.
func PolicyOf(name string) (Policy, error) {
	for _, p := range Policies() {
		if p.Name == name {
			return p, nil
		}
	}
	return Policy{}, fmt.Errorf("%w: no policy %q: see sim.Policies", ErrInput, name)
}

// Run runs calls under the policy.
func (p Policy) Run(calls []plan.Call, takes []time.Duration, c Config) (*Result, error) {
	r, err := Run(p.Open(max(0, c.Limit)), calls, takes, c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	return r, nil
}

// Steps returns in how many rounds the policy gets through calls: what they take if each takes one unit of time and
// nothing but the policy holds them back. For a policy that runs waves it is their number.
func (p Policy) Steps(calls []plan.Call) (int, error) {
	takes := make([]time.Duration, len(calls))
	for i := range takes {
		takes[i] = 1
	}
	r, err := p.Run(calls, takes, Config{})
	if err != nil {
		return 0, err
	}
	return int(r.Makespan), nil
}
