package harness

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/keywave-go/keywave/tool"
)

// A State is where a session stands, as its log says. What it points to is shared, and must not be modified.
type State struct {
	Seq    uint64  // the highest of all events, which is that of the last; 0: there is none
	Turn   int     // the last that began; 0: none did
	Step   int     // the last that began in that turn; 0: none did
	InTurn bool    // Turn has not ended
	InStep bool    // Step has not ended
	Cancel *Cancel // the first cancel of the turn, if that has not ended

	// Open are the calls without a result, in the model's order: every call of a recorded assistant message, started or
	// not, until its tool/result.
	Open []OpenCall

	// Parked are the contexts that results have brought along and no user message has delivered, in their order.
	Parked []Parked
}

// An OpenCall is a call that has no result yet.
type OpenCall struct {
	Place
	Call tool.Call

	Seq        uint64       // of its tool/call; 0: none is recorded
	NotStarted bool         // its tool/call says that it was never started
	Unapproved bool         // it waits for approval, or was refused it: its body has not run
	Outcome    *tool.Result // of its tool/settle; nil: it has not settled
	Cancel     *Cancel      // the first cancel that reaches it; nil: none does
}

// A Parked is what one result has brought along for the next step.
type Parked struct {
	Result   uint64 // the seq of the tool/result, for [UserMessage.Sources]
	Contexts []tool.Context
}

// Fold reads events and says where their session stands. An error, such as a [*TornError] at the end, comes with the
// state up to it. It takes time in proportion to the events, and memory for what is open.
func Fold(events iter.Seq2[Event, error]) (State, error) {
	var f fold
	err := f.read(events)
	s, bad := f.state()
	return s, cmp.Or(err, bad)
}

// A fold is a State that goes on. Its events come from a log, which it takes as it is, or from an Append, whose units
// it checks and can take back.
type fold struct {
	head
	steps  []*step // that have open calls, in their order
	parked []Parked

	// What to put back to undo a unit. The slices above only grow at their end, or are replaced.
	was     head
	wereIn  []*step
	waiting []Parked
	changed []change
}

// A head is what a fold knows outside of open calls.
type head struct {
	seq    uint64
	time   time.Time
	turn   int
	step   int
	inTurn bool
	inStep bool
	said   bool // the step has its assistant message
	cancel *Cancel
	events int
}

// A step is one that has open calls.
type step struct {
	turn, step int
	calls      []call
	left       int // how many are open
	next       int // the first that is
	cancel     *Cancel
}

type call struct {
	call    tool.Call
	seq     uint64
	started bool
	barred  bool // by an approval that is not there
	asked   bool
	done    bool
	outcome Event // its tool/settle; without a type: it has not settled
	line    int   // of that, in the log
	cancel  *Cancel
}

// A change is what a step and one of its calls were before.
type change struct {
	step *step
	was  step
	at   int // -1: no call
	call call
}

func (f *fold) read(events iter.Seq2[Event, error]) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		if err := f.take(e); err != nil {
			return err
		}
	}
	return nil
}

// take adds the next event from a log.
func (f *fold) take(e Event) error {
	if err := f.add(e, false); err != nil {
		return odd(f.events+1, err)
	}
	return nil
}

// odd is the error of a fold that cannot decode the n-th event of a log.
func odd(n int, err error) error { return &CorruptError{Line: n, Offset: -1, Err: err} }

// begin begins a unit that can be undone.
func (f *fold) begin() {
	f.was, f.wereIn, f.waiting, f.changed = f.head, f.steps, f.parked, f.changed[:0]
}

// undo takes back what was added since begin.
func (f *fold) undo() {
	for _, c := range slices.Backward(f.changed) {
		*c.step = c.was
		if c.at >= 0 {
			c.step.calls[c.at] = c.call
		}
	}
	f.head, f.steps, f.parked = f.was, f.wereIn, f.waiting
}

// change notes what a step and one of its calls are before they change.
func (f *fold) change(s *step, at int) {
	c := change{step: s, was: *s, at: at}
	if at >= 0 {
		c.call = s.calls[at]
	}
	f.changed = append(f.changed, c)
}

// find returns the step at a place if it has open calls, and the call if it has been recorded.
func (f *fold) find(p Place) (*step, *call) {
	for _, s := range slices.Backward(f.steps) {
		if s.turn != p.Turn || s.step != p.Step {
			continue
		}
		if p.Index < 0 || p.Index >= len(s.calls) {
			return s, nil
		}
		return s, &s.calls[p.Index]
	}
	return nil, nil
}

// cancelOf returns the first cancel that reaches the call at a place, if that has no result; nil: none does.
func (f *fold) cancelOf(p Place) *Cancel {
	s, c := f.find(p)
	if c == nil || c.done {
		return nil
	}
	return cmp.Or(c.cancel, s.cancel)
}

// add takes one event. If it is checked, an event that must not follow what is there is an error that wraps ErrOrder,
// and the fold is left in a state that must be undone. From a log it takes what it can: the first of several tool/call,
// tool/settle or tool/result of one call counts, and of several messages of a step while calls of it are open; what
// belongs nowhere is passed over. Then it is an error only if the data of an event cannot be decoded.
func (f *fold) add(e Event, check bool) error {
	if !check {
		f.changed = f.changed[:0]
	}
	var err error
	switch e.Type {
	case TypeTurnStart:
		err = f.turnStart(e, check)
	case TypeStepStart:
		err = f.stepStart(e, check)
	case TypeAssistantMessage:
		err = f.assistantMessage(e, check)
	case TypeToolCall, TypeApprovalAsk, TypeApprovalAnswer, TypeToolSettle, TypeToolResult:
		err = f.ofCall(e, check)
	case TypeCodeDispatchStart, TypeCodeDispatch:
		err = f.dispatched(e, check)
	case TypeUserMessage:
		err = f.userMessage(e)
	case TypeCancel:
		err = f.cancelled(e, check)
	case TypeStepEnd:
		err = f.stepEnd(e, check)
	case TypeTurnEnd:
		err = f.turnEnd(e, check)
	case TypeSessionStart:
		if check && f.events > 0 {
			err = outOf("the session has begun")
		}
	}
	if err != nil {
		return err
	}
	f.events++
	f.seq = max(f.seq, e.Seq)
	if e.Time.After(f.time) {
		f.time = e.Time
	}
	return nil
}

func (f *fold) turnStart(e Event, check bool) error {
	p, _, err := placeOf(e, 1)
	switch {
	case err != nil:
		return err
	case !check:
	case f.inTurn:
		return outOf("turn %d has not ended", f.turn)
	case p.Turn != f.turn+1:
		return outOf("turn %d begins after turn %d", p.Turn, f.turn)
	case len(f.steps) > 0:
		return outOf("%v has no result; Resume closes what is open", f.steps[0].place())
	}
	f.turn, f.step, f.inTurn, f.inStep, f.said, f.cancel = p.Turn, 0, true, false, false, nil
	return nil
}

func (f *fold) stepStart(e Event, check bool) error {
	p, _, err := placeOf(e, 2)
	switch {
	case err != nil:
		return err
	case !check:
	case !f.inTurn || p.Turn != f.turn:
		return outOf("turn %d is not going on", p.Turn)
	case f.inStep:
		return outOf("step %d has not ended", f.step)
	case p.Step != f.step+1:
		return outOf("step %d begins after step %d", p.Step, f.step)
	case len(f.steps) > 0:
		return outOf("%v has no result; Resume closes what is open", f.steps[0].place())
	}
	f.step, f.inStep, f.said = p.Step, true, false
	return nil
}

func (f *fold) assistantMessage(e Event, check bool) error {
	m, err := decode[AssistantMessage](e)
	switch {
	case err != nil:
		return err
	case !check:
	case !f.inStep || m.Turn != f.turn || m.Step != f.step:
		return outOf("turn %d, step %d is not going on", m.Turn, m.Step)
	case f.said:
		return outOf("turn %d, step %d has its message", m.Turn, m.Step)
	}
	f.said = true
	if open, _ := f.find(Place{Turn: m.Turn, Step: m.Step}); open != nil || len(m.Calls) == 0 {
		return nil
	}
	s := &step{turn: m.Turn, step: m.Step, calls: make([]call, len(m.Calls)), left: len(m.Calls)}
	for i, c := range m.Calls {
		s.calls[i].call = c
	}
	if m.Turn == f.turn {
		s.cancel = f.cancel
	}
	f.steps = append(f.steps, s)
	return nil
}

// ofCall takes an event of one call.
func (f *fold) ofCall(e Event, check bool) error {
	p, _, err := placeOf(e, 3)
	if err != nil {
		return err
	}
	s, c := f.find(p)
	if check {
		if err := f.follows(e, p, s, c); err != nil {
			return err
		}
	}
	switch {
	case c == nil, c.done, c.seq > 0 && e.Type == TypeToolCall:
		return nil
	case c.seq == 0 && e.Type != TypeToolCall && e.Type != TypeToolResult: // a result counts, with a tool/call or not
		return nil
	}
	f.change(s, p.Index)
	switch e.Type {
	case TypeToolCall:
		if c.started, err = starts(e); err != nil {
			return err
		}
		c.seq = e.Seq
	case TypeApprovalAsk:
		c.asked, c.barred = true, true
	case TypeApprovalAnswer:
		a, err := decode[ApprovalAnswer](e)
		if err != nil {
			return err
		}
		c.asked, c.barred = false, !a.Allowed
	case TypeToolSettle:
		if c.outcome.Type == "" {
			c.outcome, c.line = e, f.events+1
		}
	case TypeToolResult:
		c.done = true
		s.left--
		for s.next < len(s.calls) && s.calls[s.next].done {
			s.next++
		}
		if s.left == 0 {
			f.steps = slices.DeleteFunc(slices.Clone(f.steps), func(other *step) bool { return other == s })
		}
		return f.park(e)
	}
	return nil
}

// follows says whether an event of a call may come now.
func (f *fold) follows(e Event, p Place, s *step, c *call) error {
	switch {
	case c == nil:
		return outOf("there is no %v without a result", p)
	case e.Type == TypeToolCall && c.seq > 0:
		return outOf("%v is recorded already", p)
	case e.Type == TypeToolCall:
		started, err := starts(e)
		if err == nil && started && (!f.inStep || s.turn != f.turn || s.step != f.step) {
			err = outOf("%v starts when its step has ended", p)
		}
		return err
	case c.done:
		return outOf("%v has its result", p)
	case c.seq == 0:
		return outOf("%v has no %s", p, TypeToolCall)
	case e.Type == TypeToolResult && p.Index != s.next:
		return outOf("%v comes before call %d", p, s.next+1)
	case e.Type == TypeToolResult:
		return nil
	case !c.started:
		return outOf("%v was not started", p)
	case c.outcome.Type != "":
		return outOf("%v has settled", p)
	case e.Type == TypeApprovalAsk && c.asked:
		return outOf("%v waits for an approval already", p)
	case e.Type == TypeApprovalAnswer && !c.asked:
		return outOf("%v waits for no approval", p)
	}
	return nil
}

// starts reports whether a tool/call says that its call was started.
func starts(e Event) (bool, error) {
	if !bytes.Contains(e.Data, []byte("notStarted")) {
		return true, nil
	}
	t, err := decode[ToolCall](e)
	return !t.NotStarted, err
}

// park keeps the contexts of a result.
func (f *fold) park(e Event) error {
	if !bytes.Contains(e.Data, []byte(`"contexts"`)) {
		return nil
	}
	var data struct {
		Result struct {
			Contexts []tool.Context `json:"contexts"`
		} `json:"result"`
	}
	err := read(e, &data)
	if err == nil && len(data.Result.Contexts) > 0 {
		f.parked = append(f.parked, Parked{Result: e.Seq, Contexts: data.Result.Contexts})
	}
	return err
}

func (f *fold) userMessage(e Event) error {
	if len(f.parked) == 0 || !bytes.Contains(e.Data, []byte("sourceEventSeqs")) {
		return nil
	}
	m, err := decode[UserMessage](e)
	if err != nil {
		return err
	}
	f.parked = slices.DeleteFunc(slices.Clone(f.parked), func(p Parked) bool { return slices.Contains(m.Sources, p.Result) })
	return nil
}

func (f *fold) cancelled(e Event, check bool) error {
	c, err := decode[Cancel](e)
	if err != nil {
		return err
	}
	if check && (!f.inTurn || c.Turn != f.turn) {
		return outOf("turn %d is not going on", c.Turn)
	}
	if len(c.Calls) == 0 && c.Turn == f.turn && f.inTurn && f.cancel == nil {
		f.cancel = &c
	}
	for _, s := range f.steps {
		switch {
		case s.turn != c.Turn:
		case len(c.Calls) == 0 && s.cancel == nil:
			f.change(s, -1)
			s.cancel = &c
		case s.step == c.Step:
			for _, i := range c.Calls {
				if i >= 0 && i < len(s.calls) && s.calls[i].cancel == nil {
					f.change(s, i)
					s.calls[i].cancel = &c
				}
			}
		}
	}
	return nil
}

func (f *fold) stepEnd(e Event, check bool) error {
	p, _, err := placeOf(e, 2)
	switch {
	case err != nil:
		return err
	case !check:
	case !f.inStep || p.Turn != f.turn || p.Step != f.step:
		return outOf("turn %d, step %d is not going on", p.Turn, p.Step)
	case len(f.steps) > 0:
		return outOf("%v has no result", f.steps[0].place())
	}
	f.inStep = false
	return nil
}

func (f *fold) turnEnd(e Event, check bool) error {
	t, err := decode[TurnEnd](e)
	switch {
	case err != nil:
		return err
	case !check:
	case !f.inTurn || t.Turn != f.turn:
		return outOf("turn %d is not going on", t.Turn)
	case len(f.steps) > 0 && t.Reason != EndFailed:
		return outOf("%v has no result, and the reason is not %q", f.steps[0].place(), EndFailed)
	}
	f.inTurn, f.inStep, f.cancel = false, false, nil
	return nil
}

// place is that of the first open call.
func (s *step) place() Place { return Place{s.turn, s.step, s.next} }

// state says where the fold is.
func (f *fold) state() (State, error) {
	s := State{
		Seq: f.seq, Turn: f.turn, Step: f.step, InTurn: f.inTurn, InStep: f.inStep,
		Cancel: f.cancel, Parked: append([]Parked(nil), f.parked...),
	}
	for _, in := range f.steps {
		for i, c := range in.calls {
			if c.done {
				continue
			}
			open := OpenCall{
				Place: Place{in.turn, in.step, i}, Call: c.call, Seq: c.seq,
				NotStarted: c.seq > 0 && !c.started, Unapproved: c.barred, Cancel: cmp.Or(c.cancel, in.cancel),
			}
			if c.outcome.Type != "" {
				settle, err := decode[ToolSettle](c.outcome)
				if err != nil {
					return s, odd(c.line, err)
				}
				open.Outcome = &settle.Result
			}
			s.Open = append(s.Open, open)
		}
	}
	return s, nil
}
