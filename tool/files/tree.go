package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/keys"
)

type moveArgs struct {
	From      string `json:"from" jsonschema:"what to move, relative to the root"`
	To        string `json:"to" jsonschema:"its new path, not the directory to put it into"`
	Overwrite bool   `json:"overwrite,omitempty" jsonschema:"replace a file that is there"`
}

type removeArgs struct {
	Path      string `json:"path" jsonschema:"what to remove, relative to the root"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"a directory with everything in it"`
}

type makeArgs struct {
	Path string `json:"path" jsonschema:"the directory, relative to the root"`
}

type moveValue struct {
	From    string `json:"from"`
	Path    string `json:"path"`
	Kind    string `json:"kind"`
	Size    int64  `json:"size,omitempty"`    // of a file
	Version string `json:"version,omitempty"` // of a file
}

type pathValue struct {
	Path    string `json:"path"`
	Kind    string `json:"kind"`
	Created bool   `json:"created,omitempty"`
}

// errLink is why a call is exclusive, not a result.
var errLink = errors.New("it moves a symbolic link, or may: it must run alone")

func (f *Files) moves(in moveArgs) ([]plan.Claim, error) {
	from, err := f.keys.NoFollow(in.From)
	if err != nil {
		return nil, err
	}
	to, err := f.keys.NoFollow(in.To)
	if err != nil {
		return nil, err
	}
	if from.Rel != to.Rel && f.holdsLink(from.Rel) {
		return nil, errLink
	}
	return append(from.Claims(plan.Write), to.Claims(plan.Write)...), nil
}

// maxSearched is how many names holdsLink looks at before it assumes the worst.
const maxSearched = 10_000

// holdsLink reports whether there is a symbolic link at rel or below it, or may be one. It looks at names only.
func (f *Files) holdsLink(rel string) bool {
	seen := 0
	var look func(rel string, mode fs.FileMode) bool
	look = func(rel string, mode fs.FileMode) bool {
		if seen++; mode&fs.ModeSymlink != 0 || seen > maxSearched {
			return true
		}
		if !mode.IsDir() {
			return false
		}
		dir, err := f.root.Open(rel)
		if err != nil {
			return true
		}
		entries, err := dir.ReadDir(maxSearched) // no more, however many there are: others wait for this to end
		dir.Close()
		if err != nil && err != io.EOF {
			return true
		}
		for _, e := range entries {
			if look(path.Join(rel, e.Name()), e.Type()) {
				return true
			}
		}
		return false
	}
	info, err := f.root.Lstat(rel)
	return err == nil && look(rel, info.Mode().Type())
}

// entries are those of a directory, in the order of their names.
func (f *Files) entries(rel string) ([]fs.DirEntry, error) { return readDir(f.root, rel) }

// readDir is os.ReadDir in a root. The root's fs.FS would not do: it refuses names that are not UTF-8.
func readDir(root *os.Root, rel string) ([]fs.DirEntry, error) {
	dir, err := root.Open(rel)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

func (f *Files) move(ctx context.Context, in moveArgs) (tool.Result, error) {
	from, err := f.keys.NoFollow(in.From)
	if err != nil {
		return tool.Result{}, err
	}
	to, err := f.keys.NoFollow(in.To)
	if err != nil {
		return tool.Result{}, err
	}
	info, err := f.root.Lstat(from.Rel)
	switch {
	case err != nil:
		return tool.Result{}, failed(from.Rel, err)
	case from.Rel == ".":
		return tool.Result{}, errors.New("the root itself cannot be moved")
	case from.Key != to.Key && strings.HasPrefix(to.Key, from.Key+"/"):
		return tool.Result{}, complain(from.Rel, "it cannot be moved into itself")
	}
	v := moveValue{From: from.Rel, Path: to.Rel, Kind: kind(info.Mode())}
	if info.Mode().IsRegular() {
		// A file that may be moved but not read moves without its version.
		if v.Version, v.Size, err = f.version(ctx, from.Rel); err != nil {
			v.Version, v.Size = "", info.Size()
		}
	}
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	if from.Rel != to.Rel {
		if err := f.rename(from, to, info, in.Overwrite); err != nil {
			return tool.Result{}, err
		}
	}
	text := fmt.Sprintf("%s: moved from %s", shown(to.Rel), shown(from.Rel))
	if info.Mode().IsRegular() {
		text += ", " + plural(v.Size, "byte")
	}
	if v.Version != "" {
		text += ", version " + v.Version
	}
	return result(v, text)
}

func (f *Files) rename(from, to keys.Path, info fs.FileInfo, overwrite bool) error {
	there, err := f.root.Lstat(to.Rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := f.parents(to.Rel); err != nil {
			return err
		}
	case err != nil:
		return failed(to.Rel, err)
	case from.Key == to.Key && os.SameFile(info, there): // one name in another spelling
	case there.IsDir():
		return complain(to.Rel, "it is a directory; give the new path itself")
	case !overwrite:
		return complain(to.Rel, "it exists already; set overwrite to replace it")
	case info.IsDir():
		return complain(to.Rel, "it is a file, and cannot be replaced by a directory")
	case os.SameFile(info, there): // hard links of one file: the system would leave both
		if err := f.root.Remove(from.Rel); err != nil {
			return failed(from.Rel, err)
		}
		return nil
	}
	if err := f.root.Rename(from.Rel, to.Rel); err != nil {
		return failed(to.Rel, err)
	}
	return nil
}

func (f *Files) remove(_ context.Context, in removeArgs) (tool.Result, error) {
	p, err := f.keys.NoFollow(in.Path)
	if err != nil {
		return tool.Result{}, err
	}
	if p.Rel == "." {
		return tool.Result{}, errors.New("the root itself cannot be removed")
	}
	info, err := f.root.Lstat(p.Rel)
	if err != nil {
		return tool.Result{}, failed(p.Rel, err)
	}
	remove := f.root.Remove
	if info.IsDir() && in.Recursive {
		remove = f.root.RemoveAll
	} else if info.IsDir() {
		switch entries, err := f.entries(p.Rel); {
		case err != nil:
			return tool.Result{}, failed(p.Rel, err)
		case len(entries) > 0:
			return tool.Result{}, complain(p.Rel, "it is a directory that is not empty; set recursive to remove everything in it")
		}
	}
	if err := remove(p.Rel); err != nil {
		return tool.Result{}, failed(p.Rel, err)
	}
	v := pathValue{Path: p.Rel, Kind: kind(info.Mode())}
	return result(v, fmt.Sprintf("%s: %s removed", shown(v.Path), v.Kind))
}

func (f *Files) makeDirectory(_ context.Context, in makeArgs) (tool.Result, error) {
	p, err := f.keys.Follow(in.Path)
	if err != nil {
		return tool.Result{}, err
	}
	info, err := f.root.Lstat(p.Rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := f.root.MkdirAll(p.Rel, 0o777); err != nil {
			return tool.Result{}, failed(p.Rel, err)
		}
		return result(pathValue{p.Rel, "directory", true}, shown(p.Rel)+": directory created")
	case err != nil:
		return tool.Result{}, failed(p.Rel, err)
	case !info.IsDir():
		return tool.Result{}, complain(p.Rel, "it exists already, and is no directory")
	}
	return result(pathValue{Path: p.Rel, Kind: "directory"}, shown(p.Rel)+": directory is there already")
}

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "directory"
	case mode&fs.ModeSymlink != 0:
		return "link"
	}
	return "other"
}

type listArgs struct {
	Path string `json:"path,omitempty" jsonschema:"the directory, relative to the root; the root itself by default"`
}

type listValue struct {
	Path    string  `json:"path"`
	Entries []entry `json:"entries"`
	More    int     `json:"more,omitempty"` // entries that are left out
}

type entry struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Size   int64  `json:"size,omitempty"`   // of a file
	Target string `json:"target,omitempty"` // of a link that is relative and stays below the root
}

func (f *Files) list(ctx context.Context, in listArgs) (tool.Result, error) {
	p, err := f.keys.Follow(orRoot(in.Path))
	if err != nil {
		return tool.Result{}, err
	}
	info, err := f.root.Lstat(p.Rel)
	switch {
	case err != nil:
		return tool.Result{}, failed(p.Rel, err)
	case !info.IsDir():
		return tool.Result{}, complain(p.Rel, "it is no directory")
	}
	entries, err := f.entries(p.Rel)
	if err != nil {
		return tool.Result{}, failed(p.Rel, err)
	}
	v := listValue{Path: p.Rel, Entries: []entry{}, More: max(0, len(entries)-maxEntries)}
	var b strings.Builder
	for _, e := range entries[:len(entries)-v.More] {
		if err := ctx.Err(); err != nil {
			return tool.Result{}, err
		}
		x := entry{Name: jsonName(e.Name()), Kind: kind(e.Type())}
		b.WriteByte('\n')
		b.WriteString(shown(e.Name()))
		switch x.Kind {
		case "directory":
			b.WriteByte('/')
		case "link":
			if target, err := f.root.Readlink(path.Join(p.Rel, e.Name())); err == nil && !filepath.IsAbs(target) && filepath.IsLocal(filepath.Join(p.Rel, target)) {
				x.Target = jsonName(target)
				b.WriteString(" -> " + shown(target))
			} else {
				b.WriteString(" (a link)")
			}
		case "file":
			if info, err := e.Info(); err == nil {
				x.Size = info.Size()
			}
			b.WriteString("  " + plural(x.Size, "byte"))
		}
		v.Entries = append(v.Entries, x)
	}
	head := fmt.Sprintf("%s: %d entries", shown(v.Path), len(entries))
	if len(entries) == 1 {
		head = shown(v.Path) + ": 1 entry"
	}
	if v.More > 0 {
		head += fmt.Sprintf(", the first %d of them", maxEntries)
	}
	return result(v, head+b.String())
}

// jsonName is a name as JSON can carry it: quoted, if it is no text.
func jsonName(name string) string {
	if isText([]byte(name)) {
		return name
	}
	return fmt.Sprintf("%q", name)
}
