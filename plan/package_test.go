package plan_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPackageIsPure reads the source of package plan: it imports the standard library only, and nothing of that which
// knows time, files, the network or locks, and it starts no goroutine.
func TestPackageIsPure(t *testing.T) {
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	impure := []string{"time", "os", "io", "net", "sync", "sync/atomic", "context", "runtime", "syscall", "log", "unsafe"}
	files := 0
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		files++
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, spec := range f.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			first, _, _ := strings.Cut(path, "/")
			assert.NotContains(t, first, ".", "%s imports %s, which is not of the standard library", name, path)
			assert.False(t, slices.Contains(impure, path), "%s imports %s", name, path)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.GoStmt, *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
				t.Errorf("%s has a goroutine or a channel", name)
			}
			return true
		})
	}
	assert.Greater(t, files, 3)
}
