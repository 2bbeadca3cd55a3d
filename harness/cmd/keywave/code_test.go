package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// runs is a call of run_code, as JSON.
func runsCode(id, description, code string) string {
	arguments, err := json.Marshal(codemode.Program{Code: code, Description: description})
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"id":%q,"name":"run_code","arguments":%s}`, id, arguments)
}

// A program with calls that overlap, one that waits for another's claim, one that fails, one that is refused, one that is
// aborted at the end, and one that never starts.
const slowProgram = `
	const all = [tools.slow({ms: 123, key: "x"}), tools.slow({ms: 31, key: "x", fail: true}), tools.slow({ms: 61, key: "y"})];
	const done = await Promise.allSettled(all);
	console.log(done.map(r => r.status).join());
	try { await tools.slow({ms: "long"}) } catch (e) { console.warn(e.message.split("\n")[0]) }
	tools.stuck({});
	tools.slow({ms: 7, key: "everything"});
	await new Promise(f => setTimeout(f, 17));
	return {ok: done.filter(r => r.status === "fulfilled").length}`

// runCode runs a program between other calls, in virtual time.
func runCode(t *testing.T, v *invocation, args ...string) (code int) {
	dir := workDir(t, nil)
	batch := `{"calls":[{"id":"a","name":"slow","arguments":{"ms":13}},` + runsCode("b", "slow things", slowProgram) + `,{"id":"c","name":"slow","arguments":{"ms":11}}]}`
	synctest.Test(t, func(t *testing.T) {
		def, _ := stuck(t, true)
		v.stdin, v.tools = strings.NewReader(batch), []*tool.Definition{slow(t), def}
		code = v.run(t, append([]string{"run", "-", "--dir", dir}, args...)...)
	})
	return code
}

func TestRunCode(t *testing.T) {
	var v invocation
	assert.Equal(t, exitDone, runCode(t, &v))
	golden(t, "run-code.txt", v.out.String())
	golden(t, "run-code-progress.txt", v.errOut.String())

	v = invocation{width: 80, env: map[string]string{"NO_COLOR": "1"}}
	assert.Equal(t, exitDone, runCode(t, &v))
	golden(t, "run-code-terminal.txt", strings.ReplaceAll(v.errOut.String(), "\x1b", "ESC"))

	var full invocation
	runCode(t, &full, "--full", "--quiet")
	assert.Contains(t, full.out.String(), "    │ ✓ 2.3  slow {\"ms\":61,\"key\":\"y\"}  61 ms\n    │   took 61 ms\n")
	assert.Empty(t, full.errOut.String())
}

func TestRunCodeJSON(t *testing.T) {
	var v invocation
	assert.Equal(t, exitDone, runCode(t, &v, "--json"))
	golden(t, "run-code.json", v.out.String())
	var got runJSON
	require.NoError(t, json.Unmarshal([]byte(v.out.String()), &got))
	program := got.Calls[1]
	require.Len(t, program.Calls, 5, "those that have started")
	for i, c := range program.Calls {
		assert.Equal(t, i, c.Index)
		assert.LessOrEqual(t, *program.StartedMs, c.SettledMs)
		assert.LessOrEqual(t, c.SettledMs, c.CommittedMs)
		assert.LessOrEqual(t, c.CommittedMs, program.SettledMs)
		sum := 0.0
		for _, w := range c.Waits {
			sum += w.Ms
		}
		if c.StartedMs != nil {
			assert.LessOrEqual(t, *program.StartedMs, *c.StartedMs)
			sum += c.SettledMs - *c.StartedMs
		}
		if i < 3 {
			assert.InDelta(t, c.CommittedMs-*program.StartedMs, sum, 0.01, "the waits and the body of call 2.%d add up", i+1)
		}
	}
	assert.Equal(t, tool.InvalidArgs, program.Calls[3].Code)
	assert.Equal(t, tool.Aborted, program.Calls[4].Code)
}

// Serial and rolling hold in programs, too.
func TestRunCodeAdmissions(t *testing.T) {
	program := runsCode("p", "two keys", `await Promise.all([tools.slow({ms: 100, key: "x"}), tools.slow({ms: 100, key: "y"})])`)
	for admission, wall := range map[string]float64{"serial": 200, "rolling": 200, "waves": 100, "keyed": 100, "first-fit": 100} {
		synctest.Test(t, func(t *testing.T) {
			v := invocation{stdin: strings.NewReader(`{"calls":[` + program + `]}`), tools: []*tool.Definition{slow(t)}}
			assert.Equal(t, exitDone, v.run(t, "run", "-", "--dir", t.TempDir(), "--json", "--admission", admission))
			var got runJSON
			require.NoError(t, json.Unmarshal([]byte(v.out.String()), &got))
			assert.InDelta(t, wall, got.WallMs, 0.01, admission)
		})
	}
}

// What calls can name.
func TestCodeFlag(t *testing.T) {
	dir := workDir(t, map[string]string{"a.txt": "hello\n"})
	batch := `{"calls":[{"name":"read","arguments":{"path":"a.txt"}},` + runsCode("p", "reads", `return (await tools.read({path: "a.txt"})).size`) + `]}`
	for flag, codes := range map[string][]tool.Code{
		"":            {"", ""},
		"--code=both": {"", ""}, "--code=code": {tool.UnknownTool, ""}, "--code=native": {"", tool.UnknownTool},
	} {
		args := strings.Fields("run - --json --dir " + dir + " " + flag)
		_, out, errOut := keywave(t, batch, args...)
		var got runJSON
		require.NoError(t, json.Unmarshal([]byte(out), &got), errOut)
		require.Len(t, got.Calls, 2)
		for i, c := range got.Calls {
			assert.Equal(t, codes[i], c.Code, "%s: call %d", flag, i+1)
		}
		switch flag {
		case "--code=code":
			assert.Contains(t, got.Calls[0].Text, "use run_code, with a program that calls tools.read(…)")
		case "--code=both":
			assert.Equal(t, "6", got.Calls[1].Text)
		}
		_, out, _ = keywave(t, batch, strings.Fields("plan - --dir "+dir+" "+flag)...)
		assert.Equal(t, flag == "--code=native" || flag == "--code=code", strings.Contains(out, "(unknown tool)"), out)
		assert.Equal(t, flag != "--code=native", strings.Contains(out, "(a program, which may call anything)"), out)
		_, out, _ = keywave(t, "", strings.Fields("tools --format=json "+flag)...)
		assert.Equal(t, flag != "--code=native", strings.Contains(out, `"run_code"`))
		assert.Equal(t, flag != "--code=code", strings.Contains(out, `"name": "read"`))
	}
	code, _, errOut := keywave(t, batch, "run", "-", "--code", "fortran")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errOut, "fortran")
}

// codeScript is of an agent whose calls are made by programs.
var codeScript = `
{"user": "Tidy up."}
{"calls": [` + runsCode("p", "louder, everywhere", `
	const {matches} = await tools.grep({pattern: "hello|world"});
	for (const m of matches) {
		await tools.edit({path: m.path, old: m.text, new: m.text.toUpperCase()});
		await tools.slow({ms: 31});
	}
	await tools.read({path: "none"}).catch(e => console.warn(e.message));
	return matches.length`) + `, {"id": "r", "name": "read", "arguments": {"path": "b.txt"}}], "delayMs": 307, "takesMs": [101, 53]}
{"text": "Done."}
`

func TestAgentRunsCode(t *testing.T) {
	s := newSession(t, codeScript)
	v := invocation{tools: []*tool.Definition{slow(t)}}
	assert.Equal(t, exitDone, s.run(t, &v))
	golden(t, "agent-code.txt", v.out.String())
	golden(t, "agent-code-progress.txt", v.errOut.String())
	assert.Equal(t, map[string]string{"a.txt": "HELLO\n", "b.txt": "WORLD\n"}, contents(t, s.dir))

	// What it printed is what its log says, in which there is a pair for each call of the program.
	var log invocation
	assert.Equal(t, exitDone, log.run(t, "log", s.log))
	assert.True(t, strings.HasPrefix(log.out.String(), v.out.String()), log.out.String())
	open, pairs := map[uint64]string{}, 0
	for _, e := range s.events(t) {
		p, err := e.Payload()
		require.NoError(t, err)
		switch p := p.(type) {
		case harness.CodeDispatchStart:
			open[e.Seq] = p.ID
		case harness.CodeDispatch:
			require.Len(t, p.Sources, 1)
			assert.Equal(t, open[p.Sources[0]], p.ID)
			delete(open, p.Sources[0])
			pairs++
		}
	}
	assert.Empty(t, open)
	assert.Equal(t, 6, pairs)
	log = invocation{}
	assert.Equal(t, exitDone, log.run(t, "log", "--tree", s.log))
	golden(t, "log-code-tree.txt", log.out.String())

	s = newSession(t, codeScript)
	v = invocation{}
	assert.Equal(t, exitFailed, s.run(t, &v, "--code=native"))
	assert.Contains(t, v.out.String(), `There is no tool "run_code"`)
}

// Calls of programs are asked about as any, by their numbers; the program itself changes nothing.
func TestAgentAsksAboutCallsOfPrograms(t *testing.T) {
	s := newSession(t, codeScript)
	v := invocation{stdin: strings.NewReader("y\nn\n"), tools: []*tool.Definition{slow(t)}}
	assert.Equal(t, exitFailed, v.run(t, s.args("--ask=changes")...))
	assert.Contains(t, v.errOut.String(), "? call 1.2  edit a.txt  may it run?")
	assert.Contains(t, v.errOut.String(), "? call 1.4  edit b.txt  may it run?")
	assert.Equal(t, 2, strings.Count(v.errOut.String(), "may it run?"))
	assert.Contains(t, v.out.String(), "  │ ✗ 1.4  edit b.txt  APPROVAL_REJECTED")
	assert.Equal(t, map[string]string{"a.txt": "HELLO\n", "b.txt": "world\n"}, contents(t, s.dir))
}

// A first ctrl-C stops a program and the call that it waits for; what becomes of each is shown.
func TestCtrlCEndsPrograms(t *testing.T) {
	program := runsCode("p", "never ends", `try { await tools.stuck({}) } catch {} await tools.stuck({})`)
	for command, says := range map[string]string{
		"run":   "✗ 1  run_code never ends  ABORTED",
		"agent": "  ✗ 1  run_code never ends  ABORTED",
	} {
		s := newSession(t, `{"user":"Go."} {"calls":[`+program+`]} {"text":"Done."}`)
		args := map[string][]string{"run": {"run", "-", "--dir", s.dir}, "agent": s.args()}[command]
		synctest.Test(t, func(t *testing.T) {
			def, _ := stuck(t, true)
			v := invocation{stdin: strings.NewReader(`{"calls":[` + program + `]}`), signals: make(chan os.Signal, 2), tools: []*tool.Definition{def}}
			code := make(chan int, 1)
			go func() { code <- v.run(t, args...) }()
			<-time.After(520 * time.Millisecond)
			v.signals <- os.Interrupt
			assert.Equal(t, exitInterrupted, <-code)
			assert.Contains(t, v.out.String(), says)
			assert.Contains(t, v.out.String(), "│ ✗ 1.1  stuck  ABORTED")
			assert.Contains(t, v.errOut.String(), "start        1.1  stuck\n")
			assert.Contains(t, v.errOut.String(), "interrupted: the running calls are told to stop")
		})
	}
}

// Programs of several agents keep out of each other's way where their calls meet, and only there.
func TestAgentsRunCode(t *testing.T) {
	dir := workDir(t, map[string]string{"a.txt": "", "b.txt": ""})
	var files []string
	for _, name := range []string{"one", "two"} {
		program := runsCode(name, "adds lines", fmt.Sprintf(`
			for (const path of ["a.txt", "b.txt"]) {
				for (let i = 0; i < 5; i++) {
					const {text, version} = await tools.read({path});
					await tools.write({path, content: text + %q, version}).catch(() => i--);
				}
			}
			return "done"`, name+"\n"))
		file := filepath.Join(t.TempDir(), name+".json")
		require.NoError(t, os.WriteFile(file, []byte(`{"calls":[`+program+`]}`), 0o600))
		files = append(files, file)
	}
	code, out, errOut := keywave(t, "", append([]string{"run", "--dir", dir, "--agents"}, files...)...)
	assert.Equal(t, exitDone, code, out+errOut)
	for name, text := range contents(t, dir) {
		assert.Equal(t, 5, strings.Count(text, "one\n"), name)
		assert.Equal(t, 5, strings.Count(text, "two\n"), name)
	}

	// Each has a call that meets one of the other, and one that does not.
	for i, name := range []string{"one", "two"} {
		program := runsCode(name, "takes time", fmt.Sprintf(`await tools.slow({ms: 100, key: %q}); await tools.slow({ms: 30, key: "both"})`, name))
		require.NoError(t, os.WriteFile(files[i], []byte(`{"calls":[`+program+`]}`), 0o600))
	}
	synctest.Test(t, func(t *testing.T) {
		v := invocation{tools: []*tool.Definition{slow(t)}}
		assert.Equal(t, exitDone, v.run(t, append([]string{"run", "--json", "--dir", dir, "--agents"}, files...)...), v.errOut.String())
		var got agentsJSON
		require.NoError(t, json.Unmarshal([]byte(v.out.String()), &got))
		assert.InDelta(t, 160, got.WallMs, 0.01)
		assert.Regexp(t, `start     (one|two)     1\.2  .*\(waited 30 ms for (one|two), call 2: write both\)`, v.errOut.String())
		v = invocation{tools: v.tools}
		assert.Equal(t, exitDone, v.run(t, append([]string{"run", "--quiet", "--dir", dir, "--agents"}, files...)...))
		assert.Regexp(t, `call 1\.2 \(slow .*waited 30 ms for (one|two),\s+call 2: write both`, v.out.String())
	})
}

// treeLog is a log of one turn with a call, and what is said to be within it.
func treeLog(within ...harness.Payload) string {
	p := newPen().put(
		harness.TurnStart{Turn: 1}, harness.StepStart{Turn: 1, Step: 1},
		harness.AssistantMessage{Turn: 1, Step: 1, Calls: []tool.Call{{ID: "p", Name: "run_code", Arguments: `{"code":"","description":"a\u001b[2J program"}`}}},
		harness.ToolCall{Place: at(1, 1, 0), Name: "run_code"},
	)
	return p.put(within...).String()
}

func starts(parent, id string) harness.CodeDispatchStart {
	return harness.CodeDispatchStart{Place: at(1, 1, 0), ParentID: parent, ID: id, Name: "read", Arguments: json.RawMessage(`{"path":"` + id + `"}`)}
}

func settles(parent, id string, r tool.Result) harness.CodeDispatch {
	return harness.CodeDispatch{Place: at(1, 1, 0), ParentID: parent, ID: id, Name: "read", Result: r}
}

// A log with a bit of everything that can be within a call, most of which no writer writes.
func TestLogWithinCalls(t *testing.T) {
	lost := starts("x", "y")
	lost.Place = at(1, 1, 7)
	odd := starts("p", "p:code:4")
	odd.Arguments, odd.Name = json.RawMessage(`"{\"path\""`), "gr\x1bep"
	log := treeLog(
		starts("p", "p:code:1"), starts("p", "p:code:2"), settles("p", "p:code:2", tool.Text("out of order")),
		settles("p", "p:code:1", failedWith(tool.Timeout, "it took\ntoo long")),
		starts("p:code:2", "nested"), starts("nested", "deeper"), settles("nested", "deeper", tool.Text("")),
		settles("p", "p:code:3", tool.Text("it has no start")),
		starts("loop", "loop"), starts("deeper", "p:code:2"), starts("p", "p"), settles("p", "p:code:1", tool.Text("again")), // refused
		odd, lost,
	) + newTail(harness.ToolSettle{Place: at(1, 1, 0), Result: tool.Text("ended")}, harness.ToolResult{Place: at(1, 1, 0), Name: "run_code", Result: tool.Text("ended")},
		harness.StepEnd{Turn: 1, Step: 1}, harness.TurnEnd{Turn: 1, Reason: harness.EndDone})
	for name, c := range map[string]struct {
		width int
		args  []string
	}{
		"log-within.txt": {80, nil}, "log-within-full.txt": {80, []string{"--full"}},
		"log-within-tree.txt": {80, []string{"--tree"}}, "log-within-tree.jsonl": {0, []string{"--tree", "--json"}},
	} {
		code, out, errOut := showLog(t, log, c.width, c.args...)
		assert.Equal(t, exitDone, code, errOut)
		golden(t, name, out)
	}
	code, out, _ := showLog(t, log, 0, "--json")
	assert.Equal(t, exitDone, code)
	assert.Equal(t, strings.ReplaceAll(log, "\x1b", ""), out, "the events are as they are in the log")
}

// newTail is records behind 18 others, of the time of the last.
func newTail(payloads ...harness.Payload) string {
	p := newPen()
	p.Reset()
	p.seq = 19
	p.time = p.time.Add(18 * time.Second)
	return p.put(payloads...).String()
}

// Trees that are too deep, or too wrong, are told of without an end to the rest.
func TestLogOfHostileTrees(t *testing.T) {
	var within []harness.Payload
	parent := "p"
	for i := range 400 {
		id := fmt.Sprint("d", i)
		within = append(within, starts(parent, id))
		parent = id
	}
	for i := range 400 {
		within = append(within, settles("x", fmt.Sprint("d", i), tool.Text("settled")))
	}
	for range 1000 {
		within = append(within, starts("p", "p"))
	}
	within = append(within, starts("p", "rest"), settles("p", "rest", tool.Text("is there")))
	log := treeLog(within...)
	for _, args := range [][]string{nil, {"--tree"}, {"--tree", "--json"}, {"--full"}} {
		v := invocation{width: 80, env: map[string]string{"NO_COLOR": "1"}, stdin: strings.NewReader(log)}
		assert.Equal(t, exitDone, v.run(t, append([]string{"log", "-"}, args...)...), v.errOut.String())
		out := v.out.String()
		assert.Contains(t, out, "is more than 256 calls deep", "%v", args)
		if len(args) != 1 || args[0] != "--tree" { // which shows the first of those
			assert.Contains(t, out, "p is its own ancestor", "%v", args)
		}
		assert.Contains(t, out, "rest", "%v", args)
		for _, l := range strings.Split(out, "\n") {
			if args == nil || len(args) == 1 && args[0] == "--tree" {
				assert.LessOrEqual(t, cells.StringWidth(l), 80)
			}
		}
		if len(args) == 1 && args[0] == "--tree" {
			assert.Contains(t, out, "  ! within call 1: … and 1283 more that do not fit\n")
			assert.Less(t, strings.Count(out, "\n"), 300)
		}
	}
}

// A step with many calls within takes no memory for what they returned.
func TestStoryForgetsWhatCallsReturned(t *testing.T) {
	s := newStory(stream{io.Discard, func() (int, int, bool) { return 80, 24, true }}, false, false)
	large := tool.Text(strings.Repeat("x", 1<<20))
	for e, err := range harness.Read(strings.NewReader(treeLog(starts("p", "p:code:1"), settles("p", "p:code:1", large)))) {
		require.NoError(t, err)
		require.NoError(t, s.tell(e))
	}
	c := s.calls[0].within.told["p:code:1"]
	require.NotNil(t, c.Result)
	assert.Empty(t, c.Result.Content)
	assert.Nil(t, c.Arguments)
}
