package keys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/keywave-go/keywave/plan"
)

var (
	// ErrEscape is wrapped by the error for a path that leads out of its root.
	ErrEscape = errors.New("path leads out of the root")
	// ErrLoop is wrapped by the error for a path whose symbolic links never arrive.
	ErrLoop = errors.New("too many symbolic links")
	// ErrInvalid is wrapped by the error for a path, URL or name that can have no key: empty, holding a NUL, or
	// malformed.
	ErrInvalid = errors.New("invalid name")
)

// A Root is a directory below which paths are turned into keys. It is immutable and safe for concurrent use.
type Root struct {
	dir   string // absolute, real
	depth int    // components of dir
	key   string // of dir
	fold  folding
}

// An Option states a part of a root's policy that [OpenRoot] would otherwise find out or assume.
type Option func(*policy)

// FoldCase says whether names that differ in letter case alone are one file. Without it OpenRoot probes.
func FoldCase(fold bool) Option {
	return func(p *policy) { p.fold.letters, p.lettersKnown = fold, true }
}

// FoldUnicode says whether names that differ in Unicode form alone, such as a composed é and an e with a combining
// accent, are one file. Without it OpenRoot probes.
func FoldUnicode(fold bool) Option {
	return func(p *policy) { p.fold.unicode, p.unicodeKnown = fold, true }
}

// DOSPaths says whether paths are read as Windows reads them: a backslash separates as a slash does, and the letter
// case of a drive does not count. By default they are on Windows, and elsewhere a backslash is a character of a name.
func DOSPaths(dos bool) Option { return func(p *policy) { p.fold.dos = dos } }

type policy struct {
	fold                       folding
	lettersKnown, unicodeKnown bool
}

// OpenRoot returns the root at dir, which must be a directory that exists. Links in dir itself are resolved now, once.
//
// What [FoldCase] and [FoldUnicode] leave open is probed: OpenRoot looks for names that are in dir under other
// spellings. Where none of them can tell, as in an empty directory, or, of Unicode forms, in one without an accented
// letter in any name, it creates a file with a random name, looks for that under another spelling and removes it. Where
// it may not create one either it goes by the name of dir itself, or by what is usual on the operating system. With
// both options OpenRoot creates nothing.
func OpenRoot(dir string, opts ...Option) (*Root, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("root %q: %w", dir, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, fmt.Errorf("root %q: %w", dir, err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return nil, fmt.Errorf("root %q: %w", dir, err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("root %q: %w", dir, errNotDir)
	}
	p := policy{fold: folding{dos: runtime.GOOS == "windows"}}
	for _, opt := range opts {
		opt(&p)
	}
	if !p.lettersKnown || !p.unicodeKnown {
		probe := newProbe(real, sameFile)
		if !p.lettersKnown {
			p.fold.letters = probe.letters()
		}
		if !p.unicodeKnown {
			p.fold.unicode, p.fold.ignorable = probe.forms(), probe.ignorable()
		}
	}
	return &Root{dir: real, depth: len(split(real)), key: p.fold.key(real), fold: p.fold}, nil
}

var errNotDir = errors.New("not a directory")

// Key returns the key of the file or directory at path, which is relative to the root or absolute, and need not
// exist. A link at its end is followed, as reading and writing follow it.
func (r *Root) Key(path string) (string, error) {
	p, err := r.Follow(path)
	return p.Key, err
}

// Rel returns where path leads, relative to the root, with slashes and free of links: the name to hand to an
// [os.Root] so that the body acts on the file that Key names. The root itself is ".".
func (r *Root) Rel(path string) (string, error) {
	p, err := r.Follow(path)
	return p.Rel, err
}

// File returns a claim on the file at path alone. It says nothing of the links on the way; [Path.Claims] does.
func (r *Root) File(path string, access plan.Access) (plan.Claim, error) {
	key, err := r.Key(path)
	if err != nil {
		return plan.Claim{}, err
	}
	return plan.Claim{Key: key, Access: access}, nil
}

// Tree returns a claim on the file or directory at path and everything below it. A path that may turn out to be a
// directory by the time the call runs wants a tree.
func (r *Root) Tree(path string, access plan.Access) (plan.Claim, error) {
	c, err := r.File(path, access)
	c.Tree = err == nil
	return c, err
}

// A Path is a path below a root, resolved.
type Path struct {
	Rel string // from the root, with slashes; "." is the root
	Key string // canonical
	// Crossed are the links on the way, in the order in which they were crossed.
	Crossed []Link
}

// A Link is a symbolic link that a path crossed.
type Link struct {
	Key string // of the link itself
	// Past is the key of the whole path if the link were an ordinary directory, or not there: Key and the rest. If the
	// rest climbs out again, as that of another link's target may, other links could lead it anywhere: then it is the
	// key of the root.
	Past string
}

// Claims returns honest claims for a call that uses p: its tree, with the access given, and for each link crossed a
// read of the link, because what the call does depends on where the link leads, and the same access to the tree at
// the name past the link, which is what the call will use if an earlier call removes the link.
func (p Path) Claims(access plan.Access) []plan.Claim {
	claims := make([]plan.Claim, 1, 1+2*len(p.Crossed))
	claims[0] = plan.Claim{Key: p.Key, Access: access, Tree: true}
	for _, l := range p.Crossed {
		claims = append(claims, plan.Claim{Key: l.Key, Access: plan.Read}, plan.Claim{Key: l.Past, Access: access, Tree: true})
	}
	return claims
}

// Follow resolves path with every link in it, as reading and writing do.
func (r *Root) Follow(path string) (Path, error) { return r.resolve(path, true) }

// NoFollow resolves path but for a link at its very end, as moving and removing do: they act on the link itself.
func (r *Root) NoFollow(path string) (Path, error) { return r.resolve(path, false) }

// maxLinks is how many links a path may cross: as many as filepath.EvalSymlinks allows.
const maxLinks = 255

func (r *Root) resolve(path string, follow bool) (Path, error) {
	at, rest, err := r.start(path)
	if err != nil {
		return Path{}, err
	}
	var crossed []Link
	missing := false // at does not exist, or is no directory: the rest is only appended
	for len(rest) > 0 {
		if missing && !slices.Contains(rest, "..") { // in one go: name by name it takes time quadratic in a path
			at = filepath.Join(append([]string{at}, rest...)...)
			break
		}
		name := rest[0]
		rest = rest[1:]
		if name == ".." { // out of a link's target; at is real, so its parent is lexical
			at, missing = filepath.Dir(at), false
			continue
		}
		next := filepath.Join(at, name)
		if missing || len(rest) == 0 && !follow {
			at = next
			continue
		}
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist) || isNotDir(err):
			missing, at = true, next
			continue
		case err != nil:
			return Path{}, r.failed(path, at, err)
		case info.Mode()&fs.ModeSymlink == 0:
			at = next
			continue
		}
		if len(crossed) == maxLinks {
			return Path{}, fmt.Errorf("path %q: %w", path, ErrLoop)
		}
		target, err := os.Readlink(next)
		if err != nil {
			return Path{}, r.failed(path, at, err)
		}
		past := r.key
		if !slices.Contains(rest, "..") {
			past = r.fold.key(filepath.Join(next, filepath.Join(rest...)))
		}
		crossed = append(crossed, Link{Key: r.fold.key(next), Past: past})
		rest = append(split(target), rest...)
		switch {
		case filepath.IsAbs(target):
			at = top(target)
		case target != "" && os.IsPathSeparator(target[0]): // Windows: from the top of the drive
			at = top(at)
		}
	}
	if missing {
		// A path that the system finds too long is refused before it exists, as it would be afterwards.
		if _, err := os.Lstat(at); err != nil && !errors.Is(err, fs.ErrNotExist) && !isNotDir(err) {
			return Path{}, r.failed(path, at, err)
		}
	}
	if runtime.GOOS == "windows" {
		at = longNames(at)
	}
	if !r.contains(at) {
		return Path{}, escapes(path)
	}
	rel := strings.Join(split(at)[r.depth:], "/")
	if rel == "" {
		rel = "."
	}
	return Path{Rel: rel, Key: r.fold.key(at), Crossed: crossed}, nil
}

// start checks path and returns the directory from which to walk, and the names to walk through.
func (r *Root) start(path string) (at string, rest []string, err error) {
	if path == "" {
		return "", nil, fmt.Errorf("path is empty: %w (the root itself is %q)", ErrInvalid, ".")
	}
	if strings.IndexByte(path, 0) >= 0 {
		return "", nil, fmt.Errorf("path %q holds a NUL: %w", path, ErrInvalid)
	}
	if r.fold.dos {
		path = dosPath(path)
	}
	clean := filepath.Clean(filepath.FromSlash(path))
	if filepath.IsAbs(clean) {
		return top(clean), split(clean), nil
	}
	rest = split(clean)
	if os.IsPathSeparator(clean[0]) { // Windows: from the top of the drive
		return top(r.dir), rest, nil
	}
	if len(rest) > 0 && rest[0] == ".." || filepath.VolumeName(clean) != "" {
		return "", nil, escapes(path)
	}
	return r.dir, rest, nil
}

// failed is the error for a path that could not be followed beyond at. It names the path as it was given: what lies
// outside of the root, and where the root is, is nobody's business.
func (r *Root) failed(path, at string, err error) error {
	if !r.contains(at) {
		return escapes(path)
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("path %q: %w", path, err)
}

func escapes(path string) error { return fmt.Errorf("path %q: %w", path, ErrEscape) }

// contains reports whether a real path is the root or lies below it.
func (r *Root) contains(real string) bool {
	key := r.fold.key(real)
	return key == r.key || strings.HasPrefix(key, r.key+"/")
}

// top returns the directory at which an absolute path starts.
func top(abs string) string { return filepath.VolumeName(abs) + string(filepath.Separator) }

// split returns the names in a path, without its volume and without the names that say nothing.
func split(path string) []string {
	names := strings.FieldsFunc(path[len(filepath.VolumeName(path)):], func(c rune) bool { return c < 0x80 && os.IsPathSeparator(uint8(c)) })
	kept := names[:0]
	for _, n := range names {
		if n != "." {
			kept = append(kept, n)
		}
	}
	return kept
}
