package harness

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/keywave-go/keywave/tool"
)

// A CallTree folds the calls that one call made, and those that they made, as a log tells of them, into a tree. One
// that has an ID and nothing else is that of a call which has made none yet. It is not safe for concurrent use.
type CallTree struct {
	ID    string     // of the call at the root
	Calls []*SubCall // that it made, in the order of their starts

	// Refused is what could not be put into the tree, such as a call that would be its own ancestor. It hides nothing
	// else, but what is below it.
	Refused []error

	known map[string]*SubCall // by their ids; nil: it was refused
}

// A SubCall is a call within a call: one of a [CallTree].
type SubCall struct {
	ID        string
	Name      string
	Arguments json.RawMessage // nil: the log does not tell of its start
	Started   time.Time       // zero: the log does not tell of it
	Settled   time.Time       // its body; zero: it has not
	Committed time.Time       // and recorded so; zero: it has not
	Result    *tool.Result    // nil: it runs, or the log ended while it did
	Calls     []*SubCall      // that it made itself, in the order of their starts

	parent *SubCall // nil: the root
	depth  int      // below the root
}

// MaxCallDepth is how deep a [CallTree] can be below its root.
const MaxCallDepth = 256

// Start adds a call, whose start was recorded at some time and which is running, to those that its parent made, and
// returns it; nil: it is refused. If there is no such parent, it is the root's.
func (t *CallTree) Start(at time.Time, s CodeDispatchStart) *SubCall {
	c := t.add(s.ParentID, s.ID)
	if c != nil {
		c.Name, c.Arguments, c.Started = s.Name, s.Arguments, earlier(s.At, at)
	}
	return c
}

// Settle gives a call its result, in its place, and returns it; nil: it is refused. If it was not started, it is added.
func (t *CallTree) Settle(at time.Time, s CodeDispatch) *SubCall {
	c := t.known[s.ID]
	switch {
	case c == nil:
		if c = t.add(s.ParentID, s.ID); c == nil {
			return nil
		}
		c.Name = s.Name
	case c.Result != nil:
		return t.refuse("%s has settled already", s.ID)
	}
	c.Settled, c.Committed, c.Result = earlier(s.At, at), at, &s.Result
	return c
}

// earlier is when something happened that was recorded then, if that is noted.
func earlier(noted, recorded time.Time) time.Time {
	if noted.IsZero() || noted.After(recorded) {
		return recorded
	}
	return noted
}

// add adds a call; nil: it is refused.
func (t *CallTree) add(parentID, id string) *SubCall {
	parent, known := t.known[parentID]
	switch was, twice := t.known[id]; {
	case id == t.ID, id == parentID:
		return t.refuse("%s is its own ancestor", id)
	case was != nil && was.above(parent):
		return t.refuse("%s is its own ancestor", id)
	case was != nil:
		return t.refuse("%s has started already", id)
	case twice, known && parent == nil && parentID != t.ID:
		t.known[id] = nil
		return t.refuse("%s is below what was refused", id)
	}
	c := &SubCall{ID: id, parent: parent, depth: 1}
	if parent != nil {
		c.depth = parent.depth + 1
	}
	if t.known == nil {
		t.known = map[string]*SubCall{}
	}
	if c.depth > MaxCallDepth {
		t.known[id] = nil
		return t.refuse("%s is more than %d calls deep", id, MaxCallDepth)
	}
	t.known[id] = c
	if parent == nil {
		t.Calls = append(t.Calls, c)
	} else {
		parent.Calls = append(parent.Calls, c)
	}
	return c
}

// above reports whether c is an ancestor of a call.
func (c *SubCall) above(of *SubCall) bool {
	for ; of != nil; of = of.parent {
		if of == c {
			return true
		}
	}
	return false
}

func (t *CallTree) refuse(format string, args ...any) *SubCall {
	t.Refused = append(t.Refused, fmt.Errorf("call tree: "+format, args...))
	return nil
}
