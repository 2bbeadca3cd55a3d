package keys

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// probe finds out which spellings the file system of dir takes for one name, asking same whether two names in a directory
// are one file.
func probe(dir string, same func(dir, a, b string) bool) folding {
	found := usual()
	tag := ".keywave-probe-" + strings.ToLower(rand.Text())
	if name := tag + "-a"; create(dir, name) {
		found.letters = same(dir, name, strings.ToUpper(name))
		remove(dir, name)
	} else if f, ok := existing(dir, swapCase, same); ok {
		found.letters = f
	}
	if name := tag + "-\u00e9"; create(dir, name) {
		found.unicode = same(dir, name, norm.NFD.String(name))
		found.ignorable = same(dir, name, name+"\u200d")
		remove(dir, name)
	} else if f, ok := existing(dir, swapForm, same); ok {
		found.unicode = f
	}
	return found
}

// usual is what to expect where nothing can be probed.
func usual() folding {
	return folding{
		letters: runtime.GOOS == "windows" || runtime.GOOS == "darwin" || runtime.GOOS == "ios",
		unicode: runtime.GOOS == "darwin" || runtime.GOOS == "ios",
	}
}

func create(dir, name string) bool {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

func remove(dir, name string) { os.Remove(filepath.Join(dir, name)) }

// existing looks for an entry of dir, or dir itself in its parent, under another spelling.
func existing(dir string, respell func(string) string, same func(dir, a, b string) bool) (one, ok bool) {
	var names []string
	if d, err := os.Open(dir); err == nil {
		names, _ = d.Readdirnames(256)
		d.Close()
	}
	there := make(map[string]bool, len(names))
	for _, n := range names {
		there[n] = true
	}
	for _, n := range names {
		if other := respell(n); other != n && !there[other] {
			return same(dir, n, other), true
		}
	}
	parent, base := filepath.Split(dir)
	if other := respell(base); other != base {
		return same(parent, base, other), true
	}
	return false, false
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

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}

func swapForm(s string) string {
	if d := norm.NFD.String(s); d != s {
		return d
	}
	return norm.NFC.String(s)
}
