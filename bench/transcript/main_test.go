package transcript

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// readAll reads a transcript to its end.
func readAll(t require.TestingT, text string) ([]Batch, *Report) {
	report := new(Report)
	var batches []Batch
	for b, err := range Read(strings.NewReader(text), report) {
		require.NoError(t, err)
		batches = append(batches, b)
	}
	return batches, report
}

func sample(t require.TestingT, name string) string {
	b, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return string(b)
}

// shown is a batch as the tests compare it: a line for the batch, and one for each call.
func shown(batches ...Batch) string {
	var b strings.Builder
	for _, x := range batches {
		fmt.Fprintf(&b, "line %d %s session=%s agent=%s turn=%s model=%s dir=%s\n", x.Line, x.Format, tail(x.Session), x.Agent,
			tail(x.Turn), x.Model, x.Dir)
		for i, c := range x.Calls {
			fmt.Fprintf(&b, "  line %d %s %s %s %s", c.Line, tail(c.ID), c.Name, c.Arguments, c.Outcome)
			for _, alone := range [][]bool{nil, slices.Repeat([]bool{true}, len(x.Calls))} {
				if d, ok := x.Took(i, alone); ok {
					fmt.Fprintf(&b, " %v", d)
				} else {
					b.WriteString(" -")
				}
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// tail is the end of a long id.
func tail(id string) string { return id[max(0, len(id)-9):] }

// problems are those of a report, a line each.
func problems(r *Report) string {
	var b strings.Builder
	for _, p := range r.Problems {
		b.WriteString(p.String() + "\n")
	}
	return b.String()
}

func at(ms int) time.Time { return time.Date(2026, 1, 1, 0, 0, 0, ms*1e6, time.UTC) }

func stamped(ms int) string { return `"` + at(ms).Format(time.RFC3339Nano) + `"` }
