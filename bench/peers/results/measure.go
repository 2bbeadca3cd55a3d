package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// A bench is a suite that is being measured.
type bench struct {
	suite
	binary string
	out    bytes.Buffer // what its benchmarks printed, of all rounds
	loads  []string     // of the machine, when each round began
	failed []string     // what went wrong, a line each
	hangs  bool         // a round took too long
	begin  time.Time
}

// measure runs the benchmarks, in rounds, and returns what they printed, by suite, with a head that says when, on what
// and how. The error tells all that failed; a suite of which nothing at all could be measured is not returned.
func (s settings) measure(ctx context.Context) (map[string][]byte, error) {
	tmp, err := os.MkdirTemp("", "keywave-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	var benches []*bench
	var errs []error
	for _, su := range s.suites {
		if !s.only.MatchString(su.name) {
			continue
		}
		b := &bench{suite: su, binary: filepath.Join(tmp, su.name+".test"), begin: time.Now()}
		fmt.Fprintf(os.Stderr, "compiling %s\n", su.name)
		cmd := exec.CommandContext(ctx, "go", "test", "-c", "-o", b.binary, "./"+su.pkg)
		cmd.Dir, cmd.WaitDelay = filepath.Join(s.root, su.module), orphans
		if out, err := cmd.CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("%s does not compile, and what was measured before is kept: %w\n%s", su.name, err, out))
			continue
		}
		benches = append(benches, b)
	}
	for round := 1; round <= s.rounds && ctx.Err() == nil; round++ {
		for _, b := range benches {
			begin := time.Now()
			fmt.Fprintf(os.Stderr, "round %d of %d: %s", round, s.rounds, b.name)
			s.round(ctx, b, round)
			fmt.Fprintf(os.Stderr, ", %v\n", time.Since(begin).Round(100*time.Millisecond))
		}
	}
	measured := map[string][]byte{}
	for _, b := range benches {
		for _, f := range b.failed {
			errs = append(errs, fmt.Errorf("%s: %s", b.name, f))
		}
		if !bytes.Contains(b.out.Bytes(), []byte("\nBenchmark")) {
			errs = append(errs, fmt.Errorf("%s: no benchmark came to an end, and what was measured before is kept", b.name))
			continue
		}
		text := append([]byte(s.head(b)), b.out.Bytes()...)
		if err := (samples{}).add(b.name, text); err != nil { // kept, it would spoil all that come after it
			errs = append(errs, fmt.Errorf("%s printed what is no figure, and what was measured before is kept: %w", b.name, err))
			continue
		}
		measured[b.name] = text
	}
	return measured, errors.Join(errs...)
}

// orphans is how long what a benchmark has started, and left behind with its output in hand, is waited for.
const orphans = 2 * time.Second

// failure is what is kept of how a benchmark failed. What else it says may name files of this machine.
var failure = regexp.MustCompile(`(?m)^\s*(--- FAIL: \S+|panic|fatal error)`)

// round runs the benchmarks of one suite once. What one says that fails is shown.
func (s settings) round(ctx context.Context, b *bench, round int) {
	if b.hangs {
		return
	}
	b.loads = append(b.loads, load())
	// The timeout of package testing is not for benchmarks.
	bounded, cancel := context.WithTimeout(ctx, s.most)
	defer cancel()
	cmd := exec.CommandContext(bounded, b.binary, "-test.run=^$", "-test.bench="+b.bench, "-test.benchtime="+s.benchtime.String())
	cmd.Dir, cmd.WaitDelay = filepath.Join(s.root, b.module, b.pkg), orphans
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	b.out.Write(stdout.Bytes())
	switch {
	case err == nil || ctx.Err() != nil:
		return
	case bounded.Err() != nil:
		b.hangs = true
		b.failed = append(b.failed, fmt.Sprintf("round %d: it was not over after %v, and is not run again", round, s.most))
		return
	}
	fmt.Fprintf(os.Stderr, "\n%s%s", stdout.Bytes(), stderr.Bytes())
	var what []string
	for _, m := range failure.FindAllStringSubmatch(stdout.String()+"\n"+stderr.String(), 8) {
		what = append(what, m[1])
	}
	b.failed = append(b.failed, fmt.Sprintf("round %d: %v: %s", round, err, strings.Join(what, "; ")))
}

// head is what is put before the output of benchmarks: in lines that benchstat reads over, as it takes those that it
// knows for what tells two machines apart.
func (s settings) head(b *bench) string {
	var h strings.Builder
	line := func(key, value string) { fmt.Fprintf(&h, "# %s: %s\n", key, value) }
	line("go", runtime.Version())
	line("commit", commit(s.root))
	line("date", b.begin.UTC().Format("2006-01-02 15:04 UTC"))
	line("cores", fmt.Sprint(runtime.NumCPU()))
	line("rounds", fmt.Sprintf("%d of %v", s.rounds, s.benchtime))
	line("load", strings.Join(b.loads, " "))
	for _, f := range b.failed {
		line("failed", f)
	}
	return h.String()
}

// load is how many processes wanted to run in the last minute, or ? where the system does not say.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if first, _, ok := strings.Cut(string(text), " "); err == nil && ok {
		return first
	}
	return "?"
}

// commit is the commit of the source, and whether that has changes besides the figures themselves.
func commit(root string) string {
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	id, err := git("rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "unknown"
	}
	changes, err := git("status", "--porcelain", "--", ".", ":!bench/results", ":!"+resultsFile, ":!"+readmeFile)
	if err != nil || changes != "" {
		return id + " with changes"
	}
	return id
}

// A head is what is known of the run from which a file of figures is.
type head struct {
	suite
	fields map[string]string
	failed []string
}

// headOf reads what head wrote, and what the benchmarks say of the machine.
func headOf(su suite, text []byte) head {
	h := head{suite: su, fields: map[string]string{}}
	for line := range strings.Lines(string(text)) {
		key, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "# "), ": ")
		switch {
		case !ok || strings.ContainsAny(key, " \t"):
		case key == "failed":
			h.failed = append(h.failed, value)
		case h.fields[key] == "":
			h.fields[key] = value
		}
	}
	return h
}
