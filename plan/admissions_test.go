package plan_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/plan/plantest"
)

// checkAdmissions points plantest at every admission that promises contract c: every history of up to three calls, in
// which classes change only where that is what it is about, and random longer ones.
func checkAdmissions(t *testing.T, c plantest.Contract) {
	for _, a := range admissions {
		if a.contracts&c == 0 {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			// A3 and A5 also say what a barrier is, and that an exclusive call is under way until its commit.
			e := plantest.Exploration{Calls: 3, Contracts: c | plantest.A8 | a.contracts&(plantest.A3|plantest.A5)}
			switch c {
			case plantest.A7:
				e.Alphabet, e.Reclassify = fewLetters(), 1
			case plantest.A9: // it takes four calls to see what planning anew does to a late one
				e.Calls, e.Alphabet, e.Reclassify = 4, fewLetters(), 1
			}
			_, err := plantest.Explore(func() plantest.Machine { return machine{a.open()} }, e)
			require.NoError(t, err)
			plantest.CheckAdmission(t, a.open, e.Contracts|plantest.A7|plantest.A4)
		})
	}
}

func TestA1ConflictsNeverRunTogether(t *testing.T) { checkAdmissions(t, plantest.A1) }
func TestA2ConflictsKeepTheOrder(t *testing.T)     { checkAdmissions(t, plantest.A2) }
func TestA3RollingIsTheRollingPool(t *testing.T) {
	checkAdmissions(t, plantest.A3)
	testLike(t, "Rolling")
}
func TestA4NoDeadlock(t *testing.T)        { checkAdmissions(t, plantest.A4) }
func TestA5NeverAheadOfKeyed(t *testing.T) { checkAdmissions(t, plantest.A5) }
func TestA6KeyedWaitsOnlyForConflicts(t *testing.T) {
	checkAdmissions(t, plantest.A6)
	testLike(t, "Keyed")
}
func TestA7ClassesChangeBeforeTheStart(t *testing.T) { checkAdmissions(t, plantest.A7) }
func TestA8Streams(t *testing.T)                     { checkAdmissions(t, plantest.A8) }
func TestA9NobodyWaitsForWhoCameLater(t *testing.T)  { checkAdmissions(t, plantest.A9) }

// A call that could start must not come to wait for a later one because a third changed its class.
func TestA9WhenAnotherCallChangesItsClass(t *testing.T) {
	write, free := call("w a"), call()
	for _, open := range []func() plan.Admission{plan.NewWaves, plan.NewFirstFit} {
		a := open()
		a.Submit(write)
		require.True(t, a.Start(0, write))
		for _, c := range []plan.Call{write, free, free, free} { // the free ones are late: they join the first in its wave
			a.Submit(c)
		}
		_, ok := a.Next(-1)
		require.False(t, ok)
		a.Settle(0)
		require.True(t, a.Start(1, write))
		require.True(t, a.Start(4, free))
		require.False(t, a.Start(2, write), "call 1 writes the same")
		i, ok := a.Next(-1)
		assert.True(t, ok && i == 3, "call 3 has nothing to do with it")
	}
}

func TestSerialIsOneAtATime(t *testing.T)             { testLike(t, "Serial") }
func TestWavesAreThoseOfOrdered(t *testing.T)         { testLike(t, "Waves") }
func TestFirstFitWavesAreThoseOfThePlan(t *testing.T) { testLike(t, "FirstFit") }

// testLike compares an admission with its naive model: every history of up to three calls, and random longer ones.
// Where skipped calls of waves are planned anew nothing is said, so that those are compared without.
func testLike(t *testing.T, name string) {
	for _, a := range admissions {
		if a.name != name {
			continue
		}
		t.Run("like the model", func(t *testing.T) {
			contracts := a.contracts
			e := plantest.Exploration{Calls: 3, Contracts: contracts, Reclassify: 1, Skip: 1, Alphabet: fewLetters(), Like: a.like}
			if name == "Waves" || name == "FirstFit" {
				e.Skip, contracts = 0, contracts&^plantest.A4
			}
			_, err := plantest.Explore(func() plantest.Machine { return machine{a.open()} }, e)
			require.NoError(t, err)
			e.Alphabet, e.Reclassify = nil, 0
			_, err = plantest.Explore(func() plantest.Machine { return machine{a.open()} }, e)
			require.NoError(t, err)
			plantest.CheckLike(t, a.open, func() plan.Admission { return a.like() }, contracts)
		})
	}
}

// TestModelsKeepTheContracts points plantest at its own models: what is compared with them ought to be right.
func TestModelsKeepTheContracts(t *testing.T) {
	for _, a := range admissions {
		t.Run(a.name, func(t *testing.T) {
			_, err := plantest.Explore(a.like, plantest.Exploration{
				Calls: 3, Reclassify: 1, Skip: 1, Alphabet: fewLetters(), Contracts: a.contracts,
			})
			require.NoError(t, err)
		})
	}
}

// TestAdmissionsOnLargeBatches runs every admission beside its model through batches and streams with more waves, keys
// and calls than fit a word of bits.
func TestAdmissionsOnLargeBatches(t *testing.T) {
	for _, a := range admissions {
		t.Run(a.name, func(t *testing.T) {
			for seed := range uint64(6) {
				r := rand.New(rand.NewPCG(seed, 4))
				race(t, r, a.open(), a.like(), largeBatch(r, 200), seed%2 == 1)
			}
		})
	}
}

// race drives an admission and its model alike, and asks them the same things.
func race(t *testing.T, r *rand.Rand, a, like plan.Admission, batch []plan.Call, stream bool) {
	var queued, running []int
	settled := make([]bool, len(batch))
	submitted, commit := 0, 0
	take := func(s *[]int) int {
		k := r.IntN(len(*s))
		i := (*s)[k]
		*s = append((*s)[:k], (*s)[k+1:]...)
		return i
	}
	for commit < len(batch) {
		for submitted < len(batch) && (!stream || r.IntN(3) == 0) {
			require.Equal(t, submitted, a.Submit(batch[submitted]))
			like.Submit(batch[submitted])
			queued = append(queued, submitted)
			submitted++
		}
		for range 4 {
			from := r.IntN(submitted+2) - 1
			i, ok := a.Next(from)
			j, also := like.Next(from)
			require.Equal(t, also, ok, "Next(%d)", from)
			if !ok {
				break
			}
			require.Equal(t, j, i, "Next(%d)", from)
			require.True(t, a.Start(i, batch[i]), "Start(%d)", i)
			require.True(t, like.Start(i, batch[i]))
			for k, q := range queued {
				if q == i {
					queued = append(queued[:k], queued[k+1:]...)
					break
				}
			}
			running = append(running, i)
		}
		for _, i := range queued[:min(3, len(queued))] {
			_, blocked := a.Blocked(i)
			_, waits := like.Blocked(i)
			require.Equal(t, waits, blocked, "Blocked(%d)", i)
		}
		if len(running) > 0 && r.IntN(3) > 0 {
			i := take(&running)
			a.Settle(i)
			like.Settle(i)
			settled[i] = true
		}
		for commit < submitted && settled[commit] && r.IntN(4) > 0 {
			a.Commit(commit)
			like.Commit(commit)
			commit++
		}
	}
}

// TestReportsThatMeanNothing tells fresh and used admissions of calls that are not there.
func TestReportsThatMeanNothing(t *testing.T) {
	for _, a := range admissions {
		t.Run(a.name, func(t *testing.T) {
			m := a.open()
			tell := func() {
				for _, i := range []int{math.MinInt, -2, -1, 1, 2, 63, 64, 1 << 20, math.MaxInt - 1} {
					m.Settle(i)
					m.Commit(i)
					assert.False(t, m.Start(i, plan.Call{Safe: true}), "Start(%d)", i)
					_, blocked := m.Blocked(i)
					assert.False(t, blocked, "Blocked(%d)", i)
					assert.Empty(t, m.Reordered(i), "Reordered(%d)", i)
				}
			}
			_, ok := m.Next(-1)
			assert.False(t, ok, "nothing was submitted")
			tell()
			require.Zero(t, m.Submit(plan.Call{}))
			tell()
			for _, after := range []int{math.MinInt, -2, -1} {
				i, ok := m.Next(after)
				assert.True(t, ok && i == 0, "Next(%d)", after)
			}
			for _, after := range []int{0, 1, 64, math.MaxInt - 1} {
				_, ok := m.Next(after)
				assert.False(t, ok, "Next(%d)", after)
			}
		})
	}
}

// TestBlockedSaysWhatIsWaitedFor asks each admission for its kind of reason.
func TestBlockedSaysWhatIsWaitedFor(t *testing.T) {
	w := func(keys ...string) plan.Call {
		var claims []plan.Claim
		for _, k := range keys {
			claims = append(claims, plan.Claim{Key: k})
		}
		return keyed(claims...)
	}
	r := keyed(plan.Claim{Key: "a", Access: plan.Read})
	claim := func(call int, mine, held plan.Claim) plan.Blocker {
		return plan.Blocker{Kind: plan.ByClaim, Call: call, Mine: mine, Held: held}
	}
	writeA, readA := plan.Claim{Key: "a"}, plan.Claim{Key: "a", Access: plan.Read}
	tests := []struct {
		name   string
		open   func() plan.Admission
		batch  []plan.Call
		call   int
		want   plan.Blocker
		reason string
	}{
		{"keyed behind a claim", plan.NewKeyed, []plan.Call{w("b"), w("a"), r}, 2, claim(1, readA, writeA), "call 2 (write a)"},
		{"keyed behind a barrier", plan.NewKeyed, []plan.Call{{}, w("a")}, 1, plan.Blocker{Kind: plan.ByBarrier, Call: 0}, "call 1 (barrier)"},
		{"waves behind a claim", plan.NewWaves, []plan.Call{w("b"), w("a"), r}, 2, claim(1, readA, writeA), "call 2 (write a)"},
		{"waves behind the wave before", plan.NewWaves, []plan.Call{w("b"), w("a"), w("a"), w("a"), w("b", "c"), w("c")}, 5,
			claim(4, plan.Claim{Key: "c"}, plan.Claim{Key: "c"}), "call 5 (write c)"},
		{"waves behind a wave", plan.NewWaves, []plan.Call{w("a"), w("b"), w("a")}, 2, plan.Blocker{Kind: plan.ByWave, Call: 1}, "call 2 (wave)"},
		{"waves behind a barrier", plan.NewWaves, []plan.Call{{}, w("a")}, 1, plan.Blocker{Kind: plan.ByBarrier, Call: 0}, "call 1 (barrier)"},
		{"rolling behind a barrier", plan.NewRolling, []plan.Call{w("a"), r}, 1, plan.Blocker{Kind: plan.ByBarrier, Call: 0}, "call 1 (barrier)"},
		{"rolling behind the order", plan.NewRolling, []plan.Call{r, r}, 1, plan.Blocker{Kind: plan.ByOrder, Call: 0}, "call 1 (order)"},
		{"serial behind the order", plan.NewSerial, []plan.Call{r, r}, 1, plan.Blocker{Kind: plan.ByOrder, Call: 0}, "call 1 (order)"},
		{"first-fit behind a claim", plan.NewFirstFit, []plan.Call{w("a"), w("a")}, 1, claim(0, writeA, writeA), "call 1 (write a)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := tt.open()
			for _, c := range tt.batch {
				a.Submit(c)
			}
			if tt.want.Kind == plan.ByWave { // the call with the claim is done, its wave is not
				require.True(t, a.Start(0, tt.batch[0]))
				a.Settle(0)
			}
			got, ok := a.Blocked(tt.call)
			require.True(t, ok)
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.reason, got.String())
		})
	}
	kinds := ""
	for k := plan.ByClaim; k <= plan.ByWave+1; k++ {
		kinds += fmt.Sprintln(k)
	}
	assert.Equal(t, "claim\nbarrier\norder\nwave\nBlockKind(4)\n", kinds)
}

// TestReorderedNamesWhoRanBefore is A7's one exception: a call that became something else after a later one started.
func TestReorderedNamesWhoRanBefore(t *testing.T) {
	read, write := keyed(plan.Claim{Key: "a", Access: plan.Read}), keyed(plan.Claim{Key: "a"})
	for _, open := range []func() plan.Admission{plan.NewKeyed, plan.NewWaves, plan.NewFirstFit} {
		a := open()
		for range 3 {
			a.Submit(read)
		}
		require.True(t, a.Start(2, read))
		require.True(t, a.Start(1, read))
		require.Empty(t, a.Reordered(0))
		require.False(t, a.Start(0, write), "two readers run")
		assert.Equal(t, []int{1, 2}, a.Reordered(0))
		a.Settle(1)
		a.Settle(2)
		require.True(t, a.Start(0, write))
		assert.Equal(t, []int{1, 2}, a.Reordered(0))
		assert.Empty(t, a.Reordered(1), "call 2 started before it, but both read")
	}
}
