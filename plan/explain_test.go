package plan_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/plan/plantest"
)

// TestExplainNamesWhatDecided checks every decision of random plans naively: the rule, the earliest call of the wave
// before that kept the call out of it, and the two claims that met.
func TestExplainNamesWhatDecided(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls := plantest.Batches(16).Draw(t, "batch")
		p := plan.Ordered(calls)
		for i, d := range p.Explain() {
			want := plan.Decision{Call: i, Wave: p.WaveOf(i), By: -1}
			var before []int
			if want.Wave > 0 {
				before = p.Waves()[want.Wave-1]
				want.By = earliestInConflict(calls, before, i)
			}
			switch {
			case plantest.Exclusive(calls[i]):
				want.Rule = plan.RuleExclusive
			case want.By < 0:
				want.Rule = plan.RuleFree
			case plantest.Exclusive(calls[want.By]):
				want.Rule = plan.RuleBarrier
			default:
				want.Rule = plan.RuleConflict
			}
			checkDecision(t, calls, d, want)
		}

		p = plan.FirstFit(calls)
		for i, d := range p.Explain() {
			want := plan.Decision{Call: i, Wave: p.WaveOf(i), By: -1}
			for w := want.Wave - 1; w >= 0 && !plantest.Exclusive(calls[i]); w-- {
				if wave := p.Waves()[w]; !plantest.Exclusive(calls[wave[0]]) {
					want.By = earliestInConflict(calls, wave, i)
					break
				}
			}
			switch {
			case plantest.Exclusive(calls[i]):
				want.Rule = plan.RuleExclusive
			case p.Waves()[want.Wave][0] == i:
				want.Rule = plan.RuleNew
			case len(calls[i].Claims) == 0:
				want.Rule = plan.RuleKeyless
			default:
				want.Rule = plan.RuleKeyed
			}
			checkDecision(t, calls, d, want)
		}
	})
}

func earliestInConflict(calls []plan.Call, wave []int, i int) int {
	k := slices.IndexFunc(wave, func(e int) bool { return e < i && plantest.Conflict(calls[e], calls[i]) })
	if k < 0 {
		return -1
	}
	return wave[k]
}

// checkDecision compares a decision with the wanted one, in which the claims are missing.
func checkDecision(t *rapid.T, calls []plan.Call, d, want plan.Decision) {
	mine, held := d.Mine, d.Held
	d.Mine, d.Held = plan.Claim{}, plan.Claim{}
	if d != want {
		t.Fatalf("decided %+v, want %+v", d, want)
	}
	if d.By < 0 || plantest.Exclusive(calls[d.Call]) || plantest.Exclusive(calls[d.By]) {
		if mine != (plan.Claim{}) || held != (plan.Claim{}) {
			t.Fatalf("%+v names claims %v and %v, and none decided", d, mine, held)
		}
		return
	}
	meet := plantest.Overlap(mine, held) && (mine.Access != plan.Read || held.Access != plan.Read)
	if !meet || !slices.Contains(calls[d.Call].Claims, mine) || !slices.Contains(calls[d.By].Claims, held) {
		t.Fatalf("%+v: %v and %v do not meet", d, mine, held)
	}
}

func TestRuleString(t *testing.T) {
	var names []string
	for r := plan.RuleGiven; r <= plan.RuleNew; r++ {
		names = append(names, r.String())
	}
	assert.Equal(t, []string{"given", "free", "conflict", "barrier", "exclusive", "keyless", "keyed", "new"}, names)
	assert.Equal(t, "Rule(99)", plan.Rule(99).String())
}
