package harness

import (
	"context"

	"github.com/keywave-go/keywave/tool"
)

// A Model says what comes next in a conversation. A host implements it, with a provider's client behind it; [Script] is
// one that says what it is told to.
type Model interface {
	// Generate returns the model's next message, whole. Its Turn and Step are not looked at; Content, Calls and Native are
	// recorded as they are. To try again after an error that will pass is up to Generate: one that it returns ends the
	// turn. It must return soon after ctx is done; a message that it still returns then is recorded, and none of its calls
	// runs.
	Generate(ctx context.Context, r Request) (AssistantMessage, error)
}

// A ModelFunc is a [Model] that is a function.
type ModelFunc func(ctx context.Context, r Request) (AssistantMessage, error)

// Generate calls f.
func (f ModelFunc) Generate(ctx context.Context, r Request) (AssistantMessage, error) {
	return f(ctx, r)
}

// A Request is what a model is asked with. Nothing in it may be modified.
type Request struct {
	Messages []Message         // the conversation so far: see the function [Messages]
	Tools    []tool.Definition // that the model may call, in the order of their names

	// Stream may be given the text of the message piece by piece as it comes, for people to read along; it is not needed
	// for anything else. It is never nil.
	Stream func(text string)
}
