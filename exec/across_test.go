package exec_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// A script is what the calls of one lane do.
type script struct {
	name  string
	admit func() plan.Admission
	limit int
	drain time.Duration // 0: none
	acts  []act
}

// An act is what one call does.
type act struct {
	what          plan.Call
	prepare, gate time.Duration // gate: below 0: none
	before, after time.Duration // of its work, and the lanes that it opens in between
	ending        string
	lanes         []script
	together      bool // the lanes are open at once
	leaves        bool // nobody waits for them
	hard          bool // its Settled fails
}

func anyScript(t *rapid.T, name string, depth int) script {
	label := func(s string) string { return name + " " + s }
	s := script{name: name, limit: rapid.IntRange(1, 3).Draw(t, label("limit"))}
	s.admit = admissions[rapid.IntRange(0, len(admissions)-1).Draw(t, label("admission"))].open
	if rapid.Bool().Draw(t, label("drain")) {
		s.drain = 2500 * time.Millisecond
	}
	for i := range rapid.IntRange(1, 4-depth).Draw(t, label("calls")) {
		s.acts = append(s.acts, anyAct(t, fmt.Sprint(name, ".", i+1), depth))
	}
	return s
}

func anyAct(t *rapid.T, name string, depth int) act {
	label := func(s string) string { return name + " " + s }
	duration := func(s string) time.Duration {
		return time.Duration(rapid.SampledFrom([]int{0, 0, 1, 2, 3, 5}).Draw(t, label(s))) * time.Second
	}
	a := act{gate: -1}
	a.what.Safe = rapid.IntRange(0, 3).Draw(t, label("exclusive")) > 0
	for range rapid.IntRange(0, 2).Draw(t, label("claims")) {
		a.what.Claims = append(a.what.Claims, plan.Claim{
			Key:    rapid.SampledFrom([]string{"a", "b", "t", "t/x", "t/y"}).Draw(t, label("key")),
			Access: rapid.SampledFrom([]plan.Access{plan.Write, plan.Read}).Draw(t, label("access")),
			Tree:   rapid.IntRange(0, 3).Draw(t, label("tree")) == 0,
		})
	}
	a.before, a.after = duration("before"), duration("after")
	a.ending = rapid.SampledFrom([]string{"", "", "", "", "", "error", "panic", "goexit", "deaf", "deaf", "slow"}).Draw(t, label("ending"))
	a.hard = rapid.IntRange(0, 29).Draw(t, label("hard")) == 0
	if rapid.IntRange(0, 4).Draw(t, label("gated")) == 0 {
		a.gate = duration("gate")
	}
	a.prepare = duration("prepare") / 2
	if depth < 2 {
		for k := range max(0, rapid.IntRange(-2, 2).Draw(t, label("lanes"))) {
			a.lanes = append(a.lanes, anyScript(t, fmt.Sprint(name, string(rune('a'+k))), depth+1))
		}
		a.together, a.leaves = rapid.Bool().Draw(t, label("together")), rapid.IntRange(0, 3).Draw(t, label("leaves")) == 0
	}
	return a
}

// A troupe plays scripts, and watches over the bodies from within.
type troupe struct {
	t      *rapid.T
	domain exec.Domain
	shared *semaphore.Weighted // nil: none
	limit  int                 // of that

	mu    sync.Mutex
	stage map[*actor]bool // whose body is being played
	lanes []*played
	wrong []string
}

// A played lane.
type played struct {
	*script
	lane     *exec.Lane
	by       *actor // in whose body; nil: none
	j        *journal
	timeline exec.Timeline
}

// An actor is a body.
type actor struct {
	act
	of        *played
	call      int
	permit    bool      // it is at work, with no lane open in it
	cancelled time.Time // zero: not yet
}

// within reports whether b is a, or an actor around it.
func (a *actor) within(b *actor) bool {
	for a != nil && a != b {
		a = a.of.by
	}
	return a == b
}

// working reports whether an actor keeps a permit. One that was given up does not.
func (a *actor) working() bool {
	return a.permit && (a.of.drain == 0 || a.cancelled.IsZero() || time.Since(a.cancelled) < a.of.drain)
}

func (tr *troupe) fault(format string, args ...any) {
	tr.wrong = append(tr.wrong, fmt.Sprintf(format, args...))
}

// enter puts an actor on the stage.
func (tr *troupe) enter(a *actor) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for b := range tr.stage {
		x, y := plan.Call{Safe: true, Claims: a.what.Claims}, plan.Call{Safe: true, Claims: b.what.Claims}
		if plan.Conflict(x, y) && !a.within(b) && !b.within(a) {
			tr.fault("call %d of %s beside call %d of %s", a.call+1, a.of.name, b.call+1, b.of.name)
		}
	}
	for b := a.of.by; b != nil; b = b.of.by {
		if len(b.what.Claims) > 0 {
			for _, c := range a.what.Claims {
				if !covered(c, b.what.Claims) {
					tr.fault("call %d of %s is not covered by call %d of %s", a.call+1, a.of.name, b.call+1, b.of.name)
				}
			}
			break
		}
	}
	tr.stage[a] = true
	tr.work(a, true)
}

// work says whether an actor is at work, and counts those that are.
func (tr *troupe) work(a *actor, now bool) {
	a.permit = now
	own, all := 0, 0
	for b := range tr.stage {
		if b.working() {
			all++
			if b.of == a.of {
				own++
			}
		}
	}
	if own > a.of.limit {
		tr.fault("%d of at most %d bodies of %s", own, a.of.limit, a.of.name)
	}
	if tr.shared != nil && all > tr.limit {
		tr.fault("%d of at most %d bodies of all lanes", all, tr.limit)
	}
}

func covered(c plan.Claim, by []plan.Claim) bool {
	for _, b := range by {
		if b.Access == plan.Read && c.Access != plan.Read {
			continue
		}
		if b.Tree && (c.Key == b.Key || strings.HasPrefix(c.Key, b.Key+"/")) || !b.Tree && !c.Tree && c.Key == b.Key {
			return true
		}
	}
	return false
}

// open opens the lane of a script, with all its calls.
func (tr *troupe) open(ctx context.Context, s *script, by *actor) *played {
	p := &played{script: s, by: by, j: newJournal()}
	opts := []exec.Option{exec.Name(s.name), exec.Limit(s.limit), exec.Admit(s.admit), exec.Record(&p.timeline)}
	if s.drain > 0 {
		opts = append(opts, exec.Drain(s.drain))
	}
	if by == nil || len(s.name)%2 == 0 {
		opts = append(opts, exec.In(tr.domain))
	}
	if by == nil && tr.shared != nil {
		opts = append(opts, exec.Shared(tr.shared))
	}
	p.lane = lane(tr.t, ctx, opts...)
	tr.mu.Lock()
	tr.lanes = append(tr.lanes, p)
	tr.mu.Unlock()
	var all []exec.Job
	for i := range s.acts {
		a := &s.acts[i]
		st := &stub{j: p.j, i: i, what: a.what}
		st.prepare = func(ctx context.Context) (bool, error) { <-time.After(a.prepare); return true, nil }
		st.run = func(ctx context.Context) exec.Outcome { return tr.play(ctx, &actor{act: *a, of: p, call: i}) }
		if a.hard {
			st.settled = func(context.Context, exec.Outcome) error { p.j.add(i, "failing", nil); return errHard }
		}
		if a.gate < 0 {
			all = append(all, st)
		} else {
			all = append(all, gate{st, func(ctx context.Context) bool { return rest(ctx, a.gate) == nil }})
		}
	}
	submit(tr.t, p.lane, all...)
	p.lane.Close()
	return p
}

// play is a body.
func (tr *troupe) play(ctx context.Context, a *actor) exec.Outcome {
	defer context.AfterFunc(ctx, func() {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		a.cancelled = time.Now()
	})()
	tr.enter(a)
	defer func() {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		delete(tr.stage, a)
	}()
	passes := func(d time.Duration) {
		if a.ending == "deaf" {
			<-time.After(5 * d)
			return
		}
		if rest(ctx, d) != nil && a.ending == "slow" {
			<-time.After(time.Second)
		}
	}
	passes(a.before)
	if len(a.lanes) > 0 {
		tr.mu.Lock()
		tr.work(a, false)
		tr.mu.Unlock()
		var open []*played
		for i := range a.lanes {
			p := tr.open(ctx, &a.lanes[i], a)
			if open = append(open, p); !a.together && !a.leaves {
				_ = p.lane.Wait()
			}
		}
		if !a.leaves {
			for _, p := range open {
				_ = p.lane.Wait()
			}
			tr.mu.Lock()
			tr.work(a, ctx.Err() == nil)
			tr.mu.Unlock()
		}
	}
	passes(a.after)
	switch a.ending {
	case "error":
		return exec.Outcome{Err: errBoom}
	case "panic":
		panic(errBoom)
	case "goexit":
		runtime.Goexit()
	}
	return exec.Outcome{Value: a.call}
}

// review demands of a lane that has ended what is promised of every lane.
func (tr *troupe) review(t *rapid.T, p *played) {
	err := p.lane.Wait()
	hard := errors.Is(err, errHard)
	c := checks{limit: 1000, ordered: true, hard: hard} // the bodies have counted themselves
	for _, a := range p.acts {
		c.calls = append(c.calls, a.what)
	}
	check(t, p.j, c)
	checkSums(t, p.timeline.Snapshot(), hard)
	checkTimes(t, p.j, p.timeline.Snapshot())
	for _, e := range p.j.all() {
		var not *exec.NotRunError
		if e.stage != "settled" || !errors.As(e.err, &not) || !not.Unclaimed {
			continue
		}
		require.NotNil(t, p.by, "only what is nested is refused: %v", not)
		holder := p.by
		for len(holder.what.Claims) == 0 && holder.of.by != nil {
			holder = holder.of.by
		}
		var un *exec.UncoveredError
		if errors.As(not, &un) {
			assert.False(t, covered(un.Claim, holder.what.Claims), "%v", un)
			assert.Contains(t, p.acts[e.call].what.Claims, un.Claim)
			assert.Equal(t, exec.Caller{Lane: holder.of.name, Call: holder.call}, un.Holder)
			assert.ElementsMatch(t, holder.what.Claims, un.Held)
		} else {
			assert.ErrorIs(t, not, exec.ErrLeaseEnded)
		}
	}
}

// Lanes share a Domain, and perhaps a semaphore, and lanes are nested in their bodies: whatever they do, what conflicts
// is never at work at the same time, permits are never too many, every call has its outcome, nothing is stuck and nothing
// is left.
func TestDomainStress(t *testing.T) {
	rounds := 12 // of 100
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		rapid.Check(t, domainStress)
	}
}

func domainStress(t *rapid.T) {
	var scripts []script
	for k := range rapid.IntRange(2, 3).Draw(t, "lanes") {
		scripts = append(scripts, anyScript(t, string(rune('A'+k)), 0))
	}
	limit := rapid.IntRange(0, 3).Draw(t, "shared")
	foreign := rapid.IntRange(0, 3).Draw(t, "foreign") == 0
	type cancel struct {
		at         time.Duration
		lane, call int // call: below 0: the lane
	}
	var cancels []cancel
	for k := range rapid.IntRange(0, 4).Draw(t, "cancels") {
		cancels = append(cancels, cancel{
			time.Duration(rapid.IntRange(0, 20).Draw(t, "half seconds"))*time.Second/2 + time.Duration(310+40*k)*time.Millisecond,
			rapid.IntRange(0, 5).Draw(t, "lane"),
			rapid.IntRange(-1, 2).Draw(t, "call"),
		})
	}
	rapid.SyncTest(t, func(t *rapid.T) {
		s, d := newService()
		tr := &troupe{t: t, domain: d, limit: limit, stage: map[*actor]bool{}}
		if foreign {
			tr.domain = s
		}
		if limit > 0 {
			tr.shared = semaphore.NewWeighted(int64(limit))
		}
		for _, c := range cancels {
			go func() {
				<-time.After(c.at)
				tr.mu.Lock()
				var l *exec.Lane
				if c.lane < len(tr.lanes) {
					l = tr.lanes[c.lane].lane
				}
				tr.mu.Unlock()
				switch {
				case l == nil:
				case c.call < 0:
					l.Cancel(errBoom)
				default:
					l.CancelCall(c.call, errBoom)
				}
			}()
		}
		for k := range scripts {
			tr.open(context.Background(), &scripts[k], nil)
			<-time.After(100 * time.Millisecond)
		}
		<-time.After(time.Hour) // whatever was deaf comes to its end
		synctest.Wait()
		assert.Empty(t, tr.wrong)
		assert.Empty(t, tr.stage)
		for _, p := range tr.lanes {
			tr.review(t, p)
		}
		vacant(t, d)
		if foreign {
			s.book.closed(t)
		}
		if tr.shared != nil {
			allBack(t, tr.shared, int64(limit))
		}
		assert.Zero(t, workers())
	})
}
