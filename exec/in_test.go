package exec_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// take holds claims in a Domain as some call of another lane would, until Release.
func take(t require.TestingT, d exec.Domain, c plan.Call) exec.Lease {
	l, err := d.Acquire(context.Background(), exec.Request{By: exec.Caller{Lane: "other", Call: 41}, Claims: c.Claims, Exclusive: c.Exclusive()})
	require.NoError(t, err)
	return l
}

// callers names the calls that hold something in a Domain, or wait.
func callers(d *exec.MemoryDomain) (holding, waiting []string) {
	for _, h := range d.Holds() {
		holding = append(holding, h.By.String())
	}
	for _, b := range d.Blocked() {
		waiting = append(waiting, b.Who.String())
	}
	return holding, waiting
}

// Kinds of Domain that nobody can use.
type (
	listDomain []int              // cannot be compared
	boxDomain  struct{ what any } // can, unless it has something in it that cannot
)

func (listDomain) Acquire(context.Context, exec.Request) (exec.Lease, error) { panic("used") }
func (boxDomain) Acquire(context.Context, exec.Request) (exec.Lease, error)  { panic("used") }

func TestDomainOptions(t *testing.T) {
	bad := map[string]exec.Option{
		"In nil":                 exec.In(nil),
		"In nil pointer":         exec.In((*exec.MemoryDomain)(nil)),
		"In nil pointer of ours": exec.In((*service)(nil)),
		"In list":                exec.In(listDomain{}),
		"In box":                 exec.In(boxDomain{[]int{1}}),
		"Shared nil":             exec.Shared(nil),
	}
	for name, opt := range bad {
		l, err := exec.NewLane(t.Context(), opt)
		require.ErrorIs(t, err, exec.ErrOption, name)
		assert.Nil(t, l)
		assert.Less(t, len(err.Error()), 200)
		_, err = exec.Run(t.Context(), nil, nothing, opt)
		require.ErrorIs(t, err, exec.ErrOption, name)
		_, err = exec.Run(t.Context(), nil, nothing, opt, exec.In(exec.NewDomain()), exec.Shared(semaphore.NewWeighted(1)))
		require.NoError(t, err, "the last one counts")
	}
}

// Calls of different lanes that conflict take turns, in the order in which they came; others do not.
func TestDomainKeepsLanesApart(t *testing.T) {
	for _, a := range admissions {
		synctest.Test(t, func(t *testing.T) {
			d := exec.NewDomain()
			j := newJournal()
			js := j.stubs(writes("a"), reads("a"), reads("a"), writes("a"), reads("a"), writes("b"), exclusive,
				plan.Call{Safe: true, Claims: []plan.Claim{{Key: "a", Tree: true}}},
				plan.Call{Claims: []plan.Claim{{Key: "a/x"}}}) // what an exclusive call claims counts here
			var lanes []*exec.Lane
			for _, s := range js {
				s.run = takes(time.Minute)
				l := lane(t, t.Context(), exec.In(d), exec.Admit(a.open))
				submit(t, l, s)
				synctest.Wait()
				<-time.After(time.Second)
				lanes = append(lanes, l)
			}
			for _, l := range lanes {
				require.NoError(t, finish(l))
			}
			const m = time.Minute
			for i, at := range []time.Duration{0, m, m, 2 * m, 3 * m, 5 * time.Second, 6 * time.Second, 4 * m, 5 * m} {
				assert.Equal(t, at, j.find(t, i, "run").at, "call %d", i)
			}
			vacant(t, d)
		})
	}
}

// Nobody waits for an approval, or for what comes before it, with claims in hand or a place in the line for them.
func TestDomainTicketAfterApproval(t *testing.T) {
	for _, slow := range []string{"Classify", "Prepare", "Await", "the lane", "the call before"} {
		t.Run(slow, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := exec.NewDomain()
				j := newJournal()
				js := j.stubs(free, writes("k"), writes("k"), writes("k"))
				approved := false
				wait := func() {
					if !approved {
						<-time.After(5 * time.Second)
						approved = true
					}
				}
				var asked exec.Job = js[1]
				switch slow {
				case "Classify":
					js[1].classify = func() plan.Call { wait(); return writes("k") }
				case "Prepare":
					js[1].prepare = func(context.Context) (bool, error) { wait(); return true, nil }
				case "Await":
					asked = gate{js[1], func(context.Context) bool { wait(); return true }}
				case "the lane":
					js[0].prepare = func(context.Context) (bool, error) { wait(); return false, nil }
				case "the call before":
					js[0].what = writes("k") // the lane's own admission keeps js[1] back
					js[0].run = func(context.Context) exec.Outcome { return exec.Outcome{} }
					js[0].prepare = func(context.Context) (bool, error) { wait(); return false, nil }
				}
				l := lane(t, t.Context(), exec.In(d), exec.Name("A"))
				submit(t, l, js[0], asked)
				synctest.Wait()
				holding, waiting := callers(d)
				assert.Empty(t, append(holding, waiting...))

				// It came first, but the others need not wait for its approval, and the one that came before that is before it.
				others := lane(t, t.Context(), exec.In(d), exec.Name("B"))
				js[2].run, js[3].run = takes(10*time.Second), takes(10*time.Second)
				<-time.After(time.Second)
				submit(t, others, js[2])
				<-time.After(5 * time.Second)
				third := lane(t, t.Context(), exec.In(d), exec.Name("C"))
				submit(t, third, js[3])
				synctest.Wait()
				holding, waiting = callers(d)
				assert.Equal(t, []string{"call 1 of B"}, holding)
				assert.Equal(t, []string{"call 2 of A", "call 1 of C"}, waiting)
				for _, l := range []*exec.Lane{l, others, third} {
					require.NoError(t, finish(l))
				}
				for i, at := range map[int]time.Duration{1: 11 * time.Second, 2: time.Second, 3: 11 * time.Second} {
					assert.Equal(t, at, j.find(t, i, "run").at)
				}
				vacant(t, d)
			})
		})
	}
}

// A call waits for all of its claims together, and holds none of them meanwhile.
func TestDomainClaimsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		first := take(t, d, writes("b"))
		l := lane(t, t.Context(), exec.In(d), exec.Name("A"))
		j := newJournal()
		submit(t, l, &stub{j: j, what: writes("a", "b", "c")})
		synctest.Wait()
		holding, waiting := callers(d)
		assert.Equal(t, []string{"call 42 of other"}, holding)
		assert.Equal(t, []string{"call 1 of A"}, waiting)
		first.Release()
		require.NoError(t, finish(l))
		vacant(t, d)
	})
}

// Calls that wait for the Domain do not count against the limit: the lane goes on with what does not conflict.
func TestDomainWaitDoesNotOccupyTheLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		lease := take(t, d, writes("k", "l"))
		j := newJournal()
		js := j.stubs(reads("k"), reads("l"), reads("k"), reads("l"), free, writes("x"), free, writes("y"))
		for _, s := range js {
			s.run = takes(time.Second)
		}
		l := lane(t, t.Context(), exec.In(d), exec.Limit(2), exec.Admit(plan.NewKeyed))
		submit(t, l, jobs(js)...)
		<-time.After(10*time.Second + time.Second/2)
		assert.Equal(t, []string{"1s ran 4", "1s ran 5", "2s ran 6", "2s ran 7"}, slices.Sorted(slices.Values(j.of("ran"))))
		_, waiting := callers(d)
		assert.Len(t, waiting, 4)
		lease.Release()
		require.NoError(t, finish(l))
		for _, at := range []string{"11.5s", "12.5s"} { // but two at once, no more
			n := 0
			for _, e := range j.of("ran") {
				if strings.HasPrefix(e, at) {
					n++
				}
			}
			assert.Equal(t, 2, n, "%v", j.of("ran"))
		}
		check(t, j, checks{calls: []plan.Call{js[0].what, js[1].what, js[2].what, js[3].what, free, js[5].what, free, js[7].what}, limit: 2, ordered: true})
		vacant(t, d)
	})
}

// Claims are free when the body has returned: its Settled and its Commit do not keep them, nor do the commits before its
// own.
func TestDomainReleasesWhenTheBodyReturns(t *testing.T) {
	for _, slow := range []string{"Settled", "Commit", "the commit before"} {
		t.Run(slow, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := exec.NewDomain()
				j := newJournal()
				js := j.stubs(free, writes("k"), writes("k"))
				wait := func() error { <-time.After(time.Hour); return nil }
				js[1].run = takes(time.Second)
				js[1].settled = func(context.Context, exec.Outcome) error {
					holding, _ := callers(d)
					assert.NotContains(t, holding, "call 2 of A")
					if slow == "Settled" {
						return wait()
					}
					return nil
				}
				switch slow {
				case "Commit":
					js[1].commit = func(context.Context) error { return wait() }
				case "the commit before":
					js[0].run = takes(time.Hour)
				}
				a, b := lane(t, t.Context(), exec.In(d), exec.Name("A")), lane(t, t.Context(), exec.In(d), exec.Name("B"))
				submit(t, a, js[0], js[1])
				<-time.After(time.Second / 2)
				submit(t, b, js[2])
				require.NoError(t, finish(b))
				assert.Equal(t, time.Second, j.find(t, 2, "run").at)
				require.NoError(t, finish(a))
				vacant(t, d)
			})
		})
	}
}

// What an abandoned body may still write is nobody else's until it has returned, and of one that may write anything
// everything is.
func TestDomainAbandonedBodyKeepsItsClaims(t *testing.T) {
	for name, what := range map[string]plan.Call{"claims": writes("k"), "exclusive claims": {Claims: writes("k").Claims}, "exclusive": exclusive, "keyless": free} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := exec.NewDomain()
				j := newJournal()
				js := j.stubs(what, writes("k"), reads("other"), free)
				js[0].run = func(context.Context) exec.Outcome { <-time.After(time.Hour); return exec.Outcome{} }
				a := lane(t, t.Context(), exec.In(d), exec.Name("A"), exec.Drain(time.Second))
				submit(t, a, js[0])
				synctest.Wait()
				a.Cancel(errBoom)
				require.Equal(t, errBoom, a.Wait())
				assert.Equal(t, time.Second, time.Since(j.start))
				holds := d.Holds()
				require.Len(t, holds, 1)
				assert.Equal(t, exec.Caller{Lane: "A"}, holds[0].By)
				assert.ElementsMatch(t, what.Claims, holds[0].Claims)
				assert.Equal(t, time.Second, holds[0].Abandoned.Sub(j.start))

				for _, s := range js[1:] {
					s.run = takes(time.Second)
				}
				b := lane(t, t.Context(), exec.In(d), exec.Name("B"))
				submit(t, b, jobs(js[1:])...)
				<-holds[0].Ended
				assert.Equal(t, time.Hour, time.Since(j.start))
				require.NoError(t, finish(b))
				want := [3]time.Duration{time.Second, time.Second, time.Second}
				switch name {
				case "claims", "exclusive claims":
					want[0] = time.Hour
				case "exclusive":
					want = [3]time.Duration{time.Hour, time.Hour, time.Hour}
				}
				for i, at := range want {
					assert.Equal(t, at, j.find(t, i+1, "run").at, "call %d", i+1)
				}
				vacant(t, d)
			})
		})
	}
}
