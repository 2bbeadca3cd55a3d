package keys_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool/keys"
)

// waves plans calls that each claim a tree to write.
func waves(t *testing.T, r *keys.Root, calls ...[]string) [][]int {
	t.Helper()
	batch := make([]plan.Call, len(calls))
	for i, paths := range calls {
		batch[i].Safe = true
		for _, p := range paths {
			c, err := r.Tree(p, plan.Write)
			require.NoError(t, err)
			batch[i].Claims = append(batch[i].Claims, c)
		}
	}
	return plan.Ordered(batch).Waves()
}

// A new file behind a linked directory has one key under both names, and keeps it when the first call creates the file.
func TestCase_path_alias_1(t *testing.T) {
	for _, name := range []string{"new.txt", "not/yet/there/new.txt"} {
		dir := tree(t, "target/", "alias -> target")
		r := open(t, dir)
		want := key(t, r, "target/"+name)
		assert.Equal(t, want, key(t, r, "alias/"+name))
		assert.Equal(t, [][]int{{0}, {1}}, waves(t, r, []string{"target/" + name}, []string{"alias/" + name}), "(a)")

		// (b): the first write is planned, runs and creates the file; then the edit is planned.
		first := key(t, r, "alias/"+name)
		fill(t, dir, "target/"+name)
		assert.Equal(t, first, key(t, r, "alias/"+name))
		assert.Equal(t, first, key(t, r, "target/"+name))
		assert.Equal(t, [][]int{{0}, {1}}, waves(t, r, []string{"alias/" + name}, []string{"alias/" + name}))
	}
}

// Letter case, Unicode form and the spelling of a drive: one key a file, by the policy of the root.
func TestCase_path_alias_2(t *testing.T) {
	dir := tree(t)
	folds := open(t, dir, keys.FoldCase(true), keys.FoldUnicode(true), keys.DOSPaths(true))
	alone := []*keys.Root{
		open(t, dir, keys.FoldCase(true), keys.FoldUnicode(false)), open(t, dir, keys.FoldCase(false), keys.FoldUnicode(true)),
		open(t, dir, keys.FoldCase(false), keys.FoldUnicode(false), keys.DOSPaths(true)),
	}
	keeps := open(t, dir, keys.FoldCase(false), keys.FoldUnicode(false), keys.DOSPaths(false))
	for i, pair := range [][2]string{{"New.txt", "new.txt"}, {"caf\u00e9", "cafe\u0301"}, {`C:\p\a`, "c:/p/a"}} {
		for j, one := range alone {
			assert.Equal(t, i == j, key(t, one, pair[0]) == key(t, one, pair[1]), "each fold by itself: %q", pair)
		}
		assert.Equal(t, key(t, folds, pair[0]), key(t, folds, pair[1]), pair)
		assert.Equal(t, [][]int{{0}, {1}}, waves(t, folds, pair[:1], pair[1:]))
		assert.NotEqual(t, key(t, keeps, pair[0]), key(t, keeps, pair[1]), pair)
		assert.Equal(t, [][]int{{0, 1}}, waves(t, keeps, pair[:1], pair[1:]))
	}

	// What the probe decides is what this file system does.
	probed := open(t, dir)
	for _, pair := range [][2]string{{"New.txt", "new.txt"}, {"caf\u00e9", "cafe\u0301"}} {
		fill(t, dir, pair[0])
		_, err := os.Lstat(filepath.Join(dir, pair[1]))
		assert.Equal(t, err == nil, key(t, probed, pair[0]) == key(t, probed, pair[1]), pair)
	}
}

// The claims of one call under two spellings are one claim: the call waits for nobody, least of all for itself.
func TestCase_path_alias_4(t *testing.T) {
	r := open(t, tree(t), keys.FoldCase(true), keys.FoldUnicode(true))
	assert.Equal(t, key(t, r, "State.json"), key(t, r, "state.json"))
	assert.Equal(t, [][]int{{0}}, waves(t, r, []string{"State.json", "state.json"}))

	read, err := r.File("a", plan.Read)
	require.NoError(t, err)
	write, err := r.File("a", plan.Write)
	require.NoError(t, err)
	both := plan.Call{Safe: true, Claims: []plan.Claim{read, write}}
	for _, admission := range []plan.Admission{plan.NewKeyed(), plan.NewWaves()} {
		i := admission.Submit(both)
		got, ok := admission.Next(-1)
		assert.True(t, ok)
		assert.Equal(t, i, got)
		assert.True(t, admission.Start(i, both))
	}
}

// A claim on a directory covers the files in it: there is no kind in a key.
func TestCase_dir_vs_file_1(t *testing.T) {
	r := open(t, tree(t, "root/a.go"))
	for _, dir := range []string{".", "root", "root/"} {
		assert.Equal(t, [][]int{{0}, {1}}, waves(t, r, []string{dir}, []string{"root/a.go"}), dir)
	}
}

// Trees cover by component.
func TestCase_dir_vs_file_2(t *testing.T) {
	r := open(t, tree(t, "lib/foo.ts", "src/"))
	for _, tt := range []struct {
		a, b     string
		access   plan.Access
		conflict bool
	}{
		{"lib", "lib/foo.ts", plan.Read, true},
		{"src/foo", "src/foobar", plan.Write, false},
		{"lib/", "lib", plan.Write, true},
		{".", "x", plan.Write, true},
	} {
		a, err := r.Tree(tt.a, plan.Write)
		require.NoError(t, err)
		b, err := r.Tree(tt.b, tt.access)
		require.NoError(t, err)
		assert.Equal(t, tt.conflict, conflict(plan.Call{Safe: true, Claims: []plan.Claim{a}},
			plan.Call{Safe: true, Claims: []plan.Claim{b}}), "%s and %s", tt.a, tt.b)
	}
}

// Moving a file onto itself, under whatever spelling, claims one key.
func TestCase_two_keys_2(t *testing.T) {
	r := open(t, tree(t, "a"))
	for _, to := range []string{"a", "./a", "x/../a"} {
		assert.Equal(t, key(t, r, "a"), key(t, r, to))
		assert.Equal(t, [][]int{{0}}, waves(t, r, []string{"a", to}))
	}
}
