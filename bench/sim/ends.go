package sim

import "time"

// An end is when the body of a call returns.
type end struct {
	at   time.Duration
	call int
}

func (e end) before(o end) bool { return e.at < o.at || e.at == o.at && e.call < o.call }

// Ends is a heap with the earliest end at the front, and the lowest call of those.
type ends []end

func (h *ends) push(e end) {
	*h = append(*h, e)
	s := *h
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !e.before(s[up]) {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = e
}

func (h *ends) pop() end {
	s := *h
	first, e := s[0], s[len(s)-1]
	s = s[:len(s)-1]
	*h = s
	i := 0
	for {
		down := 2*i + 1
		if down >= len(s) {
			break
		}
		if down+1 < len(s) && s[down+1].before(s[down]) {
			down++
		}
		if !s[down].before(e) {
			break
		}
		s[i] = s[down]
		i = down
	}
	if len(s) > 0 {
		s[i] = e
	}
	return first
}
