package plan

import "slices"

// CopyAdmission makes dst, one of this package's admissions that nobody needs any more, a copy of src in the memory
// that it has, and reports whether it could: both must be of one kind.
func CopyAdmission(dst, src Admission) bool {
	switch d := dst.(type) {
	case *serial:
		if s, ok := src.(*serial); ok {
			d.ledger.become(&s.ledger)
			return true
		}
	case *rolling:
		if s, ok := src.(*rolling); ok {
			d.ledger.become(&s.ledger)
			d.barriers.become(&s.barriers)
			d.cursor, d.group, d.alone = s.cursor, s.group, s.alone
			return true
		}
	case *waves:
		if s, ok := src.(*waves); ok {
			old := *d
			*d = *s
			d.ledger, d.placer, d.ready = old.ledger, old.placer, old.ready
			d.ledger.become(&s.ledger)
			d.placer.become(&s.placer)
			d.ready.become(&s.ready)
			d.waves, d.of = into(old.waves, s.waves), into(old.of, s.of)
			return true
		}
	case *keyed:
		if s, ok := src.(*keyed); ok {
			old := *d
			*d = *s
			d.ledger, d.index, d.ready, d.running, d.alone = old.ledger, old.index, old.ready, old.running, old.alone
			d.ledger.become(&s.ledger)
			d.index.become(&s.index)
			d.ready.become(&s.ready)
			d.running.become(&s.running)
			d.alone.become(&s.alone)
			d.queues, d.places, d.of = into(old.queues, s.queues), into(old.places, s.places), into(old.of, s.of)
			return true
		}
	}
	return false
}

func into[E any](old, s []E) []E { return append(old[:0], s...) }

func (l *ledger) become(s *ledger) {
	calls := into(l.calls, s.calls)
	*l = *s
	l.calls = calls
}

func (b *bitset) become(s *bitset) {
	levels := b.levels[:min(len(b.levels), len(s.levels))]
	for i := range levels {
		levels[i] = into(levels[i], s.levels[i])
	}
	for _, level := range s.levels[len(levels):] {
		levels = append(levels, slices.Clone(level))
	}
	b.levels = levels
}

func (ix *index) become(s *index) {
	old := *ix
	*ix = *s
	ix.slots, ix.nodes = into(old.slots, s.slots), into(old.nodes, s.nodes)
}

func (p *placer) become(s *placer) {
	old := *p
	*p = *s
	p.index = old.index
	p.index.become(&s.index)
	p.open = into(old.open, s.open)
	p.sets = old.sets[:min(len(old.sets), len(s.sets))]
	for i := range s.sets {
		set := s.sets[i]
		if i < len(p.sets) {
			set.words = into(p.sets[i].words, set.words)
			p.sets[i] = set
			continue
		}
		set.words = slices.Clone(set.words)
		p.sets = append(p.sets, set)
	}
	p.found, p.held = old.found[:0], old.held[:0]
}
