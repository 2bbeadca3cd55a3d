package plan_test

import (
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/plan/plantest"
)

// A modelWorld is what calls work on. A call reads every cell that it claims when it starts, and writes those that it
// claims to write when it settles: a function of which call it is, of what was there and of everything it read. An
// exclusive call claims all there is.
type modelWorld map[string]string

func newModelWorld() modelWorld {
	w := modelWorld{}
	for _, cell := range []string{
		"a", "b", "/a", "t", "t/a", "t/b", "lib", "lib/a", "lib/a/x", "lib/a/y", "lib/b", "lib/ab", "library", "library/a", "li",
		"lib.go", "/lib", "lib//a", "é", "lib/\x00", "elsewhere",
	} {
		w[cell] = "new " + cell
	}
	return w
}

// touches reports whether c may read the cell and whether it may write it.
func touches(c plan.Call, cell string) (reads, writes bool) {
	if plantest.Exclusive(c) {
		return true, true
	}
	for _, cl := range c.Claims {
		if plantest.Overlap(cl, plan.Claim{Key: cell}) {
			reads = true
			writes = writes || cl.Access != plan.Read
		}
	}
	return reads, writes
}

// start returns what call c reads, which is its result.
func (w modelWorld) start(c plan.Call) string {
	h := fnv.New64a()
	for _, cell := range slices.Sorted(maps.Keys(w)) {
		if reads, _ := touches(c, cell); reads {
			h.Write([]byte(cell + "=" + w[cell] + "\n"))
		}
	}
	return strconv.FormatUint(h.Sum64(), 36)
}

// settle writes what call i makes of what it read.
func (w modelWorld) settle(i int, c plan.Call, read string) {
	for cell := range w {
		if _, writes := touches(c, cell); writes {
			w[cell] = strconv.Itoa(i) + " after " + read
		}
	}
}

// runSerially is the run that all others are measured by.
func runSerially(calls []plan.Call) (results []string, w modelWorld) {
	w = newModelWorld()
	for i, c := range calls {
		read := w.start(c)
		w.settle(i, c, read)
		results = append(results, read)
	}
	return results, w
}

// A modelRun is a run under an admission, with executions that overlap as much as it allows.
type modelRun struct {
	plan.Admission
	world    modelWorld
	calls    []plan.Call // as they started
	results  []string
	running  []int
	settled  []bool
	commits  int
	inverted bool // Reordered named somebody
}

func (r *modelRun) submit(c plan.Call) {
	r.Submit(c)
	r.calls, r.results, r.settled = append(r.calls, c), append(r.results, ""), append(r.settled, false)
}

func (r *modelRun) start(i int, c plan.Call) {
	r.calls[i] = c
	if r.Start(i, c) {
		r.inverted = r.inverted || len(r.Reordered(i)) > 0
		r.results[i] = r.world.start(c)
		r.running = append(r.running, i)
	}
}

func (r *modelRun) settle(k int) {
	i := r.running[k]
	r.running = slices.Delete(r.running, k, k+1)
	r.world.settle(i, r.calls[i], r.results[i])
	r.settled[i] = true
	r.Settle(i)
}

func (r *modelRun) due() bool { return r.commits < len(r.settled) && r.settled[r.commits] }

func (r *modelRun) commit() {
	r.Commit(r.commits)
	r.commits++
}

// serial reports whether the run ended as the serial one of the same calls.
func (r *modelRun) serial() bool {
	results, w := runSerially(r.calls)
	return slices.Equal(results, r.results) && maps.Equal(w, r.world)
}

// TestSerialEquivalence is the promise that everything else is for: under every admission that keeps the order, random
// batches in random orders of settling give the results and the world of the serial run. Where classes change at the
// start it holds too, or else Reordered said so; under Serial and Rolling it never has to.
func TestSerialEquivalence(t *testing.T) {
	for _, a := range admissions {
		if a.contracts&plantest.A2 == 0 {
			continue
		}
		for _, changing := range []bool{false, true} {
			name := a.name
			if changing {
				name += "/classes change"
			}
			t.Run(name, func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					r := randomRun(t, a.open(), changing)
					if r.inverted && (!changing || a.contracts&plantest.A3 != 0 || a.name == "Serial") {
						t.Fatalf("Reordered names a call, and nothing can have overtaken another")
					}
					if !r.inverted && !r.serial() {
						results, _ := runSerially(r.calls)
						t.Fatalf("not as in a serial run:\ncalls   %v\nresults %v\nserial  %v", r.calls, r.results, results)
					}
				})
			})
		}
	}
}

// randomRun submits, starts, settles and commits in a random order.
func randomRun(t *rapid.T, a plan.Admission, changing bool) *modelRun {
	batch := plantest.Batches(12).Draw(t, "batch")
	stream := rapid.Bool().Draw(t, "stream")
	r := &modelRun{Admission: a, world: newModelWorld()}
	for r.commits < len(batch) {
		for len(r.calls) < len(batch) && (!stream || rapid.Bool().Draw(t, "submit")) {
			r.submit(batch[len(r.calls)])
		}
		var offered []int
		for i, ok := r.Next(-1); ok; i, ok = r.Next(i) {
			offered = append(offered, i)
		}
		switch n := rapid.IntRange(0, 5).Draw(t, "what"); {
		case n < 3 && len(offered) > 0:
			i := rapid.SampledFrom(offered).Draw(t, "start")
			c := r.calls[i]
			if changing && rapid.IntRange(0, 3).Draw(t, "change") == 0 {
				c = plantest.Calls().Draw(t, "class")
			}
			r.start(i, c)
		case n < 5 && len(r.running) > 0:
			r.settle(rapid.IntRange(0, len(r.running)-1).Draw(t, "settle"))
		case r.due():
			r.commit()
		}
	}
	return r
}

// greedyRun starts whatever it can, then settles all that runs and commits all that is due, and so on.
func greedyRun(a plan.Admission, calls []plan.Call) *modelRun {
	r := &modelRun{Admission: a, world: newModelWorld()}
	for _, c := range calls {
		r.submit(c)
	}
	for r.commits < len(calls) {
		for i, ok := r.Next(-1); ok; i, ok = r.Next(-1) {
			r.start(i, calls[i])
		}
		for len(r.running) > 0 {
			r.settle(0)
		}
		for r.due() {
			r.commit()
		}
	}
	return r
}

// TestSerialEquivalenceFindsFirstFit turns the same check on FirstFit, which does not make the promise, and demands
// that it finds the smallest batch there is: a write, an exclusive call, and another write that slips in front of it.
func TestSerialEquivalenceFindsFirstFit(t *testing.T) {
	firstFit := func(calls []plan.Call) bool { return greedyRun(plan.NewFirstFit(), calls).serial() }
	for n := range 3 {
		everyBatch(plantest.Alphabet(), n, func(calls []plan.Call) {
			require.True(t, firstFit(calls), "a batch of %d: %v", n, calls)
		})
	}
	var found [][]plan.Call
	everyBatch(plantest.Alphabet(), 3, func(calls []plan.Call) {
		if !firstFit(calls) {
			found = append(found, slices.Clone(calls))
		}
	})
	writeA, writeB := keyed(plan.Claim{Key: "t/a"}), keyed(plan.Claim{Key: "t/b"})
	assert.Contains(t, found, []plan.Call{writeA, {}, writeB}, "the smallest batch with an exclusive call")
	for _, calls := range found {
		assert.Error(t, plan.VerifyOrdered(calls, plan.FirstFit(calls)), "%v", calls)
		for i := range calls {
			without := slices.Delete(slices.Clone(calls), i, i+1)
			assert.True(t, firstFit(without), "%v is smaller", without)
		}
	}
	for _, a := range admissions {
		if a.contracts&plantest.A2 == 0 {
			continue
		}
		for n := range 5 {
			everyBatch(plantest.Alphabet(), n, func(calls []plan.Call) {
				if !greedyRun(a.open(), calls).serial() {
					require.Fail(t, "not serial", "%s of %v", a.name, calls)
				}
			})
		}
	}
}
