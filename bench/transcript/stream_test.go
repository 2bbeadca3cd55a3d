package transcript

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A generator is a reader of pieces that are made when they are wanted.
type generator struct {
	piece func(i int) string // "": the end
	i     int
	rest  string
}

func (g *generator) Read(p []byte) (int, error) {
	if g.rest == "" {
		g.rest = g.piece(g.i)
		g.i++
		if g.rest == "" {
			return 0, io.EOF
		}
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

// heap is how much is in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Whatever the length of a log, what is held is a record and what is open: here of a log with answers that never get a
// result, of sub-agents that come and never go, and of one large document.
func TestMemoryIsThatOfWhatIsOpen(t *testing.T) {
	const most = 4 << 20
	pad := strings.Repeat("x", 2000)
	n := 8000 // 16 MB
	if testing.Short() {
		n = 2000
	}
	for name, c := range map[string]struct {
		piece  func(i int) string
		counts map[Kind]int
	}{
		"answers without results": {
			piece:  func(i int) string { return use(fmt.Sprint("m", i), pad, i) },
			counts: map[Kind]int{CallWithoutResult: n - 1, StillOpen: 1},
		},
		"sub-agents that never end": {
			piece: func(i int) string {
				return strings.Replace(use(fmt.Sprint("m", i), pad, i), `{`, fmt.Sprintf(`{"agentId":"a%d",`, i), 1)
			},
			counts: map[Kind]int{CallWithoutResult: n - maxOpen, StillOpen: maxOpen, TooManyOpen: n - maxOpen},
		},
		"one answer without end": {
			piece:  func(i int) string { return use("m", fmt.Sprint(i), i) },
			counts: map[Kind]int{TooManyOpen: (n - 1) / maxCalls, StillOpen: n - (n-1)/maxCalls*maxCalls},
		},
		"unknown records": {
			piece:  func(i int) string { return fmt.Sprintf(`{"type":"x%d","sessionId":"%s"}`, i, pad) + "\n" },
			counts: map[Kind]int{UnknownRecord: n},
		},
		"a document": {
			piece: func(i int) string {
				if i == 0 {
					return `{"messages":[`
				}
				return `{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":"` + pad + `"}}]},`
			},
			counts: map[Kind]int{CallWithoutResult: n - 2, StillOpen: 1, Torn: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, peak, batches := heap(), uint64(0), 0
			g := &generator{piece: func(i int) string {
				if i >= n {
					return ""
				}
				if i%(n/4) == n/8 {
					peak = max(peak, heap())
				}
				return c.piece(i)
			}}
			report := new(Report)
			for _, err := range Read(g, report) {
				require.NoError(t, err)
				batches++
			}
			assert.Less(t, peak, before+most)
			for kind, count := range c.counts {
				assert.Equal(t, count, report.Count(kind), kind)
			}
			assert.LessOrEqual(t, len(report.Problems), int(TooManyOpen)+maxWhats)
			assert.Equal(t, report.Batches, batches)
		})
	}
}

// A line of 100 MB is read, and so is the rest.
func TestLineOf100MB(t *testing.T) {
	size := 100 << 20
	if testing.Short() {
		size = 4 << 20
	}
	const chunk = 64 << 10
	pad := strings.Repeat("y", chunk)
	head, tail, _ := strings.Cut(result("a", 10), `"content":"x"`)
	g := &generator{piece: func(i int) string {
		switch {
		case i == 0:
			return use("m1", "a", 0) + head + `"content":"`
		case i <= size/chunk:
			return pad
		case i == size/chunk+1:
			return `"` + tail + use("m2", "b", 20) + result("b", 30)
		}
		return ""
	}}
	report := new(Report)
	var batches []Batch
	for b, err := range Read(g, report) {
		require.NoError(t, err)
		batches = append(batches, b)
	}
	assert.Empty(t, problems(report))
	require.Len(t, batches, 2)
	assert.Greater(t, report.Bytes, int64(size))
	for _, b := range batches {
		took, ok := b.Took(0, nil)
		assert.True(t, ok)
		assert.EqualValues(t, 10e6, took)
	}
}

func BenchmarkRead(b *testing.B) {
	for _, name := range []string{"claude_code_subagents.jsonl", "codex_rollout.jsonl", "opencode_export.json"} {
		b.Run(name, func(b *testing.B) {
			text := []byte(sample(b, name))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				for range Read(bytes.NewReader(text), nil) {
				}
			}
		})
	}
}

// A hostile log has as many results of nobody's calls as it likes, while as much is open as may be: to find that out
// takes no look at every call.
func BenchmarkResultsOfNobody(b *testing.B) {
	var open strings.Builder
	for agent := range 50 {
		for i := range 1000 {
			id := fmt.Sprint(agent, ".", i)
			open.WriteString(strings.Replace(use(fmt.Sprint("m", agent), id, 0), `"sessionId":"s"`, fmt.Sprintf(`"sessionId":"s%d"`, agent), 1))
		}
	}
	text := open.String() + strings.Repeat(result("nobody", 1), 20_000)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		var r Report
		for _, err := range Read(strings.NewReader(text), &r) {
			require.NoError(b, err)
		}
		require.Equal(b, 20_000, r.Count(ResultWithoutCall))
	}
}

// TestKindOf: the first members tell a document from a line, also from one that is torn or longer than what is looked at.
func TestKindOf(t *testing.T) {
	for head, want := range map[string]headKind{
		`{"info":{"type":"x"},"messages":[`:           isDocument,
		`{"info":{},` + "\n" + ` "messages":[`:        isDocument,
		"{\n":                                         isDocument,
		`[{"role":"user"}`:                            isDocument,
		`{"type":"x","messages":[`:                    isLine,
		`{"uuid":"x",` + "\n" + `{"uuid":"y"}` + "\n": isLine,
		`{"messages":{}}`:                             isLine,
		"\x00\x01 \n":                                 isBinary,
	} {
		assert.Equal(t, want, kindOf([]byte(head)), head)
	}
}
