package plan

import "slices"

// NewWaves returns an Admission that runs the waves of Ordered: a call starts when every call of every earlier wave
// has settled; an exclusive call starts when every earlier call has committed, and nothing later before it has. It
// plans what it has been given. A call that is submitted while a wave runs and another call waits in a later wave
// joins the last wave that is waiting, or a later one: it delays no call that came before it. When a classification
// changes before the start, the calls that have not started are planned anew, behind every started one that they
// conflict with; only then a call may come to wait for one that was submitted later, because it has moved behind a call
// that changed. That takes time linear in the calls so far, everything else costs amortised time linear in the claims of
// the one call. A skipped call keeps its place until then, but nobody waits for it.
func NewWaves() Admission { return new(waves) }

// NewFirstFit returns an Admission that runs the waves of FirstFit in the way of NewWaves. It has the inversions of
// FirstFit, and commits play no part: an exclusive call starts when every earlier wave has settled, and the next wave
// when it has.
func NewFirstFit() Admission {
	w := new(waves)
	w.placer.firstFit = true
	return w
}

type waves struct {
	ledger
	placer placer
	waves  []wave
	of     []link // by call
	cur    int    // the running wave: every wave before it is complete
	last   int    // no wave behind it has a waiting call
	ready  bitset // the waiting calls of the running wave
}

type wave struct {
	first int32 // the call that came last of its calls, plus one; of a link's next to the others, likewise
	left  int32 // how many have not settled
	alone int32 // its exclusive call, plus one
	begun bool  // a call of it has started
}

type link struct{ wave, next int32 }

func (w *waves) Grow(calls, claims int) {
	w.ledger.Grow(calls, claims)
	w.of = slices.Grow(w.of, calls)
	w.placer.index.grow(claims)
}

func (w *waves) Submit(c Call) int {
	if len(w.calls) == 0 {
		w.placer.reset(false, 0)
	}
	i := w.add(c)
	w.of = append(w.of, link{})
	at := w.cur
	if w.cur < len(w.waves) && w.waves[w.cur].begun {
		for w.last > w.cur && w.waves[w.last].left == 0 {
			w.last--
		}
		if w.last > w.cur {
			w.calls[i].late = int32(w.last)
			at = w.last
		}
	}
	if !w.placer.trees && c.Safe && hasTree(c.Claims) { // every path must be walked from now on
		w.placer.trees = true
		w.plan()
		return i
	}
	w.join(i, w.placer.place(&w.calls[i].Call, at))
	w.advance()
	return i
}

// join makes a waiting or skipped call a member of a wave.
func (w *waves) join(i, at int) {
	for len(w.waves) <= at {
		w.waves = append(w.waves, wave{})
	}
	v := &w.waves[at]
	w.of[i] = link{int32(at), v.first}
	v.first = int32(i + 1)
	if w.calls[i].Exclusive() {
		v.alone = int32(i + 1)
	}
	if w.calls[i].state != waiting {
		return
	}
	v.left++
	w.last = max(w.last, at)
	if at == w.cur {
		w.ready.add(i)
	}
}

// plan puts every call that has not started into a wave again. Started ones keep theirs.
func (w *waves) plan() {
	w.ready.clear()
	p := &w.placer
	p.reset(p.trees, w.cur)
	if w.cur < len(w.waves) && w.waves[w.cur].begun {
		v := &w.waves[w.cur]
		v.first, v.left = 0, 0
		for i := range w.calls {
			e := &w.calls[i]
			if e.order == 0 || int(w.of[i].wave) != w.cur {
				continue
			}
			p.fix(&e.Call, w.cur)
			w.of[i].next = v.first
			v.first = int32(i + 1)
			if e.state == running {
				v.left++
			}
		}
		w.waves = w.waves[:w.cur+1]
	} else {
		w.waves = w.waves[:min(w.cur, len(w.waves))]
	}
	w.last = w.cur
	most := w.cur // the highest wave of a waiting call so far
	for i := range w.calls {
		e := &w.calls[i]
		switch {
		case e.order > 0 || e.state == committed:
			continue
		case e.state == settled && (p.firstFit || !e.Exclusive()):
			continue // skipped; over Ordered an exclusive one is still a barrier
		}
		// A late call stays behind what it came behind, and follows it when that moves forward; it does not follow
		// backward a call before it that changed its class, or it would itself wait for calls that came later.
		e.late = min(e.late, int32(most))
		at := p.place(&e.Call, max(w.cur, int(e.late)))
		w.join(i, at)
		if e.state == waiting {
			most = max(most, at)
		}
	}
	w.advance()
}

// advance makes the first wave that is not complete the running one.
func (w *waves) advance() {
	for w.cur+1 < len(w.waves) && w.complete(&w.waves[w.cur]) {
		w.cur++
		for i := w.waves[w.cur].first; i > 0; i = w.of[i-1].next {
			if w.calls[i-1].state == waiting {
				w.ready.add(int(i - 1))
			}
		}
	}
}

func (w *waves) complete(v *wave) bool {
	return v.left == 0 && (w.placer.firstFit || v.alone == 0 || w.calls[v.alone-1].state == committed)
}

func (w *waves) Next(after int) (int, bool) {
	i := w.ready.next(max(after, -1) + 1)
	return i, i >= 0 && w.open(i)
}

// open reports whether a ready call may start: it is of the running wave, and an exclusive one waits for commits.
func (w *waves) open(i int) bool {
	return w.placer.firstFit || w.prefix >= i || !w.calls[i].Exclusive()
}

func (w *waves) Start(i int, c Call) bool {
	if !w.in(i, waiting) {
		return false
	}
	if w.reclassify(i, c) {
		w.placer.trees = w.placer.trees || c.Safe && hasTree(c.Claims)
		w.plan()
	}
	if !w.ready.has(i) || !w.open(i) {
		return false
	}
	w.start(i)
	w.ready.remove(i)
	w.waves[w.cur].begun = true
	return true
}

// Group implements [Grouper].
func (w *waves) Group() int { return w.cur }

func (w *waves) Settle(i int) {
	if !w.settle(i) {
		return
	}
	w.ready.remove(i)
	w.waves[w.of[i].wave].left--
	w.advance()
}

func (w *waves) Commit(i int) {
	if w.commit(i) {
		w.advance()
	}
}

func (w *waves) Blocked(i int) (Blocker, bool) {
	if !w.in(i, waiting) {
		return Blocker{}, false
	}
	if w.ready.has(i) { // an exclusive call behind an uncommitted one
		return Blocker{Kind: ByBarrier, Call: i - 1}, !w.open(i)
	}
	// What the wave before waits for, it waits for too; a blocker from there lasts longest.
	at := int(w.of[i].wave) - 1
	for at > w.cur && w.complete(&w.waves[at]) {
		at--
	}
	v, e := &w.waves[at], &w.calls[i]
	if v.alone > 0 {
		return Blocker{Kind: ByBarrier, Call: int(v.alone - 1)}, true
	}
	for w.calls[v.first-1].state >= settled {
		v.first = w.of[v.first-1].next // nobody asks for it any more
	}
	last := int(v.first - 1)
	if e.Exclusive() {
		return Blocker{Kind: ByBarrier, Call: last}, true
	}
	looks := 32 // that one of a large wave has the claim is not worth a search
	for k := v.first; k > 0 && looks > 0; k, looks = w.of[k-1].next, looks-1 {
		if o := &w.calls[k-1]; o.state < settled {
			if mine, held, found := collide(e.Call, o.Call); found {
				return Blocker{ByClaim, int(k - 1), mine, held}, true
			}
		}
	}
	return Blocker{Kind: ByWave, Call: last}, true
}

func (w *waves) Reordered(i int) []int {
	if i < 0 || i >= len(w.calls) || !w.placer.firstFit && !w.calls[i].changed {
		return nil
	}
	return w.reordered(i)
}
