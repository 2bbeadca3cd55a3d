package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

func TestT5DuplicateAndEmptyIDsAllRun(t *testing.T) {
	r := registry(t, define(t, tool.Spec[file, string]{Name: "t", Safe: safe[file], Body: echo}))
	for _, id := range []string{"", "x"} {
		var calls []tool.Call
		var want []string
		for i := range 20 {
			path := fmt.Sprint(i)
			calls = append(calls, tool.Call{ID: id, Name: "t", Arguments: `{"path":"` + path + `"}`})
			want = append(want, path)
		}
		results, err := tool.Run(t.Context(), r, calls)
		require.NoError(t, err)
		assert.Equal(t, want, texts(results))
	}
}

func TestCase_call_identity_1(t *testing.T) {
	r := registry(t, define(t, tool.Spec[file, string]{Name: "f", Body: echo}))
	for _, id := range []string{"x", ""} {
		results, err := tool.Run(t.Context(), r, []tool.Call{
			{ID: id, Name: "f", Arguments: `{"path":"1"}`},
			{ID: id, Name: "f", Arguments: `{"path":"2"}`},
		})
		require.NoError(t, err)
		assert.Equal(t, []string{"1", "2"}, texts(results))
	}
}

// Identical calls are several calls: none is merged with another, and they run in their order.
func TestCase_duplicates_1(t *testing.T) {
	var log []string
	type input struct {
		Path string `json:"path"`
		Text string `json:"text"`
	}
	add := func(what string) func(ctx, input) (string, error) {
		return func(_ ctx, in input) (string, error) {
			log = append(log, what+in.Text) // the claims keep these apart
			return fmt.Sprint(len(log)), nil
		}
	}
	claims := func(in input) ([]plan.Claim, error) { return []plan.Claim{{Key: in.Path}}, nil }
	r := registry(t,
		define(t, tool.Spec[input, string]{Name: "append", Safe: safe[input], Claims: claims, Body: add("+")}),
		define(t, tool.Spec[input, string]{Name: "edit", Safe: safe[input], Claims: claims, Body: add("~")}),
	)
	x := call("append", `{"path":"f","text":"x"}`)
	results, err := tool.Run(t.Context(), r, []tool.Call{x, x, call("edit", `{"path":"f","text":"y"}`), x})
	require.NoError(t, err)
	assert.Equal(t, []string{"+x", "+x", "~y", "+x"}, log)
	assert.Equal(t, []string{"1", "2", "3", "4"}, texts(results))
}

// T6 goes through every way in which a call can end: its code, its text, and whether that says that the effect may have
// happened.
func TestT6OutcomesBeforeTheBody(t *testing.T) {
	ran := false
	r := registry(t,
		define(t, tool.Spec[file, string]{Name: "write", Body: func(ctx, file) (string, error) { ran = true; return "", nil }}),
		define(t, tool.Spec[struct{}, string]{Name: "list", Body: nothing}),
	)
	got, err := tool.Execute(t.Context(), r, call("delete\n", `{}`))
	require.NoError(t, err)
	assert.Equal(t, errorResult(tool.UnknownTool, `There is no tool "delete\n": nothing was run. The tools are: list, write.`), got)

	got, err = tool.Execute(t.Context(), new(tool.Registry), call("delete", `{}`))
	require.NoError(t, err)
	assert.Equal(t, errorResult(tool.UnknownTool, `There is no tool "delete": nothing was run. There are no tools.`), got)

	got, err = tool.Execute(t.Context(), r, call("write", `{}`))
	require.NoError(t, err)
	assert.Equal(t, errorResult(tool.InvalidArgs,
		"The arguments of write are invalid: it was not run.\n- the arguments: missing property 'path'\nThe arguments were: {}"), got)

	got, err = tool.Execute(t.Context(), r, call("write", ` `))
	require.NoError(t, err)
	assert.Equal(t, errorResult(tool.InvalidArgs,
		"The arguments of write are invalid: it was not run.\n- the arguments: missing property 'path'\nThe arguments were empty."), got)

	cause := errors.New("the advisory said so")
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	results, err := tool.Run(cancelled, r, []tool.Call{call("write", `{"path":"a"}`), call("no where\n", ``), call("write", `nope`)})
	assert.Equal(t, cause, err)
	assert.Equal(t, []tool.Result{
		errorResult(tool.AbortedBeforeDispatch, "write was not run: it was cancelled before it started (the advisory said so). Nothing was done."),
		errorResult(tool.AbortedBeforeDispatch, "\"no where\\n\" was not run: it was cancelled before it started (the advisory said so). Nothing was done."),
		errorResult(tool.AbortedBeforeDispatch, "write was not run: it was cancelled before it started (the advisory said so). Nothing was done."),
	}, results)
	assert.False(t, ran)
}

func errorResult(c tool.Code, text string) tool.Result {
	return tool.Result{Code: c, IsError: true, Content: []tool.Block{{Text: text}}}
}

func TestT6ManyToolsAreNotAllNamed(t *testing.T) {
	var r tool.Registry
	for i := range 100 {
		require.NoError(t, r.Register(define(t, tool.Spec[struct{}, string]{Name: fmt.Sprintf("t%03d", i), Body: nothing})))
	}
	got, err := tool.Execute(t.Context(), &r, call("u", ""))
	require.NoError(t, err)
	assert.Contains(t, got.Text(), "t038, t039, and 60 more.")
	assert.NotContains(t, got.Text(), "t040")
}

func TestT6TheToolsOwnResults(t *testing.T) {
	sub := func(parent ctx, _ struct{}) (string, error) {
		sub, cancel := context.WithCancel(parent)
		cancel()
		return "dropped", fmt.Errorf("the inner search: %w", sub.Err())
	}
	for name, c := range map[string]struct {
		body func(ctx, struct{}) (string, error)
		want tool.Result
	}{
		"ok":                             {nothing, tool.Result{Content: []tool.Block{{Text: "done"}}, Value: json.RawMessage(`"done"`)}},
		"error":                          {func(ctx, struct{}) (string, error) { return "", errors.New("no match\xff") }, errorResult("", "no match\uFFFD")},
		"cancel of a context of its own": {sub, errorResult("", "the inner search: context canceled")},
		"deadline of its own": {func(ctx, struct{}) (string, error) { return "", context.DeadlineExceeded },
			tool.Result{IsError: true, ErrorName: "context.deadlineExceededError", Content: []tool.Block{{Text: "context deadline exceeded"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := registry(t, define(t, tool.Spec[struct{}, string]{Name: "t", Body: c.body}))
			results, err := tool.Run(t.Context(), r, []tool.Call{call("t", ""), call("t", "")})
			require.NoError(t, err)
			assert.Equal(t, []tool.Result{c.want, c.want}, results)
		})
	}
}

func TestT6BodiesThatEndWrongly(t *testing.T) {
	var nilError error
	for says, body := range map[string]func(ctx, struct{}) (any, error){
		"t failed: it panicked: boom. Its effect may have happened":              func(ctx, struct{}) (any, error) { panic("boom") },
		"t failed: it panicked: panic called with nil argument":                  func(ctx, struct{}) (any, error) { panic(nilError) },
		"t failed: it panicked: the disk. Its effect":                            func(ctx, struct{}) (any, error) { panic(errors.New("the disk")) },
		"t failed: it panicked: runtime error: index out of range":               func(ctx, struct{}) (any, error) { var s []int; return s[len(s)], nil },
		"t failed: it ended its goroutine (runtime.Goexit). Its effect":          func(ctx, struct{}) (any, error) { runtime.Goexit(); return nil, nil },
		"t failed: it panicked: " + strings.Repeat("é", 143) + "… (":             func(ctx, struct{}) (any, error) { panic(strings.Repeat("é", 1<<20)) },
		"t failed: it panicked: not today":                                       func(ctx, struct{}) (any, error) { return badMarshaler{}, nil },
		"t ran, but its result cannot be shown: json: unsupported value: NaN":    func(ctx, struct{}) (any, error) { return math.NaN(), nil },
		"t ran, but its result cannot be shown: json: unsupported type: chan":    func(ctx, struct{}) (any, error) { return make(chan int), nil },
		"t ran, but its result cannot be shown: json: error calling MarshalJSON": func(ctx, struct{}) (any, error) { return json.RawMessage(`{`), nil },
		"t ran, but its result cannot be shown: /value: it is not JSON: byte 1: unexpected": func(ctx, struct{}) (any, error) {
			return tool.Result{Value: json.RawMessage(`{`)}, nil
		},
		"t ran, but its result cannot be shown: /value: it is not JSON: byte 1: byte 0xff is not UTF-8. ": func(ctx, struct{}) (any, error) { return json.RawMessage("\"\xff\""), nil },
		"t ran, but its result cannot be shown: /value: it is not JSON: byte 1: byte 0xff is not UTF-8": func(ctx, struct{}) (any, error) {
			return tool.Result{Value: json.RawMessage("\"\xff\"")}, nil
		},
		"t ran, but its result cannot be shown: /content/0/json: it is not JSON: byte 1: byte 0xff": func(ctx, struct{}) (any, error) {
			return tool.Result{Content: []tool.Block{{JSON: json.RawMessage("\"\xff\"")}}}, nil
		},
		"t ran, but its result cannot be shown: /content/1/json: it is not JSON: byte 1: unexpected": func(ctx, struct{}) (any, error) {
			return tool.Result{Content: []tool.Block{{}, {JSON: json.RawMessage(`{`)}}}, nil
		},
	} {
		r := registry(t, define(t, tool.Spec[struct{}, any]{Name: "t", Body: body}))
		got, err := tool.Execute(t.Context(), r, call("t", ""))
		require.NoError(t, err)
		want := tool.Panic
		if strings.HasPrefix(says, "t ran") {
			want = tool.InvalidToolOutput
		}
		assert.Equal(t, want, got.Code, says)
		assert.True(t, got.IsError)
		assert.True(t, strings.HasPrefix(got.Text(), says), "%s: %s", says, got.Text())
		assert.Contains(t, got.Text(), "Its effect may have happened")
		assert.Less(t, len(got.Text()), 1000)
		assert.NotContains(t, got.Text(), "goroutine 1", "a stack is nothing for a model")
	}
}

type badMarshaler struct{}

func (badMarshaler) MarshalJSON() ([]byte, error) { panic("not today") }

func TestT6CancelWhileBodiesRun(t *testing.T) {
	stop := errors.New("the user pressed stop")
	onCancel := func(out string, err error) func(ctx, struct{}) (string, error) {
		return func(ctx ctx, _ struct{}) (string, error) {
			<-ctx.Done()
			if err == errEcho {
				return out, fmt.Errorf("gave up: %w", context.Cause(ctx))
			}
			return out, err
		}
	}
	const notice = " was cancelled while it ran (the user pressed stop). Its effect may have happened, wholly or in part. " +
		"Check what has happened before you try again. What it returned:\n"
	aborted := func(name, own, value string) tool.Result {
		r := errorResult(tool.Aborted, name+strings.TrimSuffix(notice, "\n"))
		r.Content = append(r.Content, tool.Block{Text: own})
		if value != "" {
			r.Value = json.RawMessage(value)
		}
		return r
	}
	synctest.Test(t, func(t *testing.T) {
		spec := func(name string, body func(ctx, struct{}) (string, error)) *tool.Definition {
			return define(t, tool.Spec[struct{}, string]{Name: name, Safe: safe[struct{}], Body: body})
		}
		r := registry(t,
			spec("quick", nothing),
			spec("finishes", onCancel("written", nil)),
			spec("gives_up", onCancel("", errEcho)),
			spec("canceled", onCancel("", context.Canceled)),
			spec("echoes", onCancel("", stop)),
			spec("own_error", onCancel("", errors.New("disk full"))),
			spec("panics", func(ctx ctx, _ struct{}) (string, error) { <-ctx.Done(); panic("late") }),
			define(t, tool.Spec[struct{}, string]{Name: "last", Body: nothing}),
		)
		var calls []tool.Call
		for _, name := range []string{"quick", "finishes", "gives_up", "canceled", "echoes", "own_error", "panics", "last", "quick"} {
			calls = append(calls, call(name, ""))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(stop) })
		results, err := tool.Run(ctx, r, calls)
		assert.Equal(t, stop, err)
		assert.Equal(t, []tool.Result{
			{Content: []tool.Block{{Text: "done"}}, Value: json.RawMessage(`"done"`)},
			aborted("finishes", "written", `"written"`),
			aborted("gives_up", "gave up: the user pressed stop", ""),
			errorResult(tool.Aborted, "canceled"+strings.TrimSuffix(notice, " What it returned:\n")),
			errorResult(tool.Aborted, "echoes"+strings.TrimSuffix(notice, " What it returned:\n")),
			errorResult("", "disk full"),
			errorResult(tool.Panic, "panics failed: it panicked: late. Its effect may have happened, wholly or in part. "+
				"Check what has happened before you try again."),
			errorResult(tool.AbortedBeforeDispatch, "last was not run: it was cancelled before it started (the user pressed stop). Nothing was done."),
			errorResult(tool.AbortedBeforeDispatch, "quick was not run: it was cancelled before it started (the user pressed stop). Nothing was done."),
		}, results)
		assert.Equal(t, "finishes"+notice+"written", results[1].Text())
	})
}

// errEcho stands for an error that passes the cancel on.
var errEcho = errors.New("the cause")

func TestT6Abandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		r := registry(t,
			define(t, tool.Spec[struct{}, string]{Name: "deaf", Safe: safe[struct{}], Body: func(ctx, struct{}) (string, error) {
				<-release
				return "too late", nil
			}}),
			define(t, tool.Spec[struct{}, string]{Name: "quick", Safe: safe[struct{}], Body: nothing}),
		)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		results, err := tool.Run(ctx, r, []tool.Call{call("deaf", ""), call("quick", "")}, exec.Drain(5*time.Second))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 6*time.Second, time.Since(start))
		assert.Equal(t, errorResult(tool.Abandoned,
			"deaf was cancelled while it ran (context deadline exceeded) and did not stop in time: it may still be running, "+
				"and its effect may have happened. Check what has happened before you try again."), results[0])
		assert.Equal(t, "done", results[1].Text())
	})
}

// The rows are those of the table of outcomes: each code as a log has it, and whether the effect may have happened.
func TestT6Codes(t *testing.T) {
	seen := map[tool.Code]bool{}
	for _, row := range []struct {
		code    tool.Code
		written string
		may     bool
	}{
		{tool.UnknownTool, "UNKNOWN_TOOL", false},
		{tool.InvalidArgs, "INVALID_ARGS", false},
		{tool.Denied, "DENIED", false},
		{tool.ApprovalRejected, "APPROVAL_REJECTED", false},
		{tool.ApprovalTimeout, "APPROVAL_TIMEOUT", false},
		{tool.ApprovalCancelled, "APPROVAL_CANCELLED", false},
		{tool.ApprovalUnavailable, "APPROVAL_UNAVAILABLE", false},
		{tool.TimeoutBeforeDispatch, "TIMEOUT_BEFORE_DISPATCH", false},
		{tool.AbortedBeforeDispatch, "ABORTED_BEFORE_DISPATCH", false},
		{tool.Aborted, "ABORTED", true},
		{tool.Timeout, "TIMEOUT", true},
		{tool.Abandoned, "ABANDONED", true},
		{tool.Interrupted, "INTERRUPTED", true},
		{tool.Panic, "PANIC", true},
		{tool.InvalidToolOutput, "INVALID_TOOL_OUTPUT", true},
		{tool.Blocked, "BLOCKED", true},
		{tool.CodeRunFailed, "CODE_RUN_FAILED", true},
		{"", "", true},
		{"NOT_YET_KNOWN", "NOT_YET_KNOWN", true}, // what is not known must not be repeated blindly
	} {
		assert.Equal(t, row.written, string(row.code))
		assert.Equal(t, row.may, row.code.MayHaveRun(), row.written)
		assert.False(t, seen[row.code], "%s twice", row.code)
		seen[row.code] = true
	}
}

func TestRunOptions(t *testing.T) {
	r := registry(t, define(t, tool.Spec[struct{}, string]{Name: "t", Body: nothing}))
	results, err := tool.Run(t.Context(), r, []tool.Call{call("t", "")}, exec.Limit(0))
	require.ErrorIs(t, err, exec.ErrOption)
	assert.Nil(t, results)
	_, err = tool.Execute(t.Context(), r, call("t", ""), exec.Limit(0))
	require.ErrorIs(t, err, exec.ErrOption)

	results, err = tool.Run(t.Context(), r, nil)
	require.NoError(t, err)
	assert.Equal(t, []tool.Result{}, results)
}

// An admission of somebody else's that breaks its contract stops the lane. Even then every call has a result.
func TestRunBrokenAdmission(t *testing.T) {
	r := registry(t, define(t, tool.Spec[struct{}, string]{Name: "t", Body: nothing}))
	results, err := tool.Run(t.Context(), r, []tool.Call{call("t", ""), call("t", "")}, exec.Admit(func() plan.Admission { return stuck{plan.NewWaves()} }))
	require.ErrorIs(t, err, exec.ErrAdmission)
	require.Len(t, results, 2)
	for _, got := range results {
		assert.Equal(t, errorResult(tool.AbortedBeforeDispatch, "The dispatch of the call produced no result: it was not run."), got)
	}
}

type stuck struct{ plan.Admission }

func (stuck) Next(int) (int, bool) { return -1, false }

// What the lane, or a host that replaced a stage, can make of a call.
func TestT6SettledByOthers(t *testing.T) {
	for _, c := range []struct {
		outcome exec.Outcome
		code    tool.Code
		says    string
	}{
		{exec.Outcome{Err: &exec.NotRunError{Cause: errors.New("stop")}}, tool.AbortedBeforeDispatch,
			"it was cancelled before it started (stop). Nothing was done."},
		{exec.Outcome{Err: &exec.NotRunError{}}, tool.AbortedBeforeDispatch, "(no cause given)"},
		{exec.Outcome{Err: fmt.Errorf("host: %w", &exec.PanicError{Value: "x"})}, tool.Panic, "it panicked: x"},
		{exec.Outcome{Err: errors.New("the wrapper failed")}, "", "the wrapper failed"},
		{exec.Outcome{Err: errors.New("no match\xff")}, "", "no match\uFFFD"},
		{exec.Outcome{Value: 7}, tool.InvalidToolOutput, "its outcome is a int, not a Result"},
		{exec.Outcome{}, tool.InvalidToolOutput, "its outcome is a <nil>, not a Result"},
		{exec.Outcome{Value: tool.Text("fine")}, "", "fine"},
	} {
		j := tool.NewJob(new(tool.Registry), call("t", ""))
		require.NoError(t, j.Settled(t.Context(), c.outcome))
		assert.Equal(t, c.code, j.Result.Code)
		assert.Equal(t, c.code != "" || c.outcome.Err != nil, j.Result.IsError)
		assert.Contains(t, j.Result.Text(), c.says)
	}
}
