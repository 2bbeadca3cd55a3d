package harness_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/files"
)

// A whole agent: the tools of package files on a directory, a session in a file, and a model, of which this one only
// plays a part. A host puts its provider's client there.
func ExampleAgent() {
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	work, err := files.New(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer work.Close()
	var tools tool.Registry
	if err := tools.Register(work.Tools()...); err != nil {
		log.Fatal(err)
	}
	session, err := harness.Open(filepath.Join(dir, "log.jsonl"))
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

	model := harness.ModelFunc(func(ctx context.Context, r harness.Request) (m harness.AssistantMessage, err error) {
		last := r.Messages[len(r.Messages)-1]
		if last.Role == harness.RoleUser { // both in one message: the second waits for the first, as they claim one file
			m.Calls = []tool.Call{
				{ID: "c1", Name: "write", Arguments: `{"path":"a.txt","content":"alpha"}`},
				{ID: "c2", Name: "read", Arguments: `{"path":"a.txt"}`},
			}
			return m, nil
		}
		m.Content = []tool.Block{{Text: "It says: " + last.Results[1].Content[1].Text}}
		return m, nil
	})

	ctx := context.Background()
	agent, err := harness.NewAgent(ctx, model, &harness.Scheduler{Session: session, Tools: &tools})
	if err != nil {
		log.Fatal(err)
	}
	if err := agent.Followup(tool.Block{Text: "Write alpha into a.txt, and read it."}); err != nil {
		log.Fatal(err)
	}
	if err := agent.WhenIdle(ctx); err != nil {
		log.Fatal(err)
	}
	messages, err := session.Messages()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(messages[len(messages)-1].Content[0].Text)
	fmt.Println(agent.Status().Last.Reason)
	// Output:
	// It says: alpha
	// done
}

// A model that says what it is told to, for tests and demonstrations; and what a user who is watching sees.
func ExampleScript() {
	wait, err := tool.Define(tool.Spec[struct{}, string]{
		Name: "wait", Description: "Waits for the weather to change.",
		Body: func(context.Context, struct{}) (string, error) { return "it has stopped raining", nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	var tools tool.Registry
	if err := tools.Register(wait); err != nil {
		log.Fatal(err)
	}
	script, err := harness.ParseScript(strings.NewReader(`
		{"text": "I wait. ", "calls": [{"name": "wait"}]}
		{"text": "Now we can go."}
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
	agent, err := harness.NewAgent(ctx, script, &harness.Scheduler{Session: session, Tools: &tools})
	if err != nil {
		log.Fatal(err)
	}
	agent.Stream = func(text string) { fmt.Print(text) }
	agent.Changed = func(s harness.Status) {
		if s.Phase == harness.Idle {
			fmt.Printf("\n%s after %d steps\n", s.Last.Reason, s.Step)
		}
	}
	if err := agent.Followup(tool.Block{Text: "Can we go?"}); err != nil {
		log.Fatal(err)
	}
	if err := agent.WhenIdle(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// I wait. Now we can go.
	// done after 2 steps
}
