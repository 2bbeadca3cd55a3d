package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// An encore is what came of an agent with a log, and of that log when its end was cut off.
type encore struct {
	log     string
	cut     *harness.TornError
	before  int         // whole records
	want    []tool.Code // what a resume has to make of the calls in those
	closed  []harness.ToolResult
	results []tool.Result // of the calls of the first step, in the whole log
	faults  []string
}

// String says it for people.
func (e *encore) String() string {
	return fmt.Sprintf("✓ An agent kept a log. Cut off in its %s record, while a call ran, and resumed, it has one result "+
		"for each call; to resume it again changes nothing.", ordinal(e.before+1))
}

func ordinal(n int) string {
	suffix := "th"
	if n/10%10 != 1 {
		suffix = []string{"th", "st", "nd", "rd", "th", "th", "th", "th", "th", "th"}[n%10]
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

// script is what the user and the model say: an edit, a read beside it, and one that has to wait for the edit.
func (e *encore) script(texts []sourceFile) []scriptLine {
	a, b := texts[0], texts[1]
	old := a.onlyOnce(2)[0]
	var t turn
	t.add(82, "edit", map[string]any{"path": a.path, "old": old, "new": old + " (edited by an agent)"})
	t.add(31, "read", map[string]any{"path": b.path})
	t.add(43, "read", map[string]any{"path": a.path})
	return []scriptLine{
		{who: "user", text: "Mark a line, and check it."},
		{who: model, delay: 37 * time.Millisecond, takes: t.latency, message: harness.AssistantMessage{
			Content: tool.Text("I do, and look around meanwhile.").Content, Calls: t.calls,
		}},
		{who: model, delay: 33 * time.Millisecond, message: harness.AssistantMessage{Content: tool.Text("It is marked.").Content}},
	}
}

// runEncore has an agent led over a copy of the tree, shows what its log says, cuts that off where a kill would, and
// shows what a resume makes of it.
func (d *demo) runEncore(ctx context.Context) error {
	dir, err := d.copy(ctx, "session")
	if err != nil {
		return err
	}
	b := &batch{source: "demo"}
	closeTools, err := b.openTools(dir)
	if err != nil {
		return err
	}
	defer closeTools()
	e := &encore{log: filepath.Join(d.temp, "session.jsonl")}
	if err := e.lead(ctx, &play{lines: e.script(d.turn.texts)}, b); err != nil {
		return err
	}
	d.title("An agent, and what its log says of it")
	s := newStory(d.stdout, d.painter, false)
	for t, err := range harness.Turns(harness.ReadFile(e.log)) {
		if err != nil {
			return err
		}
		for _, c := range t.Steps[0].Calls {
			e.results = append(e.results, *c.Result)
		}
		_ = s.draw(t)
	}
	_ = s.w.Flush() // the output remembers that it could not be written
	if err := e.resume(ctx); err != nil {
		return err
	}
	d.say("")
	d.para(plain, "The same log, cut off in the midst of record %d, as a kill -9 leaves it, and resumed:", e.before+1)
	made := batch{}
	for _, l := range e.script(d.turn.texts) {
		made.calls = append(made.calls, l.message.Calls...)
	}
	for i, r := range e.closed {
		style, word := d.good, "kept: it had settled"
		if r.Result.Code != "" {
			style, word = d.warm, string(r.Result.Code)
		}
		d.say("    %d %s  %s", i+1, pad(made.label(i), min(40, d.width/3)), style(word))
	}
	e.judge()
	d.encore = e
	return nil
}

// lead leads the agent through the script.
func (e *encore) lead(ctx context.Context, p *play, b *batch) (err error) {
	session, err := harness.Open(e.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	p.agent, err = harness.NewAgent(ctx, p, &harness.Scheduler{
		Session: session, Tools: b.registry, Pipeline: &tool.Pipeline{Wrappers: []tool.Wrapper{p.slow}}, Drain: drain,
	})
	if err != nil {
		return err
	}
	return p.perform(ctx)
}

// resume cuts off a copy of the log in the record behind the outcome of the first call that has settled, and resumes it,
// twice.
func (e *encore) resume(ctx context.Context) error {
	data, err := os.ReadFile(e.log)
	if err != nil {
		return err
	}
	at := 0 // where the record begins
	for ev, err := range harness.Read(bytes.NewReader(data)) {
		if err != nil {
			return err
		}
		p, err := ev.Payload()
		if err != nil {
			return err
		}
		if slices.Contains(e.want, "") {
			at += len(ev.String()) / 2
			break
		}
		switch p := p.(type) {
		case harness.AssistantMessage:
			e.want = slices.Repeat([]tool.Code{tool.AbortedBeforeDispatch}, len(p.Calls))
		case harness.ToolCall:
			e.want[p.Index] = tool.Interrupted
		case harness.ToolSettle:
			e.want[p.Index] = ""
		}
		at += len(ev.String()) + 1
		e.before++
	}
	if ctx.Err() != nil { // nothing is made any more
		return context.Cause(ctx)
	}
	cut := e.log + ".cut"
	if err := os.WriteFile(cut, data[:at], 0o600); err != nil {
		return err
	}
	for again := range 2 {
		session, err := harness.Open(cut)
		if err != nil {
			return err
		}
		closed, err := session.Resume(nil)
		if again == 0 {
			e.cut = session.Torn
		} else if len(closed) > 0 {
			e.faults = append(e.faults, "a second resume found something to do")
		}
		for _, p := range closed {
			if r, ok := p.(harness.ToolResult); ok {
				e.closed = append(e.closed, r)
			}
		}
		if err = errors.Join(err, session.Close()); err != nil {
			return err
		}
	}
	return nil
}

// judge finds what is not as it has to be.
func (e *encore) judge() {
	got := make([]tool.Code, 0, len(e.want))
	for _, r := range e.closed {
		got = append(got, r.Result.Code)
	}
	if !slices.Equal(e.want, got) || e.cut == nil {
		e.faults = append(e.faults, fmt.Sprintf("the resume of a log that was cut off gave %q, and not %q", got, e.want))
	}
	for i, r := range e.results {
		if r.IsError {
			e.faults = append(e.faults, fmt.Sprintf("call %d of the agent failed: %s", i+1, clean(r.Text())))
		}
	}
	if len(e.results) != len(e.want) {
		e.faults = append(e.faults, "the log of the agent does not have its calls")
	}
}
