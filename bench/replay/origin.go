package replay

import (
	"strings"

	"github.com/keywave-go/keywave/bench/transcript"
)

// An origin is the format of a transcript. Recorded batches are of as many origins as the formats that they were
// recorded from: these differ in how good their clocks are, and their figures more than anything else.
type origin string

// recordings are the formats that batches are recorded from, by the names in [trace.Batch].Format. Their times are as
// good as the clock that they were made from.
var recordings = map[string]transcript.Format{
	"claude-code":   transcript.ClaudeCode,
	"codex-rollout": transcript.Codex,
	"copilot-cli":   transcript.Copilot,
	"dsh-session":   transcript.DSH,
	"gemini-cli":    transcript.Gemini,
	"opencode":      transcript.OpenCode,
	"pi-session":    transcript.Pi,
}

const recorded = string(transcript.Recorded) + "/"

func originOf(b *transcript.Batch) origin {
	if b.Recorded != nil {
		if _, known := recordings[b.Recorded.Format]; known {
			return origin(recorded + b.Recorded.Format)
		}
	}
	return origin(b.Format)
}

// clock returns what the times of the origin are good for.
func (o origin) clock() transcript.Clock {
	if from, ok := strings.CutPrefix(string(o), recorded); ok {
		return transcript.Clock{Quality: recordings[from].Clock().Quality, Text: transcript.Recorded.Clock().Text}
	}
	return transcript.Format(o).Clock()
}
