package harness_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// childLog makes the test's binary a child that leads an agent, over the log that it names, until it is killed.
const childLog = "KEYWAVE_CHILD_LOG"

// A loud store prints the last seq of each append that the file has taken. In the midst of a long one it may have itself
// killed.
type loud struct{ *harness.File }

func (l loud) Append(events ...harness.Event) error {
	if len(events[0].Data) > 1<<20 && rand.IntN(2) == 0 {
		go func() {
			<-time.After(time.Duration(rand.IntN(1000)) * time.Microsecond)
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
		}()
	}
	err := l.File.Append(events...)
	if err == nil {
		fmt.Println(events[len(events)-1].Seq)
	}
	return err
}

// child leads an agent through turns of calls that take different times, under some admission, with prompts and cancels.
// What a call does to the world is a file in the directory of the log.
func child(path string) {
	must := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	f, err := harness.OpenFile(path)
	must(err)
	s, err := harness.New(loud{f})
	must(err)
	var agent *harness.Agent
	work := func(c ctx) (string, error) {
		_ = rest(c, time.Duration(rand.IntN(2000))*time.Microsecond)
		must(os.WriteFile(path+"."+tool.InvocationOf(c).Call.ID, nil, 0o600))
		switch rand.IntN(30) {
		case 0, 1: // a kill can end the write of one that is this long in the middle
			return strings.Repeat("long ", 1<<19), nil
		case 2:
			agent.Cancel(errStop, true)
		}
		return strings.Repeat("x", rand.IntN(1000)), nil
	}
	registry := new(tool.Registry)
	must(registry.Register(free("c1", work), free("c2", work), free("c3", work), free("c4", work), free("c5", work), alone("c6", work)))
	pipeline := &tool.Pipeline{
		Policies: []tool.Policy{func(_ ctx, c *tool.Invocation) (tool.Verdict, error) {
			if c.Call.Name == "c3" {
				return tool.Verdict{Action: tool.Ask}, nil
			}
			return tool.Verdict{Action: tool.Allow}, nil
		}},
		Prompter: &tool.Prompter{Approver: approver(func(c ctx, p *tool.Prompt) error {
			_ = rest(c, time.Millisecond)
			return p.Answer(tool.Answer{Decision: tool.Decision(rand.IntN(2))})
		})},
	}
	model := func(_ ctx, r harness.Request) (harness.AssistantMessage, error) {
		if r.Messages[len(r.Messages)-1].Role == harness.RoleTool {
			return say("done"), nil
		}
		m := harness.AssistantMessage{Calls: calls(1 + rand.IntN(6))}
		for i := range m.Calls {
			m.Calls[i].ID = fmt.Sprintf("%d.%d", s.State().Turn, i) // of its effect
		}
		return m, nil
	}
	agent, err = harness.NewAgent(context.Background(), harness.ModelFunc(model), &harness.Scheduler{
		Session: s, Tools: registry, Pipeline: pipeline,
		Admission: admissions[rand.IntN(len(admissions))].open, Durability: harness.Durability(rand.IntN(3)),
	})
	must(err)
	for {
		must(agent.Followup(text("go")))
		must(agent.WhenIdle(context.Background()))
		must(agent.Status().Err)
	}
}

func effect(path string, p harness.Place) string {
	return fmt.Sprintf("%s.%d.%d", path, p.Turn, p.Index)
}

// TestH8KillNine kills a child process that leads an agent, again and again over the same log. Each time all that it was
// told to have appended is there; an outcome that has settled is kept; what is open is closed as the design says; and
// what a call did that has a result of its own has happened.
func TestH8KillNine(t *testing.T) {
	kills := 200
	if testing.Short() {
		kills = 12
	}
	binary, err := os.Executable()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "log.jsonl")
	ended, met := map[string]int{}, map[string]int{} // how the log did, and what was met there
	for n := 0; n < kills || !testing.Short() && n < 3*kills && rare(met); n++ {
		cmd := exec.Command(binary)
		cmd.Env = append(os.Environ(), childLog+"="+path)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		last := uint64(0)
		lines := bufio.NewScanner(out)
		for n, enough := 0, 1+rand.IntN(30); lines.Scan(); n++ {
			seq, err := strconv.ParseUint(lines.Text(), 10, 64)
			require.NoError(t, err)
			last = max(last, seq)
			if n == 0 {
				_, err := harness.Open(path)
				require.ErrorIs(t, err, harness.ErrLocked)
			}
			if n == enough {
				require.NoError(t, cmd.Process.Kill())
			}
		}
		assert.Error(t, cmd.Wait())

		var before []harness.Event
		how := ""
		for e, err := range harness.ReadFile(path) {
			if err != nil {
				require.ErrorAs(t, err, new(*harness.TornError))
				how = "in a record, after "
				break
			}
			before = append(before, e)
		}
		require.GreaterOrEqual(t, before[len(before)-1].Seq, last, "what was acknowledged is there")
		ended[how+before[len(before)-1].Type]++
		state, err := harness.Fold(func(yield func(harness.Event, error) bool) {
			for _, e := range before {
				if !yield(e, nil) {
					return
				}
			}
		})
		require.NoError(t, err)
		in := map[string]bool{"in a record": how != "", "in no call": len(state.Open) == 0}
		for _, c := range state.Open {
			in["before its call"] = in["before its call"] || c.Seq == 0
			in["between call and settle"] = in["between call and settle"] || c.Seq > 0 && c.Outcome == nil && !c.Unapproved
			in["waiting for an approval"] = in["waiting for an approval"] || c.Unapproved
			in["between settle and result"] = in["between settle and result"] || c.Outcome != nil
			in["cancelled"] = in["cancelled"] || c.Cancel != nil
		}
		var now []string
		for _, name := range states {
			if in[name] {
				met[name]++
				now = append(now, name)
			}
		}
		t.Logf("kill %d: event %d is the last, %s%s; %s", n+1, before[len(before)-1].Seq, how, before[len(before)-1].Type,
			strings.Join(now, ", "))

		s, err := harness.Open(path)
		require.NoError(t, err)
		require.Equal(t, how != "", s.Torn != nil)
		repaired, err := s.Resume(nil)
		require.NoError(t, err)
		var got []tool.Code
		for _, p := range repaired {
			if r, ok := p.(harness.ToolResult); ok {
				got = append(got, r.Result.Code)
			}
		}
		turn := s.State().Turn
		require.Equal(t, want(t, since(t, before, turn)), got)
		after := logOf(t, s)
		require.NoError(t, check(after))
		for _, r := range results(t, s) {
			if r.Turn == turn && r.Result.Code == "" {
				assert.FileExists(t, effect(path, r.Place))
			}
		}
		messages, err := s.Messages()
		require.NoError(t, err)
		require.NoError(t, accept(messages))
		require.NoError(t, s.Close())
		s, err = harness.Open(path)
		require.NoError(t, err)
		more, err := s.Resume(nil)
		require.NoError(t, err)
		require.Empty(t, more)
		require.NoError(t, s.Close())
		if info, err := os.Stat(path); err == nil && info.Size() > 2<<20 {
			old, err := filepath.Glob(path + "*") // with the effects: the next log counts its turns from 1
			require.NoError(t, err)
			for _, name := range old {
				require.NoError(t, os.Remove(name))
			}
		}
	}
	if !testing.Short() {
		for _, state := range states {
			assert.GreaterOrEqual(t, met[state], 5, state)
		}
	}
	t.Logf("the log ended behind, or in: %v", ended)
	t.Logf("it was, as far as some call or the log is concerned: %v", met)
}

// states are those in which a kill has to find the log.
var states = []string{
	"in a record", "in no call", "before its call", "between call and settle", "waiting for an approval",
	"between settle and result", "cancelled",
}

// rare reports whether there is a state that was not met five times.
func rare(met map[string]int) bool {
	return slices.ContainsFunc(states, func(state string) bool { return met[state] < 5 })
}

// since are the events of a turn and what follows.
func since(t *testing.T, events []harness.Event, turn int) []harness.Event {
	for i, e := range events {
		if e.Type == harness.TypeTurnStart && payload(t, e).(harness.TurnStart).Turn == turn {
			return events[i:]
		}
	}
	return nil
}
