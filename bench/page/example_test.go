package page_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/keywave-go/keywave/bench/page"
	"github.com/keywave-go/keywave/bench/replay"
)

// The page of a report is one file, which is opened in a browser.
func ExampleWrite() {
	r := &replay.Report{
		Version: replay.Version,
		Total: replay.Figures{
			Turns: 1, Batches: 1, Calls: 5, Timed: 1, Bound: 300,
			Policies: []replay.Outcome{
				{Policy: "serial", Ordered: true, Steps: 5, Time: 500},
				{Policy: "rolling", Ordered: true, Steps: 4, Time: 450},
				{Policy: "keyed", Ordered: true, Steps: 3, Time: 300},
				{Policy: "at-once", Steps: 1, Time: 300, Inverted: replay.Inverted{Batches: 1, Calls: 2, Pairs: 3, Keyed: 3}},
			},
		},
	}
	var file bytes.Buffer
	if err := page.Write(&file, r); err != nil {
		fmt.Println(err)
		return
	}
	title := regexp.MustCompile(`<h1>.*</h1>`).FindString(file.String())
	fmt.Println(strings.ReplaceAll(title, "\u00a0", " ")) // numbers and their units stay on one line
	// Output:
	// <h1>Keyed saves 40.0 % against one call after another, and 33.3 % against the rolling pool</h1>
}
