package exec

import (
	"slices"
	"time"

	"github.com/keywave-go/keywave/plan"
)

// A track is a Span that is being written. The methods below are called under the lane's lock; t.mu is only for
// Snapshot.
type track struct {
	Span
	open    bool // it waits
	free    bool // nothing keeps it from starting but the limit and the lane; wait holds only since when
	waiting bool // it has not been admitted, and what it waits for is the admission's to say
	wait    Wait // if open
	what    plan.Call
}

const unreached time.Duration = -1

// manyWaits is how many waits of a call are kept apart. Each of n calls may wait for all of a wave, one after another:
// together they would take memory quadratic in n.
const manyWaits = 16

// begin starts anew for a lane, unless another one is being recorded.
func (t *Timeline) begin(l *Lane) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of != nil {
		return false
	}
	t.of = l
	t.start, t.ended = time.Now(), 0
	t.calls, t.wards = nil, map[int][]int{}
	t.full, t.freed = false, 0
	return true
}

// now is the time in the lane, which has stopped when the lane has ended.
func (t *Timeline) now() time.Duration {
	if t.of != nil {
		return time.Since(t.start)
	}
	return t.ended
}

// submitted notes the calls up to n.
func (t *Timeline) submitted(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	t.calls = slices.Grow(t.calls, n-len(t.calls))
	for i := len(t.calls); i < n; i++ {
		t.calls = append(t.calls, track{
			Span: Span{Call: i, Submitted: now, Admitted: unreached, Started: unreached, Settled: unreached, Committed: unreached},
			open: true, wait: Wait{For: WaitLane, Call: -1, From: now},
		})
	}
}

// known notes that the admission has been given call i.
func (t *Timeline) known(i int, what plan.Call, adm plan.Admission) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls[i].waiting, t.calls[i].what = true, what
	t.ask(i, t.now(), adm)
}

// refused notes that call i could not start after all, because of what it has become.
func (t *Timeline) refused(i int, what plan.Call, adm plan.Admission) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reclassified(i, what, t.now(), adm)
}

// admitted notes that call i has been let in.
func (t *Timeline) admitted(i int, what plan.Call, full bool, adm plan.Admission) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	c := &t.calls[i]
	c.waiting = false
	c.Admitted = now
	t.next(c, Wait{For: WaitLane, Call: -1}, now)
	t.load(full, now)
	t.reclassified(i, what, now, adm)
	t.release(i, now, adm)
}

// reclassified asks for all calls anew if call i has become something else, because that may change what any of them
// waits for.
func (t *Timeline) reclassified(i int, what plan.Call, now time.Duration, adm plan.Admission) {
	was := t.calls[i].what
	t.calls[i].what = what
	if was.Safe == what.Safe && slices.Equal(was.Claims, what.Claims) {
		return
	}
	clear(t.wards)
	for j := range t.calls {
		if t.calls[j].waiting {
			t.ask(j, now, adm)
		}
	}
}

// waits notes that an admitted call waits for something that is not another call.
func (t *Timeline) waits(i int, kind WaitKind, full bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	t.next(&t.calls[i], Wait{For: kind, Call: -1}, now)
	t.load(full, now)
}

// claims notes that an admitted call waits for the Domain.
func (t *Timeline) claims(i int, full bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if c := &t.calls[i]; !c.open || c.wait.For != WaitDomain {
		t.next(c, Wait{For: WaitDomain, Call: -1}, now)
	}
	t.load(full, now)
}

// blocked notes what an admitted call waits for in the Domain. It is called under the Domain's lock, and may come when the
// lane has given up the call, or has ended.
func (t *Timeline) blocked(l *Lane, i int, b Block) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of != l {
		return
	}
	if c := &t.calls[i]; c.Started < 0 && c.Settled < 0 {
		t.next(c, Wait{For: WaitDomain, Call: b.By.Call, Lane: b.By.Lane, Mine: b.Mine, Held: b.Held, Abandoned: b.Abandoned}, t.now())
	}
}

// started notes that the body of call i is called.
func (t *Timeline) started(i int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	c := &t.calls[i]
	t.close(c, now)
	c.Started = now
}

// settled notes that call i has its outcome.
func (t *Timeline) settled(i int, end End, full bool, adm plan.Admission) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	c := &t.calls[i]
	c.waiting = false
	c.Settled, c.End = now, end
	t.next(c, Wait{For: WaitCommit, Call: -1}, now)
	t.load(full, now)
	t.release(i, now, adm)
}

// committed notes that call i was committed or skipped.
func (t *Timeline) committed(i int, adm plan.Admission) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	c := &t.calls[i]
	t.close(c, now)
	c.Committed = now
	t.release(i, now, adm)
}

// end notes the end of the lane. Only after a hard error do calls still wait.
func (t *Timeline) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended, t.of = time.Since(t.start), nil
	for i := range t.calls {
		t.close(&t.calls[i], t.ended)
	}
	t.wards = nil
}

// load notes whether the limit is reached.
func (t *Timeline) load(full bool, now time.Duration) {
	if t.full && !full {
		t.freed = now
	}
	t.full = full
}

// release asks anew for every call that waited for call i.
func (t *Timeline) release(i int, now time.Duration, adm plan.Admission) {
	wards := t.wards[i]
	if adm == nil || len(wards) == 0 {
		return
	}
	delete(t.wards, i)
	for _, j := range wards {
		if t.calls[j].waiting {
			t.ask(j, now, adm)
		}
	}
}

// ask asks the admission what call i waits for.
func (t *Timeline) ask(i int, now time.Duration, adm plan.Admission) {
	c := &t.calls[i]
	by, blocked := adm.Blocked(i)
	if !blocked {
		if !c.free {
			t.next(c, Wait{For: WaitPermit, Call: -1}, now)
			c.free = true
		}
		return
	}
	t.wards[by.Call] = append(t.wards[by.Call], i)
	w := Wait{For: waitFor(by.Kind), Call: by.Call, Mine: by.Mine, Held: by.Held, From: c.wait.From}
	if !c.open || c.free || w != c.wait {
		t.next(c, w, now)
	}
}

func waitFor(k plan.BlockKind) WaitKind {
	switch k {
	case plan.ByClaim:
		return WaitClaim
	case plan.ByBarrier:
		return WaitBarrier
	case plan.ByOrder:
		return WaitOrder
	}
	return WaitWave
}

// next ends the wait of a call, if it is in one, and begins another.
func (t *Timeline) next(c *track, w Wait, now time.Duration) {
	t.close(c, now)
	w.From = now
	c.open, c.wait = true, w
}

// close ends the wait of a call, if it is in one.
func (t *Timeline) close(c *track, now time.Duration) {
	if c.open && now > c.wait.From {
		waits := t.upTo(c, now)
		n := len(waits) - 1
		switch last := waits[n]; {
		case last.From == now:
			waits = waits[:n]
		case n >= manyWaits && last.For == waits[n-1].For:
			last.From = waits[n-1].From
			waits[n-1] = last
			waits = waits[:n]
		}
		c.Waits = waits
	}
	c.open, c.free = false, false
}

// join appends a wait, or lengthens the last one if that is for the same thing.
func join(waits []Wait, w Wait) []Wait {
	if n := len(waits) - 1; n >= 0 {
		last := waits[n]
		if last.To == w.From && last.For == w.For && last.Call == w.Call && last.Lane == w.Lane && last.Mine == w.Mine && last.Held == w.Held && last.Abandoned == w.Abandoned {
			waits[n].To = w.To
			return waits
		}
	}
	return append(waits, w)
}

// upTo returns the waits of a call that is in one, with that one cut off at now. A call that nothing held back but the
// limit waited for a permit until the limit let one in for the last time, and after that for its turn in the lane.
func (t *Timeline) upTo(c *track, now time.Duration) []Wait {
	waits, w := c.Waits, c.wait
	w.To = now
	if c.free && !t.full {
		if freed := t.freed; freed > w.From {
			w.To = freed
			waits = join(waits, w)
			w.From, w.To = freed, now
		}
		w.For = WaitLane
	}
	return join(waits, w)
}

// Snapshot returns the spans of all calls so far, in the model's order. They are the caller's own.
func (t *Timeline) Snapshot() []Span {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	spans := make([]Span, len(t.calls))
	for i := range t.calls {
		c := t.calls[i]
		c.Waits = slices.Clone(c.Waits)
		if c.open {
			c.Waits = t.upTo(&c, now)
			c.Waits[len(c.Waits)-1].Open = true
		}
		spans[i] = c.Span
	}
	return spans
}
