//go:build linux || darwin

package main

import (
	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/codemode/js"
)

// startWorker makes this process a worker, if it was started as one.
func startWorker() { js.Worker() }

// newRuntime returns what programs run in: a worker process for each, which is started when there is a program, and is
// killed when that has to end.
func newRuntime() (codemode.Runtime, func() error, error) {
	r, err := js.New(js.Options{Warm: -1})
	if err != nil {
		return nil, nil, err
	}
	return r, r.Close, nil
}
