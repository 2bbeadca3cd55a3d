package exec_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

func TestE6DrainBound(t *testing.T) {
	// stubborn ignores its cancel; what it returns comes late.
	stubborn := func(context.Context) exec.Outcome {
		<-time.After(time.Hour)
		return exec.Outcome{Value: "late"}
	}
	atRest := func() { <-time.After(2 * time.Hour) } // a bubble must outlive what runs in it
	t.Run("cancel of the lane", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			js := j.stubs(free, free, exclusive)
			js[0].run = stubborn
			js[1].run = takes(time.Minute)
			l := lane(t, t.Context(), exec.Drain(5*time.Second))
			submit(t, l, jobs(js)...)
			<-time.After(time.Second)
			l.Cancel(errBoom)
			require.Equal(t, errBoom, l.Wait())
			assert.Equal(t, 6*time.Second, time.Since(j.start))
			assert.Equal(t, &exec.AbandonedError{Call: 0, After: 5 * time.Second, Cause: errBoom}, j.find(t, 0, "settled").err)
			assert.Equal(t, []string{"1s settled 1", "6s settled 0"}, j.of("settled"))
			assert.Equal(t, []string{"6s commit 0", "6s commit 1", "6s skip 2"}, j.of("commit", "skip"))
			<-time.After(2 * time.Hour) // its late return changes nothing
			assert.Equal(t, "1h0m0s ran 0", j.of("ran")[1])
			j.find(t, 0, "settled")
			j.find(t, 0, "commit")
		})
	})
	t.Run("cancel of one call", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			defer atRest()
			js := j.stubs(free, free, free, exclusive, free)
			js[0].run = stubborn
			js[1].run = takes(time.Minute)
			asked := gate{js[2], func(ctx context.Context) bool { <-ctx.Done(); return false }}
			l := lane(t, t.Context(), exec.Drain(5*time.Second), exec.Admit(plan.NewWaves))
			submit(t, l, js[0], js[1], asked, js[3], js[4])
			<-time.After(time.Second)
			l.CancelCall(0, errBoom)
			l.CancelCall(0, errors.New("too late"))
			l.Close()
			err := l.Wait()
			abandoned := &exec.AbandonedError{Call: 0, After: 5 * time.Second, Cause: errBoom}
			require.Equal(t, abandoned, err)
			assert.Equal(t, time.Minute, time.Since(j.start)) // the sibling finishes, uncancelled
			assert.Equal(t, []string{"6s settled 0", "6s settled 2", "1m0s settled 1"}, j.of("settled"))
			assert.NoError(t, j.find(t, 1, "settled").err)
			assert.Equal(t, &exec.NotRunError{Call: 2, Cause: abandoned}, j.find(t, 2, "settled").err)
			assert.Equal(t, abandoned, j.find(t, 3, "skip").err)
			assert.Equal(t, abandoned, j.find(t, 4, "skip").err)
		})
	})
	t.Run("it returns while a sibling runs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			js := j.stubs(free, free)
			js[0].run = stubborn
			js[1].run = takes(2 * time.Hour)
			l := lane(t, t.Context(), exec.Drain(5*time.Second))
			submit(t, l, jobs(js)...)
			synctest.Wait()
			l.CancelCall(0, errBoom)
			require.ErrorIs(t, finish(l), errBoom)
			assert.Equal(t, []string{"1h0m0s ran 0", "2h0m0s ran 1"}, j.of("ran"))
			assert.Equal(t, []string{"5s settled 0", "2h0m0s settled 1"}, j.of("settled"))
			assert.Equal(t, []string{"5s commit 0", "2h0m0s commit 1"}, j.of("commit"))
		})
	})
	t.Run("after a hard error", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			defer atRest()
			js := j.stubs(free, free, free)
			js[0].run = stubborn
			js[1].run = takes(time.Second)
			js[1].settled = func(context.Context, exec.Outcome) error { return errBoom }
			l := lane(t, t.Context(), exec.Drain(5*time.Second))
			submit(t, l, jobs(js)...)
			require.ErrorIs(t, l.Wait(), errBoom)
			assert.Equal(t, 6*time.Second, time.Since(j.start))
			assert.ErrorAs(t, j.find(t, 0, "settled").err, new(*exec.AbandonedError))
			assert.Empty(t, j.of("commit", "skip"))
		})
	})
	t.Run("an Await that ignores its cancel", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			js := j.stubs(free, free)
			deaf := gate{js[0], func(context.Context) bool { <-time.After(time.Hour); return true }}
			js[1].run = takes(time.Minute)
			l := lane(t, t.Context(), exec.Drain(5*time.Second))
			submit(t, l, deaf, js[1])
			<-time.After(time.Second)
			l.CancelCall(0, errBoom)
			require.NoError(t, finish(l))
			assert.Equal(t, []string{"6s settled 0", "1m0s settled 1"}, j.of("settled"))
			assert.Equal(t, &exec.NotRunError{Call: 0, Cause: errBoom}, j.find(t, 0, "settled").err)
			<-time.After(time.Hour)
			assert.Empty(t, j.of("run")[1:])
		})
	})
	t.Run("Run", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errBoom)
			defer cancel()
			defer atRest()
			start := time.Now()
			got, err := exec.Run(ctx, times(3, free), func(ctx context.Context, i int) (int, error) {
				<-time.After(time.Duration(i) * time.Minute)
				return 7, nil
			}, exec.Drain(5*time.Second))
			assert.Equal(t, errBoom, err)
			assert.Nil(t, got)
			assert.Equal(t, 6*time.Second, time.Since(start))
		})
	})
	t.Run("Settled runs while Run may", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			js := j.stubs(free)
			settled := make(chan struct{})
			js[0].run = func(context.Context) exec.Outcome { <-settled; return exec.Outcome{} }
			js[0].settled = func(context.Context, exec.Outcome) error { close(settled); return nil }
			l := lane(t, t.Context(), exec.Drain(time.Second))
			submit(t, l, js[0])
			synctest.Wait()
			l.CancelCall(0, errBoom)
			require.Error(t, finish(l))
		})
	})
}
