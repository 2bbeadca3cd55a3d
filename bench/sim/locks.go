package sim

import (
	"container/heap"
	"fmt"
	"slices"
	"strings"

	"github.com/keywave-go/keywave/plan"
)

// NewLocks returns the admission of hosts that have a lock for every key, and leave the order to chance: a call may
// start when it conflicts with no call that runs, whatever waits before it. No two conflicting calls run together, but
// they may change places, and an exclusive call waits until nothing runs, while others go in front of it. Of those that
// may start it offers the lowest, which is kinder than real locks are.
//
// Calls with the same claims wait together, so a hot key costs no more than others. A batch in which many different
// calls wait for one tree takes time quadratic in them.
func NewLocks() plan.Admission { return &locks{nodes: newNodes(), of: map[string]int{}} }

type locks struct {
	book
	nodes
	held    []holders // by node
	running int
	alone   int // how many exclusive calls run
	classes []class
	of      map[string]int // by what the calls of a class claim
	ready   byHead         // classes that are not known to be blocked
}

// Holders is how many running calls use a node exactly, its tree and below it; by whether they read.
type holders struct {
	exact, tree, below [2]int
	parked             []int // classes that wait for one of them to end
}

// A class is all calls that claim the same.
type class struct {
	plan.Call
	queue  []int // of its calls; some may have left
	listed bool  // in ready
	parked bool
}

// byHead is a heap of classes, with the lowest call in front.
type byHead struct {
	ids []int
	l   *locks
}

func (b byHead) Len() int           { return len(b.ids) }
func (b byHead) Less(i, j int) bool { return b.head(i) < b.head(j) }
func (b byHead) Swap(i, j int)      { b.ids[i], b.ids[j] = b.ids[j], b.ids[i] }
func (b byHead) head(i int) int     { return b.l.classes[b.ids[i]].queue[0] }
func (b *byHead) Push(x any)        { b.ids = append(b.ids, x.(int)) }
func (b *byHead) Pop() any {
	n := len(b.ids) - 1
	x := b.ids[n]
	b.ids = b.ids[:n]
	return x
}

func (l *locks) Submit(c plan.Call) int {
	i := l.add(c)
	l.enter(i)
	return i
}

// enter puts a waiting call into its class.
func (l *locks) enter(i int) {
	c := l.calls[i].Call
	key := signature(c)
	id, ok := l.of[key]
	if !ok {
		id = len(l.classes)
		l.of[key] = id
		l.classes = append(l.classes, class{Call: c})
	}
	l.calls[i].class = id
	k := &l.classes[id]
	at, _ := slices.BinarySearch(k.queue, i)
	k.queue = slices.Insert(k.queue, at, i)
	switch {
	case k.listed && at == 0:
		l.ready.l = l
		heap.Init(&l.ready)
	case !k.listed && !k.parked:
		l.list(id)
	}
}

func (l *locks) list(id int) {
	l.ready.l = l
	l.classes[id].listed, l.classes[id].parked = true, false
	heap.Push(&l.ready, id)
}

func signature(c plan.Call) string {
	if c.Exclusive() {
		return "!"
	}
	var s strings.Builder
	for _, cl := range c.Claims {
		fmt.Fprintf(&s, "%d%t%d:%s", cl.Access, cl.Tree, len(cl.Key), cl.Key)
	}
	return s.String()
}

// head drops the calls at the front of a class that are not its own any more, and reports whether one is left.
func (l *locks) head(id int) bool {
	k := &l.classes[id]
	for len(k.queue) > 0 && (!l.in(k.queue[0], waiting) || l.calls[k.queue[0]].class != id) {
		k.queue = k.queue[1:]
	}
	return len(k.queue) > 0
}

func (l *locks) Next(after int) (int, bool) {
	if l.alone > 0 {
		return -1, false
	}
	if after >= 0 {
		for i := after + 1; i < len(l.calls); i++ {
			if l.in(i, waiting) && l.free(l.calls[i].Call) {
				return i, true
			}
		}
		return -1, false
	}
	var alone []int // the exclusive class, which nothing wakes
	found := -1
	for len(l.ready.ids) > 0 && found < 0 {
		id := l.ready.ids[0]
		k := &l.classes[id]
		was := k.queue[0]
		switch {
		case !l.head(id):
			heap.Pop(&l.ready)
			k.listed = false
		case k.queue[0] != was:
			heap.Fix(&l.ready, 0)
		case k.Exclusive() && l.running > 0:
			heap.Pop(&l.ready)
			alone = append(alone, id)
		default:
			if at := l.blocker(k.Call); at >= 0 {
				heap.Pop(&l.ready)
				k.listed, k.parked = false, true
				l.held[at].parked = append(l.held[at].parked, id)
				continue
			}
			found = was
		}
	}
	for _, id := range alone {
		heap.Push(&l.ready, id)
	}
	return found, found >= 0
}

// free reports whether a call conflicts with none that runs.
func (l *locks) free(c plan.Call) bool {
	if l.alone > 0 || c.Exclusive() {
		return l.running == 0
	}
	return l.blocker(c) < 0
}

// blocker returns a node at which a running call conflicts with a safe one, or -1.
func (l *locks) blocker(c plan.Call) int {
	for i := range c.Claims {
		cl := &c.Claims[i]
		n := l.find(cl.Key)
		l.room()
		h := &l.held[n]
		if taken(h.exact, cl) || taken(h.tree, cl) || cl.Tree && taken(h.below, cl) {
			return int(n)
		}
		for n = l.parent[n]; n > 0; n = l.parent[n] {
			if taken(l.held[n].tree, cl) {
				return int(n)
			}
		}
	}
	return -1
}

func (l *locks) room() {
	for len(l.held) < len(l.parent) {
		l.held = append(l.held, holders{})
	}
}

// taken reports whether one of the holders, or cl itself, writes.
func taken(by [2]int, cl *plan.Claim) bool { return by[0] > 0 || by[1] > 0 && cl.Access != plan.Read }

func (l *locks) Start(i int, c plan.Call) bool {
	if !l.in(i, waiting) {
		return false
	}
	if signature(c) != signature(l.calls[i].Call) {
		l.calls[i].Call = c
		l.enter(i)
	}
	if !l.free(c) {
		return false
	}
	l.start(i)
	l.hold(l.calls[i].Call, 1)
	return true
}

// hold takes the locks of a call, or with -1 gives them back.
func (l *locks) hold(c plan.Call, by int) {
	l.running += by
	if c.Exclusive() {
		l.alone += by
		return
	}
	for i := range c.Claims {
		cl := &c.Claims[i]
		a := 0
		if cl.Access == plan.Read {
			a = 1
		}
		n := l.find(cl.Key)
		l.room()
		if cl.Tree {
			l.held[n].tree[a] += by
		} else {
			l.held[n].exact[a] += by
		}
		l.wake(n, by)
		for n = l.parent[n]; n > 0; n = l.parent[n] {
			l.held[n].below[a] += by
			l.wake(n, by)
		}
	}
}

// wake lists the classes that waited at a node which is given back.
func (l *locks) wake(n int32, by int) {
	if by > 0 {
		return
	}
	parked := l.held[n].parked
	l.held[n].parked = nil
	for _, id := range parked {
		if l.classes[id].parked = false; l.head(id) {
			l.list(id)
		}
	}
}

func (l *locks) Settle(i int) {
	if ran, _ := l.settle(i); ran {
		l.hold(l.calls[i].Call, -1)
	}
}

func (l *locks) Commit(i int) { l.commit(i) }

// Blocked names a call that runs; it looks at all of those that have started and not committed.
func (l *locks) Blocked(i int) (plan.Blocker, bool) {
	if !l.in(i, waiting) || l.free(l.calls[i].Call) {
		return plan.Blocker{}, false
	}
	c := l.calls[i].Call
	for k := l.prefix; k < len(l.calls); k++ {
		o := l.calls[k]
		if o.state != running || !plan.Conflict(c, o.Call) {
			continue
		}
		if c.Exclusive() || o.Exclusive() {
			return plan.Blocker{Kind: plan.ByBarrier, Call: k}, true
		}
		d := plan.Ordered([]plan.Call{o.Call, c}).Explain()[1]
		return plan.Blocker{Kind: plan.ByClaim, Call: k, Mine: d.Mine, Held: d.Held}, true
	}
	return plan.Blocker{}, false
}
