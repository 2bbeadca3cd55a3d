package plantest

import (
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/plan"
)

// Alphabet returns the calls that [Explore] builds batches of, one of each kind that can behave differently: exclusive,
// keyless, a read and a write of each of two keys, a write of the tree over both, and a call that reads one and
// writes the other.
func Alphabet() []plan.Call {
	const a, b, t = "t/a", "t/b", "t"
	safe := func(claims ...plan.Claim) plan.Call { return plan.Call{Safe: true, Claims: claims} }
	return []plan.Call{
		{},
		safe(),
		safe(plan.Claim{Key: a, Access: plan.Read}),
		safe(plan.Claim{Key: a}),
		safe(plan.Claim{Key: b, Access: plan.Read}),
		safe(plan.Claim{Key: b}),
		safe(plan.Claim{Key: t, Tree: true}),
		safe(plan.Claim{Key: a, Access: plan.Read}, plan.Claim{Key: b}),
	}
}

// Keys generates keys that collide often and in nasty ways: two hot ones, paths inside each other, names that begin
// like others (lib, library), slashes at the end, and rarely a key that is empty once they are trimmed.
func Keys() *rapid.Generator[string] {
	hot := rapid.SampledFrom([]string{"a", "b"})
	path := rapid.SampledFrom([]string{
		"lib", "lib/a", "lib/a/x", "lib/a/y", "lib/b", "lib/ab", "library", "library/a", "li", "lib.go", "/lib", "lib//a", "é", "lib/\x00",
	})
	odd := rapid.SampledFrom([]string{"a/", "lib/", "lib//", "lib/a/", "library/", "/a"})
	return rapid.Custom(func(t *rapid.T) string {
		switch kind := rapid.IntRange(0, 39).Draw(t, "kind of key"); { // the simplest first: it shrinks to that
		case kind < 21:
			return hot.Draw(t, "hot key")
		case kind < 34:
			return path.Draw(t, "path")
		case kind < 39:
			return odd.Draw(t, "odd key")
		}
		return rapid.SampledFrom([]string{"", "/", "//"}).Draw(t, "empty key")
	})
}

// Claims generates claims on [Keys]: half of them reads, a third of them trees.
func Claims() *rapid.Generator[plan.Claim] {
	return rapid.Custom(func(t *rapid.T) plan.Claim {
		return plan.Claim{
			Key:    Keys().Draw(t, "key"),
			Access: rapid.SampledFrom([]plan.Access{plan.Write, plan.Read}).Draw(t, "access"),
			Tree:   rapid.IntRange(0, 2).Draw(t, "tree") == 2,
		}
	})
}

// Calls generates calls with up to four claims, duplicates among them; about one in eight is not safe, and has claims
// all the same.
func Calls() *rapid.Generator[plan.Call] {
	return rapid.Custom(func(t *rapid.T) plan.Call {
		return plan.Call{
			Safe:   rapid.IntRange(0, 7).Draw(t, "safe") != 7,
			Claims: rapid.SliceOfN(Claims(), 0, 4).Draw(t, "claims"),
		}
	})
}

// Batches generates batches of up to n [Calls], the empty one included, in which some calls come twice.
func Batches(n int) *rapid.Generator[[]plan.Call] {
	return batches(Calls(), n)
}

// PlainBatches generates the published input of first-fit: calls with at most one key, plain and written. With unsafe,
// some calls are exclusive.
func PlainBatches(n int, unsafe bool) *rapid.Generator[[]plan.Call] {
	return batches(rapid.Custom(func(t *rapid.T) plan.Call {
		if unsafe && rapid.IntRange(0, 7).Draw(t, "safe") == 7 {
			return plan.Call{}
		}
		key := rapid.SampledFrom([]string{"", "a", "b", "c", "a/b", "d"}).Draw(t, "key")
		if key == "" {
			return plan.Call{Safe: true}
		}
		return plan.Call{Safe: true, Claims: []plan.Claim{{Key: key}}}
	}), n)
}

func batches(calls *rapid.Generator[plan.Call], n int) *rapid.Generator[[]plan.Call] {
	type draw struct {
		call  plan.Call
		again int // 0, or how many calls before this one is the one that it is the same as
	}
	// All of a call is one draw, so that rapid can leave it out without changing what the others are.
	draws := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) draw {
		if rapid.IntRange(0, 7).Draw(t, "same as an earlier one") == 7 {
			return draw{again: rapid.IntRange(1, n).Draw(t, "which")}
		}
		return draw{call: calls.Draw(t, "call")}
	}), 0, n)
	return rapid.Custom(func(t *rapid.T) []plan.Call {
		var batch []plan.Call
		for i, d := range draws.Draw(t, "calls") {
			if d.again > 0 && i > 0 {
				d.call = batch[i-1-(d.again-1)%i]
			}
			batch = append(batch, d.call)
		}
		return batch
	})
}
