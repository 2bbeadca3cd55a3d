package tool

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"

	infer "github.com/google/jsonschema-go/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// schemas are what the arguments of a tool, or the value that it returns, must satisfy.
//
// Two libraries meet here: one infers schemas from Go types, the other reports everything that is wrong with a value,
// and where, which is what a model needs to mend a call in one go.
type schemas []*jsonschema.Schema

// inputSchema infers the schema of a tool's input and compiles it; given is one that was stated for the model.
func inputSchema(in reflect.Type, given json.RawMessage) (check schemas, shown json.RawMessage, err error) {
	types := codecs(in)
	own := types[in] != nil && types[in].Type == "" // it decodes itself, like json.RawMessage
	if own && len(given) == 0 {
		return nil, nil, errors.New("its input has no schema: state its Parameters")
	}
	if !own {
		inferred, err := infer.ForType(in, &infer.ForOptions{TypeSchemas: types})
		if err != nil {
			return nil, nil, err
		}
		noNulls(inferred)
		if inferred.Type == "object" && inferred.Properties == nil {
			inferred.Properties = map[string]*infer.Schema{} // some providers insist on it
		}
		shown, err = json.Marshal(inferred)
		if err != nil {
			return nil, nil, err
		}
		sch, err := compile(shown, true)
		if err != nil {
			return nil, nil, fmt.Errorf("its input, a %v: %w", in, err)
		}
		check = append(check, sch)
	}
	if len(given) > 0 {
		sch, err := compile(given, true)
		if err != nil {
			return nil, nil, fmt.Errorf("its Parameters: %w", err)
		}
		// Looked at first: it is the one that the model knows.
		check = slices.Insert(check, 0, sch)
		var b bytes.Buffer
		if err := json.Compact(&b, given); err != nil {
			return nil, nil, err
		}
		shown = b.Bytes()
	}
	return check, shown, nil
}

// outputSchema compiles the schema that was given for what a tool returns, if one was.
func outputSchema(given json.RawMessage) (check schemas, shown json.RawMessage, err error) {
	if len(given) == 0 {
		return nil, nil, nil
	}
	sch, err := compile(given, false)
	if err != nil {
		return nil, nil, fmt.Errorf("its Output: %w", err)
	}
	return schemas{sch}, compact(given), nil
}

// codecs are the schemas of the types below t whose JSON is not what their kind suggests.
func codecs(t reflect.Type) map[reflect.Type]*infer.Schema {
	found := map[reflect.Type]*infer.Schema{
		reflect.TypeFor[json.Number](): {Type: "number"},
		reflect.TypeFor[big.Int]():     {Type: "integer"},
		reflect.TypeFor[[]byte]():      {Type: "string", ContentEncoding: "base64"},
	}
	library := []reflect.Type{reflect.TypeFor[big.Float](), reflect.TypeFor[big.Rat]()}
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(t reflect.Type) {
		if seen[t] {
			return
		}
		seen[t] = true
		if t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface && found[t] == nil && !slices.Contains(library, t) {
			switch p := reflect.PointerTo(t); {
			case p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
				found[t] = &infer.Schema{Type: "string"}
				return
			case p.Implements(reflect.TypeFor[json.Unmarshaler]()):
				found[t] = &infer.Schema{} // its own business
				return
			}
		}
		if found[t] != nil {
			return
		}
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			walk(t.Elem())
		case reflect.Struct:
			for i := range t.NumField() {
				walk(t.Field(i).Type)
			}
		}
	}
	walk(t)
	return found
}

// noNulls takes the null out of the type of slices: a slice that may be left out is marked omitempty, and some
// providers know no lists of types.
func noNulls(s *infer.Schema) {
	if s == nil {
		return
	}
	if slices.Equal(s.Types, []string{"null", "array"}) {
		s.Type, s.Types = "array", nil
	}
	noNulls(s.Items)
	noNulls(s.AdditionalProperties)
	for _, p := range s.Properties {
		noNulls(p)
	}
}

// compile compiles a schema, which may have to be that of an object.
func compile(raw json.RawMessage, object bool) (*jsonschema.Schema, error) {
	if err := checkJSON(raw); err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	if sch, ok := doc.(map[string]any); object && (!ok || sch["type"] != "object") {
		return nil, errors.New(`it is not of type "object", as the arguments of a tool are: take a struct or a map`)
	}
	const url = "mem:///schema"
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource(url, doc); err != nil {
		return nil, err
	}
	return c.Compile(url)
}

// noLoader keeps a schema, which may come from a stranger, from reading files through its references.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a reference out of the schema, to %s", quoted(url))
}

// problems checks a value, which is called whole, and returns all that is wrong with it, a line each, in a stable
// order.
func (s schemas) problems(raw json.RawMessage, whole string) []string {
	doc := empty
	if string(raw) != "{}" {
		var err error
		if doc, err = jsonschema.UnmarshalJSON(bytes.NewReader(raw)); err != nil {
			return []string{err.Error()}
		}
	}
	for _, sch := range s {
		err := sch.Validate(doc)
		if err == nil {
			continue
		}
		var invalid *jsonschema.ValidationError
		if !errors.As(err, &invalid) {
			return []string{err.Error()}
		}
		var lines []string
		leaves(invalid, func(leaf *jsonschema.ValidationError) {
			lines = append(lines, problem(leaf, whole))
		})
		slices.Sort(lines)
		return slices.Compact(lines)
	}
	return nil
}

// empty is {} as a schema sees it. It is not modified.
var empty any = map[string]any{}

// leaves calls f for the errors that have no further cause.
func leaves(e *jsonschema.ValidationError, f func(*jsonschema.ValidationError)) {
	if len(e.Causes) == 0 {
		f(e)
	}
	for _, cause := range e.Causes {
		leaves(cause, f)
	}
}

var english = message.NewPrinter(language.English)

// problem says where and what, as a JSON pointer and a sentence.
func problem(e *jsonschema.ValidationError, where string) string {
	switch k := e.ErrorKind.(type) { // they are collected from maps
	case *kind.AdditionalProperties:
		slices.Sort(k.Properties)
	case *kind.Required:
		slices.Sort(k.Missing)
	}
	if len(e.InstanceLocation) > 0 {
		where = pointer(e.InstanceLocation)
	}
	return bounded(where, maxProblem/2) + ": " + bounded(e.ErrorKind.LocalizedString(english), maxProblem)
}

var escaper = strings.NewReplacer("~", "~0", "/", "~1")

// pointer returns a JSON pointer.
func pointer(path []string) string {
	var b strings.Builder
	for _, p := range path {
		b.WriteByte('/')
		b.WriteString(escaper.Replace(p))
	}
	return b.String()
}
