package tool_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// A direct call of a tool that only programs may call, or that is hidden, runs nothing and overlaps nothing.
func TestT1ProgramOnlyAndHiddenAreExclusive(t *testing.T) {
	inner := free("inner", func(ctx) (string, error) { return "done", nil })
	inner.ProgramOnly = true
	r := registry(t, define(t, inner), define(t, free("open", takes(0))), define(t, free("hidden", takes(0))))
	direct := tool.Direct{Tools: &tool.Scope{Parent: r, Deny: []string{"hidden"}}}
	calls := named("open", "inner", "hidden")

	assert.Equal(t, []plan.Call{{Safe: true}, {}, {}}, tool.Calls(direct, calls))
	results, err := tool.Run(t.Context(), direct, calls)
	require.NoError(t, err)
	assert.Equal(t, []tool.Code{"", tool.UnknownTool, tool.UnknownTool}, codes(results))
	assert.Contains(t, results[1].Text(), `The tools are: open.`)
	var shown []string
	for _, d := range direct.Definitions() {
		shown = append(shown, d.Name)
	}
	assert.Equal(t, []string{"open"}, shown)

	assert.Equal(t, []plan.Call{{Safe: true}}, tool.Calls(direct.Tools, calls[1:2]), "what a program calls")
	result, err := tool.Execute(t.Context(), direct.Tools, calls[1])
	require.NoError(t, err)
	assert.Equal(t, "done", result.Text())
}

// At Committed, Record has the last word: what it aborts is what observers are told.
func TestT6RecordMayAbortAtTheCommit(t *testing.T) {
	var told tool.Result
	p := &tool.Pipeline{Gates: []tool.Gate{func(_ ctx, e tool.Event) { told = e.Result }}}
	j := p.NewJob(nil, tool.Call{Name: "t"})
	j.Result = tool.Text("done")
	j.Record = func(_ ctx, e tool.Event) error {
		assert.Equal(t, tool.Committed, e.Stage)
		assert.Empty(t, e.Result.Code)
		j.Abort(assert.AnError)
		return nil
	}
	require.NoError(t, j.Commit(t.Context()))
	assert.Equal(t, tool.Aborted, told.Code)
	assert.Equal(t, j.Result, told)
	assert.Contains(t, told.Text(), "done")
}

// panicking are tools whose lookup panics from some time on.
type panicking struct {
	tool.Tools
	from, n *atomic.Int32
}

func (p panicking) Bind(name string) tool.Binding {
	if p.n.Add(1) >= p.from.Load() {
		panic("boom")
	}
	return p.Tools.Bind(name)
}

// A lookup that panics fails the lane, and nothing else: it is called on the host's goroutine, too, and when a deadline
// passes.
func TestT6LookupThatPanicsStaysInTheLane(t *testing.T) {
	late := free("late", takes(time.Hour))
	late.Timeout = time.Second
	blocks := tool.Spec[struct{}, string]{Name: "blocks", Body: func(c ctx, _ struct{}) (string, error) { return takes(2 * time.Second)(c) }}
	r := registry(t, define(t, late), define(t, blocks))
	for from := range int32(8) {
		synctest.Test(t, func(t *testing.T) {
			p := panicking{r, new(atomic.Int32), new(atomic.Int32)}
			p.from.Store(from + 1)
			results, err := tool.Run(t.Context(), p, named("blocks", "late"))
			assert.Len(t, results, 2)
			if err != nil {
				var panicked *exec.PanicError
				assert.ErrorAs(t, err, &panicked)
			}
		})
	}
}

// exiting are tools whose lookup ends its goroutine at one moment.
type exiting struct {
	tool.Tools
	at time.Time
}

func (e exiting) Bind(name string) tool.Binding {
	if time.Now().Equal(e.at) {
		runtime.Goexit()
	}
	return e.Tools.Bind(name)
}

// A lookup that does not return at a deadline keeps nobody from the call: it is late when it would start.
func TestT6LookupThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := free("late", takes(time.Hour))
		late.Timeout = time.Second
		blocks := tool.Spec[struct{}, string]{Name: "blocks", Body: func(c ctx, _ struct{}) (string, error) { return takes(2 * time.Second)(c) }}
		e := exiting{registry(t, define(t, late), define(t, blocks)), time.Now().Add(time.Second)}
		results, err := tool.Run(t.Context(), e, named("blocks", "late"))
		require.NoError(t, err)
		assert.Equal(t, []tool.Code{"", tool.TimeoutBeforeDispatch}, codes(results))
	})
}
