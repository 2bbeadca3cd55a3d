// Package harness leads agents: it asks a model, runs the calls of its messages, keeps all of it in a log, and can go on
// from that.
//
// An [Agent] leads one session through turns and steps. It asks a [Model], which a host implements, and runs the calls
// of each message with a [Scheduler], which a host with a loop of its own can use alone.
//
// A [Session] is an append-only log of events, and nothing else: the messages that the model is sent
// ([Session.Messages]), what is open ([Session.State]), the tree of turns, steps and calls with their times ([Turns])
// are folds over the log, and equal logs give equal folds. [Open] keeps the log in a file, [New] in any [Store], such
// as [Memory].
//
// # What a call leaves in the log
//
// The assistant message is recorded whole, before any of its calls runs. Then each call that starts leaves three
// events:
//
//	tool/call    before its body runs: the call, with its arguments as the model wrote them
//	tool/settle  when its body has settled: the outcome, although earlier calls of the message may still run
//	tool/result  at its commit, in the model's order: the result in its final form
//
// So an outcome is durable when its body has settled, and visible to the model when it was committed in the model's
// order; only tool/result is a message. A call that never starts leaves a tool/call that says so, and its result. A
// call is known by its [Place]: turn, step and index. Ids are kept as they came, and pair nothing.
//
// A call whose body makes calls of its own, as a program does in code mode, leaves two more for each of them, between its
// tool/call and its tool/settle: tool/code-dispatch-start when it starts, and tool/code-dispatch when its result is final,
// in the order in which the program made them. They are there to be looked at: no message derives from them, and what of
// them a log lacks at its end is not repaired. [CallTree] makes a tree of them.
//
// A session refuses, with [ErrOrder], what a log must not say: a result without a call, a second one, one out of the
// model's order, a step that ends while a call of it is open.
//
// # How a step runs
//
// The calls of a message go through a lane of package exec, and each through the [tool.Pipeline]. They start when their
// admission allows it, by waves unless the scheduler says otherwise, and bodies overlap up to its limit. Results are
// committed in the model's order, and with them the contexts that they bring along, which the next request begins with.
//
// That order has its price. A fast result waits for the slow ones before it until the model may see it, though not until
// it is durable, and stays in memory until the step ends. The limit is a scheduler's own, and claims hold within one
// step, unless schedulers are given a semaphore and a domain to share.
//
// # Cancel
//
// [Agent.Cancel], or the end of the agent's context, is recorded before any result that it changes. What it does depends
// on when it comes:
//
//	before a message's calls     none starts, each is recorded as never started: ABORTED_BEFORE_DISPATCH
//	in a policy or a prompt      neither that call starts nor one that has not started yet
//	while bodies run             they are cancelled, and waited for as long as the scheduler's Drain says; what was a
//	                             success becomes ABORTED, with what it returned below a notice; an error of the
//	                             tool's own stays
//	while results are committed  those that are recorded stay, and a success that is not yet becomes ABORTED
//
// In each case all calls get one result, in the model's order, no further request is made, and contexts of results wait
// in the log until the agent is told something that wakes it.
//
// If something fails that belongs to no call, such as the log, nothing more starts, what runs is cancelled and waited
// for, and no result is made up: the turn ends with [EndFailed], its calls are left open, and the next turn, or the next
// agent, begins by closing them as a resume does.
//
// # What is promised when
//
// An event whose Append returned without an error has been handed to the store whole, in its place: whoever reads the
// log sees it, and the end of the process, by kill -9 too, does not undo it. When it also survives a crash of the
// system depends on the [Durability] with which it was appended: once a sync has covered it, with the whole log up to
// it. Of what no sync has covered, a crash can undo any part: as a rule the end, and the log has a torn one; where the
// file system writes blocks out of order, also something in the middle, and the log is not opened then.
//
// An event whose Append failed is not in the log, unless the error wraps [ErrBroken]. So a scheduler that starts no
// body before its tool/call has been appended loses no call silently.
//
// # Resume
//
// A log can end anywhere. When it is opened again, its torn end, a record that was not written whole, is cut off and
// told in [Session.Torn]; every whole record is kept. [Session.Resume] then closes what is open: outcomes that settled
// are committed, in the model's order; a call that was started and did not settle is INTERRUPTED, as its effect may
// have happened; a call that was not started is ABORTED_BEFORE_DISPATCH. Nothing runs again by itself, and a second
// Resume finds nothing to do. [Repair] is the same as a pure function, and says it exactly.
//
// # The format of a log
//
// A log is a file of lines in UTF-8, each a record: a JSON object and a line feed. This is version 1.
//
//		{"seq":1,"time":"2026-01-02T03:04:05.678Z","type":"session/start","data":{"format":"keywave-session","version":1}}
//
//	  - seq counts from 1, and rises by one from line to line. It is at most 2^53, so that every reader takes it exactly.
//	  - time is RFC 3339 in UTC, with up to nine digits of a second, and never before that of an earlier record.
//	  - type is one of those below, or any other; of others the data is kept byte for byte.
//	  - data is any JSON, in the same line. What a payload has no member for is passed over.
//
// The first record is a session/start with the format and the version; a reader refuses a version that is above its
// own. The members of a record are written in this order, and are read in any; others are passed over. The data of each
// type is documented with its payload:
//
//	session/start      SessionStart      the format and its version
//	turn/start         TurnStart         a turn begins
//	step/start         StepStart         a step begins: one request to the model, and the calls of its message
//	user/message       UserMessage       what the model is told, and which contexts that delivers
//	assistant/message  AssistantMessage  what the model said: content and calls
//	tool/call          ToolCall          a call starts, or is recorded as never started
//	approval/ask       ApprovalAsk       it waits for an approval
//	approval/answer    ApprovalAnswer    which is given or refused
//	tool/code-dispatch-start
//	                   CodeDispatchStart a program that it runs has made a call, which starts
//	tool/code-dispatch CodeDispatch      and has its result
//	tool/settle        ToolSettle        it has settled
//	tool/result        ToolResult        it has its result
//	turn/cancel        Cancel            the turn, or some calls, are cancelled
//	step/end           StepEnd           the step ends
//	turn/end           TurnEnd           the turn ends, and why
//
// Records are written whole, those of one append in one write, so another program can read the file at any time:
//
//	jq -r 'select(.type == "tool/result") | [.data.name, .data.result.code // "ok"] | @tsv' log.jsonl
//	tail -f log.jsonl | jq -c .data
//
// If a writer dies in a write the last line is torn: it has no line feed, or is not a record. Any other line that is
// not a record, and any whose data is not what its type says, is a [*CorruptError] with its number, and no torn end is
// cut off behind it. A line that is no record keeps the log from being opened; of data, only what says what is open is
// looked at then, and the rest when somebody reads it. A log whose seqs are out of order, which nothing here writes, is
// read in the order of its lines, and goes on behind the highest.
//
// One session at a time writes to a log: it holds an exclusive advisory lock on the file (flock, or LockFileEx on
// Windows), which ends with the process. Readers need no lock: [ReadFile] reads what is there, [Follow] waits for more.
//
// # Contracts
//
// They have numbers, and a test that is named after them: TestH8... is about H8.
//
//	H1   each recorded call has exactly one result, in the model's order
//	H2   messages follow from the log alone: equal logs, equal bytes
//	H3   a cancel is an event, recorded before the results that it changes, and a resume applies it
//	H4   contexts that results bring along are parked in the order of the commits until a message delivers them
//	H5   only a success that was committed concludes a turn, and it cancels no sibling
//	H6   the limit is read once for each group of calls, and a change of it counts from the next
//	H7   approvals are asked one at a time, each after its policy was read again, and a late answer is refused
//	H8   a log that ends at any byte can be opened: all whole records are there, and only calls that were started and
//	     had not settled become INTERRUPTED; to open and resume it again appends nothing
//	H9   seqs are the order of the file, and a second session is refused
//	H10  an append that fails leaves nothing, or nothing is appended after it
package harness
