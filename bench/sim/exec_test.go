package sim_test

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/bench/sim"
	"github.com/keywave-go/keywave/bench/trace"
	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/plan/plantest"
)

// TestSimulationIsExec holds the simulation to the real thing: exec runs the same calls in fake time, under every
// admission and limit, and records the same timeline to the nanosecond, with the same waits for the same reasons.
func TestSimulationIsExec(t *testing.T) {
	for _, p := range sim.Policies() {
		t.Run(p.Name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				calls := plantest.Batches(14).Draw(rt, "batch")
				takes := apart(rt, len(calls))
				limit := rapid.SampledFrom([]int{0, 2, 3, 4, 8}).Draw(rt, "limit")
				same(t, rt, p, calls, takes, limit)
			})
		})
	}
}

// TestSimulationIsExecWithManyWaits has calls that wait more often than a timeline keeps apart.
func TestSimulationIsExecWithManyWaits(t *testing.T) {
	calls := make([]plan.Call, 0, 60)
	takes := make([]time.Duration, 0, 60)
	for i := range 30 {
		calls, takes = append(calls, reads("a")), append(takes, time.Duration(100+i))
	}
	for i := range 30 {
		calls, takes = append(calls, writes("a"), exclusive), append(takes, time.Duration(i+1), ms)
	}
	for _, p := range sim.Policies() {
		t.Run(p.Name, func(t *testing.T) { same(t, t, p, calls, takes, 0) })
	}
}

// TestSimulationIsExecOnRecordedBatches runs what agents really asked for, with the durations that were recorded made
// so different that no two calls end at once.
func TestSimulationIsExecOnRecordedBatches(t *testing.T) {
	f, err := os.Open("../testdata/batches.jsonl")
	require.NoError(t, err)
	defer f.Close()
	n := 0
	for b, err := range trace.Read(f) {
		require.NoError(t, err)
		if n++; testing.Short() && n%10 > 0 {
			continue
		}
		takes := b.Takes()
		for i, d := range takes {
			takes[i] = d/time.Millisecond<<len(takes) + 1<<i
		}
		for _, p := range sim.Policies() {
			same(t, t, p, b.Plan(), takes, 4)
		}
	}
	require.NotZero(t, n)
}

// TestSimulationOfLimitOne holds what a lane does with a limit of 1 to the serial policy, which it then admits by.
func TestSimulationOfLimitOne(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		calls := plantest.Batches(10).Draw(rt, "batch")
		serial, err := sim.PolicyOf("serial")
		require.NoError(rt, err)
		same(t, rt, serial, calls, apart(rt, len(calls)), 1)
	})
}

func same(t *testing.T, rt require.TestingT, p sim.Policy, calls []plan.Call, takes []time.Duration, limit int) {
	got, err := p.Run(calls, takes, sim.Config{Limit: limit, Waits: true})
	require.NoError(rt, err)
	bodies := limit
	if bodies == 0 {
		bodies = max(2, len(calls)) // with 1 a lane has its own admission
	}
	var want []exec.Span
	var took time.Duration
	synctest.Test(t, func(t *testing.T) {
		var tl exec.Timeline
		begin := time.Now()
		_, err = exec.Run(context.Background(), calls, func(_ context.Context, i int) (int, error) {
			<-time.After(takes[i])
			return i, nil
		}, exec.Limit(bodies), exec.Admit(func() plan.Admission { return p.Open(limit) }), exec.Record(&tl))
		took, want = time.Since(begin), tl.Snapshot()
	})
	require.NoError(rt, err)
	require.Equal(rt, took, got.Makespan)
	require.Equal(rt, want, got.Spans)
}
