package plan_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/plan"
)

// A golden is a file of testdata/plans: calls in, waves with their rules out.
type golden struct {
	names []string
	calls []plan.Call
	rows  map[string][]string // by planner
}

func readGolden(t *testing.T, file string) golden {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	g := golden{rows: map[string][]string{}}
	planner := ""
	for s := bufio.NewScanner(f); s.Scan(); {
		line := s.Text()
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || line[0] == '#':
		case fields[0] == "call":
			g.names = append(g.names, fields[1])
			declared := strings.TrimSpace(line[strings.Index(line, fields[1])+len(fields[1]):])
			var claims []string
			for part := range strings.SplitSeq(declared, ", ") {
				if part = strings.TrimSpace(part); part == "w" || part == "r" {
					part += " " // an empty key
				}
				if part != "-" {
					claims = append(claims, part)
				}
			}
			g.calls = append(g.calls, call(claims...))
		case line[0] != ' ':
			planner = fields[0]
		default:
			g.rows[planner] = append(g.rows[planner], strings.Join(fields, " "))
		}
	}
	return g
}

// decided shows a plan the way the golden files do.
func (g golden) decided(p plan.Plan) []string {
	var rows []string
	for i, d := range p.Explain() {
		row := fmt.Sprintf("%s %d %v", g.names[i], d.Wave+1, d.Rule)
		if d.By >= 0 {
			row += fmt.Sprintf(" by %d", d.By+1)
		}
		rows = append(rows, row)
	}
	return rows
}

// TestGoldenPlans compares both planners with the files of testdata/plans, row by row with the rule.
func TestGoldenPlans(t *testing.T) {
	files, err := filepath.Glob("testdata/plans/*.txt")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 8)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			g := readGolden(t, file)
			require.NotEmpty(t, g.calls)
			assert.Equal(t, g.rows["ordered"], g.decided(plan.Ordered(g.calls)), "ordered")
			assert.Equal(t, g.rows["first-fit"], g.decided(plan.FirstFit(g.calls)), "first-fit")
			assert.NoError(t, plan.VerifyOrdered(g.calls, plan.Ordered(g.calls)))
			assert.NoError(t, plan.Verify(g.calls, plan.FirstFit(g.calls)))
		})
	}
}

// TestSixCallExample is the worked example once more, as waves and as the tables that people see.
func TestSixCallExample(t *testing.T) {
	g := readGolden(t, "testdata/plans/six-calls.txt")
	firstFit, ordered := plan.FirstFit(g.calls), plan.Ordered(g.calls)
	assert.Equal(t, [][]int{{0, 1, 3, 5}, {2}, {4}}, firstFit.Waves())
	assert.Equal(t, [][]int{{0, 1}, {2}, {3, 4, 5}}, ordered.Waves())
	assert.Equal(t, strings.Join([]string{
		"call  safe  claims   wave  rule       reason",
		"1     yes   write a  1     free       nothing earlier is in its way",
		"2     yes   write b  1     free       nothing earlier is in its way",
		"3     no    -        2     exclusive  runs alone, behind call 1",
		"4     yes   -        3     barrier    behind call 3, which is exclusive",
		"5     yes   write a  3     barrier    behind call 3, which is exclusive",
		"6     yes   -        3     barrier    behind call 3, which is exclusive",
		"",
	}, "\n"), ordered.String())
	assert.Equal(t, strings.Join([]string{
		"call  safe  claims   wave  rule       reason",
		"1     yes   write a  1     new        opens a wave",
		"2     yes   write b  1     keyed      joins the earliest open wave",
		"3     no    -        2     exclusive  runs alone",
		"4     yes   -        1     keyless    no claims: joins the earliest open wave",
		"5     yes   write a  3     new        opens a wave: write a meets write a of call 1",
		"6     yes   -        1     keyless    no claims: joins the earliest open wave",
		"",
	}, "\n"), firstFit.String())

	other, err := plan.New([][]int{{1}, {0}})
	require.NoError(t, err)
	rows := strings.Split(other.String(), "\n")
	assert.True(t, slices.ContainsFunc(rows, func(r string) bool {
		return strings.Join(strings.Fields(r), " ") == "1 ? ? 2 given as given"
	}), other.String())
}
