package tool

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Tools is where the name of a call is looked up: a [Registry], or a [Scope], which is a view of others.
type Tools interface {
	// Bind returns what name means now.
	Bind(name string) Binding

	// Definitions returns the tools in the order of their names, for the model.
	Definitions() []Definition
}

var (
	_ Tools = (*Registry)(nil)
	_ Tools = (*Scope)(nil)
)

// A Registry holds the tools of a host by name. The zero Registry is empty and ready to use. It is safe for concurrent
// use: a call that has started runs the definition that it was bound to, and a call that has not sees the registry as
// it is when it starts.
type Registry struct {
	mu  sync.Mutex // writers; a reader loads one consistent state
	now atomic.Pointer[state]
}

// state is never modified once it is stored.
type state struct {
	generation uint64
	tools      map[string]*Definition
}

// ErrDuplicate is the error that [Registry.Register] wraps when a name is taken.
var ErrDuplicate = errors.New("tool is already registered")

// Register adds tools. It adds all of them or, with an error, none: when one is nil or was not made by [Define], or
// when its name is taken, which is [ErrDuplicate].
func (r *Registry) Register(defs ...*Definition) error {
	return r.change(func(tools map[string]*Definition) error {
		for _, d := range defs {
			if err := usable(d); err != nil {
				return err
			}
			if tools[d.Name] != nil {
				return fmt.Errorf("%w: %s", ErrDuplicate, quoted(d.Name))
			}
			c := *d
			tools[d.Name] = &c
		}
		return nil
	})
}

// Replace puts a tool in the place of the one with its name, or adds it if there is none.
func (r *Registry) Replace(d *Definition) error {
	return r.change(func(tools map[string]*Definition) error {
		if err := usable(d); err != nil {
			return err
		}
		c := *d
		tools[d.Name] = &c
		return nil
	})
}

// Unregister removes the tool with this name, and reports whether there was one.
func (r *Registry) Unregister(name string) bool {
	return r.change(func(tools map[string]*Definition) error {
		if tools[name] == nil {
			return errAbsent
		}
		delete(tools, name)
		return nil
	}) == nil
}

var errAbsent = errors.New("no such tool")

// usable reports why d cannot be registered.
func usable(d *Definition) error {
	switch {
	case d == nil:
		return fmt.Errorf("%w: it is nil", ErrDefinition)
	case d.bind == nil:
		return fmt.Errorf("%w: %s: it was not made by Define", ErrDefinition, quoted(d.Name))
	case d.Name == "":
		return fmt.Errorf("%w: it has no name", ErrDefinition)
	}
	return nil
}

// change puts a changed copy of the tools in place, unless f fails.
func (r *Registry) change(f func(map[string]*Definition) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := &state{generation: 1, tools: map[string]*Definition{}}
	if s := r.now.Load(); s != nil {
		next.generation = s.generation + 1
		maps.Copy(next.tools, s.tools)
	}
	if err := f(next.tools); err != nil {
		return err
	}
	r.now.Store(next)
	return nil
}

// Definitions returns the tools in the order of their names, for the model: the same tools give the same bytes. The
// values are copies.
func (r *Registry) Definitions() []Definition {
	s := r.now.Load()
	if s == nil {
		return []Definition{}
	}
	defs := make([]Definition, 0, len(s.tools))
	for _, d := range s.tools {
		c := *d
		c.Parameters, c.Output = slices.Clone(d.Parameters), slices.Clone(d.Output)
		defs = append(defs, c)
	}
	slices.SortFunc(defs, func(a, b Definition) int { return strings.Compare(a.Name, b.Name) })
	return defs
}

// A Binding is what a name meant at one moment. Classification, preparation and body of a call all use one Binding, so
// that none of them can meet another definition than the rest.
type Binding struct {
	Definition *Definition // nil: there was no such tool. Not to be modified
	Generation uint64      // counts the changes of what the name was looked up in
	Hint       string      // if there was none: what the model is told besides, such as how it can be called after all
}

// Bind returns what name means now.
func (r *Registry) Bind(name string) Binding {
	s := r.now.Load()
	if s == nil {
		return Binding{}
	}
	return Binding{Definition: s.tools[name], Generation: s.generation}
}
