package tool

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// The scanner takes exactly what encoding/json takes and is UTF-8, and when it is to be exact, less.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{
		``, ` `, `{}`, `[]`, `null`, `nul`, `truefalse`, `-0.5e+10`, `01`, `.5`, `1.`, `-`, `1e`, `"\u00e9\n"`, `"\u00g0"`,
		`"\`, `"\u12`, "\"\x01\"", "\"\xff\"",
		`{"a":[1,{"b":null}],"c":"d"}`, `{"a":1,"a":2}`, `{"a":1,}`, `[1,]`, `[1 2]`, `{"a" 1}`, `{1:2}`, `"\ud83d\ude00"`,
		`"\ud83d"`, `"\ude00\ud83d"`, `"\ud83d\u0041"`, `"\ud83d\\"`,
		`1e1001`, `1e-1001`, `[[[[]]]]`, "\ufeff{}", `{} {}`, `"a"b`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if strings.Count(string(data), "[")+strings.Count(string(data), "{") >= maxDepth {
			return
		}
		err := scanWhole(data, false)
		require.Equal(t, json.Valid(data) && utf8.Valid(data), err == nil, "%q: %v", data, err)
		if err != nil {
			require.True(t, 0 <= err.offset && err.offset <= len(data))
		}
		if exact := checkJSON(data); exact == nil {
			require.Nil(t, err)
		}
	})
}

func TestScannerDepth(t *testing.T) {
	nested := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	require.NoError(t, checkJSON(nested(maxDepth)))
	require.ErrorContains(t, checkJSON(nested(maxDepth+1)), "nested deeper than 1000")
	wide := "[" + strings.Repeat("[{}],", 10*maxDepth) + "[]]"
	require.NoError(t, checkJSON([]byte(wide)))
}
