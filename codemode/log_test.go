package codemode_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// A slow hook delays neither the program nor the order of the log while fewer ends than the cap are on their way; then
// the program waits for it.
func TestC4SlowHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		var at []time.Duration // when each call settled for the program
		h := newHost(t, func(w *world) codemode.Outcome {
			for i := range 5 {
				w.call("read", in{Key: fmt.Sprint(i)}).await()
				at = append(at, time.Since(j.start))
			}
			return returns("done")
		}, j.tools(t), codemode.MaxParallelSubCalls(3), codemode.Shorten(func(_ ctx, c *tool.Invocation, r tool.Result) (tool.Result, error) {
			<-time.After(time.Second)
			return tool.Text("short " + c.Call.ID), nil
		}))
		require.Empty(t, h.run().Code)
		assert.Equal(t, []time.Duration{0, 0, 0, time.Second, 2 * time.Second}, at)
		assert.Equal(t, 5*time.Second, time.Since(j.start), "all is recorded before the result is")
		assert.Equal(t, []string{
			"start c1:code:1 read", "end c1:code:1 ok", "start c1:code:2 read", "end c1:code:2 ok", "start c1:code:3 read", "end c1:code:3 ok",
			"start c1:code:4 read", "end c1:code:4 ok", "start c1:code:5 read", "end c1:code:5 ok"}, h.nested())
		for _, d := range h.dispatches() {
			assert.Equal(t, "short "+d.ID, d.Result.Text())
		}
		for turn, err := range harness.Turns(h.session.Events()) {
			require.NoError(t, err)
			for i, c := range turn.Steps[0].Calls[0].Tree.Calls {
				at := j.start.Add(time.Duration(max(0, i-3)) * time.Second)
				assert.True(t, c.Started.Equal(at) && c.Settled.Equal(at), "the times are those of the call, not of the log")
				assert.Equal(t, time.Duration(i+1)*time.Second, c.Committed.Sub(j.start))
			}
		}
	})
}

// Calls that overlap do so whatever the hook does.
func TestC4SlowHookOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		h := newHost(t, func(w *world) codemode.Outcome {
			one, two := w.call("read", in{Key: "a", Ms: 20}), w.call("read", in{Key: "b", Ms: 10})
			all(one, two)
			assert.Equal(t, 20*time.Millisecond, time.Since(j.start))
			return returns("done")
		}, j.tools(t), codemode.Shorten(func(_ ctx, c *tool.Invocation, r tool.Result) (tool.Result, error) {
			<-time.After(time.Second)
			return r, nil
		}))
		require.Empty(t, h.run().Code)
		assert.Equal(t, []string{"start c1:code:1 read", "start c1:code:2 read", "end c1:code:1 ok", "end c1:code:2 ok"}, h.nested())
	})
}

// What a hook returns is recorded and nothing else sees it; if it fails, in whatever way, the result is recorded whole.
func TestC4HookFails(t *testing.T) {
	for name, hook := range map[string]codemode.Shortener{
		"error": func(ctx, *tool.Invocation, tool.Result) (tool.Result, error) { return tool.Text("short"), errBoom },
		"panic": func(ctx, *tool.Invocation, tool.Result) (tool.Result, error) { panic("x") },
		"goexit": func(ctx, *tool.Invocation, tool.Result) (tool.Result, error) {
			runtime.Goexit()
			return tool.Result{}, nil
		},
		"no JSON": func(ctx, *tool.Invocation, tool.Result) (tool.Result, error) {
			return tool.Result{Value: json.RawMessage(`{"a":`)}, nil
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			h := newHost(t, func(w *world) codemode.Outcome {
				return returns(all(w.call("read", in{Key: "a"}), w.call("read", in{Key: "b"})))
			}, j.tools(t), codemode.Shorten(hook))
			require.Empty(t, h.run().Code, name)
			ds := h.dispatches()
			require.Len(t, ds, 2, name)
			assert.Equal(t, "a", ds[0].Result.Text(), name)
			assert.Equal(t, "b", ds[1].Result.Text(), name)
		})
	}
}

// dispatches are the ends of nested calls.
func (h *host) dispatches() (ds []harness.CodeDispatch) {
	starts := map[uint64]harness.CodeDispatchStart{}
	for e, err := range h.session.Events() {
		require.NoError(h.t, err)
		p, err := e.Payload()
		require.NoError(h.t, err)
		switch p := p.(type) {
		case harness.CodeDispatchStart:
			starts[e.Seq] = p
		case harness.CodeDispatch:
			require.Len(h.t, p.Sources, 1)
			s := starts[p.Sources[0]]
			require.Equal(h.t, []any{s.Place, s.ParentID, s.ID, s.Name}, []any{p.Place, p.ParentID, p.ID, p.Name})
			ds = append(ds, p)
		}
	}
	return ds
}

// The start has the arguments in their normal form.
func TestC4Arguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, func(w *world) codemode.Outcome {
			w.call("read", "").await()
			w.call("read", ` {"key" : "<a>"} `).await()
			_, err := w.call("read", `{"key":`).try()
			assert.ErrorContains(t, err, "The arguments of read are invalid")
			return codemode.Outcome{}
		}, newJournal().tools(t))
		require.Empty(t, h.run().Code)
		var got []string
		for e, err := range h.session.Events() {
			require.NoError(t, err)
			if p, _ := e.Payload(); e.Type == harness.TypeCodeDispatchStart {
				got = append(got, string(p.(harness.CodeDispatchStart).Arguments))
			}
		}
		assert.Equal(t, []string{`{}`, `{"key":"<a>"}`, `"{\"key\":"`}, got)
		assert.Equal(t, "end c1:code:3 INVALID_ARGS", h.nested()[5])
	})
}

// A store that fails takes nothing from some seq on.
type failing struct {
	harness.Memory
	mu   sync.Mutex
	fail func(harness.Event) bool
}

func (f *failing) Append(events ...harness.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range events {
		if f.fail(e) {
			return errors.New("disk full")
		}
	}
	return f.Memory.Append(events...)
}

func (f *failing) Events() iter.Seq2[harness.Event, error] { return f.Memory.Events() }

// If calls cannot be recorded the program is stopped, and says so.
func TestC4LogFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		store := &failing{fail: func(e harness.Event) bool { return e.Type == harness.TypeCodeDispatch }}
		h := newHost(t, func(w *world) codemode.Outcome {
			for i := range 100 {
				w.call("read", in{Key: fmt.Sprint(i), Ms: 1}).await()
			}
			return returns("done")
		}, j.tools(t))
		var err error
		h.session, err = harness.New(store)
		require.NoError(t, err)
		h.Scheduler.Session = h.session
		r := h.run()
		assert.True(t, r.IsError)
		assert.Equal(t, "The program was stopped, because what it called could not be run and recorded: disk full", r.Text())
		assert.Less(t, len(j.all()), 10)
		assert.Equal(t, []string{"start c1:code:1 read"}, h.nested())
	})
}

// A record that ends the goroutine, as one of a test does that fails, is one that fails, and nobody waits for ever.
func TestC4LogEndsItsGoroutine(t *testing.T) {
	for _, stage := range []tool.Stage{tool.Started, tool.Committed} {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			v, err := codemode.New(script(func(w *world) codemode.Outcome {
				for i := range 100 {
					w.call("read", in{Key: fmt.Sprint(i), Ms: 1}).await()
				}
				return returns("done")
			}), j.tools(t), codemode.MaxParallelSubCalls(1))
			require.NoError(t, err)
			job := tool.NewJob(v, program("c1"))
			job.Record = func(_ ctx, e tool.Event) error {
				if e.Parent != nil && e.Stage == stage {
					runtime.Goexit()
				}
				return nil
			}
			lane, err := exec.NewLane(t.Context())
			require.NoError(t, err)
			_, err = tool.Submit(lane, job)
			require.NoError(t, err)
			lane.Close()
			require.NoError(t, lane.Wait())
			assert.Contains(t, job.Result.Text(), "recorded: recording it ended its goroutine (runtime.Goexit)")
			assert.Less(t, len(j.all()), 10)
		})
	}
}

// A program of a host without a session leaves no log, and needs none.
func TestC4NoLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, err := codemode.New(script(func(w *world) codemode.Outcome { return returns(w.call("read", in{Key: "a"}).await()) }), newJournal().tools(t),
			codemode.Shorten(func(ctx, *tool.Invocation, tool.Result) (tool.Result, error) { panic("there is nothing to shorten") }))
		require.NoError(t, err)
		r, err := tool.Execute(t.Context(), v, program("c1"))
		require.NoError(t, err)
		assert.Equal(t, `"a"`, r.Text())
		require.Empty(t, r.Code)
	})
}

// A body that is run again goes on counting: no two calls of one call have the same id.
func TestC4RunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		h := newHost(t, func(w *world) codemode.Outcome {
			runs++
			return returns(w.call("read", in{Key: "a"}).await())
		}, newJournal().tools(t))
		h.pipeline.Wrappers = []tool.Wrapper{func(c ctx, i *tool.Invocation, next tool.Next) (tool.Result, error) {
			if i.Parent == nil {
				_, _ = next(c)
			}
			return next(c)
		}}
		require.Empty(t, h.run().Code)
		assert.Equal(t, 2, runs)
		assert.Equal(t, "start c1:code:1 read, end c1:code:1 ok, start c1:code:2 read, end c1:code:2 ok", strings.Join(h.nested(), ", "))
	})
}
