package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// Access says how a claim uses its key.
type Access uint8

const (
	Write Access = iota // sole use of the key; the zero value, so forgetting it is safe
	Read                // may overlap other reads
)

// String returns "write" or "read".
func (a Access) String() string {
	switch a {
	case Write:
		return "write"
	case Read:
		return "read"
	}
	return fmt.Sprintf("Access(%d)", uint8(a))
}

// A Claim is one resource that a call uses while it runs.
//
// Keys are made of components between slashes and are compared byte for byte; slashes at the end do not count.
// Nothing else is normalised here: two spellings of one file are two keys unless something canonical, such as
// package tool/keys, spelt them.
type Claim struct {
	Key    string
	Access Access
	Tree   bool // the claim covers Key and every key below it, by component: lib covers lib/a, not library
}

// String returns the claim as the tables of this package show it: "write lib", or "read lib/..." for a tree.
func (c Claim) String() string {
	s := c.Access.String() + " " + printable(trim(c.Key))
	if c.Tree {
		s += "/..."
	}
	return s
}

// A Call is all that planning knows of a tool call. The zero Call is exclusive: it runs alone.
//
// The claims of one call are merged: a write covers a read of the same key, duplicates collapse, and a call never
// conflicts with itself. A claim whose key is empty, slashes aside, makes the call exclusive: the whole world is an
// exclusive call.
type Call struct {
	Safe   bool    // the call may overlap others; only an explicit true opts in
	Claims []Claim // what it uses; read only when Safe
}

// Exclusive reports whether c must run alone: it is not safe, or one of its claims has an empty key.
func (c Call) Exclusive() bool {
	if !c.Safe {
		return true
	}
	for _, cl := range c.Claims {
		if trim(cl.Key) == "" {
			return true
		}
	}
	return false
}

// Conflict reports whether two calls may neither overlap nor change places: either is exclusive, or a claim of one
// overlaps a claim of the other and at least one of the two writes. It is symmetric.
func Conflict(a, b Call) bool {
	if a.Exclusive() || b.Exclusive() {
		return true
	}
	_, _, found := collide(a, b)
	return found
}

// collide finds the first pair of claims, in a's order and then in b's, that keeps two safe calls apart.
func collide(a, b Call) (of, with Claim, found bool) {
	claims := a.Claims
	if len(claims)*len(b.Claims) > manyPairs {
		claims = firstIn(a, b)
	}
	for _, x := range claims {
		for _, y := range b.Claims {
			if (x.Access != Read || y.Access != Read) && overlap(x, y) {
				return x, y, true
			}
		}
	}
	return Claim{}, Claim{}, false
}

// manyPairs is from where on an index of the claims is cheaper than comparing every pair.
const manyPairs = 64 * 64

// firstIn returns the first claim of a that collides with one of b, if any, in time linear in their claims.
func firstIn(a, b Call) []Claim {
	p := placer{}
	p.reset(hasTree(a.Claims) || hasTree(b.Claims), 0)
	p.look(&b)
	p.settleIn(&b, 0)
	p.look(&a)
	for i := range a.Claims {
		if p.after(p.found[i], &a.Claims[i]) > 0 {
			return a.Claims[i : i+1]
		}
	}
	return nil
}

// overlap reports whether two claims have a key in common.
func overlap(a, b Claim) bool {
	x, y := trim(a.Key), trim(b.Key)
	switch {
	case x == y:
		return true
	case len(x) < len(y):
		return a.Tree && y[len(x)] == '/' && y[:len(x)] == x
	case len(x) > len(y):
		return b.Tree && x[len(y)] == '/' && x[:len(y)] == y
	}
	return false
}

// trim drops the slashes at the end of a key.
func trim(key string) string {
	n := len(key)
	for n > 0 && key[n-1] == '/' {
		n--
	}
	return key[:n]
}

// printable quotes a key that would spoil a table, and leaves out the middle of one that would fill it.
func printable(key string) string {
	const head, tail = 80, 40
	if len(key) > head+tail {
		key = strings.ToValidUTF8(key[:head], "") + "…" + strings.ToValidUTF8(key[len(key)-tail:], "")
	}
	if q := strconv.Quote(key); key == "" || len(q) != len(key)+2 || strings.ContainsAny(key, " |") {
		return q
	}
	return key
}
