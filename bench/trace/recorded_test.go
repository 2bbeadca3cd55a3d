package trace_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/bench/sim"
)

// trimmed is the part of the recorded batches that lies here.
const trimmed = "../testdata/batches.jsonl"

// Known is what a set of recorded batches comes to. Shares are of the time of serial.
type known struct {
	batches, calls, timed, mixed int
	steps                        map[string]int
	loose                        int
	shares, mixedShares          map[string]string // to two digits
	inversions                   map[string]int
	wavesSlower                  []string
	anomalies                    map[int][]string // by limit: batches in which keyed is slower than waves or rolling
}

// Here is what the trimmed set comes to.
var here = known{
	batches: 338, calls: 1111, timed: 321, mixed: 132,
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
	inversions:  map[string]int{"first-fit": 107, "locks": 107, "at-once": 423},
	wavesSlower: []string{"cp0003/17"},
	anomalies:   map[int][]string{4: {"cc0340/1"}},
}

// Whole is what all that was recorded comes to. Whoever recorded it got the same from a program of their own, but for
// the steps of the waves, of which they have 12,181. The 4 that are more here are among the 5 batches in which one call
// writes a directory, most often to make it, and a later one a file in there: to package plan the two conflict.
var whole = known{
	batches: 9375, calls: 28419, timed: 9092, mixed: 2137,
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
	inversions:  map[string]int{"first-fit": 107, "locks": 107, "at-once": 5537},
	wavesSlower: []string{"cp0003/17"},
	anomalies:   map[int][]string{4: {"cc0340/1"}},
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
	f := derive(t, read(t, path))
	t.Log(f)
	got := known{
		batches: f.batches, calls: f.calls, timed: f.timed, mixed: f.timedMixed,
		steps: f.steps, loose: f.looseSteps,
		shares: map[string]string{}, mixedShares: map[string]string{},
		inversions: f.inversions, wavesSlower: names(f.wavesSlower), anomalies: map[int][]string{},
	}
	for p := range want.shares {
		got.shares[p] = fmt.Sprintf("%.2f", ratio(f.times[p], f.times["serial"]))
		got.mixedShares[p] = fmt.Sprintf("%.2f", ratio(f.mixedTimes[p], f.mixedTimes["serial"]))
	}
	for limit, list := range f.anomalies {
		if len(list) > 0 {
			got.anomalies[limit] = names(list)
		}
	}
	assert.Equal(t, want, got)

	assert.Empty(t, f.keyedSlower, "without a limit Keyed is slower than nothing that keeps the order")
	assert.LessOrEqual(t, ratio(f.limited[10]["keyed"], f.lower[10]), 1.02, "of the bound, at a limit of 10")
	for _, p := range sim.Policies() {
		if p.Ordered {
			assert.Zero(t, f.inversions[p.Name], p.Name)
		}
		assert.Equal(t, f.times["serial"], f.limited[1][p.Name], "with one slot %s takes what serial does", p.Name)
	}
}

func names(list []comparison) []string {
	var out []string
	for _, c := range list {
		out = append(out, c.batch)
	}
	return out
}
