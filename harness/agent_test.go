package harness_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// talk is what is said in the log, and how turns end.
func (h *host) talk(t require.TestingT) []string {
	return story(t, h.Session, harness.TypeUserMessage, harness.TypeAssistantMessage, harness.TypeTurnEnd)
}

// A turn is requests and calls until a message without calls, and each Followup begins one of its own.
func TestAgentTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, []*tool.Definition{free("a", takes(time.Second))}, call("a"), call("a", "a"), say("first"), call("a"), say("second"))
		require.NoError(t, h.agent.Followup(text("one")))
		require.NoError(t, h.agent.Followup(text("two")))
		require.NoError(t, h.agent.WhenIdle(t.Context()))
		assert.Equal(t, []string{
			"user: one", "assistant", "assistant", "assistant", "end done",
			"user: two", "assistant", "assistant", "end done",
		}, h.talk(t))
		h.sound(t)
		require.Len(t, h.requests, 5)
		for i, n := range []int{1, 3, 5, 7, 9} {
			assert.Len(t, h.requests[i].Messages, n)
			assert.NoError(t, accept(h.requests[i].Messages))
			require.Len(t, h.requests[i].Tools, 1)
			assert.Equal(t, "a", h.requests[i].Tools[0].Name)
		}
		assert.Equal(t, 2, h.agent.Status().Last.Turn)
		require.NoError(t, h.agent.WhenIdle(t.Context()), "it is idle, and stays so")
	})
}

// The message is in the log, whole, before a call of it runs.
func TestAgentRecordsTheMessageFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *host
		h = newHost(t, []*tool.Definition{free("a", func(ctx) (string, error) {
			events := logOf(t, h.Session)
			types := make([]string, len(events))
			for i, e := range events {
				types[i] = e.Type
			}
			assert.Contains(t, types, harness.TypeAssistantMessage)
			return "done", nil
		})}, call("a"))
		h.run(t)
		h.sound(t)
	})
}

// What is steered goes with the next request: of the turn that goes on, which does not end before, or of a new one.
// What is injected does, too, but is no reason for one.
func TestInboxSteerAndInject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, []*tool.Definition{free("a", takes(time.Second))}, call("a"), say("one"), say("two"))
		h.on = func(n int) {
			switch n {
			case 1: // comes behind the results
				require.NoError(t, h.agent.Inject(text("injected in the turn")))
				require.NoError(t, h.agent.Followup(text("later")))
			case 2: // the message to come has no calls
				require.NoError(t, h.agent.Steer(text("steered")))
				require.NoError(t, h.agent.Inject(text("with it")))
			case 3: // and here it is the end
				require.NoError(t, h.agent.Inject(text("for the next turn")))
			}
		}
		require.NoError(t, h.agent.Inject(text("injected before")))
		synctest.Wait()
		assert.Equal(t, harness.Idle, h.agent.Status().Phase)
		assert.Equal(t, 1, h.agent.Status().Waiting)
		assert.Empty(t, h.talk(t), "it is no reason for a turn")
		h.run(t)
		assert.Equal(t, []string{
			"user: injected before", "user: go", "assistant",
			"user: injected in the turn", "assistant",
			"user: steered", "user: with it", "assistant", "end done",
			"user: for the next turn", "user: later", "assistant", "end done",
		}, h.talk(t))
		require.NoError(t, h.agent.Steer(text("in a turn of its own")))
		h.wait(t)
		assert.Equal(t, []string{"user: in a turn of its own", "assistant", "end done"}, h.talk(t)[13:])
		h.sound(t)
	})
}

// A message that cannot be recorded is refused, and does not stand in the way of others. One that was taken is the
// agent's own.
func TestInboxTakesWhatCanBeRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		for _, post := range []func(...tool.Block) error{h.agent.Followup, h.agent.Steer, h.agent.Inject} {
			assert.ErrorIs(t, post(text("a"), tool.Block{JSON: json.RawMessage("{")}), harness.ErrPayload)
			assert.Error(t, post())
		}
		assert.Zero(t, h.agent.Status().Waiting)
		raw := json.RawMessage("[1]")
		require.NoError(t, h.agent.Inject(tool.Block{JSON: raw}))
		raw[0] = '{'
		h.run(t)
		assert.Equal(t, harness.EndDone, h.last())
		require.Len(t, h.requests, 1)
		assert.Equal(t, []tool.Block{{JSON: json.RawMessage("[1]")}}, h.requests[0].Messages[0].Content)
	})
}

// Each end of a turn, and what waits then.
func TestAgentEnds(t *testing.T) {
	boom := errors.New("boom")
	tools := func() []*tool.Definition {
		last := tool.Spec[struct{}, string]{
			Name: "finish", ConcludesTurn: true, Safe: func(struct{}) bool { return true },
			Body: func(c ctx, _ struct{}) (string, error) { return "finished", nil },
		}
		return []*tool.Definition{
			free("a", takes(time.Second)), free("fails", func(ctx) (string, error) { return "", boom }), define(last),
			alone("stops", func(c ctx) (string, error) { return "done", rest(c, time.Hour) }),
		}
	}
	fails := func(arguments ...string) (m harness.AssistantMessage) {
		for _, a := range arguments {
			m.Calls = append(m.Calls, tool.Call{Name: "fails", Arguments: a})
		}
		return m
	}
	for _, c := range []struct {
		name     string
		messages []harness.AssistantMessage
		set      func(h *host)
		end      harness.TurnEnd
		requests int
	}{
		{"done", []harness.AssistantMessage{call("a")}, nil, harness.TurnEnd{Reason: harness.EndDone}, 2},
		{"concluded", []harness.AssistantMessage{call("a"), call("finish", "a")}, nil, harness.TurnEnd{Reason: harness.EndConcluded}, 2},
		{"limit of steps", []harness.AssistantMessage{call("a"), call("a"), call("a"), call("a")}, func(h *host) { h.agent.MaxSteps = 3 },
			harness.TurnEnd{Reason: harness.EndLimit, Error: "the turn has had its 3 steps"}, 3},
		{"just within the limit of steps", []harness.AssistantMessage{call("a"), call("a")}, func(h *host) { h.agent.MaxSteps = 3 },
			harness.TurnEnd{Reason: harness.EndDone}, 3},
		{"limit of failures", []harness.AssistantMessage{fails("{}"), fails("{}"), fails("{}"), fails("{}")}, func(h *host) { h.agent.MaxFailures = 3 },
			harness.TurnEnd{Reason: harness.EndLimit, Error: "fails failed 3 times in a row with the same arguments"}, 3},
		{"limit of failures in one message", []harness.AssistantMessage{fails("{}", "{}", "{}")}, func(h *host) { h.agent.MaxFailures = 3 },
			harness.TurnEnd{Reason: harness.EndLimit, Error: "fails failed 3 times in a row with the same arguments"}, 1},
		{"failures that are not the same", []harness.AssistantMessage{fails("{}", "{}"), fails(`{"b":1}`), fails("{}", "{}"), call("a"), fails("{}", "{}")},
			func(h *host) { h.agent.MaxFailures = 3 }, harness.TurnEnd{Reason: harness.EndDone}, 6},
		{"cancelled", []harness.AssistantMessage{call("stops")}, func(h *host) {
			time.AfterFunc(time.Second, func() { h.agent.Cancel(errStop, true) })
		}, harness.TurnEnd{Reason: harness.EndCancelled, Error: errStop.Error()}, 1},
		{"the model fails", nil, func(h *host) {
			h.agent = h.with(t, func(ctx, harness.Request) (harness.AssistantMessage, error) { return call("a"), boom })
		}, harness.TurnEnd{Reason: harness.EndFailed, Error: "the model: boom"}, 0},
		{"the model panics", nil, func(h *host) {
			h.agent = h.with(t, func(ctx, harness.Request) (harness.AssistantMessage, error) { panic(boom) })
		}, harness.TurnEnd{Reason: harness.EndFailed, Error: "a function of the host panicked: boom"}, 0},
		{"the model ends its goroutine", nil, func(h *host) {
			h.agent = h.with(t, func(ctx, harness.Request) (m harness.AssistantMessage, err error) { runtime.Goexit(); return m, err })
		}, harness.TurnEnd{Reason: harness.EndFailed, Error: "a function of the host ended its goroutine (runtime.Goexit)"}, 0},
		{"the model says what cannot be recorded", nil, func(h *host) {
			h.agent = h.with(t, func(ctx, harness.Request) (m harness.AssistantMessage, err error) {
				m.Native = []byte("{")
				return m, nil
			})
		}, harness.TurnEnd{Reason: harness.EndFailed, Error: `payload cannot be recorded: "assistant/message": json: error calling MarshalJSON for type json.RawMessage: unexpected end of JSON input`}, 0},
		{"the tools panic", []harness.AssistantMessage{call("a")}, func(h *host) { h.Tools = nobody{h.Tools} },
			harness.TurnEnd{Reason: harness.EndFailed, Error: "a function of the host panicked: nobody is here"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, tools(), c.messages...)
				if c.set != nil {
					c.set(h)
				}
				h.run(t)
				c.end.Turn = 1
				assert.Equal(t, c.end, h.agent.Status().Last)
				assert.Equal(t, c.end.Reason == harness.EndFailed, h.agent.Status().Err != nil)
				assert.Len(t, h.requests, c.requests)
				h.sound(t)
				assert.Equal(t, "end "+string(c.end.Reason), h.talk(t)[len(h.talk(t))-1])
			})
		})
	}
}

// nobody are tools that cannot be listed.
type nobody struct{ tool.Tools }

func (nobody) Definitions() []tool.Definition { panic("nobody is here") }

// with is an agent over the host's scheduler, with another model.
func (h *host) with(t require.TestingT, m harness.ModelFunc) *harness.Agent {
	a, err := harness.NewAgent(context.Background(), m, h.Scheduler)
	require.NoError(t, err)
	return a
}

// After a turn that failed or was cancelled what waits waits until the agent is told something that wakes it; without
// keepInbox a cancel throws it away. A cancel of an agent that does nothing is no event.
func TestAgentCancelAndTheInbox(t *testing.T) {
	for _, keep := range []bool{true, false} {
		t.Run(fmt.Sprint("keep ", keep), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, []*tool.Definition{free("a", takes(time.Hour))}, call("a"))
				require.NoError(t, h.agent.Followup(text("one")))
				synctest.Wait()
				require.NoError(t, h.agent.Followup(text("two")))
				require.NoError(t, h.agent.Steer(text("steered")))
				h.agent.Cancel(errStop, keep)
				h.agent.Cancel(errors.New("again"), true)
				h.wait(t)
				assert.Equal(t, []string{"user: one", "assistant", "end cancelled"}, h.talk(t))
				var cancels []harness.Cancel
				for _, e := range logOf(t, h.Session) {
					if c, ok := payload(t, e).(harness.Cancel); ok {
						cancels = append(cancels, c)
					}
				}
				assert.Equal(t, []harness.Cancel{{Turn: 1, Step: 1, Cause: errStop.Error(), KeepInbox: keep}}, cancels, "the first counts")

				synctest.Wait()
				assert.Equal(t, harness.Idle, h.agent.Status().Phase)
				h.agent.Cancel(errStop, true)
				require.NoError(t, h.agent.Inject(text("injected")))
				synctest.Wait()
				assert.Len(t, h.talk(t), 3, "nothing wakes it")
				require.NoError(t, h.agent.Followup(text("three")))
				h.wait(t)
				want := []string{"user: injected", "user: three", "assistant", "end done"}
				if keep {
					want = []string{
						"user: steered", "user: injected", "user: two", "assistant", "end done",
						"user: three", "assistant", "end done",
					}
				}
				assert.Equal(t, want, h.talk(t)[3:])
				h.sound(t)
			})
		})
	}
	t.Run("a failure keeps it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, nil)
			fail := true
			h.agent = h.with(t, func(c ctx, _ harness.Request) (harness.AssistantMessage, error) {
				if fail {
					return say(""), errors.Join(rest(c, time.Second), errors.New("overloaded"))
				}
				return say("done"), nil
			})
			for _, s := range []string{"one", "two"} {
				require.NoError(t, h.agent.Followup(text(s)))
			}
			h.wait(t)
			assert.Equal(t, harness.EndFailed, h.last())
			assert.Equal(t, 1, h.agent.Status().Waiting)
			fail = false
			require.NoError(t, h.agent.Followup(text("three")))
			h.wait(t)
			assert.Equal(t, []string{
				"user: one", "end error", "user: two", "assistant", "end done", "user: three", "assistant", "end done",
			}, h.talk(t))
		})
	})
}

// A cancel in every place of a turn outside of its calls: while the model is asked, before its message is recorded and
// right behind it, with the last request, and when the turn has just ended.
func TestAgentCancelAnywhere(t *testing.T) {
	for _, a := range []bool{true, false} {
		t.Run(fmt.Sprint("the model heeds it ", a), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, []*tool.Definition{free("a", takes(0))})
				h.agent = h.with(t, func(c ctx, r harness.Request) (harness.AssistantMessage, error) {
					h.requests = append(h.requests, r)
					h.agent.Cancel(errStop, false)
					if a {
						return call("a"), context.Cause(c)
					}
					return call("a"), nil
				})
				h.run(t)
				assert.Equal(t, harness.EndCancelled, h.last())
				assert.Len(t, h.requests, 1)
				h.sound(t)
				want := []string{"cancel"}
				if !a {
					want = append(want, "not started 1", "result 1 ABORTED_BEFORE_DISPATCH")
				}
				assert.Equal(t, want, h.calls(t))
			})
		})
	}
	t.Run("in a change of the status", func(t *testing.T) {
		for n := 1; n <= 6; n++ {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, []*tool.Definition{free("a", takes(0))}, call("a"), call("a"))
				changes := 0
				h.agent.Changed = func(s harness.Status) {
					if changes++; changes == n {
						h.agent.Cancel(errStop, false)
					}
				}
				h.run(t)
				h.sound(t)
				assert.Len(t, h.requests, n/2, "no further request, change %d", n)
				want := harness.EndCancelled
				if n == 6 { // it is idle
					want = harness.EndDone
				}
				assert.Equal(t, want, h.last(), "change %d", n)
			})
		}
	})
	t.Run("at random", func(t *testing.T) {
		for n := range 200 {
			h := newHost(t, []*tool.Definition{free("a", takes(0)), alone("b", takes(0))}, call("a", "b"), call("a"))
			var both sync.WaitGroup
			both.Go(func() { h.run(t) })
			both.Go(func() {
				for range n * 50 {
					runtime.Gosched()
				}
				h.agent.Cancel(errStop, false)
			})
			both.Wait()
			h.sound(t)
			late := false
			for _, e := range logOf(t, h.Session) {
				switch p := payload(t, e).(type) {
				case harness.Cancel:
					late = true
				case harness.ToolResult:
					assert.Equal(t, late, p.Result.Code != "", "a result behind the cancel is one that it has changed: %v", p.Result.Code)
				}
			}
			if ends := story(t, h.Session, harness.TypeCancel, harness.TypeTurnEnd); len(ends) == 2 {
				assert.Equal(t, []string{"cancel", "end cancelled"}, ends)
			} else if len(ends) == 1 {
				assert.Equal(t, []string{"end done"}, ends)
			} else {
				assert.Empty(t, ends, "it was cancelled before it began")
			}
		}
	})
}

// When the context of an agent is done, it is over.
func TestAgentContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, []*tool.Definition{free("a", takes(time.Hour))}, call("a"))
		type key struct{}
		c, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "tenant"))
		var seen []any
		h.Pipeline.Policies = []tool.Policy{func(c ctx, _ *tool.Invocation) (tool.Verdict, error) {
			seen = append(seen, c.Value(key{}))
			return tool.Verdict{Action: tool.Allow}, nil
		}}
		h.agent = h.lead(t, c, call("a"))
		require.NoError(t, h.agent.Followup(text("one")))
		require.NoError(t, h.agent.Followup(text("two")))
		synctest.Wait()
		cancel(errStop)
		h.wait(t)
		assert.Equal(t, []string{"call 1", "cancel", "settle 1 ABORTED", "result 1 ABORTED"}, h.calls(t))
		assert.Equal(t, []string{"user: one", "assistant", "end cancelled"}, h.talk(t))
		assert.Equal(t, []any{"tenant"}, seen)
		h.sound(t)
		assert.ErrorIs(t, h.agent.Followup(text("three")), errStop)
		assert.EqualError(t, h.agent.Followup(), "agent: the message is empty")
		h.wait(t)
		short, stop := context.WithCancelCause(t.Context())
		stop(errStop)
		h.agent = h.lead(t, t.Context(), call("a"), call("a")) // of which the first was said
		require.NoError(t, h.agent.Followup(text("four")))
		synctest.Wait()
		assert.ErrorIs(t, h.agent.WhenIdle(short), errStop)
		h.agent.Cancel(nil, false)
		h.wait(t)
		assert.Equal(t, context.Canceled.Error(), h.agent.Status().Last.Error)
	})
	_, err := harness.NewAgent(t.Context(), nil, &harness.Scheduler{})
	assert.EqualError(t, err, "agent: it needs a model, and a scheduler with a session")
}

// Changes of the status come in their order, and before WhenIdle returns; a panic in Changed changes nothing.
func TestAgentStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, []*tool.Definition{free("a", takes(time.Second))}, call("a"))
		var got []string
		h.agent.Changed = func(s harness.Status) {
			got = append(got, fmt.Sprintf("%v %d.%d %d %s", s.Phase, s.Turn, s.Step, s.Waiting, s.Last.Reason))
			panic("boom")
		}
		h.on = func(n int) {
			if n == 1 {
				require.NoError(t, h.agent.Followup(text("two")))
			}
		}
		h.run(t)
		assert.Equal(t, []string{"asking 1.1 0 ", "calling 1.1 1 ", "asking 1.2 1 ", "asking 2.1 0 done", "idle 2.1 0 done"}, got)
		assert.Equal(t, "Phase(9)", harness.Phase(9).String())
	})
}

// The text of a message can be read along.
func TestAgentStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil, say("one two three"))
		var got []string
		h.agent.Stream = func(s string) { got = append(got, s) }
		h.run(t)
		assert.Equal(t, []string{"one ", "two ", "three"}, got)
		assert.Equal(t, "one two three", strings.Join(got, ""))
	})
}
