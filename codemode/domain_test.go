package codemode_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// A procedure holds a key, and a program within it needs the same: that is granted, what is not covered is refused by
// name, and siblings within exclude each other.
func TestCase_permits_4(t *testing.T) {
	for _, admit := range []func() plan.Admission{plan.NewRolling, plan.NewKeyed} {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			tools := j.tools(t)
			v, err := codemode.New(script(func(w *world) codemode.Outcome {
				all(w.call("edit", in{Key: "a", Ms: 10}), w.call("edit", in{Key: "a", Ms: 10}))
				_, refused := w.call("edit", in{Key: "b"}).try()
				return returns(refused.Error())
			}), tools, codemode.Admit(admit))
			require.NoError(t, err)
			procedure := define(t, tool.Spec[in, tool.Result]{Name: "exec", Safe: isSafe, Claims: claims(plan.Write), Body: func(c ctx, _ in) (tool.Result, error) {
				return tool.Execute(c, v, program("inner"))
			}})
			r, err := tool.Execute(t.Context(), registry(t, procedure), tool.Call{ID: "c1", Name: "exec", Arguments: `{"key":"a"}`}, exec.In(exec.NewDomain()))
			require.NoError(t, err)
			assert.Contains(t, r.Text(), "edit was not run: its claims were refused (claim write b is not covered by those of call 1")
			assert.Equal(t, 1, j.peak)
			assert.Equal(t, []string{"0s edit a", "10ms edit a done", "10ms edit a", "20ms edit a done"}, j.all())
		})
	}
}

// run_code claims nothing: what a program calls competes in the Domain by itself, with direct calls of other agents, too.
func TestC1Domain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		d := exec.NewDomain()
		hosts := make([]*host, 2)
		for i := range hosts {
			hosts[i] = newHost(t, func(w *world) codemode.Outcome {
				all(w.call("edit", in{Key: "a", Ms: 10}), w.call("read", in{Key: "b", Ms: 10}))
				return returns("done")
			}, j.tools(t), codemode.Admit(plan.NewKeyed))
			hosts[i].Domain = d
		}
		direct := newHost(t, nil, j.tools(t), codemode.Present(codemode.Both))
		direct.Domain = d
		var wg sync.WaitGroup
		for _, h := range hosts {
			wg.Go(func() { assert.Empty(t, h.run().Code) })
		}
		wg.Go(func() {
			_, err := direct.step(context.Background(), tool.Call{ID: "c1", Name: "edit", Arguments: `{"key":"a","ms":10}`})
			assert.NoError(t, err)
		})
		wg.Wait()
		assert.Equal(t, 30*time.Millisecond, time.Since(j.start), "three edits of one file")
		edits := 0
		for _, l := range j.all() {
			switch l[len(l)-6:] {
			case "edit a":
				edits++
			case "a done":
				edits--
			}
			assert.LessOrEqual(t, edits, 1, "%v", j.all())
		}
	})
}

// A shared bound holds for nested bodies, programs do not count against it while they wait, and nothing locks up.
func TestC2SharedLimit(t *testing.T) {
	for _, bound := range []int64{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			shared := semaphore.NewWeighted(bound)
			var wg sync.WaitGroup
			for range 3 {
				h := newHost(t, func(w *world) codemode.Outcome {
					all(w.call("read", in{Key: "a", Ms: 10}), w.call("read", in{Key: "b", Ms: 10}), w.call("read", in{Key: "c", Ms: 10}))
					return returns("done")
				}, j.tools(t))
				h.Shared = shared
				wg.Go(func() { assert.Empty(t, h.run().Code) })
			}
			wg.Wait()
			assert.Equal(t, int(bound), j.peak)
			assert.True(t, shared.TryAcquire(bound), "all permits are back")
		})
	}
}

// A program within a call of a program: what runs is nested, by its ids and in the log, to any depth.
func TestC1ProgramInACallOfAProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		var v *codemode.View
		deeper := define(t, tool.Spec[in, string]{Name: "agent", Safe: isSafe, Body: func(c ctx, i in) (string, error) {
			outer := tool.InvocationOf(c)
			job, err := tool.NewNested(c, v, program(outer.Call.ID+":own"))
			if err != nil {
				return "", err
			}
			job.Record = tool.RecordNested
			lane, err := exec.NewLane(c)
			if err != nil {
				return "", err
			}
			_, err = tool.Submit(lane, job)
			lane.Close()
			err = errors.Join(err, lane.Wait())
			return job.Result.Text(), err
		}})
		depth := 0
		h := newHost(t, func(w *world) codemode.Outcome {
			if depth++; depth == 1 {
				return returns(w.call("agent", in{}).await())
			}
			return returns(w.call("read", in{Key: "deep"}).await())
		}, &tool.Scope{Parent: j.tools(t), Own: registry(t, deeper)})
		v = h.tools.(*codemode.View)
		require.Empty(t, h.run().Code)
		assert.Equal(t, []string{"call c1", "start c1:code:1 agent", "start c1:code:1:own run_code", "start c1:code:1:own:code:1 read",
			"end c1:code:1:own:code:1 ok", "end c1:code:1:own ok", "end c1:code:1 ok", "settle ok", "result c1"}, h.log())
	})
}
