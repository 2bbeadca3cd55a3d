package harness

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A Durability says when an event that was appended is safe, and from what. With each of them it is handed to the store
// whole, in its place, before Append returns, so that the end of the process does not undo it, and so that everybody
// who reads the log sees it. They differ in what a crash of the system, or a loss of power, can undo: nothing of what a
// sync has covered, and a sync covers the whole log up to where it was when it began.
type Durability uint8

const (
	// SyncAlways: Append returns when a sync of the store that began after the event was handed over has ended. Appends
	// that wait at the same time wait for the same sync.
	SyncAlways Durability = iota
	// SyncBatch: Append does not wait. A sync begins within [SyncDelay], or as soon as the one that is going on then has
	// ended, and covers all that has been appended by then. If it fails, the next Append says so, and all after it.
	SyncBatch
	// SyncNone: Append does not wait, and nobody syncs for the event, until another one is to be synced.
	SyncNone
)

// SyncDelay is how long an event that was appended with [SyncBatch] waits at most for its sync to begin, unless an
// earlier sync is still going on.
const SyncDelay = 10 * time.Millisecond

// A syncer decides when a store is synced: at most once at a time, for all that waits.
type syncer struct {
	store Store

	mu      sync.Mutex    // short
	written uint64        // the last seq that the store has
	owed    uint64        // the last that is to be synced
	synced  uint64        // the last that lasts
	round   chan struct{} // closed at the end of the sync that is going on; nil: none is
	timer   *time.Timer
	armed   bool // the timer will go off
	next    bool // it has, and the next sync is for all that is owed when it begins
	closed  bool
	err     error
}

// wrote says that the store has everything up to seq, and sees to it that a batch is synced. It is called in the order
// of the seqs.
func (y *syncer) wrote(seq uint64, d Durability) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.written = seq
	if d != SyncNone {
		y.owed = seq
	}
	if d == SyncBatch && !y.armed {
		y.armed = true
		if y.timer == nil {
			y.timer = time.AfterFunc(SyncDelay, y.due)
		} else {
			y.timer.Reset(SyncDelay)
		}
	}
}

// due is what the timer calls.
func (y *syncer) due() {
	y.mu.Lock()
	y.armed = false
	if y.next { // however long the sync that is going on takes, one waits behind it
		y.mu.Unlock()
		return
	}
	y.next = true
	for y.round != nil {
		y.advance()
	}
	y.next = false
	seq := y.owed
	y.mu.Unlock()
	_ = y.wait(seq) // the next Append says it
}

// failed returns why the store takes nothing any more.
func (y *syncer) failed() error {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.err
}

// fail says that the store takes nothing any more.
func (y *syncer) fail(err error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.err = cmp.Or(y.err, err)
}

// wait returns when everything up to seq, which has been written, lasts, or never will.
func (y *syncer) wait(seq uint64) error {
	y.mu.Lock()
	defer y.mu.Unlock()
	for {
		switch {
		case y.synced >= seq:
			return nil
		case y.err != nil:
			return y.err
		case y.closed:
			return ErrClosed
		}
		y.advance()
	}
}

// close ends the timer, and returns when everything lasts that was to. No sync begins after it.
func (y *syncer) close() error {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.timer != nil {
		y.timer.Stop()
	}
	for y.round != nil || y.synced < y.owed && y.err == nil {
		y.advance()
	}
	y.closed = true
	return y.err
}

// advance waits for the sync that is going on, or makes one, of all that has been written. So what comes while one is
// going on shares the next. It is called with mu held, and returns with it.
func (y *syncer) advance() {
	if round := y.round; round != nil {
		y.mu.Unlock()
		<-round
		y.mu.Lock()
		return
	}
	upTo := y.written
	y.round = make(chan struct{})
	y.mu.Unlock()
	err := errors.New("its sync did not return")
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("its sync panicked: %v", v)
		}
		y.mu.Lock()
		if err == nil {
			y.synced = upTo
		} else {
			y.err = cmp.Or(y.err, fmt.Errorf("%w: %w", ErrBroken, err))
		}
		close(y.round)
		y.round = nil
	}()
	err = y.store.Sync()
}
