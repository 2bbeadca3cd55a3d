package replay_test

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/bench/replay"
)

// A generator is a reader of pieces that are made when they are wanted.
type generator struct {
	piece func(i int) string // "": the end
	i     int
	rest  string
}

func (g *generator) Read(p []byte) (int, error) {
	if g.rest == "" {
		g.rest = g.piece(g.i)
		g.i++
		if g.rest == "" {
			return 0, io.EOF
		}
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

func generated(name string, piece func(i int) string) replay.Source {
	return replay.Source{Name: name, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(&generator{piece: piece}), nil
	}}
}

// heap is how much is in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestMemoryIsBounded streams transcripts without end: of ever new sessions and tools, each third batch worth a look,
// and ever larger savings. What is kept does not grow, and the sums are right.
func TestMemoryIsBounded(t *testing.T) {
	n := 75_000 // of each source: a third of them are more sessions and waits than are kept
	if testing.Short() {
		n = 30_000
	}
	const most = 64 << 20
	pad := strings.Repeat("x", 2000)
	before := heap()
	var at [2]uint64 // of the first source, after a third and at the end
	source := func(name string) replay.Source {
		return generated(name, func(i int) string {
			if k := slices.Index([]int{n / 3, n}, i); k >= 0 && name == "x" {
				at[k] = heap()
			}
			if i == n {
				return ""
			}
			if i%3 > 0 {
				return fmt.Sprintf(`{"trace":"%s%d","batch":%d,"fmt":"x","calls":[`+
					`{"i":0,"tool":"r","access":"read","est_ms":1,"err":false},{"i":1,"tool":"r","access":"read","est_ms":1,"err":false}]}`+"\n",
					name, i, i)
			}
			return fmt.Sprintf(`{"trace":"%s%d","batch":%d,"fmt":"x","sub":true,"calls":[`+
				`{"i":0,"tool":"a%d","access":"write","keys":[{"k":"d1/%s%d","m":"w"}],"est_ms":%d,"err":false},`+
				`{"i":1,"tool":"b%d","access":"write","keys":[{"k":"d2/f%d","m":"w"}],"est_ms":1000000,"err":false},`+
				`{"i":2,"tool":"c%d","access":"exclusive","est_ms":1000,"err":false}]}`+"\n",
				name, i, i, i%50_000, pad, i, i+1, i%50_000, i, i%50_000)
		})
	}
	r := run(t, replay.Options{Largest: 30, Inverted: 30}, source("x"), source("y"))
	t.Logf("%d MB before, %d and %d MB", before>>20, at[0]>>20, at[1]>>20)
	assert.Less(t, at[1], before+most)
	assert.Less(t, at[1], at[0]+most/2, "it does not grow")
	assert.Equal(t, []int{2 * n, 2 * n / 3 * 7, 2 * n, 2 * n / 3}, []int{r.Total.Batches, r.Total.Calls, r.Total.Timed, r.Mixed.Batches})
	require.Len(t, r.Sessions, 10_001)
	last := r.Sessions[10_000]
	assert.Empty(t, last.File)
	assert.Equal(t, 2*n-10_000, last.Batches)
	assert.Equal(t, 2*n, r.Formats[0].Sessions)
	assert.Len(t, r.Batches, 60)
	assert.Equal(t, 2*n/3-60, r.Unshown)
	require.Len(t, r.Tools, 1_001)
	calls := 0
	for _, tool := range r.Tools {
		calls += tool.Calls
	}
	assert.Equal(t, 2*n/3, calls)
	assert.Equal(t, "(others)", r.Tools[1_000].Tool)
	require.Len(t, r.Waits, 4_001)
	calls = 0
	for _, w := range r.Waits {
		calls += w.Calls
	}
	assert.Equal(t, 2*n/3, calls)
}

// TestLineOf100MB: it is read, memory is that for it, and so is the rest.
func TestLineOf100MB(t *testing.T) {
	size := 100 << 20
	if testing.Short() {
		size = 8 << 20
	}
	const chunk = 64 << 10
	pad := strings.Repeat("y", chunk)
	head, tail := &claude{session: "s"}, &claude{session: "s"}
	head.batch(0, "m1", "Read "+path("/w/a")+" 30", "Read "+path("/w/b")+" 20")
	tail.batch(100, "m2", "Read "+path("/w/a")+" 30", "Read "+path("/w/b")+" 20")
	before, peak := heap(), uint64(0)
	r := run(t, replay.Options{}, generated("long", func(i int) string {
		switch {
		case i == 0:
			return head.b.String() + `{"type":"user","sessionId":"s","uuid":"u","message":{"role":"user","content":"`
		case i <= size/chunk:
			if i == size/chunk {
				peak = heap()
			}
			return pad
		case i == size/chunk+1:
			return `"}}` + "\n" + tail.b.String()
		}
		return ""
	}))
	assert.Empty(t, r.Problems)
	assert.Equal(t, 2, r.Total.Timed)
	assert.EqualValues(t, 100, policy(t, r.Total, "serial").Time)
	assert.Less(t, peak, before+uint64(3*size)+(16<<20))
}

// TestHugeSum: times that no computer can add up stay at what it can say, and nothing breaks.
func TestHugeSum(t *testing.T) {
	const years = 100 * 365 * 24 * 3600 * 1000
	line := func(i, est int) string {
		return fmt.Sprintf(`{"trace":"x","batch":%d,"fmt":"x","calls":[{"i":0,"tool":"a","access":"exclusive","est_ms":%d,"err":false},`+
			`{"i":1,"tool":"b","access":"read","est_ms":%d,"err":false},{"i":2,"tool":"b","access":"read","est_ms":%d,"err":false}]}`+"\n", i, est, est, est)
	}
	r := run(t, replay.Options{}, text("x", line(0, years)+line(1, years/4)+line(2, years/4)+line(3, years/2)+line(4, years/5*2)))
	assert.Equal(t, []int{5, 4}, []int{r.Total.Batches, r.Total.Timed}, "three calls of a hundred years")
	assert.InDelta(t, 292.47*365*24*3600*1000, float64(policy(t, r.Total, "serial").Time), 1e11)
	assert.InDelta(t, 2.8*years, float64(policy(t, r.Total, "keyed").Time), 1)
}
