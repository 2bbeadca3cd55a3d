package codemode_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/codemode/js"
	"github.com/keywave-go/keywave/tool"
)

// runtimes are the real ones.
var runtimes = []struct {
	name string
	open func(t testing.TB) *js.Runtime
}{
	{"in-process", func(t testing.TB) *js.Runtime {
		rt := js.NewInProcess()
		t.Cleanup(func() { require.NoError(t, rt.Close()) })
		return rt
	}},
	{"worker", func(t testing.TB) *js.Runtime {
		rt, err := js.New(js.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, rt.Close()) })
		return rt
	}},
}

// typeScript is the call of run_code with a program.
func typeScript(t require.TestingT, code string) tool.Call {
	arguments, err := json.Marshal(codemode.Program{Code: code, Description: "test"})
	require.NoError(t, err)
	return tool.Call{ID: "c1", Name: codemode.Name, Arguments: string(arguments)}
}

func newDesk() *desk {
	return &desk{running: map[string]int{}, meeting: make(chan struct{})}
}

// What a program returns never fails by its shape; what is no JSON as an argument fails that call, and leaves nothing.
func TestCase_code_mode_4(t *testing.T) {
	d := newDesk()
	for program, want := range map[string]string{
		`return undefined`:                      "The program returned nothing.",
		`return 1n`:                             "1",
		`const x: any = {}; x.x = x; return x`:  "circular",
		`return () => 1`:                        "",
		`return Symbol()`:                       "",
		`return NaN`:                            "",
		`return new Map([[1, 2]])`:              "",
		`return [tools.read({key: "a"})]`:       "await",
		`return {a: undefined, b: [undefined]}`: "",
		`return "\ud800"`:                       "\uFFFD",
		`return JSON.parse('{"__proto__": 1}')`: "__proto__",
		`let x: any = 1; for (let i = 0; i < 5000; i++) x = [x]; return x`: "[",
	} {
		r := d.ask(t, program)
		assert.Empty(t, r.Code, "%s: %s", program, r.Text())
		assert.Contains(t, r.Text(), want, program)
		assert.NotContains(t, r.Text(), "[{}]", program)
	}
	before := d.noted()
	for _, arguments := range []string{`undefined`, `{a: 1n}`, `(() => { const x: any = {}; x.x = x; return x })()`, `{key: undefined}`, `{key: () => 1}`, `{key: Symbol()}`, `{ms: NaN}`, `{ms: -0}`} {
		text := d.ask(t, `try { await tools.read(`+arguments+`); return "called" } catch (e) { return "caught " + (e instanceof TypeError) }`).Text()
		assert.Equal(t, "caught true", text, arguments)
	}
	assert.Equal(t, before, d.noted(), "nothing was called")
	assert.Equal(t, "secret of ", d.ask(t, `return await tools.read()`).Text(), "no argument is {}")
	assert.True(t, strings.HasSuffix(d.noted(), "read:"))
}

// A loop of any kind ends at the limit, and nothing in the program can go on from there, or call anything; meanwhile and
// afterwards the host and other programs are well.
func TestCase_code_mode_5(t *testing.T) {
	for _, mode := range runtimes {
		t.Run(mode.name, func(t *testing.T) {
			rt := mode.open(t)
			newHostOf := func(j *journal, compute time.Duration) *host {
				h := newHost(t, nil, j.tools(t))
				v, err := codemode.New(rt, j.tools(t), codemode.Limit(codemode.Limits{Compute: compute}))
				require.NoError(t, err)
				h.Scheduler.Tools = v
				return h
			}
			var loops sync.WaitGroup
			for _, loop := range []string{
				`while (true) {}`,
				`Promise.resolve().then(() => { while (true) {} })`,
				`await Promise.resolve().then(() => { while (true) {} })`,
				`for (;;) { try { while (true) {} } catch (e) {} }`,
				`for (;;) await Promise.resolve()`,
				`/^(a+)+$/.test("a".repeat(40) + "b")`,
			} {
				loops.Go(func() {
					j := newJournal()
					results, err := newHostOf(j, 100*time.Millisecond).step(t.Context(), typeScript(t, `
						await tools.read({key: "before"});
						try { `+loop+` } catch (e) { await tools.edit({key: "caught"}) } finally { tools.edit({key: "finally"}) }
						await tools.edit({key: "after"});
						`+loop))
					if assert.NoError(t, err) {
						assert.Equal(t, tool.CodeRunFailed, results[0].Code, loop)
						assert.Equal(t, codemode.Timeout, failure(t, results[0]), loop)
						for _, line := range j.all() {
							if !strings.Contains(loop, "Promise.resolve().then") || strings.HasPrefix(loop, "await") { // else the rest runs before the loop
								assert.NotContains(t, line, "edit", loop)
							}
						}
					}
				})
			}
			well := func() {
				results, err := newHostOf(newJournal(), 20*time.Second).step(t.Context(), typeScript(t, `return await tools.read({key: "well"})`))
				require.NoError(t, err)
				assert.Equal(t, "well", results[0].Text())
			}
			well()
			loops.Wait()
			well()
		})
	}
}

// A failure is told of also if it came before the end of the program, and the program has not looked since.
func TestC4UnheardFailure(t *testing.T) {
	for _, mode := range runtimes {
		v, err := codemode.New(mode.open(t), newDesk().tools(t), codemode.Limit(codemode.Limits{Payload: 1000}))
		require.NoError(t, err)
		r, err := tool.Execute(t.Context(), v, typeScript(t, `
			tools.fail({}); tools.denied({wrong: 1}); const read = tools.read({key: "a"});
			const start = Date.now(); while (Date.now() - start < 100);
			return "done"`))
		require.NoError(t, err)
		assert.Equal(t, "done", r.Content[0].Text, mode.name)
		assert.Contains(t, r.Text(), "Note: tools.fail, which was not awaited, failed: boom", mode.name)
		assert.Contains(t, r.Text(), "Note: tools.denied, which was not awaited, failed: The arguments of denied are invalid", mode.name)
		assert.NotContains(t, r.Text(), "read", mode.name)
	}
}

// The real runtime under the bridge, for what a fake one takes for granted: rejections, combinators, what is left over.
func TestC4RejectionCancelsNothing(t *testing.T) {
	d := newDesk()
	text := d.ask(t, `
		let mark = "";
		try { await Promise.all([tools.fail({}), tools.meet({})]) } catch (e) { mark = "caught" }
		return mark + " " + await tools.meet({})`).Text()
	assert.Equal(t, "caught met", text, "the rejection did not cancel the other call")
}
