package main

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"github.com/keywave-go/keywave/bench/replay"
	"github.com/keywave-go/keywave/bench/trace"
)

// replayColumns are those of the CSV form of a report. The help tells them: they stay as they are.
var replayColumns = []string{
	"scope", "session", "file", "format", "policy", "ordered", "limit", "turns", "batches", "calls", "timed", "steps", "ms", "bound_ms",
	"saved_vs_serial_ms", "saved_vs_rolling_ms", "waited", "inverted_batches", "inverted_calls", "inverted_pairs", "inverted_over_keys",
}

// replayCSV writes a report as rows, of all batches and of each session, under each policy.
func replayCSV(w io.Writer, r *replay.Report) error {
	out := csv.NewWriter(w)
	_ = out.Write(replayColumns) // out remembers an error
	rows := func(scope, session, file, format string, f replay.Figures) {
		serial, rolling := under(f, "serial"), under(f, "rolling")
		for _, o := range f.Policies {
			_ = out.Write([]string{
				scope, session, cell(file), cell(format), cell(o.Policy), strconv.FormatBool(o.Ordered), strconv.Itoa(r.Limit),
				strconv.Itoa(f.Turns), strconv.Itoa(f.Batches), strconv.Itoa(f.Calls), strconv.Itoa(f.Timed),
				strconv.Itoa(o.Steps), millis(o.Time), millis(f.Bound), millis(serial.Time - o.Time), millis(rolling.Time - o.Time),
				strconv.Itoa(f.Waited), strconv.Itoa(o.Inverted.Batches), strconv.Itoa(o.Inverted.Calls), strconv.Itoa(o.Inverted.Pairs),
				strconv.Itoa(o.Inverted.Keyed),
			})
		}
	}
	rows("total", "", "", "", r.Total)
	for _, s := range r.Sessions {
		rows("session", strconv.Itoa(s.ID), s.File, s.Format, s.Figures)
	}
	out.Flush()
	return out.Error()
}

// millis has whole microseconds, and never an exponent.
func millis(m trace.Millis) string {
	s := strconv.FormatFloat(float64(m), 'f', 3, 64)
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}

// cell keeps a name from being a formula in a spreadsheet.
func cell(name string) string {
	name = clean(name)
	if name != "" && strings.ContainsRune("=+-@\t\r", rune(name[0])) {
		return "'" + name
	}
	return name
}
