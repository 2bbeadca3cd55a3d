package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/keywave-go/keywave/plan"
)

// A prepared call has been bound and checked. It also answers for its classification, so that what is planned is what
// runs.
type prepared struct {
	tool    *Definition
	raw     json.RawMessage
	bound          // run is nil: refused
	refusal Result // why it is not to run
}

// prepare makes a call ready for what its name means by b.
func prepare(t Tools, b Binding, c Call) (p prepared) {
	p.tool = b.Definition
	p.raw = arguments(c)
	if p.tool == nil {
		p.refusal = unknownTool(t, c, b.Hint)
		return p
	}
	problems := p.accept()
	if len(problems) > 0 {
		p.run, p.refusal = nil, invalidArguments(c, problems)
	}
	return p
}

// arguments are those of a call as JSON, if they are.
func arguments(c Call) json.RawMessage {
	if strings.TrimSpace(c.Arguments) == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(c.Arguments)
}

// accept makes the call ready to run with the arguments, or returns what is wrong with them.
func (p *prepared) accept() (problems []string) {
	defer func() {
		if v := recover(); v != nil { // an UnmarshalJSON of the tool's
			problems = []string{bounded(fmt.Sprintf("reading them panicked: %v", v), maxProblem)}
		}
	}()
	if err := checkJSON(p.raw); err != nil {
		return []string{err.Error()}
	}
	if problems := p.tool.input.problems(p.raw, "the arguments"); len(problems) > 0 {
		return problems
	}
	bound, err := p.tool.bind(p.raw)
	if err != nil {
		return []string{bounded(misfit(err), maxProblem)}
	}
	p.bound = bound
	return nil
}

// misfit words the error of decoding what satisfied the schema.
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

// planned says how the call may overlap others: not at all, unless all that its tool says of it can be relied upon.
// If something it says cannot, there is an error.
func (b bound) planned() (c plan.Call, err error) {
	if b.run == nil || b.classify == nil {
		return plan.Call{}, nil
	}
	defer func() {
		if v := recover(); v != nil {
			c, err = plan.Call{}, errors.New(bounded(fmt.Sprintf("it panicked: %v", v), maxProblem))
		}
	}()
	c, err = b.classify()
	if err == nil && (plan.Call{Safe: true, Claims: c.Claims}).Exclusive() {
		err = errEmptyKey
	}
	if err != nil {
		return plan.Call{}, err // a claim that cannot be relied upon leaves none of them standing
	}
	return c, nil
}

var errEmptyKey = errors.New("a claim has an empty key")

// safely calls f, of which a panic is an error.
func safely[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it panicked: %v", r)
		}
	}()
	return f()
}

// admit takes a call whose turn it is as far as it can be taken in the lane: it is refused, may run, or, when there is
// an approval in it then, has yet to be answered. An error is that of Record.
func (j *Job) admit(call context.Context, late *TimeoutError) (refusal Result, ok bool, err error) {
	ctx, stop := j.clock.limit(call)
	defer stop()
	switch {
	case j.prepared.run == nil:
		return j.prepared.refusal, false, nil
	case late != nil:
		return lateStart(j.Call.Name, late), false, nil
	}
	v, refusal, ok := j.decide(ctx)
	switch {
	case !ok:
		return refusal, false, nil
	case v.Action == Allow:
		refusal, ok = j.guard(ctx)
		return refusal, ok, nil
	case j.Pipeline.Prompter == nil || j.Pipeline.Prompter.Approver == nil:
		return unavailable(j.Call.Name, errors.New("no approver is set")), false, nil
	}
	j.approval = &approval{spot: j.Pipeline.Prompter.enter(call), reason: v.Reason}
	if err := j.tell(call, Asked, Result{}); err != nil {
		j.approval.spot.quit(false)
		return Result{}, false, err
	}
	if !j.Pipeline.AskInLane {
		return Result{}, true, nil
	}
	refusal, ok = j.approve(ctx)
	j.approval = nil
	return refusal, ok, j.tell(call, Answered, refusal)
}

// decide asks the policies: the call may run, or is to be asked about, or is refused.
func (j *Job) decide(ctx context.Context) (v Verdict, refusal Result, ok bool) {
	v = Verdict{Action: Allow}
	for _, policy := range j.Pipeline.Policies {
		one, err := safely(func() (Verdict, error) { return policy(ctx, &j.Invocation) })
		switch {
		case err != nil && ctx.Err() != nil:
			return v, j.cancelled(context.Cause(ctx)), false
		case err != nil:
			return v, denied(j.Call.Name, fmt.Sprint("its policy failed: ", err)), false
		case one.Action == Allow || one.Action == Ask && v.Action == Ask:
		case one.Action == Ask:
			if _, granted := j.Pipeline.granted.Load(grant{j.Definition, one.Grant}); !granted {
				v = one
			}
		default:
			return v, denied(j.Call.Name, one.Reason), false
		}
	}
	return v, Result{}, true
}

// guard asks the guards, which are the last before the body.
func (j *Job) guard(ctx context.Context) (refusal Result, ok bool) {
	for _, guard := range j.Pipeline.Guards {
		_, err := safely(func() (struct{}, error) { return struct{}{}, guard(ctx, &j.Invocation) })
		switch {
		case err != nil && ctx.Err() != nil:
			return j.cancelled(context.Cause(ctx)), false
		case err != nil:
			return denied(j.Call.Name, fmt.Sprint(err)), false
		}
	}
	return Result{}, true
}

// cancelled is the result of a call that was cancelled before its body, or not in time.
func (j *Job) cancelled(cause error) Result {
	if late := j.clock.is(cause); late != nil {
		return lateStart(j.Call.Name, late)
	}
	return notRun(j.Call.Name, cause)
}
