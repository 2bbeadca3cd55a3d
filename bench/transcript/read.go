package transcript

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// MaxRecord is how long a record may be, in bytes. A longer one is not read: its place is named in the [Report].
const MaxRecord = 256 << 20

// Read reads the batches of a transcript, of whatever format, each when it is over: when the next answer of the same
// agent begins, or at the end. Batches of sub-agents come between those of the agent that they work for.
//
// It takes memory for one record and for the batches that are open, which are few, however long the transcript is.
// What the transcript has that cannot be used is told to the report, which is complete when the sequence is, and read
// over: the error is only ever that of r, and ends the sequence. The report may be nil. A transcript may be read while
// it is written.
func Read(r io.Reader, report *Report) iter.Seq2[Batch, error] {
	return read(r, report, MaxRecord)
}

// ReadFile is [Read] for a file.
func ReadFile(path string, report *Report) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(Batch{}, fmt.Errorf("transcript: %w", err))
			return
		}
		defer f.Close()
		for b, err := range Read(f, report) {
			if err != nil {
				err = fmt.Errorf("transcript %s: %w", path, err)
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

func read(r io.Reader, report *Report, most int) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		if report == nil {
			report = new(Report)
		}
		over := false
		d := &dispatcher{report: report}
		d.open = pairing{report: report, emit: func(b Batch) {
			if over {
				return
			}
			report.count(&b)
			over = !yield(b, nil)
		}}
		s := &source{
			r: bufio.NewReaderSize(&ending{r: r}, headSize), most: most, line: 1,
			note: func(k Kind, line int, what string) {
				if !over {
					report.note(k, line, what)
				}
			},
			record: func(r record) string {
				if over {
					return ""
				}
				return d.take(r)
			},
		}
		err := s.run(func() bool { return over })
		report.Bytes += s.bytes
		report.Lines += s.line - 1
		if over {
			return
		}
		if s.bytes == 0 && err == nil {
			report.note(Empty, 0, "")
		}
		d.end()
		if err != nil && !over {
			yield(Batch{}, fmt.Errorf("line %d: %w", s.line, err))
		}
	}
}

// An ending is a reader that ends once: a log may grow behind its end.
type ending struct {
	r   io.Reader
	err error
}

func (e *ending) Read(p []byte) (n int, err error) {
	if e.err == nil {
		n, e.err = e.r.Read(p)
	}
	return n, e.err
}

// decode reads what it can of JSON: a member of another type than expected is as if it were not there. The error is for
// what is no JSON.
func decode(raw []byte, to any) error {
	err := json.Unmarshal(raw, to)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return nil
	}
	return err
}
