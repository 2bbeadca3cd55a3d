package js_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWeight: who does not import this package does not pay for an engine.
func TestWeight(t *testing.T) {
	const module = "github.com/keywave-go/keywave/"
	out, err := exec.Command("go", "list", "-deps", module+"plan", module+"exec", module+"tool", module+"harness", module+"codemode").Output()
	require.NoError(t, err)
	deps := strings.Fields(string(out))
	require.Contains(t, deps, module+"codemode")
	for _, d := range deps {
		for _, heavy := range []string{"modernc.org/", "github.com/evanw/esbuild", module + "codemode/js"} {
			require.False(t, strings.HasPrefix(d, heavy), d)
		}
	}
}
