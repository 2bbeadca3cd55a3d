package js

import (
	"slices"
	"strings"
)

// maxNesting is how deep the brackets of a program may be nested. Parsers recurse: without a bound a source of a few
// kilobytes takes seconds and gigabytes.
const maxNesting = 200

// maxArrows bounds how many arrow functions a program has, what looks like one in a string included. They nest
// without brackets, and each takes more of a parser's stack than anything else: 64 KiB of them are fatal to the
// process.
const maxArrows = 2000

// maxReadings bounds how many readings of a source are followed at once.
const maxReadings = 64

// A reading is one way to read a source up to a point. A few characters are ambiguous without a parser: a slash
// divides or begins a regular expression, <!-- and --> may begin comments. A guess could be exploited to hide
// brackets, so that all ways are followed. A wrong one ends mostly with its line, or with a bracket that does not
// fit.
type reading struct {
	mode   mode
	skip   uint8  // bytes that are read already
	fresh  bool   // perhaps no token since the line began
	closed bool   // it closed a bracket that it did not open
	stack  string // what closes the open brackets; $ is the } of a template's substitution
}

type mode uint8

const (
	inCode mode = iota
	inSingle
	inDouble
	inTemplate
	inRegExp
	inClass // of a regular expression
	inLine
	inBlock
)

// nesting reads a source without parsing it. deep: in some reading the brackets are nested more deeply than
// maxNesting. closes: in some reading a bracket is closed that was not opened.
func nesting(source string) (deep, closes bool) {
	now, next := []reading{{}}, []reading(nil)
	for i := 0; i < len(source); i++ {
		rest := source[i:]
		next = next[:0]
		for _, r := range now {
			next = r.step(source[:i], rest, next)
		}
		now, next = next, now
		if len(now) == 0 {
			return false, closes // no parser goes on from here
		}
		if len(now) > 1 {
			now = distinct(now)
		}
		for _, r := range now {
			if len(r.stack) > maxNesting {
				return true, closes
			}
			closes = closes || r.closed
		}
		if len(now) > maxReadings {
			return true, closes
		}
	}
	return false, closes
}

func distinct(all []reading) []reading {
	kept := all[:0]
	for _, r := range all {
		if !slices.Contains(kept, r) {
			kept = append(kept, r)
		}
	}
	return kept
}

// newline reports whether rest begins with the end of a line; separators are ends in code and comments, not in
// strings.
func newline(rest string, separators bool) bool {
	switch rest[0] {
	case '\n', '\r':
		return true
	case 0xe2:
		return separators && (strings.HasPrefix(rest, "\u2028") || strings.HasPrefix(rest, "\u2029"))
	}
	return false
}

// step appends to all the readings of which r becomes one at the first byte of rest.
func (r reading) step(read, rest string, all []reading) []reading {
	if r.skip > 0 {
		r.skip--
		return append(all, r)
	}
	c := rest[0]
	switch r.mode {
	case inCode:
		return r.code(read, rest, all)
	case inSingle, inDouble, inRegExp, inClass:
		regexp := r.mode >= inRegExp
		switch {
		case newline(rest, regexp):
			return all
		case c == '\\':
			switch {
			case len(rest) > 1 && newline(rest[1:], true) && regexp:
				return all
			case strings.HasPrefix(rest, "\\\r\n"):
				r.skip = 2
			default:
				r.skip = 1
			}
		case r.mode == inSingle && c == '\'', r.mode == inDouble && c == '"', r.mode == inRegExp && c == '/':
			r.mode = inCode
		case r.mode == inRegExp && c == '[':
			r.mode = inClass
		case r.mode == inClass && c == ']':
			r.mode = inRegExp
		}
	case inTemplate:
		switch {
		case c == '\\':
			r.skip = 1
		case c == '`':
			r.mode = inCode
		case strings.HasPrefix(rest, "${"):
			r.mode, r.skip, r.stack = inCode, 1, r.stack+"$"
		}
	case inLine:
		if newline(rest, true) {
			r.mode, r.fresh = inCode, true
		}
	case inBlock:
		if newline(rest, true) {
			r.fresh = true
		}
		if strings.HasPrefix(rest, "*/") {
			r.mode, r.skip = inCode, 1
		}
	}
	return append(all, r)
}

func (r reading) code(read, rest string, all []reading) []reading {
	c := rest[0]
	fresh := r.fresh
	switch {
	case c == '\n' || c == '\r' || c >= 0x80: // which may be a separator of lines, or a space of another kind
		r.fresh = true
	case c > ' ':
		r.fresh = false
	}
	switch c {
	case '(':
		r.stack += ")"
	case '[':
		r.stack += "]"
	case '{':
		r.stack += "}"
	case ')', ']', '}':
		last := len(r.stack) - 1
		switch {
		case last < 0:
			r.closed = true
		case r.stack[last] == c:
			r.stack = r.stack[:last]
		case r.stack[last] == '$' && c == '}':
			r.stack, r.mode = r.stack[:last], inTemplate
		default:
			return all
		}
	case '\'':
		r.mode = inSingle
	case '"':
		r.mode = inDouble
	case '`':
		r.mode = inTemplate
	case '/':
		switch {
		case strings.HasPrefix(rest, "//"):
			r.mode, r.skip, r.fresh = inLine, 1, fresh
		case strings.HasPrefix(rest, "/*"):
			r.mode, r.skip, r.fresh = inBlock, 1, fresh
		default:
			divides, matches := slash(read)
			if divides {
				all = append(all, r)
			}
			if !matches {
				return all
			}
			r.mode = inRegExp
		}
	case '<':
		if strings.HasPrefix(rest, "<!--") {
			all = append(all, r)
			r.mode, r.skip = inLine, 3
		}
	case '-':
		if fresh && strings.HasPrefix(rest, "-->") {
			all = append(all, r)
			r.mode, r.skip = inLine, 2
		}
	}
	return append(all, r)
}

// slash says what a slash in code can be, by the token before it in the same line: a division, or the beginning of a
// regular expression. What it cannot tell may be both.
func slash(read string) (divides, matches bool) {
	before := strings.TrimRight(read, " \t")
	if before == "" {
		return true, true
	}
	switch c := before[len(before)-1]; {
	case c == ']' || c == '\'' || c == '"' || c == '`':
		return true, false
	case strings.IndexByte("(,=:[&|;{", c) >= 0:
		return false, true
	case !wordByte(c):
		return true, true
	}
	word := before
	for i := len(before) - 1; i >= 0 && wordByte(before[i]); i-- {
		word = before[i:]
	}
	// An identifier or a number is divided. A keyword is not, but it may also be the name of a property.
	return true, slices.Contains(keywords, word)
}

func wordByte(c byte) bool {
	return c == '_' || c == '$' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// keywords are those that an expression may follow, those in some contexts only included.
var keywords = strings.Fields(`return typeof case in of delete void instanceof new do else throw yield await default extends
	as satisfies is keyof let async get set static out using from`)
