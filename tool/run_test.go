package tool_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// Whatever Safe and Claims do to their input, the body gets what the model wrote.
func TestT7SafeAndClaimsHaveTheirOwnInput(t *testing.T) {
	type input struct {
		Paths []string          `json:"paths"`
		Env   map[string]string `json:"env"`
		Deep  *file             `json:"deep"`
	}
	spoil := func(in input) {
		in.Paths[0] = "spoilt"
		in.Env["a"] = "spoilt"
		in.Deep.Path = "spoilt"
	}
	r := registry(t, define(t, tool.Spec[input, input]{
		Name:   "t",
		Safe:   func(in input) bool { spoil(in); return true },
		Claims: func(in input) ([]plan.Claim, error) { spoil(in); return nil, nil },
		Body:   func(_ ctx, in input) (input, error) { return in, nil },
	}))
	got, err := tool.Execute(t.Context(), r, call("t", `{"paths":["a"],"env":{"a":"b"},"deep":{"path":"c"}}`))
	require.NoError(t, err)
	assert.Equal(t, `{"paths":["a"],"env":{"a":"b"},"deep":{"path":"c"}}`, got.Text())
}

// What names on disk mean can change while a call waits, so Claims is asked again right before the start.
func TestT7ClaimsAreAskedAgainBeforeTheStart(t *testing.T) {
	link := atomic.Pointer[string]{} // where the symbolic link points to
	a, b := "a", "b"
	link.Store(&a)
	var log []string
	resolve := func(in file) string {
		if in.Path == "link" {
			return *link.Load()
		}
		return in.Path
	}
	var mu sync.Mutex
	r := registry(t,
		define(t, tool.Spec[struct{}, string]{Name: "relink", Body: func(ctx, struct{}) (string, error) { link.Store(&b); return "", nil }}),
		define(t, tool.Spec[file, string]{
			Name: "edit", Safe: safe[file],
			Claims: func(in file) ([]plan.Claim, error) { return []plan.Claim{{Key: resolve(in)}}, nil },
			Body: func(_ ctx, in file) (string, error) {
				mu.Lock()
				log = append(log, in.Path+" begins")
				mu.Unlock()
				<-time.After(time.Second)
				mu.Lock()
				log = append(log, in.Path+" ends")
				mu.Unlock()
				return "", nil
			},
		}),
	)
	synctest.Test(t, func(t *testing.T) {
		_, err := tool.Run(t.Context(), r, []tool.Call{call("relink", ""), call("edit", `{"path":"b"}`), call("edit", `{"path":"link"}`)})
		require.NoError(t, err)
	})
	assert.Equal(t, []string{"b begins", "b ends", "link begins", "link ends"}, log)
}

// hosted is how a host adds what the model must not give: in Prepare, which runs when the call starts.
type hosted struct {
	*tool.Job
	world *[]string
	docs  []string
}

func (h *hosted) Prepare(ctx context.Context) (bool, error) {
	h.docs = slices.Clone(*h.world)
	return h.Job.Prepare(ctx)
}

type docsKey struct{}

func (h *hosted) Run(ctx context.Context) exec.Outcome {
	return h.Job.Run(context.WithValue(ctx, docsKey{}, h.docs))
}

// Of two calls that depend on each other, the second sees what the first left, also through what the host injects.
func TestCase_ordering_4(t *testing.T) {
	var world []string
	r := registry(t, define(t, tool.Spec[file, string]{
		Name: "search", Safe: safe[file],
		Claims: func(file) ([]plan.Claim, error) {
			return []plan.Claim{{Key: "docs", Access: plan.Read}, {Key: "docs"}}, nil
		},
		Body: func(ctx ctx, in file) (string, error) {
			docs, _ := ctx.Value(docsKey{}).([]string)
			world = append(slices.Clone(docs), in.Path)
			return strings.Join(world, " "), nil
		},
	}))
	lane, err := exec.NewLane(t.Context())
	require.NoError(t, err)
	first := &hosted{Job: tool.NewJob(r, call("search", `{"path":"q1"}`)), world: &world}
	second := &hosted{Job: tool.NewJob(r, call("search", `{"path":"q2"}`)), world: &world}
	_, err = lane.Submit(first, second)
	require.NoError(t, err)
	lane.Close()
	require.NoError(t, lane.Wait())
	assert.Equal(t, "q1", first.Result.Text())
	assert.Equal(t, "q1 q2", second.Result.Text())
}

// A call that fails is data: its siblings finish, and so do those that come after it, on every run.
func TestCase_sibling_failure_1(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delays := rapid.SliceOfN(rapid.IntRange(0, 5), 4, 4).Draw(t, "delays")
		admission := rapid.SampledFrom([]func() plan.Admission{plan.NewWaves, plan.NewFirstFit, plan.NewKeyed,
			plan.NewRolling, plan.NewSerial}).Draw(t, "admission")
		rapid.SyncTest(t, func(t *rapid.T) {
			body := func(ctx ctx, in file) (string, error) {
				select {
				case <-time.After(time.Duration(delays[strings.Index("abcd", in.Path)]) * time.Millisecond):
				case <-ctx.Done():
					return "", ctx.Err()
				}
				if in.Path == "b" {
					return "", errors.New("no such text")
				}
				return "edited " + in.Path, nil
			}
			r := registry(t,
				define(t, tool.Spec[file, string]{Name: "edit", Safe: safe[file], Claims: claim(plan.Write), Body: body}),
				define(t, tool.Spec[file, string]{Name: "read", Safe: safe[file], Claims: claim(plan.Read),
					Body: func(ctx, file) (string, error) { return "read", nil }}),
			)
			results, err := tool.Run(context.Background(), r, []tool.Call{
				call("edit", `{"path":"a"}`), call("edit", `{"path":"b"}`), call("edit", `{"path":"c"}`), call("read", `{"path":"b"}`),
			}, exec.Admit(admission))
			require.NoError(t, err)
			assert.Equal(t, []string{"edited a", "no such text", "edited c", "read"}, texts(results))
			assert.Equal(t, []tool.Code{"", "", "", ""}, codes(results))
			assert.True(t, results[1].IsError)
		})
	})
}

// One call can be cancelled by its index, and takes nobody with it.
func TestCase_sibling_failure_2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, define(t, tool.Spec[struct{}, string]{Name: "t", Safe: safe[struct{}], Body: func(ctx ctx, _ struct{}) (string, error) {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(time.Minute):
				return "finished", nil
			}
		}}))
		lane, err := exec.NewLane(t.Context())
		require.NoError(t, err)
		jobs := []*tool.Job{tool.NewJob(r, call("t", "")), tool.NewJob(r, call("t", "")), tool.NewJob(r, call("t", ""))}
		_, err = lane.Submit(jobs[0], jobs[1], jobs[2])
		require.NoError(t, err)
		lane.Close()
		synctest.Wait()
		lane.CancelCall(0, errors.New("not needed any more"))
		require.NoError(t, lane.Wait())
		assert.Equal(t, tool.Aborted, jobs[0].Result.Code)
		assert.Contains(t, jobs[0].Result.Text(), "(not needed any more)")
		assert.Equal(t, "finished", jobs[1].Result.Text())
		assert.Equal(t, "finished", jobs[2].Result.Text())
	})
}

// Whatever panics, or ends its goroutine, is the failure of its own call: at a limit of one the next call still runs.
func TestCase_sibling_failure_4(t *testing.T) {
	var nilError error
	ends := map[string]func(ctx, file) (string, error){
		"panic":   func(ctx, file) (string, error) { panic("x") },
		"nil":     func(ctx, file) (string, error) { panic(nilError) },
		"goexit":  func(ctx, file) (string, error) { runtime.Goexit(); return "", nil },
		"long":    func(ctx, file) (string, error) { panic(strings.Repeat("x", 1<<20)) },
		"nothing": echo,
	}
	for name, body := range ends {
		for _, limit := range []int{1, 2} {
			claims := claim(plan.Write)
			if name == "nothing" {
				claims = func(in file) ([]plan.Claim, error) { panic("in the claims of " + in.Path) }
			}
			r := registry(t,
				define(t, tool.Spec[file, string]{Name: "bad", Safe: safe[file], Claims: claims, Body: body}),
				define(t, tool.Spec[file, string]{Name: "good", Safe: safe[file], Claims: claim(plan.Write), Body: echo}),
			)
			results, err := tool.Run(t.Context(), r, []tool.Call{call("bad", `{"path":"a"}`), call("good", `{"path":"a"}`)}, exec.Limit(limit))
			require.NoError(t, err)
			assert.Equal(t, "a", results[1].Text(), "%s, limit %d", name, limit)
			if name == "nothing" {
				assert.Equal(t, "a", results[0].Text(), "panicking claims make a call exclusive, no more")
				continue
			}
			assert.Equal(t, tool.Panic, results[0].Code, "%s, limit %d", name, limit)
			assert.Less(t, len(results[0].Text()), 1000)
		}
	}
}

// A definition that is replaced while calls wait is the one that they run with, wholly: arguments, classification and
// body.
func TestCase_definitions_1(t *testing.T) {
	type other struct {
		Name string `json:"name"`
	}
	// Not under FirstFit, which may run the last call before the swap.
	for _, admission := range []func() plan.Admission{plan.NewWaves, plan.NewKeyed, plan.NewRolling, plan.NewSerial} {
		var running, overlap atomic.Int64
		a := define(t, tool.Spec[file, string]{Name: "t", Safe: safe[file], Body: func(ctx, file) (string, error) { return "A", nil }})
		b := define(t, tool.Spec[other, string]{Name: "t", Body: func(_ ctx, in other) (string, error) {
			if running.Add(1) > 1 {
				overlap.Add(1)
			}
			<-time.After(time.Second)
			running.Add(-1)
			return "B " + in.Name, nil
		}})
		r := registry(t, a)
		swap := func() error { return r.Replace(b) }
		require.NoError(t, r.Register(define(t, tool.Spec[struct{}, string]{Name: "swap", Body: func(ctx, struct{}) (string, error) { return "", swap() }})))
		calls := []tool.Call{call("t", `{"path":"a"}`), call("swap", ""), call("t", `{"name":"x"}`), call("t", `{"name":"y"}`), call("t", `{"path":"a"}`)}

		assert.Equal(t, []plan.Call{{Safe: true}, {}, {}, {}, {Safe: true}}, tool.Calls(r, calls))
		synctest.Test(t, func(t *testing.T) {
			results, err := tool.Run(t.Context(), r, calls, exec.Admit(admission))
			require.NoError(t, err)
			assert.Equal(t, []string{"A", "", "B x", "B y"}, texts(results[:4]))
			assert.Equal(t, tool.InvalidArgs, results[4].Code)
			assert.Contains(t, results[4].Text(), "missing property 'name'")
		})
		assert.Zero(t, overlap.Load(), "B is exclusive: never A's plan with B's body")

		require.NoError(t, r.Replace(a))
		swap = func() error { r.Unregister("t"); return nil }
		results, err := tool.Run(t.Context(), r, calls[:3], exec.Admit(admission))
		require.NoError(t, err)
		assert.Equal(t, []tool.Code{"", "", tool.UnknownTool}, codes(results))
	}
}

// Definitions change while batches run, and each call still runs by exactly one of them.
func TestRegistryUnderRuns(t *testing.T) {
	versions := make([]*tool.Definition, 4)
	for i := range versions {
		name := string(rune('A' + i))
		versions[i] = define(t, tool.Spec[file, string]{
			Name: "t", Safe: safe[file],
			Claims: func(file) ([]plan.Claim, error) { return []plan.Claim{{Key: name, Access: plan.Read}}, nil },
			Body:   func(ctx, file) (string, error) { return name, nil },
		})
	}
	r := registry(t, versions[0])
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				assert.NoError(t, r.Replace(versions[i%len(versions)]))
			}
		}
	})
	calls := slices.Repeat([]tool.Call{call("t", `{"path":"a"}`)}, 50)
	for range 20 {
		results, err := tool.Run(t.Context(), r, calls)
		require.NoError(t, err)
		for _, got := range results {
			assert.Contains(t, []string{"A", "B", "C", "D"}, got.Text())
		}
		require.Len(t, r.Definitions(), 1)
	}
	close(stop)
	wg.Wait()
}
