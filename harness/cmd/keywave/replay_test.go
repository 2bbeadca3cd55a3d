package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/bench/replay"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/rules"
)

// A call of Claude Code, and its result.
func use(message, id, tool, arguments string, ms int) string {
	return fmt.Sprintf(`{"type":"assistant","sessionId":"s","cwd":"/home/secretuser","timestamp":%q,"uuid":"u%s%s","message":{"id":%q,"role":"assistant","content":[`+
		`{"type":"text","text":"secretanswer"},{"type":"tool_use","id":%q,"name":%q,"input":%s}]}}`+"\n", stamp(ms), message, id, message, id, tool, arguments)
}

func result(id string, ms int) string {
	return fmt.Sprintf(`{"type":"user","sessionId":"s","timestamp":%q,"uuid":"r%s","message":{"role":"user","content":[`+
		`{"type":"tool_result","tool_use_id":%q,"content":"secretresult"}]}}`+"\n", stamp(ms), id, id)
}

func stamp(ms int) string {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(ms) * time.Millisecond).Format("2006-01-02T15:04:05.000Z")
}

// answer is one with an edit and two reads, of which one is of the file that the edit changes, and a program.
func answer(n int) string {
	id := func(what string) string { return fmt.Sprintf("%s%d", what, n) }
	m, at := id("m"), n*10_000
	return use(m, id("e"), "Edit", `{"file_path":"/home/secretuser/secretfile","old_string":"secretold","new_string":"secretnew"}`, at) +
		use(m, id("r"), "Read", `{"file_path":"/home/secretuser/secretfile"}`, at) +
		use(m, id("q"), "Read", `{"file_path":"/home/secretuser/other"}`, at) +
		use(m, id("b"), "Bash", `{"command":"secretcommand"}`, at) +
		result(id("e"), at+1000) + result(id("r"), at+2000) + result(id("q"), at+3000) + result(id("b"), at+4000)
}

// replayed runs the command for one document.
func replayJSON(t testing.TB, stdin string, args ...string) replay.Report {
	t.Helper()
	code, out, errOut := keywave(t, stdin, append([]string{"replay", "--format", "json"}, args...)...)
	require.Equal(t, exitDone, code, errOut)
	var r replay.Report
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&r))
	assert.Empty(t, errOut)
	return r
}

func TestReplayRecordedBatches(t *testing.T) {
	t.Chdir(top)
	for name, args := range map[string][]string{"replay-recorded.txt": nil, "replay-recorded.csv": {"--format", "csv", "--limit", "0"}} {
		code, out, errOut := keywave(t, "", append([]string{"replay", "bench/testdata"}, args...)...)
		assert.Equal(t, exitDone, code, errOut)
		assert.Empty(t, errOut)
		if strings.HasSuffix(name, ".csv") {
			out, _, _ = strings.Cut(out, "\nsession,") // the total is enough
			out += "\n"
		}
		// The golden file lies beside this one.
		name := filepath.Join("harness/cmd/keywave/testdata", name)
		if *update {
			require.NoError(t, os.WriteFile(name, []byte(out), 0o644))
		}
		want, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Equal(t, string(want), out)
	}
	r := replayJSON(t, "", "bench/testdata", "--limit", "0")
	assert.Equal(t, []int{338, 1111, 321}, []int{r.Total.Batches, r.Total.Calls, r.Total.Timed}, "as bench/testdata/README.md has them")
	assert.Equal(t, []int{1111, 649, 588}, []int{under(r.Total, "serial").Steps, under(r.Total, "rolling").Steps, under(r.Total, "waves").Steps})
}

// Every format that is read, in one go, as a person has them in a folder.
func TestReplayOfEveryFormat(t *testing.T) {
	t.Chdir(top)
	code, out, errOut := keywave(t, "", "replay", "bench/transcript/testdata", "--limit", "0")
	assert.Equal(t, exitDone, code, errOut)
	for _, format := range []string{"anthropic", "claude-code", "codex", "copilot", "dsh", "gemini", "keywave", "openai", "opencode", "pi"} {
		assert.Regexp(t, `(?m)^`+format+` +\d+ +\d+`, out)
	}
	for _, clock := range []string{"exact", "upper bound", "tail only", "none"} {
		assert.Contains(t, out, "  "+clock+"\n")
	}
}

// The file that an agent writes here can be read here.
func TestReplayOfOwnLog(t *testing.T) {
	s := newSession(t, slowScript)
	require.Equal(t, exitFailed, s.run(t, &invocation{}), "one of its calls fails")
	r := replayJSON(t, "", s.log, "--limit", "0")
	assert.Equal(t, []int{2, 2, 6}, []int{r.Total.Turns, r.Total.Batches, r.Total.Calls})
	require.Len(t, r.Sessions, 1)
	assert.Equal(t, "keywave", r.Sessions[0].Format)
	assert.Empty(t, r.Problems)
	serial, keyed := under(r.Total, "serial"), under(r.Total, "keyed")
	assert.Greater(t, serial.Steps, keyed.Steps)
}

// What is wrong with a transcript is a line in the report, and the figures are those of the rest.
func TestReplayOfBadInput(t *testing.T) {
	good := answer(0)
	long := `{"type":"user","sessionId":"s","uuid":"long","message":{"role":"user","content":"` + strings.Repeat("x", 1<<20) + `"}}` + "\n"
	for name, c := range map[string]struct {
		text  string
		says  string // a line of the text, without the file
		turns int
	}{
		"empty":                 {"", "empty", 0},
		"binary":                {"\x7fELF\x00\x00\x01\x02\x00" + strings.Repeat("\x00\xff{}\n", 100), "binary at line 1", 0},
		"no transcript":         {`{"name":"x","version":"1"}`, "unrecognised (no type) at line 1", 0},
		"being written":         {good + `{"type":"assistant","mess`, "torn end at line 9", 1},
		"a call that runs":      {good + use("m2", "c", "Read", `{"file_path":"x"}`, 9000), "call still open at line 9", 2},
		"text in it":            {good + "panic: secretpanic\n" + answer(1), "bad JSON (invalid character 'p' looking for beginning of value) at line 9", 2},
		"mixed formats":         {good + `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]}` + "\n" + `{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}` + "\n", "mixed formats (message list after claude-code) at line 9", 2},
		"clock goes backwards":  {good + use("m2", "c", "Read", `{"file_path":"x"}`, 9000) + result("c", 8000), "clock going backwards at line 10", 2},
		"no ids":                {good + use("m2", "", "Read", `{"file_path":"x"}`, 9000) + result("", 9500), "missing id (a call) at line 9", 2},
		"result without a call": {good + result("nobody", 9000), "result without call at line 9", 1},
		"one id twice in a turn": {good + use("m2", "c", "Read", `{"file_path":"x"}`, 9000) + strings.Replace(use("m2", "c", "Read", `{"file_path":"x"}`, 9001), `"u`, `"v`, 1) +
			result("c", 9100) + result("c", 9200), "duplicate id at line 10", 2},
		"one id in two turns": {good + strings.ReplaceAll(good, `"m0"`, `"m1"`), "", 2},
		"long lines":          {good + long + answer(1), "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			dir := workDir(t, map[string]string{"s.jsonl": c.text})
			file := filepath.Join(dir, "s.jsonl")
			code, out, errOut := keywave(t, "", "replay", file)
			require.Equal(t, exitDone, code, errOut)
			_, problems, _ := strings.Cut(out, "\nNot used, or to be known: ")
			if c.says == "" {
				assert.Empty(t, problems)
			} else {
				assert.Contains(t, strings.Join(strings.Fields(problems), " "), file+": "+c.says)
			}
			assert.NotContains(t, out, "secret")

			r := replayJSON(t, "", file)
			assert.Equal(t, c.turns, r.Total.Turns)
			if strings.HasPrefix(c.text, good) {
				alone := replayJSON(t, good, "-")
				per := strings.Count(c.text, `"name":"Bash"`)
				assert.Equal(t, alone.Total.Calls*per, mixed(r), "the right figures for the rest")
			} else {
				assert.Zero(t, r.Total.Turns)
				assert.Contains(t, out, "There are no calls of tools in it.\n")
			}
		})
	}
}

// mixed is how many calls there are in batches with a write.
func mixed(r replay.Report) int { return r.Mixed.Calls }

// A line of 100 MB is read over by the way.
func TestReplayOfALongLine(t *testing.T) {
	size := int64(100 << 20)
	if testing.Short() {
		size = 8 << 20
	}
	head, tail := `{"type":"user","sessionId":"s","uuid":"long","message":{"role":"user","content":"`, `"}}`+"\n"
	in := io.MultiReader(strings.NewReader(answer(0)+head), io.LimitReader(repeat('x'), size), strings.NewReader(tail+answer(1)))
	v := invocation{stdin: in}
	require.Equal(t, exitDone, v.run(t, "replay", "-", "--format", "json"), v.errOut.String())
	var r replay.Report
	require.NoError(t, json.Unmarshal([]byte(v.out.String()), &r))
	assert.Equal(t, []int{2, 8}, []int{r.Total.Batches, r.Total.Calls})
	assert.Empty(t, r.Problems)
}

// No text of a transcript is shown, unless it is asked for, and then it is no more than what calls claim.
func TestReplayKeepsTexts(t *testing.T) {
	dir := workDir(t, map[string]string{"s.jsonl": answer(0) + answer(1)})
	for _, format := range []string{"text", "json", "csv"} {
		for _, names := range []bool{false, true} {
			html := filepath.Join(t.TempDir(), "report.html")
			args := []string{"replay", dir, "--format", format, "--html", html}
			if names {
				args = append(args, "--names")
			}
			code, out, errOut := keywave(t, "", args...)
			require.Equal(t, exitDone, code, errOut)
			page, err := os.ReadFile(html)
			require.NoError(t, err)
			for what, text := range map[string]string{"output": out, "page": string(page)} {
				found := regexp.MustCompile(`secret\w+`).FindAllString(text, -1)
				for _, s := range found {
					assert.Contains(t, []string{"secretuser", "secretfile"}, s, "%s of %v", what, args)
				}
				assert.Equal(t, names && (what == "page" || format != "csv"), len(found) > 0, "%s of %v: %v", what, args, found)
			}
		}
	}
}

func TestReplayUsage(t *testing.T) {
	dir := workDir(t, map[string]string{"s.jsonl": answer(0), "notes.txt": "x", "none/readme.md": "x", "rules.json": `{"rules": 1, "tools": {"Bash": {"safe": "yes"}}}`})
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"nothing named":        {nil, `expected "<from> ..." (keywave replay --help tells more)`},
		"not there":            {[]string{at("s.jsonl"), at("gone.jsonl")}, "keywave: " + at("gone.jsonl") + ": no such file or directory\n"},
		"no transcripts":       {[]string{at("none")}, "keywave: no transcripts in " + at("none") + ": looked for .jsonl, .ndjson and .json\n"},
		"limit below 0":        {[]string{"--limit=-1", dir}, "--limit is -1"},
		"batches below 0":      {[]string{"--batches=-1", dir}, "--batches is -1"},
		"unknown format":       {[]string{"--format", "xml", dir}, "xml"},
		"stdin twice":          {[]string{"-", "-"}, "the standard input is named 2 times"},
		"stdin and its rules":  {[]string{"-", "--rules", "-"}, "the standard input is named 2 times"},
		"two on stdout":        {[]string{dir, "--html", "-", "--format", "json"}, "--html - and --format json would both go to the standard output"},
		"rules are not there":  {[]string{dir, "--rules", at("gone.json")}, at("gone.json") + ": no such file"},
		"rules are wrong":      {[]string{dir, "--rules", at("rules.json")}, at("rules.json") + ":1:41: tools.Bash.safe: "},
		"rules tell the form":  {[]string{dir, "--rules", at("rules.json")}, `"go doc github.com/keywave-go/keywave/tool/rules" has the form of the file`},
		"rules are no file":    {[]string{dir, "--rules", dir}, "directory"},
		"page is a directory":  {[]string{dir, "--html", dir}, dir + " is a directory: name a file in it"},
		"page is a transcript": {[]string{dir, "--html", at("s.jsonl")}, at("s.jsonl") + " is one of the transcripts: name another file for the page"},
		"page in no directory": {[]string{dir, "--html", at("gone/x.html")}, at("gone/x.html") + " cannot be written: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			before := contents(t, dir)
			code, out, errOut := keywave(t, "", append([]string{"replay"}, c.args...)...)
			assert.Equal(t, exitUsage, code)
			assert.Empty(t, out)
			assert.Contains(t, errOut, c.says)
			assert.Equal(t, 1, strings.Count(errOut, "\n"), "one line: %s", errOut)
			assert.Equal(t, before, contents(t, dir), "nothing is left")
		})
	}
}

// Rules of one's own say what a tool may do, in front of those that are known.
func TestReplayRules(t *testing.T) {
	dir := workDir(t, map[string]string{
		"s.jsonl":   answer(0),
		"reads":     `{"rules": 1, "agents": {"claude-code": {"Bash": {"safe": true}}}}`,
		"exclusive": `{"rules": 1, "tools": {"*": {"safe": false}}}`,
	})
	at := func(name string) string { return filepath.Join(dir, name) }
	steps := func(args ...string) int {
		return under(replayJSON(t, "", append([]string{at("s.jsonl"), "--limit", "0"}, args...)...).Total, "keyed").Steps
	}
	assert.Equal(t, 3, steps(), "edit and a read, the other read, the command")
	assert.Equal(t, 2, steps("--rules", at("reads")), "the command, beside them")
	assert.Equal(t, 4, steps("--rules", at("exclusive")))
	rules, err := os.ReadFile(at("reads"))
	require.NoError(t, err)
	assert.Equal(t, 2, under(replayJSON(t, string(rules), at("s.jsonl"), "--rules", "-").Total, "keyed").Steps)

	// What another declaration would bring is what it brings.
	r := replayJSON(t, "", at("s.jsonl"), "--limit", "0")
	require.NotEmpty(t, r.Tools)
	assert.Equal(t, "Bash", r.Tools[0].Tool)
	assert.Equal(t, 1, r.Tools[0].AsFree.Steps)
}

// A file of rules without end is not waited for.
func TestReplayRulesAreTooLarge(t *testing.T) {
	v := invocation{stdin: repeat(' ')}
	assert.Equal(t, exitUsage, v.run(t, "replay", ".", "--rules", "-"))
	assert.Equal(t, "keywave: standard input: larger than 16 MiB, which no file of rules is\n", v.errOut.String())
}

func TestReplayLimit(t *testing.T) {
	dir := workDir(t, map[string]string{"s.jsonl": answer(0)})
	assert.Equal(t, 1, replayJSON(t, "", dir, "--limit", "1").Limit)
	one := replayJSON(t, "", dir, "--limit", "1").Total
	assert.Equal(t, under(one, "serial").Time, under(one, "at-once").Time)
	assert.Less(t, under(replayJSON(t, "", dir).Total, "at-once").Time, under(one, "serial").Time)
}

func TestReplayCSVOfSessions(t *testing.T) {
	dir := workDir(t, map[string]string{"=1.jsonl": answer(0), "b.jsonl": strings.ReplaceAll(answer(1), `"sessionId":"s"`, `"sessionId":"t"`)})
	t.Chdir(dir)
	code, out, errOut := keywave(t, "", "replay", "./=1.jsonl", "=1.jsonl", "b.jsonl", "--format", "csv")
	require.Equal(t, exitDone, code, errOut)
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+3*9)
	assert.Equal(t, []string{"session", "1", "./=1.jsonl", "claude-code", "serial", "true"}, rows[10][:6])
}

// Progress is for people at a terminal who have waited long enough to wonder.
func TestReplayProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out output
		show := func(width int, env string) *reading {
			out = output{}
			found := new(transcripts)
			for _, name := range []string{"a", "b"} {
				found.add(name, 500e6, func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("")), nil })
			}
			return host{stderr: stream{&out, func() (int, int, bool) { return width, 30, width > 0 }}, env: func(string) string { return env }}.reading(found)
		}
		r := show(80, "")
		r.tell(1e6, 1000e6)
		r.end()
		assert.Empty(t, out.String(), "it was quick")

		r = show(80, "")
		in, err := r.sources[0].Open()
		require.NoError(t, err)
		require.NoError(t, in.Close())
		<-time.After(2 * time.Second)
		r.tell(500e6, 1000e6)
		r.tell(501e6, 1000e6) // too soon
		assert.Equal(t, "\r\x1b[J\x1b[1mreading  500.0 MB of 1.00 GB  1 of 2 files  250.0 MB/s  about 3s left\x1b[0m\n", out.String())
		<-time.After(2 * time.Second)
		r.tell(1000e6, 1000e6)
		assert.Contains(t, out.String(), "reading  1.00 GB of 1.00 GB  1 of 2 files  250.0 MB/s\x1b[0m\n")
		<-time.After(2 * time.Second)
		r.unsized = true // as the standard input is
		r.tell(1800e6, 1800e6)
		assert.Contains(t, out.String(), "reading  1.80 GB  1 of 2 files  300.0 MB/s\x1b[0m\n")
		r.end()
		assert.True(t, strings.HasSuffix(out.String(), "\r\x1b[J"), "nothing stays")

		for _, quiet := range []*reading{show(0, ""), show(80, "dumb")} {
			<-time.After(2 * time.Second)
			quiet.tell(500e6, 1000e6)
			quiet.end()
			assert.Empty(t, out.String())
		}
	})
}

// The page does not replace the rules, and a report without problems has an empty list of them.
func TestReplayPageIsNotTheRules(t *testing.T) {
	dir := workDir(t, map[string]string{"s.jsonl": answer(0), "rules.json": `{"rules":1}`})
	file := filepath.Join(dir, "rules.json")
	require.NoError(t, os.Symlink(file, filepath.Join(dir, "link")))
	before := contents(t, dir)
	for _, page := range []string{"rules.json", "link"} {
		code, out, errOut := keywave(t, "", "replay", filepath.Join(dir, "s.jsonl"), "--rules", file, "--html", filepath.Join(dir, page))
		assert.Equal(t, exitUsage, code)
		assert.Empty(t, out)
		assert.Contains(t, errOut, "is the file of the rules: name another file for the page")
		assert.Equal(t, before, contents(t, dir))
	}
	code, out, _ := keywave(t, "", "replay", "--format", "json", filepath.Join(dir, "s.jsonl"))
	assert.Equal(t, exitDone, code)
	assert.NotContains(t, out, "null")
}

// The rules in the help are rules, and do what it says of them.
func TestReplayHelpHasRules(t *testing.T) {
	at := regexp.MustCompile(`(?s)\{"rules": 1.*?\}\}\}\}`).FindString(new(replayCommand).Help())
	r, err := rules.Parse([]byte(at))
	require.NoError(t, err, at)
	declared := r.Calls(rules.Where{Agent: "claude-code", Dir: "/w"}, []tool.Call{
		{Name: "Bash", Arguments: `{"command":"go vet"}`}, {Name: "docs_search", Arguments: `{}`},
	})
	read := plan.Call{Safe: true, Claims: []plan.Claim{{Key: "file/w/a", Access: plan.Read}}}
	write := plan.Call{Safe: true, Claims: []plan.Claim{{Key: "file/w/a"}}}
	assert.False(t, plan.Conflict(declared[0].Call, read))
	assert.True(t, plan.Conflict(declared[0].Call, write))
	assert.False(t, plan.Conflict(declared[1].Call, write))
	assert.False(t, declared[1].Exclusive())
}
