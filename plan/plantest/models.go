package plantest

import (
	"slices"

	"github.com/keywave-go/keywave/plan"
)

// NewSerial opens the simplest serial admission: a call starts when everything before it has committed.
func NewSerial() Machine {
	return &model{wait: func(m *model, i int) (plan.Blocker, bool) {
		return plan.Blocker{Kind: plan.ByOrder, Call: m.committed}, m.committed < i
	}}
}

// NewRolling opens the rolling pool. Calls start in the model's order; a barrier, which is an exclusive call or one
// that claims a write, starts when everything before it has committed, and nothing after it until it has.
func NewRolling() Machine {
	barrier := func(c plan.Call) bool {
		return Exclusive(c) || slices.ContainsFunc(c.Claims, func(cl plan.Claim) bool { return cl.Access != plan.Read })
	}
	return &model{wait: func(m *model, i int) (plan.Blocker, bool) {
		for e := m.committed; e < i; e++ {
			switch {
			case barrier(m.calls[e].Call) || barrier(m.calls[i].Call):
				return plan.Blocker{Kind: plan.ByBarrier, Call: e}, true
			case !m.calls[e].started && !m.calls[e].settled:
				return plan.Blocker{Kind: plan.ByOrder, Call: e}, true
			}
		}
		return plan.Blocker{}, false
	}}
}

// NewKeyed opens the admission that waits for conflicts only: a call starts when every earlier call that it conflicts
// with has settled, and has committed where either is exclusive. (A later one that has started, before a class
// changed, must settle too.)
func NewKeyed() Machine { return &model{wait: (*model).conflict} }

// NewWaves opens the waves of [Ordered]: a call starts when every call of every earlier wave has settled, and an
// exclusive one when everything before it has committed, and nothing after it before it has.
func NewWaves() Machine {
	return &model{wait: (*model).wave, place: func(m *model, j, floor int) int {
		w := floor
		for i, c := range m.calls {
			if i != j && (i < j || c.started) && Conflict(c.Call, m.calls[j].Call) {
				w = max(w, c.wave+1)
			}
		}
		return w
	}}
}

// NewFirstFit opens the waves of [FirstFit]: a call starts when every call of every earlier wave has settled.
func NewFirstFit() Machine {
	return &model{wait: (*model).wave, greedy: true, place: func(m *model, j, floor int) int {
		for w := floor; ; w++ {
			fits := true
			later := false // is there anything in this wave or after it
			for i, c := range m.calls {
				if i != j && (i < j || c.started) {
					later = later || c.wave >= w
					fits = fits && (c.wave != w || !Conflict(c.Call, m.calls[j].Call))
				}
			}
			if !later || fits && !Exclusive(m.calls[j].Call) {
				return w
			}
		}
	}}
}

// A model is an admission that remembers everything and works out every answer from the beginning. Its rule is wait,
// and for waves place: the earliest wave, not before a floor, that a call can go to.
type model struct {
	calls     []modelCall
	committed int
	wait      func(m *model, i int) (plan.Blocker, bool)
	place     func(m *model, j, floor int) int
	current   int  // the running wave
	greedy    bool // first-fit: an exclusive call is no barrier of commits
}

type modelCall struct {
	plan.Call
	started, settled bool
	overtaken        []int // later calls that started before it
	wave             int
	late             int // the wave that it must not get in front of, as others waited there before it came
}

func (m *model) Submit(c plan.Call) int {
	m.calls = append(m.calls, modelCall{Call: c, late: m.behind(), wave: m.current})
	if m.place != nil {
		m.plan()
	}
	return len(m.calls) - 1
}

func (m *model) Next(after int) (int, bool) {
	for i := max(after+1, 0); i < len(m.calls); i++ {
		if c := &m.calls[i]; !c.started && !c.settled {
			if _, waits := m.wait(m, i); !waits {
				return i, true
			}
		}
	}
	return 0, false
}

func (m *model) Start(i int, c plan.Call) bool {
	if i < 0 || i >= len(m.calls) || m.calls[i].started || m.calls[i].settled {
		return false
	}
	m.calls[i].Call = c
	if m.place != nil {
		m.plan()
	}
	if _, waits := m.wait(m, i); waits {
		return false
	}
	m.calls[i].started = true
	for l := i + 1; l < len(m.calls); l++ {
		if m.calls[l].started {
			m.calls[i].overtaken = append(m.calls[i].overtaken, l)
		}
	}
	return true
}

func (m *model) Settle(i int) {
	if i >= 0 && i < len(m.calls) {
		m.calls[i].settled = true
	}
	m.advance()
}

func (m *model) Commit(i int) {
	if i == m.committed && i < len(m.calls) {
		m.committed++
	}
	m.advance()
}

func (m *model) Blocked(i int) (plan.Blocker, bool) {
	if i < 0 || i >= len(m.calls) || m.calls[i].started || m.calls[i].settled {
		return plan.Blocker{}, false
	}
	return m.wait(m, i)
}

func (m *model) Reordered(i int) []int {
	var out []int
	for l := i + 1; l < len(m.calls); l++ {
		before := m.calls[l].started
		if m.calls[i].started {
			before = slices.Contains(m.calls[i].overtaken, l)
		}
		if before && Conflict(m.calls[i].Call, m.calls[l].Call) {
			out = append(out, l)
		}
	}
	return out
}

// conflict is the rule of Keyed.
func (m *model) conflict(i int) (plan.Blocker, bool) {
	me := m.calls[i].Call
	for e, c := range m.calls {
		switch {
		case e == i || e > i && (!c.started || c.settled) || !Conflict(c.Call, me):
		case Exclusive(c.Call) || Exclusive(me):
			if e >= m.committed && (e < i || !c.settled) {
				return plan.Blocker{Kind: plan.ByBarrier, Call: e}, true
			}
		case !c.settled:
			mine, held := collision(me, c.Call)
			return plan.Blocker{Kind: plan.ByClaim, Call: e, Mine: mine, Held: held}, true
		}
	}
	return plan.Blocker{}, false
}

// collision returns the first two claims that overlap, one of them a write.
func collision(a, b plan.Call) (plan.Claim, plan.Claim) {
	for _, x := range a.Claims {
		for _, y := range b.Claims {
			if Overlap(x, y) && (x.Access != plan.Read || y.Access != plan.Read) {
				return x, y
			}
		}
	}
	return plan.Claim{}, plan.Claim{}
}

// wave is the rule of waves.
func (m *model) wave(i int) (plan.Blocker, bool) {
	me := m.calls[i]
	for e, c := range m.calls {
		switch {
		case c.wave < me.wave && !c.settled:
			return plan.Blocker{Kind: plan.ByWave, Call: e}, true
		case !m.greedy && e >= m.committed && e < i && (Exclusive(c.Call) || Exclusive(me.Call)):
			return plan.Blocker{Kind: plan.ByBarrier, Call: e}, true
		}
	}
	return plan.Blocker{}, false
}

// plan gives every call that has not started the earliest wave that it can have: not before the running one and, if it
// came late, not before one that an earlier call waits in, and waited in when it came.
func (m *model) plan() {
	last := m.current
	for j := range m.calls {
		if c := &m.calls[j]; !c.started && !c.settled {
			c.late = min(c.late, last)
			c.wave = m.place(m, j, max(m.current, c.late))
			last = max(last, c.wave)
		}
	}
	m.advance()
}

// behind is the last wave that a call waits in, if the running wave has begun and is not that one: a call that is
// submitted then comes late. Otherwise it is 0.
func (m *model) behind() int {
	begun, last := false, 0
	for _, c := range m.calls {
		begun = begun || c.started && c.wave == m.current
		if !c.started && !c.settled {
			last = max(last, c.wave)
		}
	}
	if begun && last > m.current {
		return last
	}
	return 0
}

// advance makes the next wave the running one as long as there is one and this one is complete: every call of it has
// settled and, in Ordered, an exclusive one has committed.
func (m *model) advance() {
	for {
		complete, more := true, false
		for i, c := range m.calls {
			more = more || c.wave > m.current
			if c.wave == m.current && (!c.settled || !m.greedy && Exclusive(c.Call) && i >= m.committed) {
				complete = false
			}
		}
		if !complete || !more {
			return
		}
		m.current++
	}
}

func (m *model) Clone() Machine {
	n := *m
	n.calls = slices.Clone(m.calls)
	return &n
}

func (m *model) AppendState(dst []byte) []byte {
	bit := func(b bool, n int) byte {
		if b {
			return 1 << n
		}
		return 0
	}
	for _, c := range m.calls {
		dst = append(dst, bit(c.started, 0)|bit(c.settled, 1), byte(c.wave), byte(c.late), byte(len(c.overtaken)))
		for _, l := range c.overtaken {
			dst = append(dst, byte(l))
		}
	}
	return append(dst, byte(m.committed), byte(m.current))
}
