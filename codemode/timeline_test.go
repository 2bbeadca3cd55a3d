package codemode_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// A host that wants to know what the calls of a program waited for gets it, for each program apart; one that does not
// need not.
func TestTimeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := map[string]*exec.Timeline{}
		h := newHost(t, func(w *world) codemode.Outcome {
			all(w.call("edit", in{Key: "a", Ms: 20}), w.call("edit", in{Key: "b", Ms: 10}), w.call("read", in{Key: "a", Ms: 5}))
			return returns("done")
		}, newJournal().tools(t), codemode.Admit(plan.NewKeyed), codemode.Timeline(func(c *tool.Invocation) *exec.Timeline {
			assert.Equal(t, codemode.Name, c.Call.Name)
			if c.Call.ID == "unwatched" {
				return nil
			}
			asked[c.Call.ID] = new(exec.Timeline)
			return asked[c.Call.ID]
		}))
		results, err := h.step(t.Context(), program("one"), program("unwatched"), program("two"))
		require.NoError(t, err)
		for _, r := range results {
			assert.Equal(t, "done", r.Text())
		}
		require.Len(t, asked, 2)
		for _, timeline := range asked {
			spans := timeline.Snapshot()
			require.Len(t, spans, 3)
			for i, want := range []struct{ started, settled, committed time.Duration }{{0, 20, 20}, {0, 10, 20}, {20, 25, 25}} {
				assert.Equal(t, want.started*time.Millisecond, spans[i].Started)
				assert.Equal(t, want.settled*time.Millisecond, spans[i].Settled)
				assert.Equal(t, want.committed*time.Millisecond, spans[i].Committed)
			}
			require.NotEmpty(t, spans[2].Waits)
			wait := spans[2].Waits[len(spans[2].Waits)-1]
			assert.Equal(t, exec.WaitClaim, wait.For)
			assert.Equal(t, 0, wait.Call)
		}
	})
}
