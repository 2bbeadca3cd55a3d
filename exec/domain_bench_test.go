package exec_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// held has a Domain be used for a request that need not wait.
func held(tb testing.TB, d exec.Domain, r exec.Request) {
	l, err := d.Acquire(context.Background(), r)
	if err != nil {
		tb.Fatal(err)
	}
	l.Release()
}

// files makes a request of n claims, on files three directories deep.
func files(n int) exec.Request {
	r := exec.Request{By: exec.Caller{Lane: "A"}}
	for i := range n {
		r.Claims = append(r.Claims, plan.Claim{Key: fmt.Sprintf("src/lib/pkg%d/file.go", i), Access: plan.Access(i % 2)})
	}
	return r
}

// BenchmarkDomainAcquire is one Acquire and Release that nobody is in the way of, without any claim on a tree in the
// Domain and with one, beside others that are held and within a lease.
func BenchmarkDomainAcquire(b *testing.B) {
	for _, n := range []int{0, 1, 8, 64} {
		r := files(n)
		b.Run(fmt.Sprintf("claims=%d", n), func(b *testing.B) {
			d := exec.NewDomain()
			b.ReportAllocs()
			for b.Loop() {
				held(b, d, r)
			}
		})
		b.Run(fmt.Sprintf("claims=%d/held=1000", n), func(b *testing.B) {
			d := exec.NewDomain()
			for i := range 1000 {
				if _, err := d.Acquire(b.Context(), exec.Request{Claims: writes(fmt.Sprint("held/", i)).Claims}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				held(b, d, r)
			}
		})
		b.Run(fmt.Sprintf("claims=%d/trees", n), func(b *testing.B) {
			d := exec.NewDomain()
			if _, err := d.Acquire(b.Context(), exec.Request{Claims: tree("src/other").Claims}); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				held(b, d, r)
			}
		})
		b.Run(fmt.Sprintf("claims=%d/nested", n), func(b *testing.B) {
			l, err := exec.NewDomain().Acquire(b.Context(), exec.Request{Claims: tree("src").Claims})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				held(b, l, r)
			}
		})
	}
}

// BenchmarkDomainParallel has all processors take leases of one Domain, on a key of their own each and on the same one.
func BenchmarkDomainParallel(b *testing.B) {
	for _, kind := range []string{"distinct", "hot"} {
		b.Run(kind, func(b *testing.B) {
			d := exec.NewDomain()
			var n atomic.Int64
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				r := exec.Request{Claims: writes("key").Claims}
				if kind == "distinct" {
					r.Claims[0].Key += fmt.Sprint(n.Add(1))
				}
				for pb.Next() {
					held(b, d, r)
				}
			})
		})
	}
}

// BenchmarkDomainDrain has n goroutines wait for one key and be served, one after the other: the time that each takes,
// most of it to be woken with a stack that no cache has any more. BenchmarkDomainLine is about the Domain alone.
func BenchmarkDomainDrain(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var drain time.Duration
			for b.Loop() {
				d := exec.NewDomain()
				first, err := d.Acquire(b.Context(), exec.Request{Claims: writes("key").Claims})
				if err != nil {
					b.Fatal(err)
				}
				var waiting, served sync.WaitGroup
				waiting.Add(n)
				for range n {
					served.Go(func() {
						told := false
						held(b, d, exec.Request{Claims: writes("key").Claims, Blocked: func(exec.Block) {
							if !told {
								told = true
								waiting.Done()
							}
						}})
					})
				}
				waiting.Wait()
				begin := time.Now()
				first.Release()
				served.Wait()
				drain += time.Since(begin)
			}
			b.ReportMetric(float64(drain)/float64(b.N*n), "ns/waiter")
		})
	}
}

// BenchmarkRunIn compares a batch whose calls take a key each from a Domain with the same one without, turn and turn
// about in one run: x-without is the ratio of the times. allocs/call are those with; ns/op is of both together.
func BenchmarkRunIn(b *testing.B) {
	for _, a := range admissions[2:] {
		for _, n := range []int{8, 64, 512} {
			b.Run(fmt.Sprintf("%s/%d", a.name, n), func(b *testing.B) {
				calls := batch("distinct", n)
				in := exec.In(exec.NewDomain())
				var with, without time.Duration
				for b.Loop() {
					t0 := time.Now()
					run(b, calls, exec.Admit(a.open), in)
					t1 := time.Now()
					run(b, calls, exec.Admit(a.open))
					with += t1.Sub(t0)
					without += time.Since(t1)
				}
				b.ReportMetric(float64(with)/float64(without), "x-without")
				b.ReportMetric(float64(with)/float64(b.N*n), "ns/call")
				allocs := testing.AllocsPerRun(10, func() { run(b, calls, exec.Admit(a.open), in) })
				b.ReportMetric(allocs/float64(n), "allocs/call")
			})
		}
	}
}
