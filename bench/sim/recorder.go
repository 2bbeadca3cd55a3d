package sim

import (
	"time"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// A recorder writes down what calls wait for. It asks at the same moments, and puts waits together in the same way, as
// exec's Timeline, which is held to it by a test.
type recorder struct {
	adm   plan.Admission
	spans []exec.Span
	open  []wait
	wards [][]int32     // by call: those that wait for it
	full  bool          // as many run as the limit allows
	freed time.Duration // when that was last so, if it is not now
}

// A wait is one that has not ended.
type wait struct {
	exec.Wait
	on   bool
	free bool // the admission does not keep the call back
}

// manyWaits is from how many on exec puts waits of one kind together.
const manyWaits = 16

func newRecorder(adm plan.Admission, spans []exec.Span) *recorder {
	return &recorder{adm: adm, spans: spans, open: make([]wait, len(spans)), wards: make([][]int32, len(spans))}
}

func (r *recorder) submitted(i int) { r.ask(i, 0) }

func (r *recorder) admitted(i int, full bool, now time.Duration) {
	r.close(i, now)
	r.load(full, now)
	r.release(i, now)
}

func (r *recorder) settled(i int, now time.Duration) {
	r.next(i, exec.Wait{For: exec.WaitCommit, Call: -1}, now)
	r.load(false, now)
	r.release(i, now)
}

func (r *recorder) committed(i int, now time.Duration) {
	r.close(i, now)
	r.release(i, now)
}

// load notes whether the limit is reached.
func (r *recorder) load(full bool, now time.Duration) {
	if r.full && !full {
		r.freed = now
	}
	r.full = full
}

// release asks anew for every call that waited for call i.
func (r *recorder) release(i int, now time.Duration) {
	wards := r.wards[i]
	r.wards[i] = nil
	for _, j := range wards {
		if r.spans[j].Started < 0 {
			r.ask(int(j), now)
		}
	}
}

// ask asks the admission what call i waits for.
func (r *recorder) ask(i int, now time.Duration) {
	o := &r.open[i]
	by, blocked := r.adm.Blocked(i)
	if !blocked {
		if !o.free {
			r.next(i, exec.Wait{For: exec.WaitPermit, Call: -1}, now)
			o.free = true
		}
		return
	}
	if by.Call >= 0 && by.Call < len(r.wards) {
		r.wards[by.Call] = append(r.wards[by.Call], int32(i))
	}
	w := exec.Wait{For: waitFor(by.Kind), Call: by.Call, Mine: by.Mine, Held: by.Held, From: o.From}
	if !o.on || o.free || w != o.Wait {
		r.next(i, w, now)
	}
}

func waitFor(k plan.BlockKind) exec.WaitKind {
	switch k {
	case plan.ByClaim:
		return exec.WaitClaim
	case plan.ByBarrier:
		return exec.WaitBarrier
	case plan.ByOrder:
		return exec.WaitOrder
	}
	return exec.WaitWave
}

// next ends the wait of a call, if it is in one, and begins another.
func (r *recorder) next(i int, w exec.Wait, now time.Duration) {
	r.close(i, now)
	w.From = now
	r.open[i] = wait{Wait: w, on: true}
}

// close ends the wait of a call, if it is in one. A call that nothing held back but the limit waited for a permit until
// the limit let one in for the last time, and then for its turn.
func (r *recorder) close(i int, now time.Duration) {
	o := r.open[i]
	r.open[i] = wait{}
	if !o.on {
		return
	}
	w := o.Wait
	if o.free && !r.full {
		if r.freed > w.From {
			w.To = r.freed
			r.waited(i, w)
			w.From = r.freed
		}
		w.For = exec.WaitLane
	}
	w.To = now
	r.waited(i, w)
}

// waited adds a wait to those of a call, or lengthens the last one if that is for the same thing.
func (r *recorder) waited(i int, w exec.Wait) {
	if w.From == w.To {
		return
	}
	waits := r.spans[i].Waits
	if n := len(waits) - 1; n >= 0 {
		last := &waits[n]
		same := *last
		same.From, same.To = w.From, w.To
		switch {
		case last.To == w.From && same == w:
			last.To = w.To
			return
		case len(waits) >= manyWaits && last.For == w.For:
			w.From = last.From
			*last = w
			return
		}
	}
	r.spans[i].Waits = append(waits, w)
}
