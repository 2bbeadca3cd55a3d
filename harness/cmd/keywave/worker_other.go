//go:build !linux && !darwin

package main

import (
	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/codemode/js"
)

// startWorker does nothing: there are no worker processes here.
func startWorker() {}

// newRuntime returns what programs run in, which is this process.
func newRuntime() (codemode.Runtime, func() error, error) {
	r := js.NewInProcess()
	return r, r.Close, nil
}
