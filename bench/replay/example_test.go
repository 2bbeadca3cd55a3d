package replay_test

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/keywave-go/keywave/bench/replay"
)

// What recorded sessions would have taken, and which of their calls would have changed places.
func Example() {
	path := "../testdata/batches.jsonl"
	report, err := replay.Run(context.Background(), []replay.Source{{
		Name: "batches.jsonl",
		Open: func() (io.ReadCloser, error) { return os.Open(path) },
	}}, replay.Options{Limit: 10, Largest: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	total := report.Total
	fmt.Println(total.Batches, "batches,", total.Calls, "calls,", total.Timed, "of the batches timed")
	for _, p := range total.Policies {
		fmt.Printf("%-9s %4d steps %3.0f%% of the time %4d inversions\n",
			p.Policy, p.Steps, 100*p.Time/total.Policies[0].Time, p.Inverted.Pairs)
	}
	for _, tool := range report.Tools[:2] {
		fmt.Printf("%s would save %d steps as a read of everything\n", tool.Tool, tool.AsRead.Steps)
	}
	// Output:
	// 338 batches, 1111 calls, 321 of the batches timed
	// serial    1111 steps 100% of the time    0 inversions
	// windows    649 steps  87% of the time    0 inversions
	// read-runs  649 steps  87% of the time    0 inversions
	// rolling    649 steps  87% of the time    0 inversions
	// waves      588 steps  83% of the time    0 inversions
	// keyed      588 steps  83% of the time    0 inversions
	// first-fit  518 steps  80% of the time  107 inversions
	// locks      518 steps  79% of the time  107 inversions
	// at-once    338 steps  64% of the time  423 inversions
	// exec_command would save 164 steps as a read of everything
	// Bash would save 33 steps as a read of everything
}
