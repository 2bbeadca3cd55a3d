package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// A pen writes records, a second apart unless it is told otherwise.
type pen struct {
	strings.Builder
	seq  int
	time time.Time
}

func newPen() *pen {
	p := &pen{time: time.Date(2026, 1, 2, 23, 59, 50, 0, time.UTC)}
	p.put(harness.SessionStart{Format: harness.Format, Version: harness.Version})
	return p
}

func (p *pen) put(payloads ...harness.Payload) *pen {
	for _, payload := range payloads {
		data, err := json.Marshal(payload)
		if o, ok := payload.(harness.Opaque); ok {
			data, err = o.Data, nil
		}
		if err != nil {
			panic(err)
		}
		p.seq++
		p.time = p.time.Add(time.Second)
		fmt.Fprintln(p, harness.Event{Seq: uint64(p.seq), Time: p.time, Type: payload.EventType(), Data: data})
	}
	return p
}

func at(turn, step, index int) harness.Place {
	return harness.Place{Turn: turn, Step: step, Index: index}
}

func texts(s string) []tool.Block { return tool.Text(s).Content }

func failedWith(c tool.Code, text string) tool.Result {
	r := tool.Text(text)
	r.Code, r.IsError = c, true
	return r
}

// An eventful log has one of each thing that can be told: approvals, cancels, what is closed later, contexts, other
// types, images, long texts, calls of no message, and all kinds of ends.
func eventful() *pen {
	calls := []tool.Call{
		{ID: "a", Name: "read", Arguments: `{"path":"a.txt"}`}, {ID: "b", Name: "edit", Arguments: `{"path":"b.txt"}`},
		{Name: "remove", Arguments: `{"path":"c.txt"}`}, {Name: "list"},
	}
	more := tool.Result{Content: []tool.Block{{Image: &tool.Image{MediaType: "image/png", Data: []byte("png")}}, {JSON: json.RawMessage(`{"n":1}`)}}, Concludes: true}
	p := newPen().put(
		harness.UserMessage{Content: texts("Said before the first turn.")},
		harness.TurnStart{Turn: 1}, harness.StepStart{Turn: 1, Step: 1},
		harness.UserMessage{Turn: 1, Step: 1, Content: texts("Tidy up.\n\n" + strings.Repeat("Please do it well, and do it soon. ", 9))},
		harness.AssistantMessage{Turn: 1, Step: 1, Content: texts("I read,\nand edit."), Calls: calls},
		harness.ToolCall{Place: at(1, 1, 0), Name: "read"}, harness.ToolCall{Place: at(1, 1, 1), Name: "edit"},
		harness.ApprovalAsk{Place: at(1, 1, 1), Reason: "it writes"}, harness.ToolCall{Place: at(1, 1, 2), Name: "remove"},
		harness.ApprovalAnswer{Place: at(1, 1, 1), Allowed: true}, harness.ApprovalAsk{Place: at(1, 1, 2)},
		harness.ToolSettle{Place: at(1, 1, 1), Result: tool.Text("edited")},
		harness.ApprovalAnswer{Place: at(1, 1, 2), Code: tool.ApprovalRejected},
		harness.ToolSettle{Place: at(1, 1, 0), Result: tool.Text("1\n2\n3\n4\n5\n6\n7\n8\n9\n")},
		harness.ToolResult{Place: at(1, 1, 0), Name: "read", Result: tool.Text("1\n2\n3\n4\n5\n6\n7\n8\n9\n")},
		harness.ToolResult{Place: at(1, 1, 1), Name: "edit", Result: tool.Text("edited")},
		harness.ToolResult{Place: at(1, 1, 2), Name: "remove", Result: failedWith(tool.ApprovalRejected, "remove was not run: it was asked about, and rejected. Nothing was done. The answer: not that one.")},
		harness.Opaque{Type: "acme/budget", Data: json.RawMessage(`{"left":3}`)},
		harness.Cancel{Turn: 1, Step: 1, Calls: []int{3}, Cause: "not needed"},
		harness.ToolCall{Place: at(1, 1, 3), Name: "list", NotStarted: true},
		harness.ToolResult{Place: at(1, 1, 3), Name: "list", Result: failedWith(tool.AbortedBeforeDispatch, "list was not run.")},
		harness.StepEnd{Turn: 1, Step: 1}, harness.StepStart{Turn: 1, Step: 2},
		harness.UserMessage{Turn: 1, Step: 2, Content: texts("a rule"), Sources: []uint64{9}},
		harness.AssistantMessage{Turn: 1, Step: 2, Calls: calls[:1]},
		harness.ToolCall{Place: at(1, 2, 0), Name: "read"}, harness.ToolSettle{Place: at(1, 2, 0), Result: more},
		harness.ToolResult{Place: at(1, 2, 0), Name: "read", Result: more},
		harness.StepEnd{Turn: 1, Step: 2}, harness.TurnEnd{Turn: 1, Reason: harness.EndConcluded},
		harness.TurnStart{Turn: 2}, harness.StepStart{Turn: 2, Step: 1},
		harness.AssistantMessage{Turn: 2, Step: 1, Calls: calls[:2]}, harness.ToolCall{Place: at(2, 1, 0), Name: "read"},
		harness.TurnEnd{Turn: 2, Reason: harness.EndFailed, Error: "the disk is full"},
		harness.ToolResult{Place: at(2, 1, 0), Name: "read", Result: failedWith(tool.Interrupted, "read was running.")},
		harness.ToolCall{Place: at(2, 1, 1), Name: "edit", NotStarted: true},
		harness.ToolResult{Place: at(2, 1, 1), Name: "edit", Result: failedWith(tool.AbortedBeforeDispatch, "edit was not run.")},
		harness.ToolResult{Place: at(7, 1, 1), Name: "edit", Result: tool.Text("of no message")},
		harness.TurnStart{Turn: 3}, harness.StepStart{Turn: 3, Step: 1}, harness.Cancel{Turn: 3, Cause: "ctrl-C"}, harness.TurnEnd{Turn: 3, Reason: harness.EndCancelled, Error: "ctrl-C"},
		harness.TurnStart{Turn: 4}, harness.StepStart{Turn: 4, Step: 1}, harness.TurnEnd{Turn: 4, Reason: harness.EndLimit, Error: "the turn has had its 9 steps"},
		harness.TurnStart{Turn: 5}, harness.StepStart{Turn: 5, Step: 1},
		harness.AssistantMessage{Turn: 5, Step: 1, Calls: append(calls, calls...)},
		harness.ToolCall{Place: at(5, 1, 0)}, harness.ToolCall{Place: at(5, 1, 1)}, harness.ToolCall{Place: at(5, 1, 2)}, harness.ToolCall{Place: at(5, 1, 3)},
		harness.ApprovalAsk{Place: at(5, 1, 1)}, harness.ToolSettle{Place: at(5, 1, 2), Result: tool.Text("removed")},
		harness.ToolSettle{Place: at(5, 1, 3), Result: failedWith("", "no")},
	)
	return p
}

// showLog prints a log, which is a file, and must be the same when it comes over the standard input.
func showLog(t *testing.T, log string, width int, args ...string) (code int, out, errOut string) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(log), 0o400))
	v := invocation{width: width, env: map[string]string{"NO_COLOR": "1"}}
	code = v.run(t, append([]string{"log", path}, args...)...)
	piped := invocation{width: width, env: map[string]string{"NO_COLOR": "1"}, stdin: strings.NewReader(log)}
	assert.Equal(t, code, piped.run(t, append([]string{"log", "-"}, args...)...))
	assert.Equal(t, strings.ReplaceAll(v.out.String(), path, "standard input"), piped.out.String())
	return code, v.out.String(), strings.ReplaceAll(v.errOut.String(), path, "log.jsonl")
}

func TestLog(t *testing.T) {
	log := eventful().String() + `{"seq":99,"ti`
	for name, c := range map[string]struct {
		width int
		args  []string
	}{
		"log.txt": {0, nil}, "log-60.txt": {60, nil}, "log-full.txt": {60, []string{"--full"}},
		"log-tree.txt": {0, []string{"--tree"}}, "log-tree-60.txt": {60, []string{"--tree"}}, "log-tree.jsonl": {0, []string{"--tree", "--json"}},
	} {
		code, out, errOut := showLog(t, log, c.width, c.args...)
		assert.Equal(t, exitDone, code, errOut)
		golden(t, name, out)
		const torn = "keywave: log.jsonl: the end is torn: 13 bytes in line 58, from byte 8342 on, are not a whole record; its writer is at it, or was stopped there\n"
		if len(c.args) > 0 && c.args[0] == "--tree" {
			assert.Equal(t, torn, errOut)
		} else {
			assert.Empty(t, errOut)
		}
		if c.width > 0 && len(c.args) == 0 {
			for _, l := range strings.Split(out, "\n") {
				assert.LessOrEqual(t, cells.StringWidth(l), c.width, l)
			}
		}
	}
	code, out, _ := showLog(t, log, 0, "--json")
	assert.Equal(t, exitDone, code)
	assert.Equal(t, eventful().String(), out, "the events are as they are in the log")
}

// A log that cannot be read to its end is shown up to there, and told; so is what is no log.
func TestLogsThatCannotBeRead(t *testing.T) {
	good := newPen().put(harness.TurnStart{Turn: 1}).String()
	for what, c := range map[string]struct{ log, shown, says string }{
		"no log":             {"hello\nworld\n", "", "not a session log that can be read here: its first line is no record"},
		"no lines":           {strings.Repeat("x", 1<<20), "", "not a session log that can be read here: its first line is no record"},
		"a batch":            {`{"calls":[]}` + "\n", "", "not a session log that can be read here"},
		"a later version":    {strings.Replace(good, `"version":1`, `"version":2`, 1), "", "it has version 2, and this is a reader of versions up to 1"},
		"a record is broken": {good + "{\n" + good, "turn 1", fmt.Sprintf("line 3 (byte %d) is not a record: ", len(good))},
		"its data is":        {good + `{"seq":3,"time":"2026-01-03T00:00:00Z","type":"step/start","data":[]}` + "\n" + good, "turn 1", "line 3 is not a record: event 3: its data is no step/start: "},
	} {
		for _, args := range [][]string{nil, {"--tree"}, {"--json"}, {"--tree", "--json"}} {
			if what == "its data is" && len(args) == 1 && args[0] == "--json" {
				continue // which looks into no data
			}
			code, out, errOut := showLog(t, c.log, 0, args...)
			assert.Equal(t, exitUsage, code, "%s %v", what, args)
			assert.Contains(t, errOut, "keywave: log.jsonl: ")
			assert.Contains(t, errOut, c.says, "%s %v", what, args)
			assert.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
			if args == nil || c.shown == "" {
				assert.Contains(t, out, c.shown)
				assert.Equal(t, c.shown == "", out == "")
			}
		}
	}
	for args, says := range map[string]string{
		filepath.Join(t.TempDir(), "none"): "no such file",
		t.TempDir():                        "is a directory",
		"- -f":                             "--follow is for a file",
		t.TempDir() + " -f":                "only a file can be followed",
		"":                                 `expected "<file>"`,
	} {
		code, out, errOut := keywave(t, "", append([]string{"log"}, strings.Fields(args)...)...)
		assert.Equal(t, exitUsage, code)
		assert.Empty(t, out)
		assert.Contains(t, errOut, says)
		assert.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
	}
}

func TestLogsWithLittleInThem(t *testing.T) {
	for args, says := range map[string]string{"": "There are no events in standard input.\n", "--tree": "There are no turns in it.\n", "--json": "", "--tree --json": ""} {
		code, out, errOut := keywave(t, "", append([]string{"log", "-"}, strings.Fields(args)...)...)
		assert.Equal(t, exitDone, code, errOut)
		assert.Equal(t, says, out)
	}
	code, out, _ := keywave(t, `{"seq":1,"ti`, "log", "-")
	assert.Equal(t, exitDone, code)
	assert.Contains(t, out, "  ! the end is torn: 12 bytes in line 1,")
	assert.Contains(t, out, "\n0 events, 0 turns\n")
}

// What models and tools say reaches the terminal as text, whatever it is, and does not fill it.
func TestLogOfHostileTexts(t *testing.T) {
	evil := "\x1b[2J\x1b]0;owned\a\u202e\u009b31m\x00\r\n\u2028" + strings.Repeat("e\u0301\u0301\u0301", 3000) + strings.Repeat("x", 200<<10)
	log := newPen().put(
		harness.TurnStart{Turn: 1}, harness.StepStart{Turn: 1, Step: 1}, harness.UserMessage{Turn: 1, Step: 1, Content: texts(evil)},
		harness.AssistantMessage{Turn: 1, Step: 1, Content: texts(evil), Calls: []tool.Call{{ID: evil, Name: evil, Arguments: evil}}},
		harness.ToolCall{Place: at(1, 1, 0), Name: evil}, harness.ApprovalAsk{Place: at(1, 1, 0), Reason: evil},
		harness.ToolSettle{Place: at(1, 1, 0), Result: failedWith(tool.Code(evil), evil)},
		harness.ToolResult{Place: at(1, 1, 0), Name: evil, Result: failedWith(tool.Code(evil), evil)},
		harness.ToolResult{Place: at(1, 7, 0), Name: evil, Result: tool.Text(evil)},
		harness.Cancel{Turn: 1, Cause: evil}, harness.Opaque{Type: "acme/\u009b", Data: json.RawMessage("\"\u009b2J\u202e\"")},
		harness.TurnEnd{Turn: 1, Reason: harness.EndReason(evil), Error: evil},
	).String()
	for _, args := range [][]string{nil, {"--full"}, {"--tree"}, {"--json"}, {"--tree", "--json"}} {
		v := invocation{width: 80, env: map[string]string{"NO_COLOR": "1"}, stdin: strings.NewReader(log)}
		assert.Equal(t, exitDone, v.run(t, append([]string{"log", "-"}, args...)...), v.errOut.String())
		out := v.out.String()
		for _, r := range out {
			if r != '\n' && unprintable(r) {
				t.Fatalf("%v: %q", args, r)
			}
		}
		if len(args) == 0 || args[0] == "--tree" && len(args) == 1 {
			assert.Less(t, len(out), 100_000)
		}
		if len(args) == 1 && args[0] == "--json" {
			var events int
			for dec := json.NewDecoder(strings.NewReader(out)); ; events++ {
				var e harness.Event
				if err := dec.Decode(&e); err == io.EOF {
					break
				} else if !assert.NoError(t, err) {
					break
				}
			}
			assert.Equal(t, 13, events)
		}
	}
}

// Follow shows what comes, from a log that is not there yet, waits behind a torn end, and ends at a signal.
func TestLogFollow(t *testing.T) {
	for _, args := range [][]string{nil, {"--json"}, {"--tree"}} {
		path := filepath.Join(t.TempDir(), "log.jsonl")
		synctest.Test(t, func(t *testing.T) {
			v := invocation{signals: make(chan os.Signal, 2)}
			code := make(chan int, 1)
			go func() { code <- v.run(t, append([]string{"log", "--follow", path}, args...)...) }()
			<-time.After(time.Second)
			assert.Equal(t, path+" is not there yet: waiting for it\n", v.errOut.String())
			log, shown := eventful().String(), ""
			f, err := os.Create(path)
			require.NoError(t, err)
			for i := 0; i < len(log); i += 1000 {
				_, err = f.WriteString(log[i:min(len(log), i+1000)])
				require.NoError(t, err)
				<-time.After(time.Second)
				assert.True(t, strings.HasPrefix(v.out.String(), shown))
				shown = v.out.String()
			}
			require.NoError(t, f.Close())
			if args == nil {
				golden(t, "log-follow.txt", shown)
			}
			v.signals <- os.Interrupt
			assert.Equal(t, exitInterrupted, <-code)
			if args != nil {
				_, whole, _ := keywave(t, log, append([]string{"log", "-"}, args...)...)
				assert.Equal(t, whole, v.out.String())
			}
		})
	}
}

// A log that loses what was shown is told of.
func TestLogFollowCutBack(t *testing.T) {
	log := newPen().put(harness.TurnStart{Turn: 1}).String()
	for says, then := range map[string]func(t *testing.T, path string){
		"session log was cut back behind its reader\n":                   func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 10)) },
		"session log was cut back behind its reader: its file is gone\n": func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) },
		"session log was cut back behind its reader: there is another file in its place\n": func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path+"2", []byte(log+log), 0o600))
			require.NoError(t, os.Rename(path+"2", path))
		},
	} {
		path := filepath.Join(t.TempDir(), "log.jsonl")
		require.NoError(t, os.WriteFile(path, []byte(log), 0o600))
		synctest.Test(t, func(t *testing.T) {
			var v invocation
			code := make(chan int, 1)
			go func() { code <- v.run(t, "log", "-f", path) }()
			<-time.After(time.Second)
			then(t, path)
			assert.Equal(t, exitUsage, <-code)
			assert.Equal(t, "keywave: "+path+": "+says, v.errOut.String())
		})
	}
}

// A log that a session has open is read without its lock, and stays its own.
func TestLogOfAnOpenSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	s, err := harness.Open(path)
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Append(harness.SyncNone, harness.TurnStart{Turn: 1})
	require.NoError(t, err)
	code, out, errOut := keywave(t, "", "log", path)
	assert.Equal(t, exitDone, code, errOut)
	assert.Contains(t, out, "2 events, 1 turn\n")
	_, err = s.Append(harness.SyncNone, harness.TurnEnd{Turn: 1, Reason: harness.EndDone})
	assert.NoError(t, err)
}

// Ctrl-C ends it while it waits for the standard input, and a reader that leaves ends it.
func TestLogEndsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, typing := io.Pipe()
		v := invocation{stdin: in, signals: make(chan os.Signal, 2)}
		code := make(chan int, 1)
		go func() { code <- v.run(t, "log", "-") }()
		_, err := io.WriteString(typing, newPen().String())
		require.NoError(t, err)
		synctest.Wait()
		v.signals <- os.Interrupt
		assert.Equal(t, exitInterrupted, <-code)
		require.NoError(t, typing.Close())
	})
	none := func() (int, int, bool) { return 0, 0, false }
	for _, args := range [][]string{nil, {"--json"}, {"--tree"}, {"--tree", "--json"}} {
		endless := &turnsWithoutEnd{}
		var errOut output
		code := run(context.Background(), append([]string{"log", "-"}, args...), host{
			stdin: endless, stdout: stream{broken{errors.New("no space left on device")}, none}, stderr: stream{&errOut, none}, env: func(string) string { return "" },
		})
		assert.Equal(t, exitUsage, code)
		assert.Equal(t, "keywave: writing the output: no space left on device\n", errOut.String())
	}
}

// turnsWithoutEnd is a log of as many turns as are read. Of each it has two steps of eight calls, with two within each.
type turnsWithoutEnd struct {
	buf   bytes.Buffer
	pen   *pen
	turn  int
	most  int    // events; 0: no bound
	often func() // is called every so many turns
}

func (l *turnsWithoutEnd) Read(p []byte) (int, error) {
	if l.pen == nil {
		l.pen = newPen()
	}
	for l.buf.Len() == 0 {
		if l.most > 0 && l.pen.seq >= l.most {
			return 0, io.EOF
		}
		l.turn++
		l.pen.put(harness.TurnStart{Turn: l.turn})
		for step := 1; step <= 2; step++ {
			l.step(step)
		}
		l.pen.put(harness.TurnEnd{Turn: l.turn, Reason: harness.EndDone})
		l.buf.WriteString(l.pen.String())
		l.pen.Reset()
		if l.often != nil && l.turn%500 == 0 {
			l.often()
		}
	}
	return l.buf.Read(p)
}

func (l *turnsWithoutEnd) step(step int) {
	m := harness.AssistantMessage{Turn: l.turn, Step: step, Content: texts("On it.")}
	for range 8 {
		m.Calls = append(m.Calls, tool.Call{ID: "c", Name: "read", Arguments: `{"path":"a.txt"}`})
	}
	l.pen.put(harness.StepStart{Turn: l.turn, Step: step}, m)
	r := tool.Text("package main // " + strings.Repeat("and so on ", 10))
	for i := range m.Calls {
		l.pen.put(harness.ToolCall{Place: at(l.turn, step, i), Name: "read"})
		for n := range 2 {
			id := fmt.Sprint("c:code:", n+1)
			l.pen.put(harness.CodeDispatchStart{Place: at(l.turn, step, i), ParentID: "c", ID: id, Name: "read"},
				harness.CodeDispatch{Place: at(l.turn, step, i), ParentID: "c", ID: id, Name: "read", Result: r})
		}
		l.pen.put(harness.ToolSettle{Place: at(l.turn, step, i), Result: r},
			harness.ToolResult{Place: at(l.turn, step, i), Name: "read", Result: r})
	}
	l.pen.put(harness.StepEnd{Turn: l.turn, Step: step})
}

// The memory that it takes does not depend on the length of the log.
func TestLogTakesConstantMemory(t *testing.T) {
	most := 1_000_000
	if testing.Short() {
		most = 100_000
	}
	none := func() (int, int, bool) { return 0, 0, false }
	for _, args := range [][]string{nil, {"--tree"}} {
		if args != nil {
			most = 100_000
		}
		var peak uint64
		log := &turnsWithoutEnd{most: most}
		log.often = func() {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		}
		runtime.GC()
		var before runtime.MemStats
		runtime.ReadMemStats(&before)
		tail := &tail{}
		code := run(context.Background(), append([]string{"log", "-"}, args...), host{
			stdin: log, stdout: stream{tail, none}, stderr: stream{io.Discard, none}, env: func(string) string { return "" },
		})
		assert.Equal(t, exitDone, code)
		assert.Less(t, int64(peak)-int64(before.HeapAlloc), int64(4<<20), "bytes in use, of a log of %d events", log.pen.seq)
		if args == nil {
			assert.Contains(t, string(tail.last), fmt.Sprintf("\n%d events, %d turns\n", log.pen.seq, log.turn))
		}
	}
}

// tail keeps the last of what is written.
type tail struct{ last []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.last = append(t.last[:0], p...)
	return len(p), nil
}
