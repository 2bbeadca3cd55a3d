package transcript

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Problems of one kind are told apart by what they say, up to a bound, and come sorted by kind.
func TestReportIsBounded(t *testing.T) {
	report := new(Report)
	report.note(Torn, 9, "")
	for i := range 100 {
		report.note(UnknownRecord, i+1, fmt.Sprintf("type %d", i))
		report.note(BadJSON, i+1, "x\n\x00"+strings.Repeat("é", 100))
	}
	require.Len(t, report.Problems, 1+1+maxWhats+1)
	assert.Equal(t, 100, report.Count(UnknownRecord))
	assert.Equal(t, "bad JSON (x  "+strings.Repeat("é", 28)+"…) ×100 at line 1, 2, 3, 4, 5, 6, 7, 8, …", report.Problems[0].String())
	assert.Equal(t, "torn end at line 9", report.Problems[1].String())
	assert.Equal(t, "unknown record (others) ×76 at line 25, 26, 27, 28, 29, 30, 31, 32, …", report.Problems[len(report.Problems)-1].String())
}

// Nothing of a transcript's texts is in the report.
func TestReportHoldsNoText(t *testing.T) {
	const secret = "hunter2"
	_, report := readAll(t, strings.ReplaceAll(use("m", "a", 0)+result("z", 1), `"x"`, `"`+secret+`"`)+
		`{"type":"novel","sessionId":"s","password":"`+secret+`"}`+"\n"+`{"password":"`+secret+"\n"+`{"password":"`+secret+`"}`+"\n")
	require.Greater(t, len(report.Problems), 3)
	assert.NotContains(t, fmt.Sprintf("%+v", report), secret)
}

func TestKindsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for k := Empty; k <= TooManyOpen; k++ {
		assert.NotEmpty(t, k.String())
		assert.False(t, seen[k.String()], k)
		seen[k.String()] = true
	}
	assert.Equal(t, "Kind(200)", Kind(200).String())
}

// Several transcripts add up in one report.
func TestReportsAddUp(t *testing.T) {
	report := new(Report)
	for range 2 {
		for _, name := range []string{"pi_session.jsonl", "codex_rollout.jsonl"} {
			for _, err := range ReadFile(filepath.Join("testdata", name), report) {
				require.NoError(t, err)
			}
		}
	}
	assert.Equal(t, []FormatCount{{Pi, 2, 4}, {Codex, 2, 6}}, report.Formats)
	assert.Equal(t, 4, report.Batches)
	assert.Equal(t, 32, report.Lines)
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.jsonl", "a/x.JSON", "a/y.txt", ".git/z.json", "node_modules/p/package.json", ".hidden/s.ndjson", "json"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	files := func(path string) (names []string, errs []error) {
		for name, err := range Files(path) {
			if err != nil {
				errs = append(errs, err)
				continue
			}
			rel, err := filepath.Rel(dir, name)
			require.NoError(t, err)
			names = append(names, filepath.ToSlash(rel))
		}
		return names, errs
	}
	names, errs := files(dir)
	assert.Equal(t, []string{".hidden/s.ndjson", "a/x.JSON", "b.jsonl"}, names)
	assert.Empty(t, errs)
	names, _ = files(filepath.Join(dir, "a", "y.txt"))
	assert.Equal(t, []string{"a/y.txt"}, names, "a file that is named is read, whatever its name")
	names, _ = files(filepath.Join(dir, ".git"))
	assert.Equal(t, []string{".git/z.json"}, names, "as is a directory")
	_, errs = files(filepath.Join(dir, "gone"))
	require.Len(t, errs, 1)
	assert.ErrorIs(t, errs[0], os.ErrNotExist)
	for range Files(dir) {
		break
	}
	for _, err := range ReadFile(filepath.Join(dir, "gone"), nil) {
		assert.ErrorIs(t, err, os.ErrNotExist)
	}
}

func TestTook(t *testing.T) {
	batch := func(f Format) *Batch {
		b := &Batch{Format: f, Calls: []Call{
			{Outcome: Succeeded, Start: at(0), End: at(100)},
			{Outcome: Failed, Start: at(10), End: at(150), Waited: 20e6},
			{Outcome: Succeeded, Start: at(20), End: at(160), Reported: 7e6},
			{Outcome: Rejected, Start: at(0), End: at(10)},
			{Outcome: Succeeded, Start: at(0)},
		}}
		b.tails()
		return b
	}
	took := func(f Format, alone ...bool) (out []int) {
		b := batch(f)
		for i := range b.Calls {
			d, ok := b.Took(i, alone)
			if !ok {
				d = -1e6
			}
			out = append(out, int(d.Milliseconds()))
		}
		return out
	}
	all := []bool{true, true, true, true, true}
	assert.Equal(t, []int{100, 120, 7, -1, -1}, took(OpenCode, all...))
	assert.Equal(t, []int{100, 120, 7, -1, -1}, took(ClaudeCode))
	assert.Equal(t, []int{100, 50, 7, -1, -1}, took(ClaudeCode, all...), "what comes later held nobody up, though it ended first")
	assert.Equal(t, []int{100, 50, 7, -1, -1}, took(ClaudeCode, true), "the second waited for the first")
	assert.Equal(t, []int{100, 50, 7, -1, -1}, took(ClaudeCode, false, true))
	assert.Equal(t, []int{90, 50, 7, -1, -1}, took(Pi))
	assert.Equal(t, []int{-1, -1, 7, -1, -1}, took(OpenAI))

	waited := Batch{Format: OpenCode, Calls: []Call{{Outcome: Succeeded, Start: at(0), End: at(10), Waited: 20e6}}}
	d, ok := waited.Took(0, nil)
	assert.True(t, ok)
	assert.Zero(t, d, "no time is below 0")
}

// TestTookBehindAlone: what waits for a call that runs alone does not take that time, whether it reads or not; what
// ended before that call did was not behind it, whatever is said of the agent.
func TestTookBehindAlone(t *testing.T) {
	b := &Batch{Format: ClaudeCode, Calls: []Call{
		{Outcome: Succeeded, Start: at(0), End: at(30)},
		{Outcome: Succeeded, Start: at(0), End: at(100)},
		{Outcome: Succeeded, Start: at(0), End: at(110)},
		{Outcome: Succeeded, Start: at(0), End: at(120)},
		{Outcome: Succeeded, Start: at(0), End: at(40)},
		{Outcome: Succeeded, Start: at(115), End: at(130)},
	}}
	b.tails()
	var out []int
	for i := range b.Calls {
		d, ok := b.Took(i, []bool{false, true, false, false, false, false})
		require.True(t, ok)
		out = append(out, int(d.Milliseconds()))
	}
	assert.Equal(t, []int{30, 70, 10, 20, 40, 15}, out)
}
