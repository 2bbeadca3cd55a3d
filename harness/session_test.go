package harness_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

func note(n int) harness.Opaque {
	return harness.Opaque{Type: "acme/note", Data: json.RawMessage(fmt.Sprint(n))}
}

// TestH9SeqIsTheOrderOfTheFile has many goroutines append to one file: seqs are the order of the lines, units stay
// together, and each Append returns the seq of its first event.
func TestH9SeqIsTheOrderOfTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	s, err := harness.Open(path)
	require.NoError(t, err)
	defer s.Close()
	firsts := make([][]uint64, 100)
	var wg sync.WaitGroup
	for g := range firsts {
		wg.Go(func() {
			for range 5 {
				d := []harness.Durability{harness.SyncNone, harness.SyncBatch, harness.SyncAlways}[g%3]
				first, err := s.Append(d, note(g), note(g))
				assert.NoError(t, err)
				firsts[g] = append(firsts[g], first)
			}
		})
	}
	wg.Wait()
	var events []harness.Event
	for e, err := range harness.ReadFile(path) {
		require.NoError(t, err)
		events = append(events, e)
	}
	require.Len(t, events, 1+2*5*len(firsts))
	require.NoError(t, check(events))
	for g, seqs := range firsts {
		for _, first := range seqs {
			for _, e := range events[first-1 : first+1] {
				assert.Equal(t, fmt.Sprint(g), string(e.Data))
			}
		}
	}
}

func TestCase_session_log_5(t *testing.T) {
	t.Run("100 goroutines, and reopened", func(t *testing.T) {
		var store harness.Memory
		s := open(t, &store)
		var wg sync.WaitGroup
		for g := range 100 {
			wg.Go(func() { put(t, s, note(g)) })
		}
		wg.Wait()
		require.NoError(t, check(logOf(t, s)))
		assert.Equal(t, uint64(102), put(t, open(t, &store), note(0)))
	})
	t.Run("the last line does not hold the maximum", func(t *testing.T) {
		disk := &ram{data: []byte(start + line(7) + line(4) + line(5))}
		s := open(t, file(t, disk))
		assert.Equal(t, uint64(7), s.State().Seq)
		assert.Equal(t, uint64(8), put(t, s, note(1), note(2)))
		var seqs []uint64
		for _, e := range logOf(t, open(t, file(t, disk))) {
			seqs = append(seqs, e.Seq)
		}
		assert.Equal(t, []uint64{1, 7, 4, 5, 8, 9}, seqs)
	})
	t.Run("a second opener is refused", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "log.jsonl")
		s, err := harness.Open(path)
		require.NoError(t, err)
		_, err = harness.Open(path)
		assert.ErrorIs(t, err, harness.ErrLocked)
		require.NoError(t, s.Close())
	})
}

// The lock is on the file, not on its name; readers are not kept out; it ends with Close.
func TestH9SecondOpenerIsRefused(t *testing.T) {
	dir := t.TempDir()
	path, link, hard := filepath.Join(dir, "log.jsonl"), filepath.Join(dir, "link"), filepath.Join(dir, "hard")
	s, err := harness.Open(path)
	require.NoError(t, err)
	require.NoError(t, os.Symlink(path, link))
	require.NoError(t, os.Link(path, hard))
	for _, name := range []string{path, link, hard} {
		_, err := harness.Open(name)
		require.ErrorIs(t, err, harness.ErrLocked)
		assert.EqualError(t, err, "open "+name+": session log is in use: another process, or another session of this one, "+
			"writes to it; end that, or only read the log")
		n := 0
		for _, err := range harness.ReadFile(name) {
			require.NoError(t, err)
			n++
		}
		assert.Equal(t, 1, n)
	}
	put(t, s, note(1))
	require.NoError(t, s.Close())
	s, err = harness.Open(link)
	require.NoError(t, err)
	assert.Equal(t, uint64(2), s.State().Seq)
	require.NoError(t, s.Close())
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, names, 3, "nothing is left behind")
}

func TestWhatIsNoFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	_, err := harness.Open(dir)
	assert.Error(t, err)
	_, err = harness.Open(filepath.Join(dir, "none", "log.jsonl"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = harness.Open(os.DevNull)
	assert.ErrorIs(t, err, harness.ErrFormat)
}

// Two sessions over one store are a mistake that no lock sees. The second to append is refused.
func TestH9TwoSessionsOverOneStore(t *testing.T) {
	for name, store := range map[string]harness.Store{"memory": new(harness.Memory), "file": file(t, new(ram))} {
		t.Run(name, func(t *testing.T) {
			a := open(t, store)
			b := open(t, store)
			put(t, a, note(1))
			_, err := b.Append(harness.SyncNone, note(2))
			assert.ErrorIs(t, err, harness.ErrSeq)
			put(t, a, note(3))
			require.NoError(t, check(logOf(t, a)))
			assert.ErrorIs(t, store.Append(harness.Event{Seq: 9}, harness.Event{Seq: 9}), harness.ErrSeq)
		})
	}
}

// A clock that goes back does not take the log with it, nor does one that went back while the process was away.
func TestTimeNeverGoesBack(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	now := noon
	var store harness.Memory
	s, err := harness.NewWithClock(&store, func() time.Time { return now })
	require.NoError(t, err)
	for _, d := range []time.Duration{time.Second, -time.Hour, 2 * time.Second} {
		now = noon.Add(d)
		put(t, s, note(1))
	}
	now = noon
	s, err = harness.NewWithClock(&store, func() time.Time { return now })
	require.NoError(t, err)
	put(t, s, note(2))
	var after []time.Duration
	for _, e := range logOf(t, s) {
		after = append(after, e.Time.Sub(noon))
	}
	assert.Equal(t, []time.Duration{0, time.Second, time.Second, 2 * time.Second, 2 * time.Second}, after)
}

func TestSeqsEnd(t *testing.T) {
	var store harness.Memory
	open(t, &store)
	require.NoError(t, store.Append(harness.Event{Seq: 1<<53 - 2, Type: "acme/x", Data: []byte("1")}))
	s := open(t, &store)
	_, err := s.Append(harness.SyncNone, note(1), note(2))
	assert.ErrorIs(t, err, harness.ErrPayload)
	assert.Equal(t, uint64(1<<53-1), put(t, s, note(1)))
	_, err = s.Append(harness.SyncNone, note(1))
	assert.ErrorContains(t, err, "no seqs left")
}

func TestClose(t *testing.T) {
	s, err := harness.Open(filepath.Join(t.TempDir(), "log.jsonl"))
	require.NoError(t, err)
	require.NoError(t, s.Sync())
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	_, err = s.Append(harness.SyncNone, note(1))
	assert.ErrorIs(t, err, harness.ErrClosed)
	_, err = s.Resume(nil)
	assert.NoError(t, err, "there is nothing to do")
	assert.ErrorIs(t, s.Sync(), harness.ErrClosed)
	_, err = s.Messages()
	assert.ErrorIs(t, err, os.ErrClosed)
	assert.Equal(t, uint64(1), s.State().Seq)
	first, err := s.Append(harness.SyncNone)
	assert.NoError(t, err)
	assert.Zero(t, first)
}

// TestH1WhatCannotBeIsRefused appends, in each state, what must not follow. Nothing of it is in the log, and what it
// came with is not either.
func TestH1WhatCannotBeIsRefused(t *testing.T) {
	cs := calls(2)
	c1, c2 := at(1, 1, 0), at(1, 1, 1)
	ok := tool.Text("ok")
	var store harness.Memory
	s := open(t, &store)
	refused := func(problem string, ps ...harness.Payload) {
		t.Helper()
		before, state := logOf(t, s), s.State()
		_, err := s.Append(harness.SyncNone, append([]harness.Payload{note(1)}, ps...)...)
		require.ErrorIs(t, err, harness.ErrOrder)
		assert.ErrorContains(t, err, problem)
		assert.Equal(t, before, logOf(t, s))
		assert.Equal(t, state, s.State())
	}
	refused("the session has begun", harness.SessionStart{Format: harness.Format, Version: 1})
	refused("turn 2 begins after turn 0", harness.TurnStart{Turn: 2})
	refused("turn 1 is not going on", harness.StepStart{Turn: 1, Step: 1})
	refused("turn 1 is not going on", harness.TurnEnd{Turn: 1})
	refused("turn 1 is not going on", harness.Cancel{Turn: 1})
	refused("turn 1, step 1 is not going on", harness.AssistantMessage{Turn: 1, Step: 1})
	put(t, s, harness.TurnStart{Turn: 1})
	refused("turn 1 has not ended", harness.TurnStart{Turn: 2})
	refused("step 2 begins after step 0", harness.StepStart{Turn: 1, Step: 2})
	refused("turn 1, step 1 is not going on", harness.StepEnd{Turn: 1, Step: 1})
	put(t, s, harness.StepStart{Turn: 1, Step: 1})
	refused("step 1 has not ended", harness.StepStart{Turn: 1, Step: 2})
	refused("there is no turn 1, step 1, call 1 without a result", started(c1, cs[0]))
	put(t, s, harness.AssistantMessage{Turn: 1, Step: 1, Calls: cs})
	refused("turn 1, step 1 has its message", harness.AssistantMessage{Turn: 1, Step: 1})
	refused("has no tool/call", harness.ToolSettle{Place: c1, Result: ok})
	refused("has no tool/call", committed(c1, cs[0], ok))
	refused("has no tool/call", harness.ApprovalAsk{Place: c1})
	refused("there is no turn 1, step 1, call 3", started(at(1, 1, 2), cs[0]))
	refused("there is no turn 1, step 1, call 0", started(at(1, 1, -1), cs[0]))
	refused("there is no turn 2, step 1, call 1", started(at(2, 1, 0), cs[0]))
	put(t, s, started(c1, cs[0]), started(c2, cs[1]))
	refused("is recorded already", started(c1, cs[0]))
	refused("waits for no approval", harness.ApprovalAnswer{Place: c1})
	put(t, s, harness.ApprovalAsk{Place: c1})
	refused("waits for an approval already", harness.ApprovalAsk{Place: c1})
	put(t, s, harness.ApprovalAnswer{Place: c1, Allowed: true})
	put(t, s, harness.ToolSettle{Place: c1, Result: ok}, harness.ToolSettle{Place: c2, Result: ok})
	refused("has settled", harness.ToolSettle{Place: c1, Result: ok})
	refused("turn 1, step 1, call 2 comes before call 1", committed(c2, cs[1], ok))
	refused("has no result", harness.StepEnd{Turn: 1, Step: 1})
	refused("has no result", harness.TurnEnd{Turn: 1, Reason: harness.EndDone})
	put(t, s, committed(c1, cs[0], ok))
	refused("has its result", committed(c1, cs[0], ok))
	refused("call 1 without a result", committed(c2, cs[1], ok), committed(c1, cs[0], ok)) // what is right in the unit is undone
	refused("has its result", harness.ToolSettle{Place: c1, Result: ok})
	put(t, s, committed(c2, cs[1], ok))
	refused("there is no turn 1, step 1, call 2 without a result", committed(c2, cs[1], ok))
	put(t, s, harness.StepEnd{Turn: 1, Step: 1}, harness.StepStart{Turn: 1, Step: 2}, harness.AssistantMessage{Turn: 1, Step: 2, Calls: cs})
	never := started(at(1, 2, 0), cs[0])
	never.NotStarted = true
	put(t, s, never)
	refused("was not started", harness.ToolSettle{Place: at(1, 2, 0), Result: ok})
	put(t, s, committed(at(1, 2, 0), cs[0], ok))
	put(t, s, harness.TurnEnd{Turn: 1, Reason: harness.EndFailed})
	refused("starts when its step has ended", started(at(1, 2, 1), cs[1]))
	refused("Resume closes what is open", harness.TurnStart{Turn: 2})
	_, err := s.Resume(nil)
	require.NoError(t, err)
	put(t, s, harness.TurnStart{Turn: 2})
	require.NoError(t, s.Close())
}

// An event of a call cites its tool/call by itself, also one that comes in the same unit; one that says what else it
// cites is left as it is.
func TestCallEventsCiteTheirCall(t *testing.T) {
	s := open(t, new(harness.Memory))
	cs := calls(2)
	turn1(t, s, cs...)
	never := started(at(1, 1, 0), cs[0])
	never.NotStarted = true
	first := put(t, s, never, committed(at(1, 1, 0), cs[0], tool.Text("no")))
	second := put(t, s, started(at(1, 1, 1), cs[1]), harness.ApprovalAsk{Place: at(1, 1, 1)}, harness.ApprovalAnswer{Place: at(1, 1, 1), Allowed: true})
	put(t, s, harness.ToolSettle{Place: at(1, 1, 1), Sources: []uint64{second, 1}, Result: tool.Text("yes")}, committed(at(1, 1, 1), cs[1], tool.Text("yes")))
	var cited [][]uint64
	for _, e := range logOf(t, s) {
		switch p := payload(t, e).(type) {
		case harness.ToolResult:
			cited = append(cited, p.Sources)
		case harness.ToolSettle:
			cited = append(cited, p.Sources)
		case harness.ApprovalAsk:
			cited = append(cited, p.Sources)
		case harness.ApprovalAnswer:
			cited = append(cited, p.Sources)
		}
	}
	assert.Equal(t, [][]uint64{{first}, {second}, {second}, {second, 1}, {second}}, cited)
}

// The state of a session that goes on is that of its log, after each event, also of one that was refused or failed.
func TestStateFollowsTheLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		flaky := &broken{Store: file(t, new(ram))}
		l := &life{t: t, s: open(t, flaky)}
		for range rapid.IntRange(1, 60).Draw(t, "moves") {
			before := *l
			before.at = slices.Clone(l.at)
			failed := false
			if rapid.IntRange(0, 5).Draw(t, "fail") == 0 {
				flaky.append = func() error {
					failed, flaky.append = true, nil
					return errDisk
				}
			}
			l.move()
			if flaky.append = nil; failed { // it has not happened
				*l = before
			}
			state, err := harness.Fold(l.s.Events())
			require.NoError(t, err)
			require.Equal(t, state, l.s.State())
			said, err := l.s.Messages()
			require.NoError(t, err)
			folded, err := harness.Messages(l.s.Events())
			require.NoError(t, err)
			require.Equal(t, len(folded), len(said))
			for i := range folded {
				require.Equal(t, folded[i], said[i])
			}
		}
	})
}

// Events may be read while others are appended: they end where the log ended when they were asked for.
func TestEventsAreASnapshot(t *testing.T) {
	for name, store := range map[string]harness.Store{"memory": new(harness.Memory), "file": file(t, new(ram))} {
		t.Run(name, func(t *testing.T) {
			s := open(t, store)
			put(t, s, note(1))
			events := s.Events()
			put(t, s, note(2))
			for range 2 {
				n := 0
				for e, err := range events {
					require.NoError(t, err)
					n++
					put(t, s, note(int(e.Seq)))
				}
				assert.Equal(t, 2, n)
			}
			for range events {
				break
			}
		})
	}
}

// A store that panics is its session's error, and no deadlock.
func TestStoreThatPanics(t *testing.T) {
	store := &broken{Store: new(harness.Memory)}
	s := open(t, store)
	store.sync = func() error { panic("sync") }
	_, err := s.Append(harness.SyncAlways, note(1))
	assert.ErrorIs(t, err, harness.ErrBroken)
	assert.ErrorContains(t, err, "its sync panicked: sync")
	_, err = s.Append(harness.SyncNone, note(1))
	assert.ErrorIs(t, err, harness.ErrBroken)
	assert.ErrorIs(t, s.Close(), harness.ErrBroken)

	store = &broken{Store: new(harness.Memory)}
	s = open(t, store)
	store.append = func() error { panic("append") }
	_, err = s.Append(harness.SyncNone, note(1))
	assert.ErrorIs(t, err, harness.ErrBroken)
	assert.ErrorContains(t, err, "panicked: append")
	assert.Equal(t, uint64(1), s.State().Seq)
	store.append = nil
	_, err = s.Append(harness.SyncNone, note(1))
	assert.ErrorIs(t, err, harness.ErrBroken, "nobody knows what it has")
}

// A broken store fails on demand.
type broken struct {
	harness.Store
	append, sync func() error
}

func (b *broken) Append(events ...harness.Event) error {
	if b.append != nil {
		if err := b.append(); err != nil {
			return err
		}
	}
	return b.Store.Append(events...)
}

func (b *broken) Sync() error {
	if b.sync != nil {
		return b.sync()
	}
	return b.Store.Sync()
}
