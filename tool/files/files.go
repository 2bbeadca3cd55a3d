package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/keys"
)

// Absent is the version of a file that is not there.
const Absent = "none"

// Bounds of a result, so that no call floods the model's context. What is beyond is cut and marked.
const (
	maxLines   = 2000      // lines that read returns unless it is told how many
	maxText    = 128 << 10 // bytes of text in the result of read
	maxLine    = 4 << 10   // bytes of one line in the result of read
	maxShown   = 400       // bytes of one line in the result of grep
	maxMatches = 200       // lines that grep returns
	maxEntries = 1000      // names that list and glob return
	maxWhole   = 64 << 20  // bytes of a file that edit and grep, which hold it whole, take on
	maxIgnore  = 1 << 20   // bytes of an ignore file; a larger one is none
)

// Files are the tools of one directory. It is safe for concurrent use.
type Files struct {
	root *os.Root
	keys *keys.Root
}

// An Option is an option of [New].
type Option func(*options)

type options struct{ keys []keys.Option }

// Keys hands options to [keys.OpenRoot], which otherwise finds out by a probe how dir's file system compares names.
func Keys(opts ...keys.Option) Option {
	return func(o *options) { o.keys = append(o.keys, opts...) }
}

// New returns the tools of dir, which must exist. Close it when no call runs any more.
func New(dir string, opts ...Option) (*Files, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	k, err := keys.OpenRoot(dir, o.keys...)
	if err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	return &Files{root: root, keys: k}, nil
}

// Close releases the directory. Calls that come later fail.
func (f *Files) Close() error { return f.root.Close() }

// Tools returns the definitions, for a [tool.Registry].
func (f *Files) Tools() []*tool.Definition {
	return []*tool.Definition{
		define[readValue]("read", "Read a text file, or a range of its lines. The result names the file's size and its version, which write and edit take to refuse if the file has changed since. Long files and long lines are cut, and say so.",
			func(in readArgs) ([]plan.Claim, error) { return f.follow(in.Path, plan.Read) }, f.read),
		define[writeValue]("write", "Write a whole file: create it, with any missing directories, or replace it. The result names its new version.",
			func(in writeArgs) ([]plan.Claim, error) { return f.follow(in.Path, plan.Write) }, f.write),
		define[writeValue]("edit", "Replace an exact piece of text in a file. The text must be found exactly once, unless replace_all is set.",
			func(in editArgs) ([]plan.Claim, error) { return f.follow(in.Path, plan.Write) }, f.edit),
		define[listValue]("list", "List a directory, not what is below its directories: names, sizes of files, a slash after directories.",
			func(in listArgs) ([]plan.Claim, error) { return f.follow(orRoot(in.Path), plan.Read) }, f.list),
		define[grepValue]("grep", "Search the text files below a directory, or one file, line by line for a regular expression (RE2). Skips files that are binary or ignored by .gitignore.",
			func(in grepArgs) ([]plan.Claim, error) { return f.searches(in.Path, in.Ignored) }, f.grep),
		define[globValue]("glob", "Find files and directories by a pattern on their paths below a directory: * and ? within a name, ** across directories, {a,b}. Skips what .gitignore ignores.",
			func(in globArgs) ([]plan.Claim, error) { return f.searches(in.Path, in.Ignored) }, f.glob),
		define[moveValue]("move", "Move or rename a file or directory. Missing directories on the way to its new place are created.", f.moves, f.move),
		define[pathValue]("remove", "Remove a file, a symbolic link itself, or a directory: one that is not empty only with recursive.",
			func(in removeArgs) ([]plan.Claim, error) { return f.itself(in.Path) }, f.remove),
		define[pathValue]("make_directory", "Make a directory, and those missing above it. Nothing happens if it is there.",
			func(in makeArgs) ([]plan.Claim, error) { return f.follow(in.Path, plan.Write) }, f.makeDirectory),
	}
}

// define is tool.Define for what is known to be valid: the declarations of this package. Out is the value of a result.
func define[Out, In any](name, description string, claims func(In) ([]plan.Claim, error), body func(context.Context, In) (tool.Result, error)) *tool.Definition {
	d, err := tool.Define(tool.Spec[In, tool.Result]{
		Name: name, Description: description, Output: output[Out](),
		Safe:   func(In) bool { return true },
		Claims: claims,
		Body: func(ctx context.Context, in In) (tool.Result, error) {
			if err := ctx.Err(); err != nil {
				return tool.Result{}, err
			}
			r, err := body(ctx, in)
			if v := versionsOf(ctx); v != nil && err == nil {
				v.Note(name, r.Value)
			}
			return r, err
		},
	})
	if err != nil {
		panic(err) // unreachable: the tests define every one
	}
	return d
}

// output is the schema of a value.
func output[Out any]() json.RawMessage {
	schema, err := jsonschema.For[Out](nil)
	if err != nil {
		panic(err) // unreachable, as in define
	}
	for _, p := range schema.Properties {
		if p.Items != nil {
			p.Type, p.Types = "array", nil // none of them is null
		}
	}
	text, err := json.Marshal(schema)
	if err != nil {
		panic(err)
	}
	return text
}

// follow returns the claims of a call that reads or writes through links.
func (f *Files) follow(path string, access plan.Access) ([]plan.Claim, error) {
	p, err := f.keys.Follow(path)
	if err != nil {
		return nil, err
	}
	return p.Claims(access), nil
}

// itself returns the claims of a call that removes or replaces what is at path, even if that is a link.
func (f *Files) itself(path string) ([]plan.Claim, error) {
	p, err := f.keys.NoFollow(path)
	if err != nil {
		return nil, err
	}
	return p.Claims(plan.Write), nil
}

func orRoot(path string) string {
	if path == "" {
		return "."
	}
	return path
}

// result is what a model reads, as text, and what a program reads, as value.
func result(value any, text ...string) (tool.Result, error) {
	v, err := json.Marshal(value)
	if err != nil {
		return tool.Result{}, err
	}
	r := tool.Result{Value: v}
	for _, t := range text {
		r.Content = append(r.Content, tool.Block{Text: t})
	}
	return r, nil
}

// failed makes the error of an operation on rel, without the paths that the system names.
func failed(rel string, err error) error {
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		err = pe.Err
	case errors.As(err, &le):
		err = le.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return complain(rel, "no such file or directory")
	case errors.Is(err, syscall.ENOTDIR):
		return complain(rel, "something on the way to it is not a directory")
	}
	return fmt.Errorf("%s: %w", shown(rel), err)
}

// complain makes the error of a call that is refused.
func complain(rel, format string, args ...any) error {
	return fmt.Errorf("%s: %s", shown(rel), fmt.Sprintf(format, args...))
}

// shown spells a name for people, quoted when it would spoil a line.
func shown(name string) string {
	if name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// regular opens a file for reading, and refuses anything that is not one: to open a pipe would wait for its other end.
func (f *Files) regular(rel string) (*os.File, fs.FileInfo, error) {
	info, err := f.root.Lstat(rel)
	if err != nil {
		return nil, nil, failed(rel, err)
	}
	if err := mustBeFile(rel, info); err != nil {
		return nil, nil, err
	}
	file, err := f.root.Open(rel)
	if err != nil {
		return nil, nil, failed(rel, err)
	}
	if info, err = file.Stat(); err != nil {
		err = failed(rel, err)
	} else {
		err = mustBeFile(rel, info)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

func mustBeFile(rel string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return complain(rel, "it is a directory")
	case !info.Mode().IsRegular():
		return complain(rel, "it is not a regular file")
	}
	return nil
}

// whole reads a file that is to be held in memory.
func (f *Files) whole(ctx context.Context, rel string) ([]byte, fs.FileInfo, error) {
	file, info, err := f.regular(rel)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if info.Size() > maxWhole {
		return nil, nil, complain(rel, "%d bytes are too many; at most %d are taken on", info.Size(), int64(maxWhole))
	}
	data, err := io.ReadAll(io.LimitReader(&reader{ctx, file}, maxWhole+1))
	switch {
	case err != nil:
		return nil, nil, failed(rel, err)
	case len(data) > maxWhole:
		return nil, nil, complain(rel, "it is growing, and too large already")
	}
	return data, info, nil
}

// A reader stops reading when its context is done.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
