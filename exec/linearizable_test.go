package exec_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// An access is what somebody did with one register while he had a claim on its key: he read it, or put a value of his
// own in the place of another one. From is the moment before he asked for the claim, to the one after he gave it back.
type access struct {
	client   int
	key      int
	write    bool
	was, now int    // what he found, and what he left
	token    uint64 // of his lease
	from, to int64  // nanoseconds
}

// A client takes leases of a Domain and uses registers that nothing but these keeps apart. The clock must order nothing
// by itself, or the race detector would see less: so it is no counter.
type client struct {
	id       int
	d        exec.Domain
	begin    time.Time
	load     func(key int) int
	store    func(key, value int)
	between  func() // is called between the two
	accesses []access
	writes   int
}

// use takes claims on some keys, or on the tree over all of them, and reads or replaces what is there.
func (c *client) use(ctx context.Context, claims []plan.Claim, keys map[int]plan.Access) error {
	from := time.Since(c.begin)
	l, err := c.d.Acquire(ctx, exec.Request{By: exec.Caller{Lane: fmt.Sprint(c.id)}, Claims: claims})
	if err != nil {
		return err
	}
	first := len(c.accesses)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		a := access{client: c.id, key: k, write: keys[k] == plan.Write, was: c.load(k), token: l.Token(), from: int64(from)}
		a.now = a.was
		c.between()
		if a.write {
			c.writes++
			a.now = c.id + c.writes<<10
			c.store(k, a.now)
		}
		c.accesses = append(c.accesses, a)
	}
	l.Release()
	to := int64(time.Since(c.begin))
	for i := range c.accesses[first:] {
		c.accesses[first+i].to = to
	}
	return nil
}

const registers = 8

// anyClaims draws claims on one to three keys, or a tree over all of them, of which then some are used.
func anyClaims(r *rand.Rand) (claims []plan.Claim, keys map[int]plan.Access) {
	keys = map[int]plan.Access{}
	n := 1 + r.IntN(3)
	tree := r.IntN(16) == 0
	access := plan.Access(r.IntN(2))
	for len(keys) < n {
		k := r.IntN(registers)
		if _, ok := keys[k]; ok {
			continue
		}
		keys[k] = access
		claims = append(claims, plan.Claim{Key: fmt.Sprint("all/", k), Access: access})
		if !tree {
			access = plan.Access(r.IntN(2))
		}
	}
	if tree {
		claims = []plan.Claim{{Key: "all", Access: access, Tree: true}}
	}
	return claims, keys
}

// linearizable has porcupine look for an order of the accesses, key by key, in which everybody finds what the one
// before him left, and which does not turn round any two of which one was over before the other began.
func linearizable(history []access) error {
	ops := make([]porcupine.Operation, len(history))
	for i, a := range history {
		ops[i] = porcupine.Operation{ClientId: a.client, Input: a, Call: a.from, Output: a.was, Return: a.to}
	}
	register := porcupine.Model{
		Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
			parts := make([][]porcupine.Operation, registers)
			for _, op := range all {
				k := op.Input.(access).key
				parts[k] = append(parts[k], op)
			}
			return parts
		},
		Init: func() any { return 0 },
		Step: func(state, input, output any) (bool, any) { return state == output, input.(access).now },
	}
	if got := porcupine.CheckOperationsTimeout(register, ops, time.Minute); got != porcupine.Ok {
		return fmt.Errorf("the history of %d accesses is not that of registers: %v", len(ops), got)
	}
	return nil
}

// inTicketOrder checks that everybody finds what was left with the highest token below his own.
func inTicketOrder(history []access) error {
	history = slices.SortedStableFunc(slices.Values(history), func(a, b access) int { return int(a.token) - int(b.token) })
	var left [registers]int
	for _, a := range history {
		if a.was != left[a.key] {
			return fmt.Errorf("key %d: with token %d client %d finds %d, but with the tokens before it %d was left", a.key, a.token, a.client, a.was, left[a.key])
		}
		left[a.key] = a.now
	}
	return nil
}

// What leases keep apart is as if one came after the other, in the order of the tickets.
func TestE13Linearizable(t *testing.T) {
	rounds := 500
	if testing.Short() {
		rounds = 40
	}
	// Nothing is atomic here: the race detector sees any two that overlap, and any whose order a lock does not make.
	var regs [registers]int
	begin := time.Now()
	d := exec.NewDomain()
	clients := make([]*client, 64)
	var all sync.WaitGroup
	for id := range clients {
		c := &client{
			id: id, d: d, begin: begin, between: runtime.Gosched,
			load: func(k int) int { return regs[k] }, store: func(k, v int) { regs[k] = v },
		}
		clients[id] = c
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(id), 13))
			for range rounds {
				claims, keys := anyClaims(r)
				assert.NoError(t, c.use(context.Background(), claims, keys))
			}
		})
	}
	all.Wait()
	var history []access
	for _, c := range clients {
		history = append(history, c.accesses...)
	}
	require.Greater(t, len(history), len(clients)*rounds)
	require.NoError(t, linearizable(history))
	require.NoError(t, inTicketOrder(history))
	assert.Empty(t, d.Holds())
	assert.Empty(t, d.Blocked())
}

// anarchy lets everybody in.
type anarchy struct{ exec.MemoryDomain }

func (d *anarchy) Acquire(ctx context.Context, r exec.Request) (exec.Lease, error) {
	r.Claims = nil
	return d.MemoryDomain.Acquire(ctx, r)
}

// The checks above can fail: two that are let in together replace the same value, and one whose token is too low finds
// what was left later.
func TestLinearizableFails(t *testing.T) {
	var regs [registers]atomic.Int64
	var history []access
	together := make(chan struct{})
	both := func() { // comes back when two have called it
		select {
		case together <- struct{}{}:
		case <-together:
		}
	}
	keys := map[int]plan.Access{3: plan.Write}
	clients := make([]*client, 2)
	var all sync.WaitGroup
	d, begin := new(anarchy), time.Now()
	for id := range clients {
		clients[id] = &client{
			id: id, d: d, begin: begin, between: both,
			load: func(k int) int { return int(regs[k].Load()) }, store: func(k, v int) { regs[k].Store(int64(v)) },
		}
		all.Go(func() { assert.NoError(t, clients[id].use(context.Background(), writes("all/3").Claims, keys)) })
	}
	all.Wait()
	history = append(clients[0].accesses, clients[1].accesses...)
	require.Len(t, history, 2)
	assert.ErrorContains(t, linearizable(history), "the history of 2 accesses is not that of registers: Illegal")
	assert.Error(t, inTicketOrder(history))

	// One after the other they are right, but for the tokens.
	history = []access{
		{key: 3, write: true, was: 0, now: 1, token: 2, from: 1, to: 2},
		{key: 3, was: 1, now: 1, token: 3, from: 3, to: 4},
		{key: 4, write: true, was: 0, now: 7, token: 1, from: 5, to: 6},
	}
	require.NoError(t, linearizable(history))
	require.NoError(t, inTicketOrder(history))
	history[1].token = 1
	require.NoError(t, linearizable(history))
	assert.EqualError(t, inTicketOrder(history), "key 3: with token 1 client 0 finds 1, but with the tokens before it 0 was left")

	// A read of what has been replaced before the read began.
	history[1] = access{key: 3, was: 0, now: 0, token: 3, from: 3, to: 4}
	assert.Error(t, linearizable(history))
	history[1].from = 1 // now it may have been before
	assert.NoError(t, linearizable(history))
}
