package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A bar is one call on a timeline. Times count from the start of the run.
type bar struct {
	label  string
	from   time.Duration // submitted
	start  time.Duration // its body began; below 0: it never did
	settle time.Duration // its body returned, or it was skipped
	commit time.Duration // its result took its place in the model's order
	note   string        // shown behind the bar
	block  rune          // what it runs as; 0: a full block
}

// gantt draws bars as text of at most width cells: dots while a call waits, a block while it runs, a thin line while
// its result waits for those of earlier calls. Every call that ran gets at least one block, however short it was.
func gantt(width int, bars []bar, total time.Duration) string {
	names, notes := 0, 0
	for _, r := range bars {
		names = max(names, cells.StringWidth(r.label))
		notes = max(notes, cells.StringWidth(r.note))
	}
	names = min(names, max(8, width/3))
	notes = min(notes, max(4, width/6))
	chart := max(10, width-names-notes-4)
	total = max(total, 1)
	at := func(d time.Duration) int { return int(int64(d) * int64(chart) / int64(total)) }

	var b strings.Builder
	for _, r := range bars {
		line := []rune(strings.Repeat(" ", chart))
		fill := func(from, to int, with rune) {
			for c := max(0, from); c < min(chart, to); c++ {
				line[c] = with
			}
		}
		block := r.block
		if block == 0 {
			block = '█'
		}
		if r.start < 0 {
			fill(at(r.from), at(r.settle), '·')
		} else {
			first := min(at(r.start), chart-1)
			fill(at(r.from), first, '·')
			fill(at(r.settle), at(r.commit), '─')
			fill(first, max(first+1, at(r.settle)), block)
		}
		b.WriteString(strings.TrimRight(pad(r.label, names)+"  "+string(line)+"  "+clip(r.note, notes), " "))
		b.WriteByte('\n')
	}
	b.WriteString(strings.Repeat(" ", names+2))
	b.WriteString(strings.TrimRight(axis(chart, chart+2+notes, total), " "))
	b.WriteByte('\n')
	return b.String()
}

// axis is a line of round times below a chart, each standing where it is; it may go on to room cells.
func axis(chart, room int, total time.Duration) string {
	step := time.Microsecond
	for i := 0; int64(chart)*int64(step) < 12*int64(total); i++ {
		if i%3 == 1 { // 1, 2, 5, 10
			step = step / 2 * 5
		} else {
			step *= 2
		}
	}
	line := ""
	for t := time.Duration(0); t <= total; t += step {
		column := int(int64(t) * int64(chart) / int64(total))
		text := "0"
		if t > 0 {
			text = short(t)
		}
		if column+1+cells.StringWidth(text) > room {
			break
		}
		line += strings.Repeat(" ", max(0, column-cells.StringWidth(line))) + "╵" + text
	}
	return line
}

// short is a duration to read at a glance.
func short(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < 10*time.Millisecond && d%time.Millisecond != 0:
		return strconv.FormatFloat(d.Seconds()*1e3, 'f', 1, 64) + " ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s"
	default:
		return d.Round(time.Second).String()
	}
}
