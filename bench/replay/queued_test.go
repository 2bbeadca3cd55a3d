package replay_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/bench/replay"
	"github.com/keywave-go/keywave/tool/rules"
)

// A queued is a call of an agent with a rolling pool: it runs reads together and the rest alone, in the model's order.
type queued struct {
	tool       string
	takes      int // ms
	start, end int
}

// pool runs calls as such an agent does, at most limit at once; 0: no limit.
func pool(calls []queued, limit int) {
	var reads []int // ends of those since the last call that ran alone
	free := 0       // no call starts before the one in front of it, nor before one that runs alone has ended
	for i := range calls {
		c := &calls[i]
		alone := c.tool != "Read"
		c.start = free
		for {
			running := slices.DeleteFunc(slices.Clone(reads), func(end int) bool { return end <= c.start })
			if len(running) == 0 || !alone && (limit == 0 || len(running) < limit) {
				break
			}
			c.start = slices.Min(running)
		}
		c.end = c.start + c.takes
		if free = c.start; alone {
			free, reads = c.end, nil
		} else {
			reads = append(reads, c.end)
		}
	}
}

// What such an agent took for each call comes out of the ends alone, exactly where its order says so: that is for all
// calls without a limit, and for those that ran alone with one.
func TestQueuedCallsTakeWhatTheyTook(t *testing.T) {
	free, err := rules.Parse([]byte(`{"rules": 1, "tools": {"Bash": {"safe": true}}}`))
	require.NoError(t, err)
	free = free.Over(rules.Default())
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{0, 0, 1, 2, 3, 10}).Draw(t, "limit")
		calls := make([]queued, rapid.IntRange(2, 9).Draw(t, "n"))
		work := 0
		c := &claude{session: "s"}
		byEnd := make([]int, len(calls))
		for i := range calls {
			calls[i].tool = rapid.SampledFrom([]string{"Read", "Read", "Edit", "Bash", "Nobody"}).Draw(t, "tool")
			calls[i].takes = rapid.SampledFrom([]int{0, 1, 5, 7, 30, 100}).Draw(t, "takes")
			c.use(0, "m", fmt.Sprint(i), calls[i].tool, path(fmt.Sprintf("/w/%d", i%3)))
			work += calls[i].takes
			byEnd[i] = i
		}
		pool(calls, limit)
		slices.SortStableFunc(byEnd, func(a, b int) int { return calls[a].end - calls[b].end })
		for _, i := range byEnd {
			c.result(calls[i].end, fmt.Sprint(i), "")
		}
		r := run(t, replay.Options{Largest: 9, Inverted: 9}, c.source("a"))
		other := run(t, replay.Options{Largest: 9, Inverted: 9, Rules: free}, c.source("a"))
		require.Equal(t, 1, r.Total.Timed)
		serial := policy(t, r.Total, "serial").Time
		require.Equal(t, serial, policy(t, other.Total, "serial").Time, "what was does not depend on rules")
		if limit == 0 {
			require.EqualValues(t, work, serial)
		}
		require.GreaterOrEqual(t, float64(serial), float64(work))
		for _, b := range slices.Concat(r.Batches, other.Batches) {
			for i, got := range b.Calls {
				require.LessOrEqual(t, float64(got.Time), float64(calls[i].end))
				if limit == 0 || got.Tool != "Read" {
					require.EqualValues(t, calls[i].takes, got.Time, "call %d", i)
				}
			}
		}
		bash := 0
		for _, tool := range r.Tools {
			if tool.Tool == "Bash" {
				bash++
				before, after := policy(t, r.Total, "keyed"), policy(t, other.Total, "keyed")
				require.InDelta(t, float64(before.Time-after.Time), float64(tool.AsFree.Time), 1e-6)
				require.Equal(t, before.Steps-after.Steps, tool.AsFree.Steps)
			}
		}
		require.LessOrEqual(t, bash, 1)
	})
}
