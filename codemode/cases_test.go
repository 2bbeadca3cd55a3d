package codemode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/tool"
)

// A nested call that never settles is given up after its deadline and the drain bound, alone and beside others.
func TestCase_timeout_1(t *testing.T) {
	for _, alone := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			j := newJournal()
			release := make(chan struct{})
			defer close(release)
			stuck := define(t, tool.Spec[in, string]{Name: "stuck", Safe: isSafe, Timeout: time.Second, Body: func(ctx, in) (string, error) {
				<-release
				return "late", nil
			}})
			h := newHost(t, func(w *world) codemode.Outcome {
				var out []string
				if !alone {
					out = append(out, w.call("read", in{Key: "a", Ms: 10}).await())
				}
				_, err := w.call("stuck", in{}).try()
				return returns(append(out, err.Error()))
			}, &tool.Scope{Parent: j.tools(t), Own: registry(t, stuck)}, codemode.Drain(500*time.Millisecond))
			r := h.run()
			assert.Empty(t, r.Code)
			assert.Contains(t, r.Text(), "stuck was cancelled while it ran (timed out after 1s) and did not stop in time")
			assert.Equal(t, !alone, strings.Contains(r.Text(), `\"a\"`))
			assert.LessOrEqual(t, time.Since(start), 1510*time.Millisecond)
			log := h.nested()
			assert.True(t, strings.HasSuffix(log[len(log)-1], "ABANDONED"), log)
		})
	}
}

// Each start of a nested call has one end, whatever becomes of it, and nothing comes after that.
func TestCase_events_1(t *testing.T) {
	for _, cancelAt := range []time.Duration{0, 5 * time.Millisecond, 15 * time.Millisecond, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			own := registry(t,
				define(t, tool.Spec[in, string]{Name: "denied", Safe: isSafe, Body: j.body("denied")}),
				define(t, tool.Spec[in, string]{Name: "late", Safe: isSafe, Timeout: 5 * time.Millisecond, Body: j.body("late")}),
				define(t, tool.Spec[in, string]{Name: "panic", Safe: isSafe, Body: func(ctx, in) (string, error) { panic("x") }}))
			h := newHost(t, func(w *world) codemode.Outcome {
				var ps []*promise
				for i, name := range []string{"read", "read", "denied", "late", "panic", "missing", "fail", "solo", "edit"} {
					ps = append(ps, w.call(name, in{Key: fmt.Sprint(i), Ms: 20 - i}))
				}
				for _, p := range ps {
					_, _ = p.try()
				}
				return returns("done")
			}, &tool.Scope{Parent: j.tools(t), Own: own}, codemode.MaxParallelSubCalls(3))
			h.pipeline.Policies = []tool.Policy{func(_ ctx, c *tool.Invocation) (tool.Verdict, error) {
				if c.Call.Name == "denied" {
					return tool.Verdict{}, nil
				}
				return tool.Verdict{Action: tool.Allow}, nil
			}}
			var events []tool.Event
			l := tool.NewListener(func(e tool.Event) {
				if e.Parent != nil {
					events = append(events, e)
				}
			})
			h.pipeline.Listeners = []*tool.Listener{l}
			c, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			time.AfterFunc(cancelAt, func() { cancel(errBoom) })
			_, _ = h.step(c, program("c1"))
			<-time.After(2 * time.Hour)
			require.NoError(t, l.Wait(t.Context()))
			stages := map[string][]tool.Stage{}
			for _, e := range events {
				stages[e.Call.ID] = append(stages[e.Call.ID], e.Stage)
			}
			for id, s := range stages {
				assert.Equal(t, tool.Started, s[0], id)
				assert.Equal(t, tool.Committed, s[len(s)-1], id)
				assert.LessOrEqual(t, len(s), 3, id)
				for i := range s[1:] {
					assert.Less(t, s[i], s[i+1], id)
				}
			}
			var logged int
			for _, line := range h.nested() {
				if strings.HasPrefix(line, "start ") {
					logged++
					assert.NotEmpty(t, stages[strings.Fields(line)[1]])
				}
			}
			assert.Len(t, stages, logged)
			checkNested(t, h.log())
			if cancelAt == time.Hour {
				assert.Len(t, stages, 9)
			}
		})
	}
}

// Observers are told when a nested call is done, although its commit waits for the slowest before it.
func TestCase_events_2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		h := newHost(t, func(w *world) codemode.Outcome {
			all(w.call("read", in{Key: "a", Ms: 4}), w.call("read", in{Key: "b", Ms: 10}), w.call("read", in{Key: "c", Ms: 2}))
			return returns("done")
		}, j.tools(t))
		var heard []string
		l := tool.NewListener(func(e tool.Event) {
			if e.Parent != nil && e.Stage != tool.Started {
				heard = append(heard, fmt.Sprintf("%v %s %v", time.Since(j.start), e.Call.ID, e.Stage))
			}
		})
		h.pipeline.Listeners = []*tool.Listener{l}
		require.Empty(t, h.run().Code)
		require.NoError(t, l.Wait(t.Context()))
		assert.Equal(t, []string{"2ms c1:code:3 settled", "4ms c1:code:1 settled", "4ms c1:code:1 committed",
			"10ms c1:code:2 settled", "10ms c1:code:2 committed", "10ms c1:code:3 committed"}, heard)
	})
}

// laxRuntime breaks the rules: it calls from many goroutines at once, also after it has returned.
type laxRuntime struct{ wg *sync.WaitGroup }

func (laxRuntime) Info() codemode.Info { return codemode.Info{} }

func (l laxRuntime) Run(c ctx, _ string, b codemode.Bindings, _ codemode.Limits) (codemode.Outcome, error) {
	for i := range 40 {
		l.wg.Go(func() {
			for range 10 {
				settled := make(chan struct{})
				b.Call("read", json.RawMessage(fmt.Sprintf(`{"key":"%d"}`, i)), func(json.RawMessage, string) { close(settled) })
				<-settled // each is settled, and once
			}
		})
	}
	<-time.After(time.Millisecond)
	return codemode.Outcome{Value: json.RawMessage(`{"no":JSON`)}, nil
}

// A runtime that breaks its contract costs its own program, and nothing else.
func TestLaxRuntime(t *testing.T) {
	var wg sync.WaitGroup
	h := newHost(t, nil, newJournal().tools(t), codemode.Limit(codemode.Limits{Calls: 300}))
	v, err := codemode.New(laxRuntime{&wg}, newJournal().tools(t), codemode.Limit(codemode.Limits{Calls: 300}))
	require.NoError(t, err)
	h.Scheduler.Tools = v
	r := h.run()
	wg.Wait()
	assert.LessOrEqual(t, len(h.nested()), 600)
	assert.Empty(t, r.Value)
	seen := map[string]bool{}
	for _, d := range h.dispatches() {
		assert.False(t, seen[d.ID])
		seen[d.ID] = true
	}
	assert.Len(t, h.nested(), 2*len(seen))
}
