package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keywave-go/keywave/plan"
)

// A call goes through three stages, of which only the middle one overlaps with other calls:
//
//	prepare   what the name means now; arguments: there, JSON, valid
//	dispatch  the body, and whether what it returned can be passed on
//	finalize  the result in its final form
//
// A prepared call also answers for its classification, so that what is planned is what runs.

// A prepared call has been through the first stage.
type prepared struct {
	tool    *Definition
	raw     json.RawMessage
	body    body   // nil: refused
	refusal Result // why it is not to run
}

// prepare is the first stage, for what the name of the call means by b.
func prepare(r *Registry, b Binding, c Call) (p prepared) {
	p.tool = b.Definition
	if p.tool == nil {
		p.refusal = unknownTool(r, c)
		return p
	}
	p.raw = json.RawMessage(c.Arguments)
	if strings.TrimSpace(c.Arguments) == "" {
		p.raw = json.RawMessage("{}")
	}
	problems := p.accept()
	if len(problems) > 0 {
		p.body, p.refusal = nil, invalidArguments(c, problems)
	}
	return p
}

// accept makes the body ready to run with the arguments, or returns what is wrong with them.
func (p *prepared) accept() (problems []string) {
	defer func() {
		if v := recover(); v != nil { // an UnmarshalJSON of the tool's
			problems = []string{bounded(fmt.Sprintf("reading them panicked: %v", v), maxProblem)}
		}
	}()
	if err := checkJSON(p.raw); err != nil {
		return []string{err.Error()}
	}
	if problems := p.tool.schema.problems(p.raw); len(problems) > 0 {
		return problems
	}
	body, err := p.tool.bind(p.raw)
	if err != nil {
		return []string{bounded(misfit(err), maxProblem)}
	}
	p.body = body
	return nil
}

// misfit words the error of decoding arguments that satisfied the schema.
func misfit(err error) string {
	var e *json.UnmarshalTypeError
	if errors.As(err, &e) {
		where := "the arguments"
		if e.Field != "" {
			where = pointer(strings.Split(e.Field, "."))
		}
		return fmt.Sprintf("%s: %s does not fit, want %v", where, e.Value, e.Type)
	}
	return err.Error()
}

// classify says how the call may overlap others: not at all, unless all that its tool says of it can be relied upon.
// If something it says cannot, there is an error.
func (p *prepared) classify() (c plan.Call, err error) {
	if p.body == nil || p.tool.classify == nil {
		return plan.Call{}, nil
	}
	defer func() {
		if v := recover(); v != nil {
			c, err = plan.Call{}, errors.New(bounded(fmt.Sprintf("it panicked: %v", v), maxProblem))
		}
	}()
	c, err = p.tool.classify(p.raw)
	if err == nil && (plan.Call{Safe: true, Claims: c.Claims}).Exclusive() {
		err = errEmptyKey
	}
	if err != nil {
		return plan.Call{}, err // a claim that cannot be relied upon leaves none of them standing
	}
	return c, nil
}

var errEmptyKey = errors.New("a claim has an empty key")

// dispatch is the second stage. It runs beside those of other calls.
func (p *prepared) dispatch(ctx context.Context) Result {
	r, err := p.body(ctx)
	var output *outputError
	switch {
	case errors.As(err, &output):
		r = invalidOutput(p.tool.Name, err)
	case err != nil:
		r = failed(err)
	}
	if ctx.Err() == nil || r.Code != "" {
		return r
	}
	// Cancelled while it ran. An error of its own stays what it is; one that only passes the cancel on does not.
	if !r.IsError || errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)) {
		if err != nil && slices.Contains([]string{ctx.Err().Error(), context.Cause(ctx).Error()}, err.Error()) {
			r = Result{} // it says no more than the notice does
		}
		return aborted(p.tool.Name, context.Cause(ctx), r)
	}
	return r
}

func unknownTool(r *Registry, c Call) Result {
	var names []string
	for _, d := range r.Definitions() {
		names = append(names, named(d.Name))
	}
	known := "There are no tools."
	if more := len(names) - maxNames; more > 0 {
		known = fmt.Sprintf("The tools are: %s, and %d more.", strings.Join(names[:maxNames], ", "), more)
	} else if len(names) > 0 {
		known = fmt.Sprintf("The tools are: %s.", strings.Join(names, ", "))
	}
	return coded(UnknownTool, "There is no tool %s: nothing was run. %s", quoted(c.Name), known)
}

func invalidArguments(c Call, problems []string) Result {
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(slices.Clip(problems[:maxProblems]), fmt.Sprintf("and %d more", more))
	}
	were := "were: " + bounded(c.Arguments, maxEcho)
	if strings.TrimSpace(c.Arguments) == "" {
		were = "were empty."
	}
	return coded(InvalidArgs, "The arguments of %s are invalid: it was not run.\n- %s\nThe arguments %s", named(c.Name), strings.Join(problems, "\n- "), were)
}

// reason words the cause of a cancel.
func reason(cause error) string {
	if cause == nil {
		return "no cause given"
	}
	return bounded(cause.Error(), maxProblem)
}

const check = "Check what has happened before you try again."

func notRun(name string, cause error) Result {
	return coded(AbortedBeforeDispatch, "%s was not run: it was cancelled before it started (%s). Nothing was done.", named(name), reason(cause))
}

func unclaimed(name string, cause error) Result {
	return coded(Denied, "%s was not run: its claims were refused (%s). Nothing was done.", named(name), reason(cause))
}

func aborted(name string, cause error, own Result) Result {
	r := coded(Aborted, "%s was cancelled while it ran (%s). Its effect may have happened, wholly or in part. %s", named(name), reason(cause), check)
	if len(own.Content) > 0 {
		r.Content[0].Text += " What it returned:"
	}
	r.Content = append(r.Content, own.Content...)
	r.Value = own.Value
	return r
}

func abandoned(name string, cause error) Result {
	return coded(Abandoned, "%s was cancelled while it ran (%s) and did not stop in time: it may still be running, and its effect may have happened. %s", named(name), reason(cause), check)
}

func panicked(name string, what string) Result {
	return coded(Panic, "%s failed: %s. Its effect may have happened, wholly or in part. %s", named(name), bounded(what, maxProblem), check)
}

func invalidOutput(name string, err error) Result {
	return coded(InvalidToolOutput, "%s ran, but its result cannot be shown: %s. Its effect may have happened. %s", named(name), bounded(err.Error(), maxProblem), check)
}
