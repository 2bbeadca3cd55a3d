package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/codemode/js"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// In the environment, this makes the test binary the command.
const asCommand = "KEYWAVE_AS_COMMAND"

func TestMain(m *testing.M) {
	js.Worker()
	if os.Getenv(asCommand) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// output is a buffer that may be read while the command still writes.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// An invocation is one run of the command, on no terminal.
type invocation struct {
	stdin       io.Reader
	out, errOut output
	signals     chan os.Signal
	env         map[string]string
	tools       []*tool.Definition
	width       int                                            // of the terminal that both outputs are; 0: none
	runtime     func() (codemode.Runtime, func() error, error) // nil: inProcess
}

func (v *invocation) run(t testing.TB, args ...string) int {
	t.Helper()
	size := func() (int, int, bool) { return v.width, 30, v.width > 0 }
	if v.stdin == nil {
		v.stdin = strings.NewReader("")
	}
	if v.runtime == nil {
		v.runtime = inProcess
	}
	if v.signals == nil {
		v.signals = make(chan os.Signal, 2)
	}
	return run(context.Background(), args, host{
		stdin: v.stdin, stdout: stream{&v.out, size}, stderr: stream{&v.errOut, size}, signals: v.signals,
		env: func(name string) string { return v.env[name] }, tools: v.tools, runtime: v.runtime,
	})
}

// inProcess is what programs run in under virtual time, which worker processes know nothing of.
func inProcess() (codemode.Runtime, func() error, error) {
	r := js.NewInProcess()
	return r, r.Close, nil
}

// keywave runs the command with stdin and returns what came of it.
func keywave(t testing.TB, stdin string, args ...string) (code int, out, errOut string) {
	t.Helper()
	v := invocation{stdin: strings.NewReader(stdin)}
	code = v.run(t, args...)
	return code, v.out.String(), v.errOut.String()
}

// workDir is a directory with files in it.
func workDir(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

// contents are the files below dir.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	tree, err := loadTree(os.DirFS(dir), dir)
	require.NoError(t, err)
	all := map[string]string{}
	for _, f := range tree.files {
		all[f.path] = string(f.data)
	}
	return all
}

func TestExitCodes(t *testing.T) {
	dir := workDir(t, map[string]string{"a.txt": "hello\n"})
	ok := `{"calls":[{"name":"read","arguments":{"path":"a.txt"}}]}`
	for name, c := range map[string]struct {
		stdin string
		args  []string
		code  int
		says  string // on the error output, or, where the code is 0 or 1, on the output
	}{
		"no command":          {"", nil, 2, "(keywave --help tells more)"},
		"unknown command":     {"", []string{"fly"}, 2, "unexpected argument fly"},
		"unknown flag":        {"", []string{"plan", "--fly", "-"}, 2, "unknown flag --fly (keywave plan --help tells more)"},
		"no batch":            {"", []string{"run"}, 2, `expected "<batch>", or several with --agents (keywave run --help tells more)`},
		"no batch to plan":    {"", []string{"plan"}, 2, `expected "<batch>" (keywave plan --help tells more)`},
		"help":                {"", []string{"--help"}, 0, "Exit codes: 0 done; 1 a call failed; 2 bad usage or input; 130 interrupted."},
		"help of a command":   {"", []string{"run", "--help"}, 0, `"keywave tools"`},
		"help of plan":        {"", []string{"plan", "--help"}, 0, `"keywave tools"`},
		"version":             {"", []string{"version"}, 0, "keywave "},
		"version as a flag":   {"", []string{"--version"}, 0, "keywave "},
		"help of agent":       {"", []string{"agent", "--help"}, 0, "INTERRUPTED"},
		"help of log":         {"", []string{"log", "--help"}, 0, "--follow ends with exit code 2"},
		"help of replay":      {"", []string{"replay", "--help"}, 0, "saved_vs_rolling_ms"},
		"tools":               {"", []string{"tools"}, 0, "make_directory"},
		"done":                {ok, []string{"run", "-", "--dir", dir}, 0, "hello"},
		"planned":             {ok, []string{"plan", "-", "--dir", dir}, 0, "1 call in 1 wave"},
		"a call failed":       {`{"calls":[{"name":"read","arguments":{"path":"b.txt"}}]}`, []string{"run", "-", "-C", dir}, 1, "no such file"},
		"not a batch":         {"hello", []string{"run", "-"}, 2, "byte 0"},
		"no such batch":       {"", []string{"plan", filepath.Join(dir, "none.json")}, 2, "none.json"},
		"batch is a dir":      {"", []string{"plan", dir}, 2, "directory"},
		"no such dir":         {ok, []string{"plan", "-", "--dir", filepath.Join(dir, "none")}, 2, "none"},
		"dir is a file":       {ok, []string{"run", "-", "--dir", filepath.Join(dir, "a.txt")}, 2, "a.txt"},
		"unknown admission":   {ok, []string{"run", "-", "--admission", "luck"}, 2, "luck"},
		"limit 0":             {ok, []string{"run", "-", "--limit", "0"}, 2, "--limit is 0"},
		"limit is no number":  {ok, []string{"run", "-", "--limit", "many"}, 2, "many"},
		"unknown format":      {ok, []string{"plan", "-", "--format", "png"}, 2, "png"},
		"demo without a tree": {"", []string{"demo", "--tree", filepath.Join(dir, "none")}, 2, "keywave: " + filepath.Join(dir, "none") + ": no such file or directory\n"},
		"demo of a file":      {"", []string{"demo", "--tree", filepath.Join(dir, "a.txt")}, 2, "keywave: " + filepath.Join(dir, "a.txt") + ": not a directory\n"},
		"demo of too little":  {"", []string{"demo", "--tree", dir}, 2, "needs 4 text files"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := keywave(t, c.stdin, c.args...)
			assert.Equal(t, c.code, code, "%s%s", out, errOut)
			if c.code == 2 {
				assert.Contains(t, errOut, "keywave: ")
				assert.Contains(t, errOut, c.says)
				assert.Empty(t, out)
				assert.Equal(t, 1, strings.Count(errOut, "\n"), "one line: %s", errOut)
			} else {
				assert.Contains(t, out, c.says)
			}
		})
	}
}

// What is wrong with a batch as a whole is one line that names the place, and then nothing of it runs.
func TestBadBatches(t *testing.T) {
	good := `{"name":"write","arguments":{"path":"new.txt","content":"x"}}`
	for name, c := range map[string]struct {
		batch string
		says  []string
	}{
		"empty":               {"", []string{"byte 0"}},
		"blank":               {" \n", []string{"byte 2"}},
		"not JSON":            {"calls: []", []string{"byte 0"}},
		"null":                {"null", []string{"byte 0"}},
		"a string":            {`"calls"`, []string{"byte 0"}},
		"cut short":           {`{"calls":[` + good + `,{"name":"re`, []string{"call 2", "byte"}},
		"trailing data":       {`{"calls":[` + good + `]} {"calls":[]}`, []string{"byte 74"}},
		"calls is a string":   {`{"calls":"none"}`, []string{"byte 9"}},
		"a call is a number":  {`{"calls":[` + good + `,7]}`, []string{"call 2", "byte 72"}},
		"name is a number":    {`{"calls":[` + good + `,{"name":7}]}`, []string{"call 2", "byte"}},
		"id is an object":     {`{"calls":[` + good + `,{"id":{},"name":"read"}]}`, []string{"call 2", "byte"}},
		"no name":             {`{"calls":[` + good + `,{"arguments":{}}]}`, []string{"call 2", "byte", "name"}},
		"empty name":          {`{"calls":[` + good + `,{"name":"","arguments":{}}]}`, []string{"call 2", "byte", "name"}},
		"unknown member":      {`{"calls":[{"name":"read","argument":{}}]}`, []string{"call 1", "argument"}},
		"invalid UTF-8":       {"{\"calls\":[" + good + ",{\"name\":\"re\xffad\"}]}", []string{"call 2", "byte"}},
		"nested without end":  {`{"calls":[` + good + `,` + strings.Repeat("[", 1_000_000), []string{"call 2", "byte"}},
		"nested arguments":    {`{"calls":[{"name":"read","arguments":` + strings.Repeat(`{"a":`, 1_000_000), []string{"call 1", "byte"}},
		"a user's message":    {`{"role":"user","content":"hello"}`, []string{"user"}},
		"OpenAI without name": {`{"role":"assistant","tool_calls":[{"type":"function","function":{"arguments":"{}"}}]}`, []string{"call 1", "name"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, command := range []string{"plan", "run"} {
				code, out, errOut := keywave(t, c.batch, command, "-", "--dir", dir)
				assert.Equal(t, exitUsage, code)
				assert.Empty(t, out)
				assert.Equal(t, 1, strings.Count(errOut, "\n"))
				assert.Less(t, len(errOut), 1000)
				assert.Contains(t, errOut, "keywave: standard input: ")
				for _, says := range c.says {
					assert.Contains(t, errOut, says)
				}
			}
			assert.Empty(t, contents(t, dir), "nothing may have run")
		})
	}
}

// 100 MB of nesting are refused without being parsed.
func TestBatchTooLarge(t *testing.T) {
	nesting := io.LimitReader(repeat('['), 100<<20)
	v := invocation{stdin: nesting}
	assert.Equal(t, exitUsage, v.run(t, "plan", "-"))
	assert.Contains(t, v.errOut.String(), "standard input: larger than 64 MiB")
}

type repeat byte

func (r repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

// What is wrong with one call is that call's result; its siblings run.
func TestBadCallsAreTheirOwnResults(t *testing.T) {
	dir := workDir(t, map[string]string{"a.txt": "hello\n"})
	batch := `{"calls":[
		{"id":"same","name":"read","arguments":{"path":"a.txt"}},
		{"id":"same","name":"read","arguments":"{\"path\":\"a.txt\"}"},
		{"id":"","name":"no_such_tool","arguments":{}},
		{"name":"read","arguments":null},
		{"name":"read","arguments":[]},
		{"name":"read","arguments":""},
		{"name":"read"},
		{"name":"read","arguments":"{\"path\":"},
		{"name":"read","arguments":"{\"path\":\"a.txt\"} trailing"},
		{"name":"read","arguments":{"path":7}},
		{"name":"read","arguments":{"path":"../escape"}},
		{"name":"read","arguments":{"path":"a\u0000b"}},
		{"name":"read","arguments":{"path":"a.txt","path":"b.txt"}},
		{"name":"write","arguments":{"path":"/outside","content":"x"}},
		{"name":"list","arguments":"  "},
		{"id":"same","name":"read","arguments":{"path":"a.txt"}}
	]}`
	code, out, _ := keywave(t, batch, "run", "-", "--dir", dir, "--json")
	assert.Equal(t, exitFailed, code)
	var got runJSON
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	require.Len(t, got.Calls, 16)
	codes := make([]tool.Code, len(got.Calls))
	for i, c := range got.Calls {
		assert.Equal(t, i, c.Index)
		codes[i] = c.Code
		if c.Code != "" {
			assert.True(t, c.IsError)
			assert.Nil(t, c.StartedMs, "call %d must not have run", i+1)
		}
	}
	const args = tool.InvalidArgs
	assert.Equal(t, []tool.Code{
		"", "", tool.UnknownTool, args, args, args, args, args, args, args, "", "", args, "", "", "",
	}, codes)
	for _, i := range []int{0, 1, 15} {
		assert.Equal(t, "same", got.Calls[i].ID)
		assert.Contains(t, got.Calls[i].Text, "hello")
	}
	for _, i := range []int{10, 11, 13} {
		assert.True(t, got.Calls[i].IsError, "call %d", i+1)
	}
	assert.Contains(t, got.Calls[14].Text, "a.txt")
	assert.Equal(t, map[string]string{"a.txt": "hello\n"}, contents(t, dir))
}

func TestBatchesAsModelsEmitThem(t *testing.T) {
	dir := workDir(t, map[string]string{"a.txt": "hello\n"})
	for name, batch := range map[string]string{
		"openai message": `{"role":"assistant","content":null,
			"tool_calls":[{"id":"1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a.txt\"}"}}]}`,
		"openai response": `{"output":[{"type":"reasoning"},{"type":"function_call","call_id":"1","name":"read","arguments":"{\"path\":\"a.txt\"}"}]}`,
		"anthropic": `{"role":"assistant","content":[{"type":"text","text":"I look."},
			{"type":"tool_use","id":"1","name":"read","input":{"path":"a.txt"}}]}`,
		"byte order mark": "\uFEFF" + `{"calls":[{"id":"1","name":"read","arguments":{"path":"a.txt"}}]}`,
		"own":             `{"calls":[{"id":"1","name":"read","arguments":{"path":"a.txt"}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "batch.json")
			require.NoError(t, os.WriteFile(file, []byte(batch), 0o600))
			code, out, errOut := keywave(t, "", "run", file, "--dir", dir)
			assert.Equal(t, exitDone, code, errOut)
			assert.Contains(t, out, "hello")
		})
	}
	code, out, _ := keywave(t, `{"role":"assistant","content":"no calls"}`, "run", "-", "--dir", dir)
	assert.Equal(t, exitDone, code)
	assert.Equal(t, "There are no calls in standard input.\n", out)
	code, out, _ = keywave(t, `{"calls":[]}`, "plan", "-", "--dir", dir)
	assert.Equal(t, exitDone, code)
	assert.Equal(t, "There are no calls in standard input.\n", out)
}

// The model writes both, so neither may reach the terminal as it is.
func TestNothingReachesTheTerminalRaw(t *testing.T) {
	dir := workDir(t, map[string]string{"a.txt": "\x1b]0;owned\a\x1b[2J\u202e\u009b31m\n"})
	batch := `{"calls":[
		{"id":"\u001b[1m","name":"read","arguments":{"path":"a.txt"}},
		{"name":"bad\u001b[31m\u202ename","arguments":{"path":"\u001b[2J\u009b"}},
		{"name":"write","arguments":{"path":"x\u001b[5m","content":""}},
		{"name":"read","arguments":"\u001b[31m{"}
	]}`
	for _, args := range [][]string{
		{"plan"}, {"plan", "--first-fit"}, {"plan", "--format=json"}, {"plan", "--format=mermaid"}, {"plan", "--format=dot"},
		{"run"}, {"run", "--json"}, {"run", "--full"},
	} {
		for _, env := range []map[string]string{{"NO_COLOR": "1"}, {"TERM": "dumb"}} {
			v := invocation{stdin: strings.NewReader(batch), width: 100, env: env}
			v.run(t, append(args, "-", "--dir", dir)...)
			for _, text := range []string{v.out.String(), v.errOut.String()} {
				for _, r := range strings.NewReplacer("\r\x1b[J", "", "\n", "").Replace(text) {
					if r == '\x1b' {
						continue // checked below
					}
					assert.False(t, unprintable(r), "%v: %q", args, r)
				}
				for _, escape := range strings.Split(text, "\x1b")[1:] {
					assert.Regexp(t, `^\[(J|[0-9]+A)`, escape, "only the screen's own")
				}
			}
		}
	}
	code, _, errOut := keywave(t, "", "plan", "no\x1b[31m\nsuch")
	assert.Equal(t, exitUsage, code)
	assert.NotContains(t, errOut, "\x1b")
	assert.Equal(t, 1, strings.Count(errOut, "\n"))
}

func TestColoursAreForTerminals(t *testing.T) {
	dir := workDir(t, nil)
	batch := `{"calls":[{"name":"remove","arguments":{"path":"none"}}]}`
	for _, c := range []struct {
		width    int
		env      map[string]string
		coloured bool
	}{
		{80, nil, true}, {80, map[string]string{"NO_COLOR": "1"}, false}, {80, map[string]string{"TERM": "dumb"}, false}, {0, nil, false},
	} {
		v := invocation{stdin: strings.NewReader(batch), width: c.width, env: c.env}
		v.run(t, "run", "-", "--dir", dir)
		assert.Equal(t, c.coloured, strings.Contains(v.out.String(), "\x1b["), "%+v", c)
		if c.width == 0 {
			assert.NotContains(t, v.errOut.String(), "\x1b")
		}
	}
}

// stuck is a tool whose calls say when they run and end when they are told to, or cancelled if they listen.
func stuck(t testing.TB, listens bool) (*tool.Definition, chan struct{}) {
	release := make(chan struct{})
	d, err := tool.Define(tool.Spec[struct{}, string]{
		Name:   "stuck",
		Safe:   func(struct{}) bool { return true },
		Claims: func(struct{}) ([]plan.Claim, error) { return nil, nil },
		Body: func(ctx context.Context, _ struct{}) (string, error) {
			if listens {
				<-ctx.Done()
				return "", context.Cause(ctx)
			}
			<-release
			return "at last", nil
		},
	})
	require.NoError(t, err)
	return d, release
}

const stuckBatch = `{"calls":[{"name":"stuck"},{"name":"stuck"},{"name":"write","arguments":{"path":"x","content":""}},{"name":"unknown"},{"name":"stuck"}]}`

// A first ctrl-C, SIGTERM or SIGHUP tells the calls that run, starts no more, and shows what became of each.
func TestCtrlCOnceIsGentle(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		dir := workDir(t, nil)
		synctest.Test(t, func(t *testing.T) {
			def, _ := stuck(t, true)
			v := invocation{stdin: strings.NewReader(stuckBatch), signals: make(chan os.Signal, 2), tools: []*tool.Definition{def}}
			code := make(chan int, 1)
			go func() { code <- v.run(t, "run", "-", "--dir", dir, "--json", "--limit", "2") }()
			synctest.Wait()
			v.signals <- sig
			assert.Equal(t, exitInterrupted, <-code)

			var got runJSON
			require.NoError(t, json.Unmarshal([]byte(v.out.String()), &got))
			assert.True(t, got.Interrupted)
			var codes []tool.Code
			for _, c := range got.Calls {
				codes = append(codes, c.Code)
				assert.True(t, c.IsError)
			}
			const before = tool.AbortedBeforeDispatch
			assert.Equal(t, []tool.Code{tool.Aborted, tool.Aborted, before, before, before}, codes)
		})
		assert.Empty(t, contents(t, dir))
	}
}

// A second one leaves at once, although a call does not come back.
func TestCtrlCTwiceLeavesAtOnce(t *testing.T) {
	dir := workDir(t, nil)
	synctest.Test(t, func(t *testing.T) {
		def, release := stuck(t, false)
		v := invocation{stdin: strings.NewReader(stuckBatch), signals: make(chan os.Signal, 2), tools: []*tool.Definition{def}}
		code := make(chan int, 1)
		go func() { code <- v.run(t, "run", "-", "--dir", dir) }()
		synctest.Wait()
		v.signals <- os.Interrupt
		synctest.Wait()
		select {
		case c := <-code:
			t.Fatalf("the first must wait for the calls, and left with %d", c)
		default:
		}
		assert.Contains(t, v.errOut.String(), "interrupted: the running calls are told to stop; once more leaves at once\n")
		v.signals <- os.Interrupt
		assert.Equal(t, exitInterrupted, <-code)
		assert.Empty(t, v.out.String())
		close(release) // the process would have ended; the test lets the bodies go
	})
}

// A call that ignores its cancel is given up in the end, without a second ctrl-C.
func TestCtrlCEndsStuckCalls(t *testing.T) {
	dir := workDir(t, nil)
	synctest.Test(t, func(t *testing.T) {
		def, release := stuck(t, false)
		v := invocation{stdin: strings.NewReader(`{"calls":[{"name":"stuck"}]}`), signals: make(chan os.Signal, 2), tools: []*tool.Definition{def}}
		code := make(chan int, 1)
		go func() { code <- v.run(t, "run", "-", "--dir", dir) }()
		synctest.Wait()
		v.signals <- os.Interrupt
		select {
		case c := <-code:
			assert.Equal(t, exitInterrupted, c)
		case <-time.After(time.Minute):
			t.Error("the command waits for ever")
		}
		assert.Contains(t, v.out.String(), string(tool.Abandoned))
		close(release)
	})
}

// Ctrl-C does not wait for somebody to type.
func TestCtrlCWhileReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, typing := io.Pipe()
		v := invocation{stdin: in, signals: make(chan os.Signal, 2)}
		code := make(chan int, 1)
		go func() { code <- v.run(t, "plan", "-") }()
		synctest.Wait()
		v.signals <- os.Interrupt
		assert.Equal(t, exitInterrupted, <-code)
		require.NoError(t, typing.Close())
	})
}

// broken is an output that fails.
type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

func TestOutputThatCannotBeWritten(t *testing.T) {
	none := func() (int, int, bool) { return 0, 0, false }
	for says, err := range map[string]error{
		"keywave: writing the output: no space left on device\n": errors.New("no space left on device"),
		"": syscall.EPIPE, // the reader of a pipe has left
	} {
		// Also when there was a failed call to tell of: the reader has no result that says so.
		for _, args := range [][]string{{"version"}, {"run", "-q", "-C", t.TempDir(), "-"}, {"run", "-q", "--json", "-C", t.TempDir(), "-"}} {
			var errOut output
			code := run(context.Background(), args, host{
				stdin:  strings.NewReader(`{"calls":[{"name":"read","arguments":{"path":"none"}}]}`),
				stdout: stream{broken{err}, none}, stderr: stream{&errOut, none}, env: func(string) string { return "" }, runtime: inProcess,
			})
			assert.Equal(t, exitUsage, code)
			assert.Equal(t, says, errOut.String())
		}
	}
}

func TestVersion(t *testing.T) {
	assert.Equal(t, "keywave (devel), built with go1.26", built(&debug.BuildInfo{GoVersion: "go1.26"}))
	assert.Equal(t, "keywave v1.2.3 0123456789ab, modified, built with go1.26", built(&debug.BuildInfo{
		GoVersion: "go1.26", Main: debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}},
	}))
}
