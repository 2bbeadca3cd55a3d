package files

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/keywave-go/keywave/tool"
)

type readArgs struct {
	Path   string `json:"path" jsonschema:"the file, relative to the root"`
	Offset int    `json:"offset,omitempty" jsonschema:"the first line to read, counting from 1; 1 by default"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many lines to read at most; 2000 by default"`
}

type readValue struct {
	Path    string `json:"path"`
	Size    int64  `json:"size"`
	Version string `json:"version"`
	Lines   int    `json:"lines"` // in the whole file
	From    int    `json:"from"`  // the first and the last line in Text; 0 and 0 if there is none
	To      int    `json:"to"`
	Cut     bool   `json:"cut,omitempty"` // the file goes on after To, or a line of Text is not whole
	Text    string `json:"text"`
}

func (f *Files) read(ctx context.Context, in readArgs) (tool.Result, error) {
	if in.Offset < 0 || in.Limit < 0 {
		return tool.Result{}, errors.New("offset and limit count lines, and cannot be negative")
	}
	p, err := f.keys.Follow(in.Path)
	if err != nil {
		return tool.Result{}, err
	}
	file, _, err := f.regular(p.Rel)
	if err != nil {
		return tool.Result{}, err
	}
	defer file.Close()

	first, limit := max(in.Offset, 1), in.Limit
	if limit == 0 {
		limit = maxLines
	}
	sum := newSum()
	text := &textCheck{}
	lines, err := scan(io.TeeReader(&reader{ctx, file}, io.MultiWriter(sum, text)), first, limit)
	if err != nil {
		return tool.Result{}, failed(p.Rel, err)
	}
	if why := text.fault(); why != "" {
		return tool.Result{}, complain(p.Rel, "it is not text: %s; %s, version %s", why, plural(text.size, "byte"), sum.version())
	}
	if in.Offset > 1 && lines.total < in.Offset {
		return tool.Result{}, complain(p.Rel, "offset %d is beyond its end: %s", in.Offset, plural(lines.total, "line"))
	}

	v := readValue{Path: p.Rel, Size: text.size, Version: sum.version(), Lines: lines.total, From: first, To: first + lines.taken - 1, Text: lines.text.String()}
	head := fmt.Sprintf("%s: %s, version %s, lines %d-%d of %d", shown(v.Path), plural(v.Size, "byte"), v.Version, v.From, v.To, v.Lines)
	if lines.taken == 0 {
		v.From, v.To = 0, 0
		head = fmt.Sprintf("%s: %s, version %s, no lines", shown(v.Path), plural(v.Size, "byte"), v.Version)
	}
	if v.To < v.Lines {
		v.Cut = true
		head += fmt.Sprintf("; continue with offset %d", v.To+1)
	}
	if lines.long > 0 {
		v.Cut = true
		head += fmt.Sprintf("; %s cut at %d bytes", plural(lines.long, "line"), maxLine)
	}
	return result(v, head, v.Text)
}

// A page is a range of the lines of a file.
type page struct {
	text  strings.Builder
	taken int // lines in text
	long  int // of these, cut ones
	total int // in the file
}

// scan reads r to its end and keeps limit lines from first, as many of them as fit.
func scan(r io.Reader, first, limit int) (page, error) {
	var p page
	buf := bufio.NewReaderSize(r, 64<<10)
	var line []byte // of the current line what is to be shown, and one byte more if it is longer
	begun, full := false, false
	for {
		chunk, err := buf.ReadSlice('\n')
		if len(chunk) > 0 {
			if !begun {
				begun = true
				p.total++
				line = line[:0]
			}
			if wanted := p.total >= first && p.taken < limit && !full; wanted && len(line) <= maxLine {
				line = append(line, chunk[:min(len(chunk), maxLine+1+utf8.UTFMax-len(line))]...)
			}
		}
		if begun && (err == nil || err == io.EOF) { // the line is complete
			begun = false
			if p.total >= first && p.taken < limit && !full {
				shownLine, cut := shorten(line, maxLine)
				if p.taken > 0 && p.text.Len()+len(shownLine) > maxText {
					full = true
				} else {
					p.text.WriteString(shownLine)
					if cut {
						p.text.WriteString(" [cut]\n")
						p.long++
					}
					p.taken++
				}
			}
		}
		switch {
		case err == io.EOF:
			return p, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return p, err
		}
	}
}

// shorten cuts a line, with its line break if it has one, to at most n bytes of whole characters.
func shorten(line []byte, n int) (string, bool) {
	if len(bytes.TrimSuffix(line, []byte("\n"))) <= n {
		return string(line), false
	}
	for n > 0 && !utf8.RuneStart(line[n]) {
		n--
	}
	return string(line[:n]), true
}

func plural[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// A sum makes the version of the content written to it.
type sum struct{ hash.Hash }

func newSum() sum { return sum{sha256.New()} }

func (s sum) version() string { return hex.EncodeToString(s.Sum(nil)[:8]) }

func versionOf(data []byte) string {
	s := newSum()
	s.Write(data)
	return s.version()
}

// A textCheck finds out whether what is written to it is text: valid UTF-8 without a NUL.
type textCheck struct {
	size int64
	held []byte // the start of a character that the last write left unfinished
	why  string
}

func (c *textCheck) Write(p []byte) (int, error) {
	n := len(p)
	if c.why == "" {
		base := c.size - int64(len(c.held))
		if len(c.held) > 0 {
			p = append(c.held, p...)
		}
		c.held = nil
		for i := 0; i < len(p); {
			if p[i] == 0 {
				c.why = fmt.Sprintf("a NUL at byte %d", base+int64(i))
				break
			}
			if p[i] < utf8.RuneSelf {
				i++
				continue
			}
			r, size := utf8.DecodeRune(p[i:])
			if r == utf8.RuneError && size == 1 {
				if !utf8.FullRune(p[i:]) {
					c.held = bytes.Clone(p[i:])
				} else {
					c.why = fmt.Sprintf("invalid UTF-8 at byte %d", base+int64(i))
				}
				break
			}
			i += size
		}
	}
	c.size += int64(n)
	return n, nil
}

// fault says, at the end, what is wrong; nothing if it is text.
func (c *textCheck) fault() string {
	if c.why == "" && len(c.held) > 0 {
		return fmt.Sprintf("invalid UTF-8 at byte %d", c.size-int64(len(c.held)))
	}
	return c.why
}

func isText(data []byte) bool { return bytes.IndexByte(data, 0) < 0 && utf8.Valid(data) }
