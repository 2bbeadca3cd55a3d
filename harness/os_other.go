//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package harness

import (
	"errors"
	"fmt"
	"os"
)

func lock(*os.File) error {
	return fmt.Errorf("lock it: there are no file locks on this system: %w", errors.ErrUnsupported)
}

func syncDirectory(string) error { return nil }
