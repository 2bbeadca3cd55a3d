package plan_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// TestMain asks rapid for more than its hundred tries, a fifth of them under -short: planning is fast.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		flag.Set("rapid.checks", "3000")
	}
	flag.Set("rapid.shrinktime", "1s")
	goleak.VerifyTestMain(m)
}
