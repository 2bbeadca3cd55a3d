package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/keywave-go/keywave/bench/replay"
	"github.com/keywave-go/keywave/bench/trace"
	"github.com/keywave-go/keywave/plan"
)

// largest are the batches in which keyed saves most.
func (t *replayed) largest() {
	cols := []column{{head: "where"}, {head: "serial", right: true}, {head: "rolling", right: true}, {head: "keyed", right: true}, {head: "calls", rest: true}}
	var rows [][]string
	shown := 0
	for i := range t.Batches {
		b := &t.Batches[i]
		if !b.Saved {
			continue
		}
		if shown++; shown > mostRows {
			continue
		}
		serial := trace.Millis(len(b.Calls))
		if b.Timed {
			serial = 0
			for _, c := range b.Calls {
				serial += c.Time
			}
		}
		rows = append(rows, []string{t.where(b), took(b, serial), took(b, schedule(b, "rolling").Time), took(b, schedule(b, "keyed").Time), toolsOf(b.Calls)})
	}
	if rows == nil {
		return
	}
	t.title("The batches in which keyed saves most against the rolling pool")
	t.rows(cols, rows, nil)
	t.more(shown-len(rows), "more batch")
}

// inverted are the batches in which a policy would have run calls in conflict out of order.
func (t *replayed) inverted() {
	var unsafe []string
	for _, o := range t.Total.Policies {
		if !o.Ordered {
			unsafe = append(unsafe, o.Policy)
		}
	}
	cols := []column{{head: "where"}}
	for _, policy := range unsafe {
		cols = append(cols, column{head: clean(policy), right: true})
	}
	cols = append(cols, column{head: "such as", rest: true})
	type row struct {
		rank  int // of the first policy that it is out of order under
		cells []string
	}
	var found []row
	for i := range t.Batches {
		b := &t.Batches[i]
		r := row{-1, []string{t.where(b)}}
		such := ""
		for rank, policy := range unsafe {
			s := schedule(b, policy)
			pairs := ""
			if n := len(s.Inversions); n > 0 {
				pairs = grouped(n)
				if r.rank < 0 {
					r.rank, such = rank, clean(policy)+": "+t.inversion(b, s.Inversions[0])
				}
			}
			r.cells = append(r.cells, pairs)
		}
		if r.cells = append(r.cells, such); r.rank >= 0 {
			found = append(found, r)
		}
	}
	if found == nil {
		return
	}
	slices.SortStableFunc(found, func(a, b row) int { return a.rank - b.rank })
	var rows [][]string
	for _, r := range found[:min(mostRows, len(found))] {
		rows = append(rows, r.cells)
	}
	t.title("Where calls in conflict would have run out of order: pairs, by policy")
	t.rows(cols, rows, nil)
	t.more(len(found)-len(rows)+t.Unshown, "more batch")
}

// inversion says what ran out of order. Calls count from 1 for people.
func (t *replayed) inversion(b *replay.Batch, x replay.Inversion) string {
	if min(x.Earlier, x.Later) < 0 || max(x.Earlier, x.Later) >= len(b.Calls) {
		return "" // the report of somebody else
	}
	earlier, later := b.Calls[x.Earlier], b.Calls[x.Later]
	how := "before"
	if x.Overlap {
		how = "beside"
	}
	s := fmt.Sprintf("%d %s %s %d %s", x.Later+1, clean(later.Tool), how, x.Earlier+1, clean(earlier.Tool))
	if t.names {
		if key := meeting(earlier, later); key != "" {
			s += ", of " + clean(key)
		}
	}
	return s
}

// meeting is the key over which two calls conflict; empty: one of them is exclusive.
func meeting(a, b replay.Call) string {
	d := plan.Ordered([]plan.Call{claiming(a), claiming(b)}).Explain()[1]
	if len(d.Mine.Key) > len(d.Held.Key) { // below a tree
		return d.Mine.Key
	}
	return d.Held.Key
}

// claiming is a call that claims what c does.
func claiming(c replay.Call) plan.Call {
	p := plan.Call{Safe: true}
	for _, x := range c.Claims {
		claim := plan.Claim{Key: x.Key, Tree: x.Tree}
		if !x.Write {
			claim.Access = plan.Read
		}
		p.Claims = append(p.Claims, claim)
	}
	return p
}

// where is where a batch stands. Its session may have other files: sub-agents have their own.
func (t *replayed) where(b *replay.Batch) string {
	return clipLeft(clean(b.File)+":"+strconv.Itoa(b.Line), t.width/3)
}

// schedule is the timeline of a batch under a policy; the zero one if there is none.
func schedule(b *replay.Batch, policy string) replay.Schedule {
	for _, s := range b.Runs {
		if s.Policy == policy {
			return s
		}
	}
	return replay.Schedule{}
}

// took is a time of a batch. If it has none, each call is taken for a millisecond, and it is steps.
func took(b *replay.Batch, m trace.Millis) string {
	if b.Timed {
		return span(m)
	}
	return several(int(m+0.5), "step")
}

// toolsOf are the tools of calls, in their order: 3×Read, Edit.
func toolsOf(calls []replay.Call) string {
	const most = 12
	var parts []string
	for i := 0; i < len(calls); {
		n := 1
		for i+n < len(calls) && calls[i+n].Tool == calls[i].Tool {
			n++
		}
		part := clean(calls[i].Tool)
		if n > 1 {
			part = strconv.Itoa(n) + "×" + part
		}
		if i += n; len(parts) == most {
			return strings.Join(parts, ", ") + ", …"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}
