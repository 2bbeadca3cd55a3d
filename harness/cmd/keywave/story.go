package main

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// A story tells the events of a session to people, one by one. It takes memory for one step.
type story struct {
	w     *bufio.Writer
	paint painter
	width int
	most  int  // lines of one text; math.MaxInt: all, and uncut
	live  bool // it is told while it happens: what starts is said, too

	events  uint64
	turns   int
	day     string // that was said last
	begun   time.Time
	inTurn  bool
	cancel  bool // of the turn was told
	steps   int  // of the turn
	ends    endings
	nested  endings // of the calls that those have made
	step    [2]int  // turn and step that the calls are of
	asked   time.Time
	said    time.Time // the message of the step
	calls   []toldCall
	closing bool // what comes is closed behind the end of its turn
}

// A toldCall is a call of the step that goes on.
type toldCall struct {
	tool.Call
	name                               string // for people
	started, asked, answered, settled  time.Time
	notStarted, refused, failed, ended bool

	within *toldTree // of the calls that it has made; nil: it has made none, or they have been told
}

// Less time than this is not told: what it takes to write the log is in it.
const worthAWord = 10 * time.Millisecond

// newStory begins a story on a page of some width.
func newStory(w stream, p painter, full bool) *story {
	width, _, _ := w.shape()
	s := &story{w: bufio.NewWriterSize(w, 64<<10), paint: p, width: width, most: 6}
	if full {
		s.most = math.MaxInt
	}
	return s
}

// say prints a line of clean text, cut to the width unless all is to be shown.
func (s *story) say(style func(string) string, text string) {
	if s.most != math.MaxInt {
		text = clip(text, s.width)
	}
	if text = strings.TrimRight(text, " "); text != "" {
		text = style(text)
	}
	_, _ = s.w.WriteString(text + "\n") // flush says whether it could be written
}

// tell takes the next event.
func (s *story) tell(e harness.Event) error {
	s.events++
	p, err := e.Payload()
	if err != nil {
		return &harness.CorruptError{Line: int(s.events), Offset: -1, Err: err}
	}
	switch p := p.(type) {
	case harness.SessionStart:
		s.day = e.Time.Format(time.DateOnly)
		s.say(s.paint.faint, "a session, begun "+e.Time.Format("2006-01-02 15:04:05")+" UTC")
	case harness.TurnStart:
		s.turnStart(e, p)
	case harness.StepStart:
		s.forget()
		s.steps++
		s.step, s.asked = [2]int{p.Turn, p.Step}, e.Time
		s.say(s.paint.faint, fmt.Sprintf("  step %d", p.Step))
	case harness.UserMessage:
		s.userMessage(p)
	case harness.AssistantMessage:
		s.assistantMessage(e, p)
	case harness.ToolCall, harness.ApprovalAsk, harness.ApprovalAnswer, harness.ToolSettle, harness.ToolResult:
		s.ofCall(e, p)
	case harness.CodeDispatchStart, harness.CodeDispatch:
		s.dispatched(e, p)
	case harness.Cancel:
		s.cancelled(p)
	case harness.StepEnd:
	case harness.TurnEnd:
		s.turnEnd(e, p)
	default:
		s.say(s.paint.faint, "  "+clean(e.Type)+"  "+clean(string(e.Data)))
	}
	return nil
}

func (s *story) cancelled(c harness.Cancel) {
	what := ""
	switch len(c.Calls) {
	case 0:
		s.cancel = true
	case 1:
		what = "call " + numbers(c.Calls, ", ") + " "
	default:
		what = "calls " + numbers(c.Calls, ", ") + " "
	}
	s.say(s.paint.warm, "  ! "+what+"cancelled: "+clean(c.Cause))
}

func (s *story) turnStart(e harness.Event, p harness.TurnStart) {
	s.forget()
	s.turns++
	s.begun, s.inTurn, s.steps, s.ends, s.nested, s.closing = e.Time, true, 0, nil, nil, false
	when := e.Time.Format("15:04:05")
	if day := e.Time.Format(time.DateOnly); day != s.day {
		s.day, when = day, day+" "+when
	}
	s.say(plain, "")
	s.say(plain, s.paint.bold(fmt.Sprintf("turn %d", p.Turn))+"  "+s.paint.faint(when))
}

// forget lets go of the calls of a step that is over. One that has no result has none later either.
func (s *story) forget() {
	s.open()
	s.calls, s.said, s.asked = nil, time.Time{}, time.Time{}
}

func (s *story) userMessage(m harness.UserMessage) {
	who := "user"
	if len(m.Sources) > 0 {
		who = "context"
	}
	s.spoken(who, s.paint.cool, contentText(m.Content), "")
}

func (s *story) assistantMessage(e harness.Event, m harness.AssistantMessage) {
	s.open()
	after := ""
	if took := e.Time.Sub(s.asked); !s.asked.IsZero() && took >= worthAWord {
		after = "  (after " + short(took) + ")"
	}
	s.step, s.said = [2]int{m.Turn, m.Step}, e.Time
	s.calls = make([]toldCall, len(m.Calls))
	b := batch{calls: m.Calls}
	for i, c := range m.Calls {
		s.calls[i] = toldCall{Call: c, name: fmt.Sprintf("%*d  %s", len(strconv.Itoa(len(m.Calls))), i+1, b.label(i))}
	}
	text := contentText(m.Content)
	if text == "" && len(m.Calls) > 0 {
		text = count(len(m.Calls), "call")
	}
	s.spoken("model", s.paint.good, text, after)
}

func contentText(content []tool.Block) string { return tool.Result{Content: content}.Text() }

// spoken prints what somebody said.
func (s *story) spoken(who string, style func(string) string, text, after string) {
	lines := cleanLines(text)
	if s.most != math.MaxInt {
		lines = s.wrapped(lines, s.width-11)
	}
	if last := len(lines) - 1; after != "" && last < s.most && cells.StringWidth(lines[last]+after) <= s.width-11 {
		lines[last] += s.paint.faint(after)
	}
	for i, l := range s.few(lines) {
		head := strings.Repeat(" ", 11)
		if i == 0 {
			head = "  " + style(fmt.Sprintf("%-7s", who)) + "  "
		}
		_, _ = s.w.WriteString(strings.TrimRight(head+l, " ") + "\n")
	}
}

// wrapped breaks lines that are too long. Of one that is longer than all that is shown, the rest is not looked at.
func (s *story) wrapped(lines []string, width int) (all []string) {
	for _, l := range lines {
		if l = clip(l, (s.most+2)*width); cells.StringWidth(l) > width {
			all = append(all, wrap(l, width)...)
		} else {
			all = append(all, l)
		}
	}
	return all
}

// few are the first lines, and how many more there are.
func (s *story) few(lines []string) []string {
	if more := len(lines) - s.most; more > 1 {
		return append(lines[:s.most:s.most], s.paint.faint(fmt.Sprintf("… %s", count(more, "more line"))))
	}
	return lines
}

// at is a call of the step that goes on; nil: it is of none.
func (s *story) at(p harness.Place) *toldCall {
	if p.Turn != s.step[0] || p.Step != s.step[1] || p.Index < 0 || p.Index >= len(s.calls) {
		return nil
	}
	return &s.calls[p.Index]
}

// ofCall takes an event of one call.
func (s *story) ofCall(e harness.Event, p harness.Payload) {
	lost := new(toldCall) // of a call that no message has made
	find := func(p harness.Place) *toldCall {
		if c := s.at(p); c != nil {
			return c
		}
		lost.name = p.String()
		return lost
	}
	switch p := p.(type) {
	case harness.ToolCall:
		c := find(p.Place)
		c.started, c.notStarted = e.Time, p.NotStarted
		if s.live && !p.NotStarted {
			s.say(s.paint.faint, "  ▶ "+c.name+"  starts"+s.since(s.said, e.Time, ", after ", ""))
		}
	case harness.ApprovalAsk:
		c := find(p.Place)
		c.asked = e.Time
		if s.live {
			s.say(s.paint.warm, "  ? "+c.name+"  needs approval"+strings.TrimSuffix(": "+clean(p.Reason), ": "))
		}
	case harness.ApprovalAnswer:
		c := find(p.Place)
		c.answered, c.refused = e.Time, !p.Allowed
	case harness.ToolSettle:
		c := find(p.Place)
		c.settled, c.failed = e.Time, p.Result.IsError
		if s.live && p.Place.Index > 0 && s.before(p.Place) {
			s.say(s.paint.faint, "  ─ "+c.name+"  has settled, and waits for earlier results")
		}
	case harness.ToolResult:
		c := find(p.Place)
		if c == lost {
			c.name += "  " + clean(p.Name)
		}
		s.result(e, c, p.Result)
	}
}

// before reports whether an earlier call of the step has no result.
func (s *story) before(p harness.Place) bool {
	if s.at(p) == nil {
		return false
	}
	for _, c := range s.calls[:p.Index] {
		if !c.ended {
			return true
		}
	}
	return false
}

// since is how long it took from one time to another, in words, if that is worth a word.
func (s *story) since(from, to time.Time, before, after string) string {
	if took := to.Sub(from); !from.IsZero() && !to.IsZero() && took >= worthAWord {
		return before + short(took) + after
	}
	return ""
}

func (s *story) result(e harness.Event, c *toldCall, r tool.Result) {
	if !s.inTurn && !s.closing {
		s.closing = true
		s.say(s.paint.warm, "  closed later, at "+e.Time.Format("15:04:05")+":")
	}
	s.openWithin(c)
	c.ended = true
	s.ends.add(r)
	mark, style := "✓", s.paint.good
	if r.IsError {
		mark, style = "✗", s.paint.bad
	}
	head := "  " + mark + " " + c.name
	if r.Code != "" {
		head += "  " + clean(string(r.Code))
	}
	if !c.notStarted && !c.refused && !c.settled.IsZero() {
		head += "  " + short(c.settled.Sub(latest(c.started, c.answered)))
	}
	if r.Concludes {
		head += "  concludes the turn"
	}
	waits := c.waits(s.said, e.Time)
	if s.most != math.MaxInt {
		head = clip(head, s.width)
		waits = clip(waits, s.width-cells.StringWidth(head)-2)
	}
	if waits != "" {
		waits = "  " + s.paint.faint(waits)
	}
	_, _ = s.w.WriteString(style(head) + waits + "\n")
	lines := cleanLines(r.Text())
	if s.most != math.MaxInt {
		if r.Code != "" { // what it says is prose
			lines = s.wrapped(lines, s.width-6)
		}
		for i := range min(len(lines), s.most+1) {
			lines[i] = clip(lines[i], s.width-6)
		}
	}
	for _, l := range s.few(lines) {
		_, _ = s.w.WriteString(strings.TrimRight("      "+l, " ") + "\n")
	}
}

// waits says what a call waited for that was made and committed at these times.
func (c *toldCall) waits(made, committed time.Time) string {
	var parts []string
	add := func(from, to time.Time, what string) {
		if took := to.Sub(from); !from.IsZero() && !to.IsZero() && took >= worthAWord {
			parts = append(parts, short(took)+" "+what)
		}
	}
	if !c.notStarted {
		add(made, c.started, "to start")
	}
	what := "for approval"
	if c.refused {
		what = "for a refusal"
	}
	add(c.asked, c.answered, what)
	add(c.settled, committed, "for earlier results")
	if parts == nil {
		return ""
	}
	return "(waited " + strings.Join(parts, ", ") + ")"
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (s *story) turnEnd(e harness.Event, p harness.TurnEnd) {
	s.open()
	s.turnEnded(p.Reason, p.Error, s.steps, s.ends, s.nested, e.Time.Sub(s.begun))
	s.inTurn, s.cancel, s.ends, s.nested = false, false, nil, nil
}

// turnEnded says how a turn has ended.
func (s *story) turnEnded(why harness.EndReason, problem string, steps int, ends, nested endings, took time.Duration) {
	style, mark := s.paint.warm, "!"
	switch why {
	case harness.EndDone, harness.EndConcluded:
		style, mark = s.paint.good, "✓"
	case harness.EndFailed:
		style, mark = s.paint.bad, "✗"
	}
	text := "  " + mark + " " + cmp.Or(clean(string(why)), "ended")
	if problem != "" && !s.cancel { // which has said it
		text += ": " + clean(problem)
	}
	s.say(style, text)
	sum := "    " + count(steps, "step")
	if n := ends.sum(); n > 0 {
		sum += ", " + count(n, "call") + ": " + ends.String()
	}
	if n := nested.sum(); n > 0 {
		sum += "; " + count(n, "call") + " within: " + nested.String()
	}
	s.say(s.paint.faint, sum+", in "+short(took))
}

// open tells of the calls that have no result.
func (s *story) open() {
	for i := range s.calls {
		c := &s.calls[i]
		if c.ended {
			continue
		}
		c.ended = true
		state := "has not started"
		switch {
		case !c.settled.IsZero() && c.failed:
			state = "has failed, and its result waits for earlier ones"
		case !c.settled.IsZero():
			state = "is done, and its result waits for earlier ones"
		case !c.asked.IsZero() && c.answered.IsZero():
			state = "waits for approval"
		case !c.started.IsZero() && !c.notStarted:
			state = "has started, and not settled"
		}
		s.openWithin(c)
		s.say(s.paint.warm, "  · "+c.name+"  "+state)
	}
}

const turnIsOpen = "  ! the turn has not ended: somebody is still at it, or was stopped"

// end tells what is open at the end of the log, and whether that is torn.
func (s *story) end(torn *harness.TornError) {
	s.open()
	if s.inTurn {
		s.say(s.paint.warm, turnIsOpen)
	}
	if torn != nil {
		mark := "!"
		for _, l := range wrap(tornText(torn), s.width-4) {
			s.say(s.paint.warm, "  "+mark+" "+l)
			mark = " "
		}
	}
	s.say(plain, "")
	s.say(s.paint.faint, fmt.Sprintf("%s, %s", count(int(s.events), "event"), count(s.turns, "turn")))
}
