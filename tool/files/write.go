package files

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/keywave-go/keywave/tool"
)

type writeArgs struct {
	Path    string `json:"path" jsonschema:"the file, relative to the root"`
	Content string `json:"content" jsonschema:"the whole new content"`
	Version string `json:"version,omitempty" jsonschema:"refuse unless the file still has this version, as a result named it; none: refuse if there is such a file"`
}

type editArgs struct {
	Path       string `json:"path" jsonschema:"the file, relative to the root"`
	Old        string `json:"old" jsonschema:"the exact text to replace, with enough around it to be found once"`
	New        string `json:"new" jsonschema:"what to put in its place"`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"replace it wherever it is found"`
	Version    string `json:"version,omitempty" jsonschema:"refuse unless the file still has this version, as a result named it"`
}

type writeValue struct {
	Path     string `json:"path"`
	Size     int    `json:"size"`
	Version  string `json:"version"`
	Created  bool   `json:"created,omitempty"`
	Replaced int    `json:"replaced,omitempty"` // pieces of text, of edit
}

func (f *Files) write(ctx context.Context, in writeArgs) (tool.Result, error) {
	p, err := f.keys.Follow(in.Path)
	if err != nil {
		return tool.Result{}, err
	}
	old, err := f.replaceable(p.Rel)
	if err != nil {
		return tool.Result{}, err
	}
	if known := known(ctx, in.Version, p.Rel); known != "" {
		now := Absent
		if old != nil {
			if now, _, err = f.version(ctx, p.Rel); err != nil {
				return tool.Result{}, err
			}
		}
		if err := unchanged(p.Rel, known, now); err != nil {
			return tool.Result{}, err
		}
	}
	if old == nil {
		if err := f.parents(p.Rel); err != nil {
			return tool.Result{}, err
		}
	}
	data := []byte(in.Content)
	if err := f.replace(ctx, p.Rel, data, old); err != nil {
		return tool.Result{}, err
	}
	v := writeValue{Path: p.Rel, Size: len(data), Version: versionOf(data), Created: old == nil}
	verb := "replaced"
	if v.Created {
		verb = "created"
	}
	return result(v, fmt.Sprintf("%s: %s, %s, version %s", shown(v.Path), verb, plural(v.Size, "byte"), v.Version))
}

func (f *Files) edit(ctx context.Context, in editArgs) (tool.Result, error) {
	switch {
	case in.Old == "":
		return tool.Result{}, errors.New("old is empty: there is nothing to find")
	case in.Old == in.New:
		return tool.Result{}, errors.New("old and new are the same: there is nothing to change")
	}
	p, err := f.keys.Follow(in.Path)
	if err != nil {
		return tool.Result{}, err
	}
	old, err := f.replaceable(p.Rel)
	if err != nil {
		return tool.Result{}, err
	}
	known := known(ctx, in.Version, p.Rel)
	if old == nil {
		if known != "" {
			if err := unchanged(p.Rel, known, Absent); err != nil {
				return tool.Result{}, err
			}
		}
		return tool.Result{}, failed(p.Rel, fs.ErrNotExist)
	}
	data, _, err := f.whole(ctx, p.Rel)
	if err != nil {
		return tool.Result{}, err
	}
	if known != "" {
		if err := unchanged(p.Rel, known, versionOf(data)); err != nil {
			return tool.Result{}, err
		}
	}
	n := bytes.Count(data, []byte(in.Old))
	switch {
	case n == 0:
		return tool.Result{}, complain(p.Rel, "the text to replace is not in it")
	case n > 1 && !in.ReplaceAll:
		return tool.Result{}, complain(p.Rel, "the text to replace is in it %d times; give more of the text around the one that is meant, or set replace_all", n)
	}
	if size := len(data) + n*(len(in.New)-len(in.Old)); size > maxWhole {
		return tool.Result{}, complain(p.Rel, "it would grow to %d bytes; at most %d are taken on", size, int64(maxWhole))
	}
	data = bytes.ReplaceAll(data, []byte(in.Old), []byte(in.New))
	if err := f.replace(ctx, p.Rel, data, old); err != nil {
		return tool.Result{}, err
	}
	v := writeValue{Path: p.Rel, Size: len(data), Version: versionOf(data), Replaced: n}
	return result(v, fmt.Sprintf("%s: %s, %s, version %s", shown(v.Path), plural(n, "replacement"), plural(v.Size, "byte"), v.Version))
}

// unchanged compares the version that the caller knows with that of now.
func unchanged(rel, known, now string) error {
	switch {
	case known == now:
		return nil
	case known == Absent:
		return complain(rel, "it exists already, at version %s; read it first", now)
	case now == Absent:
		return complain(rel, "it has changed since it was read at version %s: it is gone", known)
	}
	return complain(rel, "it has changed since it was read at version %s: it is at version %s now; read it again", known, now)
}

// version returns the version and the size of a file.
func (f *Files) version(ctx context.Context, rel string) (string, int64, error) {
	file, _, err := f.regular(rel)
	if err != nil {
		return "", 0, err
	}
	defer file.Close()
	s := newSum()
	n, err := io.Copy(s, &reader{ctx, file})
	if err != nil {
		return "", 0, failed(rel, err)
	}
	return s.version(), n, nil
}

// replaceable returns what is at rel if it can be replaced by a file, nil if nothing is there.
func (f *Files) replaceable(rel string) (fs.FileInfo, error) {
	info, err := f.root.Lstat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, failed(rel, err)
	}
	if err := mustBeFile(rel, info); err != nil {
		return nil, err
	}
	// Renaming over a file needs no permission to write it. Somebody took that permission away for a reason.
	if info.Mode().Perm()&0o222 == 0 {
		return nil, complain(rel, "it is read-only")
	}
	return info, nil
}

// parents makes the directories above rel that are missing. They stay, whatever becomes of the call: another call may
// have put something into them meanwhile.
func (f *Files) parents(rel string) error {
	if err := f.root.MkdirAll(path.Dir(rel), 0o777); err != nil {
		return failed(path.Dir(rel), err)
	}
	return nil
}

// replace puts data in the place of rel, at once: old is what is there, nil if nothing.
func (f *Files) replace(ctx context.Context, rel string, data []byte, old fs.FileInfo) (err error) {
	// The name is this call's own, not this process's: two calls that share a temporary file publish a mixture.
	temp := path.Join(path.Dir(rel), ".keywave-"+rand.Text()+".tmp")
	perm := fs.FileMode(0o666) // what the process's umask leaves of it
	if old != nil {
		perm = 0o600 // nobody else's until it has the mode of the old one
	}
	file, err := f.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return failed(rel, err)
	}
	defer func() {
		file.Close()
		if err != nil {
			f.root.Remove(temp)
			err = failed(rel, err)
		}
	}()
	for rest := data; len(rest) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := file.Write(rest[:min(len(rest), 1<<20)])
		if err != nil {
			return err
		}
		rest = rest[n:]
	}
	if old != nil {
		if err := file.Chmod(old.Mode().Perm()); err != nil {
			return err
		}
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return f.root.Rename(temp, rel)
}
