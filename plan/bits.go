package plan

import "math/bits"

// bitset is a set of small numbers that finds its neighbours fast: every level says of 64 words of the one below
// which are not empty. The zero value is empty.
type bitset struct{ levels [][]uint64 }

func (b *bitset) add(i int) {
	for l := 0; ; l++ {
		if l == len(b.levels) {
			b.levels = append(b.levels, make([]uint64, 0, 1))
			if l > 0 { // what the lower level held before it outgrew one word
				b.levels[l] = append(b.levels[l], 1)
				if b.levels[l-1][0] == 0 {
					b.levels[l][0] = 0
				}
			}
		}
		w := i >> 6
		for len(b.levels[l]) <= w {
			b.levels[l] = append(b.levels[l], 0)
		}
		b.levels[l][w] |= 1 << (i & 63)
		if len(b.levels[l]) == 1 {
			return
		}
		i = w
	}
}

func (b *bitset) remove(i int) {
	for _, level := range b.levels {
		w := i >> 6
		if w >= len(level) {
			return
		}
		level[w] &^= 1 << (i & 63)
		if level[w] != 0 {
			return
		}
		i = w
	}
}

func (b *bitset) has(i int) bool {
	return len(b.levels) > 0 && i>>6 < len(b.levels[0]) && b.levels[0][i>>6]&(1<<(i&63)) != 0
}

// next returns the lowest member that is at least i, or -1.
func (b *bitset) next(i int) int {
	for l := 0; l < len(b.levels); l++ {
		level := b.levels[l]
		w := i >> 6
		if w >= len(level) {
			return -1
		}
		if rest := level[w] >> (i & 63) << (i & 63); rest != 0 {
			i = w<<6 + bits.TrailingZeros64(rest)
			for l--; l >= 0; l-- {
				i = i<<6 + bits.TrailingZeros64(b.levels[l][i])
			}
			return i
		}
		i = w + 1
	}
	return -1
}

// prev returns the highest member that is at most i, or -1.
func (b *bitset) prev(i int) int {
	for l := 0; l < len(b.levels) && i >= 0; l++ {
		level := b.levels[l]
		if i>>6 >= len(level) {
			i = len(level)<<6 - 1
		}
		w := i >> 6
		if rest := level[w] << (63 - i&63) >> (63 - i&63); rest != 0 {
			i = w<<6 + 63 - bits.LeadingZeros64(rest)
			for l--; l >= 0; l-- {
				i = i<<6 + 63 - bits.LeadingZeros64(b.levels[l][i])
			}
			return i
		}
		i = w - 1
	}
	return -1
}

func (b *bitset) clear() {
	for _, level := range b.levels {
		clear(level)
	}
}
