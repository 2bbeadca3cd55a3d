package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// drawTurns shows each turn as a tree, on a line of time.
func (c *logCommand) drawTurns(h host, turns iter.Seq2[*harness.TurnLog, error]) error {
	s := newStory(h.stdout, h.paint(h.stdout), c.Full)
	for t, err := range turns {
		if err == nil {
			err = s.draw(t)
		}
		if err == nil {
			err = flush(s.w, c.Follow)
		}
		if err != nil {
			_ = s.w.Flush()
			return err
		}
	}
	if s.events == 0 && !c.Follow {
		s.say(plain, "There are no turns in it.")
	}
	return flush(s.w, true)
}

// draw shows a turn.
func (s *story) draw(t *harness.TurnLog) error {
	if s.events++; s.events > 1 {
		s.say(plain, "")
	}
	head := s.paint.bold(fmt.Sprintf("turn %d", t.Turn)) + "  " + s.paint.faint(t.Started.Format("2006-01-02 15:04:05")+" UTC")
	if t.Turn == 0 {
		head = s.paint.bold("after the last turn")
	}
	_, _ = s.w.WriteString(head + "\n")
	for _, m := range t.Said {
		s.userMessage(m)
	}
	for _, step := range t.Steps {
		for _, m := range step.Said {
			s.userMessage(m)
		}
	}
	for _, e := range t.Other {
		s.say(s.paint.faint, "  "+clean(e.Type)+"  "+clean(string(e.Data)))
	}
	rows, until := turnRows(t)
	if len(rows) > 0 {
		for i := range rows {
			rows[i].label = "  " + rows[i].label
		}
		_, _ = s.w.WriteString(gantt(s.width, rows, until))
	}
	for _, c := range t.Cancels {
		s.cancelled(c)
	}
	var ends, nested endings
	open, within := 0, 0
	for _, step := range t.Steps {
		for _, c := range step.Calls {
			if c.Result == nil {
				open++
			} else {
				ends.add(*c.Result)
			}
			within += countWithin(c.Tree.Calls, &nested)
		}
	}
	switch {
	case !t.Ended.IsZero():
		s.turnEnded(t.Reason, t.Error, len(t.Steps), ends, nested, t.Ended.Sub(t.Started))
	case t.Turn > 0:
		s.say(s.paint.warm, turnIsOpen)
	}
	s.cancel = false
	if open > 0 {
		s.say(s.paint.warm, "  ! "+count(open, "call")+" without a result")
	}
	if within > 0 {
		s.say(s.paint.warm, "  ! "+count(within, "call")+" within calls without a result")
	}
	for _, step := range t.Steps {
		for i := range step.Calls {
			s.refusedWithin(i+1, &step.Calls[i].Tree)
		}
	}
	return nil
}

// turnRows are the rows of a turn, and how long all of it took: a row for each step, and below it one for the model and
// one for each call, each with a level of its own.
func turnRows(t *harness.TurnLog) (rows []bar, until time.Duration) {
	at := func(when time.Time) time.Duration {
		if when.IsZero() {
			return -1
		}
		until = max(until, when.Sub(t.Started))
		return when.Sub(t.Started)
	}
	row := func(level int, b bar) {
		b.label = strings.Repeat("  ", level) + b.label
		rows = append(rows, b)
	}
	at(t.Ended)
	for _, step := range t.Steps {
		row(0, bar{label: fmt.Sprintf("step %d", step.Step), from: -1, start: -1, settle: -1, commit: -1})
		asked, answered := at(step.Started), at(step.Answered)
		at(step.Ended)
		b := bar{label: "model", from: asked, start: asked, settle: answered, commit: answered, block: '▒'}
		if asked < 0 {
			b.start = answered
		}
		if answered >= 0 {
			b.note = short(answered - b.start)
		} else {
			b.note = "no answer"
		}
		row(1, b)
		made := batch{}
		for _, c := range step.Calls {
			made.calls = append(made.calls, c.Call)
		}
		for i, c := range step.Calls {
			b := callRow(c, answered, at)
			b.label = fmt.Sprintf("%*d %s", len(strconv.Itoa(len(step.Calls))), i+1, made.label(i))
			row(1, b)
			for _, b := range rowsWithin(c.Call.ID, strconv.Itoa(i+1), 1, c.Tree.Calls, at) {
				row(1, b)
			}
		}
	}
	for i := range rows { // what is open goes on to the end that is known
		b := &rows[i]
		if b.from >= 0 || b.start >= 0 {
			if b.settle < 0 {
				b.settle = until
			}
			b.commit = max(b.commit, b.settle)
		}
	}
	return rows, until
}

// callRow is the row of a call that was made at some time.
func callRow(c harness.CallLog, made time.Duration, at func(time.Time) time.Duration) bar {
	b := bar{from: made, start: at(latest(c.Started, c.Answered)), settle: at(c.Settled), commit: at(c.Committed)}
	refused := c.NotStarted || c.Settled.IsZero() && c.Result != nil && c.Result.Code != "" && !c.Result.Code.MayHaveRun() ||
		!c.Asked.IsZero() && !c.Allowed
	if refused || c.Started.IsZero() {
		b.start = -1
		b.settle = b.commit
	}
	switch {
	case c.Result != nil && c.Result.IsError:
		b.note = ending(*c.Result)
	case b.start < 0 && c.Result == nil:
		b.note = "not started"
	case c.Settled.IsZero() && c.Result == nil:
		b.note = "not settled"
	case b.settle >= b.start:
		b.note = short(b.settle - b.start)
	}
	return b
}

// The lines of --tree --json.
type turnJSON struct {
	Turn    int               `json:"turn"`
	Started time.Time         `json:"started,omitzero"`
	Ended   time.Time         `json:"ended,omitzero"`
	Reason  harness.EndReason `json:"reason,omitempty"`
	Error   string            `json:"error,omitempty"`
	Said    []string          `json:"said,omitempty"`
	Cancels []string          `json:"cancels,omitempty"`
	Steps   []stepJSON        `json:"steps"`
}

type stepJSON struct {
	Step     int        `json:"step"`
	Started  time.Time  `json:"started,omitzero"`
	Answered time.Time  `json:"answered,omitzero"`
	Ended    time.Time  `json:"ended,omitzero"`
	Said     []string   `json:"said,omitempty"`
	Text     string     `json:"text,omitempty"`
	Calls    []callJSON `json:"calls"`
}

type callJSON struct {
	Index      int       `json:"index"`
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	Arguments  string    `json:"arguments"`
	NotStarted bool      `json:"notStarted,omitempty"`
	Started    time.Time `json:"started,omitzero"`
	Asked      time.Time `json:"asked,omitzero"`
	Answered   time.Time `json:"answered,omitzero"`
	Allowed    bool      `json:"allowed,omitempty"`
	Settled    time.Time `json:"settled,omitzero"`
	Committed  time.Time `json:"committed,omitzero"`
	Code       tool.Code `json:"code,omitempty"`
	IsError    bool      `json:"isError,omitempty"`
	Text       string    `json:"text,omitempty"`

	Calls   []withinJSON `json:"calls,omitempty"`   // that it has made itself
	Refused []string     `json:"refused,omitempty"` // why others do not fit in there
}

// turnsJSON prints the turns as lines.
func turnsJSON(h host, turns iter.Seq2[*harness.TurnLog, error]) error {
	w := bufio.NewWriterSize(h.stdout, 64<<10)
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	for t, err := range turns {
		if err == nil {
			line.Reset()
			err = enc.Encode(jsonOf(t))
		}
		if err == nil {
			_, _ = w.WriteString(escaped(line.String()))
			err = flush(w, true)
		}
		if err != nil {
			_ = w.Flush()
			return err
		}
	}
	return flush(w, true)
}

func jsonOf(t *harness.TurnLog) turnJSON {
	out := turnJSON{
		Turn: t.Turn, Started: t.Started, Ended: t.Ended, Reason: t.Reason, Error: t.Error, Said: saidJSON(t.Said), Steps: []stepJSON{},
	}
	for _, c := range t.Cancels {
		out.Cancels = append(out.Cancels, c.Cause)
	}
	for _, s := range t.Steps {
		step := stepJSON{Step: s.Step, Started: s.Started, Answered: s.Answered, Ended: s.Ended, Said: saidJSON(s.Said), Calls: []callJSON{}}
		if s.Message != nil {
			step.Text = contentText(s.Message.Content)
		}
		for i, c := range s.Calls {
			call := callJSON{
				Index: i, ID: c.Call.ID, Name: c.Call.Name, Arguments: c.Call.Arguments, NotStarted: c.NotStarted,
				Started: c.Started, Asked: c.Asked, Answered: c.Answered, Allowed: c.Allowed, Settled: c.Settled, Committed: c.Committed,
			}
			call.Calls, call.Refused = jsonWithin(c.Tree.Calls), refusedJSON(&c.Tree)
			if c.NotStarted {
				call.Started = time.Time{}
			}
			if c.Result != nil {
				call.Code, call.IsError, call.Text = c.Result.Code, c.Result.IsError, c.Result.Text()
			}
			step.Calls = append(step.Calls, call)
		}
		out.Steps = append(out.Steps, step)
	}
	return out
}

func saidJSON(said []harness.UserMessage) (texts []string) {
	for _, m := range said {
		texts = append(texts, contentText(m.Content))
	}
	return texts
}
