package rules

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/keywave-go/keywave/plan"
)

// Rules say of tools what their calls use. They are immutable and safe for concurrent use. The zero Rules know no tool.
type Rules struct {
	files []file // the first that has a rule for a tool counts
}

// A file is what one rules file says.
type file struct {
	tools  section
	agents map[string]section
}

// A section is rules by the names of tools.
type section map[string]*rule

// A rule is what is known of a tool.
type rule struct {
	name       string // as the file has it
	safe       bool
	uses       []use
	untimed    bool
	background []argument
}

// A use is something that a call reads or writes.
type use struct {
	access   plan.Access
	kind     useKind
	of       []argument // the first that is there counts
	name     string     // the kind of a name
	fallback *string    // for an argument that is not there
}

type useKind uint8

const (
	usePath useKind = iota + 1
	useTree
	usePatch
	useURL
	useName
)

// An argument is the way to an argument, by members. The empty one is the arguments themselves.
type argument []string

//go:embed default.json
var defaults []byte

var parsed = sync.OnceValues(func() (*Rules, error) { return Parse(defaults) })

// Default returns the rules for the tools of well-known coding agents. The agents are called as package
// bench/transcript calls their formats: claude-code, codex, opencode, copilot, gemini, pi, dsh, and keywave for the
// tools of tool/files. Shell tools are exclusive: a command can do anything.
func Default() *Rules {
	r, err := parsed()
	if err != nil {
		return new(Rules) // every tool is exclusive; a test keeps this from happening
	}
	return r
}

// Over returns r in front of base: where both have a rule for a tool, that of r counts.
func (r *Rules) Over(base *Rules) *Rules {
	return &Rules{files: slices.Concat(r.files, base.files)}
}

// of returns the rule for a tool of an agent; nil if there is none.
func (r *Rules) of(agent, tool string) *rule {
	for _, f := range r.files {
		if found := f.agents[agent].of(tool); found != nil {
			return found
		}
		if found := f.tools.of(tool); found != nil {
			return found
		}
	}
	return nil
}

func (s section) of(tool string) *rule {
	if found := s[tool]; found != nil {
		return found
	}
	var longest *rule
	for name, found := range s {
		begin, ok := strings.CutSuffix(name, "*")
		if ok && strings.HasPrefix(tool, begin) && (longest == nil || len(name) > len(longest.name)) {
			longest = found
		}
	}
	return longest
}
