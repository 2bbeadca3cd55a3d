package codemode_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/tool"
)

func names(t tool.Tools) (names []string) {
	for _, d := range t.Definitions() {
		names = append(names, d.Name)
	}
	return names
}

func mustView(t require.TestingT, tools tool.Tools, opts ...codemode.Option) *codemode.View {
	v, err := codemode.New(script(func(w *world) codemode.Outcome { return returns(w.Tools) }), tools, opts...)
	require.NoError(t, err)
	return v
}

// Each presentation shows, and runs, what it says.
func TestPresentations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tools := newJournal().tools(t)
		require.NoError(t, tools.Register(define(t, tool.Spec[struct{}, string]{Name: "zeta-1", Body: func(ctx, struct{}) (string, error) { return "", nil }})))
		all := []string{"edit", "fail", "read", "run_code", "solo", "zeta-1"}
		native := []string{"edit", "fail", "read", "solo", "zeta-1"}
		for _, c := range []struct {
			as    codemode.Presentation
			shown []string
		}{{codemode.Code, []string{"run_code"}}, {codemode.Both, all}, {codemode.Native, native}} {
			v := mustView(t, tools, codemode.Present(c.as))
			assert.Equal(t, c.shown, names(v))
			results, err := tool.Run(t.Context(), v, []tool.Call{program("c1"), {Name: "read", Arguments: `{"key":"a"}`}, {Name: "zeta-1"}, {Name: "none"}})
			require.NoError(t, err)
			if c.as == codemode.Native {
				assert.Equal(t, tool.UnknownTool, results[0].Code)
			} else {
				assert.JSONEq(t, `["edit","fail","read","solo","zeta-1"]`, string(results[0].Value))
			}
			if c.as == codemode.Code {
				assert.Equal(t, tool.UnknownTool, results[1].Code)
				assert.Equal(t, `There is no tool "read": nothing was run. The tools are: run_code. `+
					`But a program can call it: use run_code, with a program that calls tools.read(…).`, results[1].Text())
				assert.Contains(t, results[2].Text(), `a program that calls tools["zeta-1"](…).`)
			} else {
				assert.Equal(t, "a", results[1].Text())
			}
			assert.Equal(t, tool.UnknownTool, results[3].Code)
			assert.NotContains(t, results[3].Text(), "But")
		}
	})
}

// run_code is the view's: a tool of that name below it is neither shown nor run, a filter below it does not hide it, and
// no program can call it.
func TestRunCodeIsReserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		impostor := define(t, tool.Spec[struct{}, string]{Name: codemode.Name, Body: func(ctx, struct{}) (string, error) { panic("never") }})
		below := &tool.Scope{Parent: newJournal().tools(t), Own: registry(t, impostor), Deny: []string{"solo"}}
		filtered := &tool.Scope{Parent: below, Allow: []string{"read"}}
		for _, tools := range []tool.Tools{below, filtered} {
			for _, as := range []codemode.Presentation{codemode.Code, codemode.Both, codemode.Native} {
				h := newHost(t, func(w *world) codemode.Outcome {
					assert.NotContains(t, w.Tools, codemode.Name)
					_, err := w.call(codemode.Name, `{"code":"script","description":"d"}`).try()
					assert.ErrorContains(t, err, `There is no tool "run_code"`)
					return returns("done")
				}, tools, codemode.Present(as))
				shown := 0
				for _, name := range names(h.tools) {
					if name == codemode.Name {
						shown++
					}
				}
				if as == codemode.Native {
					assert.Zero(t, shown)
					assert.Equal(t, tool.UnknownTool, h.run().Code)
				} else {
					assert.Equal(t, 1, shown)
					assert.Equal(t, "done", h.run().Text())
				}
			}
		}
	})
}

// A scope around a view restricts its programs, too, and what it adds is theirs; what a program alone may call is.
func TestScopeAroundAView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		only := define(t, tool.Spec[struct{}, string]{Name: "only", ProgramOnly: true, Body: func(ctx, struct{}) (string, error) { return "only", nil }})
		added := define(t, tool.Spec[struct{}, string]{Name: "added", Body: func(ctx, struct{}) (string, error) { return "added", nil }})
		base := newJournal().tools(t)
		require.NoError(t, base.Register(only))
		v := mustView(t, base, codemode.Present(codemode.Both))
		around := &tool.Scope{Parent: v, Own: registry(t, added), Deny: []string{"edit", "fail"}}
		for name, tools := range map[string]tool.Tools{
			"scope": around, "direct": tool.Direct{Tools: around}, "pointer": &tool.Direct{Tools: around}, "own": wrapped{around},
			"view": mustView(t, around),
		} {
			r, err := tool.Execute(t.Context(), tools, program("c1"))
			require.NoError(t, err)
			assert.JSONEq(t, `["added","only","read","solo"]`, string(r.Value), name)
		}
		assert.NotContains(t, names(tool.Direct{Tools: around}), "only")
		r, err := tool.Execute(t.Context(), opaque{v}, program("c1"))
		require.NoError(t, err)
		assert.JSONEq(t, `["edit","fail","only","read","solo"]`, string(r.Value), "as the model")
		assert.Equal(t, []string{"edit", "fail", "only", "read", "solo"}, names(v.Programs()))
	})
}

// wrapped and opaque are Tools of a host's own.
type wrapped struct{ scope *tool.Scope }

func (w wrapped) Bind(name string) tool.Binding  { return w.scope.Bind(name) }
func (w wrapped) Definitions() []tool.Definition { return w.scope.Definitions() }
func (w wrapped) Programs() tool.Tools {
	inner := *w.scope
	inner.Parent = inner.Parent.(*codemode.View).Programs()
	return &inner
}

type opaque struct{ view *codemode.View }

func (o opaque) Bind(name string) tool.Binding  { return o.view.Bind(name) }
func (o opaque) Definitions() []tool.Definition { return o.view.Definitions() }

// A view shows a change of the tools at once, and does not hand out what it keeps.
func TestViewKeepsNothing(t *testing.T) {
	tools := newJournal().tools(t)
	v := mustView(t, tools, codemode.Present(codemode.Both))
	before := v.Definitions()
	tools.Unregister("edit")
	after := v.Definitions()
	assert.Len(t, after, len(before)-1)
	assert.Contains(t, before[3].Description, "edit(")
	assert.NotContains(t, after[2].Description, "edit(")
	clear(after[2].Parameters)
	assert.Contains(t, string(v.Definitions()[2].Parameters), "code")
	generation := v.Bind("read").Generation
	tools.Unregister("solo")
	assert.Greater(t, v.Bind("read").Generation, generation)
}
