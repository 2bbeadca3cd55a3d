// Command results measures whatever this repository says of its speed, and writes it down:
//
//	go -C bench/peers run ./results              # all benchmarks; what make bench does
//	go -C bench/peers run ./results -rounds 0    # none: what was measured before, written anew
//	go -C bench/peers run ./results -only 'exec|plan'
//
// There are two kinds of figures. Benchmarks are run in rounds, each round all of them once, so that a machine which is
// busy for a while spoils a round of everything and not all rounds of something; what they print is kept below
// bench/results, a file for each package, as benchstat reads it. Simulations run in virtual time and are derived anew
// whenever something is written, and by the tests: the same code gives the same figures on every machine. The one
// exception are the recorded batches that are not in the repository: KEYWAVE_TRACES names the file from which they are
// derived, and what came out is kept in bench/results/recorded.json.
//
// From these bench/RESULTS.md is written, and in README.md what is between two marks. Neither is ever written by hand:
// a test renders both again.
//
// A benchmark that fails is told, at the end and in RESULTS.md, and does not keep the others from being measured.
// Nothing is written before all rounds are over, so whoever interrupts a run keeps the files of the one before.
package main
