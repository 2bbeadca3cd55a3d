package exec

import (
	"strings"

	"github.com/keywave-go/keywave/plan"
)

// A cover is what somebody claims, to look up whether it is enough for somebody else. It is the node of a key in a tree of
// all keys; the root is the empty key, which is a write of everything.
type cover struct {
	exact, tree grant
	below       map[string]*cover
}

// A grant says what may be done with a key.
type grant struct{ read, write bool }

func (g *grant) add(a plan.Access) { g.read, g.write = true, g.write || a != plan.Read }

func (g grant) allows(a plan.Access) bool { return g.write || g.read && a == plan.Read }

func (c *cover) add(claims []plan.Claim) {
	for i := range claims {
		at, cl := c, claims[i]
		key := trim(cl.Key)
		if key == "" {
			at.tree.add(plan.Write)
			continue
		}
		for more := true; more; {
			var name string
			name, key, more = strings.Cut(key, "/")
			next := at.below[name]
			if next == nil {
				next = new(cover)
				if at.below == nil {
					at.below = make(map[string]*cover)
				}
				at.below[name] = next
			}
			at = next
		}
		if cl.Tree {
			at.tree.add(cl.Access)
		} else {
			at.exact.add(cl.Access)
		}
	}
}

// missing returns the first of the claims that is not covered. One that spans several must be covered by one alone.
func (c *cover) missing(claims []plan.Claim) (plan.Claim, bool) {
	for i := range claims {
		if !c.covers(claims[i]) {
			return claims[i], true
		}
	}
	return plan.Claim{}, false
}

func (c *cover) covers(cl plan.Claim) bool {
	key := trim(cl.Key)
	if key == "" {
		return c.tree.write
	}
	for more := true; more; {
		if c.tree.allows(cl.Access) {
			return true
		}
		var name string
		name, key, more = strings.Cut(key, "/")
		if c = c.below[name]; c == nil {
			return false
		}
	}
	return c.tree.allows(cl.Access) || !cl.Tree && c.exact.allows(cl.Access)
}
