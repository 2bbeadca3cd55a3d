package plan

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// A Rule is what put a call into its wave.
type Rule uint8

const (
	RuleGiven     Rule = iota // the plan came from elsewhere: New
	RuleFree                  // Ordered: no earlier call is in its way, so it is in the first wave
	RuleConflict              // Ordered: it conflicts with a call of the wave before
	RuleBarrier               // Ordered: the wave before is an exclusive call
	RuleExclusive             // both: it is exclusive and alone in its wave
	RuleKeyless               // FirstFit: it has no claims and joined the earliest open wave
	RuleKeyed                 // FirstFit: it joined the earliest open wave in which nothing conflicts
	RuleNew                   // FirstFit: there was no such wave, so it opened one
)

var ruleNames = [...]string{
	RuleGiven: "given", RuleFree: "free", RuleConflict: "conflict", RuleBarrier: "barrier",
	RuleExclusive: "exclusive", RuleKeyless: "keyless", RuleKeyed: "keyed", RuleNew: "new",
}

// String returns the rule in one word, as the tables have it.
func (r Rule) String() string {
	if int(r) < len(ruleNames) {
		return ruleNames[r]
	}
	return fmt.Sprintf("Rule(%d)", uint8(r))
}

// A Decision says why a call is in its wave.
type Decision struct {
	Call, Wave int // both from 0
	Rule       Rule
	By         int   // the earliest call that kept it out of the wave before (of FirstFit: the open wave before); -1: none
	Mine, Held Claim // what collided: of this call and of By; zero where there is no By or either is exclusive
}

// String gives the reason in words; it counts calls from 1.
func (d Decision) String() string {
	behind := ""
	switch {
	case d.By >= 0 && d.Mine.Key != "":
		behind = fmt.Sprintf("%v meets %v of call %d", d.Mine, d.Held, d.By+1)
	case d.By >= 0:
		behind = fmt.Sprintf("behind call %d", d.By+1)
	}
	switch d.Rule {
	case RuleFree:
		return "nothing earlier is in its way"
	case RuleConflict:
		return behind
	case RuleBarrier:
		return behind + ", which is exclusive"
	case RuleExclusive:
		if behind != "" {
			return "runs alone, " + behind
		}
		return "runs alone"
	case RuleKeyless:
		return "no claims: joins the earliest open wave"
	case RuleKeyed:
		if behind != "" {
			return "joins the earliest open wave without its keys: " + behind
		}
		return "joins the earliest open wave"
	case RuleNew:
		if behind != "" {
			return "opens a wave: " + behind
		}
		return "opens a wave"
	}
	return "as given"
}

// Explain returns one Decision for each call, in the model's order. It takes about as long as planning did. Of a plan
// that came from New it knows the waves only.
func (p Plan) Explain() []Decision {
	ds := make([]Decision, len(p.of))
	for i, w := range p.of {
		ds[i] = Decision{Call: i, Wave: int(w), By: -1}
	}
	if p.made == given {
		return ds
	}
	e := explainer{Plan: p}
	for i := range p.calls {
		e.marks.trees = e.marks.trees || hasTree(p.calls[i].Claims)
	}
	var before []int // the wave that a call would have liked better
	for _, wave := range p.waves {
		alone := p.calls[wave[0]].Exclusive()
		switch {
		case p.made == ordered:
			e.ordered(ds, wave, before)
			before = wave
		case alone:
			ds[wave[0]].Rule = RuleExclusive
		default:
			e.firstFit(ds, wave, before)
			before = wave
		}
	}
	return ds
}

type explainer struct {
	Plan
	marks placer
}

func (e *explainer) ordered(ds []Decision, wave, before []int) {
	alone := e.calls[wave[0]].Exclusive()
	barrier := len(before) > 0 && e.calls[before[0]].Exclusive()
	if !alone && !barrier {
		e.remember(before)
	}
	for _, i := range wave {
		d := &ds[i]
		switch {
		case alone:
			d.Rule = RuleExclusive
		case barrier:
			d.Rule = RuleBarrier
		case len(before) == 0:
			d.Rule = RuleFree
			continue
		default:
			d.Rule = RuleConflict
			e.blame(d)
			continue
		}
		if len(before) > 0 {
			d.By = before[0]
		}
	}
}

func (e *explainer) firstFit(ds []Decision, wave, before []int) {
	e.remember(before)
	for n, i := range wave {
		d := &ds[i]
		switch {
		case n == 0:
			d.Rule = RuleNew
		case len(e.calls[i].Claims) == 0:
			d.Rule = RuleKeyless
		default:
			d.Rule = RuleKeyed
		}
		e.blame(d)
	}
}

// remember marks the claims of a wave so that the highest mark is that of the earliest call.
func (e *explainer) remember(wave []int) {
	e.marks.reset(e.marks.trees, 0)
	for _, i := range wave {
		c := &e.calls[i]
		e.marks.look(c)
		e.marks.settleIn(c, len(e.of)-i-1)
	}
}

// blame names the earliest remembered call in conflict with the one of d, and the first two claims that collide. Every
// claim of d that meets that call shows its mark, because no mark is higher.
func (e *explainer) blame(d *Decision) {
	c, mark, mine := &e.calls[d.Call], 0, 0
	e.marks.look(c)
	for i := range c.Claims {
		if m := e.marks.after(e.marks.found[i], &c.Claims[i]); m > mark {
			mark, mine = m, i
		}
	}
	if mark == 0 {
		return
	}
	d.By = len(e.of) - mark
	d.Mine, d.Held, _ = collide(Call{Claims: c.Claims[mine : mine+1]}, e.calls[d.By])
}

// String returns the plan as a table, a line for each call in the model's order: what it declares, its wave and why.
// Calls and waves count from 1.
func (p Plan) String() string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "call\tsafe\tclaims\twave\trule\treason")
	for _, d := range p.Explain() {
		safe, claims := "?", "?"
		if p.made != given {
			safe, claims = p.calls[d.Call].summary()
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%v\t%v\n", d.Call+1, safe, claims, d.Wave+1, d.Rule, d)
	}
	t.Flush()
	return b.String()
}

// summary returns what a call declares, for a table.
func (c Call) summary() (safe, claims string) {
	if !c.Safe {
		return "no", "-"
	}
	if len(c.Claims) == 0 {
		return "yes", "-"
	}
	const most = 4 // the rest of a long list would hide the table
	var s []string
	for _, cl := range c.Claims[:min(most, len(c.Claims))] {
		s = append(s, cl.String())
	}
	if more := len(c.Claims) - most; more > 0 {
		s = append(s, fmt.Sprintf("%d more", more))
	}
	return "yes", strings.Join(s, ", ")
}
