package plantest

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/keywave-go/keywave/plan"
)

// A Contract is a set of promises: of a planner, P1 to P12, or of an admission, A1 to A9. They are numbered as in
// the design of keywave; conflict means [Conflict], and i<j are indexes in the model's order.
type Contract uint32

const (
	P1  Contract = 1 << iota // every call is in exactly one wave, and an unsafe call is alone in its wave
	P2                       // no two calls of a wave conflict
	P3                       // i<j in conflict: the wave of i is before the wave of j
	P4                       // minimal: j is in the first wave, or in the one after that of a conflicting i<j
	P5                       // the waves of greedy first-fit, as [FirstFit] computes them
	P6                       // at most one plain write key a call: both planners agree, with P3 on each stretch between unsafe calls
	P7                       // the same input gives the same plan, and is left as it was
	P8                       // the claims of one call are merged, and one with an empty key makes it exclusive
	P9                       // keys compare by component: two calls share a wave unless they conflict
	P10                      // the claims of an unsafe call play no part
	P11                      // first-fit's inversions happen, in the batches of [Inversions]
	P12                      // without claims the waves are the groups of the rolling pool

	A1 // two conflicting calls never run together
	A2 // i<j in conflict: i settles before j starts
	A3 // exactly the rolling pool, which starts in the model's order
	A4 // no deadlock: when nothing runs and no commit is due, some unstarted call may start
	A5 // never ahead of Keyed: what may start here might start there too, in the same state
	A6 // never behind Keyed: a call waits only for an earlier call in conflict, or for a barrier
	A7 // a start takes the class of that moment: true exactly when Next would offer it so; Reordered tells the truth
	A8 // all this for streams, with submissions anywhere; without it only for batches submitted whole
	A9 // no call waits for one that was submitted after it had to wait, unless the two conflict

	Interface // what the comments of plan.Admission say of its methods, without panics: asked of all, claimed or not
	Likeness  // the answers of the admission that it is compared with; there is no claiming it
)

const (
	ofPlanners   = P12<<1 - P1
	ofOnePlan    = P1 | P2 | P3 | P4 | P5 | P6 | P12
	ofAdmissions = A9<<1 - A1 | Interface
)

// claim complains about contracts that are not of a kind: a test that claims nothing else would check nothing.
func (c Contract) claim(kind string, of Contract) error {
	switch {
	case c == 0:
		return fmt.Errorf("plantest: no %s contract: there is nothing to check", kind)
	case c&of == 0:
		return fmt.Errorf("plantest: no %s contract in %v", kind, c)
	case c&^of != 0:
		return fmt.Errorf("plantest: not a %s contract: %v", kind, c&^of)
	}
	return nil
}

// What the planners and admissions of package plan promise.
const (
	AnyPlanner      = P1 | P2 | P7 | P8 | P9 | P10
	OrderedPlanner  = AnyPlanner | P3 | P4 | P6 | P12
	FirstFitPlanner = AnyPlanner | P5 | P6 | P11

	AnyAdmission      = A1 | A4 | A7 | A8 | A9
	SerialAdmission   = AnyAdmission | A2 | A5
	RollingAdmission  = AnyAdmission | A2 | A3 | A5
	WavesAdmission    = AnyAdmission | A2 | A5
	KeyedAdmission    = AnyAdmission | A2 | A5 | A6
	FirstFitAdmission = AnyAdmission
)

// String lists the contracts by name: "P1 P2 A4".
func (c Contract) String() string {
	var names []string
	for rest := c; rest != 0; rest &= rest - 1 {
		n := bits.TrailingZeros32(uint32(rest)) + 1
		switch {
		case n <= 12:
			names = append(names, fmt.Sprintf("P%d", n))
		case n <= 21:
			names = append(names, fmt.Sprintf("A%d", n-12))
		case rest&-rest == Interface:
			names = append(names, "Interface")
		case rest&-rest == Likeness:
			names = append(names, "Likeness")
		default:
			names = append(names, fmt.Sprintf("Contract(%d)", uint32(1)<<(n-1)))
		}
	}
	return strings.Join(names, " ")
}

// has reports whether c promises all of what.
func (c Contract) has(what Contract) bool { return c&what == what }

// A Violation is one broken promise.
type Violation struct {
	Contract Contract    // the one that is broken
	Calls    []plan.Call // the batch, or what had been submitted, as classified first
	Events   []string    // of an admission: what had happened, in order
	Detail   string      // what is wrong
}

// Error tells the whole story, over several lines. It counts calls and waves from 1.
func (v *Violation) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %s", v.Contract, v.Detail)
	for i, c := range v.Calls {
		fmt.Fprintf(&b, "\n  call %d: %s", i+1, describe(c))
	}
	for _, e := range v.Events {
		b.WriteString("\n  " + e)
	}
	return b.String()
}

// describe shows a call the way the design writes it: "read a, write t/..." or "exclusive".
func describe(c plan.Call) string {
	switch {
	case !c.Safe:
		return "exclusive"
	case len(c.Claims) == 0:
		return "keyless"
	}
	var s []string
	for _, cl := range c.Claims {
		access := "write"
		if cl.Access == plan.Read {
			access = "read"
		}
		tree := ""
		if cl.Tree {
			tree = "/..."
		}
		s = append(s, fmt.Sprintf("%s %q%s", access, cl.Key, tree))
	}
	return strings.Join(s, ", ")
}
