package exec

import (
	"context"
	"fmt"
	"strings"

	"github.com/keywave-go/keywave/plan"
)

// A Domain holds claims across lanes: those of several agents, of their sub-agents, of later turns. Lanes that are
// given the same one with [In] take the claims of every call from it, for as long as the call's body runs, so that
// bodies of different lanes never overlap in what they claim. [NewDomain] makes one that lives in memory.
//
// It is an interface because a service can stand behind it that grants leases to several processes. An implementation
// must be comparable, as a pointer is, be safe for concurrent use, and guarantee what follows; package exec/domaintest
// has the tests.
//
//   - Whole sets. A request is granted all of its claims in one step, or none. A lease takes on none later.
//   - Order. Two requests conflict when two of their claims overlap and one of these is a write, as [plan.Conflict] says of
//     safe calls. Of two that conflict the one whose Acquire came first is granted first, and the other when that lease
//     has ended: a writer waits for what came before it and nothing else, and readers that come later queue behind it.
//     A claim whose key is empty, slashes aside, is a write of everything.
//   - Fencing. Tokens are above 0, and of two leases that conflict the later has the higher token, so that a store that has
//     seen the later can refuse the earlier. A lease that competes within another one has the token of that: to everybody
//     else the two are one.
//   - Nesting. A lease is itself a Domain: what is acquired from it competes within it, by the same rules. It must be
//     covered by the claims of the nearest lease around it that has any, each claim by one of those, where a read does not
//     cover a write; if it is not, Acquire returns an [*UncoveredError] at once. If no lease around it has claims, it
//     competes in the Domain that they all come from. A lease has ended when it was released and every lease acquired from
//     it has ended.
//   - Abandonment. An abandoned lease keeps its claims until its Release. If it is exclusive and has none, every later
//     request that competes where it does waits for its Release. From an abandoned lease, and from the leases within it,
//     nothing more is acquired.
//   - Expiry. A lease lasts until it has ended. An implementation that cannot wait for that, because the holder may be gone,
//     closes Lost before it grants the claims to anybody else, also that of the leases within; nothing more is acquired
//     from them.
//   - Repetition. A second Release or Abandon, and an Abandon after the Release, do nothing.
type Domain interface {
	// Acquire waits until the request can be granted, and returns its lease.
	//
	// When ctx is done it returns [context.Cause], and leaves nothing behind that others would wait for. From a lease that
	// was released, abandoned or lost, or lies within one that was abandoned or lost, it returns an error that wraps
	// [ErrLeaseEnded], at once, and also to those that wait already. Any other error refuses the request, as an
	// [*UncoveredError] does.
	Acquire(ctx context.Context, r Request) (Lease, error)
}

// A Request is what a call asks of a [Domain].
type Request struct {
	By     Caller       // whose call it is
	Claims []plan.Claim // in any order, also none, also the same twice; Acquire keeps nothing of the slice

	// Exclusive: the call runs alone in its lane, and may do anything if it claims nothing. What that means for others
	// depends on its claims alone, until it is abandoned.
	Exclusive bool

	// Blocked, if not nil, is told what keeps the request waiting, once it has to wait and whenever that changes, but not
	// without end: the last Block may have a By whose Call is below 0, which stands for all that follow. Blocked is not
	// called once Acquire has returned. It must be quick, and neither panic nor call back into the Domain, which may hold
	// a lock. A Domain that does not know need not call it.
	Blocked func(Block)
}

// A Lease is what a call holds while its body runs. Its methods are safe for concurrent use. A lane calls Release once,
// when the body has returned, and Abandon before that if it gives the body up.
type Lease interface {
	Domain

	// Release says that the body has returned.
	Release()

	// Abandon says that nobody waits for the body any more, which still runs: the lease keeps its claims until Release.
	Abandon()

	// Token returns the fencing token: see [FencingToken]. It does not change.
	Token() uint64

	// Lost returns a channel that is closed when the lease runs out before it was released; nil if that cannot be. The
	// lane cancels the call then, with [ErrLeaseLost]; in [Run] and [Each] that is a hard error.
	Lost() <-chan struct{}
}

// A Caller names the call that asks a [Domain] for claims to those who wait for it.
type Caller struct {
	Lane string // the name of its lane, from [Name]; empty: it has none
	Call int    // its index in the lane, from 0
}

// String returns "call 3 of A", counting from 1.
func (c Caller) String() string {
	if c.Call < 0 {
		return "other calls"
	}
	if c.Lane == "" {
		return fmt.Sprintf("call %d of another lane", c.Call+1)
	}
	return fmt.Sprintf("call %d of %s", c.Call+1, bounded(c.Lane))
}

// A Block says what keeps a request of a [Domain] waiting.
type Block struct {
	Who       Caller     // the call that waits
	Mine      plan.Claim // what it wants
	By        Caller     // the call that is in its way: it has Held, or has waited for it longer
	Held      plan.Claim // what that one claims
	Abandoned bool       // By was abandoned. If it is exclusive and claims nothing, Mine and Held are zero: it might do anything
}

// String says it in a line: "call 1 of B waits for call 3 of A (write a)".
func (b Block) String() string {
	if b.By.Call < 0 {
		return fmt.Sprintf("%v waits for %v", b.Who, b.By)
	}
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

// An UncoveredError refuses a call that is nested in the body of another one, which has claims that do not cover those of
// the nested call. To wait for them could deadlock: whoever has them may wait for the claims of the other.
type UncoveredError struct {
	Claim  plan.Claim   // the first that is not covered
	Holder Caller       // the call in which the refused one is nested, the nearest that has claims
	Held   []plan.Claim // what it holds; not to be modified
}

// Error names the claim, and the call that should have claimed as much.
func (e *UncoveredError) Error() string {
	const most = 3
	var has []string
	for _, c := range e.Held[:min(most, len(e.Held))] {
		has = append(has, c.String())
	}
	if more := len(e.Held) - most; more > 0 {
		has = append(has, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("claim %v is not covered by those of %v, in which the call is nested: %s", e.Claim, e.Holder, strings.Join(has, ", "))
}

// FencingToken returns the token of the call in a [Domain] whose body was given ctx, to hand on to a store that refuses a
// writer whose token is lower than one that it has seen. It is false for any other ctx, and may be once the body has
// returned.
func FencingToken(ctx context.Context) (token uint64, ok bool) {
	h, _ := holdOf(ctx)
	if h == nil || h.lease == nil {
		return 0, false
	}
	return h.lease.Token(), true
}
