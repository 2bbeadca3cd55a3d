package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/keywave-go/keywave/tool/rules"
)

var (
	// ErrNothing is returned if there are no sources at all. Sources without a batch are no error: the report says so.
	ErrNothing = errors.New("no transcripts to replay")
	// ErrOptions is wrapped by errors about options and sources that make no sense, and about a Progress that panics.
	ErrOptions = errors.New("cannot replay")
)

// Options say how transcripts are replayed.
type Options struct {
	Limit    int                     // how many bodies run at once; 0: no limit
	Rules    *rules.Rules            // what tools declare; nil: rules.Default()
	Names    bool                    // put keys into the report as the transcripts have them: paths, URLs, names
	Largest  int                     // how many batches to show for what they save, at most 1,000
	Inverted int                     // how many batches with inversions to show at most, beside those; also at most 1,000
	Progress func(done, total int64) // bytes read, and all that there are; called now and then, by one goroutine at a time
}

// A Source is one transcript.
type Source struct {
	Name string // in the report
	Size int64  // in bytes; 0 if it is not known
	// Open is called once, perhaps by another goroutine. What it returns is closed once: when it has been read or, under
	// a Read that may be going on, when the context ends.
	Open func() (io.ReadCloser, error)
}

// Run reads the sources and replays what it finds.
//
// Bad input is no error. What is wrong with a source, also that it cannot be opened or that reading it fails midway, is
// among [Report].Problems, and what could be read of it counts. The error wraps [ErrOptions] if the options or a source
// make no sense or Progress panics, is [ErrNothing] if there are no sources, and otherwise the cause of ctx, which ends
// it: then it waits for no more than the Read and the batch that each of its goroutines is at.
//
// As many sources are read at once as there are processors, the largest first. The report does not depend on that: the
// same sources, in the same order, with the same options give the same report, to the last bit. Memory is that for the
// batches that are open in these sources and for a report, both bounded, and does not grow with the transcripts.
//
// Progress is given numbers that never fall, and of which the first never exceeds the second; what a source has beyond
// its size is added to the second. When Run returns without an error it was last called with both equal.
func Run(ctx context.Context, sources []Source, o Options) (*Report, error) {
	if o.Limit < 0 || o.Largest < 0 || o.Inverted < 0 {
		return nil, fmt.Errorf("%w: limit %d, largest %d, inverted %d: none may be below 0",
			ErrOptions, o.Limit, o.Largest, o.Inverted)
	}
	if len(sources) == 0 {
		return nil, ErrNothing
	}
	order := make([]int, len(sources))
	p := &progress{call: o.Progress}
	for i, s := range sources {
		if s.Open == nil {
			return nil, fmt.Errorf("%w: source %d, %q, has no Open", ErrOptions, i+1, s.Name)
		}
		order[i] = i
		p.total += max(0, s.Size)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sources[b].Size, sources[a].Size) })
	if o.Rules == nil {
		o.Rules = rules.Default()
	}
	o.Largest, o.Inverted = min(o.Largest, maxShown), min(o.Inverted, maxShown)

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.fail = cancel
	all := newSums(o)
	var next atomic.Int64
	var mu sync.Mutex
	var group sync.WaitGroup
	read := func() {
		for context.Cause(ctx) == nil {
			n := int(next.Add(1)) - 1
			if n >= len(order) {
				return
			}
			i := order[n]
			r := &reading{ctx: ctx, o: o, progress: p, source: sources[i], index: i}
			sums, err := r.run()
			if err != nil {
				cancel(err)
				return
			}
			mu.Lock()
			all.merge(sums)
			mu.Unlock()
		}
	}
	for range min(runtime.GOMAXPROCS(0), len(sources)) {
		group.Go(func() {
			ended := true
			defer func() {
				if ended {
					cancel(fmt.Errorf("%w: a source ended the goroutine that read it", ErrOptions))
				}
			}()
			read()
			ended = false
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	report, err := all.report(ctx, sources, o)
	if err != nil {
		return nil, err
	}
	if p.end(); context.Cause(ctx) != nil {
		return nil, context.Cause(ctx)
	}
	return report, nil
}
