package codemode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/keywave-go/keywave/tool"
)

// Declarations declares tools to TypeScript: a function of the object tools for each, with the types of its arguments
// and of its result, as far as their JSON Schemas say it in a way that TypeScript can. What it cannot, is unknown: no
// schema makes it fail. The same tools give the same bytes.
func Declarations(defs []tool.Definition) string {
	var b strings.Builder
	b.WriteString("declare const tools: {\n")
	for _, d := range defs {
		in, out := typesOf(d.Parameters), typesOf(d.Output)
		comment(&b, "  ", d.Description)
		optional := "?"
		if s, _ := in.root.(map[string]any); len(stringsOf(s["required"])) > 0 {
			optional = ""
		}
		fmt.Fprintf(&b, "  %s(args%s: %s): Promise<", key(d.Name), optional, in.of(in.root, "  ", 0))
		fmt.Fprintf(&b, "%s>;\n", out.of(out.root, "  ", 0))
	}
	b.WriteString("};")
	return b.String()
}

// parse decodes a schema. What is none is nil, which is unknown.
func parse(schema json.RawMessage) (v any) {
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber() // a literal is to be shown as it was written
	if dec.Decode(&v) != nil {
		return nil
	}
	return v
}

// types makes types of one schema.
type types struct {
	root any
	made int      // types so far
	room int      // bytes of names, literals and comments that there may still be
	refs []string // that are being resolved: one of them again is a type without an end
}

// Bounds of one schema: with references, a short one can describe a type of any length.
const (
	maxTypes    = 1000
	maxTypeDeep = 24
	minTypeRoom = 64 << 10
)

func typesOf(schema json.RawMessage) *types {
	return &types{root: parse(schema), room: minTypeRoom + 4*len(schema)} // each text of it once, however it is quoted
}

// takes notes that something of n bytes is shown.
func (t *types) takes(n int) { t.room -= n }

// of is the type that a schema describes, for a line that is indented.
func (t *types) of(schema any, indent string, depth int) string {
	s, _ := schema.(map[string]any)
	if t.made++; s == nil || t.made > maxTypes || depth > maxTypeDeep || t.room < 0 {
		return "unknown"
	}
	again := func(schema any) string { return t.of(schema, indent, depth+1) }
	list := func(word string) []any { l, _ := s[word].([]any); return l }
	if ref, ok := s["$ref"].(string); ok {
		if ref == "#" || slices.Contains(t.refs, ref) {
			return "unknown"
		}
		t.takes(len(ref))
		t.refs = append(t.refs, ref)
		defer func() { t.refs = t.refs[:len(t.refs)-1] }()
		return again(t.resolve(ref))
	}
	if value, ok := s["const"]; ok {
		return t.literal(value)
	}
	if s["properties"] == nil { // else what is in these words only says which of the properties go together
		switch {
		case s["enum"] != nil:
			return t.union(list("enum"), t.literal)
		case s["anyOf"] != nil:
			return t.union(list("anyOf"), again)
		case s["oneOf"] != nil:
			return t.union(list("oneOf"), again)
		case s["allOf"] != nil:
			return intersection(list("allOf"), again)
		}
	}
	if kinds, ok := s["type"].([]any); ok {
		return t.union(kinds, func(kind any) string { return t.kind(kind, s, indent, depth) })
	}
	return t.kind(s["type"], s, indent, depth)
}

// kind is the type of a schema as far as it is of one of the types of JSON.
func (t *types) kind(kind any, s map[string]any, indent string, depth int) string {
	switch kind {
	case "string":
		return "string"
	case "number", "integer":
		return "number"
	case "boolean":
		return "boolean"
	case "null":
		return "null"
	case "array":
		if tuple, ok := s["prefixItems"].([]any); ok {
			elements := make([]string, len(tuple))
			for i, e := range tuple {
				elements[i] = t.of(e, indent, depth+1)
			}
			if s["items"] != false {
				elements = append(elements, "..."+array(t.of(s["items"], indent, depth+1)))
			}
			return "[" + strings.Join(elements, ", ") + "]"
		}
		return array(t.of(s["items"], indent, depth+1))
	case "object":
		return t.object(s, indent, depth)
	}
	if kind == nil && s["properties"] != nil {
		return t.object(s, indent, depth)
	}
	return "unknown"
}

// object is the type of an object: its properties by their names, and then the others that it may have.
func (t *types) object(s map[string]any, indent string, depth int) string {
	properties, _ := s["properties"].(map[string]any)
	required := map[string]bool{}
	for _, name := range stringsOf(s["required"]) {
		t.takes(len(name))
		required[name] = true
	}
	rest := "" // the type of what has no name here
	switch more := s["additionalProperties"].(type) {
	case nil:
		if len(properties) == 0 {
			rest = "unknown"
		}
	case bool:
		if more {
			rest = "unknown"
		}
	case map[string]any:
		if rest = t.of(more, indent, depth+1); len(properties) > 0 {
			rest = "unknown" // which the types of the properties are, too
		}
	}
	if len(properties) == 0 {
		if rest == "" {
			return "{}"
		}
		return "{ [key: string]: " + rest + " }"
	}
	var b strings.Builder
	b.WriteString("{\n")
	inner := indent + "  "
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		p, _ := properties[name].(map[string]any)
		if note := described(p); t.room >= 0 {
			t.takes(len(note))
			comment(&b, inner, note)
		}
		t.takes(len(name))
		optional := "?"
		if required[name] {
			optional = ""
		}
		fmt.Fprintf(&b, "%s%s%s: %s;\n", inner, key(name), optional, t.of(properties[name], inner, depth+1))
	}
	if rest != "" {
		fmt.Fprintf(&b, "%s[key: string]: %s;\n", inner, rest)
	}
	b.WriteString(indent + "}")
	return b.String()
}

// resolve finds what a reference within the schema means; nil if it finds nothing.
func (t *types) resolve(ref string) any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := t.root
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		m, _ := at.(map[string]any)
		at = m[pointed.Replace(part)]
	}
	return at
}

var pointed = strings.NewReplacer("~1", "/", "~0", "~") // a part of a JSON pointer

func (t *types) union(of []any, one func(any) string) string {
	var parts []string
	seen := map[string]bool{}
	for _, v := range of {
		p := one(v)
		if p == "unknown" || t.room < 0 {
			return "unknown" // it takes in all others
		}
		if !seen[p] {
			seen[p] = true
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return "unknown"
	}
	return strings.Join(parts, " | ")
}

func intersection(of []any, one func(any) string) string {
	var parts []string
	for _, v := range of {
		if p := one(v); p != "unknown" { // which takes nothing away
			parts = append(parts, p)
		}
	}
	switch len(parts) {
	case 0:
		return "unknown"
	case 1:
		return parts[0]
	}
	for i, p := range parts {
		parts[i] = grouped(p)
	}
	return strings.Join(parts, " & ")
}

func array(of string) string { return grouped(of) + "[]" }

// grouped is a type as a part of another one.
func grouped(t string) string {
	if strings.Contains(t, " | ") || strings.Contains(t, " & ") {
		return "(" + t + ")"
	}
	return t
}

// literal is the type of one value.
func (t *types) literal(v any) string {
	switch v := v.(type) {
	case string:
		text := string(quote(v))
		t.takes(len(text))
		return text
	case json.Number:
		t.takes(len(v))
		return v.String()
	case bool:
		return fmt.Sprint(v)
	case nil:
		return "null"
	}
	return "unknown"
}

// stringsOf are the strings of a list.
func stringsOf(v any) (out []string) {
	list, _ := v.([]any)
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// described is the description of a property, and what else of its schema TypeScript has no room for.
func described(s map[string]any) string {
	text, _ := s["description"].(string)
	for _, word := range []string{"default", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
		"minLength", "maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems"} {
		if s[word] == nil {
			continue
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if enc.Encode(s[word]) == nil {
			text += "\n@" + word + " " + strings.TrimSpace(b.String())
		}
	}
	return strings.TrimPrefix(text, "\n")
}

// comment writes a doc comment, which a text cannot end.
func comment(b *strings.Builder, indent, text string) {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\u2028' || r == '\u2029':
			return '\n'
		case r < ' ' || r >= 0x7f && r < 0xa0:
			return ' '
		}
		return r
	}, strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "\uFFFD"))
	text = strings.TrimSpace(strings.ReplaceAll(text, "*/", `*\/`))
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	if len(lines) == 1 {
		fmt.Fprintf(b, "%s/** %s */\n", indent, text)
		return
	}
	fmt.Fprintf(b, "%s/**\n", indent)
	for _, line := range lines {
		fmt.Fprintf(b, "%s\n", strings.TrimRight(indent+" * "+line, " \t"))
	}
	fmt.Fprintf(b, "%s */\n", indent)
}

var identifier = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// plain reports whether a name means the same as a key and after a dot, with and without quotes.
func plain(name string) bool {
	switch name {
	case "new", "constructor", "get", "set", "async", "static", "readonly", "__proto__":
		return false
	}
	return identifier.MatchString(name)
}

// key is a name in a type.
func key(name string) string {
	if plain(name) {
		return name
	}
	return string(quote(strings.ToValidUTF8(name, "\uFFFD")))
}

// member is how a program writes a tool.
func member(name string) string {
	if plain(name) {
		return "tools." + name
	}
	return "tools[" + string(quote(strings.ToValidUTF8(bounded(name, 100), "\uFFFD"))) + "]"
}
