package harness

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// ErrFormat is the error that reading a log wraps when it is none, or one of a later version than [Version].
var ErrFormat = errors.New("not a session log that can be read here")

// A CorruptError says that a line of a log cannot be read, although it was written whole: it is no record, or its data is
// not what its type says. Nothing behind it is read, and nothing is repaired: it takes a person to say what happened to
// the file.
type CorruptError struct {
	Line   int   // from 1; of a store that has no lines, which event
	Offset int64 // of the line, in bytes; -1: not known
	Err    error // what is wrong with it
}

// Error names the line and what is wrong.
func (e *CorruptError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("session log: line %d is not a record: %v", e.Line, e.Err)
	}
	return fmt.Sprintf("session log: line %d (byte %d) is not a record: %v", e.Line, e.Offset, e.Err)
}

// Unwrap returns what is wrong.
func (e *CorruptError) Unwrap() error { return e.Err }

// A TornError tells of the end of a log that is not a whole record: the last line has no end, or cannot be read. So
// ends a log whose writer is just writing, was killed in the middle of a record, or met a full disk. All records before
// are there. An append that was acknowledged is never in a torn end.
type TornError struct {
	Line   int   // from 1
	Offset int64 // where it begins, in bytes: behind the last whole record
	Size   int64 // in bytes
}

// Error names the place and the size.
func (e *TornError) Error() string {
	return fmt.Sprintf("session log: line %d is torn: the last %d bytes, from byte %d, are not a whole record", e.Line, e.Size, e.Offset)
}

// Read reads the events of a log in their order, from its first byte. It may be read while somebody writes it, and
// takes memory for one record.
//
// The error, if there is one, comes with no event and is the last: a [*TornError] at a torn end, which a reader of a
// log that is being written must expect; a [*CorruptError] for any other line that is not a record; one that wraps
// [ErrFormat] if it is not a log, or one of a later version; or that of r. Nothing at all is a log without events.
//
// It does not decode the data of events. Those who do, such as [Fold], [Messages] and [Turns], end with a *CorruptError
// if they find that the data of one is not what its type says.
func Read(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for l := newLines(r, 0, 0); ; {
			e, err := l.event()
			if err == io.EOF {
				return
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// ReadFile is [Read] for a file. It takes no lock, so it can read a log that a session has open.
func ReadFile(path string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(Event{}, fmt.Errorf("session log: %w", err))
			return
		}
		defer f.Close()
		Read(f)(yield)
	}
}

// lines reads records, and knows where it is.
type lines struct {
	r    *bufio.Reader
	line int    // how many have been read
	at   int64  // behind the last that was read
	long []byte // a line that is longer than r's buffer
}

// newLines reads from where lines have been read already.
func newLines(r io.Reader, line int, at int64) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10), line: line, at: at}
}

// event returns the next event. At the end it is io.EOF, or a *TornError.
func (l *lines) event() (Event, error) {
	line, err := l.next()
	if errors.Is(err, ErrFormat) {
		return Event{}, err
	}
	if err != nil && err != io.EOF {
		return Event{}, fmt.Errorf("session log: line %d: %w", l.line+1, err)
	}
	if len(line) == 0 {
		return Event{}, io.EOF
	}
	torn := &TornError{Line: l.line + 1, Offset: l.at, Size: int64(len(line))}
	if err == io.EOF {
		if l.line == 0 && !couldStart(line) {
			return Event{}, fmt.Errorf("%w: its first line is no record", ErrFormat)
		}
		return Event{}, torn
	}
	e, err := parseRecord(line[:len(line)-1])
	if err == nil && l.line == 0 {
		err = checkStart(e)
	}
	switch {
	case err == nil:
		l.line++
		l.at += int64(len(line))
		return e, nil
	case l.line == 0 && !errors.Is(err, ErrFormat):
		if !couldStart(line) || !l.last() {
			return Event{}, fmt.Errorf("%w: its first line is no record: %w", ErrFormat, err)
		}
		return Event{}, torn
	case l.line == 0:
		return Event{}, err
	case l.last():
		return Event{}, torn
	}
	return Event{}, &CorruptError{Line: torn.Line, Offset: torn.Offset, Err: err}
}

// last reports whether nothing follows.
func (l *lines) last() bool {
	_, err := l.r.Peek(1)
	return err == io.EOF
}

// next returns the next line with its end, or with io.EOF what there is without one.
func (l *lines) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return line, err
	}
	l.long = l.long[:0]
	if l.line == 0 && (line[0] == 0 || !couldStart(line)) { // no session begins with so long a line, and it may have no end
		return nil, fmt.Errorf("%w: its first line is no record", ErrFormat)
	}
	for err == bufio.ErrBufferFull {
		l.long = append(l.long, line...)
		line, err = l.r.ReadSlice('\n')
	}
	return append(l.long, line...), err
}

// checkStart says whether e can be the first event of a log.
func checkStart(e Event) error {
	p, err := e.Payload()
	start, ok := p.(SessionStart)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrFormat, err)
	case !ok:
		return fmt.Errorf("%w: its first event is %q, and not %s", ErrFormat, e.Type, TypeSessionStart)
	case start.Format != Format:
		return fmt.Errorf("%w: its format is %q, and not %q", ErrFormat, start.Format, Format)
	case start.Version < 1 || start.Version > Version:
		return fmt.Errorf("%w: it has version %d, and this is a reader of versions up to %d", ErrFormat, start.Version, Version)
	}
	return nil
}

// couldStart reports whether a torn first line may be the beginning of a log, and not of a file of another kind, which
// must be left alone: as that of a log whose line feeds are gone. A crash of the system can leave zeros in a file.
func couldStart(line []byte) bool {
	const first = `{"seq":1,"time":"2026-01-02T03:04:05.123456789Z","type":"session/start","data":{"format":"keywave-session","version":1}}`
	const start = `{"seq":1,"time":"`
	line = bytes.TrimRight(line, "\x00")
	n := min(len(line), len(start))
	return string(line[:n]) == start[:n] && len(line) <= len(first)+1
}
