package exec

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/plan"
)

// Lines in which many wait, and what makes all of them go on. Each returns those that were granted, in that order.
var drains = []struct {
	name string
	wait func(t *testing.T, d *MemoryDomain, n int) (granted []*lease)
}{
	{"writers", func(t *testing.T, d *MemoryDomain, n int) []*lease { return drain(t, d, n, write("a")) }},
	{"writers of eight keys", func(t *testing.T, d *MemoryDomain, n int) []*lease {
		var claims []plan.Claim
		for i := range 8 {
			claims = append(claims, plan.Claim{Key: fmt.Sprint("a/", i)})
		}
		return drain(t, d, n, claims)
	}},
	{"trees", func(t *testing.T, d *MemoryDomain, n int) []*lease {
		return drain(t, d, n, []plan.Claim{{Key: "a/b", Tree: true}})
	}},
	{"within a lease", func(t *testing.T, d *MemoryDomain, n int) []*lease {
		return drain(t, ask(t, d, Request{Claims: []plan.Claim{{Key: "a", Tree: true}}}), n, write("a/b"))
	}},
	{"readers at once", func(t *testing.T, d *MemoryDomain, n int) []*lease {
		holder := ask(t, d, Request{Claims: write("a")})
		var all []*lease
		for range n {
			all = append(all, ask(t, d, Request{Claims: []plan.Claim{{Key: "a", Access: plan.Read}}, Blocked: func(Block) {}}))
		}
		last := ask(t, d, Request{Claims: write("a")})
		holder.Release()
		for _, l := range all {
			require.True(t, l.granted)
			l.Release()
		}
		return append(all, last)
	}},
	{"cancelled from the front", func(t *testing.T, d *MemoryDomain, n int) []*lease { return cancelled(t, d, n, false) }},
	{"cancelled from the back", func(t *testing.T, d *MemoryDomain, n int) []*lease { return cancelled(t, d, n, true) }},
	{"barred", func(t *testing.T, d *MemoryDomain, n int) []*lease {
		zombie := ask(t, d, Request{Exclusive: true})
		zombie.Abandon()
		var all []*lease
		for i := range n {
			all = append(all, ask(t, d, Request{Claims: write(strconv.Itoa(i)), Blocked: func(Block) {}}))
		}
		zombie.Release()
		return all
	}},
	{"refused", func(t *testing.T, d *MemoryDomain, n int) []*lease {
		outer := ask(t, d, Request{Claims: write("a")})
		inner := ask(t, outer, Request{Claims: write("a")})
		var all []*lease
		for range n {
			all = append(all, ask(t, outer, Request{Claims: write("a"), Blocked: func(Block) {}}))
		}
		outer.Release()
		for _, l := range all {
			require.ErrorIs(t, l.pending.err, ErrLeaseEnded)
		}
		return []*lease{inner}
	}},
}

// drain has n wait for the same, and be granted one after the other.
func drain(t *testing.T, d ticketed, n int, claims []plan.Claim) (all []*lease) {
	for range n {
		all = append(all, ask(t, d, Request{Claims: claims, Blocked: func(Block) {}}))
	}
	for i, l := range all {
		require.True(t, l.granted)
		require.False(t, i+1 < n && all[i+1].granted)
		if i+1 < n {
			l.Release()
		}
	}
	return all
}

// cancelled has n wait that are cancelled, and one more.
func cancelled(t *testing.T, d ticketed, n int, back bool) []*lease {
	holder := ask(t, d, Request{Claims: write("a")})
	var all []*lease
	for range n {
		all = append(all, ask(t, d, Request{Claims: write("a"), Blocked: func(Block) {}}))
	}
	last := ask(t, d, Request{Claims: write("a"), Blocked: func(Block) {}})
	if back {
		slices.Reverse(all)
	}
	for _, l := range all {
		require.ErrorIs(t, l.withdraw(context.Canceled), context.Canceled)
	}
	require.False(t, last.granted)
	holder.Release()
	return []*lease{last}
}

// waiters is how many there are in each line, if something else than the usual.
const waiters = "KEYWAVE_WAITERS"

// Whoever waits is granted, when it is his turn.
func TestDomainDrain(t *testing.T) {
	n, err := strconv.Atoi(cmp.Or(os.Getenv(waiters), "100"))
	require.NoError(t, err)
	for _, line := range drains {
		t.Run(line.name, func(t *testing.T) {
			d := NewDomain()
			for _, l := range line.wait(t, d, n) {
				require.True(t, l.granted)
				l.Release()
			}
			for _, h := range d.all() {
				h.Release() // what they are nested in
			}
			vacated(t, d)
		})
	}
}

// Ten times as many take ten times as many steps. They are counted by the coverage of the same test, in a process of
// its own, because a clock would say something else each time.
func TestDomainDrainIsLinear(t *testing.T) {
	few, many := steps(t, 1000), steps(t, 10_000)
	t.Logf("%d steps for 1,000 in each line, %d for 10,000", few, many)
	assert.Greater(t, few, 1000*len(drains))
	assert.Less(t, many, 11*few)
}

// steps counts the statements of the Domain that TestDomainDrain runs with n in each line.
func steps(t *testing.T, n int) (steps int) {
	profile := filepath.Join(t.TempDir(), "profile")
	cmd := osexec.Command("go", "test", "-short", "-count=1", "-run=^TestDomainDrain$", "-covermode=count", "-coverprofile="+profile, ".")
	cmd.Env = append(os.Environ(), fmt.Sprint(waiters, "=", n))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	f, err := os.Open(profile)
	require.NoError(t, err)
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		// path/to/scope.go:12.3,14.5 statements times
		fields := strings.Fields(in.Text())
		if len(fields) != 3 || !ofDomain.MatchString(fields[0]) {
			continue
		}
		statements, err := strconv.Atoi(fields[1])
		require.NoError(t, err)
		times, err := strconv.Atoi(fields[2])
		require.NoError(t, err)
		steps += statements * times
	}
	return steps
}

// BenchmarkDomainLine has n get in line for one key and be served, one after the other, without the goroutines that
// would wait: what is left is the Domain's own time.
func BenchmarkDomainLine(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			all := make([]*lease, n)
			for b.Loop() {
				d := NewDomain()
				for i := range all {
					all[i] = ask(b, d, Request{Claims: write("key")})
				}
				for _, l := range all {
					l.Release()
				}
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N*n), "ns/waiter")
		})
	}
}

// ofDomain are the files of the Domain in memory.
var ofDomain = regexp.MustCompile(`/(memory|lease|scope)\.go:`)
