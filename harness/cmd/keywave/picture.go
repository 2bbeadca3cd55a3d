package main

import (
	"fmt"
	"strings"
)

// A picture is a plan to be drawn: its waves, top to bottom, and for each call that has to wait the reason.
type picture struct {
	title string
	waves [][]int
	nodes []node // by call
	edges []edge
}

type node struct {
	label     string
	exclusive bool
}

// An edge goes from the call that is waited for to the one that waits.
type edge struct {
	from, to int
	label    string
}

// mermaid draws p as a Mermaid flowchart.
func (p picture) mermaid() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%%%% %s\n", clean(p.title))
	b.WriteString("flowchart TB\n")
	for w, wave := range p.waves {
		fmt.Fprintf(&b, "  subgraph w%d[\"wave %d\"]\n", w+1, w+1)
		for _, i := range wave {
			open, shut := `["`, `"]`
			if p.nodes[i].exclusive {
				open, shut = `{{"`, `"}}`
			}
			fmt.Fprintf(&b, "    c%d%s%d. %s%s\n", i+1, open, i+1, mermaidText(p.nodes[i].label), shut)
		}
		b.WriteString("  end\n")
	}
	// Waves without an edge between them would be laid out side by side.
	for w := 1; w < len(p.waves); w++ {
		fmt.Fprintf(&b, "  w%d ~~~ w%d\n", w, w+1)
	}
	for _, e := range p.edges {
		fmt.Fprintf(&b, "  c%d -->|\"%s\"| c%d\n", e.from+1, mermaidText(e.label), e.to+1)
	}
	return b.String()
}

// mermaidText spells every character that Mermaid, its Markdown or the HTML it makes could act on as a character
// number; letters, digits and a few plain marks stay.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range clean(s) {
		if r >= 0x80 || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune(" .,/:()=", r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}

// dot draws p in the language of Graphviz.
func (p picture) dot() string {
	var b strings.Builder
	b.WriteString("digraph plan {\n")
	fmt.Fprintf(&b, "  label=%s; labelloc=t; rankdir=TB; newrank=true;\n", dotText(p.title))
	b.WriteString("  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n")
	for w, wave := range p.waves {
		fmt.Fprintf(&b, "  subgraph cluster_w%d {\n    label=\"wave %d\";\n    rank=same;\n", w+1, w+1)
		for _, i := range wave {
			shape := ""
			if p.nodes[i].exclusive {
				shape = ", shape=hexagon"
			}
			fmt.Fprintf(&b, "    c%d [label=%s%s];\n", i+1, dotText(fmt.Sprintf("%d. %s", i+1, p.nodes[i].label)), shape)
		}
		b.WriteString("  }\n")
	}
	for w := 1; w < len(p.waves); w++ {
		fmt.Fprintf(&b, "  c%d -> c%d [style=invis];\n", p.waves[w-1][0]+1, p.waves[w][0]+1)
	}
	for _, e := range p.edges {
		fmt.Fprintf(&b, "  c%d -> c%d [label=%s];\n", e.from+1, e.to+1, dotText(e.label))
	}
	b.WriteString("}\n")
	return b.String()
}

// dotText quotes s. Besides the quote, Graphviz acts on backslashes and on HTML entities.
func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `&`, `&amp;`).Replace(clean(s)) + `"`
}
