package replay

import "slices"

// A place is where a batch or a problem stands among all sources: two never share one, and whoever reads the sources in
// whatever order gives the same.
type place struct{ source, n int }

func (p place) compare(o place) int {
	if p.source != o.source {
		return p.source - o.source
	}
	return p.n - o.n
}

// A best keeps the first so many of what it is given, in an order of their own, and drops the rest. What it keeps does
// not depend on the order in which they come.
type best[T any] struct {
	most  int
	order func(a, b T) int
	drop  func(T) // may be nil
	items []T
	full  bool // there are most items in front that are in order
}

// wants reports whether x would be kept as things stand.
func (b *best[T]) wants(x T) bool {
	return b.most > 0 && !(b.full && b.order(x, b.items[b.most-1]) > 0)
}

func (b *best[T]) add(x T) {
	if !b.wants(x) {
		if b.drop != nil {
			b.drop(x)
		}
		return
	}
	b.items = append(b.items, x)
	if len(b.items) >= 2*b.most+64 {
		b.sorted()
	}
}

// sorted returns what is kept, in order.
func (b *best[T]) sorted() []T {
	slices.SortFunc(b.items, b.order)
	if len(b.items) < b.most {
		return b.items
	}
	rest := b.items[b.most:]
	if b.drop != nil {
		for _, x := range rest {
			b.drop(x)
		}
	}
	clear(rest)
	b.items, b.full = b.items[:b.most], b.most > 0
	return b.items
}

// A table sums by key. It keeps the first so many keys in their order, and sums the rest without a key.
type table[K comparable, V any] struct {
	most  int
	order func(a, b K) int
	plus  func(to, v *V)
	rows  map[K]*V
	rest  *V // nil: nothing was left out
}

func (t *table[K, V]) add(k K, v *V) {
	if row := t.rows[k]; row != nil {
		t.plus(row, v)
		return
	}
	if t.rows == nil {
		t.rows = map[K]*V{}
	}
	row := new(V)
	t.plus(row, v)
	t.rows[k] = row
	if len(t.rows) >= 2*t.most {
		t.keys()
	}
}

// keys returns the keys that are kept, in order.
func (t *table[K, V]) keys() []K {
	all := make([]K, 0, len(t.rows))
	for k := range t.rows {
		all = append(all, k)
	}
	slices.SortFunc(all, t.order)
	if len(all) <= t.most {
		return all
	}
	for _, k := range all[t.most:] {
		t.others(t.rows[k])
		delete(t.rows, k)
	}
	return all[:t.most]
}

func (t *table[K, V]) others(v *V) {
	if t.rest == nil {
		t.rest = new(V)
	}
	t.plus(t.rest, v)
}

// merge adds all of another table.
func (t *table[K, V]) merge(o *table[K, V]) {
	for k, v := range o.rows {
		t.add(k, v)
	}
	if o.rest != nil {
		t.others(o.rest)
	}
}
