package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

type planCommand struct {
	Batch string `arg:"" help:"${batch}"`
	toolFlags
	FirstFit bool   `help:"Plan by the classic greedy first-fit rule instead, which can run a later call before an earlier one it conflicts with."`
	Format   string `enum:"table,json,mermaid,dot" default:"table" help:"How to show the plan: ${enum}."`
}

func (c *planCommand) Help() string {
	return fmt.Sprintf(`Every call gets a wave and the reason for it. Waves run one after another; the calls of one wave may run at
the same time. The default plan keeps the order of all calls that conflict and has as few waves as that allows.

The claims are those of the file tools on --dir, which "keywave tools" lists. A call of a tool that is not one of them,
or with arguments that its tool refuses, runs alone; so does a program, a call of run_code, whose own calls nobody knows yet.
To find out which spellings of a name the file system takes for one file, plan looks at the names in --dir, and if they
cannot tell creates a file there, looks for it under other spellings and removes it.

--format json prints {"planner", "waves": [[call, ...], ...], "calls": [{"index", "id", "name", "exclusive", "claims":
[{"key", "access", "tree"}], "wave", "rule", "by", "reason", "code"}], "inversions": [{"call", "before"}],
"inversionCount", "compared"}. Calls and waves count from 0 in it; "by" is the call that decided, or absent; "code" is
that with which run would refuse the call, UNKNOWN_TOOL or INVALID_ARGS, or absent; an inversion is a call that
runs before an earlier one that it conflicts with. Of "inversionCount" the first %d are there. They are looked for
among the first "compared" calls, which are all unless there are more than %d and some are out of order.`, mostShown, mostCompared)
}

func (c *planCommand) Run(ctx context.Context, h host) error {
	batches, closeTools, err := c.open(ctx, h, "waves", c.Batch)
	if err != nil {
		return err
	}
	defer closeTools()
	v := batches[0].plan(c.FirstFit)
	switch c.Format {
	case "json":
		return writeJSON(h.stdout, v.json())
	case "mermaid":
		fmt.Fprint(h.stdout, v.picture().mermaid())
	case "dot":
		fmt.Fprint(h.stdout, v.picture().dot())
	default:
		width, _, _ := h.stdout.shape()
		fmt.Fprint(h.stdout, v.table(width, h.paint(h.stdout)))
	}
	return nil
}

// A planned batch is a plan of it, ready to be shown.
type planned struct {
	*batch
	claims    []plan.Call
	plan      plan.Plan
	decisions []plan.Decision
	firstFit  bool
}

func (b *batch) plan(firstFit bool) planned {
	v := planned{batch: b, claims: tool.Calls(b.tools, b.calls), firstFit: firstFit}
	if v.plan = plan.Ordered(v.claims); firstFit {
		v.plan = plan.FirstFit(v.claims)
	}
	v.decisions = v.plan.Explain()
	return v
}

func (v planned) planner() string {
	if v.firstFit {
		return "first-fit"
	}
	return "ordered"
}

// reason is the decision on call i in words, with the keys as short as they can be.
func (v planned) reason(i int) string {
	d := v.decisions[i]
	d.Mine, d.Held = v.pair(d.Mine, d.Held)
	return d.String() + v.unfit(i)
}

// unfit says why call i is exclusive, if it is.
func (v planned) unfit(i int) string {
	if !v.claims[i].Exclusive() {
		return ""
	}
	if r, refused := tool.Refusal(v.tools, v.calls[i]); refused {
		if r.Code == tool.UnknownTool {
			return " (unknown tool)"
		}
		// Its text lists what is wrong; the first of it will do.
		why := "invalid arguments"
		for line := range strings.Lines(r.Text()) {
			if first, ok := strings.CutPrefix(line, "- "); ok {
				why += ": " + strings.TrimPrefix(strings.TrimSpace(first), "the arguments: ")
				break
			}
		}
		return " (" + clean(why) + ")"
	}
	if err := tool.ClaimsError(v.tools, v.calls[i]); err != nil {
		return " (its claims failed: " + clean(err.Error()) + ")"
	}
	if v.calls[i].Name == codemode.Name {
		return " (a program, which may call anything)"
	}
	return " (not known to be safe with these arguments)"
}

// brief is the reason in fewer words, for a narrow column.
func (v planned) brief(i int) string {
	switch d := v.decisions[i]; d.Rule {
	case plan.RuleFree:
		return "nothing in its way"
	case plan.RuleConflict:
		_, held := v.pair(d.Mine, d.Held)
		return fmt.Sprintf("after %d (%v)", d.By+1, held)
	case plan.RuleBarrier:
		return fmt.Sprintf("after %d, which is alone", d.By+1)
	case plan.RuleExclusive:
		return "not known to be safe"
	default:
		return d.String()
	}
}

// An inversion is a call that a plan runs before an earlier one that it conflicts with.
type inversion struct {
	Call   int `json:"call"`
	Before int `json:"before"`
}

// Bounds of the inversions, of which n calls can have n².
const (
	mostShown    = 20   // inversions that are listed
	mostCompared = 2000 // calls that are compared, each with all before it
)

// inversions are those among the first calls of a plan, by call.
type inversions struct {
	first []inversion // of count
	count int
	among int // calls: all of them, or as many as are compared
}

func (v planned) inversions() inversions {
	found := inversions{first: []inversion{}, among: len(v.calls)}
	if plan.VerifyOrdered(v.claims, v.plan) == nil { // as it is of every ordered plan
		return found
	}
	found.among = min(len(v.calls), mostCompared)
	for j := range found.among {
		for i := range j {
			if v.plan.WaveOf(j) < v.plan.WaveOf(i) && plan.Conflict(v.claims[i], v.claims[j]) {
				if found.count++; found.count <= mostShown {
					found.first = append(found.first, inversion{j, i})
				}
			}
		}
	}
	return found
}

func (v planned) table(width int, p painter) string {
	if len(v.calls) == 0 {
		return v.none()
	}
	var b strings.Builder
	title := "Ordered: every two calls that conflict keep their order."
	if v.firstFit {
		title = "First-fit: greedy, and a later call may come to run before an earlier one."
	}
	fmt.Fprintf(&b, "%s in %s. %s\n\n", count(len(v.calls), "call"), count(len(v.plan.Waves()), "wave"), title)
	rows := make([][]string, len(v.calls))
	for i := range v.calls {
		rows[i] = []string{strconv.Itoa(i + 1), v.label(i), strconv.Itoa(v.plan.WaveOf(i) + 1), v.decisions[i].Rule.String(), v.reason(i)}
	}
	cols := []column{{head: "#", right: true}, {head: "call", most: max(12, width/3)}, {head: "wave", right: true}, {head: "rule"}, {head: "why", rest: true}}
	b.WriteString(table(width, cols, rows, func(row, col int, cell string) string {
		switch {
		case row < 0:
			return p.faint(cell)
		case col == 3 && v.claims[row].Exclusive():
			return p.warm(cell)
		}
		return cell
	}))
	found := v.inversions()
	if found.count > 0 || found.among < len(v.calls) {
		b.WriteByte('\n')
	}
	for _, x := range found.first {
		fmt.Fprintf(&b, "%s\n", p.warm(fmt.Sprintf("! call %d runs before call %d, which it conflicts with", x.Call+1, x.Before+1)))
	}
	if more := found.count - len(found.first); more > 0 {
		fmt.Fprintf(&b, "%s\n", p.warm(fmt.Sprintf("! and %d more", more)))
	}
	if found.among < len(v.calls) {
		fmt.Fprintf(&b, "only the first %d calls were compared with each other\n", found.among)
	}
	return b.String()
}

func (v planned) picture() picture {
	p := picture{title: fmt.Sprintf("%s: %s, %s plan", v.source, count(len(v.calls), "call"), v.planner()), waves: v.plan.Waves()}
	for i, d := range v.decisions {
		p.nodes = append(p.nodes, node{v.label(i), v.claims[i].Exclusive()})
		if d.By >= 0 {
			why := d.Rule.String()
			if d.Mine.Key != "" {
				mine, held := v.pair(d.Mine, d.Held)
				why = mine.String()
				if mine != held {
					why += " / " + held.String()
				}
			}
			p.edges = append(p.edges, edge{d.By, i, why})
		}
	}
	return p
}

type planJSON struct {
	Planner    string        `json:"planner"`
	Waves      [][]int       `json:"waves"`
	Calls      []plannedJSON `json:"calls"`
	Inversions []inversion   `json:"inversions"`
	Count      int           `json:"inversionCount"`
	Compared   int           `json:"compared"`
}

type plannedJSON struct {
	Index     int         `json:"index"`
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	Exclusive bool        `json:"exclusive"`
	Claims    []claimJSON `json:"claims"`
	Wave      int         `json:"wave"`
	Rule      string      `json:"rule"`
	By        *int        `json:"by,omitempty"`
	Reason    string      `json:"reason"`
	Code      tool.Code   `json:"code,omitempty"`
}

type claimJSON struct {
	Key    string `json:"key"`
	Access string `json:"access"`
	Tree   bool   `json:"tree"`
}

func (v planned) json() planJSON {
	found := v.inversions()
	out := planJSON{
		Planner: v.planner(), Waves: v.plan.Waves(), Calls: []plannedJSON{},
		Inversions: found.first, Count: found.count, Compared: found.among,
	}
	if out.Waves == nil {
		out.Waves = [][]int{}
	}
	for i, d := range v.decisions {
		c := plannedJSON{
			Index: i, ID: v.calls[i].ID, Name: v.calls[i].Name, Exclusive: v.claims[i].Exclusive(), Claims: []claimJSON{},
			Wave: d.Wave, Rule: d.Rule.String(), Reason: v.reason(i),
		}
		if d.By >= 0 {
			c.By = &d.By
		}
		if c.Exclusive {
			refused, _ := tool.Refusal(v.tools, v.calls[i])
			c.Code = refused.Code
		}
		if !c.Exclusive {
			for _, cl := range v.claims[i].Claims {
				c.Claims = append(c.Claims, claimJSON{cl.Key, cl.Access.String(), cl.Tree})
			}
		}
		out.Calls = append(out.Calls, c)
	}
	return out
}

// count says "1 call" or "3 calls".
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// writeJSON writes one document.
func writeJSON(w stream, v any) error {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	fmt.Fprint(w, escaped(text.String()))
	return nil
}

// escaped is JSON without the characters that a terminal could act on: inside its strings, and they are nowhere else,
// they can be spelt as escapes.
func escaped(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\uFFFD' && unprintable(r) }) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || !unprintable(r) || r == '\uFFFD':
			b.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
