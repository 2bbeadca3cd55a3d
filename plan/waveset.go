package plan

// A waveset is a set of open waves: bits from the first to the last word that holds any.
type waveset struct {
	words []uint64
	base  int32 // the number of the first word
	full  int32 // every word below this number is all ones
}

func (s *waveset) word(w int) uint64 {
	if w -= int(s.base); w >= 0 && w < len(s.words) {
		return s.words[w]
	}
	return 0
}

func (s *waveset) add(t int) {
	w := int32(t >> 6)
	switch {
	case len(s.words) == 0:
		s.base = w
	case w < s.base:
		n := len(s.words)
		for range s.base - w {
			s.words = append(s.words, 0)
		}
		copy(s.words[s.base-w:], s.words[:n])
		clear(s.words[:s.base-w])
		s.base = w
	}
	for int32(len(s.words)) <= w-s.base {
		s.words = append(s.words, 0)
	}
	s.words[w-s.base] |= 1 << (t & 63)
	for s.full >= s.base && s.full-s.base < int32(len(s.words)) && ^s.words[s.full-s.base] == 0 {
		s.full++
	}
}
