package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// mostIndent is how many levels of calls within calls are indented: a log may have hundreds.
const mostIndent = 6

// numberWithin is the number of a call that the one with another number has made: by the count of its program, if its id
// says that, or else by the order of the starts.
func numberWithin(parentNumber, parentID, id string, nth int) string {
	if counted, ok := strings.CutPrefix(id, parentID+":code:"); ok && len(counted) < 6 {
		if n, err := strconv.Atoi(counted); err == nil && n > 0 {
			nth = n
		}
	}
	return parentNumber + "." + strconv.Itoa(nth)
}

// shortNumber leaves out the middle of a number that is long.
func shortNumber(number string) string {
	if parts := strings.Split(number, "."); len(parts) > 5 {
		return strings.Join(slices.Concat(parts[:2], []string{"…"}, parts[len(parts)-2:]), ".")
	}
	return number
}

// labelWithin names a call within a call for people.
func labelWithin(name string, arguments json.RawMessage) string {
	text := string(arguments)
	if len(arguments) > 0 && arguments[0] == '"' { // what it had was no JSON
		_ = json.Unmarshal(arguments, &text)
	}
	return (&batch{calls: []tool.Call{{Name: name, Arguments: text}}}).label(0)
}

// A toldTree is of the calls that one call has made, as far as they have been told. What they returned is not kept.
type toldTree struct {
	harness.CallTree
	told map[string]*toldWithin // by id
}

// A toldWithin is a call within a call.
type toldWithin struct {
	*harness.SubCall
	number string // such as 2.1
	level  int    // below the call of the model
	name   string // for people
}

// dispatched takes an event of a call within a call.
func (s *story) dispatched(e harness.Event, p harness.Payload) {
	var place harness.Place
	var parentID, name string
	var arguments json.RawMessage
	var settled *tool.Result
	switch p := p.(type) {
	case harness.CodeDispatchStart:
		place, parentID, name, arguments = p.Place, p.ParentID, p.Name, p.Arguments
	case harness.CodeDispatch:
		place, parentID, name, settled = p.Place, p.ParentID, p.Name, &p.Result
	}
	of := s.at(place)
	if of == nil {
		s.say(s.paint.faint, "  · "+place.String()+", of no message, and within it  "+clean(name))
		return
	}
	if of.within == nil {
		of.within = &toldTree{CallTree: harness.CallTree{ID: of.ID}, told: map[string]*toldWithin{}}
		s.say(plain, "  ┌ "+of.name)
	}
	t := of.within
	var sub *harness.SubCall
	switch p := p.(type) {
	case harness.CodeDispatchStart:
		sub = t.Start(e.Time, p)
	case harness.CodeDispatch:
		sub = t.Settle(e.Time, p)
	}
	for _, err := range t.Refused {
		s.sayWithin(0, s.paint.warm, "! "+clean(err.Error())+": "+clean(name))
	}
	t.Refused = nil
	if sub == nil {
		return
	}
	c := t.told[sub.ID]
	if c == nil {
		c = &toldWithin{SubCall: sub, level: 1, name: labelWithin(name, arguments)}
		number, nth := strconv.Itoa(place.Index+1), len(t.Calls)
		if parent := t.told[parentID]; parent != nil {
			c.level, number, nth = parent.level+1, parent.number, len(parent.Calls)
		}
		c.number = numberWithin(number, parentID, sub.ID, nth)
		t.told[sub.ID] = c
	}
	sub.Arguments = nil
	if settled == nil {
		if s.live {
			s.sayWithin(c.level, s.paint.faint, "▶ "+shortNumber(c.number)+"  "+c.name+"  starts")
		}
		return
	}
	sub.Result = new(tool.Result) // it has one
	s.nested.add(*settled)
	s.settledWithin(c, *settled)
}

func (s *story) settledWithin(c *toldWithin, r tool.Result) {
	mark, style := "✓", s.paint.good
	if r.IsError {
		mark, style = "✗", s.paint.bad
	}
	head := mark + " " + shortNumber(c.number) + "  " + c.name
	if r.Code != "" {
		head += "  " + clean(string(r.Code))
	}
	if !c.Started.IsZero() {
		head += "  " + short(c.Settled.Sub(c.Started))
	}
	head += s.since(c.Settled, c.Committed, "  (waited ", " for earlier results)")
	s.sayWithin(c.level, style, head)
	// The program gets what a call returned; why one failed is what people ask, too.
	lines := cleanLines(r.Text())
	if s.most != math.MaxInt {
		lines = lines[:1]
	}
	if r.IsError || s.most == math.MaxInt {
		for _, l := range lines {
			s.sayWithin(c.level, plain, "    "+l)
		}
	}
}

// sayWithin prints a line about a call on some level within another.
func (s *story) sayWithin(level int, style func(string) string, text string) {
	head := "  │ " + strings.Repeat("  ", min(max(level-1, 0), mostIndent))
	if s.most != math.MaxInt {
		text = clip(text, s.width-cells.StringWidth(head))
	}
	_, _ = s.w.WriteString(s.paint.faint(head) + style(strings.TrimRight(text, " ")) + "\n") // flush says whether it could be written
}

// openWithin tells of the calls within one that have no result.
func (s *story) openWithin(of *toldCall) {
	if of.within == nil {
		return
	}
	var open func(calls []*harness.SubCall)
	open = func(calls []*harness.SubCall) {
		for _, sub := range calls {
			if c := of.within.told[sub.ID]; sub.Result == nil {
				s.sayWithin(c.level, s.paint.warm, "· "+shortNumber(c.number)+"  "+c.name+"  has started, and not settled")
			}
			open(sub.Calls)
		}
	}
	open(of.within.Calls)
	of.within = nil
}

// rowsWithin are the rows of the calls that a call has made, and those that these have, each below the one that made it.
func rowsWithin(parentID, parentNumber string, level int, calls []*harness.SubCall, at func(time.Time) time.Duration) (rows []bar) {
	for i, c := range calls {
		number := numberWithin(parentNumber, parentID, c.ID, i+1)
		start, settle := at(c.Started), at(c.Settled)
		b := bar{from: start, start: start, settle: settle, commit: at(c.Committed)}
		if start < 0 { // the log does not say
			b.from, b.start = settle, settle
		}
		switch {
		case c.Result == nil:
			b.note = "not settled"
		case c.Result.IsError:
			b.note = ending(*c.Result)
			if !c.Result.Code.MayHaveRun() && c.Result.Code != "" {
				b.start = -1
			}
		case start >= 0:
			b.note = short(settle - start)
		}
		b.label = strings.Repeat("  ", min(level, mostIndent)) + shortNumber(number) + " " + labelWithin(c.Name, c.Arguments)
		rows = append(rows, b)
		rows = append(rows, rowsWithin(c.ID, number, level+1, c.Calls, at)...)
	}
	return rows
}

// countWithin counts how the calls of a tree have ended, and those that have not.
func countWithin(calls []*harness.SubCall, ends *endings) (open int) {
	for _, c := range calls {
		if c.Result == nil {
			open++
		} else {
			ends.add(*c.Result)
		}
		open += countWithin(c.Calls, ends)
	}
	return open
}

// mostRefused is how many calls are told of that do not fit into their tree; more are counted.
const mostRefused = 5

// refusedWithin says what does not fit into a tree.
func (s *story) refusedWithin(number int, t *harness.CallTree) {
	for _, err := range t.Refused[:min(mostRefused, len(t.Refused))] {
		s.say(s.paint.warm, fmt.Sprintf("  ! within call %d: %s", number, clean(err.Error())))
	}
	if more := len(t.Refused) - mostRefused; more > 0 {
		s.say(s.paint.warm, fmt.Sprintf("  ! within call %d: … and %d more that do not fit", number, more))
	}
}

// A withinJSON is a call within a call, in the lines of --tree --json.
type withinJSON struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Started   time.Time       `json:"started,omitzero"`
	Settled   time.Time       `json:"settled,omitzero"`
	Committed time.Time       `json:"committed,omitzero"`
	Code      tool.Code       `json:"code,omitempty"`
	IsError   bool            `json:"isError,omitempty"`
	Text      string          `json:"text,omitempty"`
	Calls     []withinJSON    `json:"calls,omitempty"`
}

func jsonWithin(calls []*harness.SubCall) (all []withinJSON) {
	for _, c := range calls {
		one := withinJSON{ID: c.ID, Name: c.Name, Arguments: c.Arguments, Started: c.Started, Settled: c.Settled, Committed: c.Committed, Calls: jsonWithin(c.Calls)}
		if c.Result != nil {
			one.Code, one.IsError, one.Text = c.Result.Code, c.Result.IsError, c.Result.Text()
		}
		all = append(all, one)
	}
	return all
}

func refusedJSON(t *harness.CallTree) (texts []string) {
	for _, err := range t.Refused {
		texts = append(texts, err.Error())
	}
	return texts
}
