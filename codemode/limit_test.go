package codemode_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/codemode/js"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// failure is the kind that a result of run_code has.
func failure(t require.TestingT, r tool.Result) codemode.Kind {
	var meta struct{ Failure codemode.Kind }
	require.NoError(t, json.Unmarshal(r.Meta, &meta))
	return meta.Failure
}

// Whatever the runtime lets pass: past the number of calls the program is ended, and cannot go on.
func TestC5Calls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		h := newHost(t, func(w *world) codemode.Outcome {
			require.Equal(t, 3, w.limits.Calls)
			for i := range 5 {
				_, _ = w.call("read", in{Key: fmt.Sprint(i)}).try()
			}
			t.Error("it goes on")
			return returns("done")
		}, j.tools(t), codemode.Limit(codemode.Limits{Calls: 3}))
		r := h.run()
		assert.Equal(t, tool.CodeRunFailed, r.Code)
		assert.Equal(t, codemode.CallLimit, failure(t, r))
		assert.Equal(t, "The program failed (call-limit): it has made 3 calls, which is as many as a program can make\nIt had made 3 calls, whose effects stay.", r.Text())
		assert.Len(t, h.nested(), 6)
	})
}

// The default is 200.
func TestC5CallsByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		h := newHost(t, func(w *world) codemode.Outcome {
			for i := range 201 {
				w.call("read", in{Key: fmt.Sprint(i)})
			}
			w.sleep(time.Hour)
			return returns("done")
		}, j.tools(t))
		assert.Equal(t, codemode.CallLimit, failure(t, h.run()))
	})
}

// A call whose arguments or value are too large fails alone, and says what to do.
func TestC5Payload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		h := newHost(t, func(w *world) codemode.Outcome {
			_, err := w.call("big", `{"n":1,"pad":"`+strings.Repeat("x", 1000)+`"}`).try()
			assert.EqualError(t, err, "it was not called: its arguments have 1016 bytes, and no more than 1000 can be handed over at once")
			assert.Zero(t, ran)
			_, err = w.call("big", `{"n":999}`).try()
			assert.EqualError(t, err, "tools.big ran, and its effect may have happened, but what it returned has 1001 bytes, and a program takes no more than 1000 at once: ask for less")
			return returns(len(w.call("big", `{"n":998}`).await()))
		}, registry(t, define(t, tool.Spec[map[string]any, string]{Name: "big", Body: func(_ ctx, i map[string]any) (string, error) {
			ran++
			n, err := i["n"].(json.Number).Int64()
			return strings.Repeat("x", int(n)), err
		}})), codemode.Limit(codemode.Limits{Payload: 1000}))
		assert.Equal(t, "1000", h.run().Text())
		assert.Equal(t, []string{"start c1:code:1 big", "end c1:code:1 ok", "start c1:code:2 big", "end c1:code:2 ok"}, h.nested())
	})
}

// What is on its way at once is bounded, not what has been.
func TestC5InFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		arguments := in{Key: strings.Repeat("x", 100), Ms: 1} // 119 bytes
		h := newHost(t, func(w *world) codemode.Outcome {
			for range 10 {
				all(w.call("read", arguments), w.call("read", arguments))
			}
			all(w.call("read", arguments), w.call("read", arguments), w.call("read", arguments))
			t.Error("it goes on")
			return returns("done")
		}, j.tools(t), codemode.Limit(codemode.Limits{InFlight: 300}))
		r := h.run()
		assert.Equal(t, codemode.OutputLimit, failure(t, r))
		assert.Contains(t, r.Text(), "more than 300 bytes together: await some before it makes others\nIt had made 20 calls")
	})
}

// Each budget is its own: chatter and large nested values leave room for what is returned.
func TestCase_code_mode_10(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const mb = 1 << 20
		h := newHost(t, func(w *world) codemode.Outcome {
			v := w.call("big", "{}").await()
			o := returns(map[string]int{"n": len(v) - 2})
			for range 10 {
				o.Logs = append(o.Logs, codemode.Log{Level: "log", Text: strings.Repeat("x", mb)})
			}
			o.Dropped = 5
			return o
		}, registry(t, define(t, tool.Spec[struct{}, string]{Name: "big", Body: func(ctx, struct{}) (string, error) { return strings.Repeat("y", 5*mb), nil }})))
		r := h.run()
		assert.Empty(t, r.Code)
		assert.JSONEq(t, fmt.Sprintf(`{"n":%d}`, 5*mb), string(r.Value))
		require.Len(t, r.Content, 2)
		assert.Equal(t, fmt.Sprintf("Returned:\n{\"n\":%d}", 5*mb), r.Content[1].Text)
		assert.LessOrEqual(t, len(r.Content[0].Text), codemode.DefaultLogs+100)
		assert.Contains(t, r.Content[0].Text, fmt.Sprintf("\n[%d bytes more were logged, and are dropped.]", 10*mb+5-codemode.DefaultLogs+1))
		assert.NotContains(t, r.Text(), "yyy", "nested payloads are shown to no model")
	})
}

// A value that is too large is an explicit failure, whoever notices.
func TestC5Value(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, func(w *world) codemode.Outcome {
			o := returns(strings.Repeat("x", 999))
			o.Logs = []codemode.Log{{Level: "info", Text: "so far"}}
			return o
		}, newJournal().tools(t), codemode.Limit(codemode.Limits{Value: 1000}))
		r := h.run()
		assert.Equal(t, codemode.OutputLimit, failure(t, r))
		assert.Empty(t, r.Value)
		assert.Equal(t, "The program failed (output-limit): what it returned has 1001 bytes as JSON, which is more than 1000: return less, such as a summary\n"+
			"It had called nothing.\nLogs:\n[info] so far", r.Text())
	})
}

// Each way to fail is CODE_RUN_FAILED, with its kind, its message and the logs so far.
func TestC5Kinds(t *testing.T) {
	for _, kind := range []codemode.Kind{codemode.Exception, codemode.Timeout, codemode.Abort, codemode.Memory, codemode.Crash, codemode.InvalidOutput, codemode.OutputLimit, codemode.CallLimit} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, func(w *world) codemode.Outcome {
				return codemode.Outcome{Failure: kind, Message: "3:7: why", Value: json.RawMessage(`1`), Logs: []codemode.Log{{Level: "error", Text: "one\ntwo"}}}
			}, newJournal().tools(t))
			r := h.run()
			assert.Equal(t, tool.CodeRunFailed, r.Code)
			assert.True(t, r.IsError)
			assert.Equal(t, kind, failure(t, r))
			assert.Empty(t, r.Value)
			assert.Equal(t, fmt.Sprintf("The program failed (%s): 3:7: why\nIt had called nothing.\nLogs:\n[error] one\ntwo", kind), r.Text())
		})
	}
}

// brokenRuntime cannot run anything, or panics.
type brokenRuntime struct{ err error }

func (brokenRuntime) Info() codemode.Info { return codemode.Info{} }

func (b brokenRuntime) Run(_ ctx, _ string, w codemode.Bindings, _ codemode.Limits) (codemode.Outcome, error) {
	w.Call("read", json.RawMessage(`{"key":"a","ms":100}`), func(json.RawMessage, string) {})
	synctest.Wait()
	if b.err == nil {
		panic("engine")
	}
	return codemode.Outcome{}, b.err
}

// A runtime that fails leaves nothing behind either.
func TestC4BrokenRuntime(t *testing.T) {
	for _, broken := range []error{errBoom, nil} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, nil, newJournal().tools(t))
			v, err := codemode.New(brokenRuntime{broken}, newJournal().tools(t))
			require.NoError(t, err)
			h.Scheduler.Tools = v
			r := h.run()
			assert.True(t, r.IsError)
			if broken != nil {
				assert.Contains(t, r.Text(), "The program could not be run: boom")
			} else {
				assert.Equal(t, tool.Panic, r.Code)
			}
			assert.Equal(t, []string{"start c1:code:1 read", "end c1:code:1 ABORTED"}, h.nested())
		})
	}
}

func TestOptions(t *testing.T) {
	tools := newJournal().tools(t)
	rt := script(nil)
	for name, opt := range map[string]codemode.Option{
		"nil": nil, "cap 0": codemode.MaxParallelSubCalls(0), "cap -1": codemode.MaxParallelSubCalls(-1), "admit": codemode.Admit(nil),
		"unawaited": codemode.DrainUnawaited(-1), "drain": codemode.Drain(0), "present": codemode.Present(9),
		"calls": codemode.Limit(codemode.Limits{Calls: -1}), "memory": codemode.Limit(codemode.Limits{Memory: -1}), "wall": codemode.Limit(codemode.Limits{Wall: -1}),
	} {
		_, err := codemode.New(rt, tools, opt)
		assert.ErrorIs(t, err, codemode.ErrOption, name)
	}
	_, err := codemode.New(nil, tools)
	assert.ErrorIs(t, err, codemode.ErrOption)
	_, err = codemode.New(rt, nil)
	assert.ErrorIs(t, err, codemode.ErrOption)
}

// A limit that the runtime would refuse at each run is an error of New, which says which.
func TestC5LimitsAreChecked(t *testing.T) {
	rt := js.NewInProcess()
	defer rt.Close()
	for want, l := range map[string]codemode.Limits{
		"limit Source of 1048576 is out of range": {Source: 1 << 20}, "limit Memory of 1 is out of range": {Memory: 1},
		"limit Calls of -1 is below 0": {Calls: -1},
	} {
		_, err := codemode.New(rt, newJournal().tools(t), codemode.Limit(l))
		assert.ErrorIs(t, err, codemode.ErrOption)
		assert.ErrorContains(t, err, want)
	}
	_, err := codemode.New(rt, newJournal().tools(t), codemode.Limit(codemode.Limits{Source: 1 << 10, Memory: 1 << 20}))
	assert.NoError(t, err)
}

// The runtime gets what the host has set, and the defaults of the budgets that are the bridge's.
func TestC5LimitsReachTheRuntime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := func() time.Time { return time.Unix(1, 0) }
		h := newHost(t, func(w *world) codemode.Outcome {
			assert.Equal(t, codemode.Limits{Wall: time.Second, Logs: codemode.DefaultLogs, Value: 7, Payload: codemode.DefaultPayload,
				InFlight: codemode.DefaultInFlight, Calls: codemode.DefaultCalls}, w.limits)
			assert.Equal(t, int64(1), w.Now().Unix())
			assert.InDelta(t, 0.5, w.Rand(), 0)
			assert.Equal(t, "script", w.source)
			return returns(1)
		}, newJournal().tools(t), codemode.Limit(codemode.Limits{Wall: time.Second, Value: 7}), codemode.World(now, func() float64 { return 0.5 }))
		require.Empty(t, h.run().Code)
	})
}

// A program and its label must not be blank; an admission that returns none is an error, of the call.
func TestRunCodeArguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, func(w *world) codemode.Outcome { return returns(1) }, newJournal().tools(t))
		for _, arguments := range []string{`{}`, `{"code":"x"}`, `{"code":"x","description":" \n"}`, `{"code":" ","description":"d"}`, `{"code":"x","description":"d","more":1}`} {
			results, err := h.step(t.Context(), tool.Call{ID: "c1", Name: codemode.Name, Arguments: arguments})
			require.NoError(t, err)
			assert.Equal(t, tool.InvalidArgs, results[0].Code, arguments)
		}
		none := newHost(t, func(w *world) codemode.Outcome { return returns(1) }, newJournal().tools(t), codemode.Admit(func() plan.Admission { return nil }))
		assert.Contains(t, none.run().Text(), "no admission")
	})
}
