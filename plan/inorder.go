package plan

// NewSerial returns an Admission that starts a call when every call before it has committed.
func NewSerial() Admission { return new(serial) }

type serial struct{ ledger }

func (s *serial) Submit(c Call) int { return s.add(c) }

func (s *serial) Next(after int) (int, bool) {
	return s.prefix, s.prefix > after && s.in(s.prefix, waiting)
}

func (s *serial) Start(i int, c Call) bool {
	if !s.in(i, waiting) {
		return false
	}
	s.reclassify(i, c)
	if i != s.prefix {
		return false
	}
	s.start(i)
	return true
}

func (s *serial) Settle(i int) { s.settle(i) }
func (s *serial) Commit(i int) { s.commit(i) }

func (s *serial) Blocked(i int) (Blocker, bool) {
	if !s.in(i, waiting) || i == s.prefix {
		return Blocker{}, false
	}
	return Blocker{Kind: ByOrder, Call: i - 1}, true
}

func (s *serial) Reordered(int) []int { return nil }

// NewRolling returns the classic rolling pool: calls start in the model's order, one after another without waiting,
// but for barriers. A call is a barrier when it is exclusive or claims a write, because a pool that knows no keys
// cannot tell what the write is of: a barrier starts when every earlier call has committed, and nothing later starts
// before it has committed itself.
func NewRolling() Admission { return new(rolling) }

type rolling struct {
	ledger
	cursor   int    // every call below it has started or was skipped
	barriers bitset // the uncommitted ones
	group    int    // of the call that started last
	alone    bool   // that call is a barrier
}

// barrier reports whether the rolling pool runs c alone.
func barrier(c Call) bool {
	if c.Exclusive() {
		return true
	}
	for i := range c.Claims {
		if c.Claims[i].Access != Read {
			return true
		}
	}
	return false
}

func (r *rolling) Submit(c Call) int {
	i := r.add(c)
	r.class(i)
	return i
}

func (r *rolling) class(i int) {
	if barrier(r.calls[i].Call) {
		r.barriers.add(i)
	} else {
		r.barriers.remove(i)
	}
}

func (r *rolling) Next(after int) (int, bool) {
	return r.cursor, r.cursor > after && r.in(r.cursor, waiting) && r.open(r.cursor)
}

// open reports whether no barrier keeps the next call from starting.
func (r *rolling) open(i int) bool {
	if r.barriers.has(i) {
		return r.prefix == i
	}
	return r.barriers.prev(i) < 0
}

func (r *rolling) Start(i int, c Call) bool {
	if !r.in(i, waiting) {
		return false
	}
	if r.reclassify(i, c) {
		r.class(i)
	}
	if i != r.cursor || !r.open(i) {
		return false
	}
	r.start(i)
	if is := r.barriers.has(i); is || r.alone {
		r.group, r.alone = r.group+1, is
	}
	r.advance()
	return true
}

// Group implements [Grouper].
func (r *rolling) Group() int { return r.group }

func (r *rolling) advance() {
	for r.cursor < len(r.calls) && r.calls[r.cursor].state != waiting {
		r.cursor++
	}
}

func (r *rolling) Settle(i int) {
	r.settle(i)
	r.advance()
}

func (r *rolling) Commit(i int) {
	if r.commit(i) {
		r.barriers.remove(i)
	}
}

func (r *rolling) Blocked(i int) (Blocker, bool) {
	if !r.in(i, waiting) || i == r.cursor && r.open(i) {
		return Blocker{}, false
	}
	if b := r.barriers.prev(i - 1); b >= 0 {
		return Blocker{Kind: ByBarrier, Call: b}, true
	}
	if i == r.cursor {
		return Blocker{Kind: ByBarrier, Call: i - 1}, true
	}
	b := i - 1
	for r.calls[b].state != waiting { // skipped
		b--
	}
	return Blocker{Kind: ByOrder, Call: b}, true
}

func (r *rolling) Reordered(int) []int { return nil }
