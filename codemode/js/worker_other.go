//go:build !linux && !darwin

package js

import (
	"errors"
	"runtime"
)

// Worker does nothing here: there are no worker processes on this system.
func Worker() {}

// New is an error here: there are no worker processes on this system. [NewInProcess] works.
func New(Options) (*Runtime, error) {
	return nil, errors.New("js: there are no worker processes on " + runtime.GOOS + "; use js.NewInProcess")
}
