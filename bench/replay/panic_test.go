package replay_test

import (
	"context"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/bench/replay"
)

// A shutting reader is closed by a function.
type shutting struct {
	io.Reader
	close func() error
}

func (c shutting) Close() error { return c.close() }

// reads is a function that reads.
type reads func(p []byte) (int, error)

func (f reads) Read(p []byte) (int, error) { return f(p) }

// TestClosePanics: also where the context closes it, on a goroutine of its own, nothing but the source is lost.
func TestClosePanics(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	closed := make(chan struct{})
	stuck := replay.Source{Name: "stuck", Open: func() (io.ReadCloser, error) {
		return shutting{reads(func([]byte) (int, error) {
			cancel()
			<-closed
			return 0, io.EOF
		}), func() error { close(closed); panic("close") }}, nil
	}}
	_, err := replay.Run(ctx, []replay.Source{stuck}, replay.Options{})
	require.ErrorIs(t, err, context.Canceled)

	panics := replay.Source{Name: "panics", Open: func() (io.ReadCloser, error) {
		return shutting{strings.NewReader(good("s").b.String()), func() error { panic("close") }}, nil
	}}
	r := run(t, replay.Options{}, panics, good("t").source("good"))
	assert.Equal(t, 1, r.Total.Batches)
	assert.Equal(t, "panics: reading it panicked, and nothing of it counts: string (1)\n", problems(r))
}

// TestProgressPanicsOnce: a source that is about to tell how far it is, when Progress panics, does not.
func TestProgressPanicsOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	called, about := make(chan struct{}), make(chan struct{})
	read, calls := 0, 0
	slow := replay.Source{Name: "slow", Open: func() (io.ReadCloser, error) {
		return shutting{reads(func(p []byte) (int, error) {
			for i := range p {
				p[i] = ' '
			}
			if read < 1<<18 && read+len(p) >= 1<<18 {
				<-called
				close(about)
			}
			read += len(p)
			return len(p), nil
		}), func() error { return nil }}, nil
	}}
	_, err := replay.Run(context.Background(), []replay.Source{text("large", strings.Repeat(" ", 8<<20)), slow}, replay.Options{
		Progress: func(int64, int64) {
			calls++
			close(called)
			<-about
			panic("enough")
		},
	})
	assert.ErrorContains(t, err, "Progress panicked: enough")
	assert.Equal(t, 1, calls)
}

// TestProgressPanics: whichever call it is, that is the error of Run, and no fault of a source.
func TestProgressPanics(t *testing.T) {
	large := text("large", strings.Repeat(" \n", 1<<20))
	promised := text("promised", " ")
	promised.Size = 8 << 20
	panicked := 0
	for at := range 12 {
		n := 0
		_, err := replay.Run(context.Background(), []replay.Source{large, promised, large, promised}, replay.Options{
			Progress: func(int64, int64) {
				if n++; n > at {
					panicked++
					panic("enough")
				}
			},
		})
		if n <= at {
			require.NoError(t, err)
			continue
		}
		assert.ErrorIs(t, err, replay.ErrOptions)
		assert.ErrorContains(t, err, "Progress panicked: enough")
		assert.Equal(t, at+1, n, "it is not called again")
	}
	assert.Greater(t, panicked, 3)
}
