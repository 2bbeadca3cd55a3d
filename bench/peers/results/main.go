package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"
)

func main() {
	s := settings{suites: suites, most: 10 * time.Minute}
	only := flag.String("only", "", "measure the packages whose name in bench/results matches; keep the others' figures")
	flag.StringVar(&s.root, "root", "../..", "the root of the repository")
	flag.IntVar(&s.rounds, "rounds", 6, "how often each benchmark is run; 0: not at all")
	flag.DurationVar(&s.benchtime, "benchtime", 200*time.Millisecond, "how long each benchmark is run in a round")
	flag.Parse()
	s.traces = os.Getenv("KEYWAVE_TRACES")
	var err error
	if s.only, err = regexp.Compile(*only); err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = s.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "results:", err)
		os.Exit(1)
	}
}

// Settings are what a run is told.
type settings struct {
	suites    []suite
	root      string
	traces    string // all recorded batches; empty: they are not here
	only      *regexp.Regexp
	rounds    int
	benchtime time.Duration
	most      time.Duration // that a round of one suite may take
}

// run measures, and writes what came out. Whatever could be measured is written, even if something else failed; nothing
// is if ctx is over.
func (s settings) run(ctx context.Context) error {
	var failed []error
	files := map[string][]byte{} // by path, from the root
	if s.rounds > 0 {
		measured, err := s.measure(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted: nothing is written: %w", context.Cause(ctx))
		}
		failed = append(failed, err)
		for name, text := range measured {
			files[rawFile(name)] = text
		}
	}
	if s.traces != "" {
		kept, err := deriveRecorded(s.traces)
		failed = append(failed, err)
		if err == nil {
			files[recordedFile] = kept
		}
	}
	failed = append(failed, s.write(files))
	pages, err := s.pages()
	return errors.Join(append(failed, err, s.write(pages))...)
}

// write writes files, each in one go.
func (s settings) write(files map[string][]byte) error {
	var failed []error
	for _, path := range slices.Sorted(maps.Keys(files)) {
		err := replace(filepath.Join(s.root, path), files[path])
		if err == nil {
			fmt.Fprintln(os.Stderr, "written:", path)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// pages returns RESULTS.md and the README with the figures that are kept. If only one of them can be written it returns
// that, and an error.
func (s settings) pages() (map[string][]byte, error) {
	d, err := s.data()
	if err != nil {
		return nil, err
	}
	pages := map[string][]byte{resultsFile: []byte(d.results())}
	readme, err := os.ReadFile(filepath.Join(s.root, readmeFile))
	if err == nil {
		readme, err = d.readme(readme)
	}
	if err != nil {
		return pages, fmt.Errorf("%s stays as it is: %w", readmeFile, err)
	}
	pages[readmeFile] = readme
	return pages, nil
}

// data gathers all figures.
func (s settings) data() (*data, error) {
	read := func(path string) ([]byte, error) {
		text, err := os.ReadFile(filepath.Join(s.root, path))
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		return text, err
	}
	d := &data{suites: s.suites, samples: samples{}}
	for _, su := range s.suites {
		text, err := read(rawFile(su.name))
		if err != nil {
			return nil, err
		}
		if text == nil {
			continue // what is missing has no figures, and RESULTS.md says so
		}
		if err := d.samples.add(su.name, text); err != nil {
			return nil, err
		}
		d.runs = append(d.runs, headOf(su, text))
	}
	text, err := read(recordedFile)
	if err == nil && text != nil {
		d.whole, err = readRecorded(text)
	}
	if err != nil {
		return nil, err
	}
	d.simulated, err = simulate(s.root)
	return d, err
}

const (
	resultsFile  = "bench/RESULTS.md"
	readmeFile   = "README.md"
	recordedFile = "bench/results/recorded.json"
)

// rawFile is where what the benchmarks of a suite print is kept.
func rawFile(suite string) string { return "bench/results/" + suite + ".txt" }

// replace puts a file in the place of another in one go.
func replace(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // it is gone by then, if all went well
	_, err = f.Write(text)
	if err = cmp.Or(err, f.Chmod(0o644), f.Close()); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return os.Rename(f.Name(), path)
}
