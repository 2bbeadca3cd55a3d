package harness_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/harness"
)

const start = `{"seq":1,"time":"2026-01-02T03:04:05.678Z","type":"session/start","data":{"format":"keywave-session","version":1}}` + "\n"

// The line in the package comment is one.
func TestFormatIsTheDocumentedOne(t *testing.T) {
	events := slices.Collect(firsts(harness.Read(strings.NewReader(start))))
	require.Len(t, events, 1)
	assert.Equal(t, harness.Event{
		Seq: 1, Time: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC), Type: "session/start",
		Data: json.RawMessage(`{"format":"keywave-session","version":1}`),
	}, events[0])
	assert.Equal(t, harness.SessionStart{Format: harness.Format, Version: harness.Version}, payload(t, events[0]))
	assert.Equal(t, start, string(harness.AppendRecord(nil, events[0])))
	assert.Equal(t, start, events[0].String()+"\n")

	s, err := harness.NewWithClock(new(harness.Memory), func() time.Time { return events[0].Time.In(time.FixedZone("", 3600)) })
	require.NoError(t, err)
	assert.Equal(t, start, string(bytesOf(logOf(t, s))))
}

// firsts are the events before an error.
func firsts(events func(func(harness.Event, error) bool)) func(func(harness.Event) bool) {
	return func(yield func(harness.Event) bool) {
		for e, err := range events {
			if err != nil || !yield(e) {
				return
			}
		}
	}
}

// What a session does not know it keeps and hands on, byte for byte: odd numbers, members in any order, escapes,
// spaces.
func TestUnknownTypesKeepTheirBytes(t *testing.T) {
	datas := []string{
		`{"b": 1.0,  "a":[1e400, -0, 123456789012345678901234567890],"b":2}`,
		`"\u003c<\/>&\u2028 ` + "\u2028" + `\ud800"`,
		`null`, `[]`, `17`,
	}
	var lines strings.Builder
	lines.WriteString(start)
	for _, d := range datas {
		lines.WriteString(`{"seq":2,"time":"2026-01-02T03:04:05Z","type":"acme/<\"ü\">","data":` + d + "}\n")
		lines.WriteString(`{"seq":3,"time":"2026-01-02T03:04:05Z","type":"acme/plain","data": ` + d + " }\n")
	}
	var copied harness.Memory
	s := open(t, &copied)
	for e, err := range harness.Read(strings.NewReader(lines.String())) {
		require.NoError(t, err)
		if e.Type == harness.TypeSessionStart {
			continue
		}
		put(t, s, payload(t, e))
	}
	disk := &ram{data: bytesOf(logOf(t, s))}
	again := logOf(t, file(t, disk))
	require.Len(t, again, 2*len(datas)+1)
	for i, e := range again[1:] {
		assert.Equal(t, []string{`acme/<"ü">`, "acme/plain"}[i%2], e.Type)
		assert.Equal(t, datas[i/2], string(e.Data))
	}
}

// A record is a line: data with line breaks in it loses them, and nothing else.
func TestOpaqueDataIsMadeALine(t *testing.T) {
	s := open(t, new(harness.Memory))
	put(t, s, harness.Opaque{Type: "acme/x", Data: json.RawMessage("{\n  \"a\": \"\\n<\"\r\n}\n")})
	assert.Equal(t, `{"a":"\n<"}`, string(logOf(t, s)[1].Data))
}

type weird struct{ kind, data string }

func (w weird) EventType() string            { return w.kind }
func (w weird) MarshalJSON() ([]byte, error) { return []byte(w.data), nil }

type unmarshalable struct{ F func() }

func (unmarshalable) EventType() string { return "acme/f" }

func TestPayloadsThatCannotBeRecordedAreRefused(t *testing.T) {
	s := open(t, new(harness.Memory))
	for what, p := range map[string]harness.Payload{
		"nil":                        nil,
		"no type":                    harness.Opaque{Data: json.RawMessage(`{}`)},
		"a type that is not UTF-8":   harness.Opaque{Type: "\xff", Data: json.RawMessage(`{}`)},
		"no data":                    harness.Opaque{Type: "acme/x"},
		"data that is not JSON":      harness.Opaque{Type: "acme/x", Data: json.RawMessage(`{`)},
		"two values":                 harness.Opaque{Type: "acme/x", Data: json.RawMessage(`{} {}`)},
		"data that is not UTF-8":     harness.Opaque{Type: "acme/x", Data: json.RawMessage("\"\xff\"")},
		"a function":                 unmarshalable{},
		"not UTF-8 of a MarshalJSON": weird{"acme/x", "\"\xff\""},
		"no such tool/call":          harness.Opaque{Type: harness.TypeToolCall, Data: json.RawMessage(`{"turn":"one"}`)},
		"no such tool/settle":        weird{harness.TypeToolSettle, `{"turn":1,"step":1,"index":0,"result":[]}`},
	} {
		_, err := s.Append(harness.SyncNone, harness.Opaque{Type: "acme/before", Data: json.RawMessage(`1`)}, p)
		assert.ErrorIs(t, err, harness.ErrPayload, what)
	}
	assert.Len(t, logOf(t, s), 1, "nor is what comes with it")
}

func TestKnownTypesDecode(t *testing.T) {
	for _, e := range []harness.Event{
		{Type: harness.TypeTurnStart, Data: json.RawMessage(`{"turn":"1"}`)},
		{Type: harness.TypeToolResult, Data: json.RawMessage(`7`)},
		{Type: harness.TypeCancel, Data: json.RawMessage(``)},
	} {
		_, err := e.Payload()
		assert.ErrorContains(t, err, "its data is no "+e.Type)
	}
	p, err := harness.Event{Type: harness.TypeTurnEnd, Data: json.RawMessage(`{"turn":3,"reason":"done","new":{}}`)}.Payload()
	require.NoError(t, err)
	assert.Equal(t, harness.TurnEnd{Turn: 3, Reason: harness.EndDone}, p)
}

// FuzzRecord reads any line in both ways: they agree, and what was read is written such that it is read again.
func FuzzRecord(f *testing.F) {
	for _, line := range []string{
		strings.TrimSuffix(start, "\n"),
		`{"seq":9007199254740992,"time":"2026-01-02T03:04:05+02:00","type":"x","data":null}`,
		`{"data":{},"seq":1,"time":"2026-01-02T03:04:05Z","type":"a\u0062"}`,
		`{"seq":01,"time":"2026-01-02T03:04:05Z","type":"x","data":1}`,
		`{"seq":1,"time":"2026-01-02T03:04:05Z","type":"x","data":1},"data":2}`,
		`{"seq":1,"time":"2026-01-02T03:04:05Z","type":"x","data":1,"seq":2}`,
		`{"seq":1,"time":"9999-12-31T23:59:59-23:00","type":"","data":1}` + "\r",
		`{"seq":1,"time":"2026-01-02T03:04:05Z","type":"x","data": 1 }`,
		`{"seq":0,"time":null,"type":null}`, `null`, ``, `{`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.IndexByte(line, '\n') >= 0 {
			return
		}
		e, err := harness.ParseRecord(line)
		slow, slowErr := harness.ParseAny(line)
		if (err == nil) != (slowErr == nil) || err == nil && e.String() != slow.String() {
			t.Fatalf("%q: %v, %v and %v, %v", line, e, err, slow, slowErr)
		}
		if err != nil {
			return
		}
		written := harness.AppendRecord(nil, e)
		if n := bytes.IndexByte(written, '\n'); n != len(written)-1 {
			t.Fatalf("%q: a line break within", written)
		}
		again, err := harness.ParseRecord(written[:len(written)-1])
		if err != nil || again.String() != e.String() || !again.Time.Equal(e.Time) {
			t.Fatalf("%q became %q: %v", line, written, err)
		}
	})
}

// FuzzLog opens any bytes as a log, with a head that makes most of them one. Whatever they are: no panic, and if they
// can be opened, what was whole stays, and it can be resumed and opened again.
func FuzzLog(f *testing.F) {
	f.Add(true, []byte(""))
	f.Add(true, []byte(`{"seq":2,"time":"2026-01-02T03:04:05Z","type":"turn/start","data":{"turn":1}}`+"\n"))
	f.Add(true, []byte(`{"seq":2,"time":"2026-01-02T03:04:05Z","type":"assistant/message","data":{"turn":1,"step":1,"calls":[{"name":"x"},{"name":"y"}]}}
{"seq":3,"time":"2026-01-02T03:04:05Z","type":"tool/call","data":{"turn":1,"step":1,"index":1}}
{"seq":3,"time":"2026-01-02T03:04:05Z","type":"tool/settle","data":{"turn":1,"step":1,"index":1,"result":{"contexts":[1]}}}
{"seq":3,"time":"2026-01-02T03:04:05Z","type":"turn/cancel","data":{"turn":1,"step":1,"calls":[0,-1,9]}}
{"seq":9,"time":"2026-01-02T03:04:05Z","type":"tool/result","data":{"turn":1,"step":1,"index":-1}}
`))
	f.Add(true, []byte("garbage\n\ngarbage"))
	f.Add(true, []byte(`{"seq":2,"time":"2026-01-02T03:04:05Z","type":"assistant/message","data":{"turn":1,"step":1,"calls":[{"name":"x"}]}}
{"seq":3,"time":"2026-01-02T03:04:05Z","type":"assistant/message","data":{"turn":1,"step":1,"calls":[{"name":"y"},{"name":"z"}]}}
{"seq":4,"time":"2026-01-02T03:04:05Z","type":"tool/result","data":{"turn":1,"step":1,"index":0,"result":{"content":[]}}}
`))
	f.Add(false, []byte(`{"seq":1,"time":"`))
	f.Add(false, []byte("hello\nworld"))
	f.Fuzz(func(t *testing.T, head bool, data []byte) {
		if head {
			data = append([]byte(start), data...)
		}
		var read []harness.Event
		var readErr error
		for e, err := range harness.Read(bytes.NewReader(data)) {
			if readErr = err; err == nil {
				read = append(read, e)
			}
		}
		disk := &ram{data: slices.Clone(data)}
		store, err := harness.MendDisk(disk, int64(len(data)))
		if err != nil {
			if !bytes.Equal(data, disk.data) {
				t.Fatal("a file that is not opened was changed")
			}
			return
		}
		if !bytes.HasPrefix(data, disk.data) {
			t.Fatal("more was changed than cut off")
		}
		s, err := harness.New(store)
		if err != nil {
			left := slices.Clone(disk.data)
			if again, err := harness.MendDisk(disk, int64(len(left))); err == nil {
				if _, err = harness.New(again); err == nil {
					t.Fatal("the second attempt to open it succeeds")
				}
			}
			if !bytes.Equal(left, disk.data) {
				t.Fatal("the second attempt to open it cuts off more")
			}
			return
		}
		if torn := (*harness.TornError)(nil); (store.Torn != nil) != errors.As(readErr, &torn) {
			t.Fatalf("a reader and an opener do not agree on the end: %v, %v", readErr, store.Torn)
		}
		if events := logOf(t, s); len(read) > 0 && len(events) != len(read) {
			t.Fatalf("%d events were read, and %d opened", len(read), len(events))
		}
		if _, err := s.Resume(nil); err != nil {
			t.Fatal(err)
		}
		state := s.State()
		if len(state.Open) > 0 || state.InTurn || state.InStep {
			t.Fatalf("%+v is open", state)
		}
		messages, err := s.Messages()
		if err != nil {
			return // a message that cannot be decoded
		}
		if err := accept(messages); err != nil {
			t.Fatal(err)
		}
		whole := slices.Clone(disk.data)
		if again, repaired := resume(t, file(t, disk)); len(repaired) > 0 || !bytes.Equal(whole, disk.data) {
			t.Fatalf("resumed twice: %v, %v", repaired, again.State())
		}
	})
}
