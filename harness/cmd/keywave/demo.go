package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/files"
)

type demoCommand struct {
	Tree string `placeholder:"DIR" help:"The source tree to copy and work on; it is not changed. Default: the checkout of keywave around the working directory, or else the command's own source, which is built in."`
	Keep bool   `help:"Keep the copies, to look at them."`
}

func (c *demoCommand) Help() string {
	return `One turn of a model, with reads, searches, edits of one file and of several, a write and a read of what it wrote, a
move, an edit that must fail and a call of which nothing is known, is run under all five admissions, each on a copy of
its own. Every call is made to take 30 to 80 ms, as if it went over a network.

The serial run is the reference. Every other admission that promises to end like it is compared by a digest of the whole
tree and one of all results; a difference, or an admission other than serial that never runs two calls at once, ends the
demo with exit code 1.

Then two agents edit the same files at once, in opposite orders, over one Domain, and an agent keeps a log of a session, which is
cut off as a kill -9 would leave it, and resumed. Last, one call of the model's runs a program that searches, reads and edits several
files. An edit that got lost, or a call that is left without a result, ends it so, too.`
}

// What each admission does, in a few words.
var admissionWords = map[string]string{
	"serial":    "one call after another",
	"rolling":   "in order; only calls that change nothing overlap",
	"waves":     "the plan, wave by wave (the default)",
	"first-fit": "the classic greedy waves, which do not keep the order",
	"keyed":     "each as soon as the earlier calls that it conflicts with have ended",
}

// An act is what came of the turn under one admission.
type act struct {
	performance
	admission string
	treeSum   string // digests
	resultSum string
}

func (c *demoCommand) Run(ctx context.Context, h host) (err error) {
	tree, err := findTree(c.Tree)
	if err != nil {
		return err
	}
	turn, err := newTurn(tree)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "keywave-demo-")
	if err != nil {
		return err
	}
	if !c.Keep {
		h.temp.Store(&temp)
		defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	}
	d := demo{host: h, turn: turn, temp: temp, tree: tree, painter: h.paint(h.stdout)}
	d.width, _, d.terminal = h.stdout.shape()
	if err := d.play(ctx); err != nil {
		return err
	}
	if c.Keep {
		d.say("The copies are in %s.", clean(temp))
	}
	return d.verdict()
}

// A demo is one showing.
type demo struct {
	host
	painter
	width    int
	terminal bool
	turn     *turn
	tree     *sourceTree
	temp     string
	acts     []act
	duet     *duet
	encore   *encore
	solo     *solo
	path     time.Duration // the critical one: the delays on it, without the tools' own work
}

func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.stdout, format+"\n", args...)
}

func (d *demo) title(text string) {
	d.say("\n%s\n", d.bold(text))
}

// para says something in as many lines as it takes.
func (d *demo) para(style func(string) string, format string, args ...any) {
	for _, l := range wrap(fmt.Sprintf(format, args...), d.width) {
		d.say("%s", style(l))
	}
}

func plain(s string) string { return s }

// play shows the plan, runs the turn under every admission and shows what came of it.
func (d *demo) play(ctx context.Context) error {
	d.say("%s", d.bold("keywave: the tool calls of one turn, at the same time where that is safe"))
	d.say("")
	d.para(plain, "A model answered with %d tool calls. They work on a copy of %s (%d files, %d KiB), and each takes 30 to 80 ms, as if over a network.",
		len(d.turn.calls), clean(d.tree.origin), len(d.tree.files), (d.tree.size()+1023)>>10)
	for n, admission := range admissionNames {
		dir, err := d.copy(ctx, admission)
		if err != nil {
			return err
		}
		if err := d.run(ctx, n, admission, dir); err != nil {
			return err
		}
	}
	if err := d.runDuet(ctx); err != nil {
		return err
	}
	d.showResults()
	d.compare()
	err := d.runEncore(ctx)
	if err == nil {
		err = d.runSolo(ctx)
	}
	if errors.Is(err, errInterrupted) {
		d.say("interrupted")
	}
	return err
}

// copy makes a copy of the tree.
func (d *demo) copy(ctx context.Context, name string) (string, error) {
	dir := filepath.Join(d.temp, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	return dir, d.tree.writeTo(ctx, dir)
}

// run runs the turn under one admission, in a copy.
func (d *demo) run(ctx context.Context, n int, admission, dir string) error {
	report, err := countLines(dir)
	if err != nil {
		return err
	}
	b := &batch{source: "demo", calls: d.turn.calls, latency: d.turn.latency}
	closeTools, err := b.openTools(dir, report)
	if err != nil {
		return err
	}
	defer closeTools()
	if n == 0 {
		d.showPlan(b)
		d.title("Five ways to run it")
		d.say("%s", d.faint("· waits   █ runs   ─ done, its result waits for those before it"))
	}
	pf := performer{admission: admission, limit: len(d.turn.calls)}
	d.say("\n%s  %s", d.cool(admission), d.faint(admissionWords[admission]))
	switch {
	case d.terminal:
		pf.progress = d.watch(d.stdout, b)
		pf.progress.still = true
	case admission == "waves":
		// Elsewhere one is enough to show what it looks like.
		d.say("%s", d.faint("its events, as an example: a terminal shows all five as they run"))
		pf.progress = d.watch(d.stdout, b)
	}
	all, err := pf.perform(ctx, b)
	if err != nil {
		return err
	}
	done := all[0]
	if done.interrupted {
		d.say("interrupted")
		return errInterrupted
	}
	a := act{performance: done, admission: admission, resultSum: resultsDigest(done.results)}
	if a.treeSum, err = files.Digest(ctx, dir); err != nil {
		return err
	}
	d.acts = append(d.acts, a)
	if pf.progress != nil && !d.terminal {
		d.say("")
	}
	fmt.Fprint(d.stdout, gantt(d.width, done.bars(b.label), d.acts[0].wall))
	return nil
}

// showPlan shows the turn with both plans.
func (d *demo) showPlan(b *batch) {
	ordered, firstFit := b.plan(false), b.plan(true)
	d.title("The turn, and in which wave each call runs")
	rows := make([][]string, len(b.calls))
	for i := range b.calls {
		rows[i] = []string{
			strconv.Itoa(i + 1), b.label(i), strconv.Itoa(ordered.plan.WaveOf(i) + 1), strconv.Itoa(firstFit.plan.WaveOf(i) + 1), ordered.brief(i),
		}
	}
	cols := []column{
		{head: "#", right: true}, {head: "call", most: max(12, d.width*3/8)}, {head: "keywave", right: true}, {head: "first-fit", right: true},
		{head: "why", rest: true},
	}
	fmt.Fprint(d.stdout, table(d.width, cols, rows, func(row, col int, cell string) string {
		switch {
		case row < 0:
			return d.faint(cell)
		case col == 3 && firstFit.plan.WaveOf(row) < ordered.plan.WaveOf(row):
			return d.warm(cell)
		}
		return cell
	}))
	d.say("")
	d.para(plain, "The plan of keywave has %s. Every two calls that conflict keep their order.", count(len(ordered.plan.Waves()), "wave"))
	d.para(plain, "First-fit, the classic greedy plan, has %s, and does not keep it:", count(len(firstFit.plan.Waves()), "wave"))
	found := firstFit.inversions()
	for j := range b.calls {
		var before []int
		for _, x := range found.first {
			if x.Call == j {
				before = append(before, x.Before)
			}
		}
		if before != nil {
			d.say("  %s", d.warm(clip(fmt.Sprintf("! %s runs before %s", b.numbered(j), b.numberedList(before)), d.width-2)))
		}
	}
	var chain []int
	d.path, chain = criticalPath(ordered.claims, d.turn.latency)
	d.para(plain, "The longest chain of calls in conflict, %s, is the critical path. It takes %s, the added delays alone, without the tools' own work. Nothing that keeps the order can be faster.",
		numbers(chain, " → "), short(d.path))
}

// numbered is "call 4 (edit)".
func (b *batch) numbered(i int) string {
	return fmt.Sprintf("call %d (%s)", i+1, clean(b.calls[i].Name))
}

func (b *batch) numberedList(calls []int) string {
	if len(calls) == 1 {
		return b.numbered(calls[0])
	}
	return "calls " + numbers(calls, ", ")
}

// numbers lists calls, counted from 1.
func numbers(calls []int, between string) string {
	words := make([]string, len(calls))
	for i, c := range calls {
		words[i] = strconv.Itoa(c + 1)
	}
	return strings.Join(words, between)
}

// showResults shows the results of the serial run.
func (d *demo) showResults() {
	d.title("The results, in the model's order (of the serial run, shortened)")
	b := &batch{calls: d.turn.calls}
	var rows [][]string
	for i, r := range d.acts[0].results {
		mark := "✓"
		if r.IsError {
			mark = "✗"
		}
		rows = append(rows, []string{mark, strconv.Itoa(i + 1), b.label(i), clip(b.gist(i, r), d.width-d.width*3/8-11)})
	}
	cols := []column{{}, {head: "#", right: true}, {head: "call", most: d.width * 3 / 8}, {head: "result"}}
	fmt.Fprint(d.stdout, table(d.width, cols, rows, func(row, col int, cell string) string {
		switch {
		case row < 0:
			return d.faint(cell)
		case cell == "✗" || col > 0 && rows[row][0] == "✗":
			return d.bad(cell)
		case cell == "✓":
			return d.good(cell)
		}
		return cell
	}))
}

// gist is the beginning of the result of call i, on one line, without the path that stands before it already.
func (b *batch) gist(i int, r tool.Result) string {
	var in struct{ Path, To string }
	_ = json.Unmarshal([]byte(b.calls[i].Arguments), &in) // what is not in it is not cut off
	text := strings.Join(strings.Fields(r.Text()), " ")
	for _, path := range []string{in.Path, in.To} {
		text = strings.TrimPrefix(text, path+": ")
	}
	return clean(text)
}

// compare shows what the admissions took, and whether they ended as the serial run did.
func (d *demo) compare() {
	d.title("What it comes to")
	serial := d.acts[0]
	var rows [][]string
	for _, a := range d.acts {
		row := []string{
			a.admission, short(a.wall), times(serial.wall, a.wall), times(a.wall, d.path), strconv.Itoa(a.peak), "as serial", "as serial",
		}
		if a.admission == "serial" {
			row[5], row[6] = a.treeSum[:12], a.resultSum[:12]
		}
		if a.treeSum != serial.treeSum {
			row[5] = "differs"
		}
		if a.resultSum != serial.resultSum {
			row[6] = "differ: " + numbers(a.differences(serial), ", ")
		}
		rows = append(rows, row)
	}
	rows = append(rows, []string{"delays alone", short(d.path), times(serial.wall, d.path), times(d.path, d.path), "", "", ""})
	cols := []column{
		{head: "admission"}, {head: "time", right: true}, {head: "speedup", right: true}, {head: "÷ delays", right: true}, {head: "peak", right: true},
		{head: "tree"}, {head: "results"},
	}
	fmt.Fprint(d.stdout, table(d.width, cols, rows, func(row, col int, cell string) string {
		switch {
		case row < 0:
			return d.faint(cell)
		case col == 0:
			return d.cool(cell)
		case strings.HasPrefix(cell, "differ"):
			return d.warm(cell)
		case cell == "as serial":
			return d.good(cell)
		}
		return cell
	}))
	d.say("")
	d.para(d.faint, "delays alone: the added delays on the critical path, without the tools' own work: the best in order takes a little longer. ÷ delays: time by that. peak: calls that ran at once. tree and results: the beginning of the SHA-256 of the whole copy, and of all results in the model's order.")
}

// verdict says what was proved, and fails if a promise was broken.
func (d *demo) verdict() error {
	serial := d.acts[0]
	var same, faults []string
	for i, r := range serial.results {
		switch {
		case r.IsError && i != d.turn.fails:
			faults = append(faults, fmt.Sprintf("call %d failed: %s", i+1, clean(r.Text())))
		case !r.IsError && i == d.turn.fails:
			faults = append(faults, fmt.Sprintf("call %d did not fail, as it must", i+1))
		}
	}
	for _, a := range d.acts {
		switch {
		case a.admission == "serial":
			if a.peak != 1 {
				faults = append(faults, fmt.Sprintf("serial ran %d calls at once", a.peak))
			}
			continue
		case a.peak < 2:
			faults = append(faults, a.admission+" never ran two calls at once")
		}
		if a.treeSum == serial.treeSum && a.resultSum == serial.resultSum {
			same = append(same, a.admission)
		} else if a.admission != "first-fit" {
			faults = append(faults, a.admission+" did not end as the serial run did")
		}
	}
	if d.duet != nil {
		faults = append(faults, d.duet.faults...)
	}
	if d.encore != nil {
		faults = append(faults, d.encore.faults...)
	}
	if d.solo != nil {
		faults = append(faults, d.solo.faults...)
	}
	d.say("")
	if faults != nil {
		for _, f := range faults {
			d.para(d.bad, "✗ %s", f)
		}
		return errFailed
	}
	d.para(d.good, "✓ %s ended exactly as the serial run did: the same files, the same %d results.", list(same), len(d.turn.calls))
	for _, a := range d.acts {
		if a.admission == "first-fit" && (a.treeSum != serial.treeSum || a.resultSum != serial.resultSum) {
			d.sayDifferences(a)
		}
	}
	if d.duet != nil {
		d.para(d.good, "%s", d.duet)
	}
	if d.encore != nil {
		d.para(d.good, "%s", d.encore)
	}
	if d.solo != nil {
		d.para(d.good, "%s", d.solo)
	}
	return nil
}

// sayDifferences says what first-fit made of the turn.
func (d *demo) sayDifferences(a act) {
	serial := d.acts[0]
	d.para(d.warm, "! first-fit did not, because it ran calls before others that they depend on:")
	b := &batch{calls: d.turn.calls}
	for _, i := range a.differences(serial) {
		d.say("  call %d  %s", i+1, clip(b.label(i), d.width-12))
		d.say("    in order   %s", d.good(clip(b.gist(i, serial.results[i]), d.width-16)))
		d.say("    first-fit  %s", d.bad(clip(b.gist(i, a.results[i]), d.width-16)))
	}
	if a.treeSum != serial.treeSum {
		d.say("  and its files came out different.")
	}
}

// times is how many times b goes into a.
func times(a, b time.Duration) string { return fmt.Sprintf("%.2f×", float64(a)/float64(b)) }

// list is "a, b and c".
func list(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}

// differences are the calls whose results are not those of other.
func (a act) differences(other act) (calls []int) {
	for i, r := range a.results {
		if resultsDigest([]tool.Result{r}) != resultsDigest([]tool.Result{other.results[i]}) {
			calls = append(calls, i)
		}
	}
	return calls
}

// resultsDigest is a digest of results and their order.
func resultsDigest(results []tool.Result) string {
	text, err := json.Marshal(results)
	if err != nil {
		text = []byte(err.Error()) // a result holds JSON that was checked
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
