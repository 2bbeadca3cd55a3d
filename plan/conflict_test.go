package plan_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/plan/plantest"
)

// claim parses "w lib", "r lib/..." as the design writes claims.
func claim(s string) plan.Claim {
	cl := plan.Claim{Key: s[2:]}
	if s[0] == 'r' {
		cl.Access = plan.Read
	}
	if n := len(cl.Key) - len("/..."); n >= 0 && cl.Key[n:] == "/..." {
		cl.Key, cl.Tree = cl.Key[:n], true
	}
	return cl
}

// call makes a safe call of claims as claim parses them; the one claim "x" stands for an exclusive call.
func call(claims ...string) plan.Call {
	if len(claims) == 1 && claims[0] == "x" {
		return plan.Call{}
	}
	c := plan.Call{Safe: true}
	for _, s := range claims {
		c.Claims = append(c.Claims, claim(s))
	}
	return c
}

func TestConflict(t *testing.T) {
	one := func(s string) plan.Call {
		if s == "" {
			return call()
		}
		return call(s)
	}
	tests := []struct {
		a, b string
		want bool
	}{
		{"", "", false},
		{"x", "", true},
		{"x", "x", true},
		{"x", "r a", true},
		{"", "w a", false},
		{"r a", "r a", false},
		{"r a", "w a", true},
		{"w a", "w a", true},
		{"w a", "w b", false},
		{"w a", "w A", false},
		{"w a", "w a/", true},
		{"w a//", "w a/", true},
		{"w a", "w a/b", false},
		{"w a", "w /a", false},
		{"w a/...", "w a/b", true},
		{"r a/...", "w a/b", true},
		{"r a/...", "r a/b", false},
		{"w a/...", "r a", true},
		{"w a/...", "w b/...", false},
		{"w lib/...", "w library", false},
		{"w lib/...", "w library/a", false},
		{"w lib/...", "w li", false},
		{"w lib/...", "w lib.go", false},
		{"w lib//...", "w lib/a", true},
		{"w lib/...", "w lib/a/b/c", true},
		{"w lib/...", "w lib/a/...", true},
		{"w lib/a/...", "w lib/b/...", false},
		{"w lib/a/...", "r lib/...", true},
		{"w lib/a/...", "w lib", false},
		{"w b/...", "w a", false}, // two keys of one length
		{"w ", "", true},          // an empty key is the whole world
		{"r /", "r a", true},
		{"r ///...", "", true},
	}
	for _, tt := range tests {
		t.Run(tt.a+" and "+tt.b, func(t *testing.T) {
			a, b := one(tt.a), one(tt.b)
			assert.Equal(t, tt.want, plan.Conflict(a, b))
			assert.Equal(t, tt.want, plan.Conflict(b, a), "the other way round")
			assert.Equal(t, tt.want, plantest.Conflict(a, b), "naively")
		})
	}
}

func TestConflictOfTheZeroValues(t *testing.T) {
	assert.True(t, plan.Conflict(plan.Call{}, plan.Call{Safe: true}), "the zero Call is exclusive")
	assert.True(t, plan.Call{}.Exclusive())
	var cl plan.Claim
	assert.Equal(t, plan.Write, cl.Access, "a forgotten access is a write")
	strange := plan.Call{Safe: true, Claims: []plan.Claim{{Key: "a", Access: 7}}}
	assert.True(t, plan.Conflict(strange, call("r a")), "an access that nobody knows is taken for a write")
}

func TestConflictAsComputedNaively(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := plantest.Calls().Draw(t, "a"), plantest.Calls().Draw(t, "b")
		if got, want := plan.Conflict(a, b), plantest.Conflict(a, b); got != want {
			t.Fatalf("Conflict %t, naively %t", got, want)
		}
		if got, want := a.Exclusive(), plantest.Exclusive(a); got != want {
			t.Fatalf("Exclusive %t, naively %t", got, want)
		}
	})
}

// TestConflictOfManyClaims has calls whose claims are too many to compare every pair, and asks which pair was the first
// to collide too.
func TestConflictOfManyClaims(t *testing.T) {
	met := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		depth, names := 1+r.IntN(3), 1+r.IntN(1000)
		some := func() plan.Call {
			c := plan.Call{Safe: true}
			for range 70 + r.IntN(60) {
				key := "root"
				for range 1 + r.IntN(depth) {
					key += fmt.Sprintf("/%d", r.IntN(names))
				}
				c.Claims = append(c.Claims, plan.Claim{Key: key, Access: plan.Access(min(1, r.IntN(20))), Tree: r.IntN(20) == 0})
			}
			return c
		}
		a, b := some(), some()
		want := plan.Decision{Call: 1, Rule: plan.RuleFree, By: -1}
		for _, mine := range b.Claims {
			for _, held := range a.Claims {
				if want.By < 0 && (mine.Access != plan.Read || held.Access != plan.Read) && plantest.Overlap(mine, held) {
					want = plan.Decision{Call: 1, Wave: 1, Rule: plan.RuleConflict, Mine: mine, Held: held}
					met++
				}
			}
		}
		assert.Equal(t, want.By == 0, plan.Conflict(a, b))
		assert.Equal(t, want.By == 0, plan.Conflict(b, a))
		assert.Equal(t, want, plan.Ordered([]plan.Call{a, b}).Explain()[1])
	}
	assert.Greater(t, met, 20)
	assert.Less(t, met, 180)
}

func TestClaimString(t *testing.T) {
	for want, cl := range map[string]plan.Claim{
		"write lib":        claim("w lib/"),
		"read lib/...":     claim("r lib/..."),
		`write ""`:         claim("w /"),
		`write "my file"`:  claim("w my file"),
		`read "a\nb"`:      claim("r a\nb"),
		"Access(9) a":      {Key: "a", Access: 9},
		`write "lib/\xff"`: claim("w lib/\xff"),
		`write "a|b"`:      claim("w a|b"),
	} {
		assert.Equal(t, want, cl.String())
	}
}
