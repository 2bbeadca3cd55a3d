package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"
)

// followEvery is how often Follow looks for more.
const followEvery = 100 * time.Millisecond

// ErrCutBack is the error with which [Follow] ends when the log has become shorter than what it has read: its writer
// met an error in the middle of several events that belong together, and took back those that were written, or somebody
// has replaced the file. What is in it now is to be read from its beginning.
var ErrCutBack = errors.New("session log was cut back behind its reader")

// Follow reads the events of a log as [ReadFile] does, and goes on when it comes to the end: it waits for more, until
// ctx is done or the loop is left. It looks ten times a second. A torn end is one that it waits behind. When ctx is
// done it ends without an error. When there is another file at path, or none, that is [ErrCutBack] too.
func Follow(ctx context.Context, path string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(Event{}, fmt.Errorf("session log: %w", err))
			return
		}
		defer f.Close()
		line, at := 0, int64(0)
		for {
			l := newLines(io.NewSectionReader(f, at, 1<<62), line, at) // a torn end is read again, as it may have changed
			for ctx.Err() == nil {
				e, err := l.event()
				var torn *TornError
				if err == io.EOF || errors.As(err, &torn) {
					break
				}
				if !yield(e, err) || err != nil {
					return
				}
			}
			line, at = l.line, l.at
			select {
			case <-ctx.Done():
				return
			case <-time.After(followEvery):
			}
			if err := still(f, path, at); err != nil {
				yield(Event{}, err)
				return
			}
		}
	}
}

// still reports whether f, of which so many bytes have been read, is what is at path, and has not become shorter.
func still(f *os.File, path string, read int64) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("session log: %w", err)
	}
	switch named, err := os.Stat(path); {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%w: its file is gone", ErrCutBack)
	case err != nil:
		return fmt.Errorf("session log: %w", err)
	case !os.SameFile(info, named):
		return fmt.Errorf("%w: there is another file in its place", ErrCutBack)
	case info.Size() < read:
		return ErrCutBack
	}
	return nil
}
