package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// A wholeFile appears at its path when it is whole, or not at all: until then it has another name in that directory.
type wholeFile struct {
	*os.File
	h      host
	path   string
	direct bool // it is no file that could be replaced, such as a device or a pipe
}

// create begins a file that is to appear at path.
func (h host) create(path string) (*wholeFile, error) {
	f := &wholeFile{h: h, path: realPath(path)} // what a link leads to is replaced, not the link
	mode := fs.FileMode(0o666)
	info, err := os.Stat(f.path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a directory: name a file in it", path)
	case err == nil && !info.Mode().IsRegular():
		f.direct = true
		f.File, err = os.OpenFile(f.path, os.O_WRONLY, 0)
		return f, err
	case err == nil:
		mode = info.Mode().Perm()
	}
	beside := filepath.Join(filepath.Dir(f.path), ".keywave-"+strconv.FormatUint(rand.Uint64(), 36))
	if f.File, err = os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode); err != nil {
		return nil, fmt.Errorf("%s cannot be written: %w", path, reason(err))
	}
	h.temp.Store(&beside) // a second ctrl-C leaves nothing of it
	return f, nil
}

// fill has the file written, and gives it its name.
func (f *wholeFile) fill(write func(io.Writer) error) error {
	w := bufio.NewWriterSize(f, 64<<10)
	err := write(w)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", f.path, reason(err))
	}
	return f.publish()
}

// A writerWithin writes until ctx ends.
type writerWithin struct {
	ctx context.Context
	to  io.Writer
}

func (w writerWithin) Write(p []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	return w.to.Write(p)
}

// publish gives the file its name.
func (f *wholeFile) publish() error {
	var err error
	if !f.direct {
		err = f.Sync() // else a crash could leave its name with nothing behind it
	}
	if err = errors.Join(err, f.Close()); err == nil && !f.direct {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", f.path, reason(err))
	}
	f.h.temp.Store(nil)
	return nil
}

// discard removes what has not been published.
func (f *wholeFile) discard() {
	_ = f.Close()
	if !f.direct && f.h.temp.Swap(nil) != nil {
		_ = os.Remove(f.Name())
	}
}
