package tool

import (
	"slices"
	"strings"
)

// A Scope is what one agent sees of the tools: its own, which shadow those of the same name that it inherits, as far as
// the filters let them through. A call of a tool that they hide is a call of a tool that is not there.
//
// It keeps nothing: a change of what is below it is seen at once. Its fields are set before it is used and not changed
// then; it is safe for concurrent use if its Parent is. To filter only what is inherited, put a Scope with the filters
// below one with the tools.
type Scope struct {
	Parent Tools     // nil: nothing is inherited
	Own    *Registry // nil: nothing is added
	Allow  []string  // the names that may be seen; nil: all, while an empty list is none
	Deny   []string  // names that may not, whatever Allow says
}

// visible reports whether the filters let a name through.
func (s *Scope) visible(name string) bool {
	return (s.Allow == nil || slices.Contains(s.Allow, name)) && !slices.Contains(s.Deny, name)
}

// Bind returns what name means now. The generation counts the changes of Own and of Parent together.
func (s *Scope) Bind(name string) Binding {
	var b Binding
	if s.Parent != nil {
		b = s.Parent.Bind(name)
	}
	if s.Own != nil {
		own := s.Own.Bind(name)
		if own.Definition != nil {
			b.Definition, b.Hint = own.Definition, ""
		}
		b.Generation += own.Generation
	}
	if !s.visible(name) {
		b.Definition, b.Hint = nil, ""
	}
	return b
}

// Definitions returns the tools in the order of their names, for the model. The values are copies.
func (s *Scope) Definitions() []Definition {
	defs := []Definition{}
	if s.Own != nil {
		defs = s.Own.Definitions()
	}
	own := len(defs)
	if s.Parent != nil {
		for _, d := range s.Parent.Definitions() {
			if !slices.ContainsFunc(defs[:own], func(o Definition) bool { return o.Name == d.Name }) {
				defs = append(defs, d)
			}
		}
	}
	defs = slices.DeleteFunc(defs, func(d Definition) bool { return !s.visible(d.Name) })
	slices.SortFunc(defs, func(a, b Definition) int { return strings.Compare(a.Name, b.Name) })
	return defs
}
