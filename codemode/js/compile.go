package js

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// A program is the body of an async function. It stays on its own lines, so that a position needs no correction but
// for the columns of the first.
const (
	before = "(async () => {"
	after  = "\n})"

	// The same body as a statement: a program that closes the bracket of the wrapper goes on behind it with ) or a
	// comma in the first, with neither in the second, so that it cannot do so in both.
	statement    = "async function f() {"
	statementEnd = "\n}"

	file = "program.ts"
)

// compile makes the code that makes the program's function. Nothing of it has run: what closes the wrapper would run
// outside of it. The error is for the program's author, positions included.
func compile(m *vm, source string, limit int) (value, positions, error) {
	if len(source) > limit {
		return undefined, nil, fmt.Errorf("the program is %d bytes long, and may be %d", len(source), limit)
	}
	deep, closes := nesting(source)
	if deep {
		return undefined, nil, fmt.Errorf("the program is nested more deeply than %d brackets", maxNesting)
	}
	if strings.Count(source, "=>") > maxArrows {
		return undefined, nil, fmt.Errorf("the program has more than %d arrow functions", maxArrows)
	}
	// What is JavaScript needs no translation. That is not only faster: translation takes exponential time for some
	// programs. Where the languages read the same text differently, TypeScript's reading counts.
	if !generic(source) {
		code, thrown := m.compile(before + source + after)
		switch {
		case !thrown && m.compiles(statement+source+statementEnd):
			return code, plain{}, nil
		case !thrown:
			m.free(code)
			return undefined, nil, errCloses
		}
		overflow := strings.HasPrefix(m.errorText(fnBrief, code), "SyntaxError: stack overflow")
		m.free(code)
		if overflow {
			return undefined, nil, errDeep
		}
	}
	if closes {
		// Only what is wrong is asked for; the code is thrown away.
		if r := translate(statement + source + statementEnd); len(r.Errors) > 0 {
			return undefined, nil, syntaxError(r.Errors[0], source, len(statement))
		}
	}
	r := translate(before + source + after)
	if len(r.Errors) > 0 {
		return undefined, nil, syntaxError(r.Errors[0], source, len(before))
	}
	pos := newMapped(r.Map)
	code, thrown := m.compile(string(r.Code))
	if thrown {
		defer m.free(code)
		return undefined, nil, errors.New(pos.in(m.errorText(fnFail, code)))
	}
	return code, pos, nil
}

var errDeep = errors.New("SyntaxError: the program is nested too deeply")

var errCloses = errors.New("SyntaxError: the program closes a bracket that it did not open")

func (m *vm) compile(source string) (value, bool) { return m.eval(source, file, true) }

func (m *vm) compiles(source string) bool {
	code, thrown := m.compile(source)
	m.free(code)
	return !thrown
}

// errorText is an error as the prelude's function tells it; fnFail is the end of its world.
func (m *vm) errorText(fn int, e value) string {
	r, _ := m.invoke(fn, m.dup(e))
	defer m.free(r)
	return m.text(r)
}

// generic reports whether the source may have type arguments that are comparisons in JavaScript, such as f<T>(x).
func generic(source string) bool {
	for i := 1; i < len(source); i++ {
		if source[i] != '>' || source[i-1] == '=' {
			continue
		}
		rest := strings.TrimLeft(source[i+1:], " \t")
		if rest != "" && strings.ContainsRune("(`/\r\n", rune(rest[0])) {
			return true
		}
	}
	return false
}

func translate(source string) api.TransformResult {
	return api.Transform(source, api.TransformOptions{
		Loader:            api.LoaderTS,
		Target:            api.ES2023,
		Sourcefile:        file,
		Sourcemap:         api.SourceMapExternal,
		SourcesContent:    api.SourcesContentExclude,
		LogLevel:          api.LogLevelSilent,
		LegalComments:     api.LegalCommentsNone,
		TsconfigRaw:       `{"compilerOptions":{"useDefineForClassFields":true,"verbatimModuleSyntax":true}}`,
		Supported:         map[string]bool{"using": false},
		SourceRoot:        "",
		Charset:           api.CharsetUTF8,
		MinifyWhitespace:  true, // else the indentation of nested statements is quadratic
		MinifyIdentifiers: false,
		MinifySyntax:      false,
	})
}

func syntaxError(e api.Message, source string, prefix int) error {
	if e.Location == nil {
		return fmt.Errorf("SyntaxError: %s", e.Text)
	}
	line, column := e.Location.Line, e.Location.Column
	if line == 1 {
		column -= prefix
	}
	lines := strings.Split(source, "\n")
	if line > len(lines) {
		text := strings.Replace(e.Text, `"}"`, "end of the program", 1)
		return fmt.Errorf("SyntaxError: %s\n    at line %d, its last", text, len(lines))
	}
	text := clip(strings.TrimSpace(lines[line-1]), 120)
	what := e.Text
	if strings.HasPrefix(text, "import ") || strings.HasPrefix(text, "export ") { // as models write them
		what += ": modules cannot be imported, nor be what a program is"
	}
	return fmt.Errorf("SyntaxError: %s\n    at line %d, column %d: %s", what, line, column+1, text)
}

// positions turn the positions of the compiled program into the author's.
type positions interface{ in(text string) string }

// frame is a line of a stack as the engine writes it, of the program or of the prelude.
var (
	frame    = regexp.MustCompile(`(?m)^    at (.* \()?(program\.ts|prelude\.js):\d+:\d+\)?(\n|$)`)
	position = regexp.MustCompile(`program\.ts:(\d+):(\d+)`)
)

func rewrite(text string, of func(line, column int) (int, int)) string {
	if !strings.Contains(text, "    at ") {
		return text
	}
	return frame.ReplaceAllStringFunc(text, func(l string) string {
		if !strings.Contains(l, file) {
			return ""
		}
		return position.ReplaceAllStringFunc(l, func(s string) string {
			g := position.FindStringSubmatch(s)
			line, err := strconv.Atoi(g[1])
			column, err2 := strconv.Atoi(g[2])
			if err != nil || err2 != nil {
				return s
			}
			line, column = of(line, column)
			if line < 1 {
				return file
			}
			return fmt.Sprintf("line %d:%d", line, column)
		})
	})
}

// plain positions are those of a program that was not translated.
type plain struct{}

func (plain) in(text string) string {
	return rewrite(text, func(line, column int) (int, int) {
		if line == 1 {
			column -= len(before)
		}
		return line, max(column, 1)
	})
}
