package replay_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/bench/replay"
)

// structural are the values of the samples that a reader must understand; everything else may be anything.
var structural = regexp.MustCompile(`^(assistant|user|system|tool|message|session|response_item|event_msg|session_meta|turn_context|` +
	`function_call|function_call_output|exec_command_end|tool_use|tool_result|toolCall|toolResult|tool-call|tool-result|tool-start|` +
	`step-start|step-finish|completed|error|gemini|info|text|function|custom|progress|agent_progress|hook_progress|` +
	`(read|write|exclusive|spawn|r|w)|` + // of recorded batches
	`[a-z]+[./][a-z_./]+|` + // types of events
	`\d{4}-\d\d-\d\dT.*)$`)

// marked puts a secret into every text of a JSON value, names of tools and types of records among them, unless keep
// wants it as it is. Text that is JSON is marked inside.
func marked(t *testing.T, v any, n *int, keep func(member, s string) bool, member string) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = marked(t, x, n, keep, k)
		}
	case []any:
		for i, x := range v {
			v[i] = marked(t, x, n, keep, member)
		}
	case string:
		if strings.HasPrefix(v, "{") {
			var inner any
			if json.Unmarshal([]byte(v), &inner) == nil {
				b, err := json.Marshal(marked(t, inner, n, keep, member))
				require.NoError(t, err)
				return string(b)
			}
		}
		if keep(member, v) {
			return v
		}
		*n++
		return v + "/SE CRET/" + v
	}
	return v
}

// transcripts of all formats, with a secret in every text that keep does not want.
func secret(t *testing.T, keep func(member, s string) bool) (sources []replay.Source, secrets int) {
	for _, s := range samples(t) {
		var out strings.Builder
		d := json.NewDecoder(strings.NewReader(read(t, s)))
		for d.More() {
			var v any
			require.NoError(t, d.Decode(&v))
			b, err := json.Marshal(marked(t, v, &secrets, keep, ""))
			require.NoError(t, err)
			out.Write(append(b, '\n'))
		}
		sources = append(sources, text("log", out.String()))
	}
	return sources, secrets
}

// TestNoTextOfTheTranscript puts a secret into every text of transcripts of all formats and looks for it in the report:
// with names of tools that do not look like names, and with names as they are, so that the calls are declared by rules
// and their keys shown.
func TestNoTextOfTheTranscript(t *testing.T) {
	o := replay.Options{Largest: 1000, Inverted: 1000}
	names := map[string]bool{"name": true, "tool": true, "toolName": true}
	for title, keep := range map[string]func(member, s string) bool{
		"everything": func(_, s string) bool { return structural.MatchString(s) },
		"but the names of tools": func(member, s string) bool {
			return structural.MatchString(s) || names[member]
		},
		"even types": func(string, string) bool { return false },
	} {
		t.Run(title, func(t *testing.T) {
			sources, secrets := secret(t, keep)
			require.Greater(t, secrets, 2000)
			r := run(t, o, sources...)
			if title != "even types" {
				require.Greater(t, r.Total.Batches, 300)
				require.NotEmpty(t, r.Batches)
			}
			if title == "but the names of tools" {
				require.Greater(t, len(r.Formats), 8)
			}
			raw, err := json.Marshal(r)
			require.NoError(t, err)
			for _, secret := range []string{"SE CRET", "SE%20CRET", "SE", "PLACEHOLDER", "home", "00000000-0000", "toolu_", "cc0340"} {
				assert.NotContains(t, string(raw), secret)
			}
		})
	}
}

// TestNames: with Names keys are as the calls have them.
func TestNames(t *testing.T) {
	c := &claude{session: "s"}
	c.batch(0, "m1", "Edit "+path("/w/dir/a.go")+" 10", "Edit "+path("/w/dir/a.go")+" 20", "Edit "+path("/w/b.go")+" 30", "Bash {} 40")
	keys := func(names bool) (out []string) {
		r := run(t, replay.Options{Largest: 1, Names: names}, c.source("log"))
		for _, call := range r.Batches[0].Calls {
			for _, claim := range call.Claims {
				out = append(out, claim.Key)
			}
		}
		return out
	}
	assert.Equal(t, []string{"file/w/dir/a.go", "file/w/dir/a.go", "file/w/b.go"}, keys(true))
	assert.Equal(t, []string{"d1/f2", "d1/f2", "f3"}, keys(false))
}

// TestKeysOfOtherSystems: the working directory is found in paths of Windows, where letter case does not count, and
// where it is not known; keys of recorded batches keep their kind.
func TestKeysOfOtherSystems(t *testing.T) {
	keys := func(log string) (out []string) {
		r := run(t, replay.Options{Inverted: 9}, text("log", log))
		for _, call := range r.Batches[0].Calls {
			for _, claim := range call.Claims {
				out = append(out, claim.Key)
			}
		}
		return out
	}
	c := &claude{session: "s"}
	c.batch(0, "m1", "Edit "+path(`C:\Proj\a.go`)+" 10", "Edit "+path("c:/proj/A.go")+" 20", "Edit "+path(`D:\b`)+" 30")
	assert.Equal(t, []string{"f1", "f1", "ext/d2/f3"}, keys(strings.ReplaceAll(c.b.String(), `"/w"`, `"C:\\Proj"`)))
	c = &claude{session: "s"}
	c.batch(0, "m1", "Edit "+path("/Users/Me/App/a.go")+" 10", "Edit "+path("A.go")+" 20")
	assert.Equal(t, []string{"f1", "f1"}, keys(strings.ReplaceAll(c.b.String(), `"/w"`, `"/Users/Me/App/"`)))
	c = &claude{session: "s"}
	c.batch(0, "m1", "Edit "+path("a.go")+" 10", "Edit "+path("./a.go")+" 20")
	assert.Equal(t, []string{"f1", "f1"}, keys(strings.ReplaceAll(c.b.String(), `"cwd":"/w",`, "")), "one that is not known")
	assert.Equal(t, []string{"./", "d1/f2", "ext/f3", "@git", "@net/n4", "@n5", "@n5"}, keys(
		`{"trace":"t","batch":1,"fmt":"x","calls":[{"i":0,"tool":"a","access":"write","err":false,"keys":[{"k":"./","m":"w"},{"k":"d9/f9","m":"w"},`+
			`{"k":"ext/f1","m":"r"},{"k":"@git","m":"w"},{"k":"@net:h1","m":"w"},{"k":"@secret:h1","m":"r"}]},`+
			`{"i":1,"tool":"b","access":"write","err":false,"keys":[{"k":"@secret:h1","m":"w"}]}]}`))
}

// TestKeysKeepTheirShape: what is nested stays nested, what is the same stays the same, and kinds can be told.
func TestKeysKeepTheirShape(t *testing.T) {
	c := &claude{session: "s"}
	c.batch(0, "m1",
		"Edit "+path("/w/a.go")+" 10", "Edit "+path("a.go")+" 20", // one file
		`Grep {"path":"/w/lib"} 50`, "Read "+path("/w/lib/x/y")+" 50", "Read "+path("/w/lib")+" 50",
		`Glob {} 50`, "Read "+path("/etc/passwd")+" 50", `WebFetch {"url":"https://example.com/a?b=c"} 50`,
		`WebFetch {"url":"https://example.com/"} 50`, `TaskUpdate {"taskId":"mine"} 60`, `TaskList {} 70`,
		`WebSearch {"query":"x"} 70`, "Bash {} 80", "Weather {} 90", "Read {} 100")
	r := run(t, replay.Options{Largest: 1}, c.source("log"))
	var got []string
	for _, call := range r.Batches[0].Calls {
		line := call.Tool + " " + call.Access
		if call.Why != "" {
			line += " (" + call.Why + ")"
		}
		for _, claim := range call.Claims {
			line += " " + claim.Key
			if claim.Tree {
				line += "…"
			}
		}
		got = append(got, line)
	}
	assert.Equal(t, []string{
		"Edit write f1", "Edit write f1", "Grep read d2…", "Read read d2/d3/f4", "Read read d2", "Glob read ./…",
		"Read read ext/d5/f6", "WebFetch read url/u7/u8/u9", "WebFetch read url/u7/u8", "TaskUpdate write @task/n10",
		"TaskList read @task…", "WebSearch none", "Bash exclusive (by its rule)", "Weather exclusive (no rule)",
		"Read exclusive (arguments)",
	}, got)
}
