package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// numbers is rows of a table in Markdown, and an empty line. The first is its head, and all columns but the first are
// aligned as numbers are.
func numbers(rows ...[]string) string { return table("--:", rows) }

// texts is the same, with all columns aligned as texts are.
func texts(rows ...[]string) string { return table("---", rows) }

func table(align string, rows [][]string) string {
	var s strings.Builder
	for i, cells := range rows {
		s.WriteString("| " + strings.Join(cells, " | ") + " |\n")
		if i == 0 {
			s.WriteString("|---" + strings.Repeat("|"+align, len(cells)-1) + "|\n")
		}
	}
	return s.String() + "\n"
}

// width is how long lines of prose are at most.
const width = 120

// para is a paragraph of words, and an empty line.
func para(format string, args ...any) string { return wrapped("", format, args...) + "\n" }

// item is an item of a list.
func item(format string, args ...any) string { return wrapped("  ", "- "+format, args...) }

func wrapped(indent, format string, args ...any) string {
	var s strings.Builder
	at := 0
	for _, word := range strings.Fields(fmt.Sprintf(format, args...)) {
		n := utf8.RuneCountInString(word)
		switch {
		case at == 0:
		case at+1+n > width:
			s.WriteString("\n" + indent)
			at = len(indent)
		default:
			s.WriteString(" ")
			at++
		}
		s.WriteString(word)
		at += n
	}
	return s.String() + "\n"
}

// count is so many things.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + many
}
