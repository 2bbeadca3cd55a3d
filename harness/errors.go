package harness

import (
	"errors"
	"fmt"
)

// ErrOrder is the error that [Session.Append] wraps when an event must not follow those that are there: it would leave a
// log that says what cannot be, such as a result without a call, two results of one call, or results out of the model's
// order.
var ErrOrder = errors.New("event is out of order")

func outOf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrOrder, fmt.Sprintf(format, args...))
}

// ErrClosed is what a [Session] returns after its Close.
var ErrClosed = errors.New("session is closed")

// ErrBroken is the error that everything after the first failed sync of a [Session] wraps. What has been appended may
// not last, and nobody can find out; what a later sync says would be about something else. Close the session, and open
// its log again: what is there then is what there is.
var ErrBroken = errors.New("session log could not be made to last")
