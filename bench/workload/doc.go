// Package workload makes up batches of tool calls for a purpose: only reads, one hot file, writes in bursts, exclusive
// calls now and then. They are large on purpose, so that what a policy costs is not lost at the ends; what models
// really ask for is in package trace.
//
// The same function with the same arguments makes the same workload, on every machine. Arguments that mean nothing,
// such as a write in every 0th call, count as the nearest that does.
package workload
