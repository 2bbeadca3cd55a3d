package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool/keys"
)

// An Error says what is wrong with a rules file, and where.
type Error struct {
	Line   int    // from 1
	Column int    // in bytes, from 1
	Path   string // the members that lead there, such as agents.codex.shell.reads[0]; may be empty
	Err    error
}

// Error names the place and the problem.
func (e *Error) Error() string {
	path := e.Path
	if path != "" {
		path += ": "
	}
	return fmt.Sprintf("rules: line %d, column %d: %s%v", e.Line, e.Column, path, e.Err)
}

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// Version is the version of the format that [Parse] reads.
const Version = 1

// Parse reads a rules file. The format is described at the package. Nothing is guessed: a member that is not known, one
// that is there twice and a use without an argument are errors, and each is an [*Error] that says where.
func Parse(data []byte) (*Rules, error) {
	p := &parser{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	p.dec.UseNumber()
	var syntax *json.SyntaxError
	if err := json.Unmarshal(data, new(json.RawMessage)); errors.As(err, &syntax) {
		p.at = max(0, syntax.Offset-1)
		return nil, p.fail(fmt.Errorf("not JSON: %w", err))
	}
	f := file{agents: map[string]section{}}
	version := false
	err := p.object(func(name string) error {
		switch name {
		case "rules":
			version = true
			n, err := value[json.Number](p, "a number")
			if err == nil && n.String() != fmt.Sprint(Version) {
				err = p.fail(fmt.Errorf("version %s: this is a reader of version %d", n, Version))
			}
			return err
		case "tools":
			s, err := p.section()
			f.tools = s
			return err
		case "agents":
			return p.object(func(name string) error {
				s, err := p.section()
				f.agents[name] = s
				return err
			})
		case "note":
			_, err := value[string](p, "a text")
			return err
		}
		return p.unknown(name, "rules, tools, agents, note")
	})
	if err == nil && !version {
		p.at = 0
		err = p.fail(fmt.Errorf(`the member "rules": %d is missing, which says that this is a rules file`, Version))
	}
	if err != nil {
		return nil, err
	}
	return &Rules{files: []file{f}}, nil
}

// A parser reads a file token by token, and knows where it is.
type parser struct {
	data []byte
	dec  *json.Decoder
	at   int64    // of the token that was read last
	path []string // that lead there
}

func (p *parser) fail(err error) error {
	var placed *Error
	if errors.As(err, &placed) {
		return err
	}
	before := p.data[:min(p.at, int64(len(p.data)))]
	return &Error{
		Line:   1 + bytes.Count(before, []byte{'\n'}),
		Column: len(before) - bytes.LastIndexByte(before, '\n'),
		Path:   strings.ReplaceAll(strings.Join(p.path, "."), ".[", "["),
		Err:    err,
	}
}

func (p *parser) unknown(name, known string) error {
	return p.fail(fmt.Errorf("unknown member %q: there are %s", name, known))
}

// token returns the next token, and keeps where it begins.
func (p *parser) token() (json.Token, error) {
	p.at = p.dec.InputOffset()
	for p.at < int64(len(p.data)) && strings.IndexByte(" \t\r\n,:", p.data[p.at]) >= 0 {
		p.at++
	}
	t, err := p.dec.Token()
	if err != nil { // nested deeper than it reads, say
		return nil, p.fail(fmt.Errorf("not JSON: %w", err))
	}
	return t, nil
}

// value reads a text, a number or a yes or no.
func value[T string | bool | json.Number](p *parser, what string) (v T, err error) {
	t, err := p.token()
	if err != nil {
		return v, err
	}
	v, ok := t.(T)
	if !ok {
		return v, p.fail(fmt.Errorf("must be %s", what))
	}
	return v, nil
}

// object reads an object; member reads the value of each member.
func (p *parser) object(member func(name string) error) error {
	t, err := p.token()
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return p.fail(errors.New("must be an object"))
	}
	seen := map[string]bool{}
	for {
		t, err := p.token()
		if err != nil {
			return err
		}
		name, ok := t.(string)
		if !ok {
			return nil // its end
		}
		p.path = append(p.path, name)
		if seen[name] {
			return p.fail(errors.New("it is there twice"))
		}
		seen[name] = true
		if err := member(name); err != nil {
			return err
		}
		p.path = p.path[:len(p.path)-1]
	}
}

// list reads a list; element is given the first token of each element, which has been read.
func (p *parser) list(element func(t json.Token) error) error {
	for i := 0; ; i++ {
		t, err := p.token()
		if err != nil {
			return err
		}
		if t == json.Delim(']') {
			return nil
		}
		p.path = append(p.path, fmt.Sprintf("[%d]", i))
		if err := element(t); err != nil {
			return err
		}
		p.path = p.path[:len(p.path)-1]
	}
}

func (p *parser) section() (section, error) {
	s := section{}
	err := p.object(func(name string) error {
		if i := strings.IndexByte(name, '*'); i >= 0 && i != len(name)-1 {
			return p.fail(errors.New("a * stands at the end of a name only"))
		}
		r := &rule{name: name}
		s[name] = r
		return p.rule(r)
	})
	return s, err
}

func (p *parser) rule(r *rule) error {
	at := int64(0)
	err := p.object(func(name string) (err error) {
		switch name {
		case "safe":
			r.safe, err = value[bool](p, "true or false")
		case "untimed":
			r.untimed, err = value[bool](p, "true or false")
		case "note":
			_, err = value[string](p, "a text")
		case "background":
			r.background, err = p.arguments()
		case "reads":
			at = p.at
			err = p.uses(r, plan.Read)
		case "writes":
			at = p.at
			err = p.uses(r, plan.Write)
		default:
			err = p.unknown(name, "safe, reads, writes, untimed, background, note")
		}
		return err
	})
	if err == nil && !r.safe && len(r.uses) > 0 {
		p.at = at
		return p.fail(errors.New("reads and writes have no effect without \"safe\": true"))
	}
	return err
}

func (p *parser) uses(r *rule, access plan.Access) error {
	t, err := p.token()
	if err != nil {
		return err
	}
	if t != json.Delim('[') {
		return p.fail(errors.New("must be a list"))
	}
	for i := 0; p.dec.More(); i++ {
		p.path = append(p.path, fmt.Sprintf("[%d]", i))
		u, err := p.use()
		if err != nil {
			return err
		}
		u.access = access
		r.uses = append(r.uses, u)
		p.path = p.path[:len(p.path)-1]
	}
	_, err = p.token()
	return err
}

var useKinds = map[string]useKind{"path": usePath, "tree": useTree, "patch": usePatch, "url": useURL}

// errOf is that of a use which names its argument twice: nobody knows which one is meant.
var errOf = errors.New("only a name has an \"of\": the others say the argument themselves")

func (p *parser) use() (u use, err error) {
	begin, of := int64(-1), false // begin is that of its first member
	err = p.object(func(name string) (err error) {
		if begin < 0 {
			begin = p.at
		}
		kind := useKinds[name]
		switch {
		case (kind != 0 || name == "name") && u.kind != 0:
			return p.fail(errors.New("a use is one of path, tree, patch, url, name"))
		case kind != 0:
			u.kind = kind
			if of {
				return p.fail(errOf)
			}
			u.of, err = p.arguments()
		case name == "name":
			u.kind = useName
			if u.name, err = value[string](p, "a text"); err == nil {
				if _, bad := keys.Name(u.name, "x"); bad != nil {
					return p.fail(bad)
				}
			}
		case name == "of":
			of = true
			u.of, err = p.arguments()
		case name == "default":
			var s string
			if s, err = value[string](p, "a text"); err == nil && s == "" {
				err = p.fail(errors.New("must not be empty"))
			}
			u.fallback = &s
		default:
			return p.unknown(name, "path, tree, patch, url, name, of, default")
		}
		return err
	})
	if err != nil {
		return u, err
	}
	if begin >= 0 { // else its end is all that there is
		p.at = begin
	}
	switch {
	case of && u.kind != 0 && u.kind != useName:
		err = p.fail(errOf)
	case u.kind == 0:
		err = p.fail(errors.New("must say path, tree, patch, url or name"))
	case len(u.of) == 0 && u.fallback == nil && u.kind != useName:
		err = p.fail(errors.New("must name an argument, or have a default"))
	case u.kind == usePatch && u.fallback != nil:
		err = p.fail(errors.New("a patch has no default"))
	}
	return u, err
}

// arguments reads a name of an argument, or a list of them.
func (p *parser) arguments() (all []argument, err error) {
	one := func(t json.Token) error {
		s, ok := t.(string)
		switch {
		case !ok:
			return p.fail(errors.New("must be the name of an argument"))
		case s == ".":
			all = append(all, argument{})
			return nil
		}
		way := strings.Split(s, ".")
		for _, member := range way {
			if member == "" {
				return p.fail(fmt.Errorf("%q is no name of an argument", s))
			}
		}
		all = append(all, way)
		return nil
	}
	t, err := p.token()
	if err != nil {
		return nil, err
	}
	if t != json.Delim('[') {
		return all, one(t)
	}
	if err := p.list(one); err != nil {
		return nil, err
	}
	return all, nil
}
