package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

type agentCommand struct {
	Script string `required:"" placeholder:"FILE" help:"What the user and the model say, as JSON: see above; - is the standard input."`
	toolFlags
	Log         string `placeholder:"FILE" help:"The log of the session. One that is there already is resumed. Default: none is kept."`
	Admission   string `aliases:"admit" enum:"waves,first-fit,keyed,rolling,serial" default:"waves" help:"What decides which call may start: ${enum}."`
	Limit       int    `default:"${agentlimit}" help:"How many calls may run at once."`
	Durability  string `enum:"always,batch,none" default:"always" help:"When the log is synced to disk: before going on, within 10 ms, or not until it is closed: ${enum}."`
	MaxSteps    int    `placeholder:"N" help:"How many steps a turn may have."`
	MaxFailures int    `placeholder:"N" help:"How often in a row the same call may fail before the turn ends."`
	Ask         string `enum:"never,changes,always" default:"never" help:"Which calls to ask about on the terminal: ${enum}. changes are those that write, or may."`
	Full        bool   `help:"Print texts whole, not their first lines."`
	Quiet       bool   `short:"q" help:"Show no progress."`
}

func (c *agentCommand) Help() string {
	return `Leads an agent as a host does, with a script in place of a model. Its calls work on the files below --dir, and change them. What is
said, and each result in the model's order, goes to the standard output, as "keywave log" shows it; the progress to the standard error.

A script is JSON objects, one after the other or in one array. A user says something, which begins a turn; the model answers, and
again with the results of its calls, until it makes none:

  {"user": "Make the greeting louder, and check it."}
  {"text": "I do.", "calls": [{"name": "edit", "arguments": {"path": "a.txt", "old": "hello", "new": "HELLO"}},
                              {"name": "read", "arguments": {"path": "a.txt"}}], "delayMs": 500, "takesMs": [2000, 300]}
  {"steer": "Be quick about it."}
  {"text": "It says HELLO."}

(This one wants a file a.txt in --dir that says hello.)

A call may also be of run_code, with a program that calls the tools itself: see "keywave run --help". With --ask changes it is its
calls that are asked about.

A message of the model may also be one of OpenAI's or Anthropic's, as in a batch for "keywave run". "delayMs" is how long it takes to
answer, "takesMs" how long each of its calls waits, once it has started, before it does its work. A steer behind a message is told while its calls run, and the model gets it with
its next request; {"inject": "..."} is the same, but alone no reason for one.

Kill it at any time, with kill -9 too, and start it again with the same --log and --script. It says what was open and is closed:
results that were there are kept, a call that ran is INTERRUPTED, one that did not is ABORTED_BEFORE_DISPATCH. Nothing runs
again by itself. Then it goes on where the script was; where that is at the model, the user says "Go on.". The place is found by
what the log says: a script of which it has nothing is performed from its beginning, and one that is over is over.

Ctrl-C (or SIGTERM, SIGHUP) cancels the turn: no call starts any more, those that run are told to stop, and the results say what
became of each. A second one leaves at once, as kill -9 does.

Exit codes: 1 a call failed, or a limit was reached; 2 also when the script is over too soon or the log cannot be written.`
}

func (c *agentCommand) Validate() error {
	switch {
	case c.Limit < 1:
		return fmt.Errorf("--limit is %d: at least one call must be able to run", c.Limit)
	case c.MaxSteps < 0:
		return fmt.Errorf("--max-steps is %d: want a positive number", c.MaxSteps)
	case c.MaxFailures < 0:
		return fmt.Errorf("--max-failures is %d: want a positive number", c.MaxFailures)
	case c.Ask != "never" && c.Script == standardInput:
		return errors.New("--ask needs the standard input for the answers: give the script as a file")
	}
	return nil
}

var durabilities = map[string]harness.Durability{"always": harness.SyncAlways, "batch": harness.SyncBatch, "none": harness.SyncNone}

func (c *agentCommand) Run(ctx context.Context, h host) (err error) {
	data, source, err := read(ctx, h.stdin, c.Script)
	if err != nil {
		return err
	}
	lines, err := parseScript(data)
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	b := &batch{source: source}
	closeTools, err := b.openTools(c.Dir, h.tools...)
	if err != nil {
		return err
	}
	defer closeTools()
	closePrograms, err := c.present(h, c.Admission, b)
	if err != nil {
		return err
	}
	defer closePrograms()

	l := newLead(h, b, c.Full, c.Quiet)
	p := &play{lines: lines}
	l.scheduler = &harness.Scheduler{
		Tools: b.tools, Pipeline: &tool.Pipeline{Wrappers: []tool.Wrapper{p.slow}, Listeners: b.nest.listeners()}, Admission: admissions[c.Admission],
		Limit: func() (int, error) { return c.Limit, nil }, Drain: drain, Durability: durabilities[c.Durability], Timeline: l.timeline,
	}
	if c.Ask != "never" {
		l.scheduler.Pipeline.Policies = []tool.Policy{c.policy}
		l.scheduler.Pipeline.Prompter = &tool.Prompter{Approver: l}
	}
	if err := l.open(c.Log); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.scheduler.Session.Close()) }()
	if p.agent, err = harness.NewAgent(ctx, p, l.scheduler); err != nil {
		return err
	}
	p.agent.MaxSteps, p.agent.MaxFailures = c.MaxSteps, c.MaxFailures
	messages, err := l.scheduler.Session.Messages()
	if err != nil {
		return err
	}
	p.rehearse(messages)
	l.resumed(p.at == len(lines))
	return l.follow(ctx, p.perform)
}

// policy asks about calls.
func (c *agentCommand) policy(_ context.Context, i *tool.Invocation) (tool.Verdict, error) {
	// Of a program the calls that it makes are asked about.
	if c.Ask == "changes" && (runsPrograms(*i) || !i.Planned.Exclusive() && !writes(i.Planned)) {
		return tool.Verdict{Action: tool.Allow}, nil
	}
	return tool.Verdict{Action: tool.Ask}, nil
}

// A lead shows what an agent does, while it does it.
type lead struct {
	host
	batch     *batch // the tools
	story     *story
	quiet     bool
	scheduler *harness.Scheduler

	mu      sync.Mutex
	events  []harness.Event  // that are to be told
	more    chan struct{}    // there are some
	running map[[2]int]*runs // by turn and step: what has calls, and is not told to the end

	// Of follow alone.
	progress  *progress // of the calls that run; nil: none do, or nobody is to see them
	runs      *runs     // they are of it
	failed    bool      // a call has
	questions chan question
}

// Runs are the calls of one step.
type runs struct {
	ends  []atomic.Int32 // by call: an ending
	times exec.Timeline
	begun time.Time // when they were about to start; zero: they were not
}

func newLead(h host, b *batch, full, quiet bool) *lead {
	return &lead{
		host: h, batch: b, quiet: quiet, story: newStory(h.stdout, h.paint(h.stdout), full),
		more: make(chan struct{}, 1), running: map[[2]int]*runs{}, questions: make(chan question),
	}
}

// A toldStore tells what it is given, when it has it.
type toldStore struct {
	harness.Store
	tell func([]harness.Event)
}

func (s toldStore) Append(events ...harness.Event) error {
	err := s.Store.Append(events...)
	if err == nil {
		s.tell(events)
	}
	return err
}

// open opens the session, and says what there is of it.
func (l *lead) open(path string) error {
	var store harness.Store = new(harness.Memory)
	var torn *harness.TornError
	if path != "" {
		f, err := harness.OpenFile(path)
		if err != nil {
			return err
		}
		store, torn = f, f.Torn
	}
	session, err := harness.New(toldStore{store, l.hear})
	if err != nil {
		return fmt.Errorf("open %s: %w", path, errors.Join(err, store.Close()))
	}
	l.scheduler.Session = session
	state := session.State()
	if begun := l.take(); torn == nil && begun != nil {
		l.hear(begun)
		return nil
	}
	if err := l.catchUp(session.Events(), state.Turn); err != nil {
		return errors.Join(err, session.Close())
	}
	say := func(format string, args ...any) {
		l.story.say(l.story.paint.bold, clean(fmt.Sprintf(format, args...)))
	}
	say("%s goes on after %s, %s.", path, count(int(l.story.events), "event"), count(state.Turn, "turn"))
	if torn != nil {
		say("Its end was torn: %s in line %d were not a whole record, and are cut off.", count(int(torn.Size), "byte"), torn.Line)
	}
	if state.InTurn || len(state.Open) > 0 {
		say("It was stopped in turn %d. What was open is closed, and nothing runs again:", state.Turn)
	}
	return nil
}

// catchUp has the story know what there is of a turn, without telling it.
func (l *lead) catchUp(events iter.Seq2[harness.Event, error], turn int) error {
	l.story.w.Reset(io.Discard)
	defer l.story.w.Reset(l.stdout)
	there, all := false, uint64(0)
	for e, err := range events {
		if err == nil && e.Type == harness.TypeTurnStart {
			var p harness.Payload
			p, err = e.Payload()
			start, _ := p.(harness.TurnStart)
			there = start.Turn == turn
		}
		if err == nil && (there || all == 0) {
			err = l.story.tell(e)
		}
		if err != nil {
			return err
		}
		all++
	}
	l.story.events = all
	return nil
}

// resumed says what the resume has closed.
func (l *lead) resumed(over bool) {
	l.tell()
	if over {
		l.story.say(l.story.paint.faint, "The script has been performed.")
	}
	_ = l.story.w.Flush() // the output remembers that it could not be written
	l.failed = false
}

// hear is told of events when they are recorded.
func (l *lead) hear(events []harness.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, events...)
	for _, e := range events {
		p, _ := e.Payload() // follow says what is wrong
		switch p := p.(type) {
		case harness.AssistantMessage:
			if len(p.Calls) > 0 {
				l.running[[2]int{p.Turn, p.Step}] = &runs{ends: make([]atomic.Int32, len(p.Calls))}
			}
		case harness.ToolSettle:
			l.end(p.Place, p.Result)
		case harness.ToolResult:
			l.end(p.Place, p.Result)
		}
	}
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// end notes how a call has ended.
func (l *lead) end(at harness.Place, r tool.Result) {
	of := l.running[[2]int{at.Turn, at.Step}]
	if of != nil { // else it was made in an earlier run
		of.ends[at.Index].Store(endingOf(r))
	}
}

func (l *lead) take() []harness.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	events := l.events
	l.events = nil
	return events
}

// timeline is asked before the calls of a step start.
func (l *lead) timeline(turn, step int) *exec.Timeline {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.running[[2]int{turn, step}]
	of.begun = time.Now()
	l.batch.nest.renew() // no two steps run at once
	return &of.times
}

// follow has the agent led, and shows what happens until that has ended.
func (l *lead) follow(ctx context.Context, perform func(context.Context) error) error {
	ended := make(chan error, 1)
	go func() { ended <- perform(ctx) }()
	tick := time.NewTicker(redraw)
	defer tick.Stop()
	over := make(chan struct{})
	defer close(over)
	var lines <-chan string
	for cancelled := ctx.Done(); ; {
		select {
		case err := <-ended:
			l.tell()
			l.rest()
			if err == nil && l.failed {
				err = errFailed
			}
			return err
		case <-l.more:
			l.tell()
		case <-tick.C:
			l.show(false)
		case q := <-l.questions:
			l.tell()
			if lines == nil {
				lines = readLines(l.stdin, over)
			}
			l.ask(q, lines)
		case <-cancelled:
			cancelled = nil
			const told = "interrupted: the running calls are told to stop; once more leaves at once"
			if l.progress != nil {
				l.progress.note(told)
				l.show(false)
			} else if !l.quiet {
				fmt.Fprintln(l.stderr, told)
			}
		}
	}
}

// tell tells what there is to be told.
func (l *lead) tell() {
	events := l.take()
	if len(events) == 0 {
		return
	}
	if l.plain() { // what has started or ended comes first
		l.show(false)
	}
	for _, e := range events {
		p, err := e.Payload()
		if err == nil {
			l.note(p)
			err = l.story.tell(e)
		}
		if err != nil { // which only a log could hold that this program has not written
			l.story.say(l.story.paint.bad, clean(err.Error()))
		}
		if m, ok := p.(harness.AssistantMessage); ok && len(m.Calls) > 0 {
			l.watch(m)
		}
	}
	if l.story.w.Buffered() > 0 {
		l.clear()
		_ = l.story.w.Flush() // the output remembers that it could not be written
	}
	l.show(false)
}

// note looks at an event for what the progress has to know.
func (l *lead) note(p harness.Payload) {
	switch p := p.(type) {
	case harness.ToolResult:
		l.failed = l.failed || p.Result.IsError
	case harness.StepEnd:
		l.rest()
		l.mu.Lock()
		delete(l.running, [2]int{p.Turn, p.Step})
		l.mu.Unlock()
	case harness.TurnEnd:
		l.rest()
	}
}

// watch begins the progress of the calls of a message.
func (l *lead) watch(m harness.AssistantMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs = l.running[[2]int{m.Turn, m.Step}]
	if l.quiet {
		return
	}
	b := *l.batch
	b.calls = m.Calls
	l.progress = l.host.watch(l.stderr, &b)
	l.progress.still = l.progress.screen != nil // the story says it all
}

// show shows the progress; when the step is over all that is known of it.
func (l *lead) show(over bool) {
	if l.progress == nil {
		return
	}
	l.mu.Lock()
	begun := l.runs.begun
	l.mu.Unlock()
	s := snapshot{spans: l.runs.times.Snapshot(), ends: l.runs.ends, now: time.Since(begun), broods: l.batch.nest.broods(begun)}
	if len(s.spans) == len(s.ends) && (over || !l.plain() || s.whole()) { // else they are still being submitted, or settled
		l.progress.show([]snapshot{s})
	}
}

// whole reports whether it is known how each call has ended that has: what made room is to be told before what came in.
func (s snapshot) whole() bool {
	for i, span := range s.spans {
		if _, _, ok := s.ended(i); span.Settled >= 0 && !ok || !s.broods[i].whole() {
			return false
		}
	}
	return true
}

// plain reports whether the progress is lines that stay.
func (l *lead) plain() bool { return l.progress != nil && l.progress.screen == nil }

// rest ends the progress.
func (l *lead) rest() {
	l.batch.nest.wait()
	if l.plain() {
		l.show(true)
	}
	l.clear()
	l.progress = nil
}

// clear takes the live lines off the screen.
func (l *lead) clear() {
	if l.progress != nil && l.progress.screen != nil && len(l.progress.screen.last) > 0 {
		l.progress.end()
	}
}
