package plantest_test

import (
	"fmt"
	"testing"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/plan/plantest"
)

// A test of a planner of your own. This one gives every call a wave of its own, which keeps the order and is not
// minimal.
func ExampleCheckPlanner() {
	serial := func(calls []plan.Call) plan.Plan {
		var waves [][]int
		for i := range calls {
			waves = append(waves, []int{i})
		}
		p, err := plan.New(waves)
		if err != nil {
			panic(err)
		}
		return p
	}
	_ = func(t *testing.T) {
		plantest.CheckPlanner(t, serial, plantest.P1|plantest.P2|plantest.P3|plantest.P7)
	}
}

func ExampleCheckPlan() {
	calls := []plan.Call{{Safe: true}, {}, {Safe: true}}
	fmt.Println(plantest.CheckPlan(calls, [][]int{{0, 2}, {1}}, plantest.P2|plantest.P3|plantest.P4))
	// Output:
	// P3: call 3 conflicts with call 2 and comes before it, in waves [1 3] [2]
	//   call 1: keyless
	//   call 2: exclusive
	//   call 3: keyless
}

// A test of an admission of your own.
func ExampleCheckAdmission() {
	_ = func(t *testing.T) {
		plantest.CheckAdmission(t, plan.NewRolling, plantest.RollingAdmission)
		plantest.CheckLike(t, plan.NewRolling, func() plan.Admission { return plantest.NewRolling() }, plantest.RollingAdmission)
	}
}

// An admission that can be cloned is explored to the last state. The rolling pool is no Keyed: it holds back a call
// that conflicts with nothing.
func ExampleExplore() {
	alphabet := []plan.Call{{Safe: true}, {Safe: true, Claims: []plan.Claim{{Key: "a"}}}}
	states, err := plantest.Explore(plantest.NewRolling, plantest.Exploration{
		Calls:     3,
		Alphabet:  alphabet,
		Contracts: plantest.RollingAdmission,
	})
	fmt.Println(states > 100, err)

	_, err = plantest.Explore(plantest.NewRolling, plantest.Exploration{
		Calls:     2,
		Alphabet:  alphabet[1:],
		Contracts: plantest.A6,
	})
	fmt.Println(err)
	// Output:
	// true <nil>
	// A6: call 2 waits for no earlier call in conflict and for no barrier
	//   call 1: write "a"
	//   call 2: write "a"
	//   submit call 1: write "a"
	//   submit call 2: write "a"
	//   start call 1 as write "a"
	//   settle call 1
}
