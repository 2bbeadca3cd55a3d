package exec_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// A body has the token of its lease, and what is nested in it the same, however deep. Outside of bodies there is none.
func TestToken(t *testing.T) {
	_, ok := exec.FencingToken(t.Context())
	assert.False(t, ok)
	s, d := newService()
	for _, dom := range []exec.Domain{d, s} {
		var tokens []uint64
		require.NoError(t, inside(t.Context(), []plan.Call{writes("a"), writes("a"), free}, func(ctx context.Context, i int) error {
			token, ok := exec.FencingToken(ctx)
			assert.True(t, ok)
			assert.NotZero(t, token)
			tokens = append(tokens, token)
			if i == 2 { // without claims what is nested competes outside, as something of its own
				return inside(ctx, []plan.Call{writes("a")}, func(ctx context.Context, _ int) error {
					inner, ok := exec.FencingToken(context.WithoutCancel(ctx))
					assert.True(t, ok)
					assert.Greater(t, inner, token)
					return nil
				})
			}
			return inside(ctx, []plan.Call{writes("a"), free}, func(ctx context.Context, _ int) error {
				return inside(ctx, []plan.Call{reads("a")}, func(ctx context.Context, _ int) error {
					inner, ok := exec.FencingToken(ctx)
					assert.True(t, ok)
					assert.Equal(t, token, inner)
					return nil
				})
			})
		}, exec.In(dom), exec.Limit(1)))
		require.Len(t, tokens, 3)
		assert.Less(t, tokens[0], tokens[1], "of two that were in each other's way the later has the higher")
		vacant(t, d)
	}
	// Neither a lane without a Domain, nor the stages of one that has one, have a token.
	none := func(ctx context.Context) {
		_, ok := exec.FencingToken(ctx)
		assert.False(t, ok)
	}
	require.NoError(t, inside(t.Context(), times(2, free), func(ctx context.Context, _ int) error { none(ctx); return nil }, exec.Shared(semaphore.NewWeighted(1))))
	job := newJournal().stubs(writes("a"))[0]
	job.prepare = func(ctx context.Context) (bool, error) { none(ctx); return true, nil }
	job.settled = func(ctx context.Context, _ exec.Outcome) error { none(ctx); return nil }
	job.commit = func(ctx context.Context) error { none(ctx); return nil }
	l := lane(t, t.Context(), exec.In(d))
	submit(t, l, gate{job, func(ctx context.Context) bool { none(ctx); return true }})
	require.NoError(t, finish(l))
	assert.Len(t, job.j.of("run"), 1)
}

// Of a context that was kept after its body has returned nothing is to be had: neither its claims, which are somebody
// else's now, nor those of the call that came after it.
func TestDomainKeptContext(t *testing.T) {
	for _, kind := range []string{"memory", "foreign", "shared too", "waited", "nested", "used before"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, d := newService()
				opts := []exec.Option{exec.In(d), exec.Name("A")}
				sem := semaphore.NewWeighted(1)
				switch kind {
				case "foreign":
					opts[0] = exec.In(s)
				case "shared too":
					opts = append(opts, exec.Shared(sem))
				case "waited":
					lease := take(t, d, writes("k"))
					time.AfterFunc(time.Second, lease.Release)
				}
				var kept context.Context
				use := func(ctx context.Context, i int) error {
					if i == 0 {
						kept = context.WithoutCancel(ctx)
						if kind == "used before" {
							_, ok := exec.FencingToken(kept)
							assert.True(t, ok)
							return inside(kept, []plan.Call{writes("k")}, func(context.Context, int) error { return nil })
						}
						return nil
					}
					// The next call of the lane has the same claims, and perhaps what the first one had them in.
					before, _ := exec.FencingToken(ctx)
					token, ok := exec.FencingToken(kept)
					assert.True(t, !ok || token < before, "%d is that of another call", token)
					for _, what := range []plan.Call{writes("k"), free, exclusive} {
						js := newJournal().stubs(what, what)
						l := lane(t, kept, exec.Name("late"))
						submit(t, l, jobs(js)...)
						require.NoError(t, finish(l))
						for i := range js {
							err := js[0].j.find(t, i, "settled").err
							var not *exec.NotRunError
							require.ErrorAs(t, err, &not)
							assert.True(t, not.Unclaimed)
							assert.ErrorIs(t, err, exec.ErrLeaseEnded)
							assert.NotContains(t, err.Error(), "call 2 of A")
						}
						err := inside(kept, []plan.Call{what}, func(context.Context, int) error { return nil })
						require.ErrorIs(t, err, exec.ErrLeaseEnded)
						for _, in := range []exec.Domain{d, s} { // also by name
							err := inside(kept, []plan.Call{what}, func(context.Context, int) error { return nil }, exec.In(in))
							assert.True(t, errors.Is(err, exec.ErrLeaseEnded) || errors.Is(err, exec.ErrOption), "%v", err)
						}
					}
					require.NoError(t, inside(kept, nil, nil))
					return nil
				}
				batch := []plan.Call{writes("k"), writes("k")}
				if kind == "nested" {
					require.NoError(t, inside(t.Context(), []plan.Call{writes("k")}, func(ctx context.Context, _ int) error {
						return inside(ctx, batch, use)
					}, opts...))
				} else {
					require.NoError(t, inside(t.Context(), batch, use, opts...))
				}
				vacant(t, d)
				assert.True(t, sem.TryAcquire(1))
			})
		})
	}
	synctest.Test(t, func(t *testing.T) { // without a Domain there is nothing to protect: the lane runs, and shares what it shared
		sem := semaphore.NewWeighted(1)
		var kept context.Context
		require.NoError(t, inside(t.Context(), times(2, exclusive), func(ctx context.Context, i int) error {
			if i == 0 {
				kept = context.WithoutCancel(ctx)
				return nil
			}
			late := lane(t, kept)
			j := newJournal()
			submit(t, late, jobs(j.stubs(writes("k"), free))...)
			go func() {
				assert.NoError(t, finish(late))
				assert.Equal(t, []string{"1s", "1s"}, []string{j.of("run")[0][:2], j.of("run")[1][:2]}, "when the permit was free")
			}()
			return rest(ctx, time.Second)
		}, exec.Shared(sem)))
		<-time.After(time.Second)
		assert.True(t, sem.TryAcquire(1))
	})
	synctest.Test(t, func(t *testing.T) { // a nested lane without claims around it takes its own, but not in a body that has returned
		d := exec.NewDomain()
		require.NoError(t, inside(t.Context(), times(1, free), func(ctx context.Context, _ int) error {
			l := lane(t, context.WithoutCancel(ctx))
			go func() {
				<-time.After(time.Second)
				s := &stub{j: newJournal(), what: writes("k")}
				submit(t, l, s)
				require.NoError(t, finish(l))
				assert.ErrorIs(t, s.j.find(t, 0, "settled").err, exec.ErrLeaseEnded)
			}()
			return nil
		}, exec.In(d)))
		<-time.After(2 * time.Second)
		vacant(t, d)
	})
}

// Holds are used again by later calls of a lane. Whoever uses a context while its body returns, or later, gets at what
// that call had or at nothing, and never at what another call has.
func TestDomainKeptContextBesideReturn(t *testing.T) {
	rounds := 4000
	if testing.Short() {
		rounds = 600
	}
	s, d := newService()
	for name, opts := range map[string][]exec.Option{
		"memory":  {exec.In(d)},
		"shared":  {exec.In(d), exec.Shared(semaphore.NewWeighted(4))},
		"foreign": {exec.In(s)},
	} {
		t.Run(name, func(t *testing.T) {
			const keys = 16
			var files [keys]int // plain: the race detector sees who is there at the same time
			var late sync.WaitGroup
			var before, after, tokens atomic.Int64
			calls := make([]plan.Call, rounds)
			for i := range calls {
				calls[i] = writes(fmt.Sprint(i%keys), fmt.Sprint("own ", i))
			}
			require.NoError(t, inside(t.Context(), calls, func(ctx context.Context, i int) error {
				files[i%keys]++
				ctx = context.WithoutCancel(ctx)
				own, has := uint64(0), i%2 == 0
				if has { // else nobody has got at the hold before
					own, _ = exec.FencingToken(ctx)
				}
				late.Go(func() {
					for range i % 7 {
						runtime.Gosched()
					}
					if token, ok := exec.FencingToken(ctx); ok {
						assert.True(t, !has || token == own, "call %d has token %d, not %d", i, own, token)
						tokens.Add(1)
					}
					err := inside(ctx, []plan.Call{writes(fmt.Sprint(i%keys), fmt.Sprint("own ", i))}, func(context.Context, int) error {
						files[i%keys]++
						before.Add(1)
						return nil
					})
					if err != nil {
						assert.ErrorIs(t, err, exec.ErrLeaseEnded)
						assert.NotErrorIs(t, err, exec.ErrOption)
						assert.False(t, errors.As(err, new(*exec.UncoveredError)), "%v", err)
						after.Add(1)
					}
				})
				for range i % 5 {
					runtime.Gosched()
				}
				return nil
			}, append(opts, exec.Limit(4), exec.Admit(plan.NewKeyed))...))
			late.Wait()
			total := 0
			for _, n := range files {
				total += n
			}
			assert.Equal(t, rounds+int(before.Load()), total)
			assert.EqualValues(t, rounds, before.Load()+after.Load())
			vacant(t, d)
			t.Logf("in time %d, too late %d, tokens %d", before.Load(), after.Load(), tokens.Load())
		})
	}
	s.book.closed(t)
}
