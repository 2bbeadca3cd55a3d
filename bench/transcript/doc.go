// Package transcript reads the logs that coding agents write, as the batches of tool calls that their models asked for:
// which tools, with which arguments, in which order, when each began and ended, and how it ended.
//
//	var report transcript.Report
//	for batch, err := range transcript.ReadFile("session.jsonl", &report) {
//		...
//	}
//	for _, p := range report.Problems {
//		fmt.Println(p)
//	}
//
// Formats are told apart by what the records hold, one by one, so a file may change its format on the way. [Formats]
// are those that are known; [Format.Clock] says how good the times of each are.
//
// # What a batch is
//
// The calls that one answer of the model holds. Claude Code writes an answer in several lines with results between
// them, which its message id holds together. Codex writes no such id: calls belong to one answer until all of them have
// results. In message lists and elsewhere it is the message.
//
// An agent's next answer ends its batch, whether all calls have results or not. So ids need to be unique among the open
// calls of an agent only, and memory is that for what is open, at most a few hundred batches: not that of the log.
// Sub-agents have batches of their own at the same time.
//
// # What is wrong with logs
//
// Lines that are torn or are no JSON, records of unknown types, results without calls and calls without results, ids
// that are missing or are there twice, clocks that go backwards: each is counted in the [Report] under its kind, with
// the first lines where it is so, and the rest is read. A log that is still being written ends in a [Torn] record, or
// has calls that are [StillOpen]; neither harms the others.
//
// Three things cannot be seen in a log. A session that was resumed may repeat the whole of an earlier one in a new
// file, or behind itself, and then its batches are there twice: package replay tells of such. What an answer called on
// the provider's side is no call here. Answers that a user threw away by going back count like the others: they did
// run.
//
// # What is kept
//
// The arguments of calls, until the batch is handed on; of results no more than how they ended. The report has no text
// of a transcript but the types of records that are not known, and the character at which a line is not JSON.
package transcript
