package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// A line of a script is what a user says, or what the model does.
type scriptLine struct {
	who     string // user, steer or inject; model
	text    string // of the former
	message harness.AssistantMessage
	delay   time.Duration   // before the model answers
	takes   []time.Duration // by call: what is added to its body
}

const model = "model"

// parseScript reads a script: JSON objects, one after the other or in one array.
func parseScript(data []byte) (lines []scriptLine, err error) {
	fail := func(err error) ([]scriptLine, error) {
		return nil, fmt.Errorf("script: entry %d: %w", len(lines)+1, err)
	}
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF"))))
	for {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err == io.EOF {
			break
		} else if err != nil {
			return fail(err)
		}
		all := []json.RawMessage{raw}
		if raw[0] == '[' {
			if err := json.Unmarshal(raw, &all); err != nil {
				return fail(err)
			}
		}
		for _, one := range all {
			l, err := parseScriptLine(one)
			if err != nil {
				return fail(err)
			}
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 {
		return nil, errors.New("script: there is nothing in it")
	}
	return lines, nil
}

func parseScriptLine(raw json.RawMessage) (l scriptLine, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return l, errors.New("it is not an object")
	}
	for _, who := range []string{"user", "steer", "inject"} {
		said, ok := members[who]
		if !ok {
			continue
		}
		l.who = who
		switch {
		case len(members) > 1:
			return l, fmt.Errorf("with %q it has no other member", who)
		case json.Unmarshal(said, &l.text) != nil || l.text == "":
			return l, fmt.Errorf("%q is not a text, or empty", who)
		}
		return l, nil
	}
	l.who = model
	var times struct {
		Delay int   `json:"delayMs"`
		Takes []int `json:"takesMs"`
	}
	if err := json.Unmarshal(raw, &times); err != nil {
		return l, err
	}
	const most = 24 * 60 * 60 * 1000
	for _, ms := range append(times.Takes, times.Delay) {
		if ms < 0 || ms > most {
			return l, fmt.Errorf("a time of %d ms: want at least 0, and at most a day", ms)
		}
	}
	l.delay = time.Duration(times.Delay) * time.Millisecond
	for _, ms := range times.Takes {
		l.takes = append(l.takes, time.Duration(ms)*time.Millisecond)
	}
	delete(members, "delayMs")
	delete(members, "takesMs")
	if l.message, err = parseMessage(members); err != nil {
		return l, err
	}
	if len(l.takes) > len(l.message.Calls) {
		return l, fmt.Errorf("it has times for %s, and %s", count(len(l.takes), "call"), count(len(l.message.Calls), "call"))
	}
	return l, nil
}

// parseMessage reads a message of the model's, in the form of harness.ParseScript or in that of a provider.
func parseMessage(members map[string]json.RawMessage) (m harness.AssistantMessage, err error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(members); err != nil {
		return m, err
	}
	for _, native := range []string{"role", "content", "tool_calls", "output", "choices"} {
		if _, ok := members[native]; !ok {
			continue
		}
		if m.Calls, err = tool.ParseCalls(text.Bytes()); err != nil {
			return m, err
		}
		if said := nativeText(members); said != "" {
			m.Content = tool.Text(said).Content
		}
		if len(m.Content)+len(m.Calls) == 0 {
			return m, errors.New("it has neither text nor calls")
		}
		return m, nil
	}
	script, err := harness.ParseScript(&text)
	if err != nil {
		return m, errors.New(strings.TrimPrefix(err.Error(), "script: message 1: "))
	}
	return script[0], nil
}

// nativeText is the text of a provider's message: its content, or the texts in the blocks of that.
func nativeText(members map[string]json.RawMessage) string {
	var text string
	if json.Unmarshal(members["content"], &text) == nil {
		return text
	}
	var blocks []struct{ Type, Text string }
	_ = json.Unmarshal(members["content"], &blocks) // that it can be read was seen with the calls in it
	for _, b := range blocks {
		if b.Type == "text" {
			text += b.Text
		}
	}
	return text
}

// A play is a script that is being performed: a model, and what the users say.
type play struct {
	lines []scriptLine
	agent *harness.Agent

	mu    sync.Mutex
	at    int             // the next line
	takes []time.Duration // of the last message
}

// rehearse finds the place in the script that a conversation has come to.
func (p *play) rehearse(messages []harness.Message) {
	for _, m := range messages {
		if p.at == len(p.lines) {
			return
		}
		switch m.Role {
		case harness.RoleUser:
			if l := p.lines[p.at]; l.who != model && contentText(m.Content) == l.text {
				p.at++
			}
		case harness.RoleAssistant:
			for at := p.at; at < len(p.lines); at++ {
				if p.lines[at].who == model && same(p.lines[at].message, m) {
					p.at = at + 1
					break
				}
			}
		}
	}
}

// same reports whether a message is that of a script. The ids of calls need not be the same.
func same(m harness.AssistantMessage, said harness.Message) bool {
	if contentText(m.Content) != contentText(said.Content) || len(m.Calls) != len(said.Calls) {
		return false
	}
	for i, c := range m.Calls {
		if c.ID = said.Calls[i].ID; !reflect.DeepEqual(c, said.Calls[i]) {
			return false
		}
	}
	return true
}

// goOn is what the agent is told when it was stopped in the midst of a turn, and the script goes on with the model.
const goOn = "Go on."

// perform says to the agent what the users say, one turn after the other, until the script is over, a turn ends
// otherwise than it should or ctx is done, which cancels it.
func (p *play) perform(ctx context.Context) error {
	for {
		wake, others, over := p.next()
		for _, l := range others {
			if err := p.tell(l); err != nil {
				return cmp.Or(context.Cause(ctx), err)
			}
		}
		if over {
			return nil
		}
		if err := p.tell(wake); err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
		_ = p.agent.WhenIdle(context.WithoutCancel(ctx))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch status := p.agent.Status(); status.Last.Reason {
		case harness.EndDone, harness.EndConcluded:
		case harness.EndFailed:
			return fmt.Errorf("turn %d: %w", status.Last.Turn, status.Err)
		default:
			return errFailed
		}
	}
}

// next takes what is to be said until the model's next line, and of that what begins a turn, which is to be said last: a
// user's line, or a steer that an earlier run did not come to. If there is none, the model has to be woken.
func (p *play) next() (wake scriptLine, others []scriptLine, over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ; p.at < len(p.lines) && p.lines[p.at].who != model; p.at++ {
		switch l := p.lines[p.at]; {
		case wake.who == "user" && l.who == "user": // of a turn of its own, which the script has no answer in
			return wake, others, false
		case l.who == "inject":
			others = append(others, l)
		case wake.who == "":
			wake = l
		case l.who == "user":
			wake, others = l, append(others, scriptLine{who: "inject", text: wake.text})
		default:
			others = append(others, scriptLine{who: "inject", text: l.text})
		}
	}
	if wake.who == "" {
		over = p.at == len(p.lines)
		wake = scriptLine{who: "user", text: goOn}
	}
	return wake, others, over
}

func (p *play) tell(l scriptLine) error {
	text := tool.Block{Text: l.text}
	switch l.who {
	case "user":
		return p.agent.Followup(text)
	case "steer":
		return p.agent.Steer(text)
	}
	return p.agent.Inject(text)
}

// Generate implements [harness.Model].
func (p *play) Generate(ctx context.Context, _ harness.Request) (harness.AssistantMessage, error) {
	p.mu.Lock()
	if p.at == len(p.lines) || p.lines[p.at].who != model {
		defer p.mu.Unlock()
		return harness.AssistantMessage{}, fmt.Errorf("it is asked for a message, and the script has none at entry %d", p.at+1)
	}
	l := p.lines[p.at]
	var said []scriptLine
	for p.at++; p.at < len(p.lines) && (p.lines[p.at].who == "steer" || p.lines[p.at].who == "inject"); p.at++ {
		said = append(said, p.lines[p.at])
	}
	p.takes = l.takes
	p.mu.Unlock()
	if err := wait(ctx, l.delay); err != nil {
		return harness.AssistantMessage{}, err
	}
	for _, l := range said {
		if err := p.tell(l); err != nil {
			return harness.AssistantMessage{}, err
		}
	}
	return l.message, nil
}

// slow is a [tool.Wrapper] that has calls take as long as the script says.
func (p *play) slow(ctx context.Context, c *tool.Invocation, next tool.Next) (tool.Result, error) {
	p.mu.Lock()
	var takes time.Duration
	if c.Parent == nil && c.Index < len(p.takes) {
		takes = p.takes[c.Index]
	}
	p.mu.Unlock()
	_ = wait(ctx, takes) // the body sees that, too, and says what there is to say
	return next(ctx)
}

// wait waits for a while, or until ctx is done.
func wait(ctx context.Context, d time.Duration) error {
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
