package exec_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBoom = errors.New("boom")

// admissions are those that keep the model's order between calls that conflict.
var admissions = []struct {
	name string
	open func() plan.Admission
}{
	{"serial", plan.NewSerial}, {"rolling", plan.NewRolling}, {"waves", plan.NewWaves}, {"keyed", plan.NewKeyed},
}

// Batches are written as the calls of plan: safe with claims, or exclusive.

func reads(keys ...string) plan.Call {
	c := plan.Call{Safe: true}
	for _, k := range keys {
		c.Claims = append(c.Claims, plan.Claim{Key: k, Access: plan.Read})
	}
	return c
}

func writes(keys ...string) plan.Call {
	c := plan.Call{Safe: true}
	for _, k := range keys {
		c.Claims = append(c.Claims, plan.Claim{Key: k})
	}
	return c
}

var (
	free      = plan.Call{Safe: true}
	exclusive = plan.Call{}
)

func times(n int, c plan.Call) []plan.Call { return slices.Repeat([]plan.Call{c}, n) }

// An event is a step of a call, as its job saw it.
type event struct {
	at    time.Duration
	call  int
	stage string // classify, prepare, prepared, refused, await, awaited, run, ran, settled, durable, commit, committed, skip, skipped
	err   error  // settled: of the outcome; skip: the cause
}

func (e event) String() string { return fmt.Sprintf("%v %s %d", e.at, e.stage, e.call) }

// A journal collects what the jobs of a lane see.
type journal struct {
	mu     sync.Mutex
	start  time.Time
	events []event
	on     func(n int, e event) // called with every event, outside the lock; n counts from 0
}

func newJournal() *journal { return &journal{start: time.Now()} }

func (j *journal) add(call int, stage string, err error) {
	j.mu.Lock()
	e := event{time.Since(j.start), call, stage, err}
	n := len(j.events)
	j.events = append(j.events, e)
	j.mu.Unlock()
	if j.on != nil {
		j.on(n, e)
	}
}

func (j *journal) all() []event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.events)
}

// of lists the events of some stages as "2s settled 0".
func (j *journal) of(stages ...string) []string {
	var out []string
	for _, e := range j.all() {
		if slices.Contains(stages, e.stage) {
			out = append(out, e.String())
		}
	}
	return out
}

// find returns the one event of a call and stage.
func (j *journal) find(t require.TestingT, call int, stage string) event {
	var found []event
	for _, e := range j.all() {
		if e.call == call && e.stage == stage {
			found = append(found, e)
		}
	}
	require.Lenf(t, found, 1, "%s of call %d in %v", stage, call, j.all())
	return found[0]
}

// A stub is a job whose stages a test can replace. All of them are noted in the journal.
type stub struct {
	j        *journal
	i        int
	what     plan.Call
	classify func() plan.Call
	prepare  func(ctx context.Context) (bool, error)
	run      func(ctx context.Context) exec.Outcome
	settled  func(ctx context.Context, o exec.Outcome) error
	commit   func(ctx context.Context) error
	skip     func(ctx context.Context, cause error) error
}

func (s *stub) Classify() plan.Call {
	s.j.add(s.i, "classify", nil)
	if s.classify != nil {
		return s.classify()
	}
	return s.what
}

func (s *stub) Prepare(ctx context.Context) (ok bool, err error) {
	s.j.add(s.i, "prepare", nil)
	ok = true
	if s.prepare != nil {
		ok, err = s.prepare(ctx)
	}
	if ok && err == nil {
		s.j.add(s.i, "prepared", nil)
	} else {
		s.j.add(s.i, "refused", nil)
	}
	return ok, err
}

func (s *stub) Run(ctx context.Context) (o exec.Outcome) {
	s.j.add(s.i, "run", nil)
	defer s.j.add(s.i, "ran", nil)
	if s.run != nil {
		return s.run(ctx)
	}
	return exec.Outcome{Value: s.i}
}

func (s *stub) Settled(ctx context.Context, o exec.Outcome) (err error) {
	s.j.add(s.i, "settled", o.Err)
	if s.settled != nil {
		err = s.settled(ctx, o)
	}
	s.j.add(s.i, "durable", nil)
	return err
}

func (s *stub) Commit(ctx context.Context) (err error) {
	s.j.add(s.i, "commit", nil)
	if s.commit != nil {
		err = s.commit(ctx)
	}
	s.j.add(s.i, "committed", nil)
	return err
}

func (s *stub) Skip(ctx context.Context, cause error) (err error) {
	s.j.add(s.i, "skip", cause)
	if s.skip != nil {
		err = s.skip(ctx, cause)
	}
	s.j.add(s.i, "skipped", nil)
	return err
}

// A gate is a stub that waits for somebody first.
type gate struct {
	*stub
	await func(ctx context.Context) bool
}

func (g gate) Await(ctx context.Context) bool {
	g.j.add(g.i, "await", nil)
	defer g.j.add(g.i, "awaited", nil)
	return g.await(ctx)
}

// stubs makes a job for every call.
func (j *journal) stubs(calls ...plan.Call) []*stub {
	out := make([]*stub, len(calls))
	for i, c := range calls {
		out[i] = &stub{j: j, i: i, what: c}
	}
	return out
}

// jobs turns stubs, and gates among them, into what Submit takes.
func jobs[J exec.Job](js []J) []exec.Job {
	out := make([]exec.Job, len(js))
	for i, j := range js {
		out[i] = j
	}
	return out
}

// lane opens a lane, and fails the test if it cannot.
func lane(t require.TestingT, ctx context.Context, opts ...exec.Option) *exec.Lane {
	l, err := exec.NewLane(ctx, opts...)
	require.NoError(t, err)
	return l
}

// submit submits jobs, and fails the test if it cannot.
func submit(t require.TestingT, l *exec.Lane, js ...exec.Job) {
	_, err := l.Submit(js...)
	require.NoError(t, err)
}

// finish closes a lane and waits for it.
func finish(l *exec.Lane) error {
	l.Close()
	return l.Wait()
}

// takes is a body that takes some time, unless it is cancelled.
func takes(d time.Duration) func(ctx context.Context) exec.Outcome {
	return func(ctx context.Context) exec.Outcome {
		return exec.Outcome{Value: rest(ctx, d)}
	}
}

// rest waits, and returns the cause if ctx is done earlier.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
