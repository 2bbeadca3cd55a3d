// Package recorded derives what recorded batches come to under every policy: steps, times, inversions, and the batches
// in which a policy is slower than one that it should beat.
//
//	figures, err := recorded.Derive(trace.Read(file))
//
// Everything is simulated: the same batches give the same figures on every machine. Package trace says what the
// durations of recorded batches are worth, and so what these times are.
package recorded
