package oteltool

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/keywave-go/keywave/tool"
)

// What the conventions call them. OpenTelemetry's own package of such names has dropped those of generative AI.
const (
	operation = attribute.Key("gen_ai.operation.name")
	toolName  = attribute.Key("gen_ai.tool.name")
	callID    = attribute.Key("gen_ai.tool.call.id")
	errorType = attribute.Key("error.type")
)

// WithSpan makes a span for each run of a body: an internal one, with gen_ai.operation.name, gen_ai.tool.name and, if
// the call has an id, gen_ai.tool.call.id. One that did not go well has the status error and an error.type: the
// [tool.Code] of its result, or tool_error for an error of the tool's own. Neither arguments nor results are part of
// it, but for the text of an error. Outside of [tool.WithRetry] it is one span for all attempts, inside one for each.
func WithSpan(t trace.Tracer) tool.Wrapper {
	return func(ctx context.Context, c *tool.Invocation, next tool.Next) (r tool.Result, err error) {
		attrs := make([]attribute.KeyValue, 0, 3)
		attrs = append(attrs, operation.String("execute_tool"), toolName.String(c.Call.Name))
		if c.Call.ID != "" {
			attrs = append(attrs, callID.String(c.Call.ID))
		}
		within, span := t.Start(ctx, "execute_tool "+c.Call.Name, trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(attrs...))
		returned := false
		defer func() {
			kind, says := "", ""
			switch code := tool.CodeOf(ctx, r, err); {
			case !returned:
				kind = string(tool.Panic)
			case code != "":
				kind = string(code)
			case err != nil || r.IsError:
				kind = "tool_error"
			}
			if err != nil {
				says = fmt.Sprint(err)
			}
			if kind != "" {
				span.SetAttributes(errorType.String(kind))
				span.SetStatus(codes.Error, says)
			}
			span.End()
		}()
		r, err = next(within)
		returned = true
		return r, err
	}
}
