package plan_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/plan/plantest"
)

// complaints returns what an error joins, and demands that every one of it wraps ErrPlan.
func complaints(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	assert.ErrorIs(t, err, plan.ErrPlan)
	all := []error{err}
	if j, ok := err.(interface{ Unwrap() []error }); ok && !strings.HasPrefix(err.Error(), plan.ErrPlan.Error()+": it has") {
		all = j.Unwrap()
	}
	var out []string
	for _, e := range all {
		assert.ErrorIs(t, e, plan.ErrPlan)
		rest, ok := strings.CutPrefix(e.Error(), plan.ErrPlan.Error()+": ")
		assert.True(t, ok, e.Error())
		out = append(out, rest)
	}
	return out
}

func TestNewNamesEveryFault(t *testing.T) {
	tests := []struct {
		name  string
		waves [][]int
		want  []string
	}{
		{"no calls", nil, nil},
		{"no calls in no waves", [][]int{}, nil},
		{"good", [][]int{{1}, {0, 2}}, nil},
		{"an empty wave", [][]int{{0}, {}}, []string{"wave 2 is empty"}},
		{"only an empty wave", [][]int{{}}, []string{"wave 1 is empty"}},
		{"twice", [][]int{{0, 1}, {1, 2}}, []string{"call 2 is in wave 1 and again in wave 2", "wave 2 has index 2", "call 3", "call 4"}},
		{"out of range", [][]int{{0, 5}}, []string{"wave 1 has index 5, but there are 2 calls", "call 2 is in no wave"}},
		{"negative", [][]int{{-1}}, []string{"wave 1 has index -1, but there are 1 calls", "call 1 is in no wave"}},
		{"all at once", [][]int{{0, 0}, {}, {7}}, []string{"call 1 is in wave 1 and again in wave 1", "wave 2 is empty",
			"wave 3 has index 7", "call 2", "call 3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := plan.New(tt.waves)
			got := complaints(t, err)
			if tt.want == nil {
				require.NoError(t, err)
				for _, d := range p.Explain() {
					assert.Equal(t, plan.Decision{Call: d.Call, Wave: p.WaveOf(d.Call), Rule: plan.RuleGiven, By: -1}, d)
					assert.Equal(t, "as given", d.String())
				}
				return
			}
			require.Error(t, err)
			assert.Empty(t, p.Waves(), "a faulty plan is not returned")
			for _, g := range got {
				assert.True(t, slices.ContainsFunc(tt.want, func(w string) bool { return strings.HasPrefix(g, w) }), "unexpected: %s", g)
			}
			assert.True(t, strings.HasPrefix(got[0], tt.want[0]), got[0])
		})
	}
}

func TestNewKeepsACopy(t *testing.T) {
	waves := [][]int{{1}, {0}}
	p, err := plan.New(waves)
	require.NoError(t, err)
	waves[0][0] = 9
	assert.Equal(t, [][]int{{1}, {0}}, p.Waves())
	assert.Equal(t, 1, p.WaveOf(0))
	assert.Equal(t, 0, p.WaveOf(1))
}

func TestVerifyNamesEveryViolation(t *testing.T) {
	w, r, b := call("w a"), call("r a"), call("w b")
	tests := []struct {
		name    string
		calls   []plan.Call
		waves   [][]int
		any     []string // what Verify says
		ordered []string // what VerifyOrdered says on top
	}{
		{"nothing wrong", []plan.Call{w, b, w}, [][]int{{0, 1}, {2}}, nil, nil},
		{"nothing at all", nil, nil, nil, nil},
		{"too few calls", []plan.Call{w, b}, [][]int{{0}}, []string{"it has 1 calls, the batch 2"}, nil},
		{"too many calls", nil, [][]int{{0}}, []string{"it has 1 calls, the batch 0"}, nil},
		{"a conflict in a wave", []plan.Call{w, r}, [][]int{{0, 1}},
			[]string{"calls 1 and 2 share wave 1: write a and read a"}, []string{"call 2 in wave 1 is not after call 1 in wave 1: write a and read a"}},
		{"every pair of it", []plan.Call{w, r, w}, [][]int{{2, 0, 1}}, []string{
			"calls 1 and 3 share wave 1: write a and write a", "calls 1 and 2 share wave 1: write a and read a",
			"calls 2 and 3 share wave 1: read a and write a",
		}, []string{
			"call 2 in wave 1 is not after call 1", "call 3 in wave 1 is not after call 1", "call 3 in wave 1 is not after call 2",
		}},
		{"exclusive calls with company", []plan.Call{{}, b, {}}, [][]int{{0, 1, 2}}, []string{
			"calls 1 and 2 share wave 1: the first is exclusive", "calls 1 and 3 share wave 1: both are exclusive",
			"calls 2 and 3 share wave 1: the second is exclusive",
		}, []string{
			"call 2 in wave 1 is not after call 1", "call 3 in wave 1 is not after call 1", "call 3 in wave 1 is not after call 2",
		}},
		{"the wrong order", []plan.Call{w, r}, [][]int{{1}, {0}}, nil, []string{
			"call 1 is in wave 2, but nothing keeps it out of wave 1", "call 2 in wave 1 is not after call 1 in wave 2: write a and read a",
		}},
		{"too late", []plan.Call{w, b}, [][]int{{0}, {1}}, nil, []string{"call 2 is in wave 2, but nothing keeps it out of wave 1"}},
		{"around an exclusive call", []plan.Call{w, {}, b}, [][]int{{0, 2}, {1}}, nil,
			[]string{"call 3 in wave 1 is not after call 2 in wave 2: the first is exclusive"}},
		{"two kinds at once", []plan.Call{w, w, call("r t/..."), call("w t/x"), b}, [][]int{{0, 1}, {2, 3}, {4}}, []string{
			"calls 1 and 2 share wave 1: write a and write a", "calls 3 and 4 share wave 2: read t/... and write t/x",
		}, []string{
			"call 2 in wave 1 is not after call 1", "call 3 is in wave 2, but", "call 4 in wave 2 is not after call 3", "call 5 is in wave 3, but",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := plan.New(tt.waves)
			require.NoError(t, err)
			match := func(err error, want []string) {
				t.Helper()
				got := complaints(t, err)
				assert.Len(t, got, len(want), "%q", got)
				for _, w := range want {
					assert.True(t, slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, w) }), "missing %q in %q", w, got)
				}
			}
			match(plan.Verify(tt.calls, p), tt.any)
			match(plan.VerifyOrdered(tt.calls, p), append(slices.Clone(tt.any), tt.ordered...))
		})
	}
}

// TestVerifyAsNaively spoils plans at random and compares the verdicts with the naive ones, pair by pair.
func TestVerifyAsNaively(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	verdicts := map[bool]int{}
	for range 400 {
		calls := largeBatch(r, 1+r.IntN(12))
		waves := plantest.Ordered(calls)
		for range r.IntN(3) { // move a call
			from, to := r.IntN(len(waves)), r.IntN(len(waves)+1)
			k := r.IntN(len(waves[from]))
			i := waves[from][k]
			waves[from] = slices.Delete(waves[from], k, k+1)
			if to == len(waves) {
				waves = append(waves, nil)
			}
			waves[to] = append(waves[to], i)
			waves = slices.DeleteFunc(waves, func(w []int) bool { return len(w) == 0 })
		}
		p, err := plan.New(waves)
		require.NoError(t, err)
		anyPlan := plantest.CheckPlan(calls, waves, plantest.P1|plantest.P2) == nil
		inOrder := plantest.CheckPlan(calls, waves, plantest.P1|plantest.P2|plantest.P3|plantest.P4) == nil
		verdicts[inOrder]++
		require.Equal(t, anyPlan, plan.Verify(calls, p) == nil, "%v in %v", calls, waves)
		require.Equal(t, inOrder, plan.VerifyOrdered(calls, p) == nil, "%v in %v: %v", calls, waves, plan.VerifyOrdered(calls, p))

		shared := 0
		for j := range calls {
			for i := range j {
				if p.WaveOf(i) == p.WaveOf(j) && plantest.Conflict(calls[i], calls[j]) {
					shared++
				}
			}
		}
		require.Len(t, complaints(t, plan.Verify(calls, p)), shared, "one complaint for each pair")
	}
	assert.Greater(t, verdicts[true], 50)
	assert.Greater(t, verdicts[false], 50)
}
