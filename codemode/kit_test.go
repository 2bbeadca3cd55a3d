package codemode_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/codemode/js"
	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

func TestMain(m *testing.M) {
	js.Worker()
	goleak.VerifyTestMain(m)
}

type ctx = context.Context

var errBoom = errors.New("boom")

// A script is a program in Go, for a runtime that has no language. It ends at once when its context is done: each
// await is a look at that, as it is in an engine.
type script func(w *world) codemode.Outcome

func (s script) Info() codemode.Info { return codemode.Info{Language: "Go"} }

func (s script) Run(c ctx, source string, b codemode.Bindings, l codemode.Limits) (o codemode.Outcome, err error) {
	defer func() {
		if v := recover(); v == errStop {
			o = codemode.Outcome{Failure: codemode.Abort, Message: context.Cause(c).Error()}
		} else if thrown, ok := v.(*toolError); ok {
			o = codemode.Outcome{Failure: codemode.Exception, Message: thrown.Error()}
		} else if v != nil {
			panic(v)
		}
	}()
	return s(&world{ctx: c, source: source, Bindings: b, limits: l}), nil
}

var errStop = errors.New("stop")

// A world is what a script can reach.
type world struct {
	ctx    ctx
	source string
	codemode.Bindings
	limits codemode.Limits

	mu    sync.Mutex
	order []*promise // in which they were settled
}

// A promise is that of a call.
type promise struct {
	w       *world
	settled chan struct{}
	name    string
	value   json.RawMessage
	failure string
}

// A toolError is a ToolCallError.
type toolError struct{ toolName, message string }

func (e *toolError) Error() string { return e.message }

// call makes a call. Arguments are those of a string, or what encodes as JSON.
func (w *world) call(name string, arguments any) *promise {
	raw, ok := arguments.(string)
	if !ok {
		data, err := json.Marshal(arguments)
		if err != nil {
			panic(err)
		}
		raw = string(data)
	}
	p := &promise{w: w, settled: make(chan struct{}), name: name}
	var once sync.Once
	w.Call(name, json.RawMessage(raw), func(value json.RawMessage, failure string) {
		once.Do(func() {
			p.value, p.failure = value, failure
			w.mu.Lock()
			w.order = append(w.order, p)
			w.mu.Unlock()
			close(p.settled)
		})
	})
	return p
}

// try awaits the promise.
func (p *promise) try() (string, *toolError) {
	select {
	case <-p.settled:
	case <-p.w.ctx.Done():
		panic(errStop)
	}
	if p.w.ctx.Err() != nil {
		panic(errStop)
	}
	if p.failure != "" {
		return "", &toolError{p.name, p.failure}
	}
	return string(p.value), nil
}

// await awaits the promise, and throws if it rejects.
func (p *promise) await() string {
	v, err := p.try()
	if err != nil {
		panic(err)
	}
	return v
}

func (p *promise) done() bool {
	select {
	case <-p.settled:
		return true
	default:
		return false
	}
}

// sleep waits as setTimeout does.
func (w *world) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-w.ctx.Done():
		panic(errStop)
	}
}

// all awaits all promises, as Promise.all does.
func all(ps ...*promise) (values []string) {
	for _, p := range ps {
		values = append(values, p.await())
	}
	return values
}

// returns is the outcome of a program that returns a value.
func returns(v any) codemode.Outcome {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return codemode.Outcome{Value: data}
}

// A host has tools, and a session in which a model has called run_code.
type host struct {
	t        require.TestingT
	tools    tool.Tools
	pipeline *tool.Pipeline
	session  *harness.Session
	store    *harness.Memory
	*harness.Scheduler
}

func define[In, Out any](t require.TestingT, spec tool.Spec[In, Out]) *tool.Definition {
	d, err := tool.Define(spec)
	require.NoError(t, err)
	return d
}

func registry(t require.TestingT, defs ...*tool.Definition) *tool.Registry {
	r := new(tool.Registry)
	require.NoError(t, r.Register(defs...))
	return r
}

// newHost has a view of tools for a script.
func newHost(t require.TestingT, s script, tools tool.Tools, opts ...codemode.Option) *host {
	v, err := codemode.New(s, tools, opts...)
	require.NoError(t, err)
	h := &host{t: t, tools: v, pipeline: new(tool.Pipeline), store: new(harness.Memory)}
	h.session, err = harness.New(h.store)
	require.NoError(t, err)
	h.Scheduler = &harness.Scheduler{Session: h.session, Tools: v, Pipeline: h.pipeline}
	return h
}

// program is the call of run_code with which the model runs the script.
func program(id string) tool.Call {
	return tool.Call{ID: id, Name: codemode.Name, Arguments: `{"code":"script","description":"test"}`}
}

// step runs calls of the model, in the next turn.
func (h *host) step(c ctx, calls ...tool.Call) ([]tool.Result, error) {
	turn := h.session.State().Turn + 1
	m := harness.AssistantMessage{Turn: turn, Step: 1, Calls: calls}
	_, err := h.session.Append(harness.SyncNone, harness.TurnStart{Turn: turn}, harness.StepStart{Turn: turn, Step: 1}, m)
	require.NoError(h.t, err)
	results, err := h.Run(c, m)
	if h.session.State().InTurn && len(h.session.State().Open) == 0 {
		_, end := h.session.Append(harness.SyncNone, harness.StepEnd{Turn: turn, Step: 1}, harness.TurnEnd{Turn: turn, Reason: harness.EndDone})
		require.NoError(h.t, end)
	}
	return results, err
}

// run runs the program once, uncancelled.
func (h *host) run() tool.Result {
	results, err := h.step(context.Background(), program("c1"))
	require.NoError(h.t, err)
	return results[0]
}

// log lists the calls' events: "start c1:code:1 read", "end c1:code:1 ok", ...
func (h *host) log() (lines []string) {
	for e, err := range h.session.Events() {
		require.NoError(h.t, err)
		p, err := e.Payload()
		require.NoError(h.t, err)
		switch p := p.(type) {
		case harness.ToolCall:
			lines = append(lines, "call "+p.ID)
		case harness.ToolSettle:
			lines = append(lines, "settle "+how(p.Result))
		case harness.ToolResult:
			lines = append(lines, "result "+p.ID)
		case harness.CodeDispatchStart:
			lines = append(lines, fmt.Sprintf("start %s %s", p.ID, p.Name))
		case harness.CodeDispatch:
			lines = append(lines, fmt.Sprintf("end %s %s", p.ID, how(p.Result)))
		}
	}
	return lines
}

// nested is the log without the calls of the model.
func (h *host) nested() (lines []string) {
	for _, l := range h.log() {
		if strings.HasPrefix(l, "start ") || strings.HasPrefix(l, "end ") {
			lines = append(lines, l)
		}
	}
	return lines
}

func how(r tool.Result) string {
	switch {
	case r.Code != "":
		return string(r.Code)
	case r.IsError:
		return "error"
	}
	return "ok"
}

// in is the input of most tools here.
type in struct {
	Key string `json:"key,omitempty"`
	Ms  int    `json:"ms,omitempty"`
}

func isSafe(in) bool { return true }

func claims(a plan.Access) func(in) ([]plan.Claim, error) {
	return func(i in) ([]plan.Claim, error) {
		if i.Key == "" {
			return nil, nil
		}
		return []plan.Claim{{Key: i.Key, Access: a}}, nil
	}
}

// A journal notes what bodies do, and how many of them overlap.
type journal struct {
	mu      sync.Mutex
	start   time.Time
	lines   []string
	running int
	peak    int
}

func newJournal() *journal { return &journal{start: time.Now()} }

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf("%v ", time.Since(j.start))+fmt.Sprintf(format, args...))
}

func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]string(nil), j.lines...)
}

// body works for as long as it is told, unless it is cancelled, and returns its key.
func (j *journal) body(name string) func(ctx, in) (string, error) {
	return func(c ctx, i in) (string, error) {
		j.mu.Lock()
		j.running++
		j.peak = max(j.peak, j.running)
		j.mu.Unlock()
		j.add("%s %s", name, i.Key)
		defer func() {
			j.mu.Lock()
			j.running--
			j.mu.Unlock()
		}()
		select {
		case <-time.After(time.Duration(i.Ms) * time.Millisecond):
			j.add("%s %s done", name, i.Key)
			return i.Key, nil
		case <-c.Done():
			j.add("%s %s cancelled", name, i.Key)
			return "", context.Cause(c)
		}
	}
}

// tools are read, edit, which claim their key, and solo, which is exclusive; fail fails.
func (j *journal) tools(t require.TestingT) *tool.Registry {
	return registry(t,
		define(t, tool.Spec[in, string]{Name: "read", Safe: isSafe, Claims: claims(plan.Read), Body: j.body("read")}),
		define(t, tool.Spec[in, string]{Name: "edit", Safe: isSafe, Claims: claims(plan.Write), Body: j.body("edit")}),
		define(t, tool.Spec[in, string]{Name: "solo", Body: j.body("solo")}),
		define(t, tool.Spec[in, string]{Name: "fail", Safe: isSafe, Body: func(c ctx, i in) (string, error) {
			if _, err := j.body("fail")(c, i); err != nil {
				return "", err
			}
			return "", errBoom
		}}),
	)
}
