package main

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/keywave-go/keywave/exec"
)

// A progress shows how a batch is getting on, from snapshots: in place on a terminal, else as a line for each call that
// starts or ends.
type progress struct {
	to     stream
	paint  painter
	batch  *batch
	names  []string // by call, as they are shown
	screen *screen  // nil: plain lines
	still  bool     // nothing is to stay on the screen
	begun  []bool   // by call: its start was shown
	told   []bool   // by call: its end was shown
	notes  []line   // to stay, from the next snapshot on
}

// A snapshot is how far the calls are.
type snapshot struct {
	spans []exec.Span
	ends  []atomic.Int32 // by call: what its body's result was
	now   time.Duration  // since the start
}

const (
	notEnded = iota
	endedWell
	endedBadly
)

// ended says how call i ended, in a word, if it did. A body that returned has no result until Settled was told.
func (s snapshot) ended(i int) (word string, failed, ok bool) {
	switch span := s.spans[i]; {
	case span.Settled < 0:
		return "", false, false
	case span.End == exec.EndReturned || span.End == exec.EndOpen:
		end := s.ends[i].Load()
		return map[int32]string{endedWell: "done", endedBadly: "failed"}[end], end == endedBadly, end != notEnded
	default:
		return span.End.String(), true, true
	}
}

// watch returns the progress of b on w.
func (h host) watch(b *batch, w stream) *progress {
	p := &progress{to: w, paint: h.paint(w), batch: b, begun: make([]bool, len(b.calls)), told: make([]bool, len(b.calls))}
	for i := range b.calls {
		p.names = append(p.names, fmt.Sprintf("%2d  %s", i+1, b.label(i)))
	}
	if _, _, terminal := w.size(); terminal && h.env("TERM") != "dumb" {
		p.screen = &screen{to: w}
	}
	return p
}

// How often a person wants to see something new.
const redraw = 50 * time.Millisecond

// show takes the next snapshot.
func (p *progress) show(s snapshot) {
	news := p.news(s)
	if p.still {
		news = nil
	}
	news = append(news, p.notes...)
	p.notes = nil
	if p.screen != nil {
		p.screen.paint(news, p.live(s))
		return
	}
	for _, l := range news {
		fmt.Fprintln(p.to, l.text)
	}
}

// note says something with the next snapshot.
func (p *progress) note(text string) { p.notes = append(p.notes, line{text, p.paint.warm}) }

// end removes what is not to stay.
func (p *progress) end() {
	if p.screen != nil {
		p.screen.paint(nil, nil)
	}
}

// news are lines that stay: what happened since the last snapshot, in the order in which it happened. On a terminal a
// call that starts is shown by the live lines.
func (p *progress) news(s snapshot) []line {
	type event struct {
		at   time.Duration
		rank int // at the same time: what made room first
		line
	}
	var events []event
	for i, span := range s.spans {
		name := p.names[i]
		if span.Started >= 0 && !p.begun[i] {
			p.begun[i] = true
			text := "start     " + name
			if w, ok := lastWait(span.Waits); ok {
				text += fmt.Sprintf("  (waited %s for %s)", short(span.Started-span.Submitted), p.batch.waitsFor(w))
			}
			if p.screen == nil {
				events = append(events, event{span.Started, 1, line{text: text}})
			}
		}
		if word, failed, ok := s.ended(i); ok && !p.told[i] {
			p.told[i] = true
			e := event{span.Settled, 0, line{text: fmt.Sprintf("%-9s %s", word, name), style: p.paint.faint}}
			if span.Settled == span.Started {
				e.rank = 2
			}
			if failed {
				e.style = p.paint.bad
			}
			if span.Started >= 0 {
				e.text += "  " + short(span.Settled-span.Started)
			}
			events = append(events, e)
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank)) })
	lines := make([]line, len(events))
	for i, e := range events {
		lines[i] = e.line
	}
	return lines
}

// lastWait is the last one before the start that had to do with another call or a permit.
func lastWait(waits []exec.Wait) (last exec.Wait, ok bool) {
	for _, w := range waits {
		if w.For != exec.WaitLane && w.For != exec.WaitCommit {
			last, ok = w, true
		}
	}
	return last, ok
}

// live are the lines of the calls that run or wait, under a line that counts.
func (p *progress) live(s snapshot) []line {
	var running, waiting []line
	done := 0
	for i, span := range s.spans {
		name := p.names[i]
		switch {
		case span.Settled >= 0:
			done++
		case span.Started >= 0:
			running = append(running, line{"▶ " + name + "  " + short(s.now-span.Started), p.paint.good})
		default:
			text := "· " + name
			if n := len(span.Waits); n > 0 {
				text += "  waits for " + p.batch.waitsFor(span.Waits[n-1])
			}
			waiting = append(waiting, line{text, p.paint.faint})
		}
	}
	if len(running)+len(waiting) == 0 {
		return nil
	}
	head := line{fmt.Sprintf("%d done, %d running, %d waiting  %s", done, len(running), len(waiting), short(s.now)), p.paint.bold}
	return slices.Concat([]line{head}, running, waiting)
}

// waitsFor says in words what a call waits for, short enough to stand behind its name.
func (b *batch) waitsFor(w exec.Wait) string {
	switch w.For {
	case exec.WaitClaim:
		_, held := b.pair(w.Mine, w.Held)
		return fmt.Sprintf("call %d: %v", w.Call+1, held)
	case exec.WaitBarrier:
		return fmt.Sprintf("call %d: one runs alone", w.Call+1)
	case exec.WaitOrder:
		return fmt.Sprintf("call %d: it comes first", w.Call+1)
	case exec.WaitWave:
		return fmt.Sprintf("call %d: of an earlier wave", w.Call+1)
	case exec.WaitPermit:
		return "a free place: the limit is reached"
	case exec.WaitCommit:
		return "the results before its own"
	default:
		return "its turn"
	}
}
