package codemode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/keywave-go/keywave/tool"
)

// Bounds, in bytes, of texts that are not of a limit's.
const (
	maxFailure = 16 << 10 // of a call or a program
	maxNote    = 300
	maxNotes   = 8
)

// render says how a program has ended.
func (r *run) render(o Outcome, cancelled bool) tool.Result {
	value, whole := valueOf(o.Value)
	if most := r.limits.Value; o.Failure == "" && len(o.Value) > most {
		o.Failure = OutputLimit
		o.Message = fmt.Sprintf("what it returned has %d bytes as JSON, which is more than %d: return less, such as a summary", len(o.Value), most)
	}
	var out tool.Result
	show := func(format string, args ...any) {
		out.Content = append(out.Content, tool.Block{Text: fmt.Sprintf(format, args...)})
	}
	logs := r.logs(o)
	switch {
	case o.Failure == Abort && cancelled:
		show("The program was stopped.")
	case o.Failure != "":
		show("The program failed (%s): %s\n%s", o.Failure, bounded(o.Message, maxFailure), r.effects())
	case len(o.Value) == 0 && logs == "":
		show("The program returned nothing.")
	case logs == "":
		show("%s", value)
	}
	if logs != "" {
		show("Logs:\n%s", logs)
	}
	if o.Failure == "" && logs != "" && len(o.Value) > 0 {
		show("Returned:\n%s", value)
	}
	if notes := r.notes(o); notes != "" {
		show("%s", notes)
	}
	if o.Failure == "" && whole {
		out.Value = o.Value
	}
	// A program that ended by a cancel did not fail: the pipeline says what became of the call.
	if o.Failure != "" && !(cancelled && (o.Failure == Abort || o.Failure == Exception)) {
		out.Code, out.IsError = tool.CodeRunFailed, true
	}
	out.Meta, _ = json.Marshal(struct {
		Calls   int  `json:"calls"`
		Failure Kind `json:"failure,omitempty"`
	}{r.calls, o.Failure})
	return out
}

// effects says what a program that failed leaves behind.
func (r *run) effects() string {
	switch r.started {
	case 0:
		return "It had called nothing."
	case 1:
		return "It had made 1 call, whose effect stays."
	}
	return fmt.Sprintf("It had made %d calls, whose effects stay.", r.started)
}

// logs are what the program has logged, a line or more each, up to the limit.
func (r *run) logs(o Outcome) string {
	var b strings.Builder
	dropped := o.Dropped
	for _, l := range o.Logs {
		line := strings.ToValidUTF8(l.Text, "\uFFFD")
		if l.Level != "" && l.Level != "log" {
			line = "[" + l.Level + "] " + line
		}
		if room := r.limits.Logs - b.Len() - 1; len(line) > room {
			kept := cut(line, room)
			dropped += len(line) - len(kept)
			line = kept
			if kept == "" {
				continue
			}
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	if dropped > 0 {
		fmt.Fprintf(&b, "[%d bytes more were logged, and are dropped.]", dropped)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// notes are what the program does not know, or did not say: a line each.
func (r *run) notes(o Outcome) string {
	var aborted, dropped, lines []string
	for _, m := range o.Unhandled {
		lines = append(lines, "Note: nothing in the program observed a rejection: "+bounded(m, maxNote))
	}
	for _, n := range o.Unsettled {
		f, failed := r.failures[n]
		if failed && !slices.ContainsFunc(r.late, func(l late) bool { return l.number == n }) {
			lines = append(lines, unawaited(f.name, f.text))
		}
	}
	for _, l := range r.late {
		switch {
		case !l.started:
			dropped = append(dropped, member(l.name))
		case l.result.Code == tool.Aborted || l.result.Code == tool.Abandoned:
			aborted = append(aborted, member(l.name))
		case l.result.IsError && l.alone:
			lines = append(lines, unawaited(l.name, bounded(l.result.Text(), maxNote)))
		}
	}
	if more := len(lines) - maxNotes; more > 0 {
		lines = append(lines[:maxNotes], fmt.Sprintf("Note: and %d more of that kind.", more))
	}
	if len(aborted) > 0 {
		lines = append(lines, "Note: when the program ended, calls were still running, and were aborted; their effects may have happened: "+listed(aborted)+". Await every call.")
	}
	if len(dropped) > 0 {
		lines = append(lines, "Note: when the program ended, calls had not started, and were not run: "+listed(dropped)+". Await every call.")
	}
	return strings.Join(lines, "\n")
}

func unawaited(name, why string) string {
	return "Note: " + member(name) + ", which was not awaited, failed: " + why
}

func listed(names []string) string {
	if more := len(names) - maxNotes; more > 0 {
		names = append(names[:maxNotes:maxNotes], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// valueOf shows JSON as a model reads it best: a string as it is, anything else with a line for each member, as long as
// that does not go deep. Whole says that every reader takes the JSON alike, so that it can be handed on as a value.
func valueOf(raw json.RawMessage) (shown string, whole bool) {
	if !json.Valid(raw) {
		return strings.ToValidUTF8(string(raw), "\uFFFD"), false
	}
	if raw = bytes.TrimSpace(raw); raw[0] == '"' {
		var text string
		_ = json.Unmarshal(raw, &text)
		return text, paired(raw)
	}
	var b bytes.Buffer
	_ = json.Compact(&b, raw)
	shown, deepest := pretty(b.Bytes())
	return shown, deepest <= maxDepth && paired(raw)
}

const maxDepth = 1000 // of a value that package tool takes

const (
	maxIndent = 8  // levels: deeper ones would make the text longer than a multiple of the JSON
	maxInline = 80 // bytes
)

// pretty indents compact JSON, and says how deep it is nested.
func pretty(raw []byte) (text string, deepest int) {
	ends := make([]int, len(raw)) // of the array or object that begins there
	var open []int
	inString := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			open = append(open, i)
			deepest = max(deepest, len(open))
		case c == '}' || c == ']':
			ends[open[len(open)-1]] = i
			open = open[:len(open)-1]
		}
	}
	var b strings.Builder
	line := func(depth int) {
		b.WriteByte('\n')
		for range depth {
			b.WriteString("  ")
		}
	}
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			b.WriteByte(c)
			i++
			b.WriteByte(raw[i])
		case c == '"':
			inString = !inString
			b.WriteByte(c)
		case inString:
			b.WriteByte(c)
		case (c == '{' || c == '[') && (ends[i]-i < maxInline || depth == maxIndent):
			b.Write(raw[i : ends[i]+1])
			i = ends[i]
		case c == '{' || c == '[':
			b.WriteByte(c)
			depth++
			line(depth)
		case c == '}' || c == ']':
			depth--
			line(depth)
			b.WriteByte(c)
		case c == ',':
			b.WriteByte(c)
			line(depth)
		case c == ':':
			b.WriteString(": ")
		default:
			b.WriteByte(c)
		}
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD"), deepest
}

// paired reports whether JSON has no half of a surrogate pair in it, and is UTF-8.
func paired(raw []byte) bool {
	if !utf8.Valid(raw) {
		return false
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if i++; raw[i] != 'u' {
			continue
		}
		switch half := surrogate(raw[i:]); {
		case half == low:
			return false
		case half == high && (i+6 >= len(raw) || raw[i+5] != '\\' || surrogate(raw[i+6:]) != low):
			return false
		case half == high:
			i += 6
		}
		i += 4
	}
	return true
}

const (
	high = iota + 1
	low
)

// surrogate says what the escape is whose u comes first.
func surrogate(escape []byte) int {
	if len(escape) < 5 || escape[0] != 'u' || escape[1]|0x20 != 'd' {
		return 0
	}
	switch c := escape[2] | 0x20; {
	case c == '8' || c == '9' || c == 'a' || c == 'b':
		return high
	case c >= 'c' && c <= 'f':
		return low
	}
	return 0
}

// bounded cuts a text to about n bytes, and says so.
func bounded(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	kept := cut(s, n)
	return fmt.Sprintf("%s… (%d bytes more)", kept, len(s)-len(kept))
}

// cut is the beginning of s, at most n bytes, up to a rune.
func cut(s string, n int) string {
	if n <= 0 {
		return ""
	}
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
