package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/keywave-go/keywave/bench/replay"
	"github.com/keywave-go/keywave/bench/transcript"
)

// How many rows each part of the text has at most. The other forms have all.
const mostRows = 10

// A replayed is a report that is being told to people.
type replayed struct {
	*replay.Report
	names bool // keys may be shown
	width int
	p     painter
	out   strings.Builder
}

// replayText tells a report, in lines of at most width cells.
func replayText(r *replay.Report, names bool, width int, p painter) string {
	t := &replayed{Report: r, names: names, width: width, p: p}
	t.summary()
	if r.Total.Batches > 0 {
		t.policies()
		t.sessions()
		t.formats()
		t.waits()
		t.tools()
		t.largest()
		t.inverted()
	}
	t.problems()
	return t.out.String()
}

// say prints a paragraph.
func (t *replayed) say(style func(string) string, format string, args ...any) {
	for _, l := range wrap(fmt.Sprintf(format, args...), t.width) {
		t.out.WriteString(style(l) + "\n")
	}
}

// title begins a part.
func (t *replayed) title(format string, args ...any) {
	t.out.WriteString("\n")
	t.say(t.p.bold, format, args...)
}

// rows prints a table.
func (t *replayed) rows(cols []column, rows [][]string, style func(row, col int, cell string) string) {
	t.out.WriteString(table(t.width, cols, rows, func(row, col int, cell string) string {
		switch {
		case row < 0:
			return t.p.faint(cell)
		case style == nil:
			return cell
		}
		return style(row, col, cell)
	}))
}

// fit cuts the cells of one column to what the others leave.
func (t *replayed) fit(cols []column, rows [][]string, flexible int, cut func(string, int) string) {
	room := t.width
	for c, col := range cols {
		if c == flexible {
			continue
		}
		widest := cells.StringWidth(col.head)
		for _, row := range rows {
			widest = max(widest, cells.StringWidth(row[c]))
		}
		room -= widest + 2
	}
	for _, row := range rows {
		row[flexible] = cut(row[flexible], max(12, room))
	}
}

// more says how many rows there would be besides.
func (t *replayed) more(n int, what string) {
	if n > 0 {
		t.say(t.p.faint, "… and %s", several(n, what))
	}
}

// summary says what it comes to.
func (t *replayed) summary() {
	f := t.Total
	sessions := 0
	for _, of := range t.Formats {
		sessions += of.Sessions
	}
	switch {
	case f.Turns == 0:
		t.say(plain, "There are no calls of tools in it.")
		return
	case f.Batches == 0:
		t.say(plain, "No answer of a model has more than one call (%s, in %s): there is nothing that could run at the same time.",
			several(f.Turns, "answer"), several(sessions, "session"))
		return
	}
	others := ""
	if n := f.Turns - f.Batches; n > 0 {
		others = fmt.Sprintf(" %s had a single call.", several(n, "other answer"))
	}
	t.say(plain, "%s with %s, in %s%s.%s", several(f.Batches, "batch"), several(f.Calls, "call"), several(sessions, "session"), t.sizes(), others)
	serial, rolling, keyed := under(f, "serial"), under(f, "rolling"), under(f, "keyed")
	slots := "with no limit"
	if t.Limit > 0 {
		slots = fmt.Sprintf("with at most %s at once", several(t.Limit, "call"))
	}
	if f.Timed == 0 {
		t.say(plain, "Of no batch the times of all calls are known. Of steps, one by one they take %s, as the rolling pool %s, keyed %s.",
			grouped(serial.Steps), grouped(rolling.Steps), grouped(keyed.Steps))
	} else {
		if f.Timed < f.Batches {
			t.say(plain, "The times of all calls are known of %s: all that follows about time is of these.", several(f.Timed, "batch"))
		}
		t.say(t.p.bold, "One by one they take %s, as the rolling pool %s, keyed %s, %s: keyed saves %s against one by one, and %s against the rolling pool.",
			span(serial.Time), span(rolling.Time), span(keyed.Time), slots, share(serial.Time-keyed.Time, serial.Time), share(rolling.Time-keyed.Time, rolling.Time))
	}
	bounds := 0
	for _, of := range t.Formats {
		if of.Clock == transcript.UpperBound.String() {
			bounds += of.Timed
		}
	}
	if bounds > 0 {
		t.say(plain, "Of %s the times are upper bounds, which may hold waiting: there it may save less.", several(bounds, "batch"))
	}
	copies := 0
	for _, x := range t.Problems {
		if x.Kind == "repeated" {
			copies += x.Count
		}
	}
	if copies > 0 {
		t.say(t.p.warm, "There are %s that another transcript has already, as that of a session that was resumed: they count again in all that follows.",
			several(copies, "batch"))
	}
	if m := t.Mixed; m.Timed > 0 && m.Batches < f.Batches {
		t.say(plain, "In the %s of these with a write or an exclusive call it saves %s and %s.", grouped(m.Timed),
			share(under(m, "serial").Time-under(m, "keyed").Time, under(m, "serial").Time),
			share(under(m, "rolling").Time-under(m, "keyed").Time, under(m, "rolling").Time))
	}
	if x := under(f, "first-fit").Inverted; x.Pairs == 0 {
		t.say(plain, "First-fit waves would have kept the order of all calls in conflict.")
	} else {
		over := ""
		switch {
		case x.Keyed == 0:
			over = ": all around a call of which is not known what it touches"
		case x.Keyed < x.Pairs:
			over = fmt.Sprintf(": %s over a key, the others around a call of which is not known what it touches", grouped(x.Keyed))
		}
		t.say(t.p.warm, "First-fit waves would have run %s in conflict out of order, in %s%s.",
			several(x.Pairs, "pair of calls"), several(x.Batches, "batch"), over)
	}
	if f.Slower > 0 {
		t.say(plain, "In %s keyed takes longer than the rolling pool, by %s in all: with a limit, a call that may start earlier can take the place of one that is longer.",
			several(f.Slower, "batch"), span(f.SlowerBy))
	}
	if f.Timed > 0 {
		t.say(t.p.faint, "Times are those of calls in batches. What the model took to answer is not in them, nor are answers with a single call.")
	}
}

// sizes say of how many calls batches are.
func (t *replayed) sizes() string {
	var parts []string
	for _, of := range []struct {
		name        string
		least, most int
	}{{"2 calls", 2, 2}, {"3", 3, 3}, {"4", 4, 4}, {"5 to 8", 5, 8}, {"9 or more", 9, math.MaxInt}} {
		n := 0
		for _, s := range t.Sizes {
			if of.least <= s.Calls && s.Calls <= of.most {
				n += s.Batches
			}
		}
		if n > 0 {
			parts = append(parts, grouped(n)+" of "+of.name)
		}
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// policies is the table of all batches.
func (t *replayed) policies() {
	t.title("By policy")
	cols := []column{{head: "policy"}, {head: "steps", right: true}, {head: "time", right: true}, {head: "vs serial", right: true},
		{head: "vs rolling", right: true}, {head: "pairs out of order", rest: true}}
	serial, rolling := under(t.Total, "serial"), under(t.Total, "rolling")
	var rows [][]string
	for _, o := range t.Total.Policies {
		row := []string{clean(o.Policy), grouped(o.Steps), "", "", "", ""}
		if t.Total.Timed > 0 {
			row[2], row[3], row[4] = span(o.Time), change(o.Time, serial.Time), change(o.Time, rolling.Time)
		}
		if x := o.Inverted; x.Pairs > 0 {
			row[5] = fmt.Sprintf("%s in %s, %s over a key", grouped(x.Pairs), several(x.Batches, "batch"), grouped(x.Keyed))
		} else if o.Ordered {
			row[5] = "none, by promise"
		} else {
			row[5] = "none"
		}
		rows = append(rows, row)
	}
	t.rows(cols, rows, func(row, col int, cell string) string {
		switch o := t.Total.Policies[row]; {
		case col == 5 && o.Inverted.Pairs > 0:
			return t.p.warm(cell)
		case o.Policy == "keyed":
			return t.p.bold(cell)
		}
		return cell
	})
	if t.Total.Timed > 0 {
		t.say(t.p.faint, "No policy that keeps the order can take less than %s.", span(t.Total.Bound))
	}
}

// sessions are those in which it matters most.
func (t *replayed) sessions() {
	all := slices.DeleteFunc(slices.Clone(t.Sessions), func(s replay.Session) bool { return s.Batches == 0 })
	if len(all) < 2 {
		return
	}
	slices.SortStableFunc(all, func(a, b replay.Session) int {
		return cmp.Or(cmp.Compare(gain(b.Figures, "rolling"), gain(a.Figures, "rolling")), cmp.Compare(gain(b.Figures, "serial"), gain(a.Figures, "serial")))
	})
	t.title("By session: those in which keyed saves most")
	cols := []column{{head: "#", right: true}, {head: "file"}, {head: "batches", right: true}, {head: "calls", right: true},
		{head: "serial", right: true}, {head: "rolling", right: true}, {head: "keyed", right: true}, {head: "vs serial", right: true},
		{head: "vs rolling", right: true}}
	var rows [][]string
	for _, s := range all[:min(mostRows, len(all))] {
		row := []string{strconv.Itoa(s.ID), fileName(s.File), grouped(s.Batches), grouped(s.Calls)}
		serial, rolling, keyed := under(s.Figures, "serial"), under(s.Figures, "rolling"), under(s.Figures, "keyed")
		if s.Timed == 0 {
			row = append(row, several(serial.Steps, "step"), several(rolling.Steps, "step"), several(keyed.Steps, "step"), "", "")
		} else {
			row = append(row, span(serial.Time), span(rolling.Time), span(keyed.Time), change(keyed.Time, serial.Time), change(keyed.Time, rolling.Time))
		}
		rows = append(rows, row)
	}
	if t.width < 100 {
		keep := []int{0, 1, 2, 4, 6, 7, 8}
		cols = picked(cols, keep)
		for i, row := range rows {
			rows[i] = picked(row, keep)
		}
	}
	t.fit(cols, rows, 1, clipLeft)
	t.rows(cols, rows, nil)
	t.more(len(all)-len(rows), "more session")
}

// picked are those of all that have these indexes.
func picked[T any](all []T, indexes []int) (some []T) {
	for _, i := range indexes {
		some = append(some, all[i])
	}
	return some
}

// formats are the figures by format, and how good the times of each are.
func (t *replayed) formats() {
	t.title("By format, and how good the times are")
	cols := []column{{head: "format"}, {head: "sessions", right: true}, {head: "batches", right: true}, {head: "timed", right: true},
		{head: "vs serial", right: true}, {head: "vs rolling", right: true}, {head: "clock"}}
	var rows [][]string
	var texts []string // each once
	with := map[string][]string{}
	for _, f := range t.Formats {
		row := []string{clean(f.Format), grouped(f.Sessions), grouped(f.Batches), grouped(f.Timed), "", "", clean(f.Clock)}
		if f.Timed > 0 {
			keyed := under(f.Figures, "keyed").Time
			row[4], row[5] = change(keyed, under(f.Figures, "serial").Time), change(keyed, under(f.Figures, "rolling").Time)
		}
		rows = append(rows, row)
		first, _, more := strings.Cut(clean(f.Text), ". ")
		if more {
			first += "."
		}
		if with[first] == nil {
			texts = append(texts, first)
		}
		with[first] = append(with[first], clean(f.Format))
	}
	t.rows(cols, rows, nil)
	for _, text := range texts {
		t.say(t.p.faint, "%s: %s", strings.Join(with[text], ", "), text)
	}
}

// waits are what the keyed pool kept back.
func (t *replayed) waits() {
	if t.Total.Waited == 0 {
		return
	}
	t.title("Keyed kept %s back for others", several(t.Total.Waited, "call"))
	cols := []column{{head: "calls", right: true}, {head: "of"}, {head: "waited for"}, {head: "time", right: true}, {head: "why", rest: true}}
	most := (t.width - 44) / 2
	var rows [][]string
	for _, w := range t.Waits[:min(mostRows, len(t.Waits))] {
		of := clean(w.For)
		if of == "" {
			of = "–"
		}
		time := ""
		if w.Time > 0 {
			time = span(w.Time)
		}
		rows = append(rows, []string{grouped(w.Calls), clip(clean(w.Tool), most), clip(of, most), time, whyWaited(w.Why)})
	}
	t.rows(cols, rows, nil)
	t.more(len(t.Waits)-len(rows), "more kind")
}

// whyWaited is a kind of wait in words.
func whyWaited(why string) string {
	switch why {
	case "claim":
		return "both use one thing, and one of them writes it"
	case "barrier":
		return "one of them runs alone"
	case "permit":
		return "the limit was reached"
	}
	return clean(why)
}

// tools are those that would be worth a declaration.
func (t *replayed) tools() {
	worth := slices.DeleteFunc(slices.Clone(t.Tools), func(x replay.Tool) bool {
		return max(x.AsRead.Steps, x.AsFree.Steps) <= 0 && max(x.AsRead.Time, x.AsFree.Time) <= 0
	})
	if len(worth) == 0 {
		return
	}
	t.title("What to declare next: tools whose calls run alone")
	cols := []column{{head: "tool"}, {head: "format"}, {head: "calls", right: true}, {head: "because"}, {head: "as reads", right: true}, {head: "as free", right: true}}
	var rows [][]string
	for _, x := range worth[:min(mostRows, len(worth))] {
		rows = append(rows, []string{clean(x.Tool), clean(x.Format), grouped(x.Calls), clean(x.Why), t.saving(x.AsRead), t.saving(x.AsFree)})
	}
	t.fit(cols, rows, 0, clip)
	t.rows(cols, rows, nil)
	t.more(len(worth)-len(rows), "more tool")
	t.say(t.p.faint, "As reads of everything they would run beside other reads, and not beside writes; as free they would be taken to touch nothing, "+
		"the most that any declaration can bring. Each is what keyed would take less, in time and (in steps). Declare what is true, with --rules.")
	if slices.ContainsFunc(worth, func(x replay.Tool) bool { return strings.HasPrefix(x.Format, string(transcript.Recorded)) }) {
		t.say(t.p.faint, "Rules do not change recorded batches, which say themselves what their calls touch.")
	}
}

// saving is what a declaration brings.
func (t *replayed) saving(s replay.Saving) string {
	steps := "(" + minus(grouped(s.Steps)) + ")"
	if t.Total.Timed == 0 {
		return steps
	}
	return span(s.Time) + " " + steps
}

// problems are what could not be used. Of a kind that came up often the first ones stand for the others, so that none
// hides another one.
func (t *replayed) problems() {
	if len(t.Problems) == 0 {
		return
	}
	t.title("Not used, or to be known: %s", several(len(t.Problems), "thing"))
	const most = 3
	var kinds []string
	of := map[string][]replay.Problem{}
	for _, x := range t.Problems {
		if of[x.Kind] == nil {
			kinds = append(kinds, x.Kind)
		}
		of[x.Kind] = append(of[x.Kind], x)
	}
	for _, kind := range kinds {
		all := of[kind]
		shown := len(all)
		if shown > most {
			shown = most - 1
		}
		for _, x := range all[:shown] {
			if x.File != "" {
				t.say(plain, "%s: %s", clean(x.File), clean(x.Text))
			} else {
				t.say(plain, "%s", clean(x.Text))
			}
		}
		if rest := all[shown:]; len(rest) > 0 {
			files, times := map[string]bool{}, 0
			for _, x := range rest {
				files[x.File], times = true, times+x.Count
			}
			t.say(plain, "… and %s ×%s in %s", clean(kind), grouped(times), several(len(files), "file"))
		}
	}
}
