package trace

import (
	"math"
	"strings"
	"time"

	"github.com/keywave-go/keywave/plan"
)

// A Batch is the tool calls of one assistant message.
type Batch struct {
	Trace  string `json:"trace"` // an anonymous session; its first letters tell the format
	Number int    `json:"batch"` // in the trace, from 1
	Format string `json:"fmt"`   // of the log that it comes from: claude-code, codex-rollout, opencode, ...
	Model  string `json:"model"` // family
	Sub    bool   `json:"sub"`   // of a sub-agent
	At     Millis `json:"at_ms"` // from the first event of the trace
	Calls  []Call `json:"calls"` // in the model's order
}

// A Call is one tool call, as it was recorded. Times that are nil were not recorded.
type Call struct {
	Index      int      `json:"i"`
	Tool       string   `json:"tool"` // its name in that agent
	Kind       string   `json:"kind"` // shell, file-read, file-write, search, state, web, spawn, interactive, ...
	Access     Access   `json:"access"`
	Keys       []Key    `json:"keys"`
	Shell      []string `json:"sh"`    // of a shell call: the classes of its commands, such as git-read or test
	Guess      bool     `json:"guess"` // access and keys are inferred from a command
	Start      *Millis  `json:"start_ms"`
	Span       *Millis  `json:"dur_ms"`  // from call to result
	Tail       *Millis  `json:"tail_ms"` // the part of Span after every earlier result
	Reported   *Millis  `json:"tool_ms"` // as the agent reported it
	Est        *Millis  `json:"est_ms"`  // the best guess of how long it took
	Err        *bool    `json:"err"`     // nil: it has no result
	ErrClass   string   `json:"ec"`
	Background bool     `json:"bg"`        // it went on behind its result
	EndEvent   bool     `json:"end_event"` // its end was recorded all the same
}

// Millis is a time in milliseconds.
type Millis float64

// Duration returns it as a time.Duration, in whole microseconds. What is longer than a hundred years is cut off there.
func (m Millis) Duration() time.Duration {
	const most = 100 * 365 * 24 * 3600 * 1000
	return time.Duration(math.Round(1000*float64(max(-most, min(m, most))))) * time.Microsecond
}

// An Access is how a call uses its keys.
type Access string

const (
	Reads     Access = "read"
	Writes    Access = "write"
	Exclusive Access = "exclusive" // it is not provably a read, and nothing is known of what it touches
	Spawns    Access = "spawn"     // it starts a sub-agent, whose calls are batches of their own
)

// A Key is something that a call uses: d1/f2 is a file, d1/ all below a directory, ./ all below the working directory,
// ext/d1/f2 something outside of it, and what begins with @ another resource, such as @git or @todo:k1.
type Key struct {
	Name string `json:"k"`
	Mode string `json:"m"` // r or w
}

// Claim returns the key as package plan has it. Files and directories of the working directory are below a key of its
// own, so that ./ covers them, and not what is outside.
func (k Key) Claim() plan.Claim {
	c := plan.Claim{Key: k.Name}
	if k.Mode == "r" {
		c.Access = plan.Read
	}
	if strings.HasPrefix(c.Key, "@") {
		return c
	}
	c.Tree = strings.HasSuffix(c.Key, "/")
	c.Key = strings.TrimRight(c.Key, "/")
	switch first, _, _ := strings.Cut(c.Key, "/"); {
	case first == "." || first == "ext":
	default:
		c.Key = "./" + c.Key
	}
	return c
}

// Plan returns what a planner knows of the call. A call that starts a sub-agent is safe and claims nothing, because the
// sub-agent's own calls do; what is neither a read nor a write is exclusive.
func (c Call) Plan() plan.Call {
	p := plan.Call{Safe: c.Access == Reads || c.Access == Writes || c.Access == Spawns}
	if c.Access == Spawns {
		return p
	}
	for _, k := range c.Keys {
		p.Claims = append(p.Claims, k.Claim())
	}
	return p
}

// Timed reports whether the time that the call took says how long it held others up: not that of a sub-agent, not that
// of a person who was asked, not that of a command which went on in the background until nobody knows when, and not one
// that is missing.
func (c Call) Timed() bool {
	return c.Access != Spawns && c.Kind != "interactive" && (!c.Background || c.EndEvent) && c.Est != nil && *c.Est >= 0
}

// Plan returns the calls as a planner knows them.
func (b Batch) Plan() []plan.Call {
	calls := make([]plan.Call, len(b.Calls))
	for i, c := range b.Calls {
		calls[i] = c.Plan()
	}
	return calls
}

// Timed reports whether every call of the batch is [Call.Timed]. Times of the other batches are not worth comparing.
func (b Batch) Timed() bool {
	for _, c := range b.Calls {
		if !c.Timed() {
			return false
		}
	}
	return true
}

// Takes returns how long the calls took, by [Call.Est]; 0 for one that is not known.
func (b Batch) Takes() []time.Duration {
	takes := make([]time.Duration, len(b.Calls))
	for i, c := range b.Calls {
		if c.Est != nil {
			takes[i] = max(0, c.Est.Duration())
		}
	}
	return takes
}

// ReadsOnly reports whether all calls of the batch are reads, or start sub-agents.
func (b Batch) ReadsOnly() bool {
	for _, c := range b.Calls {
		if c.Access != Reads && c.Access != Spawns {
			return false
		}
	}
	return true
}
