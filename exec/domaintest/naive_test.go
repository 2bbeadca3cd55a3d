package domaintest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// A naive Domain looks at all requests whenever one comes or goes. It can be broken in many ways, each in one place,
// and its leases can be made to run out.
type naive struct {
	breaks string
	end    chan struct{} // closed when its test has ended

	mu     sync.Mutex
	model  model
	leases []*naiveLease // of model.all
	active []*naiveLease // those that have not ended
}

type naiveLease struct {
	*request
	d     *naive
	r     exec.Request
	done  chan struct{} // closed when it has been granted or refused
	err   error
	gone  chan struct{} // closed when it has run out
	near  *naiveLease
	kids  []*naiveLease
	gives bool // broken: has been released twice
}

func (d *naive) is(breaks string) bool { return d.breaks == breaks }

func (d *naive) Acquire(ctx context.Context, r exec.Request) (exec.Lease, error) {
	return d.acquire(ctx, nil, r)
}

func (l *naiveLease) Acquire(ctx context.Context, r exec.Request) (exec.Lease, error) {
	return l.d.acquire(ctx, l, r)
}

func (d *naive) acquire(ctx context.Context, in *naiveLease, r exec.Request) (exec.Lease, error) {
	if ctx.Err() != nil && !d.is("a context that is done is not looked at beforehand") {
		return nil, context.Cause(ctx)
	}
	l := d.enter(in, r)
	if d.is("a context that is done is not looked at beforehand") {
		select {
		case <-l.done:
			return l, l.err
		default:
		}
	}
	select {
	case <-l.done:
	case <-d.end:
		return nil, context.Cause(ctx)
	case <-d.doneOf(ctx):
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.is("somebody who was cancelled stays in line") {
			return nil, context.Cause(ctx)
		}
		if l.err == nil {
			l.released, l.refused = true, true
			if !d.is("after a cancel nobody goes on") {
				d.serve()
			}
		}
		if d.is("the error of a cancel is that of the context") {
			return nil, ctx.Err()
		}
		return nil, context.Cause(ctx)
	}
	if l.err != nil {
		return nil, l.err
	}
	if d.is("a cancel that comes later ends the lease") {
		context.AfterFunc(ctx, l.Release)
	}
	if d.is("neither a lease nor an error") && len(r.Claims) == 3 {
		return nil, nil
	}
	if d.is("told after it was granted") && l.near != nil {
		defer func() { go r.Blocked(exec.Block{Who: r.By, By: l.near.r.By}) }()
	}
	return l, nil
}

func (d *naive) doneOf(ctx context.Context) <-chan struct{} {
	if d.is("a cancel is ignored") {
		return nil
	}
	return ctx.Done()
}

func (d *naive) enter(in *naiveLease, r exec.Request) *naiveLease {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.model.now++
	q := &request{n: len(d.model.all) + 1, exclusive: r.Exclusive, asked: d.model.now, came: d.model.now}
	if q.claims = slices.Clone(r.Claims); d.is("the slice of claims is kept") {
		q.claims = r.Claims
	}
	if in != nil {
		q.in = in.request
	}
	l := &naiveLease{request: q, d: d, r: r, done: make(chan struct{}), gone: make(chan struct{})}
	d.model.all, d.leases, d.active = append(d.model.all, q), append(d.leases, l), append(d.active, l)
	if in != nil {
		in.kids = append(in.kids, l)
	}
	if in != nil && in.closed {
		l.refuse(fmt.Errorf("%w: no more", exec.ErrLeaseEnded))
	} else if err := d.uncovered(l); err != nil {
		l.refuse(err)
	}
	d.serve()
	return l
}

// refuse ends a request with an error.
func (l *naiveLease) refuse(err error) {
	if !l.granted && !l.refused {
		l.refused, l.err = true, err
		close(l.done)
	}
}

// serve grants what nothing is in the way of, and tells the others what is.
func (d *naive) serve() {
	d.active = slices.DeleteFunc(d.active, d.over)
	order := slices.Clone(d.active)
	if d.is("the last comes first") {
		slices.Reverse(order)
	}
	for _, l := range order {
		if l.granted || l.refused {
			continue
		}
		x := d.inTheWay(l)
		if x == nil {
			l.granted = true
			close(l.done)
			continue
		}
		if l.near != x && l.r.Blocked != nil {
			if l.near == nil && d.is("told after the last word") {
				l.r.Blocked(exec.Block{Who: l.r.By, By: exec.Caller{Call: -1}})
			}
			l.near = x
			l.r.Blocked(d.block(l, x))
		}
	}
}

func (d *naive) block(l, x *naiveLease) exec.Block {
	b := exec.Block{Who: l.r.By, By: x.r.By, Abandoned: x.abandoned}
	for _, mine := range l.claims {
		for _, his := range x.claims {
			if d.collide(mine, his) {
				b.Mine, b.Held = mine, his
			}
		}
	}
	switch {
	case d.is("told of himself"):
		b.By = b.Who
	case d.is("told what somebody else waits for"):
		b.Who = b.By
	case d.is("told of what he does not want"):
		b.Mine = plan.Claim{Key: "another"}
	}
	return b
}

// inTheWay returns the first lease for which another has to wait, or nil.
func (d *naive) inTheWay(l *naiveLease) *naiveLease {
	for _, x := range d.active {
		if x == l || d.holder(x.request) != d.holder(l.request) && !(d.is("an abandoned lease bars everything") && x.barred > 0) || d.over(x) {
			continue
		}
		bars := x.barred > 0 && (x.barred < l.asked || d.is("an abandoned lease bars who came before"))
		if d.is("an abandoned lease that is released bars no more") && x.released {
			bars = false
		}
		if bars {
			return x
		}
		if !d.conflict(x.request, l.request) {
			continue
		}
		switch {
		case x.granted:
		case d.is("who comes first does not matter"), d.is("the last comes first"):
			continue
		case d.is("readers overtake") && !slices.ContainsFunc(l.claims, func(c plan.Claim) bool { return c.Access == plan.Write }):
			continue
		case x.n < l.n:
		case d.is("a writer waits for later readers") && !slices.ContainsFunc(x.claims, func(c plan.Claim) bool { return c.Access == plan.Write }):
		default:
			continue
		}
		return x
	}
	return nil
}

func (d *naive) over(l *naiveLease) bool {
	if d.is("a lease ends with its Release") && l.released || l.gives {
		return true
	}
	return l.refused || l.lost || l.released && !slices.ContainsFunc(l.kids, func(kid *naiveLease) bool { return !d.over(kid) })
}

func (d *naive) holder(r *request) *request {
	switch {
	case d.is("what is nested competes in the Domain"):
		return nil
	case d.is("what is nested competes within its parent, claims or not"):
		return r.in
	}
	return holder(r)
}

func (d *naive) conflict(a, b *request) bool {
	if d.is("no claims wait for a write of everything") && (slices.ContainsFunc(a.claims, everything) || slices.ContainsFunc(b.claims, everything)) {
		return true
	}
	return slices.ContainsFunc(a.claims, func(x plan.Claim) bool {
		return slices.ContainsFunc(b.claims, func(y plan.Claim) bool { return d.collide(x, y) })
	})
}

func (d *naive) collide(x, y plan.Claim) bool {
	switch {
	case d.is("slashes at the end count") && strings.HasSuffix(x.Key, "/") != strings.HasSuffix(y.Key, "/"):
		return false
	case d.is("an empty key is a key like others") && (everything(x) || everything(y)):
		return x.Key == y.Key
	case d.is("an empty key is a read if it says so") && (everything(x) || everything(y)):
		return x.Access == plan.Write || y.Access == plan.Write
	case d.is("trees are prefixes of strings") && (x.Tree && strings.HasPrefix(y.Key, x.Key) || y.Tree && strings.HasPrefix(x.Key, y.Key)):
		return x.Access == plan.Write || y.Access == plan.Write
	case d.is("trees cover themselves only"):
		x.Tree, y.Tree = false, false
	case d.is("readers do not share") && x.Access == plan.Read && y.Access == plan.Read:
		x.Access = plan.Write
	}
	return collide(x, y)
}

// uncovered refuses what the claims around it do not cover.
func (d *naive) uncovered(l *naiveLease) error {
	h := holder(l.request)
	if h == nil || d.is("no cover is asked for") {
		return nil
	}
	if d.is("only the parent must cover") && len(l.in.claims) == 0 {
		return nil
	}
	q := *l.request
	switch {
	case d.is("a read covers a write"):
		q.claims = slices.Clone(q.claims)
		for i := range q.claims {
			q.claims[i].Access = plan.Read
		}
	case d.is("a plain key covers the tree"):
		q.claims = slices.Clone(q.claims)
		for i := range q.claims {
			q.claims[i].Tree = false
		}
	}
	i := missing(&q)
	if i < 0 || d.is("claims cover together") && together(h, l.claims[i]) {
		return nil
	}
	holder := d.leases[h.n-1]
	err := &exec.UncoveredError{Claim: l.claims[i], Holder: holder.r.By, Held: slices.Clone(h.claims)}
	switch {
	case d.is("the last claim is named"):
		err.Claim = l.claims[len(l.claims)-1]
	case d.is("the outermost holder is named"):
		for h.in != nil {
			h = h.in
		}
		err.Holder = d.leases[h.n-1].r.By
	case d.is("nothing is said to be held"):
		err.Held = nil
	case d.is("a refusal is any error"):
		return fmt.Errorf("no: %v", err)
	}
	return err
}

// together reports whether a plain claim covers the key of a tree, and a tree claim what is below it.
func together(h *request, c plan.Claim) bool {
	access := func(tree bool) bool {
		return slices.ContainsFunc(h.claims, func(held plan.Claim) bool {
			return held.Tree == tree && covers(plan.Claim{Key: held.Key, Access: held.Access, Tree: true}, c)
		})
	}
	return c.Tree && access(true) && access(false) || covers(plan.Claim{Key: c.Key}, c) && slices.ContainsFunc(h.claims, func(held plan.Claim) bool {
		return held.Access == plan.Read && covers(held, plan.Claim{Key: c.Key, Access: plan.Read, Tree: c.Tree})
	}) && slices.ContainsFunc(h.claims, func(held plan.Claim) bool { return held.Access == plan.Write })
}

func (l *naiveLease) Release() {
	d := l.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.released && d.is("a second Release ends it") {
		l.gives = true
	}
	l.released, l.closed = true, true
	if d.is("a released lease can be used") {
		l.closed = false
	}
	for _, kid := range d.leases {
		if kid.in == l.request && !d.is("who waits within is not refused") {
			kid.refuse(fmt.Errorf("%w: released", exec.ErrLeaseEnded))
		}
	}
	if !d.is("who waits for a Release waits on") || l.n > 1 {
		d.serve()
	}
}

func (l *naiveLease) Abandon() {
	d := l.d
	if d.is("Abandon releases") {
		l.Release()
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.serve()
	if l.abandoned && !d.is("a second Abandon bars again") || l.released && !d.is("an Abandon after Release counts") {
		return
	}
	l.abandoned = true
	bars := l.exclusive || d.is("any lease without claims bars when it is abandoned")
	bars = bars && (len(l.claims) == 0 || d.is("any exclusive lease bars when it is abandoned"))
	if bars && !d.is("an abandoned lease bars nothing") {
		if l.barred = d.model.now; l.released {
			l.released = false
			d.active = append(d.active, l)
		}
	}
	for _, kid := range d.leases {
		if kid != l && !kid.within(l.request) {
			continue
		}
		if kid != l && !d.is("who waits within is not refused") {
			kid.refuse(fmt.Errorf("%w: abandoned", exec.ErrLeaseEnded))
		}
		if !d.is("an abandoned lease can be used") && (kid == l || !d.is("what is within an abandoned lease can be used")) {
			kid.closed = true
		}
	}
}

func (l *naiveLease) Token() uint64 {
	d := l.d
	d.mu.Lock()
	defer d.mu.Unlock()
	q := l.request
	for h := holder(q); h != nil && !d.is("what is nested has tokens of its own"); h = holder(q) {
		q = h
	}
	switch {
	case d.is("all tokens are the same"):
		return 1
	case d.is("tokens begin at 0"):
		return uint64(q.n) - 1
	case d.is("tokens fall"):
		return 1000 - uint64(q.n)
	}
	return uint64(q.n)
}

func (l *naiveLease) Lost() <-chan struct{} {
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	if l.d.is("Lost is closed by Release") && l.released && l.n == 1 || l.d.is("everything is lost") {
		lost := make(chan struct{})
		close(lost)
		return lost
	}
	if l.d.is("there is no Lost") {
		return nil
	}
	return l.gone
}

// expire makes a lease run out.
func (l *naiveLease) expire() {
	d := l.d
	d.mu.Lock()
	defer d.mu.Unlock()
	late := d.is("Lost is closed after others are granted")
	for _, kid := range d.leases {
		if kid == l || kid.within(l.request) && !d.is("only the outermost is lost") {
			if kid != l && !d.is("who waits within a lost lease is not refused") {
				kid.refuse(fmt.Errorf("%w: it ran out", exec.ErrLeaseEnded))
			}
			kid.lost, kid.closed = true, !d.is("a lost lease can be used")
			if !late {
				close(kid.gone)
			}
		}
	}
	if d.is("who waits for a lost lease waits on") {
		return
	}
	d.serve()
	if late {
		d.mu.Unlock()
		synctest.Wait()
		d.mu.Lock()
		close(l.gone)
	}
}

// openNaive opens a Domain that breaks one promise, or none.
func openNaive(breaks string) func(testing.TB) exec.Domain {
	return func(t testing.TB) exec.Domain {
		d := &naive{breaks: breaks, end: make(chan struct{})}
		t.Cleanup(func() { close(d.end) })
		return d
	}
}
