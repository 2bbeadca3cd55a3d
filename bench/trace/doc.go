// Package trace reads recorded batches: the turns of coding agents in which the model asked for two or more tool calls
// at once, one JSON line a batch. They tell what kind of tool each call used, which keys it read and wrote, and how
// long it took; nothing textual is left in them. Bench/testdata has a part of them, and says where they come from.
//
// [Read] gives batch after batch, [Call.Plan] what a planner knows of a call, [Batch.Timed] and [Batch.Takes] how long
// the calls of a batch take in a simulation.
//
// # What the durations are worth
//
// Only some formats record when a call really began and ended. [Call.Est] is the best single guess of whoever recorded
// the batch: exact for OpenCode and Copilot, an upper bound for Codex; for Claude Code what is left of the time between
// call and result when waits for permission and for other calls are taken off, capped at the 90th percentile of calls
// of the same kind that ran alone. So totals say what order of magnitude a policy saves, and the figures by format more
// than those of all together.
package trace
