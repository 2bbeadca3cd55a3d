package oteltool_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/goleak"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/oteltool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A tracer keeps its spans, in the order in which they end. Calls are run one by one.
type tracer struct {
	noop.Tracer
	ended []string
}

type span struct {
	noop.Span
	t     *tracer
	is    string
	attrs []attribute.KeyValue
}

type spanKey struct{}

func (t *tracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	c := trace.NewSpanStartConfig(opts...)
	s := &span{t: t, is: fmt.Sprintf("%s %v", name, c.SpanKind()), attrs: c.Attributes()}
	if parent, ok := ctx.Value(spanKey{}).(*span); ok {
		s.is += " in " + parent.is
	}
	return context.WithValue(ctx, spanKey{}, s), s
}

func (s *span) SetAttributes(kv ...attribute.KeyValue) { s.attrs = append(s.attrs, kv...) }
func (s *span) SetStatus(c codes.Code, says string)    { s.is += fmt.Sprintf(" %v(%s)", c, says) }
func (s *span) End(...trace.SpanEndOption) {
	for _, kv := range s.attrs {
		s.is += fmt.Sprintf(" %s=%s", kv.Key, kv.Value.String())
	}
	s.t.ended = append(s.t.ended, s.is)
}

func register(t *testing.T, specs ...tool.Spec[struct{}, string]) *tool.Registry {
	r := new(tool.Registry)
	for _, s := range specs {
		d, err := tool.Define(s)
		require.NoError(t, err)
		require.NoError(t, r.Register(d))
	}
	return r
}

func TestWithSpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := new(tracer)
		p := &tool.Pipeline{Wrappers: []tool.Wrapper{oteltool.WithSpan(tr)}, Policies: []tool.Policy{func(_ context.Context, c *tool.Invocation) (tool.Verdict, error) {
			return tool.Verdict{Action: tool.Allow, Reason: c.Call.Name}, nil
		}}}
		waits := func(ctx context.Context, _ struct{}) (string, error) { <-ctx.Done(); return "", ctx.Err() }
		r := register(t,
			tool.Spec[struct{}, string]{Name: "ok", Body: func(context.Context, struct{}) (string, error) { return "", nil }},
			tool.Spec[struct{}, string]{Name: "fails", Body: func(context.Context, struct{}) (string, error) { return "", errors.New("boom") }},
			tool.Spec[struct{}, string]{Name: "panics", Body: func(context.Context, struct{}) (string, error) { panic("x") }},
			tool.Spec[struct{}, string]{Name: "slow", Timeout: time.Minute, Body: waits},
			tool.Spec[struct{}, string]{Name: "odd", Output: []byte(`{"type":"integer"}`), Body: func(context.Context, struct{}) (string, error) { return "x", nil }},
			tool.Spec[struct{}, string]{Name: "nests", Body: func(ctx context.Context, _ struct{}) (string, error) {
				in := tool.InvocationOf(ctx)
				results, err := in.Pipeline.Run(ctx, in.Tools, []tool.Call{{Name: "ok"}})
				return results[0].Text(), err
			}},
			tool.Spec[struct{}, string]{Name: "stuck", Body: waits},
		)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Hour, func() { cancel(errors.New("stop")) })
		_, err := p.Run(ctx, r, []tool.Call{{ID: "c1", Name: "ok"}, {Name: "fails"}, {Name: "panics"}, {Name: "slow"}, {Name: "odd"}, {Name: "nests"}, {Name: "stuck"}}, exec.Admit(plan.NewSerial))
		require.EqualError(t, err, "stop")
		of := " gen_ai.operation.name=execute_tool gen_ai.tool.name="
		assert.Equal(t, []string{
			"execute_tool ok internal" + of + "ok gen_ai.tool.call.id=c1",
			"execute_tool fails internal Error(boom)" + of + "fails error.type=tool_error",
			"execute_tool panics internal Error()" + of + "panics error.type=PANIC",
			"execute_tool slow internal Error(context deadline exceeded)" + of + "slow error.type=TIMEOUT",
			"execute_tool odd internal Error(the value: got string, want integer)" + of + "odd error.type=INVALID_TOOL_OUTPUT",
			"execute_tool ok internal in execute_tool nests internal" + of + "ok",
			"execute_tool nests internal" + of + "nests",
			"execute_tool stuck internal Error(context canceled)" + of + "stuck error.type=ABORTED",
		}, tr.ended)
	})
}
