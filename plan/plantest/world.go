package plantest

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/keywave-go/keywave/plan"
)

// maxCalls bounds the calls that one world can follow.
const maxCalls = 16

// A set holds indexes of calls.
type set uint16

func (s set) has(i int) bool { return s&(1<<i) != 0 }
func (s *set) add(i int)     { *s |= 1 << i }
func (s *set) drop(i int)    { *s &^= 1 << i }

// all yields the members of s in order.
func (s set) all(yield func(int) bool) {
	for ; s != 0; s &= s - 1 {
		if !yield(bits.TrailingZeros16(uint16(s))) {
			return
		}
	}
}

// String counts calls from 1, as all texts do.
func (s set) String() string { return numbers(slices.Collect(s.all)) }

// A table is the calls that a world is made of, and what is true between any two of them.
type table struct {
	calls     []plan.Call
	conflict  [][]bool
	exclusive []bool
	barrier   []bool // exclusive, or claims a write: what the rolling pool runs alone
}

func newTable(calls []plan.Call) *table {
	t := &table{calls: calls}
	for _, a := range calls {
		row := make([]bool, len(calls))
		for j, b := range calls {
			row[j] = Conflict(a, b)
		}
		t.conflict = append(t.conflict, row)
		t.exclusive = append(t.exclusive, Exclusive(a))
		t.barrier = append(t.barrier, Exclusive(a) ||
			slices.ContainsFunc(a.Claims, func(cl plan.Claim) bool { return cl.Access != plan.Read }))
	}
	return t
}

// A world is what an observer knows who told an admission everything that it knows. It is a plain value: assigning it
// copies it.
type world struct {
	*table
	contracts Contract
	submitted int
	committed int
	queued    set             // submitted, neither started nor skipped
	running   set             // started, not settled
	started   set             // ever
	class     [maxCalls]uint8 // the call in the table that it is now
	overtaken [maxCalls]set   // later calls that started before this one did
	unowed    [maxCalls]set   // later calls that this one must not wait for, by A9
	first     [maxCalls]uint8 // the class at its submission
	reclassed uint8           // how many starts came with another class
	skipped   uint8           // how many calls were settled unstarted

}

func (w *world) call(i int) plan.Call    { return w.calls[w.class[i]] }
func (w *world) conflicts(i, j int) bool { return w.conflict[w.class[i]][w.class[j]] }
func (w *world) isExclusive(i int) bool  { return w.exclusive[w.class[i]] }
func (w *world) settled(i int) bool      { return !w.queued.has(i) && !w.running.has(i) }

// keyed reports whether Keyed lets i start: every earlier call in conflict and every later one that started has
// settled, and every earlier call has committed where one of the two is exclusive.
func (w *world) keyed(i int) bool {
	for e := range i {
		if w.conflicts(e, i) && (!w.settled(e) || (w.isExclusive(e) || w.isExclusive(i)) && e >= w.committed) {
			return false
		}
	}
	return !w.clashes(i, w.running>>(i+1)<<(i+1))
}

// clashes reports whether i conflicts with one of others.
func (w *world) clashes(i int, others set) bool {
	for j := range others.all {
		if w.conflicts(i, j) {
			return true
		}
	}
	return false
}

// pool is the rolling pool: the next call of all, unless a barrier is up. A barrier waits for the commit of everything
// before it, and everything after it for its own.
func (w *world) pool() set {
	for i := range w.submitted {
		barrier := w.barrier[w.class[i]]
		switch {
		case w.queued.has(i) && (!barrier || w.committed == i):
			return 1 << i
		case w.queued.has(i) || barrier && i >= w.committed:
			return 0
		}
	}
	return 0
}

// offered asks m for every call that may start.
func (w *world) offered(m plan.Admission) (set, error) {
	var s set
	for i, ok := m.Next(-1); ok; {
		if i < 0 || i >= w.submitted || !w.queued.has(i) {
			return 0, w.broken(Interface, "Next offers call %d, which is not there to be started", i+1)
		}
		s.add(i)
		after := i
		if i, ok = m.Next(after); ok && i <= after {
			return 0, w.broken(Interface, "Next after call %d is call %d", after+1, i+1)
		}
	}
	return s, nil
}

func (w *world) broken(c Contract, format string, args ...any) error {
	v := &Violation{Contract: c, Detail: fmt.Sprintf(format, args...)}
	for _, class := range w.first[:w.submitted] {
		v.Calls = append(v.Calls, w.calls[class])
	}
	return v
}

// check looks at m, which offers the calls in may, without changing it.
func (w *world) check(m plan.Admission, may set) error {
	for i := range may.all {
		switch {
		case w.contracts.has(A1) && w.clashes(i, w.running):
			return w.broken(A1, "call %d may start beside one that it conflicts with", i+1)
		case w.contracts.has(A2) && w.clashes(i, (w.queued|w.running)&(1<<i-1)):
			return w.broken(A2, "call %d may start before an earlier one that it conflicts with has settled", i+1)
		case w.contracts.has(A5) && !w.keyed(i):
			return w.broken(A5, "call %d may start, and Keyed would not let it", i+1)
		}
	}
	if w.contracts.has(A3) && may != w.pool() {
		return w.broken(A3, "may start: %v, and in the rolling pool: %v", may, w.pool())
	}
	if w.contracts.has(A4) && may == 0 && w.queued != 0 && w.running == 0 && !w.due() {
		return w.broken(A4, "nothing runs, no commit is due, and nothing may start")
	}
	if w.contracts.has(A6) {
		for i := range (w.queued &^ may).all {
			if w.keyed(i) {
				return w.broken(A6, "call %d waits for no earlier call in conflict and for no barrier", i+1)
			}
		}
	}
	if err := w.checkBlocked(m, may); err != nil {
		return err
	}
	if w.contracts.has(A7) {
		return w.checkReordered(m)
	}
	return nil
}

// due reports whether a commit can be reported: the first call that has none has settled.
func (w *world) due() bool { return w.committed < w.submitted && w.settled(w.committed) }

// checkBlocked asks what keeps each call: something for those that have to wait and for no others, and something that
// is still in the way.
func (w *world) checkBlocked(m plan.Admission, may set) error {
	for i := range w.submitted {
		b, blocked := m.Blocked(i)
		waits := w.queued.has(i) && !may.has(i)
		if blocked != waits {
			return w.broken(Interface, "Blocked of call %d is %t, and it waits: %t", i+1, blocked, waits)
		}
		if !waits {
			continue
		}
		if b.Call < 0 || b.Call >= w.submitted || b.Call == i || b.Call < w.committed {
			return w.broken(Interface, "Blocked of call %d names call %d, which cannot be in the way", i+1, b.Call+1)
		}
		ok := true
		switch b.Kind {
		case plan.ByClaim:
			ok = !w.settled(b.Call) && !w.isExclusive(i) && !w.isExclusive(b.Call) &&
				claims(w.call(i), b.Mine) && claims(w.call(b.Call), b.Held) && Overlap(b.Mine, b.Held) &&
				(b.Mine.Access != plan.Read || b.Held.Access != plan.Read)
		case plan.ByBarrier:
			ok = w.isExclusive(i) || w.isExclusive(b.Call)
			if w.contracts.has(A3) || !w.contracts.has(A5) { // it may be a pool, to which a write is a barrier
				ok = ok || w.barrier[w.class[i]] || w.barrier[w.class[b.Call]]
			}
		case plan.ByOrder:
			ok = b.Call < i
		case plan.ByWave:
			ok = !w.settled(b.Call)
		}
		if !ok {
			return w.broken(Interface, "Blocked of call %d names %v, which is not so", i+1, b)
		}
	}
	return nil
}

// claims reports whether c claims that key, so or merged with another access.
func claims(c plan.Call, what plan.Claim) bool {
	return slices.ContainsFunc(c.Claims, func(cl plan.Claim) bool {
		return cl.Access == what.Access && cl.Tree == what.Tree && slices.Equal(components(cl.Key), components(what.Key))
	})
}

// checkReordered asks for the inversions of every call that is unstarted, or started and not committed.
func (w *world) checkReordered(m plan.Admission) error {
	for i := range w.submitted {
		before := w.overtaken[i]
		switch {
		case w.queued.has(i):
			before = w.started >> (i + 1) << (i + 1)
		case !w.started.has(i) || i < w.committed:
			continue
		}
		got := m.Reordered(i)
		if before == 0 && len(got) == 0 {
			continue
		}
		var want []int
		for j := range before.all {
			if w.conflicts(i, j) {
				want = append(want, j)
			}
		}
		if !slices.Equal(got, want) {
			return w.broken(A7, "Reordered of call %d is %s, and these ran before it: %s", i+1, numbers(got), numbers(want))
		}
	}
	return nil
}

// An event is what happens to an admission: a submission of a class, a start as a class, a settling or a commit.
type event struct {
	kind  uint8
	call  uint8
	class uint8
}

const (
	submits uint8 = iota
	starts
	settles
	commits
)

func (e event) describe(t *table) string {
	switch e.kind {
	case submits:
		return fmt.Sprintf("submit call %d: %s", e.call+1, describe(t.calls[e.class]))
	case starts:
		return fmt.Sprintf("start call %d as %s", e.call+1, describe(t.calls[e.class]))
	case settles:
		return fmt.Sprintf("settle call %d", e.call+1)
	}
	return fmt.Sprintf("commit call %d", e.call+1)
}

// apply makes the event happen to m, which offers the calls in may, and to w. The error is a broken promise that shows
// in the answer.
func (w *world) apply(m plan.Admission, e event, may set) error {
	i := int(e.call)
	switch e.kind {
	case submits:
		if got := m.Submit(w.calls[e.class]); got != i {
			return w.broken(Interface, "Submit takes call %d for call %d", i+1, got+1)
		}
		w.submitted++
		w.class[i], w.first[i] = e.class, e.class
		w.queued.add(i)
		w.owe(i, may)
	case starts:
		return w.start(m, i, e.class, may)
	case settles:
		m.Settle(i)
		if w.queued.has(i) {
			w.skipped++
		}
		w.queued.drop(i)
		w.running.drop(i)
	case commits:
		m.Commit(i)
		w.committed++
	}
	return nil
}

// owe notes, when late has just been submitted, who must not wait for it: if something is under way, every call that
// could not start. An exclusive call is under way until its commit, but not to first-fit, which does not claim A5.
func (w *world) owe(late int, may set) {
	underway := w.running != 0
	for i := w.committed; i < late && w.contracts.has(A5); i++ {
		underway = underway || w.started.has(i) && w.isExclusive(i)
	}
	if underway {
		for k := range (w.queued &^ may &^ (1 << late)).all {
			w.unowed[k].add(late)
		}
	}
}

// owed reports whether A9 has something to say of e: it settles a call that somebody must not wait for.
func (w *world) owed(e event) bool {
	if e.kind == settles && w.contracts.has(A9) {
		for k := range w.queued.all {
			if w.unowed[k].has(int(e.call)) {
				return true
			}
		}
	}
	return false
}

// freed checks A9 after e turned the calls in before that might start into those in now: nobody waited for a call that
// was not to be waited for.
func (w *world) freed(e event, before, now set) error {
	if j := int(e.call); e.kind == settles && w.contracts.has(A9) {
		for k := range (now &^ before).all {
			if w.unowed[k].has(j) && !w.conflicts(k, j) {
				return w.broken(A9, "call %d waited for call %d, which came later", k+1, j+1)
			}
		}
	}
	return nil
}

// start reports a start of i as a class and checks the answer by A7.
func (w *world) start(m plan.Admission, i int, class uint8, may set) error {
	changed := class != w.class[i]
	if changed {
		w.forgive(i, class)
		w.reclassed++
	}
	w.class[i] = class
	ok := m.Start(i, w.calls[class])
	if ok {
		switch {
		case w.contracts.has(A1) && w.clashes(i, w.running):
			return w.broken(A1, "call %d started beside one that it conflicts with", i+1)
		case w.contracts.has(A5) && !w.keyed(i):
			return w.broken(A5, "call %d started, and as it is now Keyed would not let it", i+1)
		case w.contracts.has(A3) && !w.pool().has(i):
			return w.broken(A3, "call %d started, and as it is now the rolling pool would not let it", i+1)
		case w.contracts.has(A7) && !changed && !may.has(i):
			return w.broken(A7, "call %d started, and Next did not offer it", i+1)
		}
		w.queued.drop(i)
		w.running.add(i)
		w.overtaken[i] = w.started >> (i + 1) << (i + 1)
		w.started.add(i)
		w.unowed[i] = 0
		return nil
	}
	if !w.contracts.has(A7) {
		return nil
	}
	if !changed && may.has(i) {
		return w.broken(A7, "call %d was offered, and its start refused", i+1)
	}
	if now, err := w.offered(m); err != nil {
		return err
	} else if now.has(i) {
		return w.broken(A7, "the start of call %d was refused, and now Next offers it", i+1)
	}
	return nil
}

// forgive drops what A9 asks for calls whose place may rightly move when i changes its class: i, and whatever comes
// after a call that moves and conflicts with it.
func (w *world) forgive(i int, class uint8) {
	var moved set
	moved.add(i)
	w.unowed[i] = 0
	for k := i + 1; k < w.submitted; k++ {
		if w.queued.has(k) && (w.conflict[class][w.class[k]] || w.clashes(k, moved)) {
			moved.add(k)
			w.unowed[k] = 0
		}
	}
}
