package exec

import (
	"hash/maphash"
	"slices"
	"strings"

	"github.com/keywave-go/keywave/plan"
)

// A scope is where leases compete: the Domain, or a lease with claims, for what is nested in it. Its requests stand in
// line at every key that they use, in the order of their tickets, and one is granted when nothing stands before it at any
// of them. All methods are called with the Domain's lock held.
type scope struct {
	d           *MemoryDomain
	holder      *lease       // whose it is; nil: the Domain's
	cover       cover        // what the holder claims
	shown       []plan.Claim // the same, for errors; nil: there was none
	first, last *lease       // all that compete, in the order of the tickets, but for zombies, which moved to the end
	zombies     []*lease
	trees       bool    // there may be claims on trees: every component of a key is a node of its own
	top         node    // the parent of all keys
	table       []*node // all keys: as many chains as a power of two, by hash
	keys        int     // in table
	spare       []*node // to be used again: the first few of them, and what was
	spares      int     // how few
}

// A node is one key, or the parent of some.
type node struct {
	from   *node // its parent
	name   string
	hash   uint64
	chain  *node // the next one in table
	size   int   // places in the queues
	queues [modes]queue
}

// A mode is the way in which a claim, or one above or below it, uses a node: exactly that key, the tree there, or a key
// below; by Access.
type mode uint8

const (
	exactWrite mode = iota
	exactRead
	treeWrite
	treeRead
	belowWrite
	belowRead
	modes
)

// against holds, for every mode, those that are in its way at one node.
var against = [modes][]mode{
	exactWrite: {exactWrite, exactRead, treeWrite, treeRead},
	exactRead:  {exactWrite, treeWrite},
	treeWrite:  {exactWrite, exactRead, treeWrite, treeRead, belowWrite, belowRead},
	treeRead:   {exactWrite, treeWrite, belowWrite},
	belowWrite: {treeWrite, treeRead},
	belowRead:  {treeWrite},
}

// A queue holds the places of one mode at one node, in the order of the tickets. Those before wait are granted.
type queue struct{ head, tail, wait *place }

// A place is where a lease stands in one queue.
type place struct {
	of         *lease
	claim      int // of its lease
	node       *node
	prev, next *place
	mode       mode
}

// enter puts a request in line, acquired from in, and grants it if nothing is in its way.
func (s *scope) enter(l *lease, in *lease, r Request) {
	s.d.clock++
	l.ticket, l.lack, l.entered, l.exclusive = s.d.clock, 0, true, r.Exclusive
	if l.by != r.By {
		l.by = r.By
	}
	if l.scope != s {
		l.scope = s
	}
	if len(r.Claims) != len(l.oneClaim) {
		l.claims = slices.Clone(r.Claims)
	} else if l.oneClaim[0] = r.Claims[0]; len(l.claims) != 1 || &l.claims[0] != &l.oneClaim[0] {
		l.claims = l.oneClaim[:]
	}
	if in != nil {
		l.in = in
		if l.older = in.kids; l.older != nil {
			l.older.newer = l
		}
		in.kids = l
	}
	if s.first == nil { // nobody needs the trees any more
		s.trees = false
	}
	if !s.trees && hasTree(l.claims) {
		s.plant()
	}
	s.append(l)
	if len(s.zombies) > 0 {
		l.barred = true
		l.lack++
	}
	mine, his := s.line(l)
	if l.lack == 0 {
		l.granted = true
		return
	}
	l.pending = &pending{done: make(chan struct{}), blocked: r.Blocked}
	if l.barred {
		l.explain(l.front())
	} else {
		l.explain(blockOf(mine, his))
	}
}

// less takes one thing out of the way of a waiting lease.
func (l *lease) less() {
	if l.lack--; l.lack == 0 && l.pending.err == nil {
		l.granted = true
		close(l.pending.done)
	}
}

func (s *scope) append(l *lease) {
	if l.prev != s.last {
		l.prev = s.last
	}
	if l.next != nil {
		l.next = nil
	}
	if s.last != nil {
		s.last.next = l
	} else {
		s.first = l
	}
	s.last = l
}

func (s *scope) remove(l *lease) {
	if l.prev != nil {
		l.prev.next = l.next
	} else {
		s.first = l.next
	}
	if l.next != nil {
		l.next.prev = l.prev
	} else {
		s.last = l.prev
	}
}

// bar lets nothing new in before an abandoned lease ends.
func (s *scope) bar(l *lease) {
	s.remove(l)
	s.append(l)
	l.zombie = true
	s.zombies = append(s.zombies, l)
}

// leave takes a lease out of the scope, and grants what only it was in the way of.
func (s *scope) leave(l *lease) {
	after := l.next
	s.remove(l)
	for i := range l.places {
		s.pull(&l.places[i])
	}
	if !l.zombie {
		return
	}
	i := slices.Index(s.zombies, l)
	s.zombies = slices.Delete(s.zombies, i, i+1)
	if i > 0 { // whoever stands behind it stands behind an earlier one, too
		return
	}
	for ; after != nil && !after.zombie; after = after.next {
		if after.barred {
			after.barred = false
			after.less()
		}
	}
}

// plant begins to keep every key under its parent, because a claim on a tree has come. It stays so until nothing
// competes any more: then it has paid for itself.
func (s *scope) plant() {
	s.trees, s.table, s.keys, s.spare, s.spares = true, nil, 0, nil, 0
	for l := s.first; l != nil; l = l.next {
		if !l.granted {
			l.lack = 0
			if l.barred {
				l.lack++
			}
		}
		s.line(l)
	}
}

// line puts a lease in line for each of its claims. Of those that stand before it, it returns the last.
func (s *scope) line(l *lease) (mine, his *place) {
	n := len(l.claims)
	if s.trees {
		for i := range l.claims {
			if key := trim(l.claims[i].Key); key != "" {
				n += 1 + strings.Count(key, "/")
			}
		}
	}
	switch {
	case n > len(l.onePlace):
		l.places = make([]place, 0, n) // it must not move
	case cap(l.places) == len(l.onePlace):
		l.places = l.places[:0]
	default:
		l.places = l.onePlace[:0]
	}
	for i := range l.claims {
		c := &l.claims[i]
		key, m, below := trim(c.Key), exactWrite, belowWrite
		if c.Tree || key == "" {
			m = treeWrite
		}
		if c.Access == plan.Read && key != "" {
			m, below = m+1, below+1
		}
		at := &s.top
		if !s.trees {
			at = s.node(at, key)
		} else if key != "" {
			for more := true; more; {
				var name string
				s.push(l, i, at, below, &mine, &his)
				name, key, more = strings.Cut(key, "/")
				at = s.node(at, name)
			}
		}
		s.push(l, i, at, m, &mine, &his)
	}
	return mine, his
}

// node returns the node of a key.
func (s *scope) node(from *node, name string) *node {
	if s.keys == len(s.table) {
		s.grow()
	}
	hash := (maphash.String(s.d.seed, name) ^ from.hash) * 0x9e3779b97f4a7c15
	hash ^= hash >> 32 // or the low bits, of one name below itself again and again, would soon come round
	at := &s.table[hash&uint64(len(s.table)-1)]
	for n := *at; n != nil; n = n.chain {
		if n.hash == hash && n.from == from && n.name == name {
			return n
		}
	}
	var n *node
	if s.spares > 0 {
		s.spares--
		n = s.spare[s.spares]
	} else {
		n = new(node)
	}
	n.name, n.hash = name, hash
	if n.from != from {
		n.from = from
	}
	if n.chain != *at {
		n.chain = *at
	}
	*at = n
	s.keys++
	return n
}

func (s *scope) grow() {
	if s.d.seed == (maphash.Seed{}) {
		s.d.seed = maphash.MakeSeed()
	}
	old := s.table
	s.table = make([]*node, max(16, 2*len(old)))
	for _, n := range old {
		for n != nil {
			next, at := n.chain, &s.table[n.hash&uint64(len(s.table)-1)]
			n.chain, *at = *at, n
			n = next
		}
	}
}

// drop forgets a node that nothing uses any more.
func (s *scope) drop(n *node) {
	if n == &s.top {
		return
	}
	at := &s.table[n.hash&uint64(len(s.table)-1)]
	for *at != n {
		at = &(*at).chain
	}
	*at = n.chain
	const most = 64 // nodes to keep, and, 16 times as many, places in the table of none
	if s.keys--; s.keys == 0 && len(s.table) > 16*most {
		s.table = nil
	}
	n.name = ""
	if n.from != &s.top {
		n.from = nil
	}
	if n.chain != nil {
		n.chain = nil
	}
	switch {
	case s.spares == most:
	case s.spares == len(s.spare):
		s.spare = append(s.spare, n)
		s.spares++
	default:
		if s.spare[s.spares] != n {
			s.spare[s.spares] = n
		}
		s.spares++
	}
}

// push puts a lease in line at a node, unless it stands there already. Mine and his become the pair of places of which
// the second is in the way of the first, if that one came later than those that they are.
func (s *scope) push(l *lease, claim int, n *node, m mode, mine, his **place) {
	q := &n.queues[m]
	if q.tail != nil && q.tail.of == l {
		return
	}
	l.places = l.places[:len(l.places)+1]
	p := &l.places[len(l.places)-1]
	p.claim, p.mode = claim, m
	if p.of != l {
		p.of = l
	}
	if p.node != n {
		p.node = n
	}
	if p.prev != q.tail {
		p.prev = q.tail
	}
	if n.size++; n.size == 1 { // the usual case
		q.head, q.tail = p, p
		return
	}
	for _, o := range against[m] {
		t := n.queues[o].tail
		if t != nil && t.of == l {
			t = t.prev
		}
		if t != nil && (*his == nil || t.of.ticket > (*his).of.ticket) {
			*mine, *his = p, t
		}
	}
	if q.tail != nil {
		q.tail.next = p
	} else {
		q.head = p
	}
	q.tail = p
	if q.wait == nil && !n.clear(m, l.ticket) {
		q.wait = p
	}
	if q.wait != nil {
		l.lack++
	}
}

// clear reports whether nothing with an earlier ticket is in the way of a mode.
func (n *node) clear(m mode, ticket uint64) bool {
	for _, o := range against[m] {
		if h := n.queues[o].head; h != nil && h.of.ticket < ticket {
			return false
		}
	}
	return true
}

// pull takes a place out of its queue, and lets those that it held back come forward.
func (s *scope) pull(p *place) {
	n, q := p.node, &p.node.queues[p.mode]
	if n.size--; n.size == 0 {
		q.head, q.tail, q.wait = nil, nil, nil
		s.drop(n)
		return
	}
	head := q.head == p
	if q.wait == p {
		q.wait = p.next
	}
	if p.prev != nil {
		p.prev.next = p.next
	} else {
		q.head = p.next
	}
	if p.next != nil {
		p.next.prev = p.prev
	} else {
		q.tail = p.prev
	}
	p.prev, p.next = nil, nil
	if head {
		for _, m := range against[p.mode] {
			q := &n.queues[m]
			for q.wait != nil && n.clear(m, q.wait.of.ticket) {
				w := q.wait
				q.wait = w.next
				w.of.less()
			}
		}
	}
}

func hasTree(claims []plan.Claim) bool {
	for i := range claims {
		if claims[i].Tree || trim(claims[i].Key) == "" {
			return true
		}
	}
	return false
}

// trim drops the slashes at the end of a key, which do not count.
func trim(key string) string {
	n := len(key)
	for n > 0 && key[n-1] == '/' {
		n--
	}
	return key[:n]
}
