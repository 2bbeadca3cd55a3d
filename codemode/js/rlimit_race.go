//go:build (linux || darwin) && race

package js

// limitData does nothing: the race detector takes more memory than a limit could allow.
func limitData(int64) {}
