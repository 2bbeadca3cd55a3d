package plantest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/plan"
)

// CheckPlan checks one plan of a batch against P1 to P6 and P12, those of them that contracts holds and that speak of
// such a batch. The error joins a [*Violation] for each that is broken.
func CheckPlan(calls []plan.Call, waves [][]int, contracts Contract) error {
	var errs []error
	fail := func(c Contract, format string, args ...any) {
		errs = append(errs, &Violation{Contract: c, Calls: calls, Detail: fmt.Sprintf(format, args...) + fmt.Sprintf(", in waves %v", waves)})
	}
	wave := make([]int, len(calls))
	if err := cover(wave, waves); err != nil {
		fail(P1, "%v", err) // nothing else can be said of such a plan
		return errors.Join(errs...)
	}
	if contracts.has(P1) {
		for w, members := range waves {
			if len(members) > 1 && slices.ContainsFunc(members, func(i int) bool { return !calls[i].Safe }) {
				fail(P1, "wave %d has an unsafe call and is not alone", w)
			}
		}
	}
	for j := range calls {
		first := wave[j] == 0
		for i := range j {
			if !Conflict(calls[i], calls[j]) {
				continue
			}
			first = first || wave[i] == wave[j]-1
			if contracts.has(P2) && wave[i] == wave[j] {
				fail(P2, "calls %d and %d conflict and share a wave", i, j)
			}
			if contracts.has(P3) && wave[i] > wave[j] {
				fail(P3, "call %d conflicts with call %d and comes before it", j, i)
			}
		}
		if contracts.has(P4) && !first {
			fail(P4, "call %d could be in an earlier wave", j)
		}
	}
	same := func(c Contract, want [][]int, by string) {
		expect := make([]int, len(calls))
		if cover(expect, want); contracts.has(c) && !slices.Equal(wave, expect) {
			fail(c, "%s gives %v", by, want)
		}
	}
	same(P5, FirstFit(calls), "first-fit")
	if plain(calls) {
		if want, exclusive := stretches(calls); contracts.has(P3) || !exclusive {
			same(P6, want, "first-fit on each stretch")
		}
	}
	if !slices.ContainsFunc(calls, func(c plan.Call) bool { return c.Safe && len(c.Claims) > 0 }) {
		same(P12, Groups(calls), "the rolling pool")
	}
	return errors.Join(errs...)
}

// cover writes the wave of each call into wave, or says what is wrong with the waves.
func cover(wave []int, waves [][]int) error {
	for i := range wave {
		wave[i] = -1
	}
	for w, members := range waves {
		if len(members) == 0 {
			return fmt.Errorf("wave %d is empty", w)
		}
		for _, i := range members {
			switch {
			case i < 0 || i >= len(wave):
				return fmt.Errorf("wave %d has call %d, and there are %d", w, i, len(wave))
			case wave[i] >= 0:
				return fmt.Errorf("call %d is in waves %d and %d", i, wave[i], w)
			}
			wave[i] = w
		}
	}
	if i := slices.Index(wave, -1); i >= 0 {
		return fmt.Errorf("call %d is in no wave", i)
	}
	return nil
}

// plain reports whether every safe call has at most one key, plain and written: the published input of first-fit.
func plain(calls []plan.Call) bool {
	return !slices.ContainsFunc(calls, func(c plan.Call) bool {
		return c.Safe && slices.ContainsFunc(c.Claims, func(cl plan.Claim) bool {
			return cl.Tree || cl.Access == plan.Read || !slices.Equal(components(cl.Key), components(c.Claims[0].Key))
		})
	})
}

// stretches is first-fit on each stretch between exclusive calls, and whether there is any of these.
func stretches(calls []plan.Call) (waves [][]int, exclusive bool) {
	for from := 0; from < len(calls); {
		to := from + 1
		for !Exclusive(calls[from]) && to < len(calls) && !Exclusive(calls[to]) {
			to++
		}
		for _, members := range FirstFit(calls[from:to]) {
			for k := range members {
				members[k] += from
			}
			waves = append(waves, members)
		}
		exclusive = exclusive || Exclusive(calls[from])
		from = to
	}
	return waves, exclusive
}

// CheckPlanner checks that a planner keeps the contracts of P1 to P12 that it claims, each in a subtest of its name, on
// random batches that [Batches] and [PlainBatches] make and on the ones that are known to be hard.
func CheckPlanner(t *testing.T, planner func(calls []plan.Call) plan.Plan, contracts Contract) {
	t.Helper()
	for c := P1; c <= P12; c <<= 1 {
		if !contracts.has(c) {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				if err := checkPlanner(t, planner, c, contracts); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// checkPlanner draws one batch that suits contract c and checks the planner's answer.
func checkPlanner(t *rapid.T, planner func(calls []plan.Call) plan.Plan, c, all Contract) error {
	const most = 24
	batch := func() []plan.Call { return Batches(most).Draw(t, "batch") }
	// differ complains when the planner tells two batches apart that are the same to it.
	differ := func(a, b []plan.Call, what string) error {
		if x, y := planner(a).Waves(), planner(b).Waves(); !slices.EqualFunc(x, y, slices.Equal) {
			return &Violation{Contract: c, Calls: a, Detail: fmt.Sprintf("waves %v, and %v %s", x, y, what)}
		}
		return nil
	}
	switch c {
	case P6:
		calls := PlainBatches(most, all.has(P3)).Draw(t, "batch")
		return CheckPlan(calls, planner(calls).Waves(), c|all&P3)
	case P7:
		calls := batch()
		before := clone(calls)
		err := differ(calls, clone(calls), "for a copy")
		if !slices.EqualFunc(calls, before, equalCalls) {
			return &Violation{Contract: P7, Calls: before, Detail: "the planner changed its input"}
		}
		return err
	case P8:
		calls := batch()
		return differ(calls, redundant(t, calls), "when claims say the same in other words")
	case P9:
		few := rapid.SliceOfN(Claims(), 1, 2) // with many, something else conflicts as well
		for range 8 {
			pair := []plan.Call{{Safe: true, Claims: few.Draw(t, "one")}, {Safe: true, Claims: few.Draw(t, "other")}}
			waves := planner(pair).Waves()
			if conflict := Conflict(pair[0], pair[1]); conflict != (len(waves) == 2) {
				return &Violation{Contract: P9, Calls: pair, Detail: fmt.Sprintf("conflict %t, and waves %v", conflict, waves)}
			}
		}
	case P10:
		calls := batch()
		other := clone(calls)
		for i := range other {
			if !other[i].Safe {
				other[i].Claims = rapid.SliceOfN(Claims(), 0, 3).Draw(t, "other claims")
			}
		}
		return differ(calls, other, "with other claims of the unsafe calls")
	case P11:
		calls := rapid.SampledFrom(Inversions()).Draw(t, "batch")
		waves := planner(calls).Waves()
		if CheckPlan(calls, waves, P3) == nil {
			return &Violation{Contract: P11, Calls: calls, Detail: fmt.Sprintf("no inversion in waves %v", waves)}
		}
	case P12:
		calls := batch()
		for i := range calls {
			calls[i].Claims = nil
		}
		return CheckPlan(calls, planner(calls).Waves(), c)
	default:
		calls := batch()
		return CheckPlan(calls, planner(calls).Waves(), c)
	}
	return nil
}

// redundant says the same as calls in other words: with claims twice, slashes added at the end of keys, the order
// turned, reads added to what is written anyway, and an empty key instead of an unsafe call.
func redundant(t *rapid.T, calls []plan.Call) []plan.Call {
	out := clone(calls)
	for i := range out {
		c := &out[i]
		for _, cl := range calls[i].Claims {
			switch rapid.IntRange(0, 3).Draw(t, "say it how") {
			case 0:
				c.Claims = append(c.Claims, cl)
			case 1:
				cl.Key += "/"
				c.Claims = append(c.Claims, cl)
			case 2:
				cl.Access = plan.Read
				c.Claims = append(c.Claims, cl)
			}
		}
		if rapid.Bool().Draw(t, "turn it") {
			slices.Reverse(c.Claims)
		}
		if !c.Safe && rapid.Bool().Draw(t, "empty key") {
			*c = plan.Call{Safe: true, Claims: append(c.Claims, plan.Claim{Key: "/", Access: plan.Read})}
		}
	}
	return out
}

// clone copies calls and their claims.
func clone(calls []plan.Call) []plan.Call {
	out := slices.Clone(calls)
	for i := range out {
		out[i].Claims = slices.Clone(out[i].Claims)
	}
	return out
}

func equalCalls(a, b plan.Call) bool {
	return a.Safe == b.Safe && slices.Equal(a.Claims, b.Claims)
}
