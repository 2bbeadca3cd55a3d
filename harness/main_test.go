package harness_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childLog); path != "" {
		child(path) // see crash_test.go; it does not return
	}
	goleak.VerifyTestMain(m)
}
