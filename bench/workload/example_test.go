package workload_test

import (
	"fmt"
	"time"

	"github.com/keywave-go/keywave/bench/sim"
	"github.com/keywave-go/keywave/bench/workload"
)

// One hot file, under three policies.
func Example() {
	w := workload.HotFile(1000, 4, 1)
	fmt.Printf("%s: %s\n", w.Name, w.Params)
	for _, name := range []string{"serial", "rolling", "keyed"} {
		p, err := sim.PolicyOf(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		r, err := p.Run(w.Calls, w.Takes, sim.Config{Limit: 8})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%-8s %v\n", name, r.Makespan.Round(time.Second))
	}
	// Output:
	// hot file: 1 file, every 4th call a write
	// serial   55s
	// rolling  33s
	// keyed    33s
}
