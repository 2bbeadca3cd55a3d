package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keywave-go/keywave/bench/recorded"
)

// What is between these lines of the README is written here.
const (
	blockBegin = "<!-- bench:begin (make bench writes this) -->\n"
	blockEnd   = "<!-- bench:end -->\n"
)

var errBlock = errors.New("it must have a line " + strings.TrimSpace(blockBegin) + " and, below it, a line " + strings.TrimSpace(blockEnd) + ", both once")

// readme returns the README with the figures of today. It fails if one is missing, as there is nothing to say instead.
func (d *data) readme(old []byte) ([]byte, error) {
	before, rest, ok := bytes.Cut(old, []byte(blockBegin))
	_, after, ok2 := bytes.Cut(rest, []byte(blockEnd))
	if !ok || !ok2 || bytes.Contains(after, []byte(blockBegin)) || bytes.Contains(after, []byte(blockEnd)) {
		return nil, errBlock
	}
	block, err := d.block()
	if err != nil {
		return nil, err
	}
	return bytes.Join([][]byte{before, []byte(blockBegin), []byte(block), []byte(blockEnd), after}, nil), nil
}

// block is what is between the marks.
func (d *data) block() (string, error) {
	missing := map[string]bool{}
	get := func(suite, benchmark, unit string) figure {
		f := d.of(suite, benchmark, unit)
		if f.rounds == 0 {
			missing[suite+" "+benchmark] = true
		}
		return f
	}
	rows := [][]string{{"`exec.Run`, calls, claims"}}
	for _, p := range peers[:5] {
		rows[0] = append(rows[0], p[1])
	}
	rows[0] = append(rows[0], "allocations a call")
	for _, r := range []struct {
		label, benchmark string
	}{
		{"Waves, 512, none", "waves/keyless/512"}, {"Waves, 512, distinct", "waves/distinct/512"},
		{"Keyed, 512, none", "keyed/keyless/512"}, {"Keyed, 512, distinct", "keyed/distinct/512"},
		{"Waves, 8, distinct", "waves/distinct/8"}, {"Keyed, 8, distinct", "keyed/distinct/8"},
	} {
		b := "Run/" + r.benchmark
		row := []string{r.label}
		for _, p := range peers[:5] {
			row = append(row, round(get("peers", b, "x-"+p[0]).median)+"×")
		}
		rows = append(rows, append(row, digits(get("peers", b, "allocs/call").median)))
	}
	var with []figure
	for _, a := range []string{"waves", "keyed"} {
		for _, n := range []int{8, 64, 512} {
			with = append(with, get("exec", fmt.Sprintf("RunIn/%s/%d", a, n), "x-without"))
		}
	}
	eight := get("peers", "Run/waves/distinct/8", "ns/call")
	iter := get("peers", "Run/waves/distinct/512", "x-iter")
	distinct, many := get("plan", "Ordered/distinct/512", "ns/call"), get("plan", "Ordered/distinct/65536", "ns/call")
	hot, allocs := get("plan", "Ordered/hot/512", "ns/call"), get("plan", "Ordered/distinct/512", "allocs/op")
	small, large := get("peers", "Plan/ordered/distinct/8", "x-scan"), get("peers", "Plan/ordered/distinct/512", "x-scan")
	if len(missing) > 0 {
		return "", fmt.Errorf("it needs figures that were not measured: %s", strings.Join(slices.Sorted(maps.Keys(missing)), ", "))
	}
	return para("The time of `exec.Run` as a multiple of what others take for bodies that do nothing, at most 8 at once, turn and turn "+
		"about on %s cores (%s), the median of %s:", d.runs[0].fields["cores"], d.runs[0].fields["cpu"], rounds(d.runs[0])) + numbers(rows...) +
		para("A batch of 8 takes %s µs in all. Workers that only count up an index (conc's `iter`) take a %s part of it for 512 calls: "+
			"order and keys have a price, which shows where bodies do nothing. With `In` a batch on distinct keys takes %s to %s times as "+
			"long. Planning takes %s ns a call for distinct keys (%s in a batch of 65,536) and %s for one hot key, with %s allocations; a "+
			"first-fit that looks at every call of every wave takes %s× as long for 8 calls, and %s× for 512.",
			round(eight.median*8/1000), nth(iter.median), round(least(with...).median), round(most(with...).median),
			round(distinct.median), round(many.median), round(hot.median), round(allocs.median), round(small.median), round(large.median)) +
		d.agents(), nil
}

// rounds is how many there were.
func rounds(r head) string {
	n, _, _ := strings.Cut(r.fields["rounds"], " ")
	if n == "1" {
		return "one round"
	}
	return n + " rounds"
}

// agents is what recorded batches come to.
func (d *data) agents() string {
	set := d.sets()[0]
	f := set.figures
	rows := [][]string{
		{"", "serial", "rolling pool", "first-fit", "ordered waves", "keyed", "bound²", "all at once"},
		{"time, all"}, {"time, those with a write or an exclusive call"}, {"time, all, every command of a shell alone³"},
		{"conflicting calls out of order"}, {"of these over a key that both claim"},
	}
	for i, sums := range []recorded.Sums{f.All, f.Mixed} {
		serial := sums.Of("serial").Time
		for _, p := range []string{"serial", "rolling", "first-fit", "waves", "keyed", "", "at-once"} {
			took := sums.Of(p).Time
			if p == "" {
				took = sums.Free
			}
			rows[1+i] = append(rows[1+i], share(took, serial))
		}
	}
	for _, p := range []string{"serial", "rolling", "first-fit", "waves", "keyed", "", "at-once"} {
		if p == "" {
			for i := range rows[3:] {
				rows[3+i] = append(rows[3+i], "–")
			}
			continue
		}
		rows[3] = append(rows[3], share(f.All.StrictOf(p).Time, f.All.StrictOf("serial").Time))
		rows[4] = append(rows[4], grouped(f.All.Of(p).Pairs))
		rows[5] = append(rows[5], grouped(f.All.Of(p).Keyed))
	}
	return para("What coding agents asked for in %s recorded turns with two or more calls. Times are of the %s that have them, and most are the best "+
		"guess of whoever recorded them: they say what order of magnitude a policy saves.",
		grouped(f.All.Batches), grouped(f.All.Timed)) + numbers(rows...) + strings.TrimSuffix(para("² the longest chain of conflicts: nothing that keeps the order is "+
		"faster. %.0f %% of these turns have neither a write nor an exclusive call. ³ Whoever recorded them judged commands one by one, and found "+
		"most only to read; a host that does not look into them gets this, as does `keywave replay`. The turns are not published, but for a "+
		"part of them in [bench/testdata](bench/testdata). [bench/RESULTS.md](bench/RESULTS.md) has all that was measured, with its noise and how to "+
		"repeat it: by agent, by limit, and synthetic workloads. `make bench` measures it again.", 100*float64(f.All.Batches-f.Mixed.Batches)/float64(max(1, f.All.Batches))), "\n")
}

// round is a number as the README has it: one digit behind the point below 10, and two that matter above.
func round(x float64) string {
	switch {
	case x == float64(int(x)) && x < 10:
		return fmt.Sprintf("%.0f", x)
	case x < 9.95:
		return fmt.Sprintf("%.1f", x)
	case x < 100:
		return fmt.Sprintf("%.0f", x)
	}
	return grouped(int(x/10+0.5) * 10)
}

// nth is one of so many parts.
func nth(x float64) string {
	n := int(x + 0.5)
	suffix := "th"
	switch {
	case n%100 >= 11 && n%100 <= 13:
	case n%10 == 1:
		suffix = "st"
	case n%10 == 2:
		suffix = "nd"
	case n%10 == 3:
		suffix = "rd"
	}
	return fmt.Sprintf("%d%s", n, suffix)
}
