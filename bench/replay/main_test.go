package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/keywave-go/keywave/bench/replay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const recorded = "../testdata/batches.jsonl"

// text is a source with a text.
func text(name, s string) replay.Source {
	return replay.Source{Name: name, Size: int64(len(s)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(s)), nil
	}}
}

// file is a source that is a file.
func file(t testing.TB, path string) replay.Source {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return text(filepath.Base(path), string(b))
}

// samples are a transcript of every format.
func samples(t testing.TB) []replay.Source {
	paths, err := filepath.Glob("../transcript/testdata/*.json*")
	require.NoError(t, err)
	require.Greater(t, len(paths), 10)
	var sources []replay.Source
	for _, path := range append(paths, recorded) {
		sources = append(sources, file(t, path))
	}
	return sources
}

// run replays sources, and looks at what holds of every report.
func run(t require.TestingT, o replay.Options, sources ...replay.Source) *replay.Report {
	r, err := replay.Run(context.Background(), sources, o)
	require.NoError(t, err)
	consistent(t, r)
	return r
}

// consistent checks that the parts of a report fit together.
func consistent(t require.TestingT, r *replay.Report) {
	require.Equal(t, replay.Version, r.Version)
	all := []replay.Figures{r.Total, r.Mixed}
	var sessions, formats, agents int
	for i, s := range r.Sessions {
		require.Equal(t, i+1, s.ID)
		sessions += s.Batches
		agents += s.Agents
		all = append(all, s.Figures)
	}
	for _, f := range r.Formats {
		formats += f.Batches
		require.NotEmpty(t, f.Text)
		all = append(all, f.Figures)
	}
	require.Equal(t, r.Total.Batches, sessions)
	require.Equal(t, r.Total.Batches, formats)
	sizes, calls, mixed := 0, 0, 0
	for _, z := range r.Sizes {
		sizes, calls, mixed = sizes+z.Batches, calls+z.Batches*z.Calls, mixed+z.Mixed
	}
	require.Equal(t, []int{r.Total.Batches, r.Total.Calls, r.Mixed.Batches}, []int{sizes, calls, mixed})
	inverted := 0
	for _, f := range all {
		require.Len(t, f.Policies, 9)
		require.LessOrEqual(t, f.Timed, f.Batches)
		require.LessOrEqual(t, f.Batches, f.Turns)
		for _, p := range f.Policies {
			require.True(t, !p.Ordered || p.Inverted == replay.Inverted{}, "%+v", p)
			require.GreaterOrEqual(t, p.Steps, f.Batches)
			if p.Ordered {
				require.GreaterOrEqual(t, p.Time+1e-3, f.Bound, p.Policy)
			}
		}
	}
	for _, p := range r.Total.Policies {
		inverted = max(inverted, p.Inverted.Batches)
	}
	for _, b := range r.Batches {
		require.NotZero(t, b.Session)
		require.LessOrEqual(t, b.Session, len(r.Sessions))
		turned := 0
		for _, s := range b.Runs {
			require.Len(t, s.Spans, len(b.Calls))
			turned = max(turned, len(s.Inversions))
		}
		require.True(t, b.Saved || turned > 0, "a batch is there for a reason")
	}
	require.GreaterOrEqual(t, r.Unshown, 0)
	require.LessOrEqual(t, inverted, r.Unshown+len(r.Batches))
	raw, err := json.Marshal(r)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "null", "lists that are empty are lists")
}

// problems are those of a report, a line each.
func problems(r *replay.Report) string {
	var b strings.Builder
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "%s: %s (%d)\n", p.File, p.Text, p.Count)
	}
	return b.String()
}

func policy(t require.TestingT, f replay.Figures, name string) replay.Outcome {
	for _, p := range f.Policies {
		if p.Policy == name {
			return p
		}
	}
	require.Fail(t, "no policy", name)
	return replay.Outcome{}
}

// A claude writes lines of Claude Code.
type claude struct {
	session, agent string
	b              bytes.Buffer
	n              int
}

func (c *claude) line(ms int, kind, message string) {
	c.n++
	fmt.Fprintf(&c.b, `{"type":%q,"sessionId":%q,"agentId":%q,"cwd":"/w","timestamp":%q,"uuid":"u%d","message":%s}`+"\n",
		kind, c.session, c.agent, time.UnixMilli(1767225600000+int64(ms)).UTC().Format(time.RFC3339Nano), c.n, message)
}

// use asks for a call.
func (c *claude) use(ms int, turn, id, tool, input string) {
	c.line(ms, "assistant", fmt.Sprintf(
		`{"id":%q,"role":"assistant","content":[{"type":"tool_use","id":%q,"name":%q,"input":%s}]}`, turn, id, tool, input))
}

// result ends a call.
func (c *claude) result(ms int, id, content string) {
	failed := content != ""
	c.line(ms, "user", fmt.Sprintf(
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q,"is_error":%t}]}`, id, content, failed))
}

// batch is an answer with calls "Tool input took-in-ms" that begin together at the time given.
func (c *claude) batch(ms int, turn string, calls ...string) {
	for i, call := range calls {
		tool, rest, _ := strings.Cut(call, " ")
		input, _, _ := strings.Cut(rest, " ")
		c.use(ms, turn, fmt.Sprint(turn, ".", i), tool, input)
	}
	for i, call := range calls {
		var took int
		_, err := fmt.Sscan(call[strings.LastIndexByte(call, ' ')+1:], &took)
		if err != nil {
			panic(err)
		}
		c.result(ms+took, fmt.Sprint(turn, ".", i), "")
	}
}

func (c *claude) source(name string) replay.Source { return text(name, c.b.String()) }

// path is the input of a tool for files.
func path(p string) string { return fmt.Sprintf(`{"file_path":%q}`, p) }

// good is a session with one batch, of two reads.
func good(session string) *claude {
	c := &claude{session: session}
	c.batch(0, "m1", "Read "+path("/w/a")+" 30", "Read "+path("/w/b")+" 20")
	return c
}
