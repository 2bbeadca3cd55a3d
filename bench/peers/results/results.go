package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keywave-go/keywave/bench/recorded"
	"github.com/keywave-go/keywave/bench/sim"
)

// data is all figures there are.
type data struct {
	suites  []suite
	samples samples
	runs    []head // in the order of suites; one that was never measured is not there
	whole   *whole // nil: never derived
	simulated
}

// results returns bench/RESULTS.md.
func (d *data) results() string {
	return "# Results\n\n" + para("Written by `make bench` from what it measured, and by nothing else: a test renders this page again. "+
		"There are two kinds of figures. *Measured* ones are multiples wherever two things are compared, which ran turn and turn "+
		"about in one benchmark: the median of all rounds, and in brackets the least and the most of them, which is the noise. "+
		"*Simulated* ones are derived in virtual time with the same code that admits calls, and are the same on every machine.") +
		d.setup() + d.targets() + d.executors() + d.planning() + d.around() + d.fiveCalls() + d.workloads() + d.recordedBatches()
}

// setup says on what it was measured, and how to do so again.
func (d *data) setup() string {
	var s strings.Builder
	s.WriteString("## On what, and how to repeat it\n\n")
	rows := [][]string{{"benchmarks of", "on", "commit", "when", "rounds", "load of the machine"}}
	measured := map[string]bool{}
	failed := ""
	for _, r := range d.runs {
		measured[r.name] = true
		f := r.fields
		load := f["load"]
		if all := strings.Fields(load); len(all) > 1 {
			slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
			load = all[0] + " to " + all[len(all)-1]
		}
		rows = append(rows, []string{r.label(), r.machine(), dash(f["commit"]), dash(f["date"]), dash(f["rounds"]), dash(load)})
		for _, what := range r.failed {
			failed += item("**Failed:** %s, %s.", r.label(), what)
		}
	}
	for _, su := range d.suites {
		if !measured[su.name] {
			failed += item("**Not measured:** %s. A dash stands in place of its figures.", su.label())
		}
	}
	if failed != "" {
		failed += "\n"
	}
	s.WriteString(texts(rows...) + failed)
	s.WriteString(para("The load is that of the last minute, each time a round began; the benchmarks themselves are in it.") +
		"```\n" +
		"make bench                                          # all of it; BENCHCOUNT=1 for one round in place of 6\n" +
		"go -C bench/peers run ./results -only 'plan|exec'   # some packages, by the names of the files in bench/results\n" +
		"go -C bench/peers run ./results -rounds 0           # no benchmark: simulations, and this page\n" +
		"go -C bench/peers tool benchstat ../results/exec.txt another/exec.txt   # two runs compared\n" +
		"KEYWAVE_TRACES=all.jsonl make bench                 # also the recorded batches that are not in the repository\n" +
		"```\n\nOf one package alone:\n\n```\n")
	for _, su := range d.suites {
		dir, pkg := "", "./"+su.pkg
		if su.module != "." {
			dir, pkg = "-C "+su.module+" ", su.pkg
		}
		fmt.Fprintf(&s, "go %stest -run '^$' -bench '%s' %s\n", dir, su.bench, pkg)
	}
	s.WriteString("```\n\n")
	return s.String()
}

// machine is on what it ran, as far as that is known.
func (h head) machine() string {
	var known []string
	add := func(format string, keys ...any) {
		for i, k := range keys {
			if keys[i] = h.fields[k.(string)]; keys[i] == "" {
				return
			}
		}
		known = append(known, fmt.Sprintf(format, keys...))
	}
	add("%s", "cpu")
	add("%s cores", "cores")
	add("%s/%s", "goos", "goarch")
	add("%s", "go")
	return dash(strings.Join(known, ", "))
}

func dash(text string) string { return cmp.Or(text, "–") }

// label is how people call a suite.
func (su suite) label() string {
	if su.pkg == "." {
		return su.module
	}
	return su.pkg
}

// targets is what is promised, and whether it holds.
func (d *data) targets() string {
	rows := [][]string{{"target", "what came out", "holds"}}
	add := func(target, what string, holds bool) {
		rows = append(rows, []string{target, what, map[bool]string{true: "yes", false: "**no**"}[holds]})
	}
	var five []string
	for i, p := range sim.Policies() {
		if slices.Contains([]string{"serial", "rolling", "waves", "keyed"}, p.Name) {
			five = append(five, fmt.Sprintf("%s %d", p.Name, d.five[i].Milliseconds()))
		}
	}
	const want = "serial 500, rolling 450, waves 400, keyed 300"
	got := strings.Join(five, ", ")
	add("five calls, in ms: "+want, got, got == want)
	for i, l := range recorded.Limits {
		if l != 8 && l != 32 {
			continue
		}
		worst, of, n := 0.0, "", 0
		for _, w := range d.synthetic {
			if at := w.limits[i]; at.qualifies {
				n++
				if x := ratio(at.by[keyedAt], at.lower); x > worst {
					worst, of = x, w.label()
				}
			}
		}
		add(fmt.Sprintf("keyed, each synthetic workload that can make use of limit %d, below with a ✓: at most 1.10 of the bound", l),
			fmt.Sprintf("%.3f at most, %s, of %d", worst, of, n), n > 0 && worst <= 1.10)
		worst, of, n = 0, "", 0
		for _, w := range d.synthetic[:d.chosen] {
			if at := w.limits[i]; w.loosely(l) {
				n++
				if x := ratio(at.by[keyedAt], at.lower); x > worst {
					worst, of = x, w.label()
				}
			}
		}
		add(fmt.Sprintf("the same, each workload of `workload.All` with 4 calls a slot in each stretch between exclusive calls, and no call longer than a "+
			"tenth of what each slot has to do, at limit %d", l),
			fmt.Sprintf("%.3f at most, %s, of %d; not so of others: see below", worst, of, n), n > 0 && worst <= 1.10)
	}
	inverted := 0
	for _, w := range d.synthetic {
		for _, at := range w.limits {
			inverted += at.inverted
		}
	}
	const none = "what claims serial equivalence inverts no pair, at every limit and without one"
	add(none+": synthetic workloads", grouped(inverted), inverted == 0)
	for _, set := range d.sets() {
		f := set.figures
		keyed := ratio(f.All.Of("keyed").Limited[ten], f.All.Bound[ten])
		add("keyed, recorded batches at limit 10: at most 1.02 of the bound: "+set.name, fmt.Sprintf("%.4f", keyed), keyed <= 1.02)
		n := len(f.KeyedSlower)
		add("keyed, without a limit, is never slower than waves or the rolling pool: "+set.name, fmt.Sprintf("%d batches", n), n == 0)
		pairs := 0
		for _, o := range f.All.Policies {
			if o.Ordered {
				pairs += o.Pairs
				for _, p := range o.LimitedPairs {
					pairs += p
				}
			}
		}
		add(none+": "+set.name, fmt.Sprint(pairs), pairs == 0)
	}
	return "## Targets\n\n" + para("All of them are simulated, and held by the tests of `bench/sim`, `bench/workload` and `bench/recorded` too; "+
		"that nothing is inverted, on a million random batches as well.") + texts(rows...)
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func share(a, b time.Duration) string {
	if b == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", ratio(a, b))
}
