package js_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/codemode/js"
	"github.com/keywave-go/keywave/codemode/runtimetest"
)

// modes are both runtimes.
var modes = []struct {
	name string
	open func(t testing.TB) *js.Runtime
}{
	{"in-process", func(t testing.TB) *js.Runtime {
		r := js.NewInProcess()
		t.Cleanup(func() { require.NoError(t, r.Close()) })
		return r
	}},
	{"process", func(t testing.TB) *js.Runtime {
		r, err := js.New(js.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, r.Close()) })
		return r
	}},
}

func TestConformance(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			runtimetest.Test(t, func(t *testing.T) codemode.Runtime { return m.open(t) })
		})
	}
}
