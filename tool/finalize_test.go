package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

func text(s string) []tool.Block { return []tool.Block{{Text: s}} }

// review is a pipeline with one reviewer, that has one review.
func review(v tool.Review, err error) *tool.Pipeline {
	return &tool.Pipeline{Reviewers: []tool.Reviewer{func(ctx, *tool.Invocation, tool.Result) (tool.Review, error) { return v, err }}}
}

func TestReviewers(t *testing.T) {
	spec := tool.Spec[struct{}, map[string]any]{
		Name: "t", Safe: safe[struct{}], Output: json.RawMessage(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`),
		Body: func(ctx, struct{}) (map[string]any, error) { return map[string]any{"n": 1, "secret": "x"}, nil },
		Render: func(out map[string]any) tool.Result {
			return tool.Result{Content: text(fmt.Sprint("n is ", out["n"])), Meta: json.RawMessage(`{"shown":` + fmt.Sprint(out["n"]) + `}`),
				Contexts: []tool.Context{{Content: text("told of " + fmt.Sprint(out["n"]))}}}
		},
	}
	r := registry(t, define(t, spec))
	own := tool.Result{Content: text("n is 1"), Value: json.RawMessage(`{"n":1,"secret":"x"}`), Meta: json.RawMessage(`{"shown":1}`),
		Contexts: []tool.Context{{Source: "t", Content: text("told of 1")}}}
	with := func(f func(r *tool.Result)) tool.Result { r := own; f(&r); return r }
	withheld := func(why string) tool.Result {
		return errorResult(tool.Blocked, "t ran, but its result is withheld. Its effect may have happened. The reason: "+why)
	}
	for name, c := range map[string]struct {
		p    *tool.Pipeline
		want tool.Result
	}{
		"accepts":          {review(tool.Review{}, nil), own},
		"replaces content": {review(tool.Review{Content: text("redacted\xff")}, nil), with(func(r *tool.Result) { r.Content = text("redacted\uFFFD") })},
		"leaves nothing":   {review(tool.Review{Content: []tool.Block{}}, nil), with(func(r *tool.Result) { r.Content = []tool.Block{} })},
		"replaces the value": {review(tool.Review{Value: json.RawMessage(`{ "n": 2 }`)}, nil), tool.Result{Content: text("n is 2"), Value: json.RawMessage(`{"n":2}`),
			Meta: json.RawMessage(`{"shown":2}`), Contexts: []tool.Context{{Source: "t", Content: text("told of 2")}}}},
		"replaces both": {review(tool.Review{Value: json.RawMessage(`{"n":2}`), Content: text("two")}, nil), tool.Result{Content: text("two"), Value: json.RawMessage(`{"n":2}`),
			Meta: json.RawMessage(`{"shown":2}`), Contexts: []tool.Context{{Source: "t", Content: text("told of 2")}}}},
		"a value that is not what the tool declares": {review(tool.Review{Value: json.RawMessage(`{"n":"two"}`)}, nil),
			errorResult(tool.InvalidToolOutput, "t ran, but its result cannot be shown: /n: got string, want integer. Its effect may have happened. Check what has happened before you try again.")},
		"a value that is none": {review(tool.Review{Value: json.RawMessage(`{`)}, nil),
			errorResult(tool.InvalidToolOutput, "t ran, but its result cannot be shown: /value: it is not JSON: byte 1: unexpected end of input, want a name in quotes. Its effect may have happened. Check what has happened before you try again.")},
		"adds contexts": {review(tool.Review{Contexts: []tool.Context{{Source: "lint", Content: text("a")}, {Content: text("b")}}}, nil),
			with(func(r *tool.Result) {
				r.Contexts = append(r.Contexts, tool.Context{Source: "lint", Content: text("a")}, tool.Context{Content: text("b")})
			})},
		"blocks": {review(tool.Review{Block: "tests fail"}, nil), withheld("tests fail")},
		"blocks, with a context": {review(tool.Review{Block: "tests fail", Content: text("x"), Contexts: []tool.Context{{Content: text("a")}}}, nil), func() tool.Result {
			r := withheld("tests fail")
			r.Contexts = []tool.Context{{Content: text("a")}}
			return r
		}()},
		"fails":                 {review(tool.Review{}, errBoom), withheld("a reviewer of it failed: boom")},
		"bad content":           {review(tool.Review{Content: []tool.Block{{JSON: json.RawMessage("x")}}}, nil), withheld("a reviewer of it failed: /content/0/json: it is not JSON: byte 0: unexpected 'x', want a value")},
		"content without type":  {review(tool.Review{Content: []tool.Block{{Image: &tool.Image{}}}}, nil), withheld("a reviewer of it failed: /content/0/image: it has no media type")},
		"bad contexts":          {review(tool.Review{Contexts: []tool.Context{{Content: []tool.Block{{JSON: json.RawMessage("x")}}}}}, nil), withheld("a reviewer of it failed: /contexts/0/content/0/json: it is not JSON: byte 0: unexpected 'x', want a value")},
		"blocks before another": {&tool.Pipeline{Reviewers: append(review(tool.Review{Block: "first"}, nil).Reviewers, review(tool.Review{Content: text("second")}, nil).Reviewers...)}, withheld("first")},
		"sees what the one before left": {&tool.Pipeline{Reviewers: append(review(tool.Review{Content: text("first")}, nil).Reviewers,
			func(_ ctx, _ *tool.Invocation, r tool.Result) (tool.Review, error) {
				return tool.Review{Content: text(r.Text() + ", second")}, nil
			})}, with(func(r *tool.Result) { r.Content = text("first, second") })},
		"panics": {&tool.Pipeline{Reviewers: []tool.Reviewer{func(ctx, *tool.Invocation, tool.Result) (tool.Review, error) { panic("x") }}}, withheld("a reviewer of it failed: it panicked: x")},
	} {
		t.Run(name, func(t *testing.T) {
			results, err := c.p.Run(t.Context(), r, named("t"))
			require.NoError(t, err)
			assert.Equal(t, c.want, results[0])
		})
	}
}

// Reviewers see what a tool returned, whatever else is to be said of the call, and what is said stays above it.
func TestReviewersSeeWhatTheToolReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := map[string]string{}
		p := &tool.Pipeline{
			Policies: []tool.Policy{verdict(map[string]tool.Verdict{"denied": {}})},
			Reviewers: []tool.Reviewer{func(c ctx, inv *tool.Invocation, r tool.Result) (tool.Review, error) {
				assert.NoError(t, c.Err())
				seen[inv.Call.Name] = string(r.Code) + " " + r.Text()
				return tool.Review{Content: text("reviewed"), Value: json.RawMessage(`"reviewed"`)}, nil
			}},
		}
		onCancel := func(c ctx) (string, error) { <-c.Done(); return "written", nil }
		r := registry(t,
			define(t, free("ok", takes(0))), define(t, free("error", func(ctx) (string, error) { return "", errBoom })), define(t, free("denied", takes(0))),
			define(t, free("panic", func(ctx) (string, error) { panic("x") })), within(t, time.Second, "late", onCancel),
			define(t, free("aborted", onCancel)), define(t, free("echoes", takes(time.Hour))),
			define(t, tool.Spec[struct{}, string]{Name: "last", Body: nothing}),
		)
		run := submit(t, t.Context(), p, r, named("ok", "error", "denied", "panic", "late", "aborted", "echoes", "missing", "last"))
		<-time.After(2 * time.Second)
		run.lane.Cancel(errBoom)
		require.ErrorIs(t, run.lane.Wait(), errBoom)
		assert.Equal(t, map[string]string{"ok": " done", "error": " boom", "late": "TIMEOUT written", "aborted": "ABORTED written"}, seen)
		assert.Equal(t, []tool.Code{"", "", tool.Denied, tool.Panic, tool.Timeout, tool.Aborted, tool.Aborted, tool.AbortedBeforeDispatch, tool.AbortedBeforeDispatch}, codes(run.results()))
		for _, i := range []int{4, 5} {
			got := run.jobs[i].Result
			require.Len(t, got.Content, 2)
			assert.Contains(t, got.Content[0].Text, "Its effect may have happened, wholly or in part.")
			assert.Equal(t, "reviewed", got.Content[1].Text)
			assert.Equal(t, `"reviewed"`, string(got.Value))
		}
		assert.Equal(t, "reviewed", run.jobs[1].Result.Text())
		assert.True(t, run.jobs[1].Result.IsError)
		assert.Empty(t, run.jobs[1].Result.Value, "an error has no value")
	})
}

// finalized is a tool whose Finalize counts, and shows the content with a mark.
func finalized(name string, counts map[string]int, body func(ctx) (string, error)) tool.Spec[struct{}, string] {
	s := free(name, body)
	s.Finalize = func(c ctx, inv *tool.Invocation, r tool.Result) ([]tool.Block, error) {
		if c.Err() != nil || r.Concludes {
			return nil, errors.New("the context of a Finalize is not cancelled, and nothing is committed yet")
		}
		counts[fmt.Sprint(inv.Index, " ", name, " ", r.Code)]++
		return append(text("final: "), r.Content...), nil
	}
	return s
}

// Finalize is called once for each call that names the tool, whatever became of it, in the model's order.
func TestFinalizeExactlyOncePerOutcome(t *testing.T) {
	for name, admit := range admissions {
		synctest.Test(t, func(t *testing.T) {
			counts := map[string]int{}
			p := &tool.Pipeline{
				Policies: []tool.Policy{verdict(map[string]tool.Verdict{"denied": {}, "asked": {Action: tool.Ask}})},
				Reviewers: []tool.Reviewer{func(_ ctx, c *tool.Invocation, _ tool.Result) (tool.Review, error) {
					if c.Call.Name == "blocked" {
						return tool.Review{Block: "no"}, nil
					}
					return tool.Review{}, nil
				}},
			}
			r := new(tool.Registry)
			names := []string{"ok", "error", "panic", "denied", "asked", "blocked", "unread", "ok"}
			for _, name := range names[:7] {
				require.NoError(t, r.Register(define(t, finalized(name, counts, func(ctx) (string, error) {
					switch name {
					case "error":
						return "", errBoom
					case "panic":
						panic("x")
					}
					return "done", nil
				}))))
			}
			late := finalized("late", counts, takes(time.Hour))
			late.Timeout = time.Second
			stuck := finalized("stuck", counts, func(c ctx) (string, error) { <-c.Done(); return "", c.Err() })
			skipped := finalized("skipped", counts, takes(0))
			skipped.Safe = nil
			require.NoError(t, r.Register(define(t, late), define(t, stuck), define(t, skipped)))
			calls := named(append(names, "late", "stuck", "skipped", "missing")...)
			calls[6].Arguments = "nope"
			opts := []exec.Option{exec.Admit(admit)}
			run := submit(t, t.Context(), p, r, calls, opts...)
			<-time.After(time.Minute)
			run.lane.Cancel(errBoom)
			require.ErrorIs(t, run.lane.Wait(), errBoom)
			assert.Equal(t, map[string]int{
				"0 ok ": 1, "1 error ": 1, "2 panic PANIC": 1, "3 denied DENIED": 1, "4 asked APPROVAL_UNAVAILABLE": 1, "5 blocked BLOCKED": 1,
				"6 unread INVALID_ARGS": 1, "7 ok ": 1, "8 late TIMEOUT": 1, "9 stuck ABORTED": 1, "10 skipped ABORTED_BEFORE_DISPATCH": 1,
			}, counts, name)
			for i, j := range run.jobs[:11] {
				assert.Equal(t, "final: ", j.Result.Content[0].Text, "%d", i)
			}
			assert.Equal(t, tool.AbortedBeforeDispatch, run.jobs[11].Result.Code)
		})
	}
}

// A Finalize that fails shows nothing of what the tool returned, and changes nothing else of the outcome.
func TestFinalizeThatFails(t *testing.T) {
	for says, finalize := range map[string]func(ctx, *tool.Invocation, tool.Result) ([]tool.Block, error){
		"boom":           func(ctx, *tool.Invocation, tool.Result) ([]tool.Block, error) { return text("x"), errBoom },
		"it panicked: x": func(ctx, *tool.Invocation, tool.Result) ([]tool.Block, error) { panic("x") },
		"/content/0/json: it is not JSON": func(ctx, *tool.Invocation, tool.Result) ([]tool.Block, error) {
			return []tool.Block{{JSON: json.RawMessage("x")}}, nil
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := free("t", func(c ctx) (string, error) { return "secret", nil })
			s.Finalize, s.ConcludesTurn = finalize, true
			slow := free("slow", func(c ctx) (string, error) { <-c.Done(); return "secret", nil })
			slow.Finalize, slow.Timeout = finalize, time.Second
			results, err := tool.Run(t.Context(), registry(t, define(t, s), define(t, slow)), []tool.Call{{Name: "t"}, {Name: "t", Arguments: "nope"}, {Name: "slow"}})
			require.NoError(t, err)
			assert.Equal(t, []tool.Code{tool.Blocked, tool.InvalidArgs, tool.Timeout}, codes(results))
			for _, r := range results {
				assert.Contains(t, r.Text(), "Finalize failed")
				assert.Contains(t, r.Text(), says)
				assert.NotContains(t, mustJSON(t, r), "secret")
				assert.False(t, r.Concludes)
			}
			assert.Contains(t, results[1].Text(), "The arguments of t are invalid")
			assert.Contains(t, results[2].Text(), "did not end in time")
		})
	}
}

// Only the committed success of a tool that concludes the turn says so, and it cancels nobody.
func TestH5Concludes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		concluding := func(name string, body func(ctx) (string, error)) *tool.Definition {
			s := free(name, body)
			s.ConcludesTurn = true
			return define(t, s)
		}
		r := registry(t, concluding("ok", takes(0)), concluding("error", func(ctx) (string, error) { return "", errBoom }), define(t, free("other", takes(time.Second))),
			define(t, tool.Spec[struct{}, tool.Result]{Name: "forged", Safe: safe[struct{}], Body: func(ctx, struct{}) (tool.Result, error) { return tool.Result{Concludes: true}, nil }}))
		run := submit(t, t.Context(), new(tool.Pipeline), r, append(named("other", "ok", "error", "other", "forged"), tool.Call{Name: "ok", Arguments: "nope"}))
		synctest.Wait()
		assert.False(t, run.jobs[1].Result.Concludes, "it is not committed yet")
		require.NoError(t, run.lane.Wait())
		var got []bool
		for _, j := range run.jobs {
			got = append(got, j.Result.Concludes)
		}
		assert.Equal(t, []bool{false, true, false, false, false, false}, got)
		assert.Equal(t, "done", run.jobs[3].Result.Text())
	})
}

// A host that learns of a cancel before the commit can turn a success into ABORTED.
func TestAbort(t *testing.T) {
	s := tool.Spec[file, tool.Result]{Name: "t", Safe: safe[file], ConcludesTurn: true, Body: func(_ ctx, in file) (tool.Result, error) {
		r := tool.Text("written")
		r.Value, r.Meta, r.Contexts = json.RawMessage(`1`), json.RawMessage(`2`), []tool.Context{{Content: text("c")}}
		r.IsError = in.Path == "fails"
		return r, nil
	}}
	lane, err := exec.NewLane(t.Context())
	require.NoError(t, err)
	jobs := new(tool.Pipeline).NewJobs(registry(t, define(t, s)), call("t", `{"path":"a"}`), call("t", `{"path":"fails"}`), call("t", `nope`))
	_, err = tool.Submit(lane, aborting{jobs[0]}, aborting{jobs[1]}, aborting{jobs[2]})
	require.NoError(t, err)
	lane.Close()
	require.NoError(t, lane.Wait())
	want := errorResult(tool.Aborted, "t was cancelled while it ran (boom). Its effect may have happened, wholly or in part. Check what has happened before you try again. What it returned:")
	want.Content = append(want.Content, tool.Block{Text: "written"})
	want.Value, want.Meta, want.Contexts = json.RawMessage(`1`), json.RawMessage(`2`), []tool.Context{{Source: "t", Content: text("c")}}
	assert.Equal(t, want, jobs[0].Result)
	assert.Equal(t, tool.Code(""), jobs[1].Result.Code, "an error of its own stays")
	assert.Equal(t, "written", jobs[1].Result.Text())
	assert.Equal(t, tool.InvalidArgs, jobs[2].Result.Code)
}

type aborting struct{ *tool.Job }

func (a aborting) Commit(c ctx) error {
	a.Abort(errBoom)
	return a.Job.Commit(c)
}

// What a log has of a call can be committed without a lane, through everything that a commit is.
func TestCommitWithoutALane(t *testing.T) {
	p := review(tool.Review{Contexts: []tool.Context{{Content: text("reviewed")}}}, nil)
	counts := map[string]int{}
	s := finalized("t", counts, func(ctx) (string, error) { panic("it runs") })
	s.ConcludesTurn = true
	jobs := p.NewJobs(registry(t, define(t, s)), named("t", "t", "t", "gone")...)
	jobs[0].Result = tool.Text("kept")
	jobs[1].Interrupt()
	jobs[3].Result = tool.Text("kept")
	for i, j := range jobs {
		if i == 2 {
			require.NoError(t, j.Skip(t.Context(), errBoom))
		} else {
			require.NoError(t, j.Commit(t.Context()))
		}
	}
	assert.Equal(t, tool.Result{Content: append(text("final: "), text("kept")...), Contexts: []tool.Context{{Content: text("reviewed")}}, Concludes: true}, jobs[0].Result)
	assert.Equal(t, "final: \nt was running when the process ended: its effect may have happened, wholly or in part. Check what has happened before you try again.", jobs[1].Result.Text())
	assert.Equal(t, tool.Interrupted, jobs[1].Result.Code)
	assert.Equal(t, tool.AbortedBeforeDispatch, jobs[2].Result.Code)
	assert.Equal(t, "kept", jobs[3].Result.Text())
	assert.Equal(t, map[string]int{"0 t ": 1, "1 t INTERRUPTED": 1, "2 t ABORTED_BEFORE_DISPATCH": 1}, counts)

	j := tool.NewJob(nil, tool.Call{Name: "t"})
	require.NoError(t, j.Skip(context.Background(), errBoom))
	assert.Equal(t, tool.AbortedBeforeDispatch, j.Result.Code)
	results, err := tool.Run(t.Context(), nil, named("t"))
	require.NoError(t, err)
	assert.Equal(t, tool.UnknownTool, results[0].Code)
}

// Render makes what the model sees of what the body returned; the value is that itself.
func TestRender(t *testing.T) {
	type out struct {
		Lines []string `json:"lines"`
	}
	s := tool.Spec[file, out]{Name: "t", Safe: safe[file], Claims: claim(plan.Read), Body: func(_ ctx, in file) (out, error) { return out{[]string{in.Path, "<b>"}}, nil }}
	s.Render = func(o out) tool.Result {
		switch o.Lines[0] {
		case "panic":
			panic("no ink")
		case "bad":
			return tool.Result{Meta: json.RawMessage("{")}
		case "error":
			return tool.Result{IsError: true, Content: text("no")}
		}
		return tool.Result{Code: tool.Aborted, Content: []tool.Block{{Text: o.Lines[0]}, {Image: &tool.Image{MediaType: "image/png", Data: []byte{1, 2}}}},
			Value: json.RawMessage("nonsense"), Meta: json.RawMessage(` { "a" : 1 } `)}
	}
	r := registry(t, define(t, s))
	results, err := tool.Run(t.Context(), r, []tool.Call{call("t", `{"path":"a"}`), call("t", `{"path":"panic"}`), call("t", `{"path":"bad"}`), call("t", `{"path":"error"}`)})
	require.NoError(t, err)
	assert.Equal(t, tool.Result{
		Content: []tool.Block{{Text: "a"}, {Image: &tool.Image{MediaType: "image/png", Data: []byte{1, 2}}}},
		Value:   json.RawMessage(`{"lines":["a","<b>"]}`), Meta: json.RawMessage(`{"a":1}`),
	}, results[0])
	assert.Equal(t, "a\n[image/png, 2 bytes]", results[0].Text())
	assert.Equal(t, []tool.Code{"", tool.Panic, tool.InvalidToolOutput, ""}, codes(results))
	assert.Contains(t, results[2].Text(), "/meta: it is not JSON")
	assert.True(t, results[3].IsError)

	_, err = tool.Define(tool.Spec[file, tool.Result]{Name: "t", Body: func(ctx, file) (tool.Result, error) { return tool.Result{}, nil },
		Render: func(r tool.Result) tool.Result { return r }})
	require.ErrorIs(t, err, tool.ErrDefinition)
}
