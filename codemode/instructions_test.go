package codemode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/codemode/js"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// A desk has the tools that the programs below call.
type desk struct {
	mu      sync.Mutex
	calls   []string
	running map[string]int
	peak    int           // of calls at the desk at once
	meeting chan struct{} // of two calls of meet
}

func (d *desk) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, fmt.Sprintf(format, args...))
}

func (d *desk) noted() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.calls, " ")
}

func (d *desk) tools(t require.TestingT) *tool.Registry {
	object := func(_ ctx, i in) (map[string]any, error) { return map[string]any{"key": i.Key, "n": 1}, nil }
	return registry(t,
		define(t, tool.Spec[in, string]{Name: "read", Safe: isSafe, Body: func(_ ctx, i in) (string, error) { d.note("read:%s", i.Key); return "secret of " + i.Key, nil }}),
		define(t, tool.Spec[in, map[string]any]{Name: "stat", Safe: isSafe, Body: object}),
		define(t, tool.Spec[in, string]{Name: "a-b", Body: func(_ ctx, i in) (string, error) { return "dashed", nil }}),
		define(t, tool.Spec[in, string]{Name: "fail", Body: func(ctx, in) (string, error) { return "", errBoom }}),
		define(t, tool.Spec[in, string]{Name: "denied", Body: func(ctx, in) (string, error) { panic("never") }}),
		define(t, tool.Spec[in, string]{Name: "meet", Safe: isSafe, Body: func(c ctx, _ in) (string, error) {
			select { // it takes two
			case d.meeting <- struct{}{}:
			case <-d.meeting:
			case <-c.Done():
				return "", context.Cause(c)
			}
			return "met", nil
		}}),
		define(t, tool.Spec[in, string]{Name: "edit", Safe: isSafe, Claims: claims(plan.Write), Body: func(c ctx, i in) (string, error) {
			d.note("edit:%d", i.Ms)
			select {
			case <-time.After(time.Duration(10-i.Ms) * time.Millisecond): // later ones would overtake
			case <-c.Done():
			}
			d.note("done:%d", i.Ms)
			return "edited", nil
		}}),
		define(t, tool.Spec[in, string]{Name: "crowd", Safe: isSafe, Body: func(c ctx, _ in) (string, error) {
			d.mu.Lock()
			d.running["crowd"]++
			d.peak = max(d.peak, d.running["crowd"])
			d.mu.Unlock()
			defer func() {
				d.mu.Lock()
				d.running["crowd"]--
				d.mu.Unlock()
			}()
			<-time.After(time.Millisecond)
			return "", nil
		}}),
		define(t, tool.Spec[in, string]{Name: "stuck", Safe: isSafe, Body: func(c ctx, i in) (string, error) {
			d.note("stuck")
			<-c.Done()
			d.note("aborted")
			return "", context.Cause(c)
		}}),
	)
}

// ask runs a program in TypeScript.
func (d *desk) ask(t require.TestingT, code string, opts ...codemode.Option) tool.Result {
	rt := js.NewInProcess()
	defer rt.Close()
	v, err := codemode.New(rt, d.tools(t), opts...)
	require.NoError(t, err)
	arguments, err := json.Marshal(codemode.Program{Code: code, Description: "test"})
	require.NoError(t, err)
	p := &tool.Pipeline{Policies: []tool.Policy{func(_ ctx, c *tool.Invocation) (tool.Verdict, error) {
		if c.Call.Name == "denied" {
			return tool.Verdict{Action: tool.Deny}, nil
		}
		return tool.Verdict{Action: tool.Allow}, nil
	}}}
	results, err := p.Run(context.Background(), v, []tool.Call{{ID: "c1", Name: codemode.Name, Arguments: string(arguments)}})
	require.NoError(t, err)
	return results[0]
}

// A sentence of the instructions, and programs that hold it to what it says.
type sentence struct {
	text string
	hold func(t *testing.T, d *desk, ask func(code string) string)
}

var sentences = []sentence{
	{"Runs a program that calls tools, and shows what it logs and returns.", func(t *testing.T, d *desk, ask func(string) string) {
		assert.Equal(t, "Logs:\nlogged\nReturned:\nsecret of a", ask(`console.log("logged"); return await tools.read({key: "a"})`))
	}},
	{"Nothing that the calls return is shown, except as the program logs or returns it.", func(t *testing.T, d *desk, ask func(string) string) {
		assert.Equal(t, "11", ask(`const r = await tools.read({key: "a"}); return r.length`))
	}},
	{"`code` is the body of an async function in TypeScript: it may use await and return.", func(t *testing.T, d *desk, ask func(string) string) {
		assert.Equal(t, "3", ask(`const one: number = await Promise.resolve(1); enum E { Two = 2 } return (one as number) + E.Two`))
	}},
	{"It can reach the language and the tools, and nothing else: there are no files, no network, and no modules to import.", func(t *testing.T, d *desk, ask func(string) string) {
		assert.Equal(t, "undefined,undefined,undefined,undefined,undefined", ask(`return [typeof require, typeof process, typeof fetch, typeof Deno, typeof std].join()`))
		assert.NotContains(t, ask(`const m = await import("fs"); return "in"`), "in\n")
		assert.Contains(t, ask(`const m = await import("fs"); return "in"`), "failed (exception)")
	}},
	{"Each tool is a function of the object `tools`: `const r = await tools.name({...})`.", func(t *testing.T, d *desk, ask func(string) string) {
		assert.Equal(t, "function secret of k", ask(`const r = await tools.read({key: "k"}); return typeof tools.read + " " + r`))
	}},
	{"It takes one object, and its promise resolves with what the tool returns: a string, or JSON.", func(t *testing.T, d *desk, ask func(string) string) {
		assert.Equal(t, "string secret of k", ask(`const r = await tools.read({key: "k"}); return typeof r + " " + r`))
		assert.Equal(t, "object k2", ask(`const r = await tools.stat({key: "k"}); return typeof r + " " + r.key + (r.n + 1)`))
	}},
	{"A name that is no identifier goes in brackets: `tools[\"a-b\"]({...})`.", func(t *testing.T, d *desk, ask func(string) string) {
		assert.Equal(t, "dashed", ask(`return await tools["a-b"]({})`))
	}},
	{"The promise of a call that fails, is not allowed, or has arguments that are wrong, rejects with a ToolCallError, which has a toolName and a message.", func(t *testing.T, d *desk, ask func(string) string) {
		for program, want := range map[string]string{`tools.fail({})`: "fail true boom", `tools.denied({})`: "denied true denied was not run: it is not allowed", `tools.read({wrong: 1})`: "read true The arguments of read are invalid"} {
			assert.Contains(t, ask(`try { await `+program+`; return "none" } catch (e) { return e.toolName + " " + (e instanceof ToolCallError) + " " + e.message }`), want)
		}
	}},
	{"A program that does not catch it fails with it; what other calls have done stays done.", func(t *testing.T, d *desk, ask func(string) string) {
		text := ask(`await tools.read({key: "a"}); await tools.fail({})`)
		assert.Contains(t, text, "The program failed (exception): ")
		assert.Contains(t, text, "boom")
		assert.Contains(t, text, "It had made 2 calls, whose effects stay.")
		assert.Equal(t, "read:a", d.noted())
	}},
	{"Independent calls that are safe may run at the same time, at most 10 of them: make them without await in between, and await them with Promise.all or Promise.allSettled.", func(t *testing.T, d *desk, ask func(string) string) {
		assert.Equal(t, "met met", ask(`return (await Promise.all([tools.meet({}), tools.meet({})])).join(" ")`))
		assert.Equal(t, "fulfilled fulfilled", ask(`return (await Promise.allSettled([tools.meet({}), tools.meet({})])).map(r => r.status).join(" ")`))
		assert.Equal(t, "30", ask(`return (await Promise.all([...Array(30)].map(() => tools.crowd({})))).length`))
		assert.LessOrEqual(t, d.peak, 10)
		assert.Greater(t, d.peak, 1)
	}},
	{"Calls that conflict, such as two edits of one file, run one after the other, in the order in which they are made, also under Promise.all.", func(t *testing.T, d *desk, ask func(string) string) {
		ask(`await Promise.all([1, 2, 3].map(n => tools.edit({key: "a", ms: n})))`)
		assert.Equal(t, "edit:1 done:1 edit:2 done:2 edit:3 done:3", d.noted())
	}},
	{"Await what a later call needs before you make that call.", func(t *testing.T, d *desk, ask func(string) string) {
		assert.Equal(t, "secret of secret of a", ask(`const a = await tools.read({key: "a"}); return await tools.read({key: a})`))
		assert.Equal(t, "read:a read:secret of a", d.noted())
	}},
	{"Await every call: when the program ends, calls that are still running are aborted, and calls that have not started are dropped.", func(t *testing.T, d *desk, ask func(string) string) {
		text := ask(`tools.stuck({}); const r = tools.read({key: "a"}); tools.edit({key: "a"}); await new Promise(f => setTimeout(f, 20)); return "done"`)
		assert.True(t, strings.HasPrefix(text, "done\n"), text)
		assert.Contains(t, text, "calls were still running, and were aborted; their effects may have happened: tools.stuck.")
		assert.Contains(t, text, "calls had not started, and were not run: tools.edit.")
		assert.ElementsMatch(t, []string{"stuck", "read:a", "aborted"}, strings.Fields(d.noted()))
	}},
	{"A string that is returned is shown as it is, anything else as JSON; what console.log is given is shown, too.", func(t *testing.T, d *desk, ask func(string) string) {
		assert.Equal(t, "a \"b\"\n</c>", ask(`return 'a "b"\n</c>'`))
		assert.Equal(t, `{"a":[1,null,"x"]}`, ask(`return {a: [1, null, "x"]}`))
		assert.Equal(t, "Logs:\none 2", ask(`console.log("one", 2)`))
	}},
	{"A program can make 200 calls, log 64 KiB and return 256 KiB.", func(t *testing.T, d *desk, ask func(string) string) {
		assert.Equal(t, "done", ask(`for (let i = 0; i < 200; i++) await tools.read({}); return "done"`))
		assert.Contains(t, ask(`for (let i = 0; i < 201; i++) await tools.read({}); return "done"`), "The program failed (call-limit)")
		text := ask(`for (let i = 0; i < 65; i++) console.log("x".repeat(1023))`)
		assert.Equal(t, 64*1023, strings.Count(text, "x"))
		assert.Contains(t, text, "bytes more were logged")
		assert.Len(t, ask(`return "x".repeat((256 << 10) - 2)`), 256<<10-2)
		assert.Contains(t, ask(`return "x".repeat(256 << 10)`), "The program failed (output-limit)")
	}},
}

// Each sentence of the instructions is true of a program in the real runtime, and there is no other.
func TestInstructions(t *testing.T) {
	rest := mustDescribe(t)
	for _, s := range sentences {
		require.Contains(t, rest, s.text)
		rest = strings.Replace(rest, s.text, "", 1)
		t.Run(s.text, func(t *testing.T) {
			d := &desk{running: map[string]int{}, meeting: make(chan struct{})}
			s.hold(t, d, func(code string) string {
				r := d.ask(t, code)
				return r.Text()
			})
		})
	}
	instructions, declarations, ok := strings.Cut(rest, "declare const tools")
	require.True(t, ok)
	assert.Empty(t, strings.Trim(instructions, " -\n"), "a sentence without a test")
	isTypeScript(t, "declare const tools"+declarations)
}

func mustDescribe(t require.TestingT, opts ...codemode.Option) string {
	rt := js.NewInProcess()
	defer rt.Close()
	v, err := codemode.New(rt, (&desk{}).tools(t), opts...)
	require.NoError(t, err)
	return v.Definitions()[0].Description
}

// What a host sets is what the model is told, and what holds.
func TestInstructionsOfOptions(t *testing.T) {
	opts := []codemode.Option{codemode.MaxParallelSubCalls(3), codemode.DrainUnawaited(20 * time.Millisecond),
		codemode.Limit(codemode.Limits{Calls: 12, Logs: 2 << 20, Value: 1000, Wall: time.Minute, Compute: 50 * time.Millisecond})}
	text := mustDescribe(t, opts...)
	for _, s := range []string{
		"at most 3 of them", "A program can make 12 calls, log 2 MiB and return 1000 bytes. It has 1m0s, of which it can compute for 50ms.",
		"- Await every call: when the program ends, calls that have not ended get 20ms more; then those that are running are aborted, and those that have not started are dropped.\n",
	} {
		assert.Contains(t, text, s)
	}
	assert.Contains(t, mustDescribe(t, codemode.Limit(codemode.Limits{Wall: time.Second})), "256 KiB. It has 1s.\n")
	assert.Contains(t, mustDescribe(t, codemode.Limit(codemode.Limits{Compute: time.Second})), "256 KiB. It can compute for 1s.\n")

	d := &desk{running: map[string]int{}, meeting: make(chan struct{})}
	d.ask(t, `await Promise.all([...Array(12)].map(() => tools.crowd({})))`, opts...)
	assert.LessOrEqual(t, d.peak, 3)
	assert.Contains(t, d.ask(t, `for (let i = 0; i < 13; i++) await tools.crowd({})`, opts...).Text(), "call-limit")
	assert.Contains(t, d.ask(t, `return "x".repeat(999)`, opts...).Text(), "output-limit")
	assert.Contains(t, d.ask(t, `for (;;);`, opts...).Text(), "The program failed (timeout)")
	assert.Contains(t, d.ask(t, `tools.edit({key: "grace", ms: 9}); return "done"`, opts...).Text(), "done")
	assert.Equal(t, "edit:9 done:9", d.noted())
	text = d.ask(t, `tools.stuck({}); tools.edit({key: "late"}); return "done"`, opts...).Text()
	assert.Contains(t, text, "were aborted; their effects may have happened: tools.stuck")
	assert.Contains(t, text, "were not run: tools.edit")
}
