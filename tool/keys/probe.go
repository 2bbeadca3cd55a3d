package keys

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A probe finds out which spellings the file system of a directory takes for one name. Names that are there already
// are the first thing it looks at, and it creates one only if none of them can tell.
type probe struct {
	dir   string // real
	names []string
	same  func(dir, a, b string) bool // whether two names in a directory are one file; a missing one is none
}

func newProbe(dir string, same func(dir, a, b string) bool) probe {
	p := probe{dir: dir, same: same}
	if d, err := os.Open(dir); err == nil {
		p.names, _ = d.Readdirnames(256)
		d.Close()
	}
	return p
}

// letters reports whether letter case does not count.
func (p probe) letters() bool {
	return p.folds(swapCase, "-a", runtime.GOOS == "windows" || runtime.GOOS == "darwin" || runtime.GOOS == "ios")
}

// forms reports whether the Unicode form does not count.
func (p probe) forms() bool {
	return p.folds(swapForm, "-\u00e9", runtime.GOOS == "darwin" || runtime.GOOS == "ios")
}

// ignorable reports whether code points that show nothing do not count.
func (p probe) ignorable() bool {
	return p.folds(join, "-a", false)
}

// folds reports whether a name and what respell makes of it are one file. It goes by a name in the directory, by one
// that it creates there, with an ending that can be respelt, by the name of the directory in its parent, which may be
// of another file system, or by what is usual.
func (p probe) folds(respell func(string) string, ending string, usual bool) bool {
	if one, ok := p.existing(respell); ok {
		return one
	}
	if name := ".keywave-probe-" + strings.ToLower(rand.Text()) + ending; create(p.dir, name) {
		defer os.Remove(filepath.Join(p.dir, name))
		return p.same(p.dir, name, respell(name))
	}
	parent, base := filepath.Split(p.dir)
	if other := respell(base); other != base {
		return p.same(parent, base, other)
	}
	return usual
}

// existing asks the names that are there. One that was removed meanwhile tells nothing, and so does a long one, whose
// other spelling may be too long for a name.
func (p probe) existing(respell func(string) string) (one, ok bool) {
	there := make(map[string]bool, len(p.names))
	for _, n := range p.names {
		there[n] = true
	}
	for _, n := range p.names {
		other := respell(n)
		if other == n || there[other] || len(n) > 100 {
			continue
		}
		if p.same(p.dir, n, other) {
			return true, true
		}
		if p.same(p.dir, n, n) {
			return false, true
		}
	}
	return false, false
}

func create(dir, name string) bool {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// sameFile reports whether two names in dir are one file.
func sameFile(dir, a, b string) bool {
	x, err := os.Lstat(filepath.Join(dir, a))
	if err != nil {
		return false
	}
	y, err := os.Lstat(filepath.Join(dir, b))
	return err == nil && os.SameFile(x, y)
}

// Not every file system folds every name: some know an older Unicode, and some take what they cannot read for bytes. So
// a name is respelt only if all that fold at all agree about it, and is otherwise left as it is.

// swapCase changes the case of the letters of an ASCII name.
func swapCase(s string) string {
	if !isASCII(s) {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			b[i] ^= 'a' - 'A'
		}
	}
	return string(b)
}

// join adds what shows nothing, a zero-width joiner, to an ASCII name.
func join(s string) string {
	if !isASCII(s) {
		return s
	}
	return s + "\u200d"
}

// swapForm composes or decomposes the accented letters of a Latin name.
func swapForm(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r >= '\u0370' }) { // as U+FFFD is, for what is not UTF-8
		return s
	}
	if d := norm.NFD.String(s); d != s {
		return d
	}
	return norm.NFC.String(s)
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}
