package tool

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A ParseError says why a batch cannot be read. Nothing of it is to be run.
type ParseError struct {
	Call    int    // the index of the call that is wrong, from 0; -1 when it is not in a call
	Offset  int    // where, in bytes from the beginning of the batch, counting from 0
	Path    string // where, as a JSON pointer
	Problem string
}

// Error says where and what, in one line: "batch: call 2, byte 31, /calls/1/name: it is a number, want a string". Calls
// count from 1 in it, and of a long path only the two ends are shown.
func (e *ParseError) Error() string {
	var b strings.Builder
	b.WriteString("batch: ")
	if e.Call >= 0 {
		fmt.Fprintf(&b, "call %d, ", e.Call+1)
	}
	b.WriteString(place(e.Offset, e.Path))
	b.WriteString(e.Problem)
	return b.String()
}

// ParseCalls reads the calls of one assistant message. The format is found by looking:
//
//   - keywave's own: {"calls": [{"id": …, "name": …, "arguments": …}]}, in which nothing else is allowed
//   - an OpenAI chat completion: the assistant message with its "tool_calls", or the whole response, if it has one
//     choice
//   - an OpenAI response: the object with its "output", or the array of items, of which those of type function_call
//     count
//   - an Anthropic message: the object with its "content", or the array of blocks, of which those of type tool_use
//     count
//
// What else such a message holds is passed over; without a call in it the result is empty.
//
// Arguments are a JSON string that holds JSON, or the JSON itself, and are kept as they are. They are checked at the
// call: arguments that are missing, null, an array, cut short or empty are no error here. Everything else that is wrong
// is a [*ParseError]: what is not one JSON text in UTF-8, or is nested deeper than 1000, a call without a name, a value
// of the wrong type, a repeated name, two places for calls in one message, a call whose input is free text.
//
// A byte order mark in front of it all is passed over. Time and memory are proportional to the size of data, which is
// what the caller has to limit.
func ParseCalls(data []byte) ([]Call, error) {
	const mark = "\uFEFF"
	if bytes.HasPrefix(data, []byte(mark)) {
		data = append([]byte("   "), data[len(mark):]...) // white space as long, so that offsets stay those of the input
	}
	p := parser{data: data, calls: []Call{}, call: -1}
	if err := scanWhole(data, false); err != nil {
		p.locate(err)
		return nil, p.error(err)
	}
	if err := p.batch(); err != nil {
		return nil, p.error(err)
	}
	return p.calls, nil
}

// A parser reads a batch that is known to be well-formed.
type parser struct {
	data  []byte
	calls []Call
	call  int // the one being read; -1 between calls
}

func (p *parser) error(e *jsonError) *ParseError {
	return &ParseError{Call: p.call, Offset: e.offset, Path: e.pointer(), Problem: e.what}
}

// A node is a value of the batch and the way to it.
type node struct {
	raw  []byte
	at   int
	path []string // outermost first
}

func (n node) fail(format string, args ...any) *jsonError {
	path := slices.Clone(n.path)
	slices.Reverse(path)
	return &jsonError{offset: n.at, path: path, what: fmt.Sprintf(format, args...)}
}

// there reports whether a member was given, and not as null.
func (n node) there() bool { return len(n.raw) > 0 && n.raw[0] != 'n' }

// is names the type of n.
func (n node) is() string {
	switch n.raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// read steps over the value that comes next and returns it.
func (s *scanner) read(path []string) (node, *jsonError) {
	s.space()
	n := node{at: s.pos, path: path}
	err := s.value()
	n.raw = s.data[n.at:s.pos]
	return n, err
}

// members returns the members of an object that are asked for. Others are passed over, or refused if strict.
func (p *parser) members(n node, strict bool, names ...string) (map[string]node, *jsonError) {
	if n.raw[0] != '{' {
		return nil, n.fail("it is %s, want an object", n.is())
	}
	found := make(map[string]node, len(names))
	s := scanner{data: p.data[:n.at+len(n.raw)], pos: n.at}
	err := s.object(func(quotedName []byte, at int) *jsonError {
		name, err := unquote(quotedName, at)
		if err != nil && strict { // otherwise it is one that nobody asks for
			return err
		}
		if !slices.Contains(names, name) {
			if strict {
				return &jsonError{offset: at, what: fmt.Sprintf("unknown name, want one of %q", names)}
			}
			return s.value()
		}
		if _, twice := found[name]; twice {
			return &jsonError{offset: at, what: "the name comes twice"}
		}
		found[name], err = s.read(append(slices.Clip(n.path), name))
		return err
	})
	if err != nil {
		for _, name := range slices.Backward(n.path) {
			err.within(name)
		}
	}
	return found, err
}

// each calls f for the elements of an array.
func (p *parser) each(n node, f func(i int, n node) *jsonError) *jsonError {
	if n.raw[0] != '[' {
		return n.fail("it is %s, want an array", n.is())
	}
	var failed *jsonError
	s := scanner{data: p.data[:n.at+len(n.raw)], pos: n.at}
	s.array(func(i int) *jsonError {
		element, err := s.read(append(slices.Clip(n.path), strconv.Itoa(i)))
		if err == nil {
			err = f(i, element)
		}
		if err == nil {
			return nil
		}
		failed = err // its path is whole: only the scanner's copy is to grow
		return &jsonError{}
	})
	return failed
}

// text returns a string, or "" if it was not given.
func text(n node) (string, *jsonError) {
	switch {
	case !n.there():
		return "", nil
	case n.raw[0] != '"':
		return "", n.fail("it is %s, want a string", n.is())
	}
	s, err := unquote(n.raw, n.at)
	if err != nil {
		n.at = err.offset
		return "", n.fail("%s", err.what)
	}
	return s, nil
}

// batch finds out which format it is.
func (p *parser) batch() *jsonError {
	s := scanner{data: p.data}
	top, err := s.read(nil)
	if err != nil {
		return err
	}
	if top.raw[0] == '[' {
		return p.items(top)
	}
	const want = `want an object with "calls", an assistant message, a whole response, or the array of its items`
	if top.raw[0] != '{' {
		return top.fail("it is %s, %s", top.is(), want)
	}
	m, err := p.members(top, false, "calls", "choices", "output", "tool_calls", "content", "role", "function_call")
	if err != nil {
		return err
	}
	if _, own := m["calls"]; own {
		return p.own(top)
	}
	places := 0
	for _, is := range []bool{m["choices"].there(), m["output"].there(), m["tool_calls"].there() || m["content"].there()} {
		if is {
			places++
		}
	}
	switch {
	case places > 1:
		return top.fail("it has more than one of choices, output, and tool_calls or content: hand over one message")
	case m["choices"].there():
		return p.choices(m["choices"])
	case m["output"].there():
		return p.items(m["output"])
	case places == 0 && !m["role"].there():
		return top.fail("there are no calls in it: %s", want)
	}
	return p.message(top, m)
}

// own reads keywave's own format. It is strict, because a misspelt "arguments" would read as none.
func (p *parser) own(top node) *jsonError {
	m, err := p.members(top, true, "calls")
	if err != nil {
		return err
	}
	return p.each(m["calls"], func(i int, n node) *jsonError {
		p.call = i
		m, err := p.members(n, true, "id", "name", "arguments")
		if err != nil {
			return err
		}
		return p.add(n, m["id"], m["name"], m["arguments"])
	})
}

// choices reads the whole response of a chat completion.
func (p *parser) choices(n node) *jsonError {
	count := 0
	err := p.each(n, func(i int, choice node) *jsonError {
		if count++; count > 1 {
			return choice.fail("there is more than one choice: hand over the message of the one that you take")
		}
		m, err := p.members(choice, false, "message")
		if err != nil {
			return err
		}
		if !m["message"].there() {
			return choice.fail("it has no message")
		}
		f, err := p.members(m["message"], false, "tool_calls", "content", "role", "function_call")
		if err != nil {
			return err
		}
		return p.message(m["message"], f)
	})
	if err == nil && count == 0 {
		return n.fail("there is no choice in it")
	}
	return err
}

// message reads an assistant message of a chat completion or of Anthropic.
func (p *parser) message(n node, m map[string]node) *jsonError {
	role, err := text(m["role"])
	switch {
	case err != nil:
		return err
	case m["role"].there() && role != "assistant":
		return m["role"].fail("it is a message of the %s, want one of the assistant", bounded(role, 40))
	case m["function_call"].there():
		return m["function_call"].fail("function_call is the retired form: want tool_calls")
	}
	if content := m["content"]; content.there() && content.raw[0] != '"' {
		if err := p.items(content); err != nil {
			return err
		}
	}
	if !m["tool_calls"].there() {
		return nil
	}
	both := len(p.calls) > 0
	return p.each(m["tool_calls"], func(i int, call node) *jsonError {
		if both {
			return n.fail("it has calls both in its content and in its tool_calls")
		}
		p.call = i
		m, err := p.members(call, false, "id", "type", "function")
		if err != nil {
			return err
		}
		// Some servers leave the type out.
		if kind, err := text(m["type"]); err != nil {
			return err
		} else if kind != "" && kind != "function" {
			return m["type"].fail("its type is %s, want function", quoted(kind))
		}
		return p.function(call, m)
	})
}

// function reads an element of tool_calls.
func (p *parser) function(n node, m map[string]node) *jsonError {
	if !m["function"].there() {
		return n.fail("it has no function")
	}
	f, err := p.members(m["function"], false, "name", "arguments")
	if err != nil {
		return err
	}
	return p.add(m["function"], m["id"], f["name"], f["arguments"])
}

// items reads an array in which every element has a type, and some are calls.
func (p *parser) items(n node) *jsonError {
	return p.each(n, func(_ int, n node) *jsonError {
		p.call = -1
		m, err := p.members(n, false, "type", "call_id", "id", "name", "arguments", "input", "function")
		if err != nil {
			return err
		}
		kind, err := text(m["type"])
		if err != nil {
			return err
		}
		if isCall(kind) {
			p.call = len(p.calls)
		}
		switch kind {
		case "":
			return n.fail(`it has no type, which items of a message have; for calls alone want {"calls": [...]}`)
		case "function_call":
			return p.add(n, m["call_id"], m["name"], m["arguments"])
		case "tool_use":
			return p.add(n, m["id"], m["name"], m["input"])
		case "function":
			return p.function(n, m)
		case "custom_tool_call", "custom":
			return n.fail("the input of a custom tool is free text, not JSON: declare the tool as a function")
		}
		return nil
	})
}

// isCall reports whether an item of this type is a call for the host. Those that the provider runs are not.
func isCall(kind string) bool {
	switch kind {
	case "function_call", "tool_use", "function", "custom_tool_call", "custom":
		return true
	}
	return false
}

// add adds a call, n being the object that should name it.
func (p *parser) add(n, id, name, arguments node) (err *jsonError) {
	var c Call
	if c.ID, err = text(id); err != nil {
		return err
	}
	if c.Name, err = text(name); err != nil {
		return err
	}
	if c.Name == "" {
		return n.fail("it has no name")
	}
	c.Arguments = string(arguments.raw)
	if len(arguments.raw) > 0 && arguments.raw[0] == '"' {
		if c.Arguments, err = text(arguments); err != nil {
			return err
		}
	}
	p.calls = append(p.calls, c)
	p.call = -1
	return nil
}

// locate finds the call in which a text that is not well-formed breaks off, if it is in one.
func (p *parser) locate(e *jsonError) {
	path := slices.Clone(e.path)
	slices.Reverse(path)
	s := scanner{data: p.data}
	var walk func(level int) *jsonError
	walk = func(level int) *jsonError {
		p.call = -1
		s.space()
		switch {
		case level == len(path) || s.pos == len(s.data):
			return s.value()
		case s.data[s.pos] == '{':
			return s.object(func(name []byte, _ int) *jsonError {
				if decoded(name) == path[level] {
					return walk(level + 1)
				}
				return s.value()
			})
		case s.data[s.pos] != '[':
			return s.value()
		case level > 0 && path[level-1] == "choices":
			return s.array(func(int) *jsonError { return walk(level + 1) })
		}
		named := level > 0 && (path[level-1] == "calls" || path[level-1] == "tool_calls")
		before := 0 // calls
		return s.array(func(i int) *jsonError {
			if named {
				p.call = i
				return s.value()
			}
			s.space()
			if s.pos == len(s.data) || s.data[s.pos] != '{' {
				return s.value()
			}
			p.call = -1
			return s.object(func(name []byte, _ int) *jsonError {
				v, err := s.read(nil)
				if err == nil && decoded(name) == "type" && v.raw[0] == '"' && isCall(decoded(v.raw)) {
					p.call = before
					before++
				}
				return err
			})
		})
	}
	walk(0)
}
