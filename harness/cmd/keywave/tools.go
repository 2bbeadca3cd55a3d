package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/files"
	"github.com/keywave-go/keywave/tool/keys"
)

type toolsCommand struct {
	codeFlag
	Format string `enum:"table,json" default:"table" help:"How to show them: ${enum}. json is what a model is given: [{\"name\", \"description\", \"parameters\"}], the parameters as JSON Schema."`
}

func (c *toolsCommand) Run(h host) (err error) {
	// Nothing is compared with the names in a directory, so nobody has to find out how it compares them.
	tools, err := files.New(".", files.Keys(keys.FoldCase(false), keys.FoldUnicode(false)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tools.Close()) }()
	var registry tool.Registry
	if err := registry.Register(append(tools.Tools(), h.tools...)...); err != nil {
		return err
	}
	b := batch{registry: &registry}
	end, err := c.present(h, "", &b)
	if err != nil {
		return err
	}
	defer end()
	defs := b.tools.Definitions()
	if c.Format == "json" {
		return writeJSON(h.stdout, defs)
	}
	width, _, _ := h.stdout.shape()
	text, err := toolTable(defs, width, h.paint(h.stdout))
	fmt.Fprint(h.stdout, text)
	return err
}

// A parameter is an argument of a tool, as far as it is shown to people.
type parameter struct {
	Name        string `json:"-"`
	Type        string
	Description string
}

// parameters are those of a schema in their order, in which a map would not keep them.
type parameters []parameter

func (p *parameters) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil { // the brace
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		one := parameter{Name: fmt.Sprint(name)}
		if err := dec.Decode(&one); err != nil {
			return err
		}
		*p = append(*p, one)
	}
	return nil
}

// toolTable shows each tool with its arguments below it.
func toolTable(defs []tool.Definition, width int, p painter) (string, error) {
	var rows [][]string
	for _, d := range defs {
		var schema struct {
			Properties parameters
			Required   []string
		}
		if err := json.Unmarshal(d.Parameters, &schema); err != nil {
			return "", fmt.Errorf("%s: %w", d.Name, err)
		}
		if rows != nil {
			rows = append(rows, []string{"", "", ""})
		}
		about, _, more := strings.Cut(d.Description, ". ")
		if more {
			about += "."
		}
		rows = append(rows, []string{clean(d.Name), "", clean(about)})
		for _, a := range schema.Properties {
			name := "  " + clean(a.Name)
			if slices.Contains(schema.Required, a.Name) {
				name += "*"
			}
			rows = append(rows, []string{name, clean(a.Type), clean(a.Description)})
		}
	}
	cols := []column{{head: "tool", most: 24}, {head: "type", most: 10}, {rest: true}}
	text := table(width, cols, rows, func(row, col int, cell string) string {
		switch {
		case row < 0:
			return p.faint(cell)
		case strings.HasPrefix(rows[row][0], " "):
			return cell
		case col == 0:
			return p.cool(cell)
		}
		return p.bold(cell)
	})
	return text + "\n" + p.faint("* must be given. A boolean that is not given is false.") + "\n", nil
}
