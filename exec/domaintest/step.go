package domaintest

import (
	"fmt"
	"strings"

	"github.com/keywave-go/keywave/plan"
)

// A guarantee is one of those in the comment of exec.Domain, and a group of tests.
type guarantee string

const (
	guaranteeInterface   guarantee = "Interface"
	guaranteeWholeSets   guarantee = "WholeSets"
	guaranteeOrder       guarantee = "Order"
	guaranteeFencing     guarantee = "Fencing"
	guaranteeExpiry      guarantee = "Expiry"
	guaranteeNesting     guarantee = "Nesting"
	guaranteeAbandonment guarantee = "Abandonment"
	guaranteeRepetition  guarantee = "Repetition"
	guaranteeCancel      guarantee = "Cancel"  // in the comment of its Acquire
	guaranteeBlocked     guarantee = "Blocked" // in the comment of exec.Request
	guaranteeTogether    guarantee = "Together"
)

// breaks returns the guarantee that is broken when a request is not refused that must be.
func (r *request) breaks() guarantee {
	switch {
	case r.mayFail&cancelled != 0:
		return guaranteeCancel
	case r.mayFail&uncovered != 0:
		return guaranteeNesting
	case r.in.lost:
		return guaranteeExpiry
	}
	return guaranteeAbandonment
}

// String names the errors.
func (r refusals) String() string {
	var s []string
	if r&cancelled != 0 {
		s = append(s, "the cause of its context")
	}
	if r&leaseEnded != 0 {
		s = append(s, "one that wraps ErrLeaseEnded")
	}
	if r&uncovered != 0 {
		s = append(s, "an *UncoveredError")
	}
	return strings.Join(s, " or ")
}

// An action is what a step does.
type action uint8

const (
	acquires action = iota
	releases
	abandons
	cancels
	expires
)

// A step is one thing that is done with a Domain.
type step struct {
	do        action
	of        int // the number of a request, from 1; of acquires, whose lease it is acquired from, and 0 is the Domain
	claims    []plan.Claim
	exclusive bool
	late      bool // the context is done already
}

func acquire(claims ...plan.Claim) step { return step{do: acquires, claims: claims} }

func (s step) within(n int) step {
	s.of = n
	return s
}

func (s step) alone() step {
	s.exclusive = true
	return s
}

func (s step) tooLate() step {
	s.late = true
	return s
}

func release(n int) step { return step{do: releases, of: n} }
func abandon(n int) step { return step{do: abandons, of: n} }
func cancel(n int) step  { return step{do: cancels, of: n} }
func expire(n int) step  { return step{do: expires, of: n} }

func read(key string) plan.Claim      { return plan.Claim{Key: key, Access: plan.Read} }
func write(key string) plan.Claim     { return plan.Claim{Key: key} }
func readTree(key string) plan.Claim  { return plan.Claim{Key: key, Access: plan.Read, Tree: true} }
func writeTree(key string) plan.Claim { return plan.Claim{Key: key, Tree: true} }

// describe says what a step does, which is that of request n if it acquires.
func (s step) describe(n int) string {
	switch s.do {
	case releases:
		return fmt.Sprintf("request %d is released", s.of)
	case abandons:
		return fmt.Sprintf("request %d is abandoned", s.of)
	case cancels:
		return fmt.Sprintf("the context of request %d is cancelled", s.of)
	case expires:
		return fmt.Sprintf("the lease of request %d runs out", s.of)
	}
	text := fmt.Sprintf("request %d: %s", n, list(s.claims))
	if s.exclusive {
		text += ", exclusive"
	}
	if s.of > 0 {
		text += fmt.Sprintf(", within request %d", s.of)
	}
	if s.late {
		text += ", with a context that is done"
	}
	return text
}

// list shows claims: "write a, read lib/...".
func list(claims []plan.Claim) string {
	if len(claims) == 0 {
		return "no claims"
	}
	s := make([]string, len(claims))
	for i, c := range claims {
		s[i] = c.String()
		if strings.HasSuffix(c.Key, "/") && !everything(c) {
			s[i] += fmt.Sprintf(" as %q", c.Key)
		}
	}
	return strings.Join(s, ", ")
}
