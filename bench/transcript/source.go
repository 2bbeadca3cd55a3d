package transcript

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// A source cuts a stream into JSON records: the lines of JSONL, or the elements of one large document, of which there
// may be several behind each other. It holds one record at a time.
type source struct {
	r     *bufio.Reader
	most  int // bytes of a record
	line  int // where the next byte is, from 1
	bytes int64
	buf   []byte // of the record
	began bool   // something has been read
	some  bool   // a record has been

	note   func(k Kind, line int, what string)
	record func(r record) (bad string) // why it is no JSON
}

// A record is a JSON value that may say something. It is only valid until the next.
type record struct {
	raw  []byte
	line int
	list list
}

// A list says where a record comes from.
type list uint8

const (
	noList  list = iota // a line, or a document that holds no list
	header              // what is around a list, as far as it is in front of it
	element             // of a list
	inner               // of a list within a record
	listEnd             // of a list; there is no record
)

const (
	headSize = 64 << 10
	maxKept  = 1 << 20 // a longer buffer is not kept
)

var (
	errTooLong = errors.New("record too long")
	errSyntax  = errors.New("not JSON")
)

// run reads to the end. The error is that of the reader. A source stops early when over says so.
func (s *source) run(over func() bool) error {
	for !over() {
		head, err := s.head()
		if err != nil || len(head) == 0 {
			return err
		}
		line := s.line
		switch kind := kindOf(head); {
		case kind == isBinary && !s.some:
			what := ""
			if bytes.HasPrefix(head, []byte("\x1f\x8b")) {
				what = "gzip"
			}
			s.note(Binary, line, what)
			return s.skipAll()
		case kind == isDocument:
			err = s.document(over)
		default:
			err = s.readLine()
		}
		if cap(s.buf) > maxKept {
			s.buf = nil
		}
		switch {
		case err == errTooLong:
			s.note(TooLong, line, fmt.Sprintf("more than %d bytes", s.most))
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			s.note(Torn, s.line, "")
		case errors.Is(err, errSyntax):
			s.note(BadJSON, s.line, err.Error())
			s.record(record{line: s.line, list: listEnd})
			if err := s.resync(); err != nil {
				return err
			}
		case err != nil:
			return err
		}
	}
	return nil
}

// head skips white space and returns what comes then, up to the size of the buffer; nothing at the end.
func (s *source) head() ([]byte, error) {
	if !s.began {
		s.began = true
		if bom, _ := s.r.Peek(3); string(bom) == "\xef\xbb\xbf" {
			s.skip(3)
		}
	}
	if err := s.space(); err != nil {
		if err == io.EOF {
			err = nil
		}
		return nil, err
	}
	head, err := s.r.Peek(min(headSize, max(1, s.r.Buffered())))
	if err != nil {
		return nil, err
	}
	// A head that ends before it has a line end says too little; the buffer takes more.
	if bytes.IndexByte(head, '\n') < 0 {
		if head, err = s.r.Peek(headSize); err != nil && err != io.EOF {
			return nil, err
		}
	}
	return head, nil
}

// readLine reads a line as a record.
func (s *source) readLine() error {
	s.buf = s.buf[:0]
	line, long := s.line, false
	for {
		part, err := s.r.ReadSlice('\n')
		s.bytes += int64(len(part))
		if long = long || len(s.buf)+len(part) > s.most; !long {
			s.buf = append(s.buf, part...)
		} else {
			s.buf = nil
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil && err != io.EOF {
			return err
		}
		if err == nil {
			s.line++
		}
		if long {
			return errTooLong
		}
		raw := bytes.TrimSpace(s.buf)
		if rest := bytes.TrimLeft(raw, "\x00"); len(rest) < len(raw) && len(rest) > 0 { // what a crash left of a write
			s.note(Binary, line, "zeros")
			raw = rest
		}
		switch what := s.record(record{raw: raw, line: line}); {
		case what == "":
			s.some = true
		case err == io.EOF:
			s.note(Torn, line, "")
		case bytes.IndexByte(raw, 0) >= 0:
			s.note(Binary, line, "a line")
		default:
			s.note(BadJSON, line, what)
		}
		return nil
	}
}

// document reads a JSON document: the elements of a list, alone or as the member "messages" of an object, are records
// of their own.
func (s *source) document(over func() bool) error {
	line := s.line
	if c, _ := s.peek(); c == '[' {
		return s.elements(over)
	}
	s.skip(1)
	head := []byte{'{'}
	listed := false
	for first := true; ; first = false {
		if err := s.space(); err != nil {
			return err
		}
		c, err := s.peek()
		switch {
		case err != nil:
			return err
		case c == '}':
			s.skip(1)
			if listed {
				s.record(record{line: s.line, list: listEnd})
			} else {
				s.whole(append(head, '}'), line, noList)
			}
			return nil
		case c == ',' && !first:
			s.skip(1)
			if err := s.space(); err != nil {
				return err
			}
		}
		if err := s.value(); err != nil {
			return err
		}
		name := string(s.buf)
		if name[0] != '"' {
			return fmt.Errorf("%w: an object has a member without a name", errSyntax)
		}
		if err := s.space(); err != nil {
			return err
		}
		if c, _ := s.peek(); c != ':' {
			return fmt.Errorf("%w: a name is not followed by a colon", errSyntax)
		}
		s.skip(1)
		if err := s.space(); err != nil {
			return err
		}
		if c, _ := s.peek(); name == `"messages"` && c == '[' && !listed {
			listed = true
			s.whole(append(bytes.Clone(head), '}'), line, header)
			if err := s.elements(over); err != nil {
				return err
			}
			continue
		}
		err = s.value()
		switch {
		case err == errTooLong:
			s.note(TooLong, s.line, fmt.Sprintf("more than %d bytes", s.most))
		case err != nil:
			return err
		case len(head)+len(name)+len(s.buf) <= s.most && !listed:
			if len(head) > 1 {
				head = append(head, ',')
			}
			head = append(append(append(head, name...), ':'), s.buf...)
		}
		if over() {
			return nil
		}
	}
}

// elements reads the elements of a list, from its bracket to that at its end.
func (s *source) elements(over func() bool) error {
	s.skip(1)
	for !over() {
		if err := s.space(); err != nil {
			return err
		}
		switch c, err := s.peek(); {
		case err != nil:
			return err
		case c == ']':
			s.skip(1)
			s.record(record{line: s.line, list: listEnd})
			return nil
		case c == ',':
			s.skip(1)
			continue
		case c == '}' || c == ':':
			return fmt.Errorf("%w: a list holds %q", errSyntax, string(c))
		}
		line := s.line
		switch err := s.value(); {
		case err == errTooLong:
			s.note(TooLong, line, fmt.Sprintf("more than %d bytes", s.most))
		case err != nil:
			return err
		default:
			s.whole(s.buf, line, element)
		}
		if cap(s.buf) > maxKept {
			s.buf = nil
		}
	}
	return nil
}

// whole hands on a record that ought to be JSON.
func (s *source) whole(raw []byte, line int, l list) {
	if what := s.record(record{raw, line, l}); what != "" {
		s.note(BadJSON, line, what)
		return
	}
	s.some = true
}

// value reads a value into the buffer. One that is too long is read over.
func (s *source) value() error {
	s.buf = s.buf[:0]
	var v valueEnd
	long := false
	for {
		part, err := s.r.Peek(max(1, s.r.Buffered()))
		if err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		n, whole := 0, false
		for n < len(part) && !whole {
			var with bool
			if whole, with = v.next(part[n]); !whole || with {
				n++
			}
		}
		if long = long || len(s.buf)+n > s.most; !long {
			s.buf = append(s.buf, part[:n]...)
		} else {
			s.buf = nil
		}
		s.skip(n)
		switch {
		case whole && long:
			return errTooLong
		case whole && len(s.buf) == 0:
			return fmt.Errorf("%w: a value is missing", errSyntax)
		case whole:
			return nil
		}
	}
}

// space skips white space.
func (s *source) space() error {
	for {
		b, err := s.r.Peek(max(1, s.r.Buffered()))
		if err != nil {
			return err
		}
		n := len(b) - len(bytes.TrimLeft(b, " \t\r\n"))
		s.skip(n)
		if n < len(b) {
			return nil
		}
	}
}

func (s *source) peek() (byte, error) {
	b, err := s.r.Peek(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

// skip steps over n bytes that have been peeked at.
func (s *source) skip(n int) {
	b, _ := s.r.Peek(n)
	s.line += bytes.Count(b, []byte{'\n'})
	s.bytes += int64(n)
	_, _ = s.r.Discard(n)
}

// resync skips to the next line that begins as a record or a document does.
func (s *source) resync() error {
	for {
		part, err := s.r.ReadSlice('\n')
		s.bytes += int64(len(part))
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		s.line++
		if c, err := s.peek(); err == nil && (c == '{' || c == '[') {
			return nil
		}
	}
}

// skipAll reads to the end, so that the report says how much there was.
func (s *source) skipAll() error {
	n, err := io.Copy(io.Discard, s.r)
	s.bytes += n
	return err
}
