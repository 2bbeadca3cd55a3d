// Command keywave plans and runs the tool calls of one model turn, and leads agents through many.
//
//	keywave plan BATCH.json     which calls may run at the same time, and why
//	keywave run BATCH.json      run them with the file tools in a directory
//	keywave run --agents A B    several batches at once, as agents over one Domain
//	keywave agent --script FILE lead an agent by a script, with a log that it goes on from
//	keywave log FILE            what such a log says
//	keywave replay DIR          what keyed parallelism would have saved in sessions of agents, from their transcripts
//	keywave tools               the file tools and their arguments, and run_code
//	keywave demo                one realistic turn, run in five ways that have to agree, and agents
//	keywave version
//
// A batch is what models emit: keywave's own {"calls":[{"id","name","arguments"}]}, or an assistant message as OpenAI
// or Anthropic send it; "-" reads it from the standard input. The help of each command tells the rest, the form of the
// JSON output included: keywave run --help.
//
// The exit code is 0 when all is done, 1 when a call failed (or an agent met a limit, or the demo found a difference),
// 2 for bad usage or input, and 130 after a ctrl-C, SIGTERM or SIGHUP. The first of these cancels gently: no call starts
// any more, those that run are told, and their results are shown. The second leaves at once.
//
// What models, files and tools say is printed with control characters spelt out, so that it cannot act on the terminal.
// Colours are for terminals alone, and not when NO_COLOR is set.
//
// The command holds no logic of its own but that of showing: what it plans and runs with is in packages plan, exec,
// tool, tool/files, harness and codemode, and what it replays with in those of bench.
package main
