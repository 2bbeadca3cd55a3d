package trace_test

import (
	"fmt"
	"os"

	"github.com/keywave-go/keywave/bench/sim"
	"github.com/keywave-go/keywave/bench/trace"
	"github.com/keywave-go/keywave/plan"
)

// What the recorded batches would have taken.
func Example() {
	f, err := os.Open("../testdata/batches.jsonl")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	var serial, keyed, n int64
	for b, err := range trace.Read(f) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		if !b.Timed() {
			continue
		}
		r, err := sim.Run(plan.NewKeyed(), b.Plan(), b.Takes(), sim.Config{Limit: 10})
		if err != nil {
			fmt.Println(err)
			return
		}
		n++
		serial += int64(r.Work)
		keyed += int64(r.Makespan)
	}
	fmt.Printf("%d batches in %.0f%% of the time\n", n, 100*float64(keyed)/float64(serial))
	// Output: 321 batches in 83% of the time
}
