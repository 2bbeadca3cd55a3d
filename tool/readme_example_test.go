package tool_test

import (
	"context"
	"fmt"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// lookup is what a model gives the tool of the example.
type lookup struct {
	Word string `json:"word" jsonschema:"the word to look up"`
}

// A tool, and the calls of a model's message, as it came.
func Example() {
	ctx := context.Background()
	glossary := map[string]string{"wave": "calls that may overlap", "claim": "a key and how a call uses it"}
	message := []byte(`{"role":"assistant","content":[
		{"type":"tool_use","id":"c1","name":"define","input":{"word":"wave"}},
		{"type":"tool_use","id":"c2","name":"define","input":{"word":"claim"}}]}`)

	define, err := tool.Define(tool.Spec[lookup, string]{
		Name:        "define",
		Description: "Looks up a word in the glossary.",
		Safe:        func(lookup) bool { return true },
		Claims: func(in lookup) ([]plan.Claim, error) {
			return []plan.Claim{{Key: "glossary/" + in.Word, Access: plan.Read}}, nil
		},
		Body: func(_ context.Context, in lookup) (string, error) { return glossary[in.Word], nil },
	})
	if err != nil {
		fmt.Println(err)
	}
	var tools tool.Registry
	if err := tools.Register(define); err != nil {
		fmt.Println(err)
	}
	calls, err := tool.ParseCalls(message)
	if err != nil {
		fmt.Println(err)
	}
	results, err := tool.Run(ctx, &tools, calls)
	for _, r := range results {
		fmt.Println(r.Text())
	}
	fmt.Println(err)
	// Output:
	// calls that may overlap
	// a key and how a call uses it
	// <nil>
}
