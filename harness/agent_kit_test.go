package harness_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

type ctx = context.Context

// admissions are those that a scheduler may be given.
var admissions = []struct {
	name string
	open func() plan.Admission
}{
	{"serial", plan.NewSerial}, {"rolling", plan.NewRolling}, {"waves", plan.NewWaves}, {"keyed", plan.NewKeyed},
	{"first-fit", plan.NewFirstFit},
}

var errStop = errors.New("the user pressed stop")

// A script of a call's body, which a test gives a tool.
type body func(c ctx) (string, error)

// free is a tool without arguments whose calls may overlap all others.
func free(name string, b body) *tool.Definition {
	return define(tool.Spec[struct{}, string]{
		Name: name, Safe: func(struct{}) bool { return true },
		Body: func(c ctx, _ struct{}) (string, error) { return b(c) },
	})
}

// alone is one whose calls run alone.
func alone(name string, b body) *tool.Definition {
	return define(tool.Spec[struct{}, string]{Name: name, Body: func(c ctx, _ struct{}) (string, error) { return b(c) }})
}

// define is Define for declarations that are known to be good.
func define[In, Out any](spec tool.Spec[In, Out]) *tool.Definition {
	d, err := tool.Define(spec)
	if err != nil {
		panic(err)
	}
	return d
}

// takes is a body that works for a while, unless it is cancelled.
func takes(d time.Duration) body {
	return func(c ctx) (string, error) { return "done", rest(c, d) }
}

// rest waits, and returns the cause if c is done earlier.
func rest(c ctx, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-c.Done():
		return context.Cause(c)
	}
}

func text(s string) tool.Block { return tool.Block{Text: s} }

// say is a message without calls.
func say(s string) harness.AssistantMessage {
	return harness.AssistantMessage{Content: []tool.Block{text(s)}}
}

// call is a message that calls tools without arguments. The calls have the ids c1, c2, ...
func call(names ...string) (m harness.AssistantMessage) {
	for i, name := range names {
		m.Calls = append(m.Calls, tool.Call{ID: fmt.Sprint("c", i+1), Name: name, Arguments: "{}"})
	}
	return m
}

// A host is an agent and what it works on.
type host struct {
	*harness.Scheduler
	agent    *harness.Agent
	store    *harness.Memory
	requests []harness.Request
	changes  []harness.Status
	on       func(n int) // called with the number of each request, from 1; nil: nothing
}

// newHost returns a host whose model says the messages, and then that it is done.
func newHost(t require.TestingT, tools []*tool.Definition, messages ...harness.AssistantMessage) *host {
	h := &host{store: new(harness.Memory)}
	r := new(tool.Registry)
	require.NoError(t, r.Register(tools...))
	h.Scheduler = &harness.Scheduler{Session: open(t, h.store), Tools: r, Pipeline: new(tool.Pipeline), Durability: harness.SyncNone}
	h.agent = h.lead(t, context.Background(), messages...)
	return h
}

// lead makes an agent with such a model over the host's scheduler.
func (h *host) lead(t require.TestingT, c ctx, messages ...harness.AssistantMessage) *harness.Agent {
	script := harness.Script(append(slices.Clone(messages), slices.Repeat([]harness.AssistantMessage{say("that is all")}, 100)...))
	a, err := harness.NewAgent(c, harness.ModelFunc(func(c ctx, r harness.Request) (harness.AssistantMessage, error) {
		h.requests = append(h.requests, r)
		if h.on != nil {
			h.on(len(h.requests))
		}
		return script.Generate(context.WithoutCancel(c), r)
	}), h.Scheduler)
	require.NoError(t, err)
	a.Changed = func(s harness.Status) { h.changes = append(h.changes, s) }
	return a
}

// run has the agent do one thing, and waits until it is idle.
func (h *host) run(t require.TestingT) {
	require.NoError(t, h.agent.Followup(text("go")))
	h.wait(t)
}

func (h *host) wait(t require.TestingT) {
	require.NoError(t, h.agent.WhenIdle(context.Background()))
}

// last is how the last turn ended.
func (h *host) last() harness.EndReason { return h.agent.Status().Last.Reason }

// sound fails the test unless the log is one in which nothing is open, and the messages of it are such that a provider
// takes them.
func (h *host) sound(t require.TestingT) {
	require.NoError(t, check(logOf(t, h.Session)))
	messages, err := h.Session.Messages()
	require.NoError(t, err)
	require.NoError(t, accept(messages))
}

// story is the log in short: an event a line, calls by their number.
func story(t require.TestingT, s *harness.Session, types ...string) (lines []string) {
	for _, e := range logOf(t, s) {
		if l := brief(payload(t, e)); l != "" && (len(types) == 0 || slices.Contains(types, e.Type)) {
			lines = append(lines, l)
		}
	}
	return lines
}

// brief is an event in short; empty, if it is of no interest.
func brief(p harness.Payload) string {
	switch p := p.(type) {
	case harness.ToolCall:
		if p.NotStarted {
			return fmt.Sprintf("not started %d", p.Index+1)
		}
		return fmt.Sprintf("call %d", p.Index+1)
	case harness.ApprovalAsk:
		return fmt.Sprintf("ask %d", p.Index+1)
	case harness.ApprovalAnswer:
		return strings.TrimSpace(fmt.Sprintf("answer %d %s", p.Index+1, p.Code))
	case harness.ToolSettle:
		return strings.TrimSpace(fmt.Sprintf("settle %d %s", p.Index+1, p.Result.Code))
	case harness.ToolResult:
		return strings.TrimSpace(fmt.Sprintf("result %d %s", p.Index+1, p.Result.Code))
	case harness.Cancel:
		return "cancel"
	case harness.TurnEnd:
		return "end " + string(p.Reason)
	case harness.UserMessage:
		var said []string
		for _, b := range p.Content {
			said = append(said, b.Text)
		}
		return "user: " + strings.Join(said, " ")
	case harness.AssistantMessage:
		return "assistant"
	}
	return ""
}

// calls is what became of the calls, in the log.
func (h *host) calls(t require.TestingT) []string {
	return story(t, h.Session, harness.TypeToolCall, harness.TypeApprovalAsk, harness.TypeApprovalAnswer, harness.TypeToolSettle,
		harness.TypeToolResult, harness.TypeCancel)
}

// timed is what became of the calls, a line for each moment at which something did, counted from the first.
func (h *host) timed(t require.TestingT) (lines []string) {
	var start, last time.Time
	for _, e := range logOf(t, h.Session) {
		switch {
		case !strings.HasPrefix(e.Type, "tool/"):
			continue
		case start.IsZero():
			start = e.Time
			fallthrough
		case e.Time.After(last):
			lines = append(lines, fmt.Sprintf("%v: %s", e.Time.Sub(start), brief(payload(t, e))))
		default:
			lines[len(lines)-1] += ", " + brief(payload(t, e))
		}
		last = e.Time
	}
	return lines
}

// encoded are messages as JSON.
func encoded(t require.TestingT, messages []harness.Message) string {
	data, err := json.Marshal(messages)
	require.NoError(t, err)
	return string(data)
}

// A register notes what happens to bodies.
type register struct {
	mu     sync.Mutex
	start  time.Time
	lines  []string
	counts map[string]int
}

func newRegister() *register { return &register{start: time.Now(), counts: map[string]int{}} }

func (r *register) note(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what]++
	r.lines = append(r.lines, fmt.Sprintf("%v %s", time.Since(r.start), what))
}

func (r *register) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}
