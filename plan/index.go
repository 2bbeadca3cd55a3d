package plan

import (
	"hash/maphash"
	"slices"
	"strings"
)

// An index gives every key a number. While no claim is a tree, a key is one node under the root; with trees every
// component is a node of its own, so that a path can be walked. Open addressing, and an epoch in every slot: forgetting
// all keys is one addition, and the memory stays for the next batch.
type index struct {
	seed  maphash.Seed
	slots []slot // a power of two of them, at most three quarters in use
	epoch uint32
	nodes []node // nodes[0] is the root
}

type slot struct {
	epoch  uint32
	parent int32
	node   int32
	hash   uint32
	name   string
}

// A node is one key. What its marks mean is the user's business: the highest wave so far in Ordered, the set of waves
// in FirstFit. Zero is none.
type node struct {
	parent             int32
	exact, tree, below [2]int32 // by Access: of claims on the key alone, on its tree, on keys below it
}

// reset forgets all keys.
func (ix *index) reset() {
	if ix.slots == nil {
		ix.grow(16)
	}
	ix.epoch++
	if ix.epoch == 0 { // wrapped: the old slots could pass for new ones
		clear(ix.slots)
		ix.epoch = 1
	}
	ix.nodes = append(ix.nodes[:0], node{})
}

// grow makes room for n more keys.
func (ix *index) grow(n int) {
	ix.nodes = slices.Grow(ix.nodes, n+1)
	size := 32
	for 3*size < 4*cap(ix.nodes) {
		size *= 2
	}
	if size <= len(ix.slots) {
		return
	}
	if ix.slots == nil {
		ix.seed = maphash.MakeSeed()
	}
	old := ix.slots
	ix.slots = make([]slot, size)
	for _, s := range old {
		if s.epoch == ix.epoch && ix.epoch > 0 {
			ix.slots[ix.free(s.hash)] = s
		}
	}
}

// free returns the place of a slot that is not in use.
func (ix *index) free(hash uint32) int {
	mask := len(ix.slots) - 1
	at := int(hash) & mask
	for ix.slots[at].epoch == ix.epoch {
		at = (at + 1) & mask
	}
	return at
}

// find returns the node of a key, making what is missing of its path.
func (ix *index) find(key string, trees bool) int32 {
	if !trees {
		return ix.child(0, key)
	}
	n := int32(0)
	for {
		name, rest, more := strings.Cut(key, "/")
		n = ix.child(n, name)
		if !more {
			return n
		}
		key = rest
	}
}

func (ix *index) child(parent int32, name string) int32 {
	h := maphash.String(ix.seed, name) ^ uint64(parent)*0x9e3779b97f4a7c15
	hash := uint32(h ^ h>>32)
	mask := len(ix.slots) - 1
	at := int(hash) & mask
	for ; ix.slots[at].epoch == ix.epoch; at = (at + 1) & mask {
		s := &ix.slots[at]
		if s.hash == hash && s.parent == parent && s.name == name {
			return s.node
		}
	}
	if len(ix.nodes) == cap(ix.nodes) {
		ix.grow(len(ix.nodes))
		at = ix.free(hash)
	}
	n := int32(len(ix.nodes))
	ix.nodes = append(ix.nodes, node{parent: parent})
	ix.slots[at] = slot{ix.epoch, parent, n, hash, name}
	return n
}
