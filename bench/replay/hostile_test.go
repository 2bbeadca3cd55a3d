package replay_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keywave-go/keywave/bench/replay"
)

// TestHostileBatches are as large as batches may be, and made to take long. They end.
func TestHostileBatches(t *testing.T) {
	writes := func(keys ...string) string {
		for i, k := range keys {
			keys[i] = fmt.Sprintf(`{"k":%q,"m":"w"}`, k)
		}
		return `"access":"write","keys":[` + strings.Join(keys, ",") + "]"
	}
	long := strings.Repeat("d/", 1<<10)
	for name, c := range map[string]struct {
		call    func(i int) string
		leftOut bool
	}{
		"one key":   {func(int) string { return writes("f") }, false},
		"exclusive": {func(int) string { return `"access":"exclusive"` }, false},
		"reads":     {func(int) string { return `"access":"read"` }, false},
		"alternating": {func(i int) string {
			return []string{`"access":"read","keys":[{"k":"f","m":"r"}]`, `"access":"exclusive"`, writes("f")}[i%3]
		}, false},
		"trees": {func(i int) string { return writes([]string{"d/", fmt.Sprint("d/f", i)}[i%2]) }, false},
		"pairs": {func(i int) string { return writes(fmt.Sprint("f", i), fmt.Sprint("f", i+1)) }, false},
		"claims": {func(i int) string {
			keys := make([]string, 60)
			for j := range keys {
				keys[j] = fmt.Sprint("f", 60*i+j)
			}
			return writes(keys...)
		}, true},
		"long keys": {func(i int) string { return writes(long + fmt.Sprint(i)) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			const n = 4096
			var b strings.Builder
			b.WriteString(`{"trace":"cc1","batch":1,"fmt":"claude-code","calls":[`)
			for i := range n {
				if i > 0 {
					b.WriteByte(',')
				}
				fmt.Fprintf(&b, `{"i":%d,"tool":"t","est_ms":%d,"err":false,%s}`, i, 1+i%7, c.call(i))
			}
			b.WriteString("]}\n")
			r := run(t, replay.Options{Limit: 10, Largest: 9, Inverted: 9}, text("x", b.String()), good("s").source("good"))
			if c.leftOut {
				assert.Equal(t, []int{1, 2}, []int{r.Total.Batches, r.Total.Calls})
				assert.Contains(t, problems(r), "too large to be simulated")
			} else {
				assert.Equal(t, []int{2, n + 2}, []int{r.Total.Batches, r.Total.Calls})
			}
		})
	}
}
