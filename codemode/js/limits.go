package js

import (
	"fmt"
	"time"

	"github.com/keywave-go/keywave/codemode"
)

// defaults stand for the fields of [codemode.Limits] that are zero.
var defaults = codemode.Limits{
	Wall:     time.Minute,
	Compute:  10 * time.Second,
	Memory:   64 << 20,
	Stack:    4 << 20,
	Source:   64 << 10,
	Logs:     64 << 10,
	Value:    256 << 10,
	Payload:  8 << 20,
	InFlight: 32 << 20,
	Calls:    200,
}

const (
	minMemory = 1 << 20   // the world itself takes about 300 KiB
	maxMemory = 2 << 30   // the engine counts in 32 bits here and there
	maxStack  = 128 << 20 // a goroutine's stack ends at 1 GiB, and the process with it
	maxSource = 64 << 10  // the translator's stack, of some kilobytes a byte at worst, must stay below that
	maxBytes  = 1 << 30   // of one frame
)

// withDefaults fills in what is zero. The error is that a limit is out of range.
func withDefaults(l codemode.Limits) (codemode.Limits, error) {
	d := defaults
	fields := []struct {
		name string
		n    int64
		most int64
		set  func(int64)
		def  int64
	}{
		{"Wall", int64(l.Wall), 1<<63 - 1, func(n int64) { l.Wall = time.Duration(n) }, int64(d.Wall)},
		{"Compute", int64(l.Compute), 1<<63 - 1, func(n int64) { l.Compute = time.Duration(n) }, int64(d.Compute)},
		{"Memory", l.Memory, maxMemory, func(n int64) { l.Memory = n }, d.Memory},
		{"Stack", int64(l.Stack), maxStack, func(n int64) { l.Stack = int(n) }, int64(d.Stack)},
		{"Source", int64(l.Source), maxSource, func(n int64) { l.Source = int(n) }, int64(d.Source)},
		{"Logs", int64(l.Logs), maxBytes, func(n int64) { l.Logs = int(n) }, int64(d.Logs)},
		{"Value", int64(l.Value), maxBytes, func(n int64) { l.Value = int(n) }, int64(d.Value)},
		{"Payload", int64(l.Payload), maxBytes, func(n int64) { l.Payload = int(n) }, int64(d.Payload)},
		{"InFlight", int64(l.InFlight), 1<<63 - 1, func(n int64) { l.InFlight = int(n) }, int64(d.InFlight)},
		{"Calls", int64(l.Calls), 1<<31 - 1, func(n int64) { l.Calls = int(n) }, int64(d.Calls)},
	}
	for _, f := range fields {
		switch {
		case f.n < 0 || f.n > f.most:
			return l, fmt.Errorf("js: limit %s of %d is out of range: 0, for the default, to %d", f.name, f.n, f.most)
		case f.n == 0:
			f.set(f.def)
		}
	}
	if l.Memory < minMemory {
		return l, fmt.Errorf("js: limit Memory of %d is out of range: a program needs at least %d", l.Memory, minMemory)
	}
	return l, nil
}
