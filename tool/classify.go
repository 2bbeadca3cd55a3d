package tool

import "github.com/keywave-go/keywave/plan"

// Calls classifies a batch for package plan: one plan.Call for each call, in their order. Nothing is started and
// nothing is kept. A call that could not run, because there is no such tool or its arguments are invalid, is exclusive.
//
// It is what [Run] would plan with, as far as that can be known in advance: Run classifies each call again right before
// it starts, when the registry, or what names on disk mean, may have changed.
func Calls(r *Registry, calls []Call) []plan.Call {
	planned := make([]plan.Call, len(calls))
	for i, c := range calls {
		p := prepare(r, r.Bind(c.Name), c)
		planned[i] = p.classify()
	}
	return planned
}
