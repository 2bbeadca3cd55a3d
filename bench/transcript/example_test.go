package transcript_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/keywave-go/keywave/bench/transcript"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/rules"
)

// What a session asked for, and what of it could have run together.
func Example() {
	var report transcript.Report
	for batch, err := range transcript.ReadFile(filepath.Join("testdata", "claude_code_same_file_edits.jsonl"), &report) {
		if err != nil {
			fmt.Println(err)
			return
		}
		calls := make([]tool.Call, len(batch.Calls))
		for i, c := range batch.Calls {
			calls[i] = c.Call
		}
		where := rules.Where{Agent: string(batch.Format), Dir: batch.Dir}
		var planned []plan.Call
		var alone []bool // as the agent ran them
		for _, d := range rules.Default().Calls(where, calls) {
			planned = append(planned, d.Call)
			alone = append(alone, d.Exclusive() || slices.ContainsFunc(d.Claims, func(c plan.Claim) bool { return c.Access == plan.Write }))
		}
		for i, c := range planned {
			took, _ := batch.Took(i, alone)
			fmt.Println(batch.Calls[i].Name, c.Claims, took)
		}
		fmt.Println(plan.Ordered(planned).Waves())
	}
	fmt.Println(report.Batches, "batch,", report.Calls, "calls,", len(report.Problems), "problems")
	// Output:
	// Edit [write file/home/user/project/d1/d2/d3/d4/d5/f1.go] 29.328s
	// Edit [write file/home/user/project/d1/d2/d3/d4/d5/f1.go] 7.26s
	// [[0] [1]]
	// 1 batch, 2 calls, 0 problems
}

// A log that is not as it should be: what is wrong is told, and the rest is read.
func ExampleRead() {
	log := strings.NewReader(`{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"read"}},{"id":"2","function":{"name":"list"}}]}
{"role":"tool","tool_call_id":"2"}
{"role":"tool","tool_call_id":"7"}
{"role":"tool","tool_ca`)
	var report transcript.Report
	for batch := range transcript.Read(log, &report) {
		for _, c := range batch.Calls {
			fmt.Println(c.Name, c.Outcome)
		}
	}
	for _, p := range report.Problems {
		fmt.Println(p)
	}
	// Output:
	// read unanswered
	// list succeeded
	// torn end at line 4
	// result without call at line 3
	// call still open at line 1
}

// How good the times of a format are.
func ExampleFormat_Clock() {
	clock := transcript.Pi.Clock()
	fmt.Println(clock.Quality)
	fmt.Println(clock.Text)
	// Output:
	// tail only
	// Calls run one by one and only their results have a time: a call took what passed since the result before it.
}

// The transcripts below a directory.
func ExampleFiles() {
	for name, err := range transcript.Files("testdata") {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		if strings.HasPrefix(filepath.Base(name), "o") {
			fmt.Println(filepath.ToSlash(name))
		}
	}
	// Output:
	// testdata/openai_messages.json
	// testdata/opencode_export.json
}
