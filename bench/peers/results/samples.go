package main

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"golang.org/x/perf/benchfmt"
)

// samples are what was measured: by suite, benchmark and unit, once for each round.
type samples map[string][]float64

func sampleKey(suite, benchmark, unit string) string {
	return suite + "\x00" + benchmark + "\x00" + unit
}

// add reads what the benchmarks of a suite printed. One that failed leaves half a line, and its failure in the head.
func (s samples) add(suite string, text []byte) error {
	r := benchfmt.NewReader(bytes.NewReader(text), rawFile(suite))
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.SyntaxError:
			if !bytes.Contains(text, []byte("\n# failed: ")) {
				return rec
			}
		case *benchfmt.Result:
			name, parts := rec.Name.Parts()
			for _, p := range parts {
				if p[0] == '/' { // and not the number of processors, which the last part is
					name = append(slices.Clip(name), p...)
				}
			}
			for _, v := range rec.Values {
				value, unit := v.Value, v.Unit
				if v.OrigUnit != "" {
					value, unit = v.OrigValue, v.OrigUnit
				}
				if math.IsNaN(value) || math.IsInf(value, 0) {
					return fmt.Errorf("%s: %s has %v %s", rawFile(suite), name, value, unit)
				}
				key := sampleKey(suite, string(name), unit)
				s[key] = append(s[key], value)
			}
		}
	}
	return r.Err()
}

// A figure is what all rounds together say. Its zero value is one that was not measured.
type figure struct {
	median, least, most float64
	rounds              int
}

// of returns the figure of a benchmark, which is named as it prints itself, without the word Benchmark and the number
// of processors.
func (s samples) of(suite, benchmark, unit string) figure {
	v := slices.Sorted(slices.Values(s[sampleKey(suite, benchmark, unit)]))
	if len(v) == 0 {
		return figure{}
	}
	return figure{(v[(len(v)-1)/2] + v[len(v)/2]) / 2, v[0], v[len(v)-1], len(v)}
}

func (f figure) scale(by float64) figure {
	return figure{f.median * by, f.least * by, f.most * by, f.rounds}
}

// String is the figure as RESULTS.md has it: the median, and the range of all rounds.
func (f figure) String() string {
	if f.rounds == 0 {
		return "–"
	}
	return fmt.Sprintf("%s (%s–%s)", digits(f.median), digits(f.least), digits(f.most))
}

// digits is a number with two digits that matter, or all before the point.
func digits(x float64) string {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Sprint(x)
	}
	after := 1 - int(math.Floor(math.Log10(math.Abs(x))))
	if after < 0 {
		return grouped(int(math.Round(x)))
	}
	return strconv.FormatFloat(x, 'f', after, 64)
}

// grouped is a number with a comma between thousands.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// short is the median alone.
func (f figure) short() string {
	if f.rounds == 0 {
		return "–"
	}
	return digits(f.median)
}

// most is the figure with the largest median.
func most(f ...figure) figure {
	return slices.MaxFunc(f, func(a, b figure) int { return cmp.Compare(a.median, b.median) })
}

// least is the figure with the smallest median.
func least(f ...figure) figure {
	return slices.MinFunc(f, func(a, b figure) int { return cmp.Compare(a.median, b.median) })
}
