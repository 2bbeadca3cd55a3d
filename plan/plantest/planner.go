package plantest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/plan"
)

// CheckPlan checks one plan of a batch against P1 to P6 and P12, those of them that contracts holds and that speak of
// such a batch; one of them at least must. The error joins a [*Violation] for each that is broken. A plan that does not
// have every call once breaks P1, asked for or not.
func CheckPlan(calls []plan.Call, waves [][]int, contracts Contract) error {
	if err := contracts.claim("planner", ofPlanners); err != nil {
		return err
	}
	if contracts&ofOnePlan == 0 {
		return fmt.Errorf("plantest: nothing can be said of one plan by %v", contracts)
	}
	var errs []error
	fail := func(c Contract, format string, args ...any) {
		errs = append(errs, &Violation{Contract: c, Calls: calls, Detail: fmt.Sprintf(format, args...) + ", in waves " + counted(waves)})
	}
	wave := make([]int, len(calls))
	if err := cover(wave, waves); err != nil {
		fail(P1, "%v", err) // nothing else can be said of such a plan
		return errors.Join(errs...)
	}
	if contracts.has(P1) {
		for w, members := range waves {
			if len(members) > 1 && slices.ContainsFunc(members, func(i int) bool { return !calls[i].Safe }) {
				fail(P1, "wave %d has an unsafe call and others", w+1)
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
				fail(P2, "calls %d and %d conflict and share a wave", i+1, j+1)
			}
			if contracts.has(P3) && wave[i] > wave[j] {
				fail(P3, "call %d conflicts with call %d and comes before it", j+1, i+1)
			}
		}
		if contracts.has(P4) && !first {
			fail(P4, "call %d could be in an earlier wave", j+1)
		}
	}
	same := func(c Contract, want [][]int, by string) {
		expect := make([]int, len(calls))
		if cover(expect, want); contracts.has(c) && !slices.Equal(wave, expect) {
			fail(c, "%s gives %s", by, counted(want))
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
			return fmt.Errorf("wave %d is empty", w+1)
		}
		for _, i := range members {
			switch {
			case i < 0 || i >= len(wave):
				return fmt.Errorf("wave %d has call %d, and there are %d", w+1, i+1, len(wave))
			case wave[i] >= 0:
				return fmt.Errorf("call %d is in waves %d and %d", i+1, wave[i]+1, w+1)
			}
			wave[i] = w
		}
	}
	if i := slices.Index(wave, -1); i >= 0 {
		return fmt.Errorf("call %d is in no wave", i+1)
	}
	return nil
}

// counted shows waves of calls, which it counts from 1: "[1 3] [2]".
func counted(waves [][]int) string {
	if len(waves) == 0 {
		return "none"
	}
	s := make([]string, len(waves))
	for w, members := range waves {
		s[w] = numbers(members)
	}
	return strings.Join(s, " ")
}

// numbers shows calls, which it counts from 1: "[1 3]".
func numbers(calls []int) string {
	calls = slices.Clone(calls)
	for k := range calls {
		calls[k]++
	}
	return fmt.Sprint(calls)
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
// random batches that [Batches] and [PlainBatches] make and on the ones that are known to be hard. What it reports is the
// batch that is left when no call, and no claim of one, can be left out any more.
func CheckPlanner(t *testing.T, planner func(calls []plan.Call) plan.Plan, contracts Contract) {
	t.Helper()
	if err := contracts.claim("planner", ofPlanners); err != nil {
		t.Fatal(err)
	}
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
	waves := func(calls []plan.Call) [][]int { return planner(clone(calls)).Waves() }
	// differ complains when the planner tells two batches apart that are the same to it.
	differ := func(a, b []plan.Call, what string) error {
		if x, y := waves(a), waves(b); !slices.EqualFunc(x, y, slices.Equal) {
			return &Violation{Contract: c, Calls: a, Detail: fmt.Sprintf("waves %s, and %s %s", counted(x), counted(y), what)}
		}
		return nil
	}
	// alike looks for a smallest batch that the planner tells from what other makes of it, call by call.
	alike := func(calls []plan.Call, other func(plan.Call) plan.Call, what string) error {
		pairs := make([][2]plan.Call, len(calls))
		for i, c := range calls {
			pairs[i] = [2]plan.Call{c, other(c)}
		}
		return smallest(pairs, func([2]plan.Call) [][2]plan.Call { return nil }, func(pairs [][2]plan.Call) error {
			var a, b []plan.Call
			for _, p := range pairs {
				a, b = append(a, p[0]), append(b, p[1])
			}
			return differ(a, b, what)
		})
	}
	onePlan := func(contracts Contract) func(calls []plan.Call) error {
		return func(calls []plan.Call) error { return CheckPlan(calls, waves(calls), contracts) }
	}
	switch c {
	case P6:
		return smallest(PlainBatches(most, all.has(P3)).Draw(t, "batch"), simpler, onePlan(c|all&P3))
	case P7:
		return smallest(batch(), simpler, func(calls []plan.Call) error {
			given := clone(calls)
			planner(given)
			if !slices.EqualFunc(calls, given, equalCalls) {
				return &Violation{Contract: P7, Calls: calls, Detail: "the planner changed its input"}
			}
			return differ(calls, calls, "for a copy")
		})
	case P8:
		return alike(batch(), func(c plan.Call) plan.Call { return redundant(t, c) }, "when claims say the same in other words")
	case P9:
		few := rapid.SliceOfN(Claims(), 1, 2) // with many, something else conflicts as well
		for range 8 {
			pair := []plan.Call{{Safe: true, Claims: few.Draw(t, "one")}, {Safe: true, Claims: few.Draw(t, "other")}}
			err := smallest(pair, simpler, func(pair []plan.Call) error {
				if len(pair) < 2 {
					return nil
				}
				waves := waves(pair)
				if conflict := Conflict(pair[0], pair[1]); conflict != (len(waves) == 2) {
					return &Violation{Contract: P9, Calls: pair, Detail: fmt.Sprintf("conflict %t, and waves %s", conflict, counted(waves))}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	case P10:
		return alike(batch(), func(c plan.Call) plan.Call {
			if !c.Safe {
				c.Claims = rapid.SliceOfN(Claims(), 0, 3).Draw(t, "other claims")
			}
			return c
		}, "with other claims of the unsafe calls")
	case P11:
		calls := rapid.SampledFrom(Inversions()).Draw(t, "batch")
		waves := waves(calls)
		if CheckPlan(calls, waves, P3) == nil {
			return &Violation{Contract: P11, Calls: calls, Detail: "no inversion in waves " + counted(waves)}
		}
		return nil
	case P12:
		calls := batch()
		for i := range calls {
			calls[i].Claims = nil
		}
		return smallest(calls, simpler, onePlan(c))
	default:
		return smallest(batch(), simpler, onePlan(c))
	}
}

// smallest returns the error of a batch that fails and would not with a call less, or with one that is simpler. It
// starts from batch, and is nil if that does not fail.
func smallest[E any](batch []E, simpler func(E) []E, fails func([]E) error) error {
	err := fails(batch)
	for again := err != nil; again; {
		again = false
		try := func(smaller []E) bool {
			failed := fails(smaller)
			if failed != nil {
				batch, err, again = smaller, failed, true
			}
			return failed != nil
		}
		for i := len(batch) - 1; i >= 0; i-- {
			if try(slices.Delete(slices.Clone(batch), i, i+1)) {
				continue
			}
			for _, s := range simpler(batch[i]) {
				smaller := slices.Clone(batch)
				smaller[i] = s
				if try(smaller) {
					break
				}
			}
		}
	}
	return err
}

// simpler returns what a call may be in a simpler batch, the simplest first: keyless, exclusive, or with less to its
// claims.
func simpler(c plan.Call) []plan.Call {
	if c.Safe && len(c.Claims) == 0 {
		return nil
	}
	to := []plan.Call{{Safe: true}}
	if len(c.Claims) > 0 {
		to = append(to, plan.Call{})
	}
	for k := range c.Claims {
		to = append(to, plan.Call{Safe: c.Safe, Claims: slices.Delete(slices.Clone(c.Claims), k, k+1)})
	}
	for k, cl := range c.Claims {
		if cl.Tree {
			claims := slices.Clone(c.Claims)
			claims[k].Tree = false
			to = append(to, plan.Call{Safe: c.Safe, Claims: claims})
		}
	}
	return to
}

// redundant says the same as a call in other words: with claims twice, slashes added at the end of keys, the order
// turned, reads added to what is written anyway, and an empty key instead of an unsafe call.
func redundant(t *rapid.T, c plan.Call) plan.Call {
	out := plan.Call{Safe: c.Safe, Claims: slices.Clone(c.Claims)}
	for _, cl := range c.Claims {
		switch rapid.IntRange(0, 3).Draw(t, "say it how") {
		case 1:
			out.Claims = append(out.Claims, cl)
		case 2:
			cl.Key += "/"
			out.Claims = append(out.Claims, cl)
		case 3:
			cl.Access = plan.Read
			out.Claims = append(out.Claims, cl)
		}
	}
	if rapid.Bool().Draw(t, "turn it") {
		slices.Reverse(out.Claims)
	}
	if !c.Safe && rapid.Bool().Draw(t, "empty key") {
		return plan.Call{Safe: true, Claims: append(out.Claims, plan.Claim{Key: "/", Access: plan.Read})}
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
