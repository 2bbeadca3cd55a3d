package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// A turn is what a model asks for at once, and how long each of its calls is made to take.
type turn struct {
	calls   []tool.Call
	latency []time.Duration
	fails   int          // the one call that must fail
	texts   []sourceFile // some that can be edited in two places
}

const (
	notesFile  = "demo-notes.md"
	reportFile = "demo-report.txt"
)

func (t *turn) add(ms int, name string, arguments map[string]any) {
	text, err := json.Marshal(arguments)
	if err != nil {
		panic(err) // strings and numbers only
	}
	t.calls = append(t.calls, tool.Call{ID: fmt.Sprintf("call_%02d", len(t.calls)+1), Name: name, Arguments: string(text)})
	t.latency = append(t.latency, time.Duration(ms)*time.Millisecond)
}

// newTurn writes the turn of the demo for the files of a tree. It has one of each thing that an order is about: calls
// that touch nothing in common, two edits of one file, a read of what a call before it writes, searches before and
// after the edits, a call that must fail, and one of which nothing is known.
func newTurn(tree *sourceTree) (*turn, error) {
	var picked []sourceFile
	for _, f := range tree.files {
		if len(f.data) < 64<<10 && f.text() && len(f.onlyOnce(2)) == 2 && f.path != notesFile && f.path != reportFile {
			picked = append(picked, f)
		}
	}
	const want = 4
	if len(picked) < want {
		return nil, fmt.Errorf("%s: the demo needs %d text files of some lines each, and found %d", tree.origin, want, len(picked))
	}
	// Program text before other text, and short names first: they are to be read in a narrow column.
	slices.SortFunc(picked, func(a, b sourceFile) int {
		return cmp.Or(cmp.Compare(rank(a.path), rank(b.path)), cmp.Compare(len(a.path), len(b.path)), strings.Compare(a.path, b.path))
	})
	a, b, c, d := picked[0], picked[1], picked[2], picked[3]

	t := &turn{texts: picked[:min(8, len(picked))]}
	edit := func(ms int, f sourceFile, line int) {
		old := f.onlyOnce(2)[line]
		t.add(ms, "edit", map[string]any{"path": f.path, "old": old, "new": fmt.Sprintf("%s (edited by call %d)", old, len(t.calls)+1)})
	}
	grep := map[string]any{"pattern": `edited by call [0-9]+`, "path": "."}

	// None of it comes to a multiple of the redraw interval, so that in virtual time every redraw sees the same each
	// time.
	t.add(30, "read", map[string]any{"path": a.path})
	t.add(40, "read", map[string]any{"path": b.path})
	t.add(52, "grep", grep)
	edit(35, a, 0)
	edit(70, a, 1)
	edit(45, b, 0)
	edit(60, c, 0)
	t.add(80, "write", map[string]any{"path": notesFile, "content": "# Notes\n\nWritten by call 8, read by call 9.\n"})
	t.add(30, "read", map[string]any{"path": notesFile})
	to := d.path
	for tree.has(to) {
		to = path.Join(path.Dir(to), "moved-"+path.Base(to))
	}
	t.add(50, "move", map[string]any{"from": d.path, "to": to})
	t.fails = len(t.calls)
	t.add(40, "edit", map[string]any{"path": c.path, "old": "a line that is not in there", "new": "never written"})
	t.add(60, "count_lines", map[string]any{"path": reportFile})
	t.add(30, "read", map[string]any{"path": reportFile})
	t.add(52, "grep", grep)
	return t, nil
}

func rank(name string) int {
	switch {
	case strings.HasSuffix(name, "_test.go"):
		return 1
	case strings.HasSuffix(name, ".go"):
		return 0
	}
	return 2
}

// countLines is the tool that nothing is known of: it declares neither that it may overlap others nor what it touches.
// It counts the lines of the whole tree at dir and writes what it found to a file, so its result depends on every call
// before it, and calls after it on its.
func countLines(dir string) (*tool.Definition, error) {
	type input struct {
		Path string `json:"path" jsonschema:"the file to write the report to"`
	}
	return tool.Define(tool.Spec[input, string]{
		Name:        "count_lines",
		Description: "Count the lines of all files and write a report.",
		Body: func(ctx context.Context, in input) (string, error) {
			root, err := os.OpenRoot(dir)
			if err != nil {
				return "", err
			}
			defer root.Close()
			files, lines := 0, 0
			err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
				if err != nil || !entry.Type().IsRegular() {
					return err
				}
				data, err := fs.ReadFile(root.FS(), name)
				files++
				lines += bytes.Count(data, []byte("\n"))
				return cmp.Or(err, context.Cause(ctx))
			})
			if err != nil {
				return "", err
			}
			report := fmt.Sprintf("%d files, %d lines", files, lines)
			return report, root.WriteFile(in.Path, []byte(report+"\n"), 0o644)
		},
	})
}

// criticalPath is the longest chain of calls that conflict, each with the one before it: no order-keeping admission
// can be faster, however many calls it runs at once.
func criticalPath(calls []plan.Call, latency []time.Duration) (total time.Duration, chain []int) {
	longest := make([]time.Duration, len(calls)) // of the chains that end with this call
	before := make([]int, len(calls))
	last := -1
	for j := range calls {
		before[j] = -1
		for i := range j {
			if plan.Conflict(calls[i], calls[j]) && longest[i] > longest[j] {
				longest[j], before[j] = longest[i], i
			}
		}
		if longest[j] += latency[j]; longest[j] > total {
			total, last = longest[j], j
		}
	}
	for ; last >= 0; last = before[last] {
		chain = append(chain, last)
	}
	slices.Reverse(chain)
	return total, chain
}
