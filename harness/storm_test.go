package harness_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/harness"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// A storm is three agents and those that their tools lead, three deep, in one domain, with one semaphore, one pipeline
// and one prompter. All that they call misbehaves at random.
type storm struct {
	domain   exec.Domain
	shared   *semaphore.Weighted
	tools    *tool.Registry
	pipeline *tool.Pipeline

	mu         sync.Mutex
	random     *rand.Rand
	agents     []*harness.Agent
	schedulers []*harness.Scheduler
}

type depthKey struct{}

// n is a random number below most.
func (s *storm) n(most int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(most)
}

// odds panics or returns an error, now and then.
func (s *storm) odds(of int) error {
	switch s.n(of) {
	case 0:
		panic("now and then")
	case 1:
		return errors.New("now and then")
	}
	return nil
}

func newStorm(t *testing.T, seed uint64) *storm {
	s := &storm{domain: exec.NewDomain(), shared: semaphore.NewWeighted(1 + int64(seed%3)), tools: new(tool.Registry),
		random: rand.New(rand.NewPCG(seed, 1))}
	approve := approver(func(c ctx, p *tool.Prompt) error {
		switch s.n(6) {
		case 0:
			<-c.Done()
		case 1:
			runtime.Goexit()
		case 2:
			return s.odds(2)
		}
		<-time.After(time.Duration(s.n(2000)) * time.Millisecond)
		_ = p.Answer(tool.Answer{Decision: tool.Decision(s.n(4))})
		return nil
	})
	s.pipeline = &tool.Pipeline{
		Prompter:  &tool.Prompter{Approver: approve, Timeout: time.Duration(1+s.n(3)) * time.Second},
		AskInLane: s.n(2) == 0,
		Budget:    tool.Budget{Result: 600, Batch: 1500},
		Policies: []tool.Policy{func(ctx, *tool.Invocation) (tool.Verdict, error) {
			return tool.Verdict{Action: []tool.Action{tool.Deny, tool.Ask, tool.Allow, tool.Allow}[s.n(4)]}, s.odds(15)
		}},
		Guards:    []tool.Guard{func(ctx, *tool.Invocation) error { return s.odds(15) }},
		Wrappers:  []tool.Wrapper{tool.WithRetry(tool.Retry{Wait: 100 * time.Millisecond}), tool.WithTimeout(3 * time.Second)},
		Reviewers: []tool.Reviewer{func(ctx, *tool.Invocation, tool.Result) (tool.Review, error) { return tool.Review{}, s.odds(15) }},
		Gates:     []tool.Gate{func(ctx, tool.Event) { _ = s.odds(15) }},
	}
	require.NoError(t, s.tools.Register(s.definitions(t)...))
	return s
}

func (s *storm) definitions(t *testing.T) []*tool.Definition {
	type in struct {
		Key string `json:"key"`
	}
	claims := func(a plan.Access, tree bool) func(in) ([]plan.Claim, error) {
		return func(i in) ([]plan.Claim, error) { return []plan.Claim{{Key: i.Key, Access: a, Tree: tree}}, nil }
	}
	safe := func(in) bool { return true }
	work := func(c ctx, _ in) (string, error) {
		switch s.n(12) {
		case 0:
			runtime.Goexit()
		case 1:
			return "", &tool.TransientError{Err: errors.New("again")}
		case 2:
			<-time.After(8 * time.Second) // past its drain bound
		}
		return "done", errors.Join(s.odds(8), rest(c, time.Duration(s.n(3000))*time.Millisecond))
	}
	lead := func(c ctx, _ in) (string, error) {
		depth, _ := c.Value(depthKey{}).(int)
		if depth == 3 {
			return "deep enough", nil
		}
		a := s.agent(t, context.WithValue(c, depthKey{}, depth+1))
		if err := a.Followup(text("go")); err != nil {
			return "", err
		}
		return "done", a.WhenIdle(context.WithoutCancel(c))
	}
	return []*tool.Definition{
		define(tool.Spec[in, string]{Name: "read", Safe: safe, Claims: claims(plan.Read, false), Body: work}),
		define(tool.Spec[in, string]{Name: "write", Safe: safe, Claims: claims(plan.Write, false), Body: work,
			Timeout: 4 * time.Second, ConcludesTurn: true}),
		define(tool.Spec[in, string]{Name: "alone", Body: work}),
		define(tool.Spec[in, string]{Name: "late", Safe: safe, Body: work, Timeout: time.Second}),
		define(tool.Spec[in, string]{Name: "lead", Safe: func(in) bool { return s.n(2) == 0 }, Claims: claims(plan.Write, true), Body: lead}),
	}
}

// agent makes an agent whose model calls up to five tools in each of up to three steps.
func (s *storm) agent(t *testing.T, c ctx) *harness.Agent {
	left := 1 + s.n(3)
	sch := &harness.Scheduler{
		Session: open(t, new(harness.Memory)), Tools: s.tools, Pipeline: s.pipeline, Durability: harness.SyncNone,
		Admission: admissions[s.n(len(admissions))].open, Domain: s.domain, Shared: s.shared, Drain: time.Second,
		Limit: func() (int, error) { return 1 + s.n(3), nil },
	}
	a, err := harness.NewAgent(c, harness.ModelFunc(func(ctx, harness.Request) (m harness.AssistantMessage, err error) {
		if left--; left < 0 {
			return say("done"), nil
		}
		for range 1 + s.n(5) {
			name := []string{"read", "write", "alone", "late", "lead", "nothing"}[s.n(6)]
			m.Calls = append(m.Calls, tool.Call{Name: name, Arguments: fmt.Sprintf(`{"key":"%s"}`, []string{"k", "k/a", "k/b"}[s.n(3)])})
		}
		return m, nil
	}), sch)
	require.NoError(t, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agents, s.schedulers = append(s.agents, a), append(s.schedulers, sch)
	return a
}

// all returns the agents that there are by now.
func (s *storm) all() ([]*harness.Agent, []*harness.Scheduler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.agents), slices.Clone(s.schedulers)
}

// meddle cancels, steers or replaces something.
func (s *storm) meddle(t *testing.T) {
	s.mu.Lock()
	i := s.random.IntN(len(s.agents))
	a, sch := s.agents[i], s.schedulers[i]
	s.mu.Unlock()
	switch s.n(5) {
	case 0:
		a.Cancel(errStop, s.n(2) == 0)
	case 1, 2:
		at := sch.Session.State()
		_ = sch.CancelCall(harness.Place{Turn: at.Turn, Step: at.Step, Index: s.n(4)}, errors.New("this one"))
	case 3:
		_ = a.Steer(text("and that"))
	case 4:
		require.NoError(t, s.tools.Replace(s.definitions(t)[s.n(5)]))
	}
}

// TestH1Storm: whatever happens, all agents come to rest, each turn has its end, which is no failure, and each call its
// one result, in order.
func TestH1Storm(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 50
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			s := newStorm(t, seed)
			for range 3 {
				require.NoError(t, s.agent(t, t.Context()).Followup(text("go")))
			}
			for range 12 {
				<-time.After(time.Duration(s.n(1500)) * time.Millisecond)
				s.meddle(t)
			}
			agents, _ := s.all() // bodies that were given up may still begin others
			for _, a := range agents[:3] {
				c, stop := context.WithTimeout(t.Context(), 10*time.Hour)
				require.NoError(t, a.WhenIdle(c), "seed %d: %v", seed, a.Status())
				stop()
			}
			<-time.After(time.Minute) // bodies that were given up
			agents, schedulers := s.all()
			for i, sch := range schedulers {
				assert.NoError(t, check(logOf(t, sch.Session)), "seed %d, agent %d", seed, i)
				assert.False(t, sch.Session.State().InTurn, "seed %d, agent %d", seed, i)
				assert.NoError(t, agents[i].Status().Err, "seed %d, agent %d", seed, i)
			}
		})
		if t.Failed() {
			return
		}
	}
}
