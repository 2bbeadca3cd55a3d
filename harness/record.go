package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// A record is an event in a line. Its members come in one order:
//
//	{"seq":1,"time":"2026-01-02T03:04:05.6Z","type":"turn/start","data":{"turn":1}}
//
// Records in that form are read without encoding/json, which is what makes a log of a million of them quick to open. It
// reads all others, such as those that a tool has written with the members sorted.

// maxSeq is the highest number that every reader of JSON takes exactly.
const maxSeq = 1 << 53

// appendRecord appends the event as a line.
func appendRecord(b []byte, e Event) []byte {
	b = append(b, `{"seq":`...)
	b = strconv.AppendUint(b, e.Seq, 10)
	b = append(b, `,"time":"`...)
	b = e.Time.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","type":`...)
	if plain(e.Type) {
		b = append(b, '"')
		b = append(b, e.Type...)
		b = append(b, '"')
	} else {
		quoted, _ := json.Marshal(e.Type)
		b = append(b, quoted...)
	}
	b = append(b, `,"data":`...)
	if len(e.Data) == 0 {
		b = append(b, "null"...)
	}
	b = append(b, e.Data...)
	return append(b, "}\n"...)
}

// plain reports whether s stands in JSON as it is.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// parseRecord reads a line, without its end. The event keeps nothing of it.
func parseRecord(line []byte) (Event, error) {
	e, data, ok := parseUsual(line)
	if ok && json.Valid(data) {
		e.Data = bytes.Clone(data)
		return e, nil
	}
	return parseAny(line)
}

// parseUsual reads a record in the usual form, but leaves it open whether its data is JSON.
func parseUsual(line []byte) (e Event, data []byte, ok bool) {
	c := cursor{rest: line}
	e.Seq = c.after(`{"seq":`)
	stamp := c.until(`,"time":"`)
	kind := c.until(`,"type":"`)
	if c.failed || !plain(string(stamp)) || !plain(string(kind)) || e.Seq == 0 || e.Seq > maxSeq || len(kind) == 0 {
		return e, nil, false
	}
	e.Type = typeName(kind)
	data, ok = bytes.CutPrefix(c.rest, []byte(`,"data":`))
	if !ok || len(data) < 2 || data[len(data)-1] != '}' {
		return e, nil, false
	}
	var err error
	if e.Time, err = parseTime(string(stamp)); err != nil {
		return e, nil, false
	}
	return e, bytes.Trim(data[:len(data)-1], " \t\r"), true
}

// A cursor steps over bytes in a form that is known in advance.
type cursor struct {
	rest   []byte
	failed bool
}

// after steps over a prefix and the number that follows it.
func (c *cursor) after(prefix string) (n uint64) {
	rest, ok := bytes.CutPrefix(c.rest, []byte(prefix))
	if !ok || c.failed {
		c.failed = true
		return 0
	}
	i := 0
	for i < len(rest) && i < 17 && rest[i] >= '0' && rest[i] <= '9' {
		n = 10*n + uint64(rest[i]-'0')
		i++
	}
	if i == 0 || i == 17 || i > 1 && rest[0] == '0' || i == len(rest) || rest[i] != ',' && rest[i] != '}' {
		c.failed = true
	}
	c.rest = rest[i:]
	return n
}

// until steps over a prefix and what follows it up to a quotation mark, which it steps over too.
func (c *cursor) until(prefix string) []byte {
	rest, ok := bytes.CutPrefix(c.rest, []byte(prefix))
	end := bytes.IndexByte(rest, '"')
	if !ok || c.failed || end < 0 {
		c.failed = true
		return nil
	}
	c.rest = rest[end+1:]
	return rest[:end]
}

// parseAny reads a record in any form that JSON has for it.
func parseAny(line []byte) (e Event, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		return e, err
	}
	fail := func(name, problem string) (Event, error) {
		if members[name] == nil {
			problem = "is missing"
		}
		return Event{}, fmt.Errorf("its %s %s", name, problem)
	}
	if e.Seq, err = strconv.ParseUint(string(members["seq"]), 10, 64); err != nil || e.Seq == 0 || e.Seq > maxSeq {
		return fail("seq", "is no whole number from 1 to 2^53")
	}
	var stamp *string
	if err := json.Unmarshal(members["time"], &stamp); err != nil || stamp == nil {
		return fail("time", "is no string")
	}
	if e.Time, err = parseTime(*stamp); err != nil {
		return fail("time", "is none of RFC 3339")
	}
	var kind *string
	if err := json.Unmarshal(members["type"], &kind); err != nil || kind == nil || *kind == "" {
		return fail("type", "is no string, or empty")
	}
	e.Type, e.Data = *kind, members["data"]
	if e.Data == nil {
		return fail("data", "")
	}
	return e, nil
}

func parseTime(s string) (t time.Time, err error) {
	if err := t.UnmarshalText([]byte(s)); err != nil {
		return t, err
	}
	if t = t.UTC(); t.Year() < 0 || t.Year() > 9999 {
		return t, errors.New("year out of range")
	}
	return t, nil
}

// typeName is string(kind) that does not allocate for the usual types.
func typeName(kind []byte) string {
	switch string(kind) {
	case TypeToolCall:
		return TypeToolCall
	case TypeToolSettle:
		return TypeToolSettle
	case TypeToolResult:
		return TypeToolResult
	case TypeAssistantMessage:
		return TypeAssistantMessage
	case TypeStepStart:
		return TypeStepStart
	case TypeStepEnd:
		return TypeStepEnd
	}
	return string(kind)
}

// placeOf reads where the data of an event of a call, a step or a turn belongs. Data that this package wrote begins
// with it; rest is how much of the data follows, or -1 if it was another who wrote it.
func placeOf(e Event, members int) (p Place, rest int, err error) {
	c := cursor{rest: e.Data}
	var n [3]uint64
	for i := range members {
		n[i] = c.after(placeMembers[i])
		c.failed = c.failed || n[i] > math.MaxInt32
	}
	if c.failed {
		p, err = placeAnywhere(e)
		return p, -1, err
	}
	return Place{int(n[0]), int(n[1]), int(n[2])}, len(c.rest), nil
}

var placeMembers = [...]string{`{"turn":`, `,"step":`, `,"index":`}

func placeAnywhere(e Event) (p Place, err error) {
	err = read(e, &p)
	return p, err
}
