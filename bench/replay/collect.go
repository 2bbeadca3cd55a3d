package replay

import (
	"cmp"
	"crypto/sha256"
	"strings"
	"time"

	"github.com/keywave-go/keywave/bench/transcript"
	"github.com/keywave-go/keywave/exec"
)

// What is kept of transcripts without end. What goes beyond is summed, and not told apart.
const (
	maxSessions       = 10_000 // of one source each
	maxAgents         = 1_000  // of a session
	maxTools          = 1_000
	maxWaits          = 4_000
	maxProblems       = 1_000
	maxSourceProblems = 20
	maxShown          = 1_000 // batches
	maxRepeats        = 1 << 16
)

// A sessionKey is a session by its format and a hash of its name.
type sessionKey struct {
	format origin
	hash   [16]byte
	source int // of a session without a name, else below 0
}

// A piece is what one source has of a session.
type piece struct {
	at     place
	key    sessionKey
	main   bool                // some of it is of the agent itself, and not of a sub-agent
	agents map[uint64]struct{} // hashes of their names
	tally
}

type formatSum struct {
	at    place // where it came up
	tally tally
	rest  int // sessions that are not kept
}

type waitKey struct{ tool, other, why string }

type waitSum struct {
	calls int
	time  time.Duration
}

type toolKey struct {
	tool   string
	format origin
}

type toolSum struct {
	calls, batches     int
	why                [reasons]int
	is, asRead, asFree cost
}

// A problem is one with its place.
type problem struct {
	at place
	Problem
}

// Sums are all that is kept of sources. Adding up sums gives the same in whatever order.
type sums struct {
	total, mixed tally
	sizes        map[int]*Size
	formats      map[origin]*formatSum
	pieces       best[*piece]
	rest         tally // of pieces that are not kept
	waits        table[waitKey, waitSum]
	tools        table[toolKey, toolSum]
	largest      best[*sight]
	inverted     best[*sight]
	problems     best[problem]
	repeats      repeats
	unlisted     int // problems
	turned       int // batches with inversions
}

func newSums(o Options) *sums {
	s := &sums{sizes: map[int]*Size{}, formats: map[origin]*formatSum{}, repeats: repeats{most: maxRepeats}}
	s.pieces = best[*piece]{most: maxSessions, order: func(a, b *piece) int { return a.at.compare(b.at) }, drop: s.forget}
	s.waits = table[waitKey, waitSum]{most: maxWaits, order: func(a, b waitKey) int {
		return cmp.Or(cmp.Compare(a.tool, b.tool), cmp.Compare(a.other, b.other), cmp.Compare(a.why, b.why))
	}, plus: func(to, w *waitSum) { to.calls, to.time = to.calls+w.calls, plus(to.time, w.time) }}
	s.tools = table[toolKey, toolSum]{most: maxTools, order: func(a, b toolKey) int {
		return cmp.Or(cmp.Compare(a.tool, b.tool), cmp.Compare(a.format, b.format))
	}, plus: (*toolSum).add}
	s.largest = best[*sight]{most: o.Largest, order: bySaving}
	// Some of those with inversions may be among the largest already.
	s.inverted = best[*sight]{most: o.Inverted, order: byInversion}
	if o.Inverted > 0 {
		s.inverted.most += o.Largest
	}
	s.problems = best[problem]{most: maxProblems, order: func(a, b problem) int { return a.at.compare(b.at) },
		drop: func(p problem) { s.unlisted += p.Count }}
	return s
}

func (t *toolSum) add(o *toolSum) {
	t.calls += o.calls
	t.batches += o.batches
	for i := range t.why {
		t.why[i] += o.why[i]
	}
	t.is.add(o.is)
	t.asRead.add(o.asRead)
	t.asFree.add(o.asFree)
}

func (c *cost) add(o cost) { c.steps, c.time = c.steps+o.steps, plus(c.time, o.time) }

// saving is what c is below the cost that is.
func (c cost) saving(is cost) Saving {
	return Saving{is.steps - c.steps, millis(is.time) - millis(c.time)}
}

// forget sums a piece that is not kept.
func (s *sums) forget(p *piece) {
	s.rest.add(&p.tally)
	s.format(p.key.format, p.at).rest++
}

func (s *sums) format(f origin, at place) *formatSum {
	sum := s.formats[f]
	if sum == nil {
		sum = &formatSum{at: at}
		s.formats[f] = sum
	}
	if at.compare(sum.at) < 0 {
		sum.at = at
	}
	return sum
}

func (s *sums) size(calls int) *Size {
	z := s.sizes[calls]
	if z == nil {
		z = &Size{Calls: calls}
		s.sizes[calls] = z
	}
	return z
}

// merge adds all of o, which must not be used any more.
func (s *sums) merge(o *sums) {
	s.total.add(&o.total)
	s.mixed.add(&o.mixed)
	for n, z := range o.sizes {
		to := s.size(n)
		to.Batches += z.Batches
		to.Mixed += z.Mixed
	}
	for f, sum := range o.formats {
		to := s.format(f, sum.at)
		to.tally.add(&sum.tally)
		to.rest += sum.rest
	}
	s.rest.add(&o.rest)
	for _, p := range o.pieces.items {
		s.pieces.add(p)
	}
	s.waits.merge(&o.waits)
	s.tools.merge(&o.tools)
	for _, b := range o.largest.items {
		s.largest.add(b)
	}
	for _, b := range o.inverted.items {
		s.inverted.add(b)
	}
	for _, p := range o.problems.items {
		s.problems.add(p)
	}
	s.repeats.merge(&o.repeats)
	s.unlisted += o.unlisted
	s.turned += o.turned
}

// A collector sums the batches of one source.
type collector struct {
	*sums
	source int
	n      int // turns so far
	pieces map[sessionKey]*piece
	last   *piece // nil: it is of a session that is not kept
	lastOf string
	lastIn origin
	many   int // batches that are too large
	tried  int // batches with too many tools to try each
	big    int // batches worth a look that are too large for it
}

// piece finds the piece that a batch belongs to; nil if it is not kept.
func (c *collector) piece(b *transcript.Batch, at place) *piece {
	from := originOf(b)
	if c.n > 1 && b.Session == c.lastOf && from == c.lastIn {
		return c.last
	}
	c.lastOf, c.lastIn = strings.Clone(b.Session), from
	key := c.key(b)
	p := c.pieces[key]
	if p == nil {
		if len(c.pieces) >= maxSessions {
			c.format(from, at).rest++
		} else {
			p = &piece{at: at, key: key}
			c.pieces[key] = p
			c.sums.pieces.add(p)
		}
	}
	c.last = p
	return p
}

func (c *collector) key(b *transcript.Batch) sessionKey {
	if b.Session == "" {
		return sessionKey{format: originOf(b), source: c.source}
	}
	sum := sha256.Sum256([]byte(b.Session))
	return sessionKey{format: originOf(b), source: -1, hash: [16]byte(sum[:16])}
}

// turn adds an answer of the model. If it is a batch, t and r are what it came to, and tools what other declarations
// would bring.
func (c *collector) turn(b *transcript.Batch, t *trial, r *ruling, tools []what) {
	c.n++
	at := place{c.source, c.n}
	p := c.piece(b, at)
	groups := []*tally{&c.total, &c.format(originOf(b), at).tally, &c.rest}
	if p != nil {
		groups[2] = &p.tally
		p.main = p.main || b.Agent == ""
	}
	if r == nil {
		for _, g := range groups {
			g.turns++
		}
		return
	}
	if t.mixed {
		groups = append(groups, &c.mixed)
	}
	for _, g := range groups {
		g.add(&r.tally)
	}
	if p != nil && b.Agent != "" && len(p.agents) < maxAgents {
		if p.agents == nil {
			p.agents = map[uint64]struct{}{}
		}
		p.agents[hashed(b.Agent)] = struct{}{}
	}
	if id, ok := identify(b); ok {
		c.repeats.add(id, c.source, 1)
	}
	size := c.size(len(b.Calls))
	size.Batches++
	if t.mixed {
		size.Mixed++
	}
	if r.inversion < noInversion {
		c.turned++
	}
	c.waited(t, r)
	for _, w := range tools {
		if w.skipped {
			c.tried++
		}
		c.tools.add(toolKey{w.tool, originOf(b)},
			&toolSum{calls: w.calls, batches: 1, why: w.why, is: w.is, asRead: w.asRead, asFree: w.asFree})
	}
	c.look(b, t, r, at)
}

func hashed(s string) uint64 {
	sum := sha256.Sum256([]byte(s))
	h := uint64(0)
	for _, b := range sum[:8] {
		h = h<<8 | uint64(b)
	}
	return h
}

// waited adds what the keyed pool kept calls back for.
func (c *collector) waited(t *trial, r *ruling) {
	for i := range r.kept {
		var seen []waitKey
		for _, w := range r.kept[i].Waits {
			if w.For == exec.WaitCommit {
				continue
			}
			k := waitKey{tool: t.tools[i], why: w.For.String()}
			if w.Call >= 0 {
				k.other = t.tools[w.Call]
			}
			sum := waitSum{calls: 1}
			for _, s := range seen {
				if s == k {
					sum.calls = 0
				}
			}
			if sum.calls == 1 {
				seen = append(seen, k)
			}
			if t.timed {
				sum.time = w.To - w.From
			}
			c.waits.add(k, &sum)
		}
	}
}
