package rules_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/rules"
)

const editor = `{"rules":1,"tools":{"w":{"safe":true,"writes":[{"path":"p"}]}}}`

func TestSpellingsOfAPath(t *testing.T) {
	r := parse(t, editor)
	for _, c := range []struct{ dir, a, b, same string }{
		{"/w", "a", "/w/a", "file/w/a"},
		{"/w/", "./x/../a", "/w//a", "file/w/a"},
		{"/w", "../a", "/a", "file/a"},
		{"/w", "../../../a", "/a", "file/a"},
		{"/Users/me", "A.go", "/users/ME/a.go", "file/users/me/a.go"},
		{`C:\Users\me`, `src\a.go`, `c:/users/ME/SRC/A.go`, "file/c:/users/me/src/a.go"},
		{`C:\w`, `\\?\C:\w\a`, "a", "file/c:/w/a"},
		{"", "a/./b", "a//b", "file/(working directory)/a/b"},
	} {
		a, b := declare(r, "", c.dir, "w", `{"p":`+quote(c.a)+`}`), declare(r, "", c.dir, "w", `{"p":`+quote(c.b)+`}`)
		both := r.Calls(rules.Where{Dir: c.dir}, []tool.Call{
			{Name: "w", Arguments: `{"p":` + quote(c.a) + `}`}, {Name: "w", Arguments: `{"p":` + quote(c.b) + `}`}})
		assert.Equal(t, []plan.Claim{write(c.same)}, both[0].Claims, "%s in %s: %v", c.a, c.dir, both[0].Why)
		assert.Equal(t, []plan.Claim{write(c.same)}, both[1].Claims, "%s in %s: %v", c.b, c.dir, both[1].Why)
		if c.dir != "" && c.dir != "/Users/me" {
			assert.Equal(t, a.Claims, b.Claims)
		}
	}
	mac := r.Calls(rules.Where{Dir: "/w"}, []tool.Call{{Name: "w", Arguments: `{"p":"/users/ME/a"}`}, {Name: "w", Arguments: `{"p":"/Users/me/A"}`}})
	assert.Equal(t, mac[0].Claims, mac[1].Claims, "one path shows what system it is")
	assert.NotEqual(t, declare(r, "", "/w", "w", `{"p":"A"}`).Claims, declare(r, "", "/w", "w", `{"p":"a"}`).Claims)
}

// What a path means is not clear: the call runs alone, and says why.
func TestUnclearPathsAreExclusive(t *testing.T) {
	r := parse(t, editor)
	for _, c := range []struct {
		dir   string
		paths []string
		why   []string // empty: the call is safe
	}{
		{"", []string{"a", "/w/a"}, []string{"working directory is not known", ""}},
		{"", []string{"../a", "a"}, []string{"leads out of the working directory", ""}},
		{"relative", []string{"a", "/w/a"}, []string{"working directory is not known", ""}},
		{"/w", []string{"~/a", "/home/me/a", "~"}, []string{"whose home", "", "whose home"}},
		{`C:\w`, []string{`\a`, `/c/a`, `C:\a`}, []string{"no drive", "no drive", ""}},
		{"/w", []string{"a\x00b"}, []string{"NUL"}},
	} {
		calls := make([]tool.Call, len(c.paths))
		for i, p := range c.paths {
			calls[i] = tool.Call{Name: "w", Arguments: `{"p":` + quote(p) + `}`}
		}
		for i, d := range r.Calls(rules.Where{Dir: c.dir}, calls) {
			if c.why[i] == "" {
				assert.True(t, d.Safe, "%q in %q: %v", c.paths[i], c.dir, d.Why)
				continue
			}
			assert.Equal(t, plan.Call{}, d.Call, "%q in %q", c.paths[i], c.dir)
			assert.ErrorIs(t, d.Why, rules.ErrArgument)
			assert.ErrorContains(t, d.Why, c.why[i])
		}
	}
}

func TestUnclearArgumentsAreExclusive(t *testing.T) {
	r := parse(t, `{"rules":1,"tools":{
		"w": {"safe":true,"writes":[{"path":["p","q.r"]}]},
		"x": {"safe":true,"writes":[{"patch":"p"}]},
		"u": {"safe":true,"reads":[{"url":"p"}]},
		"n": {"safe":true,"reads":[{"name":"table","of":"p"}]}}}`)
	for _, c := range []struct{ name, arguments, why string }{
		{"w", `{}`, "there is no p"},
		{"w", ``, "there is no p"},
		{"w", `null`, "there is no p"},
		{"w", `"a"`, "there is no p"},
		{"w", `{"p":""}`, "there is no p"},
		{"w", `{"p":7}`, "not text"},
		{"w", `{"p":{"a":1}}`, "an object"},
		{"w", `{"p":["a",7]}`, "not text"},
		{"w", `{"p":["a",null]}`, "not there"},
		{"w", `{"p":[]}`, "there is no p"},
		{"w", `{"q":[{"r":"a"},{"s":"b"}]}`, "not there"},
		{"w", `{"p":"a"`, "not JSON"},
		{"w", `{"p":"a"} {}`, "follows"},
		{"x", `{"p":"no patch"}`, "names no file"},
		{"u", `{"p":"not a URL"}`, "no scheme"},
		{"n", `{"p":{}}`, "an object"},
	} {
		d := declare(r, "", "/w", c.name, c.arguments)
		assert.Equal(t, plan.Call{}, d.Call, c.arguments)
		assert.ErrorIs(t, d.Why, rules.ErrArgument, c.arguments)
		assert.ErrorContains(t, d.Why, c.why, c.arguments)
	}
	for arguments, claims := range map[string][]plan.Claim{
		`{"p":"a","q":{"r":"b"}}`:         {write("file/w/a")},
		`{"p":null,"q":{"r":"b"}}`:        {write("file/w/b")},
		`{"q":[{"r":"b"},{"r":["c"]}]}`:   {write("file/w/b"), write("file/w/c")},
		`{"p":["a","b"],"unrelated":[1]}`: {write("file/w/a"), write("file/w/b")},
	} {
		assert.Equal(t, claims, declare(r, "", "/w", "w", arguments).Claims, arguments)
	}
}

// Two calls whose paths are spellings of one file conflict, however the batch is made up: unless one is exclusive,
// which conflicts as well.
func TestNoConflictIsLost(t *testing.T) {
	r := parse(t, editor)
	rapid.Check(t, func(t *rapid.T) {
		dir := rapid.SampledFrom([]string{"", "/w", "/w/x", `C:\w`, "/Users/me"}).Draw(t, "dir")
		name := rapid.SampledFrom([]string{"a", "x/a", "../a", "x/../a"}).Draw(t, "name")
		spell := func() string {
			s := name
			if rapid.Bool().Draw(t, "dots") {
				s = "./" + s + "/."
			}
			if dir != "" && rapid.Bool().Draw(t, "absolute") {
				s = dir + "/" + s
			}
			return s
		}
		calls := []tool.Call{{Name: "w", Arguments: `{"p":` + quote(spell()) + `}`}, {Name: "w", Arguments: `{"p":` + quote(spell()) + `}`}}
		for range rapid.IntRange(0, 3).Draw(t, "others") {
			other := rapid.SampledFrom([]string{"/w/b", "b", "/Users/b", `D:\b`, "~/b"}).Draw(t, "other")
			calls = append(calls, tool.Call{Name: "w", Arguments: `{"p":` + quote(other) + `}`})
		}
		d := r.Calls(rules.Where{Dir: dir}, calls)
		require.True(t, plan.Conflict(d[0].Call, d[1].Call), "%v: %v, %v", calls, d[0], d[1])
	})
}

// A link and what it leads to are two files: that of a transcript's machine is not here, and one that is here is another.
func TestNothingIsLookedUp(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // links need rights there
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "real"), 0o700))
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "link")))
	r := parse(t, editor)
	calls := []tool.Call{{Name: "w", Arguments: `{"p":"real/a"}`}, {Name: "w", Arguments: `{"p":"link/a"}`}}
	taken := r.Calls(rules.Where{Dir: dir}, calls)
	assert.False(t, plan.Conflict(taken[0].Call, taken[1].Call))
	assert.Equal(t, []plan.Claim{write("file" + filepath.ToSlash(dir) + "/link/a")}, taken[1].Claims)
}

// A path that is longer than any can be is nobody's, and costs no more than to see that.
func TestLongPaths(t *testing.T) {
	r := parse(t, editor)
	most := strings.Repeat("/a", 2000)
	assert.Equal(t, []plan.Claim{write("file" + most)}, declare(r, "", "", "w", `{"p":`+quote(most)+`}`).Claims)
	for _, dir := range []string{"", "/w"} {
		for _, p := range []string{strings.Repeat("/a", 2049), "/" + strings.Repeat("a/", 8<<20), strings.Repeat("a/", 8<<20), strings.Repeat("../", 8<<20)} {
			d := declare(r, "", dir, "w", `{"p":`+quote(p)+`}`)
			assert.ErrorIs(t, d.Why, rules.ErrArgument)
			assert.True(t, d.Exclusive())
		}
	}
	long := declare(r, "", "/"+strings.Repeat("a/", 2100), "w", `{"p":"a"}`)
	assert.Equal(t, []plan.Claim{write("file/(working directory)/a")}, long.Claims, "as if it were not known")
}
