package replay_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/bench/replay"
)

const again = " that is there already, in this transcript or in one before it, and counts again: a session that was " +
	"resumed or forked, or a sub-agent that is in two files"

// turns is a session with n batches, whose ids no other call has.
func turns(session string, n int) string {
	c := &claude{session: session}
	for i := range n {
		c.batch(1000*i, fmt.Sprintf("msg_%018d", i), "Read "+path("/w/a")+" 30", "Edit "+path("/w/b")+" 20")
	}
	return c.b.String()
}

// TestRepeats: what is there twice is told, of the source that repeats it, whichever is read first.
func TestRepeats(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	once := turns("first", 3)
	forked := strings.ReplaceAll(turns("fork", 5), `"uuid":"u`, `"uuid":"v`)
	rewritten := strings.ReplaceAll(turns("late", 1), "2026-01-01", "2026-02-01")
	sources := []replay.Source{
		text("first", once), text("fork", forked), text("late", rewritten), text("itself", strings.ReplaceAll(once+once, "msg_", "mes_")),
		// Others ids may be those of any session: then it has to be the same one, at the same time.
		good("short").source("short"), good("other").source("other"), good("short").source("copy"),
	}
	var before string
	for _, processors := range []int{1, 8} {
		for size := range int64(3) {
			runtime.GOMAXPROCS(processors)
			for i := range sources {
				sources[i].Size = size * int64(i%3)
			}
			r := run(t, replay.Options{}, sources...)
			assert.Equal(t, []replay.Problem{
				{File: "fork", Kind: "repeated", Text: "batch ×3" + again, Count: 3}, {File: "late", Kind: "repeated", Text: "batch" + again, Count: 1},
				{File: "itself", Kind: "repeated", Text: "batch ×3" + again, Count: 3}, {File: "copy", Kind: "repeated", Text: "batch" + again, Count: 1},
			}, r.Problems)
			assert.Equal(t, 3+5+1+6+3, r.Total.Batches, "they count")
			raw, err := json.Marshal(r)
			require.NoError(t, err)
			if before != "" {
				assert.Equal(t, before, string(raw))
			}
			before = string(raw)
		}
	}
}

// TestWhatIsARepeat: with ids that no other call has the calls decide, with others their session, answer and time too.
func TestWhatIsARepeat(t *testing.T) {
	const long, short = "toolu_0123456789", "toolu_012345678"
	transcript := func(session, turn, id, at, file string) string {
		var calls []string
		for i, tool := range []string{"Read", "Edit"} {
			calls = append(calls, fmt.Sprintf(`{"type":"tool_use","id":"%s%d","name":%q,"input":{"file_path":%q}}`, id[:len(id)-1], i, tool, file))
		}
		return fmt.Sprintf(`{"type":"assistant","sessionId":%q,"timestamp":%q,"message":{"id":%q,"role":"assistant","content":[%s]}}`+"\n",
			session, at, turn, strings.Join(calls, ","))
	}
	const at, later = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"
	for name, c := range map[string]struct {
		first, second string
		is            bool
	}{
		"a copy":                    {transcript("s", "m", long, at, "/a"), transcript("s", "m", long, at, "/a"), true},
		"in a fork":                 {transcript("s", "m", long, at, "/a"), transcript("u", "n", long, later, "/a"), true},
		"without a time":            {transcript("s", "m", long, "", "/a"), transcript("s", "m", long, "", "/a"), true},
		"other arguments":           {transcript("s", "m", long, at, "/a"), transcript("s", "m", long, at, "/b"), false},
		"short ids":                 {transcript("s", "m", short, at, "/a"), transcript("s", "m", short, at, "/a"), true},
		"short, of another session": {transcript("s", "m", short, at, "/a"), transcript("u", "m", short, at, "/a"), false},
		"short, of another answer":  {transcript("s", "m", short, at, "/a"), transcript("s", "n", short, at, "/a"), false},
		"short, at another time":    {transcript("s", "m", short, at, "/a"), transcript("s", "m", short, later, "/a"), false},
		"short, without a time":     {transcript("s", "m", short, "", "/a"), transcript("s", "m", short, "", "/a"), false},
	} {
		r := run(t, replay.Options{}, text("first", c.first), text("second", c.second))
		require.Equal(t, 2, r.Total.Batches, name)
		assert.Equal(t, c.is, strings.Contains(problems(r), "second: batch that is there already"), name)
	}

	one := transcript("s", "m", long, at, "/a")
	r := run(t, replay.Options{}, text("first", one), text("second", one+`{"type":"new","uuid":"x"}`+"\n"))
	require.Len(t, r.Problems, 4)
	assert.Equal(t, "repeated", r.Problems[3].Kind, "behind what else is said of the source")
}
