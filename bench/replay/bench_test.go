package replay_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/bench/replay"
)

// session is about so many bytes of a Claude Code log: answers with one to four calls, whose results are most of it.
func session(size int) []byte {
	c := &claude{session: "s"}
	content := strings.Repeat("func main() {\\n\\treturn \\\"x\\\" // and so on\\n}\\n", 150)
	for i := 0; c.b.Len() < size; i++ {
		for k := range 1 + i%4 {
			id := fmt.Sprintf("t%d.%d", i, k)
			switch (i + k) % 5 {
			case 0:
				c.use(1000*i, fmt.Sprint("m", i), id, "Edit", path(fmt.Sprint("/w/d/f", k)))
			case 1:
				c.use(1000*i, fmt.Sprint("m", i), id, "Bash", `{"command":"go test ./..."}`)
			default:
				c.use(1000*i, fmt.Sprint("m", i), id, "Read", path(fmt.Sprint("/w/d/f", i%7)))
			}
		}
		for k := range 1 + i%4 {
			c.line(1000*i+100*k, "user", fmt.Sprintf(
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d.%d","content":"%s"}]}`, i, k, content))
		}
	}
	return c.b.Bytes()
}

func BenchmarkRun(b *testing.B) {
	log := session(8 << 20)
	batches := []byte(read(b, file(b, recorded)))
	for _, c := range []struct {
		name string
		text []byte
	}{{"log", log}, {"recorded", batches}} {
		b.Run(c.name, func(b *testing.B) {
			source := replay.Source{Name: c.name, Size: int64(len(c.text)), Open: func() (io.ReadCloser, error) {
				return io.NopCloser(bytes.NewReader(c.text)), nil
			}}
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				_, err := replay.Run(context.Background(), []replay.Source{source}, replay.Options{Largest: 10, Inverted: 20})
				require.NoError(b, err)
			}
		})
	}
}
