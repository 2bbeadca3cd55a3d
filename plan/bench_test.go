package plan_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/keywave-go/keywave/plan"
)

// The workloads of the speed contract, by name. Each makes n calls.
var workloads = []struct {
	name      string
	published bool // within the reach of the published first-fit: at most one plain write a call
	make      func(n int) []plan.Call
}{
	{"keyless", true, func(n int) []plan.Call {
		return calls(n, func(int) plan.Call { return plan.Call{Safe: true} })
	}},
	{"distinct", true, func(n int) []plan.Call {
		return calls(n, func(i int) plan.Call { return keyed(plan.Claim{Key: fmt.Sprintf("dir/file%d", i)}) })
	}},
	{"hot", true, func(n int) []plan.Call {
		return calls(n, func(int) plan.Call { return keyed(plan.Claim{Key: "dir/file"}) })
	}},
	{"zipf", true, func(n int) []plan.Call {
		z := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.2, 1, 1<<16)
		return calls(n, func(int) plan.Call { return keyed(plan.Claim{Key: fmt.Sprintf("dir/file%d", z.Uint64())}) })
	}},
	{"alternating", true, func(n int) []plan.Call {
		return calls(n, func(i int) plan.Call {
			if i%2 == 1 {
				return plan.Call{}
			}
			return keyed(plan.Claim{Key: fmt.Sprintf("dir/file%d", i)})
		})
	}},
	{"readwrite", false, func(n int) []plan.Call {
		r := rand.New(rand.NewPCG(3, 4))
		z := rand.NewZipf(r, 1.2, 1, 1<<16)
		return calls(n, func(int) plan.Call {
			a := plan.Read
			if r.IntN(4) == 0 {
				a = plan.Write
			}
			return keyed(plan.Claim{Key: fmt.Sprintf("dir/file%d", z.Uint64()), Access: a})
		})
	}},
	{"trees6", false, func(n int) []plan.Call {
		r := rand.New(rand.NewPCG(5, 6))
		return calls(n, func(int) plan.Call {
			key := "root"
			depth := 5
			tree := r.IntN(8) == 0
			if tree {
				depth = 1 + r.IntN(5)
			}
			for range depth {
				key += fmt.Sprintf("/d%d", r.IntN(8))
			}
			return keyed(plan.Claim{Key: key, Access: plan.Access(r.IntN(2)), Tree: tree})
		})
	}},
}

func calls(n int, one func(i int) plan.Call) []plan.Call {
	cs := make([]plan.Call, n)
	for i := range cs {
		cs[i] = one(i)
	}
	return cs
}

func keyed(claims ...plan.Claim) plan.Call { return plan.Call{Safe: true, Claims: claims} }

var sizes = []int{8, 64, 512, 4096, 65536}

func perCall(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/call")
}

func BenchmarkOrdered(b *testing.B) { benchPlanner(b, (*plan.Planner).Ordered, false) }

func BenchmarkFirstFit(b *testing.B) { benchPlanner(b, (*plan.Planner).FirstFit, true) }

func benchPlanner(b *testing.B, run func(*plan.Planner, []plan.Call) plan.Plan, publishedOnly bool) {
	for _, w := range workloads {
		if publishedOnly && !w.published {
			continue
		}
		for _, n := range sizes {
			b.Run(fmt.Sprintf("%s/%d", w.name, n), func(b *testing.B) {
				batch := w.make(n)
				var p plan.Planner
				run(&p, batch)
				b.ReportAllocs()
				for b.Loop() {
					run(&p, batch)
				}
				perCall(b, n)
			})
		}
	}
}

// BenchmarkExplain has few calls of many claims, of which only the last of each meet.
func BenchmarkExplain(b *testing.B) {
	const n = 64
	for _, claims := range []int{16, 256, 4096} {
		b.Run(fmt.Sprintf("%d-claims", claims), func(b *testing.B) {
			p := plan.Ordered(calls(n, func(i int) plan.Call {
				c := plan.Call{Safe: true}
				for k := range claims - 1 {
					c.Claims = append(c.Claims, plan.Claim{Key: fmt.Sprintf("dir%d/file%d", i, k)})
				}
				c.Claims = append(c.Claims, plan.Claim{Key: "hot"})
				return c
			}))
			b.ReportAllocs()
			for b.Loop() {
				p.Explain()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n*claims), "ns/claim")
		})
	}
}

// BenchmarkAdmission takes every call of a batch through Submit, Next, Start, Settle and Commit.
func BenchmarkAdmission(b *testing.B) {
	for _, a := range []struct {
		name string
		make func() plan.Admission
	}{
		{"serial", plan.NewSerial}, {"rolling", plan.NewRolling}, {"waves", plan.NewWaves},
		{"firstfit", plan.NewFirstFit}, {"keyed", plan.NewKeyed},
	} {
		for _, w := range workloads {
			for _, n := range sizes {
				b.Run(fmt.Sprintf("%s/%s/%d", a.name, w.name, n), func(b *testing.B) {
					batch := w.make(n)
					b.ReportAllocs()
					for b.Loop() {
						drive(a.make(), batch)
					}
					perCall(b, n)
				})
			}
		}
	}
}

// drive runs a batch with at most 8 calls at once, settling the oldest first.
func drive(a plan.Admission, batch []plan.Call) {
	claims := 0
	for i := range batch {
		claims += len(batch[i].Claims)
	}
	a.(plan.Grower).Grow(len(batch), claims)
	for _, c := range batch {
		a.Submit(c)
	}
	settled := make([]bool, len(batch))
	committed := 0
	running := make([]int, 0, 8)
	for committed < len(batch) {
		for len(running) < 8 {
			i, ok := a.Next(-1)
			if !ok || !a.Start(i, batch[i]) {
				break
			}
			running = append(running, i)
		}
		i := running[0]
		running = append(running[:0], running[1:]...)
		a.Settle(i)
		settled[i] = true
		for committed < len(batch) && settled[committed] {
			a.Commit(committed)
			committed++
		}
	}
}
