package harness

import (
	"errors"
	"fmt"
)

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
// or an append that failed and could not be taken back. What has been appended may not last, and nobody can find out: what a later sync says would be about
// something else. Close the session, and open its log again: what is there then is what there is.
var ErrBroken = errors.New("nobody knows what the session log has kept")
