package keys_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool/keys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tree makes a directory of what it is given: "d/" a directory, "f" a file, "l -> t" a link. It returns the real path.
func tree(t testing.TB, entries ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	fill(t, dir, entries...)
	return dir
}

func fill(t testing.TB, dir string, entries ...string) {
	t.Helper()
	for _, e := range entries {
		name, target, link := strings.Cut(e, " -> ")
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		switch {
		case link:
			require.NoError(t, os.Symlink(target, path))
		case strings.HasSuffix(name, "/"):
			require.NoError(t, os.MkdirAll(path, 0o755))
		default:
			require.NoError(t, os.WriteFile(path, []byte(name), 0o644))
		}
	}
}

func open(t testing.TB, dir string, opts ...keys.Option) *keys.Root {
	t.Helper()
	r, err := keys.OpenRoot(dir, opts...)
	require.NoError(t, err)
	return r
}

func key(t testing.TB, r *keys.Root, path string) string {
	t.Helper()
	k, err := r.Key(path)
	require.NoError(t, err, path)
	require.NotEmpty(t, k)
	return k
}

func TestKeyIsTheRealPath(t *testing.T) {
	dir := tree(t, "a/b/f", "alias -> a", "a/up -> ../a/b", "dangling -> a/new/deep", "abs -> "+"PLACEHOLDER")
	require.NoError(t, os.Remove(filepath.Join(dir, "abs")))
	require.NoError(t, os.Symlink(filepath.Join(dir, "a", "b"), filepath.Join(dir, "abs")))
	r := open(t, dir)
	root := "file" + filepath.ToSlash(dir)
	for path, rel := range map[string]string{
		".": ".", "./": ".", "a/..": ".", dir: ".",
		"a/b/f": "a/b/f", "./a//b/./f": "a/b/f", "a/x/../b/f": "a/b/f", "alias/b/f": "a/b/f", "alias/up/f": "a/b/f", "abs/f": "a/b/f",
		filepath.Join(dir, "alias/b/f"): "a/b/f", "a/b/f/": "a/b/f",
		"alias/new": "a/new", "alias/new/deep/er": "a/new/deep/er", "dangling": "a/new/deep", "dangling/x": "a/new/deep/x",
		"a/b/f/below": "a/b/f/below", `a\b`: `a\b`, "a/b c\n": "a/b c\n", "\xff": "\xff", "..x": "..x", "...": "...",
	} {
		want := root
		if rel != "." {
			want += "/" + rel
		}
		assert.Equal(t, want, key(t, r, path), path)
		got, err := r.Rel(path)
		require.NoError(t, err)
		assert.Equal(t, rel, got, path)
	}
}

// A path beyond what the system takes has no key, whether or not somebody made it by other means.
func TestKeyOfAPathThatIsTooLong(t *testing.T) {
	r := open(t, tree(t, "a/"))
	for _, path := range []string{strings.Repeat("d/", 20_000) + "f", "a/" + strings.Repeat("d/", 20_000) + "f", "a/" + strings.Repeat("d", 20_000)} {
		_, err := r.Key(path)
		require.ErrorContains(t, err, "too long")
	}
}

func TestKeyEscape(t *testing.T) {
	outside := tree(t, "secret", "closed/")
	dir := tree(t, "a/f", "loop -> loop2", "loop2 -> a/../loop", "self -> self/x")
	fill(t, dir, "out -> "+outside, "a/rel -> ../../outside", "back -> "+dir+"/a", "far -> /", "chain -> out")
	r := open(t, dir)
	for _, path := range []string{
		"..", "../x", "a/../../x", "/", "/etc/passwd", outside, outside + "/secret", "out", "out/secret", "out/missing",
		"chain/secret", "a/rel", "a/rel/x", "far", "far/etc", filepath.Dir(dir),
		dir + "x", "../" + filepath.Base(dir) + "/a/f",
	} {
		_, err := r.Key(path)
		require.ErrorIs(t, err, keys.ErrEscape, path)
		assert.NotContains(t, strings.ReplaceAll(err.Error(), path, ""), filepath.Dir(dir), "no machine path in the error")
	}
	for _, path := range []string{"loop", "loop2/x", "self"} {
		_, err := r.Key(path)
		require.ErrorIs(t, err, keys.ErrLoop, path)
	}
	for _, path := range []string{"", "a\x00", "\x00"} {
		_, err := r.Key(path)
		require.ErrorIs(t, err, keys.ErrInvalid, path)
	}
	_, err := r.Key(strings.Repeat("n", 300))
	require.Error(t, err)
	assert.NotContains(t, err.Error(), dir)

	assert.Equal(t, key(t, r, "a/f"), key(t, r, "back/f"), "an absolute link that comes back is no escape")
	assert.Equal(t, key(t, r, "a/f"), key(t, r, "far"+dir+"/a/f"), "nor is a way around that comes back")

	// The link itself is in the root, wherever it leads.
	p, err := r.NoFollow("out")
	require.NoError(t, err)
	assert.Equal(t, "out", p.Rel)
	_, err = r.NoFollow("out/secret")
	require.ErrorIs(t, err, keys.ErrEscape)
}

func TestNoFollowIsTheLinkItself(t *testing.T) {
	r := open(t, tree(t, "a/l -> f", "a/f", "alias -> a"))
	p, err := r.NoFollow("alias/l")
	require.NoError(t, err)
	assert.Equal(t, "a/l", p.Rel)
	assert.True(t, strings.HasSuffix(p.Key, "/a/l"), p.Key)
	require.Len(t, p.Crossed, 1)
	assert.True(t, strings.HasSuffix(p.Crossed[0].Key, "/alias"))
	assert.True(t, strings.HasSuffix(p.Crossed[0].Past, "/alias/l"))
}

func conflict(a, b plan.Call) bool { return plan.Ordered([]plan.Call{a, b}).WaveOf(1) > 0 }

// TestClaimsNameTheLinksCrossed: removing a link conflicts with everything that goes through it, before and after.
func TestClaimsNameTheLinksCrossed(t *testing.T) {
	dir := tree(t, "target/", "alias -> target", "two -> alias")
	r := open(t, dir)
	follow := func(path string, a plan.Access) plan.Call {
		p, err := r.Follow(path)
		require.NoError(t, err)
		return plan.Call{Safe: true, Claims: p.Claims(a)}
	}
	link := func(path string) plan.Call {
		p, err := r.NoFollow(path)
		require.NoError(t, err)
		return plan.Call{Safe: true, Claims: p.Claims(plan.Write)}
	}
	assert.True(t, conflict(link("alias"), follow("alias/x", plan.Read)))
	assert.True(t, conflict(link("alias"), follow("two/x", plan.Read)))
	assert.True(t, conflict(link("two"), follow("two/x", plan.Read)))
	assert.False(t, conflict(link("two"), follow("alias/x", plan.Read)))
	assert.False(t, conflict(follow("alias/x", plan.Write), follow("two/y", plan.Write)), "different files through one link")
	assert.True(t, conflict(follow("alias/x", plan.Write), follow("two/x", plan.Read)))

	// in/out is a link, and in/up climbs out of it again: with a directory in its place it leads through in/next.
	for _, link := range [][2]string{{"../target", "in/out"}, {"out/../next/f", "in/up"}, {"../other", "in/next"}} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "in"), 0o755))
		require.NoError(t, os.Symlink(link[0], filepath.Join(dir, link[1])))
	}
	up := follow("in/up", plan.Read)
	assert.True(t, conflict(follow("next/f", plan.Write), up))
	assert.True(t, conflict(follow("other/f", plan.Write), up), "where in/next leads")

	before := follow("alias/x", plan.Write)
	require.NoError(t, os.Remove(filepath.Join(dir, "alias")))
	assert.True(t, conflict(before, follow("alias/x", plan.Write)), "a call classified before the link went and one after")
}

func TestRootsAgree(t *testing.T) {
	dir := tree(t, "a/b/f", "l -> a/b")
	outer, inner, linked := open(t, dir), open(t, filepath.Join(dir, "a")), open(t, filepath.Join(dir, "l"))
	want := key(t, outer, "a/b/f")
	assert.Equal(t, want, key(t, inner, "b/f"))
	assert.Equal(t, want, key(t, linked, "f"))
	top := open(t, "/", keys.FoldCase(false), keys.FoldUnicode(false))
	assert.Equal(t, want, key(t, top, filepath.Join(dir, "a/b/f")))
	assert.Equal(t, want, key(t, top, strings.TrimPrefix(dir, "/")+"/a/b/f"))
	assert.Equal(t, "file", key(t, top, "/"), "the key of a root's own tree is not empty")
	rel, err := top.Rel("/")
	require.NoError(t, err)
	assert.Equal(t, ".", rel)
}

func TestOpenRootRefuses(t *testing.T) {
	dir := tree(t, "f")
	for _, d := range []string{filepath.Join(dir, "missing"), filepath.Join(dir, "f")} {
		_, err := keys.OpenRoot(d)
		require.Error(t, err)
	}
}

func TestName(t *testing.T) {
	for in, want := range map[[2]string]string{
		{"db", "users"}: "db/users", {"db", "a/b"}: "db/a%2Fb", {"db", "a%2Fb"}: "db/a%252Fb", {"db", "/"}: "db/%2F", {"q", " "}: "q/ ",
	} {
		got, err := keys.Name(in[0], in[1])
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, in := range [][2]string{{"", "x"}, {"a/b", "x"}, {"file", "x"}, {"url", "x"}, {"db", ""}} {
		_, err := keys.Name(in[0], in[1])
		require.ErrorIs(t, err, keys.ErrInvalid, in)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.StringN(1, -1, -1).Draw(t, "a"), rapid.StringN(1, -1, -1).Draw(t, "b")
		x, errX := keys.Name("k", a)
		y, errY := keys.Name("k", b)
		require.NoError(t, errors.Join(errX, errY))
		require.Equal(t, a == b, x == y)
		require.Equal(t, 1, strings.Count(x, "/"))
	})
}

// TestEqualKeysAreEqualFiles: on random real trees with links, two paths have one key exactly if they are one file, and
// creating what a path names does not change its key.
func TestEqualKeysAreEqualFiles(t *testing.T) {
	base := tree(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		dir := filepath.Join(base, fmt.Sprint(n))
		require.NoError(t, os.Mkdir(dir, 0o755))
		defer os.RemoveAll(dir)
		component := rapid.SampledFrom([]string{"a", "b", "A", "l", "m", "..", ".", "caf\u00e9", "cafe\u0301"})
		path := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(component, 1, 4).Draw(t, "parts"), "/")
		})
		for range rapid.IntRange(0, 12).Draw(rt, "entries") {
			p := filepath.Join(dir, filepath.Join("/", path.Draw(rt, "entry")))
			switch rapid.IntRange(0, 2).Draw(rt, "kind") {
			case 0:
				os.MkdirAll(p, 0o755) // errors are fine: the tree is whatever came about
			case 1:
				if _, err := os.Lstat(p); err != nil {
					os.WriteFile(p, nil, 0o644)
				}
			case 2:
				target := path.Draw(rt, "target")
				if rapid.Bool().Draw(rt, "absolute") {
					target = filepath.Join(dir, filepath.Join("/", target))
				}
				os.Symlink(target, p)
			}
		}
		r := open(t, dir)
		type seen struct {
			path, key string
			info      os.FileInfo
		}
		var all []seen
		for range 8 {
			p := path.Draw(rt, "path")
			got, err := r.Follow(p)
			if err != nil {
				continue
			}
			again, err := r.Follow(strings.TrimPrefix(got.Key, "file"))
			require.NoError(rt, err)
			require.Equal(rt, keys.Path{Rel: got.Rel, Key: got.Key}, again, "the key of the path spelt from the key")
			info, err := os.Stat(filepath.Join(dir, p))
			if err != nil {
				info = nil
				// Create it where Rel says that it is. Then the path, as it is spelt, must lead there, and its key
				// stay.
				at := filepath.Join(dir, got.Rel)
				if os.MkdirAll(filepath.Dir(at), 0o755) != nil || os.WriteFile(at, nil, 0o644) != nil {
					continue
				}
				require.Equal(rt, got.Key, key(t, r, p), "after it was created")
				if info, err = os.Stat(filepath.Join(dir, p)); err != nil {
					info = nil // ".." behind a missing name in a link: to the system it leads nowhere until that is a directory
				} else if there, err := os.Stat(at); err == nil {
					require.True(rt, os.SameFile(info, there), "the key names another file than the path %q", p)
				}
			}
			if info != nil {
				all = append(all, seen{p, got.Key, info})
			}
		}
		for _, x := range all {
			for _, y := range all {
				require.Equal(rt, os.SameFile(x.info, y.info), x.key == y.key, "%q and %q", x.path, y.path)
			}
		}
	})
}

// FuzzKey: any string is refused with an error or has one key: that of the path spelt from it, equal to the key of a
// file of the tree exactly if it is that file.
func FuzzKey(f *testing.F) {
	dir := tree(f, "a/b/f", "a/g", "c/", "caf\u00e9", "alias -> a", "a/up -> ../c", "c/new -> ../a/missing",
		"dangling -> c/x", "loop -> loop", "out -> /", "rel -> ../..")
	r := open(f, dir)
	type file struct {
		info os.FileInfo
		key  string
	}
	var files []file
	for _, p := range []string{".", "a", "a/b", "a/b/f", "a/g", "c", "caf\u00e9"} {
		info, err := os.Stat(filepath.Join(dir, p))
		require.NoError(f, err)
		files = append(files, file{info, key(f, r, p)})
	}
	for _, s := range []string{"a/b/f", "alias/up/new/x", "out" + dir + "/a", "rel", "loop", "", "\x00", "a\\b",
		"dangling/..", "cafe\u0301", "//a", "\xff/../a", strings.Repeat("a/", 5000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got, err := r.Follow(path)
		if err != nil {
			require.Zero(t, got)
			return
		}
		require.True(t, got.Key == files[0].key || strings.HasPrefix(got.Key, files[0].key+"/"))
		require.False(t, strings.HasSuffix(got.Key, "/"))
		for _, again := range []string{got.Rel, strings.TrimPrefix(got.Key, "file")} {
			p, err := r.Follow(again)
			require.NoError(t, err)
			require.Equal(t, keys.Path{Rel: got.Rel, Key: got.Key}, p)
		}
		at := path
		if !filepath.IsAbs(at) {
			at = filepath.Join(dir, at)
		}
		info, err := os.Stat(filepath.Clean(at))
		for _, file := range files {
			require.Equal(t, err == nil && os.SameFile(info, file.info), got.Key == file.key)
		}
	})
}

// TestLongPathsTakeLinearTime: a path without end, of a model or of a log, is refused or has its key, and costs no more
// than it is long: what does not exist is not joined name by name.
func TestLongPathsTakeLinearTime(t *testing.T) {
	root, err := keys.OpenRoot(t.TempDir())
	require.NoError(t, err)
	allocs := func(names int) float64 {
		path := "none" + strings.Repeat("/a", names)
		return testing.AllocsPerRun(5, func() { _, err = root.Follow(path) })
	}
	assert.Less(t, allocs(1<<10), 2*allocs(1<<5))
	require.NoError(t, err)
	_, err = root.Follow("none" + strings.Repeat("/a", 1<<18))
	require.ErrorContains(t, err, "too long")
}

// TestBehindWhatIsMissing: a link's target that climbs out of what does not exist leads through the links behind it.
func TestBehindWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Symlink("gone/../other", filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("file", filepath.Join(dir, "other")))
	root, err := keys.OpenRoot(dir)
	require.NoError(t, err)
	rel, err := root.Rel("link")
	require.NoError(t, err)
	assert.Equal(t, "file", rel)
}
