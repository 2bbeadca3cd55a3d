package sim_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/plan/plantest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

func reads(keys ...string) plan.Call {
	c := plan.Call{Safe: true}
	for _, k := range keys {
		c.Claims = append(c.Claims, plan.Claim{Key: k, Access: plan.Read})
	}
	return c
}

func writes(keys ...string) plan.Call {
	c := plan.Call{Safe: true}
	for _, k := range keys {
		c.Claims = append(c.Claims, plan.Claim{Key: k})
	}
	return c
}

var exclusive = plan.Call{}

// apart draws durations for n calls such that no two calls of any schedule end at the same instant: a call ends when
// those of a chain of calls, and it, have been through, and no two chains are of the same length.
func apart(t *rapid.T, n int) []time.Duration {
	takes := make([]time.Duration, n)
	for i := range takes {
		takes[i] = time.Duration(rapid.IntRange(0, 20).Draw(t, "units"))<<n + 1<<i
	}
	return takes
}

// batches draws calls of plantest, among them such as make chains, and durations that may be equal or zero.
func batches(t *rapid.T, n int) ([]plan.Call, []time.Duration) {
	calls := plantest.Batches(n).Draw(t, "batch")
	takes := make([]time.Duration, len(calls))
	for i := range takes {
		takes[i] = time.Duration(rapid.IntRange(0, 5).Draw(t, "takes"))
	}
	return calls, takes
}
