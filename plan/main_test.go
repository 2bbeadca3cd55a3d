package plan_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// TestMain asks rapid for more than its hundred tries: planning is fast.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given && !testing.Short() {
		flag.Set("rapid.checks", "1000")
	}
	goleak.VerifyTestMain(m)
}
