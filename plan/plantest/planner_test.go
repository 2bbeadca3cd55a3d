package plantest

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/plan"
)

// made turns a function that returns the wave of each call into a planner.
func made(waves func(calls []plan.Call) [][]int) func([]plan.Call) plan.Plan {
	return func(calls []plan.Call) plan.Plan {
		p, err := plan.New(waves(calls))
		if err != nil {
			panic(err)
		}
		return p
	}
}

// longest is Ordered over another relation.
func longest(conflict func(a, b plan.Call) bool) func(calls []plan.Call) [][]int {
	return func(calls []plan.Call) [][]int {
		wave := make([]int, len(calls))
		for j := range calls {
			for i := range j {
				if conflict(calls[i], calls[j]) {
					wave[j] = max(wave[j], wave[i]+1)
				}
			}
		}
		return gather(wave)
	}
}

// TestCheckPlannerCatchesBreakages breaks a planner in one way for each contract, and demands a batch in which no call
// could be left out.
func TestCheckPlannerCatchesBreakages(t *testing.T) {
	oneEach := func(calls []plan.Call) [][]int { return longest(func(a, b plan.Call) bool { return true })(calls) }
	slashes := func(a, b plan.Call) bool {
		return Conflict(a, b) && (Exclusive(a) || Exclusive(b) || slices.ContainsFunc(a.Claims, func(x plan.Claim) bool {
			return slices.ContainsFunc(b.Claims, func(y plan.Claim) bool {
				return strings.HasSuffix(x.Key, "/") == strings.HasSuffix(y.Key, "/") && Overlap(x, y)
			})
		}))
	}
	tests := []struct {
		name     string
		calls    int // in the smallest batch that shows it
		contract Contract
		all      Contract
		planner  func([]plan.Call) plan.Plan
	}{
		{"unsafe calls that are keyless share a wave", 2, P1, AnyPlanner, made(longest(func(a, b plan.Call) bool {
			a.Safe, b.Safe = true, true
			return Conflict(a, b)
		}))},
		{"the last call is forgotten", 1, P1, AnyPlanner, made(func(calls []plan.Call) [][]int {
			return Ordered(calls[:max(0, len(calls)-1)])
		})},
		{"reads do not mind writes", 2, P2, AnyPlanner, made(longest(func(a, b plan.Call) bool {
			return Conflict(a, b) && (Exclusive(a) || Exclusive(b) || slices.ContainsFunc(b.Claims, func(c plan.Claim) bool { return c.Access == plan.Write }))
		}))},
		{"first-fit is not in order", 3, P3, OrderedPlanner, made(FirstFit)},
		{"one wave for each call is not minimal", 2, P4, OrderedPlanner, made(oneEach)},
		{"the order is not first-fit", 3, P5, FirstFitPlanner, made(Ordered)},
		{"one wave for each call", 2, P6, OrderedPlanner, made(oneEach)},
		{"one wave for each call is not first-fit", 2, P6, FirstFitPlanner, made(oneEach)},
		{"every second plan is another", 2, P7, AnyPlanner, func() func([]plan.Call) plan.Plan {
			n := 0
			return func(calls []plan.Call) plan.Plan {
				if n++; n%2 == 0 {
					return made(oneEach)(calls)
				}
				return plan.Ordered(calls)
			}
		}()},
		{"the claims are sorted in place", 1, P7, AnyPlanner, func(calls []plan.Call) plan.Plan {
			for _, c := range calls {
				slices.SortFunc(c.Claims, func(a, b plan.Claim) int { return strings.Compare(a.Key, b.Key) })
			}
			return made(Ordered)(calls)
		}},
		{"a call conflicts with itself", 2, P8, AnyPlanner, made(longest(func(a, b plan.Call) bool {
			return Conflict(a, b) || len(b.Claims) > 1
		}))},
		{"an empty key is a key like others", 2, P8, AnyPlanner, made(longest(func(a, b plan.Call) bool {
			return !a.Safe || !b.Safe || slices.ContainsFunc(a.Claims, func(x plan.Claim) bool {
				return slices.ContainsFunc(b.Claims, func(y plan.Claim) bool { return Overlap(x, y) })
			})
		}))},
		{"slashes at the end count", 2, P2, AnyPlanner, made(longest(slashes))},
		{"slashes at the end count", 3, P3, OrderedPlanner, made(longest(slashes))},
		{"slashes at the end count", 2, P9, AnyPlanner, made(longest(slashes))},
		{"prefixes of strings", 2, P9, AnyPlanner, made(longest(func(a, b plan.Call) bool {
			return Conflict(a, b) || slices.ContainsFunc(a.Claims, func(x plan.Claim) bool {
				return x.Tree && slices.ContainsFunc(b.Claims, func(y plan.Claim) bool { return strings.HasPrefix(y.Key, x.Key) })
			})
		}))},
		{"trees cover themselves only", 2, P9, AnyPlanner, made(longest(func(a, b plan.Call) bool {
			plain := func(c plan.Call) plan.Call {
				c = clone([]plan.Call{c})[0]
				for i := range c.Claims {
					c.Claims[i].Tree = false
				}
				return c
			}
			return Conflict(plain(a), plain(b))
		}))},
		{"an unsafe call is judged by its claims", 2, P10, AnyPlanner, made(longest(func(a, b plan.Call) bool {
			return Conflict(a, b) && (b.Safe || len(b.Claims) == 0)
		}))},
		{"no inversions", 3, P11, FirstFitPlanner, made(Ordered)},
		{"barriers on one side only", 2, P12, OrderedPlanner, made(longest(func(a, b plan.Call) bool { return Exclusive(b) }))},
	}
	for _, tt := range tests {
		t.Run(tt.contract.String()+" "+tt.name, func(t *testing.T) {
			var err error
			said := record(t, func(t rapid.TB) {
				rapid.Check(t, func(t *rapid.T) {
					if failed := checkPlanner(t, tt.planner, tt.contract, tt.all); failed != nil {
						err = failed
						t.Fatal(err)
					}
				})
			})
			assert.Contains(t, said, tt.contract.String()+": ")
			var v *Violation
			require.ErrorAs(t, err, &v)
			assert.Len(t, v.Calls, tt.calls, "%v", v)
		})
	}
}

// TestCheckPlanner points it at the naive planners, which keep every promise.
func TestCheckPlanner(t *testing.T) {
	t.Run("Ordered", func(t *testing.T) { CheckPlanner(t, made(Ordered), OrderedPlanner) })
	t.Run("FirstFit", func(t *testing.T) { CheckPlanner(t, made(FirstFit), FirstFitPlanner) })
}

func TestCheckPlanJoinsAllViolations(t *testing.T) {
	w := plan.Call{Safe: true, Claims: []plan.Claim{{Key: "a"}}}
	err := CheckPlan([]plan.Call{w, w, {}}, [][]int{{1, 2}, {0}}, P1|P2|P3|P4|P5|P6|P12)
	require.Error(t, err)
	for _, c := range []string{"P1: ", "P2: ", "P3: ", "P4: ", "P5: ", "P6: "} {
		assert.Contains(t, err.Error(), c)
	}
	assert.NotContains(t, err.Error(), "P12", "there are claims")

	for _, waves := range [][][]int{{{0}}, {{0, 1, 2}, {}}, {{0, 1}, {1, 2}}, {{0, 1}, {3}}} {
		var v *Violation
		require.ErrorAs(t, CheckPlan([]plan.Call{w, w, w}, waves, P2), &v, "%v", waves)
		assert.Equal(t, P1, v.Contract)
	}
	assert.NoError(t, CheckPlan([]plan.Call{w, w}, [][]int{{0, 1}}, P1), "only what was asked for")
	assert.NoError(t, CheckPlan(nil, nil, OrderedPlanner|FirstFitPlanner&^P11))
}

// TestNothingToCheckFails claims what a check cannot look at: a test of that must not pass.
func TestNothingToCheckFails(t *testing.T) {
	of := map[string]func(c Contract) error{
		"planner": func(c Contract) error { return CheckPlan(nil, nil, c) },
		"admission": func(c Contract) error {
			_, err := Explore(NewKeyed, Exploration{Calls: 1, Contracts: c})
			return err
		},
	}
	of["planner "] = func(c Contract) error { return checkPlannerApart(t, c) }
	of["admission "] = func(c Contract) error {
		said := record(t, func(t rapid.TB) { CheckAdmission(t, plan.NewKeyed, c) })
		if said == "" {
			return nil
		}
		return errors.New(said)
	}
	for kind, check := range of {
		kind = strings.TrimSpace(kind)
		mine, others := OrderedPlanner, KeyedAdmission
		if kind == "admission" {
			mine, others = others, mine
		}
		assert.NoError(t, check(mine), kind)
		assert.ErrorContains(t, check(0), "no "+kind+" contract", kind)
		assert.ErrorContains(t, check(others), "no "+kind+" contract in "+others.String(), kind)
		assert.ErrorContains(t, check(mine|others), "not a "+kind+" contract: "+others.String(), kind)
		assert.ErrorContains(t, check(mine|Likeness), "not a "+kind+" contract: Likeness", kind)
	}
	assert.ErrorContains(t, CheckPlan(nil, nil, P7|P11), "nothing can be said of one plan by P7 P11")
	assert.NotEmpty(t, record(t, func(t rapid.TB) { CheckLike(t, plan.NewKeyed, plan.NewKeyed, KeyedAdmission|P1) }))
	assert.Empty(t, record(t, func(t rapid.TB) { CheckLike(t, plan.NewKeyed, plan.NewKeyed, 0) }))
	_, err := Explore(NewKeyed, Exploration{Calls: 1, Like: NewKeyed})
	assert.NoError(t, err)
}

// checkPlannerApart calls CheckPlanner in a process of its own, because it takes a testing.T to fail.
func checkPlannerApart(t *testing.T, c Contract) error {
	cmd := exec.Command(os.Args[0], "-test.run=^TestCheckPlannerOfTheEnvironment$")
	cmd.Env = append(os.Environ(), "KEYWAVE_CONTRACTS="+strconv.FormatUint(uint64(c), 10))
	out, err := cmd.CombinedOutput()
	if err != nil {
		require.ErrorAs(t, err, new(*exec.ExitError))
		return errors.New(string(out))
	}
	return nil
}

func TestCheckPlannerOfTheEnvironment(t *testing.T) {
	c, err := strconv.ParseUint(cmp.Or(os.Getenv("KEYWAVE_CONTRACTS"), "1"), 10, 32)
	require.NoError(t, err)
	CheckPlanner(t, made(Ordered), Contract(c))
}

func TestNaivePlanners(t *testing.T) {
	w := func(key string) plan.Call { return plan.Call{Safe: true, Claims: []plan.Claim{{Key: key}}} }
	six := []plan.Call{w("a"), w("b"), {}, {Safe: true}, w("a"), {Safe: true}}
	assert.Equal(t, [][]int{{0, 1}, {2}, {3, 4, 5}}, Ordered(six))
	assert.Equal(t, [][]int{{0, 1, 3, 5}, {2}, {4}}, FirstFit(six))
	assert.Equal(t, [][]int{{0, 1}, {2}, {3, 4, 5}}, Groups(six))
	assert.Empty(t, Ordered(nil))
	assert.Empty(t, FirstFit(nil))
	assert.Empty(t, Groups(nil))
	assert.Equal(t, [][]int{{0}, {1}}, Groups(make([]plan.Call, 2)))
}

func TestOverlapByComponent(t *testing.T) {
	for _, tt := range []struct {
		a, b plan.Claim
		want bool
	}{
		{plan.Claim{Key: "lib", Tree: true}, plan.Claim{Key: "lib/a"}, true},
		{plan.Claim{Key: "lib", Tree: true}, plan.Claim{Key: "library"}, false},
		{plan.Claim{Key: "lib"}, plan.Claim{Key: "lib/a"}, false},
		{plan.Claim{Key: "lib/"}, plan.Claim{Key: "lib"}, true},
		{plan.Claim{Key: "lib/a", Tree: true}, plan.Claim{Key: "lib"}, false},
		{plan.Claim{Key: "/lib"}, plan.Claim{Key: "lib"}, false},
		{plan.Claim{Key: "a//b"}, plan.Claim{Key: "a/b"}, false},
	} {
		assert.Equal(t, tt.want, Overlap(tt.a, tt.b), "%v %v", tt.a, tt.b)
		assert.Equal(t, tt.want, Overlap(tt.b, tt.a), "%v %v", tt.b, tt.a)
	}
	assert.True(t, Exclusive(plan.Call{Safe: true, Claims: []plan.Claim{{Key: "//"}}}))
	assert.False(t, Exclusive(plan.Call{Safe: true, Claims: []plan.Claim{{Key: "/a"}}}))
}

// TestBatchesHaveItAll looks for everything that the generators promise.
func TestBatchesHaveItAll(t *testing.T) {
	found := map[string]int{}
	for seed := range 400 {
		batch := Batches(12).Example(seed)
		if len(batch) == 0 {
			found["empty"]++
		}
		for i, c := range batch {
			if !c.Safe {
				found["unsafe"]++
			}
			if c.Safe && len(c.Claims) == 0 {
				found["keyless"]++
			}
			if c.Safe && Exclusive(c) {
				found["empty key"]++
			}
			if slices.ContainsFunc(batch[:i], func(o plan.Call) bool { return equalCalls(o, c) && len(c.Claims) > 1 }) {
				found["duplicate"]++
			}
			for k, cl := range c.Claims {
				found[cl.Access.String()]++
				if cl.Tree {
					found["tree"]++
				}
				if strings.HasSuffix(cl.Key, "/") {
					found["slash at the end"]++
				}
				if strings.HasPrefix(cl.Key, "library") {
					found["prefix trap"]++
				}
				if slices.ContainsFunc(c.Claims[:k], func(o plan.Claim) bool { return Overlap(o, cl) }) {
					found["overlap in one call"]++
				}
			}
		}
	}
	for _, what := range []string{"empty", "unsafe", "keyless", "empty key", "duplicate", "read", "write", "tree",
		"slash at the end", "prefix trap", "overlap in one call"} {
		assert.Greater(t, found[what], 5, what)
	}
}

func TestContractString(t *testing.T) {
	assert.Equal(t, "P1 P12 A1 A9 Interface Likeness", (P1 | P12 | A1 | A9 | Interface | Likeness).String())
	assert.Empty(t, Contract(0).String())
	assert.Equal(t, "Contract(8388608)", Contract(1<<23).String())
}
