package sim_test

import (
	"fmt"
	"time"

	"github.com/keywave-go/keywave/bench/sim"
	"github.com/keywave-go/keywave/plan"
)

// Five calls of one turn under every policy.
func Example() {
	read := func(key string) plan.Call {
		return plan.Call{Safe: true, Claims: []plan.Claim{{Key: key, Access: plan.Read}}}
	}
	edit := func(key string) plan.Call { return plan.Call{Safe: true, Claims: []plan.Claim{{Key: key}}} }
	calls := []plan.Call{edit("a"), read("b"), edit("a"), read("c"), read("a")}
	takes := make([]time.Duration, len(calls))
	for i, n := range []time.Duration{50, 300, 50, 50, 50} {
		takes[i] = n * time.Millisecond
	}
	for _, p := range sim.Policies() {
		r, err := p.Run(calls, takes, sim.Config{Limit: 8})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%-10s %v, %d inversions\n", p.Name, r.Makespan, r.Inversions(0).Pairs)
	}
	// Output:
	// serial     500ms, 0 inversions
	// windows    450ms, 0 inversions
	// read-runs  450ms, 0 inversions
	// rolling    450ms, 0 inversions
	// waves      400ms, 0 inversions
	// keyed      300ms, 0 inversions
	// first-fit  400ms, 0 inversions
	// locks      300ms, 0 inversions
	// at-once    300ms, 3 inversions
}

// What a call waited for is what exec's Timeline would show.
func ExampleRun() {
	edit := plan.Call{Safe: true, Claims: []plan.Claim{{Key: "a"}}}
	calls := []plan.Call{edit, edit, {}}
	takes := []time.Duration{2 * time.Second, time.Second, time.Second}
	r, err := sim.Run(plan.NewKeyed(), calls, takes, sim.Config{Waits: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range r.Spans {
		fmt.Printf("call %d runs from %v to %v", s.Call+1, s.Started, s.Settled)
		for _, w := range s.Waits {
			fmt.Printf(", %v", w)
		}
		fmt.Println()
	}
	// Output:
	// call 1 runs from 0s to 2s
	// call 2 runs from 2s to 3s, waited 2s for call 1 (write a)
	// call 3 runs from 3s to 4s, waited 3s for call 2 (barrier)
}

// The bound tells how far a schedule is from the best that keeps the order.
func ExampleBoundOf() {
	read := plan.Call{Safe: true, Claims: []plan.Claim{{Key: "a", Access: plan.Read}}}
	write := plan.Call{Safe: true, Claims: []plan.Claim{{Key: "a"}}}
	calls := []plan.Call{read, read, write, read}
	takes := []time.Duration{time.Second, 3 * time.Second, time.Second, time.Second}
	b, err := sim.BoundOf(calls, takes)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("chain:", b.Chain, b.Critical)
	fmt.Println("with two slots:", b.Lower(2), "with one:", b.Lower(1))
	// Output:
	// chain: [1 2 3] 5s
	// with two slots: 5s with one: 6s
}
