package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/codemode/js"
	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// What the process ends with.
const (
	exitDone        = 0
	exitFailed      = 1   // a call failed, an agent met a limit, or the demo found a difference
	exitUsage       = 2   // bad usage or input, or the output could not be written
	exitInterrupted = 130 // ctrl-C, SIGTERM, or SIGHUP of a terminal that was closed
)

// errFailed and errInterrupted end a command with their exit code; what there is to say has been said.
var (
	errFailed      = errors.New("a call failed")
	errInterrupted = errors.New("interrupted")
)

// A host is the world around the command.
type host struct {
	stdin          io.Reader
	stdout, stderr stream
	signals        <-chan os.Signal
	env            func(string) string
	tools          []*tool.Definition                             // that a batch may use besides the file tools
	runtime        func() (codemode.Runtime, func() error, error) // what programs run in, and what ends that

	// The directory or file that is removed when the command ends before it is done with it; nil if there is none.
	temp *atomic.Pointer[string]
}

// A stream is where output goes. Its size is that of the terminal behind it, if there is one; it is asked for before
// every picture, so a change of the window's size needs no signal.
type stream struct {
	io.Writer
	size func() (width, height int, terminal bool)
}

func main() {
	js.Worker()
	// Room for both signals of an impatient user while nobody is receiving.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	// Whoever reads the output may leave; what was begun is still tidied up.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(run(context.Background(), os.Args[1:], host{
		stdin: os.Stdin, stdout: file(os.Stdout), stderr: file(os.Stderr), signals: signals, env: os.Getenv, runtime: newRuntime,
	}))
}

func file(f *os.File) stream {
	return stream{f, func() (width, height int, terminal bool) {
		width, height, err := term.GetSize(int(f.Fd()))
		return width, height, err == nil && width > 0 && height > 0
	}}
}

type commandLine struct {
	Plan    planCommand    `cmd:"" help:"Show which calls of a batch may run at the same time, and why. Runs none of them."`
	Run     runCommand     `cmd:"" help:"Run a batch with the file tools in a directory, or several at once as agents."`
	Agent   agentCommand   `cmd:"" help:"Lead an agent, whose model follows a script, over the file tools in a directory, with a log."`
	Log     logCommand     `cmd:"" help:"Show the log of a session: what was said, the calls, and what became of them."`
	Replay  replayCommand  `cmd:"" help:"Show what keyed parallelism would have saved in sessions of agents, from their transcripts."`
	Tools   toolsCommand   `cmd:"" help:"List the tools and their arguments: the file tools, and the one that runs programs."`
	Demo    demoCommand    `cmd:"" help:"Run one realistic turn of a model in five ways, and prove that they agree."`
	Version versionCommand `cmd:"" help:"Print the version and leave."`

	VersionFlag kong.VersionFlag `name:"version" help:"Print the version and leave."`
}

const about = `Keywave runs the tool calls of one model turn at the same time where that is safe, in the model's order where
it is not, and gives the results back in the order the model asked for them.

Exit codes: 0 done; 1 a call failed; 2 bad usage or input; 130 interrupted.`

// run is the whole command. The first signal cancels gently: what runs is told, and what it ended with is shown. The
// second leaves at once, with nothing left behind.
func run(ctx context.Context, args []string, h host) int {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	h.temp = new(atomic.Pointer[string])
	ended := make(chan int, 1)
	go func() { ended <- dispatch(ctx, args, h) }()
	for signals := 0; ; {
		select {
		case code := <-ended:
			return code
		case <-h.signals:
			if signals++; signals == 2 {
				if dir := h.temp.Load(); dir != nil {
					_ = os.RemoveAll(*dir) // since the first one nothing makes anything in it any more
				}
				return exitInterrupted
			}
			cancel(errInterrupted)
		}
	}
}

// dispatch parses the command line and runs the command it names.
func dispatch(ctx context.Context, args []string, h host) int {
	out := &stickyWriter{w: h.stdout.Writer}
	h.stdout.Writer = out

	err := command(ctx, args, h)
	if out.err != nil && (err == nil || errors.Is(err, errFailed)) { // which call failed is what could not be said
		err = fmt.Errorf("writing the output: %w", out.err)
	}
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, errFailed):
		return exitFailed
	case errors.Is(err, syscall.EPIPE):
		return exitUsage // there is nobody to tell
	}
	fmt.Fprintf(h.stderr, "keywave: %s\n", clean(err.Error()))
	return exitUsage
}

func command(ctx context.Context, args []string, h host) (err error) {
	// Kong prints the help in the midst of parsing and then calls Exit, which has to end it.
	type helpShown struct{}
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(helpShown); !ok {
				panic(r)
			}
			err = nil
		}
	}()
	var line commandLine
	parser, err := kong.New(&line,
		kong.Name("keywave"), kong.Description(about),
		kong.Vars{"batch": batchHelp, "limit": strconv.Itoa(exec.DefaultLimit), "agentlimit": strconv.Itoa(harness.DefaultLimit), "version": version()},
		kong.ConfigureHelp(kong.HelpOptions{NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.Writers(h.stdout, h.stderr),
		kong.Exit(func(int) { panic(helpShown{}) }),
		kong.Bind(h), kong.BindTo(ctx, (*context.Context)(nil)),
	)
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		about := "keywave"
		var at *kong.ParseError
		if errors.As(err, &at) && at.Context.Selected() != nil {
			about += " " + at.Context.Selected().Name
		}
		return fmt.Errorf("%w (%s --help tells more)", err, about)
	}
	return parsed.Run()
}

// A stickyWriter remembers that writing failed: a result that nobody could read was not given.
type stickyWriter struct {
	w   io.Writer
	err error
}

func (s *stickyWriter) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(p)
	s.err = err
	return n, err
}
