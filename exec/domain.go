package exec

import (
	"context"
	"fmt"

	"github.com/keywave-go/keywave/plan"
)

// A Domain holds claims across lanes: those of several agents, of their sub-agents, of later turns. Lanes that are
// given the same one with [In] take the claims of every call from it, for as long as the call's body runs, so that
// bodies of different lanes never overlap in what they claim. Within one lane its admission has seen to that already;
// what only a Domain knows of are the claims of exclusive calls.
//
// [NewDomain] makes one that lives in memory. It is an interface because a service can stand behind it that grants
// leases to several processes. An implementation must be comparable, a pointer say, be safe for concurrent use, and
// guarantee this; package exec/domaintest has the tests:
//
//   - Whole sets. A request is granted all of its claims in one step, or none. A lease takes on none later.
//   - Order. Two requests are in each other's way when two of their claims overlap and one of those is a write, as
//     [plan.Conflict] says of safe calls. Of two that are in each other's way the one whose Acquire came first is granted
//     first, and the other when that lease has ended: a writer waits for what came before it and nothing else, and
//     readers that come later queue behind it. Nothing else makes a request wait. A claim whose key is empty, slashes
//     aside, is a write of everything.
//   - Fencing. Tokens are above 0, and of two leases that were in each other's way the later has the higher token, so that
//     a store that has seen the later can refuse the earlier. A lease that competes within another one has the token of
//     that: to everybody else the two are one.
//   - Expiry. A lease lasts until its Release. An implementation that cannot wait for that, since its holder may be gone,
//     closes Lost before it grants the claims to anybody else.
//   - Nesting. A lease is itself a Domain: what is acquired of it competes within it, by the same rules. It must be covered
//     by the claims of the nearest lease around it that has any, claim by claim, where a read does not cover a write; if
//     it is not, Acquire returns an [*UncoveredError] at once. With no claims anywhere around it, it competes in the Domain
//     that all of them come from. A lease has ended when it was released and every lease acquired of it has ended.
//   - Abandonment. An abandoned lease keeps its claims until its Release, and an exclusive one that has none keeps every
//     request that comes later from being granted where it competed. Nothing is acquired any more of it, nor of any lease
//     within it, and nothing of a released one: Acquire returns an error that wraps [ErrLeaseEnded], also to those that
//     wait already.
//   - Cancel. When ctx is done, Acquire returns [context.Cause], and leaves nothing behind that others could wait for.
type Domain interface {
	Acquire(ctx context.Context, r Request) (Lease, error)
}

// A Request is what a call asks of a [Domain].
type Request struct {
	By        Caller       // whose call it is
	Claims    []plan.Claim // in any order, also none, also the same twice; Acquire keeps nothing of the slice
	Exclusive bool         // the call runs alone in its lane; it matters only when its lease has no claims and is abandoned

	// Blocked, if not nil, is told what keeps the request waiting, once it has to wait and whenever that changes: at
	// most 17 times, and never after Acquire has returned. It must be quick and must not call back into the Domain, which
	// may hold a lock. A Domain that does not know need not call it.
	Blocked func(Block)
}

// A Lease is what a call holds while its body runs. Its methods are safe for concurrent use. The lane calls Release
// exactly once.
type Lease interface {
	Domain

	// Release says that the body has returned.
	Release()

	// Abandon says that the body was given up although it runs: it keeps the claims until its Release.
	Abandon()

	// Token is the fencing token.
	Token() uint64

	// Lost is closed when the lease has run out before its Release. A nil channel: it never does. The lane cancels
	// the call then, with [ErrLeaseLost], and in [Run] and [Each] that is a hard error.
	Lost() <-chan struct{}
}

// A Caller names a call to those who wait for it.
type Caller struct {
	Lane string // as Name says; empty: it has none
	Call int    // index of the call in its lane
}

// String returns "call 3 of A", counting from 1.
func (c Caller) String() string {
	if c.Lane == "" {
		return fmt.Sprintf("call %d of another lane", c.Call+1)
	}
	return fmt.Sprintf("call %d of %s", c.Call+1, bounded(c.Lane))
}

// A Block says what keeps a request of a [Domain] waiting.
type Block struct {
	Who       Caller     // the one that waits
	Mine      plan.Claim // what it wants
	By        Caller     // the one that is in its way: it holds Held, or has waited for it longer
	Held      plan.Claim // zero, as Mine is, if By was abandoned and might do anything
	Abandoned bool       // By was abandoned
}

// String says it in a line: "call 1 of B waits for call 3 of A (write a)".
func (b Block) String() string {
	return fmt.Sprintf("%v waits for %v (%s)", b.Who, b.By, held(b.Held, b.Abandoned))
}

// held says what somebody has.
func held(c plan.Claim, abandoned bool) string {
	switch {
	case !abandoned:
		return c.String()
	case c == (plan.Claim{}):
		return "abandoned, and may do anything"
	}
	return c.String() + ", abandoned"
}

// An UncoveredError refuses a call that is nested in the body of another one: that one holds claims, and they do not
// cover what this one wants. To wait for it could be to wait for somebody who waits for the other one.
type UncoveredError struct {
	Claim  plan.Claim   // the first that is not covered
	Holder Caller       // the call in which the refused one is nested, the nearest that has claims
	Held   []plan.Claim // what it holds
}

// Error names the claim, and the call that should have claimed as much.
func (e *UncoveredError) Error() string {
	has := ""
	for i, c := range e.Held {
		if i == 3 {
			has += fmt.Sprintf(" and %d more", len(e.Held)-i)
			break
		}
		if i > 0 {
			has += ", "
		}
		has += c.String()
	}
	return fmt.Sprintf("claim %v is not covered by those of %v, in which the call is nested: %s", e.Claim, e.Holder, has)
}

// Token returns the fencing token of the call whose body was given ctx, to be handed on to a store that refuses a writer
// whose token is lower than one that it has seen. It is false for a ctx that is of no call in a [Domain].
func Token(ctx context.Context) (token uint64, ok bool) {
	h, _ := holdOf(ctx)
	if h == nil || h.lease == nil {
		return 0, false
	}
	return h.lease.Token(), true
}
