package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// slow is a tool that takes as many milliseconds as it is told, reading or writing a key.
func slow(t testing.TB) *tool.Definition {
	type input struct {
		Ms   int    `json:"ms"`
		Path string `json:"path,omitempty"`
		Key  string `json:"key,omitempty"`
		Fail bool   `json:"fail,omitempty"`
	}
	d, err := tool.Define(tool.Spec[input, string]{
		Name: "slow",
		Safe: func(in input) bool { return in.Key != "everything" },
		Claims: func(in input) ([]plan.Claim, error) {
			if in.Key == "" || in.Key == "everything" {
				return nil, nil
			}
			return []plan.Claim{{Key: in.Key}}, nil
		},
		Body: func(_ context.Context, in input) (string, error) {
			<-time.After(time.Duration(in.Ms) * time.Millisecond)
			if in.Fail {
				return "", fmt.Errorf("failed after %d ms", in.Ms)
			}
			return strings.Repeat(fmt.Sprintf("took %d ms\n", in.Ms), in.Ms/10), nil
		},
	})
	require.NoError(t, err)
	return d
}

// No call ends at a multiple of the redraw interval: what a redraw at that very moment sees is up to the scheduler.
const slowBatch = `{"calls":[
	{"id":"a","name":"slow","arguments":{"ms":123,"key":"x"}},
	{"id":"b","name":"slow","arguments":{"ms":31,"key":"x","fail":true}},
	{"id":"c","name":"slow","arguments":{"ms":61,"key":"y"}},
	{"id":"d","name":"slow","arguments":{"ms":11,"key":"everything"}},
	{"id":"e","name":"slow","arguments":{"ms":302}},
	{"id":"f","name":"slow","arguments":{}}
]}`

// runSlow runs slowBatch in virtual time, so that every time in the output is exact.
func runSlow(t *testing.T, v *invocation, args ...string) (code int) {
	dir := workDir(t, nil)
	synctest.Test(t, func(t *testing.T) {
		v.stdin, v.tools = strings.NewReader(slowBatch), []*tool.Definition{slow(t)}
		code = v.run(t, append([]string{"run", "-", "--dir", dir}, args...)...)
	})
	return code
}

func TestRunPlain(t *testing.T) {
	var v invocation
	assert.Equal(t, exitFailed, runSlow(t, &v))
	golden(t, "run.txt", v.out.String())
	golden(t, "run-progress.txt", v.errOut.String())

	var full invocation
	runSlow(t, &full, "--full", "--quiet")
	golden(t, "run-full.txt", full.out.String())
	assert.Empty(t, full.errOut.String())
}

// Numbers stand below each other, and the last line counts what happened, each thing that did.
func TestRunTally(t *testing.T) {
	failed := tool.Result{IsError: true}
	coded := func(c tool.Code) tool.Result { return tool.Result{Code: c, IsError: true} }
	done := performance{batch: new(batch), results: []tool.Result{
		{}, failed, coded(tool.UnknownTool), coded(tool.InvalidArgs), coded(tool.Aborted), coded(tool.Abandoned),
		coded(tool.AbortedBeforeDispatch), coded(tool.Panic), coded(tool.InvalidToolOutput), {}, {},
	}}
	done.calls = slices.Repeat([]tool.Call{{Name: "t"}}, len(done.results))
	text := done.text(80, 20, false)
	assert.Contains(t, text, "✓  1  t\n")
	assert.Contains(t, text, "✓ 10  t\n")
	assert.Contains(t, text, "\n11 calls: 3 done, 3 failed, 2 refused, 1 aborted, 1 abandoned, 1 not run, in ")
	done.results = done.results[9:]
	assert.Contains(t, done.text(80, 20, false), "\n2 calls: 2 done, in ")
}

func TestRunJSON(t *testing.T) {
	var v invocation
	assert.Equal(t, exitFailed, runSlow(t, &v, "--json", "--limit=2"))
	golden(t, "run.json", v.out.String())
	var got runJSON
	require.NoError(t, json.Unmarshal([]byte(v.out.String()), &got))
	for i, c := range got.Calls {
		assert.Equal(t, string(rune('a'+i)), c.ID)
		sum := 0.0
		for _, w := range c.Waits {
			sum += w.Ms
		}
		if c.StartedMs != nil {
			sum += c.SettledMs - *c.StartedMs
		}
		assert.InDelta(t, c.CommittedMs, sum, 0.01, "the waits and the body of call %d add up", i+1)
	}
}

// The results are the same under every admission that keeps the order, and in the model's order under all.
func TestRunAdmissions(t *testing.T) {
	var want []string
	for _, admission := range admissionNames {
		var v invocation
		assert.Equal(t, exitFailed, runSlow(t, &v, "--json", "--admission", admission))
		var got runJSON
		require.NoError(t, json.Unmarshal([]byte(v.out.String()), &got))
		assert.Equal(t, admission, got.Admission)
		var texts []string
		for i, c := range got.Calls {
			assert.Equal(t, i, c.Index)
			texts = append(texts, c.Text)
		}
		if want == nil {
			want = texts
		}
		assert.Equal(t, want, texts, admission)
	}
}

func TestRunOnATerminal(t *testing.T) {
	for _, width := range []int{30, 80} {
		v := invocation{width: width, env: map[string]string{"NO_COLOR": "1"}}
		assert.Equal(t, exitFailed, runSlow(t, &v))
		golden(t, fmt.Sprintf("run-terminal-%d.txt", width), strings.ReplaceAll(v.errOut.String(), "\x1b", "ESC"))
		for _, l := range strings.Split(v.out.String(), "\n") {
			if strings.HasPrefix(l, "    ") {
				assert.LessOrEqual(t, cells.StringWidth(l), width)
			}
		}
	}
}

func TestLiveLinesSayWhatACallWaitsFor(t *testing.T) {
	b := &batch{root: "file/dir"}
	waits := []exec.Wait{
		{For: exec.WaitClaim, Call: 0, Mine: plan.Claim{Key: "file/dir/a", Tree: true}, Held: plan.Claim{Key: "file/dir/a", Tree: true}},
		{For: exec.WaitClaim, Call: 0, Mine: plan.Claim{Key: "file/dir/a", Tree: true}, Held: plan.Claim{Key: "file/dir", Tree: true, Access: plan.Read}},
		{For: exec.WaitBarrier, Call: 1}, {For: exec.WaitOrder, Call: 2}, {For: exec.WaitWave, Call: 3},
		{For: exec.WaitPermit, Call: -1}, {For: exec.WaitLane, Call: -1}, {For: exec.WaitApproval, Call: -1}, {For: exec.WaitCommit, Call: -1},
	}
	s := snapshot{now: 1500 * time.Millisecond}
	for i := range len(waits) + 3 {
		b.calls = append(b.calls, tool.Call{Name: "read", Arguments: fmt.Sprintf(`{"path":"ファイル%d"}`, i+1)})
		span := exec.Span{Call: i, Started: -1, Settled: -1}
		switch {
		case i == 0:
			span.Started = 500 * time.Millisecond
		case i <= len(waits):
			span.Waits = waits[i-1 : i]
		case i == len(waits)+1: // not yet seen by the lane
		default:
			span.Started, span.Settled, span.End = 0, time.Second, exec.EndReturned
		}
		s.spans = append(s.spans, span)
	}
	s.ends = make([]atomic.Int32, len(s.spans))
	p := host{env: func(string) string { return "1" }}.watch(stream{nil, func() (int, int, bool) { return 100, 40, true }}, b)
	var text []string
	for _, l := range p.live([]snapshot{s}) {
		text = append(text, l.text)
	}
	golden(t, "live.txt", strings.Join(text, "\n")+"\n")
}
