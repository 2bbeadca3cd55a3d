package main

import (
	"strconv"
	"strings"

	"github.com/keywave-go/keywave/bench/replay"
	"github.com/keywave-go/keywave/bench/trace"
)

// fileName is the name of a file.
func fileName(name string) string {
	if name == "" {
		return "(all others)"
	}
	return clean(name)
}

// clipLeft cuts s at its beginning to at most width cells.
func clipLeft(s string, width int) string {
	if over := cells.StringWidth(s) - width; over > 0 {
		return cells.TruncateLeft(s, over+1, "…")
	}
	return s
}

// under is what became of batches under a policy.
func under(f replay.Figures, policy string) replay.Outcome {
	for _, o := range f.Policies {
		if o.Policy == policy {
			return o
		}
	}
	return replay.Outcome{}
}

// gain is what keyed takes less than a policy.
func gain(f replay.Figures, than string) trace.Millis {
	return under(f, than).Time - under(f, "keyed").Time
}

// span is a time for people.
func span(m trace.Millis) string {
	switch d := m.Duration(); {
	case d == 0:
		return "0"
	case d < 0:
		return "−" + short(-d)
	default:
		return short(d)
	}
}

// share is a part of a whole, in percent.
func share(part, whole trace.Millis) string {
	if whole <= 0 {
		return "nothing"
	}
	return percent(part, whole)
}

// change is how much more or less than before it is now.
func change(now, before trace.Millis) string {
	if before <= 0 {
		return ""
	}
	s := percent(now-before, before)
	if s != "0.0%" && now > before {
		s = "+" + s
	}
	return s
}

// percent has one digit behind the point. There is no space in it at which a line could be broken.
func percent(part, whole trace.Millis) string {
	s := strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 1, 64)
	if s == "-0.0" {
		s = "0.0"
	}
	return minus(s) + "%"
}

// minus makes the sign of a number as wide as a digit.
func minus(number string) string { return strings.Replace(number, "-", "−", 1) }

// several says "1 batch" or "3,000 batches".
func several(n int, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "ch"):
		what += "es"
	case strings.HasPrefix(what, "pair "):
		what = "pairs" + what[len("pair"):]
	default:
		what += "s"
	}
	return grouped(n) + " " + what
}

// grouped is a number with a comma before every three digits.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
