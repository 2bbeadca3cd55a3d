package plantest

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/plan"
)

// broken is a machine with one answer or report changed.
type broken struct {
	*model
	next      func(m *model, after int) (int, bool)
	start     func(m *model, i int, c plan.Call) bool
	settle    func(m *model, i int)
	blocked   func(m *model, i int) (plan.Blocker, bool)
	reordered func(m *model, i int) []int
}

func (b *broken) Next(after int) (int, bool) {
	if b.next != nil {
		return b.next(b.model, after)
	}
	return b.model.Next(after)
}

func (b *broken) Start(i int, c plan.Call) bool {
	if b.start != nil {
		return b.start(b.model, i, c)
	}
	return b.model.Start(i, c)
}

func (b *broken) Settle(i int) {
	if b.settle != nil {
		b.settle(b.model, i)
		return
	}
	b.model.Settle(i)
}

func (b *broken) Blocked(i int) (plan.Blocker, bool) {
	if b.blocked != nil {
		return b.blocked(b.model, i)
	}
	return b.model.Blocked(i)
}

func (b *broken) Reordered(i int) []int {
	if b.reordered != nil {
		return b.reordered(b.model, i)
	}
	return b.model.Reordered(i)
}

func (b *broken) Clone() Machine {
	c := *b
	c.model = b.model.Clone().(*model)
	return &c
}

// waiting makes Keyed with another rule.
func waiting(wait func(m *model, i int) (plan.Blocker, bool)) func() Machine {
	return func() Machine { return &model{wait: wait} }
}

// placing makes waves with another way to find the earliest wave of a call.
func placing(place func(right func(floor int) int, m *model, j, floor int) int) func() Machine {
	return func() Machine {
		m := NewWaves().(*model)
		right := m.place
		m.place = func(m *model, j, floor int) int {
			return place(func(floor int) int { return right(m, j, floor) }, m, j, floor)
		}
		return m
	}
}

// only makes Keyed wait for those conflicts that count.
func only(counts func(m *model, e, i int) bool) func() Machine {
	return waiting(func(m *model, i int) (plan.Blocker, bool) {
		blind := model{committed: m.committed}
		for e, c := range m.calls {
			if e != i && !counts(m, e, i) {
				c.Call, c.settled = plan.Call{Safe: true}, true
			}
			blind.calls = append(blind.calls, c)
		}
		return blind.conflict(i)
	})
}

// breakages are admissions that break one contract each, and what they claim.
var breakages = []struct {
	name   string
	breaks Contract
	claims Contract
	open   func() Machine
}{
	{"waves without the conflict check", A1, WavesAdmission, placing(func(_ func(int) int, m *model, j, floor int) int {
		return floor
	})},
	{"waves without the floor for late calls", A9, WavesAdmission, placing(func(right func(int) int, m *model, j, _ int) int {
		return right(m.current)
	})},
	{"waves without any floor", A9, WavesAdmission, placing(func(right func(int) int, m *model, j, _ int) int {
		return right(0)
	})},
	{"waves without the floor for late calls when planning anew", A9, WavesAdmission, placing(func(right func(int) int, m *model, j, floor int) int {
		if j < len(m.calls)-1 {
			floor = m.current
		}
		return right(floor)
	})},
	{"waves not behind later calls that run", A7, WavesAdmission, func() Machine {
		m := NewWaves().(*model)
		m.place = func(m *model, j, floor int) int {
			for i, c := range m.calls[:j] {
				if Conflict(c.Call, m.calls[j].Call) {
					floor = max(floor, m.calls[i].wave+1)
				}
			}
			return floor
		}
		return m
	}},
	{"first-fit in place of the order", A2, WavesAdmission, NewFirstFit},
	{"keyed without reads", A1, KeyedAdmission, only(func(m *model, e, i int) bool {
		return Exclusive(m.calls[i].Call) || Exclusive(m.calls[e].Call) || len(m.calls[i].Claims) == 0 || m.calls[i].Claims[0].Access == plan.Write
	})},
	{"keyed that waits for running calls only", A2, KeyedAdmission, only(func(m *model, e, i int) bool { return m.calls[e].started })},
	{"keyed that lets a barrier go before the commits", A5, KeyedAdmission, waiting(func(m *model, i int) (plan.Blocker, bool) {
		all := model{calls: m.calls, committed: m.committed}
		for all.committed < len(m.calls) && m.calls[all.committed].settled {
			all.committed++
		}
		return all.conflict(i)
	})},
	{"rolling pool in place of keyed", A6, KeyedAdmission, NewRolling},
	{"keyed that lets writers starve", A2, KeyedAdmission, only(func(m *model, e, i int) bool {
		return m.calls[e].started || Exclusive(m.calls[e].Call) || Exclusive(m.calls[i].Call) || e == 0
	})},
	{"rolling pool that knows keys", A3, RollingAdmission, NewKeyed},
	{"rolling pool one at a time", A3, RollingAdmission, NewSerial},
	{"a deadlock", A4, AnyAdmission, waiting(func(m *model, i int) (plan.Blocker, bool) {
		if b, waits := (*model).conflict(m, i); waits {
			return b, true
		}
		return plan.Blocker{Kind: plan.ByOrder, Call: 1}, i == 2 && !m.calls[1].settled || i == 1 && !m.calls[0].started
	})},
	{"a skipped barrier lifts at once", A5, KeyedAdmission, func() Machine {
		return &broken{model: NewKeyed().(*model), settle: func(m *model, i int) {
			if i >= 0 && i < len(m.calls) && !m.calls[i].started && Exclusive(m.calls[i].Call) {
				m.calls[i].Call = plan.Call{Safe: true}
			}
			m.Settle(i)
		}}
	}},
	{"the class at the start is ignored", A1, KeyedAdmission, func() Machine {
		return &broken{model: NewKeyed().(*model), start: func(m *model, i int, c plan.Call) bool {
			if i < 0 || i >= len(m.calls) {
				return false
			}
			return m.Start(i, m.calls[i].Call)
		}}
	}},
	{"a start that is refused is forgotten", A7, KeyedAdmission, func() Machine {
		return &broken{model: NewKeyed().(*model), start: func(m *model, i int, c plan.Call) bool {
			if i < 0 || i >= len(m.calls) {
				return false
			}
			old := m.calls[i].Call
			if m.Start(i, c) {
				return true
			}
			m.calls[i].Call = old
			return false
		}}
	}},
	{"nobody is reordered", A7, KeyedAdmission, func() Machine {
		return &broken{model: NewKeyed().(*model), reordered: func(*model, int) []int { return nil }}
	}},
	{"everybody is reordered", A7, KeyedAdmission, func() Machine {
		return &broken{model: NewKeyed().(*model), reordered: func(m *model, i int) []int {
			var later []int
			for l := i + 1; l < len(m.calls); l++ {
				if m.calls[l].started {
					later = append(later, l)
				}
			}
			return later
		}}
	}},
	{"a call is offered twice", A7, AnyAdmission, func() Machine {
		return &broken{model: NewKeyed().(*model), next: func(m *model, after int) (int, bool) { return m.Next(max(-1, after-1)) }}
	}},
	{"running calls are offered", A7, AnyAdmission, func() Machine {
		return &broken{model: NewKeyed().(*model), next: func(m *model, after int) (int, bool) {
			return after + 1, after+1 < len(m.calls)
		}}
	}},
	{"the blocker is somebody else", A6, KeyedAdmission, func() Machine {
		return &broken{model: NewKeyed().(*model), blocked: func(m *model, i int) (plan.Blocker, bool) {
			b, ok := m.Blocked(i)
			if ok {
				b.Call = len(m.calls) - 1
			}
			return b, ok
		}}
	}},
	{"running calls are blocked", A6, AnyAdmission, func() Machine {
		return &broken{model: NewKeyed().(*model), blocked: func(m *model, i int) (plan.Blocker, bool) {
			if i >= 0 && i < len(m.calls) {
				return m.conflict(i)
			}
			return plan.Blocker{}, false
		}}
	}},
}

// TestExploreCatchesBreakages walks every history of at most four calls of four kinds.
func TestExploreCatchesBreakages(t *testing.T) {
	a := plan.Claim{Key: "a"}
	few := []plan.Call{{}, {Safe: true}, {Safe: true, Claims: []plan.Claim{{Key: "a", Access: plan.Read}}}, {Safe: true, Claims: []plan.Claim{a}}}
	for _, tt := range breakages {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Explore(tt.open, Exploration{Calls: 4, Alphabet: few, Reclassify: 1, Skip: 1, Contracts: tt.breaks | tt.claims&(A3|A5|A8)})
			var v *Violation
			require.ErrorAs(t, err, &v)
			assert.NotEmpty(t, v.Events)
			assert.NotEmpty(t, v.Calls)
			assert.True(t, (tt.breaks | tt.claims | Interface).has(v.Contract), "nobody claims this: %v", v)
		})
	}
}

// TestExploreTurnsPanicsIntoViolations demands the history that leads to a panic.
func TestExploreTurnsPanicsIntoViolations(t *testing.T) {
	_, err := Explore(func() Machine {
		return &broken{model: NewKeyed().(*model), settle: func(m *model, i int) { m.Settle(m.calls[i+1].wave) }}
	}, Exploration{Calls: 1, Contracts: A1})
	var v *Violation
	require.ErrorAs(t, err, &v)
	assert.Contains(t, v.Detail, "index out of range")
	assert.Contains(t, v.Detail, "admission_test.go", "where")
	assert.Len(t, v.Events, 3)
	assert.Equal(t, Interface, v.Contract)
}

// TestExploreTurnsGoexitsIntoViolations does so where nothing else is left to explore but what the goroutine leaves.
func TestExploreTurnsGoexitsIntoViolations(t *testing.T) {
	_, err := Explore(func() Machine {
		return &broken{model: NewKeyed().(*model), settle: func(*model, int) { runtime.Goexit() }}
	}, Exploration{Calls: 1, Contracts: A1})
	var v *Violation
	require.ErrorAs(t, err, &v)
	assert.Contains(t, v.Detail, "runtime.Goexit")
	assert.Contains(t, v.Detail, "admission_test.go", "where")
	assert.Len(t, v.Events, 3)

	_, err = Explore(func() Machine { runtime.Goexit(); return nil }, Exploration{Calls: 1, Contracts: A1})
	assert.ErrorContains(t, err, "Goexit")
}

// TestViolationsNameWhatIsClaimed breaks what every admission is held to.
func TestViolationsNameWhatIsClaimed(t *testing.T) {
	for _, m := range []*broken{
		{blocked: func(*model, int) (plan.Blocker, bool) { return plan.Blocker{}, true }},
		{blocked: func(*model, int) (plan.Blocker, bool) { return plan.Blocker{}, false }},
		{next: func(*model, int) (int, bool) { return 0, true }},
	} {
		_, err := Explore(func() Machine {
			m := *m
			m.model = NewSerial().(*model)
			return &m
		}, Exploration{Calls: 2, Alphabet: []plan.Call{{}}, Contracts: A1})
		var v *Violation
		require.ErrorAs(t, err, &v)
		assert.Equal(t, Interface, v.Contract, "%v", v)
	}
	_, err := Explore(NewRolling, Exploration{Calls: 2, Contracts: A1, Like: NewKeyed})
	assert.ErrorContains(t, err, "Likeness: ")
	assert.NotContains(t, err.Error(), "call 0")
}

// TestCheckAdmissionCatchesBreakages does the same with random histories.
func TestCheckAdmissionCatchesBreakages(t *testing.T) {
	for _, tt := range breakages {
		t.Run(tt.name, func(t *testing.T) {
			said := record(t, func(t rapid.TB) {
				CheckAdmission(t, func() plan.Admission { return tt.open() }, tt.claims)
			})
			assert.NotEmpty(t, said)
		})
	}
}

// TestCheckLikeCatchesDifferences compares admissions with each other that are not alike.
func TestCheckLikeCatchesDifferences(t *testing.T) {
	kinds := map[string]func() Machine{"Serial": NewSerial, "Rolling": NewRolling, "Keyed": NewKeyed, "Waves": NewWaves, "FirstFit": NewFirstFit}
	for name, open := range kinds {
		for other, like := range kinds {
			t.Run(name+" like "+other, func(t *testing.T) {
				_, err := Explore(open, Exploration{Calls: 3, Contracts: A8, Like: like})
				said := record(t, func(t rapid.TB) {
					CheckLike(t, func() plan.Admission { return open() }, func() plan.Admission { return like() }, A8)
				})
				if name == other {
					assert.NoError(t, err)
					assert.Empty(t, said)
					return
				}
				assert.Error(t, err)
				assert.NotEmpty(t, said)
			})
		}
	}
}

// TestExploreVisitsEveryState counts where a person can.
func TestExploreVisitsEveryState(t *testing.T) {
	keyless := []plan.Call{{Safe: true}}
	tests := []struct {
		name string
		e    Exploration
		want int
	}{
		{"one call: submitted, started, settled, committed", Exploration{Calls: 1, Contracts: A8}, 4},
		{"and skipped, and committed then", Exploration{Calls: 1, Contracts: A8, Skip: 1}, 6},
		// The batch of one: 4. The first call alone: 4. Both, each waiting, running or settled: 9, and where both have
		// started, 4 of these, it matters which was first. The first committed, the second in 3 states, 2 of which
		// come twice like that. Both committed, twice.
		{"two calls, as a stream", Exploration{Calls: 2, Contracts: A8}, 4 + 4 + 9 + 4 + 3 + 2 + 2},
		// The batch of one: 4. In a batch the first call is alone only when it has just been submitted.
		{"two calls, as a batch", Exploration{Calls: 2, Contracts: A1}, 4 + 1 + 9 + 4 + 3 + 2 + 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.e.Alphabet = keyless
			n, err := Explore(NewKeyed, tt.e)
			require.NoError(t, err)
			assert.Equal(t, tt.want, n)
		})
	}
	for _, e := range []Exploration{ // more than it can tell apart, or nothing that could go wrong
		{}, {Calls: 9}, {Calls: 1, Alphabet: make([]plan.Call, 257)}, {Calls: 1, Alphabet: []plan.Call{}},
	} {
		e.Contracts = A1
		_, err := Explore(NewKeyed, e)
		assert.Error(t, err)
	}
}
