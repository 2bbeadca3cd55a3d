package harness_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// BenchmarkStep is the whole way of calls that do nothing through a step of a session: arguments are checked, three
// events are recorded, the body runs. In memory, with its ratio to exec.Run of as many bodies that do nothing, and over
// a file.
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
			b.ReportAllocs()
			for b.Loop() {
				m.Turn++
				_, err := session.Append(harness.SyncNone, harness.TurnStart{Turn: m.Turn}, harness.StepStart{Turn: m.Turn, Step: 1}, m)
				require.NoError(b, err)
				results, err := s.Run(b.Context(), m)
				require.NoError(b, err)
				require.Len(b, results, n)
				_, err = session.Append(harness.SyncNone, harness.StepEnd{Turn: m.Turn, Step: 1}, harness.TurnEnd{Turn: m.Turn, Reason: harness.EndDone})
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(m.Turn*n), "ns/call")
			b.ReportMetric(float64(m.Turn*n)/b.Elapsed().Seconds(), "calls/s")
		})
	}
	for _, n := range []int{8, 64, 512} {
		bench("memory", n, harness.SyncNone, func(b *testing.B) *harness.Session {
			return open(b, new(harness.Memory))
		})
		b.Run(fmt.Sprint("exec.Run/", n), func(b *testing.B) {
			calls := make([]plan.Call, n)
			for i := range calls {
				calls[i].Safe = true
			}
			runs := 0
			b.ReportAllocs()
			for b.Loop() {
				runs++
				_, err := exec.Run(b.Context(), calls, func(context.Context, int) (string, error) { return "done", nil }, exec.Limit(10))
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(runs*n), "ns/call")
		})
	}
	bench("file, batch", 512, harness.SyncBatch, func(b *testing.B) *harness.Session {
		s, err := harness.Open(filepath.Join(b.TempDir(), "log.jsonl"))
		require.NoError(b, err)
		return s
	})
}
