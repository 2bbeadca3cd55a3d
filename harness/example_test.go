package harness_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// A turn as a scheduler records it, and what the model is told next.
func Example() {
	dir, err := os.MkdirTemp("", "session")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	s, err := harness.Open(filepath.Join(dir, "log.jsonl"))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Resume(nil); err != nil { // closes what an earlier process has left open
		log.Fatal(err)
	}
	turn := s.State().Turn + 1
	call := tool.Call{ID: "c1", Name: "read", Arguments: `{"path":"a.txt"}`}
	at := harness.Place{Turn: turn, Step: 1, Index: 0}
	for _, p := range []harness.Payload{
		harness.TurnStart{Turn: turn},
		harness.UserMessage{Turn: turn, Content: tool.Text("What is in a.txt?").Content},
		harness.StepStart{Turn: turn, Step: 1},
		harness.AssistantMessage{Turn: turn, Step: 1, Calls: []tool.Call{call}},
		harness.ToolCall{Place: at, ID: call.ID, Name: call.Name, Arguments: call.Arguments},
		harness.ToolSettle{Place: at, Result: tool.Text("alpha")},
		harness.ToolResult{Place: at, ID: call.ID, Name: call.Name, Result: tool.Text("alpha")},
		harness.StepEnd{Turn: turn, Step: 1},
	} {
		if _, err := s.Append(harness.SyncBatch, p); err != nil {
			log.Fatal(err)
		}
	}
	messages, err := s.Messages()
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range messages {
		switch m.Role {
		case harness.RoleUser:
			fmt.Println("user:", m.Content[0].Text)
		case harness.RoleAssistant:
			fmt.Println("assistant:", m.Calls[0].Name, m.Calls[0].Arguments)
		case harness.RoleTool:
			fmt.Println("tool:", m.Results[0].ID, m.Results[0].Content[0].Text)
		}
	}
	// Output:
	// user: What is in a.txt?
	// assistant: read {"path":"a.txt"}
	// tool: c1 alpha
}

// A process ended while one call ran, one had settled and one had not started. Resume closes all three, in the model's
// order, and runs none of them.
func ExampleSession_Resume() {
	var store harness.Memory
	s, err := harness.New(&store)
	if err != nil {
		log.Fatal(err)
	}
	calls := []tool.Call{{ID: "c1", Name: "write"}, {ID: "c2", Name: "read"}, {ID: "c3", Name: "list"}}
	at := func(i int) harness.Place { return harness.Place{Turn: 1, Step: 1, Index: i} }
	_, err = s.Append(harness.SyncAlways,
		harness.TurnStart{Turn: 1},
		harness.StepStart{Turn: 1, Step: 1},
		harness.AssistantMessage{Turn: 1, Step: 1, Calls: calls},
		harness.ToolCall{Place: at(0), ID: "c1", Name: "write"},
		harness.ToolCall{Place: at(1), ID: "c2", Name: "read"},
		harness.ToolSettle{Place: at(1), Result: tool.Text("beta")},
	)
	if err != nil {
		log.Fatal(err)
	}

	s, err = harness.New(&store) // what a new process would find
	if err != nil {
		log.Fatal(err)
	}
	repaired, err := s.Resume(nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range repaired {
		switch p := p.(type) {
		case harness.ToolResult:
			fmt.Println(p.Name, p.Result.Code, p.Result.Text())
		case harness.TurnEnd:
			fmt.Println("turn ends:", p.Reason)
		}
	}
	repaired, err = s.Resume(nil)
	fmt.Println(len(repaired), err)
	// Output:
	// write INTERRUPTED write was running when the process ended: its effect may have happened, wholly or in part. Check what has happened before you try again.
	// read  beta
	// list ABORTED_BEFORE_DISPATCH list was not run: it was cancelled before it started (the session was interrupted). Nothing was done.
	// turn ends: interrupted
	// 0 <nil>
}

// Anybody may read a log while a session writes it.
func ExampleTurns() {
	dir, err := os.MkdirTemp("", "session")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "log.jsonl")
	s, err := harness.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	at := harness.Place{Turn: 1, Step: 1, Index: 0}
	_, err = s.Append(harness.SyncNone,
		harness.TurnStart{Turn: 1},
		harness.StepStart{Turn: 1, Step: 1},
		harness.AssistantMessage{Turn: 1, Step: 1, Calls: []tool.Call{{Name: "read"}}},
		harness.ToolCall{Place: at, Name: "read"},
		harness.ToolSettle{Place: at, Result: tool.Text("alpha")},
	)
	if err != nil {
		log.Fatal(err)
	}
	for turn, err := range harness.Turns(harness.ReadFile(path)) {
		if err != nil {
			log.Fatal(err)
		}
		for _, step := range turn.Steps {
			for _, call := range step.Calls {
				fmt.Printf("turn %d, step %d: %s settled: %v, committed: %v\n",
					turn.Turn, step.Step, call.Call.Name, !call.Settled.IsZero(), !call.Committed.IsZero())
			}
		}
	}
	// Output:
	// turn 1, step 1: read settled: true, committed: false
}

// A watched store tells somebody of each event that it has taken, in their order.
type watched struct {
	harness.Store
	tell func(harness.Event)
}

func (w watched) Append(events ...harness.Event) error {
	if err := w.Store.Append(events...); err != nil {
		return err
	}
	for _, e := range events {
		w.tell(e)
	}
	return nil
}

// A store of one's own can be another one and more: here one that shows what is appended.
func ExampleStore() {
	s, err := harness.New(watched{new(harness.Memory), func(e harness.Event) { fmt.Println(e.Seq, e.Type) }})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := s.Append(harness.SyncNone, harness.TurnStart{Turn: 1}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1 session/start
	// 2 turn/start
}
