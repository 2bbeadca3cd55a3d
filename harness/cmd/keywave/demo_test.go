package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// sample is a small tree with all that the demo wants of one, and with what it has to pass over.
var sample = map[string]string{
	"go.mod":           "module example.com/sample\n\ngo 1.26\n",
	"README.md":        "# A sample\n\nIt is small, but it has some lines of text.\nAnd another one, which is different.\n",
	"calc/add.go":      "// Package calc calculates.\npackage calc\n\n// Add adds two numbers.\nfunc Add(a, b int) int { return a + b }\n",
	"calc/sub.go":      "package calc\n\n// Sub subtracts a number from another.\nfunc Sub(a, b int) int { return a - b }\n",
	"calc/mul.go":      "package calc\n\n// Mul multiplies two numbers.\nfunc Mul(a, b int) int { return a * b }\n",
	"main.go":          "package main\n\nimport \"example.com/sample/calc\"\n\n// main prints a sum.\nfunc main() { println(calc.Add(1, 2)) }\n",
	"calc/add_test.go": "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) { _ = Add(1, 2) }\n",
	".git/config":      "[core]\n\tbare = false\n\trepositoryformatversion = 0\n",
	"binary":           "\x00\x01\x02 not a text, whatever it says here\nanother line of it\n",
}

// demo runs the demo in virtual time.
func demoOf(t *testing.T, v *invocation, args ...string) (code int) {
	synctest.Test(t, func(t *testing.T) { code = v.run(t, append([]string{"demo"}, args...)...) })
	return code
}

func TestDemo(t *testing.T) {
	dir := workDir(t, sample)
	before := contents(t, dir)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	var v invocation
	require.Equal(t, exitDone, demoOf(t, &v, "--tree", dir), v.out.String()+v.errOut.String())
	out := strings.ReplaceAll(v.out.String(), dir, "SAMPLE")
	// The modes in a digest depend on the umask.
	out = regexp.MustCompile(`\b[0-9a-f]{12}\b`).ReplaceAllString(out, "............")
	golden(t, "demo.txt", out)
	assert.Empty(t, v.errOut.String())

	assert.Equal(t, before, contents(t, dir), "the original is not touched")
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	assert.Empty(t, left, "the copies are removed")
	for _, line := range strings.Split(v.out.String(), "\n") {
		assert.LessOrEqual(t, cells.StringWidth(line), 100, line)
	}
}

// On a terminal the progress is drawn in place, and everything fits into 80 columns.
func TestDemoOnATerminal(t *testing.T) {
	dir := workDir(t, sample)
	v := invocation{width: 80, env: map[string]string{"NO_COLOR": "1"}}
	require.Equal(t, exitDone, demoOf(t, &v, "--tree", dir), v.out.String())
	assert.Contains(t, v.out.String(), "running")
	escapes := regexp.MustCompile(`\r\x1b\[J|\x1b\[[0-9]+A`)
	for _, line := range strings.Split(escapes.ReplaceAllString(v.out.String(), ""), "\n") {
		assert.LessOrEqual(t, cells.StringWidth(line), 80, line)
		assert.NotContains(t, line, "\x1b")
	}
}

// This module's own tree, and the source that is built in where there is none.
func TestDemoTrees(t *testing.T) {
	own, err := findTree("")
	require.NoError(t, err)
	assert.True(t, isCheckout(own.origin), own.origin)
	_, err = newTurn(own)
	require.NoError(t, err)

	t.Chdir(t.TempDir())
	var v invocation
	require.Equal(t, exitDone, demoOf(t, &v), v.out.String())
	assert.Contains(t, v.out.String(), "built in")
}

func TestDemoKeep(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	var v invocation
	require.Equal(t, exitDone, demoOf(t, &v, "--tree", workDir(t, sample), "--keep"))
	copies, err := filepath.Glob(filepath.Join(temp, "*", "*", reportFile))
	require.NoError(t, err)
	assert.Len(t, copies, len(admissionNames))
	assert.Contains(t, v.out.String(), temp)

	// What a demo left behind is a tree like any other.
	var again invocation
	assert.Equal(t, exitDone, demoOf(t, &again, "--tree", filepath.Dir(copies[0])), again.out.String())
}

func TestDemoInterrupted(t *testing.T) {
	dir := workDir(t, sample)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	// In the first run, while the two agents edit, and while an agent keeps a log.
	for _, at := range []time.Duration{100 * time.Millisecond, 2120 * time.Millisecond, 2250 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			v := invocation{signals: make(chan os.Signal, 2)}
			code := make(chan int, 1)
			go func() { code <- v.run(t, "demo", "--tree", dir) }()
			<-time.After(at)
			v.signals <- os.Interrupt
			assert.Equal(t, exitInterrupted, <-code)
			assert.True(t, strings.HasSuffix(v.out.String(), "interrupted\n"))
			assert.Equal(t, at > time.Second, strings.Contains(v.out.String(), "\nkeyed  each"), v.out.String())
			assert.Equal(t, at > 2200*time.Millisecond, strings.Contains(v.out.String(), "What it comes to"))
		})
	}
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// A second signal leaves at once, here while nobody reads what the demo says, and still no copy stays.
func TestDemoInterruptedTwice(t *testing.T) {
	dir := workDir(t, sample)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	copies := func() []string {
		found, err := filepath.Glob(filepath.Join(temp, "*", "*", "main.go"))
		require.NoError(t, err)
		return found
	}
	synctest.Test(t, func(t *testing.T) {
		reader := &stalled{at: "Five ways to run it", until: make(chan struct{})}
		size := func() (int, int, bool) { return 0, 0, false }
		signals := make(chan os.Signal, 2)
		code := make(chan int, 1)
		go func() {
			code <- run(t.Context(), []string{"demo", "--tree", dir}, host{
				stdout: stream{reader, size}, stderr: stream{reader, size}, signals: signals, env: func(string) string { return "" }, runtime: inProcess,
			})
		}()
		synctest.Wait()
		signals <- syscall.SIGHUP
		synctest.Wait()
		assert.Len(t, copies(), 1)
		signals <- syscall.SIGHUP
		assert.Equal(t, exitInterrupted, <-code)
		left, err := os.ReadDir(temp)
		require.NoError(t, err)
		assert.Empty(t, left)
		close(reader.until) // the process would have ended; the test lets the demo go
	})
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	assert.Empty(t, left, "what went on made nothing")
}

// What is removed must not be made again meanwhile.
func TestCopyingStopsWhenInterrupted(t *testing.T) {
	tree := &sourceTree{files: []sourceFile{{"a/b", 0o600, nil}}}
	ctx, cancel := context.WithCancelCause(t.Context())
	dir := t.TempDir()
	require.NoError(t, tree.writeTo(ctx, filepath.Join(dir, "first")))
	cancel(errInterrupted)
	assert.ErrorIs(t, tree.writeTo(ctx, filepath.Join(dir, "second")), errInterrupted)
	assert.Equal(t, map[string]string{"first/a/b": ""}, contents(t, dir))
}

// stalled is an output whose reader stops reading at some text.
type stalled struct {
	at    string
	until chan struct{}
}

func (s *stalled) Write(p []byte) (int, error) {
	if strings.Contains(string(p), s.at) {
		<-s.until
	}
	return len(p), nil
}

// The verdict fails when a promise is broken, and only then.
func TestDemoVerdict(t *testing.T) {
	failed := tool.Text("not in there")
	failed.IsError = true
	good := func() []act {
		var acts []act
		for _, name := range admissionNames {
			a := act{admission: name, treeSum: "tree", resultSum: "results"}
			a.results, a.peak = []tool.Result{tool.Text("fine"), failed}, 2
			if name == "serial" {
				a.peak = 1
			}
			acts = append(acts, a)
		}
		return acts
	}
	both := &duet{files: 2, edits: 4, waits: 2}
	judge := func(change func(acts map[string]*act)) (string, error) {
		acts, byName := good(), map[string]*act{}
		for i := range acts {
			byName[acts[i].admission] = &acts[i]
		}
		change(byName)
		var out output
		d := demo{host: host{stdout: stream{&out, nil}}, turn: &turn{calls: []tool.Call{{Name: "read"}, {Name: "edit"}}, fails: 1}, acts: acts, duet: both, width: 80}
		err := d.verdict()
		return out.String(), err
	}
	out, err := judge(func(map[string]*act) {})
	assert.NoError(t, err)
	assert.Contains(t, out, "rolling, waves, first-fit and keyed ended exactly as the serial run did")
	assert.Contains(t, out, "✓ Two agents edited the same 2 files")

	out, err = judge(func(acts map[string]*act) {
		acts["first-fit"].resultSum, acts["first-fit"].results = "other", []tool.Result{tool.Text("wrong"), failed}
	})
	assert.NoError(t, err)
	assert.Contains(t, out, "rolling, waves and keyed ended exactly as the serial run did")
	assert.Contains(t, out, "! first-fit did not")
	assert.Contains(t, out, "wrong")

	for name, change := range map[string]func(map[string]*act){
		"call 1 failed: not in there":             func(acts map[string]*act) { acts["serial"].results[0] = failed },
		"call 2 did not fail, as it must":         func(acts map[string]*act) { acts["serial"].results[1] = tool.Text("found it") },
		"waves did not end as the serial run did": func(acts map[string]*act) { acts["waves"].treeSum = "other" },
		"keyed did not end as the serial run did": func(acts map[string]*act) { acts["keyed"].resultSum = "other" },
		"rolling never ran two calls at once":     func(acts map[string]*act) { acts["rolling"].peak = 1 },
		"first-fit never ran two calls at once":   func(acts map[string]*act) { acts["first-fit"].peak = 1 },
		"serial ran 2 calls at once":              func(acts map[string]*act) { acts["serial"].peak = 2 },
	} {
		out, err := judge(change)
		assert.ErrorIs(t, err, errFailed)
		assert.Contains(t, out, "✗ "+name)
	}
	both.faults = []string{"main.go does not hold the edits of both agents"}
	out, err = judge(func(map[string]*act) {})
	assert.ErrorIs(t, err, errFailed)
	assert.Contains(t, out, "✗ main.go does not hold the edits of both agents")
	assert.NotContains(t, out, "✓")
}

// A lost edit is seen, and so is one that failed.
func TestDuetLooksAtTheFiles(t *testing.T) {
	tree, err := loadTree(os.DirFS(workDir(t, sample)), "sample")
	require.NoError(t, err)
	turn, err := newTurn(tree)
	require.NoError(t, err)
	play := func(change func(d *demo)) *duet {
		d := &demo{turn: turn, tree: tree, temp: t.TempDir()}
		change(d)
		synctest.Test(t, func(t *testing.T) { require.NoError(t, d.runDuet(t.Context())) })
		return d.duet
	}
	got := play(func(*demo) {})
	assert.Equal(t, &duet{files: 6, edits: 12, waits: 6, wall: 2 * duetDelay}, got)

	// What is on disk is not what the agents were to find.
	got = play(func(d *demo) {
		other := *tree
		other.files = slices.Clone(tree.files)
		for i, f := range other.files {
			switch f.path {
			case "main.go":
				other.files[i].data = []byte("package other\n")
			case "calc/add.go":
				other.files[i].data = append(slices.Clone(f.data), "// more\n"...)
			}
		}
		d.tree = &other
	})
	assert.Len(t, got.faults, 4)
	text := strings.Join(got.faults, "\n")
	assert.Regexp(t, `(?m)^agent A, call \d failed: main.go: the text to replace is not in it$`, text)
	assert.Regexp(t, `(?m)^agent B, call \d failed: main.go: the text to replace is not in it$`, text)
	assert.Contains(t, text, "main.go does not hold the edits of both agents")
	assert.Contains(t, text, "calc/add.go does not hold the edits of both agents")
}

func TestCriticalPath(t *testing.T) {
	w := func(key string) plan.Call { return plan.Call{Safe: true, Claims: []plan.Claim{{Key: key}}} }
	ms := func(all ...int) (d []time.Duration) {
		for _, n := range all {
			d = append(d, time.Duration(n)*time.Millisecond)
		}
		return d
	}
	total, chain := criticalPath([]plan.Call{w("a"), w("b"), w("a"), {}, w("b")}, ms(10, 25, 20, 5, 1))
	assert.Equal(t, 36*time.Millisecond, total)
	assert.Equal(t, []int{0, 2, 3, 4}, chain)
	total, chain = criticalPath(nil, nil)
	assert.Zero(t, total)
	assert.Empty(t, chain)
}
