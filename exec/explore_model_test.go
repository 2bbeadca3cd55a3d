package exec

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/keywave-go/keywave/plan"
)

// A kind is a letter of the alphabet that the calls of the explored lanes are written in.
type kind uint8

const (
	unset   kind = iota // it has not been chosen yet
	alone               // exclusive, without claims
	aloneAB             // exclusive, with claims on both keys
	keyless
	readA
	writeA
	readB
	writeB
	readTree // in which both keys are
	writeTree
	kinds
)

var kindNames = [kinds]string{"-", "X", "Xab", "K", "Ra", "Wa", "Rb", "Wb", "Rt", "Wt"}

var kindCalls = [kinds]plan.Call{
	aloneAB:   {Claims: []plan.Claim{{Key: "d/a"}, {Key: "d/b"}}},
	keyless:   {Safe: true},
	readA:     {Safe: true, Claims: []plan.Claim{{Key: "d/a", Access: plan.Read}}},
	writeA:    {Safe: true, Claims: []plan.Claim{{Key: "d/a"}}},
	readB:     {Safe: true, Claims: []plan.Claim{{Key: "d/b", Access: plan.Read}}},
	writeB:    {Safe: true, Claims: []plan.Claim{{Key: "d/b"}}},
	readTree:  {Safe: true, Claims: []plan.Claim{{Key: "d", Access: plan.Read, Tree: true}}},
	writeTree: {Safe: true, Claims: []plan.Claim{{Key: "d", Tree: true}}},
}

// mirrored exchanges the two keys.
var mirrored = [kinds]kind{unset, alone, aloneAB, keyless, readB, writeB, readA, writeA, readTree, writeTree}

// What kinds have to do with each other, by the words of the contracts and not by the code that is explored.
var (
	apart  [kinds][kinds]bool // in one lane: they may not overlap
	clash  [kinds][kinds]bool // in a Domain: a claim of one overlaps a claim of the other, and one of those writes
	covers [kinds][kinds]bool // each claim of the second is covered by a claim of the first
)

func init() {
	for k := alone; k < kinds; k++ {
		for j := alone; j < kinds; j++ {
			a, b := kindCalls[k], kindCalls[j]
			apart[k][j] = plan.Conflict(a, b)
			a.Safe, b.Safe = true, true
			clash[k][j] = plan.Conflict(a, b)
			covers[k][j] = true
			for _, want := range b.Claims {
				found := false
				for _, has := range a.Claims {
					found = found || (has.Access == plan.Write || want.Access == plan.Read) &&
						(has.Key == want.Key && (has.Tree || !want.Tree) || has.Tree && strings.HasPrefix(want.Key, has.Key+"/"))
				}
				covers[k][j] = covers[k][j] && found
			}
		}
	}
}

func (k kind) claimless() bool { return len(kindCalls[k].Claims) == 0 }

// A phase is how far a call has come. It goes back only where its body opens a lane.
type phase uint8

const (
	atNothing  phase = iota // its lane has not admitted it
	atAdmitted              // and not in line yet
	atLine                  // in line in the Domain; what it learns there it has yet to notice
	atCleared               // has its claims, and looks for a permit
	atQueue                 // of the semaphore
	atHanded                // given a permit, and has yet to notice
	atReady                 // about to start, unless it was cancelled
	atNested                // its body waits for a lane that is nested in it
	atRetake                // that has ended; the body waits to take its permit again
	atRetaken               // given it, and has yet to notice
	atGot                   // has noticed, and has yet to say so
	atBody                  // its body runs
	atForgone               // its body runs without a permit, since it was cancelled
	atEnding                // its body has returned and the permit was given back
	atReturned              // and the claims, too
	atSettled
	atEnd // committed, or its abandoned body has returned
)

var phaseNames = [...]string{"nothing", "admitted", "line", "cleared", "queue", "handed", "ready", "nested", "retake", "retaken", "got",
	"body", "forgone", "ending", "returned", "settled", "end"}

// An actor is a call.
type actor struct {
	what     kind
	at       phase
	within   int8 // of a nested call: in whose body; below 0: of nobody's yet
	given    gift
	leased   bool // it has a lease, or waits for one, that has not ended
	released bool
	permit   permit // the code's own
}

// A gift says how far a call has been given up; the lane's own part of that comes first.
type gift uint8

const (
	kept   gift = iota
	lost        // its lane has done with it
	lapsed      // the permit was given back
	barred      // the lease was told
	late        // that came after its release
)

const (
	perLane = 3 // two calls, and one that is nested in the body of one of them
	most    = 3 * perLane
)

type set uint16 // of actors

// A world is a state of some lanes, their Domain and their semaphore.
type world struct {
	actors    [most]actor
	before    [most]set  // who stands before it in the Domain
	queue     [most]int8 // of the semaphore
	waiters   int8
	free      int8  // permits
	cancelled uint8 // lanes, by bit
	cancels   int8  // how many lanes may still be cancelled
	shut      bool  // the lease around all was abandoned
}

// running reports whether the body of an actor has been called and has not returned.
func (a *actor) running() bool { return a.at >= atNested && a.at <= atForgone }

// done reports whether its lane has done with it.
func (a *actor) done() bool { return a.at == atEnd || a.given > kept }

func (w *world) stopped(lane int) bool { return w.cancelled>>lane&1 != 0 }

func nested(i int) bool { return i%perLane == perLane-1 }

// kid returns the call that is nested in i, or -1.
func (w *world) kid(i int) int {
	if k := i - i%perLane + perLane - 1; k != i && w.actors[k].within == int8(i) {
		return k
	}
	return -1
}

// The Domain, as its contract has it.

// holder returns in whose lease an actor competes, or -1: nobody's.
func (w *world) holder(i int) int {
	if in := w.actors[i].within; nested(i) && in >= 0 && !w.actors[in].what.claimless() {
		return int(in)
	}
	return -1
}

// open reports whether something can be acquired where an actor would.
func (w *world) open(i int) bool {
	if w.shut {
		return false
	}
	if !nested(i) {
		return true
	}
	p := &w.actors[w.actors[i].within]
	return p.leased && !p.released && p.given < barred
}

// bars reports whether an actor keeps all that comes later from being granted.
func (a *actor) bars() bool { return a.leased && a.given == barred && a.what == alone }

// granted reports whether an actor that is in line has its claims.
func (w *world) granted(i int) bool {
	for b := w.before[i]; b != 0; b &= b - 1 {
		j := bits.TrailingZeros16(uint16(b))
		if o := &w.actors[j]; o.what == alone || clash[o.what][w.actors[i].what] {
			return false
		}
	}
	return true
}

// line puts an actor in line. Before it are those that are in its way, or also, if all, those whose claims are not.
func (w *world) line(i int, all bool) {
	a := &w.actors[i]
	a.at, a.leased = atLine, true
	in := w.holder(i)
	for j := range w.actors {
		o := &w.actors[j]
		if j == i || !o.leased || w.holder(j) != in {
			continue
		}
		if o.bars() || clash[o.what][a.what] || all && !o.what.claimless() && !a.what.claimless() {
			w.before[i] |= 1 << j
		}
	}
}

// leave ends a lease, and that around it if that has only waited for this one.
func (w *world) leave(i int) {
	w.actors[i].leased, w.before[i] = false, 0
	for j := range w.before {
		w.before[j] &^= 1 << i
	}
	if in := w.actors[i].within; nested(i) && w.actors[in].leased && w.actors[in].released {
		w.leave(int(in))
	}
}

// giveBack releases the lease of an actor that was granted.
func (w *world) giveBack(i int) {
	w.refuseKid(i)
	w.actors[i].released = true
	if k := w.kid(i); k < 0 || !w.actors[k].leased {
		w.leave(i)
	}
}

// refuseKid ends the wait of what is nested in an actor and waits.
func (w *world) refuseKid(i int) {
	if k := w.kid(i); k >= 0 && w.actors[k].leased && !w.granted(k) {
		w.leave(k)
	}
}

// abandon tells a lease that its body was given up.
func (w *world) abandon(i int) {
	if w.actors[i].released {
		w.actors[i].given = late
		return
	}
	w.actors[i].given = barred
	w.refuseKid(i)
}

// violation looks for what must never be.
func (w *world) violation(limit int) string {
	held, running := int(w.free), 0
	for i := range w.actors {
		a := &w.actors[i]
		if a.permit.held {
			held++
		}
		if a.at == atHanded || a.at == atRetaken || a.at == atGot {
			held++
		}
		if a.permit.lanes > 0 && a.permit.held {
			return fmt.Sprintf("%d has a permit while a lane is open in it", i)
		}
		if !a.running() {
			continue
		}
		if !a.leased || !w.granted(i) {
			return fmt.Sprintf("%d runs without its claims", i)
		}
		if a.at == atBody && !a.permit.held && a.given == kept {
			return fmt.Sprintf("%d runs without a permit", i)
		}
		for j := range i {
			o := &w.actors[j]
			if !o.running() || nested(i) && int(a.within) == j {
				continue
			}
			mates := i/perLane == j/perLane && !nested(i) && a.given == kept && o.given == kept
			if clash[a.what][o.what] || mates && apart[a.what][o.what] {
				return fmt.Sprintf("%d overlaps %d", i, j)
			}
		}
		if a.permit.held {
			running++
		}
	}
	switch {
	case held != limit || w.free < 0:
		return fmt.Sprintf("there are %d permits of %d", held, limit)
	case running > limit:
		return fmt.Sprintf("%d bodies have a permit of %d", running, limit)
	case w.waiters > 0 && w.free > 0:
		return "a permit is free, and somebody waits for one"
	}
	return ""
}

// final reports whether nothing is left of what was admitted and, if all, nothing to be admitted.
func (w *world) final(limit int, all bool) bool {
	for i := range w.actors {
		a := &w.actors[i]
		if a.leased || a.given == lost || a.given == lapsed || a.permit.lanes > 0 || a.at != atEnd && a.at != atNothing {
			return false
		}
		if a.at == atNothing && all && !nested(i) && !w.stopped(i/perLane) {
			return false
		}
	}
	return w.waiters == 0 && int(w.free) == limit
}

// progress grows with every step that has to come.
func (w *world) progress() int {
	n := 0
	for i := range w.actors {
		a := &w.actors[i]
		n += 2*int(a.at) + int(a.given) - a.permit.lanes
		if a.at == atNothing && a.within < 0 {
			n += 2*int(atEnd) + int(late)
		}
	}
	return n
}

// String shows a state to people.
func (w *world) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "free %d, queue %v, cancelled %b, shut %v\n", w.free, w.queue[:w.waiters], w.cancelled, w.shut)
	for i := range w.actors {
		a := &w.actors[i]
		if a.what == unset && (a.at == atNothing || a.at == atEnd) {
			continue
		}
		fmt.Fprintf(&b, "  %d %s at %s", i, kindNames[a.what], phaseNames[a.at])
		if nested(i) {
			fmt.Fprintf(&b, ", in %d", a.within)
		}
		fmt.Fprintf(&b, ", given up %d, leased %v, released %v, permit %+v, before it %b\n", a.given, a.leased, a.released, a.permit, w.before[i])
	}
	return b.String()
}
