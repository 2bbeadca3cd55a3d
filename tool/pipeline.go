package tool

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// A Pipeline is what a host puts around the calls of one session. The zero Pipeline adds nothing: a call is checked,
// run and returned. It may serve any number of lanes at once, one after the other or nested. Its fields are set before
// its first call and not changed then, and it must not be copied.
//
// A call goes through three stages, of which only the middle one overlaps with other calls:
//
//	prepare   in the order of the starts: arguments, policies, prompt, guards
//	dispatch  beside other bodies: wrappers, body, check of what it returned
//	finalize  in the model's order: reviewers, the tool's Finalize, budget, observers
//
// What is called here and panics, or returns an error, is the outcome of that one call, in a way that runs and shows no
// more than was decided: a policy or guard that fails denies, an approver that fails is not available, a reviewer or a
// Finalize that fails withholds the result. A failing observer changes nothing. None of them may call runtime.Goexit,
// and none but a wrapper and an approver may wait for long, because the lane waits for it.
type Pipeline struct {
	Name string // of the session, for prompts

	Policies []Policy  // the strictest verdict counts; none: every call is allowed
	Prompter *Prompter // asks about calls that a policy wants to be asked about; nil: there is nobody to ask
	Guards   []Guard   // the last to be called before the body; each of them must let the call through

	// AskInLane has a call that needs an answer hold the lane until it comes: nothing starts and nothing commits
	// meanwhile, so that prompts and starts come in one order, the model's where calls start in that. Without it the
	// call holds up only the calls that its admission orders after it.
	AskInLane bool

	Wrappers  []Wrapper  // around each body, the first outermost
	Reviewers []Reviewer // of what a tool returned, one after the other
	Budget    Budget     // how much of the results the model is shown

	Gates     []Gate      // observers that the lane waits for
	Listeners []*Listener // observers that nobody waits for

	granted sync.Map // of grant: what was allowed for the session
}

// A Policy is asked whether a call may run: right after its arguments were checked, in the lane, and again right before
// a prompt for it is shown, on a worker. It must be safe for concurrent use. An error denies the call, in its own
// words.
type Policy func(ctx context.Context, c *Invocation) (Verdict, error)

// A Verdict is what a policy says. The zero Verdict denies.
type Verdict struct {
	Action Action
	Reason string // for the model if the call is denied, for the prompt if it is asked about

	// Grant names what an answer that allows the call for the session would allow, such as a command and its
	// subcommand, beside the tool: calls of the same definition that are asked about with the same Grant are not asked
	// about again.
	Grant string
}

// An Action is what is to be done with a call.
type Action uint8

const (
	Deny  Action = iota // it does not run, and its result is [Denied]
	Ask                 // the [Prompter] asks about it
	Allow               // it may run, as far as this policy goes
)

// A Guard can only say no: it is called last before a call's body may start, after an answer too, so that what it finds
// is as the body will find it. Its error denies the call, in its words. It is called in the lane, and on a worker after
// an answer: it must be safe for concurrent use.
type Guard func(ctx context.Context, c *Invocation) error

// A Wrapper runs around the body of a call: it calls next, or does not, or does again, and returns what it returned or
// something else. Bodies overlap, so a wrapper must be safe for concurrent use, and it must not return before next has.
//
// An error is the tool's own. The context that it hands to next may have values and a deadline of its own; the cancel
// and the values of the call reach the body in any case, and a call that was cancelled is not run.
type Wrapper func(ctx context.Context, c *Invocation, next Next) (Result, error)

// A Next runs what is inside of a wrapper.
type Next func(ctx context.Context) (Result, error)

// A Reviewer looks at what a tool returned, in the model's order, before the model does: at its own results, ok or
// error, and at those that it returned although it was cancelled or its deadline had passed, as r.Code says. It is not
// asked about calls that did not run, or returned nothing. Its context is not cancelled. An error withholds the result.
type Reviewer func(ctx context.Context, c *Invocation, r Result) (Review, error)

// A Review is what becomes of a result. The zero Review accepts it.
type Review struct {
	// Block, if not empty, withholds the result and its contexts, and is what the model is told instead.
	Block string

	// Value, if there is one, replaces that of a success. It must be what the tool declares, and is rendered anew.
	Value json.RawMessage

	// Content, if not nil, replaces what the model is shown. What a program gets of a call that it made is the value: of
	// such a call Content replaces that, too, unless there is a Value.
	Content []Block

	Contexts []Context // are added to those of the result
}

// An Invocation is a call and what its name means: what all functions of a [Pipeline] are told. It is not to be
// modified.
type Invocation struct {
	Index    int       // its place among the calls that were made with it, from 0: ids need not differ
	Call     Call      // as the model wrote it
	Tools    Tools     // where its name is looked up
	Pipeline *Pipeline // what it goes through

	// Parent is the call whose body made this one: see [NewNested]. Nil: the model, or a host, did.
	Parent *Invocation

	Binding                   // what its name means: as of its start, once it has started
	Arguments json.RawMessage // {} if the model wrote none; they satisfy the tool's schema once the call has started
	Planned   plan.Call       // how it may overlap others, and what it claims
	Deadline  time.Time       // when it must have ended; zero: none
}

// InvocationOf returns the call whose body was given ctx; nil if there is none. A tool that makes calls of its own
// looks them up in its Tools, so that they reach what the model was shown and nothing else, and puts them through its
// Pipeline.
func InvocationOf(ctx context.Context) *Invocation {
	c, _ := ctx.Value(callKey{}).(*callContext)
	if c == nil {
		return nil
	}
	return &c.job.Invocation
}

// NewJob returns a job for a call, which is a batch of its own: see [Pipeline.NewJobs]. Its Index is 0; a host that
// makes the calls of a stream one by one sets it before it submits them, so that observers can tell them apart.
func (p *Pipeline) NewJob(t Tools, c Call) *Job { return p.NewJobs(t, c)[0] }

// NewJobs returns jobs for the calls of one assistant message, which share the budget of a batch. Their deadlines count
// from now. A host hands them to a lane with [Submit], all of them to the same one.
//
// What the name of a call means is looked up in t, in which there is nothing if it is nil, when the call is classified,
// and that is right before it starts: a tool that was replaced while the call waited is run as it is then, and planned
// for as it is then.
func (p *Pipeline) NewJobs(t Tools, calls ...Call) []*Job {
	if t == nil {
		t = new(Scope)
	}
	now := time.Now()
	b := &batch{left: p.Budget.Batch, later: len(calls)}
	made := make([]Job, len(calls))
	texts := make([]Block, len(calls))
	jobs := make([]*Job, len(calls))
	for i, c := range calls {
		j := &made[i]
		j.Invocation = Invocation{Index: i, Call: c, Tools: t, Pipeline: p}
		texts[i].Text = noResult
		j.Result = Result{Code: AbortedBeforeDispatch, IsError: true, Content: texts[i : i+1 : i+1]}
		j.batch = b
		j.clock.from = now
		jobs[i] = j
	}
	return jobs
}

// Run is [Run] through the pipeline.
func (p *Pipeline) Run(ctx context.Context, t Tools, calls []Call, opts ...exec.Option) ([]Result, error) {
	lane, err := exec.NewLane(ctx, opts...)
	if err != nil {
		return nil, err
	}
	jobs := p.NewJobs(t, calls...)
	staged := make([]exec.Job, len(jobs))
	for i, j := range jobs {
		staged[i] = j
	}
	_, submitted := Submit(lane, staged...)
	lane.Close()
	if err = lane.Wait(); err == nil {
		err = submitted
	}
	results := make([]Result, len(jobs))
	for i, j := range jobs {
		results[i] = j.Result
	}
	return results, err
}
