package harness_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// TestH2MessagesFollowFromTheLog plays the same turns under 100 random orders of starts and outcomes: the messages are
// the same bytes each time, from the session, from its log, and from its log in a file.
func TestH2MessagesFollowFromTheLog(t *testing.T) {
	var first []byte
	for range 100 {
		disk := new(ram)
		s := open(t, file(t, disk))
		for turn := 1; turn <= 3; turn++ {
			cs := calls(5)
			put(t, s, harness.TurnStart{Turn: turn}, harness.UserMessage{Turn: turn, Content: tool.Text(fmt.Sprint("question ", turn)).Content})
			put(t, s, harness.StepStart{Turn: turn, Step: 1}, harness.AssistantMessage{Turn: turn, Step: 1, Calls: cs})
			var wg sync.WaitGroup
			outcomes := make([]chan tool.Result, len(cs))
			for i := range outcomes {
				outcomes[i] = make(chan tool.Result, 1)
			}
			for _, i := range rand.Perm(len(cs)) {
				wg.Go(func() {
					put(t, s, started(at(turn, 1, i), cs[i]))
					r := tool.Text(fmt.Sprint("result ", i))
					put(t, s, harness.ToolSettle{Place: at(turn, 1, i), Result: r})
					outcomes[i] <- r
				})
			}
			for i, c := range cs {
				put(t, s, committed(at(turn, 1, i), c, <-outcomes[i]))
			}
			wg.Wait()
			put(t, s, harness.StepEnd{Turn: turn, Step: 1}, harness.TurnEnd{Turn: turn, Reason: harness.EndDone})
		}
		live, err := s.Messages()
		require.NoError(t, err)
		read, err := harness.Messages(harness.Read(strings.NewReader(string(disk.data))))
		require.NoError(t, err)
		for _, messages := range [][]harness.Message{live, read} {
			require.NoError(t, accept(messages))
			data, err := json.Marshal(messages)
			require.NoError(t, err)
			if first == nil {
				first = data
			}
			require.Equal(t, string(first), string(data))
		}
	}
}

func TestMessages(t *testing.T) {
	s := open(t, new(harness.Memory))
	expect := func(want string) {
		t.Helper()
		messages, err := s.Messages()
		require.NoError(t, err)
		got, err := json.Marshal(messages)
		require.NoError(t, err)
		assert.JSONEq(t, want, string(got))
	}
	expect(`null`)
	put(t, s, harness.UserMessage{Content: tool.Text("early").Content})
	put(t, s, harness.TurnStart{Turn: 1}, harness.UserMessage{Turn: 1, Content: tool.Text("go").Content})
	said := `{"role":"user","content":[{"text":"early"}]},{"role":"user","content":[{"text":"go"}]}`
	expect("[" + said + "]")

	cs := []tool.Call{{ID: "x", Name: "a", Arguments: "{ }"}, {ID: "x", Name: "b", Arguments: ""}, {Name: "c", Arguments: "nope"}}
	put(t, s, harness.StepStart{Turn: 1, Step: 1})
	put(t, s, harness.AssistantMessage{Turn: 1, Step: 1, Content: tool.Text("look").Content, Calls: cs, Native: json.RawMessage(`{"signed": "<&>"}`)})
	expect("[" + said + "]")
	put(t, s, started(at(1, 1, 1), cs[1]), started(at(1, 1, 0), cs[0]), started(at(1, 1, 2), cs[2]))
	put(t, s, harness.ToolSettle{Place: at(1, 1, 1), Result: tool.Text("B")})
	put(t, s, harness.UserMessage{Turn: 1, Step: 1, Content: tool.Text("meanwhile").Content})
	failed := tool.Result{IsError: true, Code: tool.InvalidArgs, Meta: json.RawMessage(`1`), Contexts: []tool.Context{{Content: tool.Text("later").Content}}}
	put(t, s, committed(at(1, 1, 0), cs[0], tool.Text("A")), committed(at(1, 1, 1), cs[1], tool.Text("B")))
	expect("[" + said + "]")
	put(t, s, committed(at(1, 1, 2), cs[2], failed))
	said += `,{"role":"assistant","content":[{"text":"look"}],"native":{"signed":"<&>"},"calls":[
		{"id":"x","name":"a","arguments":"{ }"},{"id":"call_1_1_1","name":"b","arguments":""},{"id":"call_1_1_2","name":"c","arguments":"nope"}]},
		{"role":"tool","results":[{"id":"x","name":"a","content":[{"text":"A"}]},{"id":"call_1_1_1","name":"b","content":[{"text":"B"}]},
		{"id":"call_1_1_2","name":"c","isError":true,"content":[]}]},
		{"role":"user","content":[{"text":"meanwhile"}]}`
	expect("[" + said + "]")

	// Ids that are used already are not used again, whoever used them.
	put(t, s, harness.StepEnd{Turn: 1, Step: 1}, harness.StepStart{Turn: 1, Step: 2})
	put(t, s, harness.AssistantMessage{Turn: 1, Step: 2, Calls: []tool.Call{{ID: "call_1_2_1", Name: "d"}, {ID: "x", Name: "e"}}})
	for i, c := range []string{"d", "e"} {
		put(t, s, started(at(1, 2, i), tool.Call{Name: c}), committed(at(1, 2, i), tool.Call{Name: c}, tool.Text(c)))
	}
	said += `,{"role":"assistant","calls":[{"id":"call_1_2_1","name":"d","arguments":""},{"id":"call_1_2_1_1","name":"e","arguments":""}]},
		{"role":"tool","results":[{"id":"call_1_2_1","name":"d","content":[{"text":"d"}]},{"id":"call_1_2_1_1","name":"e","content":[{"text":"e"}]}]}`
	expect("[" + said + "]")

	// Nothing is no message.
	put(t, s, harness.StepEnd{Turn: 1, Step: 2}, harness.StepStart{Turn: 1, Step: 3})
	put(t, s, harness.UserMessage{Turn: 1, Step: 3}, harness.AssistantMessage{Turn: 1, Step: 3})
	expect("[" + said + "]")
}

// A log that somebody else wrote, in which results come late, twice or for nothing, still gives what a provider takes.
func TestMessagesOfOddLogs(t *testing.T) {
	var store harness.Memory
	s := open(t, &store)
	cs := calls(2)
	turn1(t, s, cs...)
	seq := s.State().Seq
	odd := func(p harness.Payload) {
		seq++
		data, err := json.Marshal(p)
		require.NoError(t, err)
		require.NoError(t, store.Append(harness.Event{Seq: seq, Type: p.EventType(), Data: data}))
	}
	odd(committed(at(1, 1, 1), cs[1], tool.Text("without a call")))
	odd(started(at(1, 1, 1), cs[1]))
	odd(committed(at(1, 1, 1), cs[1], tool.Text("2")))
	odd(committed(at(1, 1, 1), cs[1], tool.Text("2 again")))
	odd(committed(at(1, 1, 9), cs[1], tool.Text("of nothing")))
	odd(committed(at(1, 1, -1), cs[1], tool.Text("of nothing")))
	odd(harness.AssistantMessage{Turn: 1, Step: 2, Content: tool.Text("too early").Content})
	odd(harness.UserMessage{Content: tool.Text("well").Content})
	messages, err := harness.Messages(store.Events())
	require.NoError(t, err)
	assert.Len(t, messages, 1, "the rest is held back")

	s, _ = resume(t, &store)
	messages, err = s.Messages()
	require.NoError(t, err)
	require.NoError(t, accept(messages))
	var roles []harness.Role
	for _, m := range messages {
		roles = append(roles, m.Role)
	}
	assert.Equal(t, []harness.Role{"user", "assistant", "tool", "assistant", "user"}, roles)
}

func TestMessagesOfWhatCannotBeDecoded(t *testing.T) {
	for _, kind := range []string{harness.TypeUserMessage, harness.TypeAssistantMessage, harness.TypeToolResult} {
		said := harness.Event{Seq: 6, Type: harness.TypeUserMessage, Data: json.RawMessage(`{"content":[{"text":"x"}]}`)}
		odd := harness.Event{Seq: 7, Type: kind, Data: json.RawMessage(`[]`)}
		var store harness.Memory
		require.NoError(t, store.Append(said, odd))
		messages, err := harness.Messages(store.Events())
		assert.ErrorContains(t, err, "session log: line 2 is not a record: event 7: its data is no "+kind)
		assert.Len(t, messages, 1)
	}
	var store harness.Memory
	s := open(t, &store)
	require.NoError(t, store.Append(harness.Event{Seq: 2, Type: harness.TypeUserMessage, Data: json.RawMessage(`{"content":7}`)}))
	_, err := s.Messages()
	assert.ErrorContains(t, err, "its data is no user/message")
	messages, err := harness.Messages(harness.Read(strings.NewReader(start + "{")))
	assert.ErrorAs(t, err, new(*harness.TornError))
	assert.Empty(t, messages)
}

// What was returned stays what it was, however the session goes on.
func TestMessagesAreNotChangedLater(t *testing.T) {
	s := open(t, new(harness.Memory))
	put(t, s, harness.UserMessage{Content: tool.Text("1").Content})
	before, err := s.Messages()
	require.NoError(t, err)
	_ = append(before, harness.Message{Role: "mine"})
	for n := range 100 {
		put(t, s, harness.UserMessage{Content: tool.Text(fmt.Sprint(n)).Content})
	}
	assert.Len(t, before, 1)
	after, err := s.Messages()
	require.NoError(t, err)
	assert.Equal(t, harness.RoleUser, after[1].Role)
}
