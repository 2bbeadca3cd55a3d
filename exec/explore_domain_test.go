package exec

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
)

// An op is what a call does to its Domain.
type op uint8

const (
	opEnter op = iota
	opGiveUp
	opGiveBack
	opAbandon
	opShut
)

var opNames = [...]string{"enters", "gives up", "gives back", "is abandoned", "is what all are within, and is abandoned"}

// The Domain of a world takes the steps below as its contract has them. When a step is taken for the first time, a real
// Domain takes it, too, and must agree.

func (x *walker) enter(n *world, i int) {
	pre := x.unseen(n, opEnter, i)
	a := &n.actors[i]
	a.at = atReturned
	if x.refusal(n, i) == nil {
		n.line(i, x.Fine)
	}
	x.drive(pre, opEnter, i, n)
}

func (x *walker) giveUp(n *world, i int) {
	pre := x.unseen(n, opGiveUp, i)
	n.actors[i].at = atReturned
	if n.granted(i) {
		n.giveBack(i)
	} else {
		n.leave(i)
	}
	x.drive(pre, opGiveUp, i, n)
}

func (x *walker) giveBack(n *world, i int) {
	pre := x.unseen(n, opGiveBack, i)
	n.giveBack(i)
	x.drive(pre, opGiveBack, i, n)
}

func (x *walker) abandonLease(n *world, i int) {
	if !n.actors[i].leased { // it has just ended
		n.actors[i].given = late
		return
	}
	pre := x.unseen(n, opAbandon, i)
	n.abandon(i)
	x.drive(pre, opAbandon, i, n)
}

func (x *walker) shut(n *world) {
	pre := x.unseen(n, opShut, 0)
	before := *n
	n.shut = true
	for i := range n.actors { // all that wait, and not those behind who left
		if before.actors[i].leased && !before.granted(i) {
			n.leave(i)
		}
	}
	x.drive(pre, opShut, 0, n)
}

var errUncovered = errors.New("not covered")

// refusal says why an actor must not be let in, or nil.
func (x *walker) refusal(n *world, i int) error {
	if !n.open(i) {
		return ErrLeaseEnded
	}
	around := x.Within
	if in := n.holder(i); in >= 0 {
		around = n.actors[in].what
	}
	if around != unset && !around.claimless() && !covers[around][n.actors[i].what] {
		return errUncovered
	}
	return nil
}

// unseen returns a copy of the state if nobody has taken a step from it, as far as the Domain is concerned: what the call
// can have nothing to do with may be otherwise.
func (x *walker) unseen(n *world, o op, i int) *world {
	near := set(1 << i)
	if o == opShut {
		near = 1<<most - 1
	}
	for last := set(0); last != near; {
		last = near
		for k := range n.actors {
			if near>>k&1 == 0 && x.near(n, k, near, i) {
				near |= 1 << k
			}
		}
	}
	d := world{shut: n.shut}
	for k := range n.actors {
		a := &n.actors[k]
		d.actors[k].within = -1
		if near>>k&1 != 0 {
			d.actors[k] = actor{what: a.what, given: a.given, within: a.within, leased: a.leased, released: a.released}
			d.before[k] = n.before[k] & near
		}
	}
	d.actors[i].at = 1 + phase(o)
	as := look{w: &d, lanes: x.Lanes}
	for k := range as.at {
		as.at[k] = k
		as.words[k] = word(&d.actors[k], true, false)
	}
	as.pack() // which is quick, but takes no notice of names
	if !x.asked.add(as.best.hash() ^ uint64(x.Within)<<32) {
		return nil
	}
	h := x.key(&d) ^ uint64(x.Within)<<32
	if !x.checked.add(h) {
		return nil
	}
	x.replay.within, x.replay.backward, x.replay.listed = x.Within, h&1 == 0, h&6 == 0
	pre := *n
	return &pre
}

// near reports whether an actor has anything to do with one of those that a step of i may concern.
func (x *walker) near(n *world, k int, near set, i int) bool {
	a := &n.actors[k]
	if nested(i) && int(n.actors[i].within) == k {
		return true
	}
	if !a.leased {
		return false
	}
	if n.before[k]&near != 0 {
		return true
	}
	for j := range n.actors {
		if near>>j&1 == 0 {
			continue
		}
		o := &n.actors[j]
		switch {
		case n.before[j]>>k&1 != 0, nested(k) && int(a.within) == j, nested(j) && int(o.within) == k:
			return true
		case n.holder(j) == n.holder(k) && (clash[o.what][a.what] || j == i && a.bars()):
			return true
		}
	}
	return false
}

func (x *walker) drive(pre *world, o op, i int, post *world) {
	if pre == nil || x.err != nil {
		return
	}
	x.driven++
	if err := x.replay.drive(pre, o, i, post, x.refusal(pre, i)); err != nil {
		x.err = fmt.Errorf("the Domain, when %d %s: %w, in\n%v", i, opNames[o], err, pre)
	}
}

// A replay is a real Domain that is brought into the state of a world. When everybody has left, it is used again.
type replay struct {
	within   kind
	backward bool // of those who could enter next, the last does
	listed   bool // it is also asked who holds what, and who waits
	d        MemoryDomain
	around   *lease // within which all compete; nil: none
	leases   [most]*lease
	all      [most + 1]lease // what those above point to
}

var doneCtx = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// drive takes a step from one state to another.
func (r *replay) drive(pre *world, o op, i int, post *world, refusal error) error {
	if err := r.build(pre); err != nil {
		return err
	}
	if err := r.compare(pre, pre); err != nil {
		return fmt.Errorf("before that, %w", err)
	}
	switch o {
	case opEnter:
		err := r.enter(pre, i)
		var uncovered *UncoveredError
		switch {
		case refusal == errUncovered && !errors.As(err, &uncovered),
			refusal == ErrLeaseEnded && !errors.Is(err, ErrLeaseEnded), refusal == nil && err != nil:
			return fmt.Errorf("it is told %v instead of %v", err, refusal)
		case refusal != nil:
			r.leases[i] = nil
		}
	case opGiveUp:
		if l := r.leases[i]; l.granted {
			l.Release()
		} else if err := l.wait(doneCtx); err != context.Canceled {
			return fmt.Errorf("its wait returns %v", err)
		}
	case opGiveBack:
		r.leases[i].Release()
	case opAbandon:
		r.leases[i].Abandon()
	case opShut:
		r.around.Abandon()
	}
	if err := r.compare(pre, post); err != nil {
		return err
	}
	return r.drain()
}

// build has the calls do again what they have done that still matters.
func (r *replay) build(w *world) error {
	r.leases, r.around = [most]*lease{}, nil
	if r.within != unset {
		r.around = &r.all[most]
		*r.around = lease{}
		if err := r.d.enter(r.around, request(r.within, most)); err != nil || !r.around.granted {
			return fmt.Errorf("the first of all does not get in: %w", err)
		}
	}
	var entered, abandoned set
	all := set(0)
	for i := range w.actors {
		if w.actors[i].leased {
			all |= 1 << i
		}
	}
	for entered != all {
		last := entered
		for k := range w.actors {
			i := k
			if r.backward {
				i = most - 1 - k
			}
			if all>>i&1 == 0 || entered>>i&1 != 0 || !r.turn(w, i, entered, abandoned) {
				continue
			}
			if err := r.enter(w, i); err != nil {
				return fmt.Errorf("%d does not get in: %w", i, err)
			}
			entered |= 1 << i
			break
		}
		if entered != last {
			continue
		}
		i := r.zombie(w, entered, abandoned)
		if i < 0 {
			return errors.New("no order of events leads here: the model is wrong")
		}
		r.leases[i].Abandon()
		abandoned |= 1 << i
	}
	for i := range w.actors {
		a := &w.actors[i]
		if a.leased && a.given == barred && abandoned>>i&1 == 0 {
			r.leases[i].Abandon()
		}
		if a.leased && a.released {
			r.leases[i].Release()
		}
		if a.leased && a.given == late {
			r.leases[i].Abandon()
		}
	}
	if w.shut {
		r.around.Abandon()
	}
	return nil
}

// turn reports whether it is an actor's turn to enter.
func (r *replay) turn(w *world, i int, entered, abandoned set) bool {
	if in := w.actors[i].within; nested(i) && w.actors[in].leased && (entered>>in&1 == 0 || abandoned>>in&1 != 0) {
		return false
	}
	for b := w.before[i]; b != 0; b &= b - 1 {
		j := bits.TrailingZeros16(uint16(b))
		if w.actors[j].what == alone && abandoned>>j&1 == 0 || entered>>j&1 == 0 {
			return false
		}
	}
	for b := abandoned; b != 0; b &= b - 1 { // has it come too late?
		if j := bits.TrailingZeros16(uint16(b)); w.before[i]>>j&1 == 0 && w.holder(i) == w.holder(j) {
			return false
		}
	}
	return true
}

// zombie returns who was abandoned next, of those that keep others from entering, or -1.
func (r *replay) zombie(w *world, entered, abandoned set) int {
next:
	for i := range w.actors {
		if entered>>i&1 == 0 || abandoned>>i&1 != 0 || !w.actors[i].bars() {
			continue
		}
		for j := range w.actors { // was anybody there first who is not there yet?
			if w.actors[j].leased && entered>>j&1 == 0 && w.holder(j) == w.holder(i) && w.before[j]>>i&1 == 0 {
				continue next
			}
		}
		return i
	}
	return -1
}

func request(k kind, i int) Request {
	return Request{By: Caller{Call: i}, Claims: kindCalls[k].Claims, Exclusive: kindCalls[k].Exclusive()}
}

// enter has an actor enter what it is nested in.
func (r *replay) enter(w *world, i int) error {
	r.leases[i] = &r.all[i]
	*r.leases[i] = lease{}
	q := request(w.actors[i].what, i)
	switch {
	case nested(i) && r.leases[w.actors[i].within] != nil:
		return r.leases[w.actors[i].within].enter(r.leases[i], q)
	case nested(i):
		return ErrLeaseEnded
	case r.around != nil:
		return r.around.enter(r.leases[i], q)
	}
	return r.d.enter(r.leases[i], q)
}

// compare reports where the Domain differs from the state that it should have come to.
func (r *replay) compare(pre, w *world) error {
	holds, blocks := 0, 0
	for i, l := range r.leases {
		if l == nil {
			continue
		}
		a := &w.actors[i]
		granted := a.leased && w.granted(i)
		waited := pre.actors[i].leased && !pre.granted(i)
		switch {
		case a.leased && granted != l.granted:
			return fmt.Errorf("%d is granted: %v", i, l.granted)
		case a.leased && l.left, !a.leased && !l.left && l.granted:
			return fmt.Errorf("the lease of %d has ended: %v", i, l.left)
		case !a.leased && waited && l.pending.err == nil:
			return fmt.Errorf("%d still waits", i)
		case a.leased && !granted && l.pending.err != nil:
			return fmt.Errorf("%d is refused: %w", i, l.pending.err)
		case granted:
			holds++
		case a.leased:
			blocks++
		}
		if l.pending != nil {
			select {
			case <-l.pending.done:
				if a.leased && !granted {
					return fmt.Errorf("%d is told that it waits no more", i)
				}
			default:
				if granted || !a.leased {
					return fmt.Errorf("%d is not told that it waits no more", i)
				}
			}
		}
	}
	if r.around != nil {
		holds++
	}
	if !r.listed {
		return nil
	}
	found := 0
	for _, b := range r.d.Blocked() {
		if found++; w.before[b.Who.Call]>>b.By.Call&1 == 0 {
			return fmt.Errorf("it says that %v", b)
		}
	}
	if n := len(r.d.Holds()); found != blocks || n != holds {
		return fmt.Errorf("it lists %d holders and %d that wait, not %d and %d", n, found, holds, blocks)
	}
	return nil
}

// drain has everybody leave, after which nothing must be left.
func (r *replay) drain() error {
	for _, l := range r.leases {
		switch {
		case l == nil || l.left:
		case l.granted:
			l.Release()
		case l.pending.err == nil:
			if err := l.wait(doneCtx); err == nil {
				return errors.New("a wait is not ended by a cancel")
			}
		}
	}
	if r.around != nil {
		r.around.Release()
	}
	if s := &r.d.root; s.first != nil || s.last != nil || s.keys != 0 || s.top.size != 0 || len(s.zombies) > 0 || len(r.d.Holds()) > 0 {
		return errors.New("something is left in it when everybody has left")
	}
	return nil
}
