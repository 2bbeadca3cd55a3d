package exec_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// Two agents edit the same files in opposite orders, turn after turn: nothing is lost, and nothing gets stuck. The files
// are plain numbers, so that an edit beside another one loses something, and the race detector sees it.
func TestDomainTwoAgents(t *testing.T) {
	const files = 20
	rounds := 1000
	if testing.Short() {
		rounds = 60
	}
	name := func(i int) string { return fmt.Sprintf("src/%d.go", i) }
	edits, moves := make([]plan.Call, files), make([]plan.Call, files)
	for i := range files {
		edits[i] = writes(name(i))
		moves[i] = writes(name(i), name((i+7)%files))
	}
	for what, calls := range map[string][]plan.Call{"edits": edits, "moves": moves} {
		t.Run(what, func(t *testing.T) {
			d := exec.NewDomain()
			var file [files]int
			edit := func(i int) {
				n := file[i]
				runtime.Gosched()
				file[i] = n + 1
			}
			agent := func(who string, backward bool) {
				batch := slices.Clone(calls)
				if backward {
					slices.Reverse(batch)
					for i := range batch { // and what it moves it moves the other way
						batch[i].Claims = slices.Clone(batch[i].Claims)
						slices.Reverse(batch[i].Claims)
					}
				}
				for round := range rounds {
					a := admissions[round%len(admissions)]
					err := inside(t.Context(), batch, func(_ context.Context, i int) error {
						if backward {
							i = files - 1 - i
						}
						edit(i)
						if what == "moves" {
							edit((i + 7) % files)
						}
						return nil
					}, exec.In(d), exec.Name(who), exec.Admit(a.open))
					if !assert.NoError(t, err) {
						return
					}
				}
			}
			var both sync.WaitGroup
			both.Go(func() { agent("forth", false) })
			both.Go(func() { agent("back", true) })
			both.Wait()
			want := 2 * rounds
			if what == "moves" {
				want *= 2
			}
			for i, n := range file {
				assert.Equal(t, want, n, name(i))
			}
			vacant(t, d)
		})
	}
}

// Six agents are calls of one lane. Each starts five calls, right below it or through an agent of its own. Of all bodies
// no more are at work than the shared semaphore says, and all come to their end.
func TestDomainSixAgents(t *testing.T) {
	for _, limit := range []int64{1, 8} {
		for depth := 1; depth <= 2; depth++ {
			t.Run(fmt.Sprintf("limit %d, depth %d", limit, depth), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					sem := semaphore.NewWeighted(limit)
					d := exec.NewDomain()
					opts := []exec.Option{exec.In(d), exec.Shared(sem), exec.Limit(6)}
					var m meter
					var sub func(ctx context.Context, dir string, left int) error
					sub = func(ctx context.Context, dir string, left int) error {
						if err := m.work(ctx, time.Second); err != nil {
							return err
						}
						calls := []plan.Call{tree(dir + "/sub")}
						if left == 1 {
							calls = []plan.Call{reads(dir + "/a"), writes(dir + "/a"), reads(dir + "/b"), reads(dir + "/b"), writes(dir+"/a", dir+"/b")}
						}
						err := inside(ctx, calls, func(ctx context.Context, _ int) error {
							if left > 1 {
								return sub(ctx, dir+"/sub", left-1)
							}
							return m.work(ctx, time.Second)
						}, opts...)
						return errors.Join(err, m.work(ctx, time.Second))
					}
					calls := make([]plan.Call, 6)
					for i := range calls {
						calls[i] = tree(fmt.Sprint("agent ", i%4)) // two of them share with another
					}
					start := time.Now()
					require.NoError(t, inside(t.Context(), calls, func(ctx context.Context, i int) error {
						return sub(ctx, calls[i].Claims[0].Key, depth)
					}, append(opts, exec.Admit(plan.NewKeyed))...))
					assert.EqualValues(t, 6*(5+2*depth), m.all.Load())
					assert.LessOrEqual(t, m.peak.Load(), limit)
					if limit == 1 {
						assert.Equal(t, time.Duration(m.all.Load())*time.Second, time.Since(start))
					} else {
						assert.Greater(t, m.peak.Load(), int64(4))
					}
					allBack(t, sem, limit)
					vacant(t, d)
				})
			})
		}
		t.Run(fmt.Sprintf("limit %d, at once", limit), func(t *testing.T) { // in real time, and without claims
			sem := semaphore.NewWeighted(limit)
			rounds := 200
			if testing.Short() {
				rounds = 20
			}
			var m meter
			for range rounds {
				busy := func() {
					m.come()
					runtime.Gosched()
					m.leave()
				}
				require.NoError(t, inside(t.Context(), times(6, free), func(ctx context.Context, _ int) error {
					busy()
					err := inside(ctx, times(5, free), func(ctx context.Context, _ int) error {
						busy()
						err := inside(ctx, times(2, free), func(context.Context, int) error { busy(); return nil })
						busy()
						return err
					})
					busy()
					return err
				}, exec.Shared(sem), exec.In(exec.NewDomain())))
			}
			assert.EqualValues(t, rounds*6*(2+5*(2+2)), m.all.Load())
			assert.LessOrEqual(t, m.peak.Load(), limit)
			allBack(t, sem, limit)
		})
	}
}
