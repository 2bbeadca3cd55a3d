package exec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// Ten thousand claims of one request, and one of another that meets the last of them.
func TestDomainHugeSets(t *testing.T) {
	const n = 10_000
	var flat, deep plan.Call
	for i := range n {
		flat.Claims = append(flat.Claims, plan.Claim{Key: fmt.Sprint("f/", i), Access: plan.Access(i % 2)})
		deep.Claims = append(deep.Claims, plan.Claim{Key: fmt.Sprintf("d/%d/%d/x", i%100, i), Tree: i%2 == 0})
	}
	slices.Reverse(deep.Claims)
	for name, huge := range map[string]plan.Call{"flat": flat, "deep": deep} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := exec.NewDomain()
				last := plan.Call{Claims: []plan.Claim{{Key: huge.Claims[n-1].Key}}}
				a := asks(t, d, "a", huge)
				b := asks(t, d, "b", last)
				c := asks(t, d, "c", huge)
				assert.True(t, a.has())
				assert.False(t, b.has())
				assert.Equal(t, []string{fmt.Sprintf("call 1 of b waits for call 1 of a (%v)", huge.Claims[n-1])}, b.told)
				inner := asks(t, a.lease, "inner", huge) // all of it is covered
				require.NoError(t, inner.err)
				less := asks(t, a.lease, "less", plan.Call{Claims: append(huge.Claims[:n:n], plan.Claim{Key: "elsewhere"})})
				require.Error(t, less.err)
				assert.Contains(t, less.err.Error(), "claim write elsewhere is not covered by those of call 1 of a")
				assert.Contains(t, less.err.Error(), " and 9997 more")
				assert.Less(t, len(less.err.Error()), 300)
				inner.release()
				a.release()
				assert.True(t, b.has())
				assert.False(t, c.has())
				b.release()
				assert.True(t, c.has())
				c.release()
			})
		})
	}
}

// Keys as long as nobody needs them: a step takes time linear in them, and what is said of them stays short.
func TestDomainHostileKeys(t *testing.T) {
	n := 500_000
	if testing.Short() {
		n /= 10
	}
	var distinct strings.Builder
	for i := range n / 5 {
		fmt.Fprint(&distinct, i, "/")
	}
	for name, key := range map[string]string{
		"slashes":    strings.Repeat("/", 2*n) + "a",
		"components": strings.Repeat("a/", n) + "a",
		"distinct":   distinct.String() + "a",
		"nothing":    strings.Repeat("/", 2*n),
		"one":        strings.Repeat("a", 2*n),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := exec.NewDomain()
				flat := asks(t, d, "flat", writes(key))
				planted := asks(t, d, "planted", tree("b"))
				a := asks(t, d, strings.Repeat("A", n), tree(key+"/", key))
				b := asks(t, d, "b", reads(key+"/c"))
				assert.True(t, flat.has())
				assert.Equal(t, name != "nothing", planted.has())
				flat.release()
				if name == "nothing" {
					require.True(t, planted.has())
					planted.release()
				}
				require.True(t, a.has())
				assert.False(t, b.has())
				require.Len(t, d.Blocked(), 1)
				for _, said := range append(b.told, d.Blocked()[0].String()) {
					assert.Less(t, len(said), 1000)
				}
				covered := asks(t, a.lease, "covered", writes(key+"/c/d"))
				assert.True(t, covered.has())
				not := asks(t, covered.lease, "not", tree(key))
				require.ErrorAs(t, not.err, new(*exec.UncoveredError))
				assert.Less(t, len(not.err.Error()), 1500)
				covered.release()
				a.release()
				assert.True(t, b.has())
				b.release()
				if name != "nothing" {
					planted.release()
				}
				assert.Empty(t, d.Holds())
			})
		})
	}
}
