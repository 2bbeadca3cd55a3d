package harness_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

const callsAStep = 512

// appendStep appends a step of n calls, as a scheduler does: three events a call.
func appendStep(t require.TestingT, s *harness.Session, d harness.Durability, turn, n int) {
	app := func(d harness.Durability, ps ...harness.Payload) {
		if _, err := s.Append(d, ps...); err != nil {
			require.NoError(t, err)
		}
	}
	m := harness.AssistantMessage{Turn: turn, Step: 1, Calls: make([]tool.Call, n)}
	for i := range m.Calls {
		m.Calls[i] = tool.Call{ID: fmt.Sprintf("call_%d", i), Name: "read", Arguments: `{"path":"src/main.go","limit":200}`}
	}
	app(d, harness.TurnStart{Turn: turn}, harness.StepStart{Turn: turn, Step: 1}, m)
	r := tool.Text(strings.Repeat("package main // ", 8))
	for i, c := range m.Calls {
		at := harness.Place{Turn: turn, Step: 1, Index: i}
		app(d, harness.ToolCall{Place: at, ID: c.ID, Name: c.Name, Arguments: c.Arguments})
		app(d, harness.ToolSettle{Place: at, Result: r})
		app(d, harness.ToolResult{Place: at, ID: c.ID, Name: c.Name, Result: r})
	}
	app(harness.SyncAlways, harness.StepEnd{Turn: turn, Step: 1}, harness.TurnEnd{Turn: turn, Reason: harness.EndDone})
}

// BenchmarkAppend is a step of 512 calls, three events each, with each durability: over a file, and in memory.
// SyncAlways has 16 calls, since it waits for the disk 48 times.
func BenchmarkAppend(b *testing.B) {
	bench := func(name string, d harness.Durability, calls int, open func(b *testing.B) *harness.Session) {
		b.Run(name, func(b *testing.B) {
			s := open(b)
			defer s.Close()
			b.ReportAllocs()
			turn := 0
			for b.Loop() {
				turn++
				appendStep(b, s, d, turn, calls)
			}
			b.ReportMetric(float64(turn*calls)/b.Elapsed().Seconds(), "calls/s")
		})
	}
	file := func(b *testing.B) *harness.Session {
		s, err := harness.Open(filepath.Join(b.TempDir(), "log.jsonl"))
		require.NoError(b, err)
		return s
	}
	bench("memory", harness.SyncNone, callsAStep, func(b *testing.B) *harness.Session {
		s, err := harness.New(new(harness.Memory))
		require.NoError(b, err)
		return s
	})
	bench("none", harness.SyncNone, callsAStep, file)
	bench("batch", harness.SyncBatch, callsAStep, file)
	bench("always", harness.SyncAlways, 16, file)
}

// million writes a log of about n events, in steps of 64 calls.
func million(t require.TestingT, path string, n int) {
	s, err := harness.New(new(harness.Memory))
	require.NoError(t, err)
	for turn := 1; s.State().Seq < 2000; turn++ {
		appendStep(t, s, harness.SyncNone, turn, 64)
	}
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	var lines []string
	for e, err := range s.Events() {
		require.NoError(t, err)
		lines = append(lines, e.String())
	}
	turns := s.State().Turn
	for i, round := 0, 0; i < n; round++ {
		for _, line := range lines[min(round, 1):] {
			if i++; i > n {
				break
			}
			if round > 0 {
				_, rest, _ := strings.Cut(line, ",")
				line = fmt.Sprintf(`{"seq":%d,%s`, i, rest)
				at := strings.Index(line, `"turn":`) + len(`"turn":`)
				var turn int
				_, err := fmt.Sscanf(line[at:], "%d", &turn)
				require.NoError(t, err)
				end := at + len(fmt.Sprint(turn))
				line = line[:at] + fmt.Sprint(turn+round*turns) + line[end:]
			}
			_, _ = w.WriteString(line)
			_ = w.WriteByte('\n')
		}
	}
	require.NoError(t, w.Flush())
}

// peak runs f and returns the highest size of the heap that was seen meanwhile.
func peak(f func()) uint64 {
	stop, done := make(chan struct{}), make(chan uint64)
	go func() {
		var m runtime.MemStats
		most := uint64(0)
		for {
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			select {
			case <-stop:
				done <- most
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	f()
	close(stop)
	return <-done
}

func events(b *testing.B) int {
	if testing.Short() {
		return 100_000
	}
	return 1_000_000
}

// BenchmarkOpen opens a log of a million events (100,000 with -short).
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "log.jsonl")
	million(b, path, events(b))
	b.ReportAllocs()
	most := uint64(0)
	for b.Loop() {
		most = max(most, peak(func() {
			s, err := harness.Open(path)
			require.NoError(b, err)
			require.NoError(b, s.Close())
		}))
	}
	b.ReportMetric(float64(most)/1e6, "peak-MB")
}

// BenchmarkTurns is the fold of keywave log over the same log.
func BenchmarkTurns(b *testing.B) {
	path := filepath.Join(b.TempDir(), "log.jsonl")
	million(b, path, events(b))
	b.ReportAllocs()
	most := uint64(0)
	for b.Loop() {
		most = max(most, peak(func() {
			for _, err := range harness.Turns(harness.ReadFile(path)) {
				require.NoError(b, err)
			}
		}))
	}
	b.ReportMetric(float64(most)/1e6, "peak-MB")
}
