package tool_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// The stages of a call, in their order, and only the middle ones beside those of another call.
func TestPipelineStages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var log []string
		note := func(s string, c *tool.Invocation) {
			mu.Lock()
			defer mu.Unlock()
			log = append(log, fmt.Sprint(c.Call.ID, " ", s))
		}
		s := tool.Spec[file, string]{Name: "t", Safe: safe[file], Claims: claim(plan.Write)}
		s.Body = func(c ctx, in file) (string, error) {
			note("body", tool.InvocationOf(c))
			return takes(time.Second)(c)
		}
		s.Finalize = func(_ ctx, c *tool.Invocation, _ tool.Result) ([]tool.Block, error) {
			note("finalize", c)
			return nil, nil
		}
		p := &tool.Pipeline{
			Policies: []tool.Policy{func(_ ctx, c *tool.Invocation) (tool.Verdict, error) {
				note("policy", c)
				return tool.Verdict{Action: tool.Ask}, nil
			}},
			Prompter: &tool.Prompter{Approver: shower(func(_ ctx, p *tool.Prompt) error {
				note("prompt", p.Call)
				return p.Answer(tool.Answer{Decision: tool.AllowOnce})
			})},
			Guards: []tool.Guard{func(_ ctx, c *tool.Invocation) error { note("guard", c); return nil }},
			Wrappers: []tool.Wrapper{func(c ctx, inv *tool.Invocation, next tool.Next) (tool.Result, error) {
				note("wrapper", inv)
				return next(c)
			}},
			Reviewers: []tool.Reviewer{func(_ ctx, c *tool.Invocation, _ tool.Result) (tool.Review, error) {
				note("reviewer", c)
				return tool.Review{}, nil
			}},
			Gates:  []tool.Gate{func(_ ctx, e tool.Event) { note("gate "+e.Stage.String(), e.Invocation) }},
			Budget: tool.Budget{Result: 1, Spill: func(_ ctx, c *tool.Invocation, _ tool.Result) (string, error) { note("spill", c); return "", nil }},
		}
		r := registry(t, define(t, s))
		results, err := p.Run(t.Context(), r, []tool.Call{{ID: "1", Name: "t", Arguments: `{"path":"a"}`}})
		require.NoError(t, err)
		assert.Equal(t, "done", results[0].Text())
		assert.Equal(t, "1 gate started, 1 policy, 1 policy, 1 prompt, 1 guard, 1 wrapper, 1 body, 1 reviewer, 1 finalize, 1 gate committed", strings.Join(log, ", "))

		log, p.AskInLane = nil, true
		_, err = p.Run(t.Context(), r, []tool.Call{{ID: "1", Name: "t", Arguments: `{"path":"a"}`}, {ID: "2", Name: "t", Arguments: `{"path":"b"}`}})
		require.NoError(t, err)
		var outside []string
		for _, line := range log {
			if !strings.HasSuffix(line, "wrapper") && !strings.HasSuffix(line, "body") {
				outside = append(outside, line)
			}
		}
		assert.Equal(t, "1 gate started, 1 policy, 1 policy, 1 prompt, 1 guard, 2 gate started, 2 policy, 2 policy, 2 prompt, 2 guard, "+
			"1 reviewer, 1 finalize, 1 gate committed, 2 reviewer, 2 finalize, 2 gate committed", strings.Join(outside, ", "))
	})
}

// A panic or an error in a stage is the outcome of its call, in each slot of a batch and under every admission, and
// nobody else's.
func TestPipelineStagesThatFail(t *testing.T) {
	type stage struct {
		code tool.Code
		says string
		ran  bool
		add  func(p *tool.Pipeline, fail func() error)
	}
	stages := map[string]stage{
		"policy": {tool.Denied, "its policy failed: ", false, func(p *tool.Pipeline, fail func() error) {
			p.Policies = []tool.Policy{func(_ ctx, c *tool.Invocation) (tool.Verdict, error) {
				if c.Call.Name == "bad" {
					return tool.Verdict{Action: tool.Allow}, fail()
				}
				return tool.Verdict{Action: tool.Allow}, nil
			}}
		}},
		"guard": {tool.Denied, "", false, func(p *tool.Pipeline, fail func() error) {
			p.Guards = []tool.Guard{func(_ ctx, c *tool.Invocation) error {
				if c.Call.Name == "bad" {
					return fail()
				}
				return nil
			}}
		}},
		"approver": {tool.ApprovalUnavailable, "", false, func(p *tool.Pipeline, fail func() error) {
			p.Policies = []tool.Policy{verdict(map[string]tool.Verdict{"bad": {Action: tool.Ask}})}
			p.Prompter = &tool.Prompter{Approver: shower(func(ctx, *tool.Prompt) error { return fail() })}
		}},
		"wrapper": {"?", "", true, func(p *tool.Pipeline, fail func() error) {
			p.Wrappers = []tool.Wrapper{func(c ctx, inv *tool.Invocation, next tool.Next) (tool.Result, error) {
				r, err := next(c)
				if inv.Call.Name == "bad" {
					err = fail()
				}
				return r, err
			}}
		}},
		"reviewer": {tool.Blocked, "a reviewer of it failed: ", true, func(p *tool.Pipeline, fail func() error) {
			p.Reviewers = []tool.Reviewer{func(_ ctx, c *tool.Invocation, _ tool.Result) (tool.Review, error) {
				if c.Call.Name == "bad" {
					return tool.Review{}, fail()
				}
				return tool.Review{}, nil
			}}
		}},
	}
	for name, s := range stages {
		for admission, admit := range admissions {
			for how, fail := range map[string]func() error{"boom": func() error { return errBoom }, "it panicked: x": func() error { panic("x") }} {
				for slot := range 3 {
					what := fmt.Sprint(name, ", ", admission, ", ", how, ", ", slot)
					synctest.Test(t, func(t *testing.T) {
						ran := false
						p := new(tool.Pipeline)
						s.add(p, fail)
						names := []string{"good", "good", "good"}
						names[slot] = "bad"
						r := registry(t, define(t, free("good", takes(time.Second))), define(t, free("bad", func(ctx) (string, error) { ran = true; return "", nil })))
						results, err := p.Run(t.Context(), r, named(names...), exec.Admit(admit))
						require.NoError(t, err, what)
						for i, got := range results {
							if i != slot {
								assert.Equal(t, "done", got.Text(), what)
								continue
							}
							want := s.code
							if name == "wrapper" {
								if want = ""; how != "boom" {
									want = tool.Panic
								}
							}
							assert.Equal(t, want, got.Code, what)
							assert.True(t, got.IsError, what)
							assert.Contains(t, got.Text(), s.says+how, what)
						}
						assert.Equal(t, s.ran, ran, what)
					})
				}
			}
		}
	}
}

// Whatever becomes of three calls, there are three results, each in its place and with its own end: a result that
// somebody made up is no worse than another.
func TestCase_sibling_failure_5(t *testing.T) {
	kinds := []string{"ok", "error", "panic", "timeout", "denied", "not-started"}
	want := map[string]tool.Code{"panic": tool.Panic, "timeout": tool.Timeout, "denied": tool.Denied, "not-started": tool.AbortedBeforeDispatch}
	for admission, admit := range admissions {
		for n := range 6 * 6 * 6 {
			mix := []string{kinds[n/36], kinds[n/6%6], kinds[n%6]}
			synctest.Test(t, func(t *testing.T) {
				body := func(c ctx, kind string) (string, error) {
					switch kind {
					case "error":
						return "", errBoom
					case "panic":
						panic("x")
					case "timeout":
						<-c.Done()
						return "", c.Err()
					}
					return "done", nil
				}
				r := registry(t, define(t, tool.Spec[struct{}, string]{Name: "first", Body: func(ctx, struct{}) (string, error) { <-time.After(time.Second); return "", nil }}))
				for _, kind := range kinds {
					s := free(kind, func(c ctx) (string, error) { return body(c, kind) })
					if kind == "timeout" {
						s.Timeout = time.Minute
					}
					require.NoError(t, r.Register(define(t, s)))
				}
				committed := 0
				p := &tool.Pipeline{
					Policies: []tool.Policy{verdict(map[string]tool.Verdict{"denied": {}})},
					// Post-processing that begins with the first slot, whatever is in it.
					Reviewers: []tool.Reviewer{func(_ ctx, c *tool.Invocation, r tool.Result) (tool.Review, error) {
						return tool.Review{Content: append(r.Content, tool.Block{Text: "reviewed"})}, nil
					}},
					Budget: tool.Budget{Result: 1000, Batch: 3000},
					Gates: []tool.Gate{func(_ ctx, e tool.Event) {
						if e.Stage == tool.Committed {
							assert.Equal(t, committed, e.Index)
							committed++
						}
					}},
				}
				run := submit(t, t.Context(), p, r, named(append([]string{"first"}, mix...)...), exec.Admit(admit))
				for i, kind := range mix {
					if kind == "not-started" {
						run.lane.CancelCall(i+1, errBoom)
					}
				}
				require.NoError(t, run.lane.Wait())
				assert.Equal(t, 4, committed)
				for i, kind := range mix {
					got := run.jobs[i+1].Result
					// One after the other, the second of two that run out of their time is late before it starts.
					if kind == "timeout" && admission == "serial" && slices.Contains(mix[:i], "timeout") {
						assert.Equal(t, tool.TimeoutBeforeDispatch, got.Code)
						continue
					}
					assert.Equal(t, want[kind], got.Code, "%s %v", admission, mix)
					assert.Equal(t, kind != "ok", got.IsError)
					switch kind {
					case "ok":
						assert.Equal(t, "done\nreviewed", got.Text())
					case "error":
						assert.Equal(t, "boom\nreviewed", got.Text())
					}
				}
			})
		}
	}
}

// Results come in the order of the calls, to the byte, whoever was done first and whoever was refused at once.
func TestCase_call_identity_2(t *testing.T) {
	seen := map[string]string{}
	rapid.Check(t, func(rt *rapid.T) {
		second := rapid.SampledFrom([]string{"t", "denied"}).Draw(rt, "second")
		delays := rapid.SliceOfN(rapid.IntRange(0, 30), 2, 2).Draw(rt, "delays")
		admit := admissions[rapid.SampledFrom([]string{"serial", "rolling", "waves", "keyed"}).Draw(rt, "admission")]
		rapid.SyncTest(rt, func(rt *rapid.T) {
			r := registry(rt, define(rt, free("t", func(c ctx) (string, error) {
				i := tool.InvocationOf(c).Index
				<-time.After(time.Duration(delays[i]) * time.Millisecond)
				return fmt.Sprint("result ", i), nil
			})), define(rt, free("denied", takes(0))))
			var transcript []string
			p := &tool.Pipeline{
				Policies: []tool.Policy{verdict(map[string]tool.Verdict{"denied": {Reason: "no"}})},
				Budget:   tool.Budget{Batch: 1200},
				Gates: []tool.Gate{func(_ ctx, e tool.Event) {
					if e.Stage == tool.Committed {
						transcript = append(transcript, e.Call.ID+" "+mustJSONOf(rt, e.Result))
					}
				}},
			}
			_, err := p.Run(context.Background(), r, named("t", second), exec.Admit(admit))
			require.NoError(rt, err)
			got := strings.Join(transcript, "\n")
			if seen[second] == "" {
				seen[second] = got
				require.True(rt, strings.HasPrefix(got, "c1 "))
			}
			require.Equal(rt, seen[second], got)
		})
	})
}

// A cancel while a policy or a guard looks at a call is a cancel, not a denial; a verdict that came is one.
func TestT6CancelDuringPolicies(t *testing.T) {
	waits := func(c ctx) error { <-c.Done(); return fmt.Errorf("asking the server: %w", c.Err()) }
	for name, p := range map[string]*tool.Pipeline{
		"policy": {Policies: []tool.Policy{func(c ctx, _ *tool.Invocation) (tool.Verdict, error) { return tool.Verdict{}, waits(c) }}},
		"guard":  {Guards: []tool.Guard{func(c ctx, _ *tool.Invocation) error { return waits(c) }}},
		"says no": {Policies: []tool.Policy{func(c ctx, _ *tool.Invocation) (tool.Verdict, error) {
			_ = waits(c)
			return tool.Verdict{Reason: "no"}, nil
		}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			run := submit(t, t.Context(), p, registry(t, define(t, free("t", takes(0)))), named("t", "t"))
			synctest.Wait()
			run.lane.Cancel(errors.New("stop"))
			require.Error(t, run.lane.Wait())
			want := tool.AbortedBeforeDispatch
			if name == "says no" {
				want = tool.Denied
			}
			assert.Equal(t, []tool.Code{want, tool.AbortedBeforeDispatch}, codes(run.results()), name)
		})
	}
}

// Permission and overlap are two questions: what a policy thinks of a tool changes nothing of its plan, and the other
// way round.
func TestT3PermissionIsNotOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, policies := range [][]tool.Policy{nil, {verdict(map[string]tool.Verdict{"search": {Action: tool.Allow}})}} {
			r := registry(t, define(t, tool.Spec[struct{}, string]{Name: "search", Safe: safe[struct{}],
				Claims: func(struct{}) ([]plan.Claim, error) { return []plan.Claim{{Key: "index"}}, nil },
				Body:   func(c ctx, _ struct{}) (string, error) { return takes(time.Second)(c) }}))
			start := time.Now()
			_, err := (&tool.Pipeline{Policies: policies}).Run(t.Context(), r, named("search", "search"))
			require.NoError(t, err)
			assert.Equal(t, 2*time.Second, time.Since(start))
		}
	})
}

// Invalid arguments and unknown tools are refused before anybody is asked.
func TestT4RefusedWithoutAPrompt(t *testing.T) {
	p := asks(shower(func(ctx, *tool.Prompt) error { panic("somebody is asked") }))
	p.Policies = append(p.Policies, func(ctx, *tool.Invocation) (tool.Verdict, error) { panic("a policy is asked") })
	p.Guards = []tool.Guard{func(ctx, *tool.Invocation) error { panic("a guard is asked") }}
	results, err := p.Run(t.Context(), registry(t, define(t, tool.Spec[file, string]{Name: "t", Body: echo})), []tool.Call{call("t", "{}"), call("t", `{"path":`), call("none", "{}")})
	require.NoError(t, err)
	assert.Equal(t, []tool.Code{tool.InvalidArgs, tool.InvalidArgs, tool.UnknownTool}, codes(results))
}

// A pipeline costs few allocations for a call that does nothing.
func TestPipelineAllocations(t *testing.T) {
	r := registry(t, define(t, free("t", func(ctx) (string, error) { return "done", nil })))
	calls := make([]tool.Call, 64)
	for i := range calls {
		calls[i] = tool.Call{Name: "t", Arguments: "{}"}
	}
	per := testing.AllocsPerRun(20, func() {
		_, err := tool.Run(context.Background(), r, calls)
		require.NoError(t, err)
	}) / float64(len(calls))
	assert.Less(t, per, 26.0)
}

// sulky is an error that panics when it is asked what it is.
type sulky struct{ why *string }

func (s *sulky) Error() string { return *s.why }

// An error that cannot even be shown is the outcome of its call all the same.
func TestErrorsThatPanic(t *testing.T) {
	var bad error = &sulky{}
	for name, p := range map[string]*tool.Pipeline{
		"policy":   {Policies: []tool.Policy{func(ctx, *tool.Invocation) (tool.Verdict, error) { return tool.Verdict{}, bad }}},
		"guard":    {Guards: []tool.Guard{func(ctx, *tool.Invocation) error { return bad }}},
		"approver": asks(shower(func(ctx, *tool.Prompt) error { return bad })),
		"wrapper":  {Wrappers: []tool.Wrapper{func(ctx, *tool.Invocation, tool.Next) (tool.Result, error) { return tool.Result{}, bad }}},
		"reviewer": {Reviewers: []tool.Reviewer{func(ctx, *tool.Invocation, tool.Result) (tool.Review, error) { return tool.Review{}, bad }}},
		"finalize": {}, "body": {},
	} {
		s := free("t", func(ctx) (string, error) {
			if name == "body" {
				return "", bad
			}
			return "", nil
		})
		if name == "finalize" {
			s.Finalize = func(ctx, *tool.Invocation, tool.Result) ([]tool.Block, error) { return nil, bad }
		}
		results, err := p.Run(t.Context(), registry(t, define(t, s)), named("t"))
		require.NoError(t, err, name)
		assert.True(t, results[0].IsError, name)
		assert.Contains(t, results[0].Text(), "PANIC=Error method", name)
	}
	for _, running := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			lane, err := exec.NewLane(t.Context())
			require.NoError(t, err)
			j := tool.NewJob(registry(t, define(t, free("t", func(c ctx) (string, error) { <-c.Done(); return "", c.Err() }))), tool.Call{Name: "t"})
			if running {
				_, err = tool.Submit(lane, j)
				require.NoError(t, err)
				synctest.Wait()
			}
			lane.Cancel(bad)
			want := tool.Aborted
			if !running {
				want = tool.AbortedBeforeDispatch
				_, err = tool.Submit(lane, j)
				require.NoError(t, err)
			}
			lane.Close()
			require.Equal(t, bad, lane.Wait())
			assert.Equal(t, want, j.Result.Code)
			assert.Contains(t, j.Result.Text(), "PANIC=Error method")
		})
	}
}
