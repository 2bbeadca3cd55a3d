package browser

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/bench/replay"
)

// What a screen reader gets: headings, landmarks, tables and drawings with names, and each call of a timeline.
func TestAccessibility(t *testing.T) {
	b := show(t, recorded(t))
	tree, err := chromedp.Run(b.ctx, func(ctx context.Context, t *chromedp.Target) ([]*accessibility.Node, error) {
		r, err := cdp.Call(ctx, t, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		return r.Nodes, err
	})
	require.NoError(t, err)
	text := func(v *accessibility.Value) (s string) {
		if v != nil && len(v.Value) > 0 {
			require.NoError(t, json.Unmarshal(v.Value, &s))
		}
		return strings.ReplaceAll(s, "\u00a0", " ")
	}
	names := map[string][]string{} // by role
	for _, n := range tree {
		if !n.Ignored {
			names[text(n.Role)] = append(names[text(n.Role)], text(n.Name))
		}
	}
	for _, h := range []string{
		"Summary", "Time by policy", "How large batches are", "Formats, and how good their clocks are", "Sessions",
		"What calls waited for", "What to declare next", "Largest savings", "What hosts without order could have broken",
		"Problems",
	} {
		require.Contains(t, names["heading"], h)
		require.Contains(t, names["region"], h)
	}
	regions := slices.Sorted(slices.Values(names["region"]))
	require.Equal(t, slices.Compact(slices.Clone(regions)), regions, "landmarks have names of their own")
	require.Len(t, regions, 10, "and are few")
	for _, landmark := range []string{"banner", "navigation", "main", "contentinfo"} {
		require.Len(t, names[landmark], 1, landmark)
	}
	for role, least := range map[string]int{
		"table": 6, "image": 20, "rowheader": 20, "columnheader": 20, "DisclosureTriangle": 100,
	} {
		require.GreaterOrEqual(t, len(names[role]), least, role)
		require.NotContains(t, names[role], "", role)
	}
	starts := func(role, with string) bool {
		return slices.ContainsFunc(names[role], func(s string) bool { return strings.HasPrefix(s, with) })
	}
	require.True(t, starts("table", "All batches: "))
	require.True(t, starts("image", "Time by policy: Serial "))
	require.True(t, starts("image", "Batches by size: 2 calls: "))
	require.True(t, starts("group", "Keyed: "))
	require.True(t, starts("image", "1 "), "a call of a timeline")
	b.quiet()
}

// shown counts the arrows of the focused or hovered call that can be seen, and of all others.
const shown = `(() => {
	const seen = g => [...g.querySelectorAll("line")].filter(l => getComputedStyle(l).visibility == "visible").length;
	let mine = 0, others = 0;
	for (const g of document.querySelectorAll(".batch[open] .call")) {
		if (g.matches(":focus, :hover")) mine += seen(g); else others += seen(g);
	}
	const e = document.activeElement;
	return {Mine: mine, Others: others, Name: e.matches(".call") ? e.querySelector("title").textContent : ""};
})()`

type arrows struct {
	Mine, Others int
	Name         string
}

// The keyboard and the mouse show what a call conflicts with, without a script.
func TestReach(t *testing.T) {
	b := show(t, recorded(t))
	require.Equal(t, arrows{}, eval[arrows](b, shown))

	var a arrows
	for range 200 { // which is more than the stops before the first timeline
		b.do(chromedp.KeyEvent(kb.Tab))
		if a = eval[arrows](b, shown); a.Name != "" {
			break
		}
	}
	require.Contains(t, a.Name, "conflicts with", "the Tab key gets to a call")
	require.Positive(t, a.Mine)
	require.Zero(t, a.Others)
	require.Equal(t, "2px", eval[string](b, `getComputedStyle(document.activeElement.querySelector(".hit")).strokeWidth`))
	b.keep("focus", ".batch[open]")

	// Enter opens what is folded, and the tables with it.
	require.False(t, eval[bool](b, `(() => {
		const s = document.querySelector(".batch:not([open]) > summary");
		s.focus();
		s.id = "folded";
		return s.parentElement.open;
	})()`))
	b.do(chromedp.KeyEvent(kb.Enter))
	require.True(t, eval[bool](b, `document.getElementById("folded").parentElement.open`))

	// With the mouse.
	at := eval[struct{ X, Y float64 }](b, `(() => {
		document.activeElement.blur();
		const e = [...document.querySelectorAll(".batch[open] .call")].find(g => g.querySelector("line"));
		e.scrollIntoView({block: "center"});
		const r = e.querySelector(".hit").getBoundingClientRect();
		return {X: r.x + r.width / 2, Y: r.y + r.height / 2};
	})()`)
	require.Zero(t, eval[arrows](b, shown).Mine)
	b.do(chromedp.MouseEvent("mouseMoved", at.X, at.Y))
	a = eval[arrows](b, shown)
	require.Positive(t, a.Mine)
	require.Zero(t, a.Others)
	b.quiet()
}

// kinds is which elements there are, and with which attributes.
const kinds = `[...new Set([...document.querySelectorAll("*")].map(e => e.tagName + " " + e.getAttributeNames().sort()))].sort()`

// Nothing in a report can run, load, or get out of the place where it stands.
func TestHostile(t *testing.T) {
	long := strings.Repeat("long", 300)
	all := []string{
		`</script><script>alert(1)</script><img src=/gone onerror=alert(2)>"onfocus=alert(3) autofocus x="` + "\u202e\x00{{.}}" + long,
		`</title></style><style>*{display:none}body{background:url(/gone)}</style>`, `--!><svg onload=alert(4)><a href=//gone>`,
		"]]><![CDATA[ <iframe src=/gone>", "</svg></bdi></td></table></details><base href=//gone><link rel=stylesheet href=/gone>",
		`'"> <meta http-equiv=refresh content=0;url=/gone>`, "<details open ontoggle=alert(5)>", "<!-- " + long,
		"\u200b\u2060\u00ad\ufeff", "<template><plaintext>", `<math><mtext><mglyph><style><!--</style><img title="--><img src onerror=alert(6)>">`,
	}
	n := 0
	hostile := func() string { n++; return all[n%len(all)] }
	plain := func() string { return "name" }
	named := func(name func() string) *replay.Report {
		r := recorded(t)
		r.Batches = r.Batches[:20]
		for i := range r.Sessions {
			r.Sessions[i].File, r.Sessions[i].Format = name(), name()
		}
		for i := range r.Formats {
			r.Formats[i].Format, r.Formats[i].Clock, r.Formats[i].Text = name(), name(), name()
		}
		for i := range r.Tools {
			r.Tools[i].Tool, r.Tools[i].Format, r.Tools[i].Why = name(), name(), name()
		}
		for i := range r.Waits {
			r.Waits[i].Tool, r.Waits[i].For, r.Waits[i].Why = name(), name(), name()
		}
		for i := range r.Batches {
			b := &r.Batches[i]
			b.File = name()
			for j := range b.Calls {
				b.Calls[j].Tool, b.Calls[j].Access, b.Calls[j].Why = name(), name(), name()
				b.Calls[j].Claims = append(b.Calls[j].Claims, replay.Claim{Key: name()})
			}
		}
		r.Problems = append(r.Problems, replay.Problem{File: name(), Text: name()})
		return r
	}
	harmless := show(t, named(plain))

	r := named(hostile)
	b := show(t, r)
	require.Equal(t, eval[[]string](harmless, kinds), eval[[]string](b, kinds))
	b.screen(360, 740, "light")
	b.open("details")
	require.LessOrEqual(t, eval[int](b, `document.documentElement.scrollWidth`), 360)
	require.Equal(t, 1, eval[int](b, `document.scripts.length`))
	require.Equal(t, 1, eval[int](b, `document.styleSheets.length`))
	require.Zero(t, eval[int](b, `document.images.length`))
	require.Empty(t, eval[[]string](b, `[...document.links].map(a => a.getAttribute("href")).filter(h => !h.startsWith("#"))`))
	want, err := json.Marshal(r)
	require.NoError(t, err)
	require.JSONEq(t, string(want), eval[string](b, `document.getElementById("report").textContent`))
	require.False(t, eval[bool](b, `/[\u202e\u200b\u2060\u00ad\ufeff]/.test(document.body.innerText)`))
	b.keep("hostile-phone", "#batch-1")
	b.quiet()
}

// A report without anything has a page too.
func TestEmpty(t *testing.T) {
	b := show(t, &replay.Report{Version: replay.Version})
	require.Equal(t, "There was nothing to run in parallel", eval[string](b, `document.querySelector("h1").innerText`))
	b.keep("empty", "")
	b.quiet()
}
