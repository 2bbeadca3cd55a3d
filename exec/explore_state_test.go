package exec

import (
	"math/bits"
	"sync"
)

// states is a set of hashes of states. That two of n states have the same one has a probability of n*n/2^65: for
// 100 million 1 in 3,000.
type states struct{ shards [256]shard }

type shard struct {
	mu    sync.Mutex
	table []uint64
	n     int
	_     [24]byte // a cache line each
}

// add reports whether a hash is new.
func (s *states) add(h uint64) bool {
	d := &s.shards[h>>56]
	d.mu.Lock()
	defer d.mu.Unlock()
	if 3*d.n >= 2*len(d.table) {
		old := d.table
		d.table, d.n = make([]uint64, max(64, 2*len(old))), 0
		for _, h := range old {
			if h != 0 {
				d.put(h)
			}
		}
	}
	return d.put(h)
}

func (d *shard) put(h uint64) bool {
	m := uint64(len(d.table) - 1)
	for i := h & m; ; i = (i + 1) & m {
		switch d.table[i] {
		case h:
			return false
		case 0:
			d.table[i] = h
			d.n++
			return true
		}
	}
}

func (s *states) len() (n int) {
	for i := range s.shards {
		n += s.shards[i].n
	}
	return n
}

// A packed state: a word for each lane, two for who stands before whom, and one for all else.
type packed [most/perLane + 3]uint64

func (k *packed) hash() uint64 {
	a, b := uint64(0x9e3779b97f4a7c15), uint64(0xe7037ed1a0b428db)
	for _, w := range k {
		hi, lo := bits.Mul64(w^a, b)
		a, b = hi^lo^bits.RotateLeft64(a, 29), b*0x9fb21c651e98df25+w|1
	}
	hi, lo := bits.Mul64(a^0x8bb84b93962eacc9, b)
	return max(1, hi^lo^a)
}

func (k *packed) less(o *packed) bool {
	for i := range k {
		if k[i] != o[i] {
			return k[i] < o[i]
		}
	}
	return false
}

// A look packs a state as it looks when some names are exchanged for others.
type look struct {
	w     *world
	lanes int
	words [most]uint64 // what there is to know of each actor alone
	at    [most]int    // who is at each place
	best  packed
	found bool
}

const wordBits = 18

// word is what there is to know of an actor alone.
func word(a *actor, fine, mirror bool) uint64 {
	if !fine && a.at == atEnd && !a.leased && a.given != lost && a.given != lapsed && a.permit.lanes == 0 {
		return uint64(atEnd)
	}
	k := a.what
	if mirror {
		k = mirrored[k]
	}
	n := uint64(a.at) | uint64(k)<<5 | uint64(a.given)<<9 | uint64(a.permit.lanes)<<12
	for i, b := range [...]bool{a.leased, a.released, a.permit.held, a.permit.over} {
		if b {
			n |= 1 << (13 + i)
		}
	}
	return n
}

// key is the hash of a state: the same one for states that differ only in the names of lanes, of the calls in a lane and
// of the two keys, unless Fine.
func (f *family) key(w *world) uint64 {
	l := look{w: w, lanes: f.Lanes}
	for i := range l.at {
		l.at[i] = i
		l.words[i] = word(&w.actors[i], f.Fine, false)
	}
	if f.Fine {
		l.pack()
		return l.best.hash()
	}
	l.all()
	mirror := false
	for i := range f.Lanes * perLane {
		a := &w.actors[i]
		if mirrored[a.what] != a.what && l.words[i] != uint64(atEnd) {
			l.words[i] = word(a, false, true)
			mirror = true
		}
	}
	if mirror {
		l.all()
	}
	return l.best.hash()
}

// in returns in which of the two calls of its lane a nested call is: 1, 2, or 0: that does not matter.
func (l *look) in(lane int) int {
	c := lane*perLane + perLane - 1
	if l.words[c] == uint64(atEnd) || l.w.actors[c].within < 0 {
		return 0
	}
	return 1 + int(l.w.actors[c].within)%perLane
}

// all packs a state with its lanes, and in each the calls, in the order of what there is to know of each alone, and of
// those that look the same in every order.
func (l *look) all() {
	var related set // to others
	for i, b := range l.w.before {
		if b != 0 {
			related |= b | 1<<i
		}
	}
	for _, i := range l.w.queue[:l.w.waiters] {
		related |= 1 << i
	}
	var heads [most / perLane]uint64
	var order [most / perLane]int
	twins := set(0) // lanes whose two calls look the same
	for lane := range l.lanes {
		i := lane * perLane
		x, y := l.words[i]<<1, l.words[i+1]<<1
		switch l.in(lane) {
		case 1:
			x++
		case 2:
			y++
		}
		l.at[i], l.at[i+1], l.at[i+2] = i, i+1, i+2
		if x > y {
			l.at[i], l.at[i+1] = i+1, i
		}
		if x == y && related>>i&3 != 0 {
			twins |= 1 << lane
		}
		heads[lane] = min(x, y)<<40 | max(x, y)<<20 | l.words[i+2]<<1
		if l.w.stopped(lane) {
			heads[lane]++
		}
		k := lane
		for ; k > 0 && heads[order[k-1]] > heads[lane]; k-- {
			order[k] = order[k-1]
		}
		order[k] = lane
	}
	at := l.at
	l.orders(&at, &heads, order, 0, related, twins)
}

// orders has the lanes from the kth on in all orders that look the same.
func (l *look) orders(at *[most]int, heads *[most / perLane]uint64, order [most / perLane]int, k int, related, twins set) {
	if k == l.lanes {
		for i := range l.lanes {
			copy(l.at[i*perLane:], at[order[i]*perLane:(order[i]+1)*perLane])
		}
		l.pack()
		return
	}
	for j := k; j < l.lanes && heads[order[j]] == heads[order[k]]; j++ {
		lane := order[j]
		if j > k && related>>(lane*perLane)&7 == 0 && related>>(order[k]*perLane)&7 == 0 {
			continue
		}
		o := order
		o[k], o[j] = o[j], o[k]
		l.orders(at, heads, o, k+1, related, twins)
		if twins>>lane&1 != 0 {
			i := lane * perLane
			at[i], at[i+1] = at[i+1], at[i]
			l.orders(at, heads, o, k+1, related, twins)
			at[i], at[i+1] = at[i+1], at[i]
		}
	}
}

// pack keeps the least of what a state looks like.
func (l *look) pack() {
	var p packed
	var place [most]int // where each actor is
	for i, a := range l.at {
		place[a] = i
	}
	w := l.w
	for k := range l.lanes {
		i := k * perLane
		lane := l.at[i] / perLane
		p[k] = l.words[l.at[i]]<<(2*wordBits) | l.words[l.at[i+1]]<<wordBits | l.words[l.at[i+2]]
		if in := l.in(lane); in > 0 {
			p[k] |= uint64(1+place[lane*perLane+in-1]-i) << (3 * wordBits)
		}
		if w.stopped(lane) {
			p[k] |= 1 << (3*wordBits + 2)
		}
		for j := i; j < i+perLane; j++ {
			b := uint64(0)
			for m := w.before[l.at[j]]; m != 0; m &= m - 1 {
				b |= 1 << place[bits.TrailingZeros16(uint16(m))]
			}
			p[most/perLane+j/5] |= b << (j % 5 * most)
		}
	}
	last := uint64(0)
	for _, i := range w.queue[:w.waiters] {
		last = last<<4 | uint64(1+place[i])
	}
	last = last<<5 | uint64(w.free)<<3 | uint64(w.cancels)<<1
	if w.shut {
		last |= 1
	}
	p[len(p)-1] = last
	if !l.found || p.less(&l.best) {
		l.best, l.found = p, true
	}
}

// tidy forgets what can make no difference any more.
func (f *family) tidy(w *world) {
	for i := range f.Lanes * perLane {
		a := &w.actors[i]
		if in := a.within; nested(i) && in >= 0 && a.leased && !w.actors[in].what.claimless() {
			a.what = keyless // it has what it claims: nobody else is there
		}
		if a.at != atEnd || a.leased || a.permit.lanes > 0 || a.given == lost || a.given == lapsed {
			continue
		}
		if in := a.within; nested(i) && in >= 0 && w.actors[in].permit.lanes > 0 {
			continue // its lane is still open
		}
		*a = actor{within: -1} // there is room for another call
	}
}
