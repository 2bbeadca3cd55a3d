package main

import (
	"fmt"
	"strings"
	"time"
)

// A reading shows on a terminal how far transcripts have been read, if that takes long enough for anybody to wonder.
type reading struct {
	*transcripts
	screen  *screen // nil: nobody is looking
	paint   painter
	started time.Time
	shown   time.Time
}

// Nobody wonders before that.
const patience = 500 * time.Millisecond

// reading returns the reading of t.
func (h host) reading(t *transcripts) *reading {
	r := &reading{transcripts: t, paint: h.paint(h.stderr), started: time.Now()}
	if _, _, terminal := h.stderr.size(); terminal && h.env("TERM") != "dumb" {
		r.screen = &screen{to: h.stderr}
	}
	return r
}

// tell is told how many bytes have been read, of how many.
func (r *reading) tell(done, total int64) {
	now := time.Now()
	if r.screen == nil || now.Sub(r.started) < patience || now.Sub(r.shown) < redraw {
		return
	}
	r.shown = now
	r.screen.paint(nil, []line{{r.text(done, total, now.Sub(r.started)), r.paint.bold}})
}

// text is how far it is.
func (r *reading) text(done, total int64, after time.Duration) string {
	parts := []string{bytesText(done)}
	rate := int64(float64(done) / after.Seconds())
	if !r.unsized {
		parts[0] += " of " + bytesText(total)
	}
	if n := len(r.sources); n > 1 {
		parts = append(parts, fmt.Sprintf("%s of %s files", grouped(int(r.closed.Load())), grouped(n)))
	}
	parts = append(parts, bytesText(rate)+"/s")
	if left := total - done; !r.unsized && left > 0 && rate > 0 {
		parts = append(parts, "about "+(time.Duration(left/rate+1)*time.Second).String()+" left")
	}
	return "reading  " + strings.Join(parts, "  ")
}

// end removes what is shown.
func (r *reading) end() {
	if r.screen != nil && !r.shown.IsZero() {
		r.screen.paint(nil, nil)
	}
}

// bytesText is a number of bytes for people.
func bytesText(n int64) string {
	switch {
	case n < 1e3:
		return fmt.Sprintf("%d B", n)
	case n < 1e6:
		return fmt.Sprintf("%d kB", n/1e3)
	case n < 1e9:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	default:
		return fmt.Sprintf("%.2f GB", float64(n)/1e9)
	}
}
