package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/bench/replay"
)

// A yielding reader gives a few bytes at a time and lets others go first.
type yielding struct{ io.Reader }

func (y yielding) Read(p []byte) (int, error) {
	runtime.Gosched()
	return y.Reader.Read(p[:min(len(p), 4096)])
}

// TestSameReport: to the last bit, whatever the number of processors, and whichever source is read first and fastest.
func TestSameReport(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	sources := samples(t)
	part := strings.SplitAfterN(read(t, file(t, recorded)), "\n", 60)
	sources[len(sources)-1] = text("recorded", strings.Join(part[:59], ""))
	sources = append(sources, text("broken", "{"), good("s").source("1"), good("s").source("2"))
	for i := range 40 {
		c := &claude{session: fmt.Sprint("s", i%7)}
		c.batch(100*i, fmt.Sprint("t", i), "Edit "+path("/w/a")+" 10", "Edit "+path("/w/b")+" 20", fmt.Sprintf("T%d {} 30", i))
		sources = append(sources, c.source(fmt.Sprint("log", i)))
	}
	o := replay.Options{Limit: 3, Largest: 7, Inverted: 9}
	var first string
	rapid.Check(t, func(t *rapid.T) {
		runtime.GOMAXPROCS(rapid.SampledFrom([]int{1, 2, 8}).Draw(t, "processors"))
		all := append([]replay.Source(nil), sources...)
		for i := range all {
			open := all[i].Open
			all[i].Size = int64(rapid.IntRange(0, 3).Draw(t, "size")) // the order in which they are read
			if rapid.Bool().Draw(t, "slow") {
				all[i].Open = func() (io.ReadCloser, error) {
					r, err := open()
					return io.NopCloser(yielding{r}), err
				}
			}
		}
		raw, err := json.Marshal(run(t, o, all...))
		require.NoError(t, err)
		if first == "" {
			first = string(raw)
		}
		require.Equal(t, first, string(raw))
	})
}

// A stuck reader gives a text, and then nothing until it is closed.
type stuck struct {
	text   io.Reader
	began  func()
	closed chan struct{}
	times  *atomic.Int32
}

func (s *stuck) Read(p []byte) (int, error) {
	if n, _ := s.text.Read(p); n > 0 {
		return n, nil
	}
	s.began()
	<-s.closed
	return 0, errors.New("closed")
}

func (s *stuck) Close() error {
	s.times.Add(1)
	close(s.closed)
	return nil
}

// TestCancel: readers that wait are closed, Run ends with the cause, and leaves no goroutine.
func TestCancel(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	var closed atomic.Int32
	began := sync.OnceFunc(func() { cancel(cause) })
	source := replay.Source{Name: "stuck", Open: func() (io.ReadCloser, error) {
		return &stuck{strings.NewReader(good("s").b.String()), began, make(chan struct{}), &closed}, nil
	}}
	opened := 0
	never := replay.Source{Name: "never", Size: -1, Open: func() (io.ReadCloser, error) {
		opened++
		return nil, errors.New("never")
	}}
	sources := []replay.Source{source}
	for range runtime.GOMAXPROCS(0) {
		sources = append(sources, source)
	}
	r, err := replay.Run(ctx, append(sources, never), replay.Options{})
	require.ErrorIs(t, err, cause)
	assert.Nil(t, r)
	assert.NotZero(t, closed.Load())
	assert.Zero(t, opened)

	_, err = replay.Run(ctx, []replay.Source{never}, replay.Options{})
	require.ErrorIs(t, err, cause)
	assert.Zero(t, opened)
}

// TestCancelAtEveryRead: whatever is being read, there is no Read after that in which the context ended.
func TestCancelAtEveryRead(t *testing.T) {
	cause := errors.New("enough")
	for _, sample := range samples(t) {
		in, err := sample.Open()
		require.NoError(t, err)
		text, err := io.ReadAll(in)
		require.NoError(t, err)
		text = text[:min(len(text), 6_000)]
		for n, ended := 1, false; !ended; n++ {
			ctx, cancel := context.WithCancelCause(t.Context())
			reads := 0
			_, err := replay.Run(ctx, []replay.Source{{Name: sample.Name, Open: func() (io.ReadCloser, error) {
				return io.NopCloser(readFunc(func(p []byte) (int, error) {
					if reads++; reads == n {
						cancel(cause)
					}
					return strings.NewReader(string(text[min(len(text), 99*(reads-1)):])).Read(p[:min(len(p), 99)])
				})), nil
			}}}, replay.Options{})
			cancel(nil)
			if ended = reads < n; ended {
				require.NoError(t, err)
				continue
			}
			require.ErrorIs(t, err, cause)
			require.Equal(t, n, reads, "%s", sample.Name)
		}
	}
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// TestCancelBetweenBatches: a source that always has more does not keep Run.
func TestCancelBetweenBatches(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	one := good("s").b.String()
	n := 0
	endless := replay.Source{Name: "endless", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(&generator{piece: func(i int) string {
			if n++; i == 100 {
				cancel()
			}
			return strings.ReplaceAll(one, "m1", fmt.Sprint("m", i))
		}}), nil
	}}
	_, err := replay.Run(ctx, []replay.Source{endless}, replay.Options{})
	require.ErrorIs(t, err, context.Canceled)
	assert.Less(t, n, 400)
}

// TestProgress: never falls, never passes the total, and ends with all, whether sizes are true or not.
func TestProgress(t *testing.T) {
	pad := strings.Repeat(" \n", 1<<20)
	for _, c := range []struct {
		name  string
		size  func(true int64) int64
		total int64
	}{
		{"true", func(n int64) int64 { return n }, 6 << 20},
		{"not known", func(int64) int64 { return 0 }, 6 << 20},
		{"too small", func(n int64) int64 { return n / 3 }, 6 << 20},
		{"too large", func(n int64) int64 { return 2 * n }, 12 << 20},
		{"nonsense", func(int64) int64 { return -5 }, 6 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sources []replay.Source
			for range 3 {
				s := text("x", pad)
				s.Size = c.size(s.Size)
				sources = append(sources, s)
			}
			var running atomic.Int32
			var calls, done, total int64
			run(t, replay.Options{Progress: func(d, of int64) {
				assert.EqualValues(t, 1, running.Add(1), "one at a time")
				assert.GreaterOrEqual(t, d, done)
				assert.GreaterOrEqual(t, of, total)
				assert.LessOrEqual(t, d, of)
				calls, done, total = calls+1, d, of
				running.Add(-1)
			}}, sources...)
			assert.Equal(t, []int64{c.total, c.total}, []int64{done, total})
			assert.Greater(t, calls, int64(2), "now and then")
			assert.Less(t, calls, int64(20))
		})
	}
}
