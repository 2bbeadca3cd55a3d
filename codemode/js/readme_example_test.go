package js_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/codemode/js"
	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/files"
)

// A model marks what is done in all files at once. The result of its call is what the program returns.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "keywave-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("TODO: "+name+"\n"), 0o600); err != nil {
			log.Fatal(err)
		}
	}
	message := []byte(`{"calls": [{"id": "call_1", "name": "run_code", "arguments": {
		"description": "mark what is done",
		"code": "const {matches} = await tools.grep({pattern: 'TODO: [ab]'});\nawait Promise.all(matches.map(m => tools.edit({path: m.path, old: 'TODO', new: 'DONE'})));\nreturn matches.length + ' files are marked'"
	}}]}`)
	ctx := context.Background()

	tree, err := files.New(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer tree.Close()
	var tools tool.Registry
	if err := tools.Register(tree.Tools()...); err != nil {
		log.Fatal(err)
	}
	runtime, err := js.New(js.Options{}) // main begins with js.Worker()
	if err != nil {
		log.Fatal(err)
	}
	defer runtime.Close()
	view, err := codemode.New(runtime, &tools) // what the model is shown: view.Definitions()
	if err != nil {
		log.Fatal(err)
	}
	calls, err := tool.ParseCalls(message)
	if err != nil {
		log.Fatal(err)
	}
	results, err := tool.Run(ctx, view, calls) // or the Tools of a harness.Scheduler

	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(results[0].Text())
	for _, name := range []string{"a.txt", "c.txt"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(string(text))
	}
	// Output:
	// 2 files are marked
	// DONE: a.txt
	// TODO: c.txt
}
