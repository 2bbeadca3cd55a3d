package exec_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

func TestE9HardError(t *testing.T) {
	ways := map[string]func() error{
		"error":  func() error { return errBoom },
		"panic":  func() error { panic(errBoom) },
		"goexit": func() error { runtime.Goexit(); return nil },
	}
	for how, way := range ways {
		for _, stage := range []string{"Classify", "second Classify", "Prepare", "Settled", "Commit", "Skip"} {
			if strings.HasSuffix(stage, "Classify") && how == "error" {
				continue // it returns none
			}
			t.Run(stage+" "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					j := newJournal()
					js := j.stubs(free, free, free, exclusive, free)
					js[0].run = takes(time.Second)
					js[2].run = takes(time.Hour) // is cancelled
					bad := js[1]
					f := func() error {
						j.add(bad.i, "failing", nil)
						return way()
					}
					switch stage {
					case "Classify":
						bad = js[4]
						bad.classify = func() plan.Call { f(); return free }
					case "second Classify":
						js[2].run = nil
						n := 0
						bad = js[3]
						bad.classify = func() plan.Call {
							if n++; n == 2 {
								f()
							}
							return exclusive
						}
					case "Prepare":
						bad.prepare = func(context.Context) (bool, error) { <-time.After(time.Minute); return true, f() }
					case "Settled":
						bad.settled = func(context.Context, exec.Outcome) error { return f() }
					case "Commit":
						bad.commit = func(context.Context) error { return f() }
					case "Skip":
						bad = js[3]
						bad.skip = func(context.Context, error) error { return f() }
						js[2].run = takes(2 * time.Second)
					}
					l := lane(t, t.Context())
					submit(t, l, jobs(js)...)
					if stage == "Skip" {
						synctest.Wait()
						l.CancelCall(3, errors.New("cause"))
					}
					err := l.Wait()
					var p *exec.PanicError
					switch how {
					case "error":
						require.ErrorIs(t, err, errBoom)
						assert.Contains(t, err.Error(), fmt.Sprintf("call %d: %s: ", bad.i+1, stage))
					case "panic":
						require.ErrorIs(t, err, errBoom)
						fallthrough
					case "goexit":
						require.ErrorAs(t, err, &p)
						assert.Contains(t, stage, p.In)
					}
					assert.Less(t, time.Since(j.start), time.Hour, "bodies are cancelled")
					check(t, j, checks{calls: []plan.Call{free, free, free, exclusive, free}, limit: exec.DefaultLimit, ordered: true, hard: true})
					_, err = l.Submit(js[0])
					require.ErrorIs(t, err, l.Wait())
				})
			})
		}
	}
	t.Run("the first in time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			got, err := exec.Run(t.Context(), times(4, free), func(ctx context.Context, i int) (int, error) {
				switch i {
				case 3:
					<-time.After(time.Second)
					return 0, errBoom
				case 2:
					<-time.After(2 * time.Second)
					return 0, errors.New("later")
				}
				return 0, rest(ctx, time.Hour)
			})
			require.Equal(t, errBoom, err)
			assert.Nil(t, got)
		})
	})
	t.Run("no start after it", func(t *testing.T) {
		var starts atomic.Int64
		_, err := exec.Run(t.Context(), times(100, free), func(context.Context, int) (int, error) {
			if starts.Add(1) == 5 {
				return 0, errBoom
			}
			return 0, nil
		}, exec.Limit(1))
		require.Equal(t, errBoom, err)
		assert.EqualValues(t, 5, starts.Load())
	})
	t.Run("an echo of the cancel is none", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errBoom)
			defer cancel()
			_, err := exec.Run(ctx, times(4, free), func(ctx context.Context, i int) (int, error) {
				<-ctx.Done()
				return 0, fmt.Errorf("fetch: %w", ctx.Err())
			})
			require.Equal(t, errBoom, err)
			_, err = exec.Run(ctx, times(4, free), func(ctx context.Context, i int) (int, error) { return 0, nil })
			require.Equal(t, errBoom, err)
		})
	})
	t.Run("a commit of Each", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for how, f := range ways {
				var got []int
				err := exec.Each(t.Context(), times(9, free), func(ctx context.Context, i int) (int, error) { return i, nil },
					func(i, _ int) error {
						got = append(got, i)
						if i == 2 {
							return f()
						}
						return nil
					})
				require.Error(t, err, how)
				if how != "goexit" {
					require.ErrorIs(t, err, errBoom)
				}
				assert.Equal(t, []int{0, 1, 2}, got)
			}
		})
	})
	t.Run("Each after a cancel commits up to the first hole", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			var got []int
			err := exec.Each(ctx, times(5, free), func(ctx context.Context, i int) (int, error) {
				if i == 2 {
					return 0, rest(ctx, time.Hour)
				}
				if i == 1 {
					<-ctx.Done()
				}
				if i == 3 {
					<-time.After(time.Second)
					cancel(errBoom)
				}
				return i, nil
			}, func(i, r int) error { got = append(got, r); return nil })
			require.Equal(t, errBoom, err)
			assert.Equal(t, []int{0, 1}, got)
		})
	})
}

// A Settled may fail while a Skip is about to begin; under -race, the two share nothing.
func TestE9HardErrorBesideASkip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lane(t, t.Context(), exec.Admit(plan.NewKeyed))
		submit(t, l, bare{what: writes("a")}, bare{what: writes("a"), skip: 5 * time.Second}, bare{what: free, end: time.Second, settled: errHard})
		synctest.Wait()
		l.Cancel(errBoom)
		require.ErrorIs(t, finish(l), errHard)
	})
}

// A bare job keeps no journal, whose lock would hide from the race detector what its stages do beside one another. Its
// body ends some time after the cancel.
type bare struct {
	what      plan.Call
	end, skip time.Duration
	settled   error
}

func (b bare) Classify() plan.Call                         { return b.what }
func (b bare) Prepare(context.Context) (bool, error)       { return true, nil }
func (b bare) Settled(context.Context, exec.Outcome) error { return b.settled }
func (b bare) Commit(context.Context) error                { return nil }

func (b bare) Run(ctx context.Context) exec.Outcome {
	<-ctx.Done()
	<-time.After(b.end)
	return exec.Outcome{}
}

func (b bare) Skip(context.Context, error) error {
	<-time.After(b.skip)
	return nil
}
