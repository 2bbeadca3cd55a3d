package codemode

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/keywave-go/keywave/tool"
)

// A call is one that a program has made, on its way through the lane of its run.
type call struct {
	*tool.Job
	run    *run
	number int       // in the order in which the program makes calls, from 0
	size   int       // of its arguments
	rest   time.Time // when its body came to that
	settle func(value json.RawMessage, failure string)
}

// Commit makes the result final, and settles the program's promise with it.
func (c *call) Commit(ctx context.Context) error {
	err := c.Job.Commit(ctx)
	c.run.committed(c)
	c.answer(c.Result)
	return err
}

// Skip settles the promise of a call that was never started, of which nothing else is left.
func (c *call) Skip(_ context.Context, cause error) error {
	c.Drop(cause)
	c.run.skipped(c)
	c.answer(c.Result)
	return nil
}

// record has the log lane record what is to be recorded, also of calls that are nested in this one.
func (c *call) record(_ context.Context, e tool.Event) error {
	if e.At.IsZero() {
		e.At = time.Now() // and not when there is time to record it
	}
	own := e.Invocation == &c.Invocation
	switch {
	case e.Stage == tool.Settled && own:
		c.rest = e.At
	case e.Stage == tool.Committed && own && !c.rest.IsZero():
		e.At = c.rest
	}
	if e.Stage == tool.Started || e.Stage == tool.Committed {
		c.run.log.add(e)
	}
	return nil
}

// answer hands the result to the program.
func (c *call) answer(r tool.Result) {
	value, failure := outcome(r)
	if most := c.run.limits.Payload; len(value) > most {
		value, failure = nil, fmt.Sprintf("%s ran, and its effect may have happened, but what it returned has %d bytes, and a program takes no more than %d at once: ask for less",
			member(c.Call.Name), len(value), most)
	}
	if failure != "" {
		c.run.unheard(c.number, c.Call.Name, failure)
	}
	c.settle(value, failure)
}

// outcome is what a program gets of a result: a value, or why there is none.
func outcome(r tool.Result) (value json.RawMessage, failure string) {
	switch {
	case r.IsError:
		if failure = bounded(r.Text(), maxFailure); failure == "" {
			failure = "it failed, and did not say why"
		}
		return nil, failure
	case len(r.Value) > 0:
		return r.Value, ""
	case len(r.Content) == 1 && r.Content[0].Image == nil && len(r.Content[0].JSON) > 0:
		return r.Content[0].JSON, ""
	}
	return quote(r.Text()), ""
}

// quote is a text as JSON, for readers that are not browsers.
func quote(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
