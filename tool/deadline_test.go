package tool_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// bounded is a tool with a timeout.
func within(t require.TestingT, d time.Duration, name string, body func(ctx) (string, error)) *tool.Definition {
	s := free(name, body)
	s.Timeout = d
	return define(t, s)
}

// A call that never ends has its deadline and then the drain bound, alone or with others.
func TestCase_timeout_1(t *testing.T) {
	for _, names := range [][]string{{"ok", "stuck"}, {"stuck"}} {
		for name, admit := range admissions {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				r := registry(t, define(t, free("ok", takes(0))),
					within(t, time.Second, "stuck", func(ctx) (string, error) { <-release; return "late", nil }))
				start := time.Now()
				results, err := new(tool.Pipeline).Run(t.Context(), r, named(names...), exec.Admit(admit), exec.Drain(5*time.Second))
				var abandoned *exec.AbandonedError
				require.ErrorAs(t, err, &abandoned)
				assert.Equal(t, 6*time.Second, time.Since(start), name)
				last := results[len(results)-1]
				assert.Equal(t, errorResult(tool.Abandoned, "stuck was cancelled while it ran (timed out after 1s) and did not stop in time: "+
					"it may still be running, and its effect may have happened. Check what has happened before you try again."), last)
				if len(results) == 2 {
					assert.Equal(t, "done", results[0].Text())
				}
				close(release)
				synctest.Wait()
				assert.Equal(t, tool.Abandoned, last.Code)
			})
		}
	}
}

// A deadline that passes while the call waits for a permit takes it out of the queue then, and for ever.
func TestCase_timeout_2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		r := registry(t, define(t, free("long", takes(200*time.Millisecond))),
			within(t, 50*time.Millisecond, "write", func(ctx) (string, error) { ran.Add(1); return "", nil }))
		var timeline exec.Timeline
		run := submit(t, t.Context(), new(tool.Pipeline), r, named("long", "write"), exec.Limit(1), exec.Record(&timeline))
		<-time.After(50 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, exec.EndSkipped, timeline.Snapshot()[1].End, "it is known at 50 ms")
		require.NoError(t, run.lane.Wait())
		assert.Equal(t, errorResult(tool.TimeoutBeforeDispatch,
			"write was not run: its deadline, 50ms after it was called, passed while it waited. Nothing was done."), run.jobs[1].Result)
		<-time.After(time.Hour)
		assert.Zero(t, ran.Load())
	})
}

// Wherever a call waits, its deadline finds it there.
func TestT6DeadlineBeforeDispatch(t *testing.T) {
	type world struct {
		p     *tool.Pipeline
		calls []tool.Call
		opts  []exec.Option
	}
	dom := exec.NewDomain()
	taken := semaphore.NewWeighted(1)
	require.True(t, taken.TryAcquire(1))
	for name, w := range map[string]func() world{
		"admission": func() world {
			return world{new(tool.Pipeline), []tool.Call{call("edit", `{"path":"a"}`), call("late", `{"path":"a"}`)}, nil}
		},
		"permit of the lane": func() world {
			return world{new(tool.Pipeline), []tool.Call{call("edit", `{"path":"a"}`), call("late", `{"path":"b"}`)}, []exec.Option{exec.Limit(1)}}
		},
		"shared permit": func() world {
			return world{new(tool.Pipeline), []tool.Call{call("late", `{"path":"b"}`)}, []exec.Option{exec.Shared(taken)}}
		},
		"claim": func() world {
			return world{new(tool.Pipeline), []tool.Call{call("late", `{"path":"held"}`)}, []exec.Option{exec.In(dom)}}
		},
		"approval": func() world {
			return world{asks(newDesk()), []tool.Call{call("late", `{"path":"b"}`)}, nil}
		},
		"policy": func() world {
			return world{&tool.Pipeline{Policies: []tool.Policy{func(c ctx, _ *tool.Invocation) (tool.Verdict, error) {
				<-c.Done()
				return tool.Verdict{}, c.Err()
			}}}, []tool.Call{call("late", `{"path":"b"}`)}, nil}
		},
		"guard": func() world {
			return world{&tool.Pipeline{Guards: []tool.Guard{func(c ctx, _ *tool.Invocation) error {
				<-c.Done()
				return c.Err()
			}}}, []tool.Call{call("late", `{"path":"b"}`)}, nil}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ran atomic.Int32
				late := tool.Spec[file, string]{Name: "late", Safe: safe[file], Claims: claim(plan.Write), Timeout: time.Second,
					Body: func(ctx, file) (string, error) { ran.Add(1); return "", nil }}
				r := registry(t, define(t, late), define(t, tool.Spec[file, string]{Name: "edit", Safe: safe[file], Claims: claim(plan.Write),
					Body: func(c ctx, _ file) (string, error) { return takes(time.Minute)(c) }}))
				w := w()
				var held exec.Lease
				if name == "claim" {
					var err error
					held, err = dom.Acquire(t.Context(), exec.Request{Claims: []plan.Claim{{Key: "held"}}})
					require.NoError(t, err)
				}
				start := time.Now()
				run := submit(t, t.Context(), w.p, r, w.calls, w.opts...)
				require.NoError(t, run.lane.Wait())
				last := run.jobs[len(run.jobs)-1]
				assert.Equal(t, tool.TimeoutBeforeDispatch, last.Result.Code, last.Result.Text())
				assert.Zero(t, ran.Load())
				if len(w.calls) == 1 {
					assert.Equal(t, time.Second, time.Since(start))
				}
				if held != nil {
					held.Release()
				}
			})
		})
	}
}

// What a call returns although its deadline has passed is kept, and an error of its own stays one.
func TestT6DeadlineWhileItRuns(t *testing.T) {
	for name, c := range map[string]struct {
		body func(ctx) (string, error)
		code tool.Code
		text string
	}{
		"heeds it":  {func(c ctx) (string, error) { <-c.Done(); return "", c.Err() }, tool.Timeout, ""},
		"passes it": {func(c ctx) (string, error) { <-c.Done(); return "", context.Cause(c) }, tool.Timeout, ""},
		"wraps it": {func(c ctx) (string, error) { <-c.Done(); return "", fmt.Errorf("half of it: %w", context.Cause(c)) }, tool.Timeout,
			" What it returned:\nhalf of it: timed out after 1s"},
		"returns":        {func(c ctx) (string, error) { <-c.Done(); return "written", nil }, tool.Timeout, " What it returned:\nwritten"},
		"fails":          {func(c ctx) (string, error) { <-c.Done(); return "", errors.New("disk full") }, "", "disk full"},
		"is in time":     {takes(time.Second - 1), "", "done"},
		"was in no time": {takes(0), "", "done"},
	} {
		for _, armed := range []bool{true, false} { // handed over by Submit, or by the lane's own
			t.Run(fmt.Sprint(name, " ", armed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					lane, err := exec.NewLane(t.Context())
					require.NoError(t, err)
					j := new(tool.Pipeline).NewJob(registry(t, within(t, time.Second, "t", c.body)), tool.Call{Name: "t"})
					if armed {
						_, err = tool.Submit(lane, struct{ *tool.Job }{j}) // as a host embeds it
					} else {
						_, err = lane.Submit(j)
					}
					require.NoError(t, err)
					lane.Close()
					require.NoError(t, lane.Wait())
					assert.Equal(t, c.code, j.Result.Code)
					want := c.text
					if c.code != "" {
						want = "t did not end in time (timed out after 1s). Its effect may have happened, wholly or in part. Check what has happened before you try again." + c.text
					}
					assert.Equal(t, want, j.Result.Text())
				})
			})
		}
	}
}

// A deadline counts from the submission, not from the start.
func TestT6DeadlineCountsFromTheSubmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left time.Duration
		r := registry(t, define(t, tool.Spec[struct{}, string]{Name: "first", Body: func(c ctx, _ struct{}) (string, error) { return takes(40 * time.Second)(c) }}),
			within(t, time.Minute, "t", func(c ctx) (string, error) {
				deadline, ok := c.Deadline()
				require.True(t, ok)
				left = time.Until(deadline)
				assert.Equal(t, deadline, tool.InvocationOf(c).Deadline)
				<-c.Done()
				var late *tool.TimeoutError
				assert.ErrorAs(t, context.Cause(c), &late)
				assert.ErrorIs(t, context.Cause(c), context.DeadlineExceeded)
				return "", c.Err()
			}))
		start := time.Now()
		results, err := tool.Run(t.Context(), r, named("first", "t"))
		require.NoError(t, err)
		assert.Equal(t, 20*time.Second, left)
		assert.Equal(t, time.Minute, time.Since(start))
		assert.Equal(t, tool.Timeout, results[1].Code)
	})
}

// A call that was not submitted by Submit is late all the same when its turn comes.
func TestT6DeadlineOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, define(t, free("long", takes(time.Hour))), within(t, time.Second, "t", func(ctx) (string, error) { panic("it runs") }))
		lane, err := exec.NewLane(t.Context(), exec.Limit(1))
		require.NoError(t, err)
		jobs := new(tool.Pipeline).NewJobs(r, named("long", "t")...)
		_, err = lane.Submit(jobs[0], jobs[1])
		require.NoError(t, err)
		lane.Close()
		require.NoError(t, lane.Wait())
		assert.Equal(t, tool.TimeoutBeforeDispatch, jobs[1].Result.Code)
	})
	synctest.Test(t, func(t *testing.T) { // nor when it waits for a permit
		taken := semaphore.NewWeighted(1)
		require.True(t, taken.TryAcquire(1))
		r := registry(t, within(t, time.Second, "t", func(ctx) (string, error) { panic("it runs") }))
		lane, err := exec.NewLane(t.Context(), exec.Shared(taken))
		require.NoError(t, err)
		j := tool.NewJob(r, tool.Call{Name: "t"})
		_, err = lane.Submit(j)
		require.NoError(t, err)
		lane.Close()
		<-time.After(time.Minute)
		taken.Release(1)
		require.NoError(t, lane.Wait())
		assert.Equal(t, tool.TimeoutBeforeDispatch, j.Result.Code)
	})
}

// The deadline of the call around is a cancel to the calls within, not theirs.
func TestT6DeadlineOfTheCallAround(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := registry(t, within(t, time.Hour, "inner", takes(time.Minute)))
		var got tool.Result
		outer := within(t, time.Second, "outer", func(c ctx) (string, error) {
			results, _ := tool.Run(c, inner, named("inner"))
			got = results[0]
			return "", context.Cause(c)
		})
		results, err := tool.Run(t.Context(), registry(t, outer), named("outer"))
		require.NoError(t, err)
		assert.Equal(t, tool.Timeout, results[0].Code)
		assert.Equal(t, tool.Aborted, got.Code)
		assert.Contains(t, got.Text(), "inner was cancelled while it ran (timed out after 1s)")
	})
}

// A call that has not started is late by the definition that it has then.
func TestT6DeadlineOfTheDefinitionAtTheStart(t *testing.T) {
	for _, c := range []struct {
		before, after time.Duration
		code          tool.Code
	}{
		{time.Second, time.Hour, ""},
		{time.Second, 0, ""},
		{time.Second, 20 * time.Second, tool.TimeoutBeforeDispatch},
		{time.Hour, time.Second, tool.TimeoutBeforeDispatch},
		{0, time.Second, tool.TimeoutBeforeDispatch},
		{0, 90 * time.Second, tool.Timeout},
		{time.Second, 90 * time.Second, tool.Timeout},
	} {
		synctest.Test(t, func(t *testing.T) {
			body := takes(time.Hour)
			if c.code == "" {
				body = takes(0)
			}
			r := registry(t, define(t, tool.Spec[struct{}, string]{Name: "first", Body: func(c ctx, _ struct{}) (string, error) { return takes(time.Minute)(c) }}),
				within(t, c.before, "t", body))
			run := submit(t, t.Context(), new(tool.Pipeline), r, named("first", "t"))
			synctest.Wait()
			require.NoError(t, r.Replace(within(t, c.after, "t", body)))
			start := time.Now()
			require.NoError(t, run.lane.Wait())
			assert.Equal(t, c.code, run.jobs[1].Result.Code, "%v", c)
			if c.code == tool.Timeout {
				assert.Equal(t, c.after, time.Since(start))
			}
		})
	}
}

func TestDefineTimeout(t *testing.T) {
	s := free("t", takes(0))
	s.Timeout = -1
	_, err := tool.Define(s)
	require.ErrorIs(t, err, tool.ErrDefinition)
	assert.Contains(t, err.Error(), "its Timeout is -1ns")
}

func TestSubmitToALaneThatIsClosed(t *testing.T) {
	lane, err := exec.NewLane(t.Context())
	require.NoError(t, err)
	lane.Close()
	require.NoError(t, lane.Wait())
	_, err = tool.Submit(lane, tool.NewJob(nil, tool.Call{Name: "t"}))
	require.ErrorIs(t, err, exec.ErrClosed)
}

// What a body is told at its deadline is the same every time.
func TestH2DeadlineIsNoCancel(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			r := registry(t, within(t, time.Second, "t", func(c ctx) (string, error) { <-c.Done(); return "", fmt.Errorf("read: %w", c.Err()) }))
			results, err := tool.Run(t.Context(), r, named("t", "t", "t"))
			require.NoError(t, err)
			for _, got := range results {
				require.Contains(t, got.Text(), "What it returned:\nread: context deadline exceeded")
			}
		})
	}
}

// A prompt that holds the lane is bounded by the deadline of its call, however that came into the lane.
func TestT6DeadlineOfOthersInTheLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := asks(newDesk())
		p.AskInLane = true
		lane, err := exec.NewLane(t.Context())
		require.NoError(t, err)
		j := p.NewJob(registry(t, within(t, time.Second, "t", takes(0))), tool.Call{Name: "t"})
		_, err = lane.Submit(j)
		require.NoError(t, err)
		lane.Close()
		start := time.Now()
		require.NoError(t, lane.Wait())
		assert.Equal(t, time.Second, time.Since(start))
		assert.Equal(t, tool.TimeoutBeforeDispatch, j.Result.Code)
	})
}
