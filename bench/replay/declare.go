package replay

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/keywave-go/keywave/bench/trace"
	"github.com/keywave-go/keywave/bench/transcript"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/rules"
)

// A trial is a batch as it is simulated.
type trial struct {
	calls []plan.Call
	takes []time.Duration // of a batch that is not timed a millisecond each
	tools []string        // names that may be shown
	why   []reason        // of exclusive calls
	timed bool
	mixed bool // there is a write or an exclusive call
	alone bool // there is an exclusive call
}

// A reason says why a call is exclusive.
type reason uint8

const (
	noRule reason = iota
	byRule
	arguments
	reasons // how many there are
)

func (r reason) String() string { return [...]string{"no rule", "by its rule", "arguments"}[r] }

// declare makes a batch ready to be simulated.
func declare(r *rules.Rules, b *transcript.Batch) *trial {
	n := len(b.Calls)
	t := &trial{tools: make([]string, n), why: make([]reason, n), takes: make([]time.Duration, n), timed: true}
	untimed := func(int) bool { return false }
	var ran []rules.Declared
	if b.Recorded != nil {
		t.calls = b.Recorded.Plan()
		for i := range t.why {
			t.why[i] = byRule
		}
	} else {
		asked := make([]tool.Call, n)
		for i := range asked {
			asked[i] = b.Calls[i].Call
		}
		declared := r.Calls(rules.Where{Agent: string(b.Format), Dir: b.Dir}, asked)
		t.calls = make([]plan.Call, n)
		for i, d := range declared {
			t.calls[i] = d.Call
			switch {
			case errors.Is(d.Why, rules.ErrNoRule):
				t.why[i] = noRule
			case d.Why == nil:
				t.why[i] = byRule
			default:
				t.why[i] = arguments
			}
		}
		untimed = func(i int) bool { return declared[i].Untimed }
		ran = declared
		if r != rules.Default() {
			ran = rules.Default().Calls(rules.Where{Agent: string(b.Format), Dir: b.Dir}, asked)
		}
	}
	// What the agent that was recorded ran alone, it did: that does not change with the rules that are tried.
	ranAlone := make([]bool, len(ran))
	for i, d := range ran {
		ranAlone[i] = mixes(d.Call)
	}
	var work time.Duration
	for i := range b.Calls {
		c := &t.calls[i]
		t.tools[i] = shownTool(b.Calls[i].Name)
		t.mixed, t.alone = t.mixed || mixes(*c), t.alone || c.Exclusive()
		took, known := b.Took(i, ranAlone)
		if known = known && !untimed(i); b.Calls[i].Outcome == transcript.Rejected {
			took, known = 0, true // its body did not run
		}
		if !known || took > math.MaxInt64-work {
			t.timed = false
			continue
		}
		t.takes[i] = took
		work += took
	}
	if !t.timed {
		for i := range t.takes {
			t.takes[i] = time.Millisecond
		}
	}
	return t
}

// What is simulated of a batch. To count the inversions of a larger one could take minutes, as that compares the claims
// of each pair of calls.
const (
	maxCalls  = 4_096
	maxClaims = 8_192
	maxKeys   = 1 << 20 // bytes
)

func (t *trial) tooLarge() bool {
	claims := 0
	for i := range t.calls {
		claims += len(t.calls[i].Claims)
	}
	return claims > maxClaims || t.keys() > maxKeys
}

// keys is how many bytes the keys of the calls have.
func (t *trial) keys() (bytes int) {
	for i := range t.calls {
		for _, claim := range t.calls[i].Claims {
			bytes += len(claim.Key)
		}
	}
	return bytes
}

// mixes reports whether a call is no read: it is exclusive or claims a write.
func mixes(c plan.Call) bool { return c.Exclusive() || writes(c) }

// writes reports whether a call claims a write.
func writes(c plan.Call) bool {
	return slices.ContainsFunc(c.Claims, func(c plan.Claim) bool { return c.Access != plan.Read })
}

// access is [Call.Access].
func access(c plan.Call) string {
	switch {
	case c.Exclusive():
		return string(trace.Exclusive)
	case writes(c):
		return string(trace.Writes)
	case len(c.Claims) > 0:
		return string(trace.Reads)
	}
	return "none"
}

var nameLike = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,64}$`)

// unnamed stands for the name of a tool, or of a type of records, that does not look like a name.
const unnamed = "(unnamed)"

func shownTool(name string) string {
	if nameLike.MatchString(name) {
		return name
	}
	return unnamed
}
