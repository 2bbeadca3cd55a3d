package sim_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/bench/sim"
	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// TestFiveCalls is the batch that the README compares: edit a, read b, edit a, read c, read a.
func TestFiveCalls(t *testing.T) {
	calls := []plan.Call{writes("a"), reads("b"), writes("a"), reads("c"), reads("a")}
	takes := []time.Duration{50 * ms, 300 * ms, 50 * ms, 50 * ms, 50 * ms}
	want := map[string]time.Duration{
		"serial": 500 * ms, "windows": 450 * ms, "read-runs": 450 * ms, "rolling": 450 * ms,
		"waves": 400 * ms, "keyed": 300 * ms, "first-fit": 400 * ms, "locks": 300 * ms, "at-once": 300 * ms,
	}
	for _, p := range sim.Policies() {
		r, err := p.Run(calls, takes, sim.Config{})
		require.NoError(t, err)
		assert.Equal(t, want[p.Name], r.Makespan, p.Name)
	}
	b, err := sim.BoundOf(calls, takes)
	require.NoError(t, err)
	assert.Equal(t, 300*ms, b.Lower(0))
	assert.Equal(t, []int{1}, b.Chain)
}

// TestWavesCanBeSlowerThanTheRollingPool is the smallest batch in which they are: the write that both reads could run
// beside is in their wave's way.
func TestWavesCanBeSlowerThanTheRollingPool(t *testing.T) {
	calls := []plan.Call{writes("a"), reads("a"), reads("b")}
	takes := []time.Duration{1, 100, 100}
	want := map[string]time.Duration{"serial": 201, "rolling": 101, "waves": 200, "keyed": 101}
	for name, w := range want {
		p, err := sim.PolicyOf(name)
		require.NoError(t, err)
		r, err := p.Run(calls, takes, sim.Config{})
		require.NoError(t, err)
		assert.Equal(t, w, r.Makespan, name)
	}
}

// TestWindowsWaitForTheirSlowest: the third read has a slot, and is not let in.
func TestWindowsWaitForTheirSlowest(t *testing.T) {
	calls := []plan.Call{reads("a"), reads("b"), reads("c"), writes("d"), reads("e")}
	takes := []time.Duration{1, 10, 4, 1, 1}
	r, err := sim.Run(sim.NewWindows(2), calls, takes, sim.Config{Limit: 2, Waits: true})
	require.NoError(t, err)
	assert.EqualValues(t, 16, r.Makespan)
	assert.Equal(t, []exec.Wait{{For: exec.WaitWave, Call: 1, From: 1, To: 10}}, r.Spans[2].Waits[1:])
	r, err = sim.Run(sim.NewReadRuns(), calls, takes, sim.Config{Limit: 2})
	require.NoError(t, err)
	assert.EqualValues(t, 12, r.Makespan)
}

// TestLocksKeepNoOrder: a read joins one that came before a write, and all go in front of an exclusive call.
func TestLocksKeepNoOrder(t *testing.T) {
	calls := []plan.Call{reads("a"), writes("a"), reads("a"), exclusive, writes("b")}
	r, err := sim.Run(sim.NewLocks(), calls, []time.Duration{10, 10, 10, 10, 25}, sim.Config{})
	require.NoError(t, err)
	var starts []time.Duration
	for _, s := range r.Spans {
		starts = append(starts, s.Started)
	}
	assert.Equal(t, []time.Duration{0, 10, 0, 25, 0}, starts)
	pairs := []sim.Inversion{{Earlier: 1, Later: 2}, {Earlier: 3, Later: 4}}
	assert.Equal(t, sim.Inversions{Calls: 2, Pairs: 2, Keyed: 1, First: pairs}, r.Inversions(9))
}

func TestSteps(t *testing.T) {
	calls := []plan.Call{reads("a"), reads("b"), writes("a"), reads("a"), exclusive, writes("a"), writes("b")}
	want := map[string]int{
		"serial": 7, "windows": 6, "read-runs": 6, "rolling": 6, "waves": 5, "keyed": 5,
		"first-fit": 4, "locks": 4, "at-once": 1,
	}
	for _, p := range sim.Policies() {
		n, err := p.Steps(calls)
		require.NoError(t, err)
		assert.Equal(t, want[p.Name], n, p.Name)
	}
}

// TestWavesAndStepsAgree: in units of time the waves of plan.Ordered take as long as there are waves, and Keyed no
// less, because the longest chain of conflicts is what makes them.
func TestWavesAndStepsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls, _ := batches(t, 30)
		for name, want := range map[string]int{
			"waves": len(plan.Ordered(calls).Waves()), "keyed": len(plan.Ordered(calls).Waves()),
			"first-fit": len(plan.FirstFit(calls).Waves()), "serial": len(calls), "at-once": min(1, len(calls)),
		} {
			p, err := sim.PolicyOf(name)
			require.NoError(t, err)
			n, err := p.Steps(calls)
			require.NoError(t, err)
			require.Equal(t, want, n, name)
		}
	})
}

func TestSameAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls, takes := batches(t, 30)
		for _, p := range sim.Policies() {
			c := sim.Config{Limit: 3, Waits: true}
			one, err := p.Run(calls, takes, c)
			require.NoError(t, err)
			two, err := p.Run(calls, takes, c)
			require.NoError(t, err)
			require.Equal(t, one, two, p.Name)
			c.Waits = false
			bare, err := p.Run(calls, takes, c)
			require.NoError(t, err)
			for i := range one.Spans {
				one.Spans[i].Waits = nil
			}
			require.Equal(t, one, bare, p.Name)
		}
	})
}

func TestUtilisation(t *testing.T) {
	calls := []plan.Call{reads("a"), reads("b"), reads("c")}
	for _, c := range []struct {
		limit int
		want  float64
	}{{0, 4.0 / 6}, {1, 1}, {2, 1}, {4, 0.5}} {
		r, err := sim.Run(plan.NewKeyed(), calls, []time.Duration{1, 1, 2}, sim.Config{Limit: c.limit})
		require.NoError(t, err)
		if c.limit == 2 {
			c.want = 4.0 / 6 // 1 and 1, then 2 alone
		}
		assert.InDelta(t, c.want, r.Utilisation(), 1e-9, "limit %d", c.limit)
	}
	r, err := sim.Run(plan.NewKeyed(), []plan.Call{writes("a"), writes("a")}, []time.Duration{1, 1}, sim.Config{})
	require.NoError(t, err)
	assert.EqualValues(t, 1, r.Utilisation(), "one slot is enough")
	r, err = sim.Run(plan.NewKeyed(), nil, nil, sim.Config{})
	require.NoError(t, err)
	assert.EqualValues(t, 1, r.Utilisation())
	assert.Zero(t, r.Makespan)
}

func TestInputThatCannotBeSimulated(t *testing.T) {
	two := []plan.Call{reads("a"), reads("b")}
	for _, c := range []struct {
		takes []time.Duration
		limit int
		adm   plan.Admission
		says  string
	}{
		{[]time.Duration{1}, 0, plan.NewKeyed(), "2 calls and 1 durations"},
		{[]time.Duration{1, -1}, 0, plan.NewKeyed(), "call 2 takes -1ns"},
		{[]time.Duration{1, math.MaxInt64}, 0, plan.NewKeyed(), "calls 1 to 2 together"},
		{[]time.Duration{1, 1}, -1, plan.NewKeyed(), "limit -1"},
		{[]time.Duration{1, 1}, 0, nil, "no admission"},
	} {
		_, err := sim.Run(c.adm, two, c.takes, sim.Config{Limit: c.limit})
		require.ErrorIs(t, err, sim.ErrInput)
		require.ErrorContains(t, err, c.says)
	}
	_, err := sim.PolicyOf("best")
	require.ErrorIs(t, err, sim.ErrInput)
	require.ErrorContains(t, err, `"best"`)
}

// A broken admission is one that does what its offers function says.
type broken struct {
	plan.Admission
	next  func() (int, bool)
	start func() bool
	add   int
}

func (b broken) Submit(c plan.Call) int { return b.Admission.Submit(c) + b.add }
func (b broken) Next(after int) (int, bool) {
	if b.next != nil {
		return b.next()
	}
	return b.Admission.Next(after)
}

func (b broken) Start(i int, c plan.Call) bool {
	if b.start != nil {
		return b.start()
	}
	return b.Admission.Start(i, c)
}

func TestAdmissionsThatBreakTheirContract(t *testing.T) {
	calls := []plan.Call{reads("a"), reads("b")}
	for name, b := range map[string]broken{
		"leaves calls waiting": {next: func() (int, bool) { return 0, false }},
		"offers what is not":   {next: func() (int, bool) { return 2, true }},
		"offers twice":         {next: func() (int, bool) { return 0, true }},
		"refuses for ever":     {start: func() bool { return false }},
		"numbers otherwise":    {add: 1},
	} {
		t.Run(name, func(t *testing.T) {
			b.Admission = plan.NewKeyed()
			_, err := sim.Run(b, calls, []time.Duration{1, 1}, sim.Config{})
			require.ErrorIs(t, err, exec.ErrAdmission)
		})
	}
}
