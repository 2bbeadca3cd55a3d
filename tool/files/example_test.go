package files_test

import (
	"context"
	"fmt"
	"os"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/files"
)

// A turn of a model that writes a file, reads it back and lists the directory, with a read of another file on the way.
func Example() {
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	os.WriteFile(dir+"/todo.txt", []byte("call home\n"), 0o644)

	f, err := files.New(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	var tools tool.Registry
	if err := tools.Register(f.Tools()...); err != nil {
		fmt.Println(err)
		return
	}
	calls := []tool.Call{
		{Name: "write", Arguments: `{"path":"notes/a.txt","content":"hello\n"}`},
		{Name: "read", Arguments: `{"path":"notes/a.txt"}`},
		{Name: "read", Arguments: `{"path":"todo.txt"}`},
		{Name: "edit", Arguments: `{"path":"notes/a.txt","old":"bye","new":"hi"}`},
	}
	fmt.Println(plan.Ordered(tool.Calls(&tools, calls)).Waves())
	results, err := tool.Run(context.Background(), &tools, calls)
	if err != nil {
		fmt.Println(err)
	}
	for _, r := range results {
		fmt.Println(r.Text())
	}
	// Output:
	// [[0 2] [1] [3]]
	// notes/a.txt: created, 6 bytes, version 5891b5b522d5df08
	// notes/a.txt: 6 bytes, version 5891b5b522d5df08, lines 1-1 of 1
	// hello
	//
	// todo.txt: 10 bytes, version 143848947a1f94fb, lines 1-1 of 1
	// call home
	//
	// notes/a.txt: the text to replace is not in it
}

// Two trees have one digest exactly if names, modes, links and contents are the same.
func ExampleDigest() {
	var digests []string
	for range 2 {
		dir, _ := os.MkdirTemp("", "example")
		defer os.RemoveAll(dir)
		os.WriteFile(dir+"/a", []byte("same"), 0o644)
		d, err := files.Digest(context.Background(), dir)
		if err != nil {
			fmt.Println(err)
		}
		digests = append(digests, d)
	}
	fmt.Println(digests[0] == digests[1])
	// Output: true
}
