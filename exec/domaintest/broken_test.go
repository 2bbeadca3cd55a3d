package domaintest

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/exec"
)

// runOut makes a lease of a naive Domain run out.
func runOut(l exec.Lease) { l.(*naiveLease).expire() }

// TestRunCatchesBreakages breaks a Domain in one way for each thing that Run looks at. The tests of the guarantee that
// is broken must fail, with its name, and so must the random ones, but where what is broken is not for them to see.
func TestRunCatchesBreakages(t *testing.T) {
	tests := []struct {
		of     guarantee
		breaks string
		alone  bool // the random steps do not see it
	}{
		{guaranteeWholeSets, "who waits for a Release waits on", false},
		{guaranteeWholeSets, "neither a lease nor an error", false},
		{guaranteeOrder, "readers overtake", false},
		{guaranteeOrder, "who comes first does not matter", false},
		{guaranteeOrder, "the last comes first", false},
		{guaranteeOrder, "a writer waits for later readers", false},
		{guaranteeOrder, "no claims wait for a write of everything", false},
		{guaranteeOrder, "slashes at the end count", false},
		{guaranteeOrder, "an empty key is a key like others", false},
		{guaranteeOrder, "an empty key is a read if it says so", false},
		{guaranteeOrder, "trees are prefixes of strings", false},
		{guaranteeOrder, "trees cover themselves only", false},
		{guaranteeOrder, "readers do not share", false},
		{guaranteeOrder, "the slice of claims is kept", false},
		{guaranteeFencing, "all tokens are the same", false},
		{guaranteeFencing, "tokens begin at 0", false},
		{guaranteeFencing, "tokens fall", false},
		{guaranteeFencing, "what is nested has tokens of its own", false},
		{guaranteeExpiry, "a lease ends with its Release", false},
		{guaranteeRepetition, "a second Release ends it", false},
		{guaranteeExpiry, "Lost is closed after others are granted", true},
		{guaranteeExpiry, "there is no Lost", true},
		{guaranteeExpiry, "only the outermost is lost", true},
		{guaranteeExpiry, "who waits for a lost lease waits on", true},
		{guaranteeExpiry, "who waits within a lost lease is not refused", true},
		{guaranteeExpiry, "a lost lease can be used", true},
		{guaranteeExpiry, "everything is lost", false},
		{guaranteeNesting, "what is nested competes in the Domain", false},
		{guaranteeNesting, "what is nested competes within its parent, claims or not", false},
		{guaranteeNesting, "no cover is asked for", false},
		{guaranteeNesting, "only the parent must cover", false},
		{guaranteeNesting, "a read covers a write", false},
		{guaranteeNesting, "a plain key covers the tree", false},
		{guaranteeNesting, "claims cover together", true},
		{guaranteeNesting, "the last claim is named", false},
		{guaranteeNesting, "the outermost holder is named", false},
		{guaranteeNesting, "nothing is said to be held", false},
		{guaranteeNesting, "a refusal is any error", false},
		{guaranteeAbandonment, "Abandon releases", false},
		{guaranteeAbandonment, "an abandoned lease bars nothing", false},
		{guaranteeAbandonment, "an abandoned lease bars everything", false},
		{guaranteeAbandonment, "an abandoned lease bars who came before", false},
		{guaranteeAbandonment, "an abandoned lease that is released bars no more", false},
		{guaranteeAbandonment, "any lease without claims bars when it is abandoned", false},
		{guaranteeAbandonment, "any exclusive lease bars when it is abandoned", false},
		{guaranteeRepetition, "a second Abandon bars again", false},
		{guaranteeRepetition, "an Abandon after Release counts", false},
		{guaranteeAbandonment, "an abandoned lease can be used", false},
		{guaranteeAbandonment, "what is within an abandoned lease can be used", true},
		{guaranteeAbandonment, "a released lease can be used", false},
		{guaranteeAbandonment, "who waits within is not refused", false},
		{guaranteeCancel, "a context that is done is not looked at beforehand", false},
		{guaranteeCancel, "somebody who was cancelled stays in line", false},
		{guaranteeCancel, "after a cancel nobody goes on", false},
		{guaranteeCancel, "the error of a cancel is that of the context", false},
		{guaranteeCancel, "a cancel that comes later ends the lease", false},
		{guaranteeCancel, "a cancel is ignored", false},
		{guaranteeBlocked, "told after it was granted", false},
		{guaranteeBlocked, "told after the last word", true},
		{guaranteeBlocked, "told of himself", false},
		{guaranteeBlocked, "told what somebody else waits for", false},
		{guaranteeBlocked, "told of what he does not want", false},
	}
	for _, tt := range tests {
		t.Run(string(tt.of)+" "+tt.breaks, func(t *testing.T) {
			s := &suite{patience: patience, open: openNaive(tt.breaks), expire: runOut}
			fails(t, s, tt.of, !tt.alone)
		})
	}
}

// fails demands that a suite fails.
func fails(t *testing.T, s *suite, as guarantee, random bool) {
	failed := false
	for _, c := range s.checks() {
		if c.of == as && failed || c.of != as && !(random && c.name == "random steps") {
			continue
		}
		said := record(t, func(report rapid.TB) { c.run(t, report) })
		if c.of == as {
			failed = strings.HasPrefix(said, string(as)+": ")
		} else {
			assert.NotEmpty(t, said, c.name)
		}
		if said != "" && testing.Verbose() {
			t.Logf("%s/%s:\n%s", c.of, c.name, said)
		}
	}
	assert.True(t, failed, "no test of %v failed as one", as)
}

// A piecemeal Domain takes one claim after the other.
type piecemeal struct{ *exec.MemoryDomain }

// A heap is what a piecemeal Domain grants.
type heap struct {
	exec.Lease // the last
	others     []exec.Lease
}

func (p piecemeal) Acquire(ctx context.Context, r exec.Request) (exec.Lease, error) {
	h := new(heap)
	for i := range max(1, len(r.Claims)) {
		one := r
		one.Claims = r.Claims[min(i, len(r.Claims)):min(i+1, len(r.Claims))]
		l, err := p.MemoryDomain.Acquire(ctx, one)
		if err != nil {
			for _, l := range h.others {
				l.Release()
			}
			return nil, err
		}
		h.Lease = l
		h.others = append(h.others, l)
	}
	return h, nil
}

func (h *heap) Release() {
	for _, l := range h.others {
		l.Release()
	}
}

// A plain Domain cannot be told from another one.
type plain struct {
	*exec.MemoryDomain
	_ []int
}

// A leaky Domain lets two in at once, but only when many come at once.
type leaky struct {
	*exec.MemoryDomain
	mu   sync.Mutex
	busy int
}

func (l *leaky) Acquire(ctx context.Context, r exec.Request) (exec.Lease, error) {
	l.mu.Lock()
	l.busy++
	many := l.busy > 4
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.busy--
		l.mu.Unlock()
	}()
	if many && len(r.Claims) > 1 {
		r.Claims = r.Claims[:len(r.Claims)-1]
	}
	return l.MemoryDomain.Acquire(ctx, r)
}

// A panicky Domain panics whenever it is used in another way than the simplest.
type panicky struct{ *exec.MemoryDomain }

type panickyLease struct{ exec.Lease }

func (p panicky) Acquire(ctx context.Context, r exec.Request) (exec.Lease, error) {
	l, err := p.MemoryDomain.Acquire(ctx, r)
	if err != nil {
		panic("of an error: " + err.Error())
	}
	return panickyLease{l}, nil
}

func (l panickyLease) Acquire(context.Context, exec.Request) (exec.Lease, error) { panic("nested") }
func (l panickyLease) Abandon()                                                  { panic("abandoned") }

// A sticky Domain does not hear of a Release.
type sticky struct{ *exec.MemoryDomain }

type stickyLease struct{ exec.Lease }

func (s sticky) Acquire(ctx context.Context, r exec.Request) (exec.Lease, error) {
	l, err := s.MemoryDomain.Acquire(ctx, r)
	if err != nil {
		return nil, err
	}
	return stickyLease{l}, nil
}

func (stickyLease) Release() {}

// litter is a goroutine that never ends. TestMain knows of it.
func litter() { select {} }

func TestRunCatchesWrappers(t *testing.T) {
	t.Run("one claim after the other", func(t *testing.T) {
		s := &suite{patience: patience, open: func(testing.TB) exec.Domain { return piecemeal{exec.NewDomain()} }}
		fails(t, s, guaranteeWholeSets, true)
	})
	t.Run("not comparable", func(t *testing.T) {
		fails(t, &suite{patience: patience, open: func(testing.TB) exec.Domain { return plain{MemoryDomain: exec.NewDomain()} }}, guaranteeInterface, false)
	})
	t.Run("panics", func(t *testing.T) {
		open := func(testing.TB) exec.Domain { return panicky{exec.NewDomain()} }
		for _, of := range []guarantee{guaranteeCancel, guaranteeAbandonment, guaranteeNesting} {
			fails(t, &suite{patience: patience, open: open}, of, true)
		}
		s := &suite{patience: patience, open: open}
		said := record(t, func(report rapid.TB) { s.concurrent(t, report) })
		assert.Contains(t, said, "it panics: ")
	})
	t.Run("a goroutine is left behind", func(t *testing.T) {
		fails(t, &suite{patience: patience, open: func(testing.TB) exec.Domain {
			go litter()
			return exec.NewDomain()
		}}, guaranteeCancel, false)
	})
	t.Run("none", func(t *testing.T) {
		fails(t, &suite{patience: patience, open: func(testing.TB) exec.Domain { return nil }}, guaranteeInterface, false)
	})
	t.Run("stuck", func(t *testing.T) {
		s := &suite{patience: patience, open: func(testing.TB) exec.Domain { return sticky{exec.NewDomain()} }}
		said := record(t, func(report rapid.TB) { s.concurrent(t, report) })
		assert.Contains(t, said, "nobody goes on")
	})
	t.Run("only with many", func(t *testing.T) {
		s := &suite{patience: patience, open: func(testing.TB) exec.Domain { return &leaky{MemoryDomain: exec.NewDomain()} }}
		said := record(t, func(report rapid.TB) { s.concurrent(t, report) })
		assert.Contains(t, said, ", with many goroutines: ")
	})
}

// TestRunLiveCatchesBreakages breaks what can be seen from outside of a bubble, even of a Domain that is silent.
func TestRunLiveCatchesBreakages(t *testing.T) {
	for of, breaks := range map[guarantee]string{
		guaranteeWholeSets:   "who waits for a Release waits on",
		guaranteeOrder:       "trees cover themselves only",
		guaranteeFencing:     "tokens fall",
		guaranteeExpiry:      "a lease ends with its Release",
		guaranteeNesting:     "claims cover together",
		guaranteeAbandonment: "an abandoned lease bars nothing",
		guaranteeCancel:      "the error of a cancel is that of the context",
	} {
		t.Run(string(of)+" "+breaks, func(t *testing.T) {
			t.Parallel()
			open := func(t testing.TB) exec.Domain { return &far{Domain: openNaive(breaks)(t)} }
			fails(t, &suite{open: open, pause: time.Millisecond, patience: time.Second / 4}, of, false)
		})
	}
	t.Run("Order readers overtake", func(t *testing.T) {
		t.Parallel()
		fails(t, &suite{open: openNaive("readers overtake"), pause: time.Millisecond, patience: time.Second / 4}, guaranteeOrder, false)
	})
}

// A far Domain takes its time over everything, and does not say who is in the way.
type far struct{ exec.Domain }

type farLease struct {
	far
	exec.Lease
}

func (f far) Acquire(ctx context.Context, r exec.Request) (exec.Lease, error) {
	travel()
	r.Blocked = nil
	l, err := f.Domain.Acquire(ctx, r)
	travel()
	if err != nil {
		return nil, err
	}
	return &farLease{far{l}, l}, nil
}

func (l *farLease) Acquire(ctx context.Context, r exec.Request) (exec.Lease, error) {
	return l.far.Acquire(ctx, r)
}

func (l *farLease) Release() {
	travel()
	l.Lease.Release()
}

// travel takes longer than the pause, or shorter.
func travel() { <-time.After(rand.N(2 * time.Millisecond)) }

// TestNothingBroken is the same without any breakage. In a bubble nothing is left to chance; outside of one the Domain
// is slower than the pause, and that must not matter.
func TestNothingBroken(t *testing.T) {
	t.Run("bubbles", func(t *testing.T) { Run(t, openNaive(""), Expiring(runOut)) })
	t.Run("live", func(t *testing.T) {
		t.Parallel()
		Run(t, openNaive(""), Expiring(runOut), Live(time.Millisecond))
	})
	t.Run("far away", func(t *testing.T) {
		t.Parallel()
		open := func(t testing.TB) exec.Domain { return &far{openNaive("")(t)} }
		Run(t, open, Live(time.Millisecond), Expiring(func(l exec.Lease) { runOut(l.(*farLease).Lease) }))
	})
}

// TestStepDescribes holds the texts of sequences to what reports show of them.
func TestStepDescribes(t *testing.T) {
	for want, s := range map[string]step{
		"request 3: no claims": acquire(),
		"request 3: write a, read lib/... as \"lib/\", exclusive": acquire(write("a"), readTree("lib/")).alone(),
		"request 3: write \"\", within request 2":                 acquire(write("//")).within(2),
		"request 3: read a, with a context that is done":          acquire(read("a")).tooLate(),
		"request 2 is released":                                   release(2),
		"request 2 is abandoned":                                  abandon(2),
		"the context of request 2 is cancelled":                   cancel(2),
		"the lease of request 2 runs out":                         expire(2),
	} {
		assert.Equal(t, want, s.describe(3))
	}
}
