package tool

import "slices"

// Direct is what a model may call of Tools by itself: all but those that only programs may call, as [Spec.ProgramOnly]
// says. A direct call of one of those is a call of a tool that is not there. A tool that runs a program looks up the
// program's calls in the Tools inside.
type Direct struct{ Tools }

// Bind returns what name means now.
func (d Direct) Bind(name string) Binding {
	b := d.Tools.Bind(name)
	if b.Definition != nil && b.Definition.programs {
		b.Definition = nil
	}
	return b
}

// Definitions returns the tools in the order of their names, for the model. The values are copies.
func (d Direct) Definitions() []Definition {
	return slices.DeleteFunc(d.Tools.Definitions(), func(d Definition) bool { return d.programs })
}
