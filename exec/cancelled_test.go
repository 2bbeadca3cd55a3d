package exec_test

import (
	"context"
	"errors"
	"testing"
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
