package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files under testdata")

// golden compares got with testdata/name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update once")
	assert.Equal(t, string(bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))), got)
}

var hostile = picture{
	title: "a plan\nwith \"quotes\" \x1b[31m",
	waves: [][]int{{0, 1}, {2}},
	nodes: []node{
		{label: `read a"]; click c1 "javascript:x" %%{init}`},
		{label: "grep <b>&amp;</b> `x` \\N \x1b]0;owned\a 漢字 \u202eevil"},
		{label: "Edit(c) #quot; end", exclusive: true},
	},
	edges: []edge{{0, 2, `write a|b -->`}, {1, 2, "read \"x\""}},
}

func TestPicturesOfHostileNames(t *testing.T) {
	golden(t, "hostile.mermaid", hostile.mermaid())
	golden(t, "hostile.dot", hostile.dot())
}

// Whatever the labels, the lines of a picture are those of its structure: none is added, and no quote closes early.
func TestPictureLabelsStayLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune("\"\\\n;#&<>`[]{}|%-\x1b\u009b")), 0, 12, -1))
		draw := func(title, first, second, why string) (mermaid, dot string) {
			p := picture{
				title: title, waves: [][]int{{0}, {1}},
				nodes: []node{{label: first}, {label: second, exclusive: true}},
				edges: []edge{{0, 1, why}},
			}
			return p.mermaid(), p.dot()
		}
		plainMermaid, plainDot := draw("a", "b", "c", "d")
		mermaid, dot := draw(label.Draw(t, "title"), label.Draw(t, "first"), label.Draw(t, "second"), label.Draw(t, "why"))
		assert.Equal(t, strings.Count(plainMermaid, "\n"), strings.Count(mermaid, "\n"))
		assert.Equal(t, strings.Count(plainDot, "\n"), strings.Count(dot, "\n"))
		for _, line := range strings.Split(mermaid, "\n")[1:] {
			assert.Contains(t, []int{0, 2}, strings.Count(line, `"`), line)
		}
		for _, line := range strings.Split(dot, "\n") {
			unescaped := strings.ReplaceAll(strings.ReplaceAll(line, `\\`, ""), `\"`, "")
			assert.Zero(t, strings.Count(unescaped, `"`)%2, line)
		}
	})
}

func TestCleanLeavesNothingForTheTerminal(t *testing.T) {
	assert.Equal(t, `a\x1b[31mb\n\u202e\x9b\u009b`, clean("a\x1b[31mb\n\u202e\x9b\u009b"))
	assert.Equal(t, "naïve 漢字 👩\u200d💻", clean("naïve 漢字 👩\u200d💻"))
	assert.Equal(t, []string{"a    b", `c\rd`, "", "e"}, cleanLines("a\tb\r\nc\rd\n\ne\n\n"))
	rapid.Check(t, func(t *rapid.T) {
		raw := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		for _, r := range clean(raw) {
			assert.False(t, unprintable(r), "%q", r)
		}
		assert.Equal(t, clean(raw), clean(clean(raw)))
	})
}

func TestClipAndPadCountCells(t *testing.T) {
	assert.Equal(t, "abc", clip("abc", 3))
	assert.Equal(t, "ab…", clip("abcd", 3))
	assert.Equal(t, "漢…", clip("漢字かな", 4))
	assert.Equal(t, "漢… |", pad("漢字かな", 4)+"|")
	assert.Empty(t, clip("abc", 0))
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(0, 30).Draw(t, "width")
		s := clean(rapid.String().Draw(t, "s"))
		assert.LessOrEqual(t, cells.StringWidth(clip(s, width)), width)
		assert.Equal(t, width, cells.StringWidth(pad(s, width)))
	})
	// Marks without a width cannot pile up without end.
	assert.Less(t, len(clip("x"+strings.Repeat("\u0301", 10_000), 10)), 400)
}

func TestTable(t *testing.T) {
	cols := []column{{head: "#", right: true}, {head: "call", most: 12}, {head: "why", rest: true}}
	rows := [][]string{
		{"1", "read 漢字かな文字", "nothing before it is in its way, and so it goes first"},
		{"10", "x", "short"},
	}
	golden(t, "table.txt", table(44, cols, rows, nil))
	golden(t, "table-narrow.txt", table(10, cols, rows, nil))
}

func TestGantt(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	bars := []bar{
		{"1 read 漢字かな文字.go", 0, 0, ms(50), ms(50), "50 ms", 0},
		{"2 edit a", 0, ms(50), ms(90), ms(90), "40 ms", 0},
		{"3 grep a very long pattern that does not fit", 0, 0, ms(20), ms(90), "20 ms", 0},
		{"4 touch", 0, ms(90), ms(90) + 1, ms(90) + 1, "0 µs", 0},
		{"5 skipped", 0, -1, ms(90) + 1, ms(90) + 1, "not run", 0},
		{"6 late", ms(95), ms(100), ms(100), ms(100), "failed", 0},
	}
	golden(t, "gantt-80.txt", gantt(80, bars, ms(100)))
	golden(t, "gantt-40.txt", gantt(40, bars, ms(100)))
	assert.NotEmpty(t, gantt(1, bars, 0), "no width and no time is still a picture")
	assert.NotEmpty(t, gantt(80, nil, 0))
}

func TestGanttFitsAndShowsEveryRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(40, 120).Draw(t, "width")
		span := rapid.Int64Range(0, int64(time.Hour))
		total := time.Duration(span.Draw(t, "total"))
		bars := rapid.SliceOf(rapid.Custom(func(t *rapid.T) bar {
			times := []time.Duration{0, 0, 0, 0}
			for i := range times {
				times[i] = time.Duration(rapid.Int64Range(0, int64(total)).Draw(t, "time"))
				if i > 0 {
					times[i] = max(times[i], times[i-1])
				}
			}
			return bar{clean(rapid.String().Draw(t, "label")), times[0], times[1], times[2], times[3], short(times[2] - times[1]), 0}
		})).Draw(t, "bars")
		lines := strings.Split(gantt(width, bars, total), "\n")
		for i := range bars {
			assert.Contains(t, lines[i], "█")
		}
		for _, line := range lines {
			assert.LessOrEqual(t, cells.StringWidth(line), width, line)
		}
	})
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 µs", 999 * time.Microsecond: "999 µs", time.Millisecond: "1 ms", 1500 * time.Microsecond: "1.5 ms",
		42_400 * time.Microsecond: "42 ms", 999_400 * time.Microsecond: "999 ms", 1234 * time.Millisecond: "1.23 s", 61 * time.Second: "1m1s",
	} {
		assert.Equal(t, want, short(d))
	}
}

// terminal is what a screen writes to in tests: it remembers what a person would see.
type terminal struct {
	bytes.Buffer
	width, height int
}

func (w *terminal) stream() stream {
	return stream{w, func() (int, int, bool) { return w.width, w.height, true }}
}

func lines(texts ...string) []line {
	var all []line
	for _, text := range texts {
		all = append(all, line{text: text})
	}
	return all
}

func TestScreenRedrawsInPlace(t *testing.T) {
	w := &terminal{width: 20, height: 6}
	s := &screen{to: w.stream()}
	s.paint(nil, []line{{"one", painter(true).good}, {text: "a line that is wider than the terminal"}, {text: "三つ"}})
	assert.Equal(t, "\r\x1b[J\x1b[32mone\x1b[0m\na line that is wid…\n三つ\n", w.String())

	w.Reset()
	w.width = 10 // the second line has been wrapped by the terminal to two
	s.paint(lines("stays"), lines("two"))
	assert.Equal(t, "\x1b[4A\r\x1b[Jstays\ntwo\n", w.String())

	w.Reset()
	s.paint(nil, lines("1", "2", "3", "4", "5", "6"))
	assert.Equal(t, "\x1b[1A\r\x1b[J1\n2\n3\n… and 3 …\n", w.String())

	w.Reset()
	s.paint(lines("end"), nil)
	assert.Equal(t, "\x1b[4A\r\x1b[Jend\n", w.String())
	w.Reset()
	s.paint(nil, nil)
	assert.Equal(t, "\r\x1b[J", w.String())
}
