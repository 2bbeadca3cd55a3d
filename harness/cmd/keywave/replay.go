package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/keywave-go/keywave/bench/page"
	"github.com/keywave-go/keywave/bench/replay"
	"github.com/keywave-go/keywave/tool/rules"
)

type replayCommand struct {
	From    []string `arg:"" name:"from" help:"Transcripts, and directories with some in them; - is the standard input."`
	Limit   int      `default:"${limit}" help:"How many calls may run at once; 0: as many as the policy lets."`
	Rules   string   `placeholder:"FILE" help:"What tools declare, in front of what is known of the tools of well-known agents."`
	Format  string   `enum:"text,json,csv" default:"text" help:"How to print the figures: ${enum}."`
	HTML    string   `name:"html" placeholder:"FILE" help:"Write them as a page too, with batches drawn; - is the standard output, in place of the text."`
	Batches int      `default:"20" placeholder:"N" help:"How many batches to show for what they save (${default})."`
	Names   bool     `help:"Show what calls claim as the transcripts have it: paths, URLs, names. Without it no text of a transcript is shown."`
}

func (c *replayCommand) Help() string {
	return `Reads what coding agents have written of their sessions, and simulates the tool calls of each answer of a model under several policies: one by
one, as a rolling pool, keyed, and others; how long they take, and which calls in conflict would have run out of order. Nothing is run.
"go doc github.com/keywave-go/keywave/bench/sim Policies" tells the policies.

  keywave replay ~/.claude/projects --html report.html

Transcripts are known by what is in them: logs of keywave, of Claude Code, Codex, Copilot CLI, Gemini CLI, Pi and the DeepSeek
Harness, what "opencode export" writes, and lists of messages of OpenAI or Anthropic. In a directory all files that end in .jsonl,
.ndjson or .json are read, also below it; links in it are not followed. A transcript may be read while it is written. It takes memory
for a record at a time, however long it is.

What is simulated are the batches: answers with two calls or more. Each is simulated by itself, with the recorded times of its calls; what the
model took to answer, and answers with a single call, are in no time. How good the times are depends on the format, and is
told. Steps are rounds, and need no times.

What the calls claim is said by rules: of the tools of those agents, and of --rules, which is described by "go doc
github.com/keywave-go/keywave/tool/rules". A tool without a rule is exclusive: its calls run alone. Shell tools are, too. A rule
is for all calls of a tool, whatever command they run. These would have docs_search overlap everything, and Bash all that reads:

  {"rules": 1, "tools": {"docs_search": {"safe": true}},
   "agents": {"claude-code": {"Bash": {"safe": true, "reads": [{"tree": [], "default": "/"}]}}}}

Of what is in transcripts names of tools, types of records that are not known, and the one character at which a line is no
JSON, are all that is shown. With --names it is also what calls claim, in the batches of --format json and --html, and where calls are out
of order. Paths of transcripts are shown, too, and those of some agents hold the names of projects: look before you pass a report
on. Nothing is written but the page, and nothing is sent anywhere.

--format json prints one document, a Report: "go doc -all github.com/keywave-go/keywave/bench/replay" tells its members, and theirs.

--format csv prints a row for all batches (the scope is "total") and each session ("session"), under each policy: scope, session, file,
format, policy, ordered (it promises to keep the order of calls in conflict), limit, turns (answers with calls), batches, calls, timed (batches
with all times), steps, ms, bound_ms (what no policy that keeps the order can beat), saved_vs_serial_ms and saved_vs_rolling_ms (what it takes less than these),
waited (calls that the keyed pool kept back), inverted_batches, inverted_calls and inverted_pairs, which ran out of order, and
inverted_over_keys, the pairs of which neither call is exclusive. All but the total can be summed up. A name that a spreadsheet would take for a formula has a ' in front.

Exit codes: 0 done, whatever the transcripts are like: what could not be used of them is told; 2 if one that was named is not there, before
anything is read, if none can be read, or if the output or the page cannot be written; 130 interrupted: then nothing is
shown, and no page is written.`
}

func (c *replayCommand) Validate() error {
	stdins := 0
	for _, from := range append([]string{c.Rules}, c.From...) {
		if from == standardInput {
			stdins++
		}
	}
	switch {
	case c.Limit < 0:
		return fmt.Errorf("--limit is %d: it must be 0, for none, or more", c.Limit)
	case c.Batches < 0:
		return fmt.Errorf("--batches is %d: it must be 0 or more", c.Batches)
	case stdins > 1:
		return fmt.Errorf("the standard input is named %d times: it can be read once", stdins)
	case c.HTML == standardOutput && c.Format != "text":
		return fmt.Errorf("--html - and --format %s would both go to the standard output: name a file for one", c.Format)
	}
	return nil
}

// What the standard output is called on the command line.
const standardOutput = "-"

// mostInverted is how many batches with inversions are kept to be shown; the rest are counted.
const mostInverted = 200

func (c *replayCommand) Run(ctx context.Context, h host) error {
	err := c.replay(ctx, h)
	if errors.Is(err, errInterrupted) {
		fmt.Fprintln(h.stderr, "interrupted: what was read is not shown, and no page is written")
	}
	return err
}

func (c *replayCommand) replay(ctx context.Context, h host) error {
	declared, err := c.rules(ctx, h)
	if err != nil {
		return err
	}
	found, err := findTranscripts(ctx, h.stdin, c.From)
	if err != nil {
		return err
	}
	var file *wholeFile // of the page: whether it can be written is better known now than after a minute
	if c.HTML != "" && c.HTML != standardOutput {
		if file, err = h.create(c.HTML); err != nil {
			return err
		}
		defer file.discard()
		if found.seen[file.path] {
			return fmt.Errorf("%s is one of the transcripts: name another file for the page", c.HTML)
		}
		if c.Rules != "" && c.Rules != standardInput && realPath(c.Rules) == file.path && !file.direct {
			return fmt.Errorf("%s is the file of the rules: name another file for the page", c.HTML)
		}
	}
	reading := h.reading(found)
	r, err := replay.Run(ctx, found.sources, replay.Options{
		Limit: c.Limit, Rules: declared, Names: c.Names, Largest: c.Batches, Inverted: mostInverted, Progress: reading.tell,
	})
	reading.end()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !found.readable.Load():
		return found.unread()
	case err != nil:
		return err
	}
	r.Problems = append(found.problems, r.Problems...)
	if r.Problems == nil {
		r.Problems = []replay.Problem{} // a list, in JSON too
	}
	if c.HTML == standardOutput {
		if err := page.Write(h.stdout, r); err != nil {
			return fmt.Errorf("writing the output: %w", err)
		}
		return nil
	}
	if file != nil {
		err = file.fill(func(w io.Writer) error { return page.Write(writerWithin{ctx, w}, r) })
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	// Also if there is no page: the figures may have taken a minute.
	return errors.Join(err, c.show(h, r, err == nil))
}

// rules are what tools declare.
func (c *replayCommand) rules(ctx context.Context, h host) (*rules.Rules, error) {
	if c.Rules == "" {
		return rules.Default(), nil
	}
	in, source := input(ctx, h.stdin, c.Rules)
	defer in.Close()
	const most = 16 << 20
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	var named *fs.PathError
	switch {
	case errors.As(err, &named) || ctx.Err() != nil && err != nil:
		return nil, err // it names the file already
	case err != nil:
		return nil, fmt.Errorf("%s: %w", source, err)
	case len(data) > most:
		return nil, fmt.Errorf("%s: larger than %d MiB, which no file of rules is", source, most>>20)
	}
	r, err := rules.Parse(data)
	var at *rules.Error
	if errors.As(err, &at) {
		what := at.Err.Error()
		if at.Path != "" {
			what = at.Path + ": " + what
		}
		return nil, fmt.Errorf(`%s:%d:%d: %s ("go doc github.com/keywave-go/keywave/tool/rules" has the form of the file)`, source, at.Line, at.Column, what)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return r.Over(rules.Default()), nil
}

// show prints the figures. Whether they could be written is remembered by the output.
func (c *replayCommand) show(h host, r *replay.Report, paged bool) error {
	switch c.Format {
	case "json":
		return writeJSON(h.stdout, r)
	case "csv":
		_ = replayCSV(h.stdout, r)
	default:
		width, _, _ := h.stdout.shape()
		fmt.Fprint(h.stdout, replayText(r, c.Names, width, h.paint(h.stdout)))
		if c.HTML != "" && paged {
			fmt.Fprintf(h.stdout, "\nThe page with the batches drawn is %s.\n", clean(c.HTML))
		}
	}
	return nil
}
