package tool_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/tool"
)

// nest runs calls in a lane of their own, as calls of the body that was given c.
func nest(c ctx, tools tool.Tools, record func(ctx, tool.Event) error, calls ...tool.Call) ([]tool.Result, error) {
	lane, err := exec.NewLane(c)
	if err != nil {
		return nil, err
	}
	var jobs []*tool.Job
	for _, call := range calls {
		j, err := tool.NewNested(c, tools, call)
		if err != nil {
			return nil, err
		}
		j.Record = record
		jobs = append(jobs, j)
		if _, err := tool.Submit(lane, j); err != nil {
			return nil, err
		}
	}
	lane.Close()
	err = lane.Wait()
	results := make([]tool.Result, len(jobs))
	for i, j := range jobs {
		results[i] = j.Result
	}
	return results, err
}

// Calls of a body know whose they are, go through the same pipeline, count on, and are recorded with it, at any depth.
func TestNested(t *testing.T) {
	inner := registry(t, define(t, free("leaf", func(c ctx) (string, error) { return fmt.Sprint(tool.InvocationOf(c).Parent.Call.Name), nil })))
	deep := define(t, free("deep", func(c ctx) (string, error) {
		r, err := nest(c, inner, tool.RecordNested, tool.Call{Name: "leaf"})
		return r[0].Text(), err
	}))
	outer := define(t, free("outer", func(c ctx) (string, error) {
		if !tool.RecordsNested(c) {
			return "", errBoom
		}
		first, err := nest(c, registry(t, deep), tool.RecordNested, named("deep", "deep")...)
		if err != nil {
			return "", err
		}
		second, err := nest(c, registry(t, deep), nil, tool.Call{Name: "missing"})
		return first[0].Text() + first[1].Text() + string(second[0].Code), err
	}))
	var wrapped, recorded []string
	p := &tool.Pipeline{Wrappers: []tool.Wrapper{func(c ctx, i *tool.Invocation, next tool.Next) (tool.Result, error) {
		if i.Call.Name != "leaf" && i.Call.Name != "deep" {
			wrapped = append(wrapped, i.Call.Name)
		}
		return next(c)
	}}}
	j := p.NewJob(registry(t, outer), tool.Call{ID: "o", Name: "outer"})
	indexes := map[int]int{}
	lines := make(chan string, 100)
	j.Record = func(c ctx, e tool.Event) error {
		if e.Parent != nil && e.Stage == tool.Committed {
			lines <- fmt.Sprintf("%s of %s: %s", e.Call.Name, e.Parent.Call.Name, e.Result.Text())
			if e.Call.Name == "deep" {
				indexes[e.Index]++
			}
		}
		return c.Err()
	}
	lane, err := exec.NewLane(t.Context())
	require.NoError(t, err)
	_, err = tool.Submit(lane, j)
	require.NoError(t, err)
	lane.Close()
	require.NoError(t, lane.Wait())
	close(lines)
	for l := range lines {
		recorded = append(recorded, l)
	}
	assert.Equal(t, "deepdeepUNKNOWN_TOOL", j.Result.Text())
	assert.Equal(t, []string{"outer"}, wrapped)
	assert.ElementsMatch(t, []string{"leaf of deep: deep", "leaf of deep: deep", "deep of outer: deep", "deep of outer: deep"}, recorded)
	assert.Equal(t, map[int]int{0: 1, 1: 1}, indexes)

	_, err = tool.NewNested(t.Context(), inner, tool.Call{Name: "leaf"})
	require.Error(t, err)
	assert.False(t, tool.RecordsNested(t.Context()))
	require.NoError(t, tool.RecordNested(t.Context(), tool.Event{}))
}

// No model is shown a nested result: no budget cuts it.
func TestNestedHasNoBudget(t *testing.T) {
	long := fmt.Sprintf("%05000d", 1)
	inner := registry(t, define(t, tool.Spec[struct{}, tool.Result]{Name: "long", Body: func(ctx, struct{}) (tool.Result, error) { return tool.Text(long), nil }}))
	outer := define(t, tool.Spec[struct{}, string]{Name: "outer", Body: func(c ctx, _ struct{}) (string, error) {
		r, err := nest(c, inner, nil, tool.Call{Name: "long"})
		return r[0].Text(), err
	}})
	p := &tool.Pipeline{Budget: tool.Budget{Result: 600, Batch: 600}}
	results, err := p.Run(t.Context(), registry(t, outer), named("outer"))
	require.NoError(t, err)
	assert.LessOrEqual(t, len(results[0].Text()), 610)
	assert.JSONEq(t, `"`+long+`"`, string(results[0].Value))
}

// programs is a tool that runs programs, and one like it that does not.
func programs(t *testing.T, runs bool, r tool.Result, err error) *tool.Definition {
	return define(t, tool.Spec[struct{}, tool.Result]{Name: "run", RunsPrograms: runs, Body: func(ctx, struct{}) (tool.Result, error) { return r, err }})
}

// Only a tool that runs programs can say that one failed, or concludes the turn by one.
func TestT6RunsPrograms(t *testing.T) {
	said := tool.Result{Code: tool.CodeRunFailed, Content: tool.Text("failed").Content, Contexts: []tool.Context{{Content: tool.Text("c").Content}}, Concludes: true}
	forged := tool.Result{Code: tool.Denied, Content: tool.Text("x").Content}
	var seen []tool.Code
	p := &tool.Pipeline{Wrappers: []tool.Wrapper{func(c ctx, i *tool.Invocation, next tool.Next) (tool.Result, error) {
		r, err := next(c)
		seen = append(seen, tool.CodeOf(c, r, err))
		return r, err
	}}}
	run := func(d *tool.Definition) tool.Result {
		results, err := p.Run(t.Context(), registry(t, d), named("run"))
		require.NoError(t, err)
		return results[0]
	}
	r := run(programs(t, true, said, nil))
	assert.Equal(t, tool.CodeRunFailed, r.Code)
	assert.True(t, r.IsError && r.Concludes)
	assert.Len(t, r.Contexts, 1)
	assert.Equal(t, []tool.Code{tool.CodeRunFailed}, seen)

	r = run(programs(t, true, forged, nil))
	assert.Empty(t, r.Code)
	r = run(programs(t, false, said, nil))
	assert.Empty(t, r.Code)
	assert.False(t, r.IsError || r.Concludes)
	r = run(programs(t, true, tool.Result{Concludes: true}, nil))
	assert.True(t, r.Concludes && !r.IsError)

	p.Reviewers = []tool.Reviewer{func(_ ctx, _ *tool.Invocation, r tool.Result) (tool.Review, error) {
		return tool.Review{Block: "no"}, nil
	}}
	r = run(programs(t, true, said, nil))
	assert.Equal(t, tool.Blocked, r.Code)
	assert.Empty(t, r.Contexts)
	assert.False(t, r.Concludes)
	p.Reviewers = nil
	p.Wrappers = []tool.Wrapper{func(c ctx, i *tool.Invocation, next tool.Next) (tool.Result, error) { return said, nil }}
	assert.Empty(t, run(programs(t, false, tool.Result{}, nil)).Code, "nor can a wrapper say it of another one")
}

// A program that failed stays failed under a cancel, and one that went well becomes ABORTED and concludes nothing.
func TestT6ProgramsAndCancel(t *testing.T) {
	for _, code := range []tool.Code{tool.CodeRunFailed, ""} {
		c, cancel := context.WithCancelCause(t.Context())
		d := define(t, tool.Spec[struct{}, tool.Result]{Name: "run", RunsPrograms: true, Body: func(ctx, struct{}) (tool.Result, error) {
			cancel(errBoom)
			return tool.Result{Code: code, Content: tool.Text("so far").Content, Concludes: true}, nil
		}})
		results, err := tool.Run(c, registry(t, d), named("run"))
		require.ErrorIs(t, err, errBoom)
		if code == "" {
			assert.Equal(t, tool.Aborted, results[0].Code)
			assert.False(t, results[0].Concludes)
		} else {
			assert.Equal(t, code, results[0].Code)
		}
		assert.Contains(t, results[0].Text(), "so far")
	}
}

// A call that is dropped has a result, and nobody is told; its deadline is over.
func TestDrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary()
		l := tool.NewListener(d.hear)
		finalized := false
		s := free("t", takes(0))
		s.Timeout = time.Second
		s.Finalize = func(ctx, *tool.Invocation, tool.Result) ([]tool.Block, error) { finalized = true; return nil, nil }
		p := &tool.Pipeline{Listeners: []*tool.Listener{l}, Gates: []tool.Gate{d.gate}}
		j := p.NewJob(registry(t, define(t, s)), tool.Call{Name: "t"})
		lane, err := exec.NewLane(t.Context())
		require.NoError(t, err)
		lane.Cancel(errBoom)
		_, err = tool.Submit(lane, dropped{j})
		require.NoError(t, err)
		lane.Close()
		require.ErrorIs(t, lane.Wait(), errBoom)
		<-time.After(time.Minute)
		require.NoError(t, l.Wait(t.Context()))
		assert.Empty(t, d.all())
		assert.False(t, finalized)
		assert.Equal(t, "t was not run: it was cancelled before it started (boom). Nothing was done.", j.Result.Text())
	})
}

type dropped struct{ *tool.Job }

func (d dropped) Skip(_ ctx, cause error) error { d.Drop(cause); return nil }

// hinting are Tools that say how else a tool can be called.
type hinting struct{ tool.Tools }

func (h hinting) Bind(name string) tool.Binding {
	b := h.Tools.Bind(name)
	b.Definition, b.Hint = nil, "Ask nicely."
	return b
}

func TestHint(t *testing.T) {
	tools := registry(t, define(t, free("t", takes(0))))
	own := registry(t, define(t, free("own", takes(0))))
	text := func(t tool.Tools, name string) string {
		r, _ := tool.Refusal(t, tool.Call{Name: name})
		return r.Text()
	}
	assert.Equal(t, `There is no tool "t": nothing was run. The tools are: t. Ask nicely.`, text(hinting{tools}, "t"))
	assert.Contains(t, text(&tool.Scope{Parent: hinting{tools}}, "t"), "Ask nicely.")
	assert.Contains(t, text(tool.Direct{Tools: hinting{tools}}, "t"), "Ask nicely.")
	assert.NotContains(t, text(&tool.Scope{Parent: hinting{tools}, Deny: []string{"t"}}, "t"), "nicely", "what is hidden is not hinted at")
	assert.Empty(t, text(&tool.Scope{Parent: hinting{tools}, Own: own}, "own"))
}
