package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// The demo copies a tree five times and reads all of it in every copy: it is for a project, not for a disk.
const (
	mostTreeFiles = 5000
	mostTreeBytes = 64 << 20
	mostFileBytes = 1 << 20 // larger files are left out: they are data
)

// ownSource is this command's own source: what the demo works on where no checkout of the module is at hand.
//
//go:embed *.go
var ownSource embed.FS

// A sourceTree is a snapshot of regular files by their slash-separated paths. Every copy is made from it, so the
// copies are equal even if somebody works in the original meanwhile.
type sourceTree struct {
	origin string
	files  []sourceFile // by path
}

type sourceFile struct {
	path string
	mode fs.FileMode
	data []byte
}

// findTree takes the snapshot that the demo works on: of dir, or, when that is empty, of the checkout of this module
// that the working directory is in, or else of this command's own source.
func findTree(dir string) (*sourceTree, error) {
	if dir != "" {
		return loadTree(os.DirFS(dir), dir)
	}
	at, err := os.Getwd()
	for err == nil {
		if isCheckout(at) {
			return loadTree(os.DirFS(at), at)
		}
		up := filepath.Dir(at)
		if up == at {
			break
		}
		at = up
	}
	return loadTree(ownSource, "the command's own source, built in")
}

const modulePath = "github.com/keywave-go/keywave"

func isCheckout(dir string) bool {
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && slices.Contains(strings.Fields(string(data)), modulePath)
}

// loadTree reads the regular files of a tree, but for what a version control system or a package manager keeps in it
// and for large files. Links are not followed.
func loadTree(from fs.FS, origin string) (*sourceTree, error) {
	tree, size := &sourceTree{origin: origin}, 0
	err := fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if slices.Contains([]string{".git", ".hg", ".jj", ".svn", "node_modules"}, entry.Name()) {
				return fs.SkipDir
			}
			return nil
		case !entry.Type().IsRegular():
			return nil
		}
		info, err := entry.Info()
		if err != nil || info.Size() > mostFileBytes {
			return err
		}
		data, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		size += len(data)
		if len(tree.files) == mostTreeFiles || size > mostTreeBytes {
			return fmt.Errorf("more than %d files or %d MiB; name a smaller tree with --tree", mostTreeFiles, mostTreeBytes>>20)
		}
		// Whoever reads an embedded file may not write it; whoever has a copy may.
		tree.files = append(tree.files, sourceFile{name, info.Mode().Perm() | 0o600, data})
		return nil
	})
	if err != nil {
		var of *fs.PathError
		if errors.As(err, &of) && of.Path == "." { // which is what origin names
			err = of.Err
		}
		return nil, fmt.Errorf("%s: %w", origin, err)
	}
	return tree, nil
}

// writeTo makes a copy in dir, or as much of it as it can before ctx is done.
func (t *sourceTree) writeTo(ctx context.Context, dir string) error {
	for _, f := range t.files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		name := filepath.Join(dir, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, f.data, f.mode); err != nil {
			return err
		}
	}
	return nil
}

func (t *sourceTree) has(name string) bool {
	return slices.ContainsFunc(t.files, func(f sourceFile) bool { return f.path == name })
}

// size is that of all files.
func (t *sourceTree) size() (n int) {
	for _, f := range t.files {
		n += len(f.data)
	}
	return n
}

// text reports whether f can be edited as text.
func (f sourceFile) text() bool {
	return utf8.Valid(f.data) && !bytes.ContainsRune(f.data, 0)
}

// onlyOnce returns lines of f, in its order, that stand in it exactly once, also as a part of another line.
func (f sourceFile) onlyOnce(most int) (lines []string) {
	for _, line := range strings.Split(string(f.data), "\n") {
		if len(lines) == most {
			break
		}
		plain := strings.TrimRight(line, "\r")
		if len(strings.TrimSpace(plain)) >= 12 && len(plain) <= 80 && clean(plain) == plain && bytes.Count(f.data, []byte(plain)) == 1 {
			lines = append(lines, plain)
		}
	}
	return lines
}
