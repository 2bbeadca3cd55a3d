package codemode_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Who does not import an engine does not get one: neither the packages below nor this one bring it along, and this one
// knows of no sessions.
func TestImports(t *testing.T) {
	const module = "github.com/keywave-go/keywave"
	deps := func(packages ...string) []string {
		out, err := exec.Command("go", append([]string{"list", "-deps"}, packages...)...).Output()
		require.NoError(t, err)
		return strings.Fields(string(out))
	}
	for _, d := range deps(module+"/plan", module+"/exec", module+"/tool", module+"/harness", module+"/codemode") {
		assert.NotContains(t, d, "modernc.org")
		assert.NotContains(t, d, "esbuild")
		assert.NotEqual(t, module+"/codemode/js", d)
	}
	var own []string
	for _, d := range deps(module + "/codemode") {
		if strings.HasPrefix(d, module) {
			own = append(own, strings.TrimPrefix(d, module+"/"))
		}
	}
	assert.ElementsMatch(t, []string{"plan", "exec", "tool", "codemode"}, own)
	assert.NotContains(t, deps(module+"/harness"), module+"/codemode")
}
