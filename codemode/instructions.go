package codemode

import (
	"fmt"
	"strings"
	"time"

	"github.com/keywave-go/keywave/tool"
)

// describe is what the model is told of run_code. Each of its sentences has a test, by the name of the line, that runs a
// program and holds it to that: see instructions_test.go.
func (v *View) describe(defs []tool.Definition) string {
	var b strings.Builder
	for _, line := range v.instructions() {
		b.WriteString(line.text)
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	b.WriteString(Declarations(defs))
	return b.String()
}

// A line of the instructions.
type line struct{ name, text string }

func (v *View) instructions() []line {
	l := v.limits
	language := v.runtime.Info().Language
	lines := []line{
		{"what", "Runs a program that calls tools, and shows what it returns and logs. Use it for work of several calls: nothing that the calls return is shown, except as the program returns or logs it."},
		{"code", "- `code` is the body of an async function in " + language + ": it may use await and return. It can reach nothing but the language and the tools: there are no files, no network, no modules to import."},
		{"call", "- Each tool is a function of the object `tools`: `const r = await tools.name({...})`. It takes one object, and its promise resolves with what the tool returns: a string, or JSON. Names that are no identifiers go in brackets: `tools[\"a-b\"]({...})`."},
		{"error", "- The promise of a call that fails, is not allowed, or has arguments that are wrong, rejects with a ToolCallError, which has a toolName and a message. A program that does not catch it fails with it; what other calls have done stays done."},
		{"overlap", fmt.Sprintf("- Calls start in the order in which they are made. Independent calls that are safe may run at the same time, at most %d of them: make them without await in between, and await them with Promise.all or Promise.allSettled.", v.parallel)},
		{"order", "- Calls that conflict, such as two edits of one file, run one after the other, in the order in which they are made, also under Promise.all. Await what a later call needs before you make that."},
	}
	unawaited := "- Await every call: when the program ends, calls that are still running are aborted, and calls that have not started are dropped."
	if v.unawaited > 0 {
		unawaited = fmt.Sprintf("- Await every call: when the program ends, calls that have not ended get %v; then those that are running are aborted, and those that have not started are dropped.", v.unawaited)
	}
	lines = append(lines, line{"await", unawaited},
		line{"show", "- A string that is returned is shown as it is, anything else as JSON; what console.log is given is shown, too. Log or return only what you need to see."},
		line{"limits", fmt.Sprintf("- A program can make %d calls, log %s and return %s.%s", l.Calls, size(l.Logs), size(l.Value), times(l))},
	)
	return lines
}

// times says how long a program may run, if the host has said it.
func times(l Limits) string {
	switch {
	case l.Wall > 0 && l.Compute > 0:
		return fmt.Sprintf(" It has %v, of which it may compute for %v itself.", l.Wall.Round(time.Millisecond), l.Compute.Round(time.Millisecond))
	case l.Wall > 0:
		return fmt.Sprintf(" It has %v.", l.Wall.Round(time.Millisecond))
	case l.Compute > 0:
		return fmt.Sprintf(" It may compute for %v itself.", l.Compute.Round(time.Millisecond))
	}
	return ""
}

func size(bytes int) string {
	switch {
	case bytes >= 1<<20 && bytes%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes >= 1<<10 && bytes%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
