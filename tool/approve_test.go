package tool_test

import (
	"context"
	"errors"
	"fmt"
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

// A desk shows prompts to a test, and takes them down when they are over.
type desk struct {
	shown  chan *tool.Prompt
	on     atomic.Int32 // that are shown
	most   atomic.Int32
	causes chan error // why each was over
}

func newDesk() *desk {
	return &desk{shown: make(chan *tool.Prompt, 100), causes: make(chan error, 100)}
}

func (d *desk) Show(c ctx, p *tool.Prompt) error {
	if n := d.on.Add(1); n > d.most.Load() {
		d.most.Store(n)
	}
	defer d.on.Add(-1)
	d.shown <- p
	<-c.Done()
	d.causes <- context.Cause(c)
	return nil
}

// next is the prompt that is shown, when everything else is at rest.
func (d *desk) next(t *testing.T) *tool.Prompt {
	synctest.Wait()
	select {
	case p := <-d.shown:
		return p
	default:
		t.Fatal("no prompt is shown")
		return nil
	}
}

func (d *desk) none(t *testing.T) {
	synctest.Wait()
	assert.Empty(t, d.shown, "a prompt is shown")
}

// asks is a pipeline that asks about every call.
func asks(d tool.Approver) *tool.Pipeline {
	return &tool.Pipeline{
		Name: "s1",
		Policies: []tool.Policy{func(ctx, *tool.Invocation) (tool.Verdict, error) {
			return tool.Verdict{Action: tool.Ask, Reason: "why"}, nil
		}},
		Prompter: &tool.Prompter{Approver: d},
	}
}

// An answer is for the call that was asked about, and for no other.
func TestCase_approval_1(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran []string
		r := registry(t, define(t, tool.Spec[file, string]{Name: "edit", Safe: safe[file], Claims: claim(plan.Write),
			Body: func(_ ctx, in file) (string, error) { ran = append(ran, in.Path); return in.Path, nil }}))
		d := newDesk()
		run := submit(t, t.Context(), asks(d), r, []tool.Call{{ID: "x", Name: "edit", Arguments: `{"path":"1"}`}, {ID: "x", Name: "edit", Arguments: `{"path":"2"}`}})
		first := d.next(t)
		assert.Equal(t, `{"path":"1"}`, string(first.Call.Arguments))
		assert.Equal(t, "why", first.Reason)
		assert.Equal(t, "s1", first.Session)
		require.NoError(t, first.Answer(tool.Answer{Decision: tool.AllowOnce}))
		second := d.next(t)
		assert.Equal(t, 1, second.Call.Index)
		assert.Equal(t, []string{"1"}, ran, "the second still waits")
		require.ErrorIs(t, first.Answer(tool.Answer{Decision: tool.AllowOnce}), tool.ErrLate, "an answer to the first is none to the second")
		assert.Equal(t, []string{"1"}, ran)
		require.NoError(t, second.Answer(tool.Answer{Decision: tool.AllowOnce}))
		require.NoError(t, run.lane.Wait())
		assert.Equal(t, []string{"1", "2"}, texts(run.results()))
	})
}

// No is an answer to one call. Its siblings go on, and are asked about.
func TestCase_approval_2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, define(t, free("ask", takes(0))), define(t, free("go", takes(time.Hour))))
		d := newDesk()
		p := asks(d)
		p.Policies = []tool.Policy{verdict(map[string]tool.Verdict{"ask": {Action: tool.Ask}})}
		run := submit(t, t.Context(), p, r, named("ask", "ask", "go"))
		require.NoError(t, d.next(t).Answer(tool.Answer{Text: "use the other file"}))
		require.NoError(t, d.next(t).Answer(tool.Answer{Decision: tool.AllowOnce}))
		require.NoError(t, run.lane.Wait())
		assert.Equal(t, []tool.Code{tool.ApprovalRejected, "", ""}, codes(run.results()))
		assert.Equal(t, "ask was not run: it was asked about, and rejected. Nothing was done. The answer: use the other file", run.jobs[0].Result.Text())
	})
}

// What is done while a question is open is not done again, and each question gets its own answer.
func TestCase_approval_4(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int32
		ask := tool.Spec[file, string]{Name: "ask_user", Safe: safe[file], Body: echo}
		r := registry(t, define(t, ask), define(t, free("send", func(ctx) (string, error) { sent.Add(1); return "sent", nil })))
		d := newDesk()
		p := asks(d)
		p.Policies = []tool.Policy{verdict(map[string]tool.Verdict{"ask_user": {Action: tool.Ask}})}
		q := func(path string) tool.Call {
			return tool.Call{ID: "same", Name: "ask_user", Arguments: `{"path":"` + path + `"}`}
		}

		run := submit(t, t.Context(), p, r, []tool.Call{q("0"), {Name: "send"}})
		synctest.Wait()
		kept := mustJSON(t, run.jobs[1].Result) // as a log has it: it settled, and is not committed
		run.lane.Cancel(errors.New("the process ends"))
		require.Error(t, run.lane.Wait())
		assert.Equal(t, tool.ApprovalCancelled, run.jobs[0].Result.Code)

		again := new(tool.Pipeline).NewJob(r, tool.Call{Name: "send"})
		require.NoError(t, unmarshal(kept, &again.Result))
		require.NoError(t, again.Commit(t.Context()))
		assert.Equal(t, "sent", again.Result.Text())
		assert.EqualValues(t, 1, sent.Load())

		<-d.shown
		run = submit(t, t.Context(), p, r, []tool.Call{q("1"), q("2"), q("3")})
		for i := range 3 {
			prompt := d.next(t)
			assert.Equal(t, i, prompt.Call.Index)
			require.NoError(t, prompt.Answer(tool.Answer{Text: "no " + string(prompt.Call.Arguments)}))
		}
		require.NoError(t, run.lane.Wait())
		for i, got := range texts(run.results()) {
			assert.Contains(t, got, fmt.Sprintf(`no {"path":"%d"}`, i+1))
		}
	})
}

// Prompts are shown one at a time. The clock of each starts when it is shown, its end is no refusal, and an answer that
// comes after it is refused.
func TestCase_approval_5(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, define(t, free("ask", takes(0))))
		d := newDesk()
		p := asks(d)
		p.Prompter.Timeout = 50 * time.Millisecond
		run := submit(t, t.Context(), p, r, named("ask", "ask"))
		first := d.next(t)
		d.none(t)
		<-time.After(50 * time.Millisecond)
		second := d.next(t)
		assert.Equal(t, 1, second.Call.Index)
		err := first.Answer(tool.Answer{Decision: tool.AllowOnce})
		require.ErrorIs(t, err, tool.ErrLate)
		assert.EqualError(t, err, "the answer comes too late: nobody answered within 50ms")
		<-time.After(30 * time.Millisecond)
		require.NoError(t, second.Answer(tool.Answer{Decision: tool.AllowOnce}), "at 80 ms, 30 of which it was shown")
		require.NoError(t, run.lane.Wait())
		assert.Equal(t, []tool.Code{tool.ApprovalTimeout, ""}, codes(run.results()))
		assert.Equal(t, "ask was not run: it needs approval, and nobody answered within 50ms. That is no refusal. Nothing was done.", run.jobs[0].Result.Text())
		assert.EqualValues(t, 1, d.most.Load())
		require.ErrorIs(t, second.Answer(tool.Answer{}), tool.ErrLate)
		assert.EqualError(t, <-d.causes, "nobody answered within 50ms")
		assert.EqualError(t, <-d.causes, "it was answered already")
	})
}

// The answer comes first, then the body and what it reads; a guard looks in between.
func TestCase_lost_update_4(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := "old"
		edit := tool.Spec[struct{}, string]{Name: "edit", Body: func(ctx, struct{}) (string, error) {
			read := world
			world = read + " edited"
			return world, nil
		}}
		d := newDesk()
		p := asks(d)
		run := submit(t, t.Context(), p, registry(t, define(t, edit)), named("edit"))
		prompt := d.next(t)
		world = "changed outside"
		require.NoError(t, prompt.Answer(tool.Answer{Decision: tool.AllowOnce}))
		require.NoError(t, run.lane.Wait())
		assert.Equal(t, "changed outside edited", world)

		seen := world
		p.Guards = []tool.Guard{func(ctx, *tool.Invocation) error {
			if world != seen {
				return errors.New("the file has changed since it was read")
			}
			return nil
		}}
		run = submit(t, t.Context(), p, registry(t, define(t, edit)), named("edit"))
		prompt = d.next(t)
		world = "changed again"
		require.NoError(t, prompt.Answer(tool.Answer{Decision: tool.AllowOnce}))
		require.NoError(t, run.lane.Wait())
		assert.Equal(t, tool.Denied, run.jobs[0].Result.Code)
		assert.Contains(t, run.jobs[0].Result.Text(), "the file has changed since it was read")
		assert.Equal(t, "changed again", world)
	})
}

// Each way in which a prompt can end has its own code and text, and none of them runs the body.
func TestT6Approvals(t *testing.T) {
	for name, c := range map[string]struct {
		show func(c ctx, p *tool.Prompt) error
		code tool.Code
		says string
	}{
		"rejected":             {func(_ ctx, p *tool.Prompt) error { return p.Answer(tool.Answer{}) }, tool.ApprovalRejected, "rejected. Nothing was done."},
		"rejected with a text": {func(_ ctx, p *tool.Prompt) error { return p.Answer(tool.Answer{Text: "not now\xff"}) }, tool.ApprovalRejected, "The answer: not now\uFFFD"},
		"no known decision":    {func(_ ctx, p *tool.Prompt) error { return p.Answer(tool.Answer{Decision: 77}) }, tool.ApprovalRejected, "rejected"},
		"unavailable":          {func(_ ctx, p *tool.Prompt) error { return p.Answer(tool.Answer{Decision: tool.Unavailable}) }, tool.ApprovalUnavailable, "there is nobody to ask (no reason given)"},
		"unavailable, with a text": {func(_ ctx, p *tool.Prompt) error {
			return p.Answer(tool.Answer{Decision: tool.Unavailable, Text: "asleep"})
		}, tool.ApprovalUnavailable, "there is nobody to ask (asleep)"},
		"error":   {func(ctx, *tool.Prompt) error { return errBoom }, tool.ApprovalUnavailable, "there is nobody to ask (boom)"},
		"panic":   {func(ctx, *tool.Prompt) error { panic("no screen") }, tool.ApprovalUnavailable, "(it panicked: no screen)"},
		"goexit":  {func(ctx, *tool.Prompt) error { runtime.Goexit(); return nil }, tool.ApprovalUnavailable, "runtime.Goexit"},
		"timeout": {func(c ctx, _ *tool.Prompt) error { return nil }, tool.ApprovalTimeout, "nobody answered within 1m0s. That is no refusal."},
		"late": {func(c ctx, p *tool.Prompt) error {
			<-c.Done()
			return p.Answer(tool.Answer{Decision: tool.AllowOnce})
		}, tool.ApprovalTimeout, "nobody answered within 1m0s"},
	} {
		for _, inLane := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", inLane), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := asks(shower(c.show))
					p.Prompter.Timeout = time.Minute
					p.AskInLane = inLane
					results, err := p.Run(t.Context(), registry(t, define(t, free("t", func(ctx) (string, error) { panic("it runs") }))), named("t", "t"))
					require.NoError(t, err)
					for _, got := range results {
						assert.Equal(t, c.code, got.Code, got.Text())
						assert.Contains(t, got.Text(), c.says)
						assert.Contains(t, got.Text(), "Nothing was done.")
					}
				})
			})
		}
	}
	for _, prompter := range []*tool.Prompter{nil, {}} {
		p := asks(nil)
		p.Prompter = prompter
		results, err := p.Run(t.Context(), registry(t, define(t, free("t", takes(0)))), named("t"))
		require.NoError(t, err)
		assert.Equal(t, errorResult(tool.ApprovalUnavailable, "t was not run: it needs approval, and there is nobody to ask (no approver is set). Nothing was done."), results[0])
	}
}

// A shower is an approver that is a function.
type shower func(c ctx, p *tool.Prompt) error

func (s shower) Show(c ctx, p *tool.Prompt) error { return s(c, p) }

// A cancel, or the call's own deadline, ends the wait for an answer, and for the prompt that would ask for it.
func TestT6CancelDuringApproval(t *testing.T) {
	for _, inLane := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk()
			p := asks(d)
			p.AskInLane = inLane
			slow := free("slow", takes(0))
			slow.Timeout = time.Minute
			r := registry(t, define(t, free("t", takes(0))), define(t, slow))
			run := submit(t, t.Context(), p, r, named("t", "slow", "t"))
			prompt := d.next(t)
			<-time.After(time.Minute)
			synctest.Wait()
			run.lane.CancelCall(0, errors.New("not needed"))
			synctest.Wait()
			require.ErrorIs(t, prompt.Answer(tool.Answer{Decision: tool.AllowOnce}), tool.ErrLate)
			last := d.next(t)
			assert.Equal(t, 2, last.Call.Index, "nobody is asked about a call that is over")
			run.lane.Cancel(errors.New("stop"))
			require.Error(t, run.lane.Wait())
			assert.Equal(t, []tool.Code{tool.ApprovalCancelled, tool.TimeoutBeforeDispatch, tool.ApprovalCancelled}, codes(run.results()))
			assert.Equal(t, "t was not run: it was cancelled (not needed) before its approval was there. Nothing was done.", run.jobs[0].Result.Text())
			assert.Equal(t, "slow was not run: its deadline, 1m0s after it was called, passed while it waited. Nothing was done.", run.jobs[1].Result.Text())
		})
	}
}

// A call that was approved and is cancelled while it waits for something else was not run, which is all there is to
// say.
func TestT6CancelAfterApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dom := exec.NewDomain()
		other, err := dom.Acquire(t.Context(), exec.Request{Claims: []plan.Claim{{Key: "a"}}})
		require.NoError(t, err)
		d := newDesk()
		r := registry(t, define(t, tool.Spec[file, string]{Name: "edit", Safe: safe[file], Claims: claim(plan.Write), Body: echo}))
		run := submit(t, t.Context(), asks(d), r, []tool.Call{call("edit", `{"path":"a"}`)}, exec.In(dom))
		require.NoError(t, d.next(t).Answer(tool.Answer{Decision: tool.AllowOnce}))
		synctest.Wait()
		run.lane.CancelCall(0, errBoom)
		require.NoError(t, run.lane.Wait())
		assert.Equal(t, tool.AbortedBeforeDispatch, run.jobs[0].Result.Code)
		other.Release()
	})
}

// An approver that ignores its cancel does not keep its own call, but keeps its screen.
func TestApproverThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var shown atomic.Int32
		p := asks(shower(func(ctx, *tool.Prompt) error { shown.Add(1); <-release; return nil }))
		p.Prompter.Timeout = time.Second
		run := submit(t, t.Context(), p, registry(t, define(t, free("t", takes(0)))), named("t", "t"))
		<-time.After(time.Hour)
		synctest.Wait()
		assert.Equal(t, tool.ApprovalTimeout, run.jobs[0].Result.Code)
		assert.EqualValues(t, 1, shown.Load())
		close(release)
		require.NoError(t, run.lane.Wait())
		assert.EqualValues(t, 2, shown.Load())
		assert.Equal(t, tool.ApprovalTimeout, run.jobs[1].Result.Code)
	})
}

// A policy that ignores its cancel is given up with its call, and what it says later is told to nobody.
func TestApprovalThatIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var asked atomic.Int32
		p := asks(shower(func(_ ctx, p *tool.Prompt) error { return p.Answer(tool.Answer{Decision: tool.AllowOnce}) }))
		p.Policies = []tool.Policy{func(ctx, *tool.Invocation) (tool.Verdict, error) {
			if asked.Add(1) == 2 {
				<-release
			}
			return tool.Verdict{Action: tool.Ask}, nil
		}}
		d := newDiary()
		l := tool.NewListener(d.hear)
		p.Listeners = []*tool.Listener{l}
		run := submit(t, t.Context(), p, registry(t, define(t, free("t", func(ctx) (string, error) { panic("it runs") }))), named("t"), exec.Drain(time.Second))
		synctest.Wait()
		run.lane.CancelCall(0, errBoom)
		require.NoError(t, run.lane.Wait())
		assert.Equal(t, tool.ApprovalCancelled, run.jobs[0].Result.Code)
		close(release)
		synctest.Wait()
		assert.Equal(t, []string{"0s 0 started", "0s 0 asked", "1s 0 settled APPROVAL_CANCELLED", "1s 0 committed APPROVAL_CANCELLED"}, d.all())
	})
}
