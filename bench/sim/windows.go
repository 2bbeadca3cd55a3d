package sim

import "github.com/keywave-go/keywave/plan"

// NewReadRuns returns the admission of hosts that run consecutive reads together and everything else alone. A call is
// a read if it is not exclusive and claims no write. A run of reads, and what is no read, begins when every call before
// it has committed. It is serially equivalent.
func NewReadRuns() plan.Admission { return NewWindows(0) }

// NewWindows returns the admission of hosts that run consecutive reads in windows of so many calls: a window begins
// when every call of the one before has committed, so that its slowest call holds back all of the next. What is no
// read, as in [NewReadRuns], runs alone. With a size below 1 windows have no end but that. It is serially equivalent.
func NewWindows(size int) plan.Admission { return &windows{size: size} }

type windows struct {
	book
	size  int
	used  int  // how many calls of the current window have started
	reads bool // it takes more of them
	seen  int  // the calls below it have been passed
}

func read(c plan.Call) bool {
	if c.Exclusive() {
		return false
	}
	for i := range c.Claims {
		if c.Claims[i].Access != plan.Read {
			return false
		}
	}
	return true
}

func (w *windows) Submit(c plan.Call) int { return w.add(c) }

// joins reports whether the next call is still of the current window.
func (w *windows) joins() bool {
	return w.reads && (w.size < 1 || w.used < w.size) && read(w.calls[w.cursor].Call)
}

// open reports whether the next call may start.
func (w *windows) open() bool { return w.prefix == w.cursor || w.joins() }

func (w *windows) Next(after int) (int, bool) {
	return w.cursor, w.cursor > after && w.in(w.cursor, waiting) && w.open()
}

func (w *windows) Start(i int, c plan.Call) bool {
	if !w.in(i, waiting) {
		return false
	}
	w.calls[i].Call = c
	if i != w.cursor || !w.open() {
		return false
	}
	if !w.joins() {
		w.used, w.reads = 0, read(c)
	}
	w.used++
	w.start(i)
	w.pass()
	return true
}

// pass ends the window at a skipped call that is no read: it is a barrier until its commit all the same.
func (w *windows) pass() {
	for ; w.seen < w.cursor; w.seen++ {
		if e := &w.calls[w.seen]; e.order == 0 && !read(e.Call) {
			w.reads = false
		}
	}
}

func (w *windows) Settle(i int) {
	w.settle(i)
	w.pass()
}

func (w *windows) Commit(i int) { w.commit(i) }

func (w *windows) Blocked(i int) (plan.Blocker, bool) {
	switch {
	case !w.in(i, waiting) || i == w.cursor && w.open():
		return plan.Blocker{}, false
	case i > w.cursor:
		b := i - 1
		for w.calls[b].state != waiting { // skipped
			b--
		}
		return plan.Blocker{Kind: plan.ByOrder, Call: b}, true
	}
	b := plan.Blocker{Kind: plan.ByWave, Call: w.prefix}
	if w.in(w.prefix, settled) { // its commit is to come
		b.Kind = plan.ByOrder
	}
	return b, true
}
