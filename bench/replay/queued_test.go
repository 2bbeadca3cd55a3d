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
	declared := func(rule string) *rules.Rules {
		r, err := rules.Parse([]byte(`{"rules": 1, "tools": {"Bash": ` + rule + `}}`))
		require.NoError(t, err)
		return r.Over(rules.Default())
	}
	free, read := declared(`{"safe": true}`), declared(`{"safe": true, "reads": [{"tree": [], "default": "/"}]}`)
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
		o := replay.Options{Limit: rapid.SampledFrom([]int{0, 0, 1, 2, 8}).Draw(t, "replayed with"), Largest: 9, Inverted: 9}
		r := run(t, o, c.source("a"))
		o.Rules = free
		other := run(t, o, c.source("a"))
		o.Rules = read
		reads := run(t, o, c.source("a"))
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
		saved := func(by *replay.Report) replay.Saving {
			was, is := policy(t, r.Total, "keyed"), policy(t, by.Total, "keyed")
			return replay.Saving{Steps: was.Steps - is.Steps, Time: was.Time - is.Time}
		}
		i := slices.IndexFunc(r.Tools, func(tool replay.Tool) bool { return tool.Tool == "Bash" })
		require.Equal(t, i >= 0, slices.ContainsFunc(calls, func(c queued) bool { return c.tool == "Bash" }))
		if i >= 0 {
			require.Equal(t, saved(other), r.Tools[i].AsFree)
			require.Equal(t, saved(reads), r.Tools[i].AsRead)
		}
	})
}
