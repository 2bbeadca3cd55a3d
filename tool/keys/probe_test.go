package keys

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// asOn is a file system that folds as f does, as far as a probe can see.
func asOn(f folding) func(dir, a, b string) bool {
	return func(dir, a, b string) bool {
		_, errA := os.Lstat(filepath.Join(dir, a))
		_, errB := os.Lstat(filepath.Join(dir, b))
		return (errA == nil || errB == nil) && f.name(a) == f.name(b)
	}
}

var foldings = []folding{
	{}, {letters: true}, {unicode: true}, {letters: true, unicode: true}, {letters: true, unicode: true, ignorable: true},
}

// probed is what a probe finds out in dir on a file system that folds as f does.
func probed(dir string, f folding) folding {
	p := newProbe(dir, asOn(f))
	return folding{letters: p.letters(), unicode: p.forms(), ignorable: p.ignorable()}
}

func TestProbeFindsOutAndLeavesNothing(t *testing.T) {
	for _, want := range foldings {
		dir := t.TempDir()
		assert.Equal(t, want, probed(dir, want))
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Empty(t, left)
	}
}

// Names that are there are asked first, and where they can tell nothing is created.
func TestProbeGoesByTheNamesThatAreThere(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"\u00df", "\u304b\u3099", "123", "caf\u00e9", "Makefile"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	unchanged := stamp(t, dir)
	for _, want := range foldings {
		assert.Equal(t, want, probed(dir, want))
	}
	unchanged()
	_, err := OpenRoot(dir)
	require.NoError(t, err)
	unchanged()
}

// stamp gives dir a time of long ago, and returns a check that nothing was created in it or removed from it since.
func stamp(t *testing.T, dir string) (unchanged func()) {
	then := time.Unix(1e9, 0)
	require.NoError(t, os.Chtimes(dir, then, then))
	return func() {
		t.Helper()
		info, err := os.Stat(dir)
		require.NoError(t, err)
		assert.Equal(t, then.Unix(), info.ModTime().Unix())
	}
}

// A name that is gone, or that not all file systems would fold, tells nothing.
func TestProbeNamesThatCannotTell(t *testing.T) {
	same := func(_, a, b string) bool { return a == b && a != "gone" }
	for _, names := range [][]string{
		{"gone"}, {"1"}, {"\xffa"}, {"\u00e9a"}, {strings.Repeat("a", 101)}, {"a", "A"},
	} {
		_, ok := probe{names: names, same: same}.existing(swapCase)
		assert.False(t, ok, names)
	}
	one, ok := probe{names: []string{"gone", "a"}, same: same}.existing(swapCase)
	assert.True(t, ok)
	assert.False(t, one)
	assert.Equal(t, "\u00e9", join("\u00e9"))
	for _, name := range []string{"a", "\u304c", "\u212b", "\xff\u00e9"} {
		assert.Equal(t, name, swapForm(name))
	}
}

func TestProbeWhereNothingCanBeCreated(t *testing.T) {
	// A directory that is gone takes no new name, as one does that may not be written to. Its own name can still be
	// asked for.
	parent := t.TempDir()
	named := func(f folding) func(dir, a, b string) bool {
		return func(dir, a, b string) bool { return filepath.Clean(dir) == parent && f.name(a) == f.name(b) }
	}
	for _, want := range foldings {
		p := newProbe(filepath.Join(parent, "Caf\u00e9"), named(want))
		assert.Equal(t, want.unicode, p.forms())
		p = newProbe(filepath.Join(parent, "Name"), named(want))
		assert.Equal(t, want.letters, p.letters())
		assert.Equal(t, want.ignorable, p.ignorable())
	}
	p := newProbe(filepath.Join(parent, "1"), named(folding{}))
	assert.Equal(t, runtime.GOOS == "windows" || runtime.GOOS == "darwin" || runtime.GOOS == "ios", p.letters())
	assert.Equal(t, runtime.GOOS == "darwin" || runtime.GOOS == "ios", p.forms())
}

func TestOpenRootWithAPolicyCreatesNothing(t *testing.T) {
	dir := t.TempDir()
	unchanged := stamp(t, dir)
	_, err := OpenRoot(dir, FoldCase(true), FoldUnicode(true))
	require.NoError(t, err)
	unchanged()
	_, err = OpenRoot(dir)
	require.NoError(t, err)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	assert.NotEqual(t, int64(1e9), info.ModTime().Unix(), "an empty directory tells nothing: there the stamp shows the probe")
}

// TestFoldingIsIdempotent: folding what is folded changes nothing, equal names stay equal in every form and case, and
// bytes that are no text stay apart.
func TestFoldingIsIdempotent(t *testing.T) {
	all := folding{letters: true, unicode: true, ignorable: true}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune("aAßẞſKKÅÅıİiIΣσς\u0345\u0301\u0307\u0327éÉfifl\u200d\u00adᾳ")), 0, 8, -1)).Draw(t, "s")
		s = strings.ReplaceAll(s, "/", "")
		for _, f := range []folding{{letters: true}, {unicode: true}, {letters: true, unicode: true}, all} {
			once := f.name(s)
			require.Equal(t, once, f.name(once), "%+v", f)
			require.NotContains(t, once, "/")
			if f.unicode {
				require.Equal(t, once, f.name(norm.NFD.String(s)))
				require.Equal(t, once, f.name(norm.NFC.String(s)))
			}
			if s != "" {
				require.NotEmpty(t, once)
			}
		}
	})
	assert.NotEqual(t, all.name("a\xff"), all.name("a\xfe"))
	assert.Equal(t, all.name("A\xffB"), all.name("a\xffb"))
	assert.Equal(t, "\u200d", all.name("\u200d"))
	assert.Equal(t, folding{letters: true}.name("STRASSE"), folding{letters: true}.name("straße"))
	assert.NotEqual(t, folding{letters: true}.name("caf\u00e9"), folding{letters: true}.name("cafe\u0301"), "the case alone is folded")
	assert.NotEqual(t, folding{unicode: true}.name("A"), folding{unicode: true}.name("a"), "the form alone is folded")
}

func TestDOSPath(t *testing.T) {
	for in, want := range map[string]string{`C:\p\a`: "c:/p/a", "c:/p/a": "c:/p/a", `\\?\C:\p`: "c:/p", `p\q/r`: "p/q/r", `CC:\p`: "CC:/p"} {
		assert.Equal(t, want, dosPath(in))
	}
}
