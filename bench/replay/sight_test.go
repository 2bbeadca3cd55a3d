package replay_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/bench/replay"
)

// TestWorthALook: the largest savings first, then inversions: of first-fit and locks, over a key, around exclusive
// calls.
func TestWorthALook(t *testing.T) {
	c := &claude{session: "s"}
	c.batch(0, "saves5", `Put {"k":"a"} 5`, `Put {"k":"b"} 10`)
	c.batch(100, "saves20", `Put {"k":"a"} 20`, `Put {"k":"b"} 40`)
	c.batch(200, "saves5 too", `Put {"k":"a"} 5`, `Put {"k":"b"} 10`)
	c.batch(300, "saves4", `Put {"k":"a"} 4`, `Put {"k":"b"} 8`)
	c.batch(400, "barrier", "Bash {} 5", "Time {} 10")
	c.batch(500, "key", `Put {"k":"a"} 5`, `Put {"k":"a"} 10`)
	c.batch(600, "barrier", "Bash {} 5", "Time {} 10")
	c.batch(700, "order", `Look {"k":"a"} 5`, `Put {"k":"a"} 10`, `Look {"k":"a"} 10`)
	c.batch(800, "saves50 and inverts", `Look {"k":"a"} 5`, `Put {"k":"a"} 50`, `Look {"k":"a"} 90`, `Put {"k":"b"} 200`)
	c.batch(1100, "barrier", "Bash {} 5", "Time {} 10")
	look := func(largest, inverted int) (out []string) {
		r := run(t, replay.Options{Rules: rulesOf(t, ""), Largest: largest, Inverted: inverted}, c.source("log"))
		for _, b := range r.Batches {
			out = append(out, fmt.Sprintf("%v/%t", b.Line, b.Saved))
		}
		return append(out, fmt.Sprint(r.Unshown))
	}
	for _, c := range []struct {
		largest, inverted int
		want              string
	}{
		{0, 0, "[6]"},
		{3, 0, "[35/true 5/true 1/true 5]"},
		{0, 2, "[29/false 35/false 4]"},
		{2, 3, "[35/true 5/true 29/false 21/false 17/false 2]"},
		{9, 9, "[35/true 5/true 1/true 9/true 13/true 29/false 21/false 17/false 25/false 43/false 0]"},
	} {
		assert.Equal(t, c.want, fmt.Sprint(look(c.largest, c.inverted)))
	}
}

// TestBatch shows one batch whole.
func TestBatch(t *testing.T) {
	c := &claude{session: "s", agent: "a"}
	c.batch(0, "m1", `Look {"k":"a"} 10`, `Put {"k":"a"} 30`, `Look {"k":"a"} 60`, `Put {"k":"b"} 70`, "Bash {} 71")
	r := run(t, replay.Options{Rules: rulesOf(t, ""), Largest: 1}, c.source("log"))
	require.Len(t, r.Batches, 1)
	b := r.Batches[0]
	key := func(name string, write bool) []replay.Claim { return []replay.Claim{{Key: name, Write: write}} }
	assert.Equal(t, []replay.Call{
		{Tool: "Look", Access: "read", Claims: key("@k/n1", false), Time: 10},
		{Tool: "Put", Access: "write", Claims: key("@k/n1", true), Time: 20},
		{Tool: "Look", Access: "read", Claims: key("@k/n1", false), Time: 30},
		{Tool: "Put", Access: "write", Claims: key("@k/n2", true), Time: 10},
		{Tool: "Bash", Access: "exclusive", Why: "no rule", Claims: []replay.Claim{}, Time: 1},
	}, b.Calls)
	assert.Equal(t, []replay.Conflict{
		{Earlier: 0, Later: 1}, {Earlier: 1, Later: 2},
		{Earlier: 0, Later: 4}, {Earlier: 1, Later: 4}, {Earlier: 2, Later: 4}, {Earlier: 3, Later: 4},
	}, b.Conflicts)
	var runs []string
	for _, s := range b.Runs {
		line := fmt.Sprint(s.Policy, " ", s.Time)
		for _, x := range s.Spans {
			line += fmt.Sprintf(" %v-%v", x.Start, x.End)
		}
		for _, x := range s.Inversions {
			line += fmt.Sprint(" ", x)
		}
		runs = append(runs, line)
	}
	assert.Equal(t, []string{
		"rolling 71 0-10 10-30 30-60 60-70 70-71",
		"keyed 61 0-10 10-30 30-60 0-10 60-61",
		"first-fit 51 0-10 30-50 0-30 0-10 50-51 {{1 2} false}",
		"locks 51 0-10 30-50 0-30 0-10 50-51 {{1 2} false}",
		"at-once 30 0-10 0-20 0-30 0-10 0-1 {{0 1} true} {{1 2} true} {{0 4} true} {{1 4} true} {{2 4} true} {{3 4} true}",
	}, runs)
	assert.Equal(t, []replay.SpanWait{{Why: "claim", Call: 1, From: 0, To: 30}}, b.Runs[1].Spans[2].Waits)
	assert.Equal(t, []any{1, "log", 1, true, true, true}, []any{b.Session, b.File, b.Line, b.Sub, b.Timed, b.Saved})
}

// TestUntimedBatch: each call of a batch of which not all times are known is drawn as a millisecond.
func TestUntimedBatch(t *testing.T) {
	c := &claude{session: "s"}
	c.batch(0, "m1", `Put {"k":"a"} 10`, "Bash {} -30", `Put {"k":"b"} 40`)
	r := run(t, replay.Options{Rules: rulesOf(t, ""), Largest: 9, Inverted: 9}, c.source("log"))
	require.Len(t, r.Batches, 1)
	b := r.Batches[0]
	assert.False(t, b.Timed || b.Saved)
	for _, call := range b.Calls {
		assert.EqualValues(t, 1, call.Time)
	}
	assert.EqualValues(t, 3, b.Runs[1].Time)
	assert.Zero(t, policy(t, r.Total, "serial").Time)
	assert.Equal(t, 3, policy(t, r.Total, "serial").Steps)
}
