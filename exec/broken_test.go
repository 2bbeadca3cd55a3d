package exec_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// An admission that breaks its contract stops the lane; it neither hangs nor spins.
func TestLaneBrokenAdmission(t *testing.T) {
	for name, a := range map[string]func() plan.Admission{
		"never offers": func() plan.Admission {
			return faulty{Admission: plan.NewKeyed(), next: func(int) (int, bool) { return 0, false }}
		},
		"never lets start": func() plan.Admission { return faulty{Admission: plan.NewKeyed(), start: func() bool { return false }} },
		"offers the refused": func() plan.Admission {
			return faulty{Admission: plan.NewKeyed(), next: func(int) (int, bool) { return 0, true }, start: func() bool { return false }}
		},
		"offers the started": func() plan.Admission {
			return faulty{Admission: plan.NewKeyed(), next: func(int) (int, bool) { return 0, true }}
		},
		"offers the unknown": func() plan.Admission {
			return faulty{Admission: plan.NewKeyed(), next: func(int) (int, bool) { return 99, true }}
		},
		"panics in Next": func() plan.Admission {
			return faulty{Admission: plan.NewKeyed(), next: func(int) (int, bool) { panic("next") }}
		},
		"panics in Start": func() plan.Admission {
			return faulty{Admission: plan.NewKeyed(), start: func() bool { panic("start") }}
		},
		"panics in Settle": func() plan.Admission { return faulty{Admission: plan.NewKeyed(), settle: func() { panic("settle") }} },
		"exits in Settle":  func() plan.Admission { return faulty{Admission: plan.NewKeyed(), settle: func() { runtime.Goexit() }} },
		"panics in late Next": func() plan.Admission {
			n := 0
			return faulty{Admission: plan.NewKeyed(), next: func(int) (int, bool) {
				n++
				if n > 1 {
					panic("next")
				}
				return 0, true
			}}
		},
	} {
		bubble := func(t *testing.T) {
			j := newJournal()
			js := j.stubs(times(3, free)...)
			l := lane(t, t.Context(), exec.Admit(a))
			submit(t, l, gate{js[0], func(context.Context) bool { return true }}, js[1], js[2])
			err := l.Wait()
			var p *exec.PanicError
			if errors.As(err, &p) {
				assert.Equal(t, "admission", p.In)
				assert.NotContains(t, p.Error(), "call ")
			} else {
				require.ErrorIs(t, err, exec.ErrAdmission)
			}
			check(t, j, checks{calls: times(3, free), limit: 8, hard: true})
			for _, e := range j.all() {
				if e.stage == "prepared" {
					j.find(t, e.call, "settled")
				}
			}
			_, err = exec.Run(t.Context(), times(3, free), func(context.Context, int) (int, error) { return 0, nil }, exec.Admit(a))
			require.Error(t, err)
		}
		t.Run(name, func(t *testing.T) { synctest.Test(t, bubble) })
	}
	t.Run("panics when a call is abandoned", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for _, cancel := range []func(*exec.Lane){func(l *exec.Lane) { l.Cancel(errBoom) }, func(l *exec.Lane) { l.CancelCall(0, errBoom) }} {
				j := newJournal()
				js := j.stubs(free, free)
				for _, s := range js {
					s.run = func(context.Context) exec.Outcome { <-time.After(time.Hour); return exec.Outcome{} }
				}
				l := lane(t, t.Context(), exec.Drain(time.Second), exec.Admit(func() plan.Admission {
					return faulty{Admission: plan.NewKeyed(), settle: func() { panic("settle") }}
				}))
				submit(t, l, jobs(js)...)
				synctest.Wait()
				cancel(l)
				require.ErrorAs(t, finish(l), new(*exec.PanicError))
				assert.Len(t, j.of("settled"), 2)
				<-time.After(2 * time.Hour)
			}
		})
	})
	t.Run("panics at the end of a call that panics", func(t *testing.T) {
		for name, end := range map[string]func(){"panic": func() { panic("body") }, "goexit": runtime.Goexit} {
			for k, settle := range []func(){func() { panic("settle") }, runtime.Goexit, func() { panic("settle") }, runtime.Goexit} {
				broken := exec.Admit(func() plan.Admission { return faulty{Admission: plan.NewKeyed(), settle: settle} })
				synctest.Test(t, func(t *testing.T) {
					j := newJournal()
					js := j.stubs(free, free)
					meet := func(first bool) { // what settles first finds the admission as it is
						if !first {
							<-time.After(time.Second)
						}
						end()
					}
					js[0].run = func(context.Context) exec.Outcome { <-time.After(time.Millisecond); meet(k < 2); return exec.Outcome{} }
					l := lane(t, t.Context(), broken)
					submit(t, l, js[0], gate{js[1], func(context.Context) bool { <-time.After(time.Millisecond); meet(k >= 2); return true }})
					p := new(exec.PanicError)
					require.ErrorAs(t, finish(l), &p, name)
					assert.Equal(t, "admission", p.In)
					for i, in := range []string{"Run", "Await"} {
						require.ErrorAs(t, j.find(t, i, "settled").err, &p)
						assert.Equal(t, in, p.In)
					}
					_, err := exec.Run(t.Context(), times(3, free), func(context.Context, int) (int, error) { end(); return 0, nil }, broken)
					require.ErrorAs(t, err, &p, name)
				})
			}
		}
	})
	t.Run("is not asked by who submits nothing", func(t *testing.T) {
		l := lane(t, t.Context(), exec.Admit(func() plan.Admission {
			return faulty{Admission: plan.NewKeyed(), next: func(int) (int, bool) { panic("next") }}
		}))
		i, err := l.Submit()
		require.NoError(t, err)
		assert.Zero(t, i)
		require.NoError(t, finish(l))
	})
	_, err := exec.NewLane(t.Context(), exec.Admit(func() plan.Admission { return nil }))
	require.ErrorIs(t, err, exec.ErrOption)
}

type faulty struct {
	plan.Admission
	next   func(after int) (int, bool)
	start  func() bool
	settle func()
}

func (b faulty) Next(after int) (int, bool) {
	if b.next != nil {
		return b.next(after)
	}
	return b.Admission.Next(after)
}

func (b faulty) Start(i int, c plan.Call) bool {
	if b.start != nil {
		return b.start()
	}
	return b.Admission.Start(i, c)
}

func (b faulty) Settle(i int) {
	if b.settle != nil {
		b.settle()
	}
	b.Admission.Settle(i)
}

// No lock is held while a caller's code runs: the text of an error is that too.
func TestLaneHoldsNoLockInCallersCode(t *testing.T) {
	for _, stage := range []string{"classify", "prepare", "settled", "commit", "skip"} {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal()
			s := j.stubs(free)[0]
			l := lane(t, t.Context())
			err := errorFunc(func() string { l.CancelCall(0, errBoom); return "hard" })
			switch stage {
			case "classify":
				s.classify = func() plan.Call { panic(err) }
			case "prepare":
				s.prepare = func(context.Context) (bool, error) { return true, err }
			case "settled":
				s.settled = func(context.Context, exec.Outcome) error { return err }
			case "commit":
				s.commit = func(context.Context) error { return err }
			case "skip":
				s.skip = func(context.Context, error) error { return err }
				l.Cancel(errBoom)
			}
			submit(t, l, s)
			require.ErrorContains(t, finish(l), "hard", stage)
			_, closed := l.Submit(s)
			require.ErrorContains(t, closed, "hard", stage)
		})
	}
	l := lane(t, t.Context())
	l.Cancel(errorFunc(func() string { l.Close(); return "cause" }))
	require.Error(t, l.Wait())
	_, err := l.Submit(&stub{})
	require.ErrorContains(t, err, "cause")
}

type errorFunc func() string

func (f errorFunc) Error() string { return f() }
