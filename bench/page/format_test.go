package page

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/bench/trace"
)

// spaced has the spaces that do not break as others.
func spaced(s string) string { return strings.ReplaceAll(s, space, " ") }

func TestMillis(t *testing.T) {
	for v, want := range map[trace.Millis]string{
		0: "0 ms", 0.004: "< 0.01 ms", 0.25: "0.25 ms", 1.5: "1.50 ms", 50: "50 ms", 12.34: "12.3 ms", 450: "450 ms",
		450.4: "450 ms", 999.4: "999 ms", 999.5: "1.00 s", 1234: "1.23 s", 12_300: "12.3 s", 59_940: "59.9 s",
		59_950:  "1 min 00 s",
		125_400: "2 min 05 s", 3_599_499: "59 min 59 s", 3_599_600: "1 h 00 min", 11_400_000: "3 h 10 min",
		172_799_000: "2 d 00 h", 180_000_000: "2 d 02 h", 1e15: "1.157e+07 d", -1500: "−1.50 s",
		trace.Millis(math.Inf(1)): "–", trace.Millis(math.NaN()): "–",
	} {
		require.Equal(t, want, spaced(millis(v)), "%v", float64(v))
	}
	require.Equal(t, "0.1 ms", spaced(exact(0.1)))
	require.Equal(t, "123456789.125 ms", spaced(exact(123456789.125)))
	require.Equal(t, "1 step", spaced(steps(1)))
}

// A longer time is never said to be shorter: not within a unit, and not from one to the next.
func TestMillisInOrder(t *testing.T) {
	read := func(s string) (v float64) {
		fields := strings.Fields(spaced(strings.TrimPrefix(s, "<"+space)))
		for i := 0; i+1 < len(fields); i += 2 {
			n, err := strconv.ParseFloat(fields[i], 64)
			require.NoError(t, err)
			v += n * map[string]float64{"ms": 1, "s": 1e3, "min": 60e3, "h": 3600e3, "d": 86400e3}[fields[i+1]]
		}
		return v
	}
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Float64Range(0, 1e10).Draw(t, "a")
		b := a + rapid.Float64Range(0, a/10).Draw(t, "more")
		require.LessOrEqual(t, read(millis(trace.Millis(a))), read(millis(trace.Millis(b))))
		require.InDelta(t, a, read(millis(trace.Millis(a))), 0.01+a/100)
	})
}

func TestPercent(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0 %", 0.125: "12.5 %", 1: "100.0 %", 0.9999: "99.9 %", 0.0001: "< 0.1 %", -0.25: "−25.0 %", 12: "1,200 %",
		math.Inf(1): "–",
	} {
		require.Equal(t, want, spaced(percent(v)), "%v", v)
	}
	for _, c := range []struct {
		v, base trace.Millis
		want    string
	}{
		{300, 450, "−33.3 %"}, {450, 300, "+50.0 %"}, {1, 1, "0 %"}, {10_001, 10_000, "+0.1 %"}, {9_999, 10_000, "−0.1 %"},
		{1, 0, "–"}, {0, 5, "−100.0 %"},
	} {
		require.Equal(t, c.want, spaced(change(c.v, c.base)), "%v of %v", float64(c.v), float64(c.base))
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{
		0: "0", 999: "999", 1000: "1,000", 28419: "28,419", 1234567: "1,234,567", -1234: "−1,234", -123: "−123",
		math.MinInt: "−9,223,372,036,854,775,808",
	} {
		require.Equal(t, want, count(n))
	}
}

// Steps are times of a report, and so can be more than an int holds.
func TestSteps(t *testing.T) {
	for v, want := range map[trace.Millis]string{
		0: "0 steps", 1: "1 step", 1.2: "1 step", 1234: "1,234 steps", -3: minus + "3 steps", 1e300: "1e+300 steps",
		-2.5e20: minus + "2.5e+20 steps", trace.Millis(math.Inf(1)): "– steps",
	} {
		require.Equal(t, want, spaced(steps(v)))
	}
	require.Equal(t, "1e+300 ms", spaced(exact(1e300)))
	require.Equal(t, "1234.5678 ms", spaced(exact(1234.5678)))
}

func TestListed(t *testing.T) {
	require.Equal(t, "", listed(nil))
	require.Equal(t, "1", listed([]int{0}))
	require.Equal(t, "1, 2", listed([]int{0, 1}))
	require.Equal(t, "1–3, 6, 9, 10", listed([]int{0, 1, 2, 5, 8, 9}))
}

func TestShow(t *testing.T) {
	for s, want := range map[string]string{
		"Bash": "Bash", "שלום": "שלום", "a\nb": `a\nb`, "\x00": `\x00`, "\u202egnp": `\u202egnp`, "\u2066x": `\u2066x`,
		"\xffx": `\xffx`, "\ufffd": "\ufffd", "👩\u200d🚀": "👩\u200d🚀", "\ufeff": `\ufeff`,
		"a\u200db": `a\u200db`, "é\u200d": `é\u200d`, "\u200d\u200d": `\u200d\u200d`, "a\u00adb": `a\u00adb`,
		"\u3164": `\u3164`, "a\U000e0061": `a\U000e0061`, "a\u034fb": `a\u034fb`, "a\U000e0100": `a\U000e0100`,
		"\u2800": `\u2800`, "\ue000": `\ue000`, "❤\ufe0f": "❤\ufe0f", "می\u200cروم": "می\u200cروم", "\x7f": `\x7f`,
	} {
		require.Equal(t, want, show(s))
		require.Equal(t, want, clean(s))
	}
	long := strings.Repeat("é", 200)
	require.Equal(t, long, show(long))
	require.Equal(t, long+"…", show(long+"x"))
}

// There are two to five ticks on a scale, at even distances, within it, and with different names.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		whole trace.Millis
		timed bool
		want  string
	}{
		{300, true, "0, 100 ms, 200 ms, 300 ms"}, {450, true, "0, 200 ms, 400 ms"},
		{48_800, true, "0, 20 s, 40 s"}, {1000, true, "0, 0.5 s, 1 s"},
		{90_000, true, "0, 50 s"}, {600_000, true, "0, 5 min, 10 min"}, {3 * 3600_000, true, "0, 1 h, 2 h, 3 h"},
		{0.3, true, "0, 0.1 ms, 0.2 ms, 0.3 ms"},
		{4, false, "0, 1, 2, 3, 4"}, {2, false, "0, 1, 2"}, {1, false, "0, 1"}, {0, true, "0"},
	} {
		var got []string
		for _, k := range ticks(c.whole, c.timed) {
			got = append(got, spaced(k.Text))
		}
		require.Equal(t, c.want, strings.Join(got, ", "), "%v", float64(c.whole))
	}
	rapid.Check(t, func(t *rapid.T) {
		timed := rapid.Bool().Draw(t, "timed")
		whole := rapid.Float64Range(0.01, 1e11).Draw(t, "whole")
		if !timed {
			whole = float64(rapid.IntRange(1, 1e6).Draw(t, "steps"))
		}
		ts := ticks(trace.Millis(whole), timed)
		require.GreaterOrEqual(t, len(ts), 2)
		require.LessOrEqual(t, len(ts), 5)
		seen := map[string]bool{}
		for _, k := range ts {
			require.False(t, seen[k.Text], k.Text)
			seen[k.Text] = true
		}
	})
}
