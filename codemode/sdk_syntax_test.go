package codemode_test

import (
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/tool"
)

// isTypeScript holds declarations to what they are: TypeScript, and nothing that would run.
func isTypeScript(t require.TestingT, text string) {
	r := api.Transform(text, api.TransformOptions{Loader: api.LoaderTS})
	require.Empty(t, r.Errors, text)
	require.Empty(t, strings.TrimSpace(string(r.Code)), text)
}

// Whatever tools are called, say and take: they are declared in TypeScript.
func FuzzDeclarations(f *testing.F) {
	for _, name := range append(hostile, "read") {
		f.Add(name, name, `{"type":"object","properties":{"a":{"enum":["x"]}},"required":["a"]}`, `{"$ref":"#"}`)
	}
	for _, schema := range oddSchemas() {
		f.Add("t", "*/", schema, schema)
	}
	f.Add("t", "", `{"anyOf":[{"type":"null"},{"const":-1.5e300},{"type":["array","string"],"items":{"enum":["|","&"]}}]}`, `{"type":"array","prefixItems":[{}]}`)
	f.Fuzz(func(t *testing.T, name, description, parameters, output string) {
		defs := []tool.Definition{declared(name, description, parameters, output)}
		text := codemode.Declarations(defs)
		require.Equal(t, text, codemode.Declarations(defs))
		isTypeScript(t, text)
	})
}
