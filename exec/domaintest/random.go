package domaintest

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/plan/plantest"
)

// A draw is a step before it is known what it can be done with: which request it is about is counted among those that
// qualify. So rapid can leave out any of them.
type draw struct {
	what      string
	which     int
	claims    []plan.Claim
	narrow    []narrowing // of claims of the lease within which it is acquired
	exclusive bool
	late      bool
}

// A narrowing makes a claim of another one that covers it, mostly.
type narrowing struct {
	which int
	below string
	read  bool
	tree  bool
}

// Kinds of draws, each as often as it is to come; the simplest first.
var kinds = []string{
	"acquire", "acquire", "acquire", "release", "release", "nest", "nest", "nest", "cancel", "cancel",
	"abandon", "acquire from one that is over", "again",
}

// draws generates steps of some kinds.
func draws(kinds *rapid.Generator[string]) *rapid.Generator[draw] {
	claims := rapid.SliceOfN(plantest.Claims(), 0, 3)
	narrow := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) narrowing {
		return narrowing{
			which: rapid.IntRange(0, 3).Draw(t, "which claim"),
			below: rapid.SampledFrom([]string{"", "/a", "/", "b"}).Draw(t, "below"),
			read:  rapid.Bool().Draw(t, "read"),
			tree:  rapid.IntRange(0, 2).Draw(t, "tree") == 2,
		}
	}), 0, 2)
	return rapid.Custom(func(t *rapid.T) draw {
		d := draw{what: kinds.Draw(t, "step"), which: rapid.IntRange(0, 9).Draw(t, "which")}
		switch d.what {
		case "nest":
			d.narrow = narrow.Draw(t, "narrowed claims")
			fallthrough
		case "acquire", "acquire from one that is over":
			if len(d.narrow) == 0 {
				d.claims = claims.Draw(t, "claims")
			}
			d.exclusive = rapid.IntRange(0, 2).Draw(t, "exclusive") > 0
			d.late = rapid.IntRange(0, 15).Draw(t, "late") == 15
		}
		return d
	})
}

// step makes a step of a draw, if there is something that it can be done with.
func (d draw) step(w *world) (s step, ok bool) {
	var of []*attempt
	pick := func(qualifies func(a *attempt) bool) {
		for _, a := range w.all {
			if qualifies(a) {
				of = append(of, a)
			}
		}
	}
	s = step{claims: d.claims, exclusive: d.exclusive, late: d.late}
	held := func(a *attempt) bool { return a.granted && !a.released }
	switch d.what {
	case "acquire":
		return s, true
	case "nest":
		pick(func(a *attempt) bool { return held(a) && !a.closed })
	case "acquire from one that is over":
		pick(func(a *attempt) bool { return a.granted && a.closed })
	case "release":
		s.do = releases
		pick(held)
	case "again":
		s.do = releases
		if d.which%2 == 0 {
			s.do = abandons
		}
		pick(func(a *attempt) bool {
			return a.granted && (a.released || a.abandoned) && (s.do == abandons || a.released)
		})
	case "abandon":
		s.do = abandons
		pick(held)
	case "cancel":
		s.do = cancels
		pick(func(a *attempt) bool { return !a.refused })
	}
	if len(of) == 0 {
		return s, false
	}
	a := of[d.which%len(of)]
	s.of = a.n
	h := a.request
	if len(h.claims) == 0 {
		h = holder(h)
	}
	for _, n := range d.narrow {
		if h == nil {
			break
		}
		c := h.claims[n.which%len(h.claims)]
		c.Key, c.Tree = c.Key+n.below, c.Tree && n.tree
		if n.read {
			c.Access = plan.Read
		}
		s.claims = append(s.claims, c)
	}
	return s, true
}

// random does anything in any order.
func (s *suite) random(t *testing.T, report rapid.TB) {
	const steps = 40
	all := rapid.SliceOfN(draws(rapid.SampledFrom(kinds)), steps, steps)
	s.check(report, func(rt *rapid.T) error {
		return smallest(all.Draw(rt, "steps"), func(draws []draw) error {
			return s.trial(t, guaranteeOrder, func(w *world) error {
				for _, d := range draws {
					if s, ok := d.step(w); ok {
						if err := w.do(s); err != nil {
							return err
						}
					}
				}
				return w.finish()
			})
		})
	})
}

// smallest leaves out steps as long as what is left fails, and returns how. Rapid could do that only where it knows
// that the number of steps does not matter, and then it would not draw many.
func smallest(draws []draw, try func([]draw) error) error {
	err := try(draws)
	for again := err != nil; again; {
		again = false
		for i := len(draws) - 1; i >= 0; i-- {
			less := slices.Delete(slices.Clone(draws), i, i+1)
			if failed := try(less); failed != nil {
				draws, err, again = less, failed, true
			}
		}
	}
	return err
}

// pairs checks which requests are in each other's way.
func (s *suite) pairs(t *testing.T, report rapid.TB) {
	claims := rapid.SliceOfN(plantest.Claims(), 1, 4)
	s.check(report, func(rt *rapid.T) error {
		a, b := claims.Draw(rt, "one"), claims.Draw(rt, "other")
		return s.trial(t, guaranteeOrder, func(w *world) error { return w.play([]step{acquire(a...), acquire(b...)}) })
	})
}

// covered checks which requests may be nested in which.
func (s *suite) covered(t *testing.T, report rapid.TB) {
	claims := rapid.SliceOfN(plantest.Claims(), 1, 4)
	nested := draws(rapid.Just("nest"))
	s.check(report, func(rt *rapid.T) error {
		outer, d := claims.Draw(rt, "outer"), nested.Draw(rt, "inner")
		return s.trial(t, guaranteeNesting, func(w *world) error {
			if err := w.do(acquire(outer...)); err != nil {
				return err
			}
			if inner, ok := d.step(w); ok {
				if err := w.do(inner); err != nil {
					return err
				}
			}
			return w.finish()
		})
	})
}

// check lets rapid look for something that fails. With real time there is only so much of it.
func (s *suite) check(report rapid.TB, try func(t *rapid.T) error) {
	most := 2 * time.Second
	if testing.Short() {
		most /= 4
	}
	begin := time.Now()
	rapid.Check(report, func(rt *rapid.T) {
		if s.pause > 0 && time.Since(begin) > most {
			return
		}
		if err := try(rt); err != nil {
			rt.Fatal(err)
		}
	})
}
