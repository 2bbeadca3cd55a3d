package plan

import (
	"encoding/binary"
	"slices"
	"unsafe"
)

// CloneAdmission returns an independent copy of one of this package's admissions.
func CloneAdmission(a Admission) Admission {
	switch a := a.(type) {
	case *serial:
		return &serial{a.ledger.clone()}
	case *rolling:
		return &rolling{a.ledger.clone(), a.cursor, a.barriers.clone(), a.group, a.alone}
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
			s.flags(w.begun)
		}
		raw(&s, a.of)
		s.placer(&a.placer)
	case *keyed:
		s.ledger(&a.ledger)
		s.bits(&a.ready)
		s.bits(&a.running)
		s.bits(&a.alone)
		s.flags(a.trees)
		raw(&s, a.of)
		raw(&s, a.places)
		raw(&s, a.queues)
		s.index(&a.index)
	default:
		panic("not one of package plan")
	}
	return s.b
}

type encoder struct{ b []byte }

// int appends numbers, nearly all of which fit a byte.
func (s *encoder) int(vs ...int) {
	for _, v := range vs {
		if small := uint(v + 1); small < 255 {
			s.b = append(s.b, byte(small))
		} else {
			s.b = binary.LittleEndian.AppendUint64(append(s.b, 255), uint64(v))
		}
	}
}

// raw appends the memory of elements that are numbers and nothing else, without a gap between them.
func raw[E int32 | uint64 | link | spot | place | node | [modes]queue](s *encoder, es []E) {
	s.int(len(es))
	var e E
	size := len(es) * int(unsafe.Sizeof(e))
	s.b = append(s.b, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(es))), size)...)
}

// flags appends up to eight bits.
func (s *encoder) flags(vs ...bool) {
	b := byte(0)
	for i, v := range vs {
		if v {
			b |= 1 << i
		}
	}
	s.b = append(s.b, b)
}

func (s *encoder) ledger(l *ledger) {
	s.int(len(l.calls), l.prefix)
	for i := range l.calls {
		e := &l.calls[i]
		s.flags(e.changed, e.Safe)
		s.int(int(e.state), int(e.order), int(e.late), len(e.Claims))
		for j := range e.Claims {
			c := &e.Claims[j]
			s.flags(c.Tree)
			s.int(int(c.Access))
			s.name(c.Key)
		}
	}
}

func (s *encoder) bits(b *bitset) {
	var words []uint64
	if len(b.levels) > 0 {
		words = b.levels[0]
	}
	for len(words) > 0 && words[len(words)-1] == 0 {
		words = words[:len(words)-1]
	}
	raw(s, words)
}

func (s *encoder) index(ix *index) {
	raw(s, ix.nodes)
	var few [16]string // as many keys as the batches of the exhaustive test have; the root has none
	names := few[:]
	if len(ix.nodes) > len(few) {
		names = make([]string, len(ix.nodes))
	}
	for i, left := 0, len(ix.nodes)-1; left > 0; i++ {
		if sl := &ix.slots[i]; sl.epoch == ix.epoch {
			names[sl.node] = sl.name
			left--
		}
	}
	for i := 1; i < len(ix.nodes); i++ {
		s.name(names[i])
	}
}

func (s *encoder) name(name string) {
	s.int(len(name))
	s.b = append(s.b, name...)
}

func (s *encoder) placer(p *placer) {
	s.flags(p.trees, p.firstFit)
	s.int(p.top, p.floor)
	s.index(&p.index)
	raw(s, p.open)
	s.int(len(p.sets))
	for _, set := range p.sets {
		s.int(int(set.base), int(set.full))
		raw(s, set.words)
	}
}
