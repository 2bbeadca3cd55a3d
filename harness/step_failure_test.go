package harness_test

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// A flaky store fails some appends. It is a Memory otherwise.
type flaky struct {
	harness.Memory
	fail func(harness.Event) error // asked about each event, before it is taken; nil: none fails
}

func (f *flaky) Append(events ...harness.Event) error {
	for _, e := range events {
		if f.fail != nil {
			if err := f.fail(e); err != nil {
				return err
			}
		}
	}
	return f.Memory.Append(events...)
}

// of fails, or does something else, once: at the event of some type that is of the call with some index.
func once(t require.TestingT, typ string, index int, do func() error) func(harness.Event) error {
	done := false
	return func(e harness.Event) error {
		if done || e.Type != typ {
			return nil
		}
		p := payload(t, e)
		at := -1
		switch p := p.(type) {
		case harness.ToolCall:
			at = p.Index
		case harness.ToolSettle:
			at = p.Index
		case harness.ToolResult:
			at = p.Index
		case harness.ApprovalAsk:
			at = p.Index
		case harness.Cancel:
			at = index
		}
		if at != index {
			return nil
		}
		done = true
		return do()
	}
}

// strange are tools whose lookup fails from some call on.
type strange struct {
	tool.Tools
	n    *atomic.Int32
	from int32
}

func (s strange) Bind(name string) tool.Binding {
	if s.n.Add(1) >= s.from {
		panic("boom")
	}
	return s.Tools.Bind(name)
}

// faulty is an admission that panics when it is told of the n-th settle, or offers nothing.
type faulty struct {
	plan.Admission
	settles, panics int
}

func (b *faulty) Settle(i int) {
	if b.settles++; b.settles == b.panics {
		panic("boom")
	}
	b.Admission.Settle(i)
}

// TestH1FailureOfEachStage has each stage of the lane fail in turn, in the second of three calls, in a way that no
// pipeline turns into an outcome: the log, the host's functions that end their goroutine, the lookup of tools, the
// limit, the admission. What has started is drained, nothing is made up, the turn ends in error, and a later turn goes
// on.
func TestH1FailureOfEachStage(t *testing.T) {
	goexit := func() error { runtime.Goexit(); return nil }
	disk := func() error { return errDisk }
	for _, c := range []struct {
		name  string
		set   func(h *host, s *flaky)
		wrong string // in the error
	}{
		{"Classify", func(h *host, _ *flaky) { h.Tools = strange{h.Tools, new(atomic.Int32), 5} }, "Classify"},
		{"limit", func(h *host, _ *flaky) {
			h.Limit = func() (int, error) { return 0, nil }
		}, "the setting Limit cannot be used: it is 0, want a positive integer"},
		{"limit of a later group", func(h *host, _ *flaky) {
			n := 0
			h.Limit = func() (int, error) {
				if n++; n == 2 {
					return 0, errors.New("maxParallel: not a number")
				}
				return 3, nil
			}
			h.Admission = plan.NewRolling
		}, "the setting Limit cannot be used: maxParallel: not a number"},
		{"admission", func(h *host, _ *flaky) {
			h.Admission = func() plan.Admission { return &faulty{Admission: plan.NewWaves(), panics: 1} }
		}, "admission"},
		{"no admission", func(h *host, _ *flaky) { h.Admission = func() plan.Admission { return nil } }, "Admit"},
		{"Prepare, the log", func(h *host, s *flaky) { s.fail = once(nil, harness.TypeToolCall, 1, disk) }, "call 2: Prepare"},
		{"Prepare, the log's panic", func(h *host, s *flaky) {
			s.fail = once(nil, harness.TypeToolCall, 1, func() error { panic("boom") })
		}, "boom"},
		{"Prepare, a policy", func(h *host, _ *flaky) {
			h.Pipeline.Policies = []tool.Policy{func(_ ctx, c *tool.Invocation) (tool.Verdict, error) {
				if c.Index == 1 {
					runtime.Goexit()
				}
				return tool.Verdict{Action: tool.Allow}, nil
			}}
		}, "Prepare"},
		{"Prepare, a gate", func(h *host, _ *flaky) {
			h.Pipeline.Gates = []tool.Gate{func(_ ctx, e tool.Event) {
				if e.Index == 1 && e.Stage == tool.Started {
					runtime.Goexit()
				}
			}}
		}, "Prepare"},
		{"Prepare, the ask", func(h *host, s *flaky) {
			h.Pipeline.Policies = []tool.Policy{func(ctx, *tool.Invocation) (tool.Verdict, error) {
				return tool.Verdict{Action: tool.Ask}, nil
			}}
			h.Pipeline.Prompter = &tool.Prompter{Approver: approver(func(_ ctx, p *tool.Prompt) error {
				return p.Answer(tool.Answer{Decision: tool.AllowOnce})
			})}
			s.fail = once(nil, harness.TypeApprovalAsk, 1, disk)
		}, "call 2: Prepare"},
		{"Settled", func(h *host, s *flaky) { s.fail = once(nil, harness.TypeToolSettle, 1, disk) }, "call 2: Settled"},
		{"Settled, the log's Goexit", func(h *host, s *flaky) {
			s.fail = once(nil, harness.TypeToolSettle, 1, goexit)
		}, "panicked"},
		{"Commit, the log", func(h *host, s *flaky) { s.fail = once(nil, harness.TypeToolResult, 1, disk) }, "call 2: Commit"},
		{"Commit, a reviewer", func(h *host, _ *flaky) {
			h.Pipeline.Reviewers = []tool.Reviewer{func(_ ctx, c *tool.Invocation, _ tool.Result) (tool.Review, error) {
				if c.Index == 1 {
					runtime.Goexit()
				}
				return tool.Review{}, nil
			}}
		}, "Commit"},
		{"Skip, the log", func(h *host, s *flaky) {
			h.agent.Changed = func(s harness.Status) {
				if s.Phase == harness.Calling {
					h.agent.Cancel(errStop, true)
				}
			}
			s.fail = once(nil, harness.TypeToolResult, 1, disk)
		}, "call 2: Skip"},
		{"the cancel", func(h *host, s *flaky) {
			h.Pipeline.Policies = []tool.Policy{func(_ ctx, c *tool.Invocation) (tool.Verdict, error) {
				if c.Index == 1 {
					h.agent.Cancel(errStop, true)
				}
				return tool.Verdict{Action: tool.Allow}, nil
			}}
			s.fail = func(e harness.Event) error {
				if e.Type == harness.TypeCancel {
					return errDisk
				}
				return nil
			}
		}, errDisk.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(flaky)
				var begun, ended atomic.Int32
				var bodies sync.Map // by index
				slow := func(c ctx) (string, error) {
					begun.Add(1)
					defer ended.Add(1)
					i := tool.InvocationOf(c).Index
					bodies.Store(i, true)
					err := rest(c, time.Duration(3-i)*time.Second)
					if err != nil {
						<-time.After(time.Second) // it takes a moment to come to rest
					}
					return "done", err
				}
				h := newHost(t, []*tool.Definition{free("a", slow), free("b", slow), alone("c", slow)})
				h.Session = open(t, store)
				h.agent = h.lead(t, context.Background(), call("a", "b", "c"))
				c.set(h, store)
				h.run(t)

				status := h.agent.Status()
				assert.Equal(t, harness.EndFailed, status.Last.Reason, h.calls(t))
				require.Error(t, status.Err)
				assert.Contains(t, status.Err.Error(), c.wrong)
				assert.Len(t, h.requests, 1)
				assert.Equal(t, begun.Load(), ended.Load(), "what has started is drained")
				for i, r := range results(t, h.Session) {
					assert.Equal(t, i, r.Index)
				}
				state := h.Session.State()
				assert.NotEmpty(t, state.Open, "calls are left open")
				assert.Len(t, results(t, h.Session), 3-len(state.Open), "no result is made up")
				for _, o := range state.Open {
					if o.Outcome != nil {
						assert.Contains(t, []tool.Code{"", tool.Aborted, tool.AbortedBeforeDispatch, tool.ApprovalCancelled}, o.Outcome.Code)
					}
				}

				// The next turn closes them, unless nobody knows what the log has; then the next session does.
				store.fail = nil
				again := open(t, store)
				if !errors.Is(status.Err, harness.ErrBroken) {
					assert.False(t, state.InTurn, "the log says that the turn has ended")
					again = h.Session
				}
				h.Session, h.Tools, h.Limit, h.Admission, h.Pipeline = again, nil, nil, nil, nil
				h.agent = h.lead(t, context.Background())
				h.requests = nil
				h.run(t)
				assert.Equal(t, harness.EndDone, h.last(), h.agent.Status().Err)
				h.sound(t)
				require.Len(t, h.requests, 1)
				require.NoError(t, accept(h.requests[0].Messages))
				for _, r := range results(t, h.Session) {
					_, ran := bodies.Load(r.Index)
					assert.False(t, ran && r.Result.Code != "" && !r.Result.Code.MayHaveRun(), "call %d ran: %v", r.Index+1, r.Result.Code)
				}
			})
		})
	}
}

// TestH10EveryAppendOfAnAgent has each append of an agent's two turns fail in turn, once. Whatever is lost is lost with
// an error; no body runs whose call is not in the log; and what is opened again goes on.
func TestH10EveryAppendOfAnAgent(t *testing.T) {
	for n := 1; ; n++ {
		appends := 0
		synctest.Test(t, func(t *testing.T) {
			var bodies sync.Map
			noted := func(c ctx) (string, error) {
				bodies.Store(tool.InvocationOf(c).Call.ID, true)
				return "done", rest(c, time.Second)
			}
			store := new(flaky)
			h := newHost(t, []*tool.Definition{free("a", noted), alone("b", noted)})
			h.Session = open(t, store)
			store.fail = func(harness.Event) error {
				if appends++; appends == n {
					return errDisk
				}
				return nil
			}
			one, two := call("a", "a", "b"), call("b", "a")
			two.Calls[0].ID, two.Calls[1].ID = "c4", "c5"
			h.agent = h.lead(t, context.Background(), one, two)
			require.NoError(t, h.agent.Followup(text("first")))
			require.NoError(t, h.agent.Followup(text("second")))
			h.wait(t)
			var wrong error // of any turn: the second message may come behind the end of the first turn, and wake again
			for _, c := range h.changes {
				wrong = cmp.Or(wrong, c.Err)
			}
			if appends >= n {
				assert.ErrorIs(t, wrong, errDisk)
			} else {
				assert.NoError(t, wrong)
			}
			told := len(story(t, h.Session, harness.TypeUserMessage))
			assert.Equal(t, 2, told+h.agent.Status().Waiting, "each message is in the log or in the inbox")
			recorded := map[string]bool{}
			for _, e := range logOf(t, h.Session) {
				if c, ok := payload(t, e).(harness.ToolCall); ok && !c.NotStarted {
					recorded[c.ID] = true
				}
			}
			bodies.Range(func(id, _ any) bool { return assert.True(t, recorded[id.(string)], "%v ran", id) })

			h.Session = open(t, &store.Memory)
			h.agent = h.lead(t, context.Background(), one, two)
			h.sound(t)
			h.run(t)
			assert.Equal(t, harness.EndDone, h.last())
			h.sound(t)
		})
		if t.Failed() {
			t.Fatalf("append %d", n)
		}
		if appends < n {
			assert.Greater(t, n, 20)
			return
		}
	}
}
