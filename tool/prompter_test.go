package tool_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/tool"
)

// Allowed for the session is allowed for the same tool and grant, and for no other tool that comes to have its name.
// Policies are asked again right before a prompt, so that the answer to one saves the others.
func TestH7AllowedForTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type input struct {
			Command string `json:"command"`
		}
		shell := tool.Spec[input, string]{Name: "sh", Safe: safe[input], Body: func(_ ctx, in input) (string, error) { return in.Command, nil }}
		r := registry(t, define(t, shell))
		d := newDesk()
		p := asks(d)
		var asked atomic.Int32
		p.Policies = []tool.Policy{func(_ ctx, c *tool.Invocation) (tool.Verdict, error) {
			asked.Add(1)
			first, _, _ := strings.Cut(string(c.Arguments), " ")
			return tool.Verdict{Action: tool.Ask, Grant: first}, nil
		}}
		calls := []tool.Call{call("sh", `{"command":"ls a"}`), call("sh", `{"command":"ls b"}`), call("sh", `{"command":"rm a"}`), call("sh", `{"command":"ls c"}`)}
		run := submit(t, t.Context(), p, r, calls)
		prompt := d.next(t)
		assert.EqualValues(t, 4, asked.Load()-1, "each once, and the first again")
		assert.Equal(t, `{"command":"ls`, prompt.Grant)
		require.NoError(t, prompt.Answer(tool.Answer{Decision: tool.AllowSession}))
		prompt = d.next(t)
		assert.Equal(t, 2, prompt.Call.Index)
		require.NoError(t, prompt.Answer(tool.Answer{}))
		require.NoError(t, run.lane.Wait())
		assert.Equal(t, []tool.Code{"", "", tool.ApprovalRejected, ""}, codes(run.results()))

		results, err := p.Run(t.Context(), r, calls[:2])
		require.NoError(t, err)
		assert.Equal(t, []tool.Code{"", ""}, codes(results), "in a later turn, too")

		require.NoError(t, r.Replace(define(t, shell)))
		run = submit(t, t.Context(), p, r, calls[:1])
		require.NoError(t, d.next(t).Answer(tool.Answer{}))
		require.NoError(t, run.lane.Wait())
		assert.Equal(t, []tool.Code{tool.ApprovalRejected}, codes(run.results()))
		d.none(t)
	})
}

// A policy may change its mind before the prompt: to no, too.
func TestH7PolicyIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		action := tool.Ask
		d := newDesk()
		p := asks(d)
		p.Policies = []tool.Policy{func(ctx, *tool.Invocation) (tool.Verdict, error) {
			return tool.Verdict{Action: action, Reason: "plan mode"}, nil
		}}
		run := submit(t, t.Context(), p, registry(t, define(t, free("t", takes(0)))), named("t", "t"))
		prompt := d.next(t)
		action = tool.Deny
		require.NoError(t, prompt.Answer(tool.Answer{Decision: tool.AllowOnce}))
		require.NoError(t, run.lane.Wait())
		d.none(t)
		assert.Equal(t, []tool.Code{"", tool.Denied}, codes(run.results()))
		assert.Contains(t, run.jobs[1].Result.Text(), "plan mode")
	})
}

// A call that is cancelled before its prompt is shown is not asked about.
func TestH7NoPromptAfterACancel(t *testing.T) {
	for _, inLane := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c, cancel := context.WithCancelCause(t.Context())
			d := newDesk()
			p := asks(d)
			p.AskInLane = inLane
			read := 0
			p.Policies = append(p.Policies, func(ctx, *tool.Invocation) (tool.Verdict, error) {
				if read++; read == 2 { // right before the prompt
					cancel(errors.New("stop"))
				}
				return tool.Verdict{Action: tool.Allow}, nil
			})
			results, err := p.Run(c, registry(t, define(t, free("t", takes(0)))), named("t"))
			require.EqualError(t, err, "stop")
			assert.Equal(t, []tool.Code{tool.ApprovalCancelled}, codes(results))
			d.none(t)
		})
	}
}

// Prompts come in the order of the starts, also of several sessions that share a screen, whoever comes first to Await.
func TestH7PromptsInStartOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		prompter := &tool.Prompter{Approver: d}
		r := registry(t, define(t, free("t", takes(0))))
		var lanes []*exec.Lane
		var want, got []string
		for s := range 3 {
			p := asks(d)
			p.Name, p.Prompter = fmt.Sprint(s), prompter
			lane, err := exec.NewLane(t.Context())
			require.NoError(t, err)
			lanes = append(lanes, lane)
			var jobs []exec.Job
			for i, j := range p.NewJobs(r, named("t", "t", "t")...) {
				jobs = append(jobs, &latecomer{j, time.Duration(3-i) * time.Second})
				want = append(want, fmt.Sprint(s, ".", i))
			}
			_, err = tool.Submit(lane, jobs...)
			require.NoError(t, err)
			lane.Close()
			synctest.Wait()
		}
		d.none(t)
		<-time.After(time.Minute)
		for range want {
			p := d.next(t)
			got = append(got, fmt.Sprint(p.Session, ".", p.Call.Index))
			require.NoError(t, p.Answer(tool.Answer{Decision: tool.AllowOnce}))
		}
		for _, lane := range lanes {
			require.NoError(t, lane.Wait())
		}
		assert.Equal(t, want, got)
		assert.EqualValues(t, 1, d.most.Load())
	})
}

// A latecomer takes its time before it waits for the answer.
type latecomer struct {
	*tool.Job
	delay time.Duration
}

func (l *latecomer) Await(c ctx) bool {
	<-time.After(l.delay)
	return l.Job.Await(c)
}

// An ask that holds the lane holds all that comes after it, under every admission; one that does not holds what its
// admission orders after it.
func TestH7AskInLane(t *testing.T) {
	for name, admit := range admissions {
		for _, inLane := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk()
				p := asks(d)
				p.AskInLane = inLane
				p.Policies = []tool.Policy{verdict(map[string]tool.Verdict{"ask": {Action: tool.Ask}})}
				var ran atomic.Int32
				r := registry(t, define(t, free("ask", takes(0))), define(t, free("t", func(ctx) (string, error) { ran.Add(1); return "", nil })))
				run := submit(t, t.Context(), p, r, named("ask", "t", "t"), exec.Admit(admit))
				prompt := d.next(t)
				if inLane || name == "serial" {
					assert.Zero(t, ran.Load(), name)
				} else {
					assert.EqualValues(t, 2, ran.Load(), name)
				}
				require.NoError(t, prompt.Answer(tool.Answer{Decision: tool.AllowOnce}))
				require.NoError(t, run.lane.Wait())
				assert.Equal(t, !inLane, run.jobs[0].Waits())
				assert.False(t, run.jobs[1].Waits())
				assert.Equal(t, []tool.Code{"", "", ""}, codes(run.results()))
			})
		}
	}
}

// A lane that ends for whatever reason leaves nothing in the line that others stand in.
func TestPrompterOutlivesLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		p := asks(d)
		r := registry(t, define(t, free("t", takes(0))))
		lane, err := exec.NewLane(t.Context())
		require.NoError(t, err)
		jobs := p.NewJobs(r, named("t", "t")...)
		// The first is in the line, and refused by its host; the second breaks its lane.
		_, err = tool.Submit(lane, refusing{jobs[0], nil}, refusing{jobs[1], errBoom})
		require.NoError(t, err)
		lane.Close()
		require.ErrorIs(t, lane.Wait(), errBoom)

		run := submit(t, t.Context(), p, r, named("t"))
		require.NoError(t, d.next(t).Answer(tool.Answer{Decision: tool.AllowOnce}))
		require.NoError(t, run.lane.Wait())
	})
}

// refusing is a host's job that says no after the pipeline has said yes.
type refusing struct {
	*tool.Job
	err error
}

func (r refusing) Prepare(c ctx) (bool, error) {
	if ok, err := r.Job.Prepare(c); !ok || err != nil {
		panic("it was to wait for an answer")
	}
	return false, r.err
}

// Of several policies the strictest counts.
func TestPoliciesTheStrictestCounts(t *testing.T) {
	allow, ask, deny := tool.Verdict{Action: tool.Allow}, tool.Verdict{Action: tool.Ask, Reason: "a"}, tool.Verdict{Reason: "d"}
	for _, c := range []struct {
		verdicts []tool.Verdict
		want     tool.Code
	}{
		{nil, ""}, {[]tool.Verdict{allow, allow}, ""}, {[]tool.Verdict{allow, deny}, tool.Denied}, {[]tool.Verdict{ask, deny}, tool.Denied},
		{[]tool.Verdict{deny, ask}, tool.Denied}, {[]tool.Verdict{ask, allow}, tool.ApprovalRejected}, {[]tool.Verdict{allow, ask}, tool.ApprovalRejected},
		{[]tool.Verdict{{}}, tool.Denied}, {[]tool.Verdict{{Action: 9}}, tool.Denied},
	} {
		p := &tool.Pipeline{Prompter: &tool.Prompter{Approver: shower(func(_ ctx, p *tool.Prompt) error {
			assert.Equal(t, "a", p.Reason)
			return p.Answer(tool.Answer{})
		})}}
		for _, v := range c.verdicts {
			p.Policies = append(p.Policies, func(ctx, *tool.Invocation) (tool.Verdict, error) { return v, nil })
		}
		results, err := p.Run(t.Context(), registry(t, define(t, free("t", takes(0)))), named("t"))
		require.NoError(t, err)
		assert.Equal(t, c.want, results[0].Code, "%v", c.verdicts)
	}
}

// An answer that cannot be recorded does not count, and an ask that cannot be recorded stops the lane.
func TestApprovalIsRecorded(t *testing.T) {
	for _, at := range []tool.Stage{tool.Asked, tool.Answered} {
		for _, inLane := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				p := asks(shower(func(_ ctx, p *tool.Prompt) error { return p.Answer(tool.Answer{Decision: tool.AllowOnce}) }))
				p.AskInLane = inLane
				lane, err := exec.NewLane(t.Context())
				require.NoError(t, err)
				j := p.NewJob(registry(t, define(t, free("t", func(ctx) (string, error) { panic("it runs") }))), tool.Call{Name: "t"})
				j.Record = func(_ ctx, e tool.Event) error {
					if e.Stage == at {
						return errBoom
					}
					return nil
				}
				_, err = tool.Submit(lane, j)
				require.NoError(t, err)
				lane.Close()
				if err := lane.Wait(); at == tool.Answered && !inLane {
					require.NoError(t, err)
					assert.Equal(t, tool.ApprovalUnavailable, j.Result.Code)
				} else {
					require.ErrorIs(t, err, errBoom)
				}
			})
		}
	}
}
