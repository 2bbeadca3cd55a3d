package exec_test

import (
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The package knows plan, x/sync and the standard library, and nothing of tools or sessions.
func TestImports(t *testing.T) {
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	seen := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		src, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, i := range src.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			require.NoError(t, err)
			seen++
			first, _, _ := strings.Cut(path, "/")
			if strings.Contains(first, ".") {
				assert.Contains(t, []string{"github.com/keywave-go/keywave/plan", "golang.org/x/sync/semaphore"}, path, f.Name())
			}
		}
	}
	assert.NotZero(t, seen)
}
