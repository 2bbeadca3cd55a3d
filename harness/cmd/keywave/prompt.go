package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// A question is a prompt that is to be shown until its context is done.
type question struct {
	ctx    context.Context
	prompt *tool.Prompt
}

// writes reports whether a call claims to write something.
func writes(c plan.Call) bool {
	return slices.ContainsFunc(c.Claims, func(c plan.Claim) bool { return c.Access == plan.Write })
}

// Show implements [tool.Approver].
func (l *lead) Show(ctx context.Context, p *tool.Prompt) error {
	select {
	case l.questions <- question{ctx, p}:
	case <-ctx.Done():
	}
	<-ctx.Done()
	return nil
}

// ask puts a question, and waits for the answer. Nothing else is shown meanwhile, so that it stands where it is typed.
func (l *lead) ask(q question, lines <-chan string) {
	l.clear()
	name := clean(q.prompt.Call.Call.Name)
	b := batch{calls: []tool.Call{q.prompt.Call.Call}}
	for {
		fmt.Fprintf(l.stderr, "%s [y]es, [n]o, [a]ll calls of %s: ",
			l.story.paint.warm(fmt.Sprintf("? call %s  %s  may it run?", dotted(q.prompt.Call), b.label(0))), name)
		var line string
		there := false
		select {
		case line, there = <-lines:
		case <-q.ctx.Done():
			fmt.Fprintln(l.stderr, "it is withdrawn")
			return
		}
		answer := tool.Answer{Decision: tool.Unavailable, Text: "the input has ended"}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			answer = tool.Answer{Decision: tool.AllowOnce}
		case "n", "no":
			answer = tool.Answer{Decision: tool.Reject}
		case "a", "all":
			answer = tool.Answer{Decision: tool.AllowSession}
		default:
			if there {
				continue
			}
			fmt.Fprintln(l.stderr)
		}
		if q.prompt.Answer(answer) != nil {
			fmt.Fprintln(l.stderr, "that comes too late")
		}
		return
	}
}

// readLines sends the lines that are typed, until there are no more or done is closed.
func readLines(in io.Reader, done <-chan struct{}) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			select {
			case lines <- s.Text():
			case <-done:
				return
			}
		}
	}()
	return lines
}
