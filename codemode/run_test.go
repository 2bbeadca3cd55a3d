package codemode_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/tool"
)

// What a program returns is the result, and its calls are in the log between the start and the end of its own.
func TestC4LogOfAProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		h := newHost(t, func(w *world) codemode.Outcome {
			a := w.call("read", in{Key: "a", Ms: 20}).await()
			b := w.call("read", in{Key: "b"}).await()
			return returns([]string{a, b})
		}, j.tools(t))
		r := h.run()
		assert.Empty(t, r.Code)
		assert.Equal(t, `["\"a\"","\"b\""]`, r.Text())
		assert.Equal(t, []string{"call c1",
			"start c1:code:1 read", "end c1:code:1 ok", "start c1:code:2 read", "end c1:code:2 ok",
			"settle ok", "result c1"}, h.log())
	})
}

// The call that was made second ends first, and still its promise settles after that of the first.
func TestC3ReverseCompletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gates := map[string]chan struct{}{"first": make(chan struct{}), "second": make(chan struct{})}
		var done []string
		gated := define(t, tool.Spec[in, string]{Name: "gated", Safe: isSafe, Body: func(_ context.Context, i in) (string, error) {
			<-gates[i.Key]
			return i.Key, nil
		}})
		h := newHost(t, func(w *world) codemode.Outcome {
			first, second := w.call("gated", in{Key: "first"}), w.call("gated", in{Key: "second"})
			synctest.Wait()
			close(gates["second"])
			synctest.Wait()
			assert.False(t, second.done(), "it waits for the commit of the first")
			<-time.After(time.Second)
			close(gates["first"])
			synctest.Wait()
			assert.True(t, first.done() && second.done())
			return returns(all(first, second))
		}, registry(t, gated))
		h.pipeline.Wrappers = []tool.Wrapper{func(c context.Context, i *tool.Invocation, next tool.Next) (tool.Result, error) {
			r, err := next(c)
			if i.Parent != nil {
				done = append(done, i.Call.ID)
			}
			return r, err
		}}
		require.Empty(t, h.run().Code)
		assert.Equal(t, []string{"c1:code:2", "c1:code:1"}, done, "bodies ended in the reverse order")
		assert.Equal(t, []string{"start c1:code:1 gated", "start c1:code:2 gated", "end c1:code:1 ok", "end c1:code:2 ok"}, h.nested())
	})
}

func TestC2Overlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		h := newHost(t, func(w *world) codemode.Outcome {
			var ps []*promise
			for i := range 10 {
				ps = append(ps, w.call("read", in{Key: fmt.Sprint(i), Ms: 10}))
			}
			return returns(all(ps...))
		}, j.tools(t), codemode.MaxParallelSubCalls(4))
		require.Empty(t, h.run().Code)
		assert.Equal(t, 4, j.peak)
		assert.Equal(t, 30*time.Millisecond, time.Since(j.start))
	})
}
