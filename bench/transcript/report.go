package transcript

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Report says what a read found, and what it could not use. Of the text of a transcript it holds only the names of
// record types that are not known, each cut to a few dozen characters, and the one character at which something is not
// JSON. It is not safe for concurrent use; reading several transcripts into one Report adds up.
type Report struct {
	Bytes    int64
	Lines    int
	Records  int // JSON values that were looked at
	Batches  int
	Calls    int
	Formats  []FormatCount // in the order in which they came up
	Problems []Problem     // sorted by kind; of one kind in the order in which they came up
}

// A FormatCount is how much of one format was read.
type FormatCount struct {
	Format  Format
	Batches int
	Calls   int
}

// A Problem is something that could not be used, or is to be known when the figures are read. Everything else in the
// transcript was used.
type Problem struct {
	Kind  Kind
	What  string // says more: the type of an unknown record, what is wrong with JSON
	Count int
	Lines []int // the first of them, at most [MaxLines]
}

// MaxLines is how many lines a [Problem] names.
const MaxLines = 8

// maxWhats is how many problems of one kind are told apart. The rest are counted together.
const maxWhats = 24

// A Kind is a kind of problem.
type Kind uint8

const (
	Empty             Kind = iota + 1 // there is nothing at all in it
	Binary                            // it is not text: nothing of it, or a line of it, was read
	Unrecognised                      // it is JSON, but no format that is known here
	BadJSON                           // a line, or a document from there on, is not JSON
	Torn                              // it ends in the middle of a record: cut off, or still being written
	TooLong                           // a record is longer than is read
	UnknownRecord                     // a record of a type that is not known in its format; it may hold calls
	MixedFormats                      // from this line on it is of another format than before
	ClockBackwards                    // a call ended before it started: how long it took is not known
	MissingID                         // a call without an id, or a result that does not say of which; paired by order
	DuplicateID                       // two calls of one batch with the same id; paired by order
	RepeatedRecord                    // a record that is there twice was used once
	RepeatedResult                    // a second result of a call was not used
	ResultWithoutCall                 // a result of a call that is not there, or whose batch is over
	CallWithoutResult                 // a call whose batch is over and that has no result
	StillOpen                         // a call that has no result, at the end: it may still be running
	TooManyOpen                       // a batch was given up because too many were open at once, or it was too large
)

var kinds = [...]string{
	"", "empty", "binary", "unrecognised", "bad JSON", "torn end", "record too long", "unknown record", "mixed formats",
	"clock going backwards", "missing id", "duplicate id", "repeated record", "repeated result", "result without call",
	"call without result", "call still open", "too many open",
}

// String returns the kind in a few words.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// String returns the problem as one line: what it is, how often, and where.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Kind.String())
	if p.What != "" {
		b.WriteString(" (" + p.What + ")")
	}
	if p.Count != 1 {
		fmt.Fprintf(&b, " ×%d", p.Count)
	}
	for i, line := range p.Lines {
		b.WriteString([]string{", ", " at line "}[b2i(i == 0)])
		fmt.Fprint(&b, line)
	}
	if p.Count > len(p.Lines) && len(p.Lines) > 0 {
		b.WriteString(", …")
	}
	return b.String()
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Count returns how often a kind of problem came up.
func (r *Report) Count(k Kind) (n int) {
	for _, p := range r.Problems {
		if p.Kind == k {
			n += p.Count
		}
	}
	return n
}

// note adds a problem; line 0: it has none.
func (r *Report) note(k Kind, line int, what string) {
	what = named(what)
	of := 0
	at := -1
	for i := range r.Problems {
		if p := &r.Problems[i]; p.Kind == k {
			if of++; p.What == what || p.What == others {
				at = i
				break
			}
		}
	}
	if at < 0 {
		if of >= maxWhats {
			what = others
		}
		after, _ := slices.BinarySearchFunc(r.Problems, k+1, func(p Problem, k Kind) int { return cmp.Compare(p.Kind, k) })
		r.Problems = slices.Insert(r.Problems, after, Problem{Kind: k, What: what})
		at = after
	}
	p := &r.Problems[at]
	if p.Count++; line > 0 && len(p.Lines) < MaxLines {
		p.Lines = append(p.Lines, line)
	}
}

const others = "others"

// named makes a name from a transcript fit for a report.
func named(s string) string {
	const most = 60
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// count adds a batch.
func (r *Report) count(b *Batch) {
	r.Batches++
	r.Calls += len(b.Calls)
	i := slices.IndexFunc(r.Formats, func(f FormatCount) bool { return f.Format == b.Format })
	if i < 0 {
		i = len(r.Formats)
		r.Formats = append(r.Formats, FormatCount{Format: b.Format})
	}
	r.Formats[i].Batches++
	r.Formats[i].Calls += len(b.Calls)
}
