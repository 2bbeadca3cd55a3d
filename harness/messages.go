package harness

import (
	"encoding/json"
	"iter"
	"slices"
	"strconv"

	"github.com/keywave-go/keywave/tool"
)

// A Message is one message of the conversation with a model, in no provider's form.
type Message struct {
	Role    Role         `json:"role"`
	Content []tool.Block `json:"content,omitempty"` // of a user or the assistant

	// Calls are those of an assistant message, in the model's order. The next message then is that of their results. No
	// two calls of a conversation have the same id, and none is empty: where the provider has used an id twice, or none,
	// there is one that it has not used.
	Calls  []tool.Call     `json:"calls,omitempty"`
	Native json.RawMessage `json:"native,omitempty"` // of an [AssistantMessage]

	// Results are those of all calls of the assistant message before, one for each, in the order of the calls.
	Results []CallResult `json:"results,omitempty"`
}

// A Role says whose message it is.
type Role string

// The roles of a [Message].
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// A CallResult is what the model is told of one call.
type CallResult struct {
	ID      string       `json:"id"` // of the call in the message before
	Name    string       `json:"name"`
	IsError bool         `json:"isError,omitempty"`
	Content []tool.Block `json:"content"`
}

// Messages folds the events of a log into what the model is to be told. Equal logs give equal messages, and equal bytes
// of JSON; no events give no messages. An error, such as a [*TornError] at the end, comes with the messages up to it.
//
// The messages are such that a provider can be sent them that demands one result for each call, right behind the
// message that made the calls: a message with a call that has no result yet is held back, with all that follows it,
// until it has. What users say meanwhile comes behind the results. Calls and results are paired by turn, step and
// index. Of several results of one call, and of several messages of a step whose calls are open, which a [Session] never
// writes, the first counts. A message with nothing in it is left out, as providers refuse it.
//
// It takes time in proportion to the events. [Session.Messages] is the same for a session that goes on, and looks at
// each event once.
func Messages(events iter.Seq2[Event, error]) ([]Message, error) {
	var c conversation
	for e, err := range events {
		if err == nil {
			err = c.take(e)
		}
		if err != nil {
			return c.soFar(), err
		}
	}
	return c.soFar(), nil
}

// A conversation is a fold into messages that goes on.
type conversation struct {
	messages []Message
	held     []*exchange
	ids      map[string]bool
	events   int // that were taken from a log
}

// An exchange is a message that is held back, and the results of its calls.
type exchange struct {
	message Message
	turn    int
	step    int
	answers []CallResult
	done    []bool
	left    int
}

// soFar returns the messages so far. They are not modified later.
func (c *conversation) soFar() []Message { return slices.Clip(c.messages) }

// take adds the next event from a log.
func (c *conversation) take(e Event) error {
	c.events++
	if err := c.add(e); err != nil {
		return odd(c.events, err)
	}
	return nil
}

// add takes the next event. It is an error if its data cannot be decoded; the conversation is then as it was.
func (c *conversation) add(e Event) error {
	switch e.Type {
	case TypeUserMessage:
		m, err := decode[UserMessage](e)
		if err != nil {
			return err
		}
		if len(m.Content) > 0 {
			c.say(&exchange{message: Message{Role: RoleUser, Content: m.Content}})
		}
	case TypeAssistantMessage:
		m, err := decode[AssistantMessage](e)
		if err != nil {
			return err
		}
		open := func(x *exchange) bool { return x.left > 0 && x.turn == m.Turn && x.step == m.Step }
		if len(m.Content)+len(m.Calls)+len(m.Native) > 0 && !slices.ContainsFunc(c.held, open) {
			c.say(c.exchange(m))
		}
	case TypeToolResult:
		r, err := decode[ToolResult](e)
		if err != nil {
			return err
		}
		c.answer(r)
	}
	return nil
}

// exchange is that of an assistant message.
func (c *conversation) exchange(m AssistantMessage) *exchange {
	x := &exchange{
		message: Message{Role: RoleAssistant, Content: m.Content, Calls: m.Calls, Native: m.Native},
		turn:    m.Turn, step: m.Step,
		answers: make([]CallResult, len(m.Calls)),
		done:    make([]bool, len(m.Calls)),
		left:    len(m.Calls),
	}
	for i := range m.Calls {
		call := &m.Calls[i]
		call.ID = c.id(call.ID, Place{m.Turn, m.Step, i})
		x.answers[i] = CallResult{ID: call.ID, Name: call.Name, Content: []tool.Block{}}
	}
	return x
}

// id returns an id that no call has had: the one that it was given, if that is free.
func (c *conversation) id(given string, p Place) string {
	if c.ids == nil {
		c.ids = map[string]bool{}
	}
	id := given
	for n := 0; id == "" || c.ids[id]; n++ {
		id = "call_" + strconv.Itoa(p.Turn) + "_" + strconv.Itoa(p.Step) + "_" + strconv.Itoa(p.Index)
		if n > 0 {
			id += "_" + strconv.Itoa(n)
		}
	}
	c.ids[id] = true
	return id
}

// answer takes the result of a call that is held back for it.
func (c *conversation) answer(r ToolResult) {
	for _, x := range slices.Backward(c.held) {
		if x.turn != r.Turn || x.step != r.Step || x.left == 0 {
			continue
		}
		if r.Index < 0 || r.Index >= len(x.answers) || x.done[r.Index] {
			return
		}
		x.done[r.Index] = true
		x.left--
		x.answers[r.Index].IsError = r.Result.IsError
		if r.Result.Content != nil {
			x.answers[r.Index].Content = r.Result.Content
		}
		break
	}
	c.release()
}

func (c *conversation) say(x *exchange) {
	c.held = append(c.held, x)
	c.release()
}

// release passes on what need not be held back.
func (c *conversation) release() {
	for len(c.held) > 0 && c.held[0].left == 0 {
		x := c.held[0]
		c.held = c.held[1:]
		c.messages = append(c.messages, x.message)
		if len(x.answers) > 0 {
			c.messages = append(c.messages, Message{Role: RoleTool, Results: x.answers})
		}
	}
}
