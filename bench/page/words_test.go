package page_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/keywave-go/keywave/bench/replay"
	"github.com/keywave-go/keywave/bench/trace"
)

// figures are those of ten batches of 30 calls.
func figures(serial, rolling, keyed, bound trace.Millis) replay.Figures {
	return replay.Figures{
		Turns: 20, Batches: 10, Calls: 30, Timed: 8, Bound: bound,
		Policies: []replay.Outcome{
			{Policy: "serial", Ordered: true, Steps: 30, Time: serial},
			{Policy: "rolling", Ordered: true, Steps: 20, Time: rolling},
			{Policy: "keyed", Ordered: true, Steps: 15, Time: keyed},
			{Policy: "at-once", Steps: 10, Time: bound},
		},
	}
}

// head is the headline, and what is said below it.
func head(t *testing.T, r *replay.Report) (title, rest string) {
	t.Helper()
	root := document(t, write(t, r))
	plain := func(s string) string { return strings.ReplaceAll(s, "\u00a0", " ") }
	return plain(text(find(root, tag("h1"))[0])), plain(text(find(root, class("lead"))[0]))
}

func TestHeadline(t *testing.T) {
	title, said := head(t, &replay.Report{Total: figures(10_000, 8_000, 7_500, 7_400)})
	require.Equal(t, "Keyed saves 25.0 % against one call after another, and 6.2 % against the rolling pool", title)
	require.Contains(t, said, "One after another these calls take 10.0 s, in the rolling pool 8.00 s, and keyed 7.50 s.")
	require.Contains(t, said, "So 80.0 % of the gain is the rolling pool's already.")
	require.Contains(t, said, "No schedule that keeps conflicting calls in order is faster than 7.40 s.")
	require.Contains(t, said, "Times are those of 8 of 10 batches")
	require.Contains(t, said, "Nothing here would have run out of order under all at once, which promises no order.")

	title, said = head(t, &replay.Report{Total: figures(10_000, 8_000, 8_000, 8_000)})
	require.Equal(t, "Keyed saves 20.0 % against one call after another, and nothing against the rolling pool", title)
	require.Contains(t, said, "All of the gain is the rolling pool's already.")

	f := figures(10_000, 8_000, 8_400, 7_000)
	f.Slower, f.SlowerBy = 1, 400
	title, said = head(t, &replay.Report{Total: f, Limit: 4})
	require.Equal(t,
		"Keyed saves 16.0 % against one call after another, and takes 5.0 % more than the rolling pool", title)
	require.Contains(t, said, "In 1 of all keyed takes longer than the rolling pool, by 400 ms in all")

	mixed := figures(1000, 900, 800, 800)
	mixed.Timed = 3
	_, said = head(t, &replay.Report{Total: f, Mixed: mixed})
	require.Contains(t, said, "In the 3 with a write or an exclusive call keyed is at −20.0 % against one call after "+
		"another, and the rolling pool at −10.0 %.")

	_, said = head(t, &replay.Report{Total: figures(10_000, 10_000, 7_500, 7_500)})
	require.Contains(t, said, "None of that gain is the rolling pool's.")
}

// What is nothing is not said as a saving, and one batch is not spoken of as many.
func TestHeadlineNothing(t *testing.T) {
	title, said := head(t, &replay.Report{Total: figures(10_000, 10_000, 10_000, 10_000)})
	require.Equal(t, "Nothing is saved: keyed and the rolling pool take as long as one call after another", title)
	require.NotContains(t, said, "gain")
	title, _ = head(t, &replay.Report{Total: figures(10_000, 10_000, 10_400, 9000)})
	require.Equal(t, "Keyed takes 4.0 % more than one call after another, and 4.0 % more than the rolling pool", title)
	title, _ = head(t, &replay.Report{Total: figures(10_000, 9_000, 10_000, 9000)})
	require.Equal(t, "Keyed saves nothing against one call after another, and takes 11.1 % more than the rolling pool", title)

	one := figures(500, 450, 300, 300)
	one.Batches, one.Timed = 1, 1
	_, said = head(t, &replay.Report{Total: one})
	require.Contains(t, said, "Times are those of one batch, simulated from the recorded durations of its calls;")

	instant := figures(0, 0, 0, 0)
	_, said = head(t, &replay.Report{Total: instant})
	require.Contains(t, said, "The calls of the batches with known times took none, so nothing is said about time.")
}

// The batches with a write or an exclusive call have a table of their own if they are some of all.
func TestMixed(t *testing.T) {
	some := figures(4, 3, 2, 2)
	some.Batches = 3
	for want, r := range map[string]*replay.Report{
		"":                          {Total: figures(4, 3, 2, 2), Mixed: some},
		"Each of them has a write":  {Total: figures(4, 3, 2, 2), Mixed: figures(4, 3, 2, 2)},
		"None of them has a write":  {Total: figures(4, 3, 2, 2)},
		"It has a write or an excl": {Total: replay.Figures{Batches: 1, Policies: some.Policies}, Mixed: replay.Figures{Batches: 1}},
	} {
		summary := byID(t, document(t, write(t, r)), "summary")
		require.Contains(t, text(summary), want)
		tables := 1
		if want == "" {
			tables = 2
		}
		require.Len(t, find(summary, tag("table")), tables, want)
	}
}

// Without times it is rounds that are counted, and that is said.
func TestHeadlineUntimed(t *testing.T) {
	f := figures(0, 0, 0, 0)
	f.Timed = 0
	title, said := head(t, &replay.Report{Total: f})
	require.Equal(t, "Keyed takes 15 rounds where one call after another takes 30, and the rolling pool 20", title)
	require.Contains(t, said, "nothing is said about time")
	root := document(t, write(t, &replay.Report{Total: f}))
	require.Equal(t, "Rounds by policy", text(byID(t, root, "time-head")))
	require.Equal(t, "100%", attr(find(byID(t, root, "time"), class("fill"))[0], "width"))
	require.Equal(t, "50%", attr(find(byID(t, root, "time"), class("fill"))[2], "width"))
}

// A policy that breaks what it promises is not passed over.
func TestHeadlineBroken(t *testing.T) {
	f := figures(10_000, 8_000, 7_500, 7_400)
	f.Policies[3].Inverted = replay.Inverted{Batches: 2, Calls: 3, Pairs: 5, Keyed: 1}
	_, said := head(t, &replay.Report{Total: f})
	require.Contains(t, said, "out of order: all at once 5 pairs in 2 batches (1 over a key).")
	require.Contains(t, said, "Policies that promise the order kept it everywhere.")
	require.Contains(t, said, "one of the two is exclusive")
	f.Policies[3].Inverted.Keyed = 5
	_, said = head(t, &replay.Report{Total: f})
	require.NotContains(t, said, "exclusive")
	f.Policies[3].Inverted.Keyed = 1

	f.Policies[2].Inverted = replay.Inverted{Batches: 1, Calls: 1, Pairs: 1, Keyed: 1}
	page := write(t, &replay.Report{Total: f})
	_, said = head(t, &replay.Report{Total: f})
	require.Contains(t, said, "A policy that promises to keep the order did not. keyed 1 pair in 1 batch (1 over a key).")
	require.NotContains(t, said, "kept it everywhere")
	require.Contains(t, attr(find(byID(t, document(t, page), "all"), tag("tr"))[4], "class"), "unsafe")
}

// How good the times are is said by how many batches it is true of, the best clock first.
func TestClocks(t *testing.T) {
	format := func(name, clock string, batches int) replay.FormatFigure {
		return replay.FormatFigure{Format: name, Clock: clock, Figures: replay.Figures{Batches: batches}}
	}
	_, said := head(t, &replay.Report{Total: figures(2, 2, 2, 2), Formats: []replay.FormatFigure{
		format("openai", "none", 1), format("opencode", "exact", 3), format("claude-code", "upper bound", 6),
		format("copilot", "exact", 2), format("new", "sundial", 1),
	}})
	require.Contains(t, said, "How good the clock is: exact in 5 batches (opencode, copilot); "+
		"upper bound in 6 batches (claude-code); none in 1 batch (openai); sundial in 1 batch (new).")
}

// Large sizes stand together, by powers of two.
func TestSizes(t *testing.T) {
	r := &replay.Report{Sizes: []replay.Size{
		{Calls: 2, Batches: 10, Mixed: 4}, {Calls: 9, Batches: 3}, {Calls: 16, Batches: 2, Mixed: 1},
		{Calls: 17, Batches: 1}, {Calls: 400, Batches: 1},
	}}
	root := document(t, write(t, r))
	chart := find(byID(t, root, "sizes"), class("plot"))[0]
	with := " of them with a write or an exclusive call"
	label := strings.ReplaceAll(attr(chart, "aria-label"), "\u00a0", " ")
	require.Equal(t, "Batches by size: 2 calls: 10 batches, 4"+with+", 9–16 calls: 5 batches, 1"+with+
		", 17–32 calls: 1 batch, 0"+with+", 257–512 calls: 1 batch, 0"+with+".", label)
	var widths []string
	for _, n := range find(chart, func(n *html.Node) bool { return class("fill")(n) || class("part")(n) }) {
		widths = append(widths, attr(n, "width"))
	}
	require.Equal(t, []string{"100%", "40%", "50%", "10%", "10%", "10%"}, widths)
	require.Len(t, find(find(byID(t, root, "sizes"), tag("tbody"))[0], tag("tr")), len(r.Sizes))
}

// Of a long table the first rows are shown, and the others folded below.
func TestFolded(t *testing.T) {
	r := &replay.Report{
		Sessions: make([]replay.Session, 16), Waits: make([]replay.Wait, 16), Tools: make([]replay.Tool, 15),
		Problems: make([]replay.Problem, 40),
	}
	for i := range r.Sessions {
		r.Sessions[i].Batches = 1
	}
	root := document(t, write(t, r))
	for id, want := range map[string][]int{"sessions": {15, 1}, "waits": {15, 1}, "tools": {15}, "problems": {15, 25}} {
		var rows []int
		for _, body := range find(byID(t, root, id), tag("tbody")) {
			rows = append(rows, len(find(body, tag("tr"))))
		}
		require.Equal(t, want, rows, id)
		require.Len(t, find(byID(t, root, id), tag("details")), len(want)-1, id)
	}
}
