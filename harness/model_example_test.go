package harness_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// A model behind a provider's interface, here that of OpenAI's chat completions, which many servers have. What the
// provider said is kept as it came, in Native, and sent back as it was.
func ExampleModel() {
	server := httptest.NewServer(http.HandlerFunc(provider)) // which plays a part
	defer server.Close()

	model := harness.ModelFunc(func(ctx context.Context, r harness.Request) (m harness.AssistantMessage, err error) {
		request := map[string][]any{"messages": {}, "tools": {}}
		say := func(message any) { request["messages"] = append(request["messages"], message) }
		for _, said := range r.Messages {
			switch said.Role {
			case harness.RoleUser:
				say(map[string]string{"role": "user", "content": tool.Result{Content: said.Content}.Text()})
			case harness.RoleAssistant:
				say(said.Native)
			case harness.RoleTool:
				for _, c := range said.Results {
					say(map[string]string{"role": "tool", "tool_call_id": c.ID, "content": tool.Result{Content: c.Content}.Text()})
				}
			}
		}
		for _, d := range r.Tools {
			request["tools"] = append(request["tools"], map[string]any{"type": "function", "function": map[string]any{
				"name": d.Name, "description": d.Description, "parameters": d.Parameters,
			}})
		}
		body, err := json.Marshal(request)
		if err != nil {
			return m, err
		}
		post, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, bytes.NewReader(body))
		if err != nil {
			return m, err
		}
		response, err := http.DefaultClient.Do(post)
		if err != nil {
			return m, err
		}
		defer response.Body.Close()
		var answer struct {
			Choices []struct{ Message json.RawMessage }
		}
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			return m, err
		}
		if len(answer.Choices) == 0 {
			return m, fmt.Errorf("the provider gives no answer: %s", response.Status)
		}
		m.Native = answer.Choices[0].Message
		m.Calls, err = tool.ParseCalls(m.Native)
		return m, err
	})

	session, err := harness.New(new(harness.Memory))
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	add, err := tool.Define(tool.Spec[struct{ A, B int }, int]{
		Name: "add", Body: func(_ context.Context, in struct{ A, B int }) (int, error) { return in.A + in.B, nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	var tools tool.Registry
	if err := tools.Register(add); err != nil {
		log.Fatal(err)
	}
	agent, err := harness.NewAgent(context.Background(), model, &harness.Scheduler{Session: session, Tools: &tools})
	if err != nil {
		log.Fatal(err)
	}
	if err := agent.Followup(tool.Block{Text: "What is 2 and 3?"}); err != nil {
		log.Fatal(err)
	}
	if err := agent.WhenIdle(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(agent.Status().Last.Reason)
	// Output:
	// asked with 1 messages and 1 tools
	// asked with 3 messages and 1 tools; call_1 gave 5
	// done
}

// provider answers the first request with a call, and the second with a text.
func provider(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Messages []struct {
			Role, Content string
			ToolCallID    string `json:"tool_call_id"`
		}
		Tools []json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("asked with %d messages and %d tools", len(request.Messages), len(request.Tools))
	answer := `{"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "add", "arguments": "{\"A\":2,\"B\":3}"}}]}`
	if last := request.Messages[len(request.Messages)-1]; last.Role == "tool" {
		fmt.Printf("; %s gave %s", last.ToolCallID, last.Content)
		answer = `{"role": "assistant", "content": "It is 5."}`
	}
	fmt.Println()
	_, _ = io.WriteString(w, `{"choices": [{"message": `+answer+`}]}`)
}
