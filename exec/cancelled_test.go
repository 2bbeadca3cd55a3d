package exec_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
)

// TestE4ContextThatIsDoneBeforehand makes lanes and runs of contexts that are done already: the notice of it comes while
// they are being made, which is for the race detector to judge.
func TestE4ContextThatIsDoneBeforehand(t *testing.T) {
	cause := errors.New("too late")
	for range 200 {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		l, err := exec.NewLane(ctx)
		require.NoError(t, err)
		require.ErrorIs(t, l.Wait(), cause)
		_, err = exec.Run(ctx, times(2, free), func(context.Context, int) (int, error) {
			t.Error("a body ran")
			return 0, nil
		}, exec.Drain(time.Second))
		require.ErrorIs(t, err, cause)
	}
}

// TestE5CancelBeforeClose cancels lanes that have nothing to do, and then closes them: the notice of the cancel may come
// before or after the close, and Wait must say the same.
func TestE5CancelBeforeClose(t *testing.T) {
	cause := errors.New("too late")
	for range 200 {
		l := lane(t, t.Context())
		l.Cancel(cause)
		require.ErrorIs(t, finish(l), cause)

		ctx, cancel := context.WithCancelCause(t.Context())
		l = lane(t, ctx, exec.Drain(time.Second))
		cancel(cause)
		require.ErrorIs(t, finish(l), cause)

		l = lane(t, t.Context())
		require.NoError(t, finish(l))
		l.Cancel(cause) // after the end
		require.NoError(t, finish(l))
	}
}

// TestE5CloseAfterTheEnd closes lanes that a cancel and a Wait, or a hard error, have ended already. No drain bound goes
// off in a lane that has ended.
func TestE5CloseAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lane(t, t.Context(), exec.Drain(time.Millisecond))
		l.Cancel(errBoom)
		require.ErrorIs(t, l.Wait(), errBoom)
		require.ErrorIs(t, finish(l), errBoom)

		j := newJournal()
		l = lane(t, t.Context(), exec.Drain(time.Millisecond))
		s := j.stubs(free)[0]
		s.commit = func(context.Context) error { return errBoom }
		submit(t, l, s)
		require.ErrorIs(t, l.Wait(), errBoom)
		require.ErrorIs(t, finish(l), errBoom)
		<-time.After(5 * time.Millisecond)
	})
}

// TestE14TimelineOfNoLane has a context fail while a lane is being made: the timeline is free for the next.
func TestE14TimelineOfNoLane(t *testing.T) {
	var tl exec.Timeline
	var none context.Context
	require.Panics(t, func() { _, _ = exec.NewLane(none, exec.Record(&tl)) })
	require.NoError(t, finish(lane(t, t.Context(), exec.Record(&tl))))
}
