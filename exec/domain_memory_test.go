//go:build !race

// The race detector takes memory of its own.

package exec_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// The usual request, one claim that nobody is in the way of, is one piece of memory or two, wherever it competes.
func TestDomainAllocations(t *testing.T) {
	empty, busy, planted := exec.NewDomain(), exec.NewDomain(), exec.NewDomain()
	take(t, busy, writes("a", "b", "c"))
	outer := take(t, planted, tree("src"))
	for name, d := range map[string]exec.Domain{"empty": empty, "busy": busy, "nested": outer} {
		for _, c := range []plan.Call{free, writes("src/x"), reads("src/x")} {
			got := testing.AllocsPerRun(1000, func() { held(t, d, exec.Request{By: exec.Caller{Lane: "A"}, Claims: c.Claims}) })
			most := 2.0
			if name == "nested" && len(c.Claims) > 0 {
				most++
			}
			assert.LessOrEqual(t, got, most, "%s %v", name, c.Claims)
		}
	}
}

// A batch in a Domain costs little more memory than without one: its lane uses the leases of its calls again.
func TestDomainRunAllocations(t *testing.T) {
	d := exec.NewDomain()
	for _, a := range admissions[2:] {
		for _, n := range []int{64, 512} {
			calls := batch("distinct", n)
			got := testing.AllocsPerRun(20, func() { run(t, calls, exec.Admit(a.open), exec.In(d)) }) / float64(n)
			assert.LessOrEqual(t, got, 2.0, "%s %d", a.name, n)
		}
	}
	require.Empty(t, d.Holds())
}
