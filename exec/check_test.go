package exec_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/plan/plantest"
)

// checks is what a test knows of a lane that has ended.
type checks struct {
	calls   []plan.Call // what was submitted; of a call that started: as it was then
	changed []bool      // which were something else at first; nil: none
	limit   int
	ordered bool // the admission keeps the model's order between calls that conflict
	hard    bool // Wait returned a hard error
}

var letters = strings.NewReplacer("classify", "c", "prepared", "y", "prepare", "p", "refused", "n", "awaited", "A", "await", "a", "ran", "R", "run", "r",
	"settled", "s", "durable", "d", "committed", "K", "commit", "k", "skipped", "X", "skip", "x", "failing", "")

// What may happen to one call, in a lane that did not fail and in one that did: there, what had begun ends with its Settled.
var (
	whole  = regexp.MustCompile(`^(c+py(aA?)?(rR)?sdkK|c+pnkK|c*xX)$`)
	broken = regexp.MustCompile(`^(c+py(aA?)?(rR)?sd?(kK?)?|c+pn?(kK?)?|c*(xX?)?)$`)
)

// check demands of the events of a lane that has ended what the package promises of every lane.
func check(t require.TestingT, j *journal, c checks) {
	events := j.all()
	history := make([]string, len(c.calls))
	outcome := make([]error, len(c.calls))
	at := map[string]map[int]int{} // by stage and call: which event
	var commits []int
	running := map[int]bool{}
	inLane, inSettled, abandoned := -1, -1, -1
	failed, inStage := -1, false
	for n, e := range events {
		if at[e.stage] == nil {
			at[e.stage] = map[int]int{}
		}
		at[e.stage][e.call] = n
		switch e.stage {
		case "prepare", "commit", "skip", "classify":
			assert.Equal(t, -1, inLane, "%v during another stage in the lane", e)
			if e.stage != "classify" {
				inLane = e.call
			}
			if k := len(commits); e.stage == "prepare" && k < e.call {
				for _, ready := range []string{"durable", "refused"} {
					if n, ok := at[ready][k]; ok {
						assert.LessOrEqual(t, events[at["classify"][e.call]].at, events[n].at, "%v although %d was to be committed", e, k)
					}
				}
			}
		case "prepared", "refused", "committed", "skipped":
			inLane = -1
		case "settled":
			assert.Equal(t, -1, inSettled, "%v during another Settled", e)
			inSettled, outcome[e.call] = e.call, e.err
			if errors.As(e.err, new(*exec.AbandonedError)) && !errors.As(e.err, new(*exec.NotRunError)) {
				abandoned = n
				delete(running, e.call)
			}
		case "durable":
			inSettled = -1
		case "run":
			assert.Equal(t, -1, abandoned, "%v after a body was abandoned", e)
			assert.Less(t, len(running), c.limit, "%v beyond the limit", e)
			for i := range running {
				assert.False(t, plantest.Conflict(c.calls[i], c.calls[e.call]), "%v beside %d", e, i)
			}
			running[e.call] = true
		case "ran":
			delete(running, e.call)
			if h := history[e.call]; strings.Contains(h, "s") {
				continue // late, and dropped
			}
		case "awaited":
			if h := history[e.call]; strings.Contains(h, "s") {
				continue
			}
		case "failing": // with an error, a panic or a Goexit, in the stage of that call
			if failed < 0 {
				failed, inStage = n, !strings.HasSuffix(history[e.call], "s")
			}
			inLane, inSettled = -1, -1
		}
		if failed >= 0 && n > failed {
			// Nothing follows in the lane on a stage there that failed. Elsewhere something may have been about to begin.
			late := e.at > events[failed].at
			if late || inStage {
				assert.NotContains(t, []string{"classify", "prepare", "commit", "skip"}, e.stage, "%v after the lane failed", e)
			}
			assert.False(t, late && e.stage == "run", "%v after the lane failed", e)
		}
		if e.stage == "commit" || e.stage == "skip" {
			commits = append(commits, e.call)
		}
		history[e.call] += letters.Replace(e.stage)
	}
	for k, i := range commits {
		assert.Equal(t, k, i, "commits in the model's order")
	}
	for i, h := range history {
		if errors.As(outcome[i], new(*exec.AbandonedError)) {
			h = strings.Replace(h, "rs", "rRs", 1)
		}
		if c.hard {
			assert.Regexp(t, broken, h, "call %d", i)
		} else {
			assert.Regexp(t, whole, h, "call %d", i)
		}
		if errors.As(outcome[i], new(*exec.NotRunError)) {
			assert.NotContains(t, h, "r", "call %d", i)
		} else if outcome[i] == nil && strings.Contains(h, "s") {
			assert.Contains(t, h, "rRs", "call %d", i)
		}
	}
	if !c.ordered {
		return
	}
	for k, j := range c.calls {
		start, ok := at["run"][k]
		if !ok {
			continue
		}
		for i := range k {
			if c.changed != nil && c.changed[i] {
				continue // it may have come to conflict with a later call that had started
			}
			if plantest.Exclusive(j) || plantest.Exclusive(c.calls[i]) {
				end, ok := at["committed"][i]
				if !ok {
					end, ok = at["skipped"][i]
				}
				assert.True(t, ok && end < start, "%v before %d was committed", events[start], i)
			}
			if _, ran := at["run"][i]; ran && plantest.Conflict(c.calls[i], j) {
				assert.Less(t, at["ran"][i], start, "%v before %d ended", events[start], i)
			}
		}
	}
	if f, ok := t.(interface{ Failed() bool }); ok && f.Failed() {
		assert.Fail(t, "events", "%v", slices.Clone(events))
	}
}
