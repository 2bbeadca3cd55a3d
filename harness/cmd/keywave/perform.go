package main

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// The admissions by the names that people type, in the order in which the demo shows them.
var (
	admissionNames = []string{"serial", "rolling", "waves", "first-fit", "keyed"}
	admissions     = map[string]func() plan.Admission{
		"serial": plan.NewSerial, "rolling": plan.NewRolling, "waves": plan.NewWaves, "first-fit": plan.NewFirstFit, "keyed": plan.NewKeyed,
	}
)

// A call that ignores its cancel is given up after this, so that one ctrl-C always ends the command.
const drain = 5 * time.Second

// A performance is what came of a batch.
type performance struct {
	*batch
	results     []tool.Result // by call
	spans       []exec.Span
	broods      map[int]*brood // by call: what its program has called
	begun       time.Duration  // since the start of all batches that were run with it
	wall        time.Duration  // from the start of all batches to the end of this one
	peak        int            // bodies at once, of all these batches, counted in the bodies
	interrupted bool
}

// A performer runs batches.
type performer struct {
	admission string
	limit     int       // of every batch
	shared    int       // of all together; 0: none
	progress  *progress // nil: nobody watches
}

// perform runs the batches at once. Several are the turns of several agents, and share a Domain. A cancel is not an
// error: what the calls ended with is there, and says so.
func (pf performer) perform(ctx context.Context, batches ...*batch) ([]performance, error) {
	lanes, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	opts := []exec.Option{exec.Limit(pf.limit), exec.Admit(admissions[pf.admission]), exec.Drain(drain)}
	if len(batches) > 1 {
		opts = append(opts, exec.In(exec.NewDomain()))
	}
	if pf.shared > 0 {
		opts = append(opts, exec.Shared(semaphore.NewWeighted(int64(pf.shared))))
	}
	started := time.Now()
	var overlap gauge
	agents := make([]*agent, len(batches))
	for i, b := range batches {
		a := newAgent(b, &overlap, len(batches) > 1)
		a.begun = time.Since(started) // no later than the lane's own clock: a call cannot end after its agent
		var err error
		if a.lane, err = exec.NewLane(lanes, append(opts, exec.Name(b.agent), exec.Record(&a.timeline))...); err != nil {
			return nil, err
		}
		agents[i] = a
	}
	pf.follow(ctx, agents, started, cancel)
	done := make([]performance, len(agents))
	for i, a := range agents {
		cancelled := a.err != nil && ctx.Err() != nil
		if a.err != nil && !cancelled {
			return nil, context.Cause(lanes) // of the one that failed first, which stopped the others
		}
		done[i] = performance{
			batch: a.batch, spans: a.timeline.Snapshot(), begun: a.begun, wall: a.wall, peak: int(overlap.peak.Load()), interrupted: cancelled,
			broods: a.nest.broods(started),
		}
		for _, j := range a.jobs {
			done[i].results = append(done[i].results, j.Result)
		}
	}
	return done, nil
}

// follow runs the agents, and shows the progress until the last of them has ended.
func (pf performer) follow(ctx context.Context, agents []*agent, started time.Time, cancel context.CancelCauseFunc) {
	ended := make(chan *agent, len(agents))
	for _, a := range agents {
		go func() {
			a.run()
			a.wall = time.Since(started)
			ended <- a
		}()
	}
	show := func() {
		if pf.progress != nil {
			pf.progress.show(snapshots(agents, started))
		}
	}
	tick := time.NewTicker(redraw)
	defer tick.Stop()
	cancelled := ctx.Done()
	for left := len(agents); left > 0; {
		select {
		case a := <-ended:
			left--
			if a.err != nil {
				cancel(a.err)
			}
			a.nest.wait()
		case <-cancelled:
			cancelled = nil
			if pf.progress != nil {
				pf.progress.note("interrupted: the running calls are told to stop; once more leaves at once")
			}
			show()
		case <-tick.C:
			show()
		}
	}
	show()
	if pf.progress != nil {
		pf.progress.end()
	}
}

// An agent is a batch that is being run, in a lane of its own.
type agent struct {
	*batch
	lane     *exec.Lane
	timeline exec.Timeline
	jobs     []*watchedJob
	ends     []atomic.Int32 // by call: an ending, for the progress
	begun    time.Duration  // when its lane was made, since the start of all
	wall     time.Duration  // of its lane, when that has ended
	err      error          // of its lane, then
}

func newAgent(b *batch, overlap *gauge, among bool) *agent {
	a := &agent{batch: b, jobs: make([]*watchedJob, len(b.calls)), ends: make([]atomic.Int32, len(b.calls))}
	pipeline := &tool.Pipeline{Listeners: b.nest.listeners()}
	if b.latencyWithin != nil {
		pipeline.Wrappers = append(pipeline.Wrappers, b.slowWithin)
	}
	for i, j := range pipeline.NewJobs(b.tools, b.calls...) {
		a.jobs[i] = &watchedJob{Job: j, among: among, overlap: overlap, end: &a.ends[i]}
		if b.latency != nil {
			a.jobs[i].delay = b.latency[i]
		}
	}
	return a
}

// run runs all calls.
func (a *agent) run() {
	jobs := make([]exec.Job, len(a.jobs))
	for i, j := range a.jobs {
		jobs[i] = j
	}
	// All at once: a batch is planned whole.
	if _, err := a.lane.Submit(jobs...); err != nil {
		a.lane.Cancel(err)
	}
	a.lane.Close()
	a.err = a.lane.Wait()
}

// A watchedJob is a call whose body is counted while it runs, and takes a while longer.
type watchedJob struct {
	*tool.Job
	among   bool // there are other agents
	delay   time.Duration
	overlap *gauge
	end     *atomic.Int32
}

// Classify has a call that is not known to be safe, and does not say what it touches, run alone among the calls of all
// agents: its own lane sees to it only among its own. Not so one that runs a program: what that calls says it.
func (j *watchedJob) Classify() plan.Call {
	c := j.Job.Classify()
	if j.among && c.Exclusive() && len(c.Claims) == 0 && !runsPrograms(j.Invocation) {
		c.Claims = []plan.Claim{{Key: everything}}
	}
	return c
}

// everything is the key of a claim that overlaps all others. It is not the empty one, so that the claim is not zero.
const everything = "/"

// slowWithin is a [tool.Wrapper] that has the calls of programs take a while longer.
func (b *batch) slowWithin(ctx context.Context, c *tool.Invocation, next tool.Next) (tool.Result, error) {
	if c.Parent != nil {
		_ = wait(ctx, b.latencyWithin[c.Call.Name]) // the body sees that, too
	}
	return next(ctx)
}

func (j *watchedJob) Run(ctx context.Context) exec.Outcome {
	j.overlap.enter()
	defer j.overlap.leave()
	if j.delay > 0 {
		wait := time.NewTimer(j.delay)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-ctx.Done(): // the body sees it, too, and says what there is to say
		}
	}
	return j.Job.Run(ctx)
}

func (j *watchedJob) Settled(ctx context.Context, o exec.Outcome) error {
	err := j.Job.Settled(ctx, o)
	j.end.Store(endingOf(j.Result))
	return err
}

// A gauge counts bodies that run at once. It does so beside the lane's own books, to check them.
type gauge struct{ now, peak atomic.Int64 }

func (g *gauge) enter() {
	n := g.now.Add(1)
	for {
		peak := g.peak.Load()
		if n <= peak || g.peak.CompareAndSwap(peak, n) {
			return
		}
	}
}

func (g *gauge) leave() { g.now.Add(-1) }
