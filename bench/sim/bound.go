package sim

import (
	"slices"
	"time"

	"github.com/keywave-go/keywave/plan"
)

// A Bound says what no schedule can beat in which conflicting calls run one after another in the model's order.
type Bound struct {
	Work     time.Duration // of all calls
	Critical time.Duration // of the longest chain of calls of which each conflicts with the next
	Chain    []int         // such a chain, in the model's order

	parts []part
}

// A part is an exclusive call, or a stretch of calls between two.
type part struct {
	work, critical time.Duration
	calls          int
	alone          bool
}

// BoundOf returns the bound of calls, of which call i takes takes[i]. It takes time linear in the claims, times the
// depth of their keys if one is a tree. The error wraps [ErrInput], as that of [Run].
func BoundOf(calls []plan.Call, takes []time.Duration) (Bound, error) {
	work, err := check(calls, takes)
	if err != nil {
		return Bound{}, err
	}
	b := Bound{Work: work}
	m := newMarks(calls)
	last := make([]int32, len(calls)) // the call before it in its longest chain, plus one
	var p part
	var begun time.Duration // the longest chain when the part began
	closePart := func() {
		if p.calls > 0 {
			p.critical = m.top.at - begun
			b.parts = append(b.parts, p)
		}
		begun, p = m.top.at, part{}
	}
	for i := range calls {
		c := &calls[i]
		alone := c.Exclusive()
		if alone {
			closePart()
		}
		before := m.before(c)
		last[i] = before.call
		m.add(i, c, before.at+takes[i])
		p.work, p.calls, p.alone = p.work+takes[i], p.calls+1, alone
		if alone {
			closePart()
		}
	}
	closePart()
	b.Critical = m.top.at
	for i := m.top.call; i > 0; i = last[i-1] {
		b.Chain = append(b.Chain, int(i-1))
	}
	slices.Reverse(b.Chain)
	return b, nil
}

// Lower returns the larger of the longest chain and the work divided by the limit, rounded up; with a limit below 1,
// which is none, the longest chain.
func (b Bound) Lower(limit int) time.Duration { return max(b.Critical, share(b.Work, limit)) }

// Apart returns the same bound taken apart at the exclusive calls, each of which nothing overlaps: what they take, and
// the larger of longest chain and share of the work for each stretch between them. It is never below Lower: where
// exclusive calls are a large part of the work no schedule can reach Lower, which divides them by the limit too.
func (b Bound) Apart(limit int) time.Duration {
	var sum time.Duration
	for _, p := range b.parts {
		if p.alone {
			sum += p.work
		} else {
			sum += max(p.critical, share(p.work, limit))
		}
	}
	return sum
}

// Stretches returns how many calls there are in each stretch between exclusive calls.
func (b Bound) Stretches() []int {
	var out []int
	for _, p := range b.parts {
		if !p.alone {
			out = append(out, p.calls)
		}
	}
	return out
}

func share(work time.Duration, limit int) time.Duration {
	if limit < 1 {
		return 0
	}
	n := time.Duration(limit)
	s := work / n
	if work%n > 0 {
		s++
	}
	return s
}
