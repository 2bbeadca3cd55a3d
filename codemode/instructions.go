package codemode

import (
	"fmt"
	"strings"
	"time"

	"github.com/keywave-go/keywave/tool"
)

// describe is what the model is told of run_code. Each sentence is a promise: instructions_test.go has a program for
// each that holds it to that, and fails for one that it does not know.
func (v *View) describe(defs []tool.Definition) string {
	l := &v.limits
	var b strings.Builder
	line := func(format string, args ...any) {
		fmt.Fprintf(&b, format, args...)
		b.WriteByte('\n')
	}
	line("Runs a program that calls tools, and shows what it logs and returns. " +
		"Nothing that the calls return is shown, except as the program logs or returns it.\n")
	line("- `code` is the body of an async function in %s: it may use await and return. "+
		"It can reach the language and the tools, and nothing else: there are no files, no network, and no modules to import.", v.runtime.Info().Language)
	line("- Each tool is a function of the object `tools`: `const r = await tools.name({...})`. " +
		"It takes one object, and its promise resolves with what the tool returns: a string, or JSON. " +
		"A name that is no identifier goes in brackets: `tools[\"a-b\"]({...})`.")
	line("- The promise of a call that fails, is not allowed, or has arguments that are wrong, rejects with a ToolCallError, which has a toolName and a message. " +
		"A program that does not catch it fails with it; what other calls have done stays done.")
	line("- Independent calls that are safe may run at the same time, at most %d of them: make them without await in between, "+
		"and await them with Promise.all or Promise.allSettled.", v.parallel)
	line("- Calls that conflict, such as two edits of one file, run one after the other, in the order in which they are made, also under Promise.all. " +
		"Await what a later call needs before you make that call.")
	if v.unawaited > 0 {
		line("- Await every call: when the program ends, calls that have not ended get %v more; then those that are running are aborted, and those that have not started are dropped.", v.unawaited)
	} else {
		line("- Await every call: when the program ends, calls that are still running are aborted, and calls that have not started are dropped.")
	}
	line("- A string that is returned is shown as it is, anything else as JSON; what console.log is given is shown, too.")
	line("- A program can make %d calls, log %s and return %s.%s", l.Calls, size(l.Logs), size(l.Value), times(l))
	b.WriteByte('\n')
	b.WriteString(Declarations(defs))
	return b.String()
}

// times says how long a program may run, if the host has said it.
func times(l *Limits) string {
	wall, compute := l.Wall.Round(time.Millisecond), l.Compute.Round(time.Millisecond)
	switch {
	case l.Wall > 0 && l.Compute > 0:
		return fmt.Sprintf(" It has %v, of which it can compute for %v.", wall, compute)
	case l.Wall > 0:
		return fmt.Sprintf(" It has %v.", wall)
	case l.Compute > 0:
		return fmt.Sprintf(" It can compute for %v.", compute)
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
