package plan

import "fmt"

// An Admission says which submitted call may start next. It is a pure state machine: it has no clock, no goroutine
// and no lock, it starts nothing, and the caller reports what happened. It is not safe for concurrent use.
//
// Calls are known by their index, from 0, in the order in which they were submitted, which is the model's order. A
// batch is submitted whole, before anything starts; a stream call by call, at any time. The caller commits in that
// order too: i only after every call before it.
//
// A call goes through Submit, Start (once it returned true), Settle, Commit. Settle of a call that has not started
// skips it: it will never start, and only its Commit is still to come. Reports about an index that was never
// submitted, or that come a second time, change nothing.
type Admission interface {
	// Submit adds the next call and returns its index. The claims are kept, not copied.
	Submit(c Call) int
	// Next returns the lowest call above after that may start now; with after -1, of all. Only a caller that has to
	// pass over a call, such as one that somebody must approve first, needs another after: that call.
	Next(after int) (i int, ok bool)
	// Start reports that call i, classified this moment as c, is about to start. True: it has started. False: as c
	// is, it must wait after all; c is recorded and Next will offer i again when it may start.
	Start(i int, c Call) bool
	// Settle reports that the body of i returned, or that i will never start.
	Settle(i int)
	// Commit reports that the result of i is committed.
	Commit(i int)
	// Blocked says what keeps call i from starting. It is false for a call that may start now, has started, is
	// skipped or was never submitted. A lane that is recorded asks it of its waiting calls at every change that
	// concerns them, so it should take about constant time. Of several in the way it may name any.
	Blocked(i int) (Blocker, bool)
	// Reordered returns, in their order, the calls after i that started before it although they conflict with what
	// i has become. Only a classification that changed before the start can bring this about, or FirstFit.
	Reordered(i int) []int
}

// A Grower is an Admission that can make room for a batch at once. The admissions of this package are: it saves most
// of the memory that growing call by call would take. A wrapper around one of them that does not pass Grow on loses
// that, and nothing else.
type Grower interface {
	// Grow makes room for so many calls more, with so many claims in all.
	Grow(calls, claims int)
}

// A Grouper is an Admission whose calls start in groups: no call of a group starts before those of all earlier groups
// have settled. Of the admissions of this package these are those of NewWaves and NewFirstFit, whose groups are the
// waves, and that of NewRolling, whose groups are the stretches between barriers, and each barrier. Who bounds how many
// calls run at once can so change the bound between two groups, when nothing runs.
type Grouper interface {
	// Group returns the number of the group of the call that has started last. It grows from group to group.
	Group() int
}

// A BlockKind is a reason to wait.
type BlockKind uint8

const (
	ByClaim   BlockKind = iota // a claim overlaps that of Call, and one of the two writes
	ByBarrier                  // Call, or the waiting call itself, is exclusive
	ByOrder                    // calls start in the model's order, and Call has not started, or not committed
	ByWave                     // Call is of an earlier wave, and has not settled
)

// String returns "claim", "barrier", "order" or "wave".
func (k BlockKind) String() string {
	if int(k) < len(blockKinds) {
		return blockKinds[k]
	}
	return fmt.Sprintf("BlockKind(%d)", uint8(k))
}

var blockKinds = [...]string{ByClaim: "claim", ByBarrier: "barrier", ByOrder: "order", ByWave: "wave"}

// A Blocker is what keeps a call from starting.
type Blocker struct {
	Kind BlockKind
	Call int   // the index of the call that is waited for
	Mine Claim // with ByClaim: what the waiting call wants
	Held Claim // with ByClaim: what Call has
}

// String says it in words: "call 2 (write a)".
func (b Blocker) String() string {
	switch b.Kind {
	case ByClaim:
		return fmt.Sprintf("call %d (%v)", b.Call+1, b.Held)
	default:
		return fmt.Sprintf("call %d (%v)", b.Call+1, b.Kind)
	}
}
