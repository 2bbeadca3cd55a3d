package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// batchFiles writes batches to files, given as name and content in turn, and returns their paths.
func batchFiles(t testing.TB, batches ...string) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(batches); i += 2 {
		path := filepath.Join(dir, batches[i])
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(batches[i+1]), 0o600))
		paths = append(paths, path)
	}
	return paths
}

// Alpha and beta are in each other's way at three moments: beta wants x while alpha has it, then everything while alpha
// has y, and alpha wants x again while beta has everything.
var alphaBeta = []string{
	"alpha.json", `{"calls":[
		{"id":"a1","name":"slow","arguments":{"ms":101,"key":"x"}},
		{"id":"a2","name":"slow","arguments":{"ms":63,"key":"y"}},
		{"id":"a3","name":"slow","arguments":{"ms":23,"key":"x","fail":true}}
	]}`,
	"beta.json", `{"calls":[
		{"id":"b1","name":"slow","arguments":{"ms":17,"key":"y"}},
		{"id":"b2","name":"slow","arguments":{"ms":41,"key":"x"}},
		{"id":"b3","name":"slow","arguments":{"ms":11,"key":"everything"}}
	]}`,
}

// runAlphaBeta runs both in virtual time, each of them one call after another.
func runAlphaBeta(t *testing.T, v *invocation, args ...string) (code int) {
	t.Helper()
	paths := batchFiles(t, alphaBeta...)
	dir := workDir(t, nil)
	synctest.Test(t, func(t *testing.T) {
		v.tools = []*tool.Definition{slow(t)}
		code = v.run(t, append(append([]string{"run", "--dir", dir, "--admission", "serial", "--agents"}, paths...), args...)...)
	})
	return code
}

func TestAgentsPlain(t *testing.T) {
	var v invocation
	assert.Equal(t, exitFailed, runAlphaBeta(t, &v))
	golden(t, "agents.txt", v.out.String())
	golden(t, "agents-progress.txt", v.errOut.String())
}

func TestAgentsOnATerminal(t *testing.T) {
	v := invocation{width: 80, env: map[string]string{"NO_COLOR": "1"}}
	assert.Equal(t, exitFailed, runAlphaBeta(t, &v))
	golden(t, "agents-terminal.txt", strings.ReplaceAll(v.errOut.String(), "\x1b", "ESC"))
	for _, l := range strings.Split(v.out.String(), "\n") {
		assert.LessOrEqual(t, cells.StringWidth(l), 80)
	}
}

func TestAgentsJSON(t *testing.T) {
	var v invocation
	assert.Equal(t, exitFailed, runAlphaBeta(t, &v, "--json", "--shared-limit", "5"))
	golden(t, "agents.json", v.out.String())
	var got agentsJSON
	require.NoError(t, json.Unmarshal([]byte(v.out.String()), &got))
	require.Len(t, got.Agents, 2)
	for _, a := range got.Agents {
		for i, c := range a.Calls {
			sum := c.SettledMs - *c.StartedMs
			for _, w := range c.Waits {
				sum += w.Ms
			}
			assert.InDelta(t, c.CommittedMs, sum, 0.01, "the waits and the body of call %d of %s add up", i+1, a.Name)
		}
	}
	// An agent is what a run of its batch alone prints, and its name.
	var asAlone map[string]any
	require.NoError(t, json.Unmarshal([]byte(v.out.String()), &struct{ Agents []*map[string]any }{[]*map[string]any{&asAlone}}))
	var alone invocation
	runSlow(t, &alone, "--json")
	var want map[string]any
	require.NoError(t, json.Unmarshal([]byte(alone.out.String()), &want))
	delete(asAlone, "name")
	assert.ElementsMatch(t, members(want), members(asAlone))
}

func members(object map[string]any) (names []string) {
	for name := range object {
		names = append(names, name)
	}
	return names
}

// One agent, one with nothing to do, and several with the same file are nothing special.
func TestAgentsFewAndSame(t *testing.T) {
	dir := workDir(t, map[string]string{"a.txt": "hello\n"})
	paths := batchFiles(t, "reader.json", `{"calls":[{"name":"read","arguments":{"path":"a.txt"}}]}`, "idle.json", `{"calls":[]}`)
	reader, idle := paths[0], paths[1]

	code, out, errOut := keywave(t, "", "run", "-C", dir, "--agents", reader)
	assert.Equal(t, exitDone, code, errOut)
	assert.Contains(t, out, "hello")
	assert.Contains(t, out, "\n1 agent, 1 call: 1 done, in ")
	assert.True(t, strings.HasSuffix(out, "\nNo call waited for one of another agent.\n"))

	code, out, errOut = keywave(t, "", "run", "-C", dir, "--agents", idle, idle)
	assert.Equal(t, exitDone, code, errOut)
	assert.Contains(t, out, "idle\nThere are no calls in "+idle+".\n\nidle-2\nThere are no calls in "+idle+".\n\n2 agents, 0 calls, in ")

	// The flag may come once for each, too, and the standard input is a file like any other.
	code, out, errOut = keywave(t, `{"calls":[{"name":"write","arguments":{"path":"b.txt","content":"b"}}]}`,
		"run", "--agents", reader, reader, "-q", "--agents="+reader, "-C", dir, "--agents", "-", "--json")
	assert.Equal(t, exitDone, code, errOut)
	var got agentsJSON
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	var names []string
	for _, a := range got.Agents {
		names = append(names, a.Name)
		assert.Len(t, a.Calls, 1)
	}
	assert.Equal(t, []string{"reader", "reader-2", "reader-3", "stdin"}, names)
	assert.Nil(t, got.SharedLimit)
	assert.Equal(t, map[string]string{"a.txt": "hello\n", "b.txt": "b"}, contents(t, dir))
}

func TestAgentNames(t *testing.T) {
	for _, c := range []struct{ sources, names sources }{
		{nil, sources{}},
		{sources{"a.json", "dir/b.json", "../c.txt", "-", ".json", "d"}, sources{"a", "b", "c.txt", "stdin", ".json", "d"}},
		{sources{"a.json", "x/a.json", "a"}, sources{"a", "a-2", "a-3"}},
		{sources{"a", "a", "a-2", "a", "a-2"}, sources{"a", "a-3", "a-2", "a-4", "a-2-2"}},
		{sources{"a-2", "a", "a"}, sources{"a-2", "a", "a-3"}},
		{sources{"-", "stdin.json"}, sources{"stdin", "stdin-2"}},
		{sources{"e\x1b[31m\n.json"}, sources{`e\x1b[31m\n`}},
		{sources{"refactor-the-planner-1.json", "refactor-the-planner-2.json"}, sources{"refactor-the-planne…", "refactor-the-planne…-2"}},
	} {
		assert.Equal(t, []string(c.names), c.sources.names(), "%q", c.sources)
	}
}

// What is wrong with the command line, or with one batch, is said before anything of the others runs.
func TestAgentsUsage(t *testing.T) {
	write := `{"calls":[{"name":"write","arguments":{"path":"new.txt","content":"x"}}]}`
	paths := batchFiles(t, "good.json", write, "bad.json", `{"calls":[{"name":7}]}`)
	good, bad := paths[0], paths[1]
	none := filepath.Join(filepath.Dir(good), "none.json")
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no file":              {[]string{"--agents"}, "--agents: expected the file of a batch, or several"},
		"a flag in its place":  {[]string{"--agents", "--json"}, "--agents: expected the file of a batch, or several"},
		"one before":           {[]string{good, "--agents", good}, "--agents names all batches: " + good + " must stand behind it, too"},
		"no flag":              {[]string{good, good}, "unexpected argument " + good},
		"missing":              {[]string{"--agents", good, none}, none + ": no such file"},
		"not a batch":          {[]string{"--agents", good, bad, none}, bad + ": batch: call 1, byte 18"},
		"the input twice":      {[]string{"--agents", "-", good, "-"}, "--agents names the standard input 2 times: it can be read once"},
		"shared limit 0":       {[]string{"--agents", good, "--shared-limit", "0"}, "--shared-limit is 0: at least one call must be able to run"},
		"shared limit alone":   {[]string{good, "--shared-limit", "3"}, "--shared-limit is for --agents: a single batch has --limit"},
		"limit 0":              {[]string{"--agents", good, "--limit", "0"}, "--limit is 0"},
		"not a plan of agents": {[]string{"--agents", good, "--first-fit"}, "unknown flag --first-fit"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			code, out, errOut := keywave(t, write, append([]string{"run", "--dir", dir}, c.args...)...)
			assert.Equal(t, exitUsage, code)
			assert.Empty(t, out)
			assert.Contains(t, errOut, c.says)
			assert.Equal(t, 1, strings.Count(errOut, "\n"), "one line: %s", errOut)
			assert.Empty(t, contents(t, dir), "nothing may have run")
		})
	}
}

// Lines say which agent's call is waited for, and what it has, with paths as they are in the directory.
func TestWaitsForOtherAgents(t *testing.T) {
	b := &batch{root: "file/dir"}
	file, whole := plan.Claim{Key: "file/dir/a", Tree: true}, plan.Claim{Key: "file/dir", Tree: true, Access: plan.Read}
	for says, w := range map[string]exec.Wait{
		"beta, call 3: write a":                       {Call: 2, Lane: "beta", Mine: file, Held: file},
		"beta, call 1: read ./...":                    {Call: 0, Lane: "beta", Mine: file, Held: whole},
		"beta, call 2: write a/b":                     {Call: 1, Lane: "beta", Mine: file, Held: plan.Claim{Key: "file/dir/a/b"}},
		"beta, call 1: given up, and may do anything": {Call: 0, Lane: "beta", Abandoned: true},
		"beta, call 4: one runs alone":                {Call: 3, Lane: "beta", Mine: file, Held: plan.Claim{Key: everything}},
		"beta, call 5: one runs alone":                {Call: 4, Lane: "beta", Mine: plan.Claim{Key: everything}, Held: file},
		"what other agents use":                       {Call: -1},
	} {
		w.For = exec.WaitDomain
		assert.Equal(t, says, b.waitsFor(w))
	}

	// Several that follow one another are told apart, and added up.
	ms := time.Millisecond
	waits := []exec.Wait{
		{For: exec.WaitClaim, Call: 0, Mine: file, Held: file, From: 0, To: 5 * ms},
		{For: exec.WaitLane, Call: -1, From: 5 * ms, To: 6 * ms},
		{For: exec.WaitDomain, Call: 0, Lane: "beta", Mine: file, Held: file, From: 6 * ms, To: 8 * ms},
		{For: exec.WaitDomain, Call: 0, Lane: "beta", Mine: file, Held: whole, From: 8 * ms, To: 12 * ms},
		{For: exec.WaitDomain, Call: 0, Lane: "gamma", Mine: file, Held: file, From: 12 * ms, To: 15 * ms},
	}
	span := exec.Span{Started: 15 * ms, Settled: 15 * ms, Waits: waits}
	assert.Equal(t, "  (waited 6 ms for call 1: write a; 9 ms for gamma, call 1: write a)", b.waited(span))
	made := &batch{calls: []tool.Call{{Name: "list"}, {Name: "list"}}}
	d := performance{batch: made, spans: []exec.Span{{}, span}}.delay()
	assert.Equal(t, delay{waits: 2, total: 9 * ms, call: "call 2 (list)", longest: exec.Wait{
		For: exec.WaitDomain, Call: 0, Lane: "beta", Mine: file, Held: file, From: 6 * ms, To: 12 * ms}}, d)
}

// A tool that declares nothing runs alone among the calls of all agents.
func TestAgentsUndeclaredRunsAlone(t *testing.T) {
	var now atomic.Int32
	def, err := tool.Define(tool.Spec[struct{}, string]{
		Name: "undeclared",
		Body: func(context.Context, struct{}) (string, error) {
			defer now.Add(-1)
			if now.Add(1) > 1 {
				return "", errors.New("it is not alone")
			}
			<-time.After(10 * time.Millisecond)
			return "", nil
		},
	})
	require.NoError(t, err)
	paths := batchFiles(t, "a.json", `{"calls":[{"name":"undeclared"},{"name":"slow","arguments":{"ms":3,"key":"x"}},{"name":"undeclared"}]}`)
	paths = []string{paths[0], paths[0], paths[0]}
	dir := workDir(t, nil)
	for _, admission := range admissionNames {
		synctest.Test(t, func(t *testing.T) {
			v := invocation{tools: []*tool.Definition{def, slow(t)}}
			began := time.Now()
			code := v.run(t, append([]string{"run", "-q", "-C", dir, "--admission", admission, "--agents"}, paths...)...)
			assert.Equal(t, exitDone, code, "%s: %s", admission, v.out.String())
			assert.GreaterOrEqual(t, time.Since(began), 60*time.Millisecond, admission)
		})
	}
}

// At most so many calls of all agents run at once as --shared-limit says, and of one as --limit says.
func TestAgentsLimits(t *testing.T) {
	var now, peak atomic.Int32
	def, err := tool.Define(tool.Spec[struct{}, string]{
		Name:   "count",
		Safe:   func(struct{}) bool { return true },
		Claims: func(struct{}) ([]plan.Claim, error) { return nil, nil },
		Body: func(context.Context, struct{}) (string, error) {
			defer now.Add(-1)
			for n := now.Add(1); ; {
				if p := peak.Load(); n <= p || peak.CompareAndSwap(p, n) {
					break
				}
			}
			<-time.After(10 * time.Millisecond)
			return "", nil
		},
	})
	require.NoError(t, err)
	batch := `{"calls":[` + strings.Repeat(`{"name":"count"},`, 11) + `{"name":"count"}]}`
	paths := batchFiles(t, "a.json", batch, "b.json", batch, "c.json", batch)
	dir := workDir(t, nil)
	for _, c := range []struct {
		limit, shared string
		peak          int32
		took          time.Duration
	}{
		{"4", "", 12, 30 * time.Millisecond},
		{"4", "6", 6, 60 * time.Millisecond},
		{"2", "100", 6, 60 * time.Millisecond},
		{"8", "1", 1, 360 * time.Millisecond},
	} {
		peak.Store(0)
		synctest.Test(t, func(t *testing.T) {
			v := invocation{tools: []*tool.Definition{def}}
			args := append([]string{"run", "-q", "-C", dir, "--limit", c.limit, "--agents"}, paths...)
			if c.shared != "" {
				args = append(args, "--shared-limit", c.shared)
			}
			began := time.Now()
			assert.Equal(t, exitDone, v.run(t, args...), v.errOut.String())
			assert.Equal(t, c.took, time.Since(began), "%+v", c)
			assert.Equal(t, c.peak, peak.Load(), "%+v", c)
		})
	}
}

// One ctrl-C cancels all agents. A call that waits for that of another agent never runs.
func TestAgentsCtrlC(t *testing.T) {
	var entered atomic.Int32
	def, err := tool.Define(tool.Spec[struct{}, string]{
		Name:   "hold",
		Safe:   func(struct{}) bool { return true },
		Claims: func(struct{}) ([]plan.Claim, error) { return []plan.Claim{{Key: "k"}}, nil },
		Body: func(ctx context.Context, _ struct{}) (string, error) {
			entered.Add(1)
			<-ctx.Done()
			return "", context.Cause(ctx)
		},
	})
	require.NoError(t, err)
	batch := `{"calls":[{"name":"hold"},{"name":"write","arguments":{"path":"x","content":""}},{"name":"hold"}]}`
	paths := batchFiles(t, "a.json", batch, "b.json", batch)
	for _, listens := range []bool{true, false} {
		dir := workDir(t, nil)
		entered.Store(0)
		synctest.Test(t, func(t *testing.T) {
			v := invocation{signals: make(chan os.Signal, 2), tools: []*tool.Definition{def}}
			if !listens { // it is given up, and keeps what the other waits for
				deaf, release := stuckOn(t, "k", &entered)
				v.tools = []*tool.Definition{deaf}
				defer close(release)
			}
			code := make(chan int, 1)
			go func() {
				code <- v.run(t, append([]string{"run", "--json", "--admission", "serial", "-C", dir, "--agents"}, paths...)...)
			}()
			<-time.After(time.Second)
			v.signals <- syscall.SIGTERM
			select {
			case c := <-code:
				assert.Equal(t, exitInterrupted, c)
			case <-time.After(time.Minute):
				t.Error("it waits for ever")
			}
			assert.Equal(t, int32(1), entered.Load())
			assert.Equal(t, 1, strings.Count(v.errOut.String(), "interrupted:"), v.errOut.String())

			var got agentsJSON
			require.NoError(t, json.Unmarshal([]byte(v.out.String()), &got))
			assert.True(t, got.Interrupted)
			ran, waited := got.Agents[0], got.Agents[1]
			if len(waited.Calls[0].Waits) == 0 || waited.Calls[0].StartedMs != nil {
				ran, waited = waited, ran
			}
			want := tool.Aborted
			if !listens {
				want = tool.Abandoned
			}
			const before = tool.AbortedBeforeDispatch
			assert.Equal(t, []tool.Code{want, before, before}, codes(ran))
			assert.Equal(t, []tool.Code{before, before, before}, codes(waited))
			call := 0
			assert.Contains(t, waited.Calls[0].Waits, waitJSON{For: "domain", Call: &call, Lane: ran.Name, Ms: 1000})
		})
		assert.Empty(t, contents(t, dir))
	}
}

func codes(a agentJSON) (all []tool.Code) {
	for _, c := range a.Calls {
		all = append(all, c.Code)
	}
	return all
}

// stuckOn is a tool named hold, whose calls claim a key and return when they are released, whatever becomes of their
// context.
func stuckOn(t testing.TB, key string, entered *atomic.Int32) (*tool.Definition, chan struct{}) {
	release := make(chan struct{})
	d, err := tool.Define(tool.Spec[struct{}, string]{
		Name:   "hold",
		Safe:   func(struct{}) bool { return true },
		Claims: func(struct{}) ([]plan.Claim, error) { return []plan.Claim{{Key: key}}, nil },
		Body: func(context.Context, struct{}) (string, error) {
			entered.Add(1)
			<-release
			return "", nil
		},
	})
	require.NoError(t, err)
	return d, release
}

// When the lane of one agent fails, the others are stopped, and what it failed with is what is said.
func TestAgentsFailTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		def, _ := stuck(t, true)
		b := &batch{agent: "good", calls: []tool.Call{{Name: "stuck"}}}
		closeTools, err := b.openTools(t.TempDir(), def)
		require.NoError(t, err)
		defer closeTools()
		broken := &batch{agent: "broken", calls: []tool.Call{{Name: "stuck"}}, tools: (*tool.Registry)(nil)} // without tools
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = performer{admission: "waves", limit: 1}.perform(ctx, b, broken)
		var panicked *exec.PanicError
		require.ErrorAs(t, err, &panicked)
		assert.Equal(t, "Classify", panicked.In)

		_, err = performer{admission: "waves"}.perform(t.Context(), b, b)
		assert.ErrorIs(t, err, exec.ErrOption)
	})
}

// No call of an agent ends after the agent: all times count from the start of all.
func TestAgentsTimesAgree(t *testing.T) {
	dir := t.TempDir()
	var batches []*batch
	for _, name := range []string{"a", "b", "c"} {
		b := &batch{agent: name, calls: []tool.Call{{Name: "list", Arguments: `{}`}}}
		closeTools, err := b.openTools(dir)
		require.NoError(t, err)
		defer closeTools()
		batches = append(batches, b)
	}
	done, err := performer{admission: "waves", limit: 2}.perform(t.Context(), batches...)
	require.NoError(t, err)
	for _, d := range done {
		for _, s := range d.spans {
			assert.LessOrEqual(t, d.begun+s.Committed, d.wall)
		}
	}
}
