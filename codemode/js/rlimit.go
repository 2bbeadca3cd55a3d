//go:build (linux || darwin) && !race

package js

import "syscall"

// limitData bounds the memory of the process by the system, for what the engine's own count leaves out.
func limitData(memory int64) {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_DATA, &l) == nil {
		l.Cur = min(uint64(base+3*memory), l.Max)
		_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &l)
	}
}
