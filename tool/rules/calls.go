package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/keys"
)

// Where says what the calls of an answer have in common.
type Where struct {
	Agent string // whose tools they are: a name under "agents"; others have the rules for all agents only
	Dir   string // the working directory, absolute; empty: not known
}

// A Declared is a call as its rule declares it.
type Declared struct {
	plan.Call
	Rule    string // the name of the rule; empty: there is none
	Untimed bool   // how long it took says nothing of the tool
	// Why says why the call is exclusive although its rule does not want it to be, or that there is none; nil otherwise.
	Why error
}

var (
	// ErrNoRule is wrapped by the Why of a call whose tool has no rule.
	ErrNoRule = errors.New("no rule for the tool")
	// ErrArgument is wrapped by the Why of a call whose arguments do not say what it uses.
	ErrArgument = errors.New("its arguments do not say what it uses")
)

// Calls declares the calls of one answer, in their order. A call about which anything is unclear is exclusive. Paths
// are resolved for all of the calls together, so calls of different answers must not be compared unless [Where].Dir is
// known.
func (r *Rules) Calls(w Where, calls []tool.Call) []Declared {
	out := make([]Declared, len(calls))
	targets := make([][]target, len(calls))
	var all []string
	for i, c := range calls {
		d := &out[i]
		found := r.of(w.Agent, c.Name)
		if found == nil {
			d.Why = fmt.Errorf("%w %q", ErrNoRule, bounded(c.Name))
			continue
		}
		d.Rule, d.Untimed = found.name, found.untimed
		args, err := decode(c.Arguments)
		if err != nil {
			if found.safe {
				d.Why = fmt.Errorf("%w: %w", ErrArgument, err)
			}
			continue
		}
		for _, a := range found.background {
			d.Untimed = d.Untimed || is(args, a)
		}
		if !found.safe {
			continue
		}
		d.Safe = true
		for _, u := range found.uses {
			values, err := u.values(args)
			if err != nil {
				d.Call, d.Why = plan.Call{}, fmt.Errorf("%w: %w", ErrArgument, err)
				break
			}
			for _, v := range values {
				targets[i] = append(targets[i], target{u, v})
				if u.isPath() {
					all = append(all, v)
				}
			}
		}
	}
	p := newPaths(w, all)
	for i := range out {
		d := &out[i]
		for _, x := range targets[i] {
			if !d.Safe {
				break
			}
			claims, err := x.claims(p)
			if err != nil {
				d.Call, d.Why = plan.Call{}, fmt.Errorf("%w: %w", ErrArgument, err)
				break
			}
			d.Claims = append(d.Claims, claims...)
		}
	}
	return out
}

// A target is a use with what it is of.
type target struct {
	use
	value string
}

func (u use) isPath() bool { return u.kind == usePath || u.kind == useTree || u.kind == usePatch }

// decode reads the arguments of a call.
func decode(arguments string) (any, error) {
	if strings.TrimSpace(arguments) == "" {
		return map[string]any{}, nil
	}
	var args any
	dec := json.NewDecoder(strings.NewReader(arguments))
	if err := dec.Decode(&args); err != nil {
		return nil, fmt.Errorf("they are not JSON: %w", err)
	}
	if dec.More() {
		return nil, errors.New("they are not JSON: something follows the value")
	}
	return args, nil
}

// is reports whether an argument is true.
func is(args any, a argument) bool {
	at := args
	for _, member := range a {
		object, _ := at.(map[string]any)
		at = object[member]
	}
	return at == true
}

// values are what a use is of, at least one; of a name without an argument it is "".
func (u use) values(args any) ([]string, error) {
	if u.kind == useName && len(u.of) == 0 && u.fallback == nil {
		return []string{""}, nil // all of the kind
	}
	for _, a := range u.of {
		if _, object := args.(map[string]any); object && len(a) == 0 {
			continue // the arguments are more than a text
		}
		var found []string
		there, err := texts(args, a, &found)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", a, err)
		case !there:
			continue
		case u.kind == usePatch:
			return patched(found)
		case len(found) > 0:
			return found, nil
		}
	}
	if u.fallback != nil {
		return []string{*u.fallback}, nil
	}
	return nil, fmt.Errorf("there is no %s", u.of[0])
}

func (a argument) String() string {
	if len(a) == 0 {
		return "text"
	}
	return strings.Join(a, ".")
}

// texts collects the texts at an argument. It is not there if it is missing, null or an empty text.
func texts(at any, a argument, found *[]string) (there bool, err error) {
	switch v := at.(type) {
	case nil:
		return false, nil
	case []any:
		for _, element := range v {
			one, err := texts(element, a, found)
			if err != nil {
				return false, err
			}
			if !one { // half of the files are no answer
				return false, errors.New("an element of a list is not there")
			}
			there = true
		}
		return there, nil
	case map[string]any:
		if len(a) == 0 {
			return false, errors.New("it is an object, and not text")
		}
		return texts(v[a[0]], a[1:], found)
	case string:
		if len(a) > 0 {
			return false, nil
		}
		if v == "" {
			return false, nil
		}
		*found = append(*found, v)
		return true, nil
	}
	if len(a) > 0 {
		return false, nil
	}
	return false, errors.New("it is not text")
}

// patched returns the files that patches name.
func patched(patches []string) (files []string, err error) {
	for _, patch := range patches {
		for line := range strings.Lines(patch) {
			for _, mark := range [...]string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
				if name, ok := strings.CutPrefix(line, mark); ok {
					files = append(files, strings.TrimSpace(name))
				}
			}
		}
	}
	if len(files) == 0 {
		return nil, errors.New("the patch names no file")
	}
	return files, nil
}

func (x target) claims(p *paths) ([]plan.Claim, error) {
	switch x.kind {
	case useURL:
		key, err := keys.URL(x.value)
		return []plan.Claim{{Key: key, Access: x.access}}, err
	case useName:
		if x.value == "" {
			return []plan.Claim{{Key: x.name, Access: x.access, Tree: true}}, nil
		}
		key, err := keys.Name(x.name, x.value)
		return []plan.Claim{{Key: key, Access: x.access}}, err
	}
	return p.claims(x.value, x.access, x.kind == useTree)
}

// bounded is a name from outside, fit for a sentence.
func bounded(s string) string {
	if len(s) > 100 {
		s = strings.ToValidUTF8(s[:100], "") + "…"
	}
	return s
}

// paths are those of one answer.
type paths struct {
	root  *keys.Root
	err   error
	dir   string
	dos   bool
	mixed bool // relative paths and absolute ones, and nobody knows what they are relative to
}

// recorded is the directory, which does not exist, below which paths are resolved, as they are of another machine: so
// nothing of this one is looked at, and a name is only a name.
const recorded = "(recorded)"

// maxPath is how long a path may be, in bytes, as in Linux: a call with a longer one did nothing to any file.
const maxPath = 4096

// unknown is the working directory that is not known.
const unknown = "(working directory)"

func newPaths(w Where, all []string) *paths {
	p := &paths{dos: isDOS(w.Dir)}
	mac, absolute, relative := strings.HasPrefix(w.Dir, "/Users/"), 0, 0
	for _, s := range all {
		p.dos = p.dos || isDOS(s)
		mac = mac || strings.HasPrefix(s, "/Users/")
	}
	for _, s := range all {
		if p.absolute(s) {
			absolute++
		} else {
			relative++
		}
	}
	if p.absolute(w.Dir) && len(w.Dir) <= maxPath {
		p.dir = w.Dir
	}
	p.mixed = p.dir == "" && absolute > 0 && relative > 0
	if len(all) > 0 {
		p.root, p.err = written(p.dos || mac, p.dos)
	}
	return p
}

var (
	plain  = sync.OnceValues(func() (*keys.Root, error) { return openWritten(false, false) })
	folded = sync.OnceValues(func() (*keys.Root, error) { return openWritten(true, false) })
	dos    = sync.OnceValues(func() (*keys.Root, error) { return openWritten(true, true) })
)

func openWritten(fold, dos bool) (*keys.Root, error) {
	return keys.OpenRoot("/", keys.FoldCase(fold), keys.FoldUnicode(fold), keys.DOSPaths(dos))
}

func written(fold, isDOS bool) (*keys.Root, error) {
	switch {
	case isDOS:
		return dos()
	case fold:
		return folded()
	}
	return plain()
}

// isDOS reports whether a path can only be one of Windows.
func isDOS(s string) bool {
	if strings.HasPrefix(s, `\\`) {
		return true
	}
	letter := len(s) >= 2 && s[1] == ':' && (s[0]|0x20) >= 'a' && (s[0]|0x20) <= 'z'
	return letter && (len(s) == 2 || s[2] == '\\' || s[2] == '/')
}

func (p *paths) absolute(s string) bool {
	return strings.HasPrefix(s, "/") || p.dos && (isDOS(s) || strings.HasPrefix(s, `\`))
}

func (p *paths) claims(s string, access plan.Access, tree bool) ([]plan.Claim, error) {
	switch {
	case p.err != nil:
		return nil, p.err
	case s == "~" || strings.HasPrefix(s, "~/"):
		return nil, errors.New("a path begins with ~, and nobody knows whose home that is")
	case len(s) > maxPath:
		return nil, fmt.Errorf("a path is longer than %d bytes", maxPath)
	case strings.IndexByte(s, 0) >= 0:
		return nil, errors.New("a path holds a NUL")
	case p.dos && p.absolute(s) && !isDOS(s):
		return nil, errors.New("a path of Windows has no drive")
	case p.absolute(s):
	case p.mixed:
		return nil, errors.New("a path is relative, others are not, and the working directory is not known")
	case p.dir == "" && outside(s):
		return nil, errors.New("a path leads out of the working directory, which is not known")
	case p.dir == "":
		s = "/" + unknown + "/" + s
	default:
		s = p.dir + "/" + s
	}
	if p.dos {
		s = strings.TrimPrefix(strings.ReplaceAll(s, `\`, "/"), "//?/")
	}
	key, err := p.root.Key("/" + recorded + path.Clean("/"+s))
	if err != nil {
		return nil, err
	}
	kind, rest, _ := strings.Cut(key, "/"+recorded)
	return []plan.Claim{{Key: kind + rest, Access: access, Tree: tree}}, nil
}

// outside reports whether a relative path leads out of what it is relative to.
func outside(s string) bool {
	s = path.Clean(strings.ReplaceAll(s, `\`, "/"))
	return s == ".." || strings.HasPrefix(s, "../")
}
