package tool

import "github.com/keywave-go/keywave/plan"

// Calls classifies a batch for package plan: one plan.Call for each call, in their order. Nothing is started and
// nothing is kept. A call that could not run, because there is no such tool or its arguments are invalid, is exclusive.
//
// It is what [Run] would plan with, as far as that can be known in advance: Run classifies each call again right before
// it starts, when the registry, or what names on disk mean, may have changed.
func Calls(t Tools, calls []Call) []plan.Call {
	planned := make([]plan.Call, len(calls))
	for i, c := range calls {
		p := prepare(t, t.Bind(c.Name), c)
		planned[i], _ = p.planned()
	}
	return planned
}

// Refusal returns the result with which a call would be refused if it came to run now, before any code of its tool
// does: its Code is [UnknownTool] or [InvalidArgs]. It reports false if the call would not be.
func Refusal(t Tools, c Call) (Result, bool) {
	p := prepare(t, t.Bind(c.Name), c)
	return p.refusal, p.run == nil
}

// ClaimsError says what [Calls] has no room for: why what a tool declares of a call cannot be relied upon, which makes
// the call exclusive. It is the error of the tool's Claims, or tells of a panic in Safe or Claims, or of a claim with
// an empty key; nil if there is nothing of the kind, and of a call that would be refused.
func ClaimsError(t Tools, c Call) error {
	p := prepare(t, t.Bind(c.Name), c)
	_, err := p.planned()
	return err
}
