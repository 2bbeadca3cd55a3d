package tool_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

func benchCalls(n int) []tool.Call {
	calls := make([]tool.Call, n)
	for i := range calls {
		calls[i] = tool.Call{ID: fmt.Sprint("call_", i), Name: "t", Arguments: fmt.Sprintf(`{"path":"dir/file%d"}`, i)}
	}
	return calls
}

func benchRegistry(b *testing.B) *tool.Registry {
	return registry(b, define(b, tool.Spec[file, string]{Name: "t", Safe: safe[file], Claims: claim(plan.Write), Body: echo}))
}

func BenchmarkCalls(b *testing.B) {
	r, calls := benchRegistry(b), benchCalls(64)
	b.ReportAllocs()
	for b.Loop() {
		tool.Calls(r, calls)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(calls)), "ns/call")
}

func BenchmarkRun(b *testing.B) {
	r, calls := benchRegistry(b), benchCalls(64)
	b.ReportAllocs()
	for b.Loop() {
		_, err := tool.Run(context.Background(), r, calls)
		require.NoError(b, err)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(calls)), "ns/call")
}

func BenchmarkParseCalls(b *testing.B) {
	data := batchOf(b, benchCalls(1000))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		_, err := tool.ParseCalls(data)
		require.NoError(b, err)
	}
}
