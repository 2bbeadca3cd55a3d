package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"time"

	"github.com/keywave-go/keywave/harness"
)

type logCommand struct {
	File   string `arg:"" help:"The log of a session; - is the standard input."`
	Tree   bool   `help:"Show each turn as a tree of steps and calls, and when each ran."`
	JSON   bool   `name:"json" help:"Print lines of JSON for a program: the events or, with --tree, the turns."`
	Follow bool   `short:"f" help:"Go on as the log is written, until ctrl-C; wait for it if it is not there yet."`
	Full   bool   `help:"Print texts whole, not their first lines."`
}

func (c *logCommand) Help() string {
	return `Shows what a log says: the turns, what was said in them, the calls and what became of each, in the model's order. A call that
waited says how long and for what: to start (for its turn and for the calls before it), for approval, and, when its own result was
there, for the results before it. A torn end, and what is open at the end, is told.

The log is only read, without a lock, so that it can be shown while an agent writes it. It takes memory for one step and one
record, however long the log is; with --tree for one turn.

Calls that a call has made itself, such as those of a program, stand within it: 2.1 is the first that call 2 has made. What does
not fit into that, such as a call that would be its own ancestor or is more than 256 deep, is told, and the rest is shown.

With --tree each turn is drawn on a line of time: · waits, ▒ the model is asked, █ runs, ─ done, its result waits for those before
it. A turn is over, and shown, when the next begins or the log ends: with --follow, at ctrl-C.

--follow ends with exit code 2 when the log becomes shorter, is replaced or removed: some of what was shown is not in it then.

--json prints the events as they are in the log, {"seq", "time", "type", "data"}, a line each; the documentation of package harness
has all types. With --tree it is a line for each turn: {"turn", "started", "ended", "reason", "error", "said", "cancels", "steps":
[{"step", "started", "answered", "ended", "said", "text", "calls": [{"index", "id", "name", "arguments", "notStarted", "started",
"asked", "answered", "allowed", "settled", "committed", "code", "isError", "text", "calls": [{"id", "name", "arguments", "started",
"settled", "committed", "code", "isError", "text", "calls"}], "refused"}]}]}. The inner "calls" are those that the call has made, and "refused"
says what does not fit there. "answered" is when the model had answered or,
of a call, somebody the prompt; "said" are texts of users, "cancels" causes. What did not happen has no member. "turn" is 0 for
what was said after the last one. A torn end goes to the standard error.`
}

func (c *logCommand) Validate() error {
	if c.Follow && c.File == standardInput {
		return errors.New("--follow is for a file: the standard input is read to its end anyway")
	}
	return nil
}

func (c *logCommand) Run(ctx context.Context, h host) error {
	events, source, end := c.events(ctx, h)
	defer end()
	var err error
	switch {
	case c.Tree && c.JSON:
		err = turnsJSON(h, harness.Turns(events))
	case c.Tree:
		err = c.drawTurns(h, harness.Turns(events))
	case c.JSON:
		err = c.eventsJSON(h, events)
	default:
		err = c.tell(h, events, source)
	}
	var torn *harness.TornError
	var named *fs.PathError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &torn):
		fmt.Fprintf(h.stderr, "keywave: %s: %s\n", clean(source), tornText(torn))
		return nil
	case errors.As(err, &named):
		return named // it names the file already
	case err != nil && !errors.Is(err, errUnwritten):
		return fmt.Errorf("%s: %w", source, err)
	}
	return nil // the output remembers that it could not be written
}

// tornText says what a torn end is.
func tornText(torn *harness.TornError) string {
	return fmt.Sprintf("the end is torn: %s in line %d, from byte %d on, are not a whole record; its writer is at it, or was stopped there",
		count(int(torn.Size), "byte"), torn.Line, torn.Offset)
}

// errUnwritten is that the output cannot be written, and there is no reason to go on.
var errUnwritten = errors.New("the output cannot be written")

// events reads the log. The function returned ends that.
func (c *logCommand) events(ctx context.Context, h host) (events iter.Seq2[harness.Event, error], source string, end func()) {
	if c.Follow {
		return c.follow(ctx, h), c.File, func() {}
	}
	in, source := input(ctx, h.stdin, c.File)
	return harness.Read(in), source, func() { _ = in.Close() }
}

// follow follows the log, when it is there.
func (c *logCommand) follow(ctx context.Context, h host) iter.Seq2[harness.Event, error] {
	return func(yield func(harness.Event, error) bool) {
		for told := false; ; told = true {
			info, err := os.Stat(c.File)
			switch {
			case err == nil && !info.Mode().IsRegular():
				yield(harness.Event{}, errors.New("only a file can be followed"))
				return
			case !errors.Is(err, fs.ErrNotExist):
				harness.Follow(ctx, c.File)(yield)
				return
			case !told:
				fmt.Fprintf(h.stderr, "%s is not there yet: waiting for it\n", clean(c.File))
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(redraw):
			}
		}
	}
}

// flush writes what is buffered, if more than that would not fit or somebody is waiting for it.
func flush(w *bufio.Writer, now bool) error {
	if !now && w.Available() > w.Size()/2 {
		return nil
	}
	if w.Flush() != nil {
		return errUnwritten
	}
	return nil
}

// tell shows the events for people.
func (c *logCommand) tell(h host, events iter.Seq2[harness.Event, error], source string) error {
	s := newStory(h.stdout, h.paint(h.stdout), c.Full)
	s.live = c.Follow
	var torn *harness.TornError
	for e, err := range events {
		if errors.As(err, &torn) {
			break
		}
		if err == nil {
			err = s.tell(e)
		}
		if err == nil {
			err = flush(s.w, c.Follow)
		}
		if err != nil {
			_ = s.w.Flush()
			return err
		}
	}
	switch {
	case c.Follow:
		return nil
	case s.events == 0 && torn == nil:
		s.say(plain, "There are no events in "+clean(source)+".")
	default:
		s.end(torn)
	}
	return flush(s.w, true)
}

// eventsJSON prints the events as lines.
func (c *logCommand) eventsJSON(h host, events iter.Seq2[harness.Event, error]) error {
	w := bufio.NewWriterSize(h.stdout, 64<<10)
	for e, err := range events {
		if err == nil {
			_, _ = w.WriteString(escaped(e.String()) + "\n")
			err = flush(w, c.Follow)
		}
		if err != nil {
			_ = w.Flush()
			return err
		}
	}
	return flush(w, true)
}
