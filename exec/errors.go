package exec

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

var (
	// ErrOption is what the error of every invalid option wraps, and that of Run and Each without a function to call.
	ErrOption = errors.New("invalid option")
	// ErrClosed is returned by Submit when the lane takes no more calls.
	ErrClosed = errors.New("lane is closed")
	// ErrAdmission is the hard error of an [plan.Admission] that broke its contract: it offered a call that may not
	// start, or none although nothing runs.
	ErrAdmission = errors.New("admission broke its contract")
	// ErrLeaseEnded is what Acquire of a [Lease] wraps when nothing is acquired from it any more: the body that holds it has
	// returned or was abandoned, or the lease has run out.
	ErrLeaseEnded = errors.New("lease has ended")
	// ErrLeaseLost is the cause with which a call is cancelled whose [Lease] runs out before its body has returned.
	ErrLeaseLost = errors.New("lease was lost")
)

// A PanicError says that a caller's code panicked or called runtime.Goexit. In a Job's Run or Await it is the outcome
// of that call; anywhere else, and in the body of Run or Each, it is a hard error.
type PanicError struct {
	Call  int    // index of the call whose turn it was; below 0: of none
	In    string // what panicked: "Run", "Prepare", "body", ..., or "admission"
	Value any    // what it panicked with; nil: it called runtime.Goexit
	Stack []byte // as debug.Stack gives it
}

// Error names the call and what it panicked with, in at most a few hundred bytes; the stack is not part of it.
func (e *PanicError) Error() string {
	what := "called runtime.Goexit"
	if e.Value != nil {
		what = "panicked: " + bounded(fmt.Sprint(e.Value))
	}
	if e.Call < 0 {
		return e.In + " " + what
	}
	return fmt.Sprintf("call %d: %s %s", e.Call+1, e.In, what)
}

// Unwrap returns what it panicked with, if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// An AbandonedError is the outcome of a call whose body did not return within the drain bound after it was cancelled.
// The body may still be running, and may still have its effect.
type AbandonedError struct {
	Call  int           // index of the call
	After time.Duration // the drain bound
	Cause error         // of the cancel
}

// Error names the call, the bound and the cause.
func (e *AbandonedError) Error() string {
	return fmt.Sprintf("call %d: abandoned, still running %v after its cancel: %v", e.Call+1, e.After, e.Cause)
}

// Unwrap returns the cause of the cancel.
func (e *AbandonedError) Unwrap() error { return e.Cause }

// A NotRunError is the outcome of a call that was prepared but whose body was never started.
type NotRunError struct {
	Call  int   // index of the call
	Cause error // of the cancel, or why its Domain refused it; nil: its own Await returned false

	Unclaimed bool // it was not cancelled: its Domain refused its claims
}

// Error names the call and the cause.
func (e *NotRunError) Error() string {
	if e.Cause == nil {
		return fmt.Sprintf("call %d: not run: its Await returned false", e.Call+1)
	}
	return fmt.Sprintf("call %d: not run: %v", e.Call+1, e.Cause)
}

// Unwrap returns the cause.
func (e *NotRunError) Unwrap() error { return e.Cause }

// bounded cuts a text that somebody else chose, at a rune.
func bounded(s string) string {
	const most = 400
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	n := most
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
