package page_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/bench/replay"
	"github.com/keywave-go/keywave/bench/trace"
)

// session has batches in which keyed takes so much.
func session(id int, file string, serial, rolling, keyed trace.Millis) replay.Session {
	return replay.Session{ID: id, File: file, Format: "pi", Figures: figures(serial, rolling, keyed, keyed)}
}

// table is the texts of the cells of the body of a table, and those of its caption and head before them.
func table(n *html.Node) (all [][]string) {
	for _, row := range find(n, func(n *html.Node) bool { return n.Data == "caption" || n.Data == "tr" }) {
		var cells []string
		for _, c := range find(row, func(n *html.Node) bool { return n.Data == "th" || n.Data == "td" || n.Data == "span" }) {
			cells = append(cells, strings.ReplaceAll(text(c), "\u00a0", " "))
		}
		all = append(all, cells)
	}
	return all
}

// Sessions are in the order of what keyed saves against the rolling pool, and then against serial. Those without a
// batch are counted, and what was too much to tell apart comes last.
func TestSessions(t *testing.T) {
	r := &replay.Report{Sessions: []replay.Session{
		session(1, "a", 100, 100, 100), session(2, "a", 300, 100, 100), session(3, "a", 100, 100, 50),
		{ID: 4, File: "a"}, session(5, "", 900, 900, 1), session(6, "a", 90, 90, 20), {ID: 7, File: "a"},
	}}
	r.Sessions[2].Agents = 2
	untimed := session(8, "a", 0, 0, 0)
	untimed.Timed = 0
	untimed.Policies[1].Steps = 40
	r.Sessions = append(r.Sessions, untimed)
	section := byID(t, document(t, write(t, r)), "sessions")
	rows := table(find(section, tag("table"))[0])
	require.Equal(t, "Figures by session, all from a", rows[0][0])
	require.Equal(t, []string{"Session", "Batches", "Calls", "Time", "Keyed against", "Steps", "Batches out of order, all at once"},
		rows[1], "no column says the same in each row")
	var ids []string
	for _, row := range rows[3:] {
		ids = append(ids, row[0])
	}
	require.Equal(t, []string{"6", "3 2 sub-agents", "2", "8", "1", "others"}, ids)
	require.Equal(t, []string{
		"6", "10 8 timed", "30", "90 ms", "90 ms", "20 ms", "−77.8 %", "−77.8 %", "20", "15", "0",
	}, rows[3])
	require.Equal(t, []string{"8", "10 0 timed", "30", "–", "–", "–", "–", "–", "40", "15", "0"}, rows[6])
	require.Contains(t, text(section), "2\u00a0sessions without an answer with two or more calls are left out.")

	section = byID(t, document(t, write(t, &replay.Report{Sessions: make([]replay.Session, 3)})), "sessions")
	require.Empty(t, find(section, tag("table")))
	require.Contains(t, text(section), "None has an answer with two or more calls.")
}

// The directory that all sources are in is said once, in each caption, and not in each row.
func TestDirectory(t *testing.T) {
	for _, c := range []struct {
		files         []string
		caption, rows string
	}{
		{[]string{"/home/me/logs/x/1.jsonl", "/home/me/logs/y/2.jsonl"}, ", from sources in /home/me/logs/", "x/1.jsonl y/2.jsonl"},
		{[]string{`C:\logs\1.jsonl`, `C:\logs\2.jsonl`}, `, from sources in C:\logs\`, "1.jsonl 2.jsonl"},
		{[]string{"/a/1", "/b/2"}, "", "/a/1 /b/2"},
		{[]string{"../a/1", "../b/2"}, "", "../a/1 ../b/2"},
		{[]string{"log-1", "log-2"}, "", "log-1 log-2"},
		{[]string{"/logs/a", "-"}, "", "/logs/a -"},
		{[]string{"/logs/", "/logs/a"}, ", from sources in /logs/", "/logs/ a"},
		{[]string{"/x/" + strings.Repeat("long/", 60) + "1", "2"}, "", "…" + strings.Repeat("long/", 60)[101:] + "1 2"},
	} {
		r := &replay.Report{Version: 1}
		for i, f := range c.files {
			r.Sessions = append(r.Sessions, session(i+1, f, 3, 2, 1))
			r.Batches = append(r.Batches, replay.Batch{Session: i + 1, File: f, Line: 7})
			r.Problems = append(r.Problems, replay.Problem{File: f, Text: "torn"})
		}
		root := document(t, write(t, r))
		sessions, problems := table(find(byID(t, root, "sessions"), tag("table"))[0]), table(find(byID(t, root, "problems"), tag("table"))[0])
		require.Equal(t, "Figures by session"+c.caption, sessions[0][0])
		require.Equal(t, "Problems by source"+c.caption, problems[0][0])
		rows := []string{sessions[3][1], sessions[4][1]}
		require.Equal(t, c.rows, strings.Join(rows, " "))
		require.Equal(t, c.rows, problems[2][0]+" "+problems[3][0])
		for i, n := range find(root, class("where")) {
			require.Equal(t, fmt.Sprintf("Session %d, %s, line 7", i+1, rows[i]), text(n))
		}
	}
	// Whatever the names are, a directory and what is left make the name.
	rapid.Check(t, func(t *rapid.T) {
		files := rapid.SliceOfN(rapid.StringMatching(`[ab/\\.]{1,8}`), 2, 4).Draw(t, "files")
		r := &replay.Report{}
		for i, f := range files {
			r.Sessions = append(r.Sessions, session(i+1, f, 3, 2, 1))
		}
		rows := table(find(byID(t, document(t, write(t, r)), "sessions"), tag("table"))[0])
		_, dir, _ := strings.Cut(rows[0][0], ", from sources in ")
		if _, one, ok := strings.Cut(rows[0][0], ", all from "); ok {
			for _, f := range files {
				require.Equal(t, one, f)
			}
			return
		}
		for i, f := range files {
			require.Contains(t, []string{dir + rows[3+i][1], rows[3+i][1]}, f)
		}
	})
}

// One format needs no table, and what is the same of several is said once.
func TestFormats(t *testing.T) {
	format := func(name, clock, text string) replay.FormatFigure {
		return replay.FormatFigure{Format: name, Clock: clock, Text: text, Figures: figures(4, 3, 2, 2)}
	}
	r := &replay.Report{Formats: []replay.FormatFigure{format("recorded: codex", "upper bound", "A guess.")}}
	section := byID(t, document(t, write(t, r)), "formats")
	require.Empty(t, find(section, tag("table")))
	require.Equal(t, "recorded: codex upper boundA guess.", text(find(section, tag("dl"))[0]))

	r.Formats = append(r.Formats, format("pi", "tail only", "By result."), format("recorded: opencode", "upper bound", "A guess."))
	section = byID(t, document(t, write(t, r)), "formats")
	require.Len(t, table(find(section, tag("table"))[0]), 3+3)
	require.Equal(t, []string{"recorded: codex, recorded: opencode upper boundA guess.", "pi tail onlyBy result."},
		[]string{text(find(section, tag("dl"))[0].FirstChild.NextSibling), text(find(section, tag("dl"))[0].FirstChild.NextSibling.NextSibling.NextSibling)})
}
