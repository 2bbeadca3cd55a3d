package codemode_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/codemode/js"
	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

type city struct {
	Name string `json:"name" jsonschema:"of the city"`
}

func weather(_ context.Context, c city) (map[string]int, error) {
	if c.Name == "Atlantis" {
		return nil, fmt.Errorf("%s is under water", c.Name)
	}
	return map[string]int{"degrees": 2 * len(c.Name)}, nil
}

func forecasts() *tool.Registry {
	forecast, err := tool.Define(tool.Spec[city, map[string]int]{
		Name: "weather", Description: "Says how warm it is.", Body: weather, Safe: func(city) bool { return true },
		Output: []byte(`{"type":"object","properties":{"degrees":{"type":"integer"}},"required":["degrees"]}`),
	})
	if err != nil {
		log.Fatal(err)
	}
	tools := new(tool.Registry)
	if err := tools.Register(forecast); err != nil {
		log.Fatal(err)
	}
	return tools
}

// What a model that writes programs is shown, what it answers, and what it gets for that.
func Example() {
	runtime := js.NewInProcess()
	defer runtime.Close()
	view, err := codemode.New(runtime, forecasts())
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range view.Definitions() {
		_, declarations, _ := strings.Cut(d.Description, "declare")
		fmt.Println(d.Name + ": declare" + declarations)
	}
	result, err := tool.Execute(context.Background(), view, tool.Call{ID: "call_1", Name: codemode.Name, Arguments: `{
		"description": "the warm ones of three cities",
		"code": "const names = ['Oslo', 'Barcelona', 'Atlantis'];\nconst all = await Promise.allSettled(names.map(name => tools.weather({name})));\nall.forEach((r, i) => r.reason && console.warn(r.reason.message));\nreturn names.filter((name, i) => all[i].value?.degrees > 10);"
	}`})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text())
	// Output:
	// run_code: declare const tools: {
	//   /** Says how warm it is. */
	//   weather(args: {
	//     /** of the city */
	//     name: string;
	//   }): Promise<{
	//     degrees: number;
	//   }>;
	// };
	// Logs:
	// [warn] Atlantis is under water
	// Returned:
	// ["Barcelona"]
}

// The calls of a program are in the log of the session, in a tree below the call of run_code.
func ExampleView() {
	runtime := js.NewInProcess()
	defer runtime.Close()
	view, err := codemode.New(runtime, forecasts(), codemode.MaxParallelSubCalls(4))
	if err != nil {
		log.Fatal(err)
	}
	model, err := harness.ParseScript(strings.NewReader(`
		{"calls": [{"id": "call_1", "name": "run_code", "arguments": {"description": "two cities", "code":
			"const a = await tools.weather({name: 'Oslo'}); const b = await tools.weather({name: 'Atlantis'}); return a.degrees + b.degrees"}}]}
		{"text": "I do not know."}
	`))
	if err != nil {
		log.Fatal(err)
	}
	session, err := harness.New(new(harness.Memory))
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	ctx := context.Background()
	agent, err := harness.NewAgent(ctx, model, &harness.Scheduler{Session: session, Tools: view})
	if err != nil {
		log.Fatal(err)
	}
	if err := agent.Followup(tool.Block{Text: "How warm is it?"}); err != nil {
		log.Fatal(err)
	}
	if err := agent.WhenIdle(ctx); err != nil {
		log.Fatal(err)
	}
	for turn, err := range harness.Turns(session.Events()) {
		if err != nil {
			log.Fatal(err)
		}
		for _, c := range turn.Steps[0].Calls {
			fmt.Println(c.Call.ID, c.Result.Code)
			for _, sub := range c.Tree.Calls {
				fmt.Println(" ", sub.ID, sub.Name, string(sub.Arguments), sub.Result.Text())
			}
		}
	}
	// Output:
	// call_1 CODE_RUN_FAILED
	//   call_1:code:1 weather {"name":"Oslo"} {"degrees":8}
	//   call_1:code:2 weather {"name":"Atlantis"} Atlantis is under water
}
