package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// notes is what the tools of the examples work on. Their claims are what makes it need no lock.
type notes map[string]*strings.Builder

type note struct {
	Title string `json:"title" jsonschema:"which note"`
	Text  string `json:"text,omitempty" jsonschema:"what to add to it"`
}

// uses returns the Claims of a tool that reads or writes a note.
func uses(a plan.Access) func(note) ([]plan.Claim, error) {
	return func(in note) ([]plan.Claim, error) {
		return []plan.Claim{{Key: "notes/" + in.Title, Access: a}}, nil
	}
}

func (n notes) tools() (*tool.Registry, error) {
	yes := func(note) bool { return true } // its calls overlap others, as far as their claims allow
	read, err := tool.Define(tool.Spec[note, string]{
		Name: "read", Description: "Returns a note.",
		Safe: yes, Claims: uses(plan.Read),
		Body: func(_ context.Context, in note) (string, error) {
			if n[in.Title] == nil {
				return "", errors.New("there is no such note")
			}
			return n[in.Title].String(), nil
		},
	})
	if err != nil {
		return nil, err
	}
	add, err := tool.Define(tool.Spec[note, string]{
		Name: "add", Description: "Adds to a note.",
		Safe: yes, Claims: uses(plan.Write),
		Body: func(_ context.Context, in note) (string, error) {
			if n[in.Title] == nil {
				return "", errors.New("there is no such note")
			}
			n[in.Title].WriteString(in.Text)
			return "added", nil
		},
	})
	if err != nil {
		return nil, err
	}
	r := new(tool.Registry)
	return r, r.Register(read, add)
}

func ExampleDefine() {
	type input struct {
		Text string `json:"text" jsonschema:"what to measure"`
		Unit string `json:"unit,omitempty" jsonschema:"bytes or runes; runes by default"`
	}
	measure, err := tool.Define(tool.Spec[input, int]{
		Name:        "measure",
		Description: "Returns the length of a text.",
		Safe:        func(input) bool { return true },
		Body: func(_ context.Context, in input) (int, error) {
			switch in.Unit {
			case "bytes":
				return len(in.Text), nil
			case "", "runes":
				return utf8.RuneCountInString(in.Text), nil
			}
			return 0, fmt.Errorf("unknown unit %q: want bytes or runes", in.Unit)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	shown, _ := json.MarshalIndent(measure, "", " ")
	fmt.Println(string(shown))
	// Output:
	// {
	//  "name": "measure",
	//  "description": "Returns the length of a text.",
	//  "parameters": {
	//   "type": "object",
	//   "properties": {
	//    "text": {
	//     "type": "string",
	//     "description": "what to measure"
	//    },
	//    "unit": {
	//     "type": "string",
	//     "description": "bytes or runes; runes by default"
	//    }
	//   },
	//   "required": [
	//    "text"
	//   ],
	//   "additionalProperties": false
	//  }
	// }
}

// A dry run: what could run when, and nothing is started.
func ExampleCalls() {
	registry, err := notes{}.tools()
	if err != nil {
		fmt.Println(err)
		return
	}
	calls := []tool.Call{
		{Name: "read", Arguments: `{"title":"todo"}`},
		{Name: "add", Arguments: `{"title":"todo","text":"milk"}`},
		{Name: "read", Arguments: `{"title":"done"}`},
		{Name: "read", Arguments: `{"title":"todo"}`},
	}
	p := plan.Ordered(tool.Calls(registry, calls))
	fmt.Println(p.Waves())
	for _, d := range p.Explain() {
		fmt.Printf("call %d is in wave %d: %v\n", d.Call+1, d.Wave+1, d)
	}
	// Output:
	// [[0 2] [1] [3]]
	// call 1 is in wave 1: nothing earlier is in its way
	// call 2 is in wave 2: write notes/todo meets read notes/todo of call 1
	// call 3 is in wave 1: nothing earlier is in its way
	// call 4 is in wave 3: read notes/todo meets write notes/todo of call 2
}

func ExampleRun() {
	n := notes{"todo": new(strings.Builder), "done": new(strings.Builder)}
	registry, err := n.tools()
	if err != nil {
		fmt.Println(err)
		return
	}
	results, err := tool.Run(context.Background(), registry, []tool.Call{
		{ID: "1", Name: "add", Arguments: `{"title":"todo","text":"milk"}`},
		{ID: "2", Name: "read", Arguments: `{"title":"todo"}`},
		{ID: "3", Name: "read", Arguments: `{"title":"later"}`},
		{ID: "4", Name: "read", Arguments: `{"titel":"todo"}`},
	})
	for _, r := range results {
		fmt.Println(r.IsError, r.Code, r.Text())
	}
	fmt.Println(err)
	// Output:
	// false  added
	// false  milk
	// true  there is no such note
	// true INVALID_ARGS The arguments of read are invalid: it was not run.
	// - the arguments: additional properties 'titel' not allowed
	// - the arguments: missing property 'title'
	// The arguments were: {"titel":"todo"}
	// <nil>
}

func ExampleParseCalls() {
	message := `{"role": "assistant", "content": [
		{"type": "text", "text": "I look at both."},
		{"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"title": "todo"}},
		{"type": "tool_use", "id": "toolu_2", "name": "read", "input": {"title": "done"}}]}`
	calls, err := tool.ParseCalls([]byte(message))
	for _, c := range calls {
		fmt.Println(c.ID, c.Name, c.Arguments)
	}
	fmt.Println(err)

	_, err = tool.ParseCalls([]byte(`{"calls": [{"name": "read"}, {"arguments": {}}]}`))
	fmt.Println(err)
	// Output:
	// toolu_1 read {"title": "todo"}
	// toolu_2 read {"title": "done"}
	// <nil>
	// batch: call 2, byte 29, /calls/1: it has no name
}
