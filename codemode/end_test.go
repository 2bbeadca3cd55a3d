package codemode_test

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

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// At its end a program leaves nothing: what runs is aborted, what waits leaves no trace, and that is said.
func TestC4Unawaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		h := newHost(t, func(w *world) codemode.Outcome {
			w.call("read", in{Key: "a", Ms: 5}).await()
			w.call("read", in{Key: "b", Ms: 1000})
			w.call("edit", in{Key: "c"})
			w.sleep(time.Millisecond)
			return returns("done")
		}, j.tools(t))
		heard := map[string]int{}
		l := tool.NewListener(func(e tool.Event) { heard[e.Call.ID]++ })
		h.pipeline.Listeners = []*tool.Listener{l}
		r := h.run()
		require.NoError(t, l.Wait(t.Context()))
		assert.Equal(t, map[string]int{"c1": 3, "c1:code:1": 3, "c1:code:2": 3}, heard, "of what did not start nobody is told")
		assert.Empty(t, r.Code)
		assert.Equal(t, "done\n"+
			"Note: when the program ended, calls were still running, and were aborted; their effects may have happened: tools.read. Await every call.\n"+
			"Note: when the program ended, calls had not started, and were not run: tools.edit. Await every call.", r.Text())
		assert.Equal(t, 6*time.Millisecond, time.Since(j.start), "nothing is waited for")
		assert.Equal(t, []string{"start c1:code:1 read", "end c1:code:1 ok", "start c1:code:2 read", "end c1:code:2 ABORTED"}, h.nested())
		<-time.After(time.Hour)
		assert.NotContains(t, strings.Join(j.all(), "\n"), "edit")
	})
}

// A program that fails is told of the effects of the calls that started, and of no others.
func TestC4FailedAndUnawaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, func(w *world) codemode.Outcome {
			w.call("solo", in{Key: "a", Ms: 10})
			synctest.Wait()
			w.call("edit", in{Key: "b"})
			w.call("edit", in{Key: "c"})
			return codemode.Outcome{Failure: codemode.Exception, Message: "oops"}
		}, newJournal().tools(t))
		text := h.run().Text()
		assert.Contains(t, text, "It had made 1 call, whose effect stays.")
		assert.Contains(t, text, "were aborted; their effects may have happened: tools.solo.")
		assert.Contains(t, text, "were not run: tools.edit, tools.edit.")
	})
}

// With DrainUnawaited, calls go on for some time after the end of the program.
func TestCase_code_mode_2(t *testing.T) {
	for _, c := range []struct {
		drain time.Duration
		log   []string
		notes []string
		took  time.Duration
	}{
		{0, []string{"start c1:code:1 read", "end c1:code:1 ABORTED"}, []string{"were aborted", "were not run"}, 0},
		{50 * time.Millisecond, []string{"start c1:code:1 read", "end c1:code:1 ABORTED"}, []string{"were aborted", "were not run"}, 50 * time.Millisecond},
		{105 * time.Millisecond, []string{"start c1:code:1 read", "end c1:code:1 ok", "start c1:code:2 edit", "end c1:code:2 ABORTED"}, []string{"were aborted"}, 105 * time.Millisecond},
		{time.Hour, []string{"start c1:code:1 read", "end c1:code:1 ok", "start c1:code:2 edit", "end c1:code:2 ok"}, nil, 110 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			h := newHost(t, func(w *world) codemode.Outcome {
				w.call("read", in{Key: "slow", Ms: 100})
				w.call("edit", in{Key: "a", Ms: 10})
				synctest.Wait() // the engine has taken them up
				o := returns("done")
				o.Unhandled = []string{"nobody saw it"}
				return o
			}, j.tools(t), codemode.DrainUnawaited(c.drain))
			r := h.run()
			assert.True(t, strings.HasPrefix(r.Text(), "done\nNote: nothing in the program observed a rejection: nobody saw it"), r.Text())
			for _, n := range c.notes {
				assert.Contains(t, r.Text(), n)
			}
			assert.Equal(t, len(c.notes)+1, strings.Count(r.Text(), "Note:"))
			assert.Equal(t, c.log, h.nested())
			assert.Equal(t, c.took, time.Since(j.start))
			log := h.log()
			assert.Equal(t, []string{"settle ok", "result c1"}, log[len(log)-2:])
			<-time.After(time.Hour)
			assert.Equal(t, log, h.log(), "nothing comes later")
		})
	}
}

// A call that was not awaited and fails in its grace is told of.
func TestC4UnawaitedFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		h := newHost(t, func(w *world) codemode.Outcome {
			w.call("fail", in{Ms: 5})
			return returns("done")
		}, j.tools(t), codemode.DrainUnawaited(time.Second))
		assert.Equal(t, "done\nNote: tools.fail, which was not awaited, failed: boom", h.run().Text())
	})
}

// What the program has heard of is not told once more, and a runtime that names calls that there are not is not believed.
func TestC4Heard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for heard, want := range map[bool]string{true: "done", false: "done\nNote: tools.fail, which was not awaited, failed: boom"} {
			h := newHost(t, func(w *world) codemode.Outcome {
				_, err := w.call("fail", in{}).try()
				assert.Error(t, err)
				o := returns("done")
				if o.Unsettled = []int{-1, 1, 7}; !heard {
					o.Unsettled = []int{0, 1}
				}
				return o
			}, newJournal().tools(t))
			assert.Equal(t, want, h.run().Text())
		}
	})
}

// A rejection does not cancel what else runs.
func TestCase_code_mode_1(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		h := newHost(t, func(w *world) codemode.Outcome {
			failing := w.call("fail", in{Ms: 5})
			slow := w.call("read", in{Key: "slow", Ms: 50})
			_, err := failing.try() // where Promise.all rejects
			require.Error(t, err)
			j.add("caught")
			assert.False(t, slow.done())
			return returns(1)
		}, j.tools(t), codemode.DrainUnawaited(time.Second))
		assert.Equal(t, "1", h.run().Text())
		assert.Contains(t, j.all(), "5ms caught")
		assert.Contains(t, j.all(), "50ms read slow done")
		assert.Equal(t, []string{"end c1:code:2 ok", "settle ok", "result c1"}, h.log()[4:])
	})
}

// A call after the end is rejected, and is not dispatched.
func TestC4AfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		var old *world
		h := newHost(t, func(w *world) codemode.Outcome {
			old = w
			return returns("done")
		}, j.tools(t))
		require.Empty(t, h.run().Code)
		late := old.call("read", in{Key: "a"})
		require.True(t, late.done())
		assert.Equal(t, "the program has ended: nothing is called any more", late.failure)
		<-time.After(time.Hour)
		assert.Empty(t, j.all())
		assert.Empty(t, h.nested())
	})
}

// A call that is made while those that are left get their time is rejected, too.
func TestC4InTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		made := make(chan *promise, 1)
		h := newHost(t, func(w *world) codemode.Outcome {
			w.call("read", in{Key: "a", Ms: 100})
			time.AfterFunc(50*time.Millisecond, func() { made <- w.call("read", in{Key: "late"}) })
			return returns("done")
		}, j.tools(t), codemode.DrainUnawaited(time.Second))
		require.Empty(t, h.run().Code)
		require.True(t, (<-made).done())
		assert.NotContains(t, strings.Join(j.all(), "\n"), "late")
	})
}

// A body that ignores its context does not keep the program from ending: its call is abandoned, and has its one end.
func TestCase_cancel_leak_2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		stuck := define(t, tool.Spec[struct{}, tool.Result]{Name: "stuck", Body: func(ctx, struct{}) (tool.Result, error) {
			<-time.After(300 * time.Millisecond)
			r := tool.Text("late")
			r.Contexts = []tool.Context{{Content: r.Content}}
			return r, nil
		}})
		h := newHost(t, func(w *world) codemode.Outcome {
			if w.source != "script" {
				return returns("next")
			}
			w.call("stuck", "{}").await()
			return returns("never")
		}, registry(t, stuck), codemode.Drain(50*time.Millisecond))
		c, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Millisecond, func() { cancel(errBoom) })
		results, err := h.step(c, program("c1"))
		require.ErrorIs(t, err, errBoom)
		assert.Equal(t, 60*time.Millisecond, time.Since(start))
		assert.Equal(t, tool.Aborted, results[0].Code)
		assert.Equal(t, []string{"call c1", "start c1:code:1 stuck", "end c1:code:1 ABANDONED", "settle ABORTED", "result c1"}, h.log())

		next, err := h.step(t.Context(), tool.Call{ID: "c2", Name: codemode.Name, Arguments: `{"code":"next","description":"d"}`})
		require.NoError(t, err)
		assert.Equal(t, "next", next[0].Text())
		log := h.log()
		<-time.After(time.Second)
		assert.Equal(t, log, h.log(), "the late result is dropped")
		assert.Empty(t, h.session.State().Parked)
	})
}

// If run_code itself is given up, nothing of it gets into a later turn.
func TestC4GivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := define(t, tool.Spec[struct{}, string]{Name: "stuck", Body: func(ctx, struct{}) (string, error) {
			<-time.After(time.Minute)
			return "late", nil
		}})
		h := newHost(t, func(w *world) codemode.Outcome { return returns(w.call("stuck", "{}").await()) }, registry(t, stuck), codemode.Drain(time.Hour))
		h.Drain = time.Second
		c, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		results, err := h.step(c, program("c1"))
		require.Error(t, err)
		assert.Equal(t, tool.Abandoned, results[0].Code)
		want := []string{"call c1", "start c1:code:1 stuck", "settle ABANDONED", "result c1"}
		assert.Equal(t, want, h.log())
		<-time.After(time.Hour)
		assert.Equal(t, want, h.log())
	})
}

// A nested call has its deadline, from when the program makes it: it is late also while it waits.
func TestCase_timeout_2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ran := 0
		h := newHost(t, func(w *world) codemode.Outcome {
			long, late := w.call("long", "{}"), w.call("late", "{}")
			_, err := late.try()
			assert.ErrorContains(t, err, "late was not run")
			_, err = long.try()
			assert.ErrorContains(t, err, "long did not end in time")
			return returns(fmt.Sprint(time.Since(start)))
		}, registry(t,
			define(t, tool.Spec[struct{}, string]{Name: "long", Timeout: 200 * time.Millisecond, Body: func(c ctx, _ struct{}) (string, error) {
				<-c.Done()
				return "", c.Err()
			}}),
			define(t, tool.Spec[struct{}, string]{Name: "late", Timeout: 50 * time.Millisecond, Body: func(ctx, struct{}) (string, error) { ran++; return "", nil }}),
		))
		assert.Equal(t, "200ms", h.run().Text())
		assert.Zero(t, ran)
		assert.Equal(t, []string{"start c1:code:1 long", "end c1:code:1 TIMEOUT"}, h.nested(), "what never started leaves no trace")
	})
}

// The outcome of run_code under a cancel is the pipeline's, and says how far the program came.
func TestC4CancelledProgram(t *testing.T) {
	for _, how := range []string{"runs", "throws"} {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			h := newHost(t, func(w *world) codemode.Outcome {
				p := w.call("read", in{Key: "a", Ms: 1000})
				if how == "runs" {
					p.await()
				}
				<-w.ctx.Done() // an engine that has not noticed yet
				return codemode.Outcome{Failure: codemode.Exception, Message: "ToolCallError", Logs: []codemode.Log{{Text: "so far"}}}
			}, j.tools(t))
			c, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(10*time.Millisecond, func() { cancel(errBoom) })
			results, err := h.step(c, program("c1"))
			require.ErrorIs(t, err, errBoom)
			r := results[0]
			assert.Equal(t, tool.Aborted, r.Code)
			assert.Contains(t, r.Text(), "run_code was cancelled while it ran (boom).")
			if how == "throws" {
				assert.Contains(t, r.Text(), "Logs:\nso far")
			} else {
				assert.Contains(t, r.Text(), "The program was stopped.")
			}
			assert.Contains(t, r.Text(), "were aborted; their effects may have happened: tools.read")
			assert.Equal(t, []string{"call c1", "start c1:code:1 read", "end c1:code:1 ABORTED", "settle ABORTED", "result c1"}, h.log())
		})
	}
}

// A program that fails while what it left is drained stays failed if the cancel comes then.
func TestC4CancelledAfterTheFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := define(t, tool.Spec[struct{}, string]{Name: "slow", Body: func(c ctx, _ struct{}) (string, error) {
			<-c.Done()
			<-time.After(100 * time.Millisecond)
			return "", c.Err()
		}})
		h := newHost(t, func(w *world) codemode.Outcome {
			w.call("slow", "{}")
			synctest.Wait()
			return codemode.Outcome{Failure: codemode.Exception, Message: "1:1: oops"}
		}, registry(t, slow))
		c, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(50*time.Millisecond, func() { cancel(errBoom) })
		results, err := h.step(c, program("c1"))
		require.ErrorIs(t, err, errBoom)
		assert.Equal(t, tool.CodeRunFailed, results[0].Code)
		assert.True(t, strings.HasPrefix(results[0].Text(), "The program failed (exception): 1:1: oops\nIt had made 1 call, whose effect stays.\nNote: "), results[0].Text())
	})
}

// Whatever a program does and whenever it is cancelled: started is settled exactly once, in the order of the calls and
// before the outer result; what did not start has no trace; what settles is what the log says; nothing comes later.
func TestC4Property(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type step struct {
			name  string
			ms    int
			await bool
		}
		steps := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) step {
			return step{
				rapid.SampledFrom([]string{"read", "read", "edit", "solo", "fail", "missing", "denied"}).Draw(rt, "name"),
				rapid.IntRange(0, 6).Draw(rt, "ms"), rapid.Bool().Draw(rt, "await"),
			}
		}), 1, 8).Draw(rt, "steps")
		limit := rapid.IntRange(1, 3).Draw(rt, "limit")
		unawaited := rapid.SampledFrom([]time.Duration{0, 3 * time.Millisecond, time.Hour}).Draw(rt, "unawaited")
		cancelAt := rapid.SampledFrom([]time.Duration{0, time.Millisecond, 3 * time.Millisecond, 7 * time.Millisecond, time.Hour}).Draw(rt, "cancel")
		hook := rapid.SampledFrom([]time.Duration{-1, 0, 2 * time.Millisecond}).Draw(rt, "hook")
		admit := rapid.SampledFrom([]string{"serial", "rolling", "waves", "keyed"}).Draw(rt, "admission")
		throws := rapid.Bool().Draw(rt, "throws")
		rapid.SyncTest(rt, func(rt *rapid.T) {
			j := newJournal()
			opts := []codemode.Option{codemode.MaxParallelSubCalls(limit), codemode.DrainUnawaited(unawaited), codemode.Admit(admissions[admit])}
			if hook >= 0 {
				opts = append(opts, codemode.Shorten(func(c ctx, i *tool.Invocation, r tool.Result) (tool.Result, error) {
					<-time.After(hook)
					return r, nil
				}))
			}
			var made []*promise
			var of *world
			tools := registry(rt, define(rt, tool.Spec[in, string]{Name: "denied", Safe: isSafe, Body: j.body("denied")}))
			h := newHost(rt, func(w *world) codemode.Outcome {
				of = w
				for i, s := range steps {
					p := w.call(s.name, in{Key: fmt.Sprint(i % 3), Ms: s.ms})
					made = append(made, p)
					if s.await {
						_, _ = p.try()
					}
				}
				if throws {
					panic(&toolError{"x", "thrown"})
				}
				return returns("done")
			}, &tool.Scope{Parent: j.tools(rt), Own: tools}, opts...)
			h.pipeline.Policies = []tool.Policy{func(_ ctx, c *tool.Invocation) (tool.Verdict, error) {
				if c.Call.Name == "denied" {
					return tool.Verdict{}, nil
				}
				return tool.Verdict{Action: tool.Allow}, nil
			}}
			c, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			time.AfterFunc(cancelAt, func() { cancel(errBoom) })
			results, err := h.step(c, program("c1"))
			require.True(rt, err == nil || errors.Is(err, errBoom))
			require.Len(rt, results, 1)

			synctest.Wait()
			j.mu.Lock()
			require.Zero(rt, j.running)
			require.LessOrEqual(rt, j.peak, limit)
			bodies := len(j.lines)
			j.mu.Unlock()
			for _, p := range made {
				require.True(rt, p.done(), "no promise is left over")
			}
			if of != nil {
				require.True(rt, slices.Equal(made, of.order), "C3: promises settle in the order of the calls")
			}
			log := h.log()
			checkNested(rt, log)
			<-time.After(time.Hour)
			require.Equal(rt, log, h.log())
			require.Len(rt, j.all(), bodies)
		})
	})
}

// checkNested says what C4 says of a log of one call of run_code.
func checkNested(t require.TestingT, log []string) {
	if len(log) == 0 || log[0] != "call c1" {
		return
	}
	started, ended, last := map[string]bool{}, map[string]bool{}, 0
	over := false
	for _, l := range log[1:] {
		f := strings.Fields(l)
		switch f[0] {
		case "start":
			require.False(t, over || started[f[1]], "%v", log)
			started[f[1]] = true
		case "end":
			require.True(t, !over && started[f[1]] && !ended[f[1]], "%v", log)
			ended[f[1]] = true
			var n int
			_, err := fmt.Sscanf(f[1], "c1:code:%d", &n)
			require.NoError(t, err)
			require.Greater(t, n, last, "%v", log)
			last = n
		case "settle":
			over = true
		}
	}
	require.Equal(t, started, ended, "%v", log)
}

var admissions = map[string]func() plan.Admission{
	"serial": plan.NewSerial, "rolling": plan.NewRolling, "waves": plan.NewWaves, "keyed": plan.NewKeyed,
}

// A cancel at each of these points leaves what C4 says.
func TestC4CancelAtEveryPoint(t *testing.T) {
	for _, point := range []string{"policy", "approval", "body", "reviewer", "finalize", "hook", "program", "between"} {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			c, cancel := context.WithCancelCause(t.Context())
			at := func(here string, i *tool.Invocation) {
				if here == point && (i == nil || i.Parent != nil && i.Index == 0) {
					cancel(errBoom)
					synctest.Wait() // all that it moves has moved
				}
			}
			first := define(t, tool.Spec[struct{}, string]{Name: "first", Safe: func(struct{}) bool { return true },
				Body: func(c ctx, _ struct{}) (string, error) {
					at("body", tool.InvocationOf(c))
					return "ok", nil
				},
				Finalize: func(_ ctx, i *tool.Invocation, r tool.Result) ([]tool.Block, error) {
					at("finalize", i)
					return nil, nil
				}})
			h := newHost(t, func(w *world) codemode.Outcome {
				at("program", nil)
				one, two := w.call("first", "{}"), w.call("solo", in{Ms: 10})
				_, _ = one.try()
				at("between", nil)
				_, _ = two.try()
				return returns("done")
			}, &tool.Scope{Parent: j.tools(t), Own: registry(t, first)},
				codemode.Shorten(func(_ ctx, i *tool.Invocation, r tool.Result) (tool.Result, error) {
					at("hook", i)
					return r, nil
				}))
			h.pipeline.Policies = []tool.Policy{func(_ ctx, i *tool.Invocation) (tool.Verdict, error) {
				at("policy", i)
				if i.Call.Name == "first" {
					return tool.Verdict{Action: tool.Ask}, nil
				}
				return tool.Verdict{Action: tool.Allow}, nil
			}}
			h.pipeline.Prompter = &tool.Prompter{Timeout: time.Minute, Approver: approver(func(p *tool.Prompt) error {
				at("approval", p.Call)
				return p.Answer(tool.Answer{Decision: tool.AllowOnce})
			})}
			h.pipeline.Reviewers = []tool.Reviewer{func(_ ctx, i *tool.Invocation, r tool.Result) (tool.Review, error) {
				at("reviewer", i)
				return tool.Review{}, nil
			}}
			results, err := h.step(c, program("c1"))
			require.ErrorIs(t, err, errBoom, point)
			assert.Equal(t, tool.Aborted, results[0].Code, point)
			checkNested(t, h.log())
			want := map[string]string{
				"policy": "APPROVAL_CANCELLED", "approval": "APPROVAL_CANCELLED", "body": "ABORTED",
				"reviewer": "ok", "finalize": "ok", "hook": "ok", "between": "ok",
			}[point]
			if want != "" {
				assert.Contains(t, h.nested(), "end c1:code:1 "+want, point)
			} else {
				assert.Empty(t, h.nested(), point)
			}
			assert.NotContains(t, strings.Join(j.all(), "\n"), "done", point)
			var cancels int
			for e, err := range h.session.Events() {
				require.NoError(t, err)
				if e.Type == harness.TypeCancel {
					cancels++
				}
			}
			assert.Equal(t, 1, cancels)
		})
	}
}

// deaf is an admission that offers nothing.
type deaf struct{ plan.Admission }

func (deaf) Next(int) (int, bool) { return -1, false }

// panicking are Tools that fail once they are asked what a call means.
type panicking struct{ tool.Tools }

func (p panicking) Bind(name string) tool.Binding {
	if name == "read" {
		panic("no tools today")
	}
	return p.Tools.Bind(name)
}

// If the lane itself fails, the program does not wait for what never comes.
func TestC4LaneFails(t *testing.T) {
	for want, c := range map[string]struct {
		tools tool.Tools
		admit func() plan.Admission
	}{
		"admission broke its contract": {newJournal().tools(t), func() plan.Admission { return deaf{plan.NewRolling()} }},
		"no tools today":               {panicking{newJournal().tools(t)}, plan.NewRolling},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := script(func(w *world) codemode.Outcome { return returns(w.call("read", in{}).await()) })
			v, err := codemode.New(s, c.tools, codemode.Admit(c.admit))
			require.NoError(t, err)
			r, err := tool.Execute(t.Context(), v, program("c1"))
			require.NoError(t, err)
			assert.True(t, r.IsError)
			assert.Contains(t, r.Text(), "The program was stopped, because what it called could not be run and recorded")
			assert.Contains(t, r.Text(), want)
		})
	}
}

// After a call was given up, nothing more is called, and the program is told why.
func TestC4AfterOneWasGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		stuck := define(t, tool.Spec[struct{}, string]{Name: "stuck", Timeout: time.Second, Body: func(ctx, struct{}) (string, error) {
			<-time.After(time.Minute)
			return "late", nil
		}})
		h := newHost(t, func(w *world) codemode.Outcome {
			_, err := w.call("stuck", "{}").try()
			assert.ErrorContains(t, err, "did not stop in time: it may still be running")
			w.sleep(time.Second)
			_, err = w.call("read", in{Key: "a"}).try()
			return returns(err.Error())
		}, &tool.Scope{Parent: j.tools(t), Own: registry(t, stuck)}, codemode.Drain(time.Second))
		assert.Equal(t, "it was not called: nothing is, once a call of the program was given up because it did not stop in time", h.run().Text())
		assert.Equal(t, []string{"start c1:code:1 stuck", "end c1:code:1 ABANDONED"}, h.nested())
		<-time.After(time.Hour)
	})
}

// Calls that are refused because one was given up are not in flight: a program is told of each why, however many.
func TestC5AfterOneWasGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := define(t, tool.Spec[in, string]{Name: "stuck", Timeout: time.Second, Body: func(ctx, in) (string, error) {
			<-time.After(time.Minute)
			return "late", nil
		}})
		h := newHost(t, func(w *world) codemode.Outcome {
			_, err := w.call("stuck", in{}).try()
			assert.ErrorContains(t, err, "did not stop in time")
			for range 50 {
				_, err = w.call("stuck", in{Key: strings.Repeat("x", 500)}).try()
				assert.ErrorContains(t, err, "it was not called")
			}
			return returns("done")
		}, registry(t, stuck), codemode.Drain(time.Second), codemode.Limit(codemode.Limits{InFlight: 2000}))
		assert.Equal(t, "done", h.run().Text())
		<-time.After(time.Hour)
	})
}

// Any number of programs run at once.
func TestManyPrograms(t *testing.T) {
	j := newJournal()
	v, err := codemode.New(script(func(w *world) codemode.Outcome {
		return returns(all(w.call("read", in{Key: "a", Ms: 1}), w.call("edit", in{Key: "b", Ms: 1}))[0])
	}), j.tools(t))
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			r, err := tool.Execute(context.Background(), v, program("c1"))
			assert.NoError(t, err)
			assert.Equal(t, `"a"`, r.Text())
		})
	}
	wg.Wait()
	assert.Len(t, j.all(), 400)
}
