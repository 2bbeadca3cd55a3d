package plantest

import (
	"slices"
	"strings"

	"github.com/keywave-go/keywave/plan"
)

// Exclusive reports whether c must run alone: it is not safe, or it claims a key with nothing in it.
func Exclusive(c plan.Call) bool {
	return !c.Safe || slices.ContainsFunc(c.Claims, func(cl plan.Claim) bool { return len(components(cl.Key)) == 0 })
}

// Conflict is the one relation that everything follows from, computed by splitting keys into components: either call
// is exclusive, or two of their claims overlap and at least one of the two is not a read.
func Conflict(a, b plan.Call) bool {
	if Exclusive(a) || Exclusive(b) {
		return true
	}
	for _, x := range a.Claims {
		for _, y := range b.Claims {
			if Overlap(x, y) && (x.Access != plan.Read || y.Access != plan.Read) {
				return true
			}
		}
	}
	return false
}

// Overlap reports whether two claims cover a common key, whatever they do with it.
func Overlap(a, b plan.Claim) bool {
	x, y := components(a.Key), components(b.Key)
	return slices.Equal(x, y) || a.Tree && below(y, x) || b.Tree && below(x, y)
}

// below reports whether the path is dir or lies under it.
func below(path, dir []string) bool {
	return len(path) >= len(dir) && slices.Equal(path[:len(dir)], dir)
}

// components splits a key at its slashes; those at the end do not count.
func components(key string) []string {
	parts := strings.Split(key, "/")
	for len(parts) > 0 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return parts
}
