package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// A script with an answer that takes its time, calls that wait for others and for their results, one that fails, one
// that is refused, a steer, an injected line, two turns, and a message in a provider's form.
const slowScript = `
{"user": "Make the greeting louder, and check it."}
{"text": "I look at both files.", "calls": [
	{"id": "a", "name": "read", "arguments": {"path": "a.txt"}}, {"id": "b", "name": "read", "arguments": {"path": "b.txt"}}
], "delayMs": 307, "takesMs": [251, 103]}
{"calls": [
	{"id": "c", "name": "edit", "arguments": {"path": "a.txt", "old": "hello", "new": "HELLO"}},
	{"id": "d", "name": "read", "arguments": {"path": "a.txt"}},
	{"id": "e", "name": "edit", "arguments": {"path": "b.txt", "old": "nothing", "new": "HELLO"}},
	{"id": "f", "name": "fly", "arguments": "{"}
], "delayMs": 501, "takesMs": [1011, 302, 13]}
{"steer": "Be quick about it."}
{"inject": "The weather is fine."}
{"text": "It says HELLO."}
{"user": "Thanks. Anything else?"}
{"role": "assistant", "content": "No."}
`

// A session is a directory, a script and a log to run the agent with.
type session struct{ dir, script, log string }

func newSession(t testing.TB, script string) session {
	dir := t.TempDir()
	s := session{filepath.Join(dir, "tree"), filepath.Join(dir, "script.json"), filepath.Join(dir, "log.jsonl")}
	require.NoError(t, os.Mkdir(s.dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "a.txt"), []byte("hello\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "b.txt"), []byte("world\n"), 0o600))
	require.NoError(t, os.WriteFile(s.script, []byte(script), 0o600))
	return s
}

func (s session) args(more ...string) []string {
	return append([]string{"agent", "--script", s.script, "--dir", s.dir, "--log", s.log}, more...)
}

// run runs the agent in virtual time, so that every time in the output is exact.
func (s session) run(t *testing.T, v *invocation, more ...string) (code int) {
	synctest.Test(t, func(t *testing.T) {
		if _, err := os.Stat(s.log); err == nil {
			<-time.After(time.Minute) // what is in it has its times
		}
		code = v.run(t, s.args(more...)...)
	})
	return code
}

// local is text without the path of the test's directory in it.
func (s session) local(text string) string {
	return strings.ReplaceAll(text, filepath.Dir(s.log)+string(filepath.Separator), "")
}

func (s session) events(t testing.TB) (events []harness.Event) {
	for e, err := range harness.ReadFile(s.log) {
		require.NoError(t, err)
		events = append(events, e)
	}
	return events
}

func TestAgentPlain(t *testing.T) {
	s := newSession(t, slowScript)
	var v invocation
	assert.Equal(t, exitFailed, s.run(t, &v), "a call has failed")
	golden(t, "agent.txt", v.out.String())
	golden(t, "agent-progress.txt", v.errOut.String())
	assert.Equal(t, map[string]string{"a.txt": "HELLO\n", "b.txt": "world\n"}, contents(t, s.dir))

	// What it printed is what its log says, which has one line more.
	var log invocation
	assert.Equal(t, exitDone, log.run(t, "log", s.log))
	assert.True(t, strings.HasPrefix(log.out.String(), v.out.String()), log.out.String())

	// A second time there is nothing to do.
	before, err := os.ReadFile(s.log)
	require.NoError(t, err)
	var again invocation
	assert.Equal(t, exitDone, s.run(t, &again))
	assert.Equal(t, "log.jsonl goes on after 38 events, 2 turns.\nThe script has been performed.\n", s.local(again.out.String()))
	assert.Empty(t, again.errOut.String())
	after, err := os.ReadFile(s.log)
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after))
}

func TestAgentOnATerminal(t *testing.T) {
	s := newSession(t, slowScript)
	v := invocation{width: 80, env: map[string]string{"NO_COLOR": "1"}}
	assert.Equal(t, exitFailed, s.run(t, &v))
	for _, frame := range []string{ // of times at which nothing happens but a redraw
		"2 running, 0 waiting  43 ms\n▶  1  read a.txt  43 ms\n▶  2  read b.txt  43 ms\n\x1b[3A\r\x1b[J",
		"1 done, 1 running, 2 waiting  41 ms\n▶  1  edit a.txt  41 ms\n·  2  read a.txt  waits for call 1: write a.txt\n·  4  fly {  waits for call 2: one runs alone\n\x1b[4A\r\x1b[J",
	} {
		assert.Contains(t, v.errOut.String(), frame)
	}
	assert.True(t, strings.HasSuffix(v.errOut.String(), "\r\x1b[J"), "nothing is left on the screen")
	for _, l := range strings.Split(v.out.String(), "\n") {
		assert.LessOrEqual(t, cells.StringWidth(l), 80, l)
	}
	s = newSession(t, slowScript)
	v = invocation{width: 80}
	assert.Equal(t, exitFailed, s.run(t, &v, "--quiet"))
	assert.Empty(t, v.errOut.String())
	assert.Contains(t, v.out.String(), "\x1b[31m  ✗ 3  edit b.txt  13 ms\x1b[0m")
}

// Whatever of the log is left, the agent closes what is open, and goes on to the end of its script.
func TestAgentGoesOn(t *testing.T) {
	whole := newSession(t, slowScript)
	assert.Equal(t, exitFailed, whole.run(t, new(invocation)))
	data, err := os.ReadFile(whole.log)
	require.NoError(t, err)
	lines := strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n")
	require.Greater(t, len(lines), 30)
	for kept := range lines {
		left := strings.Join(lines[:kept], "") + lines[kept][:len(lines[kept])/2]
		s := newSession(t, slowScript)
		require.NoError(t, os.WriteFile(s.log, []byte(left), 0o600))
		var v invocation
		assert.Less(t, s.run(t, &v, "--durability=none"), exitUsage, v.errOut.String())
		open, said := map[harness.Place]bool{}, 0
		for _, e := range s.events(t) {
			p, err := e.Payload()
			require.NoError(t, err)
			switch p := p.(type) {
			case harness.AssistantMessage:
				said++
				for i := range p.Calls {
					open[harness.Place{Turn: p.Turn, Step: p.Step, Index: i}] = true
				}
			case harness.ToolResult:
				assert.True(t, open[p.Place])
				delete(open, p.Place)
			}
		}
		assert.Empty(t, open, "cut in line %d", kept+1)
		assert.Equal(t, 4, said, "each message of the script was said, once: cut in line %d", kept+1)
		if kept == 17 {
			// Which of two records of one moment comes first is up to the scheduler.
			golden(t, "agent-resumed.txt", regexp.MustCompile(`[0-9]+ bytes in`).ReplaceAllString(s.local(v.out.String()), "... bytes in"))
		}
	}
}

// A first signal cancels the turn, and shows what became of each call; the log can be gone on with.
func TestAgentInterrupted(t *testing.T) {
	s := newSession(t, slowScript)
	synctest.Test(t, func(t *testing.T) {
		v := invocation{signals: make(chan os.Signal, 2)}
		code := make(chan int, 1)
		go func() { code <- v.run(t, s.args()...) }()
		<-time.After(1200 * time.Millisecond)
		v.signals <- os.Interrupt
		assert.Equal(t, exitInterrupted, <-code)
		golden(t, "agent-interrupted.txt", v.out.String())
		assert.Contains(t, v.errOut.String(), "interrupted: the running calls are told to stop; once more leaves at once\n")
	})
	var v invocation
	assert.Equal(t, exitDone, s.run(t, &v), v.errOut.String())
	assert.Contains(t, v.out.String(), "  user     The weather is fine.\n  user     Be quick about it.\n  model    It says HELLO.\n", "what was not delivered is told again")

	// While the model is asked there is nothing to cancel but that.
	s = newSession(t, slowScript)
	synctest.Test(t, func(t *testing.T) {
		v := invocation{signals: make(chan os.Signal, 2)}
		code := make(chan int, 1)
		go func() { code <- v.run(t, s.args()...) }()
		<-time.After(100 * time.Millisecond)
		v.signals <- os.Interrupt
		assert.Equal(t, exitInterrupted, <-code)
		assert.True(t, strings.HasSuffix(v.out.String(), "  ! cancelled\n    1 step, in 100 ms\n"), v.out.String())
	})
}

// A second one leaves at once, although a call does not come back.
func TestAgentInterruptedTwice(t *testing.T) {
	s := newSession(t, `{"user": "Go."} {"calls": [{"name": "stuck"}]} {"text": "Done."}`)
	synctest.Test(t, func(t *testing.T) {
		def, release := stuck(t, false)
		v := invocation{signals: make(chan os.Signal, 2), tools: []*tool.Definition{def}}
		code := make(chan int, 1)
		go func() { code <- v.run(t, s.args()...) }()
		synctest.Wait()
		v.signals <- os.Interrupt
		synctest.Wait()
		select {
		case c := <-code:
			t.Fatalf("the first must wait for the call, and left with %d", c)
		default:
		}
		v.signals <- os.Interrupt
		assert.Equal(t, exitInterrupted, <-code)
		close(release) // the process would have ended; the test lets the body go
	})
}

func TestAgentAsks(t *testing.T) {
	script := `{"user": "Go."}
		{"calls": [{"name": "read", "arguments": {"path": "a.txt"}}, {"name": "write", "arguments": {"path": "c.txt", "content": "1"}},
			{"name": "write", "arguments": {"path": "d.txt", "content": "2"}}]}
		{"text": "Done."}`
	const question1, question2 = "? call 2  write c.txt  may it run? [y]es, [n]o, [a]ll calls of write: ", "? call 3  write d.txt  may it run? [y]es, [n]o, [a]ll calls of write: "
	for typed, c := range map[string]struct {
		code  int
		asked string
		codes []tool.Code
	}{
		"y\nn\n":        {exitFailed, question1 + question2, []tool.Code{"", "", tool.ApprovalRejected}},
		"maybe\nYES\ny": {exitDone, question1 + question1 + question2, []tool.Code{"", "", ""}},
		"a\n":           {exitDone, question1, []tool.Code{"", "", ""}},
		"n\nn\n":        {exitFailed, question1 + question2, []tool.Code{"", tool.ApprovalRejected, tool.ApprovalRejected}},
		"":              {exitFailed, question1 + "\n" + question2 + "\n", []tool.Code{"", tool.ApprovalUnavailable, tool.ApprovalUnavailable}},
	} {
		s := newSession(t, script)
		v := invocation{stdin: strings.NewReader(typed)}
		assert.Equal(t, c.code, s.run(t, &v, "--ask=changes", "-q"), "%q: %s", typed, v.errOut.String())
		assert.Equal(t, c.asked, v.errOut.String(), "%q", typed)
		var codes []tool.Code
		for _, e := range s.events(t) {
			if p, err := e.Payload(); err == nil {
				if r, ok := p.(harness.ToolResult); ok {
					codes = append(codes, r.Result.Code)
				}
			}
		}
		assert.Equal(t, c.codes, codes, "%q", typed)
	}

	// A question that nobody answers does not keep the command from being interrupted.
	s := newSession(t, script)
	synctest.Test(t, func(t *testing.T) {
		in, typing := io.Pipe()
		v := invocation{stdin: in, signals: make(chan os.Signal, 2)}
		code := make(chan int, 1)
		go func() { code <- v.run(t, s.args("--ask=always")...) }()
		<-time.After(time.Second)
		v.signals <- os.Interrupt
		assert.Equal(t, exitInterrupted, <-code)
		assert.Contains(t, v.errOut.String(), "? call 1  read a.txt  may it run? [y]es, [n]o, [a]ll calls of read: it is withdrawn\n")
		assert.Contains(t, v.out.String(), "APPROVAL_CANCELLED  (waited 1.00 s for a refusal)")
		require.NoError(t, typing.Close())
	})
}

func TestAgentEnds(t *testing.T) {
	failing := `{"calls": [{"name": "read", "arguments": {"path": "none"}}]}`
	for name, c := range map[string]struct {
		script string
		args   []string
		code   int
		out    string
		errOut string
	}{
		"too many steps":    {`{"user": "Go."}` + failing + failing, []string{"--max-steps=1"}, exitFailed, "  ! limit: the turn has had its 1 steps\n", ""},
		"too many failures": {`{"user": "Go."}` + failing + failing, []string{"--max-failures=2"}, exitFailed, "  ! limit: read failed 2 times in a row", ""},
		"too little script": {`{"user": "Go."}` + failing, nil, exitUsage, "  ✗ error: the model: it is asked",
			"keywave: turn 1: the model: it is asked for a message, and the script has none at entry 3\n"},
		"nothing but an injection": {`{"inject": "Hm."}`, nil, exitDone, "a session", ""},
		"a steer begins a turn":    {`{"steer": "Go."} {"text": "Yes."}`, nil, exitDone, "  ✓ done\n", ""},
		"no text":                  {`{"user": "Go."} {"content": [{"type": "text", "text": "Ye"}, {"type": "text", "text": "s."}]}`, nil, exitDone, "  model    Yes.\n", ""},
	} {
		s := newSession(t, c.script)
		v := invocation{}
		assert.Equal(t, c.code, s.run(t, &v, append(c.args, "--quiet")...), name)
		assert.Contains(t, v.out.String(), c.out, name)
		assert.Equal(t, c.errOut, v.errOut.String(), name)
	}
}

func TestAgentBadUsage(t *testing.T) {
	s := newSession(t, `{"user": "Go."} {"text": "Yes."}`)
	none := filepath.Join(t.TempDir(), "none")
	for _, c := range []struct {
		says string
		args []string
	}{
		{"missing flags: --script=FILE", []string{"agent"}},
		{"--limit is 0", s.args("--limit=0")},
		{"--max-steps is -1", s.args("--max-steps=-1")},
		{"--max-failures is -1", s.args("--max-failures=-1")},
		{`must be one of "always","batch","none"`, s.args("--durability=most")},
		{"--ask needs the standard input", []string{"agent", "--script=-", "--ask=always"}},
		{"none", []string{"agent", "--script", none}},
		{"none", []string{"agent", "--script", s.script, "--dir", none}},
		{"none", []string{"agent", "--script", s.script, "--dir", s.dir, "--log", filepath.Join(none, "log")}},
		{"not a session log", []string{"agent", "--script", s.script, "--dir", s.dir, "--log", s.script}},
	} {
		code, out, errOut := keywave(t, "", c.args...)
		assert.Equal(t, exitUsage, code, c.says)
		assert.Empty(t, out)
		assert.Contains(t, errOut, c.says)
		assert.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
	}
	data, err := os.ReadFile(s.script)
	require.NoError(t, err)
	assert.Equal(t, `{"user": "Go."} {"text": "Yes."}`, string(data), "what is no log is left alone")

	// One that somebody else writes to.
	busy, err := harness.Open(s.log)
	require.NoError(t, err)
	code, out, errOut := keywave(t, "", s.args()...)
	assert.Equal(t, exitUsage, code)
	assert.Empty(t, out)
	assert.Contains(t, errOut, "session log is in use")
	require.NoError(t, busy.Close())
}

// Without a log, and with the script on the standard input.
func TestAgentWithoutALog(t *testing.T) {
	code, out, errOut := keywave(t, "\ufeff"+`[{"user": "Go."}, {"text": "Yes."}]`, "agent", "--script=-", "--dir", t.TempDir())
	assert.Equal(t, exitDone, code, errOut)
	assert.Contains(t, out, "  model    Yes.\n")
}

// The admission and the limit are those of the agent.
// The log tells of at most one call more than the limit: the next one starts when a body has returned, and that this
// has settled may be written behind that.
func TestAgentAdmission(t *testing.T) {
	for _, c := range []struct {
		admission   string
		limit       int
		least, most int
	}{
		{"serial", 10, 1, 1},
		{"waves", 10, 3, 3},
		{"waves", 1, 1, 2},
	} {
		s := newSession(t, `{"user": "Go."} {"calls": [{"name": "read", "arguments": {"path": "a.txt"}},
			{"name": "list"}, {"name": "read", "arguments": {"path": "b.txt"}}], "takesMs": [100, 100, 100]} {"text": "Done."}`)
		assert.Equal(t, exitDone, s.run(t, new(invocation), "--admission", c.admission, fmt.Sprint("--limit=", c.limit)))
		running, peak := 0, 0
		for _, e := range s.events(t) {
			switch e.Type {
			case harness.TypeToolCall:
				running++
			case harness.TypeToolSettle:
				running--
			}
			peak = max(peak, running)
		}
		assert.GreaterOrEqual(t, peak, c.least, c)
		assert.LessOrEqual(t, peak, c.most, c)
	}
}

func TestScriptsThatCannotBeRead(t *testing.T) {
	for script, says := range map[string]string{
		``:                                     "script: there is nothing in it",
		`[]`:                                   "script: there is nothing in it",
		`{"user": "a"} {`:                      "script: entry 2: unexpected EOF",
		`"a"`:                                  "script: entry 1: it is not an object",
		`null`:                                 "script: entry 1: it is not an object",
		`{"user": ""}`:                         `script: entry 1: "user" is not a text, or empty`,
		`{"user": 1}`:                          `script: entry 1: "user" is not a text, or empty`,
		`{"user": "a", "text": "b"}`:           `script: entry 1: with "user" it has no other member`,
		`{"text": "a", "delayMs": -1}`:         "script: entry 1: a time of -1 ms: want at least 0, and at most a day",
		`{"text": "a", "delayMs": "1"}`:        "script: entry 1: json: cannot unmarshal string",
		`{"text": "a", "takesMs": [1]}`:        "script: entry 1: it has times for 1 call, and 0 calls",
		`{"txt": "a"}`:                         `script: entry 1: json: unknown field "txt"`,
		`{"calls": [{"name": ""}]}`:            "script: entry 1: /calls/0: it has no name",
		`[{"user": "a"}, {"role": "user"}]`:    "script: entry 2: batch: ",
		`{"role": "assistant", "content": ""}`: "script: entry 1: it has neither text nor calls",
		`{"content": [{"text": "no type"}]}`:   "script: entry 1: batch: ",
		`{"text": "a", "calls": [], "role": "x"}`: "script: entry 1: batch: ",
	} {
		lines, err := parseScript([]byte(script))
		assert.Nil(t, lines, script)
		if assert.Error(t, err, script) {
			assert.Contains(t, err.Error(), says, script)
		}
	}
}

// The script that the help shows is one.
func TestScriptOfTheHelp(t *testing.T) {
	var script []string
	for _, l := range strings.Split(new(agentCommand).Help(), "\n") {
		if strings.HasPrefix(l, "  ") {
			script = append(script, l)
		}
	}
	s := newSession(t, strings.Join(script, "\n"))
	var v invocation
	assert.Equal(t, exitDone, s.run(t, &v), v.errOut.String())
	assert.Contains(t, v.out.String(), "  user     Be quick about it.\n  model    It says HELLO.\n")
}

func FuzzScript(f *testing.F) {
	f.Add([]byte(slowScript))
	f.Add([]byte(`[{"content": [{"type": "tool_use", "id": "1", "name": "read", "input": {"a": "<"}}]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := parseScript(data)
		if err != nil {
			return
		}
		for _, l := range lines {
			if l.who != model && l.text == "" || l.who == model && len(l.message.Content)+len(l.message.Calls) == 0 {
				t.Fatalf("an empty line: %+v", l)
			}
		}
	})
}
