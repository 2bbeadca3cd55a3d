package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/tool"
)

// Two agents move files to and fro in opposite directions: neither waits for ever, and every file is there once.
func TestAgentsMoveInOppositeDirections(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 50
	}
	moves := func(pairs ...string) string {
		var calls []string
		for range rounds {
			for i := 0; i < len(pairs); i += 2 {
				calls = append(calls, fmt.Sprintf(`{"name":"move","arguments":{"from":%q,"to":%q}}`, pairs[i], pairs[i+1]))
			}
		}
		return `{"calls":[` + strings.Join(calls, ",") + `]}`
	}
	paths := batchFiles(t, "forth.json", moves("a", "b", "d/a", "d/b"), "back.json", moves("d/b", "d/a", "b", "a"))
	dir := workDir(t, map[string]string{"a": "moved", "d/a": "moved, too"})
	code, out, errOut := keywave(t, "", append([]string{"run", "-q", "-C", dir, "--json", "--agents"}, paths...)...)
	assert.NotEqual(t, exitUsage, code, errOut)
	var got agentsJSON
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	moved := map[string]int{}
	for _, a := range got.Agents {
		require.Len(t, a.Calls, 2*rounds)
		for i, c := range a.Calls {
			assert.Empty(t, c.Code)
			if !c.IsError {
				moved[a.Name+fmt.Sprint(i%2)]++
			}
		}
	}
	left := contents(t, dir)
	assert.Len(t, left, 2)
	// The moves of one file that succeed take turns, so that of forth there are as many as of back, or one more.
	for path, n := range map[string]int{"a": moved["forth0"] - moved["back1"], "d/a": moved["forth1"] - moved["back0"]} {
		_, stayed := left[path]
		assert.Equal(t, map[bool]int{true: 0, false: 1}[stayed], n, path)
	}
}

// Whatever agents do to the same few files at once, the files and all results are those of running their calls one by
// one in some order.
func TestAgentsEndAsOneByOne(t *testing.T) {
	turns := 200
	if testing.Short() {
		turns = 50
	}
	write := func(path, text string) tool.Call {
		return tool.Call{Name: "write", Arguments: fmt.Sprintf(`{"path":%q,"content":%q}`, path, text)}
	}
	edit := func(path, text string) tool.Call {
		return tool.Call{Name: "edit", Arguments: fmt.Sprintf(`{"path":%q,"old":"end","new":%q}`, path, text+" end")}
	}
	move := func(from, to string) tool.Call {
		return tool.Call{Name: "move", Arguments: fmt.Sprintf(`{"from":%q,"to":%q}`, from, to)}
	}
	on := func(name, path string) tool.Call {
		return tool.Call{Name: name, Arguments: fmt.Sprintf(`{"path":%q}`, path)}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	waits := 0
	for turn := range turns {
		var calls []tool.Call // of all agents
		var batches []*batch
		for agent := range 2 + turn%2 {
			b := &batch{agent: string(rune('A' + agent))}
			for range 2 - turn%2*rnd.IntN(2) {
				text := fmt.Sprint("text", len(calls))
				path := []string{"a", "a", "b", "d/a"}[rnd.IntN(4)]
				c := []tool.Call{
					edit(path, text), edit(path, text), edit(path, text), write(path, text+" end"), move(path, "b"), move("d", "e"), on("remove", path),
					on("read", path), on("list", "d"), {Name: "grep", Arguments: `{"pattern":"text"}`},
				}[rnd.IntN(10)]
				b.calls = append(b.calls, c)
				calls = append(calls, c)
			}
			batches = append(batches, b)
		}
		before := map[string]string{"a": "one end", "b": "two end", "d/a": "three end"}
		dir := workDir(t, before)
		closeTools, err := openTools(dir, batches)
		require.NoError(t, err)
		done, err := performer{admission: admissionNames[turn%len(admissionNames)], limit: 4}.perform(t.Context(), batches...)
		require.NoError(t, err)
		closeTools()
		got := outcome{files: contents(t, dir)}
		started := map[int]time.Duration{}
		for _, d := range done {
			waits += d.delay().waits
			for i, r := range d.results {
				started[len(got.results)] = d.begun + d.spans[i].Started
				got.results = append(got.results, r.Text())
			}
		}
		// What is most likely to be the order comes first.
		order := slices.SortedFunc(maps.Keys(started), func(i, j int) int { return cmp.Compare(started[i], started[j]) })
		found := permuted(order, 0, func() bool {
			return assert.ObjectsAreEqual(got, oneByOne(t, before, calls, order))
		})
		require.True(t, found, "there is no order in which %v end so: %v", calls, got)
	}
	assert.Positive(t, waits, "they were in each other's way")
}

// An outcome is all that can be seen of some calls.
type outcome struct {
	files   map[string]string
	results []string
}

// oneByOne runs calls in an order.
func oneByOne(t *testing.T, before map[string]string, calls []tool.Call, order []int) outcome {
	dir := workDir(t, before)
	var b batch
	closeTools, err := b.openTools(dir)
	require.NoError(t, err)
	defer closeTools()
	results := make([]string, len(calls))
	for _, i := range order {
		r, err := tool.Execute(t.Context(), b.registry, calls[i])
		require.NoError(t, err)
		results[i] = r.Text()
	}
	return outcome{contents(t, dir), results}
}

// permuted tries all orders from n on, that as it is first, until one will do.
func permuted(order []int, n int, try func() bool) bool {
	if n >= len(order)-1 {
		return try()
	}
	for i := n; i < len(order); i++ {
		order[n], order[i] = order[i], order[n]
		if permuted(order, n+1, try) {
			return true
		}
		order[n], order[i] = order[i], order[n]
	}
	return false
}
