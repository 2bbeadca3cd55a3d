package harness

import (
	"encoding/json"
	"fmt"

	"github.com/keywave-go/keywave/tool"
)

const (
	// Format is what the first record of every log says that it is.
	Format = "keywave-session"
	// Version is the version of the format that this package writes, and the latest that it reads.
	Version = 1
)

// A SessionStart is the first event of every log. A [Session] writes it itself.
type SessionStart struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

// A TurnStart begins a turn: from what a user says to the answer without calls.
type TurnStart struct {
	Turn int `json:"turn"` // counts from 1
}

// A StepStart begins a step: one request to the model, its message, and the calls in that.
type StepStart struct {
	Turn int `json:"turn"`
	Step int `json:"step"` // counts from 1 in each turn
}

// A UserMessage is what the model is told by a user, or by the host in a user's place.
type UserMessage struct {
	Turn    int          `json:"turn,omitempty"` // in which it was said; 0: before the first
	Step    int          `json:"step,omitempty"`
	Content []tool.Block `json:"content"`

	// Sources are the seqs of the tool/result events whose contexts the message delivers: all contexts of each of them.
	// They are parked no longer.
	Sources []uint64 `json:"sourceEventSeqs,omitempty"`
}

// An AssistantMessage is the answer of the model in one step, whole. It is recorded before its calls run.
type AssistantMessage struct {
	Turn    int          `json:"turn"`
	Step    int          `json:"step"`
	Content []tool.Block `json:"content,omitempty"`
	Calls   []tool.Call  `json:"calls,omitempty"` // in the model's order

	// Native is the message in the provider's own form, if the model is to be shown it again as it was, with what has no
	// place here, such as signed reasoning. It is kept byte for byte, but for white space.
	Native json.RawMessage `json:"native,omitempty"`
}

// A Place says which call of the session is meant. A call's id does not: providers use ids twice, and leave them empty.
type Place struct {
	Turn  int `json:"turn"`
	Step  int `json:"step"`
	Index int `json:"index"` // in the assistant message of that step, from 0
}

// String returns "turn 1, step 2, call 3", all counting from 1.
func (p Place) String() string {
	return fmt.Sprintf("turn %d, step %d, call %d", p.Turn, p.Step, p.Index+1)
}

// A ToolCall says that a call was started: its stages have begun, and its body may run from now on.
type ToolCall struct {
	Place
	ID        string `json:"id,omitempty"` // as the provider gave it
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // as the model wrote it

	// NotStarted says the contrary: the call was never started, and is recorded only so that its result has a call.
	NotStarted bool `json:"notStarted,omitempty"`
}

// An ApprovalAsk says that a call waits for somebody's approval. Its body does not run before an [ApprovalAnswer]
// allows it.
type ApprovalAsk struct {
	Place
	Sources []uint64 `json:"sourceEventSeqs,omitempty"` // the tool/call
	Reason  string   `json:"reason,omitempty"`
}

// An ApprovalAnswer ends the wait of an [ApprovalAsk].
type ApprovalAnswer struct {
	Place
	Sources []uint64  `json:"sourceEventSeqs,omitempty"` // the tool/call
	Allowed bool      `json:"allowed"`
	Code    tool.Code `json:"code,omitempty"` // why not
}

// A ToolSettle keeps the outcome of a call from the moment that its body has settled, although earlier calls of the
// message may still run. The model does not see it.
type ToolSettle struct {
	Place
	Sources []uint64    `json:"sourceEventSeqs,omitempty"` // the tool/call
	Result  tool.Result `json:"result"`
}

// A ToolResult is the result of a call in its final form, the one that the model sees. It comes in the model's order.
// Contexts that the result brings along are parked until a [UserMessage] delivers them.
type ToolResult struct {
	Place
	Sources []uint64    `json:"sourceEventSeqs,omitempty"` // the tool/call
	ID      string      `json:"id,omitempty"`
	Name    string      `json:"name"`
	Result  tool.Result `json:"result"`
}

// A Cancel says that the turn, or some calls of a step, were cancelled. It is recorded before any result that it
// changes.
type Cancel struct {
	Turn  int    `json:"turn"`
	Step  int    `json:"step,omitempty"`
	Calls []int  `json:"calls,omitempty"` // the indexes of calls in that step; none: the turn
	Cause string `json:"cause"`

	KeepInbox bool `json:"keepInbox,omitempty"` // what waits for the next turn goes on waiting
}

// A StepEnd ends a step, when each of its calls has a result.
type StepEnd struct {
	Turn int `json:"turn"`
	Step int `json:"step"`
}

// A TurnEnd ends a turn, and the step that it is in.
type TurnEnd struct {
	Turn   int       `json:"turn"`
	Reason EndReason `json:"reason"`
	Error  string    `json:"error,omitempty"`
}

// An EndReason says why a turn ended.
type EndReason string

const (
	EndDone        EndReason = "done"        // the model's message had no calls
	EndConcluded   EndReason = "concluded"   // a result concludes the turn
	EndLimit       EndReason = "limit"       // a limit of the host's
	EndCancelled   EndReason = "cancelled"   // a Cancel
	EndFailed      EndReason = "error"       // something else than a tool failed; calls may be left open, for Resume
	EndInterrupted EndReason = "interrupted" // written on resume: the process ended in the turn
)

// EventType returns the name of the type.
func (SessionStart) EventType() string { return TypeSessionStart }

// EventType returns the name of the type.
func (TurnStart) EventType() string { return TypeTurnStart }

// EventType returns the name of the type.
func (StepStart) EventType() string { return TypeStepStart }

// EventType returns the name of the type.
func (UserMessage) EventType() string { return TypeUserMessage }

// EventType returns the name of the type.
func (AssistantMessage) EventType() string { return TypeAssistantMessage }

// EventType returns the name of the type.
func (ToolCall) EventType() string { return TypeToolCall }

// EventType returns the name of the type.
func (ApprovalAsk) EventType() string { return TypeApprovalAsk }

// EventType returns the name of the type.
func (ApprovalAnswer) EventType() string { return TypeApprovalAnswer }

// EventType returns the name of the type.
func (ToolSettle) EventType() string { return TypeToolSettle }

// EventType returns the name of the type.
func (ToolResult) EventType() string { return TypeToolResult }

// EventType returns the name of the type.
func (Cancel) EventType() string { return TypeCancel }

// EventType returns the name of the type.
func (StepEnd) EventType() string { return TypeStepEnd }

// EventType returns the name of the type.
func (TurnEnd) EventType() string { return TypeTurnEnd }
