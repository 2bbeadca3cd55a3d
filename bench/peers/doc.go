// Package peers compares keywave with what people write without it: exec.Run with errgroup, x/sync's semaphore, conc
// and pond, and its planner with a first-fit that scans its waves. It has benchmarks only. It is a module of its own,
// so that whoever uses keywave does not get the peers' modules.
//
// Whatever is compared runs turn and turn about within one benchmark, and the ratio of the times is its result: a
// machine that is busy with something else slows both, and each moment of it hits them by chance.
//
// Command results, next to it, runs these benchmarks and those of the other packages, and writes down what came out.
package peers
