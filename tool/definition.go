package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

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
// encoded as JSON.
type Spec[In, Out any] struct {
	Name        string // what the model calls it by; models' interfaces want letters, digits, _ and -, at most 64
	Description string // for the model

	// Parameters is a JSON Schema of type object to show to the model in place of the inferred one. It can say more
	// than In does (enumerations, bounds), never less: arguments must satisfy both.
	Parameters json.RawMessage

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
	// error, and what it returned besides is dropped; nothing else is cancelled by it.
	Body func(context.Context, In) (Out, error)
}

// A Definition is a tool that can be registered, made by [Define]. Its exported fields are all that a model is shown,
// and all that encoding it as JSON yields.
//
// A Definition is never modified here, and may be used by several registries and goroutines.
type Definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"` // a JSON Schema of type object

	schema   arguments
	classify func(json.RawMessage) (plan.Call, error) // of valid arguments; nil: exclusive; it may panic
	bind     func(json.RawMessage) (body, error)
}

// ErrDefinition is the error that [Define] and [Registry.Register] wrap: a declaration that cannot be used.
var ErrDefinition = errors.New("invalid tool definition")

// Define makes a definition. Its schema is inferred and compiled here, once. The error names the tool, and what of it
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
	}
	schema, parameters, err := schemaOf(reflect.TypeFor[In](), spec.Parameters)
	if err != nil {
		return fail(err)
	}
	d := &Definition{
		Name:        spec.Name,
		Description: spec.Description,
		Parameters:  parameters,
		schema:      schema,
		bind: func(raw json.RawMessage) (body, error) {
			in, err := decode[In](raw)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) (Result, error) {
				out, err := spec.Body(ctx, in)
				if err != nil {
					return Result{}, err
				}
				return resultOf(out)
			}, nil
		},
	}
	if spec.Safe != nil || spec.Claims != nil {
		// It decodes for itself: what Safe and Claims do to their input, the body does not see.
		d.classify = func(raw json.RawMessage) (c plan.Call, err error) {
			in, err := decode[In](raw)
			if err != nil {
				return plan.Call{}, err
			}
			c.Safe = spec.Safe != nil && spec.Safe(in)
			if spec.Claims != nil {
				claims, err := spec.Claims(in)
				if err != nil {
					return plan.Call{}, err
				}
				c.Claims = slices.Clone(claims) // the tool may use its slice again
			}
			return c, nil
		}
	}
	return d, nil
}

// A body is what is left to do of a call whose arguments were good.
type body func(context.Context) (Result, error)

// decode turns arguments that satisfy the schema into the input of a tool. It can still fail: an integer may be too
// large for its field.
func decode[In any](raw json.RawMessage) (in In, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // a field of type any must not round a large integer
	err = dec.Decode(&in)
	return in, err
}
