package codemode_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

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

// The real runtime under the bridge, for what a fake one takes for granted: rejections, combinators, what is left over.
func TestC4RejectionCancelsNothing(t *testing.T) {
	d := newDesk()
	text := d.ask(t, `
		let mark = "";
		try { await Promise.all([tools.fail({}), tools.meet({})]) } catch (e) { mark = "caught" }
		return mark + " " + await tools.meet({})`).Text()
	assert.Equal(t, "caught met", text, "the rejection did not cancel the other call")
}
