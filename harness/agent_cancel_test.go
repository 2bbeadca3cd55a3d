package harness_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// kinds are how a call can end.
var kinds = []string{"ok", "error", "panic", "timeout", "denied", "invalid", "cancelled"}

// rows are when a cancel comes, as the table of the design has them.
var rows = []string{"never", "before", "policy", "approval", "bodies", "commit"}

// A matrix is a message of calls of some kinds, and a cancel that comes when it is the turn of one of them.
type matrix struct {
	*host
	row     string
	slot    int
	running int
	ran     []int // how often, by call
}

// newMatrix makes the tools: later calls take less time. Those that run alone are barriers.
func newMatrix(t require.TestingT, row string, slot int, alone bool, of ...string) *matrix {
	m := &matrix{row: row, slot: slot, ran: make([]int, len(of))}
	lock := make(chan struct{}, 1)
	count := func(i, d int) {
		lock <- struct{}{}
		defer func() { <-lock }()
		m.running += d
		if d > 0 {
			m.ran[i]++
		}
	}
	message := harness.AssistantMessage{Calls: make([]tool.Call, len(of))}
	var tools []*tool.Definition
	for _, kind := range kinds {
		spec := tool.Spec[struct{}, string]{
			Name: kind,
			Body: func(c ctx, _ struct{}) (string, error) {
				i := tool.InvocationOf(c).Index
				count(i, +1)
				defer count(i, -1)
				m.trigger("bodies", i)
				switch kind {
				case "error":
					_ = rest(c, time.Second)
					return "", errors.New("boom")
				case "panic":
					_ = rest(c, time.Second)
					panic("boom")
				case "timeout":
					return "done", rest(c, time.Hour)
				case "cancelled":
					if err := m.CancelCall(at(1, 1, i), errors.New("this one")); err != nil {
						panic(err)
					}
				}
				return "done", rest(c, time.Duration(len(of)-i)*time.Second)
			},
			Finalize: func(_ ctx, c *tool.Invocation, _ tool.Result) ([]tool.Block, error) {
				m.trigger("commit", c.Index)
				return nil, nil
			},
		}
		if !alone {
			spec.Safe = func(struct{}) bool { return true }
		}
		if kind == "timeout" {
			spec.Timeout = 500 * time.Millisecond
		}
		tools = append(tools, define(spec))
	}
	for i, kind := range of {
		message.Calls[i] = tool.Call{ID: fmt.Sprint("c", i+1), Name: kind}
		if kind == "invalid" {
			message.Calls[i].Arguments = "{"
		}
	}
	m.host = newHost(t, tools, message)
	m.host.on = func(int) { m.trigger("before", m.slot) }
	m.Pipeline.Policies = []tool.Policy{func(_ ctx, c *tool.Invocation) (tool.Verdict, error) {
		m.trigger("policy", c.Index)
		switch {
		case c.Call.Name == "denied":
			return tool.Verdict{}, nil
		case m.row == "approval" && c.Index == m.slot:
			return tool.Verdict{Action: tool.Ask}, nil
		}
		return tool.Verdict{Action: tool.Allow}, nil
	}}
	m.Pipeline.Prompter = &tool.Prompter{Approver: approver(func(c ctx, p *tool.Prompt) error {
		<-time.After(100 * time.Millisecond)
		m.trigger("approval", p.Call.Index)
		return nil
	})}
	return m
}

// An approver is a function that shows a prompt.
type approver func(c ctx, p *tool.Prompt) error

func (a approver) Show(c ctx, p *tool.Prompt) error { return a(c, p) }

func (m *matrix) trigger(row string, i int) {
	if m.row == row && i == m.slot {
		m.agent.Cancel(errStop, false)
	}
}

// verify holds what the log says against what has happened.
func (m *matrix) verify(t *testing.T, of []string) {
	m.sound(t)
	assert.Zero(t, m.running, "a body is still running")
	story := m.calls(t)
	type fate struct {
		call   harness.ToolCall
		settle *tool.Result
		result tool.Result
		asked  bool
		// Whether it comes behind the cancel.
		settledLate, late bool
		atOnce            bool // it settled in the moment of the cancel
	}
	fates := make([]fate, len(of))
	cancelled := false
	var at time.Time // of the cancel
	for _, e := range logOf(t, m.Session) {
		switch p := payload(t, e).(type) {
		case harness.Cancel:
			if len(p.Calls) == 0 && !cancelled {
				cancelled, at = true, e.Time
			}
		case harness.ToolCall:
			fates[p.Index].call = p
			assert.False(t, cancelled && !p.NotStarted, "a call starts after the cancel: %v", story)
		case harness.ApprovalAsk:
			fates[p.Index].asked = true
		case harness.ToolSettle:
			fates[p.Index].settle, fates[p.Index].settledLate = &p.Result, cancelled
			fates[p.Index].atOnce = e.Time.Equal(at)
		case harness.ToolResult:
			fates[p.Index].result, fates[p.Index].late = p.Result, cancelled
		}
	}
	for i, f := range fates {
		code, isError, ran := f.result.Code, f.result.IsError, m.ran[i] > 0
		why := fmt.Sprintf("call %d, %s: %v", i+1, of[i], story)
		assert.LessOrEqual(t, m.ran[i], 1, why)
		assert.Equal(t, ran, code.MayHaveRun() || code == "", "%s: its code is %q", why, code)
		assert.Equal(t, f.call.NotStarted, f.call.NotStarted && !ran && f.settle == nil, why)
		var want []tool.Code
		switch kind := of[i]; {
		case (kind == "denied" || kind == "invalid") && !f.call.NotStarted:
			want = map[string][]tool.Code{"denied": {tool.Denied}, "invalid": {tool.InvalidArgs}}[kind]
		case ran && kind == "ok" && f.late:
			want = []tool.Code{tool.Aborted}
		case ran && (kind == "ok" || kind == "error"):
			want = []tool.Code{""}
		case ran && kind == "panic":
			want = []tool.Code{tool.Panic}
		case ran && kind == "timeout" && f.settledLate:
			if want = []tool.Code{tool.Aborted}; f.atOnce {
				want = append(want, tool.Timeout) // which of the two was first, nobody can tell
			}
		case ran && kind == "timeout":
			want = []tool.Code{tool.Timeout}
		case ran:
			want = []tool.Code{tool.Aborted}
		case f.late && f.asked:
			want = []tool.Code{tool.ApprovalCancelled}
		case f.late:
			want = []tool.Code{tool.AbortedBeforeDispatch}
		default:
			want = []tool.Code{tool.TimeoutBeforeDispatch}
		}
		if kind := of[i]; kind == "timeout" && !ran { // its time runs also while it waits
			want = append(want, tool.TimeoutBeforeDispatch)
		}
		assert.Contains(t, want, code, why)
		assert.Equal(t, isError, code != "" || of[i] == "error", why)
		if code == tool.Aborted || code == tool.AbortedBeforeDispatch || code == tool.ApprovalCancelled {
			assert.Regexp(t, `the user pressed stop|this one`, f.result.Text(), why)
		}
	}
	switch {
	case cancelled:
		assert.Equal(t, harness.EndCancelled, m.last(), story)
		assert.Len(t, m.requests, 1, "no further request")
	default:
		assert.Equal(t, harness.EndDone, m.last(), story)
		assert.Len(t, m.requests, 2)
	}
}

// TestH3EveryRow has the cancel come at every row of the table, when it is the turn of each of three calls, under every
// admission, with a call of every kind in each place, whether calls may overlap or not; with -short in two places of
// three.
func TestH3EveryRow(t *testing.T) {
	for _, a := range admissions {
		for _, row := range rows {
			t.Run(a.name+" "+row, func(t *testing.T) {
				n := 0
				for slot := range 3 {
					for place := range 3 {
						for _, kind := range kinds {
							for _, alone := range []bool{false, true} {
								if (row == "never" || row == "before") && slot > 0 || testing.Short() && (place+slot)%3 == 2 {
									continue
								}
								of := []string{"ok", "ok", "ok"}
								of[place] = kind
								synctest.Test(t, func(t *testing.T) {
									m := newMatrix(t, row, slot, alone, of...)
									m.Admission = a.open
									m.Pipeline.AskInLane = a.name == "rolling"
									m.run(t)
									m.verify(t, of)
								})
								if n++; t.Failed() {
									t.Fatalf("slot %d, %v, alone: %v", slot+1, of, alone)
								}
							}
						}
					}
				}
			})
		}
	}
}

// The table of the design, row by row, for three calls that may overlap and go well.
func TestH3TheTable(t *testing.T) {
	ok := []string{"ok", "ok", "ok"}
	for _, c := range []struct {
		row  string
		slot int
		want []string
	}{
		{"before", 0, []string{
			"cancel",
			"not started 1", "result 1 ABORTED_BEFORE_DISPATCH", "not started 2", "result 2 ABORTED_BEFORE_DISPATCH",
			"not started 3", "result 3 ABORTED_BEFORE_DISPATCH",
		}},
		{"policy", 1, []string{ // the first runs
			"call 1", "call 2", "cancel",
			"settle 2 ABORTED_BEFORE_DISPATCH", "settle 1 ABORTED",
			"result 1 ABORTED", "result 2 ABORTED_BEFORE_DISPATCH", "not started 3", "result 3 ABORTED_BEFORE_DISPATCH",
		}},
		{"approval", 1, []string{ // the others run
			"call 1", "call 2", "ask 2", "call 3", "cancel",
			"answer 2 APPROVAL_CANCELLED", "settle 1 ABORTED", "settle 2 APPROVAL_CANCELLED", "settle 3 ABORTED",
			"result 1 ABORTED", "result 2 APPROVAL_CANCELLED", "result 3 ABORTED",
		}},
		{"bodies", 2, []string{
			"call 1", "call 2", "call 3", "cancel", "settle 1 ABORTED", "settle 2 ABORTED", "settle 3 ABORTED",
			"result 1 ABORTED", "result 2 ABORTED", "result 3 ABORTED",
		}},
		{"commit", 1, []string{
			"call 1", "call 2", "call 3", "settle 1", "settle 2", "settle 3",
			"result 1", "cancel", "result 2 ABORTED", "result 3 ABORTED",
		}},
	} {
		t.Run(c.row, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMatrix(t, c.row, c.slot, false, ok...)
				m.run(t)
				m.verify(t, ok)
				got := m.calls(t)
				// Calls that come to rest at one moment do so in any order.
				late := func(l string) bool { return strings.HasPrefix(l, "settle") || strings.HasPrefix(l, "answer") }
				assert.ElementsMatch(t, c.want, got)
				assert.Equal(t, slices.DeleteFunc(c.want, late), slices.DeleteFunc(got, late))
			})
		})
	}
}

// What counts is the log: a cancel that somebody else records there ends the turn as any other, but for the bodies that
// run, which nobody tells.
func TestH3CancelInTheLogCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, []*tool.Definition{free("a", takes(time.Second)), free("b", takes(2*time.Second)), alone("c", takes(0))}, call("b", "a", "c"))
		time.AfterFunc(1500*time.Millisecond, func() { put(t, h.Session, harness.Cancel{Turn: 1, Cause: "by another hand"}) })
		h.run(t)
		assert.Equal(t, []string{
			"call 1", "call 2", "settle 2", "cancel", "settle 1",
			"result 1 ABORTED", "result 2 ABORTED", "not started 3", "result 3 ABORTED_BEFORE_DISPATCH",
		}, h.calls(t))
		assert.Equal(t, harness.TurnEnd{Turn: 1, Reason: harness.EndCancelled, Error: "by another hand"}, h.agent.Status().Last)
		assert.Contains(t, results(t, h.Session)[2].Result.Text(), "by another hand")
		assert.Len(t, h.requests, 1)
		h.sound(t)
	})
}

// What looks at results before the model does is shown what the cancel has made of them, and so are observers.
func TestH3ReviewersAndObserversSeeTheAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		h := newHost(t, []*tool.Definition{free("a", takes(time.Second)), free("b", takes(time.Hour))}, call("b", "a"))
		h.Pipeline.Reviewers = []tool.Reviewer{func(_ ctx, c *tool.Invocation, r tool.Result) (tool.Review, error) {
			seen = append(seen, fmt.Sprintf("review %s %s %s", c.Call.Name, r.Code, r.Text()))
			return tool.Review{}, nil
		}}
		h.Pipeline.Gates = []tool.Gate{func(_ ctx, e tool.Event) {
			if e.Stage == tool.Committed {
				seen = append(seen, fmt.Sprintf("commit %s %s", e.Call.Name, e.Result.Code))
			}
		}}
		time.AfterFunc(2*time.Second, func() { h.agent.Cancel(errStop, false) })
		h.run(t)
		assert.Equal(t, []string{"commit b ABORTED", "review a ABORTED done", "commit a ABORTED"}, seen)
	})
}
