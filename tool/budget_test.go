package tool_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/tool"
)

// size is how much of a request content takes up.
func size(content []tool.Block) (n int) {
	for _, b := range content {
		n += len(b.Text) + len(b.JSON)
		if b.Image != nil {
			n += len(b.Image.MediaType) + (len(b.Image.Data)+2)/3*4
		}
	}
	return n
}

// The budget of a batch goes to its calls in the model's order, whoever is done first.
func TestCase_output_2(t *testing.T) {
	const kb = 1 << 10
	var first []string
	for run := range 10 {
		synctest.Test(t, func(t *testing.T) {
			var n atomic.Int32
			r := registry(t, define(t, free("dump", func(ctx) (string, error) {
				<-time.After(time.Duration(n.Add(int32(run))%7) * time.Second) // another order of completion every time
				return strings.Repeat("0123456789abcdef", 50*kb/16), nil
			})))
			p := &tool.Pipeline{Budget: tool.Budget{Result: 50 * kb, Batch: 64 * kb}}
			results, err := p.Run(t.Context(), r, named("dump", "dump", "dump", "dump"), exec.Limit(4))
			require.NoError(t, err)
			total := 0
			for _, r := range results {
				total += size(r.Content)
			}
			assert.LessOrEqual(t, total, 64*kb)
			if first == nil {
				first = texts(results)
				assert.Equal(t, 50*kb, size(results[0].Content), "the first is whole")
				assert.Greater(t, size(results[1].Content), 12*kb, "the second gets what is left, but for the others")
				for i, r := range results[1:] {
					note := r.Content[len(r.Content)-1].Text
					assert.Regexp(t, `^\[This result was shortened: \d+ of its 51200 bytes are shown\.\]$`, note, "%d", i)
				}
				assert.Contains(t, results[3].Text(), "0123456789abcdef", "a little of each is always shown")
			}
			assert.Equal(t, first, texts(results))
			assert.Len(t, results[3].Value, 50*kb+2, "the value is whole")
		})
	}
}

func TestBudgetOfAResult(t *testing.T) {
	long := strings.Repeat("é", 3000)
	picture := &tool.Image{MediaType: "image/png", Data: bytes.Repeat([]byte{7}, 3000)}
	for name, c := range map[string]struct {
		content []tool.Block
		says    string
		kinds   string // of the blocks that are left: text, json, image
	}{
		"fits":               {text(strings.Repeat("x", 1000)), "", "t"},
		"one byte more":      {text(strings.Repeat("x", 1001)), "of its 1001 bytes are shown.]", "tt"},
		"a text":             {text(long), "of its 6000 bytes are shown.]", "tt"},
		"not UTF-8 in it":    {text(strings.Repeat("é\xff", 1500)), "of its 7500 bytes are shown.]", "tt"},
		"JSON becomes text":  {[]tool.Block{{JSON: json.RawMessage(`"` + long + `"`)}}, "of its 6002 bytes are shown.]", "tt"},
		"JSON that fits":     {[]tool.Block{{JSON: json.RawMessage(`[1]`)}, {Text: long}}, "of its 6003 bytes are shown.]", "jtt"},
		"an image":           {[]tool.Block{{Image: picture}}, "[This result was shortened: 0 of its 4009 bytes are shown.]", "t"},
		"an image and more":  {[]tool.Block{{Text: "a"}, {Image: picture}, {Text: "b"}}, "[This result was shortened: 2 of its 4011 bytes are shown.]", "ttt"},
		"much, and the rest": {[]tool.Block{{Text: "a"}, {Text: long}, {Text: "not shown"}}, "of its 6010 bytes are shown.]", "ttt"},
		"nothing":            {[]tool.Block{}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := registry(t, define(t, tool.Spec[struct{}, tool.Result]{Name: "t", Body: func(ctx, struct{}) (tool.Result, error) { return tool.Result{Content: c.content}, nil }}))
			p := &tool.Pipeline{Budget: tool.Budget{Result: 1000}}
			results, err := p.Run(t.Context(), r, named("t"))
			require.NoError(t, err)
			got := results[0].Content
			kinds := ""
			for _, b := range got {
				switch {
				case b.Image != nil:
					kinds += "i"
				case len(b.JSON) > 0:
					assert.True(t, json.Valid(b.JSON))
					kinds += "j"
				default:
					assert.True(t, utf8.ValidString(b.Text))
					kinds += "t"
				}
			}
			assert.Equal(t, c.kinds, kinds)
			assert.LessOrEqual(t, size(got), 1000)
			if c.says != "" {
				assert.Contains(t, got[len(got)-1].Text, c.says)
				assert.True(t, size(got) > 900 || len(c.content) > 0 && kinds[0] == 't' && size(got) < 100, "what may be shown is: %d", size(got))
			}
		})
	}
}

// The two ends of a text are shown, and what is left out is said where it was.
func TestBudgetKeepsBothEnds(t *testing.T) {
	r := registry(t, define(t, free("t", func(ctx) (string, error) { return "begin" + strings.Repeat("x", 10_000) + "end", nil })))
	results, err := (&tool.Pipeline{Budget: tool.Budget{Result: 600}}).Run(t.Context(), r, named("t"))
	require.NoError(t, err)
	cut := results[0].Content[0].Text
	assert.True(t, strings.HasPrefix(cut, "beginxxx"))
	assert.True(t, strings.HasSuffix(cut, "xxxend"))
	var left, shown, of int
	_, err = fmt.Sscanf(strings.Trim(cut[strings.Index(cut, "\n"):], "\n"), "[… %d bytes …]", &left)
	require.NoError(t, err)
	_, err = fmt.Sscanf(results[0].Content[1].Text, "[This result was shortened: %d of its %d bytes are shown.]", &shown, &of)
	require.NoError(t, err)
	assert.Equal(t, 10_008, of)
	assert.Equal(t, of, left+shown)
}

// What is shortened can be kept whole, as the tool's Finalize left it.
func TestBudgetSpills(t *testing.T) {
	whole := strings.Repeat("secret ", 1000)
	s := free("t", func(ctx) (string, error) { return whole, nil })
	s.Finalize = func(_ ctx, _ *tool.Invocation, r tool.Result) ([]tool.Block, error) {
		return text(strings.ReplaceAll(r.Text(), "secret", "******")), nil
	}
	r := registry(t, define(t, s), define(t, free("short", takes(0))))
	var kept []string
	for name, c := range map[string]struct {
		spill func(ctx, *tool.Invocation, tool.Result) (string, error)
		says  string
	}{
		"kept": {func(_ ctx, c *tool.Invocation, r tool.Result) (string, error) {
			kept = append(kept, c.Call.ID+" "+r.Text())
			return "/tmp/out-1", nil
		}, " bytes are shown. All of it is kept: /tmp/out-1]"},
		"fails":  {func(ctx, *tool.Invocation, tool.Result) (string, error) { return "x", errBoom }, " bytes are shown. The rest could not be kept: boom]"},
		"panics": {func(ctx, *tool.Invocation, tool.Result) (string, error) { panic("x") }, " bytes are shown. The rest could not be kept: it panicked: x]"},
		"says much": {func(ctx, *tool.Invocation, tool.Result) (string, error) { return strings.Repeat("é", 5000), nil },
			" bytes are shown. All of it is kept: " + strings.Repeat("é", 150) + "… (9700 bytes more)]"},
	} {
		t.Run(name, func(t *testing.T) {
			results, err := (&tool.Pipeline{Budget: tool.Budget{Result: 600, Spill: c.spill}}).Run(t.Context(), r, named("t", "short"))
			require.NoError(t, err)
			assert.True(t, strings.HasSuffix(results[0].Text(), c.says), results[0].Text())
			assert.LessOrEqual(t, size(results[0].Content), 600)
			assert.Empty(t, results[0].Code)
			assert.Equal(t, "done", results[1].Text())
		})
	}
	assert.Equal(t, []string{"c1 " + strings.ReplaceAll(whole, "secret", "******")}, kept)
}

// Whatever the results are, and whatever the budget: what is shown is valid, the same every time, and within the budget
// unless that is less than LeastShown for each.
func TestBudgetHolds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		block := rapid.Custom(func(t *rapid.T) tool.Block {
			s := strings.Repeat(rapid.StringOfN(rapid.Rune(), 0, 20, -1).Draw(t, "s"), rapid.IntRange(0, 200).Draw(t, "times"))
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				return tool.Block{Image: &tool.Image{MediaType: "image/png", Data: []byte(s)}}
			case 1:
				raw, err := json.Marshal(s)
				require.NoError(t, err)
				return tool.Block{JSON: raw}
			}
			return tool.Block{Text: s}
		})
		contents := rapid.SliceOfN(rapid.SliceOfN(block, 0, 4), 1, 6).Draw(rt, "contents")
		p := &tool.Pipeline{Budget: tool.Budget{Result: rapid.IntRange(0, 4000).Draw(rt, "result"), Batch: rapid.IntRange(0, 12_000).Draw(rt, "batch")}}
		if p.Budget.Result < 100 {
			p.Budget.Result = 0
		}
		r := registry(rt, define(rt, tool.Spec[struct{ I int }, tool.Result]{Name: "t", Safe: safe[struct{ I int }],
			Body: func(_ ctx, in struct{ I int }) (tool.Result, error) { return tool.Result{Content: contents[in.I]}, nil }}))
		var calls []tool.Call
		for i := range contents {
			calls = append(calls, call("t", fmt.Sprintf(`{"I":%d}`, i)))
		}
		results, err := p.Run(t.Context(), r, calls)
		require.NoError(rt, err)
		total := 0
		for i, got := range results {
			n := size(got.Content)
			total += n
			if p.Budget.Result > 0 {
				require.LessOrEqual(rt, n, max(p.Budget.Result, tool.LeastShown))
			}
			for _, b := range got.Content {
				require.True(rt, utf8.ValidString(b.Text))
				require.True(rt, len(b.JSON) == 0 || json.Valid(b.JSON))
			}
			before := size(tidied(contents[i]))
			if n != before || mustJSONOf(rt, got.Content) != mustJSONOf(rt, tidied(contents[i])) {
				require.Contains(rt, got.Content[len(got.Content)-1].Text, "[This result was shortened: ")
				require.Greater(rt, before, tool.LeastShown, "what is no longer than that is whole")
			}
		}
		if p.Budget.Batch > 0 {
			require.LessOrEqual(rt, total, max(p.Budget.Batch, len(contents)*tool.LeastShown))
		}
		again, err := p.Run(t.Context(), r, calls)
		require.NoError(rt, err)
		require.Equal(rt, results, again)
	})
}

// tidied is content as it leaves a body.
func tidied(content []tool.Block) []tool.Block {
	out := []tool.Block{}
	for _, b := range content {
		if b.Image == nil && len(b.JSON) > 0 {
			var v any
			_ = json.Unmarshal(b.JSON, &v)
			var buf bytes.Buffer
			enc := json.NewEncoder(&buf)
			enc.SetEscapeHTML(false)
			_ = enc.Encode(v)
			b.JSON = bytes.TrimSpace(buf.Bytes())
		}
		out = append(out, b)
	}
	return out
}

func mustJSONOf(t require.TestingT, v any) string {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}
