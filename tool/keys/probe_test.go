package keys

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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

func TestProbeFindsOutAndLeavesNothing(t *testing.T) {
	for _, want := range []folding{{}, {letters: true}, {unicode: true}, {letters: true, unicode: true}, {letters: true, unicode: true, ignorable: true}} {
		dir := t.TempDir()
		assert.Equal(t, want, probe(dir, asOn(want)))
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Empty(t, left)
	}
}

func TestProbeWithoutWriting(t *testing.T) {
	// What may not be created is looked for among the names that are there.
	insensitive, sensitive := asOn(folding{letters: true, unicode: true}), asOn(folding{})
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "caf\u00e9"), nil, 0o600))
	for _, respell := range []func(string) string{swapCase, swapForm} {
		one, ok := existing(dir, respell, insensitive)
		assert.True(t, ok)
		assert.True(t, one)
		one, ok = existing(dir, respell, sensitive)
		assert.True(t, ok)
		assert.False(t, one)
	}
	// An empty directory still has a name of its own.
	dir = filepath.Join(t.TempDir(), "Name")
	require.NoError(t, os.Mkdir(dir, 0o700))
	one, ok := existing(dir, swapCase, insensitive)
	assert.True(t, ok)
	assert.True(t, one)
	_, ok = existing(dir, swapForm, insensitive)
	assert.False(t, ok, "nothing to go by")
}

func TestOpenRootWithAPolicyCreatesNothing(t *testing.T) {
	dir := t.TempDir()
	before, err := os.Stat(dir)
	require.NoError(t, err)
	_, err = OpenRoot(dir, FoldCase(true), FoldUnicode(true))
	require.NoError(t, err)
	after, err := os.Stat(dir)
	require.NoError(t, err)
	assert.Equal(t, before.ModTime(), after.ModTime())
}

// TestFoldingIsIdempotent: folding what is folded changes nothing, equal names stay equal in every form and case, and bytes that
// are no text stay apart.
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
