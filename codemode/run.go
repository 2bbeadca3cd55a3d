package codemode

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/tool"
)

// A run is one program on its way: the bridge between its runtime and the lane of its calls.
type run struct {
	*View
	ctx   context.Context         // of the body
	stop  context.CancelCauseFunc // ends the program
	call  *tool.Invocation        // of run_code
	below tool.Tools              // what the program may call
	lane  *exec.Lane
	over  chan struct{} // closed when the lane has ended
	log   *logLane      // nil: nothing is recorded

	mu       sync.Mutex
	ended    bool     // the program has
	made     int      // calls, also those that were refused
	calls    int      // that it has made, without them
	inFlight int      // bytes of the arguments of those that are not settled
	exceeded *Outcome // what it has exceeded; nil: nothing
	broken   error    // why its calls cannot be run or recorded

	// What the result of run_code has to tell of its calls, in the order of their commits.
	started   int // of them
	contexts  []tool.Context
	images    []tool.Block
	concludes bool
	late      []late
	failures  map[int]failure // those that the program may not have heard of, by their numbers
}

// A failure is why a call has failed, for a note.
type failure struct{ name, text string }

// A late call had not ended when its program had, or when both were cancelled.
type late struct {
	number  int
	name    string
	started bool
	alone   bool // the program had ended
	result  tool.Result
}

// errEnded is the cause with which calls are cancelled that have not ended when their program has.
var errEnded = errors.New("the program that made the call has ended without awaiting it")

// run is the body of run_code.
func (v *View) run(ctx context.Context, in Program) (tool.Result, error) {
	r, program, err := v.begin(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	defer r.end(false) // also if the runtime panics
	o, err := v.runtime.Run(program, in.Code, Bindings{
		Tools: r.names(), Call: r.submit, Now: v.now, Rand: v.rand,
	}, v.limits)
	cancelled := ctx.Err() != nil
	r.end(err == nil && o.Failure == "" && !cancelled)
	exceeded, broken := r.state()
	switch {
	case broken != nil:
		return r.result(failed(fmt.Sprintf("The program was stopped, because what it called could not be run and recorded: %v", broken))), nil
	case exceeded != nil:
		o.Failure, o.Message, o.Value = exceeded.Failure, exceeded.Message, nil
	case err != nil:
		return r.result(failed(fmt.Sprintf("The program could not be run: %v", err))), nil
	}
	return r.result(r.render(o, cancelled)), nil
}

// begin opens the lane. What it returns besides is the context of the program.
func (v *View) begin(ctx context.Context) (*run, context.Context, error) {
	outer := tool.InvocationOf(ctx)
	if outer == nil {
		return nil, nil, errNoCall
	}
	below := callable(outer.Tools)
	opts := []exec.Option{exec.Limit(v.parallel), exec.Admit(v.admit), exec.Drain(v.drain), exec.Name(outer.Call.ID)}
	if v.timeline != nil {
		if t := v.timeline(outer); t != nil {
			opts = append(opts, exec.Record(t))
		}
	}
	lane, err := exec.NewLane(ctx, opts...)
	if err != nil {
		return nil, nil, err
	}
	program, stop := context.WithCancelCause(ctx)
	r := &run{View: v, ctx: ctx, stop: stop, call: outer, below: below, lane: lane, over: make(chan struct{})}
	if tool.RecordsNested(ctx) {
		r.log = &logLane{ctx: ctx, shorten: v.shorten, room: make(chan struct{}, v.parallel), failed: r.fail}
	}
	go r.watch()
	return r, program, nil
}

// watch stops the program if its lane fails, as with an admission that breaks its contract: nothing that it awaits
// would ever settle.
func (r *run) watch() {
	defer close(r.over)
	err := r.lane.Wait()
	var gaveUp *exec.AbandonedError
	if err != nil && !errors.Is(err, errEnded) && !errors.As(err, &gaveUp) && r.ctx.Err() == nil {
		r.fail(err)
	}
}

// fail stops the program because of something that it has no part in.
func (r *run) fail(err error) {
	r.mu.Lock()
	r.broken = cmp.Or(r.broken, err)
	r.mu.Unlock()
	r.stop(err)
}

func (r *run) state() (exceeded *Outcome, broken error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.exceeded, r.broken
}

// names are what the program finds.
func (r *run) names() []string {
	defs := r.below.Definitions()
	names := make([]string, len(defs))
	for i := range defs {
		names[i] = defs[i].Name
	}
	return names
}

// submit takes a call of the program. It does not wait.
func (r *run) submit(name string, arguments json.RawMessage, settle func(json.RawMessage, string)) {
	number, why := r.take(len(arguments))
	refuse := func(why string) {
		r.unheard(number, name, why)
		settle(nil, why)
	}
	if why != "" {
		refuse(why)
		return
	}
	j, err := tool.NewNested(r.ctx, r.below, tool.Call{Name: name, Arguments: string(arguments)})
	if err == nil {
		j.Call.ID = fmt.Sprintf("%s:code:%d", r.call.Call.ID, j.Index+1)
		c := &call{Job: j, run: r, number: number, size: len(arguments), settle: settle}
		if r.log != nil {
			j.Record = c.record
		}
		_, err = tool.Submit(r.lane, c)
	}
	if err == nil {
		return
	}
	r.mu.Lock()
	r.inFlight -= len(arguments)
	r.mu.Unlock()
	var gaveUp *exec.AbandonedError
	switch {
	case errors.As(err, &gaveUp):
		refuse("it was not called: nothing is, once a call of the program was given up because it did not stop in time")
	default: // the program is over, and does not know it yet
		refuse(errEnded.Error())
	}
}

// take holds a call to the limits, and says why it cannot be made, if so.
func (r *run) take(size int) (number int, refusal string) {
	l := &r.limits
	r.mu.Lock()
	defer r.mu.Unlock()
	number = r.made
	r.made++
	switch {
	case r.ended || r.exceeded != nil:
		return number, "the program has ended: nothing is called any more"
	case size > l.Payload:
		return number, fmt.Sprintf("it was not called: its arguments have %d bytes, and no more than %d can be handed over at once", size, l.Payload)
	case r.calls == l.Calls:
		return number, r.exceed(CallLimit, fmt.Sprintf("it has made %d calls, which is as many as a program can make", l.Calls))
	case r.inFlight+size > l.InFlight:
		return number, r.exceed(OutputLimit, fmt.Sprintf("the arguments of its calls that have not ended are more than %d bytes together: await some before it makes others", l.InFlight))
	}
	r.calls++
	r.inFlight += size
	return number, ""
}

// unheard keeps why a call has failed while the program goes on, which can end before it hears of that.
func (r *run) unheard(number int, name, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	if r.failures == nil {
		r.failures = map[int]failure{}
	}
	r.failures[number] = failure{name, bounded(why, maxNote)}
}

// exceed ends a program whose runtime has let it pass a limit. It is called with mu held.
func (r *run) exceed(kind Kind, message string) string {
	r.exceeded = &Outcome{Failure: kind, Message: message}
	r.stop(errors.New(message))
	return message
}

// committed takes what rides on the result of run_code.
func (r *run) committed(c *call) {
	r.started++
	r.contexts = append(r.contexts, c.Result.Contexts...)
	for _, b := range c.Result.Content {
		if b.Image != nil {
			r.images = append(r.images, b)
		}
	}
	r.concludes = r.concludes || c.Result.Concludes
	r.settled(c, true)
}

func (r *run) skipped(c *call) { r.settled(c, false) }

func (r *run) settled(c *call, started bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight -= c.size
	if r.ended || r.ctx.Err() != nil { // a cancel ends calls and program at once, in any order
		r.late = append(r.late, late{c.number, c.Call.Name, started, r.ended, c.Result})
	}
}

// end ends the run: what has not started does not, what runs is aborted, if grace and the host so will not before some
// time, and all of it, up to its record, has ended when it returns.
func (r *run) end(grace bool) {
	r.mu.Lock()
	over := r.ended
	r.ended = true
	r.mu.Unlock()
	if over {
		return
	}
	r.lane.Close()
	if wait := r.unawaited; grace && wait > 0 {
		t := time.AfterFunc(wait, func() { r.lane.Cancel(errEnded) })
		<-r.over
		t.Stop()
	} else {
		r.lane.Cancel(errEnded)
		<-r.over
	}
	if r.log != nil {
		r.log.wait()
	}
	r.stop(nil)
}

// result adds to a result what the calls have brought along.
func (r *run) result(own tool.Result) tool.Result {
	own.Content = append(own.Content, r.images...)
	own.Contexts = r.contexts
	own.Concludes = r.concludes
	return own
}

func failed(text string) tool.Result {
	return tool.Result{IsError: true, Content: []tool.Block{{Text: text}}}
}
