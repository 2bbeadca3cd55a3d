package replay

import (
	"context"
	"io"

	"github.com/keywave-go/keywave/tool/rules"
)

// Options say how transcripts are replayed.
type Options struct {
	Limit    int                     // how many bodies run at once; 0: no limit
	Rules    *rules.Rules            // what tools declare; nil: rules.Default()
	Names    bool                    // put keys into the report as the transcripts have them: paths, URLs, names
	Largest  int                     // how many batches to show for what they save
	Inverted int                     // how many batches with inversions to show at most
	Progress func(done, total int64) // bytes read, and all that there are; called now and then, by one goroutine at a time
}

// A Source is one transcript.
type Source struct {
	Name string // in the report
	Size int64  // in bytes; 0 if it is not known
	Open func() (io.ReadCloser, error)
}

// Run reads the sources and replays what it finds. [TODO by its owner: errors, concurrency, memory, determinism]
func Run(ctx context.Context, sources []Source, o Options) (*Report, error) {
	panic("being written")
}
