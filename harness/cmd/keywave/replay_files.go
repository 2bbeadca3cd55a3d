package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/keywave-go/keywave/bench/replay"
	"github.com/keywave-go/keywave/bench/transcript"
)

// Transcripts are what was found where the command line said.
type transcripts struct {
	sources  []replay.Source
	problems []replay.Problem // with what could not be looked at
	readable atomic.Bool      // at least one is
	unsized  bool             // at least one is of a size that is not known
	closed   atomic.Int64     // how many have been read
	seen     map[string]bool  // files, by their absolute paths without links

	mu       sync.Mutex
	first    error // why the first of those that cannot be read cannot, in their order
	refusing int   // which one that is
}

// findTranscripts looks for them. One that is named has to be there; what cannot be looked at below a directory is a
// problem, and one that is named in two ways, or lies in a directory that is named too, is read once.
func findTranscripts(ctx context.Context, stdin io.Reader, from []string) (*transcripts, error) {
	t := &transcripts{seen: map[string]bool{}}
	found := make(chan error, 1)
	go func() { found <- t.find(ctx, stdin, from) }()
	select {
	case err := <-found:
		return t, err
	case <-ctx.Done(): // it may be walking where there are none
		return nil, context.Cause(ctx)
	}
}

func (t *transcripts) find(ctx context.Context, stdin io.Reader, from []string) error {
	reals := make([]string, len(from))
	for i, path := range from {
		if path == standardInput {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			return namedError(path, err)
		}
		reals[i] = realPath(path) // a directory that is a link is followed, as it was named
	}
	var none []string
	for i, path := range from {
		if path == standardInput {
			t.unsized = true
			t.add("standard input", 0, func() (io.ReadCloser, error) {
				in, _ := input(ctx, stdin, path)
				return in, nil
			})
			continue
		}
		any := false
		for real, err := range transcript.Files(reals[i]) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			name := path
			if real != reals[i] {
				name = filepath.Join(path, strings.TrimPrefix(real, reals[i]))
			}
			if err != nil {
				t.problem(name, "not looked at", "cannot be looked at: "+cause(err))
				continue
			}
			any = true
			if !t.seen[real] {
				t.seen[real] = true
				t.addFile(ctx, name, real)
			}
		}
		if !any {
			none = append(none, path)
			t.problem(path, "no transcripts", noTranscripts)
		}
	}
	if len(t.sources) == 0 {
		return fmt.Errorf("no transcripts in %s: looked for .jsonl, .ndjson and .json", strings.Join(none, ", "))
	}
	return nil
}

// realPath is the absolute path without links. What only the system can follow, such as the end of a pipe that a shell
// has named, is left to it.
func realPath(path string) string {
	whole, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if real, err := filepath.EvalSymlinks(whole); err == nil {
		return real
	}
	return whole
}

const noTranscripts = "no transcripts in it: looked for .jsonl, .ndjson and .json"

func (t *transcripts) problem(file, kind, text string) {
	t.problems = append(t.problems, replay.Problem{File: file, Kind: kind, Text: text, Count: 1})
}

// addFile adds the file real, which is to be called name.
func (t *transcripts) addFile(ctx context.Context, name, real string) {
	info, err := os.Stat(real)
	if err != nil || !info.Mode().IsRegular() { // what is wrong with it is found out when it is opened
		t.unsized = true
		t.add(name, 0, func() (io.ReadCloser, error) {
			in, _ := input(ctx, nil, real)
			return in, nil
		})
		return
	}
	t.add(name, info.Size(), func() (io.ReadCloser, error) {
		f, err := os.Open(real)
		if err != nil {
			return nil, namedError(name, err)
		}
		return f, nil
	})
}

// add adds a transcript.
func (t *transcripts) add(name string, size int64, open func() (io.ReadCloser, error)) {
	i := len(t.sources)
	t.sources = append(t.sources, replay.Source{Name: name, Size: size, Open: func() (io.ReadCloser, error) {
		in, err := open()
		if err != nil {
			t.refused(i, err)
			return nil, err
		}
		return &counted{ReadCloser: in, of: t, source: i, closed: sync.OnceFunc(func() { t.closed.Add(1) })}, nil
	}})
}

func (t *transcripts) refused(source int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first == nil || source < t.refusing {
		t.first, t.refusing = err, source
	}
}

// A counted file says whether it can be read, and when it is closed.
type counted struct {
	io.ReadCloser
	of     *transcripts
	source int
	begun  bool
	closed func()
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if !c.begun {
		c.begun = true
		if n > 0 || errors.Is(err, io.EOF) {
			c.of.readable.Store(true)
		} else if err != nil {
			c.of.refused(c.source, namedError(c.of.sources[c.source].Name, err))
		}
	}
	return n, err
}

func (c *counted) Close() error {
	c.closed()
	return c.ReadCloser.Close()
}

// unread says why none could be read.
func (t *transcripts) unread() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.sources) > 1 {
		return fmt.Errorf("none of %d transcripts can be read; of the first: %w", len(t.sources), t.first)
	}
	return t.first
}

// namedError is what is wrong with what was called name, and not with what that is a link to.
func namedError(name string, err error) error {
	return fmt.Errorf("%s: %w", name, reason(err))
}

func cause(err error) string { return reason(err).Error() }

// reason is an error without the name of its file.
func reason(err error) error {
	var named *fs.PathError
	if errors.As(err, &named) {
		return named.Err
	}
	return err
}
