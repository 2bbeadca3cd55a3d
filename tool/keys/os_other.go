//go:build windows || plan9

package keys

import (
	"os"
	"path/filepath"
)

// isNotDir reports whether a path goes on below something that is no directory, for which these systems have no
// error of its own.
func isNotDir(error) bool { return false }

// longNames spells the names that exist as the file system lists them: Windows knows many files by a short name too.
func longNames(path string) string {
	for at, tail := path, ""; ; at, tail = filepath.Dir(at), filepath.Join(filepath.Base(at), tail) {
		if _, err := os.Lstat(at); err == nil {
			if long, err := filepath.EvalSymlinks(at); err == nil {
				return filepath.Join(long, tail)
			}
			return path
		}
		if filepath.Dir(at) == at {
			return path
		}
	}
}
