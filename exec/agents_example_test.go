package exec_test

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// Two agents edit the same files at once, in opposite orders. Neither loses what the other writes, and neither waits for
// ever: a call takes all that it claims at once, and gives it back when its body returns.
func Example_agents() {
	files := map[string]*string{"a": new(string), "b": new(string)} // no lock: who has the claim may write
	edits := func(keys ...string) (calls []plan.Call) {
		for _, k := range keys {
			calls = append(calls, plan.Call{Safe: true, Claims: []plan.Claim{{Key: k}}})
		}
		return calls
	}

	domain, permits := exec.NewDomain(), semaphore.NewWeighted(8) // one of each for all agents of the process
	agent := func(ctx context.Context, name string, calls []plan.Call) error {
		_, err := exec.Run(ctx, calls, func(_ context.Context, i int) (struct{}, error) {
			*files[calls[i].Claims[0].Key] += "x"
			return struct{}{}, nil
		}, exec.In(domain), exec.Shared(permits), exec.Name(name))
		return err
	}

	var agents sync.WaitGroup
	agents.Go(func() { fmt.Println(agent(context.Background(), "A", edits("a", "b"))) })
	agents.Go(func() { fmt.Println(agent(context.Background(), "B", edits("b", "a"))) })
	agents.Wait()
	fmt.Println(*files["a"], *files["b"])
	// Output:
	// <nil>
	// <nil>
	// xx xx
}
