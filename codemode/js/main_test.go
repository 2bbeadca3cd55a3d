package js_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/keywave-go/keywave/codemode/js"
)

func TestMain(m *testing.M) {
	js.Worker()
	goleak.VerifyTestMain(m)
}
