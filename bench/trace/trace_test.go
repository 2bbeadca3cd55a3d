package trace_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/bench/trace"
	"github.com/keywave-go/keywave/plan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestClaimOfAKey(t *testing.T) {
	for key, want := range map[string]plan.Claim{
		"d1/d2/f3":      {Key: "./d1/d2/f3"},
		"d1/d2/":        {Key: "./d1/d2", Tree: true},
		"f1":            {Key: "./f1"},
		"./":            {Key: ".", Tree: true},
		"./d1/f2":       {Key: "./d1/f2"},
		"ext/":          {Key: "ext", Tree: true},
		"ext/d1/f2":     {Key: "ext/d1/f2"},
		"external/f1":   {Key: "./external/f1"},
		"@git":          {Key: "@git"},
		"@net:h1":       {Key: "@net:h1"},
		"/":             {Key: "./", Tree: true},
		"@todo:k1/odd/": {Key: "@todo:k1/odd/"},
	} {
		assert.Equal(t, want, trace.Key{Name: key, Mode: "w"}.Claim(), key)
		want.Access = plan.Read
		assert.Equal(t, want, trace.Key{Name: key, Mode: "r"}.Claim(), key)
	}
}

// TestWhatCallsAreToAPlanner: the working directory covers its files and nothing else, and what a call may do decides
// whether its keys matter.
func TestWhatCallsAreToAPlanner(t *testing.T) {
	call := func(a trace.Access, mode string, keys ...string) plan.Call {
		c := trace.Call{Access: a}
		for _, k := range keys {
			c.Keys = append(c.Keys, trace.Key{Name: k, Mode: mode})
		}
		return c.Plan()
	}
	dir := call(trace.Reads, "r", "./")
	assert.True(t, plan.Conflict(dir, call(trace.Writes, "w", "d1/f1")))
	assert.True(t, plan.Conflict(dir, call(trace.Writes, "w", "f1")))
	assert.False(t, plan.Conflict(dir, call(trace.Writes, "w", "ext/f1")))
	assert.False(t, plan.Conflict(dir, call(trace.Writes, "w", "@git")))
	assert.False(t, plan.Conflict(dir, dir))
	assert.True(t, plan.Conflict(call(trace.Writes, "w", "d1/"), call(trace.Reads, "r", "d1/d2/f1")))
	assert.True(t, call(trace.Exclusive, "r", "@git").Exclusive())
	assert.False(t, plan.Conflict(call(trace.Spawns, "w", "d1/"), call(trace.Writes, "w", "d1/")))
}

func TestTimes(t *testing.T) {
	ms := func(m trace.Millis) *trace.Millis { return &m }
	for _, c := range []struct {
		call  trace.Call
		timed bool
		takes time.Duration
	}{
		{trace.Call{Access: trace.Reads, Est: ms(3)}, true, 3 * time.Millisecond},
		{trace.Call{Access: trace.Reads, Est: ms(0.0014)}, true, time.Microsecond},
		{trace.Call{Access: trace.Reads, Est: ms(0)}, true, 0},
		{trace.Call{Access: trace.Reads}, false, 0},
		{trace.Call{Access: trace.Reads, Est: ms(-5)}, false, 0},
		{trace.Call{Access: trace.Reads, Est: ms(1e300)}, true, 100 * 365 * 24 * time.Hour},
		{trace.Call{Access: trace.Spawns, Est: ms(3)}, false, 3 * time.Millisecond},
		{trace.Call{Access: trace.Exclusive, Kind: "interactive", Est: ms(3)}, false, 3 * time.Millisecond},
		{trace.Call{Access: trace.Reads, Background: true, Est: ms(3)}, false, 3 * time.Millisecond},
		{trace.Call{Access: trace.Reads, Background: true, EndEvent: true, Est: ms(3)}, true, 3 * time.Millisecond},
	} {
		b := trace.Batch{Calls: []trace.Call{{Access: trace.Reads, Est: ms(1)}, c.call}}
		assert.Equal(t, c.timed, c.call.Timed(), "%+v", c.call)
		assert.Equal(t, c.timed, b.Timed(), "%+v", c.call)
		assert.Equal(t, []time.Duration{time.Millisecond, c.takes}, b.Takes(), "%+v", c.call)
		assert.Equal(t, c.call.Access != trace.Exclusive, b.ReadsOnly())
	}
}

const good = `{"trace":"a1","batch":2,"calls":[{"i":0,"access":"read","keys":[{"k":"f1","m":"r"}],"est_ms":1.5}]}`

// TestBadLines: each says where and why, and costs no other line.
func TestBadLines(t *testing.T) {
	for bad, why := range map[string]string{
		`{`:             "unexpected end",
		"\x00\x01\xff":  "invalid character",
		`[]`:            "cannot unmarshal array",
		`{}`:            "no trace or no calls",
		`{"trace":"a"}`: "no trace or no calls",
		`{"trace":"a","calls":[{"i":1,"access":"read"}]}`:                             "call 1 is numbered 1",
		`{"trace":"a","calls":[{"i":0,"access":"write"},{"i":0,"access":"read"}]}`:    "call 2 is numbered 0",
		`{"trace":"a","calls":[{"i":0}]}`:                                             `access ""`,
		`{"trace":"a","calls":[{"i":0,"access":"read","keys":[{"k":"","m":"r"}]}]}`:   `key ""`,
		`{"trace":"a","calls":[{"i":0,"access":"read","keys":[{"k":"f1","m":"x"}]}]}`: `mode "x"`,
		`{"trace":"a","calls":[{"i":0,"access":"read","est_ms":1e999}]}`:              "1e999",
	} {
		var batches, errs int
		for b, err := range trace.Read(strings.NewReader(good + "\n\n  \n" + bad + "\n" + good)) {
			if err == nil {
				batches++
				assert.Equal(t, "a1", b.Trace)
				continue
			}
			errs++
			assert.Zero(t, b)
			require.ErrorIs(t, err, trace.ErrLine)
			require.ErrorContains(t, err, "line 4: ")
			require.ErrorContains(t, err, why)
		}
		assert.Equal(t, 2, batches, bad)
		assert.Equal(t, 1, errs, bad)
	}
}

type failing struct{ after *strings.Reader }

var errDisk = errors.New("the disk is gone")

func (f failing) Read(p []byte) (int, error) {
	if f.after.Len() > 0 {
		return f.after.Read(p)
	}
	return 0, errDisk
}

func TestAReaderThatFails(t *testing.T) {
	var got []error
	for _, err := range trace.Read(failing{strings.NewReader(good + "\n")}) {
		got = append(got, err)
	}
	require.Len(t, got, 2)
	require.NoError(t, got[0])
	require.ErrorIs(t, got[1], errDisk)

	got = nil
	for _, err := range trace.Read(strings.NewReader(good + "\n" + strings.Repeat("x", 17<<20) + "\n" + good)) {
		got = append(got, err)
	}
	require.Len(t, got, 2, "a line without end ends it")
	require.ErrorContains(t, got[1], "line 2: ")

	n := 0
	for range trace.Read(strings.NewReader(good + "\n" + good)) {
		n++
		break
	}
	require.Equal(t, 1, n)
	for range trace.Read(strings.NewReader("")) {
		t.Fatal("nothing was written")
	}
}

// TestReadNeverPanics feeds it what is nearly a batch.
func TestReadNeverPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := []byte(good)
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "to")
		}
		for b, err := range trace.Read(strings.NewReader(string(b))) {
			if err == nil {
				require.Len(t, b.Plan(), len(b.Takes()))
			}
		}
	})
}
