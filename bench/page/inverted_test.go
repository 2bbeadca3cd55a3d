package page_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/bench/replay"
)

// What an inversion is, and what can come of it, is said in words.
func TestBreaches(t *testing.T) {
	call := func(tool, access string, claims ...replay.Claim) replay.Call {
		return replay.Call{Tool: tool, Access: access, Claims: claims}
	}
	reads, writes := replay.Claim{Key: "k"}, replay.Claim{Key: "k", Write: true}
	bash, read, edit := call("Bash", "exclusive"), call("Read", "read", reads), call("Edit", "write", writes)
	for _, c := range []struct {
		earlier, later replay.Call
		together       bool
		want           string
	}{
		{bash, edit, true, "call 2 (Edit) started before call 1 (Bash, exclusive) had ended, and could change what that one finds"},
		{bash, edit, false, "call 2 (Edit) ran before call 1 (Bash, exclusive), and could change what that one finds"},
		{bash, read, false, "call 2 (Read) ran before call 1 (Bash, exclusive), and could miss what that one changes"},
		{read, bash, false, "call 2 (Bash, exclusive) ran before call 1 (Read), and could change what that one finds"},
		{edit, bash, false, "call 2 (Bash, exclusive) ran before call 1 (Edit), and could miss what that one changes"},
		{bash, bash, false, "call 2 (Bash, exclusive) ran before call 1 (Bash, exclusive), and nothing is known of what either touches"},
		{read, edit, false, "call 2 (Edit) ran before call 1 (Read), and writes k, which that one reads: it could find what came after it"},
		{edit, read, false, "call 2 (Read) ran before call 1 (Edit), and reads k, which that one writes: it could find what was there before"},
		{edit, edit, false, "call 2 (Edit) ran before call 1 (Edit), and both write k: what stays could be the work of the wrong one"},
		{edit, call("", "write", replay.Claim{Key: "k/in", Write: true}), false,
			"call 2 (no name) ran before call 1 (Edit), and what one of them writes, the other reads or writes too"},
	} {
		pair := replay.Inversion{Conflict: replay.Conflict{Earlier: 0, Later: 1}, Overlap: c.together}
		batch := timelines(t, replay.Batch{
			Calls: []replay.Call{c.earlier, c.later},
			Runs:  []replay.Schedule{{Policy: "keyed"}, {Policy: "locks", Inversions: []replay.Inversion{pair}}},
		})
		require.Equal(t, "Locks: "+c.want+".", text(find(batch, class("breach"))[0]))
		require.Equal(t, "summary", find(batch, class("breach"))[0].Parent.Data, "it can be read while the batch is folded")
	}

	// Policies that have the same first inversion stand together; one that is not of two calls of the batch is none.
	pair := func(earlier, later int) []replay.Inversion {
		return []replay.Inversion{{Conflict: replay.Conflict{Earlier: 1, Later: 1}}, {Conflict: replay.Conflict{Earlier: earlier, Later: later}}}
	}
	b := replay.Batch{
		Saved: true, Calls: []replay.Call{edit, edit, edit},
		Runs: []replay.Schedule{
			{Policy: "rolling", Inversions: pair(2, 9)}, {Policy: "first-fit", Inversions: pair(1, 2)},
			{Policy: "locks", Inversions: pair(1, 2)}, {Policy: "at-once", Inversions: pair(0, 1)},
		},
	}
	var said []string
	for _, n := range find(timelines(t, b), class("breach")) {
		said = append(said, strings.Split(text(n), ",")[0])
		require.Equal(t, "p", n.Parent.Data)
	}
	require.Equal(t, []string{
		"First-fit waves and locks: call 3 (Edit) ran before call 2 (Edit)", "All at once: call 2 (Edit) ran before call 1 (Edit)",
	}, said)
}
