package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/keywave-go/keywave/bench/trace"
)

const (
	none  = "–"      // there is no such figure
	space = "\u00a0" // between a number and its unit, which belong on one line
	minus = "\u2212" // as wide as a digit, where a hyphen is not
)

// millis says a time for people, in three digits where it has so many: 0.25 ms, 450 ms, 1.20 s, 2 min 05 s, 3 h 10 min.
func millis(m trace.Millis) string {
	v := float64(m)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return none
	case v < 0:
		return minus + millis(-m)
	case v == 0:
		return "0" + space + "ms"
	case v < 999.5:
		return digits(v, true) + space + "ms"
	case v < 59_950:
		return digits(v/1e3, false) + space + "s"
	}
	s := math.Round(v / 1e3)
	switch {
	case s < 3600:
		return fmt.Sprintf("%d%[3]smin%[3]s%02[2]d%[3]ss", int(s)/60, int(s)%60, space)
	case s < 48*3600-30:
		m := int(math.Round(s / 60))
		return fmt.Sprintf("%d%[3]sh%[3]s%02[2]d%[3]smin", m/60, m%60, space)
	case s < 1000*86400:
		h := int(math.Round(s / 3600))
		return fmt.Sprintf("%d%[3]sd%[3]s%02[2]d%[3]sh", h/24, h%24, space)
	}
	return strconv.FormatFloat(s/86400, 'g', 4, 64) + space + "d"
}

// digits is v, above 0 and below 1000, with three digits, or fewer if it is whole and that is all there is to say.
func digits(v float64, whole bool) string {
	switch {
	case v >= 99.95 || whole && v == math.Trunc(v):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 0.01:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return "<" + space + "0.01"
}

// plain is v with so many digits after the point, less the zeros at the end.
func plain(v float64, after int) string {
	s := strconv.FormatFloat(v, 'f', after, 64)
	if after == 0 {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// exact is a time with all that is known of it.
func exact(m trace.Millis) string {
	verb := byte('f')
	if math.Abs(float64(m)) >= 1e15 || m != 0 && math.Abs(float64(m)) < 1e-9 {
		verb = 'g' // which is no more exact, and does not need 300 digits
	}
	return strconv.FormatFloat(float64(m), verb, -1, 64) + space + "ms"
}

// steps says how many rounds.
func steps(m trace.Millis) string {
	if s := rounded(m); s != "1" {
		return s + space + "steps"
	}
	return "1" + space + "step"
}

// rounded is m as a count, also if it is more than an int can hold.
func rounded(m trace.Millis) string {
	v := math.Round(float64(m))
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return none
	case math.Abs(v) < 1e15:
		return count(int(v))
	}
	return strings.ReplaceAll(strconv.FormatFloat(v, 'g', 4, 64), "-", minus)
}

// count is n with a comma before every three digits.
func count(n int) string {
	s := strconv.Itoa(n)
	s, negative := strings.CutPrefix(s, "-")
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if negative {
		return minus + s
	}
	return s
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1" + space + one
	}
	return count(n) + space + many
}

// percent is a share, with a digit after the point as far as it says something. Only what is 0 or 1 is said to be.
func percent(v float64) string {
	a := math.Abs(v) * 100
	s := strconv.FormatFloat(a, 'f', 1, 64)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return none
	case a == 0:
		return "0" + space + "%"
	case a < 0.05:
		return "<" + space + "0.1" + space + "%"
	case a > 99.95 && a < 100:
		s = "99.9"
	case a >= 1000:
		s = count(int(math.Min(a, 1e15)))
	}
	if v < 0 {
		s = minus + s
	}
	return s + space + "%"
}

// change says by how much v is more or less than base: −12.5 %.
func change(v, base trace.Millis) string {
	if base <= 0 {
		return none
	}
	by := float64(v/base) - 1
	switch s := percent(by); {
	case strings.HasPrefix(s, "<"):
		return map[bool]string{true: minus, false: "+"}[by < 0] + strings.TrimPrefix(s, "<"+space)
	case by > 0:
		return "+" + s
	default:
		return s
	}
}

// How much of a name and of a text is shown. Those of tools, files and formats are shorter; the report has all of it.
const (
	longest     = 200
	longestText = 2000
)

// show is a name as it may stand in text: clean, and not too long.
func show(s string) string { return cut(s, longest) }

// tell is a text of some sentences, as it may stand in another.
func tell(s string) string { return cut(s, longestText) }

func cut(s string, most int) string {
	n := 0
	for i := range s {
		if n++; n > most {
			return clean(s[:i]) + "…"
		}
	}
	return clean(s)
}

// named is show, and something also if there is nothing to be seen.
func named(s string) string {
	if strings.TrimSpace(s) == "" {
		return "(no name)"
	}
	return show(s)
}

// clean has, for what would break a line, hide, or turn the direction of what is around it, an escape.
func clean(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	before := rune(0)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case hidden(r) && !joins(before, r):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteRune(r)
		}
		i += size
		before = r
	}
	return b.String()
}

// joins reports whether r makes a difference to what it follows, as it does in emoji and in some scripts.
func joins(before, r rune) bool {
	return (r == '\u200c' || r == '\u200d') && before > unicode.MaxASCII && !hidden(before) &&
		!unicode.In(before, unicode.Latin, unicode.Greek, unicode.Cyrillic)
}

// hidden reports whether r is not seen where it stands: what joins, splits, turns or fills, and what is no character.
// The selectors of text and emoji style are left, which change nothing else.
func hidden(r rune) bool {
	switch {
	case r < 0x7f:
		return r < ' '
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r): // of the same category as what is not seen
		return false
	case unicode.Is(unicode.Variation_Selector, r):
		return r != '\ufe0e' && r != '\ufe0f'
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point) || r == '\u2800' || r&0xfffe == 0xfffe
}

// listed is a list of numbers in words, counted from 1, with those that follow one another together: 1, 3–5.
func listed(calls []int) string {
	var b strings.Builder
	for i := 0; i < len(calls); {
		j := i
		for j+1 < len(calls) && calls[j+1] == calls[j]+1 {
			j++
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(calls[i] + 1))
		if j > i+1 {
			fmt.Fprintf(&b, "–%d", calls[j]+1)
			i = j
		}
		i++
	}
	return b.String()
}
