package page_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/keywave-go/keywave/bench/replay"
	"github.com/keywave-go/keywave/bench/trace"
)

// five is the batch edit a 50 ms, read b 300, edit a 50, read c 50, read a 50: in the rolling pool, keyed, and all at
// once, where the last call is made to take no time.
func five() replay.Batch {
	call := func(tool, key string, ms trace.Millis) replay.Call {
		access := map[string]string{"edit": "write", "read": "read"}[tool]
		return replay.Call{Tool: tool, Access: access, Time: ms, Claims: []replay.Claim{{Key: key, Write: tool == "edit"}}}
	}
	span := func(start, end trace.Millis, waits ...replay.SpanWait) replay.Span {
		return replay.Span{Start: start, End: end, Waits: waits}
	}
	wait := func(why string, call int, from, to trace.Millis) replay.SpanWait {
		return replay.SpanWait{Why: why, Call: call, From: from, To: to}
	}
	early := func(earlier, later int) replay.Inversion {
		return replay.Inversion{Conflict: replay.Conflict{Earlier: earlier, Later: later}, Overlap: true}
	}
	return replay.Batch{
		Session: 3, File: "five.jsonl", Line: 7, Timed: true, Saved: true,
		Calls: []replay.Call{
			call("edit", "a", 50), call("read", "b", 300), call("edit", "a", 50), call("read", "c", 50), call("read", "a", 50),
		},
		Conflicts: []replay.Conflict{{Earlier: 0, Later: 2}, {Earlier: 0, Later: 4}, {Earlier: 2, Later: 4}},
		Runs: []replay.Schedule{
			{Policy: "rolling", Time: 450, Spans: []replay.Span{
				span(0, 50), span(50, 350, wait("order", 0, 0, 50)), span(350, 400, wait("order", 1, 0, 350)),
				span(400, 450, wait("order", 2, 0, 400)), span(400, 450, wait("claim", 2, 0, 400)),
			}},
			{Policy: "keyed", Time: 300, Spans: []replay.Span{
				span(0, 50), span(0, 300), span(50, 100, wait("claim", 0, 0, 50)), span(0, 50),
				span(100, 150, wait("claim", 2, 0, 100)),
			}},
			{
				Policy: "at-once", Time: 300, Spans: []replay.Span{span(0, 50), span(0, 300), span(0, 50), span(0, 50), span(0, 0)},
				Inversions: []replay.Inversion{early(0, 2), early(0, 4), early(2, 4)},
			},
		},
	}
}

func titleOf(n *html.Node) string {
	return strings.ReplaceAll(text(find(n, tag("title"))[0]), "\u00a0", " ")
}

func timelines(t *testing.T, b replay.Batch) *html.Node {
	t.Helper()
	return byID(t, document(t, write(t, &replay.Report{Batches: []replay.Batch{b}})), "batch-1")
}

// bars is the bars of a run as x and width, what waits in brackets.
func bars(run *html.Node) (all []string) {
	for _, n := range find(run, tag("rect")) {
		at := fmt.Sprintf("%s+%s", attr(n, "x"), attr(n, "width"))
		switch attr(n, "class") {
		case "wait":
			all = append(all, "("+at+")")
		case "early":
			all = append(all, at+"!")
		case "fill":
			all = append(all, at)
		}
	}
	return all
}

// arrow reports whether n is a line of an arrow.
func arrow(n *html.Node) bool {
	return n.Data == "line" && n.Parent.Data == "g" && (class("call")(n.Parent) || class("there")(n.Parent))
}

// lines is the arrows of a node as the x and y of their ends.
func lines(n *html.Node) (all []string) {
	for _, l := range find(n, arrow) {
		s := fmt.Sprintf("%s,%s %s,%s", attr(l, "x1"), attr(l, "y1"), attr(l, "x2"), attr(l, "y2"))
		if class("wrong")(l) {
			s += "!"
		}
		all = append(all, s)
	}
	return all
}

func TestTimeline(t *testing.T) {
	batch := timelines(t, five())
	require.Equal(t, "Batch 1 5\u00a0calls, 450\u00a0ms in the rolling pool, 300\u00a0ms keyed", text(find(batch, tag("h3"))[0]))
	require.Equal(t, "Session 3, line 7", text(find(batch, class("where"))[0]))
	runs := find(batch, class("run"))
	require.Len(t, runs, 3)

	// All are on the scale of the slowest.
	require.Equal(t, []string{
		"0%+11.1%", "(0%+11.1%)", "11.1%+66.7%", "(0%+77.8%)", "77.8%+11.1%", "(0%+88.9%)", "88.9%+11.1%",
		"(0%+88.9%)", "88.9%+11.1%",
	}, bars(runs[0]))
	require.Equal(t, []string{
		"0%+11.1%", "0%+66.7%", "(0%+11.1%)", "11.1%+11.1%", "0%+11.1%", "(0%+22.2%)", "22.2%+11.1%",
	}, bars(runs[1]))
	require.Equal(t, []string{"0%+11.1%", "0%+66.7%", "0%+11.1%!", "0%+11.1%", "0%+0.02%!"}, bars(runs[2]))
	require.Contains(t, text(find(runs[2], tag("h4"))[0]), "2\u00a0calls too early")

	// Arrows lead from the end of the earlier call, along its row, and down to the start of the later one.
	calls := find(runs[1], class("call"))
	require.Len(t, calls, 5)
	require.Equal(t, []string{
		"11.1%,22 11.1%,49", "11.1%,11 22.2%,11", "22.2%,11 22.2%,93",
	}, without(lines(calls[0]), "11.1%,19 11.1%,22"))
	require.Empty(t, lines(calls[1]))
	require.Empty(t, attr(calls[1], "tabindex"))
	require.Equal(t, "0", attr(calls[0], "tabindex"))
	require.Equal(t, "3 edit (write), 50 ms to 100 ms; waited 50 ms for 1 (claim); conflicts with 1, 5", titleOf(calls[2]))
	// Back, if that was too early; then they are always there.
	require.Equal(t, []string{
		"11.1%,19 11.1%,22!", "11.1%,22 0%,22!", "0%,22 0%,49!", "0%,22 0%,93!",
		"11.1%,63 11.1%,66!", "11.1%,66 0%,66!", "0%,66 0%,93!",
	}, lines(runs[2]))
	require.Equal(t, "5 read (read), 0 ms to 0 ms; ran together with 1, 3; conflicts with 1, 3",
		titleOf(find(runs[2], class("call"))[4]))

	// The table has the same.
	var rows []string
	for _, tr := range find(find(batch, tag("tbody"))[0], tag("tr")) {
		var cells []string
		for c := range tr.ChildNodes() {
			if c.Type == html.ElementNode {
				cells = append(cells, strings.ReplaceAll(text(c), "\u00a0", " "))
			}
		}
		rows = append(rows, strings.Join(cells, "|"))
	}
	require.Equal(t, []string{
		"1|edit|write|writes a|50 ms|3, 5|0 ms to 50 ms|0 ms to 50 ms|0 ms to 50 ms",
		"2|read|read|reads b|300 ms||50 ms to 350 mswaited 50 ms for 1 (order)|0 ms to 300 ms|0 ms to 300 ms",
		"3|edit|write|writes a|50 ms|1, 5|350 ms to 400 mswaited 350 ms for 2 (order)|" +
			"50 ms to 100 mswaited 50 ms for 1 (claim)|0 ms to 50 ms together with 1",
		"4|read|read|reads c|50 ms||400 ms to 450 mswaited 400 ms for 3 (order)|0 ms to 50 ms|0 ms to 50 ms",
		"5|read|read|reads a|50 ms|1, 3|400 ms to 450 mswaited 400 ms for 3 (claim)|" +
			"100 ms to 150 mswaited 100 ms for 3 (claim)|0 ms to 0 ms together with 1, 3",
	}, rows)
}

// Waits that overlap are drawn once, up to the start of the call.
func TestWaitsAtOnce(t *testing.T) {
	waits := []replay.SpanWait{
		{Why: "claim", To: 20}, {Why: "barrier", To: 50}, {Why: "claim", From: 10, To: 30}, {Why: "permit", From: 50, To: 100},
	}
	batch := timelines(t, replay.Batch{
		Timed: true, Calls: make([]replay.Call, 1),
		Runs: []replay.Schedule{{
			Policy: "keyed", Time: 100, Spans: []replay.Span{{Start: 80, End: 100, Waits: waits}},
		}},
	})
	require.Equal(t, []string{"(0%+20%)", "(20%+30%)", "(50%+30%)", "80%+20%"}, bars(find(batch, class("run"))[0]))
}

func without(all []string, not string) (left []string) {
	for _, s := range all {
		if s != not {
			left = append(left, s)
		}
	}
	return left
}

// Not all times are known: then time is counted in steps.
func TestUntimed(t *testing.T) {
	b := replay.Batch{
		Calls: []replay.Call{{Tool: "a", Time: 1}, {Tool: "b", Time: 1}},
		Runs: []replay.Schedule{
			{Policy: "rolling", Time: 2, Spans: []replay.Span{{Start: 0, End: 1}, {Start: 1, End: 2}}},
			{Policy: "keyed", Time: 1, Spans: []replay.Span{{Start: 0, End: 1}, {Start: 0, End: 1}}},
		},
	}
	batch := timelines(t, b)
	require.Contains(t, text(batch), "each call is drawn as one step")
	require.Equal(t, "Batch 1 2\u00a0calls, 2\u00a0steps in the rolling pool, 1\u00a0step keyed", text(find(batch, tag("h3"))[0]))
	require.NotContains(t, text(batch), "\u00a0ms")
	require.Equal(t, "2 b (), step 2", titleOf(find(batch, class("call"))[1]))
}

// A batch of very many calls is drawn in part, with a bounded number of arrows, and its table has all.
func TestManyCalls(t *testing.T) {
	const n = 1000
	b := replay.Batch{Timed: true}
	s := replay.Schedule{Policy: "keyed", Time: n}
	for i := range n {
		b.Calls = append(b.Calls, replay.Call{Tool: "edit", Time: 1})
		s.Spans = append(s.Spans, replay.Span{Start: trace.Millis(i), End: trace.Millis(i + 1)})
		for j := range i {
			b.Conflicts = append(b.Conflicts, replay.Conflict{Earlier: j, Later: i})
		}
	}
	b.Runs = []replay.Schedule{s}
	page := write(t, &replay.Report{Batches: []replay.Batch{b}})
	batch := byID(t, document(t, page), "batch-1")
	require.Len(t, find(batch, class("call")), 400)
	require.Len(t, find(find(batch, tag("tbody"))[0], tag("tr")), n)
	for _, c := range find(batch, class("call")) {
		require.LessOrEqual(t, len(find(c, class("tip"))), 12)
	}
	require.Contains(t, text(batch), "The first 400 calls are drawn; the table has all.")
	require.Contains(t, text(batch), "conflicts with 1–299, 301–1000")
}
