package harness_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// TestH1EveryMix runs every mix of three kinds of calls, under every admission: three results each, in order. With
// -short each admission has its share of the mixes.
func TestH1EveryMix(t *testing.T) {
	for share, a := range admissions {
		t.Run(a.name, func(t *testing.T) {
			for n := range len(kinds) * len(kinds) * len(kinds) {
				if testing.Short() && n%len(admissions) != share {
					continue
				}
				of := []string{kinds[n%7], kinds[n/7%7], kinds[n/49]}
				synctest.Test(t, func(t *testing.T) {
					m := newMatrix(t, "never", 0, n%2 == 0, of...)
					m.Admission = a.open
					m.run(t)
					m.verify(t, of)
				})
				if t.Failed() {
					t.Fatal(of)
				}
			}
		})
	}
}

// TestH2Replay runs one script 100 times with random delays: the log tells the same messages, byte for byte.
func TestH2Replay(t *testing.T) {
	for _, a := range admissions {
		t.Run(a.name, func(t *testing.T) {
			var want string
			for seed := range uint64(100) {
				synctest.Test(t, func(t *testing.T) {
					random := rand.New(rand.NewPCG(seed, 1))
					var lock sync.Mutex
					delay := func() time.Duration {
						lock.Lock()
						defer lock.Unlock()
						return time.Duration(random.IntN(1000)) * time.Millisecond
					}
					files := map[string]string{}
					type file struct {
						Path string `json:"path"`
						Text string `json:"text,omitempty"`
					}
					claim := func(a plan.Access) func(file) ([]plan.Claim, error) {
						return func(f file) ([]plan.Claim, error) { return []plan.Claim{{Key: f.Path, Access: a}}, nil }
					}
					safe := func(file) bool { return true }
					note := func(f file) tool.Result {
						r := tool.Text(f.Path)
						r.Contexts = []tool.Context{{Content: []tool.Block{text("about " + f.Path)}}}
						return r
					}
					var world sync.Mutex
					tools := []*tool.Definition{
						define(tool.Spec[file, string]{Name: "read", Safe: safe, Claims: claim(plan.Read), Body: func(c ctx, f file) (string, error) {
							_ = rest(c, delay())
							world.Lock()
							defer world.Unlock()
							return files[f.Path], nil
						}}),
						define(tool.Spec[file, tool.Result]{Name: "write", Safe: safe, Claims: claim(plan.Write), Body: func(c ctx, f file) (tool.Result, error) {
							_ = rest(c, delay())
							world.Lock()
							files[f.Path] += f.Text
							world.Unlock()
							_ = rest(c, delay())
							return note(f), nil
						}}),
						free("fails", func(c ctx) (string, error) { return "", errors.Join(rest(c, delay()), errors.New("no such thing")) }),
						alone("alone", func(c ctx) (string, error) { return "done", rest(c, delay()) }),
					}
					do := func(name, arguments string) tool.Call { return tool.Call{Name: name, Arguments: arguments} }
					h := newHost(t, tools,
						harness.AssistantMessage{Calls: []tool.Call{
							do("read", `{"path":"a"}`), do("write", `{"path":"a","text":"1"}`), do("write", `{"path":"b","text":"2"}`),
							do("fails", ""), do("read", `{"path":"a"}`), do("nothing", ""), do("write", `{"path":"a","text":"3"}`), do("read", `{`),
						}},
						harness.AssistantMessage{Calls: []tool.Call{
							do("write", `{"path":"b","text":"4"}`), do("alone", ""), do("read", `{"path":"b"}`), do("read", `{"path":"a"}`),
						}},
					)
					h.Admission = a.open
					h.Pipeline.Budget.Result = 600
					h.Limit = func() (int, error) { return 1 + int(seed%4), nil }
					require.NoError(t, h.agent.Followup(text("one")))
					require.NoError(t, h.agent.Followup(text("two")))
					h.wait(t)
					h.sound(t)
					messages, err := harness.Messages(h.store.Events())
					require.NoError(t, err)
					got := encoded(t, messages)
					last := h.requests[len(h.requests)-1].Messages
					assert.Equal(t, encoded(t, messages[:len(last)]), encoded(t, last), "what the model was told is what the log says")
					if want == "" {
						want = got
						assert.Contains(t, got, "13")
					}
					require.Equal(t, want, got, "seed %d", seed)
				})
			}
		})
	}
}

// contexts is a tool whose results bring something along.
func contexts(name string, d time.Duration) *tool.Definition {
	return define(tool.Spec[struct{}, tool.Result]{
		Name: name, Safe: func(struct{}) bool { return true },
		Body: func(c ctx, _ struct{}) (tool.Result, error) {
			err := rest(c, d)
			r := tool.Text("done")
			r.Contexts = []tool.Context{{Content: []tool.Block{text("about " + name)}}, {Source: "lint", Content: []tool.Block{text("clean")}}}
			if err != nil {
				return r, nil // it has heard of the cancel, and has something to say all the same
			}
			return r, nil
		},
	})
}

// TestH4ContextsReachTheNextStep has contexts go with the next request, in the order of the commits, before all else;
// those that a cancel has parked wait for the next wake, and nothing else makes them messages.
func TestH4ContextsReachTheNextStep(t *testing.T) {
	tools := []*tool.Definition{contexts("slow", 2*time.Second), contexts("fast", time.Second)}
	told := []string{"user: Context from slow: about slow Context from lint: clean", "user: Context from fast: about fast Context from lint: clean"}
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, tools, call("slow", "fast"))
		h.on = func(n int) {
			if n == 1 {
				require.NoError(t, h.agent.Steer(text("steered")))
			}
		}
		h.run(t)
		want := append([]string{"user: go", "assistant"}, told...)
		assert.Equal(t, append(want, "user: steered", "assistant", "end done"), h.talk(t))
		assert.Empty(t, h.Session.State().Parked)
	})
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, tools, call("slow", "fast"))
		time.AfterFunc(1500*time.Millisecond, func() { h.agent.Cancel(errStop, false) })
		h.run(t)
		assert.Equal(t, []string{"user: go", "assistant", "end cancelled"}, h.talk(t))
		assert.Equal(t, []tool.Code{tool.Aborted, tool.Aborted}, codes(t, h.Session))
		require.NoError(t, h.agent.Inject(text("injected")))
		assert.Len(t, h.Session.State().Parked, 2)
		synctest.Wait()
		assert.Len(t, h.talk(t), 3)

		h.Session = open(t, h.store) // they are in the log
		h.agent = h.lead(t, t.Context(), call("slow", "fast"))
		synctest.Wait()
		assert.Len(t, h.talk(t), 3)
		h.run(t)
		assert.Equal(t, append(told, "user: go", "assistant", "end done"), h.talk(t)[3:])
		assert.Empty(t, h.Session.State().Parked)
		h.sound(t)
	})
}

// TestH5OnlyACommittedSuccessConcludes has a turn end by a success of a concluding tool: its siblings are not
// cancelled; an error, an aborted success, or one that a reviewer withheld, is none.
func TestH5OnlyACommittedSuccessConcludes(t *testing.T) {
	fail := false
	last := tool.Spec[struct{}, string]{
		Name: "finish", ConcludesTurn: true, Safe: func(struct{}) bool { return true },
		Body: func(c ctx, _ struct{}) (string, error) {
			if fail {
				return "", errors.New("boom")
			}
			return "finished", nil
		},
	}
	host := func(t *testing.T) *host {
		return newHost(t, []*tool.Definition{free("a", takes(time.Second)), define(last)}, call("finish", "a"))
	}
	synctest.Test(t, func(t *testing.T) {
		h := host(t)
		h.run(t)
		assert.Equal(t, harness.EndConcluded, h.last())
		assert.Equal(t, []tool.Code{"", ""}, codes(t, h.Session))
		assert.Len(t, h.requests, 1)
		h.sound(t)
		h.run(t)
		assert.Equal(t, harness.EndDone, h.last(), "the next turn is not concluded")
	})
	synctest.Test(t, func(t *testing.T) {
		fail = true
		defer func() { fail = false }()
		h := host(t)
		h.run(t)
		assert.Equal(t, harness.EndDone, h.last())
		assert.Len(t, h.requests, 2)
	})
	synctest.Test(t, func(t *testing.T) {
		h := host(t)
		h.Pipeline.Reviewers = []tool.Reviewer{func(ctx, *tool.Invocation, tool.Result) (tool.Review, error) {
			return tool.Review{Block: "no"}, nil
		}}
		h.run(t)
		assert.Equal(t, harness.EndDone, h.last())
	})
	synctest.Test(t, func(t *testing.T) { // the second holds up the first one's commit
		h := newHost(t, []*tool.Definition{free("a", takes(time.Second)), define(last)}, call("a", "finish"))
		h.Pipeline.Listeners = []*tool.Listener{tool.NewListener(func(e tool.Event) {
			if e.Stage == tool.Settled && e.Index == 1 {
				_ = h.CancelCall(at(1, 1, 1), errStop)
			}
		})}
		h.run(t)
		assert.Equal(t, []tool.Code{"", tool.Aborted}, codes(t, h.Session))
		assert.Equal(t, harness.EndDone, h.last())
		h.sound(t)
	})
}

// TestH6LimitIsReadOncePerGroup changes the setting whenever a body starts: what counts is what it was when the group
// began.
func TestH6LimitIsReadOncePerGroup(t *testing.T) {
	message := call("read", "read", "read", "read", "alone", "read", "read", "read", "read")
	for name, c := range map[string]struct {
		open func() plan.Admission
		want []int // the most that ran at once, by group
	}{
		"rolling":   {plan.NewRolling, []int{1, 1, 3}},
		"waves":     {plan.NewWaves, []int{1, 1, 3}},
		"first-fit": {plan.NewFirstFit, []int{1, 1}},
		"keyed":     {plan.NewKeyed, []int{1}},
		"serial":    {plan.NewSerial, []int{1}},
	} {
		for _, in := range []bool{false, true} { // a domain
			synctest.Test(t, func(t *testing.T) {
				var lock sync.Mutex
				running, peaks := 0, []int{}
				body := func(c ctx) (string, error) {
					lock.Lock()
					running++
					peaks[len(peaks)-1] = max(peaks[len(peaks)-1], running)
					lock.Unlock()
					defer func() {
						lock.Lock()
						running--
						lock.Unlock()
					}()
					return "done", rest(c, time.Second)
				}
				h := newHost(t, []*tool.Definition{free("read", body), alone("alone", body)}, message)
				h.Admission = c.open
				if in {
					h.Domain = exec.NewDomain()
				}
				setting := 0
				h.Limit = func() (int, error) {
					lock.Lock()
					defer lock.Unlock()
					peaks = append(peaks, 0)
					setting++
					return setting, nil
				}
				h.run(t)
				assert.Equal(t, c.want, peaks, "%s, in a domain: %v", name, in)
				h.sound(t)
			})
		}
	}
	synctest.Test(t, func(t *testing.T) { // ten by default
		var now, peak atomic.Int64
		h := newHost(t, []*tool.Definition{free("a", func(c ctx) (string, error) {
			peak.Store(max(peak.Load(), now.Add(1)))
			defer now.Add(-1)
			return "done", rest(c, time.Second)
		})}, call(slices.Repeat([]string{"a"}, 25)...))
		h.run(t)
		assert.EqualValues(t, harness.DefaultLimit, peak.Load())
	})
}

// TestH7OneApprovalAtATime has two calls ask: the prompts come one after the other, in the order of the starts, the
// policy is read again before each, the clock of each runs from when it is shown, and a late answer is refused. The log
// has it.
func TestH7OneApprovalAtATime(t *testing.T) {
	for _, a := range admissions {
		t.Run(a.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, []*tool.Definition{free("a", takes(time.Second))}, call("a", "a", "a", "a"))
				h.Admission = a.open
				h.Pipeline.AskInLane = a.name == "rolling"
				asked := make([]int, 4)
				allowAll := false
				h.Pipeline.Policies = []tool.Policy{func(_ ctx, c *tool.Invocation) (tool.Verdict, error) {
					asked[c.Index]++
					if allowAll {
						return tool.Verdict{Action: tool.Allow}, nil
					}
					return tool.Verdict{Action: tool.Ask, Reason: "it is new"}, nil
				}}
				var shown []string
				var late *tool.Prompt
				open := 0
				h.Pipeline.Prompter = &tool.Prompter{Timeout: 5 * time.Second, Approver: approver(func(c ctx, p *tool.Prompt) error {
					open++
					defer func() { open-- }()
					assert.Equal(t, 1, open, "one at a time")
					shown = append(shown, fmt.Sprint(p.Call.Index+1))
					switch p.Call.Index {
					case 0: // nobody answers
						late = p
						<-c.Done()
					case 1: // after four seconds of its own time
						<-time.After(4 * time.Second)
						assert.ErrorIs(t, late.Answer(tool.Answer{Decision: tool.AllowOnce}), tool.ErrLate)
						assert.NoError(t, p.Answer(tool.Answer{Decision: tool.AllowOnce}))
					case 2:
						allowAll = true // and the last is not asked about any more
						assert.NoError(t, p.Answer(tool.Answer{Decision: tool.Reject, Text: "not this one"}))
					}
					return nil
				})}
				h.run(t)
				assert.Equal(t, []string{"1", "2", "3"}, shown)
				assert.Equal(t, []tool.Code{tool.ApprovalTimeout, "", tool.ApprovalRejected, ""}, codes(t, h.Session))
				for i := range 3 {
					assert.Equal(t, 2, asked[i], "the policy is read when it starts and when the prompt is shown")
				}
				h.sound(t)
				log := story(t, h.Session, harness.TypeApprovalAsk, harness.TypeApprovalAnswer)
				switch a.name {
				case "rolling", "serial": // the prompts hold all that comes later
					assert.Equal(t, []string{"ask 1", "answer 1 APPROVAL_TIMEOUT", "ask 2", "answer 2", "ask 3", "answer 3 APPROVAL_REJECTED"}, log)
				default:
					slices.Sort(log[5:]) // which come in one moment
					assert.Equal(t, []string{"ask 1", "ask 2", "ask 3", "ask 4", "answer 1 APPROVAL_TIMEOUT", "answer 2",
						"answer 3 APPROVAL_REJECTED", "answer 4"}, log)
				}
				for _, e := range logOf(t, h.Session) {
					if p, ok := payload(t, e).(harness.ApprovalAsk); ok {
						assert.Equal(t, "it is new", p.Reason)
					}
				}
			})
		})
	}
	t.Run("unrelated calls run on", func(t *testing.T) {
		for _, inLane := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, []*tool.Definition{free("asks", takes(0)), free("a", takes(time.Second))}, call("asks", "a"))
				h.Pipeline.AskInLane = inLane
				h.Pipeline.Policies = []tool.Policy{func(_ ctx, c *tool.Invocation) (tool.Verdict, error) {
					if c.Call.Name == "asks" {
						return tool.Verdict{Action: tool.Ask}, nil
					}
					return tool.Verdict{Action: tool.Allow}, nil
				}}
				h.Pipeline.Prompter = &tool.Prompter{Approver: approver(func(c ctx, p *tool.Prompt) error {
					<-time.After(time.Minute)
					return p.Answer(tool.Answer{Decision: tool.AllowOnce})
				})}
				h.run(t)
				assert.ElementsMatch(t, []string{
					"call 1", "ask 1", "answer 1", "call 2", "settle 1", "settle 2", "result 1", "result 2",
				}, h.calls(t))
				log := h.calls(t)
				assert.Equal(t, inLane, slices.Index(log, "call 2") > slices.Index(log, "answer 1"), "in the lane: %v", inLane)
				assert.Equal(t, inLane, slices.Index(log, "settle 2") > slices.Index(log, "answer 1"))
			})
		}
	})
}

// A tool that only programs may call, or one that the scope hides, is not there for the model, and runs alone if it is
// called all the same.
func TestT1HiddenToolsInAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := tool.Spec[struct{}, string]{Name: "inner", ProgramOnly: true, Safe: func(struct{}) bool { return true },
			Body: func(ctx, struct{}) (string, error) { return "done", nil }}
		h := newHost(t, []*tool.Definition{free("a", takes(time.Second)), free("hidden", takes(0)), define(inner)},
			call("a", "inner", "a", "hidden", "a"))
		h.Tools = &tool.Scope{Parent: h.Tools, Deny: []string{"hidden"}}
		h.run(t)
		require.Len(t, h.requests[0].Tools, 1)
		assert.Equal(t, "a", h.requests[0].Tools[0].Name)
		assert.Equal(t, []tool.Code{"", tool.UnknownTool, "", tool.UnknownTool, ""}, codes(t, h.Session))
		assert.Equal(t, []string{
			"call 1", "settle 1", "result 1", "call 2", "result 2 UNKNOWN_TOOL",
			"call 3", "settle 3", "result 3", "call 4", "result 4 UNKNOWN_TOOL", "call 5", "settle 5", "result 5",
		}, h.calls(t), "a barrier on both sides")
	})
}

// One call can be cancelled, by its place. Its siblings go on.
func TestSchedulerCancelCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, []*tool.Definition{free("a", takes(4*time.Second)), free("b", takes(time.Second)), alone("c", takes(time.Second))},
			call("a", "a", "b", "c"))
		for at, index := range map[time.Duration]int{1500 * time.Millisecond: 3, 2 * time.Second: 0, 3 * time.Second: 2} {
			time.AfterFunc(at, func() { assert.NoError(t, h.CancelCall(harness.Place{Turn: 1, Step: 1, Index: index}, errStop)) })
		}
		h.run(t)
		assert.Equal(t, []string{
			"call 1", "call 2", "call 3", "settle 3", "cancel", // of the fourth
			"cancel", "settle 1 ABORTED", "result 1 ABORTED",
			"cancel", // of the third, which has settled
			"settle 2", "result 2", "result 3 ABORTED", "not started 4", "result 4 ABORTED_BEFORE_DISPATCH",
		}, h.calls(t))
		assert.Equal(t, harness.EndDone, h.last())
		h.sound(t)
		assert.ErrorIs(t, h.CancelCall(at(1, 1, 0), errStop), harness.ErrOrder, "it has its result")
		assert.ErrorIs(t, h.CancelCall(at(1, 2, 0), errStop), harness.ErrOrder, "it was never made")
	})
}

// A body that ignores its cancel is given up; what it returns later is dropped.
func TestSchedulerDrain(t *testing.T) {
	for name, c := range map[string]struct{ set, want time.Duration }{
		"by default": {0, harness.DefaultDrain}, "set": {time.Second, time.Second}, "without a bound": {-1, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, []*tool.Definition{alone("stubborn", func(ctx) (string, error) { <-time.After(time.Hour); return "late", nil })},
					call("stubborn", "stubborn"))
				h.Drain = c.set
				require.NoError(t, h.agent.Followup(text("go")))
				synctest.Wait()
				start := time.Now()
				h.agent.Cancel(errStop, false)
				h.wait(t)
				assert.Equal(t, c.want, time.Since(start))
				want := []tool.Code{tool.Abandoned, tool.AbortedBeforeDispatch}
				if c.set < 0 {
					want[0] = tool.Aborted
				}
				assert.Equal(t, want, codes(t, h.Session))
				h.sound(t)
				before := len(logOf(t, h.Session))
				<-time.After(2 * time.Hour)
				assert.Len(t, logOf(t, h.Session), before)
			})
		})
	}
	// By its own deadline: the turn goes on, and the calls behind it say why they were not started.
	synctest.Test(t, func(t *testing.T) {
		stubborn := tool.Spec[struct{}, string]{Name: "stubborn", Timeout: time.Second, Safe: func(struct{}) bool { return true },
			Body: func(ctx, struct{}) (string, error) { <-time.After(time.Hour); return "late", nil }}
		h := newHost(t, []*tool.Definition{define(stubborn), free("a", takes(10*time.Second)), alone("b", takes(0))}, call("stubborn", "a", "b"))
		h.run(t)
		assert.Equal(t, []tool.Code{tool.Abandoned, "", tool.AbortedBeforeDispatch}, codes(t, h.Session))
		assert.Equal(t, harness.EndDone, h.last())
		assert.NotContains(t, h.calls(t), "cancel")
		h.sound(t)
		<-time.After(2 * time.Hour)
	})
}

// Agents that share a domain and a semaphore keep out of each other's way, and nest to any depth: an agent can be the
// body of a tool of another one.
func TestSchedulersShare(t *testing.T) {
	t.Run("a domain", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			domain := exec.NewDomain()
			var lock sync.Mutex
			in, overlap := map[string]int{}, 0
			write := define(tool.Spec[struct {
				Path string `json:"path"`
			}, string]{
				Name: "write",
				Safe: func(struct {
					Path string `json:"path"`
				}) bool {
					return true
				},
				Claims: func(f struct {
					Path string `json:"path"`
				}) ([]plan.Claim, error) {
					return []plan.Claim{{Key: f.Path}}, nil
				},
				Body: func(c ctx, f struct {
					Path string `json:"path"`
				}) (string, error) {
					lock.Lock()
					in[f.Path]++
					overlap = max(overlap, in[f.Path])
					lock.Unlock()
					err := rest(c, time.Second)
					lock.Lock()
					in[f.Path]--
					lock.Unlock()
					return "done", err
				},
			})
			start := time.Now()
			var all sync.WaitGroup
			for range 4 {
				m := harness.AssistantMessage{Calls: []tool.Call{
					{Name: "write", Arguments: `{"path":"shared"}`}, {Name: "write", Arguments: `{"path":"b"}`},
				}}
				h := newHost(t, []*tool.Definition{write}, m)
				h.Domain, h.Pipeline.Name = domain, "x"
				all.Go(func() { h.run(t); h.sound(t) })
			}
			all.Wait()
			assert.Equal(t, 1, overlap)
			assert.Equal(t, 4*time.Second, time.Since(start), "in turns, and both files side by side")
		})
	})
	t.Run("a semaphore, three deep", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			shared := semaphore.NewWeighted(1)
			domain := exec.NewDomain()
			var now, peak, leaves atomic.Int64
			var depth func(n int) *host
			depth = func(n int) *host {
				leaf := free("leaf", func(c ctx) (string, error) {
					leaves.Add(1)
					peak.Store(max(peak.Load(), now.Add(1)))
					defer now.Add(-1)
					return "done", rest(c, time.Second)
				})
				sub := free("sub", func(c ctx) (string, error) {
					h := depth(n - 1)
					h.agent = h.lead(t, c, deep(n-1)) // with the body's context
					h.run(t)
					h.sound(t)
					return string(h.last()), nil
				})
				h := newHost(t, []*tool.Definition{leaf, sub}, deep(n))
				h.Shared, h.Domain = shared, domain
				h.Limit = func() (int, error) { return 3, nil }
				return h
			}
			h := depth(3)
			h.run(t)
			assert.Equal(t, harness.EndDone, h.last())
			assert.EqualValues(t, 1, peak.Load())
			assert.EqualValues(t, 3*3*3, leaves.Load())
			require.True(t, shared.TryAcquire(1), "all permits are back")
			for _, r := range results(t, h.Session) {
				assert.Equal(t, "done", r.Result.Text())
			}
		})
	})
}

// deep calls sub-agents, and at the bottom leaves.
func deep(n int) harness.AssistantMessage {
	if n == 1 {
		return call("leaf", "leaf", "leaf")
	}
	return call("sub", "sub", "sub")
}

// A scheduler works without an agent, under a context that is cancelled; one step at a time, of a message that is
// recorded.
func TestSchedulerAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, []*tool.Definition{free("slow", takes(3*time.Second)), free("fast", takes(time.Second)), alone("last", takes(0))})
		m := call("slow", "fast", "last")
		m.Turn, m.Step = 1, 1
		_, err := h.Run(t.Context(), m)
		assert.ErrorIs(t, err, harness.ErrOrder, "nobody has recorded it")
		turn1(t, h.Session, m.Calls...)
		c, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(500*time.Millisecond, func() {
			_, err := h.Run(t.Context(), m)
			assert.EqualError(t, err, "turn 1, step 1: turn 1, step 1 is still going on, and a Scheduler runs one step at a time")
		})
		time.AfterFunc(2*time.Second, func() { cancel(errStop) })
		got, err := h.Run(c, m)
		assert.ErrorIs(t, err, errStop)
		var codes []tool.Code
		for _, r := range got {
			codes = append(codes, r.Code)
		}
		assert.Equal(t, []tool.Code{tool.Aborted, tool.Aborted, tool.AbortedBeforeDispatch}, codes)
		assert.Equal(t, []string{
			"call 1", "call 2", "settle 2", "cancel", "settle 1 ABORTED",
			"result 1 ABORTED", "result 2 ABORTED", "not started 3", "result 3 ABORTED_BEFORE_DISPATCH",
		}, h.calls(t))
		assert.Contains(t, got[1].Text(), "done", "what it returned is below the notice")
		put(t, h.Session, harness.StepEnd{Turn: 1, Step: 1}, harness.TurnEnd{Turn: 1, Reason: harness.EndCancelled})
		h.sound(t)
		none, err := h.Run(c, harness.AssistantMessage{})
		require.NoError(t, err)
		assert.NotNil(t, none)
	})
}

// A session that is opened again goes on with a request that a provider takes, wherever its log ended; the results that
// were missing went through the pipeline, and nothing has run again.
func TestH8AgentResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int64
		count := func(c ctx) (string, error) { ran.Add(1); return "done", rest(c, time.Second) }
		tools := []*tool.Definition{free("a", count), alone("b", count)}
		h := newHost(t, tools, call("a", "a", "b"), call("b"))
		h.run(t)
		h.sound(t)
		require.EqualValues(t, 4, ran.Load())
		whole := logOf(t, h.Session)
		for n := range whole {
			cut := &harness.Memory{}
			require.NoError(t, cut.Append(whole[:n]...))
			again := newHost(t, tools)
			var reviewed int
			again.store, again.Session = cut, open(t, cut)
			again.Pipeline.Reviewers = []tool.Reviewer{func(ctx, *tool.Invocation, tool.Result) (tool.Review, error) {
				reviewed++
				return tool.Review{}, nil
			}}
			settled := 0
			for _, o := range again.Session.State().Open {
				if o.Outcome != nil {
					settled++
				}
			}
			again.agent = again.lead(t, t.Context())
			again.sound(t)
			assert.Equal(t, settled, reviewed, "what has settled is reviewed at its commit")
			before := len(logOf(t, again.Session))
			again.agent = again.lead(t, t.Context())
			assert.Len(t, logOf(t, again.Session), before, "a second time there is nothing to do")
			ran.Store(0)
			again.requests = nil
			again.run(t)
			assert.Equal(t, harness.EndDone, again.last())
			again.sound(t)
			assert.Zero(t, ran.Load(), "nothing runs again")
			require.Len(t, again.requests, 1)
			assert.NoError(t, accept(again.requests[0].Messages))
		}
	})
}

// The log has what the design says of each event of a call.
func TestLogOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, []*tool.Definition{define(tool.Spec[struct{}, tool.Result]{Name: "a", Body: func(ctx, struct{}) (tool.Result, error) {
			r := tool.Text("done")
			r.Meta = json.RawMessage(`{"lines":3}`)
			return r, nil
		}})}, harness.AssistantMessage{Calls: []tool.Call{{ID: "x", Name: "a", Arguments: " { } "}, {Name: "b", Arguments: "{"}}})
		h.run(t)
		var lines []string
		for _, e := range logOf(t, h.Session) {
			if strings.HasPrefix(e.Type, "tool/") {
				lines = append(lines, fmt.Sprintf("%d %s %s", e.Seq, e.Type, e.Data))
			}
		}
		assert.Equal(t, []string{
			`6 tool/call {"turn":1,"step":1,"index":0,"id":"x","name":"a","arguments":" { } "}`,
			`7 tool/settle {"turn":1,"step":1,"index":0,"sourceEventSeqs":[6],"result":{"content":[{"text":"done"}],"meta":{"lines":3}}}`,
			`8 tool/result {"turn":1,"step":1,"index":0,"sourceEventSeqs":[6],"id":"x","name":"a","result":{"content":[{"text":"done"}],"meta":{"lines":3}}}`,
			`9 tool/call {"turn":1,"step":1,"index":1,"name":"b","arguments":"{"}`,
			`10 tool/result {"turn":1,"step":1,"index":1,"sourceEventSeqs":[9],"name":"b","result":{"code":"UNKNOWN_TOOL","isError":true,"content":[{"text":"There is no tool \"b\": nothing was run. The tools are: a."}]}}`,
		}, lines)
	})
}
