package transcript

import (
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// Files gives the files that may be transcripts: path itself if it is a file, and all files below it whose names end in
// .jsonl, .ndjson or .json if it is a directory, in the order of their names. Links in a directory are not followed,
// and what is below .git and node_modules is left out. An error is that of one file or directory; the others still
// come.
func Files(path string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		info, err := os.Stat(path)
		if err != nil {
			yield(path, fmt.Errorf("transcript: %w", err))
			return
		}
		if !info.IsDir() {
			yield(path, nil)
			return
		}
		_ = filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				if !yield(name, fmt.Errorf("transcript: %w", err)) {
					return fs.SkipAll
				}
			case e.IsDir():
				if name != path && (e.Name() == ".git" || e.Name() == "node_modules") {
					return fs.SkipDir
				}
			case e.Type().IsRegular() && mayBe(e.Name()):
				if !yield(name, nil) {
					return fs.SkipAll
				}
			}
			return nil
		})
	}
}

func mayBe(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".jsonl", ".ndjson", ".json":
		return true
	}
	return false
}
