package page_test

import (
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/bench/replay"
	"github.com/keywave-go/keywave/bench/trace"
)

// Whatever is in a report, also what does not fit together, there is a page: its markup is balanced, and its drawings
// are within their bounds.
func TestAnyReport(t *testing.T) {
	numbers := rapid.OneOf(rapid.IntRange(-2, 12), rapid.Int())
	times := rapid.OneOf(
		rapid.Float64Range(0, 1000), rapid.Just(0.0), rapid.Float64Range(-10, 1e12),
		rapid.SampledFrom([]float64{math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64}),
	)
	names := rapid.OneOf(rapid.SampledFrom([]string{
		"serial", "rolling", "keyed", "at-once", "first-fit", "", "Bash", "read", "exclusive", "</script>", "<!--", "\x00",
	}), rapid.String())
	reports := rapid.MakeCustom[replay.Report](rapid.MakeConfig{
		Kinds: map[reflect.Kind]*rapid.Generator[any]{
			reflect.Int: numbers.AsAny(), reflect.String: names.AsAny(), reflect.Float64: times.AsAny(),
		},
		Types: map[reflect.Type]*rapid.Generator[any]{
			reflect.TypeFor[trace.Millis](): rapid.Map(times, func(v float64) trace.Millis { return trace.Millis(v) }).AsAny(),
		},
	})
	rapid.Check(t, func(t *rapid.T) {
		r := reports.Draw(t, "report")
		s := write(t, &r)
		balanced(t, s)
		require.Empty(t, unsayable.FindString(seen(document(t, s))))
		// All of a drawing is inside of it.
		for _, n := range find(document(t, s), func(n *html.Node) bool { return n.Namespace == "svg" }) {
			for _, key := range []string{"x", "x1", "x2", "width"} {
				if of, ok := strings.CutSuffix(attr(n, key), "%"); ok {
					v, err := strconv.ParseFloat(of, 64)
					require.NoError(t, err)
					require.True(t, v >= 0 && v <= 100, of)
				}
			}
		}
	})
}

// unsayable is what a number must not come out as.
var unsayable = regexp.MustCompile(`\bNaN\b|[-+]Inf\b|%!\w[(]|[0-9]{30}`)

// balanced checks that each element that is opened is closed, in its place.
func balanced(t require.TestingT, s string) {
	void := map[string]bool{"meta": true, "br": true}
	z := html.NewTokenizer(strings.NewReader(s))
	var open []string
	for {
		switch z.Next() {
		case html.ErrorToken:
			require.Empty(t, open)
			return
		case html.StartTagToken:
			if name, _ := z.TagName(); !void[string(name)] {
				open = append(open, string(name))
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			require.NotEmpty(t, open, "</%s>", name)
			require.Equal(t, open[len(open)-1], string(name))
			open = open[:len(open)-1]
		}
	}
}
