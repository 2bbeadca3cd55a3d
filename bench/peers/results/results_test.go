package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/keywave-go/keywave/bench/recorded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// here is the repository.
var here = settings{suites: suites, root: "../../..", only: regexp.MustCompile("")}

func read(t *testing.T, root, path string) string {
	text, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	return string(text)
}

// TestPagesAreWrittenFromTheFigures: RESULTS.md and the block in the README are what comes out of the figures that are
// kept and of the simulations of today, to the last byte.
func TestPagesAreWrittenFromTheFigures(t *testing.T) {
	pages, err := here.pages()
	require.NoError(t, err)
	require.Len(t, pages, 2)
	for path, text := range pages {
		if was := read(t, here.root, path); was != string(text) {
			t.Errorf("%s is not what its figures say. Was it edited, or has the code changed what is simulated? Write it anew:\n"+
				"  go -C bench/peers run ./results -rounds 0\n%s", path, firstDifference(was, string(text)))
		}
	}
}

func firstDifference(was, is string) string {
	a, b := strings.Split(was, "\n"), strings.Split(is, "\n")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return "it says    " + strings.Join(a[min(i, len(a)):min(i+1, len(a))], "") + "\nand should " + strings.Join(b[min(i, len(b)):min(i+1, len(b))], "")
		}
	}
	return ""
}

var measuredNumber = regexp.MustCompile(`[0-9]\s?(×|ns\b|µs)`)

// TestNumbersOfTheReadmeAreMeasured: what it says of speed is between the marks.
func TestNumbersOfTheReadmeAreMeasured(t *testing.T) {
	_, section, ok := strings.Cut(read(t, here.root, readmeFile), "\n## How it differs\n")
	require.True(t, ok)
	section, _, ok = strings.Cut(section, "\n## ")
	require.True(t, ok)
	before, rest, ok := strings.Cut(section, blockBegin)
	require.True(t, ok)
	block, after, ok := strings.Cut(rest, blockEnd)
	require.True(t, ok)
	for _, text := range []string{before, after} {
		assert.Empty(t, measuredNumber.FindAllString(text, -1), "measured by nobody: %s", text)
	}
	assert.NotEmpty(t, measuredNumber.FindAllString(block, -1))
}

// TestRecordedFiguresThatAreKept: they are of a larger set with the same inversions and, where that set is, of that
// set.
func TestRecordedFiguresThatAreKept(t *testing.T) {
	text := read(t, here.root, recordedFile)
	kept, err := readRecorded([]byte(text))
	require.NoError(t, err)
	var s simulated
	require.NoError(t, s.replay(filepath.Join(here.root, batchesFile)))
	assert.Greater(t, kept.Figures.All.Batches, s.here.All.Batches)
	assert.Equal(t, kept.Figures.Inverted, s.here.Inverted, "all batches that are inverted are in the repository")
	if path := os.Getenv("KEYWAVE_TRACES"); path != "" {
		derived, err := deriveRecorded(path)
		require.NoError(t, err)
		assert.Equal(t, text, string(derived))
	}

	old, err := json.Marshal(whole{Limits: []int{1, 2}, Figures: new(recorded.Figures)})
	require.NoError(t, err)
	for _, bad := range []string{"", "{}", "[", string(old)} {
		_, err := readRecorded([]byte(bad))
		assert.ErrorContains(t, err, recordedFile, bad)
	}
}

// scratch is a repository with a module of three packages: one whose benchmarks are fine, one of which some fail, and
// one that does not compile and was measured before.
func scratch(t *testing.T) settings {
	s := settings{root: t.TempDir(), only: regexp.MustCompile(""), rounds: 2, benchtime: time.Microsecond, most: time.Minute}
	write := func(path, text string) {
		path = filepath.Join(s.root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	for _, name := range []string{"good", "bad", "broken"} {
		s.suites = append(s.suites, suite{name, ".", name, "."})
	}
	const begin = "package p\n\nimport \"testing\"\n\n"
	write("go.mod", "module scratch\n\ngo 1.26\n")
	write("good/good_test.go", begin+"func BenchmarkOne(b *testing.B) {\n\tfor b.Loop() {\n\t}\n\tb.ReportMetric(3, \"x-other\")\n}\n")
	write("bad/bad_test.go", begin+"func BenchmarkBad(b *testing.B) { b.Fatal(\"no\") }\n\n"+
		"func BenchmarkGood(b *testing.B) {\n\tfor b.Loop() {\n\t}\n}\n\nfunc BenchmarkLast(*testing.B) { panic(\"oh\") }\n")
	write("broken/broken_test.go", begin+"func BenchmarkOne(b *testing.B) { nonsense }\n")
	write(rawFile("broken"), "# go: go1\n# date: once\ncpu: old\nBenchmarkOne-2 \t 1 \t 7 ns/op\n")
	write(batchesFile, read(t, here.root, batchesFile))
	write(readmeFile, "text\n"+blockBegin+"figures\n"+blockEnd+"text\n")
	return s
}

// TestAFailureLosesNothingElse: what fails is told and stands in RESULTS.md, what could be measured is written, what
// could not is as it was.
func TestAFailureLosesNothingElse(t *testing.T) {
	s := scratch(t)
	err := s.run(t.Context())
	for _, want := range []string{
		"broken does not compile, and what was measured before is kept", "nonsense",
		"bad: round 1: exit status 2: --- FAIL: BenchmarkBad; panic\n", "bad: round 2: ",
		"README.md stays as it is: it needs figures that were not measured", "exec RunIn/waves/8",
	} {
		assert.ErrorContains(t, err, want)
	}
	assert.NotContains(t, err.Error(), "good: ")

	d := data{samples: samples{}}
	for _, su := range s.suites {
		require.NoError(t, d.samples.add(su.name, []byte(read(t, s.root, rawFile(su.name)))))
	}
	assert.Equal(t, figure{3, 3, 3, 2}, d.of("good", "One", "x-other"))
	assert.Equal(t, 2, d.of("bad", "Good", "ns/op").rounds)
	assert.Equal(t, figure{7, 7, 7, 1}, d.of("broken", "One", "ns/op"))
	assert.Zero(t, d.of("good", "Other", "x-other"))

	results := read(t, s.root, resultsFile)
	for _, want := range []string{
		"- **Failed:** bad, round 2: exit status 2: --- FAIL: BenchmarkBad", "| broken | old, go1 | – | once | – | – |",
		"| waves, keyless, 8 | – | – | – | – | – | – | – | – |\n", // the peers were never measured
	} {
		assert.True(t, strings.Contains(results, want), want)
	}
	assert.False(t, strings.Contains(strings.ToLower(results), "all 9,375 batches"), "they are not here")
	assert.Contains(t, read(t, s.root, readmeFile), "\nfigures\n")
}

// TestABenchmarkThatHangs: it is ended, told, and not run again.
func TestABenchmarkThatHangs(t *testing.T) {
	s := scratch(t)
	s.suites, s.most = s.suites[:1], time.Second
	require.NoError(t, os.WriteFile(filepath.Join(s.root, "good/good_test.go"), []byte(`package p

import (
	"testing"
	"time"
)

func BenchmarkOne(b *testing.B) {
	for b.Loop() {
	}
}

func BenchmarkStuck(*testing.B) { <-time.After(time.Hour) }
`), 0o644))
	measured, err := s.measure(t.Context())
	assert.ErrorContains(t, err, "good: round 1: it was not over after 1s, and is not run again")
	assert.NotContains(t, err.Error(), "round 2")
	assert.Contains(t, string(measured["good"]), "BenchmarkOne", "what it measured before that is kept")
}

// TestOutputThatIsNoFigure: what cannot be read again is not kept, and one who holds on to the output is not waited for.
func TestOutputThatIsNoFigure(t *testing.T) {
	s := scratch(t)
	s.suites, s.rounds = s.suites[:1], 1
	write := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(s.root, path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(s.root, path), []byte(text), 0o644))
	}
	const kept = "# go: go1\nBenchmarkOne-2 \t 1 \t 7 ns/op\n"
	write(rawFile("good"), kept)
	for _, garbage := range []string{
		`fmt.Println("BenchmarkBad 1 x ns/op")`, `fmt.Println("BenchmarkBad 99999999999999999999 5 ns/op")`, `b.ReportMetric(math.NaN(), "x")`,
	} {
		write("good/good_test.go", "package p\n\nimport (\n\t\"fmt\"\n\t\"math\"\n\t\"testing\"\n)\n\nvar _, _ = fmt.Println, math.NaN\n\n"+
			"func BenchmarkNone(b *testing.B) {\n\t"+garbage+"\n}\n\nfunc BenchmarkOne(b *testing.B) {\n\tfor b.Loop() {\n\t}\n}\n")
		measured, err := s.measure(t.Context())
		assert.ErrorContains(t, err, "good printed what is no figure, and what was measured before is kept", garbage)
		assert.Empty(t, measured)
	}
	write("good/good_test.go", `package p

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

func BenchmarkOne(b *testing.B) {
	cmd := exec.Command("sleep", "600")
	cmd.Stdout = os.Stdout
	_ = cmd.Start()
	os.WriteFile("pid", []byte(fmt.Sprint(cmd.Process.Pid)), 0o644)
	for b.Loop() {
	}
}
`)
	_, err := s.measure(t.Context())
	assert.ErrorContains(t, err, "WaitDelay")
	left, err := strconv.Atoi(read(t, s.root, "good/pid"))
	require.NoError(t, err)
	orphan, err := os.FindProcess(left)
	require.NoError(t, err)
	assert.NoError(t, orphan.Kill())
}

// TestPagesSayWhatIsKept: figures that cannot be written are in no page.
func TestPagesSayWhatIsKept(t *testing.T) {
	s := scratch(t)
	s.suites, s.rounds = s.suites[:1], 1
	raw := filepath.Join(s.root, rawFile("good"))
	require.NoError(t, os.MkdirAll(filepath.Join(raw, "in the way"), 0o755))
	err := s.run(t.Context())
	assert.ErrorContains(t, err, rawFile("good"))
	assert.NoFileExists(t, filepath.Join(s.root, resultsFile))

	require.NoError(t, os.RemoveAll(raw))
	require.NoError(t, s.write(map[string][]byte{rawFile("good"): []byte("# date: once\nBenchmarkOne-2 \t 1 \t 7 ns/op\n")}))
	s.rounds = 0
	assert.ErrorContains(t, s.run(t.Context()), "README.md stays as it is")
	assert.Contains(t, read(t, s.root, resultsFile), "| once |")
}

// TestAnInterruptedRunWritesNothing, whenever it is interrupted.
func TestAnInterruptedRunWritesNothing(t *testing.T) {
	s := scratch(t)
	s.suites = s.suites[:1]
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, s.run(ctx), context.Canceled)
	entries, err := os.ReadDir(filepath.Join(s.root, "bench/results"))
	require.NoError(t, err)
	assert.Len(t, entries, 1)
	assert.NoFileExists(t, filepath.Join(s.root, resultsFile))
	assert.Contains(t, read(t, s.root, readmeFile), "\nfigures\n")
}

func TestReadmeNeedsItsMarks(t *testing.T) {
	for _, bad := range []string{
		"", blockBegin, blockEnd + blockBegin, blockBegin + blockEnd + blockBegin + blockEnd, blockBegin + blockEnd + blockEnd,
	} {
		_, err := new(data).readme([]byte(bad))
		assert.ErrorIs(t, err, errBlock, bad)
	}
}

func TestHowNumbersAreWritten(t *testing.T) {
	for x, want := range map[float64][3]string{ // here, in the README, and as a part
		0: {"0", "0", ""}, 0.0512: {"0.051", "0.1", ""}, 0.996: {"1.00", "1.0", ""}, 1: {"1.0", "1", "1st"}, 9.96: {"10.0", "10", "10th"},
		21.7: {"22", "22", "22nd"}, 112.6: {"113", "110", "113th"}, 12345: {"12,345", "12,350", "12345th"}, 22.9: {"23", "23", "23rd"},
	} {
		assert.Equal(t, want[0], digits(x))
		assert.Equal(t, want[1], round(x))
		if want[2] != "" {
			assert.Equal(t, want[2], nth(x))
		}
	}
	assert.Equal(t, "-1,234,567", grouped(-1234567))
	assert.Equal(t, "-123", grouped(-123))
	assert.Equal(t, "–", figure{}.String())
	d := samples{}
	require.NoError(t, d.add("s", []byte("BenchmarkA/b=c-8 1 30 ns/call\nBenchmarkA/b=c-8 1 10 ns/call\nBenchmarkA/b=c-8 1 20 ns/call\nBenchmarkA/b=c-8 1 40 ns/call\n")))
	assert.Equal(t, figure{25, 10, 40, 4}, d.of("s", "A/b=c", "ns/call"))
	assert.Equal(t, "25 (10–40)", d.of("s", "A/b=c", "ns/call").String())
	assert.Error(t, d.add("s", []byte("BenchmarkA 1 x ns/op\n")))
	for line := range strings.Lines(para("%s", strings.Repeat("ünd so weiter ", 100))) {
		assert.LessOrEqual(t, len([]rune(line)), width+1)
	}
}
