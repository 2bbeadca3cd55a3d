// Package bench holds what measures keywave. It has no code of its own; its parts are
//
//	sim         runs an admission over calls in virtual time, and judges what came out
//	workload    batches made up for a purpose, such as one hot file or write bursts
//	trace       reads recorded batches: what coding agents really asked for, and how long it took
//	recorded    what recorded batches come to under every policy
//	transcript  reads the logs that agents write
//	replay      simulates the calls of transcripts: what keywave replay says
//	page        the same as a page for a browser
//	testdata    recorded batches and sample logs, with where they come from
//	results     what make bench measured; RESULTS.md is made of it
//
// Two parts are modules of their own, as the rest does not need what they import:
//
//	peers       benchmarks beside other executors, and the program behind make bench
//	browser     the tests of a page in Chromium
//
// A simulation answers what a run would have taken if the durations were the same and calls cost nothing to start.
// It says nothing about the cost of planning and of the lane, which benchmarks measure, nor about what bodies that run
// together take from one another.
package bench
