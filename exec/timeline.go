package exec

import (
	"fmt"
	"sync"
	"time"

	"github.com/keywave-go/keywave/plan"
)

// A Timeline records when every call of a lane did what, and what it waited for. Give a pointer to one to [Record]; the
// zero Timeline is ready. Recording asks the admission again whenever a call that others wait for settles, so it is
// meant for batches that somebody will look at. A Timeline is safe for concurrent use: Snapshot may be called while the
// calls run.
type Timeline struct {
	mu    sync.Mutex
	start time.Time
	of    *Lane         // is being recorded; nil: none
	ended time.Duration // when the last one ended
	calls []track
	wards map[int][]int // by call: those that wait for it
	full  bool          // as many calls as the limit allows are admitted and not settled
	freed time.Duration // when that was last so, if it is not now
}

// A Span is the life of one call. Times are counted from the start of the lane; one that was not reached is below 0.
//
// From Submitted to Committed every moment belongs either to the body, from Started to Settled, or to exactly one of
// Waits, which follow one another without gaps: the sums add up.
type Span struct {
	Call      int           // its index
	Submitted time.Duration // given to the lane
	Admitted  time.Duration // allowed to start: Prepare follows, then an approval, its claims and a permit
	Started   time.Duration // the body was called
	Settled   time.Duration // the body returned or was abandoned, or it was clear that there will be none
	Committed time.Duration // Commit or Skip returned
	End       End           // how it ended
	Waits     []Wait        // in order; none is empty, except perhaps an open one
}

// A Wait is a time that a call spent waiting for one thing: neighbours differ in what they wait for. Only where a call
// has more than 16 waits are those of one kind that follow one another put together, with the last of the calls.
type Wait struct {
	For  WaitKind
	Call int        // the call that it waited for; below 0: none, or none that is known
	Lane string     // with WaitDomain: the name of the lane whose call that is
	Mine plan.Claim // with WaitClaim and WaitDomain: what the waiting call wants
	Held plan.Claim // with WaitClaim and WaitDomain: what Call has
	From time.Duration
	To   time.Duration // if it is open, the time of the snapshot
	Open bool          // it is still going on

	// With WaitDomain: Call was abandoned. If Held is zero then, it might do anything.
	Abandoned bool
}

// String says it in words: "waited 73ms for call 3 (write a)", or "waiting" if it is open.
func (w Wait) String() string {
	verb, what := "waited", w.For.String()
	if w.Open {
		verb = "waiting"
	}
	switch w.For {
	case WaitClaim:
		what = fmt.Sprintf("call %d (%v)", w.Call+1, w.Held)
	case WaitBarrier, WaitOrder, WaitWave:
		what = fmt.Sprintf("call %d (%v)", w.Call+1, w.For)
	case WaitLane:
		what = "its turn in the lane"
	case WaitApproval:
		what = "its approval"
	case WaitDomain:
		what = "its claims"
		if w.Call >= 0 {
			what = fmt.Sprintf("%v (%s)", Caller{w.Lane, w.Call}, held(w.Held, w.Abandoned))
		}
	case WaitPermit:
		what = "a permit"
	case WaitCommit:
		what = "its commit"
	}
	return fmt.Sprintf("%s %v for %s", verb, (w.To - w.From).Round(time.Microsecond), what)
}

// A WaitKind is what a call waited for.
type WaitKind uint8

const (
	WaitClaim    WaitKind = iota // another call, on a claim
	WaitBarrier                  // another call: it, or the waiting call, is exclusive
	WaitOrder                    // another call, because calls start in the model's order
	WaitWave                     // another call, of an earlier wave
	WaitLane                     // its turn in the lane, its Classify and its Prepare
	WaitApproval                 // its own Await
	WaitDomain                   // a call of another lane, on a claim
	WaitPermit                   // a permit: as many calls ran as the limit allows, or as all lanes may that share one
	WaitCommit                   // settled: its Settled, the commits before it, and its own
)

var waitKinds = [...]string{
	WaitClaim: "claim", WaitBarrier: "barrier", WaitOrder: "order", WaitWave: "wave",
	WaitLane: "lane", WaitApproval: "approval", WaitDomain: "domain", WaitPermit: "permit", WaitCommit: "commit",
}

// String returns the kind in a word.
func (k WaitKind) String() string {
	if int(k) < len(waitKinds) {
		return waitKinds[k]
	}
	return fmt.Sprintf("WaitKind(%d)", uint8(k))
}

// An End is how a call ended.
type End uint8

const (
	EndOpen      End = iota // it has not, or a hard error left it without an outcome
	EndReturned             // its body returned
	EndPanicked             // its body panicked or called runtime.Goexit
	EndAbandoned            // its body did not return within the drain bound
	EndNotRun               // prepared, but cancelled before its body, or its Await or the Domain refused it
	EndRefused              // its Prepare said no
	EndSkipped              // cancelled before its Prepare
)

var ends = [...]string{
	EndOpen: "open", EndReturned: "returned", EndPanicked: "panicked", EndAbandoned: "abandoned",
	EndNotRun: "not run", EndRefused: "refused", EndSkipped: "skipped",
}

// String returns the end in a word or two.
func (e End) String() string {
	if int(e) < len(ends) {
		return ends[e]
	}
	return fmt.Sprintf("End(%d)", uint8(e))
}
