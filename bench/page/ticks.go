package page

import (
	"fmt"
	"math"
	"strconv"

	"github.com/keywave-go/keywave/bench/trace"
)

type tick struct{ X, Text, Anchor string }

// ticks are at most five round times, and what they are called.
func ticks(whole trace.Millis, timed bool) []tick {
	const second, minute, hour = 1e3, 60e3, 3600e3
	all := float64(whole)
	every := math.Pow(10, math.Floor(math.Log10(all))-1)
	if !(all > 0) || math.IsInf(all, 0) || every == 0 {
		return []tick{{"0%", "0", "start"}}
	}
	for i := 0; all/every > 4; i++ {
		every *= [...]float64{2, 2.5, 2}[i%3]
	}
	say := func(v float64) string { return millis(trace.Millis(v)) }
	switch {
	case !timed:
		every = max(1, math.Ceil(every))
		say = func(v float64) string { return rounded(trace.Millis(v)) }
	case all < second:
		say = func(v float64) string { return plain(v, 3) + space + "ms" }
	case all <= 2*minute:
		say = func(v float64) string { return plain(v/second, 3) + space + "s" }
	case all <= 96*hour:
		for _, n := range [...]float64{1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 720, 1440} {
			if all <= 4*n*minute {
				every = n * minute
				break
			}
		}
		say = minutes
	}
	var ts []tick
	for i := 0; i <= 4 && float64(i)*every <= all*(1+1e-9); i++ {
		v := float64(i) * every
		t := tick{X: part(trace.Millis(v), whole), Text: say(v), Anchor: "middle"}
		if i == 0 {
			t.Text, t.Anchor = "0", "start"
		}
		if v > 0.9*all {
			t.Anchor = "end"
		}
		ts = append(ts, t)
	}
	return ts
}

// minutes is a time of whole minutes: 20 min, 2 h, 1:30 h.
func minutes(v float64) string {
	n := int(math.Round(v / 60e3))
	switch {
	case n < 60:
		return strconv.Itoa(n) + space + "min"
	case n%60 == 0:
		return strconv.Itoa(n/60) + space + "h"
	}
	return fmt.Sprintf("%d:%02d%sh", n/60, n%60, space)
}
