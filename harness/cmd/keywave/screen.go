package main

import (
	"strconv"
	"strings"
)

// A screen keeps a few lines at the bottom of a terminal up to date. It draws with three things that every terminal
// has: up, column one, and clear to the end. The cursor rests below the lines, so leaving at any time spoils nothing.
type screen struct {
	to   stream
	last []int // the widths of the lines that stand there
}

// A line of a screen is clean text, and how to colour it once it has been cut to the terminal's width.
type line struct {
	text  string
	style func(string) string // nil: as it is
}

// paint replaces the live lines, and prints those of above to stay. Live lines are cut to the terminal's width and
// height; those that no longer fit are counted.
func (s *screen) paint(above, live []line) {
	width, height, ok := s.to.size()
	if !ok {
		width, height = 80, 24
	}
	// A terminal that became narrower has wrapped what stands there.
	rows := 0
	for _, w := range s.last {
		rows += max(1, (w+width-1)/width)
	}
	var b strings.Builder
	if rows = min(rows, height-1); rows > 0 {
		b.WriteString("\x1b[" + strconv.Itoa(rows) + "A")
	}
	b.WriteString("\r\x1b[J")
	emit := func(l line) {
		if l.style != nil {
			l.text = l.style(l.text)
		}
		b.WriteString(l.text + "\n")
	}
	for _, l := range above {
		emit(l)
	}
	s.last = s.last[:0]
	if most := max(1, height-2); len(live) > most {
		live = append(live[:most-1:most-1], line{text: "… and " + strconv.Itoa(len(live)-most+1) + " more"})
	}
	for _, l := range live {
		l.text = clip(l.text, width-1)
		s.last = append(s.last, cells.StringWidth(l.text))
		emit(l)
	}
	// One write, so that nobody sees half a picture. If it fails there is nobody to tell.
	_, _ = s.to.Write([]byte(b.String()))
}
