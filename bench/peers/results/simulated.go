package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/keywave-go/keywave/bench/recorded"
	"github.com/keywave-go/keywave/bench/sim"
	"github.com/keywave-go/keywave/bench/trace"
	"github.com/keywave-go/keywave/bench/workload"
	"github.com/keywave-go/keywave/plan"
)

// simulated is whatever is derived in virtual time, anew each time.
type simulated struct {
	five      []time.Duration // the makespans of the batch of five, by policy
	synthetic []synthetic
	chosen    int               // so many of them are of workload.All; the others show where it cannot hold
	here      *recorded.Figures // of the recorded batches in the repository
	inverted  trace.Batch       // the smallest of them that first-fit inverts
}

// The size and seed of the synthetic workloads.
const (
	syntheticCalls = 8192
	syntheticSeed  = 1
)

// A synthetic is one workload at all limits.
type synthetic struct {
	workload.Workload
	longest   time.Duration
	exclusive int
	work      time.Duration
	limits    []atLimit // as recorded.Limits
}

// An atLimit is a workload at one limit.
type atLimit struct {
	lower, apart time.Duration
	qualifies    bool            // to be held to 1.10 of the bound
	by           []time.Duration // makespans, by policy
	inverted     int             // pairs, of all policies that promise that there are none
}

// simulate derives all of it.
func simulate(root string) (simulated, error) {
	var s simulated
	if err := s.replay(filepath.Join(root, batchesFile)); err != nil {
		return s, err
	}
	for _, p := range sim.Policies() {
		calls, takes := five()
		r, err := p.Run(calls, takes, sim.Config{})
		if err != nil {
			return s, err
		}
		s.five = append(s.five, r.Makespan)
	}
	all := workload.All(syntheticCalls, syntheticSeed)
	s.chosen = len(all)
	all = append(all, workload.Exclusives(syntheticCalls, 257, syntheticSeed), workload.Exclusives(syntheticCalls, 512, syntheticSeed))
	for _, w := range all {
		one, err := simulateWorkload(w)
		if err != nil {
			return s, fmt.Errorf("%s (%s): %w", w.Name, w.Params, err)
		}
		s.synthetic = append(s.synthetic, one)
	}
	return s, nil
}

// batchesFile has the recorded batches that are in the repository.
const batchesFile = "bench/testdata/batches.jsonl"

// replay derives what those come to.
func (s *simulated) replay(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if s.here, err = recorded.Derive(trace.Read(bytes.NewReader(text))); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	inverted := map[string]bool{}
	for _, i := range s.here.Inverted {
		inverted[i.Batch] = true
	}
	for b, err := range trace.Read(bytes.NewReader(text)) {
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if inverted[recorded.ID(b)] && (s.inverted.Calls == nil || len(b.Calls) < len(s.inverted.Calls)) {
			s.inverted = b
		}
	}
	return nil
}

// five is the batch that the README compares admissions by: edit a, read b, edit a, read c, read a.
func five() ([]plan.Call, []time.Duration) {
	claim := func(key string, a plan.Access) plan.Call {
		return plan.Call{Safe: true, Claims: []plan.Claim{{Key: key, Access: a}}}
	}
	const ms = time.Millisecond
	return []plan.Call{
		claim("a", plan.Write), claim("b", plan.Read), claim("a", plan.Write), claim("c", plan.Read), claim("a", plan.Read),
	}, []time.Duration{50 * ms, 300 * ms, 50 * ms, 50 * ms, 50 * ms}
}

func simulateWorkload(w workload.Workload) (synthetic, error) {
	s := synthetic{Workload: w}
	bound, err := sim.BoundOf(w.Calls, w.Takes)
	if err != nil {
		return s, err
	}
	s.work = bound.Work
	for i, c := range w.Calls {
		s.longest = max(s.longest, w.Takes[i])
		if c.Exclusive() {
			s.exclusive++
		}
	}
	for _, l := range recorded.Limits {
		at := atLimit{lower: bound.Lower(l), apart: bound.Apart(l), qualifies: w.Qualifies(l)}
		for _, p := range sim.Policies() {
			r, err := p.Run(w.Calls, w.Takes, sim.Config{Limit: l})
			if err != nil {
				return s, err
			}
			at.by = append(at.by, r.Makespan)
			if p.Ordered { // to count those of the others takes long, and says little of batches as large as these
				at.inverted += r.Inversions(0).Pairs
			}
		}
		s.limits = append(s.limits, at)
	}
	return s, nil
}

// loosely reports whether a limit of a workload would count if only the number of calls in a stretch and the longest
// call beside all of the work did.
func (s synthetic) loosely(limit int) bool {
	bound, err := sim.BoundOf(s.Calls, s.Takes)
	if err != nil || s.longest > s.work/time.Duration(10*limit) {
		return false
	}
	for _, n := range bound.Stretches() {
		if n > 0 && n < 4*limit {
			return false
		}
	}
	return true
}

// whole is what is kept of recorded batches that are not in the repository.
type whole struct {
	SHA256  string            `json:"sha256"` // of the file
	Bytes   int               `json:"bytes"`
	Limits  []int             `json:"limits"`
	Figures *recorded.Figures `json:"figures"`
}

// deriveRecorded derives the figures of a file, as they are kept.
func deriveRecorded(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("KEYWAVE_TRACES: %w", err)
	}
	f, err := recorded.Derive(trace.Read(bytes.NewReader(text)))
	if err != nil {
		return nil, fmt.Errorf("KEYWAVE_TRACES: %w", err)
	}
	sum := sha256.Sum256(text)
	kept, err := json.MarshalIndent(whole{hex.EncodeToString(sum[:]), len(text), recorded.Limits, f}, "", "\t")
	return append(kept, '\n'), err
}

func readRecorded(text []byte) (*whole, error) {
	w := new(whole)
	if err := json.Unmarshal(text, w); err != nil {
		return nil, fmt.Errorf("%s: %w", recordedFile, err)
	}
	if w.Figures == nil || fmt.Sprint(w.Limits) != fmt.Sprint(recorded.Limits) {
		return nil, fmt.Errorf("%s: it has not the figures that are shown: derive them again, with KEYWAVE_TRACES", recordedFile)
	}
	return w, nil
}
