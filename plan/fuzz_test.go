package plan_test

import (
	"strings"
	"testing"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/plan/plantest"
)

// batchOf makes a batch of any bytes. A line is a call; x in front makes it exclusive. A word of the line is a claim: r
// in front makes it a read, + a tree; the rest is the key.
func batchOf(data string) []plan.Call {
	var calls []plan.Call
	for line := range strings.SplitSeq(data, "\n") {
		c := plan.Call{Safe: true}
		if rest, ok := strings.CutPrefix(line, "x"); ok {
			c.Safe, line = false, rest
		}
		for _, word := range strings.Split(line, " ") {
			if word == "" {
				continue
			}
			var cl plan.Claim
			if rest, ok := strings.CutPrefix(word, "r"); ok {
				cl.Access, word = plan.Read, rest
			}
			if rest, ok := strings.CutPrefix(word, "+"); ok {
				cl.Tree, word = true, rest
			}
			cl.Key = word
			c.Claims = append(c.Claims, cl)
		}
		if calls = append(calls, c); len(calls) == 64 {
			break
		}
	}
	return calls
}

// FuzzPlan plans batches of any bytes: the package's own verification and the naive one agree with both planners, and
// every decision can be explained.
func FuzzPlan(f *testing.F) {
	f.Add("a\nb\nx\n\na\n")
	f.Add("ra\na\nra")
	f.Add("a\na b\nb")
	f.Add("lib/a\n+lib\nlib/b\nlibrary\n+lib/\nr+library/x")
	f.Add("/\nr//\n+a//b\na/b\n/a\n+\x00\n\xff/\xfe")
	f.Fuzz(func(t *testing.T, data string) {
		calls := batchOf(data)
		ordered, firstFit := plan.Ordered(calls), plan.FirstFit(calls)
		for _, err := range []error{
			plan.Verify(calls, ordered),
			plan.VerifyOrdered(calls, ordered),
			plan.Verify(calls, firstFit),
			plantest.CheckPlan(calls, ordered.Waves(), plantest.OrderedPlanner),
			plantest.CheckPlan(calls, firstFit.Waves(), plantest.FirstFitPlanner),
		} {
			if err != nil {
				t.Error(err)
			}
		}
		for _, p := range []plan.Plan{ordered, firstFit} {
			if lines := strings.Count(p.String(), "\n"); lines != len(calls)+1 {
				t.Errorf("the table of %d calls has %d lines:\n%v", len(calls), lines, p)
			}
		}
	})
}

// FuzzOverlap compares two claims of any keys with the naive check, both ways round.
func FuzzOverlap(f *testing.F) {
	f.Add("lib", "lib/foo.ts", true, false)
	f.Add("src/foo", "src/foobar", true, true)
	f.Add("lib/", "lib", false, false)
	f.Add("b", "a", true, false)
	f.Add("", "/", false, true)
	f.Fuzz(func(t *testing.T, x, y string, treeX, treeY bool) {
		a := plan.Call{Safe: true, Claims: []plan.Claim{{Key: x, Tree: treeX}}}
		b := plan.Call{Safe: true, Claims: []plan.Claim{{Key: y, Tree: treeY}}}
		want := plantest.Conflict(a, b)
		if got := plan.Conflict(a, b); got != want {
			t.Errorf("%v and %v: %t, naively %t", a.Claims, b.Claims, got, want)
		}
		if got := plan.Conflict(b, a); got != want {
			t.Errorf("%v and %v: %t the other way round, naively %t", a.Claims, b.Claims, got, want)
		}
		if got := len(plan.Ordered([]plan.Call{a, b}).Waves()) == 2; got != want {
			t.Errorf("%v and %v: planned as if %t, naively %t", a.Claims, b.Claims, got, want)
		}
	})
}
