package plan

import (
	"errors"
	"fmt"
)

// ErrPlan is the error that every complaint about a plan wraps: of New about its form, of Verify and VerifyOrdered
// about what it would do to a batch.
var ErrPlan = errors.New("invalid plan")

// complaint is an error that wraps ErrPlan.
func complaint(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrPlan, fmt.Sprintf(format, args...))
}

// Verify checks what holds of any plan for a batch: it has exactly these calls, an exclusive call is alone in its
// wave, and no two calls of a wave conflict. The error joins the violations, one for each pair of calls, up to the
// first hundred; each wraps ErrPlan. A plan in order is checked in linear time.
func Verify(calls []Call, p Plan) error { return verify(calls, p, false) }

// VerifyOrdered checks what holds of Ordered on top of that: of two calls in conflict the earlier one is in the
// earlier wave, and no call is in a later wave than that demands.
func VerifyOrdered(calls []Call, p Plan) error { return verify(calls, p, true) }

func verify(calls []Call, p Plan, inOrder bool) error {
	if len(p.of) != len(calls) {
		return complaint("it has %d calls, the batch %d", len(p.of), len(calls))
	}
	v := verifier{calls: calls, plan: p}
	for i := range calls {
		v.trees = v.trees || hasTree(calls[i].Claims)
	}
	more := true
	for w := 0; more && w < len(p.waves); w++ {
		more = v.apart(p.waves[w])
	}
	if more && inOrder {
		v.order()
	}
	return errors.Join(v.errs...)
}

// A verifier looks for violations with marks, and only where they show one compares calls one by one.
type verifier struct {
	placer
	calls []Call
	plan  Plan
	errs  []error
}

// manyViolations is where a report ends: a bad plan of n calls can have n² of them.
const manyViolations = 100

// complain adds a violation and reports whether there is room for another.
func (v *verifier) complain(format string, args ...any) bool {
	v.errs = append(v.errs, complaint(format, args...))
	if len(v.errs) == manyViolations {
		v.errs = append(v.errs, complaint("there may be more"))
	}
	return len(v.errs) < manyViolations
}

// behind returns the first wave behind every call marked so far that conflicts with c.
func (v *verifier) behind(c *Call) int {
	if c.Exclusive() {
		return v.top + 1
	}
	v.look(c)
	w := v.floor
	for i := range c.Claims {
		w = max(w, v.after(v.found[i], &c.Claims[i]))
	}
	return w
}

// apart finds the calls that must not share a wave, and reports whether to go on.
func (v *verifier) apart(wave []int) bool {
	v.reset(v.trees, 0)
	for n, j := range wave {
		c := &v.calls[j]
		if v.behind(c) > 0 {
			for _, i := range wave[:n] {
				a, b := min(i, j), max(i, j)
				if Conflict(v.calls[a], v.calls[b]) && !v.complain("calls %d and %d share wave %d: %s",
					a+1, b+1, v.plan.of[j]+1, quarrel(v.calls[a], v.calls[b])) {
					return false
				}
			}
		}
		v.settleIn(c, 0)
	}
	return true
}

// order finds the calls that are too early or too late.
func (v *verifier) order() {
	v.reset(v.trees, 0)
	for j := range v.calls {
		c, got := &v.calls[j], int(v.plan.of[j])
		want := v.behind(c)
		if got > want && !v.complain("call %d is in wave %d, but nothing keeps it out of wave %d", j+1, got+1, want+1) {
			return
		}
		if got < want {
			for i := range j {
				if int(v.plan.of[i]) >= got && Conflict(v.calls[i], *c) &&
					!v.complain("call %d in wave %d is not after call %d in wave %d: %s",
						j+1, got+1, i+1, v.plan.of[i]+1, quarrel(v.calls[i], *c)) {
					return
				}
			}
		}
		v.settleIn(c, got)
	}
}

// quarrel says why two calls conflict.
func quarrel(a, b Call) string {
	switch of, with, found := collide(a, b); {
	case a.Exclusive() && b.Exclusive():
		return "both are exclusive"
	case a.Exclusive():
		return "the first is exclusive"
	case b.Exclusive():
		return "the second is exclusive"
	case found:
		return fmt.Sprintf("%v and %v", of, with)
	}
	return "they do not conflict"
}
