package domaintest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// observe compares what has been answered, errors first: they let others go on.
func (w *world) observe() error {
	var answered []*attempt
	for _, a := range w.all {
		if a.open() && a.answered() {
			answered = append(answered, a)
		}
	}
	for _, a := range answered {
		if a.err != nil {
			if err := w.refusal(a); err != nil {
				return err
			}
		}
	}
	for _, a := range answered {
		if a.err == nil {
			if err := w.grant(a); err != nil {
				return err
			}
		}
	}
	return nil
}

// refusal compares an error with what the model allows.
func (w *world) refusal(a *attempt) error {
	w.note("request %d gets an error: %v", a.n, a.err)
	a.refused = true
	var refuses *exec.UncoveredError
	var kind refusal
	switch {
	case a.err == a.cause:
		kind = cancelled
	case errors.As(a.err, &refuses):
		kind = uncovered
	case errors.Is(a.err, exec.ErrLeaseEnded):
		kind = leaseEnded
	}
	switch {
	case a.mayFail == 0:
		return w.broken(w.as, "request %d gets an error", a.n)
	case kind&a.mayFail == 0:
		return w.broken(a.breaks(), "request %d gets another error than %v", a.n, a.mayFail)
	case kind != uncovered:
		return nil
	}
	h := w.all[holder(a.request).n-1]
	if want := a.claims[missing(a.request)]; refuses.Claim != want {
		return w.broken(guaranteeNesting, "request %d: the first claim that is not covered is %v, but the error has %v", a.n, want, refuses.Claim)
	}
	if refuses.Holder != h.by {
		return w.broken(guaranteeNesting, "request %d must be covered by %v, but the error has %v", a.n, h.by, refuses.Holder)
	}
	if !slices.Equal(sorted(refuses.Held), sorted(h.claims)) {
		return w.broken(guaranteeNesting, "request %d must be covered by %s, but the error has %s", a.n, list(h.claims), list(refuses.Held))
	}
	return nil
}

func sorted(claims []plan.Claim) []plan.Claim {
	return slices.SortedFunc(slices.Values(claims), func(a, b plan.Claim) int {
		return strings.Compare(fmt.Sprintf("%#v", a), fmt.Sprintf("%#v", b))
	})
}

// grant compares a lease with what the model allows.
func (w *world) grant(a *attempt) error {
	w.note("request %d is granted", a.n)
	if a.lease == nil {
		return w.broken(w.as, "Acquire of request %d returned neither a lease nor an error", a.n)
	}
	if a.mustFail {
		return w.broken(a.breaks(), "request %d is granted, and must get an error: %v", a.n, a.mayFail)
	}
	if x := w.model.inTheWay(a.request); x != nil {
		switch {
		case x.barred > 0 && x.barred < a.asked:
			return w.broken(guaranteeAbandonment, "request %d is granted, although request %d was abandoned before it came and might do anything", a.n, x.n)
		case !x.granted:
			return w.broken(w.as, "request %d is granted, although request %d came first, wants (%s), and waits", a.n, x.n, list(x.claims))
		case x.abandoned && !x.released:
			return w.broken(guaranteeAbandonment, "request %d is granted, although request %d has (%s) until its Release", a.n, x.n, list(x.claims))
		case x.released:
			return w.broken(guaranteeExpiry, "request %d is granted, although request %d has (%s) until all within it has ended", a.n, x.n, list(x.claims))
		}
		return w.broken(w.as, "request %d is granted, although request %d has (%s)", a.n, x.n, list(x.claims))
	}
	a.granted, a.mayFail = true, 0
	if a.came == 0 {
		a.came = w.model.now
	}
	return w.fenced(a)
}

// fenced compares the token of a lease with those of others.
func (w *world) fenced(a *attempt) error {
	token := a.lease.Token()
	if h := holder(a.request); h != nil {
		if want := w.all[h.n-1].lease.Token(); token != want {
			return w.broken(guaranteeFencing, "request %d has token %d, and request %d, in which it competes, %d", a.n, token, h.n, want)
		}
		return nil
	}
	if token == 0 {
		return w.broken(guaranteeFencing, "request %d has token 0", a.n)
	}
	for _, x := range w.all {
		if x == a || !x.granted || holder(x.request) != nil || !conflict(x.request, a.request) {
			continue
		}
		if other := x.lease.Token(); other >= token {
			return w.broken(guaranteeFencing, "request %d has token %d, and request %d, which was in its way, %d", a.n, token, x.n, other)
		}
		if x.lost && !slices.Contains(a.saw, x.n) {
			return w.broken(guaranteeExpiry, "request %d was granted before Lost of request %d was closed", a.n, x.n)
		}
	}
	return nil
}

// look compares what is there besides the answers.
func (w *world) look() error {
	for _, a := range w.all {
		a.mu.Lock()
		told, late := slices.Clone(a.told), a.late
		a.mu.Unlock()
		if late {
			return w.broken(guaranteeBlocked, "request %d was told what it waits for after Acquire had returned", a.n)
		}
		for _, b := range told[a.judged:] {
			a.judged++
			if err := w.block(a, b); err != nil {
				return err
			}
		}
		if a.overAt == 0 && w.model.isOver(a.request) {
			a.overAt = w.model.now
		}
		if len(told) > 0 && a.came == 0 {
			a.came = w.model.now
		}
		if a.granted && !a.released && gone(a.lease) != a.lost {
			if a.lost {
				return w.broken(guaranteeExpiry, "request %d has run out, but Lost is not closed", a.n)
			}
			return w.broken(guaranteeExpiry, "the lease of request %d has run out although nobody made it", a.n)
		}
	}
	return nil
}

// block compares what a request was told with what can have been in its way.
func (w *world) block(a *attempt, b exec.Block) error {
	if b.Who != a.by {
		return w.broken(guaranteeBlocked, "request %d is %v, and was told what %v waits for", a.n, a.by, b.Who)
	}
	if b.By.Call < 0 { // it will not be told any more
		a.untold = true
		return nil
	}
	if a.untold {
		return w.broken(guaranteeBlocked, "request %d was told what it waits for after it was told that it would not be", a.n)
	}
	i := slices.IndexFunc(w.all, func(x *attempt) bool { return x.by == b.By })
	if i < 0 {
		return w.broken(guaranteeBlocked, "request %d was told that it waits for %v, whom nobody knows", a.n, b.By)
	}
	x := w.all[i]
	switch {
	case x == a || holder(x.request) != holder(a.request) || before(a.request, x.request):
	case w.suite.pause == 0 && x.overAt > 0 && x.overAt < w.model.now:
	case b.Held == (plan.Claim{}) && b.Mine == (plan.Claim{}) && x.barred > 0 && b.Abandoned:
		return nil
	case slices.Contains(a.claims, b.Mine) && slices.Contains(x.claims, b.Held) && collide(b.Mine, b.Held):
		return nil
	}
	return w.broken(guaranteeBlocked, "request %d was told that its (%v) waits for (%v) of request %d, which is not in its way", a.n, b.Mine, b.Held, x.n)
}
