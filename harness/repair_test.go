package harness_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// TestH8AnyPrefixResumes lives a random session and ends it behind each of its events: what is open becomes what the
// design says, in the model's order; nothing else is touched; the messages are such that any provider takes them; and
// to open and resume it again appends nothing.
func TestH8AnyPrefixResumes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var whole harness.Memory
		l := &life{t: t, s: open(t, &whole)}
		l.live(rapid.IntRange(1, 60).Draw(t, "moves"))
		events := logOf(t, &whole)
		for n := range len(events) + 1 {
			resumed(t, events[:n])
		}
	})
}

// resumed resumes a session that ended behind these events, checks everything that is promised of it, and returns its
// log.
func resumed(t require.TestingT, events []harness.Event) []harness.Event {
	var store harness.Memory
	require.NoError(t, store.Append(events...))
	s, repaired := resume(t, &store)
	after := logOf(t, s)
	begun := max(len(events), 1) // where there is nothing, a log begins
	require.Equal(t, events, after[:len(events)], "what was there is as it was")
	require.Len(t, after, begun+len(repaired))
	require.NoError(t, check(after))
	var got []tool.Code
	for _, p := range repaired {
		if r, ok := p.(harness.ToolResult); ok {
			got = append(got, r.Result.Code)
		}
	}
	require.Equal(t, want(t, events), got)

	messages, err := s.Messages()
	require.NoError(t, err)
	require.NoError(t, accept(messages))

	again, more := resume(t, &store)
	require.Empty(t, more)
	require.Equal(t, after, logOf(t, again), "a second resume appends nothing")
	state := again.State()
	require.Empty(t, state.Open)
	require.False(t, state.InTurn || state.InStep)
	require.Equal(t, parked(t, after), state.Parked)
	return after
}

// parked are the contexts that nobody has delivered, by looking at every event for each result.
func parked(t require.TestingT, events []harness.Event) (all []harness.Parked) {
	payloads := payloads(t, events)
	for i, p := range payloads {
		r, ok := p.(harness.ToolResult)
		if !ok || len(r.Result.Contexts) == 0 {
			continue
		}
		delivered := false
		for _, p := range payloads {
			m, ok := p.(harness.UserMessage)
			delivered = delivered || ok && slices.Contains(m.Sources, events[i].Seq)
		}
		if !delivered {
			all = append(all, harness.Parked{Result: events[i].Seq, Contexts: r.Result.Contexts})
		}
	}
	return all
}

// A process can end in the resume, too: of what it was to append, a beginning is there. The next one appends the rest.
func TestH8ResumeGoesOnWhereItWasInterrupted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var whole harness.Memory
		l := &life{t: t, s: open(t, &whole)}
		l.live(rapid.IntRange(1, 40).Draw(t, "moves"))
		before := logOf(t, &whole)
		_, _ = resume(t, &whole)
		after := logOf(t, &whole)
		for n := len(before); n <= len(after); n++ {
			var store harness.Memory
			require.NoError(t, store.Append(after[:n]...))
			_, _ = resume(t, &store)
			got := logOf(t, &store)
			require.Len(t, got, len(after))
			for i := range after {
				require.Equal(t, after[i].Type, got[i].Type)
				require.Equal(t, string(after[i].Data), string(got[i].Data))
			}
		}
	})
}

// Repair is a function of the state: equal states, equal repairs, and Resume appends just those.
func TestRepairIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var store harness.Memory
		l := &life{t: t, s: open(t, &store)}
		l.live(rapid.IntRange(1, 40).Draw(t, "moves"))
		state, err := harness.Fold(store.Events())
		require.NoError(t, err)
		require.Equal(t, l.s.State(), state, "the fold of a session and that of its log")
		repairs := harness.Repair(state, nil)
		require.Equal(t, repairs, harness.Repair(state, nil))
		repaired, err := l.s.Resume(nil)
		require.NoError(t, err)
		require.Equal(t, repairs, repaired)
	})
}

// H4, for the log: contexts stay parked, in the order of the commits, through a cancel and a resume, until a message
// delivers them.
func TestH4ContextsStayParked(t *testing.T) {
	var store harness.Memory
	s := open(t, &store)
	cs := calls(3)
	turn1(t, s, cs...)
	with := func(text string) tool.Result {
		r := tool.Text("ok")
		r.Contexts = []tool.Context{{Source: "t", Content: tool.Text(text).Content}, {Source: "t", Content: tool.Text(text + "!").Content}}
		return r
	}
	for i, c := range cs {
		put(t, s, started(at(1, 1, i), c))
	}
	put(t, s, harness.ToolSettle{Place: at(1, 1, 2), Result: with("three")})
	put(t, s, harness.ToolSettle{Place: at(1, 1, 0), Result: with("one")})
	first := put(t, s, committed(at(1, 1, 0), cs[0], with("one")))
	assert.Len(t, s.State().Parked, 1, "an outcome parks nothing, a result does")
	put(t, s, harness.Cancel{Turn: 1, Cause: "stop"})

	s, _ = resume(t, &store)
	assert.Equal(t, []tool.Code{"", tool.Interrupted, tool.Aborted}, codes(t, s))
	state := s.State()
	require.Len(t, state.Parked, 2)
	assert.Equal(t, harness.Parked{Result: first, Contexts: with("one").Contexts}, state.Parked[0])
	assert.Equal(t, with("three").Contexts, state.Parked[1].Contexts)
	messages, err := s.Messages()
	require.NoError(t, err)
	assert.Len(t, messages, 3, "what is parked is no message")

	put(t, s, harness.TurnStart{Turn: 2}, harness.UserMessage{Turn: 2, Content: with("one").Contexts[0].Content, Sources: []uint64{first}})
	assert.Equal(t, state.Parked[1:], s.State().Parked)
	s, _ = resume(t, &store)
	assert.Equal(t, state.Parked[1:], s.State().Parked)
}

// What a pipeline does at a commit can be done on resume, and runs nothing.
func TestH8FinalizeThroughAPipeline(t *testing.T) {
	ran := false
	define, err := tool.Define(tool.Spec[struct{}, string]{Name: "c1", Body: func(context.Context, struct{}) (string, error) {
		ran = true
		return "", nil
	}})
	require.NoError(t, err)
	var tools tool.Registry
	require.NoError(t, tools.Register(define))
	pipeline := &tool.Pipeline{Reviewers: []tool.Reviewer{func(_ context.Context, c *tool.Invocation, r tool.Result) (tool.Review, error) {
		return tool.Review{Content: tool.Text(fmt.Sprint("reviewed ", c.Index, ": ", r.Text())).Content}, nil
	}}}
	var store harness.Memory
	s := open(t, &store)
	cs := []tool.Call{calls(1)[0], calls(1)[0]}
	turn1(t, s, cs...)
	put(t, s, started(at(1, 1, 0), cs[0]), started(at(1, 1, 1), cs[1]), harness.ToolSettle{Place: at(1, 1, 1), Result: tool.Text("secret")})
	_, err = s.Resume(func(c harness.OpenCall, r tool.Result) tool.Result {
		j := pipeline.NewJob(&tools, c.Call)
		j.Index, j.Result = c.Index, r
		require.NoError(t, j.Commit(t.Context()))
		return j.Result
	})
	require.NoError(t, err)
	assert.Equal(t, []tool.Code{tool.Interrupted, ""}, codes(t, s))
	assert.Equal(t, "reviewed 1: secret", results(t, s)[1].Result.Text())
	assert.False(t, ran)
}

func TestH8FinalizeIsGivenEachResult(t *testing.T) {
	var store harness.Memory
	s := open(t, &store)
	turn1(t, s, calls(3)...)
	put(t, s, started(at(1, 1, 0), calls(3)[0]), started(at(1, 1, 1), calls(3)[1]))
	put(t, s, harness.ToolSettle{Place: at(1, 1, 1), Result: tool.Text("secret")})

	_, err := s.Resume(func(harness.OpenCall, tool.Result) tool.Result { panic("no") })
	require.ErrorContains(t, err, "finalize panicked: no")
	_, err = s.Resume(func(harness.OpenCall, tool.Result) tool.Result {
		put(t, s, harness.Opaque{Type: "acme/x", Data: []byte("{}")}) // it may use the session, but then it is not the same any more
		return tool.Text("x")
	})
	require.ErrorIs(t, err, harness.ErrOrder)
	require.Len(t, s.State().Open, 3)

	var given []harness.Place
	_, err = s.Resume(func(c harness.OpenCall, r tool.Result) tool.Result {
		given = append(given, c.Place)
		return tool.Text("*" + string(r.Code))
	})
	require.NoError(t, err)
	assert.Equal(t, []harness.Place{at(1, 1, 0), at(1, 1, 1), at(1, 1, 2)}, given)
	var texts []string
	for _, r := range results(t, s) {
		texts = append(texts, r.Result.Text())
	}
	assert.Equal(t, []string{"*INTERRUPTED", "*", "*ABORTED_BEFORE_DISPATCH"}, texts)
}

func TestCase_crash_resume_1(t *testing.T) {
	var store harness.Memory
	s := open(t, &store)
	cs := calls(2)
	turn1(t, s, cs...)
	put(t, s, started(at(1, 1, 0), cs[0]))
	put(t, s, started(at(1, 1, 1), cs[1]))
	put(t, s, harness.ToolSettle{Place: at(1, 1, 1), Result: tool.Text("two")})
	n := len(logOf(t, &store))

	synced := &syncs{Store: &store}
	s = open(t, synced)
	_, err := s.Resume(nil)
	require.NoError(t, err)
	assert.Positive(t, synced.n, "flushed")
	rs := results(t, s)
	require.Len(t, rs, 2)
	assert.Equal(t, "c1", rs[0].ID)
	assert.True(t, rs[0].Result.IsError)
	assert.Contains(t, rs[0].Result.Text(), "was running when the process ended")
	assert.Equal(t, "two", rs[1].Result.Text())
	messages, err := s.Messages()
	require.NoError(t, err)
	require.NoError(t, accept(messages))

	after := logOf(t, &store)
	assert.Len(t, after, n+4, "two results, the ends of step and turn")
	_, more := resume(t, &store)
	assert.Empty(t, more)
	assert.Equal(t, after, logOf(t, &store))
}

// syncs counts.
type syncs struct {
	harness.Store
	n int
}

func (s *syncs) Sync() error { s.n++; return s.Store.Sync() }

func TestCase_crash_resume_2(t *testing.T) {
	var store harness.Memory
	s := open(t, &store)
	write := tool.Call{ID: "c1", Name: "write", Arguments: `{"path":"a"}`}
	turn1(t, s, write)
	put(t, s, started(at(1, 1, 0), write))

	s, _ = resume(t, &store)
	rs := results(t, s)
	require.Len(t, rs, 1)
	assert.Equal(t, tool.Interrupted, rs[0].Result.Code)
	assert.True(t, rs[0].Result.Code.MayHaveRun())
	assert.Equal(t, "write was running when the process ended: "+
		"its effect may have happened, wholly or in part. Check what has happened before you try again.", rs[0].Result.Text())
	messages, err := s.Messages()
	require.NoError(t, err)
	require.Len(t, messages, 3)
	assert.Equal(t, []tool.Call{write}, messages[1].Calls, "the call stays visible")
	assert.Equal(t, rs[0].Result.Content, messages[2].Results[0].Content)
}

func TestCase_session_log_1(t *testing.T) {
	disk := new(ram)
	s := open(t, file(t, disk))
	cs := calls(3)
	turn1(t, s, cs...)
	for i, c := range cs {
		put(t, s, started(at(1, 1, i), c))
	}
	put(t, s, harness.ToolSettle{Place: at(1, 1, 2), Result: tool.Text("three")})
	put(t, s, harness.ToolSettle{Place: at(1, 1, 1), Result: tool.Text("two")})
	// Killed here: nobody closes anything.

	s, _ = resume(t, file(t, &ram{data: slices.Clone(disk.data)}))
	assert.Equal(t, []tool.Code{tool.Interrupted, "", ""}, codes(t, s))
	rs := results(t, s)
	assert.Equal(t, "two", rs[1].Result.Text())
	assert.Equal(t, "three", rs[2].Result.Text())
}

func TestCase_session_log_2(t *testing.T) {
	var store harness.Memory
	s := open(t, &store)
	cs := calls(3)
	turn1(t, s, cs...)
	for i, c := range cs {
		put(t, s, started(at(1, 1, i), c))
	}
	for i, c := range cs {
		put(t, s, committed(at(1, 1, i), c, tool.Text(c.Name)))
	}
	s, _ = resume(t, &store)
	messages, err := s.Messages()
	require.NoError(t, err)
	require.NoError(t, accept(messages))
	rs := messages[len(messages)-1].Results
	require.Len(t, rs, 3)
	for i, c := range cs {
		assert.Equal(t, harness.CallResult{ID: c.ID, Name: c.Name, Content: tool.Text(c.Name).Content}, rs[i])
	}
	for i, r := range results(t, s) {
		call := payload(t, logOf(t, s)[r.Sources[0]-1]).(harness.ToolCall)
		assert.Equal(t, cs[i].ID, call.ID, "each cites its own call")
	}
}

func TestCase_call_identity_4(t *testing.T) {
	var store harness.Memory
	s := open(t, &store)
	read := tool.Call{ID: "read_1", Name: "read", Arguments: `{}`}
	turn1(t, s, read)
	put(t, s, started(at(1, 1, 0), read), committed(at(1, 1, 0), read, tool.Text("one")))
	put(t, s, harness.StepEnd{Turn: 1, Step: 1}, harness.TurnEnd{Turn: 1, Reason: harness.EndDone})
	put(t, s, harness.TurnStart{Turn: 2}, harness.StepStart{Turn: 2, Step: 1}, harness.AssistantMessage{Turn: 2, Step: 1, Calls: []tool.Call{read}})
	put(t, s, harness.Cancel{Turn: 2, Cause: "stop"})

	s, _ = resume(t, &store)
	assert.Equal(t, []tool.Code{"", tool.AbortedBeforeDispatch}, codes(t, s))
	messages, err := s.Messages()
	require.NoError(t, err)
	require.NoError(t, accept(messages), "the second id is one that the provider has not used")
	assert.Equal(t, "one", messages[2].Results[0].Content[0].Text)
	assert.Equal(t, "read was not run: it was cancelled before it started (stop). Nothing was done.", messages[4].Results[0].Content[0].Text)
}

// H3, for the log: what a cancel did not come to do before the process ended, the resume does. The rows of the table
// are the states in which the calls of a step can be.
func TestH3ResumeAppliesTheCancel(t *testing.T) {
	ok, failed := tool.Text("done"), tool.Text("no such file")
	failed.IsError = true
	for name, c := range map[string]struct {
		before, after []harness.Payload // the cancel
		want          []tool.Code
	}{
		"before a group": {want: []tool.Code{tool.AbortedBeforeDispatch, tool.AbortedBeforeDispatch, tool.AbortedBeforeDispatch}},
		"during an approval": {
			before: []harness.Payload{started(at(1, 1, 0), calls(3)[0]), harness.ApprovalAsk{Place: at(1, 1, 0)}},
			want:   []tool.Code{tool.AbortedBeforeDispatch, tool.AbortedBeforeDispatch, tool.AbortedBeforeDispatch},
		},
		"during bodies: one settled before, one after, one never": {
			before: []harness.Payload{
				started(at(1, 1, 0), calls(3)[0]), started(at(1, 1, 1), calls(3)[1]), started(at(1, 1, 2), calls(3)[2]),
				harness.ToolSettle{Place: at(1, 1, 1), Result: ok},
			},
			after: []harness.Payload{harness.ToolSettle{Place: at(1, 1, 2), Result: ok}},
			want:  []tool.Code{tool.Interrupted, tool.Aborted, tool.Aborted},
		},
		"during bodies: a tool's own error stays": {
			before: []harness.Payload{started(at(1, 1, 0), calls(3)[0]), started(at(1, 1, 1), calls(3)[1])},
			after:  []harness.Payload{harness.ToolSettle{Place: at(1, 1, 0), Result: failed}, harness.ToolSettle{Place: at(1, 1, 1), Result: ok}},
			want:   []tool.Code{"", tool.Aborted, tool.AbortedBeforeDispatch},
		},
		"during commit: what was committed stays": {
			before: []harness.Payload{
				started(at(1, 1, 0), calls(3)[0]), started(at(1, 1, 1), calls(3)[1]),
				harness.ToolSettle{Place: at(1, 1, 0), Result: ok}, harness.ToolSettle{Place: at(1, 1, 1), Result: ok},
				committed(at(1, 1, 0), calls(3)[0], ok),
			},
			want: []tool.Code{"", tool.Aborted, tool.AbortedBeforeDispatch},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var store harness.Memory
			s := open(t, &store)
			turn1(t, s, calls(3)...)
			put(t, s, c.before...)
			put(t, s, harness.Cancel{Turn: 1, Cause: "the user pressed stop"})
			put(t, s, c.after...)
			s, _ = resume(t, &store)
			assert.Equal(t, c.want, codes(t, s))
			for _, r := range results(t, s) {
				switch r.Result.Code {
				case tool.Aborted:
					assert.Contains(t, r.Result.Text(), "(the user pressed stop)")
					assert.Equal(t, ok.Content, r.Result.Content[1:], "its own result is below the notice")
				case tool.AbortedBeforeDispatch:
					assert.Contains(t, r.Result.Text(), "(the user pressed stop). Nothing was done.")
				}
			}
			end := payload(t, logOf(t, s)[s.State().Seq-1])
			assert.Equal(t, harness.TurnEnd{Turn: 1, Reason: harness.EndCancelled, Error: "the user pressed stop"}, end)
		})
	}
}

// A cancel of one call reaches only that.
func TestH3CancelOfOneCall(t *testing.T) {
	var store harness.Memory
	s := open(t, &store)
	cs := calls(3)
	turn1(t, s, cs...)
	put(t, s, started(at(1, 1, 0), cs[0]), started(at(1, 1, 1), cs[1]))
	put(t, s, harness.ToolSettle{Place: at(1, 1, 0), Result: tool.Text("1")}, harness.ToolSettle{Place: at(1, 1, 1), Result: tool.Text("2")})
	put(t, s, harness.Cancel{Turn: 1, Step: 1, Calls: []int{1, 7}, Cause: "not that one"})
	s, _ = resume(t, &store)
	assert.Equal(t, []tool.Code{"", tool.Aborted, tool.AbortedBeforeDispatch}, codes(t, s))
	assert.Contains(t, results(t, s)[2].Result.Text(), "(the session was interrupted)")
	assert.Equal(t, harness.TurnEnd{Turn: 1, Reason: harness.EndInterrupted}, payload(t, logOf(t, s)[s.State().Seq-1]))
}

// A scheduler that fails leaves calls open and ends the turn. Until they are closed no turn begins.
func TestH1SchedulerFailureIsClosedByResume(t *testing.T) {
	var store harness.Memory
	s := open(t, &store)
	cs := calls(3)
	turn1(t, s, cs...)
	put(t, s, started(at(1, 1, 0), cs[0]), started(at(1, 1, 1), cs[1]))
	put(t, s, harness.ToolSettle{Place: at(1, 1, 1), Result: tool.Text("2")})
	_, err := s.Append(harness.SyncNone, harness.StepEnd{Turn: 1, Step: 1})
	require.ErrorIs(t, err, harness.ErrOrder)
	_, err = s.Append(harness.SyncNone, harness.TurnEnd{Turn: 1, Reason: harness.EndDone})
	require.ErrorIs(t, err, harness.ErrOrder)
	put(t, s, harness.TurnEnd{Turn: 1, Reason: harness.EndFailed, Error: "lane: call 1: Prepare: no"})
	_, err = s.Append(harness.SyncNone, harness.TurnStart{Turn: 2})
	require.ErrorIs(t, err, harness.ErrOrder)
	require.ErrorContains(t, err, "turn 1, step 1, call 1 has no result; Resume closes what is open")

	messages, err := s.Messages()
	require.NoError(t, err)
	require.Len(t, messages, 1, "a message with open calls is held back")

	_, err = s.Resume(nil)
	require.NoError(t, err)
	require.NoError(t, check(logOf(t, s)))
	assert.Equal(t, []tool.Code{tool.Interrupted, "", tool.AbortedBeforeDispatch}, codes(t, s))
	put(t, s, harness.TurnStart{Turn: 2})
	messages, err = s.Messages()
	require.NoError(t, err)
	require.NoError(t, accept(messages))
	require.Len(t, messages, 3)
}

// What the log has of the cases of kind cancel-pairing when the process ended behind the cancel.
func TestH3CancelPairingInTheLog(t *testing.T) {
	cs := calls(3)
	begun := []harness.Payload{started(at(1, 1, 0), cs[0]), started(at(1, 1, 1), cs[1]), started(at(1, 1, 2), cs[2])}
	stop := harness.Cancel{Turn: 1, Cause: "advisory: the branch is protected"}
	ok := tool.Text("one")
	never, running := tool.AbortedBeforeDispatch, tool.Interrupted
	for name, c := range map[string]struct {
		events []harness.Payload
		want   []tool.Code
	}{
		"1: one has its result, one runs, one waits": {
			[]harness.Payload{begun[0], begun[1], harness.ToolSettle{Place: at(1, 1, 0), Result: ok}, committed(at(1, 1, 0), cs[0], ok), stop},
			[]tool.Code{"", running, never},
		},
		"1: all three run":    {append(slices.Clone(begun), stop), []tool.Code{running, running, running}},
		"1: none has started": {[]harness.Payload{stop}, []tool.Code{never, never, never}},
		"2: one settles behind the cancel": {
			[]harness.Payload{begun[0], stop, harness.ToolSettle{Place: at(1, 1, 0), Result: ok}},
			[]tool.Code{tool.Aborted, never, never},
		},
		"4: the first cancels, and returns": {
			[]harness.Payload{begun[0], stop, harness.ToolSettle{Place: at(1, 1, 0), Result: ok},
				committed(at(1, 1, 0), cs[0], tool.Result{Code: tool.Aborted, IsError: true})},
			[]tool.Code{tool.Aborted, never, never},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var store harness.Memory
			s := open(t, &store)
			turn1(t, s, cs...)
			put(t, s, c.events...)
			s, _ = resume(t, &store)
			assert.Equal(t, c.want, codes(t, s))
			messages, err := s.Messages()
			require.NoError(t, err)
			require.NoError(t, accept(messages))
			for _, r := range results(t, s) {
				if r.Result.Code == never { // case 5
					assert.True(t, r.Result.IsError)
					assert.Equal(t, r.Name+" was not run: it was cancelled before it started (advisory: the branch is protected). Nothing was done.", r.Result.Text())
				}
			}
		})
	}
}
