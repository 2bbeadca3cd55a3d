package transcript

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/tool"
)

// What the texts of agents say of how a call ended.
func TestOutcomes(t *testing.T) {
	failed := func(text string) Outcome { return claudeOutcome(block{Failed: true, Content: brief(`"` + text + `"`)}) }
	for _, c := range []struct{ want, got Outcome }{
		{Succeeded, claudeOutcome(block{Content: "Sibling tool call errored"})},
		{Cancelled, failed("<tool_use_error>Sibling tool call errored</tool_use_error>")},
		{Cancelled, failed("Cancelled: parallel tool call Bash errored")},
		{Cancelled, failed("[Request interrupted by user for tool use]")},
		{Rejected, failed("The user doesn't want to proceed with this tool use.")},
		{Rejected, failed("The user doesn't want to take this action right now.")},
		{Rejected, failed("Permission to use Bash has been denied.")},
		{Failed, failed("no such file")},
		{Rejected, codexOutcome(`"exec command rejected by user"`)},
		{Rejected, codexOutcome(`"denied by policy"`)},
		{Cancelled, codexOutcome(`"aborted by user after 3.1s"`)},
		{Failed, codexOutcome(`"Exit code: 1\nWall time: 1 seconds"`)},
		{Failed, codexOutcome(`{"content":"x","success":false}`)},
		{Succeeded, codexOutcome(`"Process exited with code 0"`)},
		{Rejected, copilotFailure(`{"code":"rejected"}`)},
		{Rejected, copilotFailure(`{"code":"denied"}`)},
		{Cancelled, copilotFailure(`{"code":"cancelled"}`)},
		{Cancelled, copilotFailure(`{"code":"aborted"}`)},
		{Failed, copilotFailure(`{"code":"failure"}`)},
		{Succeeded, openCodeOutcome("completed", "")},
		{Unanswered, openCodeOutcome("running", "")},
		{Rejected, openCodeOutcome("error", "The user rejected permission to use this tool")},
		{Rejected, openCodeOutcome("error", "The user has specified a rule which prevents you from using this tool")},
		{Cancelled, openCodeOutcome("error", "Tool execution aborted")},
		{Failed, openCodeOutcome("error", "no such file")},
		{Cancelled, dshOutcome("TOOL_NOT_STARTED", true)},
		{Cancelled, dshOutcome("TOOL_OUTCOME_UNKNOWN", true)},
		{Failed, dshOutcome("", true)},
		{Succeeded, dshOutcome("", false)},
		{Succeeded, keywaveOutcome("", false)},
		{Failed, keywaveOutcome("", true)},
		{Cancelled, keywaveOutcome(tool.TimeoutBeforeDispatch, true)},
		{Cancelled, keywaveOutcome(tool.Interrupted, true)},
		{Rejected, keywaveOutcome(tool.Denied, true)},
		{Failed, keywaveOutcome(tool.Panic, true)},
	} {
		assert.Equal(t, c.want, c.got)
	}
	batches, _ := readAll(t, `{"type":"session","id":"s","cwd":"/w"}`+"\n"+
		`{"type":"message","id":"1","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"read","arguments":{}}]}}`+"\n"+
		`{"type":"message","id":"2","message":{"role":"toolResult","toolCallId":"c","isError":true}}`)
	require.Len(t, batches, 1)
	assert.Equal(t, []any{Pi, Failed}, []any{batches[0].Format, batches[0].Calls[0].Outcome})
}

// A time is a text, or a number of seconds or milliseconds.
func TestStamps(t *testing.T) {
	for raw, want := range map[string]time.Time{
		`"2026-01-01T00:00:00Z"`: at(0), `"2026-01-01T01:00:00.5+01:00"`: at(500), `1767225600`: at(0), `1767225600.25`: at(250),
		`1767225600250`: at(250), `"yesterday"`: {}, `-1`: {}, `1e300`: {}, `null`: {}, `{}`: {},
	} {
		var s stamp
		require.NoError(t, s.UnmarshalJSON([]byte(raw)))
		assert.Equal(t, want, s.Time, raw)
	}
}

// What Claude Code says of a result beside it counts if it can be of one call only, and can be true.
func TestWhatClaudeReports(t *testing.T) {
	with := func(said string) Call {
		batches, _ := readAll(t, use("m", "a", 0)+strings.Replace(result("a", 10), `{`, `{"toolUseResult":`+said+`,`, 1))
		require.Len(t, batches, 1)
		return batches[0].Calls[0]
	}
	assert.Equal(t, 7*time.Millisecond, with(`{"durationMs":7}`).Reported)
	assert.Equal(t, 2*time.Second, with(`{"durationSeconds":2}`).Reported)
	assert.Equal(t, 9*time.Second, with(`{"totalDurationMs":9000}`).Reported)
	assert.Zero(t, with(`{"durationMs":1e12}`).Reported, "thirty years")
	assert.Equal(t, Cancelled, with(`{"interrupted":true}`).Outcome)

	both := `{"type":"user","sessionId":"s","timestamp":` + stamped(10) + `,"toolUseResult":{"durationMs":7},"message":{"role":"user","content":[` +
		`{"type":"tool_result","tool_use_id":"a"},{"type":"tool_result","tool_use_id":"b"}]}}`
	batches, _ := readAll(t, use("m", "a", 0)+use("m", "b", 0)+both)
	require.Len(t, batches, 1)
	for _, c := range batches[0].Calls {
		assert.Zero(t, c.Reported, "it may be of the other")
	}
}

// A permission that was asked for before the call began has not been waited for in its time until then.
func TestPermissionBeforeTheStart(t *testing.T) {
	event := func(ms int, kind, data string) string {
		return `{"type":"` + kind + `","timestamp":` + stamped(ms) + `,"data":` + data + "}\n"
	}
	batches, report := readAll(t, event(0, "session.start", `{"sessionId":"s"}`)+
		event(0, "assistant.message", `{"messageId":"m","toolRequests":[{"toolCallId":"c","name":"x","arguments":{}}]}`)+
		event(0, "permission.requested", `{"requestId":"r"}`)+event(10, "tool.execution_start", `{"toolCallId":"c"}`)+
		event(30, "permission.completed", `{"requestId":"r","toolCallId":"c"}`)+event(50, "tool.execution_complete", `{"toolCallId":"c","success":true}`))
	require.Len(t, batches, 1)
	assert.Empty(t, problems(report))
	took, ok := batches[0].Took(0, nil)
	assert.True(t, ok)
	assert.Equal(t, 20*time.Millisecond, took)
}

// What Codex tells its user interface ends an answer, and says when a command ended if that can be true.
func TestEventsOfCodex(t *testing.T) {
	record := func(ms int, kind, payload string) string {
		return `{"timestamp":` + stamped(ms) + `,"type":"` + kind + `","payload":` + payload + "}\n"
	}
	call := func(ms int, id string) string {
		return record(ms, "response_item", `{"type":"function_call","name":"shell","arguments":"{}","call_id":"`+id+`"}`)
	}
	output := record(40, "response_item", `{"type":"function_call_output","call_id":"b","output":"x"}`)
	for _, event := range []string{"task_started", "turn_aborted", "turn_complete"} {
		batches, _ := readAll(t, call(0, "a")+record(10, "event_msg", `{"type":"`+event+`"}`)+call(20, "b")+output)
		assert.Len(t, batches, 2, event)
	}
	for ms, want := range map[int]time.Duration{10: 20 * time.Millisecond, 30: 10 * time.Millisecond} {
		batches, report := readAll(t, call(20, "b")+record(ms, "event_msg", `{"type":"exec_command_end","call_id":"b"}`)+output)
		require.Len(t, batches, 1)
		assert.Empty(t, problems(report))
		took, ok := batches[0].Took(0, nil)
		assert.True(t, ok)
		assert.Equal(t, want, took, "told at %d ms", ms)
	}
}
