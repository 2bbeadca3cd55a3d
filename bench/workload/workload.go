package workload

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/keywave-go/keywave/plan"
)

// A Workload is calls, and how long each takes.
type Workload struct {
	Name   string
	Params string // what it was made with, for people
	Calls  []plan.Call
	Takes  []time.Duration
}

// All returns one workload of every kind, or a few where a parameter matters, each of n calls.
func All(n int, seed uint64) []Workload {
	return []Workload{
		Reads(n, seed),
		Writes(n, seed),
		HotFile(n, 4, seed),
		Zipf(n, n/4, 10, seed),
		Bursts(n, 48, 16, seed),
		Exclusives(n, 16, seed),
		Exclusives(n, 128, seed),
		Exclusives(n, 1024, seed),
		Slow(n, 20, seed),
		Trees(n, 32, 20, seed),
	}
}

// Qualifies reports whether a limit can be made full use of, as far as exclusive and long calls go: in each stretch
// between exclusive calls no call takes longer than a tenth of what each slot has to do there, so that a stretch has at
// least 10 times as many calls as the limit. Keyed, which leaves no slot empty while a call may start, then takes at
// most a tenth longer than any schedule must, if there are no conflicts but with the exclusive calls, and at most a
// longest chain of conflicts longer if there are.
//
// That no call is long beside all of the work would not be enough, even if each stretch had many calls. What a slot
// idles at the end of a stretch, and beside an exclusive call, it idles once for every stretch: with calls of equal
// length, every 257th of them exclusive, and 32 slots, no schedule comes closer to an even share of the work than 1.12
// of it.
//
// The limit must be at least 1.
func (w Workload) Qualifies(limit int) bool {
	if limit < 1 || len(w.Calls) != len(w.Takes) {
		return false
	}
	var work, longest time.Duration
	for i, c := range w.Calls {
		if c.Exclusive() {
			if longest > work/time.Duration(10*limit) {
				return false
			}
			work, longest = 0, 0
			continue
		}
		work, longest = work+w.Takes[i], max(longest, w.Takes[i])
	}
	return longest <= work/time.Duration(10*limit)
}

// Reads is n reads of as many files.
func Reads(n int, seed uint64) Workload {
	m := newMaker("reads", seed, "%d files", n)
	for i := range n {
		m.add(file(i, plan.Read))
	}
	return m.Workload
}

// Writes is n writes of as many files.
func Writes(n int, seed uint64) Workload {
	m := newMaker("writes", seed, "%d files", n)
	for i := range n {
		m.add(file(i, plan.Write))
	}
	return m.Workload
}

// HotFile is n calls for one file, every k-th of them a write and the rest reads.
func HotFile(n, k int, seed uint64) Workload {
	k = max(1, k)
	m := newMaker("hot file", seed, "1 file, every %dth call a write", k)
	for i := range n {
		a := plan.Read
		if i%k == 0 {
			a = plan.Write
		}
		m.add(file(0, a))
	}
	return m.Workload
}

// Zipf is n calls for files of which some are far more popular than others, a few percent of them writes.
func Zipf(n, files, percent int, seed uint64) Workload {
	files = max(1, files)
	m := newMaker("zipf", seed, "%d files, exponent 1.1, %d %% writes", files, percent)
	z := rand.NewZipf(m.r, 1.1, 8, uint64(files-1))
	for range n {
		a := plan.Read
		if m.r.IntN(100) < percent {
			a = plan.Write
		}
		m.add(file(int(z.Uint64()), a))
	}
	return m.Workload
}

// Bursts is n calls: so many reads, then so many writes, and again. All are of as many files as there are in both.
func Bursts(n, reads, writes int, seed uint64) Workload {
	reads, writes = max(1, reads), max(0, writes)
	m := newMaker("bursts", seed, "%d reads, %d writes, of %d files", reads, writes, reads+writes)
	for i := range n {
		a := plan.Read
		if i%(reads+writes) >= reads {
			a = plan.Write
		}
		m.add(file(m.r.IntN(reads+writes), a))
	}
	return m.Workload
}

// Exclusives is n reads, with an exclusive call in the place of every k-th.
func Exclusives(n, k int, seed uint64) Workload {
	k = max(1, k)
	m := newMaker("exclusives", seed, "every %dth call exclusive", k)
	for i := range n {
		if i%k == k-1 {
			m.add(plan.Call{})
		} else {
			m.add(file(i, plan.Read))
		}
	}
	return m.Workload
}

// Slow is n reads, of which the one in the middle takes so many percent of all the time.
func Slow(n, percent int, seed uint64) Workload {
	percent = max(0, min(percent, 99))
	m := newMaker("slow call", seed, "one takes %d %% of all the time", percent)
	var rest time.Duration
	for i := range n {
		m.add(file(i, plan.Read))
		rest += m.Takes[i]
	}
	if n > 0 {
		rest -= m.Takes[n/2]
		m.Takes[n/2] = rest / time.Duration(100-percent) * time.Duration(percent)
	}
	return m.Workload
}

// Trees is n calls in so many directories of 16 files: a few percent of them search a directory, as many again write a
// file, one in 100 rewrites all of a directory, and the rest read a file.
func Trees(n, dirs, percent int, seed uint64) Workload {
	dirs = max(1, dirs)
	m := newMaker("trees", seed, "%d directories, %d %% searches, %d %% writes, 1 %% rewrites", dirs, percent, percent)
	for range n {
		dir := fmt.Sprintf("d%d", m.r.IntN(dirs))
		c := plan.Claim{Key: fmt.Sprintf("%s/f%d", dir, m.r.IntN(16)), Access: plan.Read}
		switch p := m.r.IntN(100); {
		case p < 1:
			c = plan.Claim{Key: dir, Tree: true}
		case p < 1+percent:
			c = plan.Claim{Key: dir, Tree: true, Access: plan.Read}
		case p < 1+2*percent:
			c.Access = plan.Write
		}
		m.add(plan.Call{Safe: true, Claims: []plan.Claim{c}})
	}
	return m.Workload
}

// A maker makes a workload. Calls take from 10 to 100 milliseconds.
type maker struct {
	Workload
	r *rand.Rand
}

func newMaker(name string, seed uint64, params string, args ...any) *maker {
	return &maker{Workload{Name: name, Params: fmt.Sprintf(params, args...)}, rand.New(rand.NewPCG(seed, 0))}
}

func (m *maker) add(c plan.Call) {
	m.Calls = append(m.Calls, c)
	m.Takes = append(m.Takes, time.Duration(10+m.r.IntN(91))*time.Millisecond)
}

func file(i int, a plan.Access) plan.Call {
	return plan.Call{Safe: true, Claims: []plan.Claim{{Key: fmt.Sprintf("d%d/f%d", i%16, i), Access: a}}}
}
