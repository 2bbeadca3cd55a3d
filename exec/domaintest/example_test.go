package domaintest_test

import (
	"testing"
	"time"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/exec/domaintest"
)

// A test of a Domain that lives in this process, and of one that is reached by a connection.
func ExampleRun() {
	_ = func(t *testing.T) {
		domaintest.Run(t, func(testing.TB) exec.Domain { return exec.NewDomain() })
	}
	_ = func(t *testing.T) {
		dial := func(t testing.TB) exec.Domain {
			d := exec.NewDomain() // as if it were a client of a server that this starts
			t.Cleanup(func() { _ = d })
			return d
		}
		domaintest.Run(t, dial, domaintest.Live(20*time.Millisecond))
	}
}
