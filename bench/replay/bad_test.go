package replay_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/bench/replay"
	"github.com/keywave-go/keywave/bench/transcript"
)

// bad is one bad source between two good ones: what the report says of it, and how many answers, batches, calls and
// timed batches there are in it.
type bad struct {
	name, text, problems         string
	turns, batches, calls, timed int
}

// TestBadInput: a clear line in the report, and the right figures for the rest.
func TestBadInput(t *testing.T) {
	one := good("bad").b.String()
	lines := strings.SplitAfter(one, "\n")
	backwards := &claude{session: "bad"}
	backwards.batch(1000, "m1", "Read "+path("/w/a")+" 5", "Read "+path("/w/b")+" -500")
	noIDs := strings.NewReplacer(`"id":"m1.0"`, `"id":""`, `"tool_use_id":"m1.0"`, `"tool_use_id":""`).Replace(one)
	orphan := good("bad")
	orphan.result(40, "nobody", "")
	again := good("bad")
	again.batch(1000, "m2", "Read "+path("/w/a")+" 30", "Read "+path("/w/b")+" 20")
	duplicates := strings.NewReplacer("m2.0", "m1.0", "m2.1", "m1.1").Replace(again.b.String())
	openai := `{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"read","arguments":"{}"}},{"id":"2","function":{"name":"read","arguments":"{}"}}]}
{"role":"tool","tool_call_id":"1"}
{"role":"tool","tool_call_id":"2"}
`
	for _, c := range []bad{
		{"empty", "", "empty", 0, 0, 0, 0},
		{"binary", "\x7fELF\x00\x01\x02" + strings.Repeat("\x00\xff\n", 1000), "binary at line 1", 0, 0, 0, 0},
		{"no transcript", `{"name":"package","version":"1"}`, "unrecognised (no type) at line 1", 0, 0, 0, 0},
		{"mixed formats", one + openai, "mixed formats (message list after claude-code) at line 5", 2, 2, 4, 1},
		{"still being written", one + strings.ReplaceAll(lines[0], "m1", "m2") + lines[2][:40],
			"torn end at line 6; call still open at line 5", 2, 1, 2, 1},
		{"clock going backwards", backwards.b.String(), "clock going backwards at line 4", 1, 1, 2, 0},
		{"missing ids", noIDs, "missing id (a call) at line 1; missing id (a result) at line 3", 1, 1, 2, 1},
		{"results without calls", orphan.b.String(), "result without call at line 5", 1, 1, 2, 1},
		{"duplicate ids across turns", duplicates, "", 2, 2, 4, 2},
		{"text between", lines[0] + lines[1] + "secret words\n" + lines[2] + lines[3],
			"bad JSON (invalid character 's' looking for beginning of value) at line 3", 1, 1, 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, last := good("first").source("first"), good("last").source("last")
			r := run(t, replay.Options{}, first, text("bad", c.text), last)
			f := r.Total
			assert.Equal(t, []int{c.turns + 2, c.batches + 2, c.calls + 4, c.timed + 2},
				[]int{f.Turns, f.Batches, f.Calls, f.Timed})
			assert.EqualValues(t, 100+50*c.timed, policy(t, f, "serial").Time)
			assert.EqualValues(t, 60+30*c.timed, policy(t, f, "keyed").Time)
			var lines []string
			for _, p := range r.Problems {
				assert.Equal(t, "bad", p.File)
				assert.NotZero(t, p.Count)
				lines = append(lines, p.Text)
			}
			assert.Equal(t, c.problems, strings.Join(lines, "; "))
		})
	}
}

// TestNothing: no sources are an error; sources without anything are a report with figures of 0.
func TestNothing(t *testing.T) {
	var sources []replay.Source
	for path, err := range transcript.Files(t.TempDir()) {
		require.NoError(t, err)
		sources = append(sources, replay.Source{Name: path})
	}
	_, err := replay.Run(context.Background(), sources, replay.Options{})
	require.ErrorIs(t, err, replay.ErrNothing)
	r := run(t, replay.Options{Largest: 3, Inverted: 3}, text("a", ""), text("b", "{}"))
	assert.Equal(t, "a: empty (1)\nb: unrecognised (no type) at line 1 (1)\n", problems(r))
	assert.Zero(t, r.Total.Turns)
	assert.Empty(t, r.Sessions)
	assert.Empty(t, r.Formats)
}

func TestOptions(t *testing.T) {
	for _, o := range []replay.Options{{Limit: -1}, {Largest: -1}, {Inverted: -1}} {
		_, err := replay.Run(context.Background(), []replay.Source{text("a", "")}, o)
		require.ErrorIs(t, err, replay.ErrOptions)
	}
	_, err := replay.Run(context.Background(), []replay.Source{{Name: "x"}}, replay.Options{})
	require.ErrorIs(t, err, replay.ErrOptions)
	require.ErrorContains(t, err, `source 1, "x"`)

	c := &claude{session: "s"}
	for i := range 1_001 {
		c.batch(100*i, fmt.Sprint("t", i), "Edit "+path("/w/a")+" 10", "Edit "+path("/w/b")+" 20", "Bash {} 30")
	}
	assert.Len(t, run(t, replay.Options{Largest: 9_000}, c.source("log")).Batches, 1_000)
	assert.Len(t, run(t, replay.Options{Inverted: 9_000}, c.source("log")).Batches, 1_000)
}

// TestSourceFails: one that cannot be opened, one that is nothing, and one that fails midway are told, and what was
// read counts.
func TestSourceFails(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.jsonl")
	broken := errors.New("the disk is gone")
	closed := 0
	half := replay.Source{Name: "half", Size: 1 << 20, Open: func() (io.ReadCloser, error) {
		return closing{io.MultiReader(strings.NewReader(good("s").b.String()), iotest.ErrReader(broken)), &closed}, nil
	}}
	r := run(t, replay.Options{},
		replay.Source{Name: "missing", Open: func() (io.ReadCloser, error) { return os.Open(missing) }},
		replay.Source{Name: "nil", Open: func() (io.ReadCloser, error) { return nil, nil }},
		half, good("last").source("last"))
	assert.Equal(t, "missing: cannot be opened: open "+missing+": no such file or directory (1)\n"+
		"nil: cannot be opened: there is nothing to read (1)\n"+
		"half: reading it failed: line 5: the disk is gone (1)\n", problems(r))
	assert.Equal(t, 2, r.Total.Batches)
	assert.Equal(t, 1, closed, "a source is closed once")

	long := replay.Source{Name: "long", Open: func() (io.ReadCloser, error) { return nil, errors.New(strings.Repeat("ü", 1<<20)) }}
	told := run(t, replay.Options{}, long).Problems[0].Text
	assert.Less(t, len(told), 400)
	assert.True(t, utf8.ValidString(told))
}

// TestSourcePanics: it does not take the others with it, and what it says stays where it is, as it could be a text.
func TestSourcePanics(t *testing.T) {
	panics := func(name string, v func() any) replay.Source {
		return replay.Source{Name: name, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader(good("s").b.String()), &generator{piece: func(int) string { panic(v()) }})), nil
		}}
	}
	var none []int
	r := run(t, replay.Options{}, panics("text", func() any { return "secret" }), panics("index", func() any { return none[1] }),
		good("last").source("last"))
	assert.Equal(t, "text: reading it panicked, and nothing of it counts: string (1)\n"+
		"index: reading it panicked, and nothing of it counts: runtime error: index out of range [1] with length 0 (1)\n", problems(r))
	assert.Equal(t, 1, r.Total.Batches)
}

// TestSourceEndsGoroutine: a report without a source that nobody was told of would be wrong.
func TestSourceEndsGoroutine(t *testing.T) {
	ends := replay.Source{Name: "ends", Open: func() (io.ReadCloser, error) {
		runtime.Goexit()
		return nil, nil
	}}
	_, err := replay.Run(context.Background(), []replay.Source{ends, good("s").source("good")}, replay.Options{})
	require.ErrorIs(t, err, replay.ErrOptions)
}

// A closing counts how often it was closed.
type closing struct {
	io.Reader
	n *int
}

func (c closing) Close() error {
	*c.n++
	return nil
}

// TestSessionInTwoFiles: parts of one session are one, with the name of the first file; sessions without an id are not
// joined, nor those of two formats in one file.
func TestSessionInTwoFiles(t *testing.T) {
	second := &claude{session: "s"}
	second.batch(100, "m2", "Read "+path("/w/a")+" 30", "Edit "+path("/w/b")+" 20")
	list := `[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"x"}},{"id":"2","function":{"name":"x"}}]}]`
	other := `[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"x"},{"type":"tool_use","id":"2","name":"x"}]}]`
	r := run(t, replay.Options{Largest: 9}, good("s").source("1"), good("t").source("2"), second.source("3"), text("4", list),
		text("5", list+"\n"+other))
	var got []string
	for _, s := range r.Sessions {
		got = append(got, fmt.Sprint(s.ID, s.File, s.Format, s.Batches))
	}
	assert.Equal(t, []string{"11claude-code2", "22claude-code1", "34openai1", "45openai1", "55anthropic1"}, got)
	assert.Equal(t, []int{2, 2, 1}, []int{r.Formats[0].Sessions, r.Formats[1].Sessions, r.Formats[2].Sessions})
	require.Len(t, r.Batches, 1)
	assert.Equal(t, 1, r.Batches[0].Session)
	assert.Equal(t, "3", r.Batches[0].File)
}

// TestSubAgents: batches of sub-agents are those of their session, in whatever file they are.
func TestSubAgents(t *testing.T) {
	main, one, two := good("s"), good("s"), good("s")
	one.agent, two.agent = "a1", "a2"
	one.b.Reset()
	one.batch(50, "x1", "Read "+path("/w/a")+" 30", "Edit "+path("/w/b")+" 20")
	one.batch(99, "x2", "Read "+path("/w/a")+" 30", "Read "+path("/w/b")+" 20")
	two.b.Reset()
	two.batch(60, "x1", "Read "+path("/w/a")+" 1")
	three := &claude{session: "s", agent: "a3"}
	three.batch(60, "x1", "Read "+path("/w/a")+" 1", "Read "+path("/w/a")+" 1")
	both := text("log", main.b.String()+one.b.String()+two.b.String())
	r := run(t, replay.Options{Largest: 9}, both, three.source("agent"))
	require.Len(t, r.Sessions, 1)
	assert.Equal(t, 2, r.Sessions[0].Agents, "of a2 there is no batch")
	assert.Equal(t, []int{5, 4}, []int{r.Total.Turns, r.Total.Batches})
	require.Len(t, r.Batches, 1)
	assert.True(t, r.Batches[0].Sub)
	// A directory of its sub-agents comes before the file of a session, which is the one to name.
	r = run(t, replay.Options{}, three.source("agent"), both)
	require.Len(t, r.Sessions, 1)
	assert.Equal(t, "log", r.Sessions[0].File)
	r = run(t, replay.Options{}, three.source("agent"))
	assert.Equal(t, "agent", r.Sessions[0].File, "there is no other one")
}

// TestHugeBatches: a batch larger than any agent's is left out and told; one with very many calls is counted, and not
// drawn.
func TestHugeBatches(t *testing.T) {
	recorded := func(n int, tool func(i int) string) string {
		var b strings.Builder
		b.WriteString(`{"trace":"cc1","batch":1,"fmt":"claude-code","calls":[`)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			access := "exclusive"
			if i == 0 {
				access = "read"
			}
			fmt.Fprintf(&b, `{"i":%d,"tool":%q,"access":%q,"keys":[{"k":"f1","m":"r"}],"est_ms":1,"err":false}`, i, tool(i), access)
		}
		return b.String() + "]}\n"
	}
	many := recorded(5000, func(int) string { return "x" })
	tools := recorded(600, func(i int) string { return fmt.Sprint("t", i) })
	r := run(t, replay.Options{Inverted: 9}, text("many", many), text("tools", tools), good("s").source("good"))
	assert.Equal(t, []int{2, 602}, []int{r.Total.Batches, r.Total.Calls})
	assert.Equal(t, 600*599/2, policy(t, r.Total, "at-once").Inverted.Pairs)
	assert.EqualValues(t, 630, policy(t, r.Total, "keyed").Time)
	assert.Empty(t, r.Batches)
	assert.Equal(t, 1, r.Unshown)
	assert.Len(t, r.Tools, 599)
	assert.Equal(t, "many: batch too large to be simulated (more than 4096 calls, 8192 claims or 1048576 bytes of keys), left out (1)\n"+
		"tools: exclusive tool ×599 in a batch with too many, missing from what other declarations would save (599)\n"+
		"tools: batch worth a look, but too large to be shown (1)\n", problems(r))
}

// TestManyProblems: they are bounded by source and in all, and none is lost count of.
func TestManyProblems(t *testing.T) {
	var b strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, `{"type":"new%d","uuid":"x"}`+"\n", i)
	}
	var sources []replay.Source
	for i := range 100 {
		sources = append(sources, text(fmt.Sprint(i), b.String()))
	}
	r := run(t, replay.Options{}, sources...)
	require.Len(t, r.Problems, 1001)
	sum := 0
	for i, p := range r.Problems[:1000] {
		assert.Equal(t, fmt.Sprint(i/20), p.File)
		sum += p.Count
	}
	last := r.Problems[1000]
	assert.Equal(t, replay.Problem{Kind: "more", Text: "more problems than are listed", Count: 100*50 - sum}, last)
}
