//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package harness

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lock takes the exclusive lock of a log, on the file itself: under whatever name it is opened, it is the same lock,
// and nothing is left behind. The lock belongs to the open file, so another one in the same process is refused as well;
// and what the process starts does not inherit it.
func lock(f *os.File) error {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return errLocked
		default:
			return fmt.Errorf("lock it: %w", err)
		}
	}
}

// syncDirectory makes the names in a directory last.
func syncDirectory(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); !errors.Is(err, unix.EINVAL) { // which says that the file system has no such thing
		return err
	}
	return nil
}
