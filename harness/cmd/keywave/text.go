package main

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// cells measures text in terminal cells. It is set up here, not from the environment, so that a picture is the same
// on every machine.
var cells = &runewidth.Condition{StrictEmojiNeutral: true}

// clean makes s one line that can do nothing to a terminal: control characters, escape sequences with them, text
// direction marks and invalid UTF-8 are spelt out. What a model, a file name or a tool's output holds is printed only
// through clean or cleanLines.
func clean(s string) string {
	if !strings.ContainsFunc(s, unprintable) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteString(`\x`)
			b.WriteString(strconv.FormatUint(uint64(s[0])|0x100, 16)[1:])
		case unprintable(r):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteRune(r)
		}
		s = s[n:]
	}
	return b.String()
}

// cleanLines is clean for text of several lines; a tab becomes four spaces.
func cleanLines(s string) []string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\t", "    ")
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, line := range lines {
		lines[i] = clean(line)
	}
	return lines
}

// unprintable reports whether r may act on the terminal instead of being shown. The two joiners are let through:
// scripts and emoji need them and they reorder nothing.
func unprintable(r rune) bool {
	if ' ' <= r && r < 0x7f {
		return false
	}
	if r == '\u200c' || r == '\u200d' {
		return false
	}
	return r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// clip cuts s to at most width cells; what is cut is shown by an ellipsis.
func clip(s string, width int) string {
	if width <= 0 {
		return ""
	}
	// Marks without a width of their own could otherwise pile up without end.
	if n := 8 * width; len(s) > n && utf8.RuneCountInString(s) > n {
		s = string([]rune(s)[:n]) + strings.Repeat(" ", width) + "."
	}
	return strings.TrimRight(cells.Truncate(s, width, "…"), " ")
}

// pad fills s up with spaces to width cells, or clips it.
func pad(s string, width int) string {
	s = clip(s, width)
	return s + strings.Repeat(" ", max(0, width-cells.StringWidth(s)))
}

// wrap breaks s between words into lines of at most width cells; a longer word is cut.
func wrap(s string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case cells.StringWidth(line)+1+cells.StringWidth(word) <= width:
			line += " " + word
		default:
			lines = append(lines, clip(line, width))
			line = word
		}
	}
	return append(lines, clip(line, width))
}

// A column of a table. The last one takes what is left of the width.
type column struct {
	head  string
	right bool // numbers stand at the right
	most  int  // its widest, in cells; 0: as wide as what is in it
	rest  bool // it gets what is left of the width, and wraps
}

// table lays rows out in columns, at most width cells wide, each line ended. Cells hold clean text.
func table(width int, cols []column, rows [][]string, style func(row, col int, cell string) string) string {
	widths := make([]int, len(cols))
	left := width
	for c, col := range cols {
		if col.rest {
			continue
		}
		widths[c] = cells.StringWidth(col.head)
		for _, row := range rows {
			widths[c] = max(widths[c], cells.StringWidth(row[c]))
		}
		if col.most > 0 {
			widths[c] = min(widths[c], col.most)
		}
		left -= widths[c] + 2
	}
	for c, col := range cols {
		if col.rest {
			widths[c] = max(16, left)
		}
	}
	var b strings.Builder
	emit := func(r int, row []string) {
		parts := make([][]string, len(row))
		height := 1
		for c, cell := range row {
			parts[c] = []string{cell}
			if cols[c].rest {
				parts[c] = wrap(cell, widths[c])
			}
			height = max(height, len(parts[c]))
		}
		for h := range height {
			line, gap := "", ""
			for c := range row {
				cell := ""
				if h < len(parts[c]) {
					cell = clip(parts[c][h], widths[c])
				}
				fill := strings.Repeat(" ", max(0, widths[c]-cells.StringWidth(cell)))
				text := cell
				if style != nil && cell != "" {
					text = style(r, c, cell)
				}
				if cols[c].right {
					text = fill + text
				} else {
					text += fill
				}
				line += gap + text
				gap = "  "
			}
			b.WriteString(strings.TrimRight(line, " "))
			b.WriteByte('\n')
		}
	}
	heads := make([]string, len(cols))
	for c, col := range cols {
		heads[c] = col.head
	}
	emit(-1, heads)
	for r, row := range rows {
		emit(r, row)
	}
	return b.String()
}
