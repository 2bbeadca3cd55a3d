package replay

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/keywave-go/keywave/bench/transcript"
)

// An identity is a hash of the calls of a batch, with their ids. A copy has the same, whatever session it is said to be
// of.
type identity [16]byte

// uniqueID is how long ids are, at least, that no other call has. Shorter ones may count from 1 in each session.
const uniqueID = 16

// identify returns the identity of a batch. It reports false if the batch could not be told from another one.
func identify(b *transcript.Batch) (id identity, ok bool) {
	h := sha256.New()
	text := func(s string) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	text(string(b.Format))
	for i := range b.Calls {
		c := &b.Calls[i]
		if c.ID == "" || len(c.ID) < uniqueID && c.Start.IsZero() {
			return id, false
		}
		for _, s := range [...]string{c.ID, c.Name, c.Arguments} {
			text(s)
		}
		if len(c.ID) < uniqueID {
			text(b.Session)
			text(b.Turn)
			text(c.Start.String())
		}
	}
	return identity(h.Sum(nil)), true
}

// Repeats are the identities of batches, and how often each source has them. Of very many those are kept whose
// identities are the lowest, so that it does not matter in which order they came.
type repeats struct {
	most int
	seen map[identity]map[int]int // by source
}

func (r *repeats) add(id identity, source, n int) {
	if r.seen == nil {
		r.seen = map[identity]map[int]int{}
	}
	if r.seen[id] == nil {
		r.seen[id] = map[int]int{}
	}
	if r.seen[id][source] += n; len(r.seen) >= 2*r.most {
		r.cut()
	}
}

func (r *repeats) cut() {
	ids := slices.SortedFunc(maps.Keys(r.seen), func(a, b identity) int { return bytes.Compare(a[:], b[:]) })
	for _, id := range ids[min(r.most, len(ids)):] {
		delete(r.seen, id)
	}
}

func (r *repeats) merge(o *repeats) {
	for id, sources := range o.seen {
		for source, n := range sources {
			r.add(id, source, n)
		}
	}
}

// again is how many batches of each source are there in it already, or in one before it.
func (r *repeats) again() map[int]int {
	r.cut()
	out := map[int]int{}
	for _, sources := range r.seen {
		first := slices.Min(slices.Collect(maps.Keys(sources)))
		for source, n := range sources {
			if source == first {
				n--
			}
			if n > 0 {
				out[source] += n
			}
		}
	}
	return out
}
