package harness_test

import (
	"encoding/json"
	"errors"
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

func dispatchStart(parent, id string) harness.CodeDispatchStart {
	return harness.CodeDispatchStart{Place: at(1, 1, 0), ParentID: parent, ID: id, Name: "read", Arguments: json.RawMessage(`{}`)}
}

func dispatch(parent, id, text string) harness.CodeDispatch {
	return harness.CodeDispatch{Place: at(1, 1, 0), ParentID: parent, ID: id, Name: "read", Result: tool.Text(text)}
}

// outline is a tree in one line: calls that run with a question mark, what they made in brackets.
func outline(calls []*harness.SubCall) string {
	var parts []string
	for _, c := range calls {
		text := c.ID
		if c.Result == nil {
			text += "?"
		}
		if len(c.Calls) > 0 {
			text += "[" + outline(c.Calls) + "]"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

// A start adds a running child, and its end takes its place; an end without a start is added.
func TestCallTree(t *testing.T) {
	second := func(n int) time.Time { return time.Unix(int64(n), 0) }
	tree := harness.CallTree{ID: "c1"}
	tree.Start(second(1), dispatchStart("c1", "a"))
	tree.Start(second(2), dispatchStart("c1", "b"))
	assert.Equal(t, "a? b?", outline(tree.Calls))
	tree.Start(second(3), dispatchStart("a", "a1"))
	tree.Settle(second(4), dispatch("c1", "b", "of b"))
	assert.Equal(t, "a?[a1?] b", outline(tree.Calls))
	tree.Settle(second(5), dispatch("a", "a2", "of a2"))
	tree.Settle(second(6), dispatch("c1", "a", "of a"))
	assert.Equal(t, "a[a1? a2] b", outline(tree.Calls))
	tree.Start(second(7), dispatchStart("nobody", "c"))
	assert.Equal(t, "a[a1? a2] b c?", outline(tree.Calls), "a call of a parent that is not known is the root's")
	assert.Empty(t, tree.Refused)

	a, a2 := tree.Calls[0], tree.Calls[0].Calls[1]
	assert.Equal(t, []any{second(1), second(6), "of a"}, []any{a.Started, a.Settled, a.Result.Text()})
	assert.Equal(t, []any{time.Time{}, second(5), "read"}, []any{a2.Started, a2.Settled, a2.Name})
	assert.Nil(t, a2.Arguments)
	assert.Equal(t, second(6), a.Committed)
	noted := dispatchStart("c1", "d")
	noted.At = second(8)
	tree.Start(second(9), noted)
	ended := dispatch("c1", "d", "of d")
	ended.At = second(10)
	tree.Settle(second(11), ended)
	d := tree.Calls[3]
	assert.Equal(t, []time.Time{second(8), second(10), second(11)}, []time.Time{d.Started, d.Settled, d.Committed}, "what happened when, not when it was recorded")
	assert.Equal(t, json.RawMessage(`{}`), a.Arguments)
}

// What cannot be in a tree is refused, and the rest is there.
func TestCallTreeRefuses(t *testing.T) {
	now := time.Unix(1, 0)
	tree := harness.CallTree{ID: "root"}
	tree.Start(now, dispatchStart("root", "a"))
	tree.Start(now, dispatchStart("a", "b"))
	for _, c := range []struct{ parent, id string }{
		{"a", "root"}, {"root", "root"}, {"b", "a"}, {"b", "b"}, {"root", "b"},
	} {
		tree.Start(now, dispatchStart(c.parent, c.id))
	}
	tree.Settle(now, dispatch("a", "b", "one"))
	tree.Settle(now, dispatch("a", "b", "two"))
	tree.Settle(now, dispatch("root", "root", "x"))
	tree.Start(now, dispatchStart("root", "after"))
	assert.Equal(t, "a?[b] after?", outline(tree.Calls))
	assert.Equal(t, "one", tree.Calls[0].Calls[0].Result.Text())
	assert.Equal(t, []string{"call tree: root is its own ancestor", "call tree: root is its own ancestor", "call tree: a is its own ancestor",
		"call tree: b is its own ancestor", "call tree: b has started already", "call tree: b has settled already", "call tree: root is its own ancestor"}, problems(tree.Refused))
}

func problems(errs []error) (texts []string) {
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return texts
}

// Below the depth that is allowed nothing is added, and everything beside that is.
func TestCallTreeDepth(t *testing.T) {
	now := time.Unix(1, 0)
	tree := harness.CallTree{ID: "0"}
	for i := range harness.MaxCallDepth + 3 {
		tree.Start(now, dispatchStart(fmt.Sprint(i), fmt.Sprint(i+1)))
	}
	tree.Settle(now, dispatch("257", "258", "x"))
	tree.Start(now, dispatchStart("0", "beside"))
	depth := 0
	for calls := tree.Calls; len(calls) > 0; calls = calls[0].Calls {
		depth++
	}
	assert.Equal(t, harness.MaxCallDepth, depth)
	assert.Equal(t, "beside", tree.Calls[1].ID)
	assert.Equal(t, []string{"call tree: 257 is more than 256 calls deep", "call tree: 258 is below what was refused",
		"call tree: 259 is below what was refused", "call tree: 258 is below what was refused"}, problems(tree.Refused))
}

// Whatever a log says, the tree is one: each id once, no cycle, no more than the events.
func TestCallTreeProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom([]string{"", "r", "a", "b", "c", "d"})
		tree := harness.CallTree{ID: rapid.SampledFrom([]string{"", "r"}).Draw(t, "root")}
		n := rapid.IntRange(0, 20).Draw(t, "n")
		for range n {
			parent, of := id.Draw(t, "parent"), id.Draw(t, "id")
			if rapid.Bool().Draw(t, "start") {
				tree.Start(time.Unix(1, 0), dispatchStart(parent, of))
			} else {
				tree.Settle(time.Unix(2, 0), dispatch(parent, of, "x"))
			}
		}
		seen := map[string]bool{tree.ID: true}
		var walk func(calls []*harness.SubCall)
		walk = func(calls []*harness.SubCall) {
			for _, c := range calls {
				require.False(t, seen[c.ID])
				seen[c.ID] = true
				require.Equal(t, c.Result == nil, c.Settled.IsZero())
				walk(c.Calls)
			}
		}
		walk(tree.Calls)
		require.LessOrEqual(t, len(seen)-1+len(tree.Refused), n)
	})
}

// The events of nested calls derive no message and change no state; a turn has their tree; a log that ends anywhere
// among them is resumed like any other.
func TestH8NestedCalls(t *testing.T) {
	store := new(harness.Memory)
	s := open(t, store)
	cs := calls(2)
	turn1(t, s, cs...)
	put(t, s, started(at(1, 1, 0), cs[0]))
	put(t, s, dispatchStart("c1", "c1:code:1"))
	put(t, s, dispatch("c1", "c1:code:1", "one"), dispatchStart("c1", "c1:code:2"))
	put(t, s, dispatchStart("c1:code:2", "c1:code:2:code:1"))
	state := s.State()
	assert.Len(t, state.Open, 2)
	events := logOf(t, s)

	for n := len(events) - 4; n <= len(events); n++ {
		half := new(harness.Memory)
		require.NoError(t, half.Append(events[:n]...))
		resumed, repaired := resume(t, half)
		require.NotEmpty(t, repaired)
		assert.Equal(t, []tool.Code{tool.Interrupted, tool.AbortedBeforeDispatch}, codes(t, resumed))
		_, again := resume(t, half)
		assert.Empty(t, again)
		messages, err := resumed.Messages()
		require.NoError(t, err)
		text, err := json.Marshal(messages)
		require.NoError(t, err)
		assert.NotContains(t, string(text), ":code:")
		require.NoError(t, accept(messages))
	}

	require.NoError(t, s.Close())
	for turn, err := range harness.Turns(store.Events()) {
		require.NoError(t, err)
		c := turn.Steps[0].Calls[0]
		assert.Equal(t, "c1:code:1 c1:code:2?[c1:code:2:code:1?]", outline(c.Tree.Calls))
		assert.False(t, c.Tree.Calls[0].Started.IsZero())
		assert.Equal(t, "one", c.Tree.Calls[0].Result.Text())
		assert.Empty(t, turn.Steps[0].Calls[1].Tree.Calls)
		assert.Empty(t, turn.Other)
	}
}

// Nothing is recorded of a call within a call that does not run: not before its start, nor after its end.
func TestNestedCallsOnlyWhileTheCallRuns(t *testing.T) {
	s := open(t, new(harness.Memory))
	cs := calls(2)
	refused := func(p harness.Payload) {
		_, err := s.Append(harness.SyncNone, p)
		assert.ErrorIs(t, err, harness.ErrOrder)
	}
	refused(dispatchStart("c1", "x"))
	turn1(t, s, cs...)
	refused(dispatchStart("c1", "x"))
	put(t, s, started(at(1, 1, 0), cs[0]))
	put(t, s, dispatchStart("c1", "x"))
	settled := harness.ToolSettle{Place: at(1, 1, 0), Result: tool.Text("done")}
	put(t, s, settled)
	refused(dispatch("c1", "x", "late"))
	put(t, s, committed(at(1, 1, 0), cs[0], tool.Text("done")))
	refused(dispatch("c1", "x", "late"))
	other := dispatchStart("c2", "y")
	other.Place = at(1, 1, 1)
	refused(other)
	put(t, s, harness.ToolCall{Place: at(1, 1, 1), ID: "c2", Name: "c2", NotStarted: true})
	refused(other)
}

// The events are read as what they were written, by any reader.
func TestNestedCallsInAFile(t *testing.T) {
	r := new(ram)
	s := open(t, file(t, r))
	cs := calls(1)
	turn1(t, s, cs...)
	start := dispatchStart("c1", "c1:code:1")
	start.Arguments = json.RawMessage(`{"path":"<a&b>"}`)
	end := dispatch("c1", "c1:code:1", "<x>")
	put(t, s, started(at(1, 1, 0), cs[0]))
	end.Sources = []uint64{put(t, s, start)}
	put(t, s, end)
	require.NoError(t, s.Sync())
	got := payloads(t, logOf(t, file(t, r)))
	assert.Equal(t, []harness.Payload{start, end}, got[len(got)-2:])
	assert.Contains(t, string(r.data), `"type":"tool/code-dispatch","data":{"turn":1,"step":1,"index":0,"sourceEventSeqs":[`)
	for _, kind := range []string{harness.TypeCodeDispatchStart, harness.TypeCodeDispatch} {
		_, err := s.Append(harness.SyncNone, harness.Opaque{Type: kind, Data: json.RawMessage(`{"turn":1,"step":1,"index":0,"id":7}`)})
		assert.True(t, errors.Is(err, harness.ErrPayload), err)
	}
}
