package codemode

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keywave-go/keywave/tool"
)

// Name is what the tool that runs programs is called. In a [View] the name is its own: a tool of that name is neither
// shown nor run there, and no program can call it.
const Name = "run_code"

// A View is what a model that may write programs is shown of some tools: the tool run_code, whose description declares
// them to the language of the runtime, and, as its [Presentation] says, the tools themselves.
//
// A View is not a tool but [tool.Tools]: the place to hand it over to is where these go, such as the Tools of a
// scheduler. It keeps nothing of the tools: a change of them is seen at once. To restrict what an agent sees, put a
// [tool.Scope] below the View; one above it restricts its programs just as well, but what it hides run_code still
// declares, what it adds run_code does not, and it can hide or shadow run_code itself. A View is safe for concurrent
// use if the tools are, and may serve any number of agents.
type View struct {
	runtime Runtime
	tools   tool.Tools
	options
	definition *tool.Definition
}

var _ tool.Tools = (*View)(nil)

// New returns a view of tools whose programs run in rt, which stays the caller's to close. The error wraps [ErrOption]:
// an option cannot be used, or there is no runtime, or there are no tools.
func New(rt Runtime, tools tool.Tools, opts ...Option) (*View, error) {
	if rt == nil || tools == nil {
		return nil, fmt.Errorf("%w: there must be a runtime, and tools", ErrOption)
	}
	o, err := choose(opts)
	if err != nil {
		return nil, err
	}
	if checks, ok := rt.(interface{ CheckLimits(Limits) error }); ok {
		if err := checks.CheckLimits(o.limits); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOption, err)
		}
	}
	v := &View{runtime: rt, tools: tools, options: o}
	v.definition, err = tool.Define(tool.Spec[Program, tool.Result]{
		Name:         Name,
		Parameters:   parameters(rt.Info().Language),
		RunsPrograms: true,
		Body:         v.run,
	})
	return v, err
}

// A Program is what the tool run_code takes.
type Program struct {
	Code        string `json:"code"`        // the body of an async function
	Description string `json:"description"` // what it is to do, for the people who watch
}

func parameters(language string) json.RawMessage {
	text := func(description string) map[string]any {
		return map[string]any{"type": "string", "pattern": `\S`, "description": description}
	}
	schema, err := json.Marshal(map[string]any{
		"type": "object",
		"properties": map[string]any{
			"code":        text("The program: the body of an async function in " + language + "."),
			"description": text("What the program does, in a few words, for the people who watch."),
		},
		"required":             []string{"code", "description"},
		"additionalProperties": false,
	})
	if err != nil {
		panic(err) // there is nothing in it that cannot be encoded
	}
	return schema
}

// Bind returns what name means to the model now.
func (v *View) Bind(name string) tool.Binding {
	b := v.tools.Bind(name)
	switch {
	case name == Name:
		b.Definition, b.Hint = v.definition, ""
		if v.present == Native {
			b.Definition = nil
		}
	case v.present == Code && b.Definition != nil:
		b.Definition, b.Hint = nil, fmt.Sprintf("But a program can call it: use %s, with a program that calls %s(…).", Name, member(name))
	}
	return b
}

// Definitions returns what the model is shown, in the order of the names. The values are copies.
func (v *View) Definitions() []tool.Definition {
	defs := slices.DeleteFunc(v.tools.Definitions(), func(d tool.Definition) bool { return d.Name == Name })
	if v.present == Native {
		return defs
	}
	own := *v.definition
	own.Parameters = slices.Clone(own.Parameters)
	own.Description = v.describe(callable(v).Definitions())
	if v.present == Code {
		return []tool.Definition{own}
	}
	at, _ := slices.BinarySearchFunc(defs, own, func(a, b tool.Definition) int { return strings.Compare(a.Name, b.Name) })
	return slices.Insert(defs, at, own)
}

// Programs returns the tools that programs of the view may call. Tools of a host's own that wrap a View have such a
// method, too, if programs are to be able to call anything: without it, they call what the model calls.
func (v *View) Programs() tool.Tools { return callable(v) }

// callable are the tools that a program of a model with these tools may call: where there is a view, those below it.
func callable(t tool.Tools) tool.Tools {
	return &tool.Scope{Parent: below(t), Deny: []string{Name}}
}

func below(t tool.Tools) tool.Tools {
	switch t := t.(type) {
	case *View:
		return below(t.tools)
	case tool.Direct:
		return below(t.Tools)
	case *tool.Direct:
		return below(t.Tools)
	case *tool.Scope:
		inner := *t
		if t.Parent != nil {
			inner.Parent = below(t.Parent)
		}
		return &inner
	case interface{ Programs() tool.Tools }:
		return t.Programs()
	}
	return t
}

var errNoCall = errors.New("the body of " + Name + " runs only as that of a call")
