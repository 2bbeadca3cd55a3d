package harness_test

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// open opens a session, and fails the test if it cannot.
func open(t require.TestingT, store harness.Store) *harness.Session {
	s, err := harness.New(store)
	require.NoError(t, err)
	return s
}

// put appends, and fails the test if it cannot.
func put(t require.TestingT, s *harness.Session, ps ...harness.Payload) uint64 {
	first, err := s.Append(harness.SyncNone, ps...)
	require.NoError(t, err)
	return first
}

// log returns the events of a store or session.
func logOf(t require.TestingT, s interface {
	Events() iter.Seq2[harness.Event, error]
}) (events []harness.Event) {
	for e, err := range s.Events() {
		require.NoError(t, err)
		events = append(events, e)
	}
	return events
}

// payload decodes an event.
func payload(t require.TestingT, e harness.Event) harness.Payload {
	p, err := e.Payload()
	require.NoError(t, err)
	return p
}

func payloads(t require.TestingT, events []harness.Event) (ps []harness.Payload) {
	for _, e := range events {
		ps = append(ps, payload(t, e))
	}
	return ps
}

func at(turn, step, index int) harness.Place {
	return harness.Place{Turn: turn, Step: step, Index: index}
}

// started is the tool/call of a call.
func started(p harness.Place, c tool.Call) harness.ToolCall {
	return harness.ToolCall{Place: p, ID: c.ID, Name: c.Name, Arguments: c.Arguments}
}

// committed is the tool/result of a call.
func committed(p harness.Place, c tool.Call, r tool.Result) harness.ToolResult {
	return harness.ToolResult{Place: p, ID: c.ID, Name: c.Name, Result: r}
}

// calls makes calls of tools c1, c2, ... whose ids are their names.
func calls(n int) (cs []tool.Call) {
	for i := range n {
		name := fmt.Sprintf("c%d", i+1)
		cs = append(cs, tool.Call{ID: name, Name: name, Arguments: "{}"})
	}
	return cs
}

// turn1 begins turn 1 and its step 1, with a message of these calls.
func turn1(t require.TestingT, s *harness.Session, cs ...tool.Call) {
	put(t, s, harness.TurnStart{Turn: 1}, harness.UserMessage{Turn: 1, Content: tool.Text("go").Content})
	put(t, s, harness.StepStart{Turn: 1, Step: 1}, harness.AssistantMessage{Turn: 1, Step: 1, Calls: cs})
}

// resume opens the store and resumes the session.
func resume(t require.TestingT, store harness.Store) (*harness.Session, []harness.Payload) {
	s := open(t, store)
	repaired, err := s.Resume(nil)
	require.NoError(t, err)
	return s, repaired
}

// codes are the outcome codes of all results, in the order of the log.
func codes(t require.TestingT, s *harness.Session) (cs []tool.Code) {
	for _, r := range results(t, s) {
		cs = append(cs, r.Result.Code)
	}
	return cs
}

func results(t require.TestingT, s *harness.Session) (rs []harness.ToolResult) {
	for _, e := range logOf(t, s) {
		if r, ok := payload(t, e).(harness.ToolResult); ok {
			rs = append(rs, r)
		}
	}
	return rs
}

// A ram is a file in memory. Each write, truncation and sync asks fail first, unless that is nil: what of the bytes is
// written, and whether it fails.
type ram struct {
	mu   sync.Mutex
	data []byte
	fail func(op string, n int) (written int, err error)
	ops  int
}

func (r *ram) ask(op string, n int) (int, error) {
	r.ops++
	if r.fail == nil {
		return n, nil
	}
	return r.fail(op, n)
}

func (r *ram) ReadAt(p []byte, off int64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if off >= int64(len(r.data)) {
		return 0, io.EOF
	}
	n := copy(p, r.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (r *ram) WriteAt(p []byte, off int64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, err := r.ask("write", len(p))
	if grow := int(off) + n - len(r.data); grow > 0 {
		r.data = append(r.data, make([]byte, grow)...)
	}
	copy(r.data[off:], p[:n])
	return n, err
}

func (r *ram) Truncate(size int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.ask("truncate", 0); err != nil {
		return err
	}
	r.data = r.data[:size]
	return nil
}

func (r *ram) Sync() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := r.ask("sync", 0)
	return err
}

func (r *ram) Close() error { return nil }

// file opens the log in r.
func file(t require.TestingT, r *ram) *harness.File {
	f, err := harness.MendDisk(r, int64(len(r.data)))
	require.NoError(t, err)
	return f
}

// bytesOf are events as a log.
func bytesOf(events []harness.Event) (data []byte) {
	for _, e := range events {
		data = harness.AppendRecord(data, e)
	}
	return data
}

// check says what is wrong with a log in which nothing is open. It knows nothing of how the package folds a log.
func check(events []harness.Event) error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	type record struct {
		calls, results []int // positions in the log
		count          int
	}
	steps := map[[2]int]*record{}
	inTurn, inStep := 0, 0
	for i, e := range events {
		if e.Seq != uint64(i+1) {
			wrong("H9: record %d has seq %d", i+1, e.Seq)
		}
		if i > 0 && e.Time.Before(events[i-1].Time) {
			wrong("time goes back at %d", e.Seq)
		}
		p, err := e.Payload()
		if err != nil {
			wrong("%w", err)
			continue
		}
		position := func(p harness.Place) (*record, bool) {
			r := steps[[2]int{p.Turn, p.Step}]
			if r == nil || p.Index >= r.count {
				wrong("H1: %s %d is of no call", e.Type, e.Seq)
				return nil, false
			}
			return r, true
		}
		switch p := p.(type) {
		case harness.TurnStart:
			inTurn++
		case harness.TurnEnd:
			inTurn, inStep = inTurn-1, 0
		case harness.StepStart:
			inStep++
		case harness.StepEnd:
			inStep--
		case harness.AssistantMessage:
			n := len(p.Calls)
			steps[[2]int{p.Turn, p.Step}] = &record{make([]int, n), make([]int, n), n}
		case harness.ToolCall:
			if r, ok := position(p.Place); ok {
				if r.calls[p.Index] > 0 {
					wrong("H1: two tool/call of %v", p.Place)
				}
				r.calls[p.Index] = i + 1
			}
		case harness.ToolSettle:
			if r, ok := position(p.Place); ok && !slices.Equal(p.Sources, []uint64{uint64(r.calls[p.Index])}) {
				wrong("settle %d cites %v and not its call", e.Seq, p.Sources)
			}
		case harness.ToolResult:
			r, ok := position(p.Place)
			if !ok {
				continue
			}
			switch {
			case r.results[p.Index] > 0:
				wrong("H1: two results of %v", p.Place)
			case r.calls[p.Index] == 0:
				wrong("H1: result %d comes before its call", e.Seq)
			case p.Index > 0 && r.results[p.Index-1] == 0:
				wrong("H1: result %d is not in the model's order", e.Seq)
			case !slices.Equal(p.Sources, []uint64{uint64(r.calls[p.Index])}):
				wrong("result %d cites %v and not its call", e.Seq, p.Sources)
			}
			r.results[p.Index] = i + 1
		}
	}
	for at, r := range steps {
		for i := range r.count {
			if r.calls[i] == 0 || r.results[i] == 0 {
				wrong("H1: call %d of turn %d, step %d is open", i+1, at[0], at[1])
			}
		}
	}
	if inTurn != 0 || inStep != 0 {
		wrong("%d turns and %d steps are open", inTurn, inStep)
	}
	return errors.Join(errs...)
}

// accept says why a provider would refuse messages: one that demands exactly one result for each call, in the order of
// the calls, right behind them, under ids that it has not seen before.
func accept(messages []harness.Message) error {
	ids := map[string]bool{}
	var due []tool.Call
	for i, m := range messages {
		if len(due) > 0 && m.Role != harness.RoleTool {
			return fmt.Errorf("message %d: results are due", i+1)
		}
		switch m.Role {
		case harness.RoleUser:
		case harness.RoleAssistant:
			for _, c := range m.Calls {
				if c.ID == "" || ids[c.ID] {
					return fmt.Errorf("message %d: id %q is empty or used", i+1, c.ID)
				}
				ids[c.ID] = true
			}
			due = m.Calls
		case harness.RoleTool:
			if len(due) == 0 || len(m.Results) != len(due) {
				return fmt.Errorf("message %d: %d results for %d calls", i+1, len(m.Results), len(due))
			}
			for j, r := range m.Results {
				if r.ID != due[j].ID || r.Name != due[j].Name {
					return fmt.Errorf("message %d: result %d is not that of its call", i+1, j+1)
				}
			}
			due = nil
		default:
			return fmt.Errorf("message %d: role %q", i+1, m.Role)
		}
	}
	if len(due) > 0 {
		return errors.New("the results at the end are missing")
	}
	return nil
}
