package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/keywave-go/keywave/plan"
)

// A Spec is the typed declaration of a tool, for [Define].
//
// In is a struct or a map with string keys. Its fields are named and described by their tags:
//
//	Path  string `json:"path" jsonschema:"the file to read, relative to the root"`
//	Limit int    `json:"limit,omitempty" jsonschema:"lines at most; 0 for all"`
//
// Fields without omitempty or omitzero are required, and others than those of the struct are refused. Numbers in a
// field of type any arrive as [json.Number]. A tool that wants its arguments as they are, such as one that another
// server implements, takes In as [json.RawMessage] and states its Parameters; so does one whose In has an
// UnmarshalJSON.
//
// Out is what the body returns: a string is a text for the model, a [Result] is the result itself, and anything else is
// encoded as JSON, and shown as that unless there is a Render.
type Spec[In, Out any] struct {
	Name        string // what the model calls it by; models' interfaces want letters, digits, _ and -, at most 64
	Description string // for the model

	// Parameters is a JSON Schema of type object to show to the model in place of the inferred one. It can say more
	// than In does (enumerations, bounds), never less: arguments must satisfy both.
	Parameters json.RawMessage

	// Output is a JSON Schema of what the body returns, encoded as JSON: the Value of its result. A result that does
	// not satisfy it is INVALID_TOOL_OUTPUT. Without it any value will do; an error needs none.
	Output json.RawMessage

	// Safe reports whether a call with these arguments may overlap other calls. Without it no call may.
	//
	// Safe and Claims are called more than once, before a call starts, on the goroutine that admits calls, possibly
	// for several batches at once. They must not wait, may look at no more than their arguments and names on disk, and
	// never reach the model.
	Safe func(In) bool

	// Claims returns the resources that a call with these arguments uses while it runs; none, if nothing that it
	// touches can be shared. An error, or a claim with an empty key, makes the call exclusive, whatever Safe returned;
	// it is not a result, since the body has its own say. The claims of an exclusive call play no part in a plan.
	//
	// The same arguments should give the claims in the same order: the same ones in another order count as a change of
	// the classification, and cost planning anew. The slice that it returns is copied.
	Claims func(In) ([]plan.Claim, error)

	// Body does the work. It must return soon after its context is done. An error is the call's result, marked as an
	// error, and what it returned besides is dropped; nothing else is cancelled by it. One that is worth another
	// attempt is a [*TransientError].
	Body func(context.Context, In) (Out, error)

	// Render makes what the model is shown of what the body returned, and what goes with it: the Content, Meta and
	// Contexts of a result, or one that is an error. Its Value is what the body returned, whatever Render puts there.
	// It is called beside other bodies, and again if a [Reviewer] puts another value in its place. If Out is a Result
	// it has nothing to do, and is not allowed.
	Render func(Out) Result

	// Timeout bounds a call, from the time at which it was made for its lane: all that it waits for, the answer to a
	// prompt included, and its body. What is not running by then never runs. 0: no bound. Not below 0.
	Timeout time.Duration

	// Finalize has the last word on what the model is shown of a call, before it is shortened to its budget: the
	// content that it returns takes the place of the result's; nil leaves it. It is called exactly once for each call
	// that names the tool, in the model's order, whatever became of it; not for calls that a failed lane never came to.
	// Its context is not cancelled. If it fails, nothing of what the tool returned is shown.
	Finalize func(context.Context, *Invocation, Result) ([]Block, error)

	// ConcludesTurn says that a success of this tool is the end of the turn: the result says so when it is committed.
	ConcludesTurn bool

	// RunsPrograms says that the tool runs programs that make calls of their own: see [NewNested]. A [Result] of its body
	// may say that the program failed, by the Code [CodeRunFailed], and that a call of it concludes the turn.
	RunsPrograms bool

	// ProgramOnly says that the tool is for programs that make calls of their own, and not for the model: see [Direct].
	ProgramOnly bool
}

// A Definition is a tool that can be registered, made by [Define]. Its exported fields are all that a model is shown,
// and all that encoding it as JSON yields.
//
// A Definition is never modified here, and may be used by several registries and goroutines.
type Definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`       // a JSON Schema of type object
	Output      json.RawMessage `json:"output,omitempty"` // a JSON Schema of the value; empty: any

	input    schemas
	output   schemas
	bind     func(json.RawMessage) (bound, error)  // of valid arguments
	render   func(json.RawMessage) (Result, error) // of a value that did not come from the body
	timeout  time.Duration
	finalize func(context.Context, *Invocation, Result) ([]Block, error) // nil: nothing
	last     bool                                                        // it concludes the turn
	programs bool                                                        // only they may call it
	runs     bool                                                        // it runs them
}

// ErrDefinition is the error that [Define] and [Registry.Register] wrap: a declaration that cannot be used.
var ErrDefinition = errors.New("invalid tool definition")

// Define makes a definition. Its schemas are inferred and compiled here, once. The error names the tool, and what of it
// cannot be used: no name or body, or an input that has no schema, such as a recursive type.
func Define[In, Out any](spec Spec[In, Out]) (*Definition, error) {
	fail := func(err error) (*Definition, error) {
		return nil, fmt.Errorf("%w: %s: %w", ErrDefinition, quoted(spec.Name), err)
	}
	switch {
	case spec.Name == "":
		return fail(errors.New("it has no name"))
	case spec.Body == nil:
		return fail(errors.New("it has no body"))
	case spec.Timeout < 0:
		return fail(fmt.Errorf("its Timeout is %v: leave it out for none", spec.Timeout))
	case spec.Render != nil && reflect.TypeFor[Out]() == reflect.TypeFor[Result]():
		return fail(errors.New("it has a Render, and its body returns a Result, which is rendered already"))
	}
	input, parameters, err := inputSchema(reflect.TypeFor[In](), spec.Parameters)
	if err != nil {
		return fail(err)
	}
	output, shown, err := outputSchema(spec.Output)
	if err != nil {
		return fail(err)
	}
	d := &Definition{
		Name:        spec.Name,
		Description: spec.Description,
		Parameters:  parameters,
		Output:      shown,
		input:       input,
		output:      output,
		timeout:     spec.Timeout,
		finalize:    spec.Finalize,
		last:        spec.ConcludesTurn,
		programs:    spec.ProgramOnly,
		runs:        spec.RunsPrograms,
	}
	decode, flat := decoder[In](), flat(reflect.TypeFor[In]())
	d.bind = func(raw json.RawMessage) (bound, error) {
		in, err := decode(raw)
		if err != nil {
			return bound{}, err
		}
		b := bound{run: func(ctx context.Context) (Result, error) {
			out, err := spec.Body(ctx, in)
			if err != nil {
				return Result{}, err
			}
			return rendered(spec.Name, out, spec.Render)
		}}
		if spec.Safe != nil || spec.Claims != nil {
			b.classify = func() (plan.Call, error) {
				own := in // what Safe and Claims do to their input, the body does not see
				if !flat {
					if own, err = decode(raw); err != nil {
						return plan.Call{}, err
					}
				}
				return spec.classify(own)
			}
		}
		return b, nil
	}
	again := decoder[Out]()
	d.render = func(raw json.RawMessage) (Result, error) {
		var out any = raw
		if reflect.TypeFor[Out]() == reflect.TypeFor[Result]() {
			return resultOf(spec.Name, out)
		}
		typed, err := again(raw)
		if err != nil {
			return Result{}, badOutput("/value: %s", misfit(err))
		}
		return rendered(spec.Name, typed, spec.Render)
	}
	return d, nil
}

// A bound call is what is left of one whose arguments were good.
type bound struct {
	run      func(context.Context) (Result, error) // the body
	classify func() (plan.Call, error)             // nil: exclusive; it may panic
}

// classify asks the declarations what a call is.
func (s *Spec[In, Out]) classify(in In) (c plan.Call, err error) {
	c.Safe = s.Safe != nil && s.Safe(in)
	if s.Claims != nil {
		claims, err := s.Claims(in)
		if err != nil {
			return plan.Call{}, err
		}
		c.Claims = slices.Clone(claims) // the tool may use its slice again
	}
	return c, nil
}

// rendered is the result of a body that returned out; render may be nil.
func rendered[Out any](name string, out Out, render func(Out) Result) (Result, error) {
	if render == nil {
		return resultOf(name, out)
	}
	value, err := valueOf(out)
	if err != nil {
		return Result{}, err
	}
	r := render(out)
	r.Value = nil
	r, err = r.tidy(name)
	r.Value = value
	return r, err
}

// check returns what is wrong with the value of a result that is not an error.
func (d *Definition) check(r Result) error {
	if d.output == nil || r.IsError {
		return nil
	}
	if len(r.Value) == 0 {
		return badOutput("the value: there is none")
	}
	if problems := d.output.problems(r.Value, "the value"); len(problems) > 0 {
		return &outputError{problems}
	}
	return nil
}

// own is a result of a body or a wrapper without what a tool like this cannot say.
func (d *Definition) own(r Result) Result {
	if !d.runs {
		r.Code, r.Concludes = "", false
	}
	r.IsError = r.IsError || r.Code != ""
	return r
}

// decoder returns a function that turns JSON which satisfies a schema into a T. It can still fail: an integer may be
// too large for its field.
func decoder[T any]() func(raw json.RawMessage) (T, error) {
	if !dynamic(reflect.TypeFor[T]()) {
		return func(raw json.RawMessage) (v T, err error) {
			err = json.Unmarshal(raw, &v)
			return v, err
		}
	}
	return func(raw json.RawMessage) (v T, err error) {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber() // a field of type any must not round a large integer
		err = dec.Decode(&v)
		return v, err
	}
}

// dynamic reports whether there can be an interface in a t.
func dynamic(t reflect.Type) bool {
	return has(t, map[reflect.Type]bool{}, func(k reflect.Kind) bool { return k == reflect.Interface })
}

// flat reports whether a copy of a t shares nothing with it that can be modified.
func flat(t reflect.Type) bool {
	return !has(t, map[reflect.Type]bool{}, func(k reflect.Kind) bool {
		switch k {
		case reflect.Interface, reflect.Pointer, reflect.Slice, reflect.Map, reflect.Chan, reflect.Func, reflect.UnsafePointer:
			return true
		}
		return false
	})
}

// has reports whether there is something of a kind in a t.
func has(t reflect.Type, seen map[reflect.Type]bool, kind func(reflect.Kind) bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	if kind(t.Kind()) {
		return true
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return has(t.Elem(), seen, kind)
	case reflect.Struct:
		for i := range t.NumField() {
			if has(t.Field(i).Type, seen, kind) {
				return true
			}
		}
	}
	return false
}
