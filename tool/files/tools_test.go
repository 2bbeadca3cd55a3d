package files

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/keys"
)

func TestRead(t *testing.T) {
	w := newWorld(t, "s = 1\n2\n3\n4", "empty = ", "d/", "nul = a\x00b", "latin = caf\xe9\n", "half = ok\xc3", "wide = "+strings.Repeat("é", 40_000)+"\n")
	v := ok[readValue](w, "read", "path", "s")
	assert.Equal(t, readValue{Path: "s", Size: 7, Version: versionOf([]byte("1\n2\n3\n4")), Lines: 4, From: 1, To: 4, Text: "1\n2\n3\n4"}, v)
	assert.Equal(t, "s: 7 bytes, version "+v.Version+", lines 2-3 of 4; continue with offset 4\n2\n3\n",
		w.do("read", "path", "s", "offset", 2, "limit", 2).Text())
	assert.True(t, ok[readValue](w, "read", "path", "s", "limit", 3).Cut)
	assert.Equal(t, "4", ok[readValue](w, "read", "path", "./s/", "offset", 4).Text)

	v = ok[readValue](w, "read", "path", "empty")
	assert.Equal(t, readValue{Path: "empty", Version: versionOf(nil)}, v)

	assert.Equal(t, "s: offset 5 is beyond its end: 4 lines", w.fails("read", "path", "s", "offset", 5))
	assert.Equal(t, "missing: no such file or directory", w.fails("read", "path", "missing"))
	assert.Equal(t, "d: it is a directory", w.fails("read", "path", "d"))
	assert.Contains(t, w.fails("read", "path", "s/below"), "not a directory")
	assert.Contains(t, w.fails("read", "path", "nul"), "it is not text: a NUL at byte 1; 3 bytes, version "+versionOf([]byte("a\x00b")))
	assert.Contains(t, w.fails("read", "path", "latin"), "invalid UTF-8 at byte 3")
	assert.Contains(t, w.fails("read", "path", "half"), "invalid UTF-8 at byte 2")
	assert.Contains(t, w.fails("read", "path", "s", "offset", -1), "negative")

	v = ok[readValue](w, "read", "path", "wide")
	assert.True(t, v.Cut)
	assert.Equal(t, strings.Repeat("é", maxLine/2)+" [cut]\n", v.Text)
}

// A file that is far larger than a result may be is read in pieces that fit together again.
func TestReadIsBoundedAndPages(t *testing.T) {
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "line %d %s\n", i, strings.Repeat("x", i%300))
	}
	w := newWorld(t, "big = "+b.String())
	var got strings.Builder
	for offset := 1; ; {
		v := ok[readValue](w, "read", "path", "big", "offset", offset, "limit", 100_000)
		require.LessOrEqual(t, len(v.Text), maxText+maxLine)
		require.Equal(t, offset, v.From)
		got.WriteString(v.Text)
		if !v.Cut {
			break
		}
		offset = v.To + 1
	}
	assert.Equal(t, b.String(), got.String())
}

// What scan keeps is what splitting the whole text would give, whatever the sizes of the reads.
func TestScanAgreesWithSplitting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"", "a", "é", "long " + strings.Repeat("ü", maxLine),
			strings.Repeat("b", maxLine), "\r"})).Draw(t, "lines"), "\n")
		first, limit := rapid.IntRange(1, 5).Draw(t, "first"), rapid.IntRange(1, 5).Draw(t, "limit")
		p, err := scan(strings.NewReader(text), first, limit)
		require.NoError(t, err)
		lines := strings.SplitAfter(text, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		require.Equal(t, len(lines), p.total)
		want := ""
		for i := first - 1; i < len(lines) && i < first-1+limit; i++ {
			if line, cut := shorten([]byte(lines[i]), maxLine); cut {
				want += line + " [cut]\n"
			} else {
				want += line
			}
		}
		require.Equal(t, want, p.text.String())

		c := &textCheck{}
		raw := rapid.SliceOf(rapid.SampledFrom([]byte("a\u00e9\u20ac\U0001f600\x00\xff"))).Draw(t, "bytes")
		for rest := raw; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			c.Write(rest[:n])
			rest = rest[n:]
		}
		require.Equal(t, isText(raw), c.fault() == "", "%q: %s", raw, c.fault())
	})
}

func TestWrite(t *testing.T) {
	w := newWorld(t, "a = old", "d/", "ro = x", "exec = #!", "l -> a", "dangling -> new/deep")
	require.NoError(t, os.Chmod(filepath.Join(w.dir, "exec"), 0o754))
	require.NoError(t, os.Chmod(filepath.Join(w.dir, "ro"), 0o444))

	v := ok[writeValue](w, "write", "path", "a", "content", "new")
	assert.Equal(t, writeValue{Path: "a", Size: 3, Version: versionOf([]byte("new"))}, v)
	v = ok[writeValue](w, "write", "path", "x/y/z", "content", "")
	assert.Equal(t, writeValue{Path: "x/y/z", Version: versionOf(nil), Created: true}, v)
	ok[writeValue](w, "write", "path", "exec", "content", "#!/bin/sh")
	info, err := os.Stat(filepath.Join(w.dir, "exec"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o754), info.Mode().Perm(), "the mode is kept")

	ok[writeValue](w, "write", "path", "l", "content", "through the link")
	assert.Equal(t, "through the link", w.text("a"))
	info, err = os.Lstat(filepath.Join(w.dir, "l"))
	require.NoError(t, err)
	assert.Equal(t, os.ModeSymlink, info.Mode().Type(), "the link stays")
	assert.Equal(t, "new/deep", ok[writeValue](w, "write", "path", "dangling", "content", "x").Path)
	assert.Equal(t, "x", w.text("new/deep"))

	assert.Equal(t, "d: it is a directory", w.fails("write", "path", "d", "content", ""))
	assert.Equal(t, ".: it is a directory", w.fails("write", "path", ".", "content", ""))
	assert.Equal(t, "ro: it is read-only", w.fails("write", "path", "ro", "content", ""))
	assert.Equal(t, "a/b: something on the way to it is not a directory", w.fails("write", "path", "a/b", "content", ""))
	assert.Equal(t, "a/b/c: something on the way to it is not a directory", w.fails("write", "path", "a/b/c", "content", ""))
	assert.Contains(t, w.fails("write", "path", strings.Repeat("n", 300), "content", ""), "file name too long")
	assert.Contains(t, w.fails("write", "path", "a\x00", "content", ""), "NUL")
	assert.Contains(t, w.fails("write", "path", "", "content", ""), "path is empty")
	assert.Empty(t, w.leftovers())
}

// Calls that write side by side in a directory that none of them finds there are free, and none notices another.
func TestSiblingsInANewDirectory(t *testing.T) {
	var calls []tool.Call
	var wave []int
	for i := range 8 {
		calls = append(calls, call("write", "path", fmt.Sprintf("new/deep/er/%d", i), "content", "x"))
		wave = append(wave, i)
	}
	calls[6] = call("make_directory", "path", "new/deep/er/6/7")
	calls[7] = call("move", "from", "a", "to", "new/deep/er/7")
	for range 30 {
		w := newWorld(t, "a = A")
		require.Equal(t, [][]int{wave}, w.waves(calls...))
		for _, r := range w.run(calls) {
			require.False(t, r.IsError, r.Text())
		}
	}
}

func TestVersionPrecondition(t *testing.T) {
	w := newWorld(t, "a = one")
	v1 := ok[readValue](w, "read", "path", "a").Version
	assert.Len(t, v1, 16)
	v2 := ok[writeValue](w, "write", "path", "a", "content", "two", "version", v1).Version
	assert.Equal(t, "a: it has changed since it was read at version "+v1+": it is at version "+v2+" now; read it again",
		w.fails("write", "path", "a", "content", "three", "version", v1))
	assert.Contains(t, w.fails("edit", "path", "a", "old", "two", "new", "three", "version", v1), "has changed since")
	assert.Equal(t, "two", w.text("a"))
	v3 := ok[writeValue](w, "edit", "path", "a", "old", "two", "new", "three", "version", v2).Version
	assert.Equal(t, v3, ok[readValue](w, "read", "path", "a").Version)

	assert.Contains(t, w.fails("write", "path", "a", "content", "x", "version", Absent), "exists already, at version "+v3)
	assert.True(t, ok[writeValue](w, "write", "path", "new/b", "content", "x", "version", Absent).Created)
	assert.Contains(t, w.fails("write", "path", "gone/c", "content", "x", "version", v1), "it is gone")
	assert.False(t, w.exists("gone"), "a refused write makes no directory")
	assert.Contains(t, w.fails("edit", "path", "c", "old", "x", "new", "y", "version", v1), "it is gone")
	assert.Contains(t, w.fails("edit", "path", "c", "old", "x", "new", "y", "version", Absent), "no such file")
}

func TestEdit(t *testing.T) {
	w := newWorld(t, "a = x y x", "bytes = \xff x \x00", "d/")
	require.NoError(t, os.Chmod(filepath.Join(w.dir, "a"), 0o600))
	assert.Equal(t, "a: the text to replace is in it 2 times; give more of the text around the one that is meant, or set replace_all", w.fails("edit", "path", "a", "old", "x", "new", "z"))
	assert.Equal(t, "a: the text to replace is not in it", w.fails("edit", "path", "a", "old", "w", "new", "z"))
	assert.Contains(t, w.fails("edit", "path", "a", "old", "", "new", "z"), "old is empty")
	assert.Contains(t, w.fails("edit", "path", "a", "old", "x", "new", "x"), "nothing to change")
	assert.Contains(t, w.fails("edit", "path", "missing", "old", "x", "new", "y"), "no such file")
	assert.Contains(t, w.fails("edit", "path", "d", "old", "x", "new", "y"), "directory")
	assert.Equal(t, "x y x", w.text("a"))

	v := ok[writeValue](w, "edit", "path", "a", "old", "x", "new", "$1", "replace_all", true)
	assert.Equal(t, 2, v.Replaced)
	assert.Equal(t, "$1 y $1", w.text("a"))
	info, err := os.Stat(filepath.Join(w.dir, "a"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	ok[writeValue](w, "edit", "path", "bytes", "old", "x", "new", "é")
	assert.Equal(t, "\xff é \x00", w.text("bytes"), "bytes that are no text are kept")
}

// The package's documentation names the tools and arguments that the schemas have, no others.
func TestDocNamesToolsAndArguments(t *testing.T) {
	source, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	documented := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^//\t(\w+) +(.+)$`).FindAllStringSubmatch(string(source), -1) {
		documented[m[1]] = strings.Fields(m[2])
		slices.Sort(documented[m[1]])
	}
	defined := map[string][]string{}
	for _, d := range newWorld(t).reg.Definitions() {
		var schema struct {
			Properties map[string]any
			Required   []string
		}
		require.NoError(t, json.Unmarshal(d.Parameters, &schema))
		for name := range schema.Properties {
			if !slices.Contains(schema.Required, name) {
				name = "[" + name + "]"
			}
			defined[d.Name] = append(defined[d.Name], name)
		}
		slices.Sort(defined[d.Name])
	}
	assert.Equal(t, defined, documented)
}

func TestList(t *testing.T) {
	w := newWorld(t, "b = 12345", "d/x = 1", "l -> d", "line\nbreak = ", "\xff/in = ", "empty/")
	require.NoError(t, os.Symlink(w.dir, filepath.Join(w.dir, "abs")))
	assert.Equal(t, ".: 7 entries\nabs (a link)\nb  5 bytes\nd/\nempty/\nl -> d\n\"line\\nbreak\"  0 bytes\n\"\\xff\"/", w.do("list").Text())
	assert.Equal(t, "d: 1 entry\nx  1 byte", w.do("list", "path", "d").Text())
	assert.Equal(t, listValue{Path: "d", Entries: []entry{{Name: "x", Kind: "file", Size: 1}}}, ok[listValue](w, "list", "path", "l"))
	assert.Equal(t, listValue{Path: "empty", Entries: []entry{}}, ok[listValue](w, "list", "path", "empty"))
	assert.Contains(t, w.fails("list", "path", "b"), "no directory")
	assert.Contains(t, w.fails("list", "path", "missing"), "no such file")

	fill(t, w.dir, "links/in -> ../d/x", "links/out -> ../../secret", "links/odd -> x/../../../secret")
	assert.Equal(t, "links: 3 entries\nin -> ../d/x\nodd (a link)\nout (a link)", w.do("list", "path", "links").Text(), "nothing outside is named")

	for i := range maxEntries + 5 {
		fill(t, w.dir, fmt.Sprintf("many/%04d = ", i))
	}
	v := ok[listValue](w, "list", "path", "many")
	assert.Len(t, v.Entries, maxEntries)
	assert.Equal(t, 5, v.More)
}

func TestGrep(t *testing.T) {
	w := newWorld(t, "a.go = func A\nfunc b\r\n", "d/b.go = FUNC\n", "d/c.txt = func c\n", "bin = func\x00", "latin = func \xe9", "l -> d",
		".gitignore = ignored/\n*.log\n", "ignored/x.go = func\n", "d/x.log = func\n", "d/.gitignore = !x.log\n",
		".git/config = func\n", "long = "+strings.Repeat("é", 1000)+" func\n")
	lines := func(args ...any) []string {
		text := w.do("grep", args...).Text()
		_, rest, _ := strings.Cut(text, "\n")
		if rest == "" {
			return nil
		}
		return strings.Split(rest, "\n")
	}
	assert.Equal(t, []string{"a.go:1:func A", "a.go:2:func b", "d/c.txt:1:func c", "d/x.log:1:func",
		"long:1:" + strings.Repeat("é", maxShown/2) + " [cut, 2005 bytes]"}, lines("pattern", "func"))
	assert.Equal(t, []string{"a.go:1:func A", "a.go:2:func b"}, lines("pattern", "func .$", "glob", "*.go"))
	assert.Equal(t, []string{"d/b.go:1:FUNC"}, lines("pattern", "func", "ignore_case", true, "glob", "d/*.go"))
	assert.Equal(t, []string{"d/c.txt:1:func c"}, lines("pattern", " c$", "path", "l"), "a path that is a link is followed")
	assert.Equal(t, []string{"ignored/x.go:1:func"}, lines("pattern", "func", "path", "ignored"), "what is asked for by name is searched")
	assert.Contains(t, lines("pattern", "func", "ignored", true), "ignored/x.go:1:func")
	assert.Contains(t, lines("pattern", "func", "ignored", true), ".git/config:1:func")
	assert.Contains(t, w.do("grep", "pattern", "func").Text(), "2 files skipped")
	v := ok[grepValue](w, "grep", "pattern", "A", "path", "a.go")
	assert.Equal(t, grepValue{Path: "a.go", Matches: []match{{"a.go", 1, "func A"}}, Files: 1}, v)
	assert.Contains(t, w.fails("grep", "pattern", "("), "pattern")
	assert.Contains(t, w.fails("grep", "pattern", "x", "glob", "["), "malformed")
	assert.Contains(t, w.fails("grep", "pattern", "x", "path", "missing"), "no such file")

	fill(t, w.dir, "many = "+strings.Repeat("hit\n", maxMatches+1))
	v = ok[grepValue](w, "grep", "pattern", "hit", "path", "many")
	assert.Len(t, v.Matches, maxMatches)
	assert.True(t, v.More)
}

// A line that takes long is searched as others are, and is given up when the call is cancelled in the midst of it.
func TestGrepLongLines(t *testing.T) {
	w := newWorld(t, "long = x"+strings.Repeat("ab", 32<<10)+"c\nshort\n")
	for pattern, found := range map[string]int{"bc$": 1, "^xab": 1, "c.": 0, "^ab": 0, "nowhere.*": 0, "^x(a|b|.)*c$": 1, "(?i)BC": 1, "": 2, "^short$": 1} {
		assert.Len(t, ok[grepValue](w, "grep", "pattern", pattern).Matches, found, pattern)
	}
	line := []byte(strings.Repeat("ab", 32<<10) + "c")
	ctx := &fuse{t.Context(), 2}
	assert.False(t, matches(ctx, regexp.MustCompile("[b]c$"), line))
	assert.Less(t, ctx.left, 0, "it asked in the midst of the line")
}

// What a search ignores is decided by files that it reads, also above where it searches.
func TestSearchesClaimTheIgnoreFiles(t *testing.T) {
	w := newWorld(t, "d/e/f = x")
	for _, search := range []tool.Call{call("grep", "pattern", "x", "path", "d/e"), call("glob", "pattern", "*", "path", "d/e")} {
		for _, file := range []string{".gitignore", "d/.gitignore", "d/e/.gitignore"} {
			assert.Equal(t, [][]int{{0}, {1}}, w.waves(call("write", "path", file, "content", ""), search), file)
		}
		assert.Equal(t, [][]int{{0, 1}}, w.waves(call("write", "path", "d/other", "content", ""), search))
		search.Arguments = strings.Replace(search.Arguments, "{", `{"ignored":true,`, 1)
		assert.Equal(t, [][]int{{0, 1}}, w.waves(call("write", "path", "d/.gitignore", "content", ""), search), "it does not read it")
	}
}

func TestGlob(t *testing.T) {
	w := newWorld(t, "a.go = ", "d/b.go = ", "d/e/c.go = ", "l -> d", ".gitignore = *.log", "x.log = ")
	assert.Equal(t, []string{"a.go", "d/b.go", "d/e/c.go"}, ok[globValue](w, "glob", "pattern", "**/*.go").Paths)
	assert.Equal(t, []string{"d/b.go", "d/e/"}, ok[globValue](w, "glob", "pattern", "*", "path", "l").Paths)
	assert.Equal(t, []string{"a.go", "d/b.go"}, ok[globValue](w, "glob", "pattern", "{a,d/b}.go").Paths)
	assert.Equal(t, []string{"x.log"}, ok[globValue](w, "glob", "pattern", "*.log", "ignored", true).Paths)
	assert.Empty(t, ok[globValue](w, "glob", "pattern", "../*").Paths)
	assert.Contains(t, w.fails("glob", "pattern", "{"), "malformed")
	assert.Contains(t, w.fails("glob", "pattern", ""), "empty")
	// Each comma adds an alternative, each pair of braces multiplies: no name is compared with billions of patterns.
	assert.Contains(t, w.fails("glob", "pattern", strings.Repeat("{"+strings.Repeat(",", 100)+"}", 6)+"z"), "too many alternatives")
	assert.Contains(t, w.fails("grep", "pattern", "x", "glob", strings.Repeat("{a,b}", 10)), "too many alternatives")
	assert.Contains(t, w.fails("glob", "pattern", strings.Repeat("{", 499)+strings.Repeat(",}", 499)), "too many alternatives")
	assert.Equal(t, []string{"a.go"}, ok[globValue](w, "glob", "pattern", "{"+strings.Repeat("b.go,", 100)+"a.go}").Paths)
	assert.Contains(t, w.fails("glob", "pattern", "*", "path", "a.go"), "no directory")
	for i := range maxEntries + 1 {
		fill(t, w.dir, fmt.Sprintf("many/%04d = ", i))
	}
	v := ok[globValue](w, "glob", "pattern", "many/*")
	assert.Len(t, v.Paths, maxEntries)
	assert.True(t, v.More)
}

func TestMove(t *testing.T) {
	w := newWorld(t, "a = A", "b = B", "d/x = X", "l -> d", "out -> /etc")
	v := ok[moveValue](w, "move", "from", "a", "to", "new/dir/a2")
	assert.Equal(t, moveValue{From: "a", Path: "new/dir/a2", Kind: "file", Size: 1, Version: versionOf([]byte("A"))}, v)
	assert.Equal(t, "b: it exists already; set overwrite to replace it", w.fails("move", "from", "new/dir/a2", "to", "b"))
	ok[moveValue](w, "move", "from", "new/dir/a2", "to", "b", "overwrite", true)
	assert.Equal(t, "A", w.text("b"))
	assert.Contains(t, w.fails("move", "from", "b", "to", "d", "overwrite", true), "it is a directory")
	assert.Contains(t, w.fails("move", "from", "d", "to", "b", "overwrite", true), "cannot be replaced by a directory")
	assert.Contains(t, w.fails("move", "from", "d", "to", "d/sub/d"), "into itself")
	assert.Contains(t, w.fails("move", "from", "l/../d", "to", "l/sub"), "into itself")
	assert.Contains(t, w.fails("move", "from", ".", "to", "x"), "root itself")
	assert.Contains(t, w.fails("move", "from", "missing", "to", "far/away"), "missing: no such file")
	assert.False(t, w.exists("far"))
	assert.Equal(t, "directory", ok[moveValue](w, "move", "from", "d", "to", "d2").Kind)
	assert.Equal(t, "link", ok[moveValue](w, "move", "from", "out", "to", "out2").Kind, "the link itself")
	assert.True(t, w.exists("out2"))

	require.NoError(t, os.Link(filepath.Join(w.dir, "b"), filepath.Join(w.dir, "hard")))
	ok[moveValue](w, "move", "from", "b", "to", "hard", "overwrite", true)
	assert.False(t, w.exists("b"), "also where both are one file")
	assert.Equal(t, "A", w.text("hard"))
}

// A policy may take two files for one, but none of them gets lost by it.
func TestMoveBetweenNamesThatOnlyThePolicyMerges(t *testing.T) {
	w := open(t, newWorld(t, "a = lower", "A = upper").dir, Keys(keys.FoldCase(true), keys.FoldUnicode(true)))
	if w.text("a") == "upper" {
		return // here they are one file indeed
	}
	assert.Equal(t, "A: it exists already; set overwrite to replace it", w.fails("move", "from", "a", "to", "A"))
	assert.Equal(t, "upper", w.text("A"))
	ok[moveValue](w, "move", "from", "a", "to", "A", "overwrite", true)
	assert.Equal(t, "lower", w.text("A"))
	assert.False(t, w.exists("a"))
}

func TestRemove(t *testing.T) {
	w := newWorld(t, "a = A", "d/x = X", "empty/", "l -> d", "out -> /etc")
	assert.Equal(t, "a: file removed", w.do("remove", "path", "a").Text())
	assert.Equal(t, "a: no such file or directory", w.fails("remove", "path", "a"))
	assert.Equal(t, "link", ok[pathValue](w, "remove", "path", "l", "recursive", true).Kind)
	assert.Equal(t, "link", ok[pathValue](w, "remove", "path", "out").Kind)
	assert.Equal(t, "X", w.text("d/x"), "what the link led to stays")
	ok[pathValue](w, "remove", "path", "empty")
	assert.Equal(t, "d: it is a directory that is not empty; set recursive to remove everything in it", w.fails("remove", "path", "d"))
	ok[pathValue](w, "remove", "path", "d", "recursive", true)
	assert.False(t, w.exists("d"))
	assert.Contains(t, w.fails("remove", "path", ".", "recursive", true), "root itself")
}

func TestMakeDirectory(t *testing.T) {
	w := newWorld(t, "a = A")
	assert.True(t, ok[pathValue](w, "make_directory", "path", "x/y").Created)
	assert.False(t, ok[pathValue](w, "make_directory", "path", "x/y").Created)
	assert.False(t, ok[pathValue](w, "make_directory", "path", ".").Created)
	assert.Contains(t, w.fails("make_directory", "path", "a"), "no directory")
	assert.Contains(t, w.fails("make_directory", "path", "a/b"), "not a directory")
}

// A fuse is a context that is cancelled once it has been asked a number of times.
type fuse struct {
	context.Context
	left int
}

func (f *fuse) Err() error {
	if f.left--; f.left < 0 {
		return context.Canceled
	}
	return nil
}

// Wherever a cancel comes, the call ends there, and a file that was to be replaced is what it was.
func TestCancelledCallsStop(t *testing.T) {
	w := newWorld(t, "a = A", "long = "+strings.Repeat("line\n", 1<<16))
	for i := range 50 {
		fill(t, w.dir, fmt.Sprintf("d/%04d/f = x", i))
	}
	before, err := Digest(context.Background(), w.dir)
	require.NoError(t, err)
	for name, body := range map[string]func(context.Context) error{
		"grep": func(ctx context.Context) error { _, err := w.f.grep(ctx, grepArgs{Pattern: "nothing"}); return err },
		"grep on": func(ctx context.Context) error {
			_, err := w.f.grep(ctx, grepArgs{Pattern: "nothing", Path: "long"})
			return err
		},
		"glob": func(ctx context.Context) error { _, err := w.f.glob(ctx, globArgs{Pattern: "nothing"}); return err },
		"list": func(ctx context.Context) error { _, err := w.f.list(ctx, listArgs{Path: "d"}); return err },
		"read": func(ctx context.Context) error { _, err := w.f.read(ctx, readArgs{Path: "long"}); return err },
		"write": func(ctx context.Context) error {
			_, err := w.f.write(ctx, writeArgs{Path: "a", Content: "new", Version: versionOf([]byte("A"))})
			return err
		},
		"edit": func(ctx context.Context) error {
			_, err := w.f.edit(ctx, editArgs{Path: "a", Old: "A", New: "B"})
			return err
		},
		"move":   func(ctx context.Context) error { _, err := w.f.move(ctx, moveArgs{From: "a", To: "b"}); return err },
		"digest": func(ctx context.Context) error { _, err := Digest(ctx, w.dir); return err },
	} {
		for at := range 3 {
			ctx := &fuse{context.Background(), at}
			err := body(ctx)
			if name == "move" && at > 1 {
				continue // it is through
			}
			require.ErrorIs(t, err, context.Canceled, "%s at check %d", name, at)
			assert.GreaterOrEqual(t, ctx.left, -3, "%s goes on after the cancel", name)
			after, err := Digest(context.Background(), w.dir)
			require.NoError(t, err)
			require.Equal(t, before, after, "%s at check %d", name, at)
		}
	}
}

func TestDigest(t *testing.T) {
	digest := func(dir string) string {
		d, err := Digest(context.Background(), dir)
		require.NoError(t, err)
		return d
	}
	base := []string{"a = A", "d/b = B", "l -> a", "\xff = "}
	want := digest(newWorld(t, base...).dir)
	assert.Equal(t, want, digest(newWorld(t, base...).dir), "wherever it is")
	for _, change := range [][]string{{"new = "}, {"e/"}, {"l2 -> a"}} {
		assert.NotEqual(t, want, digest(newWorld(t, append(change, base...)...).dir), change)
	}
	w := newWorld(t, base...)
	require.NoError(t, os.Chmod(filepath.Join(w.dir, "a"), 0o600))
	assert.NotEqual(t, want, digest(w.dir), "a mode")
	w = newWorld(t, "a = B", "d/b = A", "l -> a", "\xff = ")
	assert.NotEqual(t, want, digest(w.dir), "contents")
	_, err := Digest(context.Background(), filepath.Join(w.dir, "missing"))
	require.Error(t, err)
}

func TestNewRefuses(t *testing.T) {
	w := newWorld(t, "a = A")
	for _, name := range []string{"a", "missing"} {
		_, err := New(filepath.Join(w.dir, name))
		require.Error(t, err)
	}
	require.NoError(t, w.f.Close())
	r, err := tool.Execute(context.Background(), w.reg, call("read", "path", "a"))
	require.NoError(t, err)
	assert.True(t, r.IsError)
}
