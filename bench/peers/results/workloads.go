package main

import (
	"fmt"
	"slices"

	"github.com/keywave-go/keywave/bench/recorded"
	"github.com/keywave-go/keywave/bench/sim"
)

var (
	ten     = slices.Index(recorded.Limits, 10)
	keyedAt = slices.IndexFunc(sim.Policies(), func(p sim.Policy) bool { return p.Name == "keyed" })
)

// fiveCalls is the batch that the README shows.
func (d *data) fiveCalls() string {
	rows := [][]string{{"policy"}, {"ms"}}
	for i, p := range sim.Policies() {
		rows[0], rows[1] = append(rows[0], p.Name), append(rows[1], fmt.Sprint(d.five[i].Milliseconds()))
	}
	return "## Policies\n\n" + para("What is simulated below, from the slowest to the floor. Steps are rounds: what a policy takes if each call takes one.") +
		texts([]string{"policy", "what it does", "keeps the order"},
			[]string{"serial", "one call after another", "yes"},
			[]string{"windows", "reads in windows as large as the limit, of which the next begins when all of one are done; the rest alone", "yes"},
			[]string{"read-runs", "consecutive reads together, the rest alone", "yes"},
			[]string{"rolling", "the rolling pool: calls start in order, and what is not a read is a barrier", "yes"},
			[]string{"waves", "the waves of `plan.Ordered`, one after another", "yes"},
			[]string{"keyed", "a call waits for the earlier calls that it conflicts with", "yes"},
			[]string{"first-fit", "the waves of `plan.FirstFit`", "no"},
			[]string{"locks", "a lock for every key, and no order", "no"},
			[]string{"at-once", "everything at the same time, whatever it does", "no"}) +
		"## Five calls\n\n" + para("Edit a 50 ms, read b 300, edit a 50, read c 50, read a 50; without a limit.") + numbers(rows...)
}

func (w synthetic) label() string { return fmt.Sprintf("%s (%s)", w.Name, w.Params) }

// workloads is the synthetic ones.
func (d *data) workloads() string {
	s := "## Synthetic workloads\n\n" + para("%s calls each, of 10 to 100 ms, seed %d. Makespans as a multiple of the bound, which is the larger of the "+
		"longest chain of conflicts and the work divided by the limit: no schedule that keeps the order of conflicting calls beats it. "+
		"*Apart* is the same bound taken for each stretch between exclusive calls, which nothing overlaps: where these are much of the "+
		"work no schedule comes near the bound, nor below apart. A ✓ marks workloads that can make use of the limit and are held to 1.10: in "+
		"each stretch no call takes longer than a tenth of what each slot has to do there. First-fit, locks and at-once do not keep the "+
		"order, and may be below 1.", grouped(syntheticCalls), syntheticSeed)
	var names []string
	for _, p := range sim.Policies() {
		names = append(names, p.Name)
	}
	for i, l := range recorded.Limits {
		if d.allTheWork(i) {
			s += para("At a limit of %d each policy takes exactly the work of each workload, which is the bound.", l)
			continue
		}
		rows := [][]string{append(append([]string{fmt.Sprintf("limit %d", l)}, names...), "apart", "bound, s", "")}
		for _, w := range d.synthetic {
			at := w.limits[i]
			row := []string{w.label()}
			for _, took := range at.by {
				row = append(row, fmt.Sprintf("%.2f", ratio(took, at.lower)))
			}
			row = append(row, fmt.Sprintf("%.2f", ratio(at.apart, at.lower)), fmt.Sprintf("%.1f", at.lower.Seconds()),
				map[bool]string{true: "✓"}[at.qualifies])
			rows = append(rows, row)
		}
		s += numbers(rows...)
	}
	return s + d.unreachable()
}

// allTheWork reports whether every policy takes the work of every workload at one of the limits.
func (d *data) allTheWork(limit int) bool {
	for _, w := range d.synthetic {
		for _, took := range w.limits[limit].by {
			if took != w.work || took != w.limits[limit].lower {
				return false
			}
		}
	}
	return true
}

// unreachable is where a looser condition than a ✓ would ask for what cannot be done.
func (d *data) unreachable() string {
	rows := [][]string{{"limit", "workload", "keyed, of the bound", "apart, of the bound", "keyed, of apart"}}
	above, proven := 0, 0
	for i, l := range recorded.Limits {
		for _, w := range d.synthetic {
			at := w.limits[i]
			if (l != 8 && l != 32) || at.qualifies || !w.loosely(l) {
				continue
			}
			if ratio(at.by[keyedAt], at.lower) > 1.10 {
				above++
			}
			if ratio(at.apart, at.lower) > 1.10 {
				proven++
			}
			rows = append(rows, []string{
				fmt.Sprint(l), w.label(), fmt.Sprintf("%.3f", ratio(at.by[keyedAt], at.lower)),
				fmt.Sprintf("%.3f", ratio(at.apart, at.lower)), fmt.Sprintf("%.3f", ratio(at.by[keyedAt], at.apart)),
			})
		}
	}
	return para("A ✓ asks for more than that each stretch holds 4 calls a slot and that no call is longer than a tenth of what each slot has to do in "+
		"all. Those that have only that are below: keyed takes more than 1.10 of the bound on %d of them. On %d that is true of every schedule, as "+
		"apart says. On the others it is the end of each stretch, where slots run out of calls one by one, and where only a schedule that knew "+
		"beforehand how long calls take could do better.", above, proven) + texts(rows...)
}
