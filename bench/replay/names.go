package replay

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/keywave-go/keywave/bench/transcript"
	"github.com/keywave-go/keywave/plan"
)

// firstOf is the first component of a key.
func firstOf(key string) string {
	first, _, _ := strings.Cut(key, "/")
	return first
}

// Aliases give the keys of one batch names of its own, component by component: what is below the same directory stays
// there, and what is the same has the same name.
//
//	d1/f2        a file in a directory of the working directory
//	./           the working directory itself
//	ext/d1/f2    something outside of it
//	url/u1/u2    something on a network
//	@todo/n1     something else, of a kind that a rule names, or one of the usual ones; @n1 if it could be anything
type aliases struct {
	dir   []string // the components of the working directory's key
	root  node
	named int
}

// A node is a component of the keys of a batch.
type node struct {
	name string
	tree bool // claimed with all that is below
	next map[string]*node
}

// parts of a key are its kind and the components below it. Files begin at the working directory if they are in it.
func (a *aliases) parts(key string) (kind string, rest []string) {
	all := strings.Split(strings.TrimRight(key, "/"), "/")
	switch first := all[0]; {
	case first == "." || first == "ext": // of a recorded batch
		return first, all[1:]
	case strings.HasPrefix(first, "@"): // of a recorded batch, too
		kind, name, more := strings.Cut(first, ":")
		switch {
		case !usual[kind]:
			return "@", all
		case more:
			all[0] = name
			return kind, all
		}
		return kind, all[1:]
	case first == "url":
		return first, all[1:]
	case first != "file":
		return "@" + first, all[1:]
	}
	// Letter case does not count in paths of some systems, and the rules have folded it.
	if d := len(a.dir); d > 0 && len(all) >= d && slices.EqualFunc(all[:d], a.dir, strings.EqualFold) {
		return ".", all[d:]
	}
	if len(all) > 1 && all[1] == unknownDir {
		return ".", all[2:]
	}
	return "ext", all[1:]
}

// usual are kinds of resources that recorded batches have, as package trace describes them.
var usual = map[string]bool{"@git": true, "@github": true, "@mcp": true, "@net": true, "@proc": true, "@todo": true}

// unknownDir is what rules have for a working directory that is not known.
const unknownDir = "(working directory)"

func newAliases(dir string, calls []plan.Call) *aliases {
	a := &aliases{}
	if dir != "" {
		a.dir = strings.Split("file"+path.Clean("/"+strings.ReplaceAll(dir, `\`, "/")), "/")
	}
	for _, c := range calls {
		for _, claim := range c.Claims {
			kind, rest := a.parts(claim.Key)
			at := a.root.below(kind)
			for _, part := range rest {
				at = at.below(part)
			}
			at.tree = at.tree || claim.Tree
		}
	}
	return a
}

func (n *node) below(part string) *node {
	if n.next == nil {
		n.next = map[string]*node{}
	}
	if n.next[part] == nil {
		n.next[part] = new(node)
	}
	return n.next[part]
}

// of returns the name of a key.
func (a *aliases) of(key string) string {
	kind, rest := a.parts(key)
	at := a.root.next[kind]
	var out []string
	letter := "n"
	switch {
	case kind == "@" && len(rest) == 0: // a key that is empty: everything
		return kind
	case kind == "@":
		letter = "@n"
	case strings.HasPrefix(kind, "@"):
		if !nameLike.MatchString(kind[1:]) {
			kind = "@"
		}
		out = []string{kind}
	case kind == "url":
		out, letter = []string{kind}, "u"
	case kind == "ext":
		out, letter = []string{kind}, ""
	default:
		letter = ""
		if len(rest) == 0 {
			return "./"
		}
	}
	for _, part := range rest {
		at = at.next[part]
		if at.name == "" {
			a.named++
			of := letter
			switch {
			case of != "":
			case at.tree || len(at.next) > 0:
				of = "d"
			default:
				of = "f"
			}
			at.name = fmt.Sprint(of, a.named)
		}
		out = append(out, at.name)
		if letter == "@n" {
			letter = "n"
		}
	}
	return strings.Join(out, "/")
}

// shownProblem is a problem without what could be a text of the transcript: a type that does not look like a name.
func shownProblem(p transcript.Problem) string {
	if name, ok := strings.CutPrefix(p.What, "type "); ok && !nameLike.MatchString(name) {
		p.What = "type " + unnamed
	}
	return p.String()
}
