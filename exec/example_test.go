package exec_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// Two reads overlap, the write waits for the read of its key; results stand at the position of their call.
func ExampleRun() {
	calls := []plan.Call{
		{Safe: true, Claims: []plan.Claim{{Key: "a.txt", Access: plan.Read}}},
		{Safe: true, Claims: []plan.Claim{{Key: "b.txt", Access: plan.Read}}},
		{Safe: true, Claims: []plan.Claim{{Key: "a.txt"}}},
	}
	var mu sync.Mutex
	files := map[string]string{"a.txt": "alpha", "b.txt": "beta"}
	results, err := exec.Run(context.Background(), calls, func(_ context.Context, i int) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		key := calls[i].Claims[0].Key
		if calls[i].Claims[0].Access == plan.Write {
			files[key] = "omega"
		}
		return files[key], nil
	})
	fmt.Println(results, err)
	// Output: [alpha beta omega] <nil>
}

// Results are committed in the order of the calls, as soon as those before them are there.
func ExampleEach() {
	calls := make([]plan.Call, 3)
	for i := range calls {
		calls[i].Safe = true
	}
	err := exec.Each(context.Background(), calls,
		func(_ context.Context, i int) (int, error) { return (i + 1) * (i + 1), nil },
		func(i, square int) error {
			fmt.Println(i+1, "squared is", square)
			return nil
		})
	fmt.Println(err)
	// Output:
	// 1 squared is 1
	// 2 squared is 4
	// 3 squared is 9
	// <nil>
}

// A download is a call with all its stages.
type download struct {
	name string
	text string
}

func (d *download) Classify() plan.Call {
	return plan.Call{Safe: true, Claims: []plan.Claim{{Key: "cache/" + d.name}}}
}

func (d *download) Prepare(context.Context) (bool, error) { return d.name != "secret", nil }

func (d *download) Run(context.Context) exec.Outcome {
	if d.name == "broken" {
		panic("no such host")
	}
	return exec.Outcome{Value: "the text of " + d.name}
}

func (d *download) Settled(_ context.Context, o exec.Outcome) error {
	switch {
	case o.Err != nil:
		d.text = o.Err.Error()
	default:
		d.text = o.Value.(string)
	}
	return nil
}

func (d *download) Commit(context.Context) error {
	if d.text == "" {
		d.text = "refused"
	}
	fmt.Printf("%s: %s\n", d.name, d.text)
	return nil
}

func (d *download) Skip(_ context.Context, cause error) error {
	fmt.Printf("%s: skipped: %v\n", d.name, cause)
	return nil
}

// Calls may be submitted while others run. Every one has its outcome, and they are committed in the order of their submission.
func ExampleLane() {
	lane, err := exec.NewLane(context.Background(), exec.Limit(4), exec.Drain(5*time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"news", "secret", "broken", "mail"} {
		if _, err := lane.Submit(&download{name: name}); err != nil {
			fmt.Println(err)
		}
	}
	lane.Close()
	fmt.Println(lane.Wait())
	// Output:
	// news: the text of news
	// secret: refused
	// broken: call 3: Run panicked: no such host
	// mail: the text of mail
	// <nil>
}

func ExampleLane_Cancel() {
	lane, _ := exec.NewLane(context.Background())
	lane.Cancel(errors.New("the user pressed stop"))
	_, _ = lane.Submit(&download{name: "news"}, &download{name: "mail"})
	lane.Close()
	fmt.Println(lane.Wait())
	// Output:
	// news: skipped: the user pressed stop
	// mail: skipped: the user pressed stop
	// the user pressed stop
}

// The timeline says what every call waited for.
func ExampleRecord() {
	calls := []plan.Call{
		{Safe: true, Claims: []plan.Claim{{Key: "a"}}},
		{Safe: true, Claims: []plan.Claim{{Key: "a", Access: plan.Read}}},
		{}, // exclusive
	}
	var timeline exec.Timeline
	_, err := exec.Run(context.Background(), calls, func(context.Context, int) (int, error) {
		<-time.After(time.Millisecond)
		return 0, nil
	}, exec.Admit(plan.NewKeyed), exec.Record(&timeline))
	if err != nil {
		fmt.Println(err)
	}
	for _, span := range timeline.Snapshot() {
		fmt.Printf("call %d %v", span.Call+1, span.End)
		for _, wait := range span.Waits {
			switch wait.For {
			case exec.WaitClaim:
				fmt.Printf(", waited for call %d to %v", wait.Call+1, wait.Held)
			case exec.WaitBarrier:
				fmt.Printf(", waited at a barrier for call %d", wait.Call+1)
			}
		}
		fmt.Println()
	}
	// Output:
	// call 1 returned
	// call 2 returned, waited for call 1 to write a
	// call 3 returned, waited at a barrier for call 2
}
