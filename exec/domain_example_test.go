package exec_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// Two agents write the same file. The second one waits until the body of the first has returned, and can be asked for
// what.
func ExampleNewDomain() {
	domain := exec.NewDomain()
	calls := []plan.Call{{Safe: true, Claims: []plan.Claim{{Key: "notes.txt"}}}}
	agent := func(name string, body func()) error {
		_, err := exec.Run(context.Background(), calls, func(context.Context, int) (struct{}, error) {
			body()
			return struct{}{}, nil
		}, exec.In(domain), exec.Name(name))
		return err
	}

	started := make(chan struct{})
	var agents sync.WaitGroup
	agents.Go(func() {
		_ = agent("A", func() {
			close(started)
			for len(domain.Blocked()) == 0 { // somebody will come
				<-time.After(time.Millisecond)
			}
			fmt.Println(domain.Blocked()[0])
			fmt.Println("A writes")
		})
	})
	<-started
	agents.Go(func() {
		_ = agent("B", func() { fmt.Println("B writes") })
	})
	agents.Wait()
	// Output:
	// call 1 of B waits for call 1 of A (write notes.txt)
	// A writes
	// B writes
}

// A body that ignores its cancel is abandoned, and nobody waits for it. It still may write, so it still has its claims:
// a host can list them, and wait for it after all.
func ExampleMemoryDomain_Holds() {
	domain := exec.NewDomain()
	calls := []plan.Call{{Safe: true, Claims: []plan.Claim{{Key: "notes.txt"}}}}
	ctx, cancel := context.WithCancel(context.Background())
	unplugged := make(chan struct{})
	_, err := exec.Run(ctx, calls, func(context.Context, int) (struct{}, error) {
		cancel()
		<-unplugged
		return struct{}{}, nil
	}, exec.In(domain), exec.Name("A"), exec.Drain(time.Millisecond))
	fmt.Println(err)

	for _, hold := range domain.Holds() {
		fmt.Println(hold.By, "has", hold.Claims, "and was abandoned:", !hold.Abandoned.IsZero())
		close(unplugged)
		<-hold.Ended
	}
	fmt.Println("left:", len(domain.Holds()))
	// Output:
	// context canceled
	// call 1 of A has [write notes.txt] and was abandoned: true
	// left: 0
}
