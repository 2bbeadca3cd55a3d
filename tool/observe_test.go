package tool_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/tool"
)

// A diary is a listener, or a gate, that notes when it was told what.
type diary struct {
	mu    sync.Mutex
	start time.Time
	lines []string
}

func newDiary() *diary { return &diary{start: time.Now()} }

func (d *diary) hear(e tool.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, strings.TrimSpace(fmt.Sprintf("%v %d %v %v", time.Since(d.start), e.Index, e.Stage, e.Result.Code)))
}

func (d *diary) gate(_ ctx, e tool.Event) { d.hear(e) }

func (d *diary) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

// Every start has exactly one end, with whose call it is, and nothing comes after it.
func TestCase_events_1(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"ok", "ok", "error", "panic", "late", "denied", "asked", "missing", "alone", "stuck"}), 1, 8).Draw(rt, "calls")
		cancel := rapid.IntRange(0, 5).Draw(rt, "cancel")
		inLane := rapid.Bool().Draw(rt, "in lane")
		admit := admissions[rapid.SampledFrom([]string{"serial", "rolling", "waves", "keyed"}).Draw(rt, "admission")]
		rapid.SyncTest(rt, func(rt *rapid.T) {
			r := registry(rt, define(rt, free("ok", takes(time.Second))), define(rt, free("error", func(ctx) (string, error) { return "", errBoom })),
				define(rt, free("panic", func(ctx) (string, error) { panic("x") })), within(rt, 2*time.Second, "late", takes(time.Hour)),
				define(rt, free("denied", takes(0))), define(rt, free("asked", takes(0))), define(rt, free("stuck", takes(time.Hour))),
				define(rt, tool.Spec[struct{}, string]{Name: "alone", Body: nothing}))
			var events []tool.Event
			l := tool.NewListener(func(e tool.Event) { events = append(events, e) })
			p := &tool.Pipeline{Listeners: []*tool.Listener{l}, AskInLane: inLane,
				Policies: []tool.Policy{verdict(map[string]tool.Verdict{"denied": {}, "asked": {Action: tool.Ask}})},
				Prompter: &tool.Prompter{Timeout: time.Second, Approver: shower(func(ctx, *tool.Prompt) error { return nil })}}
			calls := named(names...)
			for i := range calls {
				calls[i].ID = "the same"
			}
			run := submit(rt, context.Background(), p, r, calls, exec.Limit(3), exec.Admit(admit))
			if cancel < 5 {
				<-time.After(time.Duration(cancel) * time.Second)
			} else {
				<-time.After(time.Minute)
			}
			run.lane.Cancel(errBoom)
			_ = run.lane.Wait()
			require.NoError(rt, l.Wait(context.Background()))
			stages := make([][]tool.Stage, len(calls))
			last := -1
			for _, e := range events {
				stages[e.Index] = append(stages[e.Index], e.Stage)
				require.Equal(rt, names[e.Index], e.Call.Name)
				if e.Stage == tool.Committed {
					require.Equal(rt, last+1, e.Index, "in the model's order")
					require.Equal(rt, run.jobs[e.Index].Result, e.Result)
					last = e.Index
				}
			}
			for i, got := range stages {
				require.NotEmpty(rt, got)
				require.True(rt, slices.IsSorted(got) && len(slices.Compact(slices.Clone(got))) == len(got), "%d %v: %v", i, names[i], got)
				require.Equal(rt, tool.Committed, got[len(got)-1])
				if len(got) > 1 {
					require.Equal(rt, tool.Started, got[0])
				}
			}
		})
	})
}

// A call that is done is told at once, and its commit is another event.
func TestCase_events_2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, define(t, free("c1", takes(4*time.Second))), define(t, free("c2", takes(10*time.Second))), define(t, free("c3", takes(2*time.Second))))
		d := newDiary()
		l := tool.NewListener(d.hear)
		p := &tool.Pipeline{Listeners: []*tool.Listener{l}}
		_, err := p.Run(t.Context(), r, named("c1", "c2", "c3"))
		require.NoError(t, err)
		require.NoError(t, l.Wait(t.Context()))
		assert.Equal(t, []string{"0s 0 started", "0s 1 started", "0s 2 started", "2s 2 settled", "4s 0 settled", "4s 0 committed",
			"10s 1 settled", "10s 1 committed", "10s 2 committed"}, d.all())
	})
}

// A gate is waited for; a listener is not, and is told everything all the same.
func TestGatesHoldTheLaneAndListenersDoNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, define(t, free("t", takes(time.Second))))
		slow := newDiary()
		l := tool.NewListener(func(e tool.Event) { <-time.After(time.Minute); slow.hear(e) })
		start := time.Now()
		results, err := (&tool.Pipeline{Listeners: []*tool.Listener{l}}).Run(t.Context(), r, named("t", "t"))
		require.NoError(t, err)
		assert.Equal(t, time.Second, time.Since(start))
		assert.Equal(t, []string{"done", "done"}, texts(results))
		soon, cancel := context.WithTimeoutCause(t.Context(), time.Second, errBoom)
		defer cancel()
		require.ErrorIs(t, l.Wait(soon), errBoom)
		require.NoError(t, l.Wait(t.Context()))
		assert.Equal(t, 6*time.Minute, time.Since(start))
		got := slow.all()
		assert.Len(t, got, 6)
		assert.Equal(t, "6m0s 1 committed", got[5])
		require.NoError(t, l.Wait(t.Context()), "there is nothing to wait for")

		seen := newDiary()
		p := &tool.Pipeline{Gates: []tool.Gate{seen.gate, func(_ ctx, e tool.Event) {
			if e.Stage == tool.Committed {
				<-time.After(time.Minute)
			}
		}}}
		start = time.Now()
		_, err = p.Run(t.Context(), r, named("t", "t"))
		require.NoError(t, err)
		assert.Equal(t, time.Second+2*time.Minute, time.Since(start))
		assert.Equal(t, []string{"0s 0 started", "0s 1 started", "1s 0 committed", "1m1s 1 committed"}, seen.all())
	})
}

// What observers do when they fail changes nothing, and the next event is told.
func TestObserversThatFail(t *testing.T) {
	r := registry(t, define(t, free("t", takes(0))))
	var told int
	l := tool.NewListener(func(tool.Event) {
		told++
		if told%2 == 0 {
			runtime.Goexit()
		}
		panic("x")
	})
	p := &tool.Pipeline{Listeners: []*tool.Listener{l}, Gates: []tool.Gate{func(ctx, tool.Event) { panic("x") }}}
	results, err := p.Run(t.Context(), r, named("t", "t"))
	require.NoError(t, err)
	assert.Equal(t, []string{"done", "done"}, texts(results))
	require.NoError(t, l.Wait(t.Context()))
	assert.Equal(t, 6, told)
}

// What Record keeps is kept before any observer is told; what it cannot keep stops the lane, and no observer is told.
func TestH10RecordComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for stage := tool.Started; stage <= tool.Committed; stage++ {
			if stage == tool.Asked || stage == tool.Answered {
				continue
			}
			var mu sync.Mutex // the listener has a goroutine of its own
			var log []string
			add := func(who string, e tool.Event) {
				mu.Lock()
				defer mu.Unlock()
				log = append(log, who+e.Stage.String())
			}
			ran := false
			r := registry(t, define(t, free("t", func(ctx) (string, error) { ran = true; return "", nil })))
			var l *tool.Listener
			p := &tool.Pipeline{Gates: []tool.Gate{func(_ ctx, e tool.Event) { add("gate ", e) }}}
			l = tool.NewListener(func(e tool.Event) { add("listener ", e) })
			p.Listeners = []*tool.Listener{l}
			lane, err := exec.NewLane(t.Context())
			require.NoError(t, err)
			j := p.NewJob(r, tool.Call{Name: "t"})
			j.Record = func(c ctx, e tool.Event) error {
				require.NoError(t, l.Wait(c))
				add("record ", e)
				if e.Stage == stage {
					return errBoom
				}
				return nil
			}
			_, err = tool.Submit(lane, j)
			require.NoError(t, err)
			lane.Close()
			require.ErrorIs(t, lane.Wait(), errBoom)
			require.NoError(t, l.Wait(t.Context()))
			assert.Equal(t, stage != tool.Started, ran, "no body starts unless its call is recorded")
			assert.Equal(t, "record "+stage.String(), log[len(log)-1])
			for i, line := range log {
				if strings.HasPrefix(line, "listener") {
					assert.Contains(t, log[:i], "record "+strings.TrimPrefix(line, "listener "))
				}
			}
		}
	})
	// A cancel that comes while the call is recorded, and keeps it from being recorded, is a cancel.
	synctest.Test(t, func(t *testing.T) {
		lane, err := exec.NewLane(t.Context())
		require.NoError(t, err)
		j := tool.NewJob(registry(t, define(t, free("t", takes(0)))), tool.Call{Name: "t"})
		j.Record = func(c ctx, e tool.Event) error {
			if e.Stage == tool.Started {
				<-c.Done()
				return c.Err()
			}
			return nil
		}
		_, err = tool.Submit(lane, j)
		require.NoError(t, err)
		lane.Close()
		synctest.Wait()
		lane.Cancel(errBoom)
		require.ErrorIs(t, lane.Wait(), errBoom)
		assert.Equal(t, tool.AbortedBeforeDispatch, j.Result.Code)
		assert.Contains(t, j.Result.Text(), "(boom)")
	})
}

func TestStageNames(t *testing.T) {
	assert.Equal(t, "started asked answered settled committed Stage(9)",
		fmt.Sprint(tool.Started, " ", tool.Asked, " ", tool.Answered, " ", tool.Settled, " ", tool.Committed, " ", tool.Stage(9)))
}
