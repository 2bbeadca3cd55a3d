package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/keywave-go/keywave/bench/replay"
	"github.com/keywave-go/keywave/bench/trace"
)

// policies are those of package sim, for people.
var policies = map[string]struct{ name, does string }{
	"serial": {"Serial", "one call after another"},
	"windows": {"Fixed windows", "reads in windows as large as the limit, each begun when the one before is done; " +
		"everything else alone"},
	"read-runs": {"Read runs", "consecutive reads together, everything else alone"},
	"rolling": {"Rolling pool", "calls start in order as slots become free; what is not a read waits for all before it " +
		"and holds up all after it"},
	"waves": {"Ordered waves", "calls that do not conflict share a wave; waves run one after another and keep the order " +
		"of conflicts"},
	"keyed":     {"Keyed", "a call waits for the earlier calls that it conflicts with, and for nothing else"},
	"first-fit": {"First-fit waves", "a call goes into the first wave without a conflict, even past an earlier call"},
	"locks":     {"Locks", "a lock for every key, and no order"},
	"at-once":   {"All at once", "everything starts together, whatever it does"},
}

func policyName(p string) string {
	if known, ok := policies[p]; ok {
		return known.name
	}
	return show(p)
}

func policyDoes(p string) string { return policies[p].does }

// colour is the class that a policy is drawn in. What breaks its promise is drawn as what gives none.
func colour(policy string, ordered, broken bool) string {
	switch {
	case !ordered || broken:
		return "unsafe"
	case policy == "keyed" || policy == "rolling" || policy == "serial":
		return policy
	}
	return "ordered"
}

// waits are exec's kinds, for people.
var waits = map[string]string{
	"claim":   "both claim a key, and one of them writes",
	"barrier": "one of the two is exclusive",
	"order":   "calls start in the model's order",
	"wave":    "it is of a later wave",
	"permit":  "no slot was free",
}

func waitMeans(kind string) string { return waits[kind] }

func at(f replay.Figures, policy string) (replay.Outcome, bool) {
	for _, o := range f.Policies {
		if o.Policy == policy {
			return o, true
		}
	}
	return replay.Outcome{}, false
}

func timeOf(f replay.Figures, policy string) trace.Millis { o, _ := at(f, policy); return o.Time }

func rounds(o replay.Outcome) trace.Millis { return trace.Millis(o.Steps) }

// A headline says in words what the figures say.
type headline struct {
	Title string
	Text  []string
	Tiles []tile
}

type tile struct{ Figure, Label, Colour string }

func headlineOf(r *replay.Report) headline {
	var h headline
	f := r.Total
	if f.Batches == 0 {
		h.Title = "There was nothing to run in parallel"
		h.Text = []string{"Only an answer with two or more tool calls can gain from running them together."}
		return h
	}
	serial, _ := at(f, "serial")
	rolling, _ := at(f, "rolling")
	keyed, ok := at(f, "keyed")
	if !ok {
		h.Title = plural(f.Batches, "batch", "batches") + " of tool calls"
		return h
	}
	if f.Timed == 0 || serial.Time <= 0 || rolling.Time <= 0 {
		h.Title = fmt.Sprintf("Keyed takes %s where one call after another takes %s, and the rolling pool %s",
			plural(keyed.Steps, "round", "rounds"), count(serial.Steps), count(rolling.Steps))
		why := "No batch has a known time for each of its calls"
		if f.Timed > 0 {
			why = "The calls of the batches with known times took none"
		}
		h.Text = append(h.Text, why+", so nothing is said about time. "+
			"Rounds are what it takes if each call takes one and there is no limit.")
		h.Tiles = []tile{
			{change(rounds(keyed), rounds(serial)), "rounds, keyed against serial", "keyed"},
			{change(rounds(keyed), rounds(rolling)), "rounds, keyed against the rolling pool", "rolling"},
		}
	} else {
		h.timed(r, serial, rolling, keyed)
	}
	h.broken(f)
	return h
}

func (h *headline) timed(r *replay.Report, serial, rolling, keyed replay.Outcome) {
	f := r.Total
	first := against(keyed.Time, serial.Time, "one call after another")
	then := against(keyed.Time, rolling.Time, "the rolling pool")
	h.Title = "Keyed " + first + ", and " + then
	verb, _, _ := strings.Cut(first, " ")
	switch rest, same := strings.CutPrefix(then, verb+" "); {
	case keyed.Time == serial.Time && keyed.Time == rolling.Time:
		h.Title = "Nothing is saved: keyed and the rolling pool take as long as one call after another"
	case same:
		h.Title = "Keyed " + first + ", and " + rest
	}
	gain, already := serial.Time-keyed.Time, serial.Time-rolling.Time
	text := fmt.Sprintf("One after another these calls take %s, in the rolling pool %s, and keyed %s.",
		millis(serial.Time), millis(rolling.Time), millis(keyed.Time))
	switch {
	case gain > 0 && already >= gain:
		text += " All of the gain is the rolling pool's already."
	case gain > 0 && already > 0:
		text += fmt.Sprintf(" So %s of the gain is the rolling pool's already.", percent(float64(already/gain)))
	case gain > 0:
		text += " None of that gain is the rolling pool's."
	}
	if f.Bound > 0 {
		text += fmt.Sprintf(" No schedule that keeps conflicting calls in order is faster than %s.", millis(f.Bound))
	}
	h.Text = append(h.Text, text)
	text = fmt.Sprintf("Times are those of %s whose calls all have a known time, each simulated by itself from its "+
		"recorded durations; what the model takes to answer is not in them.", of(f.Timed, f.Batches, "batch", "batches"))
	if f.Batches == 1 {
		text = "Times are those of one batch, simulated from the recorded durations of its calls; what the model takes to " +
			"answer is not in them."
	}
	if m, all := r.Mixed, timeOf(r.Mixed, "serial"); m.Timed > 0 && m.Timed < f.Timed && all > 0 {
		text += fmt.Sprintf(" In the %s with a write or an exclusive call keyed is at %s against one call after another, "+
			"and the rolling pool at %s.", count(m.Timed), change(timeOf(m, "keyed"), all), change(timeOf(m, "rolling"), all))
	}
	if f.Slower > 0 {
		text += fmt.Sprintf(" In %s of all keyed takes longer than the rolling pool, by %s in all: with a limit, "+
			"to start a call earlier can hold up another.", count(f.Slower), millis(f.SlowerBy))
	}
	h.Text = append(h.Text, text)
	h.Tiles = []tile{
		{change(keyed.Time, serial.Time), "time, keyed against serial", "keyed"},
		{change(keyed.Time, rolling.Time), "time, keyed against the rolling pool", "rolling"},
	}
	if f.Bound > 0 {
		times := fmt.Sprintf("%.2f×", keyed.Time/f.Bound)
		if by := math.Abs(float64(keyed.Time / f.Bound)); !(by < 1e6) {
			times = none // of no report on anything that ran
		}
		h.Tiles = append(h.Tiles, tile{times, "the lower bound, which no ordered schedule beats", "bound"})
	}
}

// broken says what the policies invert, those without a promise and, if it comes to that, the others.
func (h *headline) broken(f replay.Figures) {
	var unsafe, kept, lied []string
	exclusive := false
	for _, o := range f.Policies {
		name := strings.ToLower(policyName(o.Policy))
		said := fmt.Sprintf("%s %s in %s (%s over a key)", name, plural(o.Inverted.Pairs, "pair", "pairs"),
			plural(o.Inverted.Batches, "batch", "batches"), count(o.Inverted.Keyed))
		switch {
		case o.Ordered && o.Inverted.Pairs > 0:
			lied = append(lied, said)
		case o.Ordered:
		case o.Inverted.Pairs > 0:
			unsafe = append(unsafe, said)
			exclusive = exclusive || o.Inverted.Keyed < o.Inverted.Pairs
		default:
			kept = append(kept, name)
		}
	}
	if len(lied) > 0 {
		h.Text = append(h.Text, "A policy that promises to keep the order did not. "+strings.Join(lied, "; ")+".")
	}
	if len(unsafe) > 0 {
		text := "Policies without order would have run conflicting calls together or out of order: " +
			strings.Join(unsafe, "; ") + "."
		if exclusive {
			text += " Where it is not over a key that both claim, one of the two is exclusive, and nothing is known of what it " +
				"touches."
		}
		if len(lied) == 0 {
			text += " Policies that promise the order kept it everywhere."
		}
		h.Text = append(h.Text, text)
	}
	if len(kept) > 0 {
		promise := "promise"
		if len(kept) == 1 {
			promise = "promises"
		}
		h.Text = append(h.Text, fmt.Sprintf("Nothing here would have run out of order under %s, which %s no order.",
			joined(kept), promise))
	}
	if o, ok := at(f, "at-once"); ok {
		h.Tiles = append(h.Tiles, tile{count(o.Inverted.Batches), "batches out of order, were everything run at once", "unsafe"})
	}
}

// clocks says how good the times are, the best first.
func clocks(formats []replay.FormatFigure) string {
	var kinds []string
	names, batches := map[string][]string{}, map[string]int{}
	for _, f := range formats {
		if names[f.Clock] == nil {
			kinds = append(kinds, f.Clock)
		}
		names[f.Clock] = append(names[f.Clock], show(f.Format))
		batches[f.Clock] += f.Batches
	}
	rank := []string{"exact", "upper bound", "tail only", "none"}
	slices.SortStableFunc(kinds, func(a, b string) int {
		return cmp.Compare(uint(slices.Index(rank, a)), uint(slices.Index(rank, b))) // what is not known comes last
	})
	var said []string
	for _, k := range kinds {
		said = append(said, fmt.Sprintf("%s in %s (%s)",
			show(k), plural(batches[k], "batch", "batches"), strings.Join(names[k], ", ")))
	}
	if said == nil {
		return ""
	}
	return "How good the clock is: " + strings.Join(said, "; ") + "."
}

// A clocked is what is said of formats of which the same is to be said.
type clocked struct {
	Formats     []string
	Clock, Text string
}

func clockedAlike(formats []replay.FormatFigure) (all []clocked) {
	for _, f := range formats {
		clock, text := named(f.Clock), tell(f.Text)
		i := slices.IndexFunc(all, func(c clocked) bool { return c.Clock == clock && c.Text == text })
		if i < 0 {
			i, all = len(all), append(all, clocked{Clock: clock, Text: text})
		}
		all[i].Formats = append(all[i].Formats, named(f.Format))
	}
	return all
}

func of(n, all int, one, many string) string {
	if n == all {
		return "all " + plural(n, one, many)
	}
	return count(n) + " of " + plural(all, one, many)
}

// against says how the time v compares with base.
func against(v, base trace.Millis, what string) string {
	by := 1 - float64(v/base)
	switch {
	case by == 0:
		return "saves nothing against " + what
	case by < 0:
		return "takes " + percent(-by) + " more than " + what
	}
	return "saves " + percent(by) + " against " + what
}
