package page_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/keywave-go/keywave/bench/page"
	"github.com/keywave-go/keywave/bench/replay"
	"github.com/keywave-go/keywave/bench/trace"
)

// recorded is the report on the recorded batches.
func recorded(t *testing.T) *replay.Report {
	t.Helper()
	data, err := os.ReadFile("../testdata/batches.jsonl")
	require.NoError(t, err)
	r, err := replay.Run(context.Background(), []replay.Source{{
		Name: "batches.jsonl", Size: int64(len(data)),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
	}}, replay.Options{Limit: 10, Largest: 10, Inverted: 30})
	require.NoError(t, err)
	return r
}

func write(t require.TestingT, r *replay.Report) string {
	var b bytes.Buffer
	require.NoError(t, page.Write(&b, r))
	return b.String()
}

// document is the page as a browser parses it.
func document(t require.TestingT, s string) *html.Node {
	root, err := html.Parse(strings.NewReader(s))
	require.NoError(t, err)
	return root
}

// find gives the elements for which match is true, in the order of the page.
func find(n *html.Node, match func(*html.Node) bool) (found []*html.Node) {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && match(d) {
			found = append(found, d)
		}
	}
	return found
}

func tag(name string) func(*html.Node) bool { return func(n *html.Node) bool { return n.Data == name } }

func class(name string) func(*html.Node) bool {
	return func(n *html.Node) bool { return strings.Contains(" "+attr(n, "class")+" ", " "+name+" ") }
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

func byID(t require.TestingT, root *html.Node, id string) *html.Node {
	found := find(root, func(n *html.Node) bool { return attr(n, "id") == id })
	require.Len(t, found, 1, "elements with the id %s", id)
	return found[0]
}

// The summary shows the figures of the report, and the report itself is in the page to check them.
func TestFigures(t *testing.T) {
	r := recorded(t)
	root := document(t, write(t, r))

	var embedded replay.Report
	require.NoError(t, json.Unmarshal([]byte(text(byID(t, root, "report"))), &embedded))
	require.Equal(t, *r, embedded)

	for id, f := range map[string]replay.Figures{"all": r.Total, "mixed": r.Mixed} {
		rows := find(byID(t, root, id), func(n *html.Node) bool { return attr(n, "data-policy") != "" })
		require.Len(t, rows, len(f.Policies))
		for i, o := range f.Policies {
			got := map[string]string{"data-policy": attr(rows[i], "data-policy")}
			shown := map[string]string{}
			for _, c := range find(rows[i], tag("td")) {
				for _, a := range c.Attr {
					if strings.HasPrefix(a.Key, "data-") {
						got[a.Key], shown[a.Key] = a.Val, text(c)
					}
				}
			}
			require.Equal(t, map[string]string{
				"data-policy": o.Policy, "data-steps": fmt.Sprint(o.Steps), "data-ms": fmt.Sprint(o.Time),
				"data-batches": fmt.Sprint(o.Inverted.Batches), "data-calls": fmt.Sprint(o.Inverted.Calls),
				"data-pairs": fmt.Sprint(o.Inverted.Pairs),
			}, got)
			for key, n := range map[string]int{
				"data-steps": o.Steps, "data-batches": o.Inverted.Batches, "data-calls": o.Inverted.Calls,
				"data-pairs": o.Inverted.Pairs,
			} {
				require.Equal(t, fmt.Sprint(n), strings.ReplaceAll(shown[key], ",", ""), "%s of %s", key, o.Policy)
			}
		}
	}
	require.Len(t, find(root, class("batch")), len(r.Batches))
	for i, b := range r.Batches {
		d := byID(t, root, fmt.Sprintf("batch-%d", i+1))
		require.Len(t, find(d, class("run")), len(b.Runs))
		require.Len(t, find(find(d, tag("tbody"))[0], tag("tr")), len(b.Calls))
	}
}

// The page is the same each time, and the report stays as it was.
func TestDeterminism(t *testing.T) {
	r := recorded(t)
	before, err := json.Marshal(r)
	require.NoError(t, err)
	require.Equal(t, write(t, r), write(t, r))
	after, err := json.Marshal(r)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

// The page loads nothing, has no script, and lets itself do neither.
func TestSelfContained(t *testing.T) {
	root := document(t, write(t, recorded(t)))
	for _, n := range find(root, func(*html.Node) bool { return true }) {
		for _, a := range n.Attr {
			require.False(t, strings.HasPrefix(a.Key, "on"), "%s has %s", n.Data, a.Key)
			switch a.Key {
			case "src", "srcset", "style", "action", "background", "poster", "data", "formaction", "ping", "srcdoc":
				require.Fail(t, "an attribute that loads or styles", "%s %s=%q", n.Data, a.Key, a.Val)
			case "href":
				require.True(t, strings.HasPrefix(a.Val, "#"), a.Val)
				byID(t, root, a.Val[1:])
			}
		}
		switch n.Data {
		case "script":
			require.Equal(t, "application/json", attr(n, "type"))
		case "link", "iframe", "img", "image", "object", "embed", "base", "form", "use", "video", "audio", "foreignobject":
			require.Fail(t, "an element that loads", n.Data)
		}
	}
	styles := find(root, tag("style"))
	require.Len(t, styles, 1)
	css := styles[0].FirstChild.Data
	for _, loads := range []string{"@import", "@font-face", "http:", "https:", "data:"} {
		require.NotContains(t, css, loads)
	}
	require.Equal(t, strings.Count(css, "url("), strings.Count(css, "url(#"))
	var policy string
	for _, m := range find(root, tag("meta")) {
		if strings.EqualFold(attr(m, "http-equiv"), "Content-Security-Policy") {
			policy = attr(m, "content")
		}
	}
	sum := sha256.Sum256([]byte(css))
	require.Equal(t, "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+
		"'; base-uri 'none'; form-action 'none'", policy)
}

// Screen readers get names for what is drawn and what is laid out in two dimensions, and headings without gaps.
func TestStructure(t *testing.T) {
	root := document(t, write(t, recorded(t)))
	ids := map[string]bool{}
	for _, n := range find(root, func(n *html.Node) bool { return attr(n, "id") != "" }) {
		require.False(t, ids[attr(n, "id")], "id %s is there twice", attr(n, "id"))
		ids[attr(n, "id")] = true
	}
	for _, table := range find(root, tag("table")) {
		require.NotEmpty(t, text(find(table, tag("caption"))[0]))
		for _, th := range find(table, tag("th")) {
			require.NotEmpty(t, attr(th, "scope"), text(th))
		}
		frame := table.Parent // which can be scrolled with the keyboard
		require.Equal(t, "0", attr(frame, "tabindex"))
		require.True(t, ids[attr(frame, "aria-labelledby")])
		require.Equal(t, "group", attr(frame, "role"), "a landmark for each table would be too many")
	}
	named := map[string]bool{}
	for _, n := range find(root, tag("section")) {
		name := text(byID(t, root, attr(n, "aria-labelledby")))
		require.False(t, named[name] || name == "", name)
		named[name] = true
	}
	for _, n := range find(root, func(n *html.Node) bool { return attr(n, "role") == "img" }) {
		named := attr(n, "aria-label")
		if titles := find(n, tag("title")); named == "" && len(titles) > 0 {
			named = text(titles[0])
		}
		require.NotEmpty(t, named)
	}
	last := 0
	heading := func(n *html.Node) bool { return len(n.Data) == 2 && n.Data[0] == 'h' && n.Data[1] <= '6' }
	for _, n := range find(root, heading) {
		level := int(n.Data[1] - '0')
		require.LessOrEqual(t, level, last+1, text(n))
		last = level
	}
	require.Len(t, find(root, tag("h1")), 1)
	for _, landmark := range []string{"header", "nav", "main", "footer"} {
		require.Len(t, find(root, tag(landmark)), 1, landmark)
	}
}

func TestEmpty(t *testing.T) {
	root := document(t, write(t, &replay.Report{Version: replay.Version}))
	require.Equal(t, "There was nothing to run in parallel", text(find(root, tag("h1"))[0]))
	require.Contains(t, text(byID(t, root, "summary")), "no figures")
	require.Contains(t, text(byID(t, root, "problems")), "everything that was read was used")
	require.Empty(t, find(root, tag("table")))
}

// No name gets out of the place where it stands: not as markup, not by turning the text around it, not unseen.
func TestHostileNames(t *testing.T) {
	hostile := []string{
		`</script><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'-alert(1)-'`, `</title></style><b>`, `<!--`,
		"\x00\x1b[31m", "\u202egnp.exe", "a\u2028b", "]]>", "--!>", `{{.}}`,
		`<![CDATA[`, `</svg><style>*{display:none}</style>`, `</bdi></td></table></details>`, `</textarea></noscript><plaintext>`,
		`url(#x);}*{color:red}`, "a\u200bb\u2060c\u00add", "\u3164", "\U000e0041", "\u00a0", "{{template \"batch\" .}}", "${x}", "`",
		"<svg onload=alert(1)>", "\r\n\r\n", "%s%!d(MISSING)", strings.Repeat("\u0301", 300), `javascript:alert(1)`, "\xff\xfe",
		strings.Repeat("long", 5000), "שלום", "&amp;lt;",
	}
	plain := write(t, hostileReport("name"))
	for _, name := range hostile {
		s := write(t, hostileReport(name))
		balanced(t, s)
		require.False(t, strings.ContainsAny(seen(document(t, s)), "\u202e\u2028\x00\x1b\u200b\u2060\u00ad\u3164\U000e0041"), name)
		// The same elements, whatever the name is.
		require.Equal(t, elements(document(t, plain)), elements(document(t, s)), name)
	}
	root := document(t, write(t, hostileReport(hostile[0])))
	require.Equal(t, hostile[0], text(find(byID(t, root, "tools"), class("name"))[0]))
	root = document(t, write(t, hostileReport("a\u202eb\x00")))
	require.Equal(t, `a\u202eb\x00`, text(find(byID(t, root, "tools"), class("name"))[0]))
}

// What does not fit together is drawn as far as it goes, and what no drawing can hold is cut at its edge.
func TestExtremes(t *testing.T) {
	big := []float64{0, math.Copysign(0, -1), 1e300, -1e300, math.MaxFloat64, math.SmallestNonzeroFloat64, -1}
	counts := []int{0, -1, math.MaxInt, math.MinInt, 10_000_000}
	for i, v := range big {
		for _, n := range counts {
			ms := trace.Millis(v)
			f := figures(ms, trace.Millis(big[(i+1)%len(big)]), trace.Millis(big[(i+2)%len(big)]), trace.Millis(big[(i+3)%len(big)]))
			f.Turns, f.Calls, f.Waited, f.Slower, f.SlowerBy = n, n, n, n, ms
			for j := range f.Policies {
				f.Policies[j].Steps, f.Policies[j].Inverted = n, replay.Inverted{Batches: n, Calls: n, Pairs: n, Keyed: n}
			}
			b := five()
			b.Session, b.Line, b.Timed = n, n, n != 0
			for _, pair := range [][2]int{{2, 2}, {4, 1}, {0, n}, {n, 1}, {n, n}, {-1, 3}} {
				c := replay.Conflict{Earlier: pair[0], Later: pair[1]}
				b.Conflicts = append(b.Conflicts, c)
				b.Runs[2].Inversions = append(b.Runs[2].Inversions, replay.Inversion{Conflict: c})
			}
			b.Runs[0].Spans, b.Runs[0].Time = b.Runs[0].Spans[:2], ms
			b.Runs[1].Spans[2] = replay.Span{Start: ms, End: -ms, Waits: []replay.SpanWait{{Call: n, From: -ms, To: ms}}}
			b.Runs[2].Spans = nil
			b.Runs = append(b.Runs, replay.Schedule{})
			r := &replay.Report{
				Limit: n, Total: f, Mixed: f, Unshown: n,
				Sizes:    []replay.Size{{Calls: n, Batches: n, Mixed: n}, {Calls: -n, Batches: 1, Mixed: 2}, {Calls: n, Batches: n}},
				Sessions: []replay.Session{{ID: n, Agents: n, Figures: f}}, Formats: []replay.FormatFigure{{Sessions: n, Figures: f}, {}},
				Waits: []replay.Wait{{Calls: n, Time: ms}}, Tools: []replay.Tool{{Calls: n, AsRead: replay.Saving{Steps: n, Time: ms}}},
				Batches: []replay.Batch{b, {}, {Runs: []replay.Schedule{{Spans: b.Runs[0].Spans}}}}, Problems: []replay.Problem{{Count: n}},
			}
			s := write(t, r)
			balanced(t, s)
			require.Empty(t, unsayable.FindString(seen(document(t, s))), "%v, %d", v, n)
			require.True(t, strings.HasSuffix(s, "</html>\n"))
		}
	}
}

// A name of a megabyte is shown once for each place, cut, and a page of ten thousand batches is whole.
func TestLarge(t *testing.T) {
	long := strings.Repeat("<é", 1<<18)
	r := hostileReport(long)
	data, err := json.Marshal(r)
	require.NoError(t, err)
	require.Less(t, len(write(t, r))-len(data), 200_000)

	r = &replay.Report{}
	for range 10_000 {
		r.Batches = append(r.Batches, replay.Batch{Calls: five().Calls[:1], Runs: []replay.Schedule{{Policy: "keyed"}}})
	}
	s := write(t, r)
	balanced(t, s)
	require.Equal(t, 10_000, strings.Count(s, `<details class="batch"`))
}

// hostileReport has a name in each place where there is one.
func hostileReport(name string) *replay.Report {
	f := replay.Figures{
		Turns: 1, Batches: 1, Calls: 2, Timed: 1, Bound: 2,
		Policies: []replay.Outcome{
			{Policy: "serial", Time: 3}, {Policy: "rolling", Time: 3}, {Policy: "keyed", Time: 2}, {Policy: name},
		},
	}
	span := replay.Span{Start: 1, End: 2, Waits: []replay.SpanWait{{Why: name, To: 1}}}
	return &replay.Report{
		Total: f, Mixed: f,
		Sizes:    []replay.Size{{Calls: 2, Batches: 1}},
		Formats:  []replay.FormatFigure{{Format: name, Clock: name, Text: name, Figures: f}},
		Sessions: []replay.Session{{ID: 1, File: name, Format: name, Figures: f}},
		Waits:    []replay.Wait{{Tool: name, For: name, Why: name}},
		Tools:    []replay.Tool{{Tool: name, Format: name, Why: name}},
		Batches: []replay.Batch{{
			Session: 1, File: name,
			Calls: []replay.Call{
				{Tool: name, Access: name, Why: name, Claims: []replay.Claim{{Key: name}}},
				{Tool: name, Access: name, Why: name, Claims: []replay.Claim{{Key: name}}},
			},
			Conflicts: []replay.Conflict{{Earlier: 0, Later: 1}},
			Runs: []replay.Schedule{{
				Policy: name, Time: 2, Spans: []replay.Span{span, span},
				Inversions: []replay.Inversion{{Conflict: replay.Conflict{Earlier: 0, Later: 1}}},
			}},
		}},
		Problems: []replay.Problem{{File: name, Text: name}},
	}
}

// seen is what a browser shows or says of a page.
func seen(root *html.Node) string {
	var b strings.Builder
	for d := range root.Descendants() {
		if d.Type == html.TextNode && d.Parent.Data != "script" && d.Parent.Data != "style" {
			b.WriteString(d.Data)
		}
		for _, a := range d.Attr {
			b.WriteString(a.Val)
		}
	}
	return b.String()
}

func elements(root *html.Node) (names []string) {
	for _, n := range find(root, func(*html.Node) bool { return true }) {
		names = append(names, n.Data)
		for _, a := range n.Attr {
			names = append(names, "@"+a.Key)
		}
	}
	return names
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

var errBroken = errors.New("broken pipe")

func TestErrors(t *testing.T) {
	require.ErrorContains(t, page.Write(io.Discard, nil), "no report")
	nan := &replay.Report{Total: replay.Figures{Bound: trace.Millis(math.NaN())}}
	require.ErrorContains(t, page.Write(io.Discard, nan), "JSON")
	require.ErrorIs(t, page.Write(broken{}, recorded(t)), errBroken)
	require.ErrorIs(t, page.Write(broken{}, &replay.Report{}), errBroken)
}

// A timeline takes 20 KB or less, if batches are as models make them: the report's own JSON is left aside.
func TestSize(t *testing.T) {
	r := recorded(t)
	for len(r.Batches) < 500 {
		r.Batches = append(r.Batches, r.Batches...)
	}
	r.Batches = r.Batches[:500]
	data, err := json.Marshal(r)
	require.NoError(t, err)
	require.Less(t, len(write(t, r))-len(data), 500*20_000)
}
