package transcript

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// use and result are lines of Claude Code.
func use(message, id string, ms int) string {
	return `{"type":"assistant","sessionId":"s","timestamp":` + stamped(ms) + `,"uuid":"u` + id + message + `","message":{"id":"` + message +
		`","role":"assistant","content":[{"type":"tool_use","id":"` + id + `","name":"Read","input":{"file_path":"` + id + `"}}]}}` + "\n"
}

func result(id string, ms int) string {
	return `{"type":"user","sessionId":"s","timestamp":` + stamped(ms) + `,"uuid":"r` + id + `","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"` +
		id + `","content":"x"}]}}` + "\n"
}

func TestBadInput(t *testing.T) {
	good := use("m1", "a", 0) + use("m1", "b", 10) + result("a", 20) + result("b", 30)
	const goodShown = `  line 1 a Read {"file_path":"a"} succeeded 20ms 20ms
  line 2 b Read {"file_path":"b"} succeeded 20ms 10ms
`
	for _, c := range []struct {
		name, text, problems string
		batches, calls       int
	}{
		{"empty", "", "empty\n", 0, 0},
		{"blank lines", " \n\r\n\t", "", 0, 0},
		{"byte order mark", "\xef\xbb\xbf" + good, "", 1, 2},
		{"line ends of Windows", strings.ReplaceAll(good, "\n", "\r\n"), "", 1, 2},
		{"blank lines between", strings.ReplaceAll(good, "\n", "\n\n \n"), "", 1, 2},
		{"no end of the last line", strings.TrimSuffix(good, "\n"), "", 1, 2},
		{"a line that is being written", good + `{"type":"assistant","mess`, "torn end at line 5\n", 1, 2},
		{"a torn line in the middle", good + `{"type":"assist` + "\n" + use("m2", "c", 40) + result("c", 50), "bad JSON (unexpected end of JSON input) at line 5\n", 2, 3},
		{"text in the middle", good + "panic: runtime error\n" + use("m2", "c", 40) + result("c", 50), "bad JSON (invalid character 'p' looking for beginning of value) at line 5\n", 2, 3},
		{"binary", "\x7fELF\x00\x00\x01\x02\x00" + strings.Repeat("\x00\xff{}\n", 100), "binary at line 1\n", 0, 0},
		{"gzip", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xff", "binary (gzip) at line 1\n", 0, 0},
		{"UTF-16", "\xff\xfe{\x00}\x00\n\x00", "binary at line 1\n", 0, 0},
		{"bytes in the middle", good + "\x00\x01\x02\xff\n" + use("m2", "c", 40) + result("c", 50), "binary (zeros) at line 5\nbad JSON (invalid character '\\x01' looking for beginning of value) at line 5\n", 2, 3},
		{"zeros of a crash", good + "\x00\x00\x00" + use("m2", "c", 40) + result("c", 50), "binary (zeros) at line 5\n", 2, 3},
		{"no transcript", `{"name":"x","version":"1","scripts":{"a":"b"}}`, "unrecognised (no type) at line 1\n", 0, 0},
		{"no transcript, of many lines", "{\n \"name\": \"x\",\n \"files\": [1,2]\n}\n", "unrecognised (no type) at line 1\n", 0, 0},
		{"a list of numbers", "[1,\n2]", "unrecognised (not an object) ×2 at line 1, 2\n", 0, 0},
		{"unknown records", good + `{"type":"novel","sessionId":"s"}` + "\n" + `{"x":1}` + "\n" + `7` + "\n",
			"unknown record (type novel) at line 5\nunknown record (no type) at line 6\nunknown record (not an object) at line 7\n", 1, 2},
		{"a result without its call", good + result("z", 40), "result without call at line 5\n", 1, 2},
		{"a second result", good + result("a", 40), "repeated result at line 5\n", 1, 2},
		{"a call without its result", good + use("m2", "c", 40) + use("m3", "d", 50) + result("d", 60), "call without result at line 5\n", 3, 4},
		{"a call that runs", good + use("m2", "c", 40), "call still open at line 5\n", 2, 3},
		{"a clock that goes backwards", good + use("m2", "c", 40) + result("c", 39), "clock going backwards at line 6\n", 2, 3},
		{"ids used again in the next answer", good + strings.ReplaceAll(good, `"m1"`, `"m2"`), "", 2, 4},
		{"one id twice in an answer", good + use("m2", "c", 40) + strings.Replace(use("m2", "c", 50), `"u`, `"v`, 1) + result("c", 60) + result("c", 70), "duplicate id at line 6\n", 2, 4},
		{"a line written twice", good + use("m2", "c", 40) + use("m2", "c", 40) + result("c", 60), "repeated record at line 6\n", 2, 3},
		{"no ids", good + strings.ReplaceAll(use("m2", "c", 40)+result("c", 60), `"c"`, `""`), "missing id (a call) at line 5\nmissing id (a result) at line 6\n", 2, 3},
		{"a result without an id", good + use("m2", "c", 40) + strings.ReplaceAll(result("c", 60), `"c"`, `""`), "missing id (a result) at line 6\n", 2, 3},
		{"mixed formats", good + `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]}` + "\n" +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}` + "\n" + strings.ReplaceAll(good, `"m1"`, `"m2"`),
			"mixed formats (message list after claude-code) at line 5\nmixed formats (claude-code after message list) at line 7\n", 3, 5},
		{"a wrong type of a member", good + `{"type":7,"uuid":8,"sessionId":[],"message":"x"}` + "\n" + strings.ReplaceAll(good, `"m1"`, `"m2"`), "unknown record (no type) at line 5\n", 2, 4},
		{"too deep", good + strings.Repeat("[", 20000) + "\n", "torn end at line 6\n", 1, 2},
		{"too deep in an object", good + `{"x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + "}\n", "bad JSON (invalid character '[' exceeded max depth) at line 5\n", 1, 2},
		{"a document that is cut off", good + `{"messages":[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f"}}]},` + "\n" + `{"role":"tool","tool_ca`,
			"torn end at line 6\nmixed formats (message list after claude-code) at line 5\ncall still open at line 5\n", 2, 3},
		{"a document with a fault", `{"messages":[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f"}}]}}` + "\n" + good,
			"bad JSON (not JSON: a list holds \"}\") at line 1\nmixed formats (claude-code after message list) at line 2\ncall without result at line 1\n", 2, 3},
		{"documents behind each other", `{"messages":[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f"}}]}]}` + "\n" +
			`[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f"}}]},{"role":"tool","tool_call_id":"1"}] {}`,
			"unknown record (no type) at line 2\ncall without result at line 1\n", 2, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			batches, report := readAll(t, c.text)
			assert.Equal(t, c.problems, problems(report))
			assert.Equal(t, []int{c.batches, c.calls}, []int{report.Batches, report.Calls})
			assert.Len(t, batches, c.batches)
			assert.Equal(t, int64(len(c.text)), report.Bytes)
			if strings.HasPrefix(c.text, good) {
				assert.Contains(t, shown(batches[0]), goodShown, "the right figures for the rest")
			}
		})
	}
}

// What is written so far is what is read, at every byte: never an error, and never a batch that the whole does not
// have.
func TestLogThatIsBeingWritten(t *testing.T) {
	for _, name := range []string{"claude_code_subagents.jsonl", "codex_rollout.jsonl", "opencode_export.json", "gemini_cli_chat.json",
		"keywave_session.jsonl", "copilot_cli_events.jsonl", "dsh_session.jsonl", "pi_session.jsonl", "openai_messages.json"} {
		text := sample(t, name)
		whole, _ := readAll(t, text)
		for n := 0; n < len(text); n += 7 {
			batches, report := readAll(t, text[:n])
			require.LessOrEqual(t, len(batches), len(whole), "%s[:%d]", name, n)
			for _, b := range batches {
				for i, c := range b.Calls {
					require.NotEmpty(t, c.Name, "%s[:%d]", name, n)
					d, known := b.Took(i, nil)
					require.True(t, d >= 0 && (known || d == 0))
				}
			}
			require.Zero(t, report.Count(ResultWithoutCall)+report.Count(MixedFormats), "%s[:%d]: %s", name, n, problems(report))
		}
	}
}

// A list of documents is read as the documents behind each other are.
func TestListOfDocuments(t *testing.T) {
	openCode, err := os.ReadFile("testdata/opencode_export.json")
	require.NoError(t, err)
	gemini, err := os.ReadFile("testdata/gemini_cli_chat.json")
	require.NoError(t, err)
	messages, err := os.ReadFile("testdata/openai_messages.json")
	require.NoError(t, err)
	documents := []string{string(openCode), string(gemini), string(messages)}
	want, _ := readAll(t, strings.Join(documents, "\n"))
	for _, list := range []string{"[" + strings.Join(documents, ",\n") + "]", "[" + strings.Join(documents, ",") + "]\n"} {
		got, _ := readAll(t, list)
		require.Len(t, got, len(want))
		for i := range got {
			assert.Equal(t, []any{want[i].Session, want[i].Dir, want[i].Turn, len(want[i].Calls)},
				[]any{got[i].Session, got[i].Dir, got[i].Turn, len(got[i].Calls)})
		}
	}
	far := `{"tools":"` + strings.Repeat("x", 100_000) + `",` + strings.TrimPrefix(string(messages), "{")
	got, _ := readAll(t, strings.ReplaceAll(far, "\n", ""))
	list, _ := readAll(t, string(messages))
	require.Len(t, got, len(list), "far behind its beginning")
	request := strings.Replace(far, `{`, `{"type":"request",`, 1) // that repeats all before it is no transcript
	got, _ = readAll(t, strings.ReplaceAll(request, "\n", ""))
	assert.Empty(t, got)
	deep := strings.Repeat(`[{"messages":`, 4_000) + "[]" + strings.Repeat("}]", 4_000) // and not the documents in these
	_, report := readAll(t, "["+strings.Repeat(`{"messages":[`, 4_000)+strings.Repeat("]}", 4_000)+"]")
	assert.Less(t, report.Records, 10)
	_, report = readAll(t, deep)
	assert.Less(t, report.Records, 10)
}

// What is said around a list is of that list alone.
func TestDocumentsBehindEachOther(t *testing.T) {
	const list = `[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f"}}]}]`
	batches, _ := readAll(t, `{"sessionId":"s","cwd":"/w","model":"m","messages":`+list+"}\n"+list)
	require.Len(t, batches, 2)
	assert.Equal(t, []string{"s", "/w", "m"}, []string{batches[0].Session, batches[0].Dir, batches[0].Model})
	assert.Equal(t, []string{"", "", ""}, []string{batches[1].Session, batches[1].Dir, batches[1].Model})
}

func TestTooLongRecordIsReadOver(t *testing.T) {
	long := strings.Repeat("x", 2000)
	for name, c := range map[string]struct {
		text string
		line string
	}{
		"line":     {use("m1", long, 0) + use("m2", "b", 10) + result("b", 20), "1"},
		"document": {"[" + use("m1", long, 0) + "," + use("m2", "b", 10) + "," + result("b", 20) + "]", "1"},
		"member":   {`{"system":"` + long + `","messages":[` + use("m2", "b", 10) + "," + result("b", 20) + "]}", "1"},
	} {
		report := new(Report)
		var batches []Batch
		for b, err := range read(strings.NewReader(c.text), report, 1000) {
			require.NoError(t, err)
			batches = append(batches, b)
		}
		require.Len(t, batches, 1, name)
		assert.Equal(t, "b", batches[0].Calls[0].ID)
		assert.Equal(t, "record too long (more than 1000 bytes) at line "+c.line+"\n", problems(report), name)
	}
}

func TestErrorOfTheReader(t *testing.T) {
	boom := errors.New("boom")
	text := use("m1", "a", 0) + result("a", 10)
	for _, tail := range []string{"", `{"type":`, `[{"role":"user"},`} {
		var batches int
		var last error
		for b, err := range Read(io.MultiReader(strings.NewReader(text+tail), iotest.ErrReader(boom)), nil) {
			if last = err; err == nil {
				batches++
				require.Len(t, b.Calls, 1)
			}
		}
		assert.ErrorIs(t, last, boom, tail)
		assert.ErrorContains(t, last, "line 3", tail)
		assert.Equal(t, 1, batches, "what was read before is there: %q", tail)
	}
}

// A log that grows while it is read ends where it ended first: what comes then would begin in the middle.
func TestLogThatGrows(t *testing.T) {
	parts := []string{use("m1", "a", 0) + result("a", 10) + `{"type":"user"`, "", `,"x":1}` + "\n" + use("m2", "b", 20)}
	g := &generator{piece: func(i int) string {
		if i < len(parts) {
			return parts[i]
		}
		return ""
	}}
	report := new(Report)
	for _, err := range Read(g, report) {
		require.NoError(t, err)
	}
	assert.Equal(t, "torn end at line 3\n", problems(report))
	assert.Equal(t, 1, report.Batches)
}

func TestStopEarly(t *testing.T) {
	text := use("m1", "a", 0) + result("a", 10) + use("m2", "b", 20) + result("b", 30) + use("m3", "c", 40) + "[" + use("m4", "d", 50) + "]"
	for n := 1; n < 4; n++ {
		seen := 0
		for _, err := range Read(strings.NewReader(text), nil) {
			require.NoError(t, err)
			if seen++; seen == n {
				break
			}
		}
		assert.Equal(t, n, seen)
	}
}

func TestOneByteAtATime(t *testing.T) {
	for _, name := range []string{"claude_code_subagents.jsonl", "opencode_export.json"} {
		want, _ := readAll(t, sample(t, name))
		var got []Batch
		for b, err := range Read(iotest.OneByteReader(strings.NewReader(sample(t, name))), nil) {
			require.NoError(t, err)
			got = append(got, b)
		}
		assert.Equal(t, want, got)
	}
}

// Whatever is between them, answers whose lines are whole are read as they are: damage harms what it hits.
func TestDamageHarmsOnlyWhatItHits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text bytes.Buffer
		n := rapid.IntRange(1, 6).Draw(t, "answers")
		for i := range n {
			for range rapid.IntRange(0, 2).Draw(t, "damage") {
				text.WriteString(rapid.SampledFrom([]string{"garbage\n", "{\"type\":\n", "{}\n", "\x00\x00\n", "null\n", "\"x\"\n", "}]\n", "{\"a\":1}}\n",
					`{"type":"system","sessionId":"s"}` + "\n", `{"type":"progress","sessionId":"s","data":{}}` + "\n"}).Draw(t, "what"))
			}
			id := string(rune('a' + i))
			text.WriteString(use("m"+id, id, 10*i) + result(id, 10*i+5))
		}
		batches, _ := readAll(t, text.String())
		require.Len(t, batches, n, "%s", text.String())
		for _, b := range batches {
			require.Len(t, b.Calls, 1)
			require.Equal(t, Succeeded, b.Calls[0].Outcome)
			took, ok := b.Took(0, []bool{true})
			require.True(t, ok)
			require.Equal(t, 5*time.Millisecond, took)
		}
	})
}
