package plan

import (
	"encoding/binary"
	"slices"
)

// CloneAdmission returns an independent copy of one of this package's admissions.
func CloneAdmission(a Admission) Admission {
	switch a := a.(type) {
	case *serial:
		return &serial{a.ledger.clone()}
	case *rolling:
		return &rolling{a.ledger.clone(), a.cursor, a.barriers.clone()}
	case *waves:
		c := *a
		c.ledger, c.placer, c.ready = a.ledger.clone(), a.placer.clone(), a.ready.clone()
		c.waves, c.of = slices.Clone(a.waves), slices.Clone(a.of)
		return &c
	case *keyed:
		c := *a
		c.ledger, c.index = a.ledger.clone(), a.index.clone()
		c.queues, c.places, c.of = slices.Clone(a.queues), slices.Clone(a.places), slices.Clone(a.of)
		c.ready, c.running, c.alone = a.ready.clone(), a.running.clone(), a.alone.clone()
		return &c
	}
	panic("not one of package plan")
}

func (l *ledger) clone() ledger { c := *l; c.calls = slices.Clone(l.calls); return c }

func (b *bitset) clone() bitset {
	c := bitset{slices.Clone(b.levels)}
	for i := range c.levels {
		c.levels[i] = slices.Clone(c.levels[i])
	}
	return c
}

func (ix *index) clone() index {
	c := *ix
	c.slots, c.nodes = slices.Clone(ix.slots), slices.Clone(ix.nodes)
	return c
}

func (p *placer) clone() placer {
	c := *p
	c.index = p.index.clone()
	c.open, c.sets = slices.Clone(p.open), slices.Clone(p.sets)
	for i := range c.sets {
		c.sets[i].words = slices.Clone(c.sets[i].words)
	}
	c.found, c.held = nil, nil
	return c
}

// AppendAdmissionState appends everything that decides how an admission of this package will behave: two admissions
// with the same state behave alike for ever, given the same reports.
func AppendAdmissionState(dst []byte, a Admission) []byte {
	s := encoder{dst}
	switch a := a.(type) {
	case *serial:
		s.ledger(&a.ledger)
	case *rolling:
		s.ledger(&a.ledger)
		s.int(a.cursor)
		s.bits(&a.barriers)
	case *waves:
		s.ledger(&a.ledger)
		s.bits(&a.ready)
		s.int(a.cur, a.last, len(a.waves))
		for i := range a.waves {
			w := &a.waves[i]
			s.int(int(w.first), int(w.left), int(w.alone))
			s.bool(w.begun)
		}
		for _, l := range a.of {
			s.int(int(l.wave), int(l.next))
		}
		s.placer(&a.placer)
	case *keyed:
		s.ledger(&a.ledger)
		s.bits(&a.ready)
		s.bits(&a.running)
		s.bits(&a.alone)
		s.bool(a.trees)
		for _, o := range a.of {
			s.int(int(o.first), int(o.n), int(o.lack), int(o.near))
		}
		for _, p := range a.places {
			s.int(int(p.call), int(p.next), int(p.node), int(p.mode))
		}
		for i := range a.queues {
			for _, q := range a.queues[i] {
				s.int(int(q.head), int(q.tail), int(q.wait))
			}
		}
		s.index(&a.index)
	default:
		panic("not one of package plan")
	}
	return s.b
}

type encoder struct{ b []byte }

func (s *encoder) int(vs ...int) {
	for _, v := range vs {
		s.b = binary.AppendVarint(s.b, int64(v))
	}
}

func (s *encoder) bool(v bool) {
	if v {
		s.b = append(s.b, 1)
	} else {
		s.b = append(s.b, 0)
	}
}

// ledger leaves out what only Reordered asks for, the order of the starts, but for whom each call overtook.
func (s *encoder) ledger(l *ledger) {
	s.int(len(l.calls), l.prefix)
	for i := range l.calls {
		e := &l.calls[i]
		s.b = append(s.b, byte(e.state))
		s.bool(e.order > 0)
		s.bool(e.changed)
		s.int(int(e.late))
		for k := range i {
			if o := &l.calls[k]; e.order > 0 && o.order > 0 {
				s.bool(e.order < o.order)
			}
		}
		s.bool(e.Safe)
		s.int(len(e.Claims))
		for _, c := range e.Claims {
			s.int(int(c.Access), len(c.Key))
			s.bool(c.Tree)
			s.b = append(s.b, c.Key...)
		}
	}
}

func (s *encoder) bits(b *bitset) {
	for i := b.next(0); i >= 0; i = b.next(i + 1) {
		s.int(i)
	}
	s.int(-1)
}

func (s *encoder) index(ix *index) {
	for _, n := range ix.nodes {
		s.int(int(n.parent))
		for m := range 2 {
			s.int(int(n.exact[m]), int(n.tree[m]), int(n.below[m]))
		}
	}
	var names [64]string // by node: the batches of the exhaustive test have few keys
	for _, sl := range ix.slots {
		if sl.epoch == ix.epoch {
			names[sl.node] = sl.name
		}
	}
	for _, name := range names[:len(ix.nodes)] {
		s.int(len(name))
		s.b = append(s.b, name...)
	}
}

func (s *encoder) placer(p *placer) {
	s.bool(p.trees)
	s.bool(p.firstFit)
	s.int(p.top, p.floor)
	s.index(&p.index)
	for _, w := range p.open {
		s.int(int(w))
	}
	for _, set := range p.sets {
		s.int(int(set.base), int(set.full), len(set.words))
		for _, w := range set.words {
			s.b = binary.LittleEndian.AppendUint64(s.b, w)
		}
	}
}
