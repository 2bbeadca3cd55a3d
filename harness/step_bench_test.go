package harness_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// BenchmarkStep is the whole way of calls that do nothing through a step of a session: arguments are checked, three
// events are recorded, the body runs; in memory, and over a file. x-exec.Run is the ratio of the time to that of exec.Run
// of as many bodies that do nothing, turn and turn about. ns/call, calls/s and allocs/call are the step's.
func BenchmarkStep(b *testing.B) {
	read := free("read", func(ctx) (string, error) { return "done", nil })
	registry := new(tool.Registry)
	require.NoError(b, registry.Register(read))
	bench := func(name string, n int, d harness.Durability, open func(b *testing.B) *harness.Session) {
		b.Run(fmt.Sprint(name, "/", n), func(b *testing.B) {
			session := open(b)
			defer session.Close()
			s := &harness.Scheduler{Session: session, Tools: registry, Durability: d}
			m := harness.AssistantMessage{Step: 1, Calls: make([]tool.Call, n)}
			for i := range m.Calls {
				m.Calls[i] = tool.Call{ID: fmt.Sprintf("call_%d", i), Name: "read", Arguments: "{}"}
			}
			ours := func() {
				m.Turn++
				_, err := session.Append(harness.SyncNone, harness.TurnStart{Turn: m.Turn}, harness.StepStart{Turn: m.Turn, Step: 1}, m)
				require.NoError(b, err)
				results, err := s.Run(b.Context(), m)
				require.NoError(b, err)
				require.Len(b, results, n)
				_, err = session.Append(harness.SyncNone, harness.StepEnd{Turn: m.Turn, Step: 1}, harness.TurnEnd{Turn: m.Turn, Reason: harness.EndDone})
				require.NoError(b, err)
			}
			bare := make([]plan.Call, n)
			for i := range bare {
				bare[i].Safe = true
			}
			theirs := func() {
				_, err := exec.Run(b.Context(), bare, func(context.Context, int) (string, error) { return "done", nil }, exec.Limit(10))
				require.NoError(b, err)
			}
			var own, other time.Duration
			b.ReportAllocs()
			for b.Loop() {
				t0 := time.Now()
				ours()
				t1 := time.Now()
				theirs()
				own += t1.Sub(t0)
				other += time.Since(t1)
			}
			b.ReportMetric(float64(own)/float64(other), "x-exec.Run")
			b.ReportMetric(float64(own)/float64(b.N*n), "ns/call")
			b.ReportMetric(float64(b.N*n)/own.Seconds(), "calls/s")
			b.ReportMetric(testing.AllocsPerRun(5, ours)/float64(n), "allocs/call")
		})
	}
	for _, n := range []int{8, 64, 512} {
		bench("memory", n, harness.SyncNone, func(b *testing.B) *harness.Session {
			return open(b, new(harness.Memory))
		})
	}
	bench("file, batch", 512, harness.SyncBatch, func(b *testing.B) *harness.Session {
		s, err := harness.Open(filepath.Join(b.TempDir(), "log.jsonl"))
		require.NoError(b, err)
		return s
	})
}
