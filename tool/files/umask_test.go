//go:build unix

package files

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The umask decides about new files, as for every other program.
func TestWriteRespectsTheUmask(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	w := newWorld(t)
	ok[writeValue](w, "write", "path", "d/new", "content", "x")
	for name, mode := range map[string]os.FileMode{"d": 0o750, "d/new": 0o640} {
		info, err := os.Stat(filepath.Join(w.dir, name))
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode().Perm(), name)
	}
}
