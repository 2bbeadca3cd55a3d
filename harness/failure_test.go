package harness_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// script is a turn as a scheduler appends it, one append after the other.
func script() [][]harness.Payload {
	cs := calls(3)
	two := harness.ToolSettle{Place: at(1, 1, 1), Result: tool.Text("two")}
	never := started(at(1, 1, 2), cs[2])
	never.NotStarted = true
	return [][]harness.Payload{
		{harness.TurnStart{Turn: 1}, harness.UserMessage{Turn: 1, Content: tool.Text("go").Content}},
		{harness.StepStart{Turn: 1, Step: 1}},
		{harness.AssistantMessage{Turn: 1, Step: 1, Calls: cs}},
		{started(at(1, 1, 0), cs[0])},
		{started(at(1, 1, 1), cs[1])},
		{two},
		{harness.ToolSettle{Place: at(1, 1, 0), Result: tool.Text("one")}},
		{committed(at(1, 1, 0), cs[0], tool.Text("one"))},
		{committed(at(1, 1, 1), cs[1], two.Result)},
		{never, committed(at(1, 1, 2), cs[2], tool.Result{Code: tool.AbortedBeforeDispatch, IsError: true})},
		{harness.StepEnd{Turn: 1, Step: 1}, harness.TurnEnd{Turn: 1, Reason: harness.EndDone}},
	}
}

// TestH10EveryError lets each operation on the file fail in turn, with some of the bytes written or none, and its
// repair too or not. An append that returned an error is not in the log, now or when it is opened again; one that did
// not is there, whole; once nothing can be cut off, or a sync has failed, nothing more is taken.
func TestH10EveryError(t *testing.T) {
	clean := new(ram)
	require.Empty(t, play(t, open(t, file(t, clean)), harness.SyncAlways))
	require.Greater(t, clean.ops, 20)
	for at := range clean.ops {
		for _, part := range []float64{0, 0.3, 0.9, 1} {
			for _, again := range []bool{false, true} {
				t.Run(fmt.Sprintf("operation %d, %.0f%%, repair fails: %v", at+1, 100*part, again), func(t *testing.T) {
					disk := new(ram)
					var failed []string
					disk.fail = func(op string, n int) (int, error) {
						if disk.ops == at+1 || again && disk.ops == at+2 && op == "truncate" {
							failed = append(failed, op)
							return int(float64(n) * part), errDisk
						}
						return n, nil
					}
					f := file(t, disk)
					s, err := harness.New(f)
					if err != nil {
						require.ErrorIs(t, err, errDisk)
						disk.fail = nil
						resumable(t, disk, nil)
						return
					}
					require.NotEmpty(t, play(t, s, harness.SyncAlways))
					_, err = s.Append(harness.SyncNone, note(1))
					if last := failed[len(failed)-1]; last == "write" {
						require.NoError(t, err)
					} else {
						require.ErrorIs(t, err, errDisk)
						require.ErrorIs(t, err, harness.ErrBroken)
					}
					disk.fail = nil
					resumable(t, disk, logOf(t, s))
				})
			}
		}
	}
}

// play appends the script, goes on after errors, and returns the events that were refused.
func play(t require.TestingT, s *harness.Session, d harness.Durability) (failed []harness.Payload) {
	for _, unit := range script() {
		before := s.State()
		first, err := s.Append(d, unit...)
		if err == nil {
			require.Equal(t, before.Seq+1, first, "seqs of what was refused are used again")
			continue
		}
		failed = append(failed, unit...)
		if !errors.Is(err, harness.ErrBroken) {
			require.Equal(t, before, s.State(), "as if it had not been tried")
		}
	}
	return failed
}

// resumable opens what is on the disk: it has all these events, and perhaps a beginning of one that was refused; and
// what is open is closed.
func resumable(t *testing.T, disk *ram, had []harness.Event) {
	data := bytes.Clone(disk.data)
	require.True(t, bytes.HasPrefix(data, bytesOf(had)), "everything that was acknowledged")
	f := file(t, &ram{data: data})
	s, _ := resume(t, f)
	require.NoError(t, check(logOf(t, s)))
	messages, err := s.Messages()
	require.NoError(t, err)
	require.NoError(t, accept(messages))
}

// TestH10ShortWrites stops the write of each unit behind each of its bytes.
func TestH10ShortWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(2, 12).Draw(t, "write")
		part := rapid.Float64Range(0, 1).Draw(t, "part")
		silent := rapid.Bool().Draw(t, "silent")
		disk := new(ram)
		writes := 0
		disk.fail = func(op string, n int) (int, error) {
			if op != "write" {
				return n, nil
			}
			if writes++; writes != at {
				return n, nil
			}
			if silent { // against the rules of io.Writer, but some do
				return int(float64(n-1) * part), nil
			}
			return int(float64(n) * part), errDisk
		}
		f := file(t, disk)
		s := open(t, f)
		acknowledged := logOf(t, s)
		for _, unit := range script() {
			_, err := s.Append(harness.SyncNone, unit...)
			if err == nil {
				acknowledged = logOf(t, s)
			}
			require.Equal(t, string(bytesOf(acknowledged)), string(disk.data), "nothing of a refused unit is there")
		}
	})
}

// The call that could not be recorded is the one that was not started, and the only one.
func TestCase_session_log_4(t *testing.T) {
	disk := new(ram)
	s := open(t, file(t, disk))
	cs := calls(3)
	turn1(t, s, cs...)
	ran := map[string]bool{}
	for i, c := range cs {
		if i == 1 {
			disk.fail = func(_ string, n int) (int, error) { disk.fail = nil; return n / 2, errDisk }
		}
		if _, err := s.Append(harness.SyncBatch, started(at(1, 1, i), c)); err != nil {
			require.ErrorIs(t, err, errDisk)
			continue
		}
		ran[c.Name] = true
		put(t, s, harness.ToolSettle{Place: at(1, 1, i), Result: tool.Text(c.Name)})
	}
	assert.Equal(t, map[string]bool{"c1": true, "c3": true}, ran)
	_, err := s.Append(harness.SyncNone, harness.ToolSettle{Place: at(1, 1, 1), Result: tool.Text("c2")})
	assert.ErrorIs(t, err, harness.ErrOrder, "no outcome of a call that is not recorded")
	_, err = s.Append(harness.SyncNone, committed(at(1, 1, 1), cs[1], tool.Text("c2")))
	assert.ErrorIs(t, err, harness.ErrOrder, "and no result")

	put(t, s, harness.TurnEnd{Turn: 1, Reason: harness.EndFailed})
	_, err = s.Resume(nil)
	require.NoError(t, err)
	require.NoError(t, check(logOf(t, s)))
	assert.Equal(t, []tool.Code{"", tool.AbortedBeforeDispatch, ""}, codes(t, s))
	resumable(t, disk, logOf(t, s))
}

// A torn end that cannot be cut off, or read, keeps the log shut.
func TestTornEndThatCannotBeCutOff(t *testing.T) {
	for _, op := range []string{"truncate", "sync"} {
		disk := &ram{data: []byte(start + line(2)[:5])}
		disk.fail = func(o string, n int) (int, error) {
			if o == op {
				return 0, errDisk
			}
			return n, nil
		}
		_, err := harness.MendDisk(disk, int64(len(disk.data)))
		assert.ErrorIs(t, err, errDisk)
		assert.ErrorContains(t, err, "cut off 5 torn bytes")
	}
	_, err := harness.MendDisk(&ram{data: []byte(start)}, int64(len(start))+9)
	assert.ErrorContains(t, err, "read its end: EOF")
}
