package plan

import (
	"math/bits"
	"slices"
)

// A placer gives calls their waves one after another, in the model's order. It is what both planners and the Waves
// admission share. Nothing in it grows with the number of conflicts.
type placer struct {
	index
	trees    bool
	firstFit bool

	top   int     // the highest wave in use, -1 for none
	found []int32 // the nodes of one call's claims

	floor int // Ordered: the first wave behind the last exclusive call

	open []int32   // FirstFit: the open waves, rising. A wave is known below by its place in here
	sets []waveset // FirstFit: what the nodes' marks point to; sets[0] stands for none
	held []int32   // FirstFit: the sets that one call has to keep away from
}

// reset forgets all calls. Waves below first are out of reach.
func (p *placer) reset(trees bool, first int) {
	p.index.reset()
	p.trees = trees
	p.top, p.floor = first-1, first
	p.open, p.sets = p.open[:0], p.sets[:0]
}

// hasTree reports whether one of the claims covers a tree.
func hasTree(claims []Claim) bool {
	for i := range claims {
		if claims[i].Tree {
			return true
		}
	}
	return false
}

// place puts a call into the first wave, from at on, that the rule allows, and remembers it there.
func (p *placer) place(c *Call, at int) int {
	switch {
	case p.firstFit:
		return p.placeFirstFit(c, at)
	case c.Exclusive():
		at = max(at, p.top+1)
	default:
		p.look(c)
		at = max(at, p.floor)
		for i := range c.Claims {
			at = max(at, p.after(p.found[i], &c.Claims[i]))
		}
	}
	p.settleIn(c, at)
	return at
}

// fix remembers a call in a wave that is not to be changed any more.
func (p *placer) fix(c *Call, wave int) {
	if !c.Exclusive() {
		p.look(c)
	}
	if p.firstFit {
		p.fixFirstFit(c, wave)
		return
	}
	p.settleIn(c, wave)
}

// look finds the nodes of all claims of a call, before any of them is marked: a call never conflicts with itself.
func (p *placer) look(c *Call) {
	p.found = p.found[:0]
	for i := range c.Claims {
		p.found = append(p.found, p.find(trim(c.Claims[i].Key), p.trees))
	}
}

// after returns the first wave behind every marked claim that overlaps cl, as far as one of the two writes.
func (p *placer) after(n int32, cl *Claim) int {
	nd := &p.nodes[n]
	w := max(highest(&nd.exact, cl.Access), highest(&nd.tree, cl.Access))
	if cl.Tree {
		w = max(w, highest(&nd.below, cl.Access))
	}
	if p.trees {
		for n = nd.parent; n != 0; n = p.nodes[n].parent {
			w = max(w, highest(&p.nodes[n].tree, cl.Access))
		}
	}
	return int(w)
}

// highest returns the higher mark among those that conflict with an access. A mark is a wave plus one, which is the
// first wave behind it.
func highest(marks *[2]int32, a Access) int32 {
	if a == Read {
		return marks[Write]
	}
	return max(marks[Write], marks[Read])
}

// settleIn marks what an Ordered call holds in its wave.
func (p *placer) settleIn(c *Call, wave int) {
	p.top = max(p.top, wave)
	if c.Exclusive() {
		p.floor = max(p.floor, wave+1)
		return
	}
	for i := range c.Claims {
		cl := &c.Claims[i]
		p.mark(p.found[i], cl, func(m *int32) { *m = max(*m, int32(wave+1)) })
	}
}

// mark visits the marks that a claim leaves: one at its own node, and, with trees about, one at every node above it.
func (p *placer) mark(n int32, cl *Claim, visit func(*int32)) {
	a := Write
	if cl.Access == Read {
		a = Read
	}
	nd := &p.nodes[n]
	if cl.Tree {
		visit(&nd.tree[a])
	} else {
		visit(&nd.exact[a])
	}
	if p.trees {
		for n = nd.parent; n != 0; n = p.nodes[n].parent {
			visit(&p.nodes[n].below[a])
		}
	}
}

func (p *placer) placeFirstFit(c *Call, at int) int {
	if c.Exclusive() { // a wave of its own, born closed
		p.top = max(p.top+1, at)
		return p.top
	}
	p.look(c)
	p.held = p.held[:0]
	for i := range c.Claims {
		p.hold(p.found[i], &c.Claims[i])
	}
	from := 0
	if len(p.open) > 0 && int(p.open[0]) < at {
		from, _ = slices.BinarySearch(p.open, int32(at))
	}
	t := p.free(from)
	if t == len(p.open) {
		p.top = max(p.top+1, at)
		p.open = append(p.open, int32(p.top))
	}
	p.putFirstFit(c, t)
	return int(p.open[t])
}

func (p *placer) fixFirstFit(c *Call, wave int) {
	p.top = max(p.top, wave)
	if c.Exclusive() {
		return
	}
	if len(p.open) == 0 || int(p.open[len(p.open)-1]) < wave {
		p.open = append(p.open, int32(wave))
	}
	p.putFirstFit(c, len(p.open)-1)
}

func (p *placer) putFirstFit(c *Call, t int) {
	for i := range c.Claims {
		p.mark(p.found[i], &c.Claims[i], func(m *int32) {
			if *m == 0 {
				*m = p.newSet()
			}
			p.sets[*m].add(t)
		})
	}
}

// hold collects the sets of waves in which something conflicts with a claim.
func (p *placer) hold(n int32, cl *Claim) {
	take := func(marks *[2]int32) {
		if m := marks[Write]; m != 0 {
			p.held = append(p.held, m)
		}
		if m := marks[Read]; m != 0 && cl.Access != Read {
			p.held = append(p.held, m)
		}
	}
	nd := &p.nodes[n]
	take(&nd.exact)
	take(&nd.tree)
	if cl.Tree {
		take(&nd.below)
	}
	if p.trees {
		for n = nd.parent; n != 0; n = p.nodes[n].parent {
			take(&p.nodes[n].tree)
		}
	}
}

// free returns the first place from t on that is in none of the held sets.
func (p *placer) free(t int) int {
	w := t >> 6
	for _, s := range p.held {
		w = max(w, int(p.sets[s].full))
	}
	mask := ^uint64(0)
	if w == t>>6 {
		mask <<= t & 63
	}
	for ; ; w++ {
		var taken uint64
		for _, s := range p.held {
			taken |= p.sets[s].word(w)
		}
		if rest := ^taken & mask; rest != 0 {
			return w<<6 + bits.TrailingZeros64(rest)
		}
		mask = ^uint64(0)
	}
}

func (p *placer) newSet() int32 {
	if len(p.sets) == 0 {
		p.sets = append(p.sets, waveset{})
	}
	n := len(p.sets)
	if n < cap(p.sets) { // its words, of an earlier batch, are used again
		p.sets = p.sets[:n+1]
		s := &p.sets[n]
		s.base, s.full, s.words = 0, 0, s.words[:0]
	} else {
		p.sets = append(p.sets, waveset{})
	}
	return int32(n)
}
