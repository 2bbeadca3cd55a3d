package plan

import "slices"

// NewKeyed returns an Admission that starts a call as soon as every earlier call that it conflicts with has settled.
// An exclusive call is a barrier: it starts when every earlier call has committed, and nothing later before it has.
// A writer waits only for what came before it, and later readers of its key queue behind it. A step costs amortised
// time linear in the claims of its call, times their depth once a claim is a tree; a classification that changes
// before the start costs time linear in the claims of all calls that have not settled.
func NewKeyed() Admission { return new(keyed) }

type keyed struct {
	ledger
	index   index
	trees   bool
	queues  [][modes]queue // by node
	places  []place        // places[0] stands for none
	of      []spot         // by call
	ready   bitset         // waiting calls for which no claim stands in the way
	running bitset
	alone   bitset // uncommitted exclusive calls
}

// A mode is the way in which a claim, or one above or below it, uses a node: exactly that key, the tree there, or a
// key below; by Access.
const (
	exactWrite = iota
	exactRead
	treeWrite
	treeRead
	belowWrite
	belowRead
	modes
)

// against holds, for every mode, those that conflict with it at one node.
var against = [modes][]int{
	exactWrite: {exactWrite, exactRead, treeWrite, treeRead},
	exactRead:  {exactWrite, treeWrite},
	treeWrite:  {exactWrite, exactRead, treeWrite, treeRead, belowWrite, belowRead},
	treeRead:   {exactWrite, treeWrite, belowWrite},
	belowWrite: {treeWrite, treeRead},
	belowRead:  {treeWrite},
}

// A queue holds, in the model's order, the calls that use one node in one mode and have not settled. Those in front
// are granted: no earlier call is in their way here.
type queue struct {
	head, tail int32 // places
	wait       int32 // the first place that is not granted
}

type place struct{ call, next, node, mode int32 }

// A spot is where a call's places are, how many of them are not granted yet, and the last call, plus one, that was in
// their way when it came.
type spot struct{ first, n, lack, near int32 }

func (k *keyed) Grow(calls, claims int) {
	k.ledger.Grow(calls, claims)
	k.of = slices.Grow(k.of, calls)
	k.places = slices.Grow(k.places, claims+1)
	k.queues = slices.Grow(k.queues, claims+1)
	k.index.grow(claims)
}

func (k *keyed) Submit(c Call) int {
	if len(k.calls) == 0 {
		k.forget()
	}
	i := k.add(c)
	k.of = append(k.of, spot{})
	if !k.trees && c.Safe && hasTree(c.Claims) { // every path must be walked from now on
		k.trees = true
		k.rebuild()
	} else {
		k.enter(i)
	}
	return i
}

func (k *keyed) forget() {
	k.index.reset()
	k.queues = append(k.queues[:0], [modes]queue{})
	k.places = append(k.places[:0], place{})
}

// rebuild enters every call that has not settled again.
func (k *keyed) rebuild() {
	k.forget()
	for i := k.prefix; i < len(k.calls); i++ {
		if s := k.calls[i].state; s == waiting || s == running {
			k.enter(i)
		} else if s == settled && k.calls[i].Exclusive() {
			k.alone.add(i)
		}
	}
}

// enter puts the last call into the queues of its claims.
func (k *keyed) enter(i int) {
	e := &k.calls[i]
	k.of[i] = spot{first: int32(len(k.places))}
	k.alone.remove(i)
	k.ready.remove(i)
	if e.Exclusive() {
		k.alone.add(i)
	} else {
		for j := range e.Claims {
			k.line(i, &e.Claims[j])
		}
	}
	if k.of[i].lack == 0 && e.state == waiting {
		k.ready.add(i)
	}
}

// line queues a call for one claim.
func (k *keyed) line(i int, cl *Claim) {
	mode := exactWrite
	if cl.Tree {
		mode = treeWrite
	}
	read := 0
	if cl.Access == Read {
		read = 1
	}
	n := k.index.find(trim(cl.Key), k.trees)
	for len(k.queues) < len(k.index.nodes) {
		k.queues = append(k.queues, [modes]queue{})
	}
	k.push(i, n, mode+read)
	if k.trees {
		for n = k.index.nodes[n].parent; n != 0; n = k.index.nodes[n].parent {
			k.push(i, n, belowWrite+read)
		}
	}
}

func (k *keyed) push(i int, node int32, mode int) {
	at := int32(len(k.places))
	k.places = append(k.places, place{int32(i), 0, node, int32(mode)})
	for _, m := range against[mode] {
		if t := k.queues[node][m].tail; t != 0 && k.places[t].call != int32(i) {
			k.of[i].near = max(k.of[i].near, k.places[t].call+1)
		}
	}
	q := &k.queues[node][mode]
	if q.head == 0 {
		q.head = at
	} else {
		k.places[q.tail].next = at
	}
	q.tail = at
	k.of[i].n++
	if q.wait == 0 && !k.granted(node, mode, i) {
		q.wait = at
	}
	if q.wait != 0 {
		k.of[i].lack++
	}
}

// granted reports whether no call before i stands in the way of a mode at a node.
func (k *keyed) granted(node int32, mode, i int) bool {
	for _, m := range against[mode] {
		if h := k.queues[node][m].head; h != 0 && int(k.places[h].call) < i {
			return false
		}
	}
	return true
}

// leave takes a settled call out of its queues and grants what it held back.
func (k *keyed) leave(i int) {
	s := k.of[i]
	for at := s.first; at < s.first+s.n; at++ {
		node, mode := k.places[at].node, int(k.places[at].mode)
		q := &k.queues[node][mode]
		if q.head != at {
			continue // it goes when those in front of it have gone
		}
		for q.head != 0 && k.gone(q.head) {
			if q.wait == q.head {
				q.wait = k.places[q.head].next
			}
			q.head = k.places[q.head].next
		}
		for _, m := range against[mode] {
			k.grant(node, m)
		}
	}
}

// gone reports whether the call of a place has settled.
func (k *keyed) gone(at int32) bool {
	s := k.calls[k.places[at].call].state
	return s == settled || s == committed
}

func (k *keyed) grant(node int32, mode int) {
	q := &k.queues[node][mode]
	for q.wait != 0 {
		i := int(k.places[q.wait].call)
		if !k.gone(q.wait) {
			if !k.granted(node, mode, i) {
				return
			}
			k.of[i].lack--
			if k.of[i].lack == 0 && k.calls[i].state == waiting {
				k.ready.add(i)
			}
		}
		q.wait = k.places[q.wait].next
	}
}

func (k *keyed) Next(after int) (int, bool) {
	last := len(k.calls) // nothing behind a barrier may start
	if b := k.alone.next(0); b >= 0 {
		last = b
	}
	for i := k.ready.next(max(after, -1) + 1); i >= 0 && i <= last; i = k.ready.next(i + 1) {
		if k.open(i) {
			return i, true
		}
	}
	return -1, false
}

// open reports whether a ready call may start.
func (k *keyed) open(i int) bool {
	if b := k.alone.next(0); b >= 0 && b < i || b == i && k.prefix < i {
		return false
	}
	return !k.calls[i].changed || k.overtaker(i) < 0
}

// overtaker returns the lowest call behind i that runs although it conflicts with what i has become, or -1.
func (k *keyed) overtaker(i int) int {
	for o := k.running.next(i + 1); o >= 0; o = k.running.next(o + 1) {
		if Conflict(k.calls[i].Call, k.calls[o].Call) {
			return o
		}
	}
	return -1
}

func (k *keyed) Start(i int, c Call) bool {
	if !k.in(i, waiting) {
		return false
	}
	if k.reclassify(i, c) {
		k.trees = k.trees || c.Safe && hasTree(c.Claims)
		k.rebuild()
	}
	if !k.ready.has(i) || !k.open(i) {
		return false
	}
	k.start(i)
	k.ready.remove(i)
	k.running.add(i)
	return true
}

func (k *keyed) Settle(i int) {
	if !k.settle(i) {
		return
	}
	k.ready.remove(i)
	k.running.remove(i)
	k.leave(i)
}

func (k *keyed) Commit(i int) {
	if k.commit(i) {
		k.alone.remove(i)
	}
}

func (k *keyed) Blocked(i int) (Blocker, bool) {
	if !k.in(i, waiting) || k.ready.has(i) && k.open(i) {
		return Blocker{}, false
	}
	if b := k.alone.prev(i - 1); b >= 0 {
		return Blocker{Kind: ByBarrier, Call: b}, true
	}
	if k.alone.has(i) {
		if k.prefix < i {
			return Blocker{Kind: ByBarrier, Call: i - 1}, true
		}
		return Blocker{Kind: ByBarrier, Call: k.overtaker(i)}, true
	}
	by := k.overtaker(i)
	if !k.ready.has(i) {
		by = k.nearest(i)
	}
	b := Blocker{Kind: ByClaim, Call: by}
	b.Mine, b.Held, _ = collide(k.calls[i].Call, k.calls[by].Call)
	return b, true
}

// nearest returns the last unsettled call before i that stands in its way in a queue.
func (k *keyed) nearest(i int) int {
	by := -1
	s := k.of[i]
	if s.near > 0 && k.calls[s.near-1].state < settled {
		return int(s.near - 1)
	}
	for _, p := range k.places[s.first : s.first+s.n] {
		for _, m := range against[p.mode] {
			for at := k.queues[p.node][m].head; at != 0 && int(k.places[at].call) < i; at = k.places[at].next {
				if !k.gone(at) {
					by = max(by, int(k.places[at].call))
				}
			}
		}
	}
	return by
}

func (k *keyed) Reordered(i int) []int {
	if i < 0 || i >= len(k.calls) || !k.calls[i].changed {
		return nil
	}
	return k.reordered(i)
}
