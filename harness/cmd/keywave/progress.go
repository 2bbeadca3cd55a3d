package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// A progress shows how batches are getting on, from snapshots: in place on a terminal, else as a line for each call
// that starts or ends.
type progress struct {
	to     stream
	paint  painter
	parts  []*part
	screen *screen // nil: plain lines
	still  bool    // nothing is to stay on the screen
	notes  []line  // to stay, from the next snapshot on
}

// A part of a progress is one batch.
type part struct {
	*batch
	lead  string   // that the names begin with
	names []string // by call, as they are shown; of one that is not known yet it is empty
	begun []bool   // by call: its start was shown
	told  []bool   // by call: its end was shown

	programs map[int]*part // by call: what its program calls, as far as it has been shown
}

// A snapshot is how far the calls of a batch are.
type snapshot struct {
	spans []exec.Span
	ends  []atomic.Int32 // by call: what its body's result was
	begun time.Duration  // since the start of all batches
	now   time.Duration  // since its own

	broods map[int]*brood // by call: what its program has called
}

// snapshots are of one moment, nearly.
func snapshots(agents []*agent, started time.Time) []snapshot {
	all := make([]snapshot, len(agents))
	for i, a := range agents {
		all[i] = snapshot{spans: a.timeline.Snapshot(), ends: a.ends, begun: a.begun, now: time.Since(started) - a.begun, broods: a.nest.broods(started)}
	}
	return all
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

// watch returns the progress of batches on w.
func (h host) watch(w stream, batches ...*batch) *progress {
	p := &progress{to: w, paint: h.paint(w)}
	widest := 0
	for _, b := range batches {
		widest = max(widest, cells.StringWidth(b.agent))
	}
	for _, b := range batches {
		t := &part{batch: b, begun: make([]bool, len(b.calls)), told: make([]bool, len(b.calls))}
		if len(batches) > 1 {
			t.lead = pad(b.agent, widest) + "  "
		}
		for i := range b.calls {
			t.names = append(t.names, fmt.Sprintf("%s%2d  %s", t.lead, i+1, b.label(i)))
		}
		p.parts = append(p.parts, t)
	}
	if _, _, terminal := w.size(); terminal && h.env("TERM") != "dumb" {
		p.screen = &screen{to: w}
	}
	return p
}

// How often a person wants to see something new.
const redraw = 50 * time.Millisecond

// show takes the next snapshot of every batch.
func (p *progress) show(all []snapshot) {
	news := p.news(all)
	if p.still {
		news = nil
	}
	news = append(news, p.notes...)
	p.notes = nil
	if p.screen != nil {
		p.screen.paint(news, p.live(all))
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

// An event is a line about something that happened. Of what happened at the same time, what made room comes first.
type event struct {
	at   time.Duration // since the start of all batches
	rank int
	line
}

// news are lines that stay: what happened since the last snapshot, in the order in which it happened.
func (p *progress) news(all []snapshot) []line {
	var events []event
	for k, s := range all {
		events = p.newsOf(events, p.parts[k], s)
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank)) })
	lines := make([]line, len(events))
	for i, e := range events {
		lines[i] = e.line
	}
	return lines
}

// newsOf appends what happened in one batch. On a terminal a call that starts is shown by the live lines.
func (p *progress) newsOf(events []event, t *part, s snapshot) []event {
	for i, span := range s.spans {
		name := t.names[i]
		if name == "" {
			continue // it has not started, or nobody has said so yet
		}
		if span.Started >= 0 && !t.begun[i] {
			t.begun[i] = true
			if p.screen == nil {
				events = append(events, event{s.begun + span.Started, 1, line{text: "start     " + name + t.waited(span)}})
			}
		}
		brood := s.brood(i)
		if word, failed, ok := s.ended(i); ok && !t.told[i] && brood.whole() {
			t.told[i] = true
			e := event{s.begun + span.Settled, 0, line{text: fmt.Sprintf("%-9s %s", word, name), style: p.paint.faint}}
			if span.Settled == span.Started {
				e.rank = 1        // right behind its start
				if brood != nil { // and its calls
					e.rank = 2
				}
			}
			if failed {
				e.style = p.paint.bad
			}
			if span.Started >= 0 {
				e.text += "  " + short(span.Settled-span.Started)
			}
			events = append(events, e)
		}
		if brood != nil {
			made := p.newsOf(nil, t.program(i, brood), brood.snapshot)
			for k := range made {
				if span.Settled > span.Started && made[k].at == s.begun+span.Settled {
					made[k].rank -= 4 // before the end of the program
				}
			}
			events = append(events, made...)
		}
	}
	return events
}

// brood is what the program of call i has called; nil: it is none, or has not begun.
func (s snapshot) brood(i int) *brood {
	if b := s.broods[i]; b != nil {
		return b.in(s.spans[i], s.begun)
	}
	return nil
}

// program is the part of the calls that the program of call i has made.
func (t *part) program(i int, b *brood) *part {
	of := t.programs[i]
	if of == nil {
		if t.programs == nil {
			t.programs = map[int]*part{}
		}
		of = &part{batch: &batch{root: t.root, within: fmt.Sprintf("%s%d.", t.within, i+1)}, lead: t.lead + "   "}
		t.programs[i] = of
	}
	of.calls = b.calls
	for n := len(of.names); n < len(b.calls); n++ {
		of.names, of.begun, of.told = append(of.names, ""), append(of.begun, false), append(of.told, false)
	}
	for n, c := range b.calls {
		if of.names[n] == "" && c.Name != "" {
			of.names[n] = of.lead + of.within + strconv.Itoa(n+1) + "  " + of.label(n)
		}
	}
	return of
}

// waited says what a call waited for before its body began: for calls of its own batch, or a permit, and for those of
// other agents. Of each it names the last.
func (b *batch) waited(s exec.Span) string {
	var own, others *exec.Wait
	var behind time.Duration
	for i, w := range s.Waits {
		switch w.For {
		case exec.WaitLane, exec.WaitCommit:
		case exec.WaitDomain:
			others = &s.Waits[i]
			behind += w.To - w.From
		default:
			own = &s.Waits[i]
		}
	}
	var parts []string
	if own != nil {
		parts = append(parts, fmt.Sprintf("%s for %s", short(s.Started-s.Submitted-behind), b.waitsFor(*own)))
	}
	if others != nil {
		parts = append(parts, fmt.Sprintf("%s for %s", short(behind), b.waitsFor(*others)))
	}
	if parts == nil {
		return ""
	}
	return "  (waited " + strings.Join(parts, "; ") + ")"
}

// live are the lines of the calls that run or wait, under a line that counts. Those that wait for other agents come
// before those that wait for their own.
func (p *progress) live(all []snapshot) []line {
	var running, behind, waiting []line
	done, runs, now := 0, 0, time.Duration(0)
	for k, s := range all {
		t := p.parts[k]
		now = max(now, s.begun+s.now)
		for i, span := range s.spans {
			name := t.names[i]
			switch n := len(span.Waits); {
			case span.Settled >= 0:
				done++
			case span.Started >= 0:
				runs++
				running = append(running, line{"▶ " + name + "  " + short(s.now-span.Started), p.paint.good})
				if brood := s.brood(i); brood != nil {
					running = append(running, p.within(t.program(i, brood), brood.snapshot)...)
				}
			case n == 0:
				waiting = append(waiting, line{"· " + name, p.paint.faint})
			case span.Waits[n-1].For == exec.WaitDomain:
				behind = append(behind, line{"· " + name + "  waits for " + t.waitsFor(span.Waits[n-1]), p.paint.warm})
			default:
				waiting = append(waiting, line{"· " + name + "  waits for " + t.waitsFor(span.Waits[n-1]), p.paint.faint})
			}
		}
	}
	if len(running)+len(behind)+len(waiting) == 0 {
		return nil
	}
	head := fmt.Sprintf("%d done, %d running, %d waiting", done, runs, len(behind)+len(waiting))
	if len(behind) > 0 {
		head += fmt.Sprintf(", %d of them for another agent", len(behind))
	}
	return slices.Concat([]line{{head + "  " + short(now), p.paint.bold}}, running, behind, waiting)
}

// within are the lines of the calls of a program: those that run, and how many wait.
func (p *progress) within(t *part, s snapshot) (lines []line) {
	waiting := 0
	for i, span := range s.spans {
		switch {
		case span.Settled >= 0:
		case span.Started < 0 || t.names[i] == "":
			waiting++
		default:
			lines = append(lines, line{"▶ " + t.names[i] + "  " + short(s.now-span.Started), p.paint.good})
		}
	}
	if waiting > 0 {
		lines = append(lines, line{"· " + t.lead + count(waiting, "more call") + " of it waiting", p.paint.faint})
	}
	return lines
}

// waitsFor says in words what a call waits for, short enough to stand behind its name.
func (b *batch) waitsFor(w exec.Wait) string {
	switch w.For {
	case exec.WaitClaim:
		_, held := b.pair(w.Mine, w.Held)
		return fmt.Sprintf("call %s%d: %v", b.within, w.Call+1, held)
	case exec.WaitBarrier:
		return fmt.Sprintf("call %s%d: one runs alone", b.within, w.Call+1)
	case exec.WaitOrder:
		return fmt.Sprintf("call %s%d: it comes first", b.within, w.Call+1)
	case exec.WaitWave:
		return fmt.Sprintf("call %d: of an earlier wave", w.Call+1)
	case exec.WaitDomain:
		if w.Call < 0 {
			return "what other agents use"
		}
		by := fmt.Sprintf("%s, call %d: ", w.Lane, w.Call+1)
		switch _, held := b.pair(w.Mine, w.Held); {
		case w.Abandoned && w.Held == plan.Claim{}:
			return by + "given up, and may do anything"
		case w.Mine.Key == everything || w.Held.Key == everything:
			return by + "one runs alone"
		default:
			return by + held.String()
		}
	case exec.WaitPermit:
		return "a free place: the limit is reached"
	case exec.WaitCommit:
		return "the results before its own"
	default:
		return "its turn"
	}
}
