package tool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
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

type key string

// Wrappers are around the body in their order, may change what goes in and what comes out, and may do without it.
func TestWrappersAreAroundTheBody(t *testing.T) {
	var log []string
	wrap := func(name string) tool.Wrapper {
		return func(c ctx, inv *tool.Invocation, next tool.Next) (tool.Result, error) {
			log = append(log, name+" before "+inv.Call.Name)
			r, err := next(context.WithValue(c, key(name), "of "+name))
			log = append(log, name+" after")
			if err == nil {
				r.Content = append(r.Content, tool.Block{Text: name})
			}
			return r, err
		}
	}
	instead := func(c ctx, inv *tool.Invocation, next tool.Next) (tool.Result, error) {
		switch inv.Call.Name {
		case "cached":
			return tool.Text("from the cache"), nil
		case "refused":
			return tool.Result{}, errors.New("not that one")
		case "forged":
			return tool.Result{Code: tool.Aborted, Concludes: true, Content: []tool.Block{{Text: "x"}}}, nil
		case "wrong":
			return tool.Result{Value: json.RawMessage("nope")}, nil
		case "panics":
			panic("in the wrapper")
		}
		return next(c)
	}
	body := func(c ctx) (string, error) {
		return fmt.Sprint(c.Value(key("outer")), " ", c.Value(key("inner")), " ", c.Value(key("caller"))), nil
	}
	p := &tool.Pipeline{Wrappers: []tool.Wrapper{wrap("outer"), wrap("inner")}}
	c := context.WithValue(t.Context(), key("caller"), "of the caller")
	results, err := p.Run(c, registry(t, define(t, free("t", body))), named("t"))
	require.NoError(t, err)
	assert.Equal(t, []string{"outer before t", "inner before t", "inner after", "outer after"}, log)
	assert.Equal(t, "of outer of inner of the caller\ninner\nouter", results[0].Text())

	r := new(tool.Registry)
	names := []string{"cached", "refused", "forged", "wrong", "panics"}
	for _, name := range names {
		require.NoError(t, r.Register(define(t, free(name, func(ctx) (string, error) { panic("it runs") }))))
	}
	results, err = (&tool.Pipeline{Wrappers: []tool.Wrapper{instead}}).Run(t.Context(), r, named(names...))
	require.NoError(t, err)
	assert.Equal(t, []tool.Code{"", "", "", tool.InvalidToolOutput, tool.Panic}, codes(results))
	assert.Equal(t, []string{"from the cache", "not that one", "x"}, texts(results[:3]))
	assert.Equal(t, []bool{false, true, false}, []bool{results[0].IsError, results[1].IsError, results[2].IsError})
	assert.False(t, results[2].Concludes)
	assert.Contains(t, results[3].Text(), "/value: it is not JSON")
	assert.Contains(t, results[4].Text(), "it panicked: in the wrapper")
}

// Whatever context a wrapper hands on, the body has the cancel and the values of the call, and the lease that it holds.
func TestWrappersCannotDetachTheCancel(t *testing.T) {
	for name, detach := range map[string]func(c ctx) ctx{
		"background": func(ctx) ctx { return context.Background() },
		"detached":   context.WithoutCancel,
		"derived":    func(c ctx) ctx { return context.WithValue(c, key("x"), "y") },
		"the same":   func(c ctx) ctx { return c },
		"longer": func(ctx) ctx {
			c, cancel := context.WithTimeout(context.Background(), time.Hour)
			context.AfterFunc(c, cancel)
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var token uint64
				var tenant any
				p := &tool.Pipeline{Wrappers: []tool.Wrapper{func(c ctx, _ *tool.Invocation, next tool.Next) (tool.Result, error) { return next(detach(c)) }}}
				r := registry(t, define(t, free("t", func(c ctx) (string, error) {
					token, _ = exec.FencingToken(c)
					tenant = c.Value(key("tenant"))
					<-c.Done()
					return "", context.Cause(c)
				})))
				run := submit(t, context.WithValue(t.Context(), key("tenant"), "t1"), p, r, named("t"), exec.In(exec.NewDomain()))
				synctest.Wait()
				run.lane.CancelCall(0, errBoom)
				require.NoError(t, run.lane.Wait())
				assert.Equal(t, tool.Aborted, run.jobs[0].Result.Code)
				assert.Contains(t, run.jobs[0].Result.Text(), "(boom)")
				assert.Equal(t, "t1", tenant)
				assert.NotZero(t, token)
				<-time.After(2 * time.Hour)
			})
		})
	}
}

// After the cancel of its call a wrapper cannot start the body any more.
func TestWrappersCannotRunACancelledBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		p := &tool.Pipeline{Wrappers: []tool.Wrapper{func(c ctx, _ *tool.Invocation, next tool.Next) (tool.Result, error) {
			_, _ = next(c)
			<-c.Done()
			return next(context.Background())
		}}}
		run := submit(t, t.Context(), p, registry(t, define(t, free("t", func(ctx) (string, error) { ran.Add(1); return "", nil }))), named("t"))
		synctest.Wait()
		run.lane.Cancel(errBoom)
		require.ErrorIs(t, run.lane.Wait(), errBoom)
		assert.EqualValues(t, 1, ran.Load())
		assert.Equal(t, tool.Aborted, run.jobs[0].Result.Code)
	})
}

// What belongs to a call travels in its own context: two that overlap do not see each other's.
func TestCase_context_1(t *testing.T) {
	var meet sync.WaitGroup
	meet.Add(2)
	p := &tool.Pipeline{Wrappers: []tool.Wrapper{func(c ctx, inv *tool.Invocation, next tool.Next) (tool.Result, error) {
		c = context.WithValue(c, key("cwd"), string(inv.Arguments))
		meet.Done()
		meet.Wait() // both have stored theirs
		return next(c)
	}}}
	r := registry(t, define(t, tool.Spec[file, string]{Name: "sh", Safe: safe[file], Body: func(c ctx, in file) (string, error) {
		assert.Equal(t, tool.InvocationOf(c).Arguments, json.RawMessage(c.Value(key("cwd")).(string)))
		return in.Path, nil
	}}))
	results, err := p.Run(t.Context(), r, []tool.Call{call("sh", `{"path":"A"}`), call("sh", `{"path":"B"}`)})
	require.NoError(t, err)
	assert.Equal(t, []string{"A", "B"}, texts(results))
}

// The values of a batch reach its bodies, its policies and everything else; two sessions do not mix, and calls within a
// call see what is around them.
func TestCase_context_2(t *testing.T) {
	seen := func(c ctx) string { return fmt.Sprint(c.Value(key("tenant")), "/", c.Value(key("span"))) }
	var mu sync.Mutex
	all := map[string][]string{}
	note := func(c ctx, at string) {
		mu.Lock()
		defer mu.Unlock()
		all[at] = append(all[at], seen(c))
	}
	inner := registry(t, define(t, free("inner", func(c ctx) (string, error) { return seen(c), nil })))
	outer := free("outer", func(c ctx) (string, error) {
		c = context.WithValue(c, key("span"), "outer of "+c.Value(key("tenant")).(string))
		results, err := tool.Run(c, inner, named("inner"))
		return results[0].Text(), err
	})
	outer.Finalize = func(c ctx, _ *tool.Invocation, _ tool.Result) ([]tool.Block, error) {
		note(c, "finalize")
		return nil, nil
	}
	r := registry(t, define(t, outer))
	p := &tool.Pipeline{
		Policies: []tool.Policy{func(c ctx, _ *tool.Invocation) (tool.Verdict, error) {
			note(c, "policy")
			return tool.Verdict{Action: tool.Allow}, nil
		}},
		Guards: []tool.Guard{func(c ctx, _ *tool.Invocation) error { note(c, "guard"); return nil }},
		Reviewers: []tool.Reviewer{func(c ctx, _ *tool.Invocation, _ tool.Result) (tool.Review, error) {
			note(c, "review")
			return tool.Review{}, nil
		}},
		Gates: []tool.Gate{func(c ctx, _ tool.Event) { note(c, "gate") }},
	}
	var wg sync.WaitGroup
	for _, tenant := range []string{"t1", "t2"} {
		wg.Go(func() {
			results, err := p.Run(context.WithValue(context.WithValue(t.Context(), key("tenant"), tenant), key("span"), "s"), r, named("outer", "outer"))
			assert.NoError(t, err)
			want := tenant + "/outer of " + tenant
			assert.Equal(t, []string{want, want}, texts(results))
		})
	}
	wg.Wait()
	for at, got := range all {
		slices.Sort(got)
		want := []string{"t1/s", "t1/s", "t2/s", "t2/s"}
		if at == "gate" {
			want = []string{"t1/s", "t1/s", "t1/s", "t1/s", "t2/s", "t2/s", "t2/s", "t2/s"}
		}
		assert.Equal(t, want, got, at)
	}
	assert.Len(t, all, 5)
}

func TestWithTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		r := registry(t,
			define(t, free("quick", takes(time.Second-1))), define(t, free("slow", takes(time.Minute))),
			define(t, free("returns", func(c ctx) (string, error) { <-c.Done(); cause = context.Cause(c); return "half", nil })),
			define(t, free("fails", func(c ctx) (string, error) { <-c.Done(); return "", errors.New("disk full") })),
		)
		p := &tool.Pipeline{Wrappers: []tool.Wrapper{tool.WithTimeout(time.Second)}}
		results, err := p.Run(t.Context(), r, named("quick", "slow", "returns", "fails"))
		require.NoError(t, err)
		assert.Equal(t, []tool.Code{"", tool.Timeout, tool.Timeout, ""}, codes(results))
		notice := " did not end in time (timed out after 1s). Its effect may have happened, wholly or in part. Check what has happened before you try again."
		assert.Equal(t, []string{"done", "slow" + notice, "returns" + notice + " What it returned:\nhalf", "disk full"}, texts(results))
		assert.Equal(t, &tool.TimeoutError{After: time.Second}, cause)

		run := submit(t, t.Context(), p, r, named("slow"))
		synctest.Wait()
		run.lane.CancelCall(0, errBoom)
		require.NoError(t, run.lane.Wait())
		assert.Equal(t, tool.Aborted, run.jobs[0].Result.Code, "the cancel of the call is not this timeout")

		p = &tool.Pipeline{Wrappers: []tool.Wrapper{tool.WithTimeout(0)}}
		results, err = p.Run(t.Context(), r, named("slow"))
		require.NoError(t, err)
		assert.Equal(t, []string{"done"}, texts(results), "0 is no bound")
	})
}

// flaky is a body that fails some times.
func flaky(n int, err error) (body func(ctx) (string, error), tries *int) {
	tries = new(int)
	return func(ctx) (string, error) {
		if *tries++; *tries <= n {
			return "", err
		}
		return "done", nil
	}, tries
}

func TestWithRetry(t *testing.T) {
	busy := &tool.TransientError{Err: errors.New("busy")}
	for name, c := range map[string]struct {
		fails    int
		err      error
		attempts int
		tries    int
		text     string
		min, max time.Duration
	}{
		"at once":        {0, busy, 0, 1, "done", 0, 0},
		"later":          {1, busy, 0, 2, "done", 50 * time.Millisecond, 150 * time.Millisecond},
		"at last":        {2, busy, 0, 3, "done", 125 * time.Millisecond, 375 * time.Millisecond},
		"never":          {9, busy, 0, 3, "busy (3 attempts)", 125 * time.Millisecond, 375 * time.Millisecond},
		"once is enough": {9, busy, 1, 1, "busy", 0, 0},
		"wrapped":        {1, fmt.Errorf("the server: %w", busy), 0, 2, "done", 50 * time.Millisecond, 150 * time.Millisecond},
		"not transient":  {1, errors.New("no such file"), 0, 1, "no such file", 0, 0},
		"as it says":     {1, &tool.TransientError{Err: errBoom, After: time.Minute}, 0, 2, "done", time.Minute, time.Minute},
		"bounded":        {7, busy, 8, 8, "done", 0, 7 * 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				body, tries := flaky(c.fails, c.err)
				p := &tool.Pipeline{Wrappers: []tool.Wrapper{tool.WithRetry(tool.Retry{Attempts: c.attempts, Wait: 100 * time.Millisecond, MaxWait: 200 * time.Millisecond})}}
				start := time.Now()
				results, err := p.Run(t.Context(), registry(t, define(t, free("t", body))), named("t"))
				require.NoError(t, err)
				assert.Equal(t, c.text, results[0].Text())
				assert.Empty(t, results[0].Code)
				assert.Equal(t, c.tries, *tries)
				assert.GreaterOrEqual(t, time.Since(start), c.min)
				assert.LessOrEqual(t, time.Since(start), c.max+time.Millisecond)
			})
		})
	}
	require.ErrorIs(t, busy, busy.Err)
}

// Each attempt has the arguments as the model wrote them, whatever the one before did to them.
func TestWithRetryStartsAfresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type input struct {
			Paths []string `json:"paths"`
		}
		n := 0
		r := registry(t, define(t, tool.Spec[input, string]{Name: "t", Safe: safe[input], Body: func(_ ctx, in input) (string, error) {
			defer func() { in.Paths[0] = "spoilt" }()
			if n++; n < 3 {
				return "", &tool.TransientError{Err: errBoom}
			}
			return in.Paths[0], nil
		}}))
		results, err := (&tool.Pipeline{Wrappers: []tool.Wrapper{tool.WithRetry(tool.Retry{})}}).Run(t.Context(), r, []tool.Call{call("t", `{"paths":["a"]}`)})
		require.NoError(t, err)
		assert.Equal(t, "a", results[0].Text())
	})
}

// The wait for another attempt ends with the call, by a cancel and by its deadline.
func TestWithRetryStopsWithItsCall(t *testing.T) {
	for _, timeout := range []time.Duration{0, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			body, tries := flaky(99, &tool.TransientError{Err: errors.New("busy"), After: time.Hour})
			p := &tool.Pipeline{Wrappers: []tool.Wrapper{tool.WithRetry(tool.Retry{})}}
			run := submit(t, t.Context(), p, registry(t, within(t, timeout, "t", body)), named("t"))
			start := time.Now()
			want := tool.Timeout
			if timeout == 0 {
				<-time.After(time.Minute)
				run.lane.CancelCall(0, errBoom)
				want = tool.Aborted
			}
			require.NoError(t, run.lane.Wait())
			assert.Equal(t, time.Minute, time.Since(start))
			assert.Equal(t, want, run.jobs[0].Result.Code)
			assert.Contains(t, run.jobs[0].Result.Text(), "What it returned:\nbusy (no further attempt: ")
			assert.Equal(t, 1, *tries)
		})
	}
}

// A call keeps to what it was planned with: if its tool claims more at the time of another attempt, there is none.
func TestWithRetryDoesNotWidenClaims(t *testing.T) {
	read, write := plan.Read, plan.Write
	one := func(k string, a plan.Access, tree bool) []plan.Claim {
		return []plan.Claim{{Key: k, Access: a, Tree: tree}}
	}
	for name, c := range map[string]struct {
		before, after plan.Call
		says          string // "": there is another attempt
	}{
		"the same":            {plan.Call{Safe: true, Claims: one("a", write, false)}, plan.Call{Safe: true, Claims: one("a", write, false)}, ""},
		"spelt otherwise":     {plan.Call{Safe: true, Claims: one("a", write, false)}, plan.Call{Safe: true, Claims: one("a/", write, false)}, ""},
		"none":                {plan.Call{Safe: true, Claims: one("a", write, false)}, plan.Call{Safe: true}, ""},
		"no more than a read": {plan.Call{Safe: true, Claims: one("a", write, false)}, plan.Call{Safe: true, Claims: one("a", read, false)}, ""},
		"below its tree":      {plan.Call{Safe: true, Claims: one("a", write, true)}, plan.Call{Safe: true, Claims: one("a/b", write, true)}, ""},
		"exclusive":           {plan.Call{}, plan.Call{}, ""},
		"exclusive, then not": {plan.Call{}, plan.Call{Safe: true}, ""},
		"another key":         {plan.Call{Safe: true, Claims: one("a", write, false)}, plan.Call{Safe: true, Claims: one("b", write, false)}, "write b"},
		"a name beside":       {plan.Call{Safe: true, Claims: one("a", write, true)}, plan.Call{Safe: true, Claims: one("ab", write, false)}, "write ab"},
		"one more":            {plan.Call{Safe: true, Claims: one("a", read, false)}, plan.Call{Safe: true, Claims: append(one("a", read, false), one("b", read, false)...)}, "read b"},
		"a write":             {plan.Call{Safe: true, Claims: one("a", read, false)}, plan.Call{Safe: true, Claims: one("a", write, false)}, "write a"},
		"a tree":              {plan.Call{Safe: true, Claims: one("a", write, false)}, plan.Call{Safe: true, Claims: one("a", write, true)}, "write a/..."},
		"below no tree":       {plan.Call{Safe: true, Claims: one("a", write, false)}, plan.Call{Safe: true, Claims: one("a/b", write, false)}, "write a/b"},
		"everything":          {plan.Call{Safe: true, Claims: one("a", write, false)}, plan.Call{}, "everything"},
		"cannot be relied on": {plan.Call{Safe: true}, plan.Call{Safe: true, Claims: one("", write, false)}, "everything"},
		"exclusive, and more": {plan.Call{}, plan.Call{Claims: one("a", write, false)}, "write a"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				now := c.before
				tries := 0
				r := registry(t, define(t, tool.Spec[file, string]{
					Name: "t", Safe: func(file) bool { return now.Safe }, Claims: func(file) ([]plan.Claim, error) { return now.Claims, nil },
					Body: func(ctx, file) (string, error) {
						now = c.after
						if tries++; tries == 1 {
							return "", &tool.TransientError{Err: errors.New("busy")}
						}
						return "done", nil
					},
				}))
				results, err := (&tool.Pipeline{Wrappers: []tool.Wrapper{tool.WithRetry(tool.Retry{})}}).Run(t.Context(), r, []tool.Call{call("t", `{"path":"x"}`)})
				require.NoError(t, err)
				if c.says == "" {
					assert.Equal(t, "done", results[0].Text())
					return
				}
				assert.Equal(t, 1, tries)
				assert.Equal(t, "busy (no further attempt: it would use "+c.says+", which it has not claimed)", results[0].Text())
			})
		})
	}
}

func TestWithLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		typed := tool.Spec[struct{}, int]{Name: "typed", Output: json.RawMessage(`{"type":"string"}`), Body: func(ctx, struct{}) (int, error) { return 1, nil }}
		r := registry(t,
			define(t, free("ok", takes(time.Second))), define(t, free("fails", func(ctx) (string, error) { return "", errBoom })),
			define(t, free("says", func(ctx) (string, error) { panic("x") })), within(t, 3*time.Second, "late", takes(time.Hour)), define(t, typed),
			define(t, tool.Spec[struct{}, tool.Result]{Name: "says no", Body: func(ctx, struct{}) (tool.Result, error) { return tool.Result{IsError: true}, nil }}),
		)
		p := &tool.Pipeline{Wrappers: []tool.Wrapper{tool.WithLog(logger)}}
		_, err := p.Run(t.Context(), r, named("ok", "fails", "says", "late", "typed", "says no"), exec.Admit(plan.NewSerial))
		require.NoError(t, err)
		assert.Equal(t, []string{
			`level=INFO msg="tool call" tool=ok id=c1 index=0 duration=1s`,
			`level=WARN msg="tool call" tool=fails id=c2 index=1 duration=0s error=boom`,
			`level=WARN msg="tool call" tool=says id=c3 index=2 duration=0s code=PANIC`,
			`level=WARN msg="tool call" tool=late id=c4 index=3 duration=2s code=TIMEOUT error="timed out after 3s"`,
			`level=WARN msg="tool call" tool=typed id=c5 index=4 duration=0s code=INVALID_TOOL_OUTPUT error="the value: got number, want string"`,
			`level=WARN msg="tool call" tool="says no" id=c6 index=5 duration=0s`,
		}, strings.Split(strings.TrimSpace(out.String()), "\n"))
	})
}
