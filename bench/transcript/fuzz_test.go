package transcript

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzRead holds of whatever bytes: no panic, no error, a report that adds up, and batches that somebody can work with.
// The seeds are the samples, so every reader is reached.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json*")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, name := range files {
		b, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(string(b))
	}
	f.Add(`{"trace":"a","batch":1,"calls":[{"i":0,"access":"read","start_ms":5,"dur_ms":-1,"err":true}]}`)
	f.Add(`{"id":"2","timestamp":1,"type":"gemini","toolCalls":[{"status":"error"}]}` + "\n\x00\x00[{},")
	f.Fuzz(func(t *testing.T, text string) {
		report := new(Report)
		batches, calls := 0, 0
		for b, err := range read(strings.NewReader(text), report, 4096) {
			require.NoError(t, err)
			batches++
			calls += len(b.Calls)
			require.NotEmpty(t, b.Calls)
			require.Contains(t, Formats, b.Format)
			require.Positive(t, b.Line)
			require.LessOrEqual(t, b.Line, report.lineOf(text))
			for i, c := range b.Calls {
				if b.Format != Keywave && !(b.Format == Codex || b.Format == Copilot || b.Format == OpenAI || b.Format == DSH) {
					require.True(t, json.Valid([]byte(c.Arguments)), "%q", c.Arguments)
				}
				require.False(t, !c.Start.IsZero() && !c.End.IsZero() && c.End.Before(c.Start))
				for _, alone := range [][]bool{nil, {true}, slices.Repeat([]bool{true}, len(b.Calls))} {
					d, ok := b.Took(i, alone)
					require.True(t, d >= 0 && (ok || d == 0), "%v %v", d, ok)
				}
			}
		}
		require.Equal(t, []int{batches, calls}, []int{report.Batches, report.Calls})
		require.Equal(t, int64(len(text)), report.Bytes)
		for _, p := range report.Problems {
			require.Positive(t, p.Count)
			require.LessOrEqual(t, len(p.Lines), MaxLines)
			require.NotContains(t, p.String(), "\n")
		}
	})
}

func (r *Report) lineOf(text string) int { return strings.Count(text, "\n") + 1 }
