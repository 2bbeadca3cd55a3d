package plantest

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/keywave-go/keywave/plan"
)

// A Machine is an admission that [Explore] can fork.
type Machine interface {
	plan.Admission
	// Clone returns an independent copy in the same state.
	Clone() Machine
	// AppendState appends all that the admission's answers can ever depend on. Two machines that append the same bytes
	// count as the same, and the second is not looked at: what is left out here is left out of the exploration.
	AppendState(dst []byte) []byte
}

// A Copier is a Machine that can be forked in the memory of another. Forking is most of what [Explore] does, and so
// takes less time.
type Copier interface {
	Machine
	// CopyTo makes dst, which is not needed any more, an independent copy in the same state. False: dst is of another
	// kind.
	CopyTo(dst Machine) bool
}

// An Exploration says how far [Explore] goes. Set Calls, and Contracts or Like: without, there is nothing to check.
type Exploration struct {
	Calls      int            // the most calls in a batch; at most 8
	Alphabet   []plan.Call    // what batches are made of, at most 256 calls; nil means [Alphabet]
	Contracts  Contract       // those of A1 to A9 that the admission claims; with A8 also streams, not only batches
	Reclassify int            // how many starts may come with another class than the call had
	Skip       int            // how many calls may be settled before they start
	Like       func() Machine // if set, an admission that must give the same answers, such as [NewRolling]
}

const manyClasses = 1 << 8 // a class is a byte

// Explore walks every state that an admission can reach: every batch over the alphabet from the smallest up, every
// order of submitting, starting, settling and committing, each distinct state once. It returns how many states it
// looked at and the first [*Violation] that it met; a panic or a runtime.Goexit of the admission is one too. It uses
// every processor; open must be safe for concurrent use.
func Explore(open func() Machine, e Exploration) (states int, err error) {
	if e.Alphabet == nil {
		e.Alphabet = Alphabet()
	}
	if e.Like == nil || e.Contracts != 0 { // to be alike is enough
		if err := e.Contracts.claim("admission", ofAdmissions); err != nil {
			return 0, err
		}
	}
	switch {
	case e.Calls < 1:
		return 0, errors.New("plantest: cannot explore batches of no calls: set Calls")
	case e.Calls > 8:
		return 0, errors.New("plantest: cannot explore batches of more than 8 calls")
	case len(e.Alphabet) == 0:
		return 0, errors.New("plantest: cannot explore batches over no calls")
	case len(e.Alphabet) > manyClasses:
		return 0, fmt.Errorf("plantest: cannot explore batches over more than %d calls", manyClasses)
	}
	t := newTable(e.Alphabet)
	for n := 1; n <= e.Calls && err == nil; n++ {
		var more int
		more, err = exploreSize(open, e, t, n)
		states += more
	}
	return states, err
}

// exploreSize looks at all batches of n calls. The first two calls are what the work is split by.
func exploreSize(open func() Machine, e Exploration, t *table, n int) (int, error) {
	heads := [][]uint8{nil}
	for range min(n, 2) {
		var longer [][]uint8
		for _, head := range heads {
			for class := range e.Alphabet {
				longer = append(longer, append(head[:len(head):len(head)], uint8(class)))
			}
		}
		heads = longer
	}
	var (
		wg     sync.WaitGroup
		next   atomic.Int64
		states atomic.Int64
		failed atomic.Bool
		once   sync.Once
		first  error
	)
	for range min(runtime.GOMAXPROCS(0), len(heads)) {
		wg.Go(func() {
			fail := func(err error) {
				failed.Store(true)
				once.Do(func() { first = err })
			}
			x := explorer{Exploration: e, size: n, seed: maphash.MakeSeed(), failed: &failed}
			ended := false
			defer func() {
				if !ended { // the goroutine exits
					fail(cmp.Or(x.exit, errors.New("plantest: no admission: opening it called runtime.Goexit")))
				}
			}()
			for !failed.Load() {
				k := int(next.Add(1)) - 1
				if k >= len(heads) {
					break
				}
				x.head = heads[k]
				x.seen.clear()
				s := state{world: world{table: t, contracts: e.Contracts}, machine: open()}
				if e.Like != nil {
					s.like = e.Like()
				}
				err := x.visit(s, 0)
				states.Add(int64(x.seen.used))
				if err != nil {
					fail(err)
				}
			}
			ended = true
		})
	}
	wg.Wait()
	return int(states.Load()), first
}

// A state is what the observer knows and the machines that it watches.
type state struct {
	world
	machine Machine
	like    Machine // or nil
}

// An explorer walks the batches of one size that begin with head.
type explorer struct {
	Exploration
	size   int
	head   []uint8
	seen   hashes
	seed   maphash.Seed
	buf    []byte
	trail  []event
	spare  []Machine    // that nobody needs any more
	failed *atomic.Bool // somebody found a violation: stop
	exit   error        // the violation of an admission that called runtime.Goexit
}

// visit looks at whatever can happen in s, in which the calls in may can start. It uses up the machines of s.
func (x *explorer) visit(s state, may set) error {
	var room [8 * 16]event
	events := x.events(room[:0], &s, may)
	for n, e := range events {
		child := s
		if n < len(events)-1 {
			child.machine = x.fork(s.machine)
			if s.like != nil {
				child.like = s.like.Clone()
			}
		}
		if err := x.step(child, may, e); err != nil {
			return err
		}
	}
	if len(events) == 0 {
		x.drop(s.machine)
	}
	return nil
}

// drop keeps the memory of a machine that is not needed any more.
func (x *explorer) drop(m Machine) {
	if _, ok := m.(Copier); ok {
		x.spare = append(x.spare, m)
	}
}

// fork copies m, into one that is spare if it can.
func (x *explorer) fork(m Machine) Machine {
	if c, ok := m.(Copier); ok && len(x.spare) > 0 {
		last := len(x.spare) - 1
		spare := x.spare[last]
		x.spare = x.spare[:last]
		if c.CopyTo(spare) {
			return spare
		}
	}
	return m.Clone()
}

// events appends all that can happen next.
func (x *explorer) events(to []event, s *state, may set) []event {
	if x.failed.Load() {
		return to
	}
	if i := s.submitted; i < x.size {
		for class := range s.calls {
			if i >= len(x.head) || uint8(class) == x.head[i] {
				to = append(to, event{submits, uint8(i), uint8(class)})
			}
		}
		if !x.Contracts.has(A8) {
			return to
		}
	}
	for i := range may.all {
		for class := range s.calls {
			if uint8(class) == s.class[i] || int(s.reclassed) < x.Reclassify {
				to = append(to, event{starts, uint8(i), uint8(class)})
			}
		}
	}
	settling := s.running
	if int(s.skipped) < x.Skip {
		settling |= s.queued
	}
	for i := range settling.all {
		to = append(to, event{settles, uint8(i), 0})
	}
	if s.due() {
		to = append(to, event{commits, uint8(s.committed), 0})
	}
	return to
}

// step lets e happen to s and, if that leads to a state not seen before, checks and visits it.
func (x *explorer) step(s state, before set, e event) (err error) {
	x.trail = append(x.trail, e)
	ended := false
	defer func() {
		if p := recover(); p != nil {
			err = x.tell(s, s.broken(Interface, "panic: %v\n%s", p, debug.Stack()))
		} else if !ended && x.exit == nil {
			x.exit = x.tell(s, s.broken(Interface, "runtime.Goexit was called\n%s", debug.Stack()))
		}
		x.trail = x.trail[:len(x.trail)-1]
	}()
	err = x.advance(s, before, e)
	ended = true
	return err
}

// advance is step without its care for admissions that do not return.
func (x *explorer) advance(s state, before set, e event) error {
	queued := s.queued
	err := s.apply(s.machine, e, before)
	if err == nil && s.like != nil {
		err = s.follow(s.like, e, queued)
	}
	if err != nil {
		return x.tell(s, err)
	}
	fresh := x.seen.add(x.hash(&s))
	if !fresh && !s.owed(e) {
		x.drop(s.machine)
		return nil
	}
	var may set
	may, err = s.offered(s.machine)
	if err == nil {
		err = s.freed(e, before, may)
	}
	if err == nil && !fresh {
		x.drop(s.machine)
		return nil
	}
	if err == nil {
		err = s.check(s.machine, may)
	}
	if err == nil && s.like != nil {
		err = s.compare(s.like, may)
	}
	if err != nil {
		return x.tell(s, err)
	}
	return x.visit(s, may)
}

// follow lets e happen to the admission that must be alike, and compares its answer to a start.
func (w *world) follow(like plan.Admission, e event, queued set) error {
	i := int(e.call)
	switch e.kind {
	case submits:
		like.Submit(w.calls[e.class])
	case starts:
		started := !w.queued.has(i) && queued.has(i)
		if ok := like.Start(i, w.calls[e.class]); ok != started {
			return w.broken(Likeness, "Start of call %d returned %t, and of the one that it must be like %t", i+1, started, ok)
		}
	case settles:
		like.Settle(i)
	case commits:
		like.Commit(i)
	}
	return nil
}

// compare asks the admission that must be alike what may start.
func (w *world) compare(like plan.Admission, may set) error {
	also, err := w.offered(like)
	if err == nil && also != may {
		err = w.broken(Likeness, "may start: %v, and in the one that it must be like: %v", may, also)
	}
	return err
}

// tell adds to a violation what led to it.
func (x *explorer) tell(s state, err error) error {
	var v *Violation
	if errors.As(err, &v) {
		for _, e := range x.trail {
			v.Events = append(v.Events, e.describe(s.table))
		}
	}
	return err
}

// hash is 64 bits of everything in s that its future depends on. Among ten million states two share theirs in one walk
// of some three hundred thousand; then one of them is not looked at, and in the next walk, with another seed, it is.
func (x *explorer) hash(s *state) uint64 {
	b := append(x.buf[:0], uint8(s.submitted), uint8(s.committed), s.reclassed, s.skipped,
		uint8(s.queued), uint8(s.running), uint8(s.started))
	b = append(b, s.class[s.committed:s.submitted]...)
	for i := s.committed; i < s.submitted; i++ {
		var overtaken set
		for j := range s.overtaken[i].all {
			if s.conflicts(i, j) {
				overtaken.add(j)
			}
		}
		b = append(b, uint8(overtaken), uint8(s.unowed[i]&(s.queued|s.running)))
	}
	b = s.machine.AppendState(b)
	if s.like != nil {
		b = s.like.AppendState(b)
	}
	x.buf = b
	return maphash.Bytes(x.seed, b)
}

// hashes is a set of hashes with open addressing.
type hashes struct {
	slots []uint64
	used  int
}

func (h *hashes) clear() {
	clear(h.slots)
	h.used = 0
}

// add reports whether k was not there before.
func (h *hashes) add(k uint64) bool {
	k = max(k, 1) // no hash is zero, as an empty slot is
	if 2*h.used >= len(h.slots) {
		old := h.slots
		h.slots = make([]uint64, max(1<<12, 2*len(old)))
		for _, o := range old {
			if o != 0 {
				*h.slot(o) = o
			}
		}
	}
	at := h.slot(k)
	if *at != 0 {
		return false
	}
	*at = k
	h.used++
	return true
}

// slot finds the place of k: where it is, or where it would go.
func (h *hashes) slot(k uint64) *uint64 {
	mask := uint64(len(h.slots) - 1)
	for i := k & mask; ; i = (i + 1) & mask {
		if at := &h.slots[i]; *at == 0 || *at == k {
			return at
		}
	}
}
