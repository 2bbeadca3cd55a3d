package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/keywave-go/keywave/bench/replay"
	"github.com/keywave-go/keywave/bench/trace"
)

const (
	drawn     = 400 // calls of a batch that are drawn; the table has all
	pointed   = 6   // arrows to and from a call that are drawn, those of the nearest
	unhovered = 8   // inversions up to which their arrows are always there
)

// A batch is one batch as it is drawn: its calls under one policy after another, on one scale.
type batch struct {
	ID       string
	Number   int
	Open     bool
	Title    string
	Where    string
	Breaches []breach
	Saved    bool
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

type run struct {
	Name, Colour, Time string
	Broken             string // what it breaks, in words; empty: nothing
	Says               string // all of it in words
	End                string
	Bars               []span
	Arrows             []line // those that are always there
}

// A span is a call in a timeline. Coordinates along the time are percents, so that they go with any width of the page.
type span struct {
	Y, Top, Thick int
	X, Width      string
	Waits         []stretch
	Says          string
	Early         bool // it started before one that it conflicts with had settled
	Conflicts     bool
	Arrows        []line
}

type stretch struct{ X, Width string }

// A line is a part of an arrow: unlike paths, lines can be in percent. Arrows from one call have parts in common.
type line struct {
	X1, X2 string
	Y1, Y2 int
	Class  string
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

// A sketch is what the timelines of one batch have in common.
type sketch struct {
	replay.Batch
	whole trace.Millis // the scale: the latest end under any policy
	row   int          // the height of a call, in pixels
	near  [][]int      // by call, those that it conflicts with, in order
	say   func(trace.Millis) string
}

func sketchOf(b replay.Batch) sketch {
	k := sketch{Batch: b, row: 22, near: make([][]int, len(b.Calls)), say: millis}
	if len(b.Calls) > 40 {
		k.row = 16
	}
	if !b.Timed {
		k.say = steps
	}
	for _, c := range b.Conflicts {
		if k.holds(c) {
			k.near[c.Earlier] = append(k.near[c.Earlier], c.Later)
			k.near[c.Later] = append(k.near[c.Later], c.Earlier)
		}
	}
	for i := range k.near {
		slices.Sort(k.near[i])
		k.near[i] = slices.Compact(k.near[i])
	}
	for _, s := range b.Runs {
		k.whole = max(k.whole, s.Time)
		for _, x := range s.Spans {
			k.whole = max(k.whole, x.End)
		}
	}
	return k
}

// holds reports whether c is of two calls of the batch.
func (k sketch) holds(c replay.Conflict) bool {
	return c.Earlier >= 0 && c.Later < len(k.Calls) && c.Earlier < c.Later
}

// batchOf is batch number n of the report. Ordered says of each policy that is known whether it promises the order.
func batchOf(b replay.Batch, n int, ordered map[string]bool, from sources) batch {
	k := sketchOf(b)
	v := batch{
		ID: "batch-" + strconv.Itoa(n), Number: n, Timed: b.Timed, Title: title(b, k.say), Where: where(b, from),
		Breaches: k.breaches(), Saved: b.Saved, Left: max(0, len(b.Calls)-drawn), Row: k.row, Ticks: ticks(k.whole, b.Timed),
	}
	v.Height = k.row * (len(b.Calls) - v.Left)
	for i, c := range b.Calls {
		l := label{Call: i + 1, Tool: named(c.Tool), Access: show(c.Access), Time: k.say(c.Time)}
		if i < drawn {
			v.Labels = append(v.Labels, l)
		}
		v.Rows = append(v.Rows, row{
			label: l, Why: show(c.Why), Claims: claims(c), Exact: c.Time, Conflicts: listed(k.near[i]),
		})
	}
	for _, s := range b.Runs {
		promises, known := ordered[s.Policy]
		v.Policies = append(v.Policies, policyName(s.Policy))
		v.Runs = append(v.Runs, k.run(s, promises || !known, v.Rows))
	}
	return v
}

// run draws the batch under one policy, and adds what became of each call to its row of the table.
func (k sketch) run(s replay.Schedule, promises bool, rows []row) run {
	early := make([][]replay.Inversion, len(k.Calls)) // by the call that was too early
	calls := 0
	for _, i := range s.Inversions {
		if !k.holds(i.Conflict) {
			continue
		}
		if len(early[i.Later]) == 0 {
			calls++
		}
		early[i.Later] = append(early[i.Later], i)
	}
	r := run{
		Name: policyName(s.Policy), Time: k.say(s.Time), End: part(s.Time, k.whole),
		Colour: colour(s.Policy, promises, calls > 0),
	}
	r.Says = fmt.Sprintf("%s: %s in %s", r.Name, plural(len(k.Calls), "call", "calls"), r.Time)
	if calls > 0 {
		r.Broken = plural(calls, "call", "calls") + " too early"
	}
	all := slices.Concat(early...)
	there := len(all) <= unhovered
	if there {
		for _, i := range all {
			r.Arrows = k.arrow(r.Arrows, s, i.Conflict, true)
		}
	}
	for i := range k.Calls {
		var x replay.Span
		if i < len(s.Spans) {
			x = s.Spans[i]
		}
		c := k.cell(x, early[i])
		rows[i].Cells = append(rows[i].Cells, c)
		if i >= drawn {
			continue
		}
		b := k.bar(i, x)
		b.Early, b.Says = len(early[i]) > 0, says(rows[i], c)
		for _, j := range k.nearest(i) {
			pair := replay.Conflict{Earlier: min(i, j), Later: max(i, j)}
			broken := slices.ContainsFunc(early[pair.Later], func(x replay.Inversion) bool { return x.Conflict == pair })
			if !broken || !there {
				b.Arrows = k.arrow(b.Arrows, s, pair, broken)
			}
		}
		r.Bars = append(r.Bars, b)
	}
	return r
}

// bar is call i, and how long it waited before it ran.
func (k sketch) bar(i int, x replay.Span) span {
	b := span{
		Y: i * k.row, Top: i*k.row + 4, Thick: k.row - 8, Conflicts: len(k.near[i]) > 0,
		X: part(x.Start, k.whole), Width: wide(x.End-x.Start, k.whole),
	}
	until := trace.Millis(0)
	for _, w := range x.Waits {
		from, to := max(w.From, until), min(w.To, x.Start)
		if to > from {
			b.Waits = append(b.Waits, stretch{part(from, k.whole), wide(to-from, k.whole)})
			until = to
		}
	}
	return b
}

// says is a call and what became of it, in words.
func says(r row, c cell) string {
	s := fmt.Sprintf("%d %s (%s), %s", r.Call, r.Tool, r.Access, c.Ran)
	if c.Waited != "" {
		s += "; " + c.Waited
	}
	if c.Broken != "" {
		s += "; ran " + c.Broken
	}
	if r.Conflicts != "" {
		s += "; conflicts with " + r.Conflicts
	}
	return s
}

// nearest is the last calls before call i, and the first ones after it, of those that it conflicts with.
func (k sketch) nearest(i int) []int {
	near := k.near[i]
	at, _ := slices.BinarySearch(near, i)
	return near[max(0, at-pointed):min(len(near), at+pointed)]
}

// arrow adds what of an arrow is not there yet. It leads from the end of the earlier call to the start of the later
// one: along the row of the earlier call, and down. If the later call was too early it leads back, below the earlier
// one. There is none if a call is not drawn.
func (k sketch) arrow(there []line, s replay.Schedule, c replay.Conflict, broken bool) []line {
	if c.Later >= min(len(s.Spans), drawn) {
		return there
	}
	add := func(l line) {
		if broken {
			l.Class += " wrong"
		}
		l.Class = strings.TrimSpace(l.Class)
		if !slices.Contains(there, l) {
			there = append(there, l)
		}
	}
	end, start := s.Spans[c.Earlier].End, s.Spans[c.Later].Start
	from, to := part(end, k.whole), part(start, k.whole)
	y := c.Earlier*k.row + k.row/2
	if start <= end {
		y = (c.Earlier + 1) * k.row
		add(line{X1: from, Y1: y - 3, X2: from, Y2: y})
	}
	if from != to {
		add(line{X1: from, Y1: y, X2: to, Y2: y})
	}
	add(line{X1: to, Y1: y, X2: to, Y2: c.Later*k.row + 5, Class: "tip"})
	return there
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
		return fmt.Sprintf("%s, %s in the rolling pool and keyed", s, say(keyed.Time))
	}
	return fmt.Sprintf("%s, %s in the rolling pool, %s keyed", s, say(rolling.Time), say(keyed.Time))
}

func where(b replay.Batch, from sources) string {
	s := "Session " + strconv.Itoa(b.Session)
	if b.File != "" && from.One == "" {
		s += ", " + from.Short(b.File)
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

// cell is what became of a call under a policy.
func (k sketch) cell(x replay.Span, early []replay.Inversion) cell {
	c := cell{Ran: fmt.Sprintf("%s to %s", k.say(x.Start), k.say(x.End))}
	if !k.Timed {
		c.Ran = "step " + rounded(x.Start+1)
	}
	var waited []string
	for _, w := range x.Waits {
		if w.To <= w.From || w.From >= x.Start {
			continue
		}
		s := k.say(w.To - w.From)
		if w.Call >= 0 && w.Call < len(k.Calls) {
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
