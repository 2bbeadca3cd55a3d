package browser

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/bench/replay"
)

// recorded is the report on the recorded batches and on a sample of each kind of transcript.
func recorded(t *testing.T) *replay.Report {
	t.Helper()
	files, err := filepath.Glob("../transcript/testdata/*.json*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return replayed(t, append(files, "../testdata/batches.jsonl"), replay.Options{Limit: 10, Largest: 10, Inverted: 200})
}

func replayed(t *testing.T, files []string, o replay.Options) *replay.Report {
	t.Helper()
	var sources []replay.Source
	for _, f := range files {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		sources = append(sources, replay.Source{
			Name: filepath.Base(f), Size: int64(len(data)),
			Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
		})
	}
	r, err := replay.Run(context.Background(), sources, o)
	require.NoError(t, err)
	return r
}

func TestLook(t *testing.T) {
	b := show(t, recorded(t))
	b.quiet()
	b.keep("desktop-light", "")
	b.keep("savings", "#savings")
	b.keep("inversions", "#batch-11")
	b.screen(1280, 900, "dark")
	b.keep("desktop-dark", "header")
	b.keep("savings-dark", "#savings")
	b.screen(360, 740, "light")
	b.keep("phone", "header")
	b.keep("phone-savings", "#savings")
	b.keep("phone-time", "#time")
}
