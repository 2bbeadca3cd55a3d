//go:build !race

// The race detector takes memory of its own.

package exec_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
)

func TestRunAllocations(t *testing.T) {
	for _, a := range admissions[2:] {
		for _, kind := range []string{"keyless", "distinct"} {
			for _, n := range []int{64, 512} {
				calls := batch(kind, n)
				got := testing.AllocsPerRun(20, func() { run(t, calls, exec.Admit(a.open)) }) / float64(n)
				assert.LessOrEqual(t, got, 1.5, "%s %s %d", a.name, kind, n)
			}
		}
	}
}

func TestRunMemory(t *testing.T) {
	const n = 100_000
	for _, a := range admissions[2:] {
		for _, kind := range []string{"keyless", "distinct"} {
			calls := batch(kind, n)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			results, err := exec.Run(t.Context(), calls, nothing, exec.Admit(a.open))
			runtime.ReadMemStats(&after)
			require.NoError(t, err)
			got := float64(after.TotalAlloc-before.TotalAlloc)/n - 8 // an int is a result
			assert.LessOrEqual(t, got, 400.0, "%s %s: %.0f bytes a call", a.name, kind, got)
			t.Logf("%s %s: %.0f bytes a call", a.name, kind, got)
			runtime.KeepAlive(results)
		}
	}
}
