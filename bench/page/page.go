package page

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"slices"

	"github.com/keywave-go/keywave/bench/replay"
	"github.com/keywave-go/keywave/bench/trace"
)

// How many rows of a long table are shown; the rest are folded below.
const (
	sessionRows = 15
	otherRows   = 15
)

var (
	//go:embed page.html
	markup string
	//go:embed style.css
	style string

	layout = template.Must(template.New("page").Funcs(template.FuncMap{
		"ms": millis, "exact": exact, "count": count, "plural": plural, "change": change, "share": share, "show": show,
		"named": named,
		"tell":  tell, "policy": policyName, "does": policyDoes, "means": waitMeans, "colour": colour, "time": timeOf,
		"steps": stepsOf, "inverted": invertedBy, "dict": dict,
		"formats": func(tools []replay.Tool) bool {
			return slices.ContainsFunc(tools, func(t replay.Tool) bool { return t.Format != tools[0].Format })
		},
		"height": func(n, each int) int { return n * each },
	}).Parse(markup))
)

// view is what the template is filled with.
type view struct {
	*replay.Report
	Policy  string // of the content: the style sheet, and nothing else
	Style   template.CSS
	JSON    template.JS
	Head    headline
	Clocks  string
	Limited string
	Times   chart
	Counts  chart
	From    sources
	Tables  []rows // of sessions: those that are shown, and the rest
	Without int    // sessions without a batch
	Clocked []clocked
	Waiting [2][]replay.Wait
	Costs   [2][]replay.Tool
	Trouble [2][]replay.Problem
	Untold  bool // the keys of calls are not called what they were
	Saved   []batch
	Broken  []batch
}

// Write writes the page of a report to w. The same report gives the same page, byte for byte. It does not change the
// report, and a report that does not fit together, as a file that somebody made may not, is drawn as far as it goes.
//
// An error is that of w, or says that r is nil, or that it holds a time that is no number, which JSON cannot say.
func Write(w io.Writer, r *replay.Report) error {
	if r == nil {
		return errors.New("page: there is no report to draw")
	}
	data, err := json.Marshal(r) // with what HTML could mistake for markup escaped
	if err != nil {
		return fmt.Errorf("page: the report has no JSON form: %w", err)
	}
	sum := sha256.Sum256([]byte(style))
	v := view{
		Report: r,
		Policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; base-uri 'none'; form-action 'none'",
		Style:   template.CSS(style),
		JSON:    template.JS(data),
		Head:    headlineOf(r),
		Clocks:  clocks(r.Formats),
		Limited: "any number of calls at once",
		Times:   timeChart(r.Total),
		Counts:  sizeChart(r.Sizes),
		From:    sourcesOf(r),
		Clocked: clockedAlike(r.Formats),
		Waiting: fold(r.Waits, otherRows),
		Costs:   fold(r.Tools, otherRows),
		Trouble: fold(r.Problems, otherRows),
	}
	if r.Limit > 0 {
		v.Limited = "at most " + plural(r.Limit, "call", "calls") + " at once"
	}
	v.Tables, v.Without = sessionsOf(r, v.From)
	ordered := map[string]bool{}
	for _, o := range r.Total.Policies {
		ordered[o.Policy] = o.Ordered
	}
	for i, b := range r.Batches {
		to, open := &v.Broken, 2
		if b.Saved {
			to, open = &v.Saved, 4
		}
		v.Untold = v.Untold || untold(b)
		drawn := batchOf(b, i+1, ordered, v.From)
		drawn.Open = len(*to) < open && len(b.Calls) <= 40
		*to = append(*to, drawn)
	}
	out := bufio.NewWriterSize(w, 64<<10)
	if err := layout.Execute(out, v); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

// anonymous is a key as replay.Run has it in a report without names.
var anonymous = regexp.MustCompile(`^(ext/)?(d[0-9]+/)*[df][0-9]+$`)

func untold(b replay.Batch) bool {
	return slices.ContainsFunc(b.Calls, func(c replay.Call) bool {
		return slices.ContainsFunc(c.Claims, func(k replay.Claim) bool { return anonymous.MatchString(k.Key) })
	})
}

// dict is what a template is called with, if that is more than one thing.
func dict(pairs ...any) map[any]any {
	m := map[any]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

// fold is the first n of all, and the others.
func fold[T any](all []T, n int) [2][]T {
	n = min(len(all), n)
	return [2][]T{all[:n], all[n:]}
}

func stepsOf(f replay.Figures, policy string) int { o, _ := at(f, policy); return o.Steps }

func invertedBy(f replay.Figures, policy string) replay.Inverted {
	o, _ := at(f, policy)
	return o.Inverted
}

// share is what part of all v is, for people.
func share(v, all trace.Millis) string {
	if all <= 0 {
		return none
	}
	return percent(float64(v / all))
}
