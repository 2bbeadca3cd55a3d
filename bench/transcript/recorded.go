package transcript

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/keywave-go/keywave/bench/trace"
)

// recorded takes a recorded batch, which is whole.
func (d *dispatcher) recorded(raw []byte, line int) {
	if bytes.IndexByte(raw, '\n') >= 0 { // a record of package trace is a line
		var compact bytes.Buffer
		_ = json.Compact(&compact, raw)
		raw = compact.Bytes()
	}
	for t, err := range trace.Read(bytes.NewReader(raw)) {
		if err != nil {
			d.report.note(UnknownRecord, line, "not a recorded batch")
			return
		}
		b := Batch{Format: Recorded, Session: t.Trace, Turn: strconv.Itoa(t.Number), Line: line, Model: t.Model, Recorded: &t}
		if t.Sub {
			b.Agent = "sub-agent"
		}
		for _, c := range t.Calls {
			b.Calls = append(b.Calls, recordedCall(t, c, line))
		}
		d.open.close(&open{Batch: b}, CallWithoutResult)
	}
}

func recordedCall(t trace.Batch, c trace.Call, line int) Call {
	out := Call{Line: line}
	out.Name, out.Arguments = c.Tool, "{}"
	if c.Start != nil {
		out.Start = time.UnixMilli(int64(t.At + *c.Start)).UTC()
		if c.Span != nil && *c.Span >= 0 {
			out.End = out.Start.Add(c.Span.Duration())
		}
	}
	if c.Timed() {
		out.Reported = c.Est.Duration()
	}
	switch {
	case c.Err == nil:
	case c.ErrClass == "sibling_error":
		out.Outcome = Cancelled
	case *c.Err:
		out.Outcome = Failed
	default:
		out.Outcome = Succeeded
	}
	return out
}
