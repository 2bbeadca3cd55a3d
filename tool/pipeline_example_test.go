package tool_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// terminal is an approver. A real one would ask a person, and return when ctx is done.
type terminal struct{}

func (terminal) Show(_ context.Context, p *tool.Prompt) error {
	fmt.Printf("? %s %s (%s)\n", p.Call.Call.Name, p.Call.Arguments, p.Reason)
	if strings.Contains(string(p.Call.Arguments), "done") {
		return p.Answer(tool.Answer{Decision: tool.AllowSession})
	}
	return p.Answer(tool.Answer{Text: "leave that one alone"})
}

// A pipeline around the calls of a session: a policy that has calls asked about, retries, a budget, an observer.
func ExamplePipeline() {
	n := notes{"todo": new(strings.Builder), "done": new(strings.Builder)}
	registry, err := n.tools()
	if err != nil {
		fmt.Println(err)
		return
	}
	p := &tool.Pipeline{
		Policies: []tool.Policy{func(_ context.Context, c *tool.Invocation) (tool.Verdict, error) {
			if c.Call.Name == "add" {
				return tool.Verdict{Action: tool.Ask, Reason: "it changes a note", Grant: string(c.Arguments)}, nil
			}
			return tool.Verdict{Action: tool.Allow}, nil
		}},
		Prompter: &tool.Prompter{Approver: terminal{}, Timeout: time.Minute},
		Wrappers: []tool.Wrapper{tool.WithRetry(tool.Retry{}), tool.WithTimeout(10 * time.Second)},
		Budget:   tool.Budget{Result: 50_000, Batch: 200_000},
		Gates: []tool.Gate{func(_ context.Context, e tool.Event) {
			if e.Stage == tool.Committed {
				fmt.Println("call", e.Index+1, "is committed")
			}
		}},
	}
	results, err := p.Run(context.Background(), registry, []tool.Call{
		{ID: "1", Name: "add", Arguments: `{"title":"done","text":"milk"}`},
		{ID: "2", Name: "add", Arguments: `{"title":"todo","text":"bread"}`},
		{ID: "3", Name: "read", Arguments: `{"title":"done"}`},
	}, exec.Admit(plan.NewSerial))
	for _, r := range results {
		fmt.Println(r.Code, r.Text())
	}
	fmt.Println(err)
	// Output:
	// ? add {"title":"done","text":"milk"} (it changes a note)
	// call 1 is committed
	// ? add {"title":"todo","text":"bread"} (it changes a note)
	// call 2 is committed
	// call 3 is committed
	//  added
	// APPROVAL_REJECTED add was not run: it was asked about, and rejected. Nothing was done. The answer: leave that one alone
	//  milk
	// <nil>
}

// Two agents with different views of the same tools.
func ExampleScope() {
	registry, err := notes{}.tools()
	if err != nil {
		fmt.Println(err)
		return
	}
	reader := &tool.Scope{Parent: registry, Allow: []string{"read"}}
	for _, d := range reader.Definitions() {
		fmt.Println(d.Name)
	}
	result, err := tool.Execute(context.Background(), reader, tool.Call{Name: "add", Arguments: `{"title":"todo"}`})
	fmt.Println(result.Code, err)
	// Output:
	// read
	// UNKNOWN_TOOL <nil>
}

// A host records what happens to each call, and a body that is late is cancelled.
func ExampleSubmit() {
	sleep, err := tool.Define(tool.Spec[struct{}, string]{
		Name: "sleep", Timeout: 10 * time.Millisecond, Safe: func(struct{}) bool { return true },
		Body: func(ctx context.Context, _ struct{}) (string, error) { <-ctx.Done(); return "", context.Cause(ctx) },
	})
	if err != nil {
		fmt.Println(err)
	}
	var tools tool.Registry
	if err := tools.Register(sleep); err != nil {
		fmt.Println(err)
	}
	lane, err := exec.NewLane(context.Background(), exec.Drain(5*time.Second))
	if err != nil {
		fmt.Println(err)
	}
	var pipeline tool.Pipeline
	var jobs []exec.Job
	for _, j := range pipeline.NewJobs(&tools, tool.Call{ID: "c1", Name: "sleep"}) {
		j.Record = func(_ context.Context, e tool.Event) error {
			fmt.Println(e.Call.ID, e.Stage, e.Result.IsError)
			return nil
		}
		jobs = append(jobs, j)
	}
	_, err = tool.Submit(lane, jobs...)
	lane.Close()
	fmt.Println(errors.Join(err, lane.Wait()))
	// Output:
	// c1 started false
	// c1 settled true
	// c1 committed true
	// <nil>
}

// A listener hears what happens, and holds up nothing.
func ExampleNewListener() {
	registry, err := notes{}.tools()
	if err != nil {
		fmt.Println(err)
		return
	}
	listener := tool.NewListener(func(e tool.Event) { fmt.Println(e.Call.Name, e.Stage) })
	p := &tool.Pipeline{Listeners: []*tool.Listener{listener}}
	if _, err := p.Run(context.Background(), registry, []tool.Call{{Name: "read", Arguments: `{"title":"todo"}`}}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(listener.Wait(context.Background())) // before the program ends
	// Output:
	// read started
	// read settled
	// read committed
	// <nil>
}
