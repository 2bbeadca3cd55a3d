package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/keywave-go/keywave/bench/replay"
	"github.com/keywave-go/keywave/bench/trace"
)

const (
	drawn     = 400 // calls of a batch that are drawn; the table has all
	pointed   = 12  // arrows to and from a call that are drawn, those of the nearest
	unhovered = 8   // inversions up to which their arrows are always there
)

// A batch is one batch as it is drawn: its calls under one policy after another, on one scale.
type batch struct {
	ID       string
	Number   int
	Open     bool
	Title    string
	Where    string
	Timed    bool
	Labels   []label
	Left     int // calls that are not drawn
	Row      int // the height of a call's row, in pixels
	Height   int // of all rows
	Runs     []run
	Ticks    []tick
	Policies []string // the heads of the table
	Rows     []row
}

type label struct {
	Call   int // from 1
	Tool   string
	Access string
	Time   string
}

type tick struct{ X, Text, Anchor string }

type run struct {
	Name, Colour, Time string
	Broken             string // what it breaks, in words; empty: nothing
	Says               string // all of it in words
	End                string
	Bars               []span
	Arrows             []arrow // those that are always there
}

// A span is a call in a timeline. Coordinates along the time are percents, so that they go with any width of the page.
type span struct {
	Y, Top, Thick int
	X, Width      string
	Waits         []stretch
	Says          string
	Early         bool // it started before one that it conflicts with had settled
	Conflicts     bool
	Arrows        []arrow
}

type stretch struct{ X, Width string }

// An arrow is drawn as lines, which unlike paths can be in percent: from X1 at the height From, if that is above 0, to the
// height Y, then to X2, then down to the height To.
type arrow struct {
	X1, X2      string
	From, Y, To int
	Broken      bool
}

type row struct {
	label
	Why       string
	Claims    []string
	Exact     trace.Millis
	Conflicts string
	Cells     []cell
}

type cell struct{ Ran, Waited, Broken string }

// batchOf is batch number n of the report.
func batchOf(b replay.Batch, n int, ordered map[string]bool) batch {
	say := millis
	if !b.Timed {
		say = steps
	}
	v := batch{ID: "batch-" + strconv.Itoa(n), Number: n, Timed: b.Timed, Where: where(b)}
	v.Left = max(0, len(b.Calls)-drawn)
	v.Row = 22
	if len(b.Calls) > 40 {
		v.Row = 16
	}
	v.Height = v.Row * (len(b.Calls) - v.Left)
	near := make([][]int, len(b.Calls)) // the calls that each conflicts with
	for _, c := range b.Conflicts {
		if within(c, len(b.Calls)) {
			near[c.Earlier] = append(near[c.Earlier], c.Later)
			near[c.Later] = append(near[c.Later], c.Earlier)
		}
	}
	for i := range near {
		slices.Sort(near[i])
		near[i] = slices.Compact(near[i])
	}
	var whole trace.Millis
	for _, s := range b.Runs {
		whole = max(whole, s.Time)
		for _, x := range s.Spans {
			whole = max(whole, x.End)
		}
	}
	v.Title = title(b, say)
	v.Ticks = ticks(whole, b.Timed)
	for i, c := range b.Calls {
		l := label{Call: i + 1, Tool: show(c.Tool), Access: show(c.Access), Time: say(c.Time)}
		if i < drawn {
			v.Labels = append(v.Labels, l)
		}
		v.Rows = append(v.Rows, row{label: l, Why: show(c.Why), Claims: claims(c), Exact: c.Time, Conflicts: listed(near[i])})
	}
	for _, s := range b.Runs {
		promises, known := ordered[s.Policy]
		v.Policies = append(v.Policies, policyName(s.Policy))
		r := run{
			Name: policyName(s.Policy), Time: say(s.Time), End: part(s.Time, whole),
			Colour: colour(s.Policy, promises || !known, len(s.Inversions) > 0),
		}
		early := make([][]replay.Inversion, len(b.Calls)) // by the call that was too early
		calls := 0
		for _, i := range s.Inversions {
			if !within(i.Conflict, len(b.Calls)) {
				continue
			}
			if len(early[i.Later]) == 0 {
				calls++
			}
			early[i.Later] = append(early[i.Later], i)
		}
		shown := slices.Concat(early...)
		if len(shown) > unhovered {
			shown = nil
		}
		if calls > 0 {
			r.Broken = plural(calls, "call", "calls") + " too early"
		}
		r.Says = fmt.Sprintf("%s: %s in %s", r.Name, plural(len(b.Calls), "call", "calls"), r.Time)
		for i := range b.Calls {
			var x replay.Span
			if i < len(s.Spans) {
				x = s.Spans[i]
			}
			v.Rows[i].Cells = append(v.Rows[i].Cells, cellOf(x, early[i], b.Timed, say))
			if i < drawn {
				r.Bars = append(r.Bars, v.bar(i, s, x, near[i], early, shown != nil, whole, v.Rows[i]))
			}
		}
		for _, i := range shown {
			r.Arrows = append(r.Arrows, v.arrow(s, i.Conflict, whole, true)...)
		}
		v.Runs = append(v.Runs, r)
	}
	return v
}

func within(c replay.Conflict, n int) bool {
	return c.Earlier >= 0 && c.Later < n && c.Earlier < c.Later
}

func (v *batch) bar(
	i int, s replay.Schedule, x replay.Span, near []int, early [][]replay.Inversion, there bool, whole trace.Millis, r row,
) span {
	thick := v.Row - 8
	b := span{Y: i * v.Row, Top: i*v.Row + 4, Thick: thick, Early: len(early[i]) > 0}
	b.X, b.Width = part(x.Start, whole), wide(x.End-x.Start, whole)
	for _, w := range x.Waits {
		from, to := max(w.From, 0), min(w.To, x.Start)
		if to <= from {
			continue
		}
		if n := len(b.Waits); n > 0 && b.Waits[n-1].X == part(from, whole) {
			continue // it waited for two things at once
		}
		b.Waits = append(b.Waits, stretch{part(from, whole), wide(to-from, whole)})
	}
	c := r.Cells[len(r.Cells)-1]
	b.Says = fmt.Sprintf("%d %s (%s), %s", i+1, r.Tool, r.Access, c.Ran)
	if c.Waited != "" {
		b.Says += "; " + c.Waited
	}
	if c.Broken != "" {
		b.Says += "; ran " + c.Broken
	}
	if b.Conflicts = r.Conflicts != ""; b.Conflicts {
		b.Says += "; conflicts with " + r.Conflicts
	}
	// The nearest before it, and the nearest after it.
	k, _ := slices.BinarySearch(near, i)
	for _, j := range near[max(0, k-pointed):min(len(near), k+pointed)] {
		pair := replay.Conflict{Earlier: min(i, j), Later: max(i, j)}
		broken := slices.ContainsFunc(early[pair.Later], func(x replay.Inversion) bool { return x.Earlier == pair.Earlier })
		if !broken || !there {
			b.Arrows = append(b.Arrows, v.arrow(s, pair, whole, broken)...)
		}
	}
	return b
}

// arrow leads from the end of the earlier call to the start of the later one: along the row of the earlier call, and down.
// If the later call was too early it leads back, below the earlier one.
func (v *batch) arrow(s replay.Schedule, c replay.Conflict, whole trace.Millis, broken bool) []arrow {
	if c.Later >= min(len(s.Spans), drawn) {
		return nil
	}
	end, start := s.Spans[c.Earlier].End, s.Spans[c.Later].Start
	a := arrow{X1: part(end, whole), X2: part(start, whole), Y: c.Earlier*v.Row + v.Row/2, To: c.Later*v.Row + 5, Broken: broken}
	if start <= end {
		a.From, a.Y = (c.Earlier+1)*v.Row-3, (c.Earlier+1)*v.Row
	}
	return []arrow{a}
}

// wide is the width of a time, and something also if it is none: what has no width at all is not drawn.
func wide(v, whole trace.Millis) string {
	if p := part(v, whole); p != "0%" {
		return p
	}
	return "0.02%"
}

func title(b replay.Batch, say func(trace.Millis) string) string {
	var rolling, keyed *replay.Schedule
	for i, s := range b.Runs {
		switch s.Policy {
		case "rolling":
			rolling = &b.Runs[i]
		case "keyed":
			keyed = &b.Runs[i]
		}
	}
	s := plural(len(b.Calls), "call", "calls")
	if rolling == nil || keyed == nil {
		return s
	}
	if rolling.Time == keyed.Time {
		return fmt.Sprintf("%s, %s, in the rolling pool and keyed", s, say(keyed.Time))
	}
	return fmt.Sprintf("%s, %s in the rolling pool, %s keyed", s, say(rolling.Time), say(keyed.Time))
}

func where(b replay.Batch) string {
	s := "Session " + strconv.Itoa(b.Session)
	if b.File != "" {
		s += ", " + show(b.File)
	}
	if b.Line > 0 {
		s += ", line " + count(b.Line)
	}
	if b.Sub {
		s += ", of a sub-agent"
	}
	return s
}

func claims(c replay.Call) []string {
	var all []string
	for _, k := range c.Claims {
		s := "reads "
		if k.Write {
			s = "writes "
		}
		s += show(k.Key)
		if k.Tree {
			s += " and below"
		}
		all = append(all, s)
	}
	return all
}

// cellOf is what became of a call under a policy.
func cellOf(x replay.Span, early []replay.Inversion, timed bool, say func(trace.Millis) string) cell {
	c := cell{Ran: fmt.Sprintf("%s to %s", say(x.Start), say(x.End))}
	if !timed {
		c.Ran = fmt.Sprintf("step %.0f", x.Start+1)
	}
	var waited []string
	for _, w := range x.Waits {
		if w.To <= w.From || w.From >= x.Start {
			continue
		}
		s := say(w.To - w.From)
		if w.Call >= 0 {
			s += " for " + strconv.Itoa(w.Call+1)
		}
		waited = append(waited, s+" ("+show(w.Why)+")")
	}
	if len(waited) > 4 {
		waited = append(waited[:3], plural(len(waited)-3, "more wait", "more waits"))
	}
	if len(waited) > 0 {
		c.Waited = "waited " + strings.Join(waited, ", ")
	}
	var with, before []int
	for _, i := range early {
		if i.Overlap {
			with = append(with, i.Earlier)
		} else {
			before = append(before, i.Earlier)
		}
	}
	slices.Sort(with)
	slices.Sort(before)
	var broken []string
	if len(with) > 0 {
		broken = append(broken, "together with "+listed(with))
	}
	if len(before) > 0 {
		broken = append(broken, "before "+listed(before))
	}
	c.Broken = strings.Join(broken, ", ")
	return c
}

// ticks are at most five round times, and what they are called.
func ticks(whole trace.Millis, timed bool) []tick {
	const second, minute, hour = 1e3, 60e3, 3600e3
	all := float64(whole)
	every := math.Pow(10, math.Floor(math.Log10(all))-1)
	if !(all > 0) || math.IsInf(all, 0) || every == 0 {
		return []tick{{"0%", "0", "start"}}
	}
	for i := 0; all/every > 4; i++ {
		every *= [...]float64{2, 2.5, 2}[i%3]
	}
	say := func(v float64) string { return millis(trace.Millis(v)) }
	switch {
	case !timed:
		every = max(1, math.Ceil(every))
		say = func(v float64) string { return count(int(v)) }
	case all < second:
		say = func(v float64) string { return plain(v, 3) + space + "ms" }
	case all <= 2*minute:
		say = func(v float64) string { return plain(v/second, 3) + space + "s" }
	case all <= 96*hour:
		for _, n := range [...]float64{1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 720, 1440} {
			if all <= 4*n*minute {
				every = n * minute
				break
			}
		}
		say = minutes
	}
	var ts []tick
	for i := 0; i <= 4 && float64(i)*every <= all*(1+1e-9); i++ {
		v := float64(i) * every
		t := tick{X: part(trace.Millis(v), whole), Text: say(v), Anchor: "middle"}
		if i == 0 {
			t.Text, t.Anchor = "0", "start"
		}
		if v > 0.9*all {
			t.Anchor = "end"
		}
		ts = append(ts, t)
	}
	return ts
}

// minutes is a time of whole minutes: 20 min, 2 h, 1:30 h.
func minutes(v float64) string {
	n := int(math.Round(v / 60e3))
	switch {
	case n < 60:
		return strconv.Itoa(n) + space + "min"
	case n%60 == 0:
		return strconv.Itoa(n/60) + space + "h"
	}
	return fmt.Sprintf("%d:%02d%sh", n/60, n%60, space)
}
