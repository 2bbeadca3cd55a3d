package harness_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// childLog makes the test's binary a child that appends to the log that it names until it is killed.
const childLog = "KEYWAVE_CHILD_LOG"

// child runs turns of calls that settle in any order, as a scheduler records them. It prints the last seq of each
// append once that is acknowledged. What a call does to the world is a file in the directory of the log.
func child(path string) {
	must := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	s, err := harness.Open(path)
	must(err)
	_, err = s.Resume(nil)
	must(err)
	app := func(ps ...harness.Payload) {
		first, err := s.Append(harness.Durability(rand.IntN(3)), ps...)
		must(err)
		fmt.Println(first + uint64(len(ps)) - 1)
	}
	for turn := s.State().Turn + 1; ; turn++ {
		cs := calls(1 + rand.IntN(6))
		app(harness.TurnStart{Turn: turn}, harness.StepStart{Turn: turn, Step: 1})
		app(harness.AssistantMessage{Turn: turn, Step: 1, Calls: cs})
		var wg sync.WaitGroup
		settled := make([]chan tool.Result, len(cs))
		for i, c := range cs {
			app(started(at(turn, 1, i), c))
			settled[i] = make(chan tool.Result, 1)
			wg.Go(func() {
				must(os.WriteFile(effect(path, at(turn, 1, i)), nil, 0o600))
				r := tool.Text(strings.Repeat("x", rand.IntN(1000)))
				if rand.IntN(8) == 0 { // a kill can end the write of one that is this long in the middle
					r = tool.Text(strings.Repeat("long ", 1<<16))
				}
				app(harness.ToolSettle{Place: at(turn, 1, i), Result: r})
				settled[i] <- r
			})
		}
		for i, c := range cs {
			app(committed(at(turn, 1, i), c, <-settled[i]))
		}
		wg.Wait()
		app(harness.StepEnd{Turn: turn, Step: 1}, harness.TurnEnd{Turn: turn, Reason: harness.EndDone})
	}
}

func effect(path string, p harness.Place) string {
	return fmt.Sprintf("%s.%d.%d", path, p.Turn, p.Index)
}

// TestH8KillNine kills a child process that appends, again and again over the same log. Each time all that it was told
// to have appended is there; an outcome that has settled is kept; what is open is closed as the design says; and what a
// call did that has a result of its own has happened.
func TestH8KillNine(t *testing.T) {
	kills := 60
	if testing.Short() {
		kills = 12
	}
	binary, err := os.Executable()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "log.jsonl")
	ended := map[string]int{} // how the log did
	for range kills {
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
			require.NoError(t, os.Remove(path))
		}
	}
	t.Logf("the log ended behind, or in: %v", ended)
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
