package recorded_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/bench/recorded"
	"github.com/keywave-go/keywave/bench/sim"
	"github.com/keywave-go/keywave/bench/trace"
)

// trimmed is the part of the recorded batches that lies here.
const trimmed = "../testdata/batches.jsonl"

// Known is what a set of recorded batches comes to. Shares are of the time of serial.
type known struct {
	batches, calls, timed, mixed, mixedTimed int
	steps                                    map[string]int
	loose                                    int // steps of waves, with tests, linters and builds as reads of the tree
	shares, mixedShares                      map[string]string
	looseShares                              [2]string         // of waves, of all and of the mixed ones
	strict                                   map[string]int    // steps, if every command of a shell runs alone
	strictShares                             map[string]string // the same of time, all batches
	inversions                               map[string]int
	keyed                                    map[string]int // of them, such as are of no exclusive call
	inverted                                 int            // batches that first-fit inverts
	wavesSlower                              []string
	anomalies                                map[int][]string // by limit: batches in which keyed is slower than waves or rolling
	covered                                  []string
	formats                                  map[string]int
}

// Covered: one call writes a directory, most often to make it, and a later one a file in there.
var covered = []string{"cc0001/5", "cc0234/17", "pi0003/9", "cc0557/4", "cc0576/21"}

// Here is what the trimmed set comes to.
var here = known{
	batches: 338, calls: 1111, timed: 321, mixed: 144, mixedTimed: 132,
	steps: map[string]int{
		"serial": 1111, "windows": 649, "read-runs": 649, "rolling": 649, "waves": 588, "keyed": 588,
		"first-fit": 518, "locks": 518, "at-once": 338,
	},
	loose: 542,
	shares: map[string]string{
		"rolling": "0.87", "waves": "0.83", "keyed": "0.83", "first-fit": "0.80", "at-once": "0.64",
	},
	mixedShares: map[string]string{
		"rolling": "0.96", "waves": "0.92", "keyed": "0.92", "first-fit": "0.87", "at-once": "0.68",
	},
	looseShares: [2]string{"0.78", "0.86"},
	strict: map[string]int{
		"serial": 1111, "windows": 854, "read-runs": 854, "rolling": 854, "waves": 801, "keyed": 801,
		"first-fit": 795, "locks": 795, "at-once": 338,
	},
	strictShares: map[string]string{"rolling": "0.96", "keyed": "0.95", "at-once": "0.64"},
	inversions:   map[string]int{"first-fit": 107, "locks": 107, "at-once": 423},
	keyed:        map[string]int{"first-fit": 1, "locks": 1, "at-once": 70},
	inverted:     70,
	wavesSlower:  []string{"cp0003/17"},
	anomalies:    map[int][]string{4: {"cc0340/1"}},
	covered:      covered,
	formats:      map[string]int{"claude-code": 143, "codex-rollout": 125, "copilot-cli": 5, "opencode": 63, "pi-session": 2},
}

// Whole is what all that was recorded comes to. Whoever recorded it got the same from a program of their own, but for
// the steps of the waves, of which they have 12,181. The 4 that are more here are among the 5 covered batches: to
// package plan a directory that is written and a file in it conflict.
var whole = known{
	batches: 9375, calls: 28419, timed: 9092, mixed: 2288, mixedTimed: 2137,
	steps: map[string]int{
		"serial": 28419, "windows": 13015, "read-runs": 13015, "rolling": 13015, "waves": 12185, "keyed": 12185,
		"first-fit": 12115, "locks": 12115, "at-once": 9375,
	},
	loose: 11473,
	shares: map[string]string{
		"rolling": "0.81", "waves": "0.79", "keyed": "0.79", "first-fit": "0.79", "at-once": "0.66",
	},
	mixedShares: map[string]string{
		"rolling": "0.97", "waves": "0.94", "keyed": "0.94", "first-fit": "0.94", "at-once": "0.69",
	},
	looseShares: [2]string{"0.76", "0.88"},
	strict: map[string]int{
		"serial": 28419, "windows": 19087, "read-runs": 19087, "rolling": 19087, "waves": 18329, "keyed": 18329,
		"first-fit": 18306, "locks": 18306, "at-once": 9375,
	},
	strictShares: map[string]string{"rolling": "0.92", "keyed": "0.91", "at-once": "0.66"},
	inversions:   map[string]int{"first-fit": 107, "locks": 107, "at-once": 5537},
	keyed:        map[string]int{"first-fit": 1, "locks": 1, "at-once": 2300},
	inverted:     70,
	wavesSlower:  []string{"cp0003/17"},
	anomalies:    map[int][]string{4: {"cc0340/1"}},
	covered:      covered,
	formats: map[string]int{
		"claude-code": 4501, "codex-rollout": 2357, "copilot-cli": 87, "gemini-cli": 7, "opencode": 2403, "pi-session": 20,
	},
}

// TestRecordedBatches derives the figures of the trimmed set and, if KEYWAVE_TRACES names it, of the whole one.
func TestRecordedBatches(t *testing.T) {
	holds(t, trimmed, here)
	if path := os.Getenv("KEYWAVE_TRACES"); path != "" {
		holds(t, path, whole)
		all, err := os.ReadFile(path)
		require.NoError(t, err)
		part, err := os.ReadFile(trimmed)
		require.NoError(t, err)
		for line := range bytes.Lines(part) {
			assert.True(t, bytes.Contains(all, line), "not as it is in the whole set: %.60s", line)
		}
	}
}

func holds(t *testing.T, path string, want known) {
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	f, err := recorded.Derive(trace.Read(file))
	require.NoError(t, err)
	got := known{
		batches: f.All.Batches, calls: f.All.Calls, timed: f.All.Timed, mixed: f.Mixed.Batches, mixedTimed: f.Mixed.Timed,
		steps: map[string]int{}, loose: f.All.Loose[0].Steps,
		shares: map[string]string{}, mixedShares: map[string]string{},
		looseShares: [2]string{
			share(f.All.Loose[0].Time, f.All.Of("serial").Time), share(f.Mixed.Loose[0].Time, f.Mixed.Of("serial").Time),
		},
		strict: map[string]int{}, strictShares: map[string]string{},
		inversions: map[string]int{}, keyed: map[string]int{}, inverted: len(f.Inverted),
		wavesSlower: names(f.WavesSlower), anomalies: map[int][]string{}, formats: map[string]int{},
	}
	for _, o := range f.All.Policies {
		got.steps[o.Policy] = o.Steps
		got.strict[o.Policy] = f.All.StrictOf(o.Policy).Steps
		if want.strictShares[o.Policy] != "" {
			got.strictShares[o.Policy] = share(f.All.StrictOf(o.Policy).Time, f.All.StrictOf("serial").Time)
		}
		if o.Pairs > 0 {
			got.inversions[o.Policy] = o.Pairs
			got.keyed[o.Policy] = o.Keyed
		}
		if want.shares[o.Policy] != "" {
			got.shares[o.Policy] = share(o.Time, f.All.Of("serial").Time)
			got.mixedShares[o.Policy] = share(f.Mixed.Of(o.Policy).Time, f.Mixed.Of("serial").Time)
		}
	}
	for i, list := range f.Anomalies {
		if len(list) > 0 {
			got.anomalies[recorded.Limits[i]] = names(list)
		}
	}
	for _, c := range f.Covered {
		got.covered = append(got.covered, c.Batch)
		assert.Less(t, c.Apart, c.Steps)
	}
	sum := recorded.Sums{}
	for _, s := range f.Formats {
		got.formats[s.Name] = s.Batches
		sum.Calls, sum.Timed, sum.Free = sum.Calls+s.Calls, sum.Timed+s.Timed, sum.Free+s.Free
	}
	assert.Equal(t, want, got)
	assert.Equal(t, want.inverted, f.All.Of("first-fit").Batches)
	assert.Equal(t, recorded.Sums{Calls: f.All.Calls, Timed: f.All.Timed, Free: f.All.Free}, sum, "the formats are all of it")

	assert.Empty(t, f.KeyedSlower, "without a limit Keyed is slower than nothing that keeps the order")
	ten := f.All.Of("keyed").Limited[3]
	assert.LessOrEqual(t, float64(ten)/float64(f.All.Bound[3]), 1.02, "of the bound, at a limit of %d", recorded.Limits[3])
	assert.Equal(t, f.All.Of("keyed").Time, f.All.Free, "without a limit Keyed takes as long as the longest chain")
	for _, o := range f.All.Policies {
		assert.Equal(t, f.All.Of("serial").Time, o.Limited[0], "with one slot %s takes what serial does", o.Policy)
		if o.Ordered {
			assert.Zero(t, o.Pairs, o.Policy)
			assert.Equal(t, make([]int, len(recorded.Limits)), o.LimitedPairs, o.Policy)
		}
	}
}

func share(a, b time.Duration) string { return fmt.Sprintf("%.2f", float64(a)/float64(b)) }

func names(list []recorded.Slower) []string {
	var out []string
	for _, c := range list {
		out = append(out, c.Batch)
	}
	return out
}

// TestDeriveEndsAtABadBatch: figures of a part would look like those of the whole.
func TestDeriveEndsAtABadBatch(t *testing.T) {
	const good = `{"trace":"a","batch":1,"fmt":"opencode","calls":[{"i":0,"tool":"x","access":"read"}]}` + "\n"
	var long []string
	for i := range 4 {
		long = append(long, fmt.Sprintf(`{"i":%d,"tool":"x","access":"read","est_ms":3e12}`, i))
	}
	for text, want := range map[string]error{
		good + "{": trace.ErrLine,
		good + `{"trace":"a","batch":2,"fmt":"opencode","calls":[` + strings.Join(long, ",") + "]}": sim.ErrInput,
	} {
		f, err := recorded.Derive(trace.Read(strings.NewReader(text)))
		assert.Nil(t, f)
		assert.ErrorIs(t, err, want)
	}
}

// TestLooseIsWithoutWrites: a command that runs tests and commits is no read of the tree.
func TestLooseIsWithoutWrites(t *testing.T) {
	for classes, want := range map[string]int{
		`"test"`: 1, `"lint","fs-read"`: 1, `"build"`: 1, `"git-read"`: 2, `"test","git-write"`: 2, `"build","fs-write"`: 2, `"test","pkg"`: 2,
	} {
		f, err := recorded.Derive(trace.Read(strings.NewReader(`{"trace":"a","batch":1,"fmt":"opencode","calls":[` +
			`{"i":0,"access":"exclusive","sh":[` + classes + `]},{"i":1,"access":"read","keys":[{"k":"f1","m":"r"}]}]}`)))
		require.NoError(t, err)
		assert.Equal(t, []int{want, want}, []int{f.All.Loose[0].Steps, f.All.Loose[1].Steps}, classes)
	}
}

// TestStrictIsOfGuesses: what was judged by its command runs alone, and nothing else does.
func TestStrictIsOfGuesses(t *testing.T) {
	for call, want := range map[string]int{
		`"access":"read","sh":["fs-read"],"guess":true`: 2, `"access":"read","sh":["fs-read"]`: 1, `"access":"read"`: 1,
	} {
		f, err := recorded.Derive(trace.Read(strings.NewReader(`{"trace":"a","batch":1,"fmt":"opencode","calls":[` +
			`{"i":0,` + call + `},{"i":1,"access":"read","keys":[{"k":"f1","m":"r"}]}]}`)))
		require.NoError(t, err)
		assert.Equal(t, []int{1, want}, []int{f.All.Of("keyed").Steps, f.All.StrictOf("keyed").Steps}, call)
	}
}

func TestDeriveOfNothing(t *testing.T) {
	f, err := recorded.Derive(trace.Read(strings.NewReader("")))
	require.NoError(t, err)
	assert.Zero(t, f.All.Of("keyed").Time)
	assert.Len(t, f.All.Bound, len(recorded.Limits))
	assert.Zero(t, f.All.Of("nobody's"))
}
