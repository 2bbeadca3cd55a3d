package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"

	"github.com/keywave-go/keywave/bench/transcript"
)

// A reading is one source under way.
type reading struct {
	ctx      context.Context
	o        Options
	progress *progress
	source   Source
	index    int

	file     io.Reader
	read     int64 // bytes
	told     int64 // of these, to progress
	problems []Problem
}

// run reads the source to its end. The error is only ever that of the context, or of a simulation.
func (r *reading) run() (*sums, error) {
	c := r.collector()
	var seen transcript.Report
	panicked, err := r.guarded(c, &seen)
	r.tell(true)
	if err != nil {
		return nil, err
	}
	if panicked { // in the midst of adding something up
		c, seen = r.collector(), transcript.Report{}
	}
	r.note(c, &seen)
	return c.sums, nil
}

func (r *reading) collector() *collector {
	return &collector{sums: newSums(r.o), source: r.index, pieces: map[sessionKey]*piece{}}
}

// guarded is batches, with a panic as a problem of the source. What it says is told only if it cannot be of the source.
func (r *reading) guarded(c *collector, seen *transcript.Report) (panicked bool, err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		panicked = true
		if _, ours := v.(runtime.Error); !ours {
			v = fmt.Sprintf("%T", v)
		}
		r.fails("reading it panicked, and nothing of it counts", fmt.Errorf("%v", v))
	}()
	return false, r.batches(c, seen)
}

// batches opens the source and gives what is in it to the collector.
func (r *reading) batches(c *collector, seen *transcript.Report) (err error) {
	file, err := r.open()
	if err != nil {
		r.fails("cannot be opened", err)
		return context.Cause(r.ctx)
	}
	shut := sync.OnceFunc(func() { _ = file.Close() })
	defer shut()
	stop := context.AfterFunc(r.ctx, func() {
		defer func() { _ = recover() }() // on a goroutine of its own; that of the source meets it again
		shut()
	})
	defer stop()
	r.file = file
	for b, err := range transcript.Read(r, seen) {
		if cause := context.Cause(r.ctx); cause != nil {
			return cause
		}
		if err != nil {
			r.fails("reading it failed", err)
			break
		}
		if err := r.batch(c, &b); err != nil {
			return err
		}
	}
	return context.Cause(r.ctx)
}

func (r *reading) open() (file io.ReadCloser, err error) {
	if file, err = r.source.Open(); err == nil && file == nil {
		err = errors.New("there is nothing to read")
	}
	return file, err
}

// batch simulates a batch.
func (r *reading) batch(c *collector, b *transcript.Batch) error {
	if len(b.Calls) < 2 {
		c.turn(b, nil, nil, nil)
		return nil
	}
	var t *trial
	if len(b.Calls) <= maxCalls {
		t = declare(r.o.Rules, b)
	}
	if t == nil || t.tooLarge() {
		c.many++
		return nil
	}
	ruling, err := t.simulate(r.ctx, r.o.Limit)
	var tools []what
	if err == nil && t.alone {
		tools, err = t.whatIf(r.ctx, r.o.Limit, ruling)
	}
	if cause := context.Cause(r.ctx); cause != nil {
		return cause
	}
	if err != nil {
		return fmt.Errorf("%s, line %d: %w", r.source.Name, b.Line, err)
	}
	c.turn(b, t, ruling, tools)
	return nil
}

// Read reads the source, counts, and ends with the context.
func (r *reading) Read(p []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	n, err := r.file.Read(p)
	r.read += int64(max(0, n))
	if r.read-r.told >= often/4 {
		r.tell(false)
	}
	return n, err
}

// tell tells how much was read. At the end of the source that is all of it, even if it could not be read.
func (r *reading) tell(ended bool) {
	size := max(0, r.source.Size)
	done := r.read
	if ended {
		done = max(done, size)
	}
	r.progress.add(done-r.told, max(0, done-max(size, r.told)))
	r.told = done
}

func (r *reading) fails(what string, err error) {
	const most = 300
	text := fmt.Sprintf("%s: %v", what, err)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	r.problems = append(r.problems, Problem{Kind: "not read", Text: text, Count: 1})
}

// note adds the problems of the source.
func (r *reading) note(c *collector, seen *transcript.Report) {
	for _, p := range seen.Problems {
		r.problems = append(r.problems, Problem{Kind: p.Kind.String(), Text: shownProblem(p), Count: p.Count})
	}
	count := func(n int, what, text string) {
		if n > 0 {
			r.problems = append(r.problems, Problem{Kind: "left out", Text: what + times(n) + " " + text, Count: n})
		}
	}
	count(c.many, "batch", fmt.Sprintf("too large to be simulated (more than %d calls, %d claims or %d bytes of keys), left out",
		maxCalls, maxClaims, maxKeys))
	count(c.tried, "exclusive tool", "in a batch with too many, missing from what other declarations would save")
	count(c.big, "batch", "worth a look, but too large to be shown")
	for i, p := range r.problems {
		p.File = r.source.Name
		switch {
		case i < maxSourceProblems:
			c.problems.add(problem{place{r.index, i}, p})
		default:
			c.unlisted += p.Count
		}
	}
}

// times says how often a problem came up, as those of package transcript do.
func times(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(" ×%d", n)
}
