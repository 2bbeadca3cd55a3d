package transcript

import "bytes"

// A headKind is what a stream goes on with, by its first bytes.
type headKind uint8

const (
	isLine headKind = iota
	isDocument
	isBinary
)

// kindOf tells a line of JSONL from the beginning of a document that is read element by element.
func kindOf(head []byte) headKind {
	line := head
	if i := bytes.IndexByte(head, '\n'); i >= 0 {
		line = bytes.TrimRight(head[:i], " \t\r")
	}
	switch {
	case head[0] != '{' && head[0] != '[' && bytes.IndexByte(line, 0) >= 0 && !bytes.Contains(head, []byte("{\"")):
		return isBinary
	case head[0] == '[':
		return isDocument
	case head[0] == '{' && len(bytes.TrimSpace(line)) == 1:
		return isDocument // it goes on in the next line
	case head[0] != '{':
		return isLine
	}
	// The first members of an object tell whether a list of messages follows, or whether it goes on in the next line.
	single := false
	for rest := line[1:]; ; {
		name, value, ok := member(rest)
		if !ok {
			return isLine
		}
		switch string(name) {
		case "messages":
			if len(value) > 0 && value[0] == '[' && !single {
				return isDocument
			}
			return isLine
		case "type", "uuid", "parentUuid", "seq", "timestamp", "role", "message", "payload", "data", "parts", "trace":
			if single = true; line[len(line)-1] == '}' { // a list in it is no list of records
				return isLine
			}
		}
		n := valueLen(value)
		if n == 0 {
			return isLine
		}
		rest = bytes.TrimLeft(value[n:], " \t\r")
		if len(rest) == 0 || rest[0] != ',' {
			return isLine
		}
		if rest = bytes.TrimLeft(rest[1:], " \t\r"); len(rest) == 0 {
			// It goes on in the next line, unless it is torn and that is another record.
			after := bytes.TrimLeft(head[len(line):], " \t\r\n")
			if len(after) > 0 && after[0] == '"' {
				return isDocument
			}
			return isLine
		}
	}
}

// member splits `"name": value…`.
func member(b []byte) (name, value []byte, ok bool) {
	b = bytes.TrimLeft(b, " \t\r")
	if len(b) == 0 || b[0] != '"' {
		return nil, nil, false
	}
	n := valueLen(b)
	if n == 0 {
		return nil, nil, false
	}
	name, b = b[1:n-1], bytes.TrimLeft(b[n:], " \t\r")
	if len(b) == 0 || b[0] != ':' {
		return nil, nil, false
	}
	return name, bytes.TrimLeft(b[1:], " \t\r"), true
}

// valueLen is the length of the value that b begins with; 0: it does not end in b.
func valueLen(b []byte) int {
	var v valueEnd
	for i, c := range b {
		if whole, with := v.next(c); whole {
			return i + b2i(with)
		}
	}
	return 0
}

// A valueEnd finds the end of a JSON value without looking at what it says.
type valueEnd struct {
	depth  int
	inside bool // a string
	escape bool
	scalar bool // a number or word, which ends where something else begins
}

// next is given the bytes of a value from its first on. Whole says that the value is over; with, that c belongs to it.
func (v *valueEnd) next(c byte) (whole, with bool) {
	switch {
	case v.escape:
		v.escape = false
	case v.inside:
		if c == '\\' {
			v.escape = true
		} else if c == '"' {
			v.inside = false
			return v.depth == 0, true
		}
	case v.scalar:
		switch c {
		case ',', '}', ']', ' ', '\t', '\r', '\n':
			return true, false
		}
	case c == '"':
		v.inside = true
	case c == '{' || c == '[':
		v.depth++
	case c == '}' || c == ']':
		v.depth--
		return v.depth <= 0, v.depth == 0
	case v.depth == 0:
		v.scalar = true
	}
	return false, false
}
