package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/files"
)

// No turn of a model is near this; a file that is was named by mistake.
const mostInput = 64 << 20

// What the standard input is called on the command line.
const standardInput = "-"

// A batch is the calls of one turn, and the tools that they are for.
type batch struct {
	source  string // of the calls, for messages
	agent   string // whose turn it is, if there are several agents
	calls   []tool.Call
	latency []time.Duration // by call: what is added to its body; nil: nothing

	latencyWithin map[string]time.Duration // by tool: what is added to the calls that programs make

	registry *tool.Registry
	tools    tool.Tools // that the calls can name: those of the registry, or a view of them
	nest     *nest      // of the calls that programs make; nil: there are no programs
	within   string     // what stands before the numbers of the calls: "2." if call 2 has made them
	root     string     // the key of the directory, which is cut off keys that are shown
}

const batchHelp = `The calls of one turn: {"calls":[{"id","name","arguments"}]}, or an assistant message as OpenAI or Anthropic send it; - is the standard input.`

type toolFlags struct {
	Dir string `short:"C" default:"." placeholder:"DIR" help:"The directory that the file tools work in, by default the working directory. Nothing outside it is touched."`
	codeFlag
}

// open reads batches and opens their tools, which close with the function returned.
func (f toolFlags) open(ctx context.Context, h host, admission string, sources ...string) ([]*batch, func(), error) {
	batches := make([]*batch, len(sources))
	for i, from := range sources {
		data, source, err := read(ctx, h.stdin, from)
		if err != nil {
			return nil, nil, err
		}
		batches[i] = &batch{source: source}
		if batches[i].calls, err = tool.ParseCalls(data); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", source, err)
		}
	}
	closeTools, err := openTools(f.Dir, batches, h.tools...)
	if err != nil {
		return nil, nil, err
	}
	closePrograms, err := f.present(h, admission, batches...)
	if err != nil {
		closeTools()
		return nil, nil, err
	}
	return batches, func() { closePrograms(); closeTools() }, nil
}

// openTools opens the same tools for several batches.
func openTools(dir string, batches []*batch, more ...*tool.Definition) (func(), error) {
	closeTools, err := batches[0].openTools(dir, more...)
	for _, b := range batches[1:] {
		b.registry, b.tools, b.root = batches[0].registry, batches[0].registry, batches[0].root
	}
	return closeTools, err
}

// openTools registers the file tools on dir, and more besides. The function returned closes them.
func (b *batch) openTools(dir string, more ...*tool.Definition) (func(), error) {
	tools, err := files.New(dir)
	if err != nil {
		return nil, err
	}
	b.registry = new(tool.Registry)
	if err := b.registry.Register(append(tools.Tools(), more...)...); err != nil {
		return nil, errors.Join(err, tools.Close())
	}
	b.tools = b.registry
	// What list claims of the directory itself is the key that those of all files in it begin with.
	if whole := tool.Calls(b.registry, []tool.Call{{Name: "list", Arguments: `{"path":"."}`}})[0]; len(whole.Claims) > 0 {
		b.root = whole.Claims[0].Key
	}
	// Every file was closed, and its errors seen, by the call that wrote it.
	return func() { _ = tools.Close() }, nil
}

// read returns the input at path and what to call it. It gives up when ctx is done: a signal must not wait for somebody
// to type.
func read(ctx context.Context, stdin io.Reader, path string) (data []byte, source string, err error) {
	in, source := input(ctx, stdin, path)
	defer in.Close()
	data, err = io.ReadAll(io.LimitReader(in, mostInput+1))
	switch named := (*fs.PathError)(nil); {
	case errors.As(err, &named) || ctx.Err() != nil && err != nil:
		return nil, source, err // it names the file already
	case err != nil:
		return nil, source, fmt.Errorf("%s: %w", source, err)
	case len(data) > mostInput:
		return nil, source, fmt.Errorf("%s: larger than %d MiB, which no turn of a model is", source, mostInput>>20)
	}
	return data, source, nil
}

// input opens the input at path, and says what to call it. Reading it ends with the cause when ctx is done, even if that
// waits for somebody to type or, of a named pipe, for its other end.
func input(ctx context.Context, stdin io.Reader, path string) (in io.ReadCloser, source string) {
	source = "standard input"
	if path != standardInput {
		source = path
	}
	out, end := io.Pipe()
	stop := context.AfterFunc(ctx, func() { end.CloseWithError(context.Cause(ctx)) })
	go func() {
		defer stop()
		in := stdin
		if path != standardInput {
			file, err := os.Open(path)
			if err != nil {
				end.CloseWithError(err)
				return
			}
			defer file.Close()
			in = file
		}
		_, err := io.CopyBuffer(end, in, make([]byte, 64<<10))
		end.CloseWithError(err)
	}()
	return out, source
}

// none says that there are no calls.
func (b *batch) none() string { return fmt.Sprintf("There are no calls in %s.\n", clean(b.source)) }

// label names call i for people, on one line: the tool, and what it is used on.
func (b *batch) label(i int) string {
	c := b.calls[i]
	name := clean(c.Name)
	if name == "" {
		name = `""`
	}
	about := described(c)
	if about == "" {
		about = subject(c.Arguments)
	}
	return strings.TrimRight(name+" "+about, " ")
}

// described is what a program does, in the words of its model.
func described(c tool.Call) string {
	var in codemode.Program
	if c.Name != codemode.Name || json.Unmarshal([]byte(c.Arguments), &in) != nil {
		return ""
	}
	return clip(clean(in.Description), 40)
}

// subject picks from arguments what a person wants to see.
func subject(arguments string) string {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &members) != nil {
		return clip(clean(arguments), 40)
	}
	var parts []string
	for _, name := range []string{"pattern", "path", "from", "to", "url", "command", "query"} {
		var s string
		if raw, ok := members[name]; ok && json.Unmarshal(raw, &s) == nil && s != "" {
			switch name {
			case "pattern":
				s = `"` + s + `"`
			case "to":
				s = "→ " + s
			}
			parts = append(parts, clip(clean(s), 40))
		}
	}
	if parts == nil && len(members) > 0 {
		return clip(clean(arguments), 40)
	}
	return strings.Join(parts, " ")
}

// claim shortens a claim on a file below the directory to the path in it.
func (b *batch) claim(c plan.Claim) plan.Claim {
	if c.Key == b.root {
		c.Key = "."
	} else if path, ok := strings.CutPrefix(c.Key, strings.TrimRight(b.root, "/")+"/"); ok {
		c.Key = path
	}
	return c
}

// pair shortens two claims that met. Of two trees that meet, that of the longer key does not matter.
func (b *batch) pair(mine, held plan.Claim) (plan.Claim, plan.Claim) {
	mine, held = b.claim(mine), b.claim(held)
	if mine.Tree && held.Tree {
		mine.Tree = mine.Key != held.Key && (mine.Key == "." || strings.HasPrefix(held.Key, mine.Key+"/"))
		held.Tree = mine.Key != held.Key && !mine.Tree
	}
	return mine, held
}
