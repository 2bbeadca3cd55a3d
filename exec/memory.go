package exec

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/keywave-go/keywave/plan"
)

// A MemoryDomain is a [Domain] for the lanes of one process. The zero MemoryDomain is ready; it must not be copied.
// Its methods, and those of its leases, are safe for concurrent use, and but for Acquire they do not wait.
//
// A request costs amortised time linear in its claims, from Acquire to Release, however many wait; once a claim is a tree,
// linear in the components of their keys. Nothing is kept of leases that have ended.
type MemoryDomain struct {
	mu    sync.Mutex
	clock uint64 // the last ticket
	seed  maphash.Seed
	root  scope
}

var (
	_ ticketed = (*MemoryDomain)(nil)
	_ ticketed = (*lease)(nil)
	_ Lease    = (*lease)(nil)
)

// NewDomain returns an empty Domain in memory.
func NewDomain() *MemoryDomain { return new(MemoryDomain) }

// Acquire implements [Domain]. Its leases never run out.
func (d *MemoryDomain) Acquire(ctx context.Context, r Request) (Lease, error) {
	return acquire(ctx, d, r)
}

// Acquire implements [Domain], for what competes within the lease.
func (l *lease) Acquire(ctx context.Context, r Request) (Lease, error) { return acquire(ctx, l, r) }

// A ticketed Domain can put a request in line without waiting. A lane does so while it has the call in hand: its calls
// are then in line in the order in which it admitted them.
type ticketed interface {
	Domain
	enter(l *lease, r Request) error // l is fresh
}

func acquire(ctx context.Context, d ticketed, r Request) (Lease, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	l := new(lease)
	if err := d.enter(l, r); err != nil {
		return nil, err
	}
	if err := l.wait(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

func (d *MemoryDomain) enter(l *lease, r Request) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.root.d == nil { // later it is read without the lock
		d.root.d = d
	}
	d.root.enter(l, nil, r)
	return nil
}

func (l *lease) enter(kid *lease, r Request) error {
	d := l.scope.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.closed {
		return l.shutError()
	}
	s := l.inside()
	if s.holder != nil {
		if c, missing := s.cover.missing(r.Claims); missing {
			if s.shown == nil {
				s.shown = slices.Clone(s.holder.claims)
			}
			return &UncoveredError{Claim: c, Holder: s.holder.by, Held: s.shown}
		}
	}
	s.enter(kid, l, r)
	return nil
}

// A Hold is a lease of a [MemoryDomain] that was granted and has not ended.
type Hold struct {
	By        Caller
	Claims    []plan.Claim
	Token     uint64
	Abandoned time.Time       // when it was given up, although its body runs; zero: it was not
	Ended     <-chan struct{} // closed when the lease has ended
}

// String says it in a line: "call 3 of A holds write a, abandoned".
func (h Hold) String() string {
	s := fmt.Sprintf("%v holds ", h.By)
	for i, c := range h.Claims {
		if i > 0 {
			s += ", "
		}
		s += c.String()
	}
	if len(h.Claims) == 0 {
		s += "nothing"
	}
	if !h.Abandoned.IsZero() {
		s += ", abandoned"
	}
	return s
}

// Holds lists the leases that were granted and have not ended, also those within others, in the order of their requests.
// Those whose Abandoned is set belong to bodies that have not returned although nobody waits for them any more.
func (d *MemoryDomain) Holds() []Hold {
	d.mu.Lock()
	defer d.mu.Unlock()
	var holds []Hold
	for _, l := range d.all() {
		if !l.granted {
			continue
		}
		if l.gone == nil {
			l.gone = make(chan struct{})
		}
		h := Hold{By: l.by, Claims: slices.Clone(l.claims), Token: l.Token(), Ended: l.gone}
		if l.abandoned != nil {
			h.Abandoned = *l.abandoned
		}
		holds = append(holds, h)
	}
	return holds
}

// Blocked lists the requests that wait, in the order in which they came, and for each the first of those that are in
// its way.
func (d *MemoryDomain) Blocked() []Block {
	d.mu.Lock()
	defer d.mu.Unlock()
	var blocks []Block
	for _, l := range d.all() {
		if !l.granted {
			b, _ := l.front()
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// all returns every lease that has not ended, in the order of the tickets.
func (d *MemoryDomain) all() []*lease {
	scopes := []*scope{&d.root}
	var all []*lease
	for len(scopes) > 0 {
		s := scopes[0]
		scopes = scopes[1:]
		for l := s.first; l != nil; l = l.next {
			all = append(all, l)
			if l.own != nil {
				scopes = append(scopes, l.own)
			}
		}
	}
	slices.SortFunc(all, func(a, b *lease) int { return cmp.Compare(a.ticket, b.ticket) })
	return all
}
