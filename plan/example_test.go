package plan_test

import (
	"fmt"

	"github.com/keywave-go/keywave/plan"
)

// sixCalls is one turn of a model: Read(a), Read(b), Edit(c), Grep(*), Read(a), Stat(*). Its tools claim keys for sole
// use, and Edit did not opt in to running beside others.
func sixCalls() []plan.Call {
	write := func(key string) plan.Call {
		return plan.Call{Safe: true, Claims: []plan.Claim{{Key: key}}}
	}
	return []plan.Call{write("a"), write("b"), {}, {Safe: true}, write("a"), {Safe: true}}
}

func ExampleOrdered() {
	p := plan.Ordered(sixCalls())
	fmt.Println(p.Waves())
	fmt.Print(p)
	// Output:
	// [[0 1] [2] [3 4 5]]
	// call  safe  claims   wave  rule       reason
	// 1     yes   write a  1     free       nothing earlier is in its way
	// 2     yes   write b  1     free       nothing earlier is in its way
	// 3     no    -        2     exclusive  runs alone, behind call 1
	// 4     yes   -        3     barrier    behind call 3, which is exclusive
	// 5     yes   write a  3     barrier    behind call 3, which is exclusive
	// 6     yes   -        3     barrier    behind call 3, which is exclusive
}

// First-fit lets calls 4 and 6 slip in front of the exclusive call 3.
func ExampleFirstFit() {
	fmt.Println(plan.FirstFit(sixCalls()).Waves())
	// Output: [[0 1 3 5] [2] [4]]
}

func ExampleConflict() {
	read := func(key string) plan.Call {
		return plan.Call{Safe: true, Claims: []plan.Claim{{Key: key, Access: plan.Read}}}
	}
	removeLib := plan.Call{Safe: true, Claims: []plan.Claim{{Key: "lib", Tree: true}}}
	fmt.Println(plan.Conflict(read("lib/a"), read("lib/a")))
	fmt.Println(plan.Conflict(read("lib/a"), removeLib))
	fmt.Println(plan.Conflict(read("library"), removeLib))
	fmt.Println(plan.Conflict(read("library"), plan.Call{})) // the zero Call runs alone
	// Output:
	// false
	// true
	// false
	// true
}

func ExamplePlan_Explain() {
	read := plan.Call{Safe: true, Claims: []plan.Claim{{Key: "src", Access: plan.Read, Tree: true}}}
	edit := plan.Call{Safe: true, Claims: []plan.Claim{{Key: "src/main.go"}}}
	for _, d := range plan.Ordered([]plan.Call{read, edit, read}).Explain() {
		fmt.Printf("call %d: wave %d, %v: %v\n", d.Call+1, d.Wave+1, d.Rule, d)
	}
	// Output:
	// call 1: wave 1, free: nothing earlier is in its way
	// call 2: wave 2, conflict: write src/main.go meets read src/... of call 1
	// call 3: wave 3, conflict: read src/... meets write src/main.go of call 2
}

// Somebody else's plan can be judged as well.
func ExampleVerifyOrdered() {
	write := plan.Call{Safe: true, Claims: []plan.Claim{{Key: "a"}}}
	calls := []plan.Call{write, {}, write}
	theirs, err := plan.New([][]int{{0, 2}, {1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.VerifyOrdered(calls, theirs))
	// Output:
	// invalid plan: calls 1 and 3 share wave 1: write a and write a
	// invalid plan: call 3 in wave 1 is not after call 1 in wave 1: write a and write a
	// invalid plan: call 3 in wave 1 is not after call 2 in wave 2: the first is exclusive
}

// A Planner makes plan after plan in the same memory.
func ExamplePlanner() {
	var planner plan.Planner
	for range 2 {
		p := planner.Ordered(sixCalls()) // good until the planner is used again
		fmt.Println(len(p.Waves()), "waves")
	}
	// Output:
	// 3 waves
	// 3 waves
}

// An admission is driven from outside: ask what may start, and report what happened.
func ExampleAdmission() {
	calls := sixCalls()
	a := plan.NewWaves()
	for _, c := range calls {
		a.Submit(c)
	}
	for commit := 0; commit < len(calls); {
		var running []int
		for i, ok := a.Next(-1); ok; i, ok = a.Next(i) {
			if a.Start(i, calls[i]) {
				running = append(running, i)
			}
		}
		fmt.Println("together:", running)
		for _, i := range running {
			a.Settle(i)
		}
		for range running { // here the calls that run together are the next to commit
			a.Commit(commit)
			commit++
		}
	}
	// Output:
	// together: [0 1]
	// together: [2]
	// together: [3 4 5]
}

// What keeps a call from starting can be asked at any time.
func ExampleAdmission_blocked() {
	a := plan.NewKeyed()
	write := plan.Call{Safe: true, Claims: []plan.Claim{{Key: "a"}}}
	a.Submit(write)
	a.Submit(write)
	b, waits := a.Blocked(1)
	fmt.Println(waits, b)
	// Output: true call 1 (write a)
}
