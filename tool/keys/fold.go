package keys

import (
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// A folding says which spellings of a name are one file.
type folding struct {
	letters   bool // letter case does not count
	unicode   bool // the Unicode form does not count
	ignorable bool // nor do code points that show nothing, such as a zero-width joiner
	dos       bool // paths are spelt as on Windows
}

// key returns the key of an absolute real path.
func (f folding) key(real string) string {
	var b strings.Builder
	b.Grow(len(fileKind) + len(real))
	b.WriteString(fileKind)
	if vol := filepath.VolumeName(real); vol != "" {
		b.WriteByte('/')
		b.WriteString(strings.ToLower(strings.ReplaceAll(vol, "/", `\`))) // one component, also of \\server\share
	}
	for _, name := range split(real) {
		b.WriteByte('/')
		b.WriteString(f.name(name))
	}
	return b.String()
}

// name folds one component of a path. Bytes that are no UTF-8 stay as they are.
func (f folding) name(s string) string {
	if !f.letters && !f.unicode && !f.ignorable || isLowerASCII(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		n := validPrefix(s)
		b.WriteString(f.text(s[:n]))
		s = s[n:]
		for len(s) > 0 {
			if r, size := utf8.DecodeRuneInString(s); r != utf8.RuneError || size != 1 {
				break
			}
			b.WriteByte(s[0])
			s = s[1:]
		}
	}
	return b.String()
}

// text folds valid UTF-8 until it no longer changes: folding may leave a form that composes anew.
func (f folding) text(s string) string {
	for range 4 {
		t := s
		if f.ignorable {
			t = dropIgnorable(t)
		}
		if f.letters {
			if f.unicode {
				t = norm.NFD.String(t)
			}
			t = cases.Fold().String(t)
		}
		if f.unicode {
			t = norm.NFC.String(t)
		}
		if t == s {
			break
		}
		s = t
	}
	return s
}

// dropIgnorable removes the code points that show nothing, unless nothing would be left.
func dropIgnorable(s string) string {
	t := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, s)
	if t == "" || t == "." || t == ".." {
		return s
	}
	return t
}

func validPrefix(s string) int {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(s)
}

func isLowerASCII(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}

// dosPath spells a Windows path with slashes and a small drive letter.
func dosPath(path string) string {
	path = strings.ReplaceAll(path, `\`, "/")
	path = strings.TrimPrefix(path, "//?/")
	if len(path) >= 2 && path[1] == ':' && 'A' <= path[0] && path[0] <= 'Z' {
		path = string(path[0]+'a'-'A') + path[1:]
	}
	return path
}
