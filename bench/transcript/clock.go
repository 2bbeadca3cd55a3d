package transcript

// A Quality says what the times of a format are good for.
type Quality uint8

const (
	NoClock    Quality = iota // no time of a single call is known
	TailOnly                  // calls ran one by one; what is known is how much later each ended than the one before
	UpperBound                // a call took at most the time between its start and its end
	Exact                     // start and end of the call itself
)

// String returns "none", "tail only", "upper bound" or "exact".
func (q Quality) String() string {
	return [...]string{"none", "tail only", "upper bound", "exact"}[min(q, Exact)]
}

// A Clock says how good the times of a format are.
type Clock struct {
	Quality Quality
	Text    string // for people: a sentence or two
}

// Clock returns what the times of a format are good for. A transcript may be worse, and lack them; it is never better.
func (f Format) Clock() Clock {
	switch f {
	case Keywave:
		return Clock{Exact, "From the start of a call to the moment its body settled, each recorded as it happened. " +
			"Waiting for an approval is recorded and left out; waiting for a permit or for another agent's claims is in it."}
	case OpenCode:
		return Clock{Exact, "Start and end of every call, in milliseconds, as the agent ran it. A permission that a tool " +
			"asks for while it runs is in it."}
	case Copilot:
		return Clock{Exact, "Start and end of every call, in milliseconds, as the agent ran it. Waiting for a permission " +
			"is recorded and left out."}
	case Codex:
		return Clock{UpperBound, "From the call's arrival to its output: that holds queueing and approvals. For commands " +
			"the measured duration is used instead where the rollout has one of at least a millisecond; of a command that " +
			"goes on in the background it is that of the first look only."}
	case ClaudeCode:
		return Clock{UpperBound, "From the line of the call to the line of its result, less the wait for calls in front " +
			"of it that the agent is taken to have run alone (what writes, shells, tools without a rule); those that it ran " +
			"together all the same took longer than is said here. It holds what was still streaming, permission prompts and " +
			"hooks. The duration that a tool reports is used instead where there is one."}
	case DSH:
		return Clock{UpperBound, "From the start of a call to its result, which is recorded in the model's order: that " +
			"holds waiting for earlier results. Logs without times have no clock."}
	case Recorded:
		return Clock{UpperBound, "The best guess of whoever recorded the batch, made from the clock of the format that it " +
			"comes from. Sub-agents, people and commands that went on in the background have none."}
	case Pi:
		return Clock{TailOnly, "Calls run one by one and only their results have a time: a call took what passed since the " +
			"result before it."}
	case Gemini:
		return Clock{NoClock, "All calls of an answer carry one time, that of the last: nothing is known of a single call."}
	}
	return Clock{NoClock, "Message lists have no times."}
}
