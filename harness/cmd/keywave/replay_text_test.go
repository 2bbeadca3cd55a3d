package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/bench/replay"
	"github.com/keywave-go/keywave/bench/sim"
	"github.com/keywave-go/keywave/bench/trace"
)

// figured are figures in which the policies take so long, in the order in which sim has them.
func figured(turns, batches, calls, timed int, ms ...trace.Millis) replay.Figures {
	f := replay.Figures{Turns: turns, Batches: batches, Calls: calls, Timed: timed, Bound: ms[len(ms)-1]}
	for i, p := range sim.Policies() {
		o := replay.Outcome{Policy: p.Name, Ordered: p.Ordered, Steps: calls - i*calls/10, Time: ms[min(i, len(ms)-1)]}
		if !p.Ordered && timed > 0 {
			o.Inverted = replay.Inverted{Batches: i - 4, Calls: i - 3, Pairs: i, Keyed: i - 1}
		}
		f.Policies = append(f.Policies, o)
	}
	return f
}

// aReport is one with something in each of its parts.
func aReport() *replay.Report {
	claude := figured(40, 12, 1036, 10, 3_725_000, 2_000_000, 1_900_000, 1_800_000, 1_500_000, 1_250_000, 1_300_000, 1_200_000, 900_000)
	claude.Waited = 9
	gemini := figured(3, 3, 7, 0, 0)
	total := figured(43, 15, 1043, 10, 3_725_000, 2_000_000, 1_900_000, 1_800_000, 1_500_000, 1_250_000, 1_300_000, 1_200_000, 900_000)
	total.Waited, total.Slower, total.SlowerBy, total.Bound = 11, 1, 1500, 1_245_000
	read := func(key string) replay.Call {
		return replay.Call{Tool: "Read", Access: "read", Claims: []replay.Claim{{Key: key}}, Time: 300}
	}
	edit := replay.Call{Tool: "Edit", Access: "write", Claims: []replay.Claim{{Key: "src/a.go", Write: true}}, Time: 50}
	bash := replay.Call{Tool: "Bash", Access: "exclusive", Why: "by its rule", Claims: []replay.Claim{}, Time: 2000}
	inversion := func(earlier, later int, overlap bool) replay.Inversion {
		return replay.Inversion{Conflict: replay.Conflict{Earlier: earlier, Later: later}, Overlap: overlap}
	}
	return &replay.Report{
		Version: replay.Version, Limit: 8, Total: total,
		Mixed: figured(4, 4, 20, 4, 100_000, 98_000, 98_000, 97_000, 90_000, 80_000, 70_000, 60_000, 50_000),
		Sizes: []replay.Size{{Calls: 2, Batches: 7}, {Calls: 3, Batches: 4}, {Calls: 6, Batches: 2, Mixed: 2}, {Calls: 8, Batches: 1}, {Calls: 1000, Batches: 1}},
		Formats: []replay.FormatFigure{
			{Format: "claude-code", Sessions: 2, Clock: "upper bound", Text: "From the line of the call to the line of its result. And more.", Figures: claude},
			{Format: "gemini", Sessions: 1, Clock: "none", Text: "Nothing is known of a single call.", Figures: gemini},
		},
		Sessions: []replay.Session{
			{ID: 1, File: "projects/small.jsonl", Format: "claude-code", Figures: figured(20, 2, 16, 2, 25_000, 25_000)},
			{ID: 2, File: "projects/-home-somebody-with-a-long-name/5ab1e9d2-0000-4000-8000-000000000000.jsonl", Format: "claude-code", Figures: claude},
			{ID: 3, File: "gemini.json", Format: "gemini", Figures: gemini},
			{ID: 4, File: "empty.jsonl", Format: "gemini", Figures: figured(4, 0, 0, 0, 0)},
		},
		Waits: []replay.Wait{
			{Tool: "Read", For: "Bash", Why: "barrier", Calls: 7, Time: 61_000},
			{Tool: "Edit", For: "Edit", Why: "claim", Calls: 3},
			{Tool: "Read", Why: "permit", Calls: 1, Time: 250},
		},
		Tools: []replay.Tool{
			{Tool: "Bash", Format: "claude-code", Why: "by its rule", Calls: 31, Batches: 9, AsRead: replay.Saving{Steps: 12, Time: 100_000}, AsFree: replay.Saving{Steps: 20, Time: 240_000}},
			{Tool: "mcp__a_server_with_a_long_name__and_a_tool", Format: "gemini", Why: "no rule", Calls: 2, Batches: 1, AsRead: replay.Saving{Steps: -1, Time: -20}, AsFree: replay.Saving{Steps: 1}},
			{Tool: "nothing_to_gain", Format: "gemini", Why: "no rule", Calls: 1, Batches: 1},
		},
		Batches: []replay.Batch{
			{
				Session: 2, File: "projects/-home-somebody-with-a-long-name/subagents/agent-1.jsonl", Line: 12345, Timed: true, Saved: true, Calls: []replay.Call{edit, read("src/b.go"), edit, read("src/c.go"), read("src/c.go"), bash},
				Runs: []replay.Schedule{
					{Policy: "rolling", Time: 2900},
					{Policy: "keyed", Time: 2300},
					{Policy: "first-fit", Time: 2100, Inversions: []replay.Inversion{inversion(0, 2, true), inversion(1, 5, false)}},
					{Policy: "at-once", Time: 2000, Inversions: []replay.Inversion{inversion(0, 2, true)}},
				},
			},
			{
				Session: 3, File: "gemini.json", Line: 1, Saved: true, Calls: []replay.Call{edit, read("x"), read("x")},
				Runs: []replay.Schedule{{Policy: "rolling", Time: 2}, {Policy: "keyed", Time: 1}},
			},
			{
				Session: 9, File: "projects/small.jsonl", Line: 7, Timed: true, Calls: []replay.Call{read("x"), bash},
				Runs: []replay.Schedule{{Policy: "at-once", Inversions: []replay.Inversion{inversion(0, 1, true)}}},
			},
		},
		Unshown: 3,
		Problems: []replay.Problem{
			{File: "projects/small.jsonl", Text: "torn end at line 31", Count: 1},
			{Text: "sessions were too many to be told apart", Count: 2},
		},
	}
}

func TestReplayText(t *testing.T) {
	for _, width := range []int{80, 100, 120} {
		text := replayText(aReport(), width == 120, width, false)
		golden(t, fmt.Sprintf("replay-%d.txt", width), text)
		for line := range strings.Lines(text) {
			assert.LessOrEqual(t, cells.StringWidth(strings.TrimSuffix(line, "\n")), width, "%q", line)
		}
	}
	// Colours add nothing but colours.
	coloured := replayText(aReport(), true, 120, true)
	assert.Contains(t, coloured, "\x1b[")
	assert.Equal(t, replayText(aReport(), true, 120, false), uncoloured(coloured))
}

func uncoloured(s string) string {
	return strings.NewReplacer("\x1b[0m", "", "\x1b[1m", "", "\x1b[2m", "", "\x1b[31m", "", "\x1b[32m", "", "\x1b[33m", "", "\x1b[36m", "").Replace(s)
}

// What there is nothing of is said in a line.
func TestReplayTextOfNothing(t *testing.T) {
	assert.Equal(t, "There are no calls of tools in it.\n", replayText(&replay.Report{}, false, 100, false))

	single := &replay.Report{Total: replay.Figures{Turns: 1200}, Formats: []replay.FormatFigure{{Sessions: 3}}}
	assert.Equal(t, "No answer of a model has more than one call (1,200 answers, in 3 sessions): there is nothing that could\nrun at the same time.\n",
		replayText(single, false, 104, false))

	untimed := aReport()
	untimed.Total = figured(3, 3, 70, 0, 0)
	text := replayText(untimed, false, 120, false)
	assert.Contains(t, text, "Of no batch the times of all calls are known. Of steps, one by one they take 70, as the rolling pool 49, keyed 35.\n")
	assert.NotContains(t, strings.Split(text, "By session")[0], "%")
	assert.Contains(t, text, "First-fit waves would have kept the order of all calls in conflict.")
}

// Of a kind with more than three problems the first two stand for the others: no kind hides another one, and none is
// lost count of.
func TestReplayTextOfManyProblems(t *testing.T) {
	r := aReport()
	r.Problems = nil
	for i, file := range []string{"a", "a", "a", "b", "c", "c"} {
		r.Problems = append(r.Problems, replay.Problem{File: file, Kind: "unknown record", Text: "type " + strconv.Itoa(i), Count: 1 + i})
	}
	for _, file := range []string{"a", "b", "c"} {
		r.Problems = append(r.Problems, replay.Problem{File: file, Kind: "torn end", Text: "torn", Count: 1})
	}
	r.Problems = append(r.Problems, replay.Problem{Kind: "more", Text: "more problems", Count: 9})
	_, problems, _ := strings.Cut(replayText(r, false, 80, false), "\nNot used, or to be known: ")
	assert.Equal(t, "10 things\na: type 0\na: type 1\n… and unknown record ×18 in 3 files\na: torn\nb: torn\nc: torn\nmore problems\n", problems)
}

// A report can hold the names that a hostile transcript has, and indexes that lead nowhere.
func TestReplayTextOfHostileNames(t *testing.T) {
	const evil = "\x1b]0;owned\a\n\u202e" + "=cmd|"
	r := aReport()
	for i := range r.Sessions {
		r.Sessions[i].File, r.Sessions[i].Format = evil, evil
	}
	for i := range r.Formats {
		r.Formats[i].Format, r.Formats[i].Text, r.Formats[i].Clock = evil, evil, evil
	}
	for i := range r.Tools {
		r.Tools[i].Tool, r.Tools[i].Format, r.Tools[i].Why = evil, evil, evil
	}
	for i := range r.Waits {
		r.Waits[i] = replay.Wait{Tool: evil, For: evil, Why: evil, Calls: 1}
	}
	for i := range r.Batches {
		r.Batches[i].File = evil
		for k := range r.Batches[i].Calls {
			r.Batches[i].Calls[k].Tool, r.Batches[i].Calls[k].Claims = evil, []replay.Claim{{Key: evil, Write: true}}
		}
		for k := range r.Batches[i].Runs {
			r.Batches[i].Runs[k].Inversions = append(r.Batches[i].Runs[k].Inversions, replay.Inversion{Conflict: replay.Conflict{Earlier: -1, Later: 99}})
		}
	}
	r.Problems = []replay.Problem{{File: evil, Text: evil}}
	r.Total.Policies[8].Policy = evil
	var rows strings.Builder
	require.NoError(t, replayCSV(&rows, r))
	for name, text := range map[string]string{"text": replayText(r, true, 80, false), "csv": rows.String()} {
		assert.Contains(t, text, `\x1b`, name)
		for _, c := range text {
			assert.False(t, c != '\n' && unprintable(c), "%s has %q", name, c)
		}
	}
}

// Two calls meet in the key that both use: below a tree it is the other's.
func TestReplayKeyInWhichCallsMeet(t *testing.T) {
	claims := func(c ...replay.Claim) replay.Call { return replay.Call{Claims: c} }
	tree, file := claims(replay.Claim{Key: "src", Tree: true}), claims(replay.Claim{Key: "x"}, replay.Claim{Key: "src/a.go", Write: true})
	assert.Equal(t, "src/a.go", meeting(tree, file))
	assert.Equal(t, "src/a.go", meeting(file, tree))
	assert.Equal(t, "src/a.go", meeting(file, file))
	assert.Empty(t, meeting(file, claims()))
}

func TestReplayCSV(t *testing.T) {
	r := aReport()
	r.Sessions[0].File, r.Sessions[1].File = "=HYPERLINK(\"x\")", "a, \"b\"\nc"
	r.Sessions[2].File, r.Sessions[3].File = "-1", "@x"
	var b strings.Builder
	require.NoError(t, replayCSV(&b, r))
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	require.NoError(t, err)
	assert.Equal(t, replayColumns, rows[0])
	require.Len(t, rows, 1+9*(1+len(r.Sessions)))
	row := func(i int) map[string]string {
		m := map[string]string{}
		for c, head := range rows[0] {
			m[head] = rows[i][c]
		}
		return m
	}
	keyed := row(6)
	assert.Equal(t, map[string]string{
		"scope": "total", "session": "", "file": "", "format": "", "policy": "keyed", "ordered": "true", "limit": "8", "turns": "43", "batches": "15",
		"calls": "1043", "timed": "10", "steps": strconv.Itoa(1043 - 5*1043/10), "ms": "1250000", "bound_ms": "1245000", "saved_vs_serial_ms": "2475000", "saved_vs_rolling_ms": "550000",
		"waited": "11", "inverted_batches": "0", "inverted_calls": "0", "inverted_pairs": "0", "inverted_over_keys": "0",
	}, keyed)
	assert.Equal(t, "-200000", row(2)["saved_vs_rolling_ms"], "numbers may be below 0")
	var files []string
	for i := 10; i < len(rows); i += 9 {
		assert.Equal(t, "session", rows[i][0])
		files = append(files, row(i)["file"])
	}
	assert.Equal(t, []string{`'=HYPERLINK("x")`, `a, "b"\nc`, "'-1", "'@x"}, files)
	help := (&replayCommand{}).Help()
	for _, name := range replayColumns {
		assert.Contains(t, help, name, "the help tells every column")
	}
}

func TestReplayNumbers(t *testing.T) {
	for n, want := range map[int]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 28419: "28,419", 1234567: "1,234,567", -1000: "-1,000", -999: "-999"} {
		assert.Equal(t, want, grouped(n))
	}
	for m, want := range map[trace.Millis]string{0: "0", 0.0004: "0", -0.0004: "0", 1.5: "1.5", -20: "-20", 1e12: "1000000000000", 12.3456: "12.346"} {
		assert.Equal(t, want, millis(m))
	}
	assert.Equal(t, "−3.5%", change(96.5, 100))
	assert.Equal(t, "+3.5%", change(103.5, 100))
	assert.Equal(t, "0.0%", change(99.999, 100))
	assert.Empty(t, change(1, 0))
	assert.Equal(t, "nothing", share(0, 0))
	assert.Equal(t, "−1.0%", share(-1, 100))
	for n, want := range map[int64]string{999: "999 B", 1000: "1 kB", 999_999: "999 kB", 1_000_000: "1.0 MB", 2_500_000_000: "2.50 GB", math.MaxInt32: "2.15 GB"} {
		assert.Equal(t, want, bytesText(n))
	}
	assert.Equal(t, "1 batch, 2 batches, 1 pair of calls, 2 pairs of calls", several(1, "batch")+", "+several(2, "batch")+", "+several(1, "pair of calls")+", "+several(2, "pair of calls"))
}
