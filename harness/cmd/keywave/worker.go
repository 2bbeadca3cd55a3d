package main

import (
	"runtime"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/codemode/js"
)

// newRuntime returns what programs run in: a worker process for each, which is started when there is a program, and is
// killed when that has to end; where there are none, this process.
func newRuntime() (codemode.Runtime, func() error, error) {
	r := js.NewInProcess()
	if runtime.GOOS == "linux" || runtime.GOOS == "darwin" {
		var err error
		if r, err = js.New(js.Options{Warm: -1}); err != nil {
			return nil, nil, err
		}
	}
	return r, r.Close, nil
}
