package harness_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// These tests are about logs that no session has written, and about payloads that must not make one.

// TestH8AnyOddLogResumes puts any records behind each other, in any order. What comes of it is resumed once, has one
// result a call, and the conversation goes on.
func TestH8AnyOddLogResumes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := []byte(start)
		for i := range rapid.IntRange(0, 25).Draw(t, "records") {
			p := oddPayload(t)
			encoded, err := json.Marshal(p)
			require.NoError(t, err)
			e := harness.Event{Seq: uint64(i + 2), Time: time.Unix(1e9, 0), Type: p.EventType(), Data: encoded}
			data = harness.AppendRecord(data, e)
		}
		disk := &ram{data: data}
		s, _ := resume(t, file(t, disk))
		state := s.State()
		require.False(t, len(state.Open) > 0 || state.InTurn || state.InStep)
		messages, err := s.Messages()
		require.NoError(t, err)
		require.NoError(t, accept(messages))
		_, again := resume(t, file(t, disk))
		require.Empty(t, again)

		next := state.Turn + 1
		put(t, s, harness.TurnStart{Turn: next}, harness.UserMessage{Turn: next, Content: tool.Text("well?").Content})
		more, err := s.Messages()
		require.NoError(t, err)
		require.Len(t, more, len(messages)+1, "nothing is held back for ever")
	})
}

func oddPayload(t *rapid.T) harness.Payload {
	draw := func(low, high int) int { return rapid.IntRange(low, high).Draw(t, "n") }
	p := at(draw(0, 2), draw(1, 2), draw(-1, 2))
	if draw(0, 3) == 0 {
		return harness.AssistantMessage{Turn: p.Turn, Step: p.Step, Calls: calls(draw(1, 3))}
	}
	return rapid.SampledFrom([]harness.Payload{
		harness.TurnStart{Turn: p.Turn},
		harness.StepStart{Turn: p.Turn, Step: p.Step},
		harness.AssistantMessage{Turn: p.Turn, Step: p.Step, Content: tool.Text("no calls").Content},
		harness.ToolCall{Place: p},
		harness.ToolCall{Place: p, NotStarted: true},
		harness.ApprovalAsk{Place: p},
		harness.ApprovalAnswer{Place: p, Allowed: draw(0, 1) == 0},
		harness.ToolSettle{Place: p, Result: tool.Text("settled")},
		harness.ToolResult{Place: p, Result: tool.Text("committed")},
		harness.Cancel{Turn: p.Turn, Step: p.Step, Calls: []int{p.Index}[:draw(0, 1)], Cause: "stop"},
		harness.StepEnd{Turn: p.Turn, Step: p.Step},
		harness.TurnEnd{Turn: p.Turn, Reason: harness.EndDone},
	}).Draw(t, "payload")
}

// A result counts that has no tool/call: the call does not get another one.
func TestH1ResultWithoutACallCounts(t *testing.T) {
	var store harness.Memory
	s := open(t, &store)
	turn1(t, s, calls(1)...)
	data, err := json.Marshal(committed(at(1, 1, 0), calls(1)[0], tool.Text("one")))
	require.NoError(t, err)
	require.NoError(t, store.Append(harness.Event{Seq: 99, Time: time.Now(), Type: harness.TypeToolResult, Data: data}))
	s, _ = resume(t, &store)
	assert.Equal(t, []tool.Code{""}, codes(t, s))
}

// Of a log that is broken in the middle nothing is cut off at its end, however often somebody tries to open it: else
// its records would go one by one, until it could be opened without them.
func TestH8BrokenLogIsLeftAlone(t *testing.T) {
	for what, end := range map[string]string{
		"torn":                 "garbage\n" + line(3)[:9],
		"torn after a record":  "garbage\n" + line(3) + line(4)[:9],
		"two lines of garbage": "garbage\ngarbage\n",
		"three, the last torn": "garbage\n\ngarbage",
	} {
		data := start + line(2) + end
		path := filepath.Join(t.TempDir(), "log.jsonl")
		require.NoError(t, os.WriteFile(path, []byte(data), 0o600))
		for range 4 {
			_, err := harness.Open(path)
			var corrupt *harness.CorruptError
			require.ErrorAs(t, err, &corrupt, what)
			assert.Equal(t, 3, corrupt.Line, what)
			left, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, data, string(left), what)
		}
	}
}

// A torn end is cut off without being read, however long it is: a crash of the system can leave one that is a hole.
func TestTornEndNeedNotFitIntoMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	good := start + line(2)
	require.NoError(t, os.WriteFile(path, []byte(good), 0o600))
	const size = 64 << 20
	require.NoError(t, os.Truncate(path, size))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f, err := harness.OpenFile(path)
	require.NoError(t, err)
	defer f.Close()
	runtime.ReadMemStats(&after)
	assert.Equal(t, &harness.TornError{Line: 3, Offset: int64(len(good)), Size: size - int64(len(good))}, f.Torn)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
}

// What is nested so deep that encoding/json does not read it again is refused, and not a log that cannot be opened.
func TestDeepDataIsRefusedOrRead(t *testing.T) {
	for depth := 9_990; depth <= 10_000; depth++ {
		deep := json.RawMessage(strings.Repeat("[", depth) + strings.Repeat("]", depth))
		r := tool.Text("x")
		r.Meta = deep
		for _, p := range []harness.Payload{
			harness.ToolSettle{Place: at(1, 1, 0), Result: r},
			harness.Opaque{Type: "acme/x", Data: deep},
			harness.Opaque{Type: "acmé/x", Data: deep},
		} {
			disk := new(ram)
			s := open(t, file(t, disk))
			turn1(t, s, calls(1)...)
			put(t, s, started(at(1, 1, 0), calls(1)[0]))
			_, err := s.Append(harness.SyncNone, p)
			if err != nil {
				require.ErrorIs(t, err, harness.ErrPayload)
				require.Greater(t, depth, 9_995)
			} else {
				require.Less(t, depth, 10_000)
			}
			put(t, s, note(1))
			f := file(t, disk)
			require.Nil(t, f.Torn)
			require.Equal(t, s.State().Seq, open(t, f).State().Seq, depth)
		}
	}
	wide := harness.Opaque{Type: "acme/x", Data: []byte("[" + strings.Repeat("[],", 20_000) + "0]")}
	put(t, open(t, new(harness.Memory)), wide)
}

// What a caller does to its data later does not change what was appended.
func TestDataIsTheSessionsOwn(t *testing.T) {
	s := open(t, new(harness.Memory))
	data := []byte(`{"a":1}`)
	put(t, s, harness.Opaque{Type: "acme/x", Data: data})
	copy(data, "garbage")
	assert.Equal(t, `{"a":1}`, string(logOf(t, s)[1].Data))
}

type panics struct{}

func (panics) EventType() string            { return "acme/panics" }
func (panics) MarshalJSON() ([]byte, error) { panic("it cannot") }

// A payload that panics is refused, and the session goes on.
func TestPayloadThatPanics(t *testing.T) {
	s := open(t, new(harness.Memory))
	for _, p := range []harness.Payload{panics{}, (*harness.TurnStart)(nil)} {
		_, err := s.Append(harness.SyncNone, note(1), p)
		assert.ErrorIs(t, err, harness.ErrPayload)
		assert.ErrorContains(t, err, "panicked")
	}
	put(t, s, note(2))
	assert.Len(t, logOf(t, s), 2)
}

// A durability that there is not is refused, and not the weakest.
func TestUnknownDurabilityIsRefused(t *testing.T) {
	s := open(t, new(harness.Memory))
	_, err := s.Append(harness.SyncNone+1, note(1))
	assert.ErrorIs(t, err, harness.ErrPayload)
	assert.Equal(t, uint64(1), s.State().Seq)
}

// What cites another event than its tool/call first is refused.
func TestWrongCitationsAreRefused(t *testing.T) {
	s := open(t, new(harness.Memory))
	turn1(t, s, calls(1)...)
	put(t, s, started(at(1, 1, 0), calls(1)[0]))
	call := s.State().Seq
	for _, sources := range [][]uint64{{1}, {call * 10}, {1, call}} {
		for _, p := range []harness.Payload{
			harness.ApprovalAsk{Place: at(1, 1, 0), Sources: sources},
			harness.ToolSettle{Place: at(1, 1, 0), Sources: sources},
			harness.ToolResult{Place: at(1, 1, 0), Sources: sources},
		} {
			_, err := s.Append(harness.SyncNone, p)
			require.ErrorIs(t, err, harness.ErrOrder, "%v", sources)
		}
	}
	put(t, s, harness.ToolSettle{Place: at(1, 1, 0), Sources: []uint64{call}})
}

// A line that is JSON, and not what its type says, is an error with its number, whoever decodes it; and nothing is cut
// off behind it.
func TestH8UndecodableDataNamesItsLine(t *testing.T) {
	for kind, data := range map[string]string{
		harness.TypeTurnStart:        `[]`,
		harness.TypeTurnEnd:          `{"turn":"one"}`,
		harness.TypeUserMessage:      `{"content":7}`,
		harness.TypeAssistantMessage: `{"calls":{}}`,
		harness.TypeToolSettle:       `{"turn":1,"step":1,"index":0,"result":7}`,
		harness.TypeToolResult:       `{"turn":1,"step":1,"index":0,"result":7}`,
	} {
		var store harness.Memory
		s := open(t, &store)
		turn1(t, s, calls(1)...)
		put(t, s, started(at(1, 1, 0), calls(1)[0]))
		good := string(bytesOf(logOf(t, s)))
		odd := fmt.Sprintf("{\"seq\":9,\"time\":\"2030-01-02T03:04:05Z\",\"type\":%q,\"data\":%s}\n", kind, data)
		says := "event 9: its data is no " + kind
		path := filepath.Join(t.TempDir(), "log.jsonl")
		for _, end := range []string{line(10), line(10)[:9], "garbage\n", ""} {
			log := good + odd + end
			require.NoError(t, os.WriteFile(path, []byte(log), 0o600))
			s, err := harness.Open(path)
			if err == nil { // not all that the log says is looked at to find what is open
				_, err = s.Messages()
				require.NoError(t, s.Close())
			}
			corrupt := new(harness.CorruptError)
			require.ErrorAs(t, err, &corrupt, "%s %q", kind, end)
			assert.Equal(t, 1+strings.Count(good, "\n"), corrupt.Line)
			assert.Equal(t, 1, strings.Count(err.Error(), says), "%v", err)
			left, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, log, string(left), "%s %q", kind, end)
			var last error
			for _, last = range harness.Turns(harness.ReadFile(path)) {
			}
			assert.ErrorContains(t, last, says)
			require.ErrorAs(t, last, &corrupt)
			assert.Equal(t, 1+strings.Count(good, "\n"), corrupt.Line)
		}
	}
}

// The same of a store that has no lines: the error names the event, once.
func TestUndecodableDataNamesItsEvent(t *testing.T) {
	for kind, data := range map[string]string{
		harness.TypeTurnStart:  `[]`,
		harness.TypeTurnEnd:    `[]`,
		harness.TypeToolSettle: `{"turn":1,"step":1,"index":0,"result":7}`,
		harness.TypeToolResult: `{"turn":1,"step":1,"index":0,"result":{"contexts":7}}`,
	} {
		var store harness.Memory
		s := open(t, &store)
		turn1(t, s, calls(1)...)
		put(t, s, started(at(1, 1, 0), calls(1)[0]))
		require.NoError(t, store.Append(harness.Event{Seq: 99, Time: time.Now(), Type: kind, Data: []byte(data)}))
		_, err := harness.New(&store)
		require.Error(t, err)
		assert.Equal(t, 1, strings.Count(err.Error(), "event 99: its data is no "+kind), "%v", err)
	}
}
