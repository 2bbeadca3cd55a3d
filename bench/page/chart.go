package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/keywave-go/keywave/bench/replay"
	"github.com/keywave-go/keywave/bench/trace"
)

// A chart is bars beside one another, each with what it is before it and its figure behind it.
type chart struct {
	Rows  []bar
	Label string // all of it, in words
	Mark  string // where a line across all bars stands, in percent; empty: nowhere
	Key   string // what the line is
}

type bar struct {
	Name   string
	Figure string
	Colour string
	Width  string // in percent
	Part   string // the width of the part that is set off from the rest; empty: none
}

// timeChart is the time of each policy, or their rounds if no time is known.
func timeChart(f replay.Figures) chart {
	value := func(o replay.Outcome) trace.Millis { return o.Time }
	say, c := millis, chart{Label: "Time by policy"}
	if f.Timed == 0 {
		value = rounds
		say, c.Label = steps, "Rounds by policy"
	}
	most := f.Bound
	for _, o := range f.Policies {
		most = max(most, value(o))
	}
	for i, o := range f.Policies {
		c.Rows = append(c.Rows, bar{
			Name: policyName(o.Policy), Figure: say(value(o)), Width: part(value(o), most),
			Colour: colour(o.Policy, o.Ordered, o.Inverted.Pairs > 0),
		})
		c.Label += fmt.Sprintf("%s %s %s", separator(i), policyName(o.Policy), say(value(o)))
	}
	if f.Timed > 0 && f.Bound > 0 {
		c.Mark = part(f.Bound, most)
		c.Key = "Lower bound, " + millis(f.Bound)
		c.Label += "; lower bound " + millis(f.Bound)
	}
	c.Label += "."
	return c
}

// sizeChart is how many batches there are of which size, the large ones together.
func sizeChart(sizes []replay.Size) chart {
	sizes = slices.Clone(sizes)
	slices.SortStableFunc(sizes, func(a, b replay.Size) int { return cmp.Compare(a.Calls, b.Calls) })
	type bin struct{ low, high, batches, mixed int }
	var bins []bin
	for _, s := range sizes {
		low, high := s.Calls, s.Calls
		if s.Calls > 8 {
			for low, high = 9, 16; s.Calls > high && high < math.MaxInt/2; low, high = high+1, 2*high {
			}
		}
		if n := len(bins); n == 0 || bins[n-1].low != low {
			bins = append(bins, bin{low: low, high: high})
		}
		b := &bins[len(bins)-1]
		b.batches += s.Batches
		b.mixed += s.Mixed
	}
	most := 0
	for _, b := range bins {
		most = max(most, b.batches)
	}
	c := chart{Label: "Batches by size"}
	for i, b := range bins {
		name := plural(b.low, "call", "calls")
		if b.high > b.low {
			name = fmt.Sprintf("%s–%s calls", count(b.low), count(b.high))
		}
		row := bar{
			Name: name, Figure: count(b.batches), Colour: "keyed", Width: part(trace.Millis(b.batches), trace.Millis(most)),
		}
		if b.mixed > 0 {
			row.Part = part(trace.Millis(b.mixed), trace.Millis(most))
		}
		c.Rows = append(c.Rows, row)
		c.Label += fmt.Sprintf("%s %s: %s, %s of them with a write or an exclusive call",
			separator(i), name, plural(b.batches, "batch", "batches"), count(b.mixed))
	}
	c.Label += "."
	return c
}

func separator(i int) string {
	if i == 0 {
		return ":"
	}
	return ","
}

// part is which part of all v is, in percent as SVG has it, and never less than nothing or more than all.
func part(v, all trace.Millis) string {
	p := float64(v / all)
	if math.IsNaN(p) {
		p = 0
	}
	p = min(max(p, 0), 1)
	return plain(100*p, 1) + "%"
}
