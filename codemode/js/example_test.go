package js_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/codemode/js"
)

// A program calls tools, and returns one value.
func Example() {
	runtime, err := js.New(js.Options{}) // js.Worker() is the first line of main
	if err != nil {
		fmt.Println(err)
		return
	}
	defer runtime.Close()

	sizes := map[string]int{"a.txt": 120, "b.txt": 80}
	outcome, err := runtime.Run(context.Background(), `
		const names: string[] = await tools.list();
		const sizes = await Promise.all(names.map(name => tools.size({name})));
		console.log("asked for", names.length);
		return sizes.reduce((a, b) => a + b, 0)`,
		codemode.Bindings{
			Tools: []string{"list", "size"},
			Call: func(name string, arguments json.RawMessage, settle func(json.RawMessage, string)) {
				var in struct{ Name string }
				switch err := json.Unmarshal(arguments, &in); {
				case err != nil:
					settle(nil, err.Error())
				case name == "list":
					settle(json.RawMessage(`["a.txt","b.txt"]`), "")
				default:
					settle(json.RawMessage(fmt.Sprint(sizes[in.Name])), "")
				}
			},
		}, codemode.Limits{})
	fmt.Println(string(outcome.Value), outcome.Logs, err)
	// Output: 200 [{log asked for 2}] <nil>
}

// What a program does wrong is an outcome, with its own lines.
func ExampleNewInProcess() {
	runtime := js.NewInProcess()
	defer runtime.Close()
	outcome, err := runtime.Run(context.Background(), "const user: any = {}\nreturn user.name.length", codemode.Bindings{}, codemode.Limits{})
	fmt.Println(err)
	fmt.Println(outcome.Failure)
	fmt.Println(outcome.Message)
	// Output:
	// <nil>
	// exception
	// TypeError: cannot read property 'length' of undefined
	//     at <anonymous> (line 2:13)
}
