package files

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The expectations are those of git check-ignore.
func TestIgnoreRules(t *testing.T) {
	for _, tt := range []struct {
		file    string
		ignored []string // a slash at the end: a directory
		kept    []string
	}{
		{"x", []string{"x", "x/", "d/x", "d/e/x/"}, []string{"xx", "X"}},
		{"/x", []string{"x"}, []string{"d/x"}},
		{"d/x", []string{"d/x"}, []string{"e/d/x", "x"}},
		{"x/", []string{"x/", "d/x/"}, []string{"x", "d/x"}},
		{"/x/", []string{"x/"}, []string{"x", "d/x/"}},
		{"*.log", []string{"a.log", "d/.log"}, []string{"a.logs", "log"}},
		{"*.log\n!keep.log", []string{"a.log"}, []string{"keep.log", "d/keep.log"}},
		{"!keep.log\n*.log", []string{"keep.log"}, nil},
		{"a?c", []string{"abc"}, []string{"ac", "abbc"}},
		{"[ab]1", []string{"a1", "b1"}, []string{"c1"}},
		{"[!ab]1", []string{"c1"}, []string{"a1"}},
		{"**/x", []string{"x", "d/x", "d/e/x"}, nil},
		{"d/**", []string{"d/x", "d/e/x", "d/e/"}, []string{"d/", "e/d/x"}},
		{"a/**/b", []string{"a/b", "a/x/b", "a/x/y/b"}, []string{"b", "a/bb"}},
		{"a**b", []string{"ab", "axxb"}, []string{"a/b"}},
		{"d/*.c", []string{"d/x.c"}, []string{"d/e/x.c", "x.c"}},
		{"# x\n\\#y\n\\!z", []string{"#y", "!z"}, []string{"x", "# x"}},
		{"x  \ny\\ ", []string{"x", "y "}, []string{"x  ", "y"}},
		{"x\r\ny\r\n", []string{"x", "y"}, nil},
		{"\ufeffx", []string{"x"}, nil},
		{"{a,b}", []string{"{a,b}"}, []string{"a", "b"}},
		{"a.c", []string{"a.c"}, []string{"abc"}},
		{"[\nx", []string{"x"}, []string{"["}},
		{"\n/\n!\n  \n", nil, []string{"x", "d/"}},
	} {
		l := &layer{dir: ".", rules: parseIgnore(tt.file)}
		for want, names := range map[bool][]string{true: tt.ignored, false: tt.kept} {
			for _, name := range names {
				isDir := name[len(name)-1] == '/'
				rel := name
				if isDir {
					rel = name[:len(name)-1]
				}
				assert.Equal(t, want, l.ignored(rel, isDir), "%q by %q", name, tt.file)
			}
		}
	}
}

func TestIgnoreFilesBelow(t *testing.T) {
	top := &layer{dir: ".", rules: parseIgnore("*.log\n/only-top")}
	deep := &layer{above: top, dir: "d/e", rules: parseIgnore("!keep.log\n/here")}
	assert.True(t, deep.ignored("d/e/a.log", false))
	assert.False(t, deep.ignored("d/e/keep.log", false), "the deeper file has the last word")
	assert.True(t, deep.ignored("d/e/here", false))
	assert.False(t, deep.ignored("d/e/f/here", false))
	assert.False(t, deep.ignored("d/e/only-top", false))
	assert.True(t, top.ignored("d/keep.log", false))
}

// An ignore file that is out of all proportion says nothing, rather than taking memory many times its size.
func TestIgnoreFilesThatAreTooLarge(t *testing.T) {
	rules := strings.Repeat("f\n", maxIgnore/2)
	w := newWorld(t, "f = x", ".gitignore = "+rules)
	assert.Equal(t, 0, len(ok[grepValue](w, "grep", "pattern", "x").Matches))
	fill(t, w.dir, ".gitignore = "+rules+"#")
	assert.Equal(t, 1, len(ok[grepValue](w, "grep", "pattern", "x").Matches))
}
