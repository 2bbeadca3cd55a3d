package replay

import "github.com/keywave-go/keywave/bench/trace"

// Version is the version of the JSON form of a [Report].
const Version = 1

// A Report is what replaying transcripts showed. Its JSON form is what keywave replay --format json prints.
//
// All times are in milliseconds. They are sums over the batches of which the time of every call is known, each
// simulated by itself: what the model took to answer is not in them. Of the text of the transcripts a Report holds the
// names of tools, if they look like names, and with [Options.Names] the keys that calls claim; nothing else.
type Report struct {
	Version  int            `json:"replay"`
	Limit    int            `json:"limit"` // how many bodies run at once; 0: no limit
	Total    Figures        `json:"total"`
	Mixed    Figures        `json:"mixed"`    // of the batches with a write or an exclusive call alone
	Sizes    []Size         `json:"sizes"`    // by the number of calls
	Formats  []FormatFigure `json:"formats"`  // in the order in which they came up
	Sessions []Session      `json:"sessions"` // in the order of the sources
	Waits    []Wait         `json:"waits"`    // the calls that the keyed pool kept back, by what for, the most first
	Tools    []Tool         `json:"tools"`    // those with exclusive calls, the one that would bring most first
	Batches  []Batch        `json:"batches"`  // those worth a look: the largest savings, then those with inversions
	Unshown  int            `json:"unshown"`  // batches with inversions that are not among Batches
	Problems []Problem      `json:"problems"` // what could not be used, or is to be known when the figures are read
}

// Figures are sums over batches.
type Figures struct {
	Turns    int          `json:"turns"`   // answers with at least one call
	Batches  int          `json:"batches"` // answers with two or more: all that follows is of these
	Calls    int          `json:"calls"`
	Timed    int          `json:"timed"`    // batches of which the time of every call is known: all times are of these
	Bound    trace.Millis `json:"boundMs"`  // what no schedule can beat that keeps the order of conflicting calls
	Policies []Outcome    `json:"policies"` // as sim.Policies has them
	Waited   int          `json:"waited"`   // calls that the keyed pool kept back for another call
	Slower   int          `json:"slower"`   // timed batches in which the keyed pool takes longer than the rolling pool,
	SlowerBy trace.Millis `json:"slowerMs"` // and by how much in all. It happens with a limit alone
}

// An Outcome is what became of batches under one policy.
type Outcome struct {
	Policy   string       `json:"policy"`
	Ordered  bool         `json:"ordered"` // it promises serial equivalence
	Steps    int          `json:"steps"`   // rounds, with no limit: see sim's Policy.Steps
	Time     trace.Millis `json:"ms"`
	Inverted Inverted     `json:"inverted"`
}

// Inverted counts conflicting calls that ran out of the model's order or together: in the simulation with the recorded
// times or, in batches that are not timed, with calls that all take the same.
type Inverted struct {
	Batches int `json:"batches"`
	Calls   int `json:"calls"`
	Pairs   int `json:"pairs"`
	Keyed   int `json:"keyed"` // of the pairs: both calls claim a key over which they conflict; in others one is exclusive
}

// A Size is how many batches have so many calls.
type Size struct {
	Calls   int `json:"calls"`
	Batches int `json:"batches"`
	Mixed   int `json:"mixed"` // of these with a write or an exclusive call
}

// A FormatFigure is what is known of one format.
type FormatFigure struct {
	Format   string `json:"format"`
	Sessions int    `json:"sessions"`
	Clock    string `json:"clock"` // how good its times are: "exact", "upper bound", "tail only" or "none"
	Text     string `json:"text"`  // a sentence or two about that
	Figures
}

// A Session is what is known of one session.
type Session struct {
	ID int `json:"id"` // from 1
	// File is the name of its source, the first with a batch of the agent itself; empty for the last one, which is all
	// others, if there are too many.
	File   string `json:"file"`
	Format string `json:"format"`
	Agents int    `json:"agents"` // sub-agents of which there are batches
	Figures
}

// A Wait is how often the keyed pool kept calls of one tool back for calls of another or, with a limit, how often they
// could not start because as many ran as may: then For is empty. If there are too many, the last one is "(others)".
type Wait struct {
	Tool  string       `json:"tool"`
	For   string       `json:"for"`
	Why   string       `json:"why"`   // as exec's WaitKind says it: "claim", "barrier", or "permit"
	Calls int          `json:"calls"` // how many, a call once for each kind
	Time  trace.Millis `json:"ms"`    // of the timed batches
}

// A Tool is what the exclusive calls of a tool cost, under the keyed pool. If there are too many tools, the last one is
// "(others)".
type Tool struct {
	Tool    string `json:"tool"`
	Format  string `json:"format"`
	Why     string `json:"why"`   // why they are exclusive, most often: "no rule", "by its rule" or "arguments"
	Calls   int    `json:"calls"` // exclusive ones
	Batches int    `json:"batches"`
	AsRead  Saving `json:"asRead"` // were they declared as reads of everything: next to other reads, not to writes
	AsFree  Saving `json:"asFree"` // were they declared to touch nothing: the most that any declaration can bring
}

// A Saving is what a change would take off the sums of the keyed pool.
type Saving struct {
	Steps int          `json:"steps"`
	Time  trace.Millis `json:"ms"`
}

// A Batch is one batch, call by call. Conflicts, and the inversions of a run, are the first 500, by the later call.
type Batch struct {
	Session   int        `json:"session"` // Session.ID
	File      string     `json:"file"`    // the name of its source: a session may have several
	Line      int        `json:"line"`    // of the source, from 1
	Sub       bool       `json:"sub"`     // of a sub-agent
	Timed     bool       `json:"timed"`   // false: not all times are known, and each call is drawn as 1 ms
	Saved     bool       `json:"saved"`   // it is here for what it saves
	Calls     []Call     `json:"calls"`
	Conflicts []Conflict `json:"conflicts"`
	Runs      []Schedule `json:"runs"` // of the rolling pool, the keyed pool, and of each policy with inversions
}

// A Call is one call of a [Batch].
type Call struct {
	Tool   string       `json:"tool"`
	Access string       `json:"access"`        // "read", "write", "exclusive", or "none": it touches nothing
	Why    string       `json:"why,omitempty"` // of an exclusive call, as Tool.Why
	Claims []Claim      `json:"claims"`
	Time   trace.Millis `json:"ms"`
}

// A Claim is one claim of a [Call]. Without [Options.Names] the key is one of a batch's own, such as d1/f2, that says
// what it shares with others and not what it is called.
type Claim struct {
	Key   string `json:"key"`
	Write bool   `json:"write"`
	Tree  bool   `json:"tree"` // and everything below it
}

// A Conflict is two calls of a batch that may not change places.
type Conflict struct {
	Earlier int `json:"earlier"` // indexes, from 0
	Later   int `json:"later"`
}

// A Schedule is the timeline of a batch under one policy.
type Schedule struct {
	Policy     string       `json:"policy"`
	Time       trace.Millis `json:"ms"`
	Spans      []Span       `json:"spans"` // by call
	Inversions []Inversion  `json:"inversions"`
}

// A Span is when a call ran, from the start of its batch, and what it waited for before that.
type Span struct {
	Start trace.Millis `json:"startMs"`
	End   trace.Millis `json:"endMs"`
	Waits []SpanWait   `json:"waits"`
}

// A SpanWait is one wait of a [Span].
type SpanWait struct {
	Why  string       `json:"why"`  // as exec's WaitKind says it
	Call int          `json:"call"` // index; below 0: no single one
	From trace.Millis `json:"fromMs"`
	To   trace.Millis `json:"toMs"`
}

// An Inversion is two conflicting calls that ran together or changed places.
type Inversion struct {
	Conflict
	Overlap bool `json:"overlap"`
}

// A Problem is something about a source. Those of one kind are the same thing, in different files. What keywave replay
// finds before it reads is of the kinds "not looked at" and "no transcripts".
type Problem struct {
	File  string `json:"file"`
	Kind  string `json:"kind"` // as transcript's Kind says it, or "not read", "left out", "repeated" or "more"
	Text  string `json:"text"` // what it is, how often and in which lines
	Count int    `json:"count"`
}
