package harness_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// The classic pool, limit 2: C1 and C2 start; C2 settles, C3 starts, and nothing commits; C1 settles, C1 and C2 commit;
// C3 settles and commits.
func TestClassicPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, []*tool.Definition{
			free("slow", takes(2*time.Second)), free("fast", takes(time.Second)), free("last", takes(3*time.Second)),
		}, call("slow", "fast", "last"))
		h.Admission = plan.NewRolling
		h.Limit = func() (int, error) { return 2, nil }
		h.Pipeline.AskInLane = true
		h.run(t)
		got := h.timed(t)
		got[1] = strings.Replace(got[1], "call 3, settle 2", "settle 2, call 3", 1) // which come in any order
		assert.Equal(t, []string{
			"0s: call 1, call 2",
			"1s: settle 2, call 3",
			"2s: settle 1, result 1, result 2",
			"4s: settle 3, result 3",
		}, got)
		h.sound(t)
	})
}

// Results come in the model's order when the bodies are let go in the reverse one.
func TestReverseCompletion(t *testing.T) {
	for _, a := range admissions {
		if a.name == "serial" {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gates := []chan struct{}{make(chan struct{}), make(chan struct{})}
				wait := func(i int) body {
					return func(ctx) (string, error) { <-gates[i]; return "done", nil }
				}
				h := newHost(t, []*tool.Definition{free("first", wait(0)), free("second", wait(1))}, call("first", "second"))
				h.Admission = a.open
				require.NoError(t, h.agent.Followup(text("go")))
				synctest.Wait()
				assert.Equal(t, []string{"call 1", "call 2"}, h.calls(t))
				close(gates[1])
				synctest.Wait()
				assert.Equal(t, []string{"call 1", "call 2", "settle 2"}, h.calls(t), "durable, and not visible")
				close(gates[0])
				h.wait(t)
				assert.Equal(t, []string{"call 1", "call 2", "settle 2", "settle 1", "result 1", "result 2"}, h.calls(t))
				h.sound(t)
			})
		})
	}
}

// A listener is told everything in order, and nobody waits for it, however long it takes; a gate is waited for.
func TestListenerAndGate(t *testing.T) {
	tools := []*tool.Definition{free("slow", takes(2*time.Second)), free("fast", takes(time.Second))}
	synctest.Test(t, func(t *testing.T) {
		r := newRegister()
		l := tool.NewListener(func(e tool.Event) {
			<-time.After(time.Hour)
			r.note(e.Call.Name + " " + e.Stage.String())
		})
		h := newHost(t, tools, call("slow", "fast"))
		h.Pipeline.Listeners = []*tool.Listener{l}
		start := time.Now()
		h.run(t)
		assert.Equal(t, 2*time.Second, time.Since(start))
		assert.Empty(t, r.all())
		require.NoError(t, l.Wait(t.Context()))
		assert.Equal(t, []string{
			"1h0m0s slow started", "2h0m0s fast started", "3h0m0s fast settled", "4h0m0s slow settled",
			"5h0m0s slow committed", "6h0m0s fast committed",
		}, r.all())
	})
	synctest.Test(t, func(t *testing.T) {
		r := newRegister()
		h := newHost(t, tools, call("slow", "fast"))
		h.Pipeline.Gates = []tool.Gate{func(_ ctx, e tool.Event) {
			<-time.After(time.Hour)
			r.note(e.Call.Name + " " + e.Stage.String())
		}}
		start := time.Now()
		h.run(t)
		assert.Equal(t, 4*time.Hour, time.Since(start), "two starts, two commits")
		assert.Equal(t, []string{
			"1h0m0s slow started", "2h0m0s fast started", "3h0m0s slow committed", "4h0m0s fast committed",
		}, r.all())
	})
}

// A timeline is asked for before the calls of each step, and says what they waited for.
func TestTimelines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, []*tool.Definition{free("one", takes(2*time.Second)), free("two", takes(time.Second))},
			call("one", "two"), call("two"), say("done"))
		h.Limit = func() (int, error) { return 1, nil }
		lines := map[[2]int]*exec.Timeline{}
		h.Timeline = func(turn, step int) *exec.Timeline {
			if step == 2 {
				return nil
			}
			lines[[2]int{turn, step}] = new(exec.Timeline)
			return lines[[2]int{turn, step}]
		}
		h.run(t)
		h.sound(t)
		require.Len(t, lines, 1, "a message without calls has none")
		spans := lines[[2]int{1, 1}].Snapshot()
		require.Len(t, spans, 2)
		assert.Equal(t, 2*time.Second, spans[1].Started)
		assert.Equal(t, exec.EndReturned, spans[1].End)
	})
}
