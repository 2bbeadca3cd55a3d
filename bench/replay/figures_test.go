package replay_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/bench/replay"
	"github.com/keywave-go/keywave/bench/sim"
	"github.com/keywave-go/keywave/bench/trace"
	"github.com/keywave-go/keywave/bench/transcript"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/rules"
)

// A derived is the figures as they are derived here, every policy and every batch run for itself, in whole units.
type derived struct {
	replay.Figures
	bound, slowerBy time.Duration
	times           []time.Duration
}

// derive derives the figures of sources: in total, and of the batches with a write or an exclusive call.
func derive(t require.TestingT, limit int, sources ...replay.Source) (total, mixed replay.Figures) {
	var all, some derived
	for _, s := range sources {
		r, err := s.Open()
		require.NoError(t, err)
		for b, err := range transcript.Read(r, nil) {
			require.NoError(t, err)
			all.add(t, &b, limit)
			if len(b.Calls) > 1 && !readsOnly(&b) {
				some.add(t, &b, limit)
			}
		}
		require.NoError(t, r.Close())
	}
	return all.figures(), some.figures()
}

func (f *derived) figures() replay.Figures {
	ms := func(d time.Duration) trace.Millis { return trace.Millis(float64(d) / 1e6) }
	for i, p := range sim.Policies() {
		if len(f.Policies) < len(sim.Policies()) {
			f.Policies = append(f.Policies, replay.Outcome{Policy: p.Name, Ordered: p.Ordered})
			f.times = append(f.times, 0)
		}
		f.Policies[i].Time = ms(f.times[i])
	}
	f.Bound, f.SlowerBy = ms(f.bound), ms(f.slowerBy)
	return f.Figures
}

// planned is a batch as it is declared, and how long its calls took; no times if one of them is not known.
func planned(b *transcript.Batch) ([]plan.Call, []time.Duration) {
	if b.Recorded != nil {
		if !b.Recorded.Timed() {
			return b.Recorded.Plan(), nil
		}
		return b.Recorded.Plan(), b.Recorded.Takes()
	}
	var asked []tool.Call
	for _, c := range b.Calls {
		asked = append(asked, c.Call)
	}
	var calls []plan.Call
	var takes []time.Duration
	var alone []bool
	declared := rules.Default().Calls(rules.Where{Agent: string(b.Format), Dir: b.Dir}, asked)
	for i, d := range declared {
		calls, alone = append(calls, d.Call), append(alone, d.Exclusive())
		for _, c := range d.Claims {
			alone[i] = alone[i] || c.Access == plan.Write
		}
	}
	known := true
	for i, d := range declared {
		took, ok := b.Took(i, alone)
		known = known && (ok && !d.Untimed || b.Calls[i].Outcome == transcript.Rejected)
		takes = append(takes, took)
	}
	if !known {
		return calls, nil
	}
	return calls, takes
}

func readsOnly(b *transcript.Batch) bool {
	if b.Recorded != nil {
		return b.Recorded.ReadsOnly()
	}
	calls, _ := planned(b)
	for _, c := range calls {
		if c.Exclusive() {
			return false
		}
		for _, claim := range c.Claims {
			if claim.Access == plan.Write {
				return false
			}
		}
	}
	return true
}

func (f *derived) add(t require.TestingT, b *transcript.Batch, limit int) {
	f.figures()
	f.Turns++
	if len(b.Calls) < 2 {
		return
	}
	calls, takes := planned(b)
	timed := takes != nil
	f.Batches++
	f.Calls += len(calls)
	if timed {
		f.Timed++
		bound, err := sim.BoundOf(calls, takes)
		require.NoError(t, err)
		f.bound += bound.Lower(limit)
	} else {
		takes = make([]time.Duration, len(calls))
		for i := range takes {
			takes[i] = time.Hour
		}
	}
	spans := map[string]time.Duration{}
	for i, p := range sim.Policies() {
		o := &f.Policies[i]
		steps, err := p.Steps(calls)
		require.NoError(t, err)
		o.Steps += steps
		r, err := p.Run(calls, takes, sim.Config{Limit: limit, Waits: p.Name == "keyed"})
		require.NoError(t, err)
		if timed {
			f.times[i] += r.Makespan
			spans[p.Name] = r.Makespan
		}
		inv := r.Inversions(1 << 20)
		if inv.Pairs > 0 {
			o.Inverted.Batches++
		}
		o.Inverted.Calls += inv.Calls
		o.Inverted.Pairs += inv.Pairs
		for _, x := range inv.First {
			if !calls[x.Earlier].Exclusive() && !calls[x.Later].Exclusive() {
				o.Inverted.Keyed++
			}
		}
		for _, s := range r.Spans {
			waited := 0
			for _, w := range s.Waits {
				if w.From < s.Started && w.Call >= 0 {
					waited = 1
				}
			}
			f.Waited += waited
		}
	}
	if d := spans["keyed"] - spans["rolling"]; d > 0 {
		f.Slower++
		f.slowerBy += d
	}
}

// TestFigures derives the figures of recorded batches and of a transcript of each format, directly, and compares.
func TestFigures(t *testing.T) {
	for _, limit := range []int{0, 1, 2, 4, 10} {
		for _, sources := range [][]replay.Source{{file(t, recorded)}, samples(t)} {
			r := run(t, replay.Options{Limit: limit}, sources...)
			total, mixed := derive(t, limit, sources...)
			assert.Equal(t, total, r.Total, "limit %d", limit)
			assert.Equal(t, mixed, r.Mixed, "limit %d", limit)
			assert.Equal(t, limit, r.Limit)
		}
	}
	for _, s := range samples(t) {
		r := run(t, replay.Options{}, s)
		if filepath.Base(s.Name) == filepath.Base(recorded) {
			continue
		}
		require.Len(t, r.Formats, 1, s.Name)
		total, _ := derive(t, 0, s)
		assert.Equal(t, total, r.Formats[0].Figures, s.Name)
		if r.Formats[0].Sessions == 1 {
			assert.Equal(t, total, r.Sessions[0].Figures, s.Name)
		}
	}
}

// TestRecordedFormats: recorded batches are told apart by the format that they were recorded from.
func TestRecordedFormats(t *testing.T) {
	r := run(t, replay.Options{}, file(t, recorded))
	clocks, batches, sessions := map[string]string{}, 0, 0
	for _, f := range r.Formats {
		clocks[f.Format] = f.Clock
		batches += f.Batches
		sessions += f.Sessions
		assert.NotEmpty(t, f.Text)
	}
	assert.Equal(t, map[string]string{
		"recorded/claude-code": "upper bound", "recorded/codex-rollout": "upper bound", "recorded/copilot-cli": "exact",
		"recorded/opencode": "exact", "recorded/pi-session": "tail only",
	}, clocks)
	assert.Equal(t, r.Total.Batches, batches)
	assert.Len(t, r.Sessions, sessions)
	// What else a record may say of its format is a text, and not shown.
	odd := `{"trace":"x1","batch":1,"fmt":"of my own","n":1,"calls":[{"i":0,"tool":"Read","access":"read","keys":[]}]}`
	r = run(t, replay.Options{}, text("odd", odd))
	require.Len(t, r.Formats, 1)
	assert.Equal(t, "recorded", r.Formats[0].Format)
}

// TestRecordedFigures holds the figures to what package trace's own test has of the same batches; of the whole set, if
// KEYWAVE_TRACES names it.
func TestRecordedFigures(t *testing.T) {
	r := run(t, replay.Options{}, file(t, recorded))
	figures := func(r *replay.Report) string {
		var b strings.Builder
		f := r.Total
		fmt.Fprintf(&b, "%d batches, %d calls, %d timed, %d of them mixed\n", f.Batches, f.Calls, f.Timed, r.Mixed.Timed)
		for i, p := range f.Policies {
			m := r.Mixed.Policies
			fmt.Fprintf(&b, "%s %d %.2f %.2f %d\n", p.Policy, p.Steps, p.Time/f.Policies[0].Time, m[i].Time/m[0].Time, p.Inverted.Pairs)
		}
		return b.String()
	}
	assert.Equal(t, `338 batches, 1111 calls, 321 timed, 132 of them mixed
serial 1111 1.00 1.00 0
windows 649 0.87 0.96 0
read-runs 649 0.87 0.96 0
rolling 649 0.87 0.96 0
waves 588 0.83 0.92 0
keyed 588 0.83 0.92 0
first-fit 518 0.80 0.87 107
locks 518 0.79 0.87 107
at-once 338 0.64 0.68 423
`, figures(r))
	if whole := os.Getenv("KEYWAVE_TRACES"); whole != "" {
		r := run(t, replay.Options{}, file(t, whole))
		assert.Equal(t, `9375 batches, 28419 calls, 9092 timed, 2137 of them mixed
serial 28419 1.00 1.00 0
windows 13015 0.81 0.97 0
read-runs 13015 0.81 0.97 0
rolling 13015 0.81 0.97 0
waves 12185 0.79 0.94 0
keyed 12185 0.79 0.94 0
first-fit 12115 0.79 0.94 107
locks 12115 0.79 0.94 107
at-once 9375 0.66 0.69 5537
`, figures(r))
		assert.Equal(t, 70, policy(t, r.Total, "first-fit").Inverted.Batches)
		assert.Len(t, r.Sessions, 1199)
	}
}

// batches are random recorded batches, a line each: with keys and trees, and durations of which some are 0 and some are
// not known.
func batches(t *rapid.T) string {
	keys := []string{"f1", "f2", "d1/f1", "d1/", "./", "ext/f1", "@git", "@net:h1"}
	var b strings.Builder
	for n := range rapid.IntRange(0, 6).Draw(t, "batches") {
		var calls []map[string]any
		for i := range rapid.IntRange(1, 9).Draw(t, "calls") {
			c := map[string]any{
				"i": i, "tool": rapid.SampledFrom([]string{"Read", "Edit", "Bash", "Task"}).Draw(t, "tool"), "err": false,
				"access": rapid.SampledFrom([]string{"read", "read", "write", "write", "exclusive", "spawn"}).Draw(t, "access"),
			}
			if rapid.IntRange(0, 9).Draw(t, "known") > 0 {
				c["est_ms"] = rapid.IntRange(0, 5).Draw(t, "est")
			}
			var claims []map[string]string
			for range rapid.IntRange(0, 2).Draw(t, "claims") {
				mode := "r"
				if c["access"] == "write" {
					mode = "w"
				}
				claims = append(claims, map[string]string{"k": rapid.SampledFrom(keys).Draw(t, "key"), "m": mode})
			}
			if c["access"] == "write" && claims == nil {
				c["access"] = "read"
			}
			c["keys"] = claims
			calls = append(calls, c)
		}
		line, _ := json.Marshal(map[string]any{
			"trace": rapid.SampledFrom([]string{"cc1", "cc2"}).Draw(t, "trace"), "batch": n + 1, "fmt": "claude-code",
			"sub": rapid.Bool().Draw(t, "sub"), "at_ms": 0, "n": len(calls), "calls": calls,
		})
		b.Write(append(line, '\n'))
	}
	return b.String()
}

// TestRandomTranscripts compares with what is derived directly, and finds no inversion of a policy that keeps the
// order.
func TestRandomTranscripts(t *testing.T) {
	seen, turned := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		sources := []replay.Source{text("a", batches(t)), text("b", batches(t))}
		o := replay.Options{
			Limit: rapid.IntRange(0, 4).Draw(t, "limit"), Largest: rapid.IntRange(0, 3).Draw(t, "largest"),
			Inverted: rapid.IntRange(0, 3).Draw(t, "inverted"),
		}
		r := run(t, o, sources...)
		total, mixed := derive(t, o.Limit, sources...)
		require.Equal(t, total, r.Total)
		require.Equal(t, mixed, r.Mixed)
		seen += total.Batches
		turned += policy(t, r.Total, "first-fit").Inverted.Pairs
	})
	require.NotZero(t, seen)
	require.NotZero(t, turned)
}

// TestSlower: with a limit the keyed pool can be slower, as it starts a read early and then has no slot for a longer
// one.
func TestSlower(t *testing.T) {
	one := `{"trace":"t","batch":1,"fmt":"x","calls":[` +
		`{"i":0,"tool":"a","access":"write","keys":[{"k":"c","m":"w"}],"est_ms":2,"err":false},` +
		`{"i":1,"tool":"a","access":"read","keys":[{"k":"c","m":"r"}],"est_ms":1,"err":false},` +
		`{"i":2,"tool":"a","access":"read","keys":[{"k":"c","m":"r"}],"est_ms":7,"err":false},` +
		`{"i":3,"tool":"a","access":"read","keys":[{"k":"d","m":"r"}],"est_ms":6,"err":false}]}` + "\n"
	log := text("log", one+one)
	f := run(t, replay.Options{Limit: 2, Largest: 1}, log).Total
	assert.Equal(t, []trace.Millis{20, 18}, []trace.Millis{policy(t, f, "keyed").Time, policy(t, f, "rolling").Time})
	assert.Equal(t, []any{2, trace.Millis(2)}, []any{f.Slower, f.SlowerBy})
	assert.Zero(t, run(t, replay.Options{}, log).Total.Slower)
}

// TestRejectedCallsTookNoTime: a call that was not let run took none, one without a result took nobody knows how long,
// and nor did a sub-agent.
func TestRejectedCallsTookNoTime(t *testing.T) {
	c := good("s")
	c.use(100, "m2", "x", "Read", path("/w/a"))
	c.use(100, "m2", "y", "Edit", path("/w/a"))
	c.result(150, "x", "")
	c.result(160, "y", "The user doesn't want to proceed with this tool use.")
	c.use(200, "m3", "x", "Read", path("/w/a"))
	c.use(200, "m3", "y", "Read", path("/w/b"))
	c.result(250, "x", "")
	c.batch(300, "m4", "Read "+path("/w/a")+" 1000", "Task {} 1000")
	c.batch(2000, "m5", "Read "+path("/w/a")+" 1000")
	c.use(4000, "m6", "x", "Read", path("/w/a"))
	c.use(4000, "m6", "y", "Task", "{}") // nor was this sub-agent let run
	c.result(4040, "x", "")
	c.result(4050, "y", "The user doesn't want to proceed with this tool use.")
	r := run(t, replay.Options{}, c.source("log"))
	assert.Equal(t, []int{6, 5, 10, 3}, []int{r.Total.Turns, r.Total.Batches, r.Total.Calls, r.Total.Timed})
	assert.EqualValues(t, 30+20+50+40, policy(t, r.Total, "serial").Time)
	assert.EqualValues(t, 30+50+40, policy(t, r.Total, "keyed").Time)
}

func read(t require.TestingT, s replay.Source) string {
	r, err := s.Open()
	require.NoError(t, err)
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(b)
}
