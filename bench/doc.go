// Package bench holds what measures keywave. It has no code of its own; its parts are
//
//	sim         runs an admission over calls in virtual time, and judges what came out
//	workload    batches made up for a purpose, such as one hot file or write bursts
//	trace       reads recorded batches: what coding agents really asked for, and how long it took
//	transcript  reads the logs that agents write
//	testdata    recorded batches and sample logs, with where they come from
//
// A simulation answers what a run would have taken if the durations were the same and calls cost nothing to start.
// It says nothing about the cost of planning and of the lane, which benchmarks measure, nor about what bodies that run
// together take from one another.
package bench
