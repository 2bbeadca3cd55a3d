package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

const (
	// DefaultLimit is how many bodies of a step run at once unless its [Scheduler] says otherwise.
	DefaultLimit = 10
	// DefaultDrain is how long a cancelled body is waited for unless its [Scheduler] says otherwise.
	DefaultDrain = 5 * time.Second
)

// A Scheduler runs the calls of a session's assistant messages, and records what becomes of them. [Agent] uses one; a
// host with a loop of its own can use it alone. Its fields are set before its first use and not changed then, and it
// must not be copied.
//
// A call's body starts when its tool/call is recorded, its outcome is recorded when it settles, and its result when
// those of all calls before it are. If a record cannot be written, the step fails: nothing more starts, what runs is
// cancelled and waited for, and nothing is made up.
//
// A fast result waits for slow ones before it, in memory. What a call costs beside its body is three records, at the
// Durability that is chosen: with [SyncAlways] that is three syncs, of which two hold up other calls.
type Scheduler struct {
	Session  *Session       // whose calls it runs; there must be one
	Tools    tool.Tools     // for the model, but for those that only programs may call; nil: there are none
	Pipeline *tool.Pipeline // around each call; nil: nothing is

	// Admission says which calls may overlap; nil: [plan.NewWaves]. [plan.NewRolling], with a pipeline that has a prompt
	// hold the lane (AskInLane), is the classic pool: starts, prompts and commits in the model's order.
	Admission func() plan.Admission

	// Limit returns how many bodies may run at once, from settings that may change: it is asked once for each group of
	// calls that start together, as [exec.LimitFunc] says, and must be quick. An error, or a number below 1, fails the
	// step. Nil: [DefaultLimit].
	Limit func() (int, error)

	// Drain is how long a body that was cancelled, or is late, is waited for before it is given up, as [exec.Drain] says;
	// 0: [DefaultDrain], below 0: without a bound. Only a Domain keeps what comes later from running beside a body that
	// was given up.
	Drain time.Duration

	Durability Durability // of all that is recorded

	Domain exec.Domain         // holds the claims of the calls, across all schedulers that share it; nil: none does
	Shared *semaphore.Weighted // bounds the bodies of all schedulers that share it, at whatever depth; nil: none does

	// Timeline, if not nil, is called by Run, before the calls of a step start, and says where to record how long each of
	// them waited, and for what, which the log does not say; nil: nowhere. The [exec.Timeline] begins anew with the step,
	// and must not be recording another one. It is complete when Run returns.
	Timeline func(turn, step int) *exec.Timeline

	mu   sync.Mutex
	step *running // nil: none
}

// Run runs the calls of an assistant message, which must be recorded in a step that is going on, and returns their
// results in the model's order when all of them are recorded.
//
// When ctx is done, that is recorded, and nothing more starts; what runs is cancelled and waited for. Then Run returns
// all results, as the cancel left them, together with [context.Cause]. Any other error comes without results: the
// scheduler has failed, calls are left open, and [Scheduler.Resume] closes them. A call that was given up because it
// did not stop in time leaves the later calls of the message unstarted, with results that say so; it is no error.
//
// The values of ctx reach all that is called. A Scheduler runs one step at a time.
func (s *Scheduler) Run(ctx context.Context, m AssistantMessage) ([]tool.Result, error) {
	if len(m.Calls) == 0 {
		return []tool.Result{}, nil
	}
	r := &running{Scheduler: s, ctx: ctx, turn: m.Turn, number: m.Step}
	lane, err := s.lane(ctx, m)
	if err == nil {
		err = s.take(r, lane)
	}
	if err != nil {
		return nil, fmt.Errorf("turn %d, step %d: %w", m.Turn, m.Step, err)
	}
	defer s.leave()
	calls := r.submit(m.Calls)
	stop := r.watch()
	err = lane.Wait()
	stop()

	var gaveUp *exec.AbandonedError
	if err != nil && ctx.Err() == nil && !errors.As(err, &gaveUp) || r.left > 0 {
		return nil, fmt.Errorf("turn %d, step %d: %w", m.Turn, m.Step, err)
	}
	results := make([]tool.Result, len(calls))
	for i := range calls {
		results[i] = calls[i].Result
	}
	if err != nil && ctx.Err() != nil {
		return results, context.Cause(ctx)
	}
	return results, nil
}

// lane opens a lane for a step.
func (s *Scheduler) lane(ctx context.Context, m AssistantMessage) (*exec.Lane, error) {
	opts := []exec.Option{exec.LimitFunc(s.limit), exec.Name(s.pipeline().Name)}
	if s.Admission != nil {
		opts = append(opts, exec.Admit(s.Admission))
	}
	if s.Drain >= 0 {
		opts = append(opts, exec.Drain(cmp.Or(s.Drain, DefaultDrain)))
	}
	if s.Domain != nil {
		opts = append(opts, exec.In(s.Domain))
	}
	if s.Shared != nil {
		opts = append(opts, exec.Shared(s.Shared))
	}
	if s.Timeline != nil {
		if t := s.Timeline(m.Turn, m.Step); t != nil {
			opts = append(opts, exec.Record(t))
		}
	}
	return exec.NewLane(ctx, opts...)
}

// limit is that of a group.
func (s *Scheduler) limit() (int, error) {
	if s.Limit == nil {
		return DefaultLimit, nil
	}
	n, err := s.Limit()
	if err == nil && n < 1 {
		err = fmt.Errorf("it is %d, want a positive integer", n)
	}
	if err != nil {
		return 0, fmt.Errorf("the setting Limit cannot be used: %w", err)
	}
	return n, nil
}

func (s *Scheduler) pipeline() *tool.Pipeline {
	if s.Pipeline == nil {
		return new(tool.Pipeline)
	}
	return s.Pipeline
}

// tools are those that the model may call.
func (s *Scheduler) tools() tool.Tools {
	if s.Tools == nil {
		return new(tool.Scope)
	}
	return tool.Direct{Tools: s.Tools}
}

// take makes r the step that is going on. It closes the lane if it fails.
func (s *Scheduler) take(r *running, lane *exec.Lane) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.step != nil {
		lane.Close()
		return errors.Join(fmt.Errorf("turn %d, step %d is still going on, and a Scheduler runs one step at a time", s.step.turn, s.step.number), lane.Wait())
	}
	r.lane, s.step = lane, r
	return nil
}

func (s *Scheduler) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.step = nil
}

// CancelCall cancels one call that has no result yet. That is recorded, and then the call is cancelled with the cause:
// before its start it does not start; its body, if it runs, is waited for; if it has settled already, a success becomes
// [tool.Aborted]. Its siblings go on. The error, of a call that has its result or was never made, wraps [ErrOrder];
// another one says that it could not be recorded, and the call is cancelled all the same.
func (s *Scheduler) CancelCall(p Place, cause error) error {
	if cause == nil {
		cause = context.Canceled
	}
	_, err := s.Session.appendUnless(s.Durability, func(f *fold) error {
		if _, c := f.find(p); c == nil || c.done {
			return outOf("there is no %v without a result", p)
		}
		return nil
	}, Cancel{Turn: p.Turn, Step: p.Step, Calls: []int{p.Index}, Cause: causeText(cause)})
	if errors.Is(err, ErrOrder) {
		return err
	}
	s.mu.Lock()
	r := s.step
	s.mu.Unlock()
	if r != nil && r.turn == p.Turn && r.number == p.Step {
		r.lane.CancelCall(p.Index, cause)
	}
	return err
}

// Resume closes what the log has open, as [Session.Resume] does, and puts the results through the last stages of the
// pipeline. A session is to be resumed before its first step in this process, and after a Run that failed. The
// context's values reach the pipeline, its cancel does not. It returns what it appended.
func (s *Scheduler) Resume(ctx context.Context) ([]Payload, error) {
	ctx = context.WithoutCancel(ctx)
	return s.Session.Resume(func(c OpenCall, r tool.Result) tool.Result {
		j := s.pipeline().NewJob(s.tools(), c.Call)
		j.Index, j.Result = c.Index, r
		_ = j.Commit(ctx) // which only Record could make fail
		return j.Result
	})
}
