package harness

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/keywave-go/keywave/tool"
)

// A Session is an append-only log of events, and what follows from it. It gives each event its seq and its time. Seqs
// count on from the highest in the log, one by one; times never go back, even if the clock does.
//
// [Open] opens one over a file, [New] over any [Store]. Its methods are safe for concurrent use. Events of units that
// are appended at the same time do not mix.
type Session struct {
	// Torn is the torn end that [Open] has found in the file, and cut off. Nil: it had none.
	Torn *TornError

	store Store
	sync  syncer
	now   func() time.Time

	lock   chan struct{} // held for an append; a channel, because a store may take its time
	fold   fold
	said   *conversation // nil: nobody has asked
	closed bool
}

// ErrOrder is the error that [Session.Append] wraps when an event must not follow those that are there: it would leave
// a log that says what cannot be, such as a result without a call, two results of one call, or results out of the
// model's order.
var ErrOrder = errors.New("event is out of order")

func outOf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrOrder, fmt.Sprintf(format, args...))
}

// ErrClosed is what a [Session] returns after its Close.
var ErrClosed = errors.New("session is closed")

// ErrBroken is the error that everything wraps after the first sync of a [Session] that failed, a store that panicked,
// or an append that failed and could not be taken back. What has been appended may not last, and nobody can find out:
// what a later sync says would be about something else. Close the session, and open its log again: what is there then
// is what there is.
var ErrBroken = errors.New("nobody knows what the session log has kept: close the session, and open its log again")

// Open opens the session whose log is at path, or begins one there. See [OpenFile] for the lock and for torn ends, and
// [New] for the rest.
func Open(path string) (*Session, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	s, err := New(f)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, errors.Join(err, f.Close()))
	}
	s.Torn = f.Torn
	return s, nil
}

// New opens a session over a store that nobody else uses. It reads all that is there, in memory for what is open, and
// begins a log where there is nothing. To one that has begun it appends nothing: [Session.Resume] closes what an
// earlier process has left open. On an error the store is left open.
func New(store Store) (*Session, error) { return open(store, time.Now) }

func open(store Store, now func() time.Time) (*Session, error) {
	s := &Session{store: store, now: now, lock: make(chan struct{}, 1)}
	s.sync.store = store
	for e, err := range store.Events() {
		if err == nil && s.fold.events == 0 {
			err = checkStart(e)
		}
		if err == nil {
			err = s.fold.take(e)
		}
		if err != nil {
			return nil, err
		}
	}
	if _, err := s.fold.state(); err != nil {
		return nil, err
	}
	s.sync.written, s.sync.synced = s.fold.seq, s.fold.seq
	if s.fold.events > 0 {
		return s, nil
	}
	if _, err := s.Append(SyncAlways, SessionStart{Format: Format, Version: Version}); err != nil {
		return nil, err
	}
	return s, nil
}

// Append appends events, as one unit: they stand together in the log, in their order. It returns the seq of the first;
// the others follow one by one. Of no payloads it does nothing, and returns 0.
//
// An event of a call cites the tool/call of that call, which may stand before it in the same unit: one that leaves its
// sourceEventSeqs empty is made to, and what else it cites comes behind.
//
// After an error nothing of the unit is in the log, and the seqs are given to the next: [ErrPayload], [ErrOrder] and
// [ErrClosed] say what is wrong with it, and an error of the store, such as a full disk, that it could not take it; the
// next Append may succeed. Only after an error that wraps [ErrBroken], such as that of a sync that failed, events of the
// unit may be there, and nothing is appended any more. If the process ends in an Append, a beginning of the unit may be
// there.
//
// What an append costs does not depend on how many events there are.
func (s *Session) Append(d Durability, payloads ...Payload) (first uint64, err error) {
	return s.appendUnless(d, nil, payloads...)
}

// appendUnless is Append, unless the log is one at which unless returns an error, which is its own then.
func (s *Session) appendUnless(d Durability, unless func(*fold) error, payloads ...Payload) (first uint64, err error) {
	events := make([]Event, len(payloads))
	for i, p := range payloads {
		if events[i], err = event(p); err != nil {
			return 0, err
		}
	}
	return s.append(d, events, unless)
}

// append appends events, unless the log is one at which unless, if it is not nil, returns an error, which is its own then.
func (s *Session) append(d Durability, events []Event, unless func(*fold) error) (first uint64, err error) {
	if len(events) == 0 {
		return 0, nil
	}
	if d > SyncNone {
		return 0, fmt.Errorf("%w: there is no durability %d", ErrPayload, d)
	}
	if first, err = s.write(d, events, unless); err != nil || d != SyncAlways {
		return first, err
	}
	if err := s.sync.wait(events[len(events)-1].Seq); err != nil {
		return 0, err
	}
	return first, nil
}

// write hands events to the store.
func (s *Session) write(d Durability, events []Event, unless func(*fold) error) (first uint64, err error) {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	if s.closed {
		return 0, ErrClosed
	}
	if err := s.sync.failed(); err != nil {
		return 0, err
	}
	if unless != nil {
		if err := unless(&s.fold); err != nil {
			return 0, err
		}
	}
	now := s.now().UTC().Round(0)
	if now.Before(s.fold.time) {
		now = s.fold.time
	}
	first = s.fold.seq + 1
	if first+uint64(len(events)) > maxSeq {
		return 0, fmt.Errorf("%w: there are no seqs left after %d", ErrPayload, s.fold.seq)
	}
	taken := false
	s.fold.begin()
	defer func() {
		if !taken {
			s.fold.undo()
		}
	}()
	for i := range events {
		e := &events[i]
		e.Seq, e.Time = first+uint64(i), now
		err := s.fold.cite(e)
		if err == nil {
			err = s.fold.add(*e, true)
		}
		if err != nil {
			return 0, fmt.Errorf("%s: %w", e.Type, err)
		}
	}
	if err := s.hand(events); err != nil {
		return 0, err
	}
	taken = true
	s.sync.wrote(events[len(events)-1].Seq, d) // under the lock: a Close behind it knows what is to be synced
	if s.said != nil {
		for _, e := range events {
			if s.said.add(e) != nil {
				s.said = nil // whoever asks is told, by reading all of it again
				break
			}
		}
	}
	return first, nil
}

// hand hands events to the store. If that panics, nobody knows what it has taken.
func (s *Session) hand(events []Event) (err error) {
	returned := false
	defer func() {
		if !returned {
			err = fmt.Errorf("%w: its append panicked: %v", ErrBroken, recover())
			s.sync.fail(err)
		}
	}()
	err = s.store.Append(events...)
	returned = true
	if errors.Is(err, ErrBroken) {
		s.sync.fail(err)
	}
	return err
}

// cite makes an event of a call cite its tool/call, if it cites nothing. That it cites something else first is an error.
func (f *fold) cite(e *Event) error {
	switch e.Type {
	case TypeToolSettle, TypeToolResult, TypeApprovalAsk, TypeApprovalAnswer:
	default:
		return nil
	}
	p, rest, err := placeOf(*e, 3)
	if err != nil || rest < 0 { // somebody else's data stays as it is
		return nil
	}
	_, c := f.find(p)
	if c == nil || c.seq == 0 {
		return nil
	}
	var buf [64]byte
	cited := strconv.AppendUint(append(buf[:0], `,"sourceEventSeqs":[`...), c.seq, 10)
	at := len(e.Data) - rest
	given := e.Data[at:]
	if !bytes.HasPrefix(given, []byte(`,"sourceEventSeqs":`)) {
		e.Data = slices.Concat(e.Data[:at], cited, []byte("]"), given)
	} else if more, ok := bytes.CutPrefix(given, cited); !ok || more[0] != ']' && more[0] != ',' {
		return outOf("%v does not cite its %s, %d, first", p, TypeToolCall, c.seq)
	}
	return nil
}

// Resume appends what [Repair] says, with [SyncAlways], and returns it. A session is to be resumed before its first
// turn in this process, and after a turn that ended with [EndFailed]; until then no turn can start. A second Resume
// appends nothing. It must not be called while a turn is going on that somebody works at.
//
// A panic in finalize is an error.
func (s *Session) Resume(finalize func(OpenCall, tool.Result) tool.Result) (repaired []Payload, err error) {
	state := s.State()
	defer func() {
		if v := recover(); v != nil {
			repaired, err = nil, fmt.Errorf("resume: finalize panicked: %v", v)
		}
	}()
	repaired = Repair(state, finalize)
	events := make([]Event, len(repaired))
	for i, p := range repaired {
		if events[i], err = event(p); err != nil {
			return nil, fmt.Errorf("resume: %w", err)
		}
	}
	moved := func(f *fold) error {
		if f.seq != state.Seq {
			return outOf("event %d was appended meanwhile", f.seq)
		}
		return nil
	}
	if _, err := s.append(SyncAlways, events, moved); err != nil {
		return nil, fmt.Errorf("resume: %w", err)
	}
	return repaired, nil
}

// State says where the session stands. It takes time in proportion to what is open.
func (s *Session) State() State {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	state, _ := s.fold.state() // that it can be decoded was seen when it was added
	return state
}

// look has f look at the fold.
func (s *Session) look(f func(*fold)) {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	f(&s.fold)
}

// Messages returns what the function [Messages] makes of the log. The first call reads it; later ones go on from there.
// The messages are shared, and must not be modified.
func (s *Session) Messages() ([]Message, error) {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	if s.said == nil {
		said := new(conversation)
		for e, err := range s.store.Events() {
			if err == nil {
				err = said.take(e)
			}
			if err != nil {
				return nil, err
			}
		}
		s.said = said
	}
	return s.said.soFar(), nil
}

// Events reads the log from the beginning to the last event that was appended before it was called. It can be read
// while the session goes on. An error comes with no event and is the last.
func (s *Session) Events() iter.Seq2[Event, error] { return s.store.Events() }

// Sync returns when all events that have been appended last, with whatever durability.
func (s *Session) Sync() error {
	s.lock <- struct{}{}
	seq, closed := s.fold.seq, s.closed
	<-s.lock
	if closed {
		return ErrClosed
	}
	return s.sync.wait(seq)
}

// Close syncs what is to be synced, and closes the store. An Append that waits for its sync still gets it. A second
// Close does nothing.
func (s *Session) Close() error {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	if s.closed {
		return nil
	}
	s.closed = true
	return errors.Join(s.sync.close(), s.store.Close())
}
