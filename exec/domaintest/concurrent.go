package domaintest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// concurrent has many goroutines take claims at once, cancel while they wait, give up and nest.
func (s *suite) concurrent(t *testing.T, report rapid.TB) {
	rounds := 60
	if testing.Short() || s.pause > 0 {
		rounds = 15
	}
	err := s.trial(t, guaranteeOrder, func(w *world) error {
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		c := &crowd{d: w.d, ctx: ctx}
		var all sync.WaitGroup
		for g := range 16 {
			r := rand.New(rand.NewPCG(uint64(g), 0))
			all.Go(func() {
				for n := range rounds {
					by := exec.Caller{Lane: fmt.Sprint("goroutine ", g), Call: n}
					c.try(func() { c.visit(by, r) })
					c.visits.Add(1)
				}
			})
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			all.Wait()
		}()
		for before := int64(-1); ; {
			select {
			case <-done:
				if err := c.first(); err != nil {
					return err
				}
				return w.finish() // nothing is left behind
			case <-time.After(s.patience):
			}
			now := c.visits.Load()
			if now == before && ctx.Err() != nil {
				return c.first() // nothing helps
			}
			if now == before {
				c.fail(w.as, "after %d requests nobody goes on", now)
				cancel(errStuck)
			}
			before = now
		}
	})
	if err != nil {
		report.Fatal(err)
	}
}

// errStuck is the cause with which a crowd is sent away that does not go on by itself.
var errStuck = errors.New("stuck")

// A crowd keeps watch over who has which of a few keys.
type crowd struct {
	d      exec.Domain
	ctx    context.Context
	visits atomic.Int64
	keys   [4]watched

	mu  sync.Mutex
	err error // the first
}

// A watched key knows who has it, and the highest tokens so far.
type watched struct {
	mu      sync.Mutex
	readers int
	writer  bool
	read    uint64
	written uint64
}

func (c *crowd) fail(g guarantee, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = fmt.Errorf("%v, with many goroutines: %s", g, fmt.Sprintf(format, args...))
	}
}

func (c *crowd) first() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// try calls f, which may panic in the Domain.
func (c *crowd) try(f func()) {
	if p := panicked(f); p != nil {
		c.fail(guaranteeOrder, "it panics: %v", p)
	}
}

// visit is one request and what comes of it.
func (c *crowd) visit(by exec.Caller, r *rand.Rand) {
	claims, uses := c.claims(r)
	ctx, cancel := context.WithCancelCause(c.ctx)
	defer cancel(nil)
	cause := errors.New("cancelled")
	var returned atomic.Bool
	q := exec.Request{By: by, Claims: claims, Blocked: func(exec.Block) {
		if returned.Load() {
			c.fail(guaranteeBlocked, "%v was told what it waits for after Acquire had returned", by)
		}
	}}
	if r.IntN(3) == 0 {
		yields := r.IntN(20)
		go func() {
			for range yields {
				runtime.Gosched()
			}
			cancel(cause)
		}()
	}
	l, err := c.d.Acquire(ctx, q)
	returned.Store(true)
	if err != nil {
		if err != context.Cause(ctx) {
			c.fail(guaranteeCancel, "%v (%s) gets an error: %v", by, list(claims), err)
		}
		return
	}
	defer l.Release()
	c.enter(by, l.Token(), uses)
	defer c.exit(uses)
	for range r.IntN(4) {
		runtime.Gosched()
	}
	c.nest(by, l, claims, r)
	if r.IntN(4) == 0 {
		l.Abandon()
		runtime.Gosched()
	}
}

// nest takes the same claims within a lease, twice at once.
func (c *crowd) nest(by exec.Caller, l exec.Lease, claims []plan.Claim, r *rand.Rand) {
	if r.IntN(3) > 0 {
		return
	}
	var inside atomic.Int32
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			c.try(func() {
				kid, err := l.Acquire(c.ctx, exec.Request{By: by, Claims: claims})
				if err != nil {
					c.fail(guaranteeNesting, "what is nested in %v (%s) gets an error: %v", by, list(claims), err)
					return
				}
				writes := slices.ContainsFunc(claims, func(c plan.Claim) bool { return c.Access == plan.Write })
				if n := inside.Add(1); n > 1 && writes {
					c.fail(guaranteeNesting, "two have the same claims (%s) at once within the lease of %v", list(claims), by)
				}
				if kid.Token() != l.Token() {
					c.fail(guaranteeFencing, "a lease has token %d, and the one within which it competes %d", kid.Token(), l.Token())
				}
				runtime.Gosched()
				inside.Add(-1)
				kid.Release()
			})
		})
	}
	both.Wait()
}

// claims draws claims of one to three keys, or of the tree over all, and says how these are used.
func (c *crowd) claims(r *rand.Rand) (claims []plan.Claim, uses map[int]plan.Access) {
	uses = map[int]plan.Access{}
	access := plan.Access(r.IntN(2))
	if r.IntN(6) == 0 {
		for k := range c.keys {
			uses[k] = access
		}
		return []plan.Claim{{Key: "dir", Access: access, Tree: true}}, uses
	}
	for range 1 + r.IntN(3) {
		k := r.IntN(len(c.keys))
		if have, ok := uses[k]; !ok || have == plan.Read {
			uses[k] = access
		}
		claims = append(claims, plan.Claim{Key: fmt.Sprint("dir/", k), Access: access})
		access = plan.Access(r.IntN(2))
	}
	return claims, uses
}

// enter notes that somebody has keys, whose tokens must have grown.
func (c *crowd) enter(by exec.Caller, token uint64, uses map[int]plan.Access) {
	for k, access := range uses {
		w := &c.keys[k]
		w.mu.Lock()
		switch {
		case w.writer || access == plan.Write && w.readers > 0:
			c.fail(guaranteeOrder, "%v has key %d (%v) while somebody else has it", by, k, access)
		case token <= w.written || access == plan.Write && token <= w.read:
			c.fail(guaranteeFencing, "%v has key %d (%v) with token %d, after tokens %d (read) and %d (write)", by, k, access, token, w.read, w.written)
		}
		if access == plan.Write {
			w.writer, w.written = true, token
		} else {
			w.readers++
			w.read = max(w.read, token)
		}
		w.mu.Unlock()
	}
}

func (c *crowd) exit(uses map[int]plan.Access) {
	for k, access := range uses {
		w := &c.keys[k]
		w.mu.Lock()
		if access == plan.Write {
			w.writer = false
		} else {
			w.readers--
		}
		w.mu.Unlock()
	}
}
