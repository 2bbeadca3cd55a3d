package js

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/codemode"
	"time"
)

func limitsOf(wall, compute time.Duration) codemode.Limits {
	return codemode.Limits{Wall: wall, Compute: compute}
}

func TestNesting(t *testing.T) {
	many := strings.Repeat("(", 300)
	deep := map[string]string{
		"plain":                         many,
		"mixed":                         strings.Repeat("([{", 100),
		"behind a string":               `")))"` + many,
		"behind closers in strings":     strings.Repeat(`(")",`, 300),
		"behind closers in comments":    strings.Repeat(`(/*)*/`, 300),
		"behind closers in lines":       strings.Repeat("(//)\n", 300),
		"behind closers in templates":   strings.Repeat("(`)`,", 300),
		"behind closers in regexps":     strings.Repeat("(/)/,", 300),
		"behind closers in classes":     strings.Repeat("(/[)/]/,", 300),
		"behind an escaped quote":       strings.Repeat(`("\")",`, 300),
		"in templates":                  strings.Repeat("`${", 300),
		"in substitutions":              "`${" + many,
		"behind a division":             "a /b\n" + many,
		"behind a HTML comment":         "<!-- '\n" + many,
		"behind a HTML comment's end":   "\n--> '\n" + many,
		"behind a comment and its end":  "/*\n*/ --> '\n" + many,
		"behind such an end in a line":  "1\n\f--> '\n" + many,
		"behind such an end, space":     "1\n\u00a0--> '\n" + many,
		"behind such an end, separator": "1\u2028--> '\n" + many,
		"behind a line separator":       "// x\u2028" + many,
		"behind a continued string":     "'a\\\nb'" + many,
		"behind a continued string, CR": "'a\\\r\nb'" + many,
		"behind a string's separator":   "'a\u2028b'" + many,
	}
	for name, source := range deep {
		d, _ := nesting(source)
		require.True(t, d, name)
	}
	flat := map[string]string{
		"strings":       `"` + many + `" + '` + many + `'`,
		"comments":      "/*" + many + "*/ //" + many,
		"templates":     "`" + many + "`",
		"siblings":      strings.Repeat("(1);[2];{3}\n", 1000),
		"divisions":     strings.Repeat("x = (a / b) / c[1] / (d / e);\n", 500),
		"regexps":       strings.Repeat("x = y.replace(/[^(]\\/(a|b)/g, '(') + z.split(/\\s*[,)]\\s*/);\n", 500),
		"substitutions": strings.Repeat("x = `a${f(`b${[c]}`)}d`;\n", 500),
		"apostrophes":   strings.Repeat("// it's (\nx = 1 /* don't ( */\n", 300),
		"countdowns":    strings.Repeat("while (i --> 0) { f(i) }\n", 300),
		"prose":         strings.Repeat("s += `it's 1/2 of (the \\` work`;\n", 300),
	}
	for name, source := range flat {
		d, c := nesting(source)
		require.False(t, d, name)
		require.False(t, c, name)
	}
	for _, source := range []string{"}", "(1))", "f();})(); (() => {", "'x'}", "/[/]}/}", "1\n\f--> '\n}"} {
		_, c := nesting(source)
		require.True(t, c, source)
	}
}

// FuzzNesting: the engine's own parser never finds brackets nested more deeply than the reading did, as far as that can
// be seen: a source with one more bracket around each of its own is refused, or was deep.
func FuzzNesting(f *testing.F) {
	for _, s := range []string{"(a/b)/c", "`${`${1}`}`", "/[(]/.test('(')", "a\n--> (", "x<!--(", "'\\\n('", "a++/b/(c)", "}//"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 2000 {
			return
		}
		m, err := boot()
		require.NoError(t, err)
		defer m.close()
		// The brackets of a program that compiles are closed. If it then is in code at its end, what comes behind it is
		// counted in full.
		if !m.compiles("(async () => {" + source + "\n})") {
			return
		}
		deep, closes := nesting(source + "\n" + strings.Repeat("(", maxNesting+1))
		require.True(t, deep || closes, "%q", source)
	})
}

func TestGeneric(t *testing.T) {
	for source, want := range map[string]bool{
		"f<string>(x)": true, "new Set<number>([1])": true, "tag<A>`x`": true, "const g = f<A>\nh()": true, "f<A> (x)": true,
		"a > b": false, "x => (1)": false, "a >= (b)": false, "(x) => x": false, "if (a > 1) f()": false, "": false, ">": false,
	} {
		require.Equal(t, want, generic(source), source)
	}
}

// TestTypeScript: what is TypeScript is read as that, also where JavaScript reads the same text differently.
func TestTypeScript(t *testing.T) {
	for source, want := range map[string]string{
		"const s = new Set<string>(['a']); return s.size":                                                                              "1",
		"function id<T>(x: T): T { return x } return id<number>(4)":                                                                    "4",
		"enum Color { Red, Green = 5, Blue } return [Color.Blue, Color[5]]":                                                            `[6,"Green"]`,
		"const enum E { A = 'x' } return E.A":                                                                                          `"x"`,
		"class P { constructor(private x: number, readonly y = 2) {} sum(): number { return this.x + this.y } } return new P(1).sum()": "3",
		"abstract class A { abstract f(): number } class B extends A { f() { return 1 } } return new B().f()":                          "1",
		"interface I { a: number } type T = I | null; const x: T = {a: 1}; return x!.a":                                                "1",
		"return ({a: 1} as any).a satisfies number":                                                                                    "1",
		"const f = async (x: number): Promise<number> => x; return await f(2)":                                                         "2",
		"return (<any>5)":                          "5",
		"let n: number | undefined; return n ?? 3": "3",
		"const o: Record<string, Array<Map<string, number>>> = {}; return o":                              "{}",
		"class A { x = 1; #y = 2; static z = 3; get s() { return this.#y } } return [new A().s, A.z]":     "[2,3]",
		"{ using r = {[Symbol.dispose]() { globalThis.closed = 1 }}; } return (globalThis as any).closed": "1",
		"function f(this: any, ...a: number[]) { return a.length } return f(1, 2)":                        "2",
	} {
		m := world(t)
		f, _, err := compile(m, source, 64<<10)
		require.NoError(t, err, source)
		p := &program{order: order{Source: source, Limits: defaults}, vm: world(t)}
		p.watch = newWatch(p.vm, p.order)
		o := p.run()
		p.watch.end()
		m.free(f)
		require.Empty(t, o.Failure, "%s: %s", source, o.Message)
		require.JSONEq(t, want, string(o.Value), source)
	}
}

// TestTranslationIsLinear: the translated program is about as long as the program, and no indentation is added to it.
func TestTranslationIsLinear(t *testing.T) {
	source := "let a: number;" + strings.Repeat("if(a)", 5000) + ";"
	r := translate(before + source + after)
	require.Empty(t, r.Errors)
	require.Less(t, len(r.Code), 2*len(source))
}

// TestNothingRunsUncompiled: a program that is refused because it closes its wrapper has not run at all, and neither has
// what it put behind.
func TestNothingRunsUncompiled(t *testing.T) {
	for _, source := range []string{
		"})(); globalThis.ran = 1; (async () => {", "let a: number; })(); globalThis.ran = 1; (async () => {",
		"1\n\f--> '\n})(); globalThis.ran = 1; (async () => {", "1\u2028--> '\n})(); globalThis.ran = 1; (async () => {",
		"let a: number\n\f--> '\n})(); globalThis.ran = 1; (async () => {",
	} {
		m := world(t)
		_, _, err := compile(m, source, 64<<10)
		require.ErrorContains(t, err, "SyntaxError", source)
		text, _ := m.run("typeof ran")
		require.Equal(t, "undefined", text, source)
	}
}

// TestPositions: errors are where the author wrote them, also in a translated program.
func TestPositions(t *testing.T) {
	for source, want := range map[string]string{
		"null.x":       "line 1:",
		"\n\n  null.x": "line 3:",
		"type A = {\n  a: string,\n}\nenum B {\n  C,\n}\n\nnull.x":                            "line 8:",
		"const a: number = 1\nfunction f(x: any) {\n  // a comment\n  return x.y.z\n}\nf({})": "line 4:",
		"let a: number = 1; null.x":          "line 1:20",
		"let a = 1; null.x":                  "line 1:16",
		"const a: = 1":                       "line 1, column 10",
		"const a = 1\nconst b: number = = 2": "line 2, column 19",
		"const x = 1\nreturn {":              "line 2",
		"let a\nlet a":                       "line 2",
	} {
		p := &program{order: order{Source: source, Limits: defaults}, vm: world(t)}
		p.watch = newWatch(p.vm, p.order)
		o := p.run()
		p.watch.end()
		require.Equal(t, codemode.Exception, o.Failure, source)
		require.Contains(t, o.Message, want, source)
	}
}

func FuzzSourceMap(f *testing.F) {
	f.Add([]byte(`{"mappings":"AAAA;AACA,CAAC"}`), 1, 1)
	f.Fuzz(func(_ *testing.T, text []byte, line, column int) {
		m := newMapped(text)
		m.in("    at f (program.ts:1:1)")
		if line > 0 && column > 0 {
			m.in("    at f (program.ts:" + strings.Repeat("9", line%30) + ":1)")
		}
	})
}
