package harness_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/files"
)

// A cancel leaves one result for each call, in their order: of what was committed the real one, of what ran that it may
// have happened, of the rest that it was not started.
func TestCase_cancel_pairing_1(t *testing.T) {
	tools := []*tool.Definition{free("ok", takes(time.Second)), free("runs", takes(time.Hour)), alone("last", takes(0))}
	for name, c := range map[string]struct {
		calls harness.AssistantMessage
		at    time.Duration
		codes []tool.Code
	}{
		"one of each":   {call("ok", "runs", "last"), 2 * time.Second, []tool.Code{"", tool.Aborted, tool.AbortedBeforeDispatch}},
		"all running":   {call("runs", "runs", "runs"), 2 * time.Second, []tool.Code{tool.Aborted, tool.Aborted, tool.Aborted}},
		"none finished": {call("runs", "last", "ok"), 2 * time.Second, []tool.Code{tool.Aborted, tool.AbortedBeforeDispatch, tool.AbortedBeforeDispatch}},
		"none started":  {call("ok", "runs", "last"), 0, []tool.Code{tool.AbortedBeforeDispatch, tool.AbortedBeforeDispatch, tool.AbortedBeforeDispatch}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, tools, c.calls)
				h.on = func(n int) {
					if n > 1 {
						return
					}
					if c.at == 0 {
						h.agent.Cancel(errStop, false)
					} else {
						time.AfterFunc(c.at, func() { h.agent.Cancel(errStop, false) })
					}
				}
				h.run(t)
				assert.Equal(t, c.codes, codes(t, h.Session))
				h.sound(t)
				h.run(t)
				assert.NoError(t, accept(h.requests[len(h.requests)-1].Messages), "the next request is one that a provider takes")
			})
		})
	}
}

// A write that comes to rest within the drain bound is shown with its own result, and one that does not is said to have
// perhaps happened. Neither is said not to have run.
func TestCase_cancel_pairing_2(t *testing.T) {
	for late, want := range map[time.Duration]tool.Code{time.Millisecond: tool.Aborted, time.Second: tool.Abandoned} {
		t.Run(string(want), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "a")
				h := newHost(t, []*tool.Definition{alone("write", func(c ctx) (string, error) {
					<-c.Done()
					err := os.WriteFile(path, []byte("new"), 0o600)
					<-time.After(late)
					return "wrote 3 bytes", err
				})}, call("write"))
				h.Drain = 50 * time.Millisecond
				time.AfterFunc(time.Second, func() { h.agent.Cancel(errStop, false) })
				h.run(t)
				got := results(t, h.Session)
				require.Len(t, got, 1)
				assert.Equal(t, want, got[0].Result.Code)
				assert.Contains(t, got[0].Result.Text(), "may have happened")
				assert.NotContains(t, got[0].Result.Text(), "not run")
				if want == tool.Aborted {
					assert.Contains(t, got[0].Result.Text(), "wrote 3 bytes")
				}
				assert.FileExists(t, path)
				h.sound(t)
				<-time.After(time.Minute)
			})
		})
	}
}

// A body that ignores its cancel holds up its turn no longer than the bound, and has no say in the next one.
func TestCase_cancel_leak_2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ended := time.Duration(0)
		h := newHost(t, []*tool.Definition{
			free("stubborn", func(ctx) (string, error) { <-time.After(300 * time.Millisecond); return "late", nil }),
			free("a", takes(time.Second)),
		}, call("stubborn"), call("a"))
		h.Drain = 50 * time.Millisecond
		require.NoError(t, h.agent.Followup(text("one")))
		synctest.Wait()
		h.agent.Cancel(errStop, false)
		h.wait(t)
		ended = time.Since(start)
		assert.Equal(t, 50*time.Millisecond, ended)
		<-time.After(10 * time.Millisecond)
		require.NoError(t, h.agent.Followup(text("two")))
		h.wait(t)
		assert.Equal(t, []string{
			"call 1", "cancel", "settle 1 ABANDONED", "result 1 ABANDONED", "call 1", "settle 1", "result 1",
		}, h.calls(t))
		assert.Equal(t, []string{"user: one", "assistant", "end cancelled", "user: two", "assistant", "assistant", "end done"}, h.talk(t))
		assert.NotContains(t, encoded(t, h.requests[len(h.requests)-1].Messages), "late")
		h.sound(t)
	})
}

// A write that was composed from an older read does not erase what another agent wrote since: the session remembers what
// it has seen, also when it is opened again, and the tool refuses. Keys alone only order the calls.
func TestCase_lost_update_2(t *testing.T) {
	for _, remembers := range []bool{true, false} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("from v1"), 0o600))
		work, err := files.New(dir)
		require.NoError(t, err)
		defer work.Close()
		do := func(name, arguments string) harness.AssistantMessage {
			return harness.AssistantMessage{Calls: []tool.Call{{Name: name, Arguments: arguments}}}
		}
		domain := exec.NewDomain()
		agent := func(store *harness.Memory, messages ...harness.AssistantMessage) *host {
			h := newHost(t, work.Tools())
			h.store, h.Session, h.Domain = store, open(t, store), domain
			var seen files.Versions
			for _, r := range results(t, h.Session) {
				seen.Note(r.Name, r.Result.Value)
			}
			c := t.Context()
			if remembers {
				c = files.WithVersions(c, &seen)
			}
			h.agent = h.lead(t, c, messages...)
			return h
		}
		one := []harness.AssistantMessage{do("read", `{"path":"a"}`), say("I have read it"), do("write", `{"path":"a","content":"built from v1"}`)}
		first := agent(new(harness.Memory), one...)
		first.run(t)
		agent(new(harness.Memory), do("edit", `{"path":"a","old":"v1","new":"v2"}`)).run(t)

		first = agent(first.store, one...) // in another process, say
		first.run(t)
		got := results(t, first.Session)
		require.Len(t, got, 2)
		text, err := os.ReadFile(filepath.Join(dir, "a"))
		require.NoError(t, err)
		if remembers {
			assert.True(t, got[1].Result.IsError)
			assert.Contains(t, got[1].Result.Text(), "changed since it was read")
			assert.Equal(t, "from v2", string(text))
		} else {
			assert.Equal(t, "built from v1", string(text), "nothing else prevents it")
		}
	}
}
