package tool_test

import (
	"fmt"
	"sync"
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

// Versions are definitions of one tool that say in every stage which of them it is, and whether one that is exclusive
// ever ran beside another.
type versions struct{ bodies, alone, overlaps atomic.Int32 }

func (v *versions) define(t require.TestingT, name string, parallel bool, during func()) *tool.Definition {
	return define(t, tool.Spec[struct{}, string]{
		Name: "t",
		Safe: func(struct{}) bool { return parallel },
		Body: func(ctx, struct{}) (string, error) {
			if !parallel {
				v.alone.Add(1)
				defer v.alone.Add(-1)
			}
			defer v.bodies.Add(-1)
			if v.bodies.Add(1) > 1 && v.alone.Load() > 0 {
				v.overlaps.Add(1)
			}
			during()
			<-time.After(time.Second)
			return "body " + name, nil
		},
		Render: func(out string) tool.Result { return tool.Text(out + ", render " + name) },
		Finalize: func(_ ctx, _ *tool.Invocation, r tool.Result) ([]tool.Block, error) {
			return []tool.Block{{Text: r.Text() + ", finalize " + name}}, nil
		},
		ConcludesTurn: name == "B",
	})
}

// A gap is a place between two stages of a call at which a host, in its own job, replaces the tool.
type gap struct {
	*tool.Job
	at      string
	replace func()
	once    sync.Once
	classed int
}

func (g *gap) in(at string) {
	if g.at == at {
		g.once.Do(g.replace)
	}
}

func (g *gap) Classify() plan.Call {
	g.classed++
	if g.classed == 2 {
		g.in("submission and start")
	}
	c := g.Job.Classify()
	if g.classed == 2 {
		g.in("classification and prepare")
	}
	return c
}

func (g *gap) Run(c ctx) exec.Outcome {
	g.in("prepare and body")
	o := g.Job.Run(c)
	g.in("body and settled")
	return o
}

func (g *gap) Commit(c ctx) error {
	g.in("settled and commit")
	return g.Job.Commit(c)
}

// A call sees the definition at its start, and that one to its end, wherever another takes its place: from parallel to
// exclusive and back, and when the tool is removed.
func TestT7ReplacementInEveryGap(t *testing.T) {
	gaps := map[string]bool{ // whether the call has started by then
		"submission and start": false, "classification and prepare": true, "during prepare": true, "prepare and body": true,
		"during body": true, "body and settled": true, "settled and commit": true,
	}
	for name, admit := range admissions {
		for at, started := range gaps {
			for _, c := range []struct{ from, to, remove bool }{{true, true, false}, {true, false, false}, {false, true, false}, {true, false, true}, {false, false, true}} {
				what := fmt.Sprintf("%s, %s, %v", name, at, c)
				synctest.Test(t, func(t *testing.T) {
					var v versions
					r := new(tool.Registry)
					g := &gap{at: at}
					other := v.define(t, "B", c.to, func() {})
					g.replace = func() {
						if c.remove {
							assert.True(t, r.Unregister("t"), what)
						} else {
							assert.NoError(t, r.Replace(other))
						}
					}
					require.NoError(t, r.Register(v.define(t, "A", c.from, func() { g.in("during body") })))
					p := &tool.Pipeline{Policies: []tool.Policy{func(ctx, *tool.Invocation) (tool.Verdict, error) {
						g.in("during prepare")
						return tool.Verdict{Action: tool.Allow}, nil
					}}}
					jobs := p.NewJobs(r, named("t", "t")...)
					g.Job = jobs[0]
					lane, err := exec.NewLane(t.Context(), exec.Admit(admit))
					require.NoError(t, err)
					_, err = tool.Submit(lane, g)
					require.NoError(t, err)
					<-time.After(time.Millisecond) // the first is in its body, if it has one
					_, err = tool.Submit(lane, jobs[1])
					require.NoError(t, err)
					lane.Close()
					require.NoError(t, lane.Wait())

					name := "A"
					if !started {
						name = "B"
					}
					if !started && c.remove {
						assert.Equal(t, tool.UnknownTool, jobs[0].Result.Code, what)
					} else {
						assert.Equal(t, fmt.Sprintf("body %s, render %[1]s, finalize %[1]s", name), jobs[0].Result.Text(), what)
						assert.Equal(t, name == "B", jobs[0].Result.Concludes, what)
					}
					assert.Zero(t, v.overlaps.Load(), "%s: an exclusive version beside another call", what)
				})
			}
		}
	}
}

// A call that was refused for what its arguments were by one definition is finalized by that one.
func TestT7RefusedByItsDefinition(t *testing.T) {
	spec := tool.Spec[file, string]{Name: "t", Body: echo, Finalize: func(ctx, *tool.Invocation, tool.Result) ([]tool.Block, error) {
		return []tool.Block{{Text: "A's words"}}, nil
	}}
	other := spec
	other.Finalize = func(ctx, *tool.Invocation, tool.Result) ([]tool.Block, error) {
		return []tool.Block{{Text: "B's words"}}, nil
	}
	r := registry(t, define(t, spec))
	j := tool.NewJob(r, call("t", "nope"))
	lane, err := exec.NewLane(t.Context())
	require.NoError(t, err)
	_, err = tool.Submit(lane, &gap{Job: j, at: "classification and prepare", replace: func() { require.NoError(t, r.Replace(define(t, other))) }})
	require.NoError(t, err)
	lane.Close()
	require.NoError(t, lane.Wait())
	assert.Equal(t, tool.InvalidArgs, j.Result.Code)
	assert.Equal(t, "A's words", j.Result.Text())
}
