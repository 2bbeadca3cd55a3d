package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/keywave-go/keywave/bench/recorded"
	"github.com/keywave-go/keywave/bench/trace"
	"github.com/keywave-go/keywave/plan"
)

// A set is recorded batches that are shown.
type set struct {
	name    string
	figures *recorded.Figures
}

// sets are all that there are, the larger one first.
func (d *data) sets() []set {
	here := set{fmt.Sprintf("%s batches of the repository", grouped(d.here.All.Batches)), d.here}
	if d.whole == nil {
		return []set{here}
	}
	return []set{{fmt.Sprintf("all %s batches", grouped(d.whole.Figures.All.Batches)), d.whole.Figures}, here}
}

// recordedBatches is what agents really asked for.
func (d *data) recordedBatches() string {
	s := "## Recorded batches\n\n" + para("Turns of coding agents with two or more tool calls. `bench/testdata` says where they come from, and package "+
		"`bench/trace` what their durations are worth: times say what order of magnitude a policy saves. Each batch is simulated by itself, "+
		"from when the model has asked for it. *Mixed* batches have a write or an exclusive call. What commands of shells touch was judged one "+
		"by one by whoever recorded them, and most of these only read; the rows with every command of a shell alone are what a host gets "+
		"that does not look into commands, as `keywave replay` does not.")
	for _, set := range d.sets() {
		s += "### " + strings.ToUpper(set.name[:1]) + set.name[1:] + "\n\n"
		if d.whole != nil && set.figures == d.whole.Figures {
			s += para("They are not in the repository. What is said of them was derived from a file of %s bytes with the SHA-256 `%s`, is kept "+
				"in `%s`, and is derived anew only where `KEYWAVE_TRACES` names that file.", grouped(d.whole.Bytes), d.whole.SHA256, recordedFile)
		} else {
			s += para("In `bench/testdata`, and derived anew whenever this page is written or tested. All batches that first-fit inverts, and all with " +
				"anomalies, were put among them: shares are not those of the whole.")
		}
		s += set.policies() + set.formats() + set.bounds() + set.deviations()
	}
	return s + d.inversion()
}

// policies is steps, times and inversions.
func (t set) policies() string {
	f := t.figures
	all, mixed := f.All.Of("serial").Time, f.Mixed.Of("serial").Time
	rows := [][]string{{"policy", "steps", "time, serial = 1", "time, mixed batches", "pairs inverted", "in batches"}}
	row := func(name string, of, ofMixed recorded.Outcome) {
		rows = append(rows, []string{
			name, grouped(of.Steps), share(of.Time, all), share(ofMixed.Time, mixed), grouped(of.Pairs), grouped(of.Batches),
		})
	}
	for i, o := range f.All.Policies {
		row(o.Policy, o, f.Mixed.Policies[i])
	}
	for i, o := range f.All.Loose {
		row(o.Policy+", tests, linters and builds as reads of the tree", o, f.Mixed.Loose[i])
	}
	for _, p := range []string{"rolling", "waves", "keyed", "first-fit"} {
		row(p+", every command of a shell alone", f.All.StrictOf(p), f.Mixed.StrictOf(p))
	}
	rows = append(rows, []string{"bound: the longest chain", "", share(f.All.Free, all), share(f.Mixed.Free, mixed), "", ""})
	return para("%s batches with %s calls; %s are mixed. Times are of the %s of which the time of every call is known, %s of them mixed. Without a "+
		"limit:", grouped(f.All.Batches), grouped(f.All.Calls), grouped(f.Mixed.Batches), grouped(f.All.Timed), grouped(f.Mixed.Timed)) + numbers(rows...)
}

// formats is times by what wrote the log.
func (t set) formats() string {
	rows := [][]string{{"time, serial = 1", "batches", "timed", "serial, s", "rolling", "waves", "keyed", "keyed, tests … as reads", "at-once"}}
	for _, f := range t.figures.Formats {
		serial := f.Of("serial").Time
		rows = append(rows, []string{
			f.Name, grouped(f.Batches), grouped(f.Timed), digits(serial.Seconds()), share(f.Of("rolling").Time, serial),
			share(f.Of("waves").Time, serial), share(f.Of("keyed").Time, serial), share(f.Loose[1].Time, serial), share(f.Of("at-once").Time, serial),
		})
	}
	return numbers(rows...)
}

// bounds is makespans at the limits.
func (t set) bounds() string {
	rows := [][]string{{"time, bound = 1"}}
	for _, l := range recorded.Limits {
		rows[0] = append(rows[0], fmt.Sprintf("limit %d", l))
	}
	rows[0] = append(rows[0], "none")
	for _, o := range t.figures.All.Policies {
		row := []string{o.Policy}
		for i := range recorded.Limits {
			row = append(row, fmt.Sprintf("%.4f", ratio(o.Limited[i], t.figures.All.Bound[i])))
		}
		rows = append(rows, append(row, fmt.Sprintf("%.4f", ratio(o.Time, t.figures.All.Free))))
	}
	return para("The bound is that of each batch by itself, all added up:") + numbers(rows...)
}

// theirs is what those who recorded the batches made of them, where it is not what is derived here.
var theirs = struct{ batches, waves int }{9375, 12181}

// deviations is where something is not as one would think.
func (t set) deviations() string {
	f := t.figures
	s := slower("Ordered waves take longer than the rolling pool, without a limit, as a write holds back a wave that it does not conflict with",
		f.WavesSlower) + slower("Keyed takes longer than waves or the rolling pool, without a limit", f.KeyedSlower)
	for i, l := range recorded.Limits {
		if l > 1 {
			s += slower(fmt.Sprintf("Keyed takes longer than one of them at limit %d, an anomaly of list scheduling", l), f.Anomalies[i])
		}
	}
	steps, apart := f.All.Of("waves").Steps, f.All.Of("waves").Steps
	var covered []string
	for _, c := range f.Covered {
		covered = append(covered, "`"+c.Batch+"`")
		apart -= c.Steps - c.Apart
	}
	text := fmt.Sprintf("A directory that is written, most often made, and a file in it conflict. Did they not, ordered waves would take %s steps and not %s: "+
		"in %s, %s.", grouped(apart), grouped(steps), count(len(covered), "batch", "batches"), strings.Join(covered, ", "))
	if f.All.Batches == theirs.batches {
		text += fmt.Sprintf(" Whoever recorded the batches counted %s with a program of their own, for which some of these are conflicts and some "+
			"are not. All other steps, and all shares of time, are the same in both.", grouped(theirs.waves))
	}
	first := f.All.Of("first-fit")
	return s + item("%s", text) + item("First-fit inverts %s in %s. One call of the two is exclusive in %s of them, and in %s they meet over a key.",
		count(first.Pairs, "pair", "pairs"), count(first.Batches, "batch", "batches"), grouped(first.Pairs-first.Keyed), grouped(first.Keyed)) + "\n"
}

// slower is how many batches there are in which one policy is slower than another, and the worst of them.
func slower(what string, batches []recorded.Slower) string {
	text := fmt.Sprintf("%s: %s.", what, count(len(batches), "batch", "batches"))
	worst := slices.SortedStableFunc(slices.Values(batches), func(a, b recorded.Slower) int {
		return cmp.Compare(ratio(b.Time, b.Than), ratio(a.Time, a.Than))
	})
	for i, b := range worst[:min(len(worst), 3)] {
		text += fmt.Sprintf("%s `%s`, %s against %s of %s", []string{" The worst:", ";", ";"}[i], b.Batch, b.Time, b.Than, b.Of)
	}
	if len(worst) > 0 {
		text += "."
	}
	return item("%s", text)
}

// inversion shows what first-fit does.
func (d *data) inversion() string {
	calls := d.inverted.Plan()
	ordered, first := plan.Ordered(calls), plan.FirstFit(calls)
	rows := [][]string{{"call", "touches", "ordered wave", "first-fit wave"}}
	for i, c := range d.inverted.Calls {
		rows = append(rows, []string{
			fmt.Sprintf("%d %s", i+1, c.Kind), touches(c), fmt.Sprint(ordered.WaveOf(i) + 1), fmt.Sprint(first.WaveOf(i) + 1),
		})
	}
	var all []string
	for _, i := range d.here.Inverted {
		all = append(all, fmt.Sprintf("`%s` %d", i.Batch, i.Pairs))
	}
	return "### What first-fit inverts\n\n" + para("The smallest of the batches, `%s`. A call that slips in front of an exclusive one finds what that one "+
		"should have changed, or changes what that one should have found:", recorded.ID(d.inverted)) + texts(rows...) +
		fmt.Sprintf("<details><summary>All %d batches, with how many pairs each</summary>\n\n", len(all)) + para("%s", strings.Join(all, ", ")) + "</details>\n"
}

// touches is the access and keys of a recorded call.
func touches(c trace.Call) string {
	if c.Access != trace.Reads && c.Access != trace.Writes {
		return string(c.Access)
	}
	var keys []string
	for _, k := range c.Keys {
		keys = append(keys, map[string]string{"r": "read ", "w": "write "}[k.Mode]+k.Name)
	}
	return cmp.Or(strings.Join(keys, ", "), "nothing")
}
