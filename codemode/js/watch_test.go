package js

import (
	"testing"
	"time"

	"github.com/keywave-go/keywave/codemode"
)

// A watch of a program whose time is over already looks at it at once, be the maker as slow as it may.
func TestC5WatchAtOnce(t *testing.T) {
	for range 2000 {
		m := &vm{closed: true, halted: make(chan struct{})}
		w := newWatch(m, order{Spent: time.Second, Limits: codemode.Limits{Wall: 1, Compute: 1}})
		<-m.halted
		w.end()
	}
}
