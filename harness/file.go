package harness

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"
)

// ErrLocked is the error that [OpenFile] and [Open] wrap when somebody else has the log open for writing.
var ErrLocked = errors.New("session log is in use")

var errLocked = fmt.Errorf("%w: another process, or another session of this one, writes to it; end that, or only read the log", ErrLocked)

// A File is a [Store] in a file, one record a line; the package comment has the format. [OpenFile] opens it.
//
// A record that was appended has been handed to the system whole, so the end of the process, by kill -9 too, does not
// undo it. A loss of power can, until a Sync.
type File struct {
	// Torn is the torn end that the file had when it was opened, and that was cut off. Nil: it had none.
	Torn *TornError

	f   disk
	buf []byte // of Append

	mu   sync.Mutex
	size int64 // of the whole records
	last uint64
	err  error // why nothing is taken any more
}

var _ Store = (*File)(nil)

// A disk is what a File needs of its file.
type disk interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

// OpenFile opens the log at path for a session, or creates it, with an exclusive lock on the file that ends with Close
// or with the process. A log that is open already, in this process or another, is an error that wraps [ErrLocked].
// Readers take no lock, and are not kept out.
//
// The lock is advisory: it keeps out sessions, not other programs. It is as good as the file system's: on one that is
// shared between machines, ask that.
//
// A torn end is cut off, and told in Torn. What is not a log is left as it is, with an error that wraps [ErrFormat], and
// so is one with a torn end that has a broken record before it, with a [*CorruptError]. Without a torn end, whether all
// records can be read shows when they are: [New] reads them, and decodes what it needs to know what is open;
// [Session.Messages] decodes the rest.
func OpenFile(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("session log: %w", err)
	}
	file, err := openFile(f)
	if err == nil && file.size == 0 {
		err = syncDirectory(filepath.Dir(path)) // else a crash could take the file away, whatever was synced into it
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return file, nil
}

func openFile(f *os.File) (*File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it is no regular file", ErrFormat)
	}
	if err := lock(f); err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err != nil { // again: its last writer may just have gone
		return nil, err
	}
	return mend(f, info.Size())
}

// mend cuts off the torn end of a file of some size, if it has one.
func mend(f disk, size int64) (*File, error) {
	l := newLines(io.NewSectionReader(f, 0, size), 0, 0)
	_, err := l.event()
	torn := new(TornError)
	switch {
	case err == io.EOF || err == nil:
		torn, err = tear(f, size)
		if err != nil {
			return nil, err
		}
	case !errors.As(err, &torn):
		return nil, err
	}
	if torn != nil {
		size = torn.Offset
		if err := f.Truncate(size); err != nil {
			return nil, fmt.Errorf("cut off %d torn bytes: %w", torn.Size, err)
		}
		if err := f.Sync(); err != nil { // before anything is written there
			return nil, fmt.Errorf("cut off %d torn bytes: %w", torn.Size, err)
		}
	}
	return &File{Torn: torn, f: f, size: size}, nil
}

// tear looks for the torn end of a file whose first record is good, from behind. If there is one it reads all that is
// before: of a log that is broken in the middle too nothing is cut off, else each attempt to open it would find that
// its last line is torn, and in the end there would be one that succeeds.
func tear(f disk, size int64) (*TornError, error) {
	start, whole, err := lastLine(f, size)
	if err != nil || start == size {
		return nil, err
	}
	if whole {
		line := make([]byte, size-start)
		if _, err := f.ReadAt(line, start); err != nil && err != io.EOF {
			return nil, err
		}
		if _, err := parseRecord(line[:len(line)-1]); err == nil {
			return nil, nil
		}
	}
	l := newLines(io.NewSectionReader(f, 0, start+1), 0, 0) // one byte of it, which may be long
	for {
		at := l.at
		e, err := l.event()
		if err == nil {
			if _, odd := e.Payload(); odd != nil {
				err = &CorruptError{Line: l.line, Offset: at, Err: odd}
			}
		}
		if torn := (*TornError)(nil); errors.As(err, &torn) {
			torn.Size = size - start
			return torn, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// lastLine returns where the last line begins, and whether it has an end.
func lastLine(f disk, size int64) (start int64, whole bool, err error) {
	block := make([]byte, 64<<10)
	for end := size; end > 0; {
		b := block[:min(end, int64(len(block)))]
		end -= int64(len(b))
		if n, err := f.ReadAt(b, end); n < len(b) {
			return 0, false, fmt.Errorf("read its end: %w", err)
		}
		for i := len(b) - 1; i >= 0; i-- {
			if b[i] != '\n' {
				continue
			}
			at := end + int64(i) + 1
			if at < size {
				return at, whole, nil
			}
			whole = true
		}
	}
	return 0, whole, nil
}

// Append implements [Store]. The events are written at once. If that fails, what was written of them is cut off again;
// if that fails too, the File takes nothing any more.
func (f *File) Append(events ...Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	if err := behind(f.last, events); err != nil || len(events) == 0 {
		return err
	}
	f.buf = f.buf[:0]
	for _, e := range events {
		f.buf = appendRecord(f.buf, e)
	}
	n, err := f.f.WriteAt(f.buf, f.size)
	if err == nil && n < len(f.buf) {
		err = io.ErrShortWrite
	}
	if err != nil {
		err = fmt.Errorf("session log: write: %w", err)
		if cut := f.f.Truncate(f.size); cut != nil {
			f.err = fmt.Errorf("%w: %w; what was written of it cannot be cut off: %w", ErrBroken, err, cut)
			return f.err
		}
		return err
	}
	f.size += int64(n)
	f.last = events[len(events)-1].Seq
	if cap(f.buf) > 1<<20 {
		f.buf = nil
	}
	return nil
}

// Sync implements [Store] by fsync.
func (f *File) Sync() error {
	if err := f.f.Sync(); err != nil {
		return fmt.Errorf("session log: sync: %w", err)
	}
	return nil
}

// Events implements [Store].
func (f *File) Events() iter.Seq2[Event, error] {
	f.mu.Lock()
	size := f.size
	f.mu.Unlock()
	return func(yield func(Event, error) bool) { Read(io.NewSectionReader(f.f, 0, size))(yield) }
}

// Close implements [Store]. It releases the lock, and does not sync.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = fmt.Errorf("session log: %w", fs.ErrClosed)
	}
	return f.f.Close()
}
