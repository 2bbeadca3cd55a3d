package js_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/codemode/js"
)

var bare = context.Background()

// children are the processes whose parent is pid; nil where that cannot be known.
func children(t testing.TB, pid int) []int {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	var all []int
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has gone
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		f := strings.Fields(rest)
		if len(f) > 1 && f[1] == strconv.Itoa(pid) && f[0] != "Z" {
			id, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			require.NoError(t, err)
			all = append(all, id)
		}
	}
	return all
}

func descriptors() int {
	fds, _ := os.ReadDir("/proc/self/fd")
	return len(fds)
}

func resident() int {
	text, _ := os.ReadFile("/proc/self/statm")
	f := strings.Fields(string(text))
	if len(f) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(f[1])
	return n * os.Getpagesize()
}

func eventually(t testing.TB, what string, ok func() bool) {
	for range 2000 {
		if ok() {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	require.Fail(t, what)
}

// TestHostDies: the workers of a host that is killed end with it, also the one that computes.
func TestHostDies(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=host")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "running\n", line)
	workers := children(t, cmd.Process.Pid)
	if runtime.GOOS == "linux" {
		require.GreaterOrEqual(t, len(workers), 3)
	}
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	eventually(t, "the workers outlive their host", func() bool {
		for _, w := range workers {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w))
			_, rest, _ := strings.Cut(string(text), ") ")
			if err == nil && !strings.HasPrefix(rest, "Z") {
				return false
			}
		}
		return true
	})
}

// TestHook: without the line in main the error says which, and nothing is started.
func TestHook(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=no hook")
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "js.Worker()")
	require.Contains(t, string(out), "main")
}

func TestOptions(t *testing.T) {
	_, err := js.New(js.Options{Max: -1})
	require.Error(t, err)
	r, err := js.New(js.Options{Warm: -1})
	require.NoError(t, err)
	o, err := r.Run(t.Context(), "return 1", codemode.Bindings{}, codemode.Limits{})
	require.NoError(t, err)
	require.Equal(t, "1", string(o.Value))
	require.NoError(t, r.Close())
	if runtime.GOOS == "linux" {
		require.Empty(t, children(t, os.Getpid()))
	}
}

// TestMax: there are no more workers than that; a program that finds none waits, and its time runs.
func TestMax(t *testing.T) {
	r, err := js.New(js.Options{Max: 2})
	require.NoError(t, err)
	defer r.Close()
	var mu sync.Mutex
	now, most := 0, 0
	b := codemode.Bindings{Tools: []string{"slow"}, Call: func(_ string, _ json.RawMessage, settle func(json.RawMessage, string)) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		go func() {
			<-time.After(20 * time.Millisecond)
			mu.Lock()
			now--
			mu.Unlock()
			settle(json.RawMessage("1"), "")
		}()
	}}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			o, err := r.Run(t.Context(), "return await tools.slow()", b, codemode.Limits{})
			if err != nil || o.Failure != "" {
				t.Error(o.Message, err)
			}
		})
	}
	wait.Wait()
	require.Equal(t, 2, most)
	if runtime.GOOS == "linux" {
		require.LessOrEqual(t, len(children(t, os.Getpid())), 2)
	}

	b.Call = func(string, json.RawMessage, func(json.RawMessage, string)) {}
	ctx, cancel := context.WithCancel(t.Context())
	for range 2 {
		wait.Go(func() { _, _ = r.Run(ctx, "await tools.slow()", b, codemode.Limits{}) })
	}
	eventually(t, "two run", func() bool {
		o, err := r.Run(t.Context(), "return 1", codemode.Bindings{}, codemode.Limits{Wall: 50 * time.Millisecond})
		return err == nil && o.Failure == codemode.Timeout
	})
	cancel()
	wait.Wait()
}

// TestClose: what runs is aborted, and nothing runs after it.
func TestClose(t *testing.T) {
	for _, m := range modes {
		r := m.open(t)
		started := make(chan struct{})
		b := codemode.Bindings{Tools: []string{"slow"}, Call: func(string, json.RawMessage, func(json.RawMessage, string)) { close(started) }}
		var o codemode.Outcome
		var err error
		var wait sync.WaitGroup
		wait.Go(func() { o, err = r.Run(t.Context(), "await tools.slow()", b, codemode.Limits{}) })
		<-started
		require.NoError(t, r.Close())
		wait.Wait()
		require.NoError(t, err)
		require.Equal(t, codemode.Abort, o.Failure)
		require.Contains(t, o.Message, js.ErrClosed.Error())
		_, err = r.Run(t.Context(), "return 1", codemode.Bindings{}, codemode.Limits{})
		require.ErrorIs(t, err, js.ErrClosed)
		require.NoError(t, r.Close(), "again")
	}
}

func TestBindings(t *testing.T) {
	r := js.NewInProcess()
	defer r.Close()
	_, err := r.Run(t.Context(), "", codemode.Bindings{Tools: []string{"a"}}, codemode.Limits{})
	require.Error(t, err)
	_, err = r.Run(t.Context(), "", codemode.Bindings{Tools: []string{"a", "a"}, Call: nothing}, codemode.Limits{})
	require.Error(t, err)
	_, err = r.Run(t.Context(), "", codemode.Bindings{Tools: []string{"a\xff", "a\xfe"}, Call: nothing}, codemode.Limits{})
	require.Error(t, err)
	o, err := r.Run(t.Context(), `return await tools["a\ufffd"](1)`, codemode.Bindings{Tools: []string{"a\xff"},
		Call: func(name string, _ json.RawMessage, settle func(json.RawMessage, string)) {
			settle(json.RawMessage(strconv.Itoa(len(name))), "")
		}}, codemode.Limits{})
	require.NoError(t, err)
	require.Equal(t, "2", string(o.Value), o.Message)
	_, err = r.Run(t.Context(), "", codemode.Bindings{}, codemode.Limits{Memory: 1})
	require.Error(t, err)
	_, err = r.Run(t.Context(), "", codemode.Bindings{}, codemode.Limits{Source: 65 << 10})
	require.Error(t, err)
}

// TestHostPanics: a function of the host that panics ends the program, not the host.
func TestHostPanics(t *testing.T) {
	for _, m := range modes {
		r := m.open(t)
		for source, b := range map[string]codemode.Bindings{
			"try { await tools.f() } catch {} return 1": {Tools: []string{"f"},
				Call: func(string, json.RawMessage, func(json.RawMessage, string)) { panic("boom") }},
			"try { Date.now() } catch {} return 1":    {Now: func() time.Time { panic("boom") }},
			"try { Math.random() } catch {} return 1": {Rand: func() float64 { panic("boom") }},
		} {
			o, err := r.Run(t.Context(), source, b, codemode.Limits{})
			require.NoError(t, err)
			require.Equal(t, codemode.Crash, o.Failure, source)
			require.Contains(t, o.Message, "host", source)
		}
	}
}

// TestVirtualTime: in-process, a program sleeps by the clock of the test that runs it.
func TestVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := js.NewInProcess()
		defer r.Close()
		start := time.Now()
		o, err := r.Run(t.Context(), "await new Promise(r => setTimeout(r, 3600000)); return Date.now()",
			codemode.Bindings{Now: time.Now}, codemode.Limits{Wall: 2 * time.Hour})
		require.NoError(t, err)
		require.Empty(t, o.Failure, o.Message)
		require.Equal(t, time.Hour, time.Since(start))
		require.Equal(t, fmt.Sprint(start.Add(time.Hour).UnixMilli()), string(o.Value))

		start = time.Now()
		o, err = r.Run(t.Context(), "await tools.never()", codemode.Bindings{Tools: []string{"never"},
			Call: func(string, json.RawMessage, func(json.RawMessage, string)) {}}, codemode.Limits{Wall: time.Hour})
		require.NoError(t, err)
		require.Equal(t, codemode.Timeout, o.Failure)
		require.Equal(t, time.Hour, time.Since(start))

		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("too late"))
		defer cancel()
		o, err = r.Run(ctx, "await new Promise(r => setTimeout(r, 3600000))", codemode.Bindings{}, codemode.Limits{Wall: 2 * time.Hour})
		require.NoError(t, err)
		require.Equal(t, codemode.Abort, o.Failure)
		require.Contains(t, o.Message, "too late")
	})
}

// TestHundred: a hundred programs at once, each with calls that are all in flight at once.
func TestHundred(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			r := m.open(t)
			var wait sync.WaitGroup
			var mu sync.Mutex
			var held []func()
			b := codemode.Bindings{Tools: []string{"echo"}, Call: func(_ string, a json.RawMessage, settle func(json.RawMessage, string)) {
				mu.Lock()
				defer mu.Unlock()
				// All hundred are there before any goes on.
				if held = append(held, func() { settle(a, "") }); len(held) == 1000 {
					go func() {
						for _, f := range held {
							f()
						}
					}()
				}
			}}
			for i := range 100 {
				wait.Go(func() {
					o, err := r.Run(t.Context(), fmt.Sprintf(`
						const all = await Promise.all([...Array(10).keys()].map(i => tools.echo({i, run: %d})));
						return all.every((a, i) => a.i === i && a.run === %d)`, i, i), b, codemode.Limits{})
					if err != nil || string(o.Value) != "true" {
						t.Error(i, err, o.Message, string(o.Value))
					}
				})
			}
			wait.Wait()
		})
	}
}

// TestSoak runs ten thousand programs of all kinds, and finds nothing left of them.
func TestSoak(t *testing.T) {
	n := 10000
	if testing.Short() {
		n = 600
	}
	programs := []string{
		"return 1", "throw new Error('x')", "return await tools.echo({a: [1, 2]})", "console.log('x'.repeat(100)); return {a: 1n}",
		"await new Promise(() => {})", "const x: number = 1; return x", "Promise.reject(1); tools.slow(); return 2",
		"return await Promise.all([1, 2, 3].map(i => tools.echo(i)))", "syntax error", "await tools.slow()", "for (;;);",
		"const a = []; for (;;) a.push(new Array(1000).fill(1))",
	}
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			r := m.open(t)
			b := codemode.Bindings{Tools: []string{"echo", "slow"}, Call: func(name string, a json.RawMessage, settle func(json.RawMessage, string)) {
				if name == "echo" {
					go settle(a, "")
				}
			}}
			round := func(n int) {
				var wait sync.WaitGroup
				for w := range 4 {
					wait.Go(func() {
						for i := w; i < n; i += 4 {
							// Those that are stopped take their time: they are one in fifty.
							source := programs[i%9]
							limits := codemode.Limits{}
							if i%50 == 49 {
								source = programs[9+i/50%3]
								limits = codemode.Limits{Wall: 100 * time.Millisecond, Compute: 30 * time.Millisecond, Memory: 4 << 20}
							}
							if _, err := r.Run(bare, source, b, limits); err != nil {
								t.Error(err)
							}
						}
					})
				}
				wait.Wait()
			}
			round(n / 5)
			runtime.GC()
			goroutines, fds, memory := runtime.NumGoroutine(), descriptors(), resident()
			round(n * 4 / 5)
			runtime.GC()
			eventually(t, "goroutines are left", func() bool { return runtime.NumGoroutine() <= goroutines+4 })
			require.LessOrEqual(t, descriptors(), fds+12, "a few workers may have come")
			require.Less(t, resident()-memory, 24<<20, "bytes that grew")
			if runtime.GOOS == "linux" {
				eventually(t, "processes are left", func() bool { return len(children(t, os.Getpid())) <= 4 })
			}
			require.NoError(t, r.Close())
			if runtime.GOOS == "linux" {
				require.Empty(t, children(t, os.Getpid()))
			}
		})
	}
}
