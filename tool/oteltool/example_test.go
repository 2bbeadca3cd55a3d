package oteltool_test

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/oteltool"
)

func ExampleWithSpan() {
	now, err := tool.Define(tool.Spec[struct{}, string]{Name: "now", Body: func(context.Context, struct{}) (string, error) { return "noon", nil }})
	if err != nil {
		fmt.Println(err)
	}
	var tools tool.Registry
	if err := tools.Register(now); err != nil {
		fmt.Println(err)
	}
	tracer := noop.NewTracerProvider().Tracer("agent") // otel.Tracer("agent"), where an SDK is set up
	p := &tool.Pipeline{Wrappers: []tool.Wrapper{oteltool.WithSpan(tracer)}}
	results, err := p.Run(context.Background(), &tools, []tool.Call{{Name: "now"}})
	fmt.Println(results[0].Text(), err)
	// Output: noon <nil>
}
