package harness

import (
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// lock takes the exclusive lock of a log. Here a lock keeps others from reading what it covers: it covers a byte that
// no log is long enough to have.
func lock(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{OffsetHigh: math.MaxInt32})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return errLocked
	}
	return fmt.Errorf("lock it: %w", err)
}

// syncDirectory has nothing to do: the system keeps the names itself.
func syncDirectory(string) error { return nil }
