package harness

import "github.com/keywave-go/keywave/tool"

// An inbox is what an agent has been told and has not told its model yet. It is pure, and in memory.
type inbox struct {
	step  []letter // for the next step
	turn  []letter // each for a turn of its own
	awake bool     // what waits, if it can wake, is reason to begin a turn
}

// A letter is one message of a user or a host.
type letter struct {
	content []tool.Block
	wakes   bool
}

// post takes a letter for the next step or, if later is set, for a turn of its own.
func (b *inbox) post(l letter, later bool) {
	if later {
		b.turn = append(b.turn, l)
	} else {
		b.step = append(b.step, l)
	}
	b.awake = b.awake || l.wakes
}

// due reports whether a turn is to begin.
func (b *inbox) due() bool { return b.awake && (len(b.turn) > 0 || b.steers()) }

// steers reports whether there is reason for another step of a turn.
func (b *inbox) steers() bool {
	for _, l := range b.step {
		if l.wakes {
			return true
		}
	}
	return false
}

// take takes out what goes with the next step, and with the next turn if this is its first.
func (b *inbox) take(first bool) (step, turn []letter) {
	step, b.step = b.step, nil
	if first && len(b.turn) > 0 {
		turn, b.turn = b.turn[:1:1], b.turn[1:]
	}
	return step, turn
}

// putBack puts back what take took out and could not be delivered.
func (b *inbox) putBack(step, turn []letter) {
	b.step = append(step, b.step...)
	b.turn = append(turn, b.turn...)
}

// clear throws away what waits.
func (b *inbox) clear() { b.step, b.turn = nil, nil }
