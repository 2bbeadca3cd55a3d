package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/bench/trace"
	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

func TestSamples(t *testing.T) {
	for name, want := range map[string]string{
		"claude_code_parallel_reads.jsonl": `line 3 claude-code session=000000002 agent= turn=msg_0001 model=claude-sonnet-4-5-20250929 dir=/home/user/project
  line 3 oolu_0002 Read {"file_path":"/home/user/project/d1/f1"} succeeded 1.652s 1.652s
  line 4 oolu_0003 Read {"file_path":"/home/user/project/f2"} succeeded 994ms 0s
  line 5 oolu_0004 Grep {"pattern":"PLACEHOLDER","glob":"PLACEHOLDER","output_mode":"files_with_matches"} succeeded 435ms 383ms
result without call at line 1
`,
		"claude_code_same_file_edits.jsonl": `line 3 claude-code session=000000002 agent= turn=msg_0001 model=claude-sonnet-4-5-20250929 dir=/home/user/project
  line 3 oolu_0001 Edit {"replace_all":false,"file_path":"/home/user/project/d1/d2/d3/d4/d5/f1.go","old_string":"PLACEHOLDER","new_string":"PLACEHOLDER"} succeeded 29.328s 29.328s
  line 4 oolu_0002 Edit {"replace_all":false,"file_path":"/home/user/project/d1/d2/d3/d4/d5/f1.go","old_string":"PLACEHOLDER","new_string":"PLACEHOLDER"} succeeded 24.221s 7.26s
`,
		"claude_code_sibling_error.jsonl": `line 3 claude-code session=000000002 agent= turn=msg_0001 model=claude-opus-4-6 dir=/home/user/project
  line 3 oolu_0001 Bash {"command":"gh pr view 1 && sed -n 1,40p /home/user/project/f0.txt","description":"PLACEHOLDER"} failed 9.364s 9.364s
  line 4 oolu_0002 Bash {"command":"gh pr view 1","description":"PLACEHOLDER"} cancelled 8.836s 0s
`,
		// The second Task of the answer comes after a result, and a sub-agent's answer in between.
		"claude_code_subagents.jsonl": `line 1 claude-code session=000000002 agent= turn=msg_0001 model=claude-opus-4-6 dir=/home/user/project
  line 1 oolu_0001 Bash {"command":"gh pr view 1","description":"PLACEHOLDER"} succeeded 1.022s 1.022s
line 3 claude-code session=000000002 agent= turn=msg_0002 model=claude-opus-4-6 dir=/home/user/project
  line 3 oolu_0002 Task {"subagent_type":"reviewer","description":"PLACEHOLDER","prompt":"PLACEHOLDER"} succeeded 11m5.679s 11m5.679s
  line 10 oolu_0005 Task {"subagent_type":"reviewer","description":"PLACEHOLDER","prompt":"PLACEHOLDER"} succeeded 14m17.299s 14m17.299s
line 6 claude-code session=000000002 agent=id0008 turn=msg_0003 model=claude-opus-4-6 dir=/home/user/project
  line 6 oolu_0003 Read {"file_path":"/home/user/other/d1/d2/f1.txt"} failed 6ms 6ms
  line 8 oolu_0004 Read {"file_path":"/home/user/project/d3/d4/d5/d6/f2.go"} cancelled 0s 0s
`,
		// What the rollout reports of durations is too short to be true; the ends of the commands are there.
		"codex_rollout.jsonl": `line 3 codex session=000000001 agent= turn=#1 model=gpt-5.4 dir=/home/user/project
  line 3 call_0001 exec_command {"cmd": "sed -n 1,40p /home/user/project/d1/d2/f1.go", "workdir": "/home/user/project", "max_output_tokens": 2000} succeeded 48ms 48ms
  line 4 call_0002 exec_command {"cmd": "sed -n 1,40p /home/user/project/d1/d2/f2.go", "workdir": "/home/user/project", "max_output_tokens": 3000} succeeded 43ms 6ms
  line 5 call_0003 exec_command {"cmd": "sed -n 1,40p /home/user/project/d1/d3/f3.go", "workdir": "/home/user/project", "max_output_tokens": 2000} succeeded 43ms 0s
`,
		// The permission took 3.994 s of the second call's time.
		"copilot_cli_events.jsonl": `line 2 copilot session=000000001 agent= turn=000000003 model=claude-fable-5 dir=/home/user/project
  line 2 oolu_0001 session_store_sql {"description":"PLACEHOLDER","query":"PLACEHOLDER","source":"PLACEHOLDER"} succeeded 4.607s 4.607s
  line 2 oolu_0002 powershell {"command":"git status --short && make target","description":"PLACEHOLDER"} succeeded 615ms 615ms
`,
		"dsh_session.jsonl": `line 2 dsh session=id0001 agent= turn=1.1 model= dir=/home/user/project
  line 2 call_0001 bash {"command": "sed -n 1,40p /home/user/project/d1/d2", "description": "PLACEHOLDER"} succeeded - -
  line 2 call_0002 get_goal {} succeeded - -
`,
		"gemini_cli_chat.json": `line 17 gemini session=000000001 agent= turn=000000003 model=gemini-3-flash-preview dir=
  line 17 id0004 read_file {"file_path":"/home/user/project/f1.md"} succeeded - -
  line 17 id0005 read_file {"file_path":"/home/user/project/f2.md"} succeeded - -
  line 17 id0006 read_file {"file_path":"/home/user/project/f3.json"} succeeded - -
`,
		"opencode_export.json": `line 39 opencode session=ses_0001 agent= turn=sg_0002/0 model=gpt-5.4 dir=/home/user/project
  line 39 call_0001 glob {"pattern":"PLACEHOLDER","path":"/home/user/project"} succeeded 53ms 53ms
  line 39 call_0002 read {"filePath":"/home/user/project/d1/d2/d3/f1.md"} succeeded 25ms 25ms
  line 39 call_0003 read {"filePath":"/home/user/project/d1/f2"} succeeded 7ms 7ms
  line 39 call_0004 bash {"command":"git status --short","workdir":"/home/user/project","description":"PLACEHOLDER"} succeeded 2ms 2ms
`,
		"pi_session.jsonl": `line 2 pi session=000000001 agent= turn=#1 model=claude-opus-4-5 dir=/home/user/project
  line 2 oolu_0001 read {"path":"/home/user/project/d1/d2/d3/f1.ts"} succeeded 5ms 5ms
  line 2 oolu_0002 read {"path":"/home/user/project/d1/d2/d3/d4/f2.ts"} succeeded 9ms 9ms
`,
		"openai_messages.json": `line 4 openai session= agent= turn=#1 model=gpt-5.4 dir=
  line 4 call_1 read {"path": "a"} succeeded - -
  line 4 call_2 patch "PLACEHOLDER" succeeded - -
line 9 openai session= agent= turn=#2 model=gpt-5.4 dir=
  line 9 call_1 read {} succeeded - -
`,
		"anthropic_messages.json": `line 3 anthropic session= agent= turn=#1 model= dir=
  line 3 toolu_1 edit {"path":"a"} succeeded - -
  line 3 toolu_2 edit {"path":"a"} failed - -
`,
	} {
		t.Run(name, func(t *testing.T) {
			batches, report := readAll(t, sample(t, name))
			got := strings.ReplaceAll(shown(batches...), `{"path": "a"}`, `{"path":"a"}`)
			want = strings.ReplaceAll(want, `{"path": "a"}`, `{"path":"a"}`)
			assert.Equal(t, want, got+problems(report))
			assert.Equal(t, int64(len(sample(t, name))), report.Bytes)
			assert.Equal(t, len(batches), report.Batches)
			require.Len(t, report.Formats, 1)
			assert.Equal(t, report.Calls, report.Formats[0].Calls)
		})
	}
}

// The log of a real session: two calls together, a refused one, and one that an approval held up.
func TestKeywave(t *testing.T) {
	place := func(i int) harness.Place { return harness.Place{Turn: 1, Step: 1, Index: i} }
	log := []harness.Payload{
		harness.TurnStart{Turn: 1},
		harness.StepStart{Turn: 1, Step: 1},
		harness.AssistantMessage{Turn: 1, Step: 1, Calls: []tool.Call{
			{ID: "c1", Name: "read", Arguments: `{"path":"a"}`}, {ID: "c1", Name: "write", Arguments: `{"path":"b"}`},
			{Name: "nothing"}, {ID: "c4", Name: "read", Arguments: `{"path":"c"}`}}},
		harness.ToolCall{Place: place(0), ID: "c1", Name: "read"},
		harness.ToolCall{Place: place(1), ID: "c1", Name: "write"},
		harness.ApprovalAsk{Place: place(1)},
		harness.ApprovalAnswer{Place: place(1), Allowed: true},
		harness.ToolSettle{Place: place(1), Result: tool.Result{}},
		harness.ToolSettle{Place: place(0), Result: tool.Result{IsError: true}},
		harness.Cancel{Turn: 1, Step: 1, Calls: []int{3}, Cause: "x"},
		harness.ToolResult{Place: place(0), Result: tool.Result{IsError: true}},
		harness.ToolResult{Place: place(1), Result: tool.Result{Code: tool.Aborted, IsError: true}},
		harness.ToolCall{Place: place(2), Name: "nothing", NotStarted: true},
		harness.ToolResult{Place: place(2), Result: tool.Result{Code: tool.UnknownTool, IsError: true}},
		harness.ToolCall{Place: place(3), ID: "c4", Name: "read"},
		harness.Opaque{Type: "acme/budget", Data: json.RawMessage(`{"calls":7}`)},
		harness.StepEnd{Turn: 1, Step: 1},
	}
	var text bytes.Buffer
	write := func(i int, p harness.Payload) {
		data, err := json.Marshal(p)
		require.NoError(t, err)
		if o, ok := p.(harness.Opaque); ok {
			data = o.Data
		}
		text.WriteString(harness.Event{Seq: uint64(i + 1), Time: at(i * 10), Type: p.EventType(), Data: data}.String() + "\n")
	}
	write(0, harness.SessionStart{Format: harness.Format, Version: harness.Version})
	for i, p := range log {
		write(i+1, p)
	}
	if file := filepath.Join("testdata", "keywave_session.jsonl"); os.Getenv("KEYWAVE_UPDATE") != "" {
		require.NoError(t, os.WriteFile(file, text.Bytes(), 0o600))
	}
	assert.Equal(t, sample(t, "keywave_session.jsonl"), text.String())
	batches, report := readAll(t, text.String())
	assert.Equal(t, `line 4 keywave session= agent= turn=1.1 model= dir=
  line 4 c1 read {"path":"a"} failed 50ms 50ms
  line 4 c1 write {"path":"b"} cancelled 20ms 20ms
  line 4  nothing {} rejected - -
  line 4 c4 read {"path":"c"} unanswered - -
`, shown(batches...))
	assert.Equal(t, "call without result at line 4\n", problems(report), "calls have places there, and need no ids")
}

// What the harness writes is what is read here.
func TestKeywaveRealSession(t *testing.T) {
	def, err := tool.Define(tool.Spec[struct{}, string]{Name: "nop", Safe: func(struct{}) bool { return true },
		Body: func(context.Context, struct{}) (string, error) { return "done", nil }})
	require.NoError(t, err)
	registry := new(tool.Registry)
	require.NoError(t, registry.Register(def))
	path := filepath.Join(t.TempDir(), "s.jsonl")
	session, err := harness.Open(path)
	require.NoError(t, err)
	message := harness.AssistantMessage{Turn: 1, Step: 1, Calls: []tool.Call{{ID: "1", Name: "nop"}, {ID: "2", Name: "gone"}}}
	_, err = session.Append(harness.SyncNone, harness.TurnStart{Turn: 1}, harness.StepStart{Turn: 1, Step: 1},
		message)
	require.NoError(t, err)
	scheduler := harness.Scheduler{Session: session, Tools: registry, Durability: harness.SyncNone}
	_, err = scheduler.Run(t.Context(), message)
	require.NoError(t, err)
	require.NoError(t, session.Close())
	report := new(Report)
	var batches []Batch
	for b, err := range ReadFile(path, report) {
		require.NoError(t, err)
		batches = append(batches, b)
	}
	require.Len(t, batches, 1)
	require.Len(t, batches[0].Calls, 2)
	assert.Equal(t, Succeeded, batches[0].Calls[0].Outcome)
	assert.Equal(t, Rejected, batches[0].Calls[1].Outcome)
	assert.Empty(t, problems(report))
}

func TestRecorded(t *testing.T) {
	const line = `{"trace":"cc1","batch":7,"fmt":"claude-code","model":"m","sub":true,"at_ms":1000,"span_ms":9,"n":3,"calls":[` +
		`{"i":0,"tool":"Read","kind":"file-read","access":"read","keys":[{"k":"d1/f1","m":"r"}],"start_ms":0,"dur_ms":100,"err":false,"est_ms":60},` +
		`{"i":1,"tool":"Agent","kind":"spawn","access":"spawn","keys":[],"start_ms":5,"dur_ms":1,"err":true,"est_ms":9},` +
		`{"i":2,"tool":"Edit","kind":"file-write","access":"write","keys":[{"k":"d1/f1","m":"w"}],"start_ms":1,"err":true,"ec":"sibling_error"}]}`
	batches, report := readAll(t, line+"\n"+`{"trace":"cc1","batch":8,"calls":[{"i":3}]}`+"\n"+strings.ReplaceAll(line, ",", ",\n"))
	require.Len(t, batches, 2)
	assert.Equal(t, `line 1 recorded session=cc1 agent=sub-agent turn=7 model=m dir=
  line 1  Read {} succeeded 60ms 60ms
  line 1  Agent {} failed - -
  line 1  Edit {} cancelled - -
`, shown(batches[0]))
	require.NotNil(t, batches[0].Recorded)
	assert.Equal(t, trace.Writes, batches[0].Recorded.Calls[2].Access)
	assert.Equal(t, batches[0].Recorded, batches[1].Recorded)
	assert.Equal(t, "unknown record (not a recorded batch) at line 2\n", problems(report))
}

func TestClaudeCodeOutcomes(t *testing.T) {
	for content, want := range map[string]Outcome{
		`"The user doesn't want to proceed with this tool use. The tool use was rejected"`: Rejected,
		`"Permission to use Bash has been denied."`:                                        Rejected,
		`"[Request interrupted by user for tool use]"`:                                     Cancelled,
		`[{"type":"text","text":"<tool_use_error>Sibling tool call errored"}]`:             Cancelled,
		`"Exit code 1"`: Failed,
	} {
		batches, _ := readAll(t, `{"type":"assistant","uuid":"1","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}}
{"type":"user","uuid":"2","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":`+content+`}]}}`)
		require.Len(t, batches, 1)
		assert.Equal(t, want, batches[0].Calls[0].Outcome, content)
	}
}

// Sub-agents that have no name answer at the same time, and what the command prints is read as well.
func TestClaudeCodeSidechainsAndStream(t *testing.T) {
	use := func(rest, message, id string) string {
		return `{"type":"assistant",` + rest + `"message":{"id":"` + message + `","role":"assistant","content":[{"type":"tool_use","id":"` + id + `","name":"Read","input":{"file_path":"` + id + `"}}]}}` + "\n"
	}
	result := func(rest, id string) string {
		return `{"type":"user",` + rest + `"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"x"}]}}` + "\n"
	}
	const side = `"sessionId":"s","isSidechain":true,`
	batches, report := readAll(t, use(side+`"uuid":"1",`, "m1", "a")+use(side+`"uuid":"2",`, "m2", "b")+use(side+`"uuid":"3",`, "m1", "c")+
		use(side+`"uuid":"1",`, "m1", "a")+ // written twice
		result(side+`"uuid":"4",`, "b")+result(side+`"uuid":"5",`, "a")+result(side+`"uuid":"6",`, "c"))
	assert.Equal(t, "repeated record at line 4\n", problems(report))
	require.Len(t, batches, 2)
	assert.Len(t, batches[0].Calls, 2)
	assert.Equal(t, "sidechain", batches[0].Agent)

	const stream = `"session_id":"s","parent_tool_use_id":`
	batches, report = readAll(t, `{"type":"system","subtype":"init","session_id":"s"}`+"\n"+
		use(stream+`null,`, "m1", "a")+use(stream+`"a",`, "m2", "b")+result(stream+`"a",`, "b")+result(stream+`null,`, "a")+
		`{"type":"result","session_id":"s"}`)
	assert.Empty(t, problems(report))
	require.Len(t, batches, 2)
	assert.Equal(t, []string{"", "a"}, []string{batches[0].Agent, batches[1].Agent})
}

func TestCodexAnswersAreKeptApart(t *testing.T) {
	call := func(id string) string {
		return `{"timestamp":` + stamped(0) + `,"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{}","call_id":"` + id + `"}}` + "\n"
	}
	output := func(id, text string) string {
		return `{"timestamp":` + stamped(300) + `,"type":"response_item","payload":{"type":"function_call_output","call_id":"` + id + `","output":` + text + `}}` + "\n"
	}
	batches, report := readAll(t, call("a")+call("b")+output("a", `"Wall time: 0.1200 seconds\nProcess exited with code 1\n"`)+call("c")+
		output("b", `"{\"output\":\"x\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.2}}"`)+output("c", `"aborted by user after 1s"`)+
		call("a")+output("a", `"exec command rejected by user"`)+
		`{"timestamp":`+stamped(400)+`,"type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin","call_id":"d"}}`+"\n"+
		`{"timestamp":`+stamped(400)+`,"type":"event_msg","payload":{"type":"turn_aborted"}}`+"\n"+
		`{"timestamp":`+stamped(400)+`,"type":"response_item","payload":{"type":"local_shell_call","action":{"command":["ls"]},"call_id":"e"}}`+"\n")
	assert.Equal(t, `line 1 codex session= agent= turn=#1 model= dir=
  line 1 a shell {} failed 120ms 120ms
  line 2 b shell {} succeeded 200ms 200ms
  line 4 c shell {} cancelled 300ms 0s
line 7 codex session= agent= turn=#4 model= dir=
  line 7 a shell {} rejected - -
line 9 codex session= agent= turn=#5 model= dir=
  line 9 d apply_patch "*** Begin" unanswered - -
line 11 codex session= agent= turn=#6 model= dir=
  line 11 e local_shell {"command":["ls"]} unanswered - -
`, shown(batches...))
	assert.Equal(t, "call without result at line 9\ncall still open at line 11\n", problems(report))
}

// Items without anything around them: old rollouts, and lists of the Responses API.
func TestCodexBareItems(t *testing.T) {
	batches, report := readAll(t, `[{"type":"message","role":"user","content":"x"},
{"type":"reasoning","summary":[]},
{"type":"function_call","name":"f","arguments":"{\"a\":1}","call_id":"1"},
{"type":"function_call","name":"g","arguments":"","call_id":"2"},
{"type":"function_call_output","call_id":"2","output":"x"},
{"type":"function_call_output","call_id":"1","output":"x"}]`)
	assert.Equal(t, "line 3 codex session= agent= turn=#1 model= dir=\n  line 3 1 f {\"a\":1} succeeded - -\n  line 4 2 g {} succeeded - -\n", shown(batches...))
	assert.Empty(t, problems(report))
}

func TestOpenCodeStepsAndOutcomes(t *testing.T) {
	tool := func(id, state string) string {
		return `{"type":"tool","tool":"bash","callID":"` + id + `","state":{` + state + `,"input":{},"time":{"start":1767225600100,"end":1767225600200}}}`
	}
	batches, report := readAll(t, `[{"info":{"id":"m","sessionID":"s","role":"assistant"},"parts":[{"type":"step-start"},`+
		tool("a", `"status":"completed"`)+`,{"type":"step-finish"},{"type":"step-start"},`+
		tool("b", `"status":"error","error":"The user rejected permission to use this"`)+`,`+
		tool("c", `"status":"error","error":"Tool execution aborted"`)+`,`+tool("d", `"status":"error","error":"x"`)+`,`+tool("e", `"status":"running"`)+`]}]`)
	var outcomes [][]Outcome
	for _, b := range batches {
		var o []Outcome
		for _, c := range b.Calls {
			o = append(o, c.Outcome)
		}
		outcomes = append(outcomes, o)
	}
	assert.Equal(t, [][]Outcome{{Succeeded}, {Rejected, Cancelled, Failed, Unanswered}}, outcomes)
	assert.Equal(t, "call without result at line 1\n", problems(report))
	took, ok := batches[0].Took(0, nil)
	assert.True(t, ok)
	assert.Equal(t, 100*time.Millisecond, took)
}

// As JSONL a message comes again when its calls have ended.
func TestGeminiLines(t *testing.T) {
	batches, report := readAll(t, `{"sessionId":"s","projectHash":"h","startTime":"x","kind":"main"}
{"id":"1","timestamp":"2026-01-01T00:00:00Z","type":"user","content":"x"}
{"id":"2","timestamp":"2026-01-01T00:00:01Z","type":"gemini","content":"x","toolCalls":[{"id":"a","name":"glob","args":{},"status":"executing"}]}
{"$set":{"lastUpdated":"x"}}
{"id":"2","timestamp":"2026-01-01T00:00:01Z","type":"gemini","content":"x","toolCalls":[{"id":"a","name":"glob","args":{},"status":"error"},{"id":"b","name":"glob","args":{},"status":"cancelled"}]}
{"id":"3","timestamp":"2026-01-01T00:00:02Z","type":"gemini","content":"x"}
`)
	assert.Equal(t, "line 3 gemini session=s agent= turn=2 model= dir=\n  line 5 a glob {} failed - -\n  line 5 b glob {} cancelled - -\n", shown(batches...))
	assert.Empty(t, problems(report))
}

func TestCopilotWithoutRequest(t *testing.T) {
	batches, report := readAll(t, `{"type":"session.start","data":{"sessionId":"s"},"timestamp":`+stamped(0)+`}
{"type":"tool.execution_start","data":{"toolCallId":"a","toolName":"view","arguments":"{\"path\":\"x\"}","turnId":"0"},"timestamp":`+stamped(10)+`}
{"type":"tool.execution_start","data":{"toolCallId":"b","toolName":"bash","arguments":{},"turnId":"0","parentToolCallId":"p"},"timestamp":`+stamped(10)+`}
{"type":"tool.execution_complete","data":{"toolCallId":"b","success":false,"error":{"message":"no","code":"rejected"}},"timestamp":`+stamped(20)+`}
{"type":"tool.execution_complete","data":{"toolCallId":"a","success":false,"error":{"message":"no","code":"failure"}},"timestamp":`+stamped(40)+`}
{"type":"abort","data":{"reason":"user"},"timestamp":`+stamped(50)+`}
{"type":"brand.new","data":{"x":1},"timestamp":`+stamped(50)+`}
`)
	assert.Equal(t, `line 2 copilot session=s agent= turn=turn 0 model= dir=
  line 2 a view {"path":"x"} failed 30ms 30ms
line 3 copilot session=s agent=p turn=turn 0 model= dir=
  line 3 b bash {} rejected - -
`, shown(batches...))
	assert.Equal(t, "unknown record (type brand.new) at line 7\n", problems(report))
}

// A shell that was asked to go on behind its result took nobody knows how long.
func TestCopilotBackground(t *testing.T) {
	for arguments, background := range map[string]bool{
		`{"command":"x","mode":"async"}`: true, `{"command":"x","mode":"sync","detach":true}`: true,
		`{"command":"x","mode":"sync"}`: false, `{"command":"async"}`: false, `"async"`: false,
	} {
		batches, _ := readAll(t, `{"type":"assistant.message","data":{"messageId":"m","toolRequests":[{"toolCallId":"k","name":"bash","arguments":`+arguments+`}]}}
{"type":"tool.execution_start","timestamp":`+stamped(0)+`,"data":{"toolCallId":"k"}}
{"type":"tool.execution_complete","timestamp":`+stamped(5)+`,"data":{"toolCallId":"k","success":true}}`)
		require.Len(t, batches, 1)
		_, known := batches[0].Took(0, []bool{true, true, true})
		assert.Equal(t, !background, known, arguments)
	}
}

func TestDSHTimes(t *testing.T) {
	batches, report := readAll(t, `{"type":"session","version":0,"id":"s","createdAt":1767225600000,"cwd":"/w"}
{"type":"assistant/message","seq":1,"time":1767225600000,"data":{"turn":1,"step":2,"message":{"content":[{"type":"tool-call","id":"a","name":"read","arguments":"{\"path\":\"x\"}"},{"type":"tool-call","id":"b","name":"read","arguments":"{}"}]}}}
{"type":"tool/call","seq":2,"time":1767225600010,"data":{"callId":"a"}}
{"type":"tool/result","seq":3,"time":1767225600030,"data":{"message":{"content":[{"type":"tool-result","toolCallId":"a","isError":true}]}}}
{"type":"tool/result","seq":4,"time":1767225600030,"data":{"error":{"code":"TOOL_NOT_STARTED"},"message":{"content":[{"type":"tool-result","toolCallId":"b","isError":true}]}}}
{"type":"turn/end","seq":5,"time":1767225600040,"data":{"turn":1}}
{"type":"tool/novel","seq":6,"time":1767225600040,"data":{}}
`)
	assert.Equal(t, `line 2 dsh session=s agent= turn=1.2 model= dir=/w
  line 2 a read {"path":"x"} failed 20ms 20ms
  line 2 b read {} cancelled - -
`, shown(batches...))
	assert.Equal(t, "unknown record (type tool/novel) at line 7\n", problems(report))
}

// Answers of the Messages API, as it gives them, with the messages between.
func TestAnthropicResponses(t *testing.T) {
	batches, report := readAll(t, `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}
{"id":"msg_2","type":"message","role":"assistant","content":[{"type":"text","text":"x"}]}
`)
	assert.Equal(t, "line 1 anthropic session= agent= turn=#1 model= dir=\n  line 1 a f {} succeeded - -\n", shown(batches...))
	assert.Empty(t, problems(report))
}

func TestEveryFormatHasAClock(t *testing.T) {
	quality := map[Format]Quality{Keywave: Exact, OpenCode: Exact, Copilot: Exact, ClaudeCode: UpperBound, Codex: UpperBound,
		DSH: UpperBound, Recorded: UpperBound, Pi: TailOnly, Gemini: NoClock, OpenAI: NoClock, Anthropic: NoClock}
	assert.Len(t, Formats, len(quality))
	for _, f := range Formats {
		assert.Equal(t, quality[f], f.Clock().Quality, f)
		assert.Regexp(t, `^[A-Z].{20,}\.$`, f.Clock().Text, f)
	}
}

// A command may go on in the background although nobody asked for that when it was called: it took too long, or a
// person sent it there. Its result says so, and how long it took is not known.
func TestClaudeCodeBackground(t *testing.T) {
	went := strings.TrimSuffix(result("a", 20), "}\n") + `,"toolUseResult":{"stdout":"","backgroundTaskId":"b1","durationMs":7}}` + "\n"
	batches, _ := readAll(t, use("m1", "a", 0)+use("m1", "b", 1)+went+result("b", 30))
	require.Len(t, batches, 1)
	_, known := batches[0].Took(0, []bool{true})
	assert.False(t, known)
	assert.True(t, batches[0].Calls[0].Background)
	assert.Equal(t, Succeeded, batches[0].Calls[0].Outcome)
	took, known := batches[0].Took(1, nil)
	assert.Equal(t, 29*time.Millisecond, took)
	assert.True(t, known)
	assert.False(t, batches[0].Calls[1].Background)
}
