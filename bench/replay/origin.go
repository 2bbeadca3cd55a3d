package replay

import "github.com/keywave-go/keywave/bench/transcript"

// An origin is the format of a transcript. Recorded batches are of as many origins as the formats that they were recorded
// from: these differ in how good their clocks are, and their figures more than anything else.
type origin string

// recordings are the formats that batches are recorded from, as those who recorded them name them, and what their times
// are good for. See README.md of bench/testdata.
var recordings = map[string]transcript.Quality{
	"claude-code":   transcript.UpperBound,
	"codex-rollout": transcript.UpperBound,
	"copilot-cli":   transcript.Exact,
	"dsh-session":   transcript.UpperBound,
	"gemini-cli":    transcript.NoClock,
	"opencode":      transcript.Exact,
	"pi-session":    transcript.TailOnly,
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
	for from, quality := range recordings {
		if o == origin(recorded+from) {
			return transcript.Clock{Quality: quality, Text: transcript.Recorded.Clock().Text}
		}
	}
	return transcript.Format(o).Clock()
}
