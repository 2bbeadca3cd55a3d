package domaintest

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/exec"
)

// Run checks the guarantees of [exec.Domain] for those that open returns, each in subtests of its name. Open is called
// for every sequence of steps, many hundred times: each needs a Domain that nothing competes in. Its t ends with the
// sequence.
//
// Unless [Live] is given, each sequence is a bubble of its own of package testing/synctest. There who waits is known to
// wait, so that nothing is left to chance, and time costs nothing.
func Run(t *testing.T, open func(t testing.TB) exec.Domain, opts ...Option) {
	t.Helper()
	s := &suite{open: open, patience: patience}
	for _, o := range opts {
		o(s)
	}
	if s.pause < 0 {
		t.Fatalf("domaintest: pause %v: must be above 0", s.pause)
	}
	var group guarantee
	var members []check
	flush := func() {
		if len(members) == 0 {
			return
		}
		t.Run(string(group), func(t *testing.T) {
			for _, c := range members {
				t.Run(c.name, func(t *testing.T) { c.run(t, t) })
			}
		})
		members = nil
	}
	for _, c := range s.checks() {
		if c.of != group {
			flush()
			group = c.of
		}
		members = append(members, c)
	}
	flush()
}

// An Option says what else there is to know of the Domain.
type Option func(*suite)

// Live is for a Domain that cannot be in a bubble, because it waits for a network, for files, or for a goroutine that
// was there before. Whatever must happen then has a minute to happen. To see that something does not happen the test
// waits for the pause after every step: one that is too short lets a wrong implementation pass, and never fails a right
// one.
//
// From outside nobody can see that a request has got in line, unless its Blocked is called. A Domain that does not call
// it is not tested for the order of requests that wait.
func Live(pause time.Duration) Option {
	return func(s *suite) {
		if s.pause = pause; pause == 0 {
			s.pause = -1
		}
	}
}

// Expiring is for a Domain whose leases can run out. Expire must make a lease do so that was acquired from the Domain
// itself, as if its holder were gone, and with it those that were acquired from it.
func Expiring(expire func(l exec.Lease)) Option { return func(s *suite) { s.expire = expire } }

// A suite is what Run was given.
type suite struct {
	open     func(t testing.TB) exec.Domain
	pause    time.Duration // 0: in bubbles
	patience time.Duration
	expire   func(l exec.Lease)
}

// A check is a subtest. It reports to another test than the one in which it runs, so that tests can see it fail.
type check struct {
	of   guarantee
	name string
	run  func(t *testing.T, report rapid.TB)
}

// checks returns all of them, in groups.
func (s *suite) checks() []check {
	all := []check{{guaranteeInterface, "comparable", s.comparable}}
	add := func(of guarantee, name string, run func(t *testing.T, report rapid.TB)) {
		i := len(all)
		for i > 0 && all[i-1].of != of {
			i--
		}
		if i == 0 {
			i = len(all)
		}
		all = append(all[:i], append([]check{{of, name, run}}, all[i:]...)...)
	}
	for _, sc := range scripts() {
		if sc.expires && s.expire == nil {
			continue
		}
		add(sc.of, sc.name, func(t *testing.T, report rapid.TB) {
			if err := s.trial(t, sc.of, func(w *world) error { return w.play(sc.steps) }); err != nil {
				report.Fatal(err)
			}
		})
	}
	add(guaranteeOrder, "random claims", s.pairs)
	add(guaranteeNesting, "random claims", s.covered)
	add(guaranteeTogether, "random steps", s.random)
	add(guaranteeTogether, "at once", s.concurrent)
	return all
}

// comparable checks what the option In demands.
func (s *suite) comparable(t *testing.T, report rapid.TB) {
	err := s.trial(t, guaranteeInterface, func(w *world) error {
		if w.d == nil {
			return w.broken(w.as, "there is no Domain")
		}
		if !reflect.TypeOf(w.d).Comparable() {
			return w.broken(w.as, "a %T cannot be compared", w.d)
		}
		return nil
	})
	if err != nil {
		report.Fatal(err)
	}
}
