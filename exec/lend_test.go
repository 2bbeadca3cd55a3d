package exec_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// A call that comes back from the Domain with its claims finds all permits of its own lane with bodies, and those wait in
// lanes of their own for what it has. They must have given the permits back.
func TestE13OwnPermits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := exec.NewDomain()
		other, err := d.Acquire(t.Context(), exec.Request{Claims: writes("a").Claims})
		require.NoError(t, err)
		var running, peak atomic.Int32
		var order []int // only who has the claim writes it
		ended := make(chan error)
		go func() {
			_, err := exec.Run(t.Context(), []plan.Call{writes("a"), free, free}, func(ctx context.Context, i int) (struct{}, error) {
				enter := func() { peak.Store(max(peak.Load(), running.Add(1))) }
				enter()
				defer running.Add(-1)
				<-time.After(time.Second)
				if i > 0 {
					running.Add(-1)
					_, err := exec.Run(ctx, []plan.Call{writes("a")}, func(context.Context, int) (struct{}, error) {
						order = append(order, i)
						return struct{}{}, nil
					})
					enter()
					return struct{}{}, err
				}
				order = append(order, i)
				return struct{}{}, nil
			}, exec.In(d), exec.Limit(2))
			ended <- err
		}()
		<-time.After(2 * time.Second)
		synctest.Wait()
		other.Release()
		require.NoError(t, <-ended)
		assert.Equal(t, 0, order[0])
		assert.Len(t, order, 3)
		assert.LessOrEqual(t, peak.Load(), int32(2))
	})
}
