package harness_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// ticking is a clock that goes on by a second each time that it is read.
func ticking() func() time.Time {
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	return func() time.Time {
		now = now.Add(time.Second)
		return now
	}
}

// draw writes turns as a tree, with the second of each event.
func tree(turns []*harness.TurnLog) string {
	var b strings.Builder
	when := func(t time.Time) string {
		if t.IsZero() {
			return "-"
		}
		return fmt.Sprint(t.Minute()*60 + t.Second())
	}
	said := func(indent string, ms []harness.UserMessage) {
		for _, m := range ms {
			fmt.Fprintf(&b, "%suser: %s\n", indent, m.Content[0].Text)
		}
	}
	for _, t := range turns {
		fmt.Fprintf(&b, "turn %d %s..%s %s%s\n", t.Turn, when(t.Started), when(t.Ended), t.Reason, t.Error)
		said("  ", t.Said)
		for _, c := range t.Cancels {
			fmt.Fprintf(&b, "  cancel: %s\n", c.Cause)
		}
		for _, e := range t.Other {
			fmt.Fprintf(&b, "  %s\n", e.Type)
		}
		for _, s := range t.Steps {
			fmt.Fprintf(&b, "  step %d %s..%s..%s\n", s.Step, when(s.Started), when(s.Answered), when(s.Ended))
			said("    ", s.Said)
			for _, c := range s.Calls {
				fmt.Fprintf(&b, "    %s@%d %s/%s/%s", c.Call.Name, c.Seq, when(c.Started), when(c.Settled), when(c.Committed))
				if !c.Asked.IsZero() {
					fmt.Fprintf(&b, " asked %s..%s %v", when(c.Asked), when(c.Answered), c.Allowed)
				}
				if c.NotStarted {
					b.WriteString(" not started")
				}
				if c.Result != nil {
					fmt.Fprintf(&b, " %s%s", c.Result.Code, c.Result.Content[0].Text)
				}
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

func all(t require.TestingT, s *harness.Session) (turns []*harness.TurnLog) {
	for turn, err := range harness.Turns(s.Events()) {
		require.NoError(t, err)
		turns = append(turns, turn)
	}
	return turns
}

func TestTurns(t *testing.T) {
	var store harness.Memory
	s, err := harness.NewWithClock(&store, ticking())
	require.NoError(t, err)
	note := harness.Opaque{Type: "acme/note", Data: json.RawMessage("1")}
	cs := calls(3)
	put(t, s, harness.UserMessage{Content: tool.Text("early").Content})
	put(t, s, note)
	turn1(t, s, cs...) // at 4 and 5
	put(t, s, started(at(1, 1, 1), cs[1]))
	put(t, s, started(at(1, 1, 0), cs[0]))
	put(t, s, harness.ApprovalAsk{Place: at(1, 1, 0)})
	put(t, s, harness.ToolSettle{Place: at(1, 1, 1), Result: tool.Text("two")})
	put(t, s, harness.ApprovalAnswer{Place: at(1, 1, 0), Allowed: true})
	put(t, s, harness.UserMessage{Content: tool.Text("hurry").Content})
	put(t, s, harness.ToolSettle{Place: at(1, 1, 0), Result: tool.Text("one")})
	put(t, s, committed(at(1, 1, 0), cs[0], tool.Text("one")))
	put(t, s, harness.Cancel{Turn: 1, Cause: "stop"})
	put(t, s, harness.TurnEnd{Turn: 1, Reason: harness.EndFailed, Error: ": no"})
	put(t, s, note)
	_, err = s.Resume(func(_ harness.OpenCall, r tool.Result) tool.Result {
		r.Content = tool.Text("!").Content
		return r
	})
	require.NoError(t, err)
	put(t, s, harness.UserMessage{Content: tool.Text("again").Content})
	put(t, s, harness.TurnStart{Turn: 2}, harness.StepStart{Turn: 2, Step: 1}, harness.AssistantMessage{Turn: 2, Step: 1})
	put(t, s, harness.StepEnd{Turn: 2, Step: 1})
	put(t, s, harness.StepStart{Turn: 2, Step: 2})
	put(t, s, harness.TurnEnd{Turn: 2, Reason: harness.EndDone})
	put(t, s, harness.UserMessage{Content: tool.Text("late").Content})
	assert.Equal(t, `turn 1 4..15 error: no
  user: early
  user: go
  cancel: stop
  acme/note
  step 1 5..5..-
    user: hurry
    c1@9 7/12/13 asked 8..10 true one
    c2@8 6/9/17 ABORTED!
    c3@20 17/-/17 not started ABORTED_BEFORE_DISPATCH!
turn 2 19..22 done
  user: again
  acme/note
  step 1 19..19..20
  step 2 21..-..-
turn 0 -..- 
  user: late
`, tree(all(t, s)))
}

// Each event of a call is in the tree, once, whatever became of the session.
func TestTurnsHaveEveryCall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &life{t: t, s: open(t, new(harness.Memory))}
		l.live(rapid.IntRange(1, 60).Draw(t, "moves"))
		count := map[string]int{}
		for _, turn := range all(t, l.s) {
			if turn.Turn > 0 {
				count[harness.TypeTurnStart]++
			}
			count["acme/note"] += len(turn.Other)
			count[harness.TypeUserMessage] += len(turn.Said)
			count[harness.TypeCancel] += len(turn.Cancels)
			for _, s := range turn.Steps {
				count[harness.TypeStepStart]++
				count[harness.TypeUserMessage] += len(s.Said)
				for _, c := range s.Calls {
					for kind, is := range map[string]bool{
						harness.TypeToolCall: c.Seq > 0, harness.TypeToolSettle: c.Outcome != nil, harness.TypeToolResult: c.Result != nil,
						harness.TypeApprovalAsk: !c.Asked.IsZero(), harness.TypeApprovalAnswer: !c.Answered.IsZero(),
					} {
						if is {
							count[kind]++
						}
					}
				}
			}
		}
		logged := map[string]int{}
		for _, e := range logOf(t, l.s) {
			logged[e.Type]++
		}
		for kind, n := range count {
			require.Equal(t, logged[kind], n, kind)
		}
	})
}

func TestTurnsPassErrorsOn(t *testing.T) {
	turn := `{"seq":2,"time":"2026-01-02T03:04:05Z","type":"turn/start","data":{"turn":1}}` + "\n"
	for data, kind := range map[string]string{
		start + turn + `{"seq":3`:                                   "torn",
		start + turn + strings.Replace(turn, `{"turn":1}`, `[]`, 1): "turn/start",
		start + turn + strings.Replace(strings.Replace(turn, "turn/start", "step/end", 1), `{"turn":1}`, `[]`, 1): "step/end",
	} {
		var seen []string
		for turn, err := range harness.Turns(harness.Read(strings.NewReader(data))) {
			if err != nil {
				assert.Nil(t, turn)
				assert.ErrorContains(t, err, kind)
				seen = append(seen, "error")
			} else {
				seen = append(seen, fmt.Sprint(turn.Turn))
			}
		}
		assert.Equal(t, []string{"1", "error"}, seen)
		for range harness.Turns(harness.Read(strings.NewReader(data))) {
			break
		}
	}
}
