package plantest

import (
	"errors"

	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/plan"
)

// CheckAdmission checks that what open returns keeps the contracts of A1 to A9 that it claims, in random histories of
// up to 16 random calls: submitted whole or, with A8, as a stream, started, reclassified, skipped, settled and
// committed in any order, with reports that mean nothing in between.
func CheckAdmission(t rapid.TB, open func() plan.Admission, contracts Contract) {
	t.Helper()
	if err := contracts.claim("admission", ofAdmissions); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) { history(t, open(), nil, contracts) })
}

// CheckLike checks in the same histories that the admission of open gives the same answers as that of like, one of the
// references here for example. Classes change only with A7 in contracts, calls are skipped only with A4, and there
// are streams only with A8.
func CheckLike(t rapid.TB, open, like func() plan.Admission, contracts Contract) {
	t.Helper()
	if err := (contracts | Interface).claim("admission", ofAdmissions); err != nil { // to be alike is enough
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) { history(t, open(), like(), contracts) })
}

// history draws one history and follows it to its end.
func history(t *rapid.T, m, like plan.Admission, contracts Contract) {
	calls := rapid.SliceOfN(Calls(), 2, 12).Draw(t, "calls")
	n := rapid.IntRange(1, maxCalls).Draw(t, "number of calls")
	h := &historian{world: world{table: newTable(calls), contracts: contracts}, m: m, alike: like}
	class := func() uint8 { return uint8(rapid.IntRange(0, len(calls)-1).Draw(t, "class")) }
	pick := func(s set) int {
		var members []int
		for i := range s.all {
			members = append(members, i)
		}
		return rapid.SampledFrom(members).Draw(t, "call")
	}
	submit := func() { h.do(t, event{submits, uint8(h.submitted), class()}) }
	if !contracts.has(A8) {
		for h.submitted < n {
			submit()
		}
	}
	var actions []func()
	for h.committed < n {
		actions = actions[:0]
		weigh := func(when bool, weight int, action func()) {
			for range weight {
				if when {
					actions = append(actions, action)
				}
			}
		}
		weigh(h.submitted < n, 3, submit)
		weigh(h.may != 0, 4, func() {
			i := pick(h.may)
			h.do(t, event{starts, uint8(i), h.class[i]})
		})
		weigh(h.queued != 0 && contracts.has(A7), 1, func() {
			h.do(t, event{starts, uint8(pick(h.queued)), class()})
		})
		weigh(h.running != 0, 3, func() { h.do(t, event{settles, uint8(pick(h.running)), 0}) })
		weigh(h.queued != 0 && contracts.has(A4) && rapid.IntRange(0, 3).Draw(t, "skip") == 0, 1, func() {
			h.do(t, event{settles, uint8(pick(h.queued)), 0})
		})
		weigh(h.due(), 4, func() { h.do(t, event{commits, uint8(h.committed), 0}) })
		weigh(true, 1, func() { h.nonsense(t, rapid.IntRange(-1, maxCalls).Draw(t, "of no meaning")) })
		rapid.SampledFrom(actions).Draw(t, "what")()
	}
}

// A historian keeps what has happened.
type historian struct {
	world
	m, alike plan.Admission
	may      set
	trail    []event
}

// do lets e happen and checks all that can be checked.
func (h *historian) do(t *rapid.T, e event) {
	h.trail = append(h.trail, e)
	queued, before := h.queued, h.may
	err := h.apply(h.m, e, before)
	if err == nil && h.alike != nil {
		err = h.follow(h.alike, e, queued)
	}
	h.look(t, err)
	h.look(t, h.freed(e, before, h.may))
}

// look checks the state that the history has come to, if there is no error already.
func (h *historian) look(t *rapid.T, err error) {
	if err == nil {
		h.may, err = h.offered(h.m)
	}
	if err == nil {
		err = h.check(h.m, h.may)
	}
	if err == nil && h.alike != nil {
		err = h.compare(h.alike, h.may)
	}
	if v, ok := errors.AsType[*Violation](err); ok {
		for _, e := range h.trail {
			v.Events = append(v.Events, e.describe(h.table))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// nonsense reports what has been reported already, or about a call that is not there. It changes nothing.
func (h *historian) nonsense(t *rapid.T, i int) {
	there := i >= 0 && i < h.submitted
	if there && h.queued.has(i) {
		return
	}
	if h.m.Start(i, plan.Call{Safe: true}) {
		h.look(t, h.broken(Interface, "call %d, which cannot start, started", i+1))
	}
	if there && h.settled(i) || !there {
		h.m.Settle(i)
	}
	if i < h.committed || i >= h.submitted {
		h.m.Commit(i)
	}
	h.look(t, nil)
}
