package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/bench/replay"
)

// recorded is the report on the recorded batches and on a sample of each kind of transcript.
func recorded(t *testing.T) *replay.Report {
	t.Helper()
	files, err := filepath.Glob("../transcript/testdata/*.json*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var sources []replay.Source
	for _, f := range append(files, "../testdata/batches.jsonl") {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		sources = append(sources, replay.Source{
			Name: filepath.Base(f), Size: int64(len(data)),
			Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
		})
	}
	r, err := replay.Run(context.Background(), sources, replay.Options{Limit: 10, Largest: 10, Inverted: 200})
	require.NoError(t, err)
	return r
}

// A row is what the page shows of a policy.
type row struct {
	Policy, Name, Steps, Time, Batches, Calls, Pairs string
	MS                                               float64
}

const rows = `[...document.querySelectorAll("#%s tbody tr")].map(tr => {
	const cell = key => tr.querySelector("[data-" + key + "]");
	return {
		Policy: tr.dataset.policy, Name: tr.querySelector("th").innerText, Steps: cell("steps").innerText,
		Time: cell("ms").innerText, MS: +cell("ms").dataset.ms,
		Batches: cell("batches").innerText, Calls: cell("calls").innerText, Pairs: cell("pairs").innerText,
	};
})`

// What is read on the page is the JSON in it, which is the report.
func TestFigures(t *testing.T) {
	r := recorded(t)
	b := show(t, r)
	b.quiet()
	want, err := json.Marshal(r)
	require.NoError(t, err)
	require.JSONEq(t, string(want), eval[string](b, `document.getElementById("report").textContent`))

	for id, f := range map[string]replay.Figures{"all": r.Total, "mixed": r.Mixed} {
		got := eval[[]row](b, fmt.Sprintf(rows, id))
		require.Len(t, got, len(f.Policies))
		for i, o := range f.Policies {
			g := got[i]
			require.Equal(t, o.Policy, g.Policy)
			require.Equal(t, !o.Ordered, strings.Contains(g.Name, "▲"), o.Policy)
			require.Equal(t, float64(o.Time), g.MS, o.Policy)
			require.InEpsilon(t, float64(o.Time), milliseconds(t, g.Time), 0.005, "%s: %s", o.Policy, g.Time)
			require.Equal(t, []int{o.Steps, o.Inverted.Batches, o.Inverted.Calls, o.Inverted.Pairs},
				[]int{number(t, g.Steps), number(t, g.Batches), number(t, g.Calls), number(t, g.Pairs)}, o.Policy)
		}
	}
	require.Greater(t, len(r.Batches), 100)
	require.Equal(t, len(r.Batches), eval[int](b, `document.querySelectorAll(".batch").length`))
	// The bars of the chart are as long as the times say, to a pixel.
	type bar struct{ Width, All float64 }
	bars := eval[[]bar](b, `[...document.querySelectorAll("#time .fill")].map(e => ({
		Width: e.getBoundingClientRect().width, All: e.previousElementSibling.getBoundingClientRect().width}))`)
	for i, o := range r.Total.Policies {
		require.InDelta(t, float64(o.Time/r.Total.Policies[0].Time)*bars[i].All, bars[i].Width, 1, o.Policy)
	}
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.ReplaceAll(s, ",", ""))
	require.NoError(t, err)
	return n
}

// milliseconds reads a time as it is written for people.
func milliseconds(t *testing.T, s string) (v float64) {
	t.Helper()
	fields := strings.Fields(s) // which takes spaces that do not break as spaces
	require.Zero(t, len(fields)%2, s)
	for i := 0; i < len(fields); i += 2 {
		n, err := strconv.ParseFloat(fields[i], 64)
		require.NoError(t, err)
		unit, ok := map[string]float64{"ms": 1, "s": 1e3, "min": 60e3, "h": 3600e3, "d": 86400e3}[fields[i+1]]
		require.True(t, ok, s)
		v += n * unit
	}
	return v
}

// Whether there is text whose contrast with what is behind it is less than WCAG AA asks for.
const faint = `(() => {
	const light = c => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4 };
	const parse = s => s.match(/[\d.]+/g).map(Number);
	const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
	const behind = e => {
		for (; e; e = e.parentElement) {
			const c = parse(getComputedStyle(e).backgroundColor);
			if (c.length < 4 || c[3] > 0) return c;
		}
		return [255, 255, 255];
	};
	const bad = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	let seen = 0;
	while (texts.nextNode()) {
		const e = texts.currentNode.parentElement;
		if (!texts.currentNode.data.trim() || e.closest("script, title") || !e.checkVisibility()) continue;
		seen++;
		const style = getComputedStyle(e), svg = e instanceof SVGElement;
		const a = luminance(parse(svg ? style.fill : style.color)), b = luminance(behind(e));
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), size = parseFloat(style.fontSize);
		const large = size >= 24 || size >= 18.66 && +style.fontWeight >= 700;
		if (ratio < (large ? 3 : 4.5)) bad.push(e.className + ": " + texts.currentNode.data.trim() + " " + ratio.toFixed(2));
	}
	// What is drawn: each kind of bar against the page, or its outline.
	const page = luminance(behind(document.body));
	for (const e of document.querySelectorAll(".fill, .mark, .early, .chart .part")) {
		const style = getComputedStyle(e);
		const ratios = [style.fill, style.stroke].filter(c => c.startsWith("rgb")).map(c => {
			const l = luminance(parse(c));
			return (Math.max(l, page) + 0.05) / (Math.min(l, page) + 0.05);
		});
		const best = Math.max(...ratios);
		if (ratios.length && best < 3) bad.push(e.getAttribute("class") + " " + best.toFixed(2));
	}
	return {Seen: seen, Bad: [...new Set(bad)]};
})()`

// The page fits its screen, from a phone on, and can be read on a light and on a dark one.
func TestScreens(t *testing.T) {
	b := show(t, recorded(t))
	background := map[string]string{}
	for _, scheme := range []string{"light", "dark"} {
		for name, width := range map[string]int64{"desktop": 1280, "phone": 360} {
			b.screen(width, 800, scheme)
			require.Equal(t, int(width), eval[int](b, `innerWidth`))
			require.LessOrEqual(t, eval[int](b, `document.documentElement.scrollWidth`), int(width), "%s, %s", name, scheme)
			c := eval[contrast](b, faint)
			require.Greater(t, c.Seen, 500)
			require.Empty(t, c.Bad, "%s, %s", name, scheme)
			background[scheme] = eval[string](b, `getComputedStyle(document.body).backgroundColor`)
			if name == "desktop" || scheme == "light" {
				b.keep(name+"-"+scheme, "")
			}
		}
	}
	require.NotEqual(t, background["light"], background["dark"])

	// All of it open at once, which is wider than what is there at first.
	b.open("details")
	for _, width := range []int64{1280, 640, 360, 320} { // the second is a desktop at 200 %, and the last one at 400 %
		b.screen(width, 800, "light")
		require.LessOrEqual(t, eval[int](b, `document.documentElement.scrollWidth`), int(width), "everything open")
	}
	b.quiet()
}
