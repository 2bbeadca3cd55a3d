package domaintest

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

// TestMain keeps rapid from writing down the failures that these tests provoke, and lets it try often enough to meet
// the rare ones: under -short it takes a fifth. What it meets must not be luck, so it draws the same each time.
func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("rapid.nofailfile", "true")
	flag.Set("rapid.checks", "500")
	flag.Set("rapid.seed", "1")
	flag.Set("rapid.shrinktime", "50ms")
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/keywave-go/keywave/exec/domaintest.litter"))
}

// A recorder is a test that may fail: it keeps what was said.
type recorder struct {
	rapid.TB
	said   strings.Builder
	failed bool
}

func (r *recorder) Helper()                           {}
func (r *recorder) Logf(format string, args ...any)   {}
func (r *recorder) Log(args ...any)                   {}
func (r *recorder) Fail()                             { r.failed = true }
func (r *recorder) Failed() bool                      { return r.failed }
func (r *recorder) Error(args ...any)                 { r.failed = true; fmt.Fprintln(&r.said, args...) }
func (r *recorder) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }
func (r *recorder) Fatal(args ...any)                 { r.Error(args...); runtime.Goexit() }
func (r *recorder) Fatalf(format string, args ...any) { r.Fatal(fmt.Sprintf(format, args...)) }
func (r *recorder) FailNow()                          { r.failed = true; runtime.Goexit() }

// record runs f as a test of its own and returns what it failed with, or nothing.
func record(t *testing.T, f func(t rapid.TB)) string {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	if r.failed {
		return r.said.String()
	}
	return ""
}
