//go:build !windows && !plan9

package keys

import (
	"errors"
	"syscall"
)

// isNotDir reports whether a path goes on below something that is no directory.
func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

func longNames(path string) string { return path }
