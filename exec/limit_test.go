package exec_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// groups are batches of which each admission makes two groups or more, and how many calls are in each.
var groups = []struct {
	name   string
	open   func() plan.Admission
	calls  []plan.Call
	groups []int
}{
	{"serial", plan.NewSerial, times(4, free), []int{4}},
	{"keyed", plan.NewKeyed, append(times(4, writes("a")), times(4, free)...), []int{8}},
	{"rolling", plan.NewRolling, append(append(times(4, free), exclusive, writes("a")), times(4, free)...), []int{4, 1, 1, 4}},
	{"rolling, a barrier first", plan.NewRolling, append([]plan.Call{exclusive}, times(4, free)...), []int{1, 4}},
	{"waves", plan.NewWaves, append(times(4, reads("a")), times(4, writes("a"))...), []int{4, 1, 1, 1, 1}},
	{"waves, an exclusive call", plan.NewWaves, append(append(times(4, free), exclusive), times(4, free)...), []int{4, 1, 4}},
	{"first-fit", plan.NewFirstFit, append(append(times(3, writes("a")), free), free), []int{3, 1, 1}},
}

// The limit is asked for once in each group, when the first call of it starts, and holds for all of it; in a Domain too,
// where what one call had is used again for another.
func TestE3LimitFuncIsAskedOncePerGroup(t *testing.T) {
	for n := range 2 * len(groups) {
		g, in := groups[n/2], n%2 == 1
		t.Run(fmt.Sprint(g.name, ", in a domain: ", in), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked int
				var now, peak, started atomic.Int64
				var before []int // how many calls had started when it was asked
				peaks := make([]int64, len(g.calls)+1)
				opts := []exec.Option{exec.Admit(g.open)}
				if in {
					opts = append(opts, exec.In(exec.NewDomain()))
				}
				_, err := exec.Run(t.Context(), g.calls, func(ctx context.Context, i int) (int, error) {
					started.Add(1)
					n := now.Add(1)
					defer now.Add(-1)
					for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
					}
					return 0, rest(ctx, time.Duration(1+i%2)*time.Second)
				}, append(opts, exec.LimitFunc(func() (int, error) {
					if asked > 0 {
						peaks[asked] = peak.Swap(0)
					}
					asked++
					before = append(before, int(started.Load()))
					return asked, nil // another one each time
				}))...)
				require.NoError(t, err)
				peaks[asked] = peak.Load()
				sum := 0
				for i, n := range g.groups {
					assert.Equal(t, sum, before[i], "calls that had started before group %d", i+1)
					assert.LessOrEqual(t, peaks[i+1], int64(i+1), "group %d", i+1)
					if g.name != "serial" {
						assert.EqualValues(t, min(n, i+1), max(1, min(int64(n), peaks[i+1])), "group %d", i+1)
					}
					sum += n
				}
				assert.Len(t, before, len(g.groups))
			})
		})
	}
}

// A lane whose limit is refused starts no body of the group, and stops.
func TestE9LimitFuncFails(t *testing.T) {
	boom := errors.New("boom")
	for name, limit := range map[string]func() (int, error){
		"an error": func() (int, error) { return 3, boom },
		"a panic":  func() (int, error) { panic(boom) },
		"zero":     func() (int, error) { return 0, nil },
		"below":    func() (int, error) { return -1, nil },
	} {
		for group := range 2 {
			t.Run(fmt.Sprint(name, " in group ", group+1), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					asked := 0
					j := newJournal()
					l := lane(t, t.Context(), exec.LimitFunc(func() (int, error) {
						if asked++; asked > group {
							return limit()
						}
						return 1, nil
					}))
					submit(t, l, jobs(j.stubs(exclusive, exclusive))...) // the second starts when the first has committed
					err := finish(l)
					assert.Error(t, err)
					if name == "an error" || name == "a panic" {
						assert.ErrorIs(t, err, boom)
					} else {
						assert.ErrorIs(t, err, exec.ErrOption)
					}
					assert.Len(t, j.of("prepare"), group, "the call that began the group was not even prepared")
					assert.Len(t, j.of("commit"), group)
				})
			})
		}
	}
	_, err := exec.NewLane(t.Context(), exec.LimitFunc(nil))
	assert.ErrorIs(t, err, exec.ErrOption)
}

// A call that waits for somebody keeps what it was in its group: it comes back to the limit of that.
func TestE3LimitFuncAndGates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		j := newJournal()
		var js []exec.Job
		for _, s := range j.stubs(free, free, free, exclusive, free, free, free) {
			s.run = takes(time.Second)
			js = append(js, gate{s, func(ctx context.Context) bool { return rest(ctx, time.Second) == nil }})
		}
		l := lane(t, t.Context(), exec.LimitFunc(func() (int, error) { asked++; return asked, nil }))
		submit(t, l, js...)
		require.NoError(t, finish(l))
		var at []time.Duration
		for _, e := range j.all() {
			if e.stage == "run" {
				at = append(at, e.at/time.Second)
			}
		}
		assert.Equal(t, []time.Duration{1, 2, 3 /* one at a time */, 5, 7, 7, 7 /* three */}, at)
	})
}

// A cancel of a call that comes while the limit is asked for reaches its Prepare.
func TestE5CancelWhileTheLimitIsAskedFor(t *testing.T) {
	stop := errors.New("stop")
	j := newJournal()
	s := j.stubs(free)[0]
	s.prepare = func(ctx context.Context) (bool, error) {
		assert.Equal(t, stop, context.Cause(ctx))
		return true, nil
	}
	var l *exec.Lane
	l = lane(t, t.Context(), exec.LimitFunc(func() (int, error) {
		l.CancelCall(0, stop)
		return 1, nil
	}))
	submit(t, l, s)
	require.NoError(t, finish(l))
	assert.Len(t, j.of("prepare"), 1)
	assert.Empty(t, j.of("run"))
	assert.Len(t, j.of("commit"), 1)
}
