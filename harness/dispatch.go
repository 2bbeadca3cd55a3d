package harness

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/keywave-go/keywave/tool"
)

// A CodeDispatchStart says that a call has started that a program made, or whatever else the body of a call runs that
// makes calls of its own. No message derives from it.
type CodeDispatchStart struct {
	Place                     // of the call of the model that it is nested in
	ParentID  string          `json:"parentId"`    // of the call whose body made it: that at the place, or one nested in it
	ID        string          `json:"id"`          // its own, such as "call_1:code:2"
	Name      string          `json:"name"`        // of the tool
	Arguments json.RawMessage `json:"arguments"`   // {} if it had none; a string, if what it had is not JSON
	At        time.Time       `json:"at,omitzero"` // when it started, which can be before it was recorded
}

// A CodeDispatch is the result of a call that a [CodeDispatchStart] has told of, as it was committed, or what the host
// keeps of it. Those of one program come in the order in which it made the calls. No message derives from it.
type CodeDispatch struct {
	Place
	Sources  []uint64    `json:"sourceEventSeqs,omitempty"` // the tool/code-dispatch-start
	ParentID string      `json:"parentId"`
	ID       string      `json:"id"`
	Name     string      `json:"name"`
	At       time.Time   `json:"at,omitzero"` // when its body came to rest, which can be before it was committed
	Result   tool.Result `json:"result"`
}

// EventType returns the name of the type.
func (CodeDispatchStart) EventType() string { return TypeCodeDispatchStart }

// EventType returns the name of the type.
func (CodeDispatch) EventType() string { return TypeCodeDispatch }

// dispatches records the calls within one call.
type dispatches struct {
	mu     sync.Mutex
	starts map[*tool.Invocation]uint64 // the seqs of those that have no result
}

// dispatched records an event of a call within the one at a place. A call that never started leaves nothing.
func (d *dispatches) dispatched(at Place, e tool.Event, record func(Payload) (uint64, error)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	start, started := d.starts[e.Invocation]
	switch {
	case e.Stage == tool.Started && !started:
		seq, err := record(CodeDispatchStart{
			Place: at, ParentID: e.Parent.Call.ID, ID: e.Call.ID, Name: e.Call.Name, Arguments: normal(e.Arguments),
			At: e.At.UTC().Round(0),
		})
		if err != nil {
			return err
		}
		if d.starts == nil {
			d.starts = map[*tool.Invocation]uint64{}
		}
		d.starts[e.Invocation] = seq
	case e.Stage == tool.Committed && started:
		_, err := record(CodeDispatch{
			Place: at, Sources: []uint64{start}, ParentID: e.Parent.Call.ID, ID: e.Call.ID, Name: e.Call.Name,
			At: e.At.UTC().Round(0), Result: e.Result,
		})
		if err != nil {
			return err
		}
		delete(d.starts, e.Invocation)
	}
	return nil
}

// normal is arguments that can be recorded whatever they are.
func normal(arguments json.RawMessage) json.RawMessage {
	if json.Valid(arguments) {
		return arguments
	}
	text, _ := json.Marshal(string(arguments))
	return text
}

// dispatched takes an event of a call within a call. It changes nothing: it only has to come while the call around it
// runs, so that what a body leaves behind that was given up never gets into a later turn.
func (f *fold) dispatched(e Event, check bool) error {
	p, _, err := placeOf(e, 3)
	if err != nil || !check {
		return err
	}
	switch _, c := f.find(p); {
	case c == nil || c.done:
		return outOf("there is no %v without a result", p)
	case c.seq == 0 || !c.started:
		return outOf("%v was not started", p)
	case c.outcome.Type != "":
		return outOf("%v has settled", p)
	}
	return nil
}
