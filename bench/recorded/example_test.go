package recorded_test

import (
	"fmt"
	"os"

	"github.com/keywave-go/keywave/bench/recorded"
	"github.com/keywave-go/keywave/bench/trace"
)

// How many steps two policies need.
func Example() {
	file, err := os.Open("../testdata/batches.jsonl")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	f, err := recorded.Derive(trace.Read(file))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d calls: %d steps in a rolling pool, %d in the keyed one\n",
		f.All.Calls, f.All.Of("rolling").Steps, f.All.Of("keyed").Steps)
	// Output: 1111 calls: 649 steps in a rolling pool, 588 in the keyed one
}
