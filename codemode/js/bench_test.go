package js_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/codemode"
)

// nothing is a tool that does nothing: what a call of it costs is the bridge.
func nothing(_ string, _ json.RawMessage, settle func(json.RawMessage, string)) {
	settle(json.RawMessage("null"), "")
}

func benchmark(b *testing.B, source string) {
	for _, m := range modes {
		b.Run(m.name, func(b *testing.B) {
			r := m.open(b)
			bindings := codemode.Bindings{Tools: []string{"nothing"}, Call: nothing}
			run := func() {
				o, err := r.Run(b.Context(), source, bindings, codemode.Limits{Calls: 1000000})
				require.NoError(b, err)
				require.Empty(b, o.Failure, o.Message)
			}
			run()
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}

func BenchmarkEmpty(b *testing.B) { benchmark(b, "return 1") }

func BenchmarkTypeScript(b *testing.B) { benchmark(b, "const x: number = 1; return x") }

// Each has a thousand calls in a run: a call costs a thousandth of it.

func BenchmarkAwaited1000(b *testing.B) {
	benchmark(b, fmt.Sprintf("for (let i = 0; i < %d; i++) await tools.nothing({i})", 1000))
}

func BenchmarkTogether1000(b *testing.B) {
	benchmark(b, fmt.Sprintf("await Promise.all([...Array(%d).keys()].map(i => tools.nothing({i})))", 1000))
}
