package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/tool"
)

type runCommand struct {
	Batch string `arg:"" optional:"" help:"${batch}"`
	toolFlags
	Agents      sources `sep:"none" placeholder:"BATCH ..." help:"Run several batches at once, each as an agent that is named after its file."`
	Admission   string  `enum:"waves,first-fit,keyed,rolling,serial" default:"waves" help:"What decides which call may start: ${enum}."`
	Limit       int     `default:"${limit}" help:"How many calls may run at once, of each agent."`
	SharedLimit *int    `placeholder:"N" help:"How many calls of all agents together may run at once."`
	JSON        bool    `name:"json" help:"Print one JSON document for a program."`
	Full        bool    `help:"Print results whole, not their first lines."`
	Quiet       bool    `short:"q" help:"Show no progress."`
}

func (c *runCommand) Help() string {
	return `The calls work on the files below --dir, and change them; "keywave tools" lists what they can do. Progress goes to the standard error: in place on a
terminal, else a line for each call that starts or ends. The results go to the standard output, in the model's order.

Ctrl-C (or SIGTERM, SIGHUP) cancels: no call starts any more, those that run are told to stop, and the results say what became
of each. A second one leaves at once.

Admissions: waves runs the plan of "keywave plan", wave by wave; keyed starts a call as soon as every earlier call that
it conflicts with has ended; rolling lets only calls that change nothing overlap; serial runs one after another. All of
these end as a serial run would. first-fit runs the waves of "keywave plan --first-fit", which may not.

A call of run_code runs a program, in TypeScript, that calls the tools itself, one by one or several at once:

  {"name": "run_code", "arguments": {"description": "what is in it", "code": "return await tools.list({})"}}

What it calls is shown within it: 2.1 is the first call that call 2 has made. Its calls keep the order of those that conflict, and
start as soon as nothing is in their way; under rolling or serial by that. It runs in a process of its own, which reaches nothing
but the tools, and may take a minute, of which 10 s are for what it computes itself, and make 200 calls: then it is
stopped, and what its calls have done stays. "keywave tools --code code --format json" is what a model is told of it.

--agents A.json B.json runs the turns of several agents at once. Each has its admission and its limit to itself; what they
share is a Domain, of which a call takes all that it claims before it runs, or waits for the calls of other agents that have it.
So no two calls that conflict overlap, whosever they are; one that is not known to be safe, and does not say what it touches,
runs alone among all. The files end up as if all calls had run one after another, in some order. The results of each agent are
shown in the order of the agents, and last what they waited for each other.

--json prints {"admission", "limit", "interrupted", "wallMs", "calls": [{"index", "id", "name", "code", "isError", "text",
"value", "startedMs", "settledMs", "committedMs", "waits": [{"for", "call", "lane", "ms"}]}]}, the calls in the model's order
and counted from 0. "code" is absent when the result is the tool's own, "startedMs" when the call never ran. Times count from
the start; a wait is for a claim, a barrier, the order or a wave of another call, for the lane, a permit or the commit, or,
with --agents, for the domain: "lane" then names the agent whose "call" it waited for. A call of run_code has a member "calls",
with the calls of its program that have started; a wait in there is for a call of the same program.

With --agents it is {"sharedLimit", "interrupted", "wallMs", "agents": [{"name", "admission", ...}]}, where each agent has the
members that a single batch has. "sharedLimit" is absent when there is none.`
}

func (c *runCommand) Validate() error {
	switch {
	case c.Limit < 1:
		return fmt.Errorf("--limit is %d: at least one call must be able to run", c.Limit)
	case c.SharedLimit != nil && *c.SharedLimit < 1:
		return fmt.Errorf("--shared-limit is %d: at least one call must be able to run", *c.SharedLimit)
	case c.Agents == nil && c.Batch == "":
		return errors.New(`expected "<batch>", or several with --agents`)
	case c.Agents == nil && c.SharedLimit != nil:
		return errors.New("--shared-limit is for --agents: a single batch has --limit")
	case c.Agents != nil && c.Batch != "":
		return fmt.Errorf("--agents names all batches: %s must stand behind it, too", c.Batch)
	case c.Agents.stdins() > 1:
		return fmt.Errorf("--agents names the standard input %d times: it can be read once", c.Agents.stdins())
	}
	return nil
}

func (c *runCommand) Run(ctx context.Context, h host) error {
	from := c.Agents
	if from == nil {
		from = sources{c.Batch}
	}
	batches, closeTools, err := c.open(ctx, h, c.Admission, from...)
	if err != nil {
		return err
	}
	defer closeTools()
	pf := performer{admission: c.Admission, limit: c.Limit}
	for i, name := range c.Agents.names() {
		batches[i].agent = name
	}
	if c.SharedLimit != nil {
		pf.shared = *c.SharedLimit
	}
	if !c.Quiet {
		pf.progress = h.watch(h.stderr, batches...)
	}
	done, err := pf.perform(ctx, batches...)
	if err != nil {
		return err
	}
	if err := c.show(h, done); err != nil {
		return err
	}
	failed := false
	for _, d := range done {
		if d.interrupted {
			return errInterrupted
		}
		failed = failed || slices.ContainsFunc(d.results, func(r tool.Result) bool { return r.IsError })
	}
	if failed {
		return errFailed
	}
	return nil
}

// show prints what came of it all.
func (c *runCommand) show(h host, done []performance) error {
	most := 20
	if c.Full {
		most = math.MaxInt
	}
	width, _, _ := h.stdout.shape()
	switch {
	case c.JSON && c.Agents != nil:
		return writeJSON(h.stdout, c.agentsJSON(done))
	case c.JSON:
		return writeJSON(h.stdout, c.json(done[0]))
	case c.Agents != nil:
		fmt.Fprint(h.stdout, agentsText(done, width, most, h.paint(h.stdout)))
	default:
		fmt.Fprint(h.stdout, done[0].text(width, most, h.paint(h.stdout)))
	}
	return nil
}

// text shows the results in the model's order, of each at most so many lines.
func (done performance) text(width, most int, p painter) string {
	if len(done.results) == 0 {
		return done.none()
	}
	var out strings.Builder
	numbers := len(strconv.Itoa(len(done.results)))
	for i, r := range done.results {
		mark, style := "✓", p.good
		if r.IsError {
			mark, style = "✗", p.bad
		}
		head := fmt.Sprintf("%s %*d  %s", mark, numbers, i+1, done.label(i))
		if r.Code != "" {
			head += "  " + string(r.Code)
		}
		if took, ok := done.took(i); ok {
			head += "  " + short(took)
		}
		out.WriteString(style(head) + "\n")
		out.WriteString(done.within(i, width, most, p))
		lines := cleanLines(r.Text())
		for _, line := range lines[:min(most, len(lines))] {
			if most != math.MaxInt {
				line = clip(line, width-4)
			}
			out.WriteString(strings.TrimRight("    "+line, " ") + "\n")
		}
		if more := len(lines) - most; more > 0 {
			out.WriteString(p.faint(fmt.Sprintf("    … %s", count(more, "more line"))) + "\n")
		}
	}
	fmt.Fprintf(&out, "%s: %s, in %s\n", count(len(done.results), "call"), tally(done.results), short(done.wall))
	return out.String()
}

// within shows what the program of call i has called, of that at most so many calls.
func (done performance) within(i, width, most int, p painter) string {
	brood := done.broods[i]
	if brood == nil {
		return ""
	}
	var out strings.Builder
	say := func(style func(string) string, text string) {
		if most != math.MaxInt {
			text = clip(text, width-6)
		}
		out.WriteString("    " + p.faint("│") + " " + style(text) + "\n")
	}
	made := batch{calls: brood.calls, root: done.root, within: fmt.Sprintf("%d.", i+1)}
	shown, more := 0, 0
	for n, r := range brood.results {
		if r == nil {
			continue // it was never started
		}
		if shown == most {
			more++
			continue
		}
		shown++
		mark, style := "✓", p.good
		if r.IsError {
			mark, style = "✗", p.bad
		}
		head := fmt.Sprintf("%s %s%d  %s", mark, made.within, n+1, made.label(n))
		if r.Code != "" {
			head += "  " + string(r.Code)
		}
		if span := brood.spans[n]; span.Started >= 0 {
			head += "  " + short(span.Settled-span.Started) + made.waited(span)
		}
		say(style, head)
		if r.IsError || most == math.MaxInt {
			for _, line := range cleanLines(r.Text())[:1] {
				say(plain, "  "+line)
			}
		}
	}
	if more > 0 {
		say(p.faint, fmt.Sprintf("… %s", count(more, "more call")))
	}
	return out.String()
}

// tally counts results by what happened, for people.
func tally(results []tool.Result) string {
	var e endings
	for _, r := range results {
		e.add(r)
	}
	return e.String()
}

// The words for what becomes of calls.
var endingWords = []string{"done", "failed", "refused", "interrupted", "aborted", "abandoned", "not run"}

// ending is what became of a call, in a word.
func ending(r tool.Result) string {
	switch {
	case !r.IsError:
		return "done"
	case r.Code == tool.Interrupted:
		return "interrupted"
	case r.Code == tool.Aborted:
		return "aborted"
	case r.Code == tool.Abandoned:
		return "abandoned"
	case r.Code == tool.AbortedBeforeDispatch:
		return "not run"
	case !r.Code.MayHaveRun():
		return "refused"
	}
	return "failed"
}

// Endings are how many calls ended in which way.
type endings map[string]int

func (e *endings) add(r tool.Result) {
	if *e == nil {
		*e = endings{}
	}
	(*e)[ending(r)]++
}

func (e endings) sum() (n int) {
	for _, of := range e {
		n += of
	}
	return n
}

func (e endings) String() string {
	var parts []string
	for _, word := range endingWords {
		if n := e[word]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, word))
		}
	}
	return strings.Join(parts, ", ")
}

// took is how long the body of call i ran.
func (done performance) took(i int) (time.Duration, bool) {
	if i >= len(done.spans) || done.spans[i].Started < 0 {
		return 0, false
	}
	return done.spans[i].Settled - done.spans[i].Started, true
}

type runJSON struct {
	Admission   string     `json:"admission"`
	Limit       int        `json:"limit"`
	Interrupted bool       `json:"interrupted"`
	WallMs      float64    `json:"wallMs"`
	Calls       []doneJSON `json:"calls"`
}

type doneJSON struct {
	Index       int             `json:"index"`
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Code        tool.Code       `json:"code,omitempty"`
	IsError     bool            `json:"isError"`
	Text        string          `json:"text"`
	Value       json.RawMessage `json:"value,omitempty"`
	StartedMs   *float64        `json:"startedMs,omitempty"`
	SettledMs   float64         `json:"settledMs"`
	CommittedMs float64         `json:"committedMs"`
	Waits       []waitJSON      `json:"waits"`
	Calls       []doneJSON      `json:"calls,omitempty"` // of its program
}

type waitJSON struct {
	For  string  `json:"for"`
	Call *int    `json:"call,omitempty"`
	Lane string  `json:"lane,omitempty"`
	Ms   float64 `json:"ms"`
}

func (c *runCommand) json(done performance) runJSON {
	out := runJSON{c.Admission, c.Limit, done.interrupted, milliseconds(done.wall), []doneJSON{}}
	for i, r := range done.results {
		call := callDone(done.calls[i], r, done.spans[i], done.begun)
		call.Index = i
		if brood := done.broods[i]; brood != nil {
			for n, r := range brood.results {
				if r == nil {
					continue // it was never started
				}
				made := callDone(brood.calls[n], *r, brood.spans[n], brood.begun)
				made.Index = n
				call.Calls = append(call.Calls, made)
			}
		}
		out.Calls = append(out.Calls, call)
	}
	return out
}

func callDone(c tool.Call, r tool.Result, s exec.Span, begun time.Duration) doneJSON {
	at := func(t time.Duration) float64 { return milliseconds(begun + t) }
	call := doneJSON{
		ID: c.ID, Name: c.Name, Code: r.Code, IsError: r.IsError, Text: r.Text(), Value: r.Value,
		SettledMs: at(s.Settled), CommittedMs: at(s.Committed), Waits: []waitJSON{},
	}
	if s.Started >= 0 {
		ms := at(s.Started)
		call.StartedMs = &ms
	}
	for _, w := range joined(s.Waits) {
		wait := waitJSON{For: w.For.String(), Lane: w.Lane, Ms: milliseconds(w.To - w.From)}
		if w.Call >= 0 {
			wait.Call = &w.Call
		}
		call.Waits = append(call.Waits, wait)
	}
	return call
}

// joined makes one of waits that follow one another for the same thing.
func joined(waits []exec.Wait) (all []exec.Wait) {
	for _, w := range waits {
		if n := len(all); n > 0 && all[n-1].For == w.For && all[n-1].Call == w.Call && all[n-1].Lane == w.Lane {
			all[n-1].To = w.To
		} else {
			all = append(all, w)
		}
	}
	return all
}

// milliseconds keeps the microseconds.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// bars are the rows of a timeline.
func (done performance) bars(label func(i int) string) []bar {
	bars := make([]bar, len(done.spans))
	for i, s := range done.spans {
		bars[i] = bar{label: fmt.Sprintf("%2d %s", i+1, label(i)), from: s.Submitted, start: s.Started, settle: s.Settled, commit: s.Committed, note: s.End.String()}
		if s.End == exec.EndReturned {
			bars[i].note = short(s.Settled - s.Started)
		}
	}
	return bars
}

// nestedBars are the rows of a timeline of call i and of what its program has called.
func (done performance) nestedBars(i int) []bar {
	bars := done.bars(done.label)[i : i+1]
	brood := done.broods[i]
	if brood == nil {
		return bars
	}
	made := performance{batch: &batch{calls: brood.calls}, spans: brood.spans}
	for n, b := range made.bars(made.label) {
		for _, t := range []*time.Duration{&b.from, &b.start, &b.settle, &b.commit} {
			if *t >= 0 {
				*t += brood.begun - done.begun
			}
		}
		b.label = fmt.Sprintf("   %d.%d %s", i+1, n+1, made.label(n))
		bars = append(bars, b)
	}
	return bars
}
