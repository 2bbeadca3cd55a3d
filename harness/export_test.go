package harness

import "time"

// A Disk is what a File needs of its file, for tests that have one that fails.
type Disk = disk

// MendDisk is OpenFile without a lock, for a file of some size.
func MendDisk(d Disk, size int64) (*File, error) { return mend(d, size) }

// NewWithClock is New with another clock.
func NewWithClock(s Store, now func() time.Time) (*Session, error) { return open(s, now) }

// Both ways to read a record, and the way to write one.
var (
	ParseRecord  = parseRecord
	ParseAny     = parseAny
	AppendRecord = appendRecord
)
