package harness

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
)

// A Store keeps the events of one session, in their order. [File] keeps them in a file, [Memory] in memory; a host can
// have its own, over a database say.
//
// The [Session] calls Append for one unit at a time, with seqs above those of all events before, and Sync at most once
// at a time, beside an Append. Events may be called at any time. A Store must not call back into the session: that
// waits for it.
type Store interface {
	// Append takes events as a unit: they stand together, in their order, and the end of the process cannot undo it. When
	// it returns an error it has taken none of them, and none is ever read; a Store that cannot say so must refuse
	// everything from then on, with an error that wraps [ErrBroken]. The seqs of what was refused are used again. Append
	// may keep the data of the events, which is not modified, but not the slice.
	Append(events ...Event) error

	// Sync makes all events whose Append returned before it was called as lasting as they can be made: with a File, a
	// crash of the system or a loss of power does not undo them. After an error nobody knows what has lasted, and the
	// session refuses everything from then on.
	Sync() error

	// Events reads from the first event to the last whose Append returned before it was called, and the same each time
	// that it is ranged over. An error comes with no event and is the last.
	Events() iter.Seq2[Event, error]

	// Close gives up what the Store has. It is called once, after everything else.
	Close() error
}

// ErrSeq is the error that a [Store] wraps when it is to append events that do not come behind those that it has, which
// happens when two sessions write to it.
var ErrSeq = errors.New("events do not follow those that the store has")

// behind checks that events come one behind the other, and all behind last.
func behind(last uint64, events []Event) error {
	for _, e := range events {
		if e.Seq <= last {
			return fmt.Errorf("%w: %d after %d", ErrSeq, e.Seq, last)
		}
		last = e.Seq
	}
	return nil
}

// A Memory is a [Store] in memory. The zero Memory is empty and ready to use. Its Sync and Close do nothing: a session
// that was closed, or given up, can be opened again over the same Memory.
type Memory struct {
	mu     sync.Mutex
	events []Event
}

var _ Store = (*Memory)(nil)

// Append implements [Store].
func (m *Memory) Append(events ...Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := uint64(0)
	if n := len(m.events); n > 0 {
		last = m.events[n-1].Seq
	}
	if err := behind(last, events); err != nil {
		return err
	}
	m.events = append(m.events, events...)
	return nil
}

// Sync implements [Store].
func (m *Memory) Sync() error { return nil }

// Events implements [Store].
func (m *Memory) Events() iter.Seq2[Event, error] {
	m.mu.Lock()
	events := slices.Clip(m.events)
	m.mu.Unlock()
	return func(yield func(Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Close implements [Store].
func (m *Memory) Close() error { return nil }
