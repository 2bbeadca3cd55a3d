package codemode_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// What a host puts around direct calls is around nested ones, and tells them apart.
func TestC1Pipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		var seen []string
		see := func(what string, c *tool.Invocation) {
			if c.Parent != nil {
				seen = append(seen, fmt.Sprintf("%s %s in %s, claims %d", what, c.Call.ID, c.Parent.Call.ID, len(c.Planned.Claims)))
			}
		}
		h := newHost(t, func(w *world) codemode.Outcome {
			_, err := w.call("edit", in{Key: "secret"}).try()
			assert.ErrorContains(t, err, "not allowed")
			assert.Equal(t, "edit", err.toolName)
			_, err = w.call("solo", in{Key: "guarded"}).try()
			assert.ErrorContains(t, err, "not now")
			return returns(w.call("read", in{Key: "a"}).await())
		}, j.tools(t))
		h.pipeline.Policies = []tool.Policy{func(_ ctx, c *tool.Invocation) (tool.Verdict, error) {
			see("policy", c)
			if strings.Contains(string(c.Arguments), "secret") {
				return tool.Verdict{Action: tool.Deny}, nil
			}
			return tool.Verdict{Action: tool.Allow}, nil
		}}
		h.pipeline.Guards = []tool.Guard{func(_ ctx, c *tool.Invocation) error {
			see("guard", c)
			if strings.Contains(string(c.Arguments), "guarded") {
				return errors.New("not now")
			}
			return nil
		}}
		h.pipeline.Wrappers = []tool.Wrapper{func(c ctx, i *tool.Invocation, next tool.Next) (tool.Result, error) {
			see("wrapper", i)
			return next(c)
		}}
		h.pipeline.Reviewers = []tool.Reviewer{func(_ ctx, c *tool.Invocation, r tool.Result) (tool.Review, error) {
			see("reviewer", c)
			if c.Parent != nil {
				return tool.Review{Value: json.RawMessage(`"reviewed"`)}, nil
			}
			return tool.Review{}, nil
		}}
		var heard []string
		l := tool.NewListener(func(e tool.Event) {
			if e.Parent != nil {
				heard = append(heard, fmt.Sprintf("%s %v", e.Call.ID, e.Stage))
			}
		})
		h.pipeline.Listeners = []*tool.Listener{l}

		r := h.run()
		require.NoError(t, l.Wait(t.Context()))
		assert.Equal(t, `"reviewed"`, r.Text(), "the program gets the value in its final form")
		assert.Equal(t, []string{
			"policy c1:code:1 in c1, claims 1",
			"policy c1:code:2 in c1, claims 0", "guard c1:code:2 in c1, claims 0",
			"policy c1:code:3 in c1, claims 1", "guard c1:code:3 in c1, claims 1", "wrapper c1:code:3 in c1, claims 1", "reviewer c1:code:3 in c1, claims 1",
		}, seen)
		assert.Equal(t, []string{"start c1:code:1 edit", "end c1:code:1 DENIED", "start c1:code:2 solo", "end c1:code:2 DENIED",
			"start c1:code:3 read", "end c1:code:3 ok"}, h.nested())
		assert.Equal(t, []string{"c1:code:1 started", "c1:code:1 committed", "c1:code:2 started", "c1:code:2 committed",
			"c1:code:3 started", "c1:code:3 settled", "c1:code:3 committed"}, heard)
		assert.Equal(t, []string{"0s read a", "0s read a done"}, j.all(), "what was denied did not run")
	})
}

// A nested call is asked about like any other, and the answer holds for it.
func TestC1Approval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		h := newHost(t, func(w *world) codemode.Outcome {
			no, yes := w.call("edit", in{Key: "no"}), w.call("edit", in{Key: "yes"})
			_, err := no.try()
			return returns([]string{err.Error(), yes.await()})
		}, j.tools(t))
		h.pipeline.Policies = []tool.Policy{func(_ ctx, c *tool.Invocation) (tool.Verdict, error) {
			if c.Call.Name == "edit" {
				return tool.Verdict{Action: tool.Ask}, nil
			}
			return tool.Verdict{Action: tool.Allow}, nil
		}}
		h.pipeline.Prompter = &tool.Prompter{Timeout: time.Minute, Approver: approver(func(p *tool.Prompt) error {
			require.Equal(t, "c1", p.Call.Parent.Call.ID)
			if strings.Contains(string(p.Call.Arguments), "yes") {
				return p.Answer(tool.Answer{Decision: tool.AllowOnce})
			}
			return p.Answer(tool.Answer{Text: "no way"})
		})}
		r := h.run()
		assert.Contains(t, r.Text(), "no way")
		assert.Contains(t, r.Text(), "yes")
		assert.Equal(t, []string{"start c1:code:1 edit", "end c1:code:1 APPROVAL_REJECTED", "start c1:code:2 edit", "end c1:code:2 ok"}, h.nested())
	})
}

type approver func(*tool.Prompt) error

func (a approver) Show(_ ctx, p *tool.Prompt) error { return a(p) }

// A tool that is replaced while the program runs is run as it is when a call starts, and planned for as it is then.
func TestCase_definitions_1(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		tools := j.tools(t)
		h := newHost(t, func(w *world) codemode.Outcome {
			first := w.call("solo", in{Key: "old", Ms: 10})
			second, third := w.call("solo", in{Key: "new"}), w.call("read", in{Key: "gone"})
			w.sleep(time.Millisecond)
			require.NoError(t, tools.Replace(define(t, tool.Spec[in, string]{Name: "solo", Body: func(_ ctx, i in) (string, error) { return "replaced " + i.Key, nil }})))
			tools.Unregister("read")
			_, err := third.try()
			return returns([]string{first.await(), second.await(), err.Error()})
		}, tools)
		r := h.run()
		assert.Contains(t, r.Text(), `"\"old\""`)
		assert.Contains(t, r.Text(), `"\"replaced new\""`)
		assert.Contains(t, r.Text(), `There is no tool \"read\": nothing was run. The tools are: edit, fail, solo.`)
		assert.Equal(t, "end c1:code:3 UNKNOWN_TOOL", h.nested()[5])
	})
}

func TestC2ExclusiveIsABarrierToItsCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		h := newHost(t, func(w *world) codemode.Outcome {
			all(w.call("read", in{Key: "a", Ms: 10}), w.call("solo", in{Key: "x", Ms: 10}), w.call("read", in{Key: "b", Ms: 10}),
				w.call("edit", in{Key: "c", Ms: 10}), w.call("edit", in{Key: "d", Ms: 10}))
			return codemode.Outcome{}
		}, j.tools(t))
		h.pipeline.Reviewers = []tool.Reviewer{func(_ ctx, c *tool.Invocation, r tool.Result) (tool.Review, error) {
			if c.Call.Name == "solo" {
				<-time.After(5 * time.Millisecond)
			}
			return tool.Review{}, nil
		}}
		assert.Equal(t, "The program returned nothing.", h.run().Text())
		assert.Equal(t, []string{"0s read a", "10ms read a done", "10ms solo x", "20ms solo x done", "25ms read b", "35ms read b done",
			"35ms edit c", "45ms edit c done", "45ms edit d", "55ms edit d done"}, j.all(), "Rolling: a call that claims a write counts as exclusive")
	})
}

func TestC2Keyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		h := newHost(t, func(w *world) codemode.Outcome {
			all(w.call("edit", in{Key: "a", Ms: 25}), w.call("edit", in{Key: "b", Ms: 10}), w.call("edit", in{Key: "b", Ms: 10}))
			return codemode.Outcome{}
		}, j.tools(t), codemode.Admit(plan.NewKeyed))
		require.Empty(t, h.run().Code)
		assert.Equal(t, []string{"0s edit a", "0s edit b", "10ms edit b done", "10ms edit b", "20ms edit b done", "25ms edit a done"}, j.all())
		assert.Equal(t, []string{"start c1:code:1 edit", "start c1:code:2 edit", "start c1:code:3 edit", "end c1:code:1 ok", "end c1:code:2 ok", "end c1:code:3 ok"}, h.nested())
	})
}

// One call is like any other number of them.
func TestC2One(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		h := newHost(t, func(w *world) codemode.Outcome {
			all(w.call("read", in{Key: "a", Ms: 10}), w.call("read", in{Key: "b", Ms: 10}))
			return codemode.Outcome{}
		}, j.tools(t), codemode.MaxParallelSubCalls(1))
		require.Empty(t, h.run().Code)
		assert.Equal(t, 1, j.peak)
	})
}

// What a call comes to is what the program gets: a value, text, or a ToolCallError with the text for the model.
func TestC3Values(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := func(r tool.Result, err error) func(ctx, struct{}) (tool.Result, error) {
			return func(ctx, struct{}) (tool.Result, error) { return r, err }
		}
		spec := func(name string, r tool.Result, err error) *tool.Definition {
			return define(t, tool.Spec[struct{}, tool.Result]{Name: name, Safe: func(struct{}) bool { return true }, Body: body(r, err)})
		}
		image := tool.Block{Image: &tool.Image{MediaType: "image/png", Data: []byte("x")}}
		h := newHost(t, func(w *world) codemode.Outcome {
			for name, want := range map[string]string{
				"value": `{"n":12345678901234567890}`, "text": `"<a>\n\"b\""`, "json": `[1]`, "two": `"a\nb"`, "image": `"[image/png, 1 bytes]"`, "none": `""`,
			} {
				assert.Equal(t, want, w.call(name, "{}").await(), name)
			}
			for name, want := range map[string]string{
				"error": "boom", "silent": "it failed, and did not say why", "panics": "panics failed: it panicked: x.", "nothing": `There is no tool "nothing"`,
			} {
				_, err := w.call(name, "{}").try()
				assert.ErrorContains(t, err, want, name)
			}
			_, err := w.call("text", `{"a":1}`).try()
			assert.ErrorContains(t, err, "The arguments of text are invalid")
			return returns(w.call("text", "").await()) // no arguments are {}
		}, registry(t,
			spec("value", tool.Result{Value: json.RawMessage(`{"n":12345678901234567890}`), Content: tool.Text("shown").Content}, nil),
			spec("text", tool.Text("<a>\n\"b\""), nil),
			spec("json", tool.Result{Content: []tool.Block{{JSON: json.RawMessage(`[1]`)}}}, nil),
			spec("two", tool.Result{Content: []tool.Block{{Text: "a"}, {Text: "b"}}}, nil),
			spec("image", tool.Result{Content: []tool.Block{image}}, nil),
			spec("none", tool.Result{}, nil),
			spec("error", tool.Result{}, errBoom),
			spec("silent", tool.Result{IsError: true}, nil),
			define(t, tool.Spec[struct{}, string]{Name: "panics", Body: func(ctx, struct{}) (string, error) { panic("x") }}),
		))
		r := h.run()
		require.Empty(t, r.Code, r.Text())
		assert.Equal(t, image, r.Content[1], "images ride on the result")
	})
}

// What a reviewer replaces is replaced for a program, too, also if it only says what is to be shown in its place.
func TestC3Reviewed(t *testing.T) {
	for _, c := range []struct {
		review tool.Review
		want   string
	}{
		{tool.Review{}, `{"key":"secret"}`},
		{tool.Review{Content: tool.Text("withheld").Content}, `"withheld"`},
		{tool.Review{Content: []tool.Block{}}, `""`},
		{tool.Review{Content: tool.Text("withheld").Content, Value: json.RawMessage(`{"key":"public"}`)}, `{"key":"public"}`},
	} {
		h := newHost(t, func(w *world) codemode.Outcome {
			assert.JSONEq(t, c.want, w.call("look", in{}).await())
			return returns("done")
		}, registry(t, define(t, tool.Spec[in, in]{Name: "look", Body: func(ctx, in) (in, error) { return in{Key: "secret"}, nil }})))
		h.pipeline.Reviewers = []tool.Reviewer{func(_ ctx, i *tool.Invocation, _ tool.Result) (tool.Review, error) {
			if i.Parent == nil {
				return tool.Review{}, nil
			}
			return c.review, nil
		}}
		assert.Equal(t, "done", h.run().Text())
	}
}

// The budget is for what a model is shown; a program gets all of it. Neither is the whole of it spilled.
func TestC3NoBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := strings.Repeat("x", 5000)
		h := newHost(t, func(w *world) codemode.Outcome {
			return returns(len(w.call("long", "{}").await()))
		}, registry(t, define(t, tool.Spec[struct{}, tool.Result]{Name: "long", Body: func(ctx, struct{}) (tool.Result, error) { return tool.Text(long), nil }})))
		h.pipeline.Budget = tool.Budget{Result: 600, Spill: func(_ ctx, c *tool.Invocation, r tool.Result) (string, error) {
			panic("nothing is shown to a model")
		}}
		assert.Equal(t, "5002", h.run().Text())
	})
}

// Calls of programs under way at once get their own answers.
func TestCase_code_mode_7(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			h := newHost(t, func(w *world) codemode.Outcome {
				ps := make([]*promise, 50)
				for i := range ps {
					ps[i] = w.call("read", in{Key: fmt.Sprint(i), Ms: i * 7 % 13})
				}
				for i, p := range ps {
					assert.Equal(t, fmt.Sprintf(`"%d"`, i), p.await())
				}
				return codemode.Outcome{}
			}, j.tools(t))
			require.Empty(t, h.run().Code)
		})
	}
}

// Calls of a tool that is not safe, or claim one key, do not overlap, whether a program makes them or a sibling does.
func TestCase_code_mode_8(t *testing.T) {
	for _, name := range []string{"solo", "edit"} {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			h := newHost(t, func(w *world) codemode.Outcome {
				all(w.call(name, in{Key: "k", Ms: 10}), w.call(name, in{Key: "k", Ms: 10}))
				return codemode.Outcome{}
			}, j.tools(t), codemode.Present(codemode.Both))
			_, err := h.step(t.Context(), program("c1"), tool.Call{ID: "c2", Name: name, Arguments: `{"key":"k","ms":10}`})
			require.NoError(t, err)
			assert.Equal(t, 1, j.peak)
			assert.Len(t, j.all(), 6)
		})
	}
}

// Nested calls say whose they are, lie within the call around them, and a model is shown none of them.
func TestCase_code_mode_11(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		h := newHost(t, func(w *world) codemode.Outcome {
			all(w.call("read", in{Key: "a", Ms: 5}), w.call("read", in{Key: "b"}))
			return codemode.Outcome{}
		}, j.tools(t), codemode.Present(codemode.Both))
		var mu sync.Mutex
		parents := map[string]string{}
		h.pipeline.Gates = []tool.Gate{func(_ ctx, e tool.Event) {
			mu.Lock()
			defer mu.Unlock()
			parents[e.Call.ID] = ""
			if e.Parent != nil {
				parents[e.Call.ID] = e.Parent.Call.ID
			}
		}}
		_, err := h.step(t.Context(), program("c1"), tool.Call{ID: "c2", Name: "read", Arguments: `{"key":"c"}`})
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"c1": "", "c1:code:1": "c1", "c1:code:2": "c1", "c2": ""}, parents)
		log := h.log()
		assert.Equal(t, []string{"call c1", "start c1:code:1 read", "start c1:code:2 read", "end c1:code:1 ok", "end c1:code:2 ok", "settle ok", "result c1",
			"call c2", "settle ok", "result c2"}, log)
		messages, err := h.session.Messages()
		require.NoError(t, err)
		require.Len(t, messages, 2)
		assert.Len(t, messages[1].Results, 2)
		text, err := json.Marshal(messages)
		require.NoError(t, err)
		assert.NotContains(t, string(text), ":code:")
	})
}

// What a model is shown is what its programs can call.
func TestCase_definitions_2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran []string
		spec := func(name string) *tool.Definition {
			return define(t, tool.Spec[struct{}, string]{Name: name, Body: func(ctx, struct{}) (string, error) { ran = append(ran, name); return name, nil }})
		}
		global := registry(t, spec("read"), spec("write"))
		turn := &tool.Scope{Parent: global, Own: registry(t, spec("patch")), Allow: []string{"read", "patch"}}
		h := newHost(t, func(w *world) codemode.Outcome {
			assert.Equal(t, []string{"patch", "read"}, w.Tools)
			_, err := w.call("write", "{}").try()
			assert.ErrorContains(t, err, `There is no tool "write": nothing was run. The tools are: patch, read.`)
			return returns(w.call("patch", "{}").await())
		}, turn)
		require.Empty(t, h.run().Code)
		assert.Equal(t, []string{"patch"}, ran)
	})
}

// Values of the caller's context reach nested bodies.
func TestC1ContextValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type tenant struct{}
		h := newHost(t, func(w *world) codemode.Outcome {
			return returns(w.call("who", "{}").await())
		}, registry(t, define(t, tool.Spec[struct{}, string]{Name: "who", Body: func(c ctx, _ struct{}) (string, error) { return c.Value(tenant{}).(string), nil }})))
		results, err := h.step(context.WithValue(t.Context(), tenant{}, "t1"), program("c1"))
		require.NoError(t, err)
		assert.Equal(t, `"t1"`, results[0].Text())
	})
}
