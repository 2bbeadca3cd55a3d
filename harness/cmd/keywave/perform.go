package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

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
	results     []tool.Result // by call
	spans       []exec.Span
	wall        time.Duration
	peak        int // bodies at once, counted in the bodies
	interrupted bool
}

// A performer runs a batch.
type performer struct {
	admission string
	limit     int
	delay     func(i int) time.Duration // added to the body of call i; nil: nothing
	progress  *progress                 // nil: nobody watches
}

// perform runs b. A cancel is not an error: what the calls ended with is there, and says so.
func (pf performer) perform(ctx context.Context, b *batch) (performance, error) {
	var timeline exec.Timeline
	lane, err := exec.NewLane(ctx, exec.Limit(pf.limit), exec.Admit(admissions[pf.admission]), exec.Drain(drain), exec.Record(&timeline))
	if err != nil {
		return performance{}, err
	}
	started := time.Now()
	var overlap gauge
	own := make([]*watchedJob, len(b.calls))
	ends := make([]atomic.Int32, len(b.calls))
	jobs := make([]exec.Job, len(b.calls))
	for i, c := range b.calls {
		own[i] = &watchedJob{Job: tool.NewJob(b.registry, c), overlap: &overlap, end: &ends[i]}
		if pf.delay != nil {
			own[i].delay = pf.delay(i)
		}
		jobs[i] = own[i]
	}
	// All at once: a batch is planned whole.
	if _, err = lane.Submit(jobs...); err == nil {
		lane.Close()
		err = pf.follow(ctx, lane, func() snapshot { return snapshot{timeline.Snapshot(), ends, time.Since(started)} })
	} else {
		lane.Cancel(err)
		err = errors.Join(err, lane.Wait())
	}
	done := performance{spans: timeline.Snapshot(), wall: time.Since(started), peak: int(overlap.peak.Load())}
	for _, j := range own {
		done.results = append(done.results, j.Result)
	}
	if done.interrupted = ctx.Err() != nil && err != nil; done.interrupted {
		err = nil
	}
	return done, err
}

// follow shows the progress until the lane has ended.
func (pf performer) follow(ctx context.Context, lane *exec.Lane, now func() snapshot) error {
	ended := make(chan error, 1)
	go func() { ended <- lane.Wait() }()
	show := func() {
		if pf.progress != nil {
			pf.progress.show(now())
		}
	}
	tick := time.NewTicker(redraw)
	defer tick.Stop()
	cancelled := ctx.Done()
	for {
		select {
		case err := <-ended:
			show()
			if pf.progress != nil {
				pf.progress.end()
			}
			return err
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
}

// A watchedJob is a call whose body is counted while it runs, and takes a while longer.
type watchedJob struct {
	*tool.Job
	delay   time.Duration
	overlap *gauge
	end     *atomic.Int32 // an ending, for the progress
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
	if j.Result.IsError {
		j.end.Store(endedBadly)
	} else {
		j.end.Store(endedWell)
	}
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
