package main

import (
	"bufio"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// What holds of the whole module has to be tested somewhere, and its top level has no package.
const top = "../../.."

// testFiles returns the sources of the module's test files whose names end in suffix.
func testFiles(t *testing.T, suffix string) map[string][]byte {
	sources := map[string][]byte{}
	require.NoError(t, filepath.WalkDir(top, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, suffix) {
			sources[path], err = os.ReadFile(path)
		}
		return err
	}))
	require.NotEmpty(t, sources)
	return sources
}

// TestEveryCaseHasItsTest keeps the failures of other people's agents that this module answers for, in testdata, and
// the tests named after them together.
func TestEveryCaseHasItsTest(t *testing.T) {
	named := map[string]bool{}
	for _, source := range testFiles(t, "_test.go") {
		for _, m := range regexp.MustCompile(`(?m)^func TestCase_(\w+)\(`).FindAllSubmatch(source, -1) {
			named[strings.ReplaceAll(string(m[1]), "_", "-")] = true
		}
	}
	f, err := os.Open("testdata/cases.jsonl")
	require.NoError(t, err)
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var c struct{ ID string }
		require.NoError(t, json.Unmarshal(s.Bytes(), &c))
		assert.True(t, named[c.ID], "no test is named after case %s", c.ID)
		delete(named, c.ID)
	}
	assert.Empty(t, named, "tests are named after cases that are not in testdata")
}

// TestReadmeSnippetsAreExamples holds the README to the examples, which are compiled and checked: each of its pieces of
// Go is a part of one.
func TestReadmeSnippetsAreExamples(t *testing.T) {
	var examples []string
	for path, source := range testFiles(t, "example_test.go") {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, source, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Example") {
				body := source[set.Position(f.Body.Pos()).Offset:set.Position(f.Body.End()).Offset]
				examples = append(examples, flat(string(body)))
			}
		}
	}
	snippets := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(readme(t), -1)
	require.NotEmpty(t, snippets)
	for _, s := range snippets {
		found := false
		for _, e := range examples {
			found = found || strings.Contains(e, flat(s[1]))
		}
		assert.True(t, found, "no example has this part of the README:\n%s", s[1])
	}
}

// TestAnAgentIsShort holds the README to what it says of the example of a whole agent.
func TestAnAgentIsShort(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(top, "harness/agent_example_test.go"))
	require.NoError(t, err)
	agent := regexp.MustCompile(`(?ms)^func ExampleAgent\(\) \{\n(.*?)^\}$`).FindSubmatch(source)
	require.NotNil(t, agent)
	assert.Less(t, strings.Count(string(agent[1]), "\n"), 60)
	assert.Contains(t, readme(t), "a whole agent in 60 lines")
}

// programsInReadme is the section on programs.
func programsInReadme(t *testing.T) string {
	_, section, ok := strings.Cut(readme(t), "\n## Programs\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// TestAHostOfProgramsIsShort holds the README to what a host has to write: one piece of Go, which is a part of an example.
func TestAHostOfProgramsIsShort(t *testing.T) {
	snippets := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(programsInReadme(t), -1)
	require.Len(t, snippets, 1)
	assert.Less(t, strings.Count(snippets[0][1], "\n"), 30)
	for _, needs := range []string{"js.New(", "js.Worker()", "codemode.New(", "runtime.Close()"} {
		assert.Contains(t, snippets[0][1], needs)
	}
}

// TestReadmeShowsWhatAModelSees holds the excerpt in the README to what the model is told of the file tools.
func TestReadmeShowsWhatAModelSees(t *testing.T) {
	excerpt := regexp.MustCompile("(?s)```ts\n(.*?)```").FindStringSubmatch(programsInReadme(t))
	require.NotNil(t, excerpt)
	b := new(batch)
	closeTools, err := b.openTools(t.TempDir())
	require.NoError(t, err)
	defer closeTools()
	end, err := codeFlag{"code"}.present(host{runtime: inProcess}, "", b)
	require.NoError(t, err)
	defer end()
	defs := b.tools.Definitions()
	require.Len(t, defs, 1)
	rest := flat(defs[0].Description)
	for _, part := range strings.Split(excerpt[1], "…\n") {
		lines := flat(part)
		at := strings.Index(rest, strings.TrimSuffix(lines, "\n"))
		require.GreaterOrEqual(t, at, 0, "no model is told this, or not in this order:\n%s", part)
		rest = rest[at+len(lines)-1:]
	}
}

// TestReadmeShowsTheDemo holds the waterfall in the README to what the demo shows.
func TestReadmeShowsTheDemo(t *testing.T) {
	demo, err := os.ReadFile("testdata/demo.txt")
	require.NoError(t, err)
	shown := 0
	for _, m := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(programsInReadme(t), -1) {
		for line := range strings.Lines(m[2]) {
			if m[1] == "" && strings.TrimSpace(line) != "…" {
				shown++
				assert.True(t, strings.Contains(string(demo), line), "the demo does not show %q", line)
			}
		}
	}
	assert.NotZero(t, shown)
}

// TestReadmeShowsAReplay holds the excerpt in the README to what the command prints of the batches in this tree, which
// [TestReplayRecordedBatches] holds the golden file to.
func TestReadmeShowsAReplay(t *testing.T) {
	_, section, ok := strings.Cut(readme(t), "\n## Your own sessions\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	_, excerpt, ok := strings.Cut(section, "\n$ keywave replay bench/testdata\n")
	require.True(t, ok)
	excerpt, _, _ = strings.Cut(excerpt, "```")
	text, err := os.ReadFile("testdata/replay-recorded.txt")
	require.NoError(t, err)
	rest := "\n" + string(text)
	for _, part := range strings.Split(excerpt, "…\n") {
		at := strings.Index(rest, "\n"+part)
		require.GreaterOrEqual(t, at, 0, "it does not print this, or not in this order:\n%s", part)
		rest = rest[at+len(part):]
	}
	assert.True(t, strings.HasPrefix(string(text), "338 batches ") && strings.Contains(section, "the 338 recorded batches "))
}

// What each package may bring along besides the standard library: who does not run programs gets no engine.
var mayImport = map[string][]string{
	"plan":    {},
	"exec":    {"plan", "golang.org/x/sync/semaphore"},
	"tool":    nil, // more, but no engine
	"harness": nil,
}

func TestEngineStaysOut(t *testing.T) {
	const module = "github.com/keywave-go/keywave/"
	for name, allowed := range mayImport {
		out, err := osexec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", module+name).Output()
		require.NoError(t, err)
		deps := strings.Fields(string(out))
		assert.Contains(t, deps, module+name)
		for _, d := range deps {
			own := strings.TrimPrefix(d, module)
			for _, engine := range []string{"modernc.org", "esbuild", "codemode"} {
				assert.NotContains(t, d, engine, "of %s", name)
			}
			if allowed != nil && own != name {
				assert.Contains(t, allowed, own, "of %s", name)
			}
		}
	}
}

// TestReadmeLinksExist holds the README to the tree.
func TestReadmeLinksExist(t *testing.T) {
	links := regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(readme(t), -1)
	require.NotEmpty(t, links)
	for _, m := range links {
		_, err := os.Stat(filepath.Join(top, m[1]))
		assert.NoError(t, err)
	}
}

// TestReadmeBatchHasItsWaves holds the batch in the README, and the waves that it shows above it, to the planners.
func TestReadmeBatchHasItsWaves(t *testing.T) {
	text, figure := "", "" // of those above the batch, the last block with a line of each
	for _, m := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(readme(t), -1) {
		switch language, block := m[1], "\n"+m[2]; {
		case language == "json":
			require.Empty(t, text, "one batch")
			text = block
		case language == "" && text == "" && strings.Contains(block, "\nfirst-fit ") && strings.Contains(block, "\nkeywave "):
			figure = block
		}
	}
	require.NotEmpty(t, text, "the README has a batch")
	require.NotEmpty(t, figure, "the README has a figure above its batch")

	calls, err := tool.ParseCalls([]byte(text))
	require.NoError(t, err)
	b := &batch{calls: calls}
	closeTools, err := b.openTools(t.TempDir())
	require.NoError(t, err)
	defer closeTools()
	claims := tool.Calls(b.registry, calls)
	for name, p := range map[string]plan.Plan{"first-fit": plan.FirstFit(claims), "keywave": plan.Ordered(claims)} {
		line := regexp.MustCompile("(?m)^"+name+" .*$").FindAllString(figure, -1)
		require.Len(t, line, 1, "the figure has one line of %s", name)
		var shown [][]int
		for w, m := range regexp.MustCompile(`wave (\d+):((?: \d+)+)`).FindAllStringSubmatch(line[0], -1) {
			assert.Equal(t, strconv.Itoa(w+1), m[1], "waves count from 1")
			var wave []int
			for _, number := range strings.Fields(m[2]) {
				call, err := strconv.Atoi(number)
				require.NoError(t, err)
				wave = append(wave, call-1)
			}
			shown = append(shown, wave)
		}
		assert.Equal(t, p.Waves(), shown, "the waves of %s, counted from 0", name)
	}
}

func readme(t *testing.T) string {
	text, err := os.ReadFile(filepath.Join(top, "README.md"))
	require.NoError(t, err)
	return string(text)
}

// flat drops indentation and empty lines.
func flat(code string) string {
	var lines []string
	for _, l := range strings.Split(code, "\n") {
		if l = strings.TrimSpace(l); l != "" {
			lines = append(lines, l)
		}
	}
	return "\n" + strings.Join(lines, "\n") + "\n"
}
