package transcript

import (
	"time"

	"github.com/keywave-go/keywave/bench/trace"
	"github.com/keywave-go/keywave/tool"
)

// A Format is what wrote a transcript. Formats are recognised by what the records hold, never by a file's name.
type Format string

const (
	Keywave    Format = "keywave"     // the session log of package harness
	ClaudeCode Format = "claude-code" // session JSONL of Claude Code, and what it prints as stream-json
	Codex      Format = "codex"       // rollout JSONL of Codex, and lists of Responses items
	OpenCode   Format = "opencode"    // what "opencode export" writes
	Copilot    Format = "copilot"     // events.jsonl of the Copilot CLI
	Gemini     Format = "gemini"      // chats of the Gemini CLI, as one JSON document or as JSONL
	Pi         Format = "pi"          // session JSONL of Pi
	DSH        Format = "dsh"         // session log of the DeepSeek Harness
	OpenAI     Format = "openai"      // a list of Chat Completions messages
	Anthropic  Format = "anthropic"   // a list of Messages API messages
	Recorded   Format = "recorded"    // batches without texts, which package trace reads
)

// Formats are all of them, in the order in which a table shows them.
var Formats = []Format{Keywave, ClaudeCode, Codex, OpenCode, Copilot, Gemini, Pi, DSH, OpenAI, Anthropic, Recorded}

// A Batch is the calls that one answer of a model asks for, also if it is one call only.
type Batch struct {
	Format  Format
	Session string // as the transcript names it; may be empty
	Agent   string // the sub-agent of the session that made the calls; empty: the main one
	Turn    string // the answer, as the transcript names it; may be empty, and need not be unique
	Line    int    // of the transcript, from 1, where the batch begins
	Model   string // may be empty
	Dir     string // the working directory, as the transcript has it; empty: not known
	Calls   []Call // in the model's order, at least one

	// Recorded is what a recorded batch says beyond that: the accesses and keys of its calls, which have no arguments. It
	// is nil in all other formats.
	Recorded *trace.Batch
}

// A Call is one recorded call. Its arguments are one JSON value, as it was recorded; nearly always an object, but a
// string for a tool that takes free text, and anything at all if the model wrote something else.
type Call struct {
	tool.Call
	Line    int // of the transcript, from 1
	Outcome Outcome

	// Start and End are zero where the transcript does not say. What they mean depends on the format: see
	// [Format.Clock]. End is never before Start.
	Start, End time.Time
	Reported   time.Duration // how long it took, as the tool or the agent itself measured; 0: it did not say
	Waited     time.Duration // between Start and End, for somebody's permission; 0 also if that was not recorded
	Tail       time.Duration // the part of Start to End that is after every other end before; 0 if either is not known
	Background bool          // it went on behind its result, as the result says: how long it took is not known
}

// An Outcome says how a call ended.
type Outcome uint8

const (
	Unanswered Outcome = iota // the transcript has no result of it
	Succeeded
	Failed    // the tool's own error
	Rejected  // it was not let run: by a person, by a policy, or because there is no such tool
	Cancelled // by a user, or because another call of the batch failed; it may have run in part
)

// String returns the name in lower case.
func (o Outcome) String() string {
	return [...]string{"unanswered", "succeeded", "failed", "rejected", "cancelled"}[min(o, Cancelled)]
}

// Took returns the best single figure for how long the body of call i ran, without the time that it waited for others
// of its batch. Alone says of each call whether the agent that was recorded runs it alone, as most do with what writes
// and what they know nothing of: where only the end of a call is exact, such a call cannot have begun before the calls in
// front of it had ended, nor any call before a call in front of it that ran alone had. Calls of which that cannot be true,
// as the one in front ended later, ran together after all. Nil says that all did. Took reports false where the transcript
// does not say, where the call has not run, and where it went on in the background.
func (b *Batch) Took(i int, alone []bool) (time.Duration, bool) {
	c := &b.Calls[i]
	if c.Outcome == Rejected || c.Outcome == Unanswered || c.Background {
		return 0, false
	}
	if c.Reported > 0 {
		return c.Reported, true
	}
	if b.Recorded != nil {
		return 0, b.Recorded.Calls[i].Timed()
	}
	if c.Start.IsZero() || c.End.IsZero() {
		return 0, false
	}
	whole := max(0, c.End.Sub(c.Start)-c.Waited)
	switch b.Format.Clock().Quality {
	case Exact:
		return whole, true
	case UpperBound:
		for j, ran := range alone[:min(i, len(alone))] {
			waited := ran || i < len(alone) && alone[i]
			if end := b.Calls[j].End; waited && !end.After(c.End) {
				whole = min(whole, c.End.Sub(end))
			}
		}
		return whole, true
	case TailOnly:
		return min(whole, c.Tail), true
	}
	return 0, false
}
