package js

import (
	"encoding/json"
	"slices"
)

// mapped positions are those of a program that was translated.
type mapped struct{ lines [][]segment } // by generated line, in order of columns

type segment struct{ from, line, column int }

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

var digitOf = func() (d [256]int8) {
	for i := range d {
		d[i] = -1
	}
	for i := range len(digits) {
		d[digits[i]] = int8(i)
	}
	return d
}()

// newMapped reads a source map of version 3. What is broken in it maps nothing.
func newMapped(source []byte) mapped {
	var m struct{ Mappings string }
	if json.Unmarshal(source, &m) != nil {
		return mapped{}
	}
	var (
		all      mapped
		segments []segment
		field    [5]int
		n        int
		v, shift int
		column   int
		s        segment
	)
	flush := func() {
		if n >= 4 {
			column += field[0]
			s.line += field[2]
			s.column += field[3]
			s.from = column
			segments = append(segments, s)
		} else if n > 0 {
			column += field[0]
		}
		n, v, shift = 0, 0, 0
	}
	for i := range len(m.Mappings) {
		switch c := m.Mappings[i]; c {
		case ',':
			flush()
		case ';':
			flush()
			all.lines = append(all.lines, segments)
			segments, column = nil, 0
		default:
			d := int(digitOf[c])
			if d < 0 || n == len(field) || shift > 30 {
				return mapped{}
			}
			v |= d & 31 << shift
			shift += 5
			if d&32 == 0 {
				field[n] = v >> 1
				if v&1 != 0 {
					field[n] = -field[n]
				}
				n++
				v, shift = 0, 0
			}
		}
	}
	flush()
	all.lines = append(all.lines, segments)
	return all
}

func (m mapped) in(text string) string {
	return rewrite(text, func(line, column int) (int, int) {
		if line > len(m.lines) || line < 1 {
			return 0, 0
		}
		segments := m.lines[line-1]
		i, _ := slices.BinarySearchFunc(segments, column, func(s segment, c int) int { return s.from - c })
		if i == 0 {
			return 0, 0
		}
		s := segments[i-1]
		line, column = s.line+1, s.column+1
		if line == 1 {
			column -= len(before)
		}
		return line, max(column, 1)
	})
}
