package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// encoding/json takes what two readers could take in two ways: repeated names, invalid UTF-8, half a surrogate pair, a
// name in another case. A policy, a classifier and a body must not read the same arguments differently, so they are
// checked here before anything decodes them.

const (
	maxDepth    = 1000 // of nested arrays and objects; readers downstream are recursive
	maxNumber   = 1000 // characters of a number; an exact reader takes time by their square
	maxExponent = 1000 // of a number, either way; such a reader would write out its digits
)

// A jsonError is the first thing wrong in a JSON text.
type jsonError struct {
	offset int      // in bytes, from 0
	path   []string // the names and indexes that lead there, innermost first
	what   string
}

func (e *jsonError) Error() string { return place(e.offset, e.pointer()) + e.what }

// place says where in a JSON text something is wrong, in front of what it is.
func place(offset int, path string) string {
	if path != "" {
		path = ", " + ends(path, maxProblem/2)
	}
	return fmt.Sprintf("byte %d%s: ", offset, path)
}

func (e *jsonError) pointer() string {
	path := slices.Clone(e.path)
	slices.Reverse(path)
	return pointer(path)
}

// checkJSON reports the first reason why data is not exactly one JSON value that every reader understands alike.
func checkJSON(data []byte) error {
	if err := scanWhole(data, true); err != nil {
		return err
	}
	return nil
}

// scanWhole checks that data is one JSON value and nothing else. Only if exact it also refuses what is well-formed but
// ambiguous or out of all proportion: repeated names, unpaired surrogates, numbers of a thousand digits.
func scanWhole(data []byte, exact bool) *jsonError {
	s := scanner{data: data, exact: exact}
	if err := s.value(); err != nil {
		return err
	}
	s.space()
	if s.pos < len(s.data) {
		return s.fail("unexpected %s after the end of the JSON value", s.here())
	}
	return nil
}

// A scanner steps over JSON. Its methods return *jsonError and not error, so that the path can be added on the way out.
type scanner struct {
	data  []byte
	pos   int
	depth int
	exact bool
}

func (s *scanner) fail(format string, args ...any) *jsonError {
	return &jsonError{offset: s.pos, what: fmt.Sprintf(format, args...)}
}

// here names what is at the position.
func (s *scanner) here() string {
	if s.pos >= len(s.data) {
		return "end of input"
	}
	r, n := utf8.DecodeRune(s.data[s.pos:])
	if r == utf8.RuneError && n == 1 {
		return fmt.Sprintf("byte 0x%02x, which is not UTF-8,", s.data[s.pos])
	}
	return strconv.QuoteRune(r)
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

// accept steps over white space and then c, if c comes next.
func (s *scanner) accept(c byte) bool {
	s.space()
	if s.pos < len(s.data) && s.data[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// value steps over white space and a value.
func (s *scanner) value() *jsonError {
	s.space()
	if s.pos >= len(s.data) {
		return s.fail("unexpected end of input, want a value")
	}
	switch c := s.data[s.pos]; {
	case c == '{':
		var seen names
		return s.object(func(name []byte, at int) *jsonError {
			if s.exact {
				if err := surrogates(name, at); err != nil {
					return err
				}
				if key := plain(name); !seen.add(key) {
					return &jsonError{offset: at, what: "the name " + quoted(string(key)) + " comes twice"}
				}
			}
			return s.value()
		})
	case c == '[':
		return s.array(func(int) *jsonError { return s.value() })
	case c == '"':
		at := s.pos
		err := s.string()
		if err == nil && s.exact {
			err = surrogates(s.data[at:s.pos], at)
		}
		return err
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if strings.HasPrefix(string(s.data[s.pos:min(len(s.data), s.pos+len(word))]), word) {
			s.pos += len(word)
			return nil
		}
	}
	return s.fail("unexpected %s, want a value", s.here())
}

// names are those of an object so far: few of them are kept without memory of their own.
type names struct {
	few  [8][]byte
	n    int // of few
	many map[string]bool
}

// add adds a name, and reports whether it is a new one.
func (s *names) add(name []byte) bool {
	if s.many == nil {
		for _, other := range s.few[:s.n] {
			if bytes.Equal(other, name) {
				return false
			}
		}
		if s.n < len(s.few) {
			s.few[s.n] = name
			s.n++
			return true
		}
		s.many = make(map[string]bool)
		for _, other := range s.few {
			s.many[string(other)] = true
		}
	}
	if s.many[string(name)] {
		return false
	}
	s.many[string(name)] = true
	return true
}

// object steps over an object; member is called with each name, still quoted, and where it begins, and steps over the
// value.
func (s *scanner) object(member func(name []byte, at int) *jsonError) *jsonError {
	if err := s.enter(); err != nil {
		return err
	}
	if s.accept('}') {
		s.depth--
		return nil
	}
	for {
		s.space()
		at := s.pos
		if at >= len(s.data) || s.data[at] != '"' {
			return s.fail("unexpected %s, want a name in quotes", s.here())
		}
		if err := s.string(); err != nil {
			return err
		}
		name := s.data[at:s.pos]
		if !s.accept(':') {
			return s.fail("unexpected %s, want a colon", s.here())
		}
		if err := member(name, at); err != nil {
			return err.within(decoded(name))
		}
		if s.accept(',') {
			continue
		}
		if !s.accept('}') {
			return s.fail("unexpected %s, want a comma or the end of the object", s.here())
		}
		s.depth--
		return nil
	}
}

// array steps over an array; element is called with each index and steps over the value.
func (s *scanner) array(element func(i int) *jsonError) *jsonError {
	if err := s.enter(); err != nil {
		return err
	}
	if s.accept(']') {
		s.depth--
		return nil
	}
	for i := 0; ; i++ {
		if err := element(i); err != nil {
			return err.within(strconv.Itoa(i))
		}
		if s.accept(',') {
			continue
		}
		if !s.accept(']') {
			return s.fail("unexpected %s, want a comma or the end of the array", s.here()).within(strconv.Itoa(i))
		}
		s.depth--
		return nil
	}
}

// enter steps over the bracket of an array or object.
func (s *scanner) enter() *jsonError {
	if s.depth++; s.depth > maxDepth {
		return s.fail("nested deeper than %d", maxDepth)
	}
	s.pos++
	return nil
}

// within adds the name or index that led to e.
func (e *jsonError) within(name string) *jsonError {
	e.path = append(e.path, name)
	return e
}

// string steps over a string, at its opening quote.
func (s *scanner) string() *jsonError {
	s.pos++
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return nil
		case c < 0x20:
			return s.fail("unexpected %s in a string: it must be escaped", s.here())
		case c == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		case c < utf8.RuneSelf:
			s.pos++
		default:
			r, n := utf8.DecodeRune(s.data[s.pos:])
			if r == utf8.RuneError && n == 1 {
				return s.fail("byte 0x%02x is not UTF-8", c)
			}
			s.pos += n
		}
	}
	return s.fail("unexpected end of input in a string")
}

func (s *scanner) escape() *jsonError {
	rest := s.data[s.pos+1:]
	switch {
	case len(rest) == 0:
		s.pos++
		return s.fail("unexpected end of input in a string")
	case strings.IndexByte(`"\/bfnrt`, rest[0]) >= 0:
		s.pos += 2
		return nil
	case rest[0] == 'u':
		if _, ok := hex4(rest[1:]); ok {
			s.pos += 6
			return nil
		}
	}
	return s.fail("invalid escape in a string")
}

func (s *scanner) number() *jsonError {
	start := s.pos
	if s.data[s.pos] == '-' {
		s.pos++
	}
	if s.pos < len(s.data) && s.data[s.pos] == '0' {
		s.pos++
	} else if !s.digits() {
		return s.fail("unexpected %s, want a digit", s.here())
	}
	if s.pos < len(s.data) && s.data[s.pos] == '.' {
		s.pos++
		if !s.digits() {
			return s.fail("unexpected %s, want a digit", s.here())
		}
	}
	if s.pos < len(s.data) && (s.data[s.pos] == 'e' || s.data[s.pos] == 'E') {
		s.pos++
		if s.pos < len(s.data) && (s.data[s.pos] == '+' || s.data[s.pos] == '-') {
			s.pos++
		}
		at := s.pos
		if !s.digits() {
			return s.fail("unexpected %s, want a digit", s.here())
		}
		if n, err := strconv.Atoi(string(s.data[at:min(s.pos, at+maxNumber)])); s.exact && (err != nil || n > maxExponent) {
			return &jsonError{offset: start, what: fmt.Sprintf("the exponent of a number is beyond %d", maxExponent)}
		}
	}
	if s.exact && s.pos-start > maxNumber {
		return &jsonError{offset: start, what: fmt.Sprintf("a number has more than %d characters", maxNumber)}
	}
	return nil
}

func (s *scanner) digits() bool {
	at := s.pos
	for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > at
}

// hex4 reads four hexadecimal digits.
func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[:4]), 16, 16)
	return rune(n), err == nil
}

// surrogates reports an escaped half of a surrogate pair in a well-formed string that begins at an offset. Decoding
// would put U+FFFD in its place.
func surrogates(quoted []byte, at int) *jsonError {
	for i := 0; i < len(quoted); i++ {
		if quoted[i] != '\\' {
			continue
		}
		i++
		if quoted[i] != 'u' {
			continue
		}
		r, _ := hex4(quoted[i+1:])
		switch {
		case r >= 0xD800 && r < 0xDC00:
			if i+11 <= len(quoted) && quoted[i+5] == '\\' && quoted[i+6] == 'u' {
				if low, ok := hex4(quoted[i+7:]); ok && low >= 0xDC00 && low < 0xE000 {
					i += 10
					continue
				}
			}
			fallthrough
		case r >= 0xDC00 && r < 0xE000:
			return &jsonError{offset: at + i - 1, what: "an unpaired surrogate is not text"}
		}
		i += 4
	}
	return nil
}

// unquote decodes a well-formed string that begins at an offset.
func unquote(quoted []byte, at int) (string, *jsonError) {
	if err := surrogates(quoted, at); err != nil {
		return "", err
	}
	return decoded(quoted), nil
}

// decoded decodes a well-formed string.
func decoded(quoted []byte) string {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var name string
	if json.Unmarshal(quoted, &name) != nil {
		return string(inner)
	}
	return name
}

// plain is decoded for who only looks at it.
func plain(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	return []byte(decoded(quoted))
}

// Bounds, in bytes, of what is repeated to the model.
const (
	maxProblem  = 300
	maxProblems = 8
	maxEcho     = 300
	maxNames    = 40
	maxReason   = 4096 // what a host, or a person, says
)

// bounded cuts s to about n bytes, between characters, and says how much is missing. What is not UTF-8 is replaced.
func bounded(s string, n int) string {
	cut := s
	if len(s) > n {
		cut = s[:n]
		for i := 0; i < utf8.UTFMax-1 && !utf8.RuneStart(s[len(cut)]); i++ {
			cut = cut[:len(cut)-1]
		}
	}
	text := strings.ToValidUTF8(cut, "\uFFFD")
	if len(cut) < len(s) {
		text += fmt.Sprintf("… (%d bytes more)", len(s)-len(cut))
	}
	return text
}

// ends cuts the middle out of s if it is longer than n bytes. Where a path begins and what it arrives at says more than
// the way between.
func ends(s string, n int) string {
	if len(s) <= n {
		return s
	}
	head, tail := s[:n/2], s[len(s)-n/2:]
	return strings.ToValidUTF8(head, "") + "…" + strings.ToValidUTF8(tail, "")
}

// quoted is a name from outside, fit for a sentence.
func quoted(name string) string {
	return strconv.Quote(bounded(name, 100))
}

// named is the name of a tool in a sentence: as it is, or quoted if it is not just a word.
func named(name string) string {
	for _, r := range name {
		if r <= ' ' || r >= 0x7f || r == '"' {
			return quoted(name)
		}
	}
	if name == "" || len(name) > 100 {
		return quoted(name)
	}
	return name
}
