package harness_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/tool"
)

// line is a record of a host's own, with a line break.
func line(seq int) string {
	return fmt.Sprintf(`{"seq":%d,"time":"2026-01-02T03:04:05Z","type":"acme/x","data":%d}`+"\n", seq, seq)
}

// TestH8AnyByte cuts random logs off behind each 29th of their bytes and around each record, as TestH8EveryByte does
// one that has everything in it behind each byte. All whole records are there, the torn end is told with its place and
// size and is gone, the rest is as if the process had ended between two records, and to open it again appends nothing.
func TestH8AnyByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		disk := new(ram)
		l := &life{t: t, s: open(t, file(t, disk))}
		l.live(rapid.IntRange(1, 15).Draw(t, "moves"))
		everyByte(t, disk.data, 29, func(data []byte) (*harness.File, func() []byte) {
			cut := &ram{data: bytes.Clone(data)}
			return file(t, cut), func() []byte { return cut.data }
		})
	})
}

// rich is a log that has everything in it.
func rich(t require.TestingT) []byte {
	var store harness.Memory
	s := open(t, &store)
	cs := calls(4)
	turn1(t, s, cs...)
	for i, c := range cs[:3] {
		put(t, s, started(at(1, 1, i), c))
	}
	put(t, s, harness.ApprovalAsk{Place: at(1, 1, 0)}, harness.ToolSettle{Place: at(1, 1, 2), Result: tool.Text("3")})
	put(t, s, harness.ToolSettle{Place: at(1, 1, 1), Result: tool.Text("2")}, harness.ApprovalAnswer{Place: at(1, 1, 0), Allowed: true})
	put(t, s, harness.ToolSettle{Place: at(1, 1, 0), Result: tool.Text("1")}, committed(at(1, 1, 0), cs[0], tool.Text("1")))
	put(t, s, harness.Cancel{Turn: 1, Cause: "stop"})
	_, err := s.Resume(nil)
	require.NoError(t, err)
	return bytesOf(logOf(t, &store))
}

func TestH8EveryByte(t *testing.T) {
	everyByte(t, rich(t), 1, func(data []byte) (*harness.File, func() []byte) {
		cut := &ram{data: bytes.Clone(data)}
		return file(t, cut), func() []byte { return cut.data }
	})
}

// TestH8EveryByteOfAFile is the same with a real file, behind each 7th byte, with -short each 29th.
func TestH8EveryByteOfAFile(t *testing.T) {
	every := 7
	if testing.Short() {
		every = 29
	}
	path := filepath.Join(t.TempDir(), "log.jsonl")
	everyByte(t, rich(t), every, func(data []byte) (*harness.File, func() []byte) {
		require.NoError(t, os.WriteFile(path, data, 0o600))
		f, err := harness.OpenFile(path)
		require.NoError(t, err)
		return f, func() []byte {
			require.NoError(t, f.Close())
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			return data
		}
	})
}

// everyByte opens the beginnings of a log with open, which returns the store, and what closes it and returns the file.
func everyByte(t require.TestingT, data []byte, every int, open func(data []byte) (*harness.File, func() []byte)) {
	known := []harness.Event{} // what the beginning so far has
	whole := 0
	resumedAs := map[int][]harness.Event{}
	for n := 0; n <= len(data); n++ {
		if n > 0 && data[n-1] == '\n' {
			e, err := harness.ParseRecord(data[whole : n-1])
			require.NoError(t, err)
			known, whole = append(known, e), n
		}
		if n%every > 0 && n != whole && n != whole+1 && (n == len(data) || data[n] != '\n') {
			continue
		}
		f, end := open(data[:n])
		if whole == n {
			require.Nil(t, f.Torn)
		} else {
			require.Equal(t, &harness.TornError{Line: len(known) + 1, Offset: int64(whole), Size: int64(n - whole)}, f.Torn)
		}
		require.Equal(t, known, append([]harness.Event{}, logOf(t, f)...))
		s, _ := resume(t, f)
		require.NoError(t, check(logOf(t, s)))
		if resumedAs[whole] == nil {
			resumedAs[whole] = resumed(t, known)
		}
		var got []string
		for _, e := range logOf(t, s) {
			got = append(got, e.Type+" "+string(e.Data))
		}
		var expected []string
		for _, e := range resumedAs[whole] {
			expected = append(expected, e.Type+" "+string(e.Data))
		}
		require.Equal(t, expected, got, "as if it had ended between two records")
		left := end()

		f, end = open(left)
		require.Nil(t, f.Torn)
		_, repaired := resume(t, f)
		require.Empty(t, repaired)
		require.Equal(t, left, end(), "to open it again changes nothing")
	}
}

func TestTornEnds(t *testing.T) {
	good := start + line(2)
	for what, end := range map[string]string{
		"no line feed":                    strings.TrimSuffix(line(3), "\n"),
		"a record cut off, but ended":     line(3)[:20] + "\n",
		"zeros":                           strings.Repeat("\x00", 300_000),
		"zeros with an end":               strings.Repeat("\x00", 300) + "\n",
		"an empty line":                   "\n",
		"a line that is longer than most": `{"seq":3,"time":"2026-01-02T03:04:05Z","type":"x","data":"` + strings.Repeat("long ", 50_000),
		"a record without data":           `{"seq":3,"time":"2026-01-02T03:04:05Z","type":"x"}` + "\n",
	} {
		want := &harness.TornError{Line: 3, Offset: int64(len(good)), Size: int64(len(end))}
		n := 0
		var last error
		for _, err := range harness.Read(strings.NewReader(good + end)) {
			n++
			last = err
		}
		assert.Equal(t, 3, n, what)
		assert.Equal(t, want, last, what)

		disk := &ram{data: []byte(good + end)}
		f := file(t, disk)
		assert.Equal(t, want, f.Torn, what)
		assert.Equal(t, good, string(disk.data), what)
		require.Len(t, logOf(t, f), 2, what)
	}
	assert.EqualError(t, &harness.TornError{Line: 3, Offset: 190, Size: 7},
		"session log: line 3 is torn: the last 7 bytes, from byte 190, are not a whole record")
}

// A log whose writer died in its first record begins anew; a file that is no log is left alone.
func TestTornFirstRecord(t *testing.T) {
	for _, data := range []string{start[:1], start[:40], start[:len(start)-1], start[:60] + "\n", "\x00\x00\x00"} {
		disk := &ram{data: []byte(data)}
		f := file(t, disk)
		assert.Equal(t, &harness.TornError{Line: 1, Size: int64(len(data))}, f.Torn)
		assert.Equal(t, uint64(1), open(t, f).State().Seq)
	}
	for what, data := range map[string]string{
		"text":                           "hello",
		"text in lines":                  "hello\nworld\n",
		"a log with another line end":    strings.ReplaceAll(start+line(2), "\n", "\r"),
		"a line feed":                    "\n",
		"another kind of JSON lines":     `{"level":"info"}` + "\n",
		"a torn record and more":         start[:60] + "\n" + line(2),
		"another first event":            line(1),
		"no payload":                     strings.Replace(start, `{"format":"keywave-session","version":1}`, "7", 1),
		"another format":                 strings.Replace(start, "keywave-session", "acme-session", 1),
		"a later version":                strings.Replace(start, `"version":1`, `"version":2`, 1),
		"a later version and a torn end": strings.Replace(start, `"version":1`, `"version":2`, 1) + line(2)[:9],
		"no version":                     strings.Replace(start, `,"version":1`, ``, 1),
	} {
		disk := &ram{data: []byte(data)}
		_, err := harness.MendDisk(disk, int64(len(data)))
		assert.ErrorIs(t, err, harness.ErrFormat, what)
		assert.Equal(t, data, string(disk.data), what)
		assert.Zero(t, disk.ops, what)
		for _, err := range harness.Read(strings.NewReader(data)) {
			assert.ErrorIs(t, err, harness.ErrFormat, what)
		}
	}
	var store harness.Memory
	require.NoError(t, store.Append(harness.Event{Seq: 1, Time: time.Now(), Type: "acme/x", Data: []byte("1")}))
	_, err := harness.New(&store)
	assert.ErrorIs(t, err, harness.ErrFormat)
}

// What is broken in the middle is an error with its line, to each reader, and nothing is cut off for it.
func TestBrokenMiddleIsAnErrorWithItsLine(t *testing.T) {
	for what, c := range map[string]struct{ line, problem string }{
		"not JSON":          {"{\n", "unexpected end of JSON input"},
		"an empty line":     {"\n", "unexpected end of JSON input"},
		"no record":         {"[]\n", "cannot unmarshal array"},
		"no seq":            {`{"time":"2026-01-02T03:04:05Z","type":"x","data":1}` + "\n", "its seq is missing"},
		"seq 0":             {line(0), "its seq is no whole number from 1 to 2^53"},
		"a seq of 1.5":      {strings.Replace(line(2), `"seq":2`, `"seq":1.5`, 1), "its seq is no whole number"},
		"too high a seq":    {strings.Replace(line(2), `"seq":2`, `"seq":9007199254740993`, 1), "its seq is no whole number"},
		"a time of another": {strings.Replace(line(2), "2026-01-02T", "02/01/2026 ", 1), "its time is none of RFC 3339"},
		"a number of time":  {strings.Replace(line(2), `"2026-01-02T03:04:05Z"`, "17", 1), "its time is no string"},
		"no type":           {strings.Replace(line(2), `"acme/x"`, `""`, 1), "its type is no string, or empty"},
		"two values":        {strings.TrimSuffix(line(2), "\n") + line(3), "invalid character '{' after top-level value"},
	} {
		data := start + line(2) + c.line + line(3)
		var last error
		for _, err := range harness.Read(strings.NewReader(data)) {
			last = err
		}
		var corrupt *harness.CorruptError
		require.ErrorAs(t, last, &corrupt, what)
		assert.Equal(t, 3, corrupt.Line, what)
		assert.Equal(t, int64(len(start+line(2))), corrupt.Offset, what)
		assert.ErrorContains(t, last, fmt.Sprintf("session log: line 3 (byte %d) is not a record: ", corrupt.Offset), what)
		assert.ErrorContains(t, last, c.problem, what)

		path := filepath.Join(t.TempDir(), "log.jsonl")
		require.NoError(t, os.WriteFile(path, []byte(data), 0o600))
		_, err := harness.Open(path)
		assert.ErrorAs(t, err, &corrupt, what)
		assert.ErrorContains(t, err, path)
		left, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, data, string(left), what)
		f, err := harness.OpenFile(path)
		require.NoError(t, err, "and the lock is free")
		require.NoError(t, f.Close())
	}
}

// A record that is JSON but not what its type says is found when the log is opened.
func TestUndecodableDataIsFoundAtOpen(t *testing.T) {
	for kind, data := range map[string]string{
		harness.TypeTurnStart:        `[]`,
		harness.TypeStepStart:        `{"turn":1,"step":"x"}`,
		harness.TypeStepEnd:          `{"turn":1,"step":{}}`,
		harness.TypeTurnEnd:          `{"turn":1,"reason":7}`,
		harness.TypeAssistantMessage: `{"turn":1,"step":1,"calls":{}}`,
		harness.TypeToolCall:         `{"turn":1,"step":1,"index":0,"notStarted":"no"}`,
		harness.TypeToolSettle:       `{"turn":1,"step":1,"index":0,"result":"ok"}`,
		harness.TypeToolResult:       `{"turn":1,"step":1,"index":true}`,
		harness.TypeApprovalAnswer:   `{"turn":1,"step":1,"index":0,"allowed":1}`,
		harness.TypeCancel:           `{"turn":1,"calls":0}`,
	} {
		var store harness.Memory
		s := open(t, &store)
		turn1(t, s, calls(1)...)
		if kind != harness.TypeToolCall {
			put(t, s, started(at(1, 1, 0), calls(1)[0]))
		}
		require.NoError(t, store.Append(harness.Event{Seq: 99, Time: time.Now(), Type: kind, Data: []byte(data)}))
		_, err := harness.New(&store)
		require.ErrorContains(t, err, "its data is no "+kind)
		_, err = harness.Fold(store.Events())
		require.ErrorContains(t, err, "its data is no "+kind)
	}
}

func TestReadPassesErrorsOn(t *testing.T) {
	r := io.MultiReader(strings.NewReader(start+line(2)), iotest.ErrReader(errDisk))
	var last error
	for _, err := range harness.Read(r) {
		last = err
	}
	assert.ErrorIs(t, last, errDisk)
	assert.ErrorContains(t, last, "line 3")

	for _, err := range harness.ReadFile(filepath.Join(t.TempDir(), "none")) {
		assert.ErrorIs(t, err, os.ErrNotExist)
	}
	state, err := harness.Fold(harness.Read(strings.NewReader(start + line(2) + "{")))
	assert.ErrorAs(t, err, new(*harness.TornError))
	assert.Equal(t, uint64(2), state.Seq, "and the state up to it")
	for range harness.Read(strings.NewReader(start + line(2))) {
		break // a loop may be left
	}
}

// Who reads a log while it is written sees whole records, from the first to some record, and at most one that is just
// being written.
func TestReadersSeeWholeRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	s, err := harness.Open(path)
	require.NoError(t, err)
	defer s.Close()
	const units = 300
	ctx, stop := context.WithCancel(t.Context())
	followed := make(chan uint64, 1)
	go func() {
		last := uint64(0)
		for e, err := range harness.Follow(ctx, path) {
			if err != nil || e.Seq != last+1 {
				break
			}
			if last = e.Seq; last == 1+2*units {
				break
			}
		}
		followed <- last
	}()
	done := make(chan error, 1)
	go func() {
		for n := range units {
			long := harness.Opaque{Type: "acme/long", Data: []byte(`"` + strings.Repeat("x", n*97) + `"`)}
			if _, err := s.Append(harness.SyncNone, long, long); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for last, written := uint64(0), false; !written; {
		select {
		case err := <-done:
			require.NoError(t, err)
			written = true
		default:
		}
		n := uint64(0)
		for e, err := range harness.ReadFile(path) {
			if err != nil {
				require.ErrorAs(t, err, new(*harness.TornError))
				require.False(t, written)
				break
			}
			n++
			require.Equal(t, n, e.Seq)
		}
		require.GreaterOrEqual(t, n, last)
		last = n
		if written {
			require.Equal(t, uint64(1+2*units), n)
		}
	}
	require.Equal(t, uint64(1+2*units), <-followed)
	stop()
}

// A follower sees what is written as it comes, waits behind a torn end, and sees what takes its place.
func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	write := func(text string) {
		_, err := f.WriteString(text)
		require.NoError(t, err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var seen []uint64
		var last error
		done := make(chan struct{})
		go func() {
			defer close(done)
			for e, err := range harness.Follow(ctx, path) {
				if last = err; err == nil {
					seen = append(seen, e.Seq)
				}
			}
		}()
		expect := func(seqs ...uint64) {
			<-time.After(time.Second)
			synctest.Wait()
			assert.Equal(t, seqs, seen)
		}
		expect()
		write(start[:30])
		expect()
		write(start[30:] + line(2) + line(3)[:10])
		expect(1, 2)
		write(line(3)[10:] + "garbage\n")
		expect(1, 2, 3)
		require.NoError(t, f.Truncate(int64(len(start+line(2)+line(3)))))
		_, err := f.Seek(0, io.SeekEnd)
		require.NoError(t, err)
		write(line(4))
		expect(1, 2, 3, 4)
		cancel()
		<-done
		assert.NoError(t, last)
	})
}

func TestFollowEndsWithAnError(t *testing.T) {
	for what, c := range map[string]struct {
		then func(t *testing.T, path string)
		want func(error) bool
	}{
		"cut back": {
			func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, int64(len(start)))) },
			func(err error) bool { return errors.Is(err, harness.ErrCutBack) },
		},
		"replaced by a longer one": {
			func(t *testing.T, path string) {
				require.NoError(t, os.WriteFile(path+".new", []byte(start+line(2)+line(3)), 0o600))
				require.NoError(t, os.Rename(path+".new", path))
			},
			func(err error) bool { return errors.Is(err, harness.ErrCutBack) },
		},
		"gone": {
			func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) },
			func(err error) bool { return errors.Is(err, harness.ErrCutBack) },
		},
		"corrupt": {
			func(t *testing.T, path string) {
				require.NoError(t, os.WriteFile(path, []byte(start+line(2)+"garbage\n"+line(3)), 0o600))
			},
			func(err error) bool { return errors.As(err, new(*harness.CorruptError)) },
		},
	} {
		t.Run(what, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log.jsonl")
			require.NoError(t, os.WriteFile(path, []byte(start+line(2)), 0o600))
			synctest.Test(t, func(t *testing.T) {
				n := 0
				var last error
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				for e, err := range harness.Follow(ctx, path) {
					if last = err; e.Seq == 2 {
						c.then(t, path)
					}
					n++
				}
				assert.Equal(t, 3, n)
				assert.True(t, c.want(last), "%v", last)
			})
		})
	}
	for _, err := range harness.Follow(t.Context(), filepath.Join(t.TempDir(), "none")) {
		assert.ErrorIs(t, err, os.ErrNotExist)
	}
}

// What is no log, and has no lines, is not read to its end to find out.
func TestNoLogWithoutEnd(t *testing.T) {
	for _, c := range []byte{'x', '{', 0} {
		read := &endless{c: c}
		for _, err := range harness.Read(read) {
			assert.ErrorIs(t, err, harness.ErrFormat)
		}
		assert.Less(t, read.n, 1<<20)
	}
}

// endless is a file of one byte, again and again. It ends, so that a test that fails does so.
type endless struct {
	c byte
	n int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.c
	}
	if e.n += len(p); e.n > 16<<20 {
		return 0, io.EOF
	}
	return len(p), nil
}
