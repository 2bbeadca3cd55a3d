package replay_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/bench/replay"
	"github.com/keywave-go/keywave/bench/sim"
	"github.com/keywave-go/keywave/bench/trace"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool/rules"
)

// rulesOf declares three tools that are never exclusive, and times all.
func rulesOf(t require.TestingT, extra string) *rules.Rules {
	r, err := rules.Parse([]byte(`{"rules":1,"tools":{
		"Look": {"safe":true,"reads":[{"name":"k","of":"k"}]},
		"Put":  {"safe":true,"writes":[{"name":"k","of":"k"}]},
		"Time": {"safe":true}` + extra + `}}`))
	require.NoError(t, err)
	return r
}

// TestTools: as a read of everything an exclusive call runs beside reads and its like, and not beside writes; as one
// that touches nothing, beside everything but what else is exclusive.
func TestTools(t *testing.T) {
	c := &claude{session: "s"}
	c.batch(0, "m1", `Look {"k":"a"} 10`, "Bash {} 20", "Bash {} 30", `Put {"k":"a"} 40`, "Nobody {} 50")
	c.batch(100, "m2", `Look {"k":"a"} 10`, "Bash {} 20", "se\tcret {} 30")
	r := run(t, replay.Options{Rules: rulesOf(t, `,"Bash":{}`)}, c.source("log"))
	// Keyed takes 10 for each call, one after another.
	assert.Equal(t, []replay.Tool{
		{Tool: "Bash", Format: "claude-code", Why: "by its rule", Calls: 3, Batches: 2,
			// m1: reads together 10, Put 10, Nobody 10; m2: reads together, then the secret.
			AsRead: replay.Saving{Steps: 2 + 1, Time: 20 + 10},
			// m1: Put waits for Look alone.
			AsFree: replay.Saving{Steps: 2 + 1, Time: 20 + 10}},
		{Tool: "(unnamed)", Format: "claude-code", Why: "no rule", Calls: 1, Batches: 1},
		{Tool: "Nobody", Format: "claude-code", Why: "no rule", Calls: 1, Batches: 1,
			AsRead: replay.Saving{}, AsFree: replay.Saving{Steps: 1, Time: 10}},
	}, byName(r.Tools, "Bash", "(unnamed)", "Nobody"))
}

func byName(tools []replay.Tool, names ...string) []replay.Tool {
	var out []replay.Tool
	for _, n := range names {
		for _, t := range tools {
			if t.Tool == n {
				out = append(out, t)
			}
		}
	}
	return out
}

// TestToolsOfRecorded derives what other declarations bring, tool by tool, directly: a read of everything is one of all
// keys that there are.
func TestToolsOfRecorded(t *testing.T) {
	log, err := os.Open(recorded)
	require.NoError(t, err)
	defer log.Close()
	keyed, err := sim.PolicyOf("keyed")
	require.NoError(t, err)
	const limit = 3
	type cost struct {
		steps int
		time  time.Duration
	}
	of := func(b trace.Batch, calls []plan.Call) (c cost) {
		steps, err := keyed.Steps(calls)
		require.NoError(t, err)
		c.steps = steps
		if b.Timed() {
			r, err := keyed.Run(calls, b.Takes(), sim.Config{Limit: limit})
			require.NoError(t, err)
			c.time = r.Makespan
		}
		return c
	}
	want := map[string]*replay.Tool{}
	for b, err := range trace.Read(log) {
		require.NoError(t, err)
		if len(b.Calls) < 2 {
			continue
		}
		base := of(b, b.Plan())
		var all []plan.Claim
		for _, key := range []string{".", "ext"} {
			all = append(all, plan.Claim{Key: key, Access: plan.Read, Tree: true})
		}
		for _, c := range b.Plan() {
			for _, claim := range c.Claims {
				if claim.Key[0] == '@' {
					all = append(all, plan.Claim{Key: claim.Key, Access: plan.Read})
				}
			}
		}
		tried := map[string]bool{}
		for i, c := range b.Calls {
			if !b.Plan()[i].Exclusive() {
				continue
			}
			key := b.Format + c.Tool
			if want[key] == nil {
				want[key] = &replay.Tool{Tool: c.Tool, Format: "recorded/" + b.Format, Why: "by its rule"}
			}
			w := want[key]
			w.Calls++
			if tried[key] {
				continue
			}
			tried[key] = true
			w.Batches++
			for k, claims := range [][]plan.Claim{all, nil} {
				calls := b.Plan()
				for j := range calls {
					if b.Calls[j].Tool == c.Tool && calls[j].Exclusive() {
						calls[j] = plan.Call{Safe: true, Claims: claims}
					}
				}
				to := []*replay.Saving{&w.AsRead, &w.AsFree}[k]
				c := of(b, calls)
				to.Steps += base.steps - c.steps
				to.Time += trace.Millis((base.time - c.time).Seconds() * 1000)
			}
		}
	}
	got := run(t, replay.Options{Limit: limit}, file(t, recorded)).Tools
	require.Len(t, got, len(want))
	last := got[0].AsFree.Time
	for _, tool := range got {
		w := want[strings.TrimPrefix(tool.Format, "recorded/")+tool.Tool]
		require.NotNil(t, w, tool.Tool)
		assert.InDelta(t, float64(w.AsRead.Time), float64(tool.AsRead.Time), 1e-3, tool.Tool)
		assert.InDelta(t, float64(w.AsFree.Time), float64(tool.AsFree.Time), 1e-3, tool.Tool)
		w.AsRead.Time, w.AsFree.Time = tool.AsRead.Time, tool.AsFree.Time
		assert.Equal(t, *w, tool)
		assert.LessOrEqual(t, tool.AsFree.Time, last, "the one that would bring most first")
		last = tool.AsFree.Time
	}
}

// TestWaits: what the keyed pool kept calls back for, a call once for each kind; the times add up.
func TestWaits(t *testing.T) {
	c := &claude{session: "s"}
	c.batch(0, "m1", `Put {"k":"a"} 10`, `Put {"k":"b"} 30`, "Bash {} 40", `Look {"k":"a"} 45`)
	c.batch(100, "m2", `Put {"k":"a"} 10`, `Look {"k":"a"} 40`, `Put {"k":"a"} 50`)
	c.batch(200, "m3", "Bash {} 10", `Look {"k":"a"} 20`)
	r := run(t, replay.Options{Rules: rulesOf(t, "")}, c.source("log"))
	assert.Equal(t, []replay.Wait{
		{Tool: "Look", For: "Bash", Why: "barrier", Calls: 2, Time: 30 + 10},
		{Tool: "Put", For: "Look", Why: "claim", Calls: 1, Time: 40},
		{Tool: "Bash", For: "Put", Why: "barrier", Calls: 1, Time: 20},
		{Tool: "Look", For: "Put", Why: "claim", Calls: 1, Time: 10},
	}, r.Waits)
	assert.Equal(t, 5, r.Total.Waited)
	// With a limit what is not kept back by another call waits for a permit.
	c = &claude{session: "s"}
	c.batch(0, "m1", `Time {} 10`, "Time {} 20", "Time {} 30")
	r = run(t, replay.Options{Rules: rulesOf(t, ""), Limit: 2}, c.source("log"))
	assert.Equal(t, []replay.Wait{{Tool: "Time", Why: "permit", Calls: 1, Time: 10}}, r.Waits)
	assert.Zero(t, r.Total.Waited)
}

// TestRulesDoNotChangeWhatWas: rules say what could run together, not how long a call took, nor that it waited for one
// that the agent ran alone. So one after another the calls take the same under all rules, and what is promised for a
// tool is what a rule for it brings.
func TestRulesDoNotChangeWhatWas(t *testing.T) {
	c := &claude{session: "s"}
	c.batch(0, "m1", "Bash {} 1000", "Read "+path("/w/a")+" 1010", "Bash {} 3000", "Read "+path("/w/b")+" 3020")
	c.batch(9000, "m2", "Edit "+path("/w/a")+" 500", "Edit "+path("/w/b")+" 800", "Read "+path("/w/b")+" 810")
	asked := run(t, replay.Options{}, c.source("log"))
	assert.EqualValues(t, 1000+10+1990+20+500+300+10, policy(t, asked.Total, "serial").Time)
	require.Len(t, asked.Tools, 1)
	for _, try := range []struct {
		rule string
		want replay.Saving
	}{
		{`{"safe": true}`, asked.Tools[0].AsFree},
		{`{"safe": true, "reads": [{"tree": [], "default": "/"}]}`, asked.Tools[0].AsRead},
	} {
		r, err := rules.Parse([]byte(`{"rules": 1, "tools": {"Bash": ` + try.rule + `}}`))
		require.NoError(t, err)
		got := run(t, replay.Options{Rules: r.Over(rules.Default())}, c.source("log"))
		assert.Equal(t, policy(t, asked.Total, "serial"), policy(t, got.Total, "serial"))
		was, is := policy(t, asked.Total, "keyed"), policy(t, got.Total, "keyed")
		assert.Positive(t, try.want.Time)
		assert.Equal(t, try.want, replay.Saving{Steps: was.Steps - is.Steps, Time: was.Time - is.Time}, try.rule)
	}
}
