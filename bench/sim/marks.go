package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/keywave-go/keywave/plan"
)

// Marks answers, for calls that are added in the model's order, what the highest time is among the earlier calls that
// one conflicts with. No pair of calls is ever compared: each claim leaves its time at the node of its key, and at the
// nodes above it, as package plan does to place calls in waves.
type marks struct {
	nodes
	deep bool     // there are trees, so that paths must be walked
	at   []marked // by node
	wall peak     // of the exclusive calls
	top  peak     // of all calls
}

// A marked node has the highest times of those that use it exactly, its tree and below it; by whether they read.
type marked struct{ exact, tree, below [2]peak }

// A peak is a time, and the call, plus one, that it is of; 0: there is none.
type peak struct {
	at   time.Duration
	call int32
}

func (p *peak) raise(o peak) {
	if o.call > 0 && (p.call == 0 || o.at > p.at) {
		*p = o
	}
}

func newMarks(calls []plan.Call) *marks {
	deep := slices.ContainsFunc(calls, func(c plan.Call) bool {
		return c.Safe && slices.ContainsFunc(c.Claims, func(cl plan.Claim) bool { return cl.Tree })
	})
	return &marks{nodes: newNodes(), deep: deep}
}

func (m *marks) node(key string) int32 {
	var n int32
	if m.deep {
		n = m.find(key)
	} else {
		n = m.step(0, strings.TrimRight(key, "/"))
	}
	for len(m.at) < len(m.parent) {
		m.at = append(m.at, marked{})
	}
	return n
}

// before returns the highest time of the calls so far that c conflicts with.
func (m *marks) before(c *plan.Call) peak {
	if c.Exclusive() {
		return m.top
	}
	p := m.wall
	for i := range c.Claims {
		cl := &c.Claims[i]
		look := func(by *[2]peak) {
			p.raise(by[0])
			if cl.Access != plan.Read {
				p.raise(by[1])
			}
		}
		n := m.node(cl.Key)
		look(&m.at[n].exact)
		look(&m.at[n].tree)
		if cl.Tree {
			look(&m.at[n].below)
		}
		for n = m.parent[n]; n > 0; n = m.parent[n] {
			look(&m.at[n].tree)
		}
	}
	return p
}

// add adds call i, which is c, with its time.
func (m *marks) add(i int, c *plan.Call, at time.Duration) {
	p := peak{at, int32(i + 1)}
	m.top.raise(p)
	if c.Exclusive() {
		m.wall.raise(p)
		return
	}
	for k := range c.Claims {
		cl := &c.Claims[k]
		a := 0
		if cl.Access == plan.Read {
			a = 1
		}
		n := m.node(cl.Key)
		if cl.Tree {
			m.at[n].tree[a].raise(p)
		} else {
			m.at[n].exact[a].raise(p)
		}
		for n = m.parent[n]; n > 0; n = m.parent[n] {
			m.at[n].below[a].raise(p)
		}
	}
}
